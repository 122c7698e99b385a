//! The configuration: every key with its type, default and meaning.
//!
//! A file is taken whole or not at all. An unknown key, a value of the wrong
//! type or out of range is refused with the file, the line and, for a key, the
//! nearest one that exists.

mod attention;
mod autopilot;
mod context;
mod conversations;
mod diagnose;
mod keys;
mod knowledge;
mod mcp;
mod quiet_hours;
mod usage;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use missiond_store::DbUrl;
use serde::{Deserialize, Serialize};

pub use attention::{NotificationsConfig, PermissionRuleConfig, PermissionsConfig};
pub use autopilot::{AutopilotConfig, SlotConfig};
pub use context::ContextConfig;
pub use conversations::ConversationsConfig;
pub use diagnose::ConfigError;
pub use keys::{KEYS, KeySpec, Reload};
pub use knowledge::{EmbeddingProvider, KnowledgeConfig, SearchConfig};
pub use mcp::{McpClientConfig, McpConfig};
pub use usage::{PriceConfig, UsageConfig};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub database: DatabaseConfig,
    pub journal: JournalConfig,
    pub daemon: DaemonConfig,
    pub ipc: IpcConfig,
    pub http: HttpConfig,
    pub log: LogConfig,
    pub timeline: TimelineConfig,
    pub recording: RecordingConfig,
    pub otlp: OtlpConfig,
    pub anomalies: AnomaliesConfig,
    pub permissions: PermissionsConfig,
    pub notifications: NotificationsConfig,
    pub autopilot: AutopilotConfig,
    pub mcp: McpConfig,
    pub slots: Vec<SlotConfig>,
    /// 0 means never.
    pub slot_idle_secs: u64,
    pub knowledge: KnowledgeConfig,
    pub context: ContextConfig,
    pub conversations: ConversationsConfig,
    pub usage: UsageConfig,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseConfig {
    /// Empty means SQLite in the data folder.
    pub url: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JournalConfig {
    pub store: JournalKeeping,
}

/// Where new journals are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JournalKeeping {
    #[default]
    Files,
    Database,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DaemonConfig {
    pub drain_secs: u64,
    pub sample_secs: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IpcConfig {
    pub max_connections: u32,
    pub max_in_flight: u32,
    pub requests_per_second: u32,
    pub request_timeout_secs: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    pub enabled: bool,
    pub listen: SocketAddr,
    pub allow_public: bool,
    pub hosts: Vec<String>,
    pub requests_per_second: u32,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    pub level: LogLevel,
    pub max_file_mb: u64,
    pub max_files: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimelineConfig {
    pub queue: u32,
    pub batch: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordingConfig {
    pub segment_mb: u64,
    pub keep_mb: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OtlpConfig {
    /// Empty means off.
    pub endpoint: String,
    pub interval_secs: u64,
}

/// From when on what a slot does is an incident.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnomaliesConfig {
    pub silent_secs: u64,
    pub still_secs: u64,
    pub flood_bytes_per_second: u64,
    pub flood_secs: u64,
    pub garbage_percent: u32,
    pub garbage_secs: u64,
    pub crash_count: u32,
    pub crash_window_secs: u64,
}

impl Default for DaemonConfig {
    fn default() -> Self {
        Self {
            drain_secs: 5,
            sample_secs: 60,
        }
    }
}

impl Default for IpcConfig {
    fn default() -> Self {
        Self {
            max_connections: 512,
            max_in_flight: 64,
            requests_per_second: 50_000,
            request_timeout_secs: 60,
        }
    }
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            allow_public: false,
            hosts: Vec::new(),
            requests_per_second: 200,
        }
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            level: LogLevel::Info,
            max_file_mb: 10,
            max_files: 5,
        }
    }
}

impl Default for TimelineConfig {
    fn default() -> Self {
        Self {
            queue: 8192,
            batch: 512,
        }
    }
}

impl Default for RecordingConfig {
    fn default() -> Self {
        Self {
            segment_mb: 64,
            keep_mb: 1024,
        }
    }
}

impl Default for OtlpConfig {
    fn default() -> Self {
        Self {
            endpoint: String::new(),
            interval_secs: 15,
        }
    }
}

impl Default for AnomaliesConfig {
    fn default() -> Self {
        Self {
            silent_secs: 600,
            still_secs: 1800,
            flood_bytes_per_second: 1_000_000,
            flood_secs: 10,
            garbage_percent: 10,
            garbage_secs: 5,
            crash_count: 3,
            crash_window_secs: 600,
        }
    }
}

impl IpcConfig {
    #[must_use]
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_secs)
    }
}

/// No configuration file of ours comes near this.
const MAX_FILE: u64 = 1024 * 1024;

