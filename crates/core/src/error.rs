//! What can go wrong, as every presentation names it.
//!
//! A code is stable: scripts match on it, the CLI turns it into an exit code,
//! and the wire carries it beside the sentence for the person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The message is not a well-formed request.
    InvalidRequest,
    /// The parameters do not fit the operation.
    InvalidParams,
    /// No operation has that name.
    UnknownOperation,
    /// The thing that was named does not exist.
    NotFound,
    /// The thing exists but is not in a state that allows this.
    Conflict,
    /// The lease has expired or a newer claim exists.
    StaleLease,
    /// The caller may not do this.
    Forbidden,
    /// The message is larger than the limit.
    TooLarge,
    /// The caller sends more than the limit allows.
    RateLimited,
    /// Too many connections or requests at once.
    Busy,
    /// The operation took longer than its limit.
    Timeout,
    /// The caller cancelled the operation.
    Cancelled,
    /// The daemon is shutting down.
    ShuttingDown,
    /// The disk has no room.
    StorageFull,
    /// The database is damaged.
    StorageCorrupt,
    /// The database cannot be reached or refused the work.
    StorageUnavailable,
    /// A configuration file or value is wrong.
    InvalidConfig,
    /// The other side speaks a version this one does not.
    VersionMismatch,
    /// A defect of missiond itself.
    Internal,
    /// The daemon cannot be reached.
    Unreachable,
    /// Something outside missiond failed: a tool server, for instance.
    Upstream,
    /// The caller has not said who it is, or no longer counts as that.
    Unauthenticated,
}

impl ErrorCode {
    pub const ALL: [Self; 22] = [
        Self::InvalidRequest,
        Self::InvalidParams,
        Self::UnknownOperation,
        Self::NotFound,
        Self::Conflict,
        Self::StaleLease,
        Self::Forbidden,
        Self::TooLarge,
        Self::RateLimited,
        Self::Busy,
        Self::Timeout,
        Self::Cancelled,
        Self::ShuttingDown,
        Self::StorageFull,
        Self::StorageCorrupt,
        Self::StorageUnavailable,
        Self::InvalidConfig,
        Self::VersionMismatch,
        Self::Internal,
        Self::Unreachable,
        Self::Upstream,
        Self::Unauthenticated,
    ];

    /// Whether the same request may succeed later without any change.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::Busy
                | Self::Timeout
                | Self::ShuttingDown
                | Self::StorageFull
                | Self::StorageUnavailable
                | Self::Unreachable
        )
    }
}
