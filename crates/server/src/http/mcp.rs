//! The MCP server for a person's own agent over HTTP. Whoever shows a token is
//! served as on the socket.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use missiond_api::{CommanderHelloParams, MAX_FRAME};
use missiond_core::Principal;
use missiond_mcp::Server;
use missiond_operations::ClientId;

use super::caller::Caller;
use super::operations::read_body;
use super::refusal::Refusal;
use super::web::Web;
use crate::commander::{Commander, Selection};

pub(super) async fn post(
    State(web): State<Web>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let hello = asked_for(parts.uri.query().unwrap_or_default());
    let selection = Selection::of(&hello, &web.daemon.config())?;
    let body = read_body(body, MAX_FRAME).await?;
    let name = hello.client.as_deref().unwrap_or_default();
    let client = ClientId::new("mcp", caller.id, name);
    // Whoever it is, it is a model that speaks.
    let principal = caller.origin.principal(Principal::Commander);
    let commander = Commander::new(
        web.daemon,
        web.operations,
        web.changes,
        selection,
        principal,
        client,
    );
    let commander = match caller.session {
        Some(_) => commander,
        None => commander.with_token(caller.shown()),
    };
    let server = Server::new(Arc::new(commander));
    Ok(missiond_mcp::http::post(&server, &parts.headers, &body).await)
}

/// What the address asks for: `?client=NAME&toolset=A,B&hub=C`, as the bridge's
/// options of these names. It is part of the address, so a client is always shown
/// the same.
fn asked_for(query: &str) -> CommanderHelloParams {
    let mut hello = CommanderHelloParams::default();
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let value = value.replace("%2C", ",").replace("%2A", "*");
        let names = || value.split(',').map(str::to_owned).collect();
        match name {
            "client" => hello.client = Some(value),
            "toolset" => hello.toolsets = names(),
            "hub" => hello.hub = names(),
            _ => {}
        }
    }
    hello
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_says_what_is_shown() {
        let hello = asked_for("client=cursor&toolset=board%2Cslots&hub=time&x");
        assert_eq!(hello.client.as_deref(), Some("cursor"));
        assert_eq!(hello.toolsets, ["board", "slots"]);
        assert_eq!(hello.hub, ["time"]);
        assert_eq!(asked_for(""), CommanderHelloParams::default());
    }
}
