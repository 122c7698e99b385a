//! The one HTTP client: HTTP/1.1, TLS with the certificates the system trusts,
//! a limit for the connection, for the whole exchange and for the size of an
//! answer. Redirections are not followed, so nothing is sent to where nobody
//! chose, and no proxy is used.

mod address;
mod blocking;
mod client;
mod tls;

pub use address::{AddressError, check_private};
pub use client::{
    Answer, Body, Connections, HttpClient, HttpError, Limits, Request, Response, request,
};
pub use hyper::body::Bytes;
pub use hyper::{HeaderMap, Method, StatusCode, Uri, header};
pub use tls::Trust;
