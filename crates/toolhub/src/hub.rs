//! Every server of the list behind one door: tools are found by their names,
//! calls are checked before they leave, and a change of the list touches only
//! the servers it names.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use missiond_core::excerpt;
use missiond_runtime::{OnPanic, Supervisor};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::config::{SEPARATOR, ServerList, ServerName, Stamp};
use crate::error::{ConfigError, HubError, Sent};
use crate::launch::KeeperCommand;
use crate::link::{Progress, ProgressSink, RequestOptions};
use crate::pins::Pins;
use crate::schema;
use crate::server::{Server, ServerState, ServerStatus};
use crate::tools::{self, Tool};

/// Where a hub finds things and whom it tells what happens.
pub struct HubSettings {
    /// The folder of `mcp.toml` and `mcp.json`.
    pub config: PathBuf,
    /// The file of accepted tools.
    pub pins: PathBuf,
    pub keeper: KeeperCommand,
    pub supervisor: Supervisor,
    /// How often a connected server is asked for a sign of life.
    pub health_check: Duration,
    pub listener: Box<dyn Fn(HubEvent) + Send + Sync>,
}

impl std::fmt::Debug for HubSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubSettings")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Something happened to a server.
#[derive(Debug, Clone, PartialEq)]
pub enum HubEvent {
    State {
        server: ServerName,
        from: ServerState,
        to: ServerState,
    },
    /// Its tools were read and are not what they were.
    Tools {
        server: ServerName,
        count: usize,
        held: Vec<String>,
    },
}

/// What every server of a hub shares.
pub(crate) struct Environment {
    pub(crate) keeper: KeeperCommand,
    pub(crate) pins: Pins,
    pub(crate) supervisor: Supervisor,
    pub(crate) health_check: Duration,
    listener: Box<dyn Fn(HubEvent) + Send + Sync>,
    is_stopping: AtomicBool,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

impl Environment {
    pub(crate) fn publish(&self, event: HubEvent) {
        (self.listener)(event);
    }

    pub(crate) fn still_running(&self) -> Result<(), HubError> {
        if self.is_stopping.load(Ordering::Acquire) {
            return Err(HubError::Stopping);
        }
        Ok(())
    }
}

/// External MCP servers.
#[derive(Debug)]
pub struct Hub {
    folder: PathBuf,
    environment: Arc<Environment>,
    listed: Mutex<ServerTable>,
}

#[derive(Debug, Default)]
struct ServerTable {
    stamp: Option<Stamp>,
    servers: BTreeMap<ServerName, Arc<Server>>,
}

/// The result of a tool, as its server gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    pub server: ServerName,
    pub tool: String,
    /// The tool itself says that it failed.
    pub is_error: bool,
    pub result: Value,
}

/// The tools of one server, or why they cannot be told.
#[derive(Debug)]
pub struct ServerTools {
    pub server: ServerName,
    pub tools: Result<Arc<Vec<Tool>>, HubError>,
}

/// The prompts of one server, or why they cannot be told.
#[derive(Debug)]
pub struct ServerPrompts {
    pub server: ServerName,
    pub prompts: Result<Vec<Value>, HubError>,
}

impl Hub {
    #[must_use]
    pub fn new(settings: HubSettings) -> Self {
        Self {
            folder: settings.config,
            environment: Arc::new(Environment {
                keeper: settings.keeper,
                pins: Pins::new(settings.pins),
                supervisor: settings.supervisor,
                health_check: settings.health_check,
                listener: settings.listener,
                is_stopping: AtomicBool::new(false),
            }),
            listed: Mutex::new(ServerTable::default()),
        }
    }

    /// How every server of the list is.
    pub fn servers(&self) -> Result<Vec<ServerStatus>, HubError> {
        Ok(self.all()?.values().map(|server| server.status()).collect())
    }

    /// Calls `server__tool`. Nothing is sent unless the tool exists, is not held
    /// and the arguments fit; what was sent is never sent again.
    pub async fn call(
        &self,
        qualified: &str,
        arguments: Value,
        limit: Option<Duration>,
        progress: Option<ProgressSink>,
    ) -> Result<ToolResult, HubError> {
        let (server, tool) = self.split(qualified)?;
        let limit = limit.map_or(server.spec.timeout, |limit| limit.min(server.spec.timeout));
        let deadline = Instant::now() + limit;
        let _use = server.begin(deadline).await?;
        // A connection may be found dead when it is used: that is no reason to
        // fail a call of which nothing was sent. It is tried on a second one.
        let mut last = None;
        for _ in 0..2 {
            match self
                .call_once(&server, &tool, &arguments, deadline, progress.clone())
                .await
            {
                Err(error @ HubError::Lost { sent: Sent::No, .. }) => last = Some(error),
                other => return other,
            }
        }
        Err(last.unwrap_or(HubError::Stopping))
    }

