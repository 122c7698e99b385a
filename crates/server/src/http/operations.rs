//! Operations over HTTP: the name in the path, the parameters in the body, and
//! both handed on as they came.

use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use missiond_api::{ApiError, MAX_FRAME};
use missiond_core::ErrorCode;
use missiond_operations::Reporter;
use serde_json::value::RawValue;

use super::caller::{Caller, check_json};
use super::refusal::{Refusal, json_response};
use super::web::Web;

/// A body must have arrived by then.
const BODY_LIMIT: Duration = Duration::from_secs(30);

pub(super) async fn call(
    State(web): State<Web>,
    Path(name): Path<String>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    if caller.session.is_some() {
        check_json(&parts.headers)?;
    }
    let client = caller.client();
    let body = read_body(body, MAX_FRAME).await?;
    let params: Option<Box<RawValue>> = match body.as_ref().trim_ascii() {
        [] => None,
        text => Some(serde_json::from_slice(text).map_err(|error| {
            Refusal::invalid(
                StatusCode::BAD_REQUEST,
                format!("the body is not JSON: {error}"),
            )
        })?),
    };
    if let Some(token) = caller.narrowing() {
        let checked = web.operations.check_token(&name, token, params.as_deref());
        checked.await?;
    }
    let result = web
        .operations
        .call_reporting(
            &name,
            params,
            caller.principal(),
            &client,
            Reporter::default(),
        )
        .await
        .map_err(|refused| caller.origin.explain(refused))?;
    Ok(json_response(Box::<str>::from(result).into_string()))
}

/// The catalogue, for programs.
pub(super) async fn document() -> Response {
    json_response(missiond_api::openapi().to_string())
}

/// The whole body, if it is not larger than allowed and comes in time.
pub(super) async fn read_body(body: Body, largest: usize) -> Result<Bytes, Refusal> {
    let collected = tokio::time::timeout(BODY_LIMIT, Limited::new(body, largest).collect());
    match collected.await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("a body here has at most {largest} bytes");
            Err(ApiError::new(ErrorCode::TooLarge, message).into())
        }
        Ok(Err(error)) => Err(Refusal::invalid(
            StatusCode::BAD_REQUEST,
            format!("the body ended early: {error}"),
        )),
        Err(_) => Err(Refusal::invalid(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not come in time",
        )),
    }
}
