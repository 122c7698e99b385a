//! The configuration: every key with its type, default, range and meaning.
//!
//! A key is declared once, in its section, by the macro of [`keys`]; all that is
//! known of it comes from there. What no range can say is checked by its section.
//!
//! A file is taken whole or not at all. An unknown key, a value of the wrong
//! type or out of range is refused with the file, the line and, for a key, the
//! nearest one that exists.

mod anomalies;
mod attention;
mod autopilot;
pub mod changes;
mod context;
mod conversations;
mod daemon;
mod diagnose;
mod edit;
mod engines;
pub mod history;
mod http;
mod keys;
#[cfg(test)]
mod keys_tests;
mod knowledge;
mod llm;
mod mcp;
mod meant;
pub mod policy_files;
mod prices;
mod quiet_hours;
mod sandbox;
mod secrets;
mod upgrade;
mod usage;

use std::path::Path;
use std::sync::LazyLock;

use keys::section;

pub use anomalies::AnomaliesConfig;
pub use attention::{NotificationsConfig, PermissionRuleConfig, PermissionsConfig};
pub use autopilot::{AutopilotConfig, SlotConfig};
pub use context::ContextConfig;
pub use conversations::ConversationsConfig;
pub use daemon::{
    DaemonConfig, DatabaseConfig, IpcConfig, JournalConfig, JournalKeeping, LogConfig, OtlpConfig,
    RecordingConfig, TimelineConfig,
};
pub use diagnose::ConfigError;
use edit::written;
pub use edit::{EditError, change, set, shown, value_at};
pub use engines::{AddedEngine, EnginesConfig};
pub use http::HttpConfig;
pub use keys::{KeySpec, Range, Reload};
pub use knowledge::{EmbeddingProvider, KnowledgeConfig, SearchConfig};
pub use llm::{FOUND_OLLAMA, KeptTexts, LlmConfig, ProviderConfig, ProviderFormat};
pub use mcp::{McpClientConfig, McpConfig};
pub use prices::{ListPrice, PriceList, PriceSource, price_list};
pub use sandbox::{SandboxConfig, SandboxNetwork};
pub use secrets::SecretsConfig;
pub use upgrade::UpgradeConfig;
pub use usage::{PriceConfig, UsageConfig};

section! {
    pub struct Config: "" {
        /// Slots that are always there: `[[slots]]` with `name`, `engine` and, if wanted,
        /// `tokens_per_day` and `tools`, which of other people's MCP tools its agents may
        /// use. A task of the engine runs in a free one under its name.
        live slots: Vec<SlotConfig> = Vec::new();
        /// Slots that are not of the configuration and work for no task are ended when
        /// their program has rested for so many seconds and nobody watches; 0 means
        /// never.
        live slot_idle_secs: u64 = 0;
        /// Slots open at once, whoever starts them; one more is refused. A quarter, and at
        /// least one, is kept for the person: agents, programs and the autopilot start none
        /// beyond.
        live max_slots: u32 = 256, in 1..=10_000;
        sections {
            database: DatabaseConfig,
            journal: JournalConfig,
            daemon: DaemonConfig,
            ipc: IpcConfig,
            http: HttpConfig,
            log: LogConfig,
            timeline: TimelineConfig,
            recording: RecordingConfig,
            otlp: OtlpConfig,
            anomalies: AnomaliesConfig,
            notifications: NotificationsConfig,
            permissions: PermissionsConfig,
            secrets: SecretsConfig,
            engines: EnginesConfig,
            autopilot: AutopilotConfig,
            mcp: McpConfig,
            sandbox: SandboxConfig,
            knowledge: KnowledgeConfig,
            context: ContextConfig,
            conversations: ConversationsConfig,
            usage: UsageConfig,
            llm: LlmConfig,
            upgrade: UpgradeConfig,
        }
    }
}

/// Every key, by section.
pub static KEYS: LazyLock<Vec<KeySpec>> = LazyLock::new(|| {
    let mut keys = Vec::new();
    Config::declare(&mut keys);
    keys
});

