//! The changes a person makes to the list with a command. Each touches one
//! server of `mcp.toml` and leaves every other byte as it was, comments
//! included. Nothing else in this crate writes to the list.

use std::fs;
use std::path::{Path, PathBuf};

use missiond_os::files::{Mode, replace_edited};
use toml_edit::{DocumentMut, Item, Table, value};

use crate::config::{ServerEntry, ServerList, ServerName, files};
use crate::error::ConfigError;

/// Whether a server may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    Enabled,
    Disabled,
}

/// Adds a server to `mcp.toml`; the path of that file.
pub fn add(folder: &Path, name: &ServerName, entry: &ServerEntry) -> Result<PathBuf, ConfigError> {
    let [path, _] = files(folder);
    if let Some(listed) = ServerList::load(folder)?.servers.get(name) {
        return Err(ConfigError::Exists {
            server: name.to_string(),
            path: listed.file.clone(),
        });
    }
    let wrong = |why: String| ConfigError::Server {
        path: path.clone(),
        server: name.to_string(),
        why,
    };
    entry.clone().check().map_err(wrong)?;
    let described = toml_edit::ser::to_document(entry).map_err(|error| wrong(error.to_string()))?;
    change(&path, |servers| {
        servers.insert(name.as_str(), Item::Table(described.as_table().clone()));
    })?;
    Ok(path)
}

/// Takes a server out of `mcp.toml`.
pub fn remove(folder: &Path, name: &ServerName) -> Result<PathBuf, ConfigError> {
    let path = in_toml(folder, name)?;
    change(&path, |servers| {
        servers.remove(name.as_str());
    })?;
    Ok(path)
}

/// Allows or forbids a server of `mcp.toml` to be started.
pub fn switch(folder: &Path, name: &ServerName, to: Switch) -> Result<PathBuf, ConfigError> {
    let path = in_toml(folder, name)?;
    change(&path, |servers| {
        if let Some(server) = servers.get_mut(name.as_str()) {
            server["enabled"] = value(to == Switch::Enabled);
        }
    })?;
    Ok(path)
}

fn in_toml(folder: &Path, name: &ServerName) -> Result<PathBuf, ConfigError> {
    let [path, _] = files(folder);
    match ServerList::load(folder)?.servers.get(name) {
        None => Err(ConfigError::Unknown(name.to_string())),
        Some(listed) if listed.file == path => Ok(path),
        Some(listed) => Err(ConfigError::Elsewhere {
            server: name.to_string(),
            path: listed.file.clone(),
        }),
    }
}

fn change(path: &Path, edit: impl FnOnce(&mut Table)) -> Result<(), ConfigError> {
    let unwritable = |why: String| ConfigError::Unwritable {
        path: path.to_owned(),
        why,
    };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(unwritable(error.to_string())),
    };
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| unwritable(error.to_string()))?;
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
    let text = document.to_string();
    // Private, because headers and variables in it may be secrets.
    replace_edited(path, text.as_bytes(), Mode::Private)
        .map_err(|error| unwritable(error.to_string()))
}

#[cfg(test)]
mod tests {
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
