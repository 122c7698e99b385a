//! Changes of the files of policies: told on the timeline, and what waits is decided anew.
//! A decision looks at the files itself and waits for none of this.

use std::sync::Arc;
use std::time::Duration;

use missiond_config::policy_files::{PolicyChange, PolicyOutcome};
use missiond_core::{Event, TraceContext};
use missiond_runtime::blocking;

use super::Permissions;

/// How often the files are looked at while nobody decides anything.
const EVERY: Duration = Duration::from_secs(1);

pub(super) async fn watch(permissions: Arc<Permissions>) {
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        let files = Arc::clone(&permissions.policies);
        let changes = blocking(move || files.changes()).await;
        if changes.is_empty() {
            continue;
        }
        for change in changes {
            let event = told(change);
            let recorded = permissions.timeline.record(event, TraceContext::root());
            if let Err(error) = recorded.await {
                tracing::warn!(%error, "change of policy not recorded on timeline");
            }
        }
        permissions.questions.recheck_dialogs();
    }
}

fn told(change: PolicyChange) -> Event {
    let file = change.file.display().to_string();
    match change.outcome {
        PolicyOutcome::InForce {
            digest,
            rules,
            warnings,
        } => {
            tracing::info!(file, rules, warnings = warnings.len(), "policy in force");
            Event::PolicyChanged {
                file,
                digest: Some(digest),
                rules: u32::try_from(rules).unwrap_or(u32::MAX),
                warnings: warnings.iter().map(ToString::to_string).collect(),
            }
        }
        PolicyOutcome::Gone => {
            tracing::info!(file, "policy gone");
            Event::PolicyChanged {
                file,
                digest: None,
                rules: 0,
                warnings: Vec::new(),
            }
        }
        PolicyOutcome::Rejected(problems) => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let error = problems.join("; ");
            tracing::warn!(file, error, "policy not usable");
            Event::PolicyRejected { file, error }
        }
    }
}
