//! The ways in and out. None of them has logic of its own: they carry messages
//! to the operations and events to whoever listens.

pub mod commander;
pub mod http;
pub mod ipc;
pub mod otlp;
mod principals;
mod rate;
mod share;
