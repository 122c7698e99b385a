//! The servers other clients already know: read from their configuration files,
//! never written to.
//!
//! What a client writes differently is translated; what we cannot do (a prompt
//! for a secret, the transport of 2024) is reported with the server's name
//! instead of being dropped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::config::{ServerEntry, ServerName};

/// A client whose configuration can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    ClaudeCode,
    Gemini,
    Codex,
    OpenCode,
    Cursor,
    VsCode,
}

/// Where to look: the person's home folder, the folder for configuration, and
/// the project that is open.
#[derive(Debug, Clone)]
pub struct ConfigRoots {
    pub home: PathBuf,
    pub config: PathBuf,
    pub project: PathBuf,
}

/// A server another client has.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundServer {
    pub name: String,
    pub client: Client,
    pub file: PathBuf,
    /// How it would stand in our list, or why it cannot.
    pub entry: Result<ServerEntry, String>,
}

impl Client {
    pub const ALL: [Self; 6] = [
        Self::ClaudeCode,
        Self::Gemini,
        Self::Codex,
        Self::OpenCode,
        Self::Cursor,
        Self::VsCode,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Gemini => "gemini",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
        }
    }

    /// The files it reads, those of the project last.
    #[must_use]
    pub fn files(self, roots: &ConfigRoots) -> Vec<PathBuf> {
        let ConfigRoots {
            home,
            config,
            project,
        } = roots;
        match self {
            Self::ClaudeCode => vec![home.join(".claude.json"), project.join(".mcp.json")],
            Self::Gemini => vec![
                home.join(".gemini/settings.json"),
                project.join(".gemini/settings.json"),
            ],
            Self::Codex => vec![
                home.join(".codex/config.toml"),
                project.join(".codex/config.toml"),
            ],
            Self::OpenCode => vec![
                config.join("opencode/opencode.json"),
                config.join("opencode/opencode.jsonc"),
                project.join("opencode.json"),
                project.join("opencode.jsonc"),
            ],
            Self::Cursor => vec![
                home.join(".cursor/mcp.json"),
                project.join(".cursor/mcp.json"),
            ],
            Self::VsCode => vec![
                config.join("Code/User/mcp.json"),
                home.join("Library/Application Support/Code/User/mcp.json"),
                project.join(".vscode/mcp.json"),
            ],
        }
    }
}

/// Everything a client has on this machine. The error names the file that
/// cannot be read.
pub fn find(client: Client, roots: &ConfigRoots) -> Result<Vec<FoundServer>, String> {
    let mut found = Vec::new();
    for file in client.files(roots) {
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("cannot read {}: {error}", file.display())),
        };
        let servers = servers_in(client, &text, &roots.project)
            .map_err(|why| format!("{}: {why}", file.display()))?;
        found.extend(servers.into_iter().map(|(name, entry)| FoundServer {
            name: allowed_name(&name),
            client,
            file: file.clone(),
            entry,
        }));
    }
    Ok(found)
}

type Servers = Vec<(String, Result<ServerEntry, String>)>;

fn servers_in(client: Client, text: &str, project: &Path) -> Result<Servers, String> {
    let file: Value = match client {
        Client::Codex => toml::from_str(text).map_err(|error| error.message().to_owned())?,
        _ => {
            serde_json::from_str(&crate::jsonc::plain(text)?).map_err(|error| error.to_string())?
        }
    };
    let mut tables = Vec::new();
    match client {
        Client::ClaudeCode => {
            tables.push(&file["mcpServers"]);
            tables.push(&file["projects"][project.display().to_string()]["mcpServers"]);
        }
        Client::Gemini | Client::Cursor => tables.push(&file["mcpServers"]),
        Client::Codex => tables.push(&file["mcp_servers"]),
        Client::OpenCode => tables.push(&file["mcp"]),
        Client::VsCode => tables.push(&file["servers"]),
    }
    let servers = tables.into_iter().filter_map(Value::as_object).flatten();
    Ok(servers
        .map(|(name, server)| {
            let entry = server
                .as_object()
                .ok_or_else(|| "it is not an object".to_owned())
                .and_then(|server| entry_of(client, server));
            (name.clone(), entry)
        })
        .collect())
}

fn entry_of(client: Client, server: &Map<String, Value>) -> Result<ServerEntry, String> {
    let text = |key: &str| server.get(key).and_then(Value::as_str).map(str::to_owned);
    let list = |key: &str| strings(server.get(key));
    let table = |key: &str| pairs(server.get(key));
    let mut entry = ServerEntry {
        command: text("command"),
        args: list("args"),
        env: table("env"),
        cwd: text("cwd").map(PathBuf::from),
        url: text("url"),
        headers: table("headers"),
        ..ServerEntry::default()
    };
    match client {
        Client::Gemini => {
            // There `url` is the transport of 2024, and `httpUrl` ours.
            entry.url = text("httpUrl");
            if entry.url.is_none() && entry.command.is_none() && server.contains_key("url") {
                return Err("its `url` is for the transport of 2024".to_owned());
            }
        }
        Client::Codex => {
            entry.headers = table("http_headers");
            entry.pass_env = list("env_vars");
            if let Some(variable) = text("bearer_token_env_var") {
                let bearer = format!("Bearer ${{{variable}}}");
                entry.headers.insert("Authorization".to_owned(), bearer);
            }
            for (header, variable) in table("env_http_headers") {
                entry.headers.insert(header, format!("${{{variable}}}"));
            }
            entry.enabled = server.get("enabled").and_then(Value::as_bool);
        }
        Client::OpenCode => {
            let mut argv = strings(server.get("command")).into_iter();
            entry.command = argv.next();
            entry.args = argv.collect();
            entry.env = table("environment");
            entry.enabled = server.get("enabled").and_then(Value::as_bool);
        }
        Client::ClaudeCode | Client::Cursor | Client::VsCode => {}
    }
    if matches!(text("type").as_deref(), Some("sse")) {
        return Err("it uses the transport of 2024".to_owned());
    }
    let values = entry.env.values().chain(entry.headers.values());
    let mut all = values
        .chain(&entry.args)
        .chain(&entry.command)
        .chain(&entry.url);
    if all.any(|value| value.contains("${input:")) {
        return Err(
            "it asks for a secret when it starts: put that into a variable and name it \
                    as `${NAME}`"
                .to_owned(),
        );
    }
    entry.clone().check()?;
    Ok(entry)
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn pairs(value: Option<&Value>) -> BTreeMap<String, String> {
    let items = value.and_then(Value::as_object).into_iter().flatten();
    items
        .filter_map(|(name, value)| {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(yes) => yes.to_string(),
                _ => return None,
            };
            Some((name.clone(), value))
        })
        .collect()
}

/// The name, with what we do not allow replaced.
fn allowed_name(name: &str) -> String {
    if ServerName::new(name).is_ok() {
        return name.to_owned();
    }
    let dashed: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .take(40)
        .collect();
    if dashed.is_empty() {
        "server".to_owned()
    } else {
        dashed
    }
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
