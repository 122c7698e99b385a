//! Embedding models, each behind [`missiond_knowledge::Embedder`].
//!
//! The embedded one runs in this process from files that [`install`] checked;
//! the others are behind an HTTP endpoint. What runs a network is heavy to
//! build, which is why it is a crate of its own.

pub mod catalogue;
mod embedded;
mod http;
pub mod install;
pub mod remote;
mod wordpiece;

pub use catalogue::{MODELS, ModelSpec};
pub use embedded::EmbeddedModel;
