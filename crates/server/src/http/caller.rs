//! Who a request is from, and whether it may come now.
//!
//! A program shows a token. A browser shows its cookie, and with everything that
//! is more than looking the word that only our own page knows. Each has so many
//! requests a second.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use missiond_api::ApiError;
use missiond_core::{AccessId, AccessKind, ErrorCode, Principal, Scope, Scopes};
use missiond_operations::ClientId;
use missiond_operations::http_access::Secret;
use missiond_runtime::Bucket;
use missiond_store::http_access::Access;
use parking_lot::Mutex;

use super::connections::Guest;
use super::origin::Origin;
use super::refusal::Refusal;
use super::web::Web;

pub(super) const COOKIE: &str = "mission_session";
const CSRF: &str = "x-mission-csrf";

/// A page of another server on this machine may set cookies of our name too; so
/// many are tried.
const COOKIES_TRIED: usize = 4;

/// Callers whose requests are counted; beyond it those who rested are forgotten.
const COUNTED: usize = 1024;

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) id: AccessId,
    /// The secret of the session; a program has none.
    pub(super) session: Option<Secret>,
    /// What the token of a program lets it do.
    pub(super) scopes: Scopes,
    /// Where it comes from, which may be less than what it shows.
    pub(super) origin: Origin,
}

impl Caller {
    /// Who that is to the operations.
    pub(super) fn principal(&self) -> Principal {
        self.origin.principal(self.shown())
    }

    /// The token that was shown, where the caller is somebody else: it may no more than both.
    pub(super) fn narrowing(&self) -> Option<Principal> {
        let is_token = self.session.is_none();
        (is_token && self.origin != Origin::AsShown).then(|| self.shown())
    }

    /// Who it shows itself to be.
    pub(super) fn shown(&self) -> Principal {
        match self.session {
            Some(_) => Principal::Person,
            None => Principal::Program {
                access: self.id,
                scopes: self.scopes,
            },
        }
    }

    /// As the log names it: by the number of its token or session, never by their secret.
    pub(super) fn client(&self) -> ClientId {
        let kind = match self.session {
            Some(_) => "page",
            None => "program",
        };
        ClientId::new("http", self.id, kind)
    }
}

/// The middleware of everything that is not for everybody.
pub(super) async fn admit(State(web): State<Web>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let caller = match admitted(&web, &parts).await {
        Ok(caller) => caller,
        Err(refusal) => return refusal.into_response(),
    };
    if let Some(guest) = parts.extensions.get::<Guest>() {
        guest.is_known();
    }
    parts.extensions.insert(caller);
    next.run(Request::from_parts(parts, body)).await
}

async fn admitted(web: &Web, request: &Parts) -> Result<Caller, Refusal> {
    let caller = identify(web, request).await?;
    if let Some(session) = &caller.session {
        check_intent(web, request, session)?;
    }
    check_scope(request, &caller)?;
    let per_second = web.daemon.config().http.requests_per_second;
    web.limits.admit(&caller, per_second, Instant::now())?;
    Ok(caller)
}

/// Whom the headers show, and where they come from.
pub(super) async fn identify(web: &Web, request: &Parts) -> Result<Caller, Refusal> {
    let headers = &request.headers;
    let origin = Origin::of_request(request);
    if let Some(authorization) = headers.get(header::AUTHORIZATION) {
        let token = authorization.to_str().ok().and_then(bearer);
        let found = match token.and_then(Secret::shown) {
            Some(token) => check(web, AccessKind::Token, &token).await?,
            None => None,
        };
        let access = found.ok_or_else(|| {
            Refusal::unauthenticated(
                "this token lets nobody in: `mission token create NAME` makes one",
            )
        })?;
        return Ok(Caller {
            id: access.id,
            session: None,
            scopes: access.scopes,
            origin,
        });
    }
    for session in sessions(headers) {
        if let Some(access) = check(web, AccessKind::Session, &session).await? {
            let session = Some(session);
            return Ok(Caller {
                id: access.id,
                session,
                scopes: Scopes::NONE,
                origin,
            });
        }
    }
    Err(Refusal::unauthenticated(
        "nobody is logged in here: `mission open` logs a browser in, a program sends a token",
    ))
}

