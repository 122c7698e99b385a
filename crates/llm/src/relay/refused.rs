//! A refusal in the words of the format, so that a CLI shows its sentence.

use missiond_core::Timestamp;
use missiond_net::http::StatusCode;
use serde_json::{Value, json};

use super::Face;
use crate::error::LlmError;
use crate::gate::Closed;

#[derive(Debug)]
pub struct Refused {
    pub status: StatusCode,
    pub body: Value,
    /// Seconds after which it may be tried again.
    pub retry_after: Option<u64>,
    /// Trying again changes nothing.
    pub is_final: bool,
}

impl Refused {
    #[must_use]
    pub fn new(face: Face, status: StatusCode, message: impl Into<String>) -> Self {
        let message = message.into();
        let kind = match status.as_u16() {
            401 => "authentication_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            _ => "api_error",
        };
        let body = match face {
            Face::Anthropic => {
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            Face::OpenAi => json!({
                "error": {"message": message, "type": kind, "code": "mission_gateway", "param": null},
            }),
            Face::Gemini => {
                let name = match status.as_u16() {
                    401 => "UNAUTHENTICATED",
                    404 => "NOT_FOUND",
                    429 => "RESOURCE_EXHAUSTED",
                    400..=499 => "INVALID_ARGUMENT",
                    _ => "UNAVAILABLE",
                };
                json!({"error": {"code": status.as_u16(), "message": message, "status": name}})
            }
        };
        Self {
            status,
            body,
            retry_after: None,
            is_final: status.is_client_error(),
        }
    }

    /// What the gate or the budget says. A budget that is spent is a mistake of nobody,
    /// but clients try again after every status that says so.
    pub(crate) fn of(face: Face, error: &LlmError, now: Timestamp) -> Self {
        let status = match error {
            LlmError::Spent { .. } | LlmError::Unpriced { .. } => StatusCode::BAD_REQUEST,
            LlmError::Closed(Closed::Parked { .. }) => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        let mut refused = Self::new(face, status, error.to_string());
        match error {
            LlmError::Closed(Closed::Parked { until, .. }) => {
                refused.retry_after = Some(until.since(now).as_secs().max(1));
            }
            LlmError::Closed(Closed::Broken { wait, .. }) => {
                refused.retry_after = Some(wait.as_secs().max(1));
            }
            _ => {}
        }
        refused
    }
}
