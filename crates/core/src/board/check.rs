//! Commands that prepare, verify or tidy up.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{DEFAULT_CHECK_TIMEOUT_SECS, MOST_CHECK_SECS};

/// A program and its arguments, never a line for a shell; the list of its words will
/// do.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Check {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub run: Vec<String>,
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = MOST_CHECK_SECS))]
    pub timeout_secs: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub expected_exit: i32,
    /// Files that say what it checks, as patterns from the top of the repository: `*`
    /// stands for any characters. Those that are known for its command count beside
    /// them. Work that changes one of them is not taken before a person has seen it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<String>,
}

const fn default_timeout() -> u64 {
    DEFAULT_CHECK_TIMEOUT_SECS
}

impl Check {
    /// A check of this command, with everything else as usual.
    #[must_use]
    pub const fn of(run: Vec<String>) -> Self {
        Self {
            name: None,
            run,
            timeout_secs: DEFAULT_CHECK_TIMEOUT_SECS,
            env: BTreeMap::new(),
            expected_exit: 0,
            protect: Vec::new(),
        }
    }

    /// What it is called: its name, else its command.
    #[must_use]
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.command_line())
    }

    /// Its words as somebody would type them, so that each can be told from the
    /// next.
    #[must_use]
    pub fn command_line(&self) -> String {
        let words: Vec<_> = self.run.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }

    #[must_use]
    pub const fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_secs)
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InFull {
    name: Option<String>,
    run: Vec<String>,
    #[serde(default = "default_timeout")]
    timeout_secs: u64,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    expected_exit: i32,
    #[serde(default)]
    protect: Vec<String>,
}

impl<'de> Deserialize<'de> for Check {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

/// Reads either form where it stands, so that an error names its place.
struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = Check;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a command as a list of words, or with `run` and more")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> Result<Check, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(words)).map(Check::of)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Check, A::Error> {
        let full = InFull::deserialize(MapAccessDeserializer::new(fields))?;
        if let Some(wrong) = full.protect.iter().find(|pattern| !is_inside(pattern)) {
            return Err(serde::de::Error::custom(format!(
                "`{wrong}` in `protect` is no pattern of files below the top of the repository"
            )));
        }
        Ok(Check {
            name: full.name,
            run: full.run,
            timeout_secs: full.timeout_secs,
            env: full.env,
            expected_exit: full.expected_exit,
            protect: full.protect,
        })
    }
}

fn is_inside(pattern: &str) -> bool {
    let parts = pattern.split('/');
    !pattern.is_empty()
        && parts
            .into_iter()
            .all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_somebody_would_type_it() {
        let check = |words: &[&str]| Check::of(words.iter().map(|&word| word.to_owned()).collect());
        assert_eq!(
            check(&["cargo", "test", "--all"]).label(),
            "cargo test --all"
        );
        let shell = check(&["sh", "-c", "test -s 'a b' && exit 1", ""]);
        assert_eq!(shell.label(), r"sh -c 'test -s '\''a b'\'' && exit 1' ''");
    }

    #[test]
    fn a_check_needs_only_its_command() {
        let words = Check::of(vec!["cargo".into(), "test".into()]);
        let read = |text: &str| serde_json::from_str::<Check>(text);
        assert_eq!(read(r#"{"run": ["cargo", "test"]}"#).unwrap(), words);
        assert_eq!(read(r#"["cargo", "test"]"#).unwrap(), words);
        assert_eq!(words.label(), "cargo test");
        let unknown = read(r#"{"run": ["true"], "timeot_secs": 1}"#).unwrap_err();
        assert!(unknown.to_string().contains("timeot_secs"), "{unknown}");
        for pattern in ["", "/etc/passwd", "../a", "a//b", "./a"] {
            let text = format!(r#"{{"run": ["make"], "protect": ["Makefile", "{pattern}"]}}"#);
            let refused = read(&text).unwrap_err().to_string();
            assert!(refused.contains("in `protect`"), "{refused}");
        }
        let shell = read(r#""cargo test""#).unwrap_err().to_string();
        assert!(shell.contains("a list of words"), "{shell}");
    }

    #[test]
    fn a_check_reads_back_as_it_was_written() {
        let check = Check {
            name: Some("unit".into()),
            env: BTreeMap::from([("A".into(), "b c".into())]),
            expected_exit: 3,
            timeout_secs: 7,
            ..Check::of(vec!["run".into()])
        };
        let written = serde_json::to_string(&check).unwrap();
        assert_eq!(serde_json::from_str::<Check>(&written).unwrap(), check);
    }
}
