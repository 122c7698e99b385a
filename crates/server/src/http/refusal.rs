//! An answer that says no: the status a program looks at, and in the body the
//! same code and sentence that every other presentation gives.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use missiond_api::ApiError;
use missiond_core::ErrorCode;
use serde_json::json;

#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    error: ApiError,
}

impl Refusal {
    pub(super) fn forbidden(message: &str) -> Self {
        ApiError::new(ErrorCode::Forbidden, message).into()
    }

    pub(super) fn not_found(message: &str) -> Self {
        ApiError::new(ErrorCode::NotFound, message).into()
    }

    pub(super) fn unauthenticated(message: &str) -> Self {
        ApiError::new(ErrorCode::Unauthenticated, message).into()
    }

    /// Not what this server takes, whatever it says.
    pub(super) fn invalid(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            error: ApiError::new(ErrorCode::InvalidRequest, message),
        }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        let status = status(error.code);
        Self { status, error }
    }
}

fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidRequest
        | ErrorCode::InvalidParams
        | ErrorCode::InvalidConfig
        | ErrorCode::VersionMismatch => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden => StatusCode::FORBIDDEN,
        ErrorCode::UnknownOperation | ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::Conflict | ErrorCode::StaleLease | ErrorCode::Cancelled => StatusCode::CONFLICT,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Upstream => StatusCode::BAD_GATEWAY,
        ErrorCode::Internal | ErrorCode::StorageCorrupt => StatusCode::INTERNAL_SERVER_ERROR,
        ErrorCode::Busy
        | ErrorCode::ShuttingDown
        | ErrorCode::StorageFull
        | ErrorCode::StorageUnavailable
        | ErrorCode::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self { status, error } = self;
        let mut told = json!({"code": error.code, "message": error.message});
        if let Some(wait) = error.retry_after_ms {
            told["data"] = json!({"retry_after_ms": wait});
        }
        let mut response = json_response(json!({"error": told}).to_string());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(wait) = error.retry_after_ms {
            let seconds = wait.div_ceil(1000);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Text that is JSON already.
pub(super) fn json_response(text: String) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], Body::from(text)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_http_says_which_status_a_code_has() {
        let page = include_str!("../../../../docs/reference/http.md");
        let (_, table) = page.split_once("| status | codes |").unwrap();
        let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
        let rows: Vec<_> = rows.collect();
        // A client says this itself, when there is nobody to answer.
        let told = ErrorCode::ALL
            .into_iter()
            .filter(|code| *code != ErrorCode::Unreachable);
        let mut named = 0;
        for code in told {
            let name = serde_json::to_value(code).unwrap();
            let name = format!("`{}`", name.as_str().unwrap());
            let of = |row: &&&str| {
                row.split('|')
                    .nth(1)
                    .unwrap()
                    .contains(status(code).as_str())
            };
            let row = rows.iter().find(of);
            assert!(
                row.is_some_and(|row| row.contains(&name)),
                "{name}: {row:?}"
            );
            named += 1;
        }
        // What a browser sends wrongly has a status of its own and no code of its own.
        let shown: usize = rows
            .iter()
            .map(|row| row.split('|').nth(2).unwrap())
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
            .filter(|word| serde_json::from_value::<ErrorCode>(json!(word)).is_ok())
            .count();
        assert_eq!(shown, named + 1);
    }
}