/// A key and its value, both values as they are shown to people: without passwords.
#[derive(Debug)]
pub struct KeyValue {
    pub spec: &'static KeySpec,
    pub value: String,
    pub default: String,
    /// The same as data.
    pub json: serde_json::Value,
    pub default_json: serde_json::Value,
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
        // It decides what agents may do, so nobody else may have a say in it.
        if let Some(why) = missiond_os::files::written_by_others(file).map_err(unreadable)? {
            return Err(ConfigError::new(file, None, why.to_owned()));
        }
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        Self::parse(file, &text)
    }

    /// Reads the text of a configuration file; `file` is for the messages.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        diagnose::parse(file, text)
    }

    /// Every key with its value and its default.
    #[must_use]
    pub fn describe(&self) -> Vec<KeyValue> {
        let (values, defaults) = (Values::of(self), Values::of(&Self::default()));
        let describe = |spec: &'static KeySpec| KeyValue {
            spec,
            value: written(&values.public(spec)),
            default: written(&defaults.public(spec)),
            json: values.public(spec),
            default_json: defaults.public(spec),
        };
        KEYS.iter().map(describe).collect()
    }

    /// The keys whose values differ.
    #[must_use]
    pub fn changed_keys(&self, other: &Self) -> Vec<&'static KeySpec> {
        let (values, others) = (Values::of(self), Values::of(other));
        let differs = |spec: &&KeySpec| values.get(spec.key) != others.get(spec.key);
        KEYS.iter().filter(differs).collect()
    }
}

/// The values of a configuration by the names of their keys.
struct Values(Option<toml::Value>);

impl Values {
    fn of(config: &Config) -> Self {
        Self(toml::Value::try_from(config).ok())
    }

    fn get(&self, key: &str) -> Option<&toml::Value> {
        key.split('.')
            .fold(self.0.as_ref(), |value, part| value?.get(part))
    }

    /// The value of a key without what is secret of it.
    fn public(&self, spec: &KeySpec) -> serde_json::Value {
        let value = self.get(spec.key);
        let value = value.and_then(|value| serde_json::to_value(value).ok());
        spec.public(&value.unwrap_or_default())
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
            [[usage.prices]]\nmodel = \"m\"\ninput = 1\noutput = 2\n[llm]\nday_usd = 3.5\n[upgrade]\nkey = \"/k\"\n[[slots]]\nname = \"a\"\nengine = \"claude\"\n";
        let new = Config::parse(Path::new("/c/config.toml"), text).unwrap();
        let old = Config::default();
        let running = old.after_reload(&new);
        let changed: BTreeSet<_> = old.changed_keys(&new).iter().map(|spec| spec.key).collect();
        assert_eq!(changed.len(), 21, "one of each section: {changed:?}");
        let values = [&old, &new, &running].map(Values::of);
        let [old_values, new_values, running_values] = &values;
        for spec in old.changed_keys(&new) {
            let expected = match spec.reload {
                Reload::Live => new_values.get(spec.key),
                Reload::Restart => old_values.get(spec.key),
            };
            assert_eq!(running_values.get(spec.key), expected, "{}", spec.key);
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
        assert_eq!(
            error,
            "/c/config.toml, line 4: `ipc.max_connections` must be a whole number, but is the \
             text `many`"
        );
        assert!(refused("ipc = 3\n").contains("line 1: `ipc` is a section, not a value"));
        assert!(refused("log.level = \"loud\"\n").contains("but is `loud`"));
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
        assert!(refused("[otlp]\nendpoint = \"grpc://x\"\n").contains("http://"));
    }

    #[test]
    fn places_are_absolute_and_a_socket_has_a_short_one() {
        let socket = |path: &str| format!("[ipc]\nsocket_path = \"{path}\"\n");
        let fine = socket("/run/user/1000/m/daemon.sock");
        let config = Config::parse(Path::new("c"), &fine).unwrap();
        let place = config.ipc.socket_path();
        assert_eq!(place, Some(Path::new("/run/user/1000/m/daemon.sock")));
        assert_eq!(Config::default().ipc.socket_path(), None);
        for (wrong, expected) in [
            (socket("daemon.sock"), "must be the absolute path of a file"),
            (socket("/"), "must be the absolute path of a file"),
            (
                socket(&format!("/{}", "x".repeat(110))),
                "is 111 bytes long, and the system allows 103",
            ),
            (
                "[log]\ndirectory = \"logs\"\n".to_owned(),
                "`log.directory` must be an absolute path",
            ),
            (
                "[upgrade]\nkey = \"RWshort\"\n".to_owned(),
                "`upgrade.key` must be a minisign key",
            ),
        ] {
            let error = refused(&wrong);
            assert!(error.contains(expected), "{error}");
            assert!(error.contains("line 2"), "{error}");
        }
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
            let keys = with(url).describe();
            let shown = &keys
                .iter()
                .find(|key| key.spec.key == "database.url")
                .unwrap()
                .value;
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
    fn the_secret_of_a_webhook_is_in_no_form_of_its_value() {
        let text = "[notifications]\nwebhook_url = \"https://hooks.example/s3cret\"\n";
        let config = Config::parse(Path::new("c"), text).unwrap();
        let keys = config.describe();
        let mut keys = keys.iter();
        let key = keys.find(|key| key.spec.key == "notifications.webhook_url");
        let shown = format!("{:?}", key.unwrap());
        assert!(shown.contains("https://hooks.example/…"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
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
