//! The list of servers a person keeps: `mcp.toml` and, for those who have one,
//! `mcp.json`, in the configuration folder.
//!
//! What is read here is complete and checked; nothing in this crate writes to
//! these files except when a person adds, removes or switches a server
//! (`edit.rs`), and nothing that happens to a running server ever does.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_core::excerpt;
use missiond_net::http::check_private;
use missiond_os::{expand_home, hex};
use missiond_sandbox::Profile;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::ConfigError;

/// The largest list that is read.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// How long a call may take when the list does not say.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a server nobody calls is kept when the list does not say.
pub(crate) const DEFAULT_IDLE: Duration = Duration::from_secs(600);

/// What separates the server from the tool in `server__tool`.
pub const SEPARATOR: &str = "__";

/// The name of a server, as a person chose it: `[A-Za-z0-9._-]`, at most 40,
/// without the separator.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ServerName(String);

impl ServerName {
    pub fn new(name: &str) -> Result<Self, ConfigError> {
        let refused = |why| {
            Err(ConfigError::Name {
                name: excerpt(name, 60),
                why,
            })
        };
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        match name {
            "" => refused("it is empty"),
            name if name.len() > 40 => refused("it is longer than 40 characters"),
            name if !name.bytes().all(allowed) => {
                refused("only letters, digits, `.`, `_` and `-` are allowed")
            }
            name if name.contains(SEPARATOR) || name.ends_with('_') => refused(
                "`__` separates it from the tool, so it can neither contain that nor end with `_`",
            ),
            name => Ok(Self(name.to_owned())),
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One server of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    pub transport: Transport,
    pub enabled: bool,
    pub protocol: ProtocolChoice,
    pub timeout: Duration,
    /// `None`: it is kept for ever.
    pub idle: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A program that speaks on its standard input and output.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        /// Variables of our own environment it is given beside the usual ones.
        pass_env: Vec<String>,
        cwd: Option<PathBuf>,
        wall: ServerWall,
    },
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

/// The wall around a server's program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerWall {
    /// As the configuration says when left out.
    pub profile: Option<Profile>,
    /// What it may read beside what is seen anyway.
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
}

/// Which era of the protocol a server is spoken to in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtocolChoice {
    /// Found out when it is started.
    #[default]
    Auto,
    Modern,
    Legacy,
}

/// A server as it stands in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerEntry {
    /// `stdio` or `http`; other clients write it, and it must fit the rest.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<ProtocolChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_secs: Option<u64>,
    /// 0: it is kept for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_secs: Option<u64>,
    /// How thick the wall around it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Profile>,
    /// What it may read and change behind it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<PathBuf>,
}

impl ServerEntry {
    /// The server it describes, or what is wrong with it.
    pub fn check(self) -> Result<ServerSpec, String> {
        let timeout = match self.timeout_secs {
            None => DEFAULT_TIMEOUT,
            Some(seconds @ 1..=3600) => Duration::from_secs(seconds),
            Some(_) => return Err("`timeout_secs` must be 1 to 3600".to_owned()),
        };
        let transport = match (self.command, self.url) {
            (Some(command), None) => {
                if command.is_empty() {
                    return Err("`command` is empty".to_owned());
                }
                if !self.headers.is_empty() {
                    return Err("`headers` belong to a server with a `url`".to_owned());
                }
                let bad = self
                    .env
                    .keys()
                    .chain(&self.pass_env)
                    .find(|name| name.is_empty() || name.contains(['=', '\0']));
                if let Some(name) = bad {
                    return Err(format!("`{}` cannot be a variable", name.escape_default()));
                }
                let shown = self.read.iter().chain(&self.write);
                let shown = shown.map(|path| expand_home(path));
                if let Some(path) = shown.into_iter().find(|path| path.is_relative()) {
                    let path = path.display();
                    return Err(format!("`{path}` is relative: begin it with / or ~/"));
                }
                Transport::Stdio {
                    wall: ServerWall {
                        profile: self.sandbox,
                        read: self.read.iter().map(|path| expand_home(path)).collect(),
                        write: self.write.iter().map(|path| expand_home(path)).collect(),
                    },
                    command,
                    args: self.args,
                    env: self.env,
                    pass_env: self.pass_env,
                    cwd: self.cwd,
                }
            }
            (None, Some(url)) => {
                if !(self.args.is_empty() && self.env.is_empty() && self.pass_env.is_empty()) {
                    return Err("`args` and `env` belong to a server with a `command`".to_owned());
                }
                if self.sandbox.is_some() || !(self.read.is_empty() && self.write.is_empty()) {
                    return Err(
                        "`sandbox`, `read` and `write` belong to a server with a `command`"
                            .to_owned(),
                    );
                }
                check_url(&url)?;
                Transport::Http {
                    url,
                    headers: self.headers,
                }
            }
            (Some(_), Some(_)) => {
                return Err("it has a `command` and a `url`: which is it?".to_owned());
            }
            (None, None) => return Err("it has neither a `command` nor a `url`".to_owned()),
        };
        match (self.kind.as_deref(), &transport) {
            (None, _)
            | (Some("stdio"), Transport::Stdio { .. })
            | (Some("http" | "streamable-http" | "streamableHttp"), Transport::Http { .. }) => {}
            (Some("sse"), _) => {
                return Err(
                    "`sse` is the transport of 2024, which is not spoken: most such \
                            servers also speak `http`"
                        .to_owned(),
                );
            }
            (Some(kind), _) => {
                return Err(format!(
                    "`type` is `{}`, which it is not",
                    kind.escape_default()
                ));
            }
        }
        Ok(ServerSpec {
            transport,
            enabled: self.enabled.unwrap_or(true),
            protocol: self.protocol.unwrap_or_default(),
            timeout,
            idle: match self.idle_secs {
                None => Some(DEFAULT_IDLE),
                Some(0) => None,
                Some(seconds) => Some(Duration::from_secs(seconds)),
            },
        })
    }
}

