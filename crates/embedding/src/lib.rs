//! Embedding models, each behind [`missiond_knowledge::Embedder`].
//!
//! The embedded one runs in this process from files that [`install`] checked;
//! the others are behind an HTTP endpoint.

mod bert;
pub mod catalogue;
mod embedded;
mod http;
pub mod install;
mod matrix;
pub mod onnx;
pub mod remote;
mod wordpiece;

pub use catalogue::{MODELS, ModelSpec};
pub use embedded::EmbeddedModel;
