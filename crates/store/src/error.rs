//! What can go wrong in the store, in sentences for the person who reads them,
//! and what each engine's own errors mean in those words.

use std::path::Path;

use missiond_core::{ErrorCode, FencingToken, IllegalMove, panic_message};

/// Why the store did not do what it was asked.
///
/// Unless it is [`StoreError::OutcomeUnknown`], an error from
/// [`MissionDb::write`](crate::MissionDb::write) or
/// [`MissionDb::append`](crate::MissionDb::append) means that nothing of that
/// work was kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("the disk that holds {place} is full: free some space, then try again")]
    Full { place: String },
    #[error("{path} cannot be written: give this user write access to it and to its folder")]
    ReadOnly { path: String },
    #[error("the folder {path} does not exist: create it, or name another place for the database")]
    MissingDirectory { path: String },
    #[error(
        "{path} is not a mission database: it is some other file. Move it away, or name another \
         place for the database"
    )]
    NotADatabase { path: String },
    // SQLite does not tell a page that is wrong from one that cannot be read.
    #[error(
        "the database {path} is damaged or its disk cannot be read ({detail}): check the disk; if \
         it is sound, stop the daemon and restore a backup"
    )]
    Corrupt { path: String, detail: String },
    #[error(
        "the database has schema version {found}, this missiond knows versions up to {known}: \
         install the newer missiond that wrote it"
    )]
    Newer { found: i64, known: i64 },
    #[error(
        "the database cannot be used now: its schema is older than this missiond's ({missing} is \
         missing): start the daemon once"
    )]
    Older { missing: String },
    #[error(
        "schema version {version} ({name}) of this database was made from other migration text \
         than this missiond has: install the missiond that made it, or restore a backup"
    )]
    ChecksumMismatch { version: i64, name: String },
    #[error("the database cannot be used now: {detail}")]
    Unavailable { detail: String },
    #[error(
        "the database was lost while it was committing, so the change may or may not have been \
         kept ({detail}): look before you do it again"
    )]
    OutcomeUnknown { detail: String },
    #[error("the database is busy with other work ({detail}): try again")]
    Busy { detail: String },
    #[error("{resource} is no longer held under token {token}: the lease ended or was taken over")]
    StaleLease {
        resource: String,
        token: FencingToken,
    },
    #[error("there is no {what} {id}")]
    NotFound { what: &'static str, id: String },
    #[error("{detail}")]
    Conflict { detail: String },
    #[error(transparent)]
    IllegalMove(#[from] IllegalMove),
    #[error("the database is closed: the daemon is shutting down")]
    Closed,
    #[error("{detail}")]
    BadUrl { detail: String },
    #[error("this cannot be stored: {detail}")]
    InvalidValue { detail: String },
    #[error("a defect in missiond's store: {detail}")]
    Internal { detail: String },
}

impl StoreError {
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Full { .. } => ErrorCode::StorageFull,
            Self::Corrupt { .. } | Self::NotADatabase { .. } => ErrorCode::StorageCorrupt,
            // Not `StorageUnavailable`, which invites a retry: an unknown outcome must be looked
            // at first, and a folder does not become writable by itself.
            Self::OutcomeUnknown { .. } | Self::Conflict { .. } | Self::IllegalMove(_) => {
                ErrorCode::Conflict
            }
            Self::ReadOnly { .. } | Self::MissingDirectory { .. } | Self::BadUrl { .. } => {
                ErrorCode::InvalidConfig
            }
            Self::Newer { .. } | Self::ChecksumMismatch { .. } => ErrorCode::VersionMismatch,
            Self::Unavailable { .. } | Self::Older { .. } => ErrorCode::StorageUnavailable,
            Self::Busy { .. } => ErrorCode::Busy,
            Self::StaleLease { .. } => ErrorCode::StaleLease,
            Self::NotFound { .. } => ErrorCode::NotFound,
            Self::Closed => ErrorCode::ShuttingDown,
            Self::InvalidValue { .. } => ErrorCode::InvalidParams,
            Self::Internal { .. } => ErrorCode::Internal,
        }
    }

    pub(crate) fn read_only() -> Self {
        Self::Unavailable {
            detail: "it was opened for looking only".to_owned(),
        }
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::Internal {
            detail: detail.into(),
        }
    }

    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::Conflict {
            detail: detail.into(),
        }
    }

    pub(crate) fn not_found(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound {
            what,
            id: format!("{id}"),
        }
    }

    pub(crate) fn from_panic(panic: &(dyn std::any::Any + Send)) -> Self {
        let said = panic_message(panic);
        Self::internal(format!("the work in a transaction panicked: {said}"))
    }
}

