//! The daemon itself: where it stores things, what it serves on its socket, what
//! it writes down and sends elsewhere.

use std::time::Duration;

use missiond_store::DbUrl;
use serde::{Deserialize, Serialize};

use crate::keys::{InvalidValue, key_types, section};

key_types! { Text: JournalKeeping, LogLevel; }

section! {
    pub struct DatabaseConfig: "database." {
        /// Where everything is stored: `sqlite:/path/to/file` or
        /// `postgres://user@host/name`. Empty means SQLite in the data folder.
        restart url: String = String::new(), shown as without_password;
    }
}

section! {
    pub struct JournalConfig: "journal." {
        /// Where the journals of new executions are kept: `files` (one each, in the data
        /// folder) or `database`. Those that are there stay where they are.
        restart store: JournalKeeping = JournalKeeping::Files, one of ["files", "database"];
    }
}

/// Where new journals are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JournalKeeping {
    #[default]
    Files,
    Database,
}

section! {
    pub struct DaemonConfig: "daemon." {
        /// How long a stopping daemon waits for requests it has begun, in seconds.
        live drain_secs: u64 = 5, in 0..=8;
        /// How often the daemon's numbers are taken for plots over time, in seconds. Of
        /// each moment 1440 are kept, and one in fifteen for as many more.
        live sample_secs: u64 = 60, in 1..=3600;
    }
}

section! {
    pub struct IpcConfig: "ipc." {
        /// Connections at once; one more is told to come back.
        live max_connections: u32 = 512, in 1..=10_000;
        /// Requests at once on one connection.
        live max_in_flight: u32 = 64, in 1..=1000;
        /// Requests per second on one connection.
        live requests_per_second: u32 = 50_000, in 1..=10_000_000;
        /// How long one request may take, in seconds.
        live request_timeout_secs: u64 = 60, in 1..=3600;
    }
}

impl IpcConfig {
    #[must_use]
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_secs)
    }
}

section! {
    pub struct LogConfig: "log." {
        /// The least severe lines to write: error, warn, info, debug or trace.
        live level: LogLevel = LogLevel::Info,
            one of ["error", "warn", "info", "debug", "trace"];
        /// Size at which a log file is set aside, in MB.
        restart max_file_mb: u64 = 10, in 1..=1000;
        /// Log files to keep, the one being written included.
        restart max_files: u32 = 5, in 1..=100;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

section! {
    pub struct TimelineConfig: "timeline." {
        /// Events that may wait to be stored; producers then wait.
        restart queue: u32 = 8192, in 16..=1_000_000;
        /// Events stored in one commit at most.
        restart batch: u32 = 512, in 1..=10_000;
    }
}

section! {
    pub struct RecordingConfig: "recording." {
        /// Size at which the recording of a slot goes on in a new file, in MB; for slots
        /// started afterwards.
        restart segment_mb: u64 = 64, in 1..=4096;
        /// Size of all files of one slot's recording, in MB; the oldest file is deleted
        /// when a new one is begun. For slots started afterwards.
        restart keep_mb: u64 = 1024, in 2..=1_000_000;
    }
}

section! {
    pub struct OtlpConfig: "otlp." {
        /// Send metrics to this OpenTelemetry collector, for example
        /// `http://127.0.0.1:4318`. Empty means off.
        restart endpoint: String = String::new();
        /// Seconds between two sendings of metrics.
        restart interval_secs: u64 = 15, in 1..=3600;
    }
}

/// An address of a database without the password in it.
fn without_password(url: &str) -> String {
    let url = url.parse::<DbUrl>().map(|url| url.to_string());
    url.unwrap_or_default()
}

impl DatabaseConfig {
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        if self.url.is_empty() {
            return Ok(());
        }
        match self.url.parse::<DbUrl>() {
            Ok(_) => Ok(()),
            Err(error) => {
                let message = format!("cannot be used: {error}");
                Err(InvalidValue::new("database.url", message))
            }
        }
    }
}

impl OtlpConfig {
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let known = ["http://", "https://"];
        if self.endpoint.is_empty() || known.iter().any(|scheme| self.endpoint.starts_with(scheme))
        {
            return Ok(());
        }
        let message = "must begin with http:// or https://";
        Err(InvalidValue::new("otlp.endpoint", message))
    }
}
