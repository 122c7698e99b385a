//! Texts and lists with their limits in the type. A value that exists is within
//! them: they are checked where it is read, and the JSON Schema an agent sees
//! states the same numbers.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// A text of 1 to `MAX` characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Text<const MAX: usize>(String);

/// A list of `MIN` to `MAX` items.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct List<T, const MIN: usize, const MAX: usize>(Vec<T>);

/// The value is outside its limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutOfBounds {
    #[error("the text is empty: it needs at least one character")]
    Empty,
    #[error("the text is longer than {max} characters")]
    TooLong { max: usize },
    #[error("the list has {found} items: it may have {min} to {max}")]
    Items {
        found: usize,
        min: usize,
        max: usize,
    },
}

impl<const MAX: usize> Text<MAX> {
    pub const MAX: usize = MAX;

    pub fn new(text: impl Into<String>) -> Result<Self, OutOfBounds> {
        let text = text.into();
        if text.is_empty() {
            return Err(OutOfBounds::Empty);
        }
        // A text of at most MAX bytes has at most MAX characters.
        if text.len() > MAX && text.chars().nth(MAX).is_some() {
            return Err(OutOfBounds::TooLong { max: MAX });
        }
        Ok(Self(text))
    }

    /// As much of the text as fits, marked as cut when it was; `None` when there
    /// is no text at all. For what is quoted, not for what is meant.
    #[must_use]
    pub fn excerpt(text: &str) -> Option<Self> {
        match Self::new(text) {
            Ok(text) => Some(text),
            Err(OutOfBounds::Empty | OutOfBounds::Items { .. }) => None,
            Err(OutOfBounds::TooLong { .. }) => {
                let kept = text.chars().take(MAX.saturating_sub(1));
                Some(Self(kept.chain(['…']).collect()))
            }
        }
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

impl<const MAX: usize> Deref for Text<MAX> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> fmt::Debug for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<const MAX: usize> fmt::Display for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MAX: usize> TryFrom<&str> for Text<MAX> {
    type Error = OutOfBounds;

    fn try_from(text: &str) -> Result<Self, OutOfBounds> {
        Self::new(text)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl<const MAX: usize> JsonSchema for Text<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("text_{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX })
    }
}

impl<T, const MIN: usize, const MAX: usize> List<T, MIN, MAX> {
    pub fn new(items: impl Into<Vec<T>>) -> Result<Self, OutOfBounds> {
        let items = items.into();
        if (MIN..=MAX).contains(&items.len()) {
            Ok(Self(items))
        } else {
            Err(OutOfBounds::Items {
                found: items.len(),
                min: MIN,
                max: MAX,
            })
        }
    }
}

impl<T, const MAX: usize> Default for List<T, 0, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, const MIN: usize, const MAX: usize> Deref for List<T, MIN, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: fmt::Debug, const MIN: usize, const MAX: usize> fmt::Debug for List<T, MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<'de, T: Deserialize<'de>, const MIN: usize, const MAX: usize> Deserialize<'de>
    for List<T, MIN, MAX>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl<T: JsonSchema, const MIN: usize, const MAX: usize> JsonSchema for List<T, MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("list_{MIN}_{MAX}_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": generator.subschema_for::<T>(),
            "minItems": MIN,
            "maxItems": MAX,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_counts_characters_not_bytes() {
        assert!(Text::<4>::new("äöüß").is_ok());
        assert_eq!(
            Text::<4>::new("äöüß!"),
            Err(OutOfBounds::TooLong { max: 4 })
        );
        assert_eq!(Text::<4>::new(""), Err(OutOfBounds::Empty));
    }

    #[test]
    fn an_excerpt_shows_that_it_was_cut() {
        assert_eq!(Text::<4>::excerpt("abcdef").unwrap().as_str(), "abc…");
        assert_eq!(Text::<4>::excerpt("abcd").unwrap().as_str(), "abcd");
        assert_eq!(Text::<4>::excerpt(""), None);
    }

    #[test]
    fn a_value_outside_its_limits_cannot_be_read() {
        assert!(serde_json::from_str::<Text<3>>("\"abcd\"").is_err());
        assert!(serde_json::from_str::<List<u8, 1, 2>>("[]").is_err());
        assert!(serde_json::from_str::<List<u8, 1, 2>>("[1,2,3]").is_err());
        assert_eq!(
            &*serde_json::from_str::<List<u8, 1, 2>>("[1]").unwrap(),
            &[1]
        );
    }
}
