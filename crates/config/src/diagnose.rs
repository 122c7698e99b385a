//! Turning a configuration text into a [`Config`], or into one sentence that
//! says where it is wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use missiond_core::nearest_name;
use toml::de::{DeTable, DeValue};

use crate::autopilot::check_slots;
use crate::keys::InvalidValue;
use crate::meant::meant_key;
use crate::{Config, KEYS};

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    file: PathBuf,
    line: Option<usize>,
    /// The key that is wrong, where it is one.
    key: Option<String>,
    message: String,
}

impl ConfigError {
    pub(super) fn new(file: &Path, line: Option<usize>, message: String) -> Self {
        Self {
            file: file.to_owned(),
            line,
            key: None,
            message,
        }
    }

    /// Of a file that says what is right and cannot be done; the sentence names the key.
    #[must_use]
    pub fn unusable(file: &Path, key: &str, message: String) -> Self {
        Self::new(file, None, message).of_key(Some(key))
    }

    fn of_key(self, key: Option<&str>) -> Self {
        Self {
            key: key.map(str::to_owned),
            ..self
        }
    }

    /// The key or section that is wrong, as it stands in the file; none when the file
    /// is no text with keys.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// What is wrong, without the file and the line.
    #[must_use]
    pub fn sentence(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        match self.line {
            Some(line) => write!(f, ", line {line}: {}", self.message),
            None => write!(f, " {}", self.message),
        }
    }
}

pub(super) fn parse(file: &Path, text: &str) -> Result<Config, ConfigError> {
    let line_at = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
    let refused = |line, key: Option<&str>, message: String| {
        ConfigError::new(file, line, message).of_key(key)
    };
    let of_toml = |error: &toml::de::Error| {
        let line = error.span().map(|span| line_at(span.start));
        (line, error.message().trim().replace('\n', ", "))
    };

    let table = DeTable::parse(text).map_err(|error| {
        let (line, message) = of_toml(&error);
        refused(line, None, message)
    })?;
    let mut offsets = KeyOffsets::new();
    let checked = check_table("", table.get_ref(), &mut offsets);
    checked.map_err(|wrong| {
        let line = line_at(wrong.offset);
        refused(Some(line), Some(&wrong.key), wrong.message)
    })?;
    let config: Config = toml::from_str(text).map_err(|error| {
        let (line, message) = of_toml(&error);
        let mut lines = offsets.iter().map(|(key, offset)| (key, line_at(*offset)));
        match lines.find(|(_, key_line)| Some(*key_line) == line) {
            Some((key, _)) => refused(line, Some(key), format!("`{key}`: {message}")),
            None => refused(line, None, message),
        }
    })?;
    match check_values(&config) {
        Ok(()) => Ok(config),
        Err(InvalidValue { key, message }) => {
            let line = offsets.get(key).map(|offset| line_at(*offset));
            Err(refused(line, Some(key), format!("`{key}` {message}")))
        }
    }
}

/// A key that cannot stand where it stands.
struct WrongKey {
    offset: usize,
    key: String,
    message: String,
}

/// The byte at which each key of a file begins.
type KeyOffsets = BTreeMap<&'static str, usize>;

/// Checks that every key of a table exists and that its value is in its range, and
/// gathers where the keys are.
fn check_table(
    prefix: &str,
    table: &DeTable<'_>,
    offsets: &mut KeyOffsets,
) -> Result<(), WrongKey> {
    for (name, value) in table {
        let key = format!("{prefix}{}", name.get_ref());
        let offset = name.span().start;
        let wrong = |message: String| WrongKey {
            offset,
            key: key.clone(),
            message,
        };
        let section = format!("{key}.");
        let is_section = KEYS.iter().any(|spec| spec.key.starts_with(&section));
        match value.get_ref() {
            DeValue::Table(inner) if is_section => check_table(&section, inner, offsets)?,
            DeValue::Table(_) => {
                let sections = KEYS.iter().filter_map(|spec| spec.key.rsplit_once('.'));
                let nearest = nearest_name(&key, sections.map(|(section, _)| section));
                return Err(wrong(unknown("section", &key, nearest)));
            }
            _ if is_section => {
                return Err(wrong(format!("`{key}` is a section, not a value")));
            }
            value => {
                let Some(spec) = KEYS.iter().find(|spec| spec.key == key) else {
                    return Err(wrong(unknown("key", &key, meant_key(&key))));
                };
                let checked = spec.check(value);
                checked.map_err(|message| wrong(format!("`{key}` {message}")))?;
                offsets.insert(spec.key, offset);
            }
        }
    }
    Ok(())
}

fn unknown(what: &str, given: &str, nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("unknown {what} `{given}`; did you mean `{name}`?"),
        None => format!("unknown {what} `{given}`; `mission config keys` lists those that exist"),
    }
}

/// Checks what a range cannot say, section by section.
fn check_values(config: &Config) -> Result<(), InvalidValue> {
    check_slots(&config.slots)?;
    config.database.check()?;
    config.ipc.check()?;
    config.http.check()?;
    config.log.check()?;
    config.otlp.check()?;
    config.notifications.check()?;
    config.permissions.check()?;
    config.secrets.check()?;
    config.engines.check()?;
    config.autopilot.check()?;
    config.mcp.check()?;
    config.sandbox.check()?;
    config.upgrade.check()?;
    config.knowledge.check()?;
    config.conversations.check()?;
    config.usage.check()?;
    config.llm.check()
}
