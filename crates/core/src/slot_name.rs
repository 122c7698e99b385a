//! What a slot may be called: short, plain, and never mistaken for an id or an
//! option of a command.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::ids::SlotId;
use crate::{TaskNumber, from_text};

/// The longest name of a slot, in characters.
const LONGEST: usize = 64;

/// The name of a slot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct SlotName(String);

/// A text that no slot can be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a slot name: use 1 to 64 letters, digits, `-`, `_` or `.`, and not the form of \
     an id",
    .0.chars().take(LONGEST).collect::<String>().escape_default()
)]
pub struct InvalidSlotName(String);

impl SlotName {
    /// What a slot of an attempt is called: `T-12`, then `T-12.2`.
    #[must_use]
    pub fn of_attempt(task: TaskNumber, attempt: u32) -> Self {
        Self(match attempt {
            1 => task.to_string(),
            _ => format!("{task}.{attempt}"),
        })
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for SlotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for SlotName {
    type Err = InvalidSlotName;

    fn from_str(name: &str) -> Result<Self, InvalidSlotName> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let plain = (1..=LONGEST).contains(&name.len())
            && name.bytes().all(allowed)
            && !name.starts_with('-');
        if plain && name.parse::<SlotId>().is_err() {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidSlotName(name.to_owned()))
        }
    }
}

impl<'de> Deserialize<'de> for SlotName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text::deserialize(deserializer, "the name of a slot")
    }
}

impl JsonSchema for SlotName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "slot_name".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": LONGEST,
            "pattern": "^[A-Za-z0-9._][A-Za-z0-9._-]*$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_plain_short_and_no_id() {
        for name in ["a", "claude-1", "x.y_z", &"n".repeat(64)] {
            assert_eq!(
                name.parse::<SlotName>()
                    .map(SlotName::into_string)
                    .as_deref(),
                Ok(name)
            );
        }
        let id = SlotId::generate().to_string();
        for name in ["", "-x", "a b", "ä", "a/b", &"n".repeat(65), &id] {
            assert!(name.parse::<SlotName>().is_err(), "{name}");
        }
    }

    #[test]
    fn the_name_of_an_attempt_is_one() {
        for (attempt, expected) in [(1, "T-9223372036854775807"), (2, "T-9223372036854775807.2")] {
            let name = SlotName::of_attempt(TaskNumber(i64::MAX), attempt);
            assert_eq!(name.as_str(), expected);
            assert_eq!(expected.parse(), Ok(name));
        }
    }

    #[test]
    fn a_refused_name_is_shown_escaped_and_cut() {
        let error = format!("\u{1b}{}", "x".repeat(100))
            .parse::<SlotName>()
            .unwrap_err();
        let shown = error.to_string();
        assert!(
            shown.starts_with("`\\u{1b}xxx") && shown.contains(&"x".repeat(63)),
            "{shown}"
        );
        assert!(!shown.contains(&"x".repeat(64)), "{shown}");
    }
}
