//! Why a model did not answer, in a sentence for whoever asked.

use missiond_audit::AuditError;
use missiond_core::{ErrorCode, Timestamp};
use missiond_store::StoreError;

use crate::formats::{Failure, FailureKind, ReadError};
use crate::gate::Closed;
use crate::schema::{Problem, SchemaError};

#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    #[error(
        "no model is known for this: name one in `llm.default` or start an Ollama on this \
         machine; `mission llm models` shows what there is"
    )]
    NoModels,
    #[error("there is no provider `{0}`: `mission llm models` shows those of `llm.providers`")]
    NoProvider(String),
    #[error("`{0}` is not written as provider/model")]
    NoModelName(String),
    #[error("the key of {provider} {problem}")]
    Key { provider: String, problem: String },
    #[error(transparent)]
    Closed(#[from] Closed),
    #[error(
        "the budget {key} of {} dollars {what} has {} left, and this request may cost {}{}",
         dollars(*.most), dollars(.most.saturating_sub(*.spent)), dollars(*.needed),
         filled_again(*.resets_at)
    )]
    Spent {
        key: &'static str,
        what: String,
        most: u64,
        spent: u64,
        needed: u64,
        /// When it is filled again; a person has to raise it when absent.
        resets_at: Option<Timestamp>,
    },
    #[error(
        "nobody knows what {model} costs, and there is a budget: give it a price in \
         `usage.prices`, or say that {provider} is `free`"
    )]
    Unpriced { provider: String, model: String },
    #[error("{provider} did not answer for {model}: {}", .failure.message)]
    Failed {
        provider: String,
        model: String,
        failure: Box<Failure>,
    },
    #[error("the answer of {provider} cannot be read: {error}")]
    Unreadable { provider: String, error: ReadError },
    #[error("the answer of {provider} broke off: {why}")]
    Cut { provider: String, why: String },
    #[error("the schema of the answer cannot be used: {0}")]
    Schema(#[from] SchemaError),
    #[error(
        "{model} gave an answer that does not fit the schema, also when it was told so: {}",
        listed(.problems)
    )]
    Unfit {
        model: String,
        problems: Vec<Problem>,
    },
    #[error("{model} would not answer: {said}")]
    Declined { model: String, said: String },
    #[error("there is no conversation `{0}` with the router")]
    NoSession(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Audit(#[from] AuditError),
}

impl LlmError {
    /// Whether a quota or the money is used up, and until when: inside, nothing stands
    /// where a person has to see to it.
    #[must_use]
    pub const fn used_up(&self) -> Option<Option<Timestamp>> {
        match self {
            Self::Closed(Closed::Parked { until, .. }) => Some(Some(*until)),
            Self::Spent { resets_at, .. } => Some(*resets_at),
            _ => None,
        }
    }

    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoModels | Self::Key { .. } | Self::Unpriced { .. } => ErrorCode::InvalidConfig,
            Self::NoProvider(_) | Self::NoSession(_) => ErrorCode::NotFound,
            Self::NoModelName(_) | Self::Schema(_) => ErrorCode::InvalidParams,
            Self::Closed(Closed::Deadline { .. }) => ErrorCode::Timeout,
            Self::Closed(Closed::Gone { .. }) => ErrorCode::NotFound,
            Self::Closed(_) => ErrorCode::RateLimited,
            Self::Spent { .. } => ErrorCode::RateLimited,
            Self::Failed { failure, .. } => match failure.kind {
                FailureKind::RateLimit | FailureKind::Quota => ErrorCode::RateLimited,
                FailureKind::Timeout => ErrorCode::Timeout,
                FailureKind::NoModel => ErrorCode::NotFound,
                _ => ErrorCode::Upstream,
            },
            Self::Unreadable { .. }
            | Self::Cut { .. }
            | Self::Unfit { .. }
            | Self::Declined { .. } => ErrorCode::Upstream,
            Self::Store(error) => error.code(),
            Self::Audit(error) => error.code(),
        }
    }
}

fn listed(problems: &[Problem]) -> String {
    let problems: Vec<_> = problems.iter().map(Problem::to_string).collect();
    problems.join("; ")
}

/// Millionths of a dollar as people read them.
#[must_use]
pub fn dollars(micro: u64) -> String {
    let cents = micro.div_ceil(100);
    format!("{}.{:04}", cents / 10_000, cents % 10_000)
}

fn filled_again(at: Option<Timestamp>) -> String {
    at.map_or_else(String::new, |at| {
        format!("; it is filled again at {}", at.in_utc())
    })
}
