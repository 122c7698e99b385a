//! Why something was not done with an execution.

use missiond_adapters::{DetectError, EquipError, PlanError};
use missiond_core::{ErrorCode, ExecutionId};
use missiond_journal::{JournalError, Reason, StoreError as JournalStoreError};
use missiond_runtime::Unfinished;
use missiond_slots::SlotsError;
use missiond_store::StoreError;
use missiond_timeline::TimelineError;

#[derive(Debug, thiserror::Error)]
pub enum ExecutionError {
    #[error("there is no execution `{0}`; `mission execution list --all` lists them")]
    NotFound(String),
    #[error("{execution} has ended")]
    NotRunning { execution: ExecutionId },
    #[error("{execution} has no open question")]
    NoQuestion { execution: ExecutionId },
    #[error("{execution} has {count} open questions: say which one")]
    WhichQuestion {
        execution: ExecutionId,
        count: usize,
    },
    #[error("{0}")]
    Invalid(String),
    #[error("{}", .0.sentence())]
    Refused(Reason),
    #[error(transparent)]
    Detect(#[from] DetectError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Equip(#[from] EquipError),
    #[error(transparent)]
    Slots(#[from] SlotsError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    #[error("the system has no random numbers: {0}")]
    Random(String),
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}

impl From<JournalStoreError> for ExecutionError {
    fn from(error: JournalStoreError) -> Self {
        Self::Journal(error.into())
    }
}

impl ExecutionError {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_) | Self::Detect(DetectError::Missing { .. }) => ErrorCode::NotFound,
            Self::NotRunning { .. } | Self::NoQuestion { .. } | Self::Refused(_) => {
                ErrorCode::Conflict
            }
            Self::WhichQuestion { .. } | Self::Invalid(_) | Self::Plan(_) => {
                ErrorCode::InvalidParams
            }
            Self::Equip(_) => ErrorCode::StorageUnavailable,
            Self::Slots(error) => error.code(),
            Self::Journal(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Timeline(error) => error.code(),
            Self::Detect(_) | Self::Random(_) | Self::Unfinished(_) => ErrorCode::Internal,
        }
    }
}
