//! Patterns on texts: a glob in which `*` stands for any characters and `?` for
//! one, or, after `re:`, a regular expression. Either must fit the whole text.

use std::fmt;
use std::str::FromStr;

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// No pattern of a person comes near this.
const LONGEST: usize = 1000;
const REGEX_SIZE: usize = 256 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPattern {
    #[error("a pattern has 1 to {LONGEST} characters")]
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
    pub const MAX_CHARS: usize = LONGEST;

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
            None => glob(&self.written.to_lowercase(), &name.to_lowercase()),
        }
    }

    /// Whether it fits every text there is.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.regex.is_none() && self.written.chars().all(|c| c == '*')
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

impl FromStr for Pattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        checked(text)?;
        let regex = match text.strip_prefix("re:") {
            None => None,
            Some(source) => Some(
                RegexBuilder::new(&format!("^(?s:{source})$"))
                    .size_limit(REGEX_SIZE)
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
pub(super) fn checked(text: &str) -> Result<(), InvalidPattern> {
    if text.is_empty() || text.chars().count() > LONGEST {
        return Err(InvalidPattern::Length);
    }
    match text.chars().any(char::is_control) {
        true => Err(InvalidPattern::Control),
        false => Ok(()),
    }
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

/// `*` for any characters, `?` for one. In time proportional to the product of
/// both lengths at worst: a text of an agent must not cost more.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut seen) = (0, 0);
    // Where the last star stands, and up to where it has taken the text.
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(&c) if c == '?' || c == text[seen] => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((place, taken)) = star else {
                    return false;
                };
                star = Some((place, taken + 1));
                at = place + 1;
                seen = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|&c| c == '*')
}