fn check_url(url: &str) -> Result<(), String> {
    match check_private(url) {
        Ok(_) => Ok(()),
        Err(why) => Err(format!("`{}` {why}", url.escape_default())),
    }
}

/// Every server a person has listed, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerList {
    pub servers: BTreeMap<ServerName, Listed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub spec: ServerSpec,
    pub file: PathBuf,
}

/// The two files of a configuration folder.
#[must_use]
pub fn files(folder: &Path) -> [PathBuf; 2] {
    [folder.join("mcp.toml"), folder.join("mcp.json")]
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TomlFile {
    servers: BTreeMap<String, ServerEntry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JsonFile {
    #[serde(rename = "mcpServers", alias = "servers")]
    servers: BTreeMap<String, ServerEntry>,
}

impl ServerList {
    /// Reads the list of a configuration folder. A folder without one lists no
    /// servers.
    pub fn load(folder: &Path) -> Result<Self, ConfigError> {
        let [path, _] = files(folder);
        let text = read(&path)?;
        Self::with_toml(folder, text.as_deref())
    }

    /// The list as it would be if this were the text of its `mcp.toml`.
    pub fn with_toml(folder: &Path, text: Option<&str>) -> Result<Self, ConfigError> {
        let malformed = |path: &Path, why: String| ConfigError::Malformed {
            path: path.to_owned(),
            why,
        };
        let [toml_path, json_path] = files(folder);
        let mut list = Self::default();
        if let Some(text) = text {
            let file: TomlFile = toml::from_str(text)
                .map_err(|error| malformed(&toml_path, error.to_string().trim().to_owned()))?;
            list.extend(&toml_path, file.servers)?;
        }
        if let Some(text) = read(&json_path)? {
            let text = crate::jsonc::plain(&text).map_err(|why| malformed(&json_path, why))?;
            let file: JsonFile = serde_json::from_str(&text)
                .map_err(|error| malformed(&json_path, error.to_string()))?;
            list.extend(&json_path, file.servers)?;
        }
        Ok(list)
    }

    fn extend(
        &mut self,
        path: &Path,
        entries: BTreeMap<String, ServerEntry>,
    ) -> Result<(), ConfigError> {
        let mut entries = entries.into_iter();
        entries.try_for_each(|(name, entry)| self.insert(path, &name, entry))
    }

    fn insert(&mut self, path: &Path, name: &str, entry: ServerEntry) -> Result<(), ConfigError> {
        let wrong = |why: String| ConfigError::Server {
            path: path.to_owned(),
            server: name.to_owned(),
            why,
        };
        let named = ServerName::new(name).map_err(|error| wrong(error.to_string()))?;
        let spec = entry.check().map_err(wrong)?;
        if let Some(before) = self.servers.get(&named) {
            return Err(ConfigError::Twice {
                server: name.to_owned(),
                first: before.file.clone(),
                second: path.to_owned(),
            });
        }
        let file = path.to_owned();
        self.servers.insert(named, Listed { spec, file });
        Ok(())
    }
}

/// The text of a list, unless there is none or others may change it.
pub(crate) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    check_file(path)?;
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, error.to_string())),
    }
}

/// Whether a list may be used as it lies there: nobody else may write it, and it is not
/// too large. One that is not there may.
pub fn check_file(path: &Path) -> Result<(), ConfigError> {
    let facts = match fs::metadata(path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unreadable(path, error.to_string())),
    };
    if std::os::unix::fs::PermissionsExt::mode(&facts.permissions()) & 0o022 != 0 {
        return Err(ConfigError::Writable {
            path: path.to_owned(),
        });
    }
    if facts.len() > MAX_FILE {
        return Err(unreadable(path, "it is larger than 4 MB".to_owned()));
    }
    Ok(())
}

fn unreadable(path: &Path, why: String) -> ConfigError {
    ConfigError::Unreadable {
        path: path.to_owned(),
        why,
    }
}

/// Tells whether the files of a folder are still those that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stamp([Option<(std::time::SystemTime, u64, u64)>; 2]);

impl Stamp {
    #[must_use]
    pub(crate) fn of(folder: &Path) -> Self {
        Self(files(folder).map(|path| stamp_of(&path)))
    }
}

/// When a file was changed, its size and its number: together they differ after
/// every change that matters.
pub(crate) fn stamp_of(path: &Path) -> Option<(std::time::SystemTime, u64, u64)> {
    let facts = fs::metadata(path).ok()?;
    let number = std::os::unix::fs::MetadataExt::ino(&facts);
    Some((facts.modified().ok()?, facts.len(), number))
}

/// A short fingerprint, for showing and comparing.
pub(crate) fn fingerprint(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes))
}

/// Puts variables of our environment where `${NAME}` stands, so that a secret
/// need not be in the file. The error names the variable that is missing.
pub(crate) fn expand(
    text: &str,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((name, tail)) = after.split_once('}') else {
            expanded.push_str("${");
            rest = after;
            continue;
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        match lookup(name) {
            Some(value) => expanded.push_str(&value),
            None => return Err(name.to_owned()),
        }
        rest = tail;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
