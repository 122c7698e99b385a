//! Turns events that mean trouble into incidents, and resolves those that are
//! over by themselves.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{Anomaly, Event, Severity, TimelineEvent};
use missiond_store::incidents::{self, Report};
use missiond_store::{StoreError, Tx};

use crate::{Consumer, Pace};

const CONFIG_REJECTED: &str = "config_rejected";
/// From so many refusals on somebody should look at who asks.
const REPEATED_REFUSALS: u64 = 3;
const CONFIG_FILE: &str = "config.toml";
/// What the protocol of an agent says and what its own record says are two things.
pub const WITNESS_DISAGREES: &str = "slot_witness_disagrees";
const MANIFEST_REJECTED: &str = "manifest_rejected";

#[derive(Debug)]
pub struct IncidentRecorder;

impl Consumer for IncidentRecorder {
    fn name(&self) -> &'static str {
        "incidents"
    }

    fn wants(&self, event: &Event) -> bool {
        incident_of(event).is_some() || !over(event).is_empty()
    }

    fn pace(&self) -> Pace {
        Pace {
            quiet: Duration::ZERO,
            count: 50,
        }
    }

    fn apply<'t>(
        &self,
        tx: &'t mut Tx<'_>,
        events: Arc<[Arc<TimelineEvent>]>,
    ) -> BoxFuture<'t, Result<(), StoreError>> {
        Box::pin(async move {
            for event in events.iter() {
                if let Some(incident) = incident_of(&event.event) {
                    incidents::report(tx, &incident, event.at).await?;
                }
                for (kind, subject) in over(&event.event) {
                    incidents::resolve_open(tx, kind, &subject, event.at).await?;
                }
            }
            Ok(())
        })
    }
}

/// Which events are incidents, and what a person is told.
fn incident_of(event: &Event) -> Option<Report> {
    let incident = |kind: &str, subject: &str, severity, summary: String| {
        Some(Report {
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            severity,
            summary,
        })
    };
    match event {
        Event::DaemonCrashFound { host, pid, .. } => incident(
            "daemon_crash",
            host,
            Severity::Warning,
            format!(
                "The daemon on {host} (process {pid}) ended without closing. Nothing acknowledged \
                 is lost; `mission daemon logs` shows its last lines."
            ),
        ),
        Event::ConfigRejected { error } => incident(
            CONFIG_REJECTED,
            CONFIG_FILE,
            Severity::Warning,
            format!("The changed configuration was refused and the old one stays: {error}"),
        ),
        Event::ManifestRejected { file, error } => incident(
            MANIFEST_REJECTED,
            file,
            Severity::Warning,
            format!("What {file} said before stays in force: {error}"),
        ),
        Event::ConsumerFailed {
            consumer, error, ..
        } => incident(
            "consumer_failed",
            consumer,
            Severity::Error,
            format!("`{consumer}` cannot process events and keeps trying: {error}"),
        ),
        Event::TaskPanicked {
            task,
            subject,
            error,
            then,
        } => {
            let what = match subject {
                Some(subject) => format!("The task `{task}` of {subject}"),
                None => format!("The task `{task}`"),
            };
            let follows = match then.as_str() {
                "restart" => "It was started again.",
                "shutdown" => "The daemon stopped, because nothing works without it.",
                _ => "Everything else goes on; restarting the daemon takes it up again.",
            };
            incident(
                "task_panicked",
                subject.as_deref().unwrap_or(task),
                Severity::Error,
                format!(
                    "{what} panicked: {error}. {follows} This is a defect of missiond: `mission \
                     daemon logs` shows what came before."
                ),
            )
        }
        Event::SlotRecordingStalled { slot, name, why } => incident(
            "recording_stalled",
            &slot.to_string(),
            Severity::Error,
            format!("The program in slot {name} waits: {why}"),
        ),
        Event::ExecutionAccessRefused { execution, reason } => incident(
            "execution_access_refused",
            &execution.to_string(),
            Severity::Warning,
            format!(
                "Somebody tried to speak for {execution} with {reason}, and was refused. Nothing \
                 changed; look at what runs beside its agent."
            ),
        ),
        Event::AuthorityRefused {
            principal,
            operation,
            attempts,
            ..
        } if *attempts >= REPEATED_REFUSALS => incident(
            "authority_refused",
            principal,
            Severity::Warning,
            format!(
                "The {principal} goes on asking for what only others may do: it was refused \
                 {attempts} times, last `{operation}`. Nothing was done; look at what it works on."
            ),
        ),
        Event::McpServerStateChanged {
            server, to, reason, ..
        } if to == "parked" => incident(
            "mcp_server_parked",
            server,
            Severity::Warning,
            format!(
                "The MCP server {server} keeps failing and is left alone for a while: {}. `mission \
                 mcp health {server} --restart` tries at once.",
                reason.as_deref().unwrap_or("it says nothing")
            ),
        ),
        Event::McpToolsListed { server, held, .. } if !held.is_empty() => incident(
            "mcp_tools_held",
            server,
            Severity::Warning,
            format!(
                "The MCP server {server} changed what was accepted of it, and {} cannot be \
                 called: {}. Look with `mission mcp list-tools {server} --schema`; `mission mcp \
                 pin {server}` accepts it.",
                if held.len() == 1 {
                    "a tool"
                } else {
                    "some tools"
                },
                held.join(", ")
            ),
        ),
        Event::PromptStalled { slot, .. } => incident(
            Anomaly::PromptLost.incident_kind(),
            &slot.to_string(),
            Severity::Warning,
            format!(
                "A text was typed into {slot} and not taken. `mission slot read {slot}` shows \
                 what is in its way."
            ),
        ),
        Event::SlotAnomalyFound {
            slot,
            subject,
            anomaly,
            detail,
        } => incident(
            anomaly.incident_kind(),
            subject,
            severity_of(*anomaly),
            format!("{detail}. {}", advice(*anomaly, &slot.to_string())),
        ),
        _ => None,
    }
}

