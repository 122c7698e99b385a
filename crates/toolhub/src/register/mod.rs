//! Making ourselves known to other clients: our server is put into their
//! configuration files, and taken out again so that every file is what it was,
//! byte for byte.
//!
//! A file is changed in one place only; comments and formatting stay. What it was
//! is kept before it is changed, so undoing works also after a crash in between.
//! A file that somebody changed since is theirs: it is left alone and said so.

mod backup;
mod jsonc_edit;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use missiond_os::files::{Mode, replace_edited};
use serde_json::{Value, json};
use toml_edit::DocumentMut;

use crate::import::{Client, ConfigRoots};
use backup::Backup;

/// What our server is called everywhere.
const NAME: &str = "mission";

/// How our server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    pub command: PathBuf,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot write {path}: {source}")]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("{path} cannot be changed: {why}; add the server `{NAME}` by hand")]
    Strange { path: PathBuf, why: String },
    #[error(
        "{path} has a server called `{NAME}` that is not ours: rename or remove it, then try again"
    )]
    Taken { path: PathBuf },
    #[error("{path} was changed by somebody else at the same moment: try again")]
    Raced { path: PathBuf },
    #[error("what was kept of {path} cannot be read: {why}")]
    Record { path: PathBuf, why: String },
}

/// A change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub client: Client,
    pub file: PathBuf,
    /// Nothing when there is no such file yet.
    pub before: Option<String>,
    pub after: String,
    /// What the file was before we ever touched it.
    original: Option<String>,
}

impl Plan {
    /// Our server is there as it should be.
    #[must_use]
    pub fn changes_nothing(&self) -> bool {
        self.before.as_ref() == Some(&self.after)
    }
}

/// What became of one file when everything was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    pub client: Client,
    pub file: PathBuf,
    pub outcome: UndoOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoOutcome {
    /// It is what it was.
    Restored,
    /// There was none before, and there is none now.
    Removed,
    /// It was never changed, or somebody removed it.
    NothingToDo,
    /// Somebody changed it since; it was left as it is.
    ChangedSince,
    /// Somebody changed it since; only our server was taken out.
    TakenOut,
}

/// What to do about a file that somebody changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedSince {
    Leave,
    /// Take our server out and leave the rest.
    TakeOut,
}

/// Whether a client seems to be used on this machine.
#[must_use]
pub fn is_used(client: Client, roots: &ConfigRoots) -> bool {
    let ConfigRoots { home, config, .. } = roots;
    let signs = match client {
        Client::ClaudeCode => vec![home.join(".claude.json"), home.join(".claude")],
        Client::Gemini => vec![home.join(".gemini")],
        Client::Codex => vec![home.join(".codex")],
        Client::OpenCode => vec![config.join("opencode")],
        Client::Cursor => vec![home.join(".cursor")],
        Client::VsCode => vec![
            config.join("Code/User"),
            home.join("Library/Application Support/Code/User"),
        ],
    };
    signs.iter().any(|sign| sign.exists())
}

/// What would have to be changed so that a client starts our server. `kept` is the
/// folder in which [`apply`] keeps what files were.
pub fn plan(
    client: Client,
    roots: &ConfigRoots,
    registration: &Registration,
    backups: &Path,
) -> Result<Plan, RegisterError> {
    let file = file_of(client, roots);
    let before = read(&file)?;
    let text = before.clone().unwrap_or_default();
    let known = Backup::load(backups, client)?.filter(|known| known.file == file);
    let entry = entry(client, registration);
    let present = find(client, &text).map_err(|why| strange(&file, &why))?;
    if present.as_ref() == Some(&entry) {
        let original = before.clone();
        return Ok(Plan {
            client,
            file,
            after: text,
            before,
            original,
        });
    }
    // Before us it was what was kept, unless somebody changed it since: then it is
    // what they made of it, without us.
    let original = match (&known, &present) {
        (None, Some(_)) => return Err(RegisterError::Taken { path: file }),
        (Some(known), _) if known.is_as_we_left(before.as_deref()) => known.original.clone(),
        (Some(_), Some(_)) => Some(without(client, &text).map_err(|why| strange(&file, &why))?),
        _ => before.clone(),
    };
    let after = with(client, &text, &entry).map_err(|why| strange(&file, &why))?;
    // Whatever the file looked like: it must now say what we meant and nothing else.
    let reread = find(client, &after).map_err(|why| strange(&file, &why))?;
    let others = |text: &str| {
        without(client, text)
            .ok()
            .and_then(|text| parse(client, &text).ok())
    };
    if reread.as_ref() != Some(&entry) || !same_besides(others(&text), others(&after)) {
        return Err(strange(&file, "its form is not one we know"));
    }
    Ok(Plan {
        client,
        file,
        before,
        after,
        original,
    })
}

