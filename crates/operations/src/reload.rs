//! Reading the configuration and the person's manifests again while the daemon
//! runs.

use std::sync::Arc;

use missiond_audit::Entry;
use missiond_config::{Config, ConfigError, Reload};
use missiond_core::{AuditKind, Event, TraceContext};

use crate::known_secrets;
use crate::state::Daemon;

/// What a reload did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    pub applied: Vec<String>,
    pub needs_restart: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}\nwhat it said before stays in force")]
    Manifest(String),
}

/// Takes over what can change while running. A file that is refused changes
/// nothing, and the timeline is told either way.
pub async fn reload(daemon: &Daemon, trace: TraceContext) -> Result<Reloaded, ReloadError> {
    let manifests = reload_manifests(daemon, trace).await;
    let mut outcome = reload_config(daemon, trace).await?;
    outcome.applied.extend(manifests?);
    Ok(outcome)
}

async fn reload_manifests(
    daemon: &Daemon,
    trace: TraceContext,
) -> Result<Vec<String>, ReloadError> {
    let outcome = daemon.slots.reload_manifests(trace).await;
    // Whoever asks is also told of what was found wrong before.
    match daemon.slots.manifest_errors().into_iter().next() {
        Some(error) => Err(ReloadError::Manifest(error)),
        None => Ok(outcome.changed),
    }
}

pub(crate) async fn reload_config(
    daemon: &Daemon,
    trace: TraceContext,
) -> Result<Reloaded, ConfigError> {
    let file = daemon.home.config_file();
    // A small local file; the blocking read is shorter than a thread hop.
    let bytes = std::fs::read(&file).unwrap_or_default();
    let result = Config::load(&file).and_then(|config| {
        known_secrets::learn(&config)
            .map_err(|why| ConfigError::unusable(&file, "secrets.files", why))?;
        Ok(config)
    });
    let event = match &result {
        Ok(new) => {
            let outcome = apply(daemon, new);
            Event::ConfigReloaded {
                changed: outcome.applied,
                needs_restart: outcome.needs_restart,
            }
        }
        Err(error) => Event::ConfigRejected {
            error: error.to_string(),
        },
    };
    let entry = Entry::of_daemon(AuditKind::Configuration, "configuration", "reload");
    let entry = match &event {
        Event::ConfigReloaded { changed, .. } => entry.about(&changed.join(", ")),
        _ => entry.outcome("refused"),
    };
    if let Err(error) = daemon.audit.record(entry.exact(&bytes).trace(trace)).await {
        tracing::error!(%error, "configuration reload not on record");
    }
    if let Err(error) = daemon.timeline.record(event.clone(), trace).await {
        tracing::warn!(%error, "configuration reload not recorded on timeline");
    }
    match (result, event) {
        (Err(error), _) => {
            tracing::warn!(%error, "configuration refused, the old one stays");
            Err(error)
        }
        (
            Ok(_),
            Event::ConfigReloaded {
                changed,
                needs_restart,
            },
        ) => {
            tracing::info!(?changed, ?needs_restart, "configuration reloaded");
            Ok(Reloaded {
                applied: changed,
                needs_restart,
            })
        }
        (Ok(_), _) => Ok(Reloaded::default()),
    }
}

fn apply(daemon: &Daemon, new: &Config) -> Reloaded {
    let old = daemon.config();
    let mut outcome = Reloaded::default();
    for spec in old.changed_keys(new) {
        match spec.reload {
            Reload::Live => outcome.applied.push(spec.key.to_owned()),
            Reload::Restart => outcome.needs_restart.push(spec.key.to_owned()),
        }
    }
    daemon.logging.set_level(new.log.level);
    let running = old.after_reload(new);
    daemon.config.send_replace(Arc::new(running));
    outcome
}
