//! A server that is ready to be asked: which era of the protocol it speaks was
//! found out, and every request is put the way that era wants it.
//!
//! The newer era is tried first. A server that does not know it says so, or says
//! nothing, or ends; then the handshake of the older era follows, on the same
//! connection where there still is one. Both may be answered, late and in any
//! order, by a server that was only slow to start.

use std::sync::Arc;
use std::time::Duration;

use missiond_core::excerpt;
use missiond_runtime::Supervisor;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::config::{ProtocolChoice, ServerName, ServerSpec, Transport};
use crate::error::HubError;
use crate::http::{HttpLink, is_modern_error};
use crate::launch::KeeperCommand;
use crate::link::{Inbox, Link, RequestError, RequestOptions};
use crate::stdio::StdioLink;
use crate::wire::{MAX_MESSAGE, RpcError};

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Without a handshake: the version comes with each request.
const MODERN: &str = "2026-07-28";
/// With a handshake, newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const UNSUPPORTED_VERSION: i64 = -32022;

/// From the start of a server until it answers.
const START_LIMIT: Duration = Duration::from_secs(30);

/// A server that says nothing to discovery for so long is asked the older way
/// as well.
const PROBE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28: no handshake, no session.
    Modern,
    /// Up to 2025-11-25.
    Legacy,
}

/// A connection and what was settled on it.
#[derive(Debug)]
pub(crate) struct Session {
    server: ServerName,
    pub(crate) link: Link,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) era: Era,
    pub(crate) version: String,
    /// What the server says it is.
    pub(crate) software: String,
    pub(crate) capabilities: Value,
}

/// What a handshake gave.
struct Handshake {
    era: Era,
    version: String,
    capabilities: Value,
    software: String,
}

impl Session {
    /// Starts or reaches a server and finds out how to speak to it.
    pub(crate) async fn open(
        server: &ServerName,
        spec: &ServerSpec,
        keeper: &KeeperCommand,
        supervisor: &Supervisor,
    ) -> Result<Self, HubError> {
        let mut choice = spec.protocol;
        loop {
            let inbox = Inbox::new();
            let link = connect(server, spec, keeper, &inbox, supervisor);
            let link = link.map_err(|why| HubError::Start {
                server: server.to_string(),
                why,
            })?;
            let negotiating = negotiate(&link, choice);
            let handshake = tokio::time::timeout(START_LIMIT, negotiating).await;
            match handshake {
                Ok(Ok(handshake)) => {
                    let session = Self {
                        server: server.clone(),
                        link,
                        inbox,
                        era: handshake.era,
                        version: handshake.version,
                        software: handshake.software,
                        capabilities: handshake.capabilities,
                    };
                    session.subscribe();
                    return Ok(session);
                }
                // Servers of 2025 end when they hear a word they do not know.
                Ok(Err(RequestError::Closed { .. }))
                    if choice == ProtocolChoice::Auto && matches!(link, Link::Stdio(_)) =>
                {
                    link.stop().await;
                    choice = ProtocolChoice::Legacy;
                }
                failed => {
                    let why = match failed {
                        Ok(Err(error)) => why_not(&error),
                        _ => format!("it did not answer within {} s", START_LIMIT.as_secs()),
                    };
                    let why = match &link {
                        // It is in the reason already when it ended by itself.
                        Link::Stdio(stdio) if stdio.is_open() => inbox.with_stderr_tail(&why),
                        _ => why,
                    };
                    link.stop().await;
                    return Err(HubError::Start {
                        server: server.to_string(),
                        why,
                    });
                }
            }
        }
    }

