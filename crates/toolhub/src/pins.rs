//! What a person has accepted of each server: the manifest of its tools as it
//! was when they were first seen, or when it was accepted again.
//!
//! A pin covers the whole manifest, because the whole manifest is handed on: a client
//! may show a model anything of it, `_meta` and icons included. A tool that differs from its pin, or that a pinned server did not have, is held: it
//! is listed, and cannot be called until a person accepts it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use missiond_os::files::{create_private_dir, open_private_lock, replace_private};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{ServerName, fingerprint, stamp_of};
use crate::error::HubError;

/// Why a tool is not called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldReason {
    Changed,
    New,
}

impl HoldReason {
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::Changed => "it has changed since it was accepted",
            Self::New => "the server did not have it when its tools were accepted",
        }
    }
}

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
struct PinFile {
    #[serde(default)]
    servers: BTreeMap<String, BTreeMap<String, String>>,
}

/// The pins, in one private file that every process of this person shares.
#[derive(Debug)]
pub(crate) struct Pins {
    path: PathBuf,
    read: Mutex<Option<(Option<Stamp>, PinFile)>>,
}

type Stamp = (std::time::SystemTime, u64, u64);

impl Pins {
    #[must_use]
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            read: Mutex::new(None),
        }
    }

    /// Whether these tools may be called, in their order. A server that was
    /// never seen is pinned as it is.
    pub(crate) fn review(
        &self,
        server: &ServerName,
        tools: &[(String, String)],
    ) -> Result<Vec<Option<HoldReason>>, HubError> {
        if !self.file()?.servers.contains_key(server.as_str()) {
            self.change(|file| {
                // Another process may have been first; its pins count.
                let pins = file.servers.entry(server.to_string());
                pins.or_insert_with(|| tools.iter().cloned().collect());
            })?;
        }
        let file = self.file()?;
        let pinned = file.servers.get(server.as_str());
        Ok(tools
            .iter()
            .map(
                |(name, digest)| match pinned.and_then(|pins| pins.get(name)) {
                    Some(accepted) if accepted == digest => None,
                    Some(_) => Some(HoldReason::Changed),
                    None => Some(HoldReason::New),
                },
            )
            .collect())
    }

    /// Accepts these tools as they are. With `None` they are all a server has,
    /// and pins of tools it no longer has go.
    pub(crate) fn accept(
        &self,
        server: &ServerName,
        only: Option<&str>,
        tools: &[(String, String)],
    ) -> Result<(), HubError> {
        self.change(|file| {
            let pins = file.servers.entry(server.to_string()).or_default();
            if only.is_none() {
                pins.clear();
            }
            let accepted = tools
                .iter()
                .filter(|(name, _)| only.is_none_or(|only| only == name));
            pins.extend(accepted.cloned());
        })
    }

    /// Forgets a server that was removed: the next of that name is another one.
    pub(crate) fn forget(&self, server: &ServerName) -> Result<(), HubError> {
        if !self.path.exists() {
            return Ok(());
        }
        self.change(|file| {
            file.servers.remove(server.as_str());
        })
    }

    /// Tells whether the pins are still those a review was made with.
    #[must_use]
    pub(crate) fn stamp(&self) -> Option<(std::time::SystemTime, u64, u64)> {
        stamp_of(&self.path)
    }

    fn file(&self) -> Result<PinFile, HubError> {
        let mut read = self.read.lock();
        let stamp = stamp_of(&self.path);
        match &*read {
            Some((known, file)) if *known == stamp => Ok(file.clone()),
            _ => {
                let file = self.load()?;
                *read = Some((stamp, file.clone()));
                Ok(file)
            }
        }
    }

    fn load(&self) -> Result<PinFile, HubError> {
        match fs::read(&self.path) {
            // A damaged file must not pin everything anew.
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| self.failed(&error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(PinFile::default()),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Reads, changes and writes while no other process does.
    fn change(&self, edit: impl FnOnce(&mut PinFile)) -> Result<(), HubError> {
        let lock = self.lock().map_err(|error| self.failed(&error))?;
        let mut file = self.load()?;
        let before = file.clone();
        edit(&mut file);
        if file != before {
            let mut text = serde_json::to_vec_pretty(&file).map_err(|error| self.failed(&error))?;
            text.push(b'\n');
            replace_private(&self.path, &text).map_err(|error| self.failed(&error))?;
        }
        drop(lock);
        *self.read.lock() = None;
        Ok(())
    }

    fn lock(&self) -> std::io::Result<fs::File> {
        create_private_dir(self.path.parent().unwrap_or(Path::new(".")))?;
        let file = open_private_lock(&self.path.with_extension("lock"))?;
        file.lock()?;
        Ok(file)
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> HubError {
        HubError::Pins {
            path: self.path.clone(),
            why: error.to_string(),
        }
    }
}

/// The fingerprint of a tool's manifest.
#[must_use]
pub(crate) fn digest(tool: &Value) -> String {
    let mut covered = tool.as_object().cloned().unwrap_or_default();
    // Absent is the same as null, and was so in pins that covered these six alone.
    for key in [
        "name",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
    ] {
        covered.entry(key).or_insert(Value::Null);
    }
    let mut text = String::new();
    canonical(&Value::Object(covered), &mut text);
    fingerprint(text.as_bytes())
}

/// The same text for the same value, whatever the order of its members.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<_, _> = members.iter().collect();
            out.push('{');
            for (key, value) in sorted {
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter()
            .map(|(name, text)| {
                (
                    (*name).to_owned(),
                    digest(&json!({"name": name, "description": text})),
                )
            })
            .collect()
    }

    #[test]
    fn what_changes_or_appears_is_held_until_it_is_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("toolhub/pins.json");
        let pins = Pins::new(path.clone());
        let server = ServerName::new("s").unwrap();
        let first = tools(&[("a", "reads"), ("b", "writes")]);
        assert_eq!(pins.review(&server, &first).unwrap(), [None, None]);
        let next = tools(&[
            ("a", "reads, and sends it away"),
            ("b", "writes"),
            ("c", "new"),
        ]);
        let held = [Some(HoldReason::Changed), None, Some(HoldReason::New)];
        assert_eq!(pins.review(&server, &next).unwrap(), held);
        // Also for another process, and after what was accepted came back.
        let other = Pins::new(path);
        assert_eq!(other.review(&server, &next).unwrap(), held);
        assert_eq!(other.review(&server, &first).unwrap(), [None, None]);
        other.accept(&server, Some("c"), &next).unwrap();
        assert_eq!(
            pins.review(&server, &next).unwrap(),
            [Some(HoldReason::Changed), None, None]
        );
        pins.accept(&server, None, &next).unwrap();
        assert_eq!(pins.review(&server, &next).unwrap(), [None, None, None]);
        assert_eq!(
            pins.review(&server, &first).unwrap()[0],
            Some(HoldReason::Changed)
        );
        pins.forget(&server).unwrap();
        assert_eq!(other.review(&server, &first).unwrap(), [None, None]);
    }

    #[test]
    fn a_damaged_file_accepts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pins.json");
        fs::write(&path, "{\"servers\": ").unwrap();
        let pins = Pins::new(path.clone());
        let server = ServerName::new("s").unwrap();
        assert!(pins.review(&server, &tools(&[("a", "x")])).is_err());
        assert_eq!(fs::read_to_string(path).unwrap(), "{\"servers\": ");
    }

    #[test]
    fn a_pin_covers_the_whole_manifest() {
        let tool = json!({"name": "a", "description": "d", "inputSchema": {"a": 1, "b": [1, {}]}, "annotations": {"readOnlyHint": true}, "_meta": {"x": 1}});
        let same: Value = serde_json::from_str(r#"{"_meta":{"x":1},"annotations":{"readOnlyHint":true},"inputSchema":{"b":[1,{}],"a":1},"description":"d","name":"a"}"#).unwrap();
        assert_eq!(digest(&tool), digest(&same));
        for (path, value) in [
            ("/description", json!("d ")),
            ("/inputSchema/b/1", json!({"description": "<IMPORTANT>"})),
            ("/annotations/readOnlyHint", json!(false)),
            ("/_meta/x", json!("<IMPORTANT>")),
        ] {
            let mut changed = tool.clone();
            *changed.pointer_mut(path).unwrap() = value;
            assert_ne!(digest(&tool), digest(&changed), "{path}");
        }
        for (key, value) in [
            ("title", json!("t")),
            ("icons", json!([{"src": "https://elsewhere.example/x.svg"}])),
            ("execution", json!({"taskSupport": "required"})),
            ("anything", json!("else")),
        ] {
            let mut changed = tool.clone();
            changed[key] = value;
            assert_ne!(digest(&tool), digest(&changed), "{key}");
        }
    }
}
