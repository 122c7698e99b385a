//! Why nothing can be said of a context or of skills.

use missiond_core::{ErrorCode, ExecutionId};
use missiond_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum BriefingError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the snapshot of {execution} cannot be read: {source}")]
    Unreadable {
        execution: ExecutionId,
        source: serde_json::Error,
    },
    /// Skills cannot be looked for from there.
    #[error("{0}")]
    Folder(String),
}

impl BriefingError {
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Store(error) => error.code(),
            Self::Unreadable { .. } => ErrorCode::StorageCorrupt,
            Self::Folder(_) => ErrorCode::NotFound,
        }
    }
}
