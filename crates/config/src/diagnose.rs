//! Turning a configuration text into a [`Config`], or into one sentence that
//! says where it is wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use missiond_core::nearest_name;
use toml::de::{DeTable, DeValue};

use crate::autopilot::check_slots;
use crate::keys::InvalidValue;
use crate::{Config, KEYS};

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    file: PathBuf,
    line: Option<usize>,
    message: String,
}

impl ConfigError {
    pub(super) fn new(file: &Path, line: Option<usize>, message: String) -> Self {
        Self {
            file: file.to_owned(),
            line,
            message,
        }
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
    let refuse = |line, message: String| Err(ConfigError::new(file, line, message));
    let of_toml = |error: &toml::de::Error| {
        let line = error.span().map(|span| line_at(span.start));
        (line, error.message().trim().replace('\n', ", "))
    };

    let table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let (line, message) = of_toml(&error);
            return refuse(line, message);
        }
    };
    let mut offsets = KeyOffsets::new();
    if let Err((offset, message)) = check_table("", table.get_ref(), &mut offsets) {
        return refuse(Some(line_at(offset)), message);
    }
    let config: Config = match toml::from_str(text) {
        Ok(config) => config,
        Err(error) => {
            let (line, message) = of_toml(&error);
            let mut lines = offsets.iter().map(|(key, offset)| (key, line_at(*offset)));
            let message = match lines.find(|(_, key_line)| Some(*key_line) == line) {
                Some((key, _)) => format!("`{key}`: {message}"),
                None => message,
            };
            return refuse(line, message);
        }
    };
    match check_values(&config) {
        Ok(()) => Ok(config),
        Err(InvalidValue { key, message }) => {
            let line = offsets.get(key).map(|offset| line_at(*offset));
            refuse(line, format!("`{key}` {message}"))
        }
    }
}

/// The byte at which each key of a file begins.
type KeyOffsets = BTreeMap<&'static str, usize>;

/// Checks that every key of a table exists and that its value is in its range, and
/// gathers where the keys are.
fn check_table(
    prefix: &str,
    table: &DeTable<'_>,
    offsets: &mut KeyOffsets,
) -> Result<(), (usize, String)> {
    for (name, value) in table {
        let key = format!("{prefix}{}", name.get_ref());
        let offset = name.span().start;
        let section = format!("{key}.");
        let is_section = KEYS.iter().any(|spec| spec.key.starts_with(&section));
        match value.get_ref() {
            DeValue::Table(inner) if is_section => check_table(&section, inner, offsets)?,
            DeValue::Table(_) => {
                let sections = KEYS.iter().filter_map(|spec| spec.key.rsplit_once('.'));
                let sections = sections.map(|(section, _)| section);
                return Err((offset, unknown("section", &key, sections)));
            }
            _ if is_section => {
                return Err((offset, format!("`{key}` is a section, not a value")));
            }
            value => {
                let Some(spec) = KEYS.iter().find(|spec| spec.key == key) else {
                    let keys = KEYS.iter().map(|spec| spec.key);
                    return Err((offset, unknown("key", &key, keys)));
                };
                let checked = spec.check(value);
                checked.map_err(|message| (offset, format!("`{key}` {message}")))?;
                offsets.insert(spec.key, offset);
            }
        }
    }
    Ok(())
}

fn unknown(what: &str, given: &str, known: impl Iterator<Item = &'static str>) -> String {
    match nearest_name(given, known) {
        Some(name) => format!("unknown {what} `{given}`; did you mean `{name}`?"),
        None => format!("unknown {what} `{given}`; `mission config keys` lists those that exist"),
    }
}

/// Checks what a range cannot say, section by section.
fn check_values(config: &Config) -> Result<(), InvalidValue> {
    check_slots(&config.slots)?;
    config.database.check()?;
    config.http.check()?;
    config.otlp.check()?;
    config.notifications.check()?;
    config.permissions.check()?;
    config.autopilot.check()?;
    config.mcp.check()?;
    config.knowledge.check()?;
    config.conversations.check()?;
    config.usage.check()
}
