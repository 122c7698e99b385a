//! Patterns on texts: a glob in which `*` stands for any characters and `?` for
//! one, or, after `re:`, a regular expression. Either must fit the whole text.

use std::fmt;
use std::str::FromStr;

use missiond_core::glob;
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// No pattern of a person comes near this.
const MAX_CHARS: usize = 1000;
const MAX_REGEX_BYTES: usize = 256 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPattern {
    #[error("a pattern has 1 to {MAX_CHARS} characters")]
    Length,
    #[error("a pattern cannot hold control characters")]
    Control,
    #[error("`{pattern}` is not a regular expression: {why}")]
    Regex { pattern: String, why: String },
    #[error(
        "`{0}` is not a path pattern: begin with `/`, `~/` or a folder below the agent's own, \
         without `..`"
    )]
    Path(String),
}

/// A pattern for tools, arguments and servers.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(with = "String", inline)]
pub struct Pattern {
    written: String,
    regex: Option<Regex>,
}

impl Pattern {
    /// Characters a pattern has at most.
    pub const MAX_CHARS: usize = MAX_CHARS;

    /// Whether it fits the whole text.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match &self.regex {
            Some(regex) => regex.is_match(text),
            None => glob(&self.written, text),
        }
    }

    /// Whether it fits the whole text, capital letters or not.
    #[must_use]
    pub fn matches_name(&self, name: &str) -> bool {
        match &self.regex {
            Some(regex) => regex.is_match(name),
            None if !self.written.contains(['*', '?']) => self.written.eq_ignore_ascii_case(name),
            None => glob(&self.written.to_lowercase(), &name.to_lowercase()),
        }
    }

    /// Whether it fits every text there is.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.regex.is_none() && self.written.chars().all(|c| c == '*')
    }

    pub(super) const fn is_regex(&self) -> bool {
        self.regex.is_some()
    }

    /// Whether a beginning that ends in a word is followed by the word's end: `git log*`
    /// does not mean `git logout`.
    pub(super) fn matches_words(&self, text: &str) -> bool {
        if !self.matches(text) {
            return false;
        }
        let Some(beginning) = self
            .written
            .strip_suffix('*')
            .filter(|_| self.regex.is_none())
        else {
            return true;
        };
        let last = beginning.split(' ').next_back().unwrap_or_default();
        let is_word = !last.is_empty()
            && !last.starts_with('-')
            && last
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '+'));
        if !is_word {
            return true;
        }
        // With no other wildcard the text begins with these characters.
        if beginning.contains(['*', '?']) {
            return glob(beginning, text) || glob(&format!("{beginning} *"), text);
        }
        text.strip_prefix(beginning)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

impl FromStr for Pattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        check_text(text)?;
        let regex = match text.strip_prefix("re:") {
            None => None,
            Some(source) => Some(
                RegexBuilder::new(&format!("^(?s:{source})$"))
                    .size_limit(MAX_REGEX_BYTES)
                    .build()
                    .map_err(|error| InvalidPattern::Regex {
                        pattern: source.to_owned(),
                        why: error.to_string(),
                    })?,
            ),
        };
        Ok(Self {
            written: text.to_owned(),
            regex,
        })
    }
}

/// What holds for every written pattern.
pub(super) fn check_text(text: &str) -> Result<(), InvalidPattern> {
    if text.is_empty() || text.chars().count() > MAX_CHARS {
        return Err(InvalidPattern::Length);
    }
    if text.chars().any(char::is_control) {
        return Err(InvalidPattern::Control);
    }
    Ok(())
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Pattern {}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
