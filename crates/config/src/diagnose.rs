//! Turning a configuration text into a [`Config`], or into one sentence that
//! says where it is wrong.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use missiond_api::operations::context::MAX_CONTEXT_TOKENS;
use missiond_store::DbUrl;
use toml::de::{DeTable, DeValue};

use super::autopilot::check_slots;
use super::{Config, KEYS};

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    file: PathBuf,
    line: Option<usize>,
    message: String,
}

impl ConfigError {
    pub(super) fn new(file: &Path, line: Option<usize>, message: String) -> Self {
        Self {
            file: file.to_owned(),
            line,
            message,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.line {
            Some(line) => write!(f, ", line {line}: {}", self.message),
            None => write!(f, " {}", self.message),
        }
    }
}

pub(super) fn parse(file: &Path, text: &str) -> Result<Config, ConfigError> {
    let line_at = |offset: usize| Some(text[..offset.min(text.len())].matches('\n').count() + 1);
    let refuse = |line, message: String| Err(ConfigError::new(file, line, message));
    let of_toml = |error: &toml::de::Error| {
        let line = error.span().and_then(|span| line_at(span.start));
        (line, error.message().trim().replace('\n', ", "))
    };

    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let (line, message) = of_toml(&error);
            return refuse(line, message);
        }
    };
    let mut places = Vec::new();
    if let Err((offset, message)) = check_keys("", table.get_ref(), &mut places) {
        return refuse(line_at(offset), message);
    }
    let place_of = |key: &str| {
        places
            .iter()
            .find(|(name, _)| name == key)
            .and_then(|(_, offset)| line_at(*offset))
    };
    let config: Config = match toml::from_str(text) {
        Ok(config) => config,
        Err(error) => {
            let (line, message) = of_toml(&error);
            let key = places.iter().find(|(_, offset)| line_at(*offset) == line);
            let message = match key {
                Some((key, _)) => format!("`{key}`: {message}"),
                None => message,
            };
            return refuse(line, message);
        }
    };
    match check_values(&config) {
        Ok(()) => Ok(config),
        Err((key, message)) => refuse(place_of(key), format!("`{key}` {message}")),
    }
}

/// Every key must exist; on the way, note where each stands.
fn check_keys(
    prefix: &str,
    table: &DeTable<'_>,
    places: &mut Vec<(String, usize)>,
) -> Result<(), (usize, String)> {
    for (name, value) in table {
        let key = if prefix.is_empty() {
            name.get_ref().to_string()
        } else {
            format!("{prefix}.{}", name.get_ref())
        };
        let offset = name.span().start;
        let section = format!("{key}.");
        let is_section = KEYS.iter().any(|spec| spec.key.starts_with(&section));
        match value.get_ref() {
            DeValue::Table(inner) if is_section => check_keys(&key, inner, places)?,
            DeValue::Table(_) => {
                let sections = KEYS
                    .iter()
                    .filter_map(|spec| Some(spec.key.rsplit_once('.')?.0));
                return Err((offset, unknown("section", &key, sections)));
            }
            _ if is_section => {
                return Err((offset, format!("`{key}` is a section, not a value")));
            }
            _ if KEYS.iter().any(|spec| spec.key == key) => places.push((key, offset)),
            _ => {
                return Err((
                    offset,
                    unknown("key", &key, KEYS.iter().map(|spec| spec.key)),
                ));
            }
        }
    }
    Ok(())
}

