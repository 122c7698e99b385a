//! Other people's MCP servers, kept for everyone who asks.
//!
//! The hub itself is a crate of its own and knows no daemon. Here it is given
//! its places, its events become events of the timeline, and its answers the
//! results of operations. The same answers serve a command that has no daemon
//! ([`requests`]), so both ways say the same.

mod outside;
mod requests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_api::Home;
use missiond_config::SandboxConfig;
use missiond_core::{Clock, Event, Timestamp, TraceContext};
use missiond_egress::{Caller, CallerKind, Egress, MachinePort};
use missiond_guard::trust::{Subject, SubjectKind};
use missiond_runtime::{Component, OnPanic, StartError, Supervisor};
use missiond_store::{MissionDb, trust_facts};
use missiond_timeline::Timeline;
use missiond_timeline::metrics::Metrics;
use missiond_toolhub::{Hub, HubEvent, HubSettings, KeeperCommand, ServerNetwork, ServerState};
use tokio::sync::mpsc;

pub use outside::screen;
pub use requests::fits;
pub use requests::{control, pin, prompt_get, prompts, servers, tool_call, tools};

/// Events of servers that wait for the timeline. More are left out: they say
/// how a server is, and that can be asked.
const WAITING_EVENTS: usize = 1024;

/// A hub for this home, whose servers are asked for a sign of life this often. Its events
/// go to `listener`. Without a way out, servers that would go out by the daemon's proxy have
/// no network.
pub fn hub(
    home: &Home,
    supervisor: &Supervisor,
    health_check: Duration,
    config: &SandboxConfig,
    egress: Option<Arc<Egress>>,
    listener: impl Fn(HubEvent) + Send + Sync + 'static,
) -> std::io::Result<Hub> {
    let mut place = config.place(config.tool_servers, Path::new("/"), home.own_folders());
    place.folder = None;
    let network = egress.map(|egress| network(egress, config.clone()));
    Ok(Hub::new(HubSettings {
        config: home.config_dir().to_owned(),
        pins: home.tool_pins(),
        keeper: KeeperCommand::of_this_program()?.behind(place, network),
        supervisor: supervisor.clone(),
        health_check,
        listener: Box::new(listener),
    }))
}

/// The daemon's proxy for servers behind a wall, each known by its name.
fn network(egress: Arc<Egress>, config: SandboxConfig) -> ServerNetwork {
    ServerNetwork::new(move |server, place| {
        if !config.goes_out_by_daemon(place.profile) {
            return Ok(());
        }
        let anywhere = || PathBuf::from("/");
        let caller = Caller {
            kind: CallerKind::ToolServer,
            name: server.to_owned(),
            task: None,
            folder: place.folder.clone().unwrap_or_else(anywhere),
        };
        let ports = MachinePort::each(&config.ports, "sandbox.ports");
        let opened = egress.lead_out(&caller, ports, place);
        opened.map_err(|error| error.to_string())
    })
}

/// The daemon's hub.
#[derive(Debug)]
pub struct Toolhub {
    pub hub: Arc<Hub>,
}

/// What the hub is made of.
#[derive(Debug)]
pub struct Parts<'p> {
    pub home: &'p Home,
    pub db: &'p MissionDb,
    pub clock: &'p Arc<dyn Clock>,
    pub timeline: &'p Timeline,
    pub metrics: &'p Arc<Metrics>,
    pub supervisor: &'p Supervisor,
    pub health_check: Duration,
    pub sandbox: &'p SandboxConfig,
    pub egress: &'p Arc<Egress>,
}

impl Toolhub {
    pub fn new(parts: &Parts<'_>) -> std::io::Result<Self> {
        let &Parts {
            home,
            db,
            clock,
            timeline,
            metrics,
            supervisor,
            health_check,
            sandbox,
            egress,
        } = parts;
        let (events, mut waiting) = mpsc::channel::<HubEvent>(WAITING_EVENTS);
        let counted = Arc::clone(metrics);
        let way_out = Some(Arc::clone(egress));
        let hub = hub(
            home,
            supervisor,
            health_check,
            sandbox,
            way_out,
            move |event| {
                if let HubEvent::State { from, to, .. } = &event {
                    count(&counted, from, to);
                }
                if events.try_send(event).is_err() {
                    tracing::warn!("MCP server event not recorded on timeline: timeline too slow");
                }
            },
        )?;
        let timeline = timeline.clone();
        let (db, clock) = (db.clone(), Arc::clone(clock));
        supervisor.spawn("tool hub events", None, OnPanic::Report, async move {
            while let Some(event) = waiting.recv().await {
                if let HubEvent::Tools { server, held, .. } = &event
                    && !held.is_empty()
                {
                    record_drift(&db, server.as_str(), held, clock.now()).await;
                }
                let stored = timeline.record(of_hub(event), TraceContext::root()).await;
                if let Err(error) = stored {
                    tracing::warn!(%error, "MCP server event not recorded on timeline");
                }
            }
        });
        Ok(Self { hub: Arc::new(hub) })
    }
}

impl Component for Toolhub {
    fn name(&self) -> &'static str {
        "tool hub"
    }

    /// Servers are connected when somebody needs one.
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        Box::pin(async { Ok(()) })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.hub.stop())
    }
}

/// Tools that are not what a person accepted count against their server.
async fn record_drift(db: &MissionDb, server: &str, held: &[String], now: Timestamp) {
    let subject = Subject::new(SubjectKind::Server, server).to_string();
    let mut held = held.to_vec();
    held.sort();
    let note = format!("tools held: {}", held.join(", "));
    let recorded = db.write(move |tx| {
        let (subject, note) = (subject.clone(), note.clone());
        Box::pin(async move { trust_facts::record_drift(tx, &subject, &note, now).await })
    });
    if let Err(error) = recorded.await {
        tracing::warn!(%error, "changed tools of a server not recorded");
    }
}

fn of_hub(event: HubEvent) -> Event {
    match event {
        HubEvent::State { server, from, to } => Event::McpServerStateChanged {
            server: server.to_string(),
            from: from.name().to_owned(),
            to: to.name().to_owned(),
            reason: to.why().map(str::to_owned),
        },
        HubEvent::Tools {
            server,
            count,
            held,
        } => Event::McpToolsListed {
            server: server.to_string(),
            tools: u32::try_from(count).unwrap_or(u32::MAX),
            held,
        },
    }
}

/// Keeps the numbers of `mission daemon stats`.
fn count(metrics: &Metrics, from: &ServerState, to: &ServerState) {
    let is_connected =
        |state: &ServerState| matches!(state, ServerState::Ready | ServerState::Unwell { .. });
    let is_well = |state: &ServerState| *state == ServerState::Ready;
    for (gauge, before, now) in [
        (
            &metrics.servers_connected,
            is_connected(from),
            is_connected(to),
        ),
        (&metrics.servers_healthy, is_well(from), is_well(to)),
    ] {
        match (before, now) {
            (false, true) => gauge.up(),
            (true, false) => gauge.down(),
            _ => {}
        }
    }
}