    async fn call_once(
        &self,
        server: &Arc<Server>,
        tool: &str,
        arguments: &Value,
        deadline: Instant,
        progress: Option<ProgressSink>,
    ) -> Result<ToolResult, HubError> {
        let session = server.session(deadline).await?;
        let tools = server.tools(&session, remaining(deadline)).await?;
        let Some(found) = tools.iter().find(|known| known.name == tool) else {
            return Err(unknown(server, "tool", tool, "list-tools"));
        };
        if let Some(held) = found.held {
            return Err(HubError::Held {
                server: server.name.to_string(),
                tool: tool.to_owned(),
                why: held.why(),
            });
        }
        if let Some(problem) = schema::mismatch(&found.manifest["inputSchema"], arguments) {
            return Err(HubError::Arguments {
                server: server.name.to_string(),
                tool: tool.to_owned(),
                problem,
            });
        }
        let options = RequestOptions {
            limit: remaining(deadline),
            progress,
            headers: found.headers(arguments),
        };
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = session.request("tools/call", params, options).await?;
        let result: Value = serde_json::from_str(answer.get()).unwrap_or_default();
        if result["resultType"] == "input_required" {
            return Err(HubError::InputRequired {
                server: server.name.to_string(),
                tool: tool.to_owned(),
            });
        }
        if !result.is_object() {
            return Err(HubError::Protocol {
                server: server.name.to_string(),
                why: "tools/call: the answer is no object".to_owned(),
            });
        }
        Ok(ToolResult {
            server: server.name.clone(),
            tool: tool.to_owned(),
            is_error: result["isError"] == json!(true),
            result,
        })
    }

    /// The tools of every enabled server, or of one. Servers are asked at once,
    /// and one that fails says so in its place.
    pub async fn tools(
        &self,
        only: Option<&str>,
        limit: Duration,
    ) -> Result<Vec<ServerTools>, HubError> {
        let deadline = Instant::now() + limit;
        let asked = self.select(only)?.into_iter().map(|server| async move {
            let work = async {
                let _use = server.begin(deadline).await?;
                let session = server.session(deadline).await?;
                server.tools(&session, remaining(deadline)).await
            };
            ServerTools {
                server: server.name.clone(),
                tools: with_timeout(&server, "tools/list", limit, work).await,
            }
        });
        Ok(all_at_once(asked).await)
    }

    /// The prompts of every enabled server, or of one.
    pub async fn prompts(
        &self,
        only: Option<&str>,
        limit: Duration,
    ) -> Result<Vec<ServerPrompts>, HubError> {
        let deadline = Instant::now() + limit;
        let asked = self.select(only)?.into_iter().map(|server| async move {
            let work = async {
                let _use = server.begin(deadline).await?;
                let session = server.session(deadline).await?;
                if session.capabilities.get("prompts").is_none() {
                    return Ok(Vec::new());
                }
                tools::list(
                    &server.name,
                    &session,
                    "prompts/list",
                    "prompts",
                    remaining(deadline),
                )
                .await
            };
            ServerPrompts {
                server: server.name.clone(),
                prompts: with_timeout(&server, "prompts/list", limit, work).await,
            }
        });
        Ok(all_at_once(asked).await)
    }

