//! How a command fails: one sentence, a stable code, a stable exit code.

use std::process::ExitCode;

use missiond_api::{ApiError, ClientError, HomeError};
use missiond_core::{ErrorCode, OutOfBounds};
use missiond_store::StoreError;

#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub code: ErrorCode,
    pub message: String,
    /// What to try, on a line of its own.
    pub hint: Option<String>,
}

/// The exit codes, as `mission --help` documents them.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed: the message says why
  2  the command line is wrong
  3  the daemon is not running or cannot be reached
  4  the thing that was named does not exist
  5  it is not in a state that allows this
  6  refused: no permission, or too much at once
  7  a configuration file or value is wrong
  8  the disk or the database refused
  9  it took too long or was cancelled
 10  the agent waits for an answer
130  ended by Ctrl-C";

/// An agent that is waited for waits itself.
pub const NEEDS_INPUT: u8 = 10;

impl Failure {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
        }
    }

    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(exit_number(self.code))
    }
}

fn exit_number(code: ErrorCode) -> u8 {
    match code {
        ErrorCode::InvalidRequest | ErrorCode::Internal | ErrorCode::Upstream => 1,
        ErrorCode::InvalidParams | ErrorCode::UnknownOperation => 2,
        ErrorCode::Unreachable | ErrorCode::ShuttingDown | ErrorCode::VersionMismatch => 3,
        ErrorCode::NotFound => 4,
        ErrorCode::Conflict | ErrorCode::StaleLease => 5,
        ErrorCode::Forbidden
        | ErrorCode::Unauthenticated
        | ErrorCode::TooLarge
        | ErrorCode::RateLimited
        | ErrorCode::Busy => 6,
        ErrorCode::InvalidConfig => 7,
        ErrorCode::StorageFull | ErrorCode::StorageCorrupt | ErrorCode::StorageUnavailable => 8,
        ErrorCode::Timeout | ErrorCode::Cancelled => 9,
    }
}

/// A value of the command line as the parameter `name`, which says itself what
/// it allows.
pub fn parameter<T>(name: &str, value: Result<T, OutOfBounds>) -> Result<T, Failure> {
    value.map_err(|error| Failure::new(ErrorCode::InvalidParams, format!("{name}: {error}")))
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let failure = Self::new(error.code(), error.to_string());
        match error {
            ClientError::NotRunning { .. } => failure.hint("`mission up` starts it"),
            ClientError::Silent { .. } => failure.hint("`mission daemon stop --force` ends it"),
            ClientError::Closed => failure.hint("`mission daemon logs` shows why it ended"),
            _ => failure,
        }
    }
}

impl From<HomeError> for Failure {
    fn from(error: HomeError) -> Self {
        Self::new(ErrorCode::InvalidConfig, error.to_string())
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self::new(error.code, error.message)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(ErrorCode::Internal, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_in_use_is_documented() {
        for code in ErrorCode::ALL {
            let line = format!("\n  {}  ", exit_number(code));
            assert!(EXIT_CODES.contains(&line), "{code:?}");
        }
    }
}
