//! The one error every presentation shows: a stable code for programs, a
//! sentence for people.

use missiond_core::ErrorCode;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    pub code: ErrorCode,
    /// What is wrong and what to do about it.
    pub message: String,
    /// When trying again makes sense.
    pub retry_after_ms: Option<u64>,
}

impl ApiError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retry_after_ms: None,
        }
    }

    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
    }
}

/// The error object of JSON-RPC 2.0. `data.code` is the stable name.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireError {
    code: i32,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<WireErrorData>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireErrorData {
    code: ErrorCode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

/// JSON-RPC reserves five numbers; the rest of our codes count down from -32000
/// in the order of the enum, which only ever grows at its end.
fn number(code: ErrorCode) -> i32 {
    match code {
        ErrorCode::InvalidRequest => -32600,
        ErrorCode::UnknownOperation => -32601,
        ErrorCode::InvalidParams => -32602,
        ErrorCode::Internal => -32603,
        other => {
            let place = ErrorCode::ALL
                .iter()
                .position(|&code| code == other)
                .unwrap_or(0);
            -32000 - i32::try_from(place).unwrap_or(0)
        }
    }
}

impl From<&ApiError> for WireError {
    fn from(error: &ApiError) -> Self {
        Self {
            code: number(error.code),
            message: error.message.clone(),
            data: Some(WireErrorData {
                code: error.code,
                retry_after_ms: error.retry_after_ms,
            }),
        }
    }
}

impl From<WireError> for ApiError {
    fn from(wire: WireError) -> Self {
        match wire.data {
            Some(data) => Self {
                code: data.code,
                message: wire.message,
                retry_after_ms: data.retry_after_ms,
            },
            None => Self::new(ErrorCode::Internal, wire.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_its_own_number_in_the_range_json_rpc_allows() {
        let numbers: BTreeSet<_> = ErrorCode::ALL.iter().map(|&code| number(code)).collect();
        assert_eq!(numbers.len(), ErrorCode::ALL.len());
        assert!(numbers.iter().all(|n| (-32768..=-32000).contains(n)));
    }

    #[test]
    fn an_error_survives_the_wire() {
        let error = ApiError {
            retry_after_ms: Some(20),
            ..ApiError::new(ErrorCode::RateLimited, "slow down")
        };
        let wire = serde_json::to_string(&WireError::from(&error)).unwrap();
        assert_eq!(
            ApiError::from(serde_json::from_str::<WireError>(&wire).unwrap()),
            error
        );
    }
}
