//! The client held to what the real agents say, to the protocols' own rules, and to
//! agents that keep none.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

mod acp;
mod acp_v2;
mod app_server;
mod hostile;
mod live;
mod replay;
mod traces;
