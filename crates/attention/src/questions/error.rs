//! Why a question was not asked, answered or dismissed.

use missiond_audit::AuditError;
use missiond_core::{ErrorCode, QuestionNumber};
use missiond_executions::ExecutionError;
use missiond_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    #[error("there is no question {0}; `mission inbox` lists those that wait")]
    NotFound(String),
    #[error("there is no rule {0}; `mission permission list` lists them")]
    NoSuchRule(String),
    #[error("{number} can no longer be answered: {why}")]
    Gone { number: QuestionNumber, why: String },
    #[error("the answer says nothing")]
    EmptyAnswer,
    #[error(
        "`{answer}` is none of the answers to {number}; there are: {}",
        .options.join(" / ")
    )]
    NoSuchOption {
        number: QuestionNumber,
        answer: String,
        options: Vec<String>,
    },
    #[error("{number} was not answered: {why}")]
    NotTaken { number: QuestionNumber, why: String },
    #[error("{0} does not ask for a permission: `--for` and `--scope` have nothing to grant")]
    NoGrant(QuestionNumber),
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Execution(#[from] ExecutionError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Audit(#[from] AuditError),
}

impl QuestionError {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_) | Self::NoSuchRule(_) => ErrorCode::NotFound,
            Self::Gone { .. } | Self::NotTaken { .. } => ErrorCode::Conflict,
            Self::EmptyAnswer | Self::NoSuchOption { .. } | Self::NoGrant(_) | Self::Invalid(_) => {
                ErrorCode::InvalidParams
            }
            Self::Execution(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Audit(error) => error.code(),
        }
    }
}