/// Makes the change. What the file was is kept first.
pub fn apply(plan: &Plan, backups: &Path) -> Result<(), RegisterError> {
    if plan.changes_nothing() {
        return Ok(());
    }
    let unwritable = |source| RegisterError::Unwritable {
        path: plan.file.clone(),
        source,
    };
    let made = missing_folders(&plan.file);
    let record = Backup {
        client: plan.client,
        file: plan.file.clone(),
        original: plan.original.clone(),
        after: backup::digest(&plan.after),
        made_folders: match &plan.before {
            None => made.clone(),
            Some(_) => Backup::load(backups, plan.client)?
                .map(|known| known.made_folders)
                .unwrap_or_default(),
        },
    };
    record.store(backups)?;
    if read(&plan.file)? != plan.before {
        return Err(RegisterError::Raced {
            path: plan.file.clone(),
        });
    }
    for folder in made.iter().rev() {
        fs::create_dir(folder).map_err(unwritable)?;
    }
    replace_edited(&plan.file, plan.after.as_bytes(), Mode::Kept).map_err(unwritable)
}

/// The files that [`undo`] would look at.
pub fn registered_files(backups: &Path) -> Result<Vec<PathBuf>, RegisterError> {
    let mut files = Vec::new();
    for client in Client::ALL {
        files.extend(Backup::load(backups, client)?.map(|known| known.file));
    }
    Ok(files)
}

/// Makes every file what it was before, or those of some clients.
pub fn undo(
    backups: &Path,
    clients: &[Client],
    changed: ChangedSince,
) -> Result<Vec<Undone>, RegisterError> {
    let mut undone = Vec::new();
    for &client in clients {
        if let Some(known) = Backup::load(backups, client)? {
            let outcome = undo_one(&known, changed)?;
            if outcome != UndoOutcome::ChangedSince {
                known.forget(backups)?;
            }
            undone.push(Undone {
                client,
                file: known.file,
                outcome,
            });
        }
    }
    Ok(undone)
}

fn undo_one(known: &Backup, changed: ChangedSince) -> Result<UndoOutcome, RegisterError> {
    let unwritable = |source| RegisterError::Unwritable {
        path: known.file.clone(),
        source,
    };
    let now = read(&known.file)?;
    if now == known.original {
        return Ok(UndoOutcome::NothingToDo);
    }
    let Some(now) = now else {
        return Ok(UndoOutcome::NothingToDo);
    };
    if !known.is_as_we_left(Some(&now)) {
        if changed == ChangedSince::Leave {
            return Ok(UndoOutcome::ChangedSince);
        }
        let text = without(known.client, &now).map_err(|why| strange(&known.file, &why))?;
        replace_edited(&known.file, text.as_bytes(), Mode::Kept).map_err(unwritable)?;
        return Ok(UndoOutcome::TakenOut);
    }
    match &known.original {
        Some(original) => {
            replace_edited(&known.file, original.as_bytes(), Mode::Kept).map_err(unwritable)?;
            Ok(UndoOutcome::Restored)
        }
        None => {
            fs::remove_file(&known.file).map_err(unwritable)?;
            for folder in &known.made_folders {
                // Somebody else may have put something there since.
                let _ = fs::remove_dir(folder);
            }
            Ok(UndoOutcome::Removed)
        }
    }
}

