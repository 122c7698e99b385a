//! Handlers of who may reach the daemon over HTTP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::access::{
    AccessPage, AccessSummary, LoginLink, TokenCreate, TokenCreateParams, TokenCreated, TokenList,
    TokenRevoke, TokenRevokeParams, TokenRevoked, WebLogin,
};
use missiond_audit::Entry;
use missiond_core::{
    AccessKind, AuditKind, ErrorCode, Event, Principal, Scope, Scopes, TraceContext,
};
use missiond_store::http_access::Access;

use crate::call::{Call, Operations};
use crate::state::Daemon;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<WebLogin, _, _>(login);
    operations.add::<TokenCreate, _, _>(create);
    operations.add::<TokenList, _, _>(list);
    operations.add::<TokenRevoke, _, _>(revoke);
}

async fn login(call: Call, _: NoParams) -> Result<LoginLink, ApiError> {
    let Some(address) = call.daemon.http_address() else {
        let message = "HTTP is switched off: set `http.enabled = true` and restart the daemon";
        return Err(ApiError::new(ErrorCode::Conflict, message));
    };
    let (code, expires_at) = call.daemon.http_access.login_code()?;
    let link = format!("http://{}/login#{}", near(address), code.reveal());
    let hosts = &call.daemon.config().http.hosts;
    let listening = (!address.ip().is_loopback() && !address.ip().is_unspecified())
        .then(|| format!("http://{address}"));
    // Nobody knows whether a name is served by a proxy with TLS; whoever has one that
    // others can reach should.
    let named = hosts.iter().map(|host| format!("https://{host}"));
    let elsewhere = listening.into_iter().chain(named).collect();
    Ok(LoginLink {
        link,
        elsewhere,
        expires_at,
    })
}

async fn create(call: Call, params: TokenCreateParams) -> Result<TokenCreated, ApiError> {
    let seconds = params.seconds.map(|seconds| seconds.to_u64());
    let lifetime = seconds.map(Duration::from_secs);
    let access = &call.daemon.http_access;
    let scopes: Scopes = match params.scopes {
        Some(scopes) => scopes.into_iter().collect(),
        // The least that is of use.
        None => Scopes::NONE.with(Scope::Read),
    };
    let (made, secret) = access.create_token(&params.name, scopes, lifetime).await?;
    tell_granted(&call.daemon, &made, call.trace).await;
    Ok(TokenCreated {
        access: summary(made),
        token: secret.reveal().to_owned(),
    })
}

async fn list(call: Call, _: NoParams) -> Result<AccessPage, ApiError> {
    let access = call.daemon.http_access.list().await?;
    let access = access.into_iter().map(summary).collect();
    Ok(AccessPage { access })
}

async fn revoke(call: Call, params: TokenRevokeParams) -> Result<TokenRevoked, ApiError> {
    let revoked = call.daemon.http_access.revoke(&params.access).await?;
    tell_revoked(&call.daemon, &revoked, call.trace).await;
    let revoked = revoked.into_iter().map(summary).collect();
    Ok(TokenRevoked { revoked })
}

/// Puts on the timeline that somebody is let in from now on.
pub async fn tell_granted(daemon: &Daemon, access: &Access, trace: TraceContext) {
    if access.kind == AccessKind::Session {
        // A token is on record as the call that made it.
        let entry = Entry::new(AuditKind::Call, &Principal::Person, "log in");
        let entry = entry.about(&access.name).trace(trace);
        daemon.audit.record_soon(entry).await;
    }
    let granted = Event::AccessGranted {
        access: access.id,
        kind: access.kind,
        name: access.name.clone(),
        expires_at: access.expires_at,
    };
    tell(daemon, granted, trace).await;
}

/// Puts on the timeline who is not let in any more.
pub async fn tell_revoked(daemon: &Daemon, revoked: &[Access], trace: TraceContext) {
    for access in revoked {
        let revoked = Event::AccessRevoked {
            access: access.id,
            kind: access.kind,
            name: access.name.clone(),
        };
        tell(daemon, revoked, trace).await;
    }
}

async fn tell(daemon: &Daemon, event: Event, trace: TraceContext) {
    if let Err(error) = daemon.timeline.record(event, trace).await {
        tracing::warn!(%error, "change of access not recorded on timeline");
    }
}

fn summary(access: Access) -> AccessSummary {
    AccessSummary {
        id: access.id,
        kind: access.kind,
        name: access.name,
        created_at: access.created_at,
        expires_at: access.expires_at,
        last_used_at: access.last_used_at,
        scopes: access.scopes.iter().collect(),
    }
}

/// Where a browser on this machine finds a server that listens there.
fn near(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, address.port())
}