impl Config {
    /// Reads the file; a file that does not exist means the defaults.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        let unreadable = |error: std::io::Error| {
            ConfigError::new(file, None, format!("cannot be read: {error}"))
        };
        match std::fs::metadata(file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(unreadable(error)),
            Ok(metadata) if metadata.len() > MAX_FILE => {
                return Err(ConfigError::new(
                    file,
                    None,
                    "is larger than 1 MB".to_owned(),
                ));
            }
            Ok(_) => {}
        }
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        Self::parse(file, &text)
    }

    /// Reads the text of a configuration file; `file` is for the messages.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        diagnose::parse(file, text)
    }

    /// The value of a key as it would stand in the file, but without passwords.
    #[must_use]
    pub fn value(&self, key: &str) -> String {
        let value = match self.raw(key) {
            Some(toml::Value::String(url)) if key == "database.url" && !url.is_empty() => {
                let shown = url.parse::<DbUrl>().map(|url| url.to_string());
                Some(toml::Value::String(shown.unwrap_or_default()))
            }
            other => other,
        };
        value.map_or_else(String::new, |value| value.to_string())
    }

    /// The keys whose values differ.
    #[must_use]
    pub fn changed_keys(&self, other: &Self) -> Vec<&'static KeySpec> {
        let differs = |spec: &&KeySpec| self.raw(spec.key) != other.raw(spec.key);
        KEYS.iter().filter(differs).collect()
    }

    /// What is in force after `new` was read again: the keys that wait for a
    /// restart keep their running values, so that `config_show` says what is true.
    /// Every section is named here, so that a new one cannot be forgotten.
    pub fn after_reload(&self, new: &Self) -> Self {
        Self {
            database: self.database.clone(),
            journal: self.journal.clone(),
            daemon: new.daemon.clone(),
            ipc: new.ipc.clone(),
            http: self.http.clone(),
            log: LogConfig {
                level: new.log.level,
                ..self.log.clone()
            },
            timeline: self.timeline.clone(),
            recording: self.recording.clone(),
            otlp: self.otlp.clone(),
            anomalies: self.anomalies.clone(),
            permissions: new.permissions.clone(),
            notifications: new.notifications.clone(),
            autopilot: new.autopilot.clone(),
            knowledge: self.knowledge.clone(),
            context: new.context.clone(),
            conversations: new.conversations.clone(),
            usage: new.usage.clone(),
            mcp: new.mcp.clone(),
            slots: new.slots.clone(),
            slot_idle_secs: new.slot_idle_secs,
        }
    }

    fn raw(&self, key: &str) -> Option<toml::Value> {
        let tree = toml::Value::try_from(self).ok();
        key.split('.').fold(tree, |value, part| match value {
            Some(toml::Value::Table(mut table)) => table.remove(part),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn refused(text: &str) -> String {
        Config::parse(Path::new("/c/config.toml"), text)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_reload_takes_over_every_live_key_and_no_other() {
        let text = "slot_idle_secs = 9\n[database]\nurl = \"sqlite:/x\"\n\
            [journal]\nstore = \"database\"\n[daemon]\ndrain_secs = 1\n\
            [ipc]\nmax_connections = 7\n[http]\nenabled = false\n\
            [log]\nlevel = \"debug\"\nmax_files = 2\n[timeline]\nqueue = 99\n\
            [recording]\nkeep_mb = 9\n[otlp]\ninterval_secs = 3\n\
            [anomalies]\nsilent_secs = 5\n[notifications]\ndwell_secs = 1\n\
            [[permissions.rules]]\neffect = \"deny\"\ntool = \"Bash\"\n\
            [autopilot]\nmax_agents = 9\n[context]\ntokens = 900\n[conversations]\nprojects = [\"/src\"]\n\
            [[usage.prices]]\nmodel = \"m\"\ninput = 1\noutput = 2\n[[slots]]\nname = \"a\"\nengine = \"claude\"\n";
        let new = Config::parse(Path::new("/c/config.toml"), text).unwrap();
        let old = Config::default();
        let running = old.after_reload(&new);
        let changed: BTreeSet<_> = old.changed_keys(&new).iter().map(|spec| spec.key).collect();
        assert_eq!(changed.len(), 19, "one of each section: {changed:?}");
        for spec in old.changed_keys(&new) {
            let expected = match spec.reload {
                Reload::Live => new.raw(spec.key),
                Reload::Restart => old.raw(spec.key),
            };
            assert_eq!(running.raw(spec.key), expected, "{}", spec.key);
        }
    }

    #[test]
    fn every_key_is_documented_and_every_documented_key_exists() {
        fn leaves(prefix: &str, value: &toml::Value, out: &mut BTreeSet<String>) {
            match value {
                toml::Value::Table(table) => {
                    for (name, value) in table {
                        let key = if prefix.is_empty() {
                            name.clone()
                        } else {
                            format!("{prefix}.{name}")
                        };
                        leaves(&key, value, out);
                    }
                }
                _ => {
                    out.insert(prefix.to_owned());
                }
            }
        }
        let mut existing = BTreeSet::new();
        leaves(
            "",
            &toml::Value::try_from(Config::default()).unwrap(),
            &mut existing,
        );
        let documented = KEYS.iter().map(|spec| spec.key.to_owned()).collect();
        assert_eq!(existing, documented);
    }

    #[test]
    fn an_unknown_key_is_refused_with_line_and_nearest_key() {
        assert_eq!(
            refused("[ipc]\nmax_conections = 3\n"),
            "/c/config.toml, line 2: unknown key `ipc.max_conections`; did you mean \
             `ipc.max_connections`?"
        );
        assert_eq!(
            refused("[lgo]\nlevel = \"info\"\n"),
            "/c/config.toml, line 1: unknown section `lgo`; did you mean `log`?"
        );
        assert!(refused("zzzzqqqq = 1\n").ends_with(
            "line 1: unknown key `zzzzqqqq`; `mission config keys` lists those that exist"
        ));
        assert!(refused("log.levle = \"info\"\n").contains("`log.level`"));
    }

    #[test]
    fn a_value_of_the_wrong_type_is_refused_with_its_line() {
        let error = refused("\n\n[ipc]\nmax_connections = \"many\"\n");
        assert!(
            error.starts_with("/c/config.toml, line 4: `ipc.max_connections`: "),
            "{error}"
        );
        assert!(error.contains("expected u32"), "{error}");
        assert!(refused("ipc = 3\n").contains("line 1: `ipc` is a section, not a value"));
        assert!(refused("log.level = \"loud\"\n").contains("unknown variant `loud`"));
        assert!(refused("[http]\nlisten = \"here\"\n").contains("line 2"));
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_its_line() {
        assert_eq!(
            refused("[ipc]\n\nmax_connections = 0\n"),
            "/c/config.toml, line 3: `ipc.max_connections` must be between 1 and 10000, but is 0"
        );
        assert!(
            refused("[http]\nlisten = \"0.0.0.0:80\"\n").contains("`http.allow_public = true`")
        );
        let public = "[http]\nlisten = \"0.0.0.0:80\"\nallow_public = true\n";
        assert!(Config::parse(Path::new("c"), public).is_ok());
        assert!(refused("[http]\nhosts = [\"a/b\"]\n").contains("line 2: `http.hosts`"));
        assert!(refused("[database]\nurl = \"mysql://x\"\n").contains("line 2"));
        assert!(refused("[otlp]\nendpoint = \"https://x\"\n").contains("http://"));
    }

    #[test]
    fn a_permission_rule_is_read_and_a_wrong_one_refused() {
        let rule = "[[permissions.rules]]\n";
        let text = format!("{rule}effect = \"deny\"\npath = \"~/.ssh/**\"\n");
        let config = Config::parse(Path::new("c"), &text).unwrap();
        let rules = config.permissions.rules().unwrap();
        assert_eq!(rules[0].sentence(), "deny * on ~/.ssh/**");
        for (wrong, expected) in [
            (
                "effect = \"allow\"\n",
                "rule 1: a rule that allows everything",
            ),
            ("effect = \"maybe\"\n", "unknown variant `maybe`"),
            ("tool = \"Bash\"\n", "missing field `effect`"),
            (
                "effect = \"deny\"\npath = \"../x\"\n",
                "is not a path pattern",
            ),
            (
                "effect = \"deny\"\nargumnet = \"x\"\n",
                "unknown field `argumnet`",
            ),
        ] {
            let error = refused(&format!("{rule}{wrong}"));
            assert!(error.contains(expected), "{error}");
            assert!(error.contains("line "), "{error}");
        }
    }

    #[test]
    fn a_webhook_is_https_or_on_this_machine() {
        let url = |url: &str| format!("[notifications]\nwebhook_url = \"{url}\"\n");
        for fine in [
            "https://hooks.example/x",
            "http://127.0.0.1:9/x",
            "http://[::1]:9",
            "http://localhost/",
        ] {
            assert!(Config::parse(Path::new("c"), &url(fine)).is_ok(), "{fine}");
        }
        for wrong in [
            "http://hooks.example/x",
            "http://10.0.0.1/",
            "ftp://x",
            "x",
            "https:///",
        ] {
            let error = refused(&url(wrong));
            assert!(
                error.contains("line 2: `notifications.webhook_url`"),
                "{error}"
            );
        }
        assert!(refused("[notifications]\nwebhook_secret_file = \"s\"\n").contains("absolute"));
    }

    #[test]
    fn broken_toml_is_refused_with_its_line() {
        assert!(refused("[ipc]\nmax_connections = \n").starts_with("/c/config.toml, line 2: "));
        assert!(refused("[ipc\n").starts_with("/c/config.toml, line 1: "));
    }

    #[test]
    fn a_password_is_never_shown_but_its_change_is_noticed() {
        let with = |url: &str| Config {
            database: DatabaseConfig {
                url: url.to_owned(),
            },
            ..Config::default()
        };
        for url in [
            "postgres://me:s3cret@localhost/m",
            "postgres://me@localhost/m?password=s3cret",
        ] {
            let shown = with(url).value("database.url");
            assert!(
                shown.contains("localhost/m") && shown.contains("***"),
                "{shown}"
            );
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        let config = with("postgres://me:s3cret@localhost/m");
        let changed = config.changed_keys(&with("postgres://me:other@localhost/m"));
        assert_eq!(changed[0].key, "database.url");
    }

    #[test]
    fn the_default_values_pass_their_own_checks() {
        let text = toml::to_string(&Config::default()).unwrap();
        assert_eq!(
            Config::parse(Path::new("c"), &text).unwrap(),
            Config::default()
        );
    }
}
