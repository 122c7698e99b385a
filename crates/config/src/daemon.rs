//! The daemon itself: where it stores things, what it serves on its socket, what
//! it writes down and sends elsewhere.

use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_api::Home;
use missiond_core::LogLevel;
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
        /// Whether there may be a daemon. With `false` none starts, whoever asks for it: what
        /// needs one says so, and `mission mcp` calls servers without. One that runs goes on
        /// until it is stopped.
        restart enabled: bool = true;
        /// Whether a command that needs a daemon starts one when none runs. With `false`
        /// only `mission up`, `mission daemon start` and a service do.
        live auto_start: bool = true;
        /// How often an external MCP server is asked for a sign of life, in seconds.
        restart health_check_secs: u64 = 30, in 1..=3600;
        /// How long a stopping daemon waits for requests it has begun, in seconds.
        live drain_secs: u64 = 5, in 0..=8;
        /// How often the daemon's numbers are taken for plots over time, in seconds. Of
        /// each moment 1440 are kept, and one in fifteen for as many more.
        live sample_secs: u64 = 60, in 1..=3600;
    }
}

impl DaemonConfig {
    #[must_use]
    pub fn health_check(&self) -> Duration {
        Duration::from_secs(self.health_check_secs)
    }
}

section! {
    pub struct IpcConfig: "ipc." {
        /// Where the daemon listens instead of `daemon.sock` in its run folder: an absolute
        /// path in a folder that only the user of the daemon may enter. Commands find it
        /// through a link in the run folder.
        restart socket_path: String = String::new();
        /// Connections at once; one more is told to come back.
        live max_connections: u32 = 512, in 1..=10_000;
        /// Requests at once on one connection.
        live max_in_flight: u32 = 64, in 1..=1000;
        /// Requests per second on one connection, and on all of one agent
        /// together.
        live requests_per_second: u32 = 50_000, in 1..=10_000_000;
        /// How often one agent, with those it started, may have something added or changed,
        /// in an hour; what it tells by its signals is not counted.
        live agent_changes_per_hour: u32 = 2000, in 1..=1_000_000_000;
        /// How much it may send for that in an hour, in KB.
        live agent_kb_per_hour: u32 = 16_384, in 1..=1_000_000_000;
        /// How long one request may take, in seconds.
        live request_timeout_secs: u64 = 60, in 1..=3600;
    }
}

impl IpcConfig {
    #[must_use]
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_secs)
    }

    /// Where the socket is, unless it is in the run folder.
    #[must_use]
    pub fn socket_path(&self) -> Option<&Path> {
        (!self.socket_path.is_empty()).then(|| Path::new(&self.socket_path))
    }

    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let Some(path) = self.socket_path() else {
            return Ok(());
        };
        let wrong = |message: String| Err(InvalidValue::new("ipc.socket_path", message));
        if !path.is_absolute() || path.file_name().is_none() {
            return wrong("must be the absolute path of a file".to_owned());
        }
        match Home::check_socket_length(path) {
            Ok(()) => Ok(()),
            Err(error) => wrong(format!("cannot be used: {error}")),
        }
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
        /// The folder of the log, as an absolute path; empty means `logs` in the data folder.
        /// It must belong to the user of the daemon, and nobody else may write there.
        restart directory: String = String::new();
    }
}

impl LogConfig {
    /// This home with the log where the configuration wants it.
    #[must_use]
    pub fn place(&self, home: Home) -> Home {
        if self.directory.is_empty() {
            home
        } else {
            home.with_log_dir(PathBuf::from(&self.directory))
        }
    }

    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        if self.directory.is_empty() || Path::new(&self.directory).is_absolute() {
            return Ok(());
        }
        Err(InvalidValue::new(
            "log.directory",
            "must be an absolute path",
        ))
    }
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
        /// Size of the recordings of all slots, in MB; those of the slots that were closed
        /// first are deleted first, those of open slots never.
        live keep_total_mb: u64 = 51_200, in 1..=100_000_000;
        /// Size of the recordings of the slots of one agent, its own and those it started, in
        /// MB; those of the ones that were closed first are deleted first. While open ones
        /// take as much, it starts no more.
        live keep_agent_mb: u64 = 4096, in 2..=100_000_000;
        /// Days after which the recording of a closed slot is deleted; 0 means never.
        live keep_days: u32 = 0, in 0..=36_500;
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
