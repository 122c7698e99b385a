//! Turns events that mean trouble into incidents.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{Event, Severity, TimelineEvent};
use missiond_store::incidents::{self, Report};
use missiond_store::{StoreError, Tx};

use crate::timeline::{Consumer, Pace};

#[derive(Debug)]
pub(crate) struct IncidentRecorder;

impl Consumer for IncidentRecorder {
    fn name(&self) -> &'static str {
        "incidents"
    }

    fn wants(&self, event: &Event) -> bool {
        incident_of(event).is_some()
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
            "config_rejected",
            "config.toml",
            Severity::Warning,
            format!("The changed configuration was refused and the old one stays: {error}"),
        ),
        Event::ConsumerFailed {
            consumer, error, ..
        } => incident(
            "consumer_failed",
            consumer,
            Severity::Error,
            format!("`{consumer}` cannot process events and keeps trying: {error}"),
        ),
        Event::SlotRecordingStalled { slot, name, why } => incident(
            "recording_stalled",
            &slot.to_string(),
            Severity::Error,
            format!("The program in slot {name} waits: {why}"),
        ),
        _ => None,
    }
}
