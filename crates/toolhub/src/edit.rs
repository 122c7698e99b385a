//! The changes a person makes to the list with a command. Each touches one
//! server of `mcp.toml` and leaves every other byte as it was, comments
//! included. Nothing else in this crate writes to the list.

use std::path::{Path, PathBuf};

use missiond_os::files::{Mode, replace_edited};
use toml_edit::{DocumentMut, Item, Table, value};

use crate::config::{ServerEntry, ServerList, ServerName, files, read};
use crate::error::ConfigError;

/// Whether a server may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    Enabled,
    Disabled,
}

/// Adds a server to `mcp.toml`; the path of that file.
pub fn add(folder: &Path, name: &ServerName, entry: &ServerEntry) -> Result<PathBuf, ConfigError> {
    rewrite(folder, |text| with_server(folder, text, name, entry))
}

/// Takes a server out of `mcp.toml`.
pub fn remove(folder: &Path, name: &ServerName) -> Result<PathBuf, ConfigError> {
    rewrite(folder, |text| without_server(folder, text, name))
}

/// Allows or forbids a server of `mcp.toml` to be started.
pub fn switch(folder: &Path, name: &ServerName, to: Switch) -> Result<PathBuf, ConfigError> {
    rewrite(folder, |text| {
        check_in_toml(folder, text, name)?;
        change(folder, text, |servers| {
            if let Some(server) = servers.get_mut(name.as_str()) {
                server["enabled"] = value(to == Switch::Enabled);
            }
        })
    })
}

/// The text of `mcp.toml` with one more server; nothing is written.
pub fn with_server(
    folder: &Path,
    text: Option<&str>,
    name: &ServerName,
    entry: &ServerEntry,
) -> Result<String, ConfigError> {
    if let Some(listed) = ServerList::with_toml(folder, text)?.servers.get(name) {
        return Err(ConfigError::Exists {
            server: name.to_string(),
            path: listed.file.clone(),
        });
    }
    let [path, _] = files(folder);
    let wrong = |why: String| ConfigError::Server {
        path: path.clone(),
        server: name.to_string(),
        why,
    };
    entry.clone().check().map_err(wrong)?;
    let described = toml_edit::ser::to_document(entry).map_err(|error| wrong(error.to_string()))?;
    change(folder, text, |servers| {
        servers.insert(name.as_str(), Item::Table(described.as_table().clone()));
    })
}

/// The text of `mcp.toml` without a server; nothing is written.
pub fn without_server(
    folder: &Path,
    text: Option<&str>,
    name: &ServerName,
) -> Result<String, ConfigError> {
    check_in_toml(folder, text, name)?;
    change(folder, text, |servers| {
        servers.remove(name.as_str());
    })
}

fn check_in_toml(folder: &Path, text: Option<&str>, name: &ServerName) -> Result<(), ConfigError> {
    let [path, _] = files(folder);
    match ServerList::with_toml(folder, text)?.servers.get(name) {
        None => Err(ConfigError::Unknown(name.to_string())),
        Some(listed) if listed.file == path => Ok(()),
        Some(listed) => Err(ConfigError::Elsewhere {
            server: name.to_string(),
            path: listed.file.clone(),
        }),
    }
}

fn change(
    folder: &Path,
    text: Option<&str>,
    edit: impl FnOnce(&mut Table),
) -> Result<String, ConfigError> {
    let [path, _] = files(folder);
    let unwritable = |why: String| ConfigError::Unwritable { path, why };
    let parsed = text.unwrap_or_default().parse();
    let mut document: DocumentMut = match parsed {
        Ok(document) => document,
        Err(error) => return Err(unwritable(toml_edit::TomlError::to_string(&error))),
    };
    let servers = document
        .entry("servers")
        .or_insert_with(|| {
            let mut table = Table::new();
            // `[servers]` itself would be a line that says nothing.
            table.set_implicit(true);
            Item::Table(table)
        })
        .as_table_mut()
        .ok_or_else(|| unwritable("`servers` is not written as tables".to_owned()))?;
    edit(servers);
    Ok(document.to_string())
}

fn rewrite(
    folder: &Path,
    edit: impl FnOnce(Option<&str>) -> Result<String, ConfigError>,
) -> Result<PathBuf, ConfigError> {
    let [path, _] = files(folder);
    let before = read(&path)?;
    let after = edit(before.as_deref())?;
    // Private, because headers and variables in it may be secrets.
    match replace_edited(&path, after.as_bytes(), Mode::Private) {
        Ok(()) => Ok(path),
        Err(error) => Err(ConfigError::Unwritable {
            path,
            why: error.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LIST: &str = "# my servers\n\n[servers.first] # the good one\ncommand = \"one\"\n\n\
                        [servers.second]\ncommand = \"two\"\n";

    fn entry(command: &str) -> ServerEntry {
        ServerEntry {
            command: Some(command.to_owned()),
            args: vec!["--x".to_owned()],
            ..ServerEntry::default()
        }
    }

    fn name(name: &str) -> ServerName {
        ServerName::new(name).unwrap()
    }

    #[test]
    fn a_change_leaves_everything_else_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp.toml");
        replace_edited(&path, LIST.as_bytes(), Mode::Private).unwrap();
        add(folder.path(), &name("third"), &entry("three")).unwrap();
        let added = fs::read_to_string(&path).unwrap();
        assert_eq!(
            added,
            format!("{LIST}\n[servers.third]\ncommand = \"three\"\nargs = [\"--x\"]\n")
        );
        switch(folder.path(), &name("second"), Switch::Disabled).unwrap();
        let list = ServerList::load(folder.path()).unwrap();
        assert!(!list.servers[&name("second")].spec.enabled);
        assert!(list.servers[&name("first")].spec.enabled);
        remove(folder.path(), &name("third")).unwrap();
        switch(folder.path(), &name("second"), Switch::Enabled).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.replace("enabled = true\n", ""), LIST);
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_cannot_be_changed_is_said_and_left() {
        let folder = tempfile::tempdir().unwrap();
        let json = folder.path().join("mcp.json");
        let servers = b"{\"mcpServers\": {\"j\": {\"command\": \"x\"}}}";
        replace_edited(&json, servers, Mode::Private).unwrap();
        add(folder.path(), &name("new"), &entry("x")).unwrap();
        let again = add(folder.path(), &name("new"), &entry("x")).unwrap_err();
        assert!(matches!(again, ConfigError::Exists { .. }));
        let elsewhere = remove(folder.path(), &name("j")).unwrap_err();
        assert!(matches!(elsewhere, ConfigError::Elsewhere { .. }));
        let unknown = switch(folder.path(), &name("k"), Switch::Enabled).unwrap_err();
        assert!(matches!(unknown, ConfigError::Unknown(_)));
        let wrong = add(folder.path(), &name("empty"), &ServerEntry::default()).unwrap_err();
        assert!(wrong.to_string().contains("neither"), "{wrong}");
    }
}