async fn check(web: &Web, kind: AccessKind, secret: &Secret) -> Result<Option<Access>, Refusal> {
    let found = web.daemon.http_access.check(kind, secret).await;
    found.map_err(|error| ApiError::new(error.code(), error.to_string()).into())
}

/// A browser sends its cookie whoever made it do so. What changes something, or
/// opens a socket, must come from our own page.
fn check_intent(web: &Web, request: &Parts, session: &Secret) -> Result<(), Refusal> {
    let headers = &request.headers;
    let looks = matches!(request.method, Method::GET | Method::HEAD);
    let is_socket = headers.contains_key(header::UPGRADE);
    if (!looks || is_socket) && !headers.contains_key(header::ORIGIN) {
        return Err(Refusal::forbidden("a browser must say which page asks"));
    }
    if looks {
        return Ok(());
    }
    let shown = headers.get(CSRF).and_then(|value| value.to_str().ok());
    if !shown.is_some_and(|shown| web.daemon.http_access.is_csrf(session, shown)) {
        return Err(Refusal::forbidden(
            "the header `x-mission-csrf` must be what GET /api/v1/session says",
        ));
    }
    Ok(())
}

/// What a token is not asked for as an operation, it gets by looking: recordings, pictures,
/// what happens and what terminals show.
fn check_scope(request: &Parts, caller: &Caller) -> Result<(), Refusal> {
    let looks = matches!(request.method, Method::GET | Method::HEAD);
    if caller.session.is_some() || !looks || caller.scopes.has(Scope::Read) {
        return Ok(());
    }
    Err(Refusal::forbidden(
        "this token has not the scope `read`, which looking needs: a person can make one that \
         has it with `mission token create`",
    ))
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn sessions(headers: &HeaderMap) -> Vec<Secret> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(name, _)| *name == COOKIE)
        .filter_map(|(_, value)| Secret::shown(value))
        .take(COOKIES_TRIED)
        .collect()
}

/// How fast each caller may ask, and how often a login may fail.
#[derive(Debug, Default)]
pub(super) struct Limits {
    callers: Mutex<HashMap<Counted, (u32, Bucket)>>,
    failures: Mutex<Option<Bucket>>,
}

/// What was shown, and by whom: an agent with a person's cookie uses up nothing of theirs.
type Counted = (AccessId, Origin);

/// Failed logins a second.
const FAILURES: u32 = 5;

impl Limits {
    fn admit(&self, caller: &Caller, per_second: u32, now: Instant) -> Result<(), Refusal> {
        let id = (caller.id, caller.origin);
        let mut callers = self.callers.lock();
        if callers.len() >= COUNTED && !callers.contains_key(&id) {
            callers.retain(|_, (_, limit)| !limit.is_full(now));
        }
        let (counted, limit) = callers
            .entry(id)
            .or_insert_with(|| (per_second, Bucket::per_second(per_second, now)));
        if *counted != per_second {
            (*counted, *limit) = (per_second, Bucket::per_second(per_second, now));
        }
        limit
            .try_take(now)
            .map_err(|wait| too_fast("too many requests per second", wait))
    }

    /// A login failed. Says so, or that it happens too often. One that succeeds
    /// is never held up: a code cannot be guessed, so a limit on trying would
    /// only let others keep the owner out.
    pub(super) fn failed_login(&self, now: Instant) -> Refusal {
        let mut failures = self.failures.lock();
        let limit = failures.get_or_insert_with(|| Bucket::per_second(FAILURES, now));
        match limit.try_take(now) {
            Ok(()) => Refusal::unauthenticated(
                "this link was used or is older than two minutes: `mission open` makes a new one",
            ),
            Err(wait) => too_fast("too many logins have failed", wait),
        }
    }
}

fn too_fast(message: &str, wait: Duration) -> Refusal {
    let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    Refusal::from(ApiError {
        retry_after_ms: Some(wait),
        ..ApiError::new(ErrorCode::RateLimited, message)
    })
}

/// Refuses bodies that a form of another page could send.
pub(super) fn check_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .map(str::trim);
    match kind {
        Some(kind) if kind.eq_ignore_ascii_case("application/json") => Ok(()),
        _ => Err(Refusal::invalid(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body must be JSON and the content type must say so",
        )),
    }
}