/// What an error of SQLite means for the database at `path`.
pub(crate) fn from_sqlite(error: &rusqlite::Error, path: &Path) -> StoreError {
    use rusqlite::ErrorCode as Sqlite;
    let place = path.display().to_string();
    let detail = error.to_string();
    match error.sqlite_error_code() {
        Some(Sqlite::DiskFull) => StoreError::Full { place },
        Some(Sqlite::ReadOnly | Sqlite::PermissionDenied) => StoreError::ReadOnly { path: place },
        Some(Sqlite::NotADatabase) => StoreError::NotADatabase { path: place },
        Some(Sqlite::DatabaseCorrupt) => StoreError::Corrupt {
            path: place,
            detail,
        },
        Some(Sqlite::DatabaseBusy | Sqlite::DatabaseLocked) => StoreError::Busy { detail },
        Some(Sqlite::SystemIoFailure | Sqlite::CannotOpen | Sqlite::OutOfMemory) => {
            StoreError::Unavailable {
                detail: format!("{place}: {detail}"),
            }
        }
        Some(Sqlite::ConstraintViolation) => StoreError::Conflict { detail },
        Some(Sqlite::TooBig) => StoreError::InvalidValue { detail },
        _ => StoreError::internal(detail),
    }
}

/// Whether the connection that reported this can no longer be trusted: what
/// the disk holds and what SQLite believes may differ.
pub(crate) fn is_fatal_to_connection(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Sqlite;
    matches!(
        error.sqlite_error_code(),
        Some(
            Sqlite::SystemIoFailure
                | Sqlite::DatabaseCorrupt
                | Sqlite::NotADatabase
                | Sqlite::CannotOpen
        )
    )
}

/// What the server was doing when a PostgreSQL error arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is kept unless a commit follows.
    BeforeCommit,
    /// The commit had been sent, so silence says nothing about its outcome.
    Commit,
}

/// What an error of PostgreSQL means.
pub(crate) fn from_postgres(error: &tokio_postgres::Error, phase: Phase) -> StoreError {
    let Some(reported) = error.as_db_error() else {
        return lost(describe(error), phase);
    };
    let code = reported.code().code();
    let detail = format!("{} [{code}]", reported.message());
    match code {
        "53100" => StoreError::Full {
            place: "the PostgreSQL server's data".into(),
        },
        "40001" | "40P01" | "55P03" | "57014" => StoreError::Busy { detail },
        "25006" => StoreError::ReadOnly {
            path: "the PostgreSQL database".into(),
        },
        "XX001" | "XX002" => StoreError::Corrupt {
            path: "on the PostgreSQL server".into(),
            detail,
        },
        "22021" => StoreError::InvalidValue { detail },
        // The server is going down, or cut this connection, at an unknown point.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => lost(detail, phase),
        "3D000" | "28000" | "28P01" | "42501" => StoreError::Unavailable { detail },
        other => match &other[..2.min(other.len())] {
            "08" => lost(detail, phase),
            "23" => StoreError::Conflict { detail },
            "53" | "58" => StoreError::Unavailable { detail },
            _ => StoreError::internal(detail),
        },
    }
}

fn lost(detail: String, phase: Phase) -> StoreError {
    match phase {
        Phase::BeforeCommit => StoreError::Unavailable { detail },
        Phase::Commit => StoreError::OutcomeUnknown { detail },
    }
}

/// The driver's own text names only the layer; the cause says what happened.
fn describe(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn sqlite(extended_code: i32) -> StoreError {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(extended_code), None);
        from_sqlite(&error, Path::new("/data/mission.db"))
    }

    #[test]
    fn each_failure_of_the_disk_has_its_own_code() {
        let expected = [
            (ffi::SQLITE_FULL, ErrorCode::StorageFull),
            (ffi::SQLITE_READONLY, ErrorCode::InvalidConfig),
            (ffi::SQLITE_READONLY_DIRECTORY, ErrorCode::InvalidConfig),
            (ffi::SQLITE_NOTADB, ErrorCode::StorageCorrupt),
            (ffi::SQLITE_CORRUPT_INDEX, ErrorCode::StorageCorrupt),
            (ffi::SQLITE_IOERR_FSYNC, ErrorCode::StorageUnavailable),
            (ffi::SQLITE_CANTOPEN, ErrorCode::StorageUnavailable),
            (ffi::SQLITE_BUSY_SNAPSHOT, ErrorCode::Busy),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, ErrorCode::Conflict),
        ];
        for (code, meaning) in expected {
            let error = sqlite(code);
            assert_eq!(error.code(), meaning, "{error}");
        }
        assert!(
            sqlite(ffi::SQLITE_FULL)
                .to_string()
                .contains("/data/mission.db")
        );
    }

    #[test]
    fn a_failed_fsync_ends_the_connection_and_a_full_disk_does_not() {
        let fatal = |code| {
            is_fatal_to_connection(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
        };
        assert!(fatal(ffi::SQLITE_IOERR_FSYNC));
        assert!(fatal(ffi::SQLITE_IOERR_WRITE));
        assert!(!fatal(ffi::SQLITE_FULL));
        assert!(!fatal(ffi::SQLITE_BUSY));
    }

    #[test]
    fn only_errors_that_pass_by_themselves_invite_a_retry() {
        let detail = String::new;
        assert!(StoreError::Busy { detail: detail() }.code().is_transient());
        assert!(
            StoreError::Unavailable { detail: detail() }
                .code()
                .is_transient()
        );
        assert!(
            !StoreError::OutcomeUnknown { detail: detail() }
                .code()
                .is_transient()
        );
        assert!(
            !StoreError::ReadOnly { path: detail() }
                .code()
                .is_transient()
        );
    }
}