    /// Asks, in the words of the era.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Value,
        options: RequestOptions,
    ) -> Result<Box<RawValue>, HubError> {
        let params = match self.era {
            Era::Modern => with_meta(params),
            Era::Legacy => params,
        };
        self.link
            .request(method, &params, options)
            .await
            .map_err(|error| self.error(method, error))
    }

    /// Asks for a sign of life.
    pub(crate) async fn ping(&self, limit: Duration) -> Result<(), HubError> {
        let method = match self.era {
            Era::Modern => "server/discover",
            Era::Legacy => "ping",
        };
        match self
            .request(method, json!({}), RequestOptions::within(limit))
            .await
        {
            Ok(_) | Err(HubError::Refused { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Asks a newer server to say when its tools change; an older one does so
    /// by itself, over HTTP on a stream of its own.
    fn subscribe(&self) {
        let tells = self.capabilities["tools"]["listChanged"] == json!(true);
        let filter = json!({ "notifications": { "toolsListChanged": true } });
        match (&self.link, self.era) {
            (Link::Http(link), Era::Legacy) => link.listen(None),
            (Link::Http(link), Era::Modern) if tells => link.listen(Some(with_meta(filter))),
            (Link::Stdio(link), Era::Modern) if tells => {
                link.send_and_forget("subscriptions/listen", &with_meta(filter));
            }
            _ => {}
        }
    }

    fn error(&self, method: &str, error: RequestError) -> HubError {
        let server = self.server.to_string();
        let what = method.to_owned();
        match error {
            RequestError::Rpc(RpcError { code, message, .. }) => HubError::Refused {
                server,
                what,
                code,
                message: excerpt(&message, 2000),
            },
            RequestError::Closed { why, sent } => HubError::Lost { server, why, sent },
            RequestError::Timeout { limit, sent } => HubError::Timeout {
                server,
                what,
                limit,
                sent,
            },
            RequestError::TooLarge => HubError::TooLarge {
                server,
                limit: MAX_MESSAGE,
            },
            RequestError::Http { status, why } => HubError::Refused {
                server,
                what,
                code: i64::from(status),
                message: if why.is_empty() {
                    "HTTP".to_owned()
                } else {
                    why
                },
            },
            RequestError::Protocol(why) => HubError::Protocol { server, why },
        }
    }
}

fn connect(
    server: &ServerName,
    spec: &ServerSpec,
    keeper: &KeeperCommand,
    inbox: &Arc<Inbox>,
    supervisor: &Supervisor,
) -> Result<Link, String> {
    let server = server.as_str();
    match &spec.transport {
        transport @ Transport::Stdio { .. } => {
            StdioLink::start(server, transport, keeper, inbox, supervisor).map(Link::Stdio)
        }
        Transport::Http { url, headers } => HttpLink::new(server, url, headers, inbox, supervisor)
            .map(|link| Link::Http(Box::new(link))),
    }
}

async fn negotiate(link: &Link, choice: ProtocolChoice) -> Result<Handshake, RequestError> {
    match choice {
        ProtocolChoice::Legacy => initialize(link).await,
        ProtocolChoice::Modern => {
            let handshake = discovered(&discover(link).await?)
                .ok_or_else(|| RequestError::Protocol(format!("it does not speak {MODERN}")))?;
            if let Link::Http(link) = link {
                link.set_negotiated(Era::Modern, Some(MODERN));
            }
            Ok(handshake)
        }
        ProtocolChoice::Auto => detect_era(link).await,
    }
}

async fn detect_era(link: &Link) -> Result<Handshake, RequestError> {
    let discovering = discover(link);
    tokio::pin!(discovering);
    let first = match link {
        Link::Stdio(_) => tokio::time::timeout(PROBE, &mut discovering).await.ok(),
        // Over HTTP every request is answered, or the server is not there.
        Link::Http(_) => Some(discovering.as_mut().await),
    };
    if let Some(answer) = first {
        return after_discovery(link, answer).await;
    }
    // Nothing yet: it is of the older era and silent, or slow to start.
    let initializing = initialize(link);
    tokio::pin!(initializing);
    tokio::select! {
        answer = &mut discovering => match answer {
            Ok(answer) if discovered(&answer).is_some() => after_discovery(link, Ok(answer)).await,
            Err(closed @ RequestError::Closed { .. }) => Err(closed),
            _ => initializing.await,
        },
        handshake = &mut initializing => match handshake {
            Err(RequestError::Rpc(error)) if error.code == UNSUPPORTED_VERSION => {
                let answer = discovering.await;
                after_discovery(link, answer).await
            }
            handshake => handshake,
        },
    }
}

async fn after_discovery(
    link: &Link,
    answer: Result<Value, RequestError>,
) -> Result<Handshake, RequestError> {
    match answer {
        Ok(answer) => match discovered(&answer) {
            Some(handshake) => {
                if let Link::Http(link) = link {
                    link.set_negotiated(Era::Modern, Some(MODERN));
                }
                Ok(handshake)
            }
            None => initialize(link).await,
        },
        Err(RequestError::Rpc(error)) if error.code == UNSUPPORTED_VERSION => {
            let supported = || error.data["supported"].as_array().into_iter().flatten();
            // It did not like how it was asked, and says that it speaks this.
            if supported().any(|version| version == MODERN) {
                let handshake = discovered(&discover(link).await?);
                if let (Some(handshake), Link::Http(link)) = (&handshake, link) {
                    link.set_negotiated(handshake.era, Some(MODERN));
                }
                return handshake.ok_or(RequestError::Rpc(error));
            }
            let ours = supported()
                .filter_map(Value::as_str)
                .any(|version| LEGACY.contains(&version));
            if ours {
                initialize(link).await
            } else {
                Err(RequestError::Rpc(error))
            }
        }
        Err(RequestError::Rpc(error)) if is_modern_error(&error) => Err(RequestError::Rpc(error)),
        Err(RequestError::Rpc(_) | RequestError::Protocol(_)) => initialize(link).await,
        Err(RequestError::Http { status, .. })
            if status != 401 && status != 403 && status < 500 =>
        {
            initialize(link).await
        }
        Err(other) => Err(other),
    }
}

async fn discover(link: &Link) -> Result<Value, RequestError> {
    let answer = link
        .request(
            "server/discover",
            &with_meta(json!({})),
            RequestOptions::within(START_LIMIT),
        )
        .await?;
    serde_json::from_str(answer.get()).map_err(|error| RequestError::Protocol(error.to_string()))
}

fn discovered(answer: &Value) -> Option<Handshake> {
    let versions = answer["supportedVersions"].as_array()?;
    versions.iter().any(|version| version == MODERN).then(|| {
        let info = &answer["_meta"][SERVER_KEY];
        let info = if info.is_object() {
            info
        } else {
            &answer["serverInfo"]
        };
        Handshake {
            era: Era::Modern,
            version: MODERN.to_owned(),
            capabilities: answer["capabilities"].clone(),
            software: software(info),
        }
    })
}

async fn initialize(link: &Link) -> Result<Handshake, RequestError> {
    if let Link::Http(link) = link {
        link.set_negotiated(Era::Legacy, None);
    }
    let params = json!({
        "protocolVersion": LEGACY[0],
        "capabilities": {},
        "clientInfo": client_info(),
    });
    let answer = link
        .request("initialize", &params, RequestOptions::within(START_LIMIT))
        .await?;
    let answer: Value = serde_json::from_str(answer.get())
        .map_err(|error| RequestError::Protocol(error.to_string()))?;
    let version = answer["protocolVersion"].as_str().unwrap_or_default();
    if !LEGACY.contains(&version) {
        let version = excerpt(version, 40);
        return Err(RequestError::Protocol(format!(
            "it speaks version `{version}`, which nobody here does"
        )));
    }
    if let Link::Http(link) = link {
        link.set_negotiated(Era::Legacy, Some(version));
    }
    link.notify("notifications/initialized", &json!({})).await?;
    Ok(Handshake {
        era: Era::Legacy,
        version: version.to_owned(),
        capabilities: answer["capabilities"].clone(),
        software: software(&answer["serverInfo"]),
    })
}

fn software(info: &Value) -> String {
    let part = |key: &str| excerpt(info[key].as_str().unwrap_or_default(), 60);
    format!("{} {}", part("name"), part("version"))
        .trim()
        .to_owned()
}

fn client_info() -> Value {
    json!({ "name": "missiond", "version": env!("CARGO_PKG_VERSION") })
}

fn with_meta(mut params: Value) -> Value {
    let meta = &mut params["_meta"];
    meta[VERSION_KEY] = json!(MODERN);
    meta[CLIENT_KEY] = client_info();
    meta[CAPABILITIES_KEY] = json!({});
    params
}

fn why_not(error: &RequestError) -> String {
    match error {
        RequestError::Rpc(error) => {
            format!(
                "it refused the handshake: {} (code {})",
                excerpt(&error.message, 300),
                error.code
            )
        }
        RequestError::Closed { why, .. } => why.clone(),
        RequestError::Timeout { limit, .. } => {
            format!("it did not answer within {} s", limit.as_secs())
        }
        RequestError::TooLarge => "its first answer is over the limit".to_owned(),
        RequestError::Http { status, why } if why.is_empty() => {
            format!("it answered HTTP {status}")
        }
        RequestError::Http { status, why } => format!("it answered HTTP {status}: {why}"),
        RequestError::Protocol(why) => why.clone(),
    }
}
