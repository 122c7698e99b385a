//! HTTP as strangers, browsers and programs meet it: every byte by hand, so that
//! what no client library would send is sent too.

mod access;
mod client;
mod live;
mod mcp;
mod operations;
mod socket;
mod terminal;

pub(crate) use client::{Answer, Http, Login, login_code, token};
pub(crate) use socket::Socket;
