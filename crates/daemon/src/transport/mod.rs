//! The ways in and out. None of them has logic of its own: they carry messages
//! to the operations and events to whoever listens.

pub(crate) mod http;
pub(crate) mod ipc;
pub(crate) mod otlp;
mod rate;
