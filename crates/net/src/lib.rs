//! Speaking with others, written once: the HTTP client of every part (TLS with
//! the system's certificates, limits on time and size), server-sent events, and
//! messages that stand one on a line.
//!
//! Nothing here trusts who is on the other side: every buffer has a limit that
//! is kept while it is filled.

mod frame;
#[cfg(feature = "http")]
pub mod http;
mod loopback;
mod sse;

pub use frame::{Edges, Frame, FrameDecoder, MAX_FRAME, Oversized};
pub use loopback::{host_of_authority, is_loopback_host};
pub use sse::{EventTooLarge, SseEvent, SseParser};
