//! Logging a browser in and out. The code came with a link from `mission open`,
//! in its fragment, which a browser neither sends nor tells another page.

use std::time::Instant;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use missiond_api::ApiError;
use missiond_api::operations::access::{TokenRevoke, WebLogin};
use missiond_core::TraceContext;
use missiond_operations::http_access::{SESSION, Secret};
use missiond_operations::{tell_granted, tell_revoked};
use serde::Deserialize;
use serde_json::json;

use super::caller::{COOKIE, Caller, check_json};
use super::connections::Guest;
use super::operations::read_body;
use super::origin::Origin;
use super::refusal::{Refusal, json_response};
use super::web::Web;

/// A code and its braces are small.
const LARGEST_LOGIN: usize = 4096;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    code: String,
}

pub(super) async fn log_in(State(web): State<Web>, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let origin = Origin::of_request(&parts);
    if let Origin::AtMost(principal) = origin {
        // A code that was found lets in nobody who could not make one.
        let authorized = web.operations.authorize::<WebLogin>(principal, None).await;
        authorized.map_err(|refused| origin.explain(refused))?;
    }
    check_json(&parts.headers)?;
    let body = read_body(body, LARGEST_LOGIN).await?;
    let login: Login = serde_json::from_slice(&body).map_err(|error| {
        Refusal::invalid(
            StatusCode::BAD_REQUEST,
            format!("a login is {{\"code\": \"...\"}}: {error}"),
        )
    })?;
    let access = &web.daemon.http_access;
    let logged_in = match Secret::shown(&login.code) {
        Some(code) => access
            .log_in(&code, &browser(&parts.headers))
            .await
            .map_err(ApiError::from)?,
        None => None,
    };
    let Some((granted, session)) = logged_in else {
        return Err(web.limits.failed_login(Instant::now()));
    };
    tell_granted(&web.daemon, &granted, TraceContext::root()).await;
    if let Some(guest) = parts.extensions.get::<Guest>() {
        guest.is_known();
    }
    let cookie = format!(
        "{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}",
        session.reveal(),
        SESSION.as_secs()
    );
    with_cookie(&cookie)
}

/// What the page must send with everything that is more than looking.
pub(super) async fn show(State(web): State<Web>, Extension(caller): Extension<Caller>) -> Response {
    let csrf = caller
        .session
        .map(|session| web.daemon.http_access.csrf(&session));
    json_response(json!({"csrf": csrf}).to_string())
}

pub(super) async fn log_out(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Refusal> {
    if let Origin::AtMost(principal) = caller.origin {
        let authorized = web.operations.authorize::<TokenRevoke>(principal, None);
        authorized.await?;
    }
    let access = &web.daemon.http_access;
    let revoked = access.revoke(&caller.id.to_string()).await;
    let revoked = revoked.map_err(ApiError::from)?;
    tell_revoked(&web.daemon, &revoked, TraceContext::root()).await;
    with_cookie(&format!(
        "{COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"
    ))
}

fn with_cookie(cookie: &str) -> Result<Response, Refusal> {
    let cookie =
        HeaderValue::from_str(cookie).map_err(|error| ApiError::internal(error.to_string()))?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// What a person will recognise the browser by.
fn browser(headers: &HeaderMap) -> String {
    let agent = headers
        .get(header::USER_AGENT)
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or_default();
    // Edge and Opera say that they are Chrome, and Chrome that it is Safari.
    let known = ["Edg", "OPR", "Firefox", "Chrome", "Safari"];
    let name = known.iter().find(|name| agent.contains(*name));
    match name {
        Some(&"Edg") => "Edge".to_owned(),
        Some(&"OPR") => "Opera".to_owned(),
        Some(name) => (*name).to_owned(),
        None => "a browser".to_owned(),
    }
}