/// What an event ends: kinds of incident, each with its subject.
fn over(event: &Event) -> Vec<(&'static str, String)> {
    match event {
        Event::SlotAnomalyOver {
            subject, anomaly, ..
        } => vec![(anomaly.incident_kind(), subject.clone())],
        Event::McpServerStateChanged { server, to, .. } if to == "ready" => {
            vec![("mcp_server_parked", server.clone())]
        }
        Event::McpToolsListed { server, held, .. } if held.is_empty() => {
            vec![("mcp_tools_held", server.clone())]
        }
        // A closed slot has no troubles; that its like fail is not its own.
        Event::SlotClosed { slot, .. } => Anomaly::ALL
            .into_iter()
            .filter(|anomaly| *anomaly != Anomaly::CrashLoop)
            .map(Anomaly::incident_kind)
            .chain([WITNESS_DISAGREES])
            .map(|kind| (kind, slot.to_string()))
            .collect(),
        // Whoever starts or reloads has read a configuration that is right.
        Event::ConfigReloaded { .. } | Event::DaemonStarted { .. } => {
            vec![(CONFIG_REJECTED, CONFIG_FILE.to_owned())]
        }
        Event::ManifestReloaded { file } => vec![(MANIFEST_REJECTED, file.clone())],
        _ => Vec::new(),
    }
}

const fn severity_of(anomaly: Anomaly) -> Severity {
    match anomaly {
        Anomaly::CrashLoop | Anomaly::InputMismatch => Severity::Error,
        Anomaly::Stuck | Anomaly::OutputFlood | Anomaly::PromptLost | Anomaly::ScreenGarbage => {
            Severity::Warning
        }
    }
}

fn advice(anomaly: Anomaly, slot: &str) -> String {
    match anomaly {
        Anomaly::Stuck => format!(
            "Look at it with `mission slot read {slot}`; `mission slot interrupt {slot}` stops it."
        ),
        Anomaly::OutputFlood => {
            format!("`mission slot interrupt {slot}` stops it; all of it is in the recording.")
        }
        Anomaly::CrashLoop => format!("`mission slot read {slot}` shows its last screen."),
        Anomaly::InputMismatch => format!(
            "What it did may not be what was allowed: look at it with `mission slot read {slot}`; \
             `mission slot kill {slot}` ends it."
        ),
        Anomaly::PromptLost | Anomaly::ScreenGarbage => {
            format!("Look at it with `mission slot read {slot}`.")
        }
    }
}