    /// One prompt with its arguments filled in.
    pub async fn prompt(
        &self,
        qualified: &str,
        arguments: BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<Value, HubError> {
        let (server, prompt) = self.split(qualified)?;
        let deadline = Instant::now() + limit.min(server.spec.timeout);
        let _use = server.begin(deadline).await?;
        let session = server.session(deadline).await?;
        let params = json!({ "name": prompt, "arguments": arguments });
        let answer = session
            .request(
                "prompts/get",
                params,
                RequestOptions::within(remaining(deadline)),
            )
            .await?;
        serde_json::from_str(answer.get()).map_err(|error| HubError::Protocol {
            server: server.name.to_string(),
            why: format!("prompts/get: {error}"),
        })
    }

    /// Asks a server for a sign of life, starting it if it does not run.
    pub async fn ping(&self, server: &str, limit: Duration) -> Result<Duration, HubError> {
        let server = self.server(server)?;
        let deadline = Instant::now() + limit;
        let session = server.session(deadline).await?;
        let began = Instant::now();
        session.ping(remaining(deadline)).await?;
        Ok(began.elapsed())
    }

    pub async fn start(&self, server: &str, limit: Duration) -> Result<(), HubError> {
        let server = self.server(server)?;
        server.session(Instant::now() + limit).await.map(drop)
    }

    pub async fn restart(&self, server: &str, limit: Duration) -> Result<(), HubError> {
        self.server(server)?.restart(Instant::now() + limit).await
    }

    /// Ends a server; the next call starts it again.
    pub async fn stop_server(&self, server: &str) -> Result<(), HubError> {
        self.server(server)?.stop("asked to stop").await;
        Ok(())
    }

    /// Accepts the tools of a server as they are now, or one of them; their names
    /// that were held.
    pub async fn pin(
        &self,
        server: &str,
        tool: Option<&str>,
        limit: Duration,
    ) -> Result<Vec<String>, HubError> {
        let server = self.server(server)?;
        let deadline = Instant::now() + limit;
        let _use = server.begin(deadline).await?;
        let session = server.session(deadline).await?;
        session.inbox.tools_changed();
        let tools = server.tools(&session, remaining(deadline)).await?;
        if let Some(tool) = tool
            && !tools.iter().any(|known| known.name == tool)
        {
            return Err(unknown(&server, "tool", tool, "list-tools"));
        }
        let held = tools
            .iter()
            .filter(|known| known.held.is_some() && tool.is_none_or(|tool| tool == known.name))
            .map(|tool| tool.name.clone())
            .collect();
        let digests: Vec<_> = tools
            .iter()
            .map(|tool| (tool.name.clone(), tool.digest.clone()))
            .collect();
        self.environment.pins.accept(&server.name, tool, &digests)?;
        // Reviewed at once, so that whoever watches sees that it is over.
        server.tools(&session, remaining(deadline)).await?;
        Ok(held)
    }

    /// Forgets what was accepted of a server that was taken off the list.
    pub fn forget(&self, server: &ServerName) -> Result<(), HubError> {
        self.environment.pins.forget(server)
    }

    /// Ends every server and starts none any more.
    pub async fn stop(&self) {
        self.environment.is_stopping.store(true, Ordering::Release);
        let servers: Vec<_> = {
            let mut listed = self.listed.lock();
            std::mem::take(&mut listed.servers).into_values().collect()
        };
        let ending = servers
            .iter()
            .map(|server| server.stop("the hub is stopping"));
        all_at_once(ending).await;
    }

    /// The list as it is now. What has changed in the files is read again, and
    /// touches only the servers it is about.
    fn all(&self) -> Result<BTreeMap<ServerName, Arc<Server>>, HubError> {
        self.environment.still_running()?;
        let stamp = Stamp::of(&self.folder);
        let mut listed = self.listed.lock();
        if listed.stamp.as_ref() == Some(&stamp) {
            return Ok(listed.servers.clone());
        }
        let list = ServerList::load(&self.folder)?;
        let mut servers = BTreeMap::new();
        for (name, entry) in list.servers {
            let is_same = |server: &Arc<Server>| server.spec == entry.spec;
            let kept = match listed.servers.get(&name) {
                Some(known) if is_same(known) => listed.servers.remove(&name),
                _ => None,
            };
            let server = kept.unwrap_or_else(|| {
                Server::new(
                    name.clone(),
                    entry.spec,
                    entry.file,
                    Arc::clone(&self.environment),
                )
            });
            servers.insert(name, server);
        }
        let gone = std::mem::replace(&mut listed.servers, servers);
        listed.stamp = Some(stamp);
        if tokio::runtime::Handle::try_current().is_ok() {
            for (name, server) in gone {
                let supervisor = &self.environment.supervisor;
                let subject = Some(name.to_string());
                supervisor.spawn("MCP server", subject, OnPanic::Report, server.retire());
            }
        }
        Ok(listed.servers.clone())
    }

    fn server(&self, name: &str) -> Result<Arc<Server>, HubError> {
        let named = ServerName::new(name)?;
        self.all()?
            .remove(&named)
            .ok_or_else(|| ConfigError::Unknown(name.to_owned()).into())
    }

    fn select(&self, only: Option<&str>) -> Result<Vec<Arc<Server>>, HubError> {
        match only {
            Some(name) => Ok(vec![self.server(name)?]),
            None => Ok(self
                .all()?
                .into_values()
                .filter(|server| server.spec.enabled)
                .collect()),
        }
    }

    fn split(&self, qualified: &str) -> Result<(Arc<Server>, String), HubError> {
        match qualified.split_once(SEPARATOR) {
            Some((server, name)) if !server.is_empty() && !name.is_empty() => {
                Ok((self.server(server)?, name.to_owned()))
            }
            _ => Err(HubError::NotQualified(excerpt(qualified, 80))),
        }
    }
}

/// How a receiver of progress is made.
#[must_use]
pub fn progress_channel() -> (ProgressSink, tokio::sync::mpsc::Receiver<Progress>) {
    tokio::sync::mpsc::channel(16)
}

fn remaining(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn unknown(server: &Server, what: &'static str, name: &str, list: &'static str) -> HubError {
    HubError::Unknown {
        server: server.name.to_string(),
        what,
        name: excerpt(name, 80),
        list,
    }
}

async fn with_timeout<T>(
    server: &Server,
    what: &str,
    limit: Duration,
    work: impl Future<Output = Result<T, HubError>>,
) -> Result<T, HubError> {
    tokio::time::timeout(limit, work)
        .await
        .unwrap_or(Err(HubError::Timeout {
            server: server.name.to_string(),
            what: what.to_owned(),
            limit,
            sent: Sent::Yes,
        }))
}

async fn all_at_once<T>(work: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    futures::future::join_all(work).await
}
