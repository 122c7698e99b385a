//! Why a model did not answer, in a sentence for whoever asked.

use missiond_audit::AuditError;
use missiond_core::ErrorCode;
use missiond_store::StoreError;

use crate::formats::{Failure, FailureKind, ReadError};
use crate::gate::Closed;

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
        "the budget {key} of {} dollars {what} has {} left, and this request may cost {}",
         dollars(*.most), dollars(.most.saturating_sub(*.spent)), dollars(*.needed)
    )]
    Spent {
        key: &'static str,
        what: String,
        most: u64,
        spent: u64,
        needed: u64,
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
    #[error("there is no conversation `{0}` with the router")]
    NoSession(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Audit(#[from] AuditError),
}

impl LlmError {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoModels | Self::Key { .. } | Self::Unpriced { .. } => ErrorCode::InvalidConfig,
            Self::NoProvider(_) | Self::NoSession(_) => ErrorCode::NotFound,
            Self::NoModelName(_) => ErrorCode::InvalidParams,
            Self::Closed(Closed::Deadline { .. }) => ErrorCode::Timeout,
            Self::Closed(_) => ErrorCode::RateLimited,
            Self::Spent { .. } => ErrorCode::RateLimited,
            Self::Failed { failure, .. } => match failure.kind {
                FailureKind::RateLimit | FailureKind::Quota => ErrorCode::RateLimited,
                FailureKind::Timeout => ErrorCode::Timeout,
                FailureKind::NoModel => ErrorCode::NotFound,
                _ => ErrorCode::Upstream,
            },
            Self::Unreadable { .. } | Self::Cut { .. } => ErrorCode::Upstream,
            Self::Store(error) => error.code(),
            Self::Audit(error) => error.code(),
        }
    }
}

/// Millionths of a dollar as people read them.
#[must_use]
pub fn dollars(micro: u64) -> String {
    let cents = micro.div_ceil(100);
    format!("{}.{:04}", cents / 10_000, cents % 10_000)
}