fn unknown(what: &str, given: &str, known: impl Iterator<Item = &'static str>) -> String {
    let nearest = known
        .map(|candidate| {
            (
                strsim::normalized_damerau_levenshtein(given, candidate),
                candidate,
            )
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((similarity, candidate)) if similarity >= 0.5 => {
            format!("unknown {what} `{given}`; did you mean `{candidate}`?")
        }
        _ => format!("unknown {what} `{given}`; `mission config keys` lists those that exist"),
    }
}

fn check_values(config: &Config) -> Result<(), (&'static str, String)> {
    let range = |key, value: u64, allowed: RangeInclusive<u64>| {
        if allowed.contains(&value) {
            Ok(())
        } else {
            let (low, high) = allowed.into_inner();
            Err((
                key,
                format!("must be between {low} and {high}, but is {value}"),
            ))
        }
    };
    range("daemon.drain_secs", config.daemon.drain_secs, 0..=8)?;
    range("daemon.sample_secs", config.daemon.sample_secs, 1..=3600)?;
    range(
        "ipc.max_connections",
        config.ipc.max_connections.into(),
        1..=10_000,
    )?;
    range(
        "ipc.max_in_flight",
        config.ipc.max_in_flight.into(),
        1..=1000,
    )?;
    range(
        "ipc.requests_per_second",
        config.ipc.requests_per_second.into(),
        1..=10_000_000,
    )?;
    range(
        "ipc.request_timeout_secs",
        config.ipc.request_timeout_secs,
        1..=3600,
    )?;
    range("log.max_file_mb", config.log.max_file_mb, 1..=1000)?;
    range("log.max_files", config.log.max_files.into(), 1..=100)?;
    range(
        "timeline.queue",
        config.timeline.queue.into(),
        16..=1_000_000,
    )?;
    range("timeline.batch", config.timeline.batch.into(), 1..=10_000)?;
    range(
        "recording.segment_mb",
        config.recording.segment_mb,
        1..=4096,
    )?;
    range("recording.keep_mb", config.recording.keep_mb, 2..=1_000_000)?;
    range(
        "knowledge.timeout_secs",
        config.knowledge.timeout_secs,
        1..=600,
    )?;
    config.knowledge.check()?;
    range(
        "context.tokens",
        config.context.tokens.into(),
        100..=u64::from(MAX_CONTEXT_TOKENS),
    )?;
    range(
        "context.deadline_ms",
        config.context.deadline_ms,
        10..=20_000,
    )?;
    range(
        "context.keep_days",
        config.context.keep_days.into(),
        1..=3650,
    )?;
    config.conversations.check()?;
    config.usage.check()?;
    range("otlp.interval_secs", config.otlp.interval_secs, 1..=3600)?;
    let anomalies = &config.anomalies;
    range("anomalies.silent_secs", anomalies.silent_secs, 1..=86_400)?;
    range("anomalies.still_secs", anomalies.still_secs, 1..=86_400)?;
    range(
        "anomalies.flood_bytes_per_second",
        anomalies.flood_bytes_per_second,
        1..=1_000_000_000,
    )?;
    range("anomalies.flood_secs", anomalies.flood_secs, 1..=3600)?;
    range(
        "anomalies.garbage_percent",
        anomalies.garbage_percent.into(),
        1..=100,
    )?;
    range("anomalies.garbage_secs", anomalies.garbage_secs, 1..=3600)?;
    range(
        "anomalies.crash_count",
        anomalies.crash_count.into(),
        2..=100,
    )?;
    range(
        "anomalies.crash_window_secs",
        anomalies.crash_window_secs,
        1..=86_400,
    )?;
    let notifications = &config.notifications;
    range(
        "notifications.dwell_secs",
        notifications.dwell_secs,
        0..=86_400,
    )?;
    range(
        "notifications.cooldown_secs",
        notifications.cooldown_secs,
        0..=86_400,
    )?;
    if let Some(trouble) = notifications.trouble() {
        return Err(trouble);
    }
    if let Err(trouble) = config.permissions.rules() {
        return Err(("permissions.rules", trouble));
    }
    let autopilot = &config.autopilot;
    range(
        "autopilot.max_agents",
        autopilot.max_agents.into(),
        1..=1000,
    )?;
    range(
        "autopilot.check_rounds",
        autopilot.check_rounds.into(),
        1..=100,
    )?;
    range(
        "autopilot.unchanged_rounds",
        autopilot.unchanged_rounds.into(),
        1..=100,
    )?;
    range("autopilot.settle_ms", autopilot.settle_ms, 50..=600_000)?;
    range("autopilot.stall_secs", autopilot.stall_secs, 1..=86_400)?;
    range("autopilot.lease_secs", autopilot.lease_secs, 1..=86_400)?;
    range(
        "autopilot.limit_resumes",
        autopilot.limit_resumes.into(),
        0..=100,
    )?;
    autopilot.check()?;
    config.mcp.check()?;
    check_slots(&config.slots)?;
    range(
        "http.requests_per_second",
        config.http.requests_per_second.into(),
        1..=1_000_000,
    )?;
    if !config.http.listen.ip().is_loopback() && !config.http.allow_public {
        let message = format!(
            "must be a loopback address, but is {}; others could reach it, without encryption, \
             and `http.allow_public = true` says that you want that",
            config.http.listen
        );
        return Err(("http.listen", message));
    }
    let is_name = |host: &String| {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
        !host.is_empty() && host.chars().all(fits)
    };
    if let Some(host) = config.http.hosts.iter().find(|host| !is_name(host)) {
        let message = format!("takes names of hosts or addresses, and `{host}` is none");
        return Err(("http.hosts", message));
    }
    if !config.database.url.is_empty()
        && let Err(error) = config.database.url.parse::<DbUrl>()
    {
        return Err(("database.url", format!("cannot be used: {error}")));
    }
    let endpoint = &config.otlp.endpoint;
    if !endpoint.is_empty() && !endpoint.starts_with("http://") {
        let message = "must begin with http:// (run a collector on this machine for anything else)";
        return Err(("otlp.endpoint", message.to_owned()));
    }
    Ok(())
}