/// The person's own file of a client, not that of a project.
fn file_of(client: Client, roots: &ConfigRoots) -> PathBuf {
    let own = match client {
        Client::OpenCode | Client::VsCode => 2,
        _ => 1,
    };
    let files: Vec<_> = client.files(roots).into_iter().take(own).collect();
    let existing = files.iter().find(|file| file.exists());
    let with_folder = || {
        files
            .iter()
            .find(|file| file.parent().is_some_and(Path::exists))
    };
    existing
        .or_else(with_folder)
        .or(files.first())
        .cloned()
        .unwrap_or_default()
}

fn entry(client: Client, registration: &Registration) -> Value {
    let command = registration.command.display().to_string();
    let (args, env) = (&registration.args, &registration.env);
    let mut entry = match client {
        Client::OpenCode => {
            let argv: Vec<_> = std::iter::once(&command).chain(args).collect();
            json!({ "type": "local", "command": argv, "enabled": true })
        }
        Client::ClaudeCode | Client::VsCode => {
            json!({ "type": "stdio", "command": command, "args": args })
        }
        Client::Gemini | Client::Codex | Client::Cursor => {
            json!({ "command": command, "args": args })
        }
    };
    if !env.is_empty() {
        let key = match client {
            Client::OpenCode => "environment",
            _ => "env",
        };
        entry[key] = json!(env);
    }
    entry
}

fn section(client: Client) -> &'static str {
    match client {
        Client::ClaudeCode | Client::Gemini | Client::Cursor => "mcpServers",
        Client::Codex => "mcp_servers",
        Client::OpenCode => "mcp",
        Client::VsCode => "servers",
    }
}

fn parse(client: Client, text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    match client {
        Client::Codex => toml::from_str(text).map_err(|error| error.message().to_owned()),
        _ => serde_json::from_str(&crate::jsonc::plain(text)?).map_err(|error| error.to_string()),
    }
}

/// Our server as it stands in the file.
fn find(client: Client, text: &str) -> Result<Option<Value>, String> {
    let file = parse(client, text)?;
    let servers = file.get(section(client));
    Ok(servers.and_then(|servers| servers.get(NAME)).cloned())
}

fn with(client: Client, text: &str, entry: &Value) -> Result<String, String> {
    if client != Client::Codex {
        return jsonc_edit::set(text, section(client), NAME, entry);
    }
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    let described = toml_edit::ser::to_document(entry).map_err(|error| error.to_string())?;
    let servers = document.entry(section(client)).or_insert_with(|| {
        let mut table = toml_edit::Table::new();
        table.set_implicit(true);
        toml_edit::Item::Table(table)
    });
    let item = match servers {
        toml_edit::Item::Table(_) => toml_edit::Item::Table(described.as_table().clone()),
        _ => toml_edit::value(described.as_table().clone().into_inline_table()),
    };
    let servers = servers
        .as_table_like_mut()
        .ok_or_else(|| format!("`{}` is no table", section(client)))?;
    servers.insert(NAME, item);
    Ok(document.to_string())
}

fn without(client: Client, text: &str) -> Result<String, String> {
    if client != Client::Codex {
        return jsonc_edit::remove(text, section(client), NAME);
    }
    let mut document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
    if let Some(servers) = document
        .get_mut(section(client))
        .and_then(toml_edit::Item::as_table_like_mut)
    {
        servers.remove(NAME);
    }
    Ok(document.to_string())
}

/// An empty section of servers says as much as none.
fn same_besides(one: Option<Value>, other: Option<Value>) -> bool {
    let tidy = |value: Option<Value>| {
        let mut value = value?;
        if let Some(members) = value.as_object_mut() {
            members.retain(|_, value| value.as_object().is_none_or(|inner| !inner.is_empty()));
        }
        Some(value)
    };
    let (one, other) = (tidy(one), tidy(other));
    one.is_some() && one == other
}

fn missing_folders(file: &Path) -> Vec<PathBuf> {
    file.ancestors()
        .skip(1)
        .take_while(|folder| !folder.exists())
        .map(Path::to_owned)
        .collect()
}

fn read(file: &Path) -> Result<Option<String>, RegisterError> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(RegisterError::Unreadable {
            path: file.to_owned(),
            source,
        }),
    }
}

fn strange(file: &Path, why: &str) -> RegisterError {
    RegisterError::Strange {
        path: file.to_owned(),
        why: why.lines().next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
