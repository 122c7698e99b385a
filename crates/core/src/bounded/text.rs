//! Text with its length in the type, counted in characters as JSON Schema counts.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::OutOfBounds;

/// A text of `MIN` to `MAX` characters (Unicode scalar values, not bytes). It is
/// never empty unless `MIN` is 0.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Text<const MAX: usize, const MIN: usize = 1>(String);

impl<const MAX: usize, const MIN: usize> Text<MAX, MIN> {
    pub const MAX: usize = MAX;

    pub fn new(text: impl Into<String>) -> Result<Self, OutOfBounds> {
        const { assert!(MIN <= 1, "a text may be empty or not; no other minimum") };
        let text = text.into();
        check(&text, MIN, MAX)?;
        Ok(Self(text))
    }

    /// As much of the text as fits, marked as cut when it was; `None` when there
    /// is no text at all. For what is quoted, not for what is meant.
    #[must_use]
    pub fn excerpt(text: &str) -> Option<Self> {
        match Self::new(text) {
            Ok(text) => Some(text),
            Err(OutOfBounds::TooLong { .. }) => {
                let kept = text.chars().take(MAX.saturating_sub(1));
                Some(Self(kept.chain(['…']).collect()))
            }
            Err(_) => None,
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

fn check(text: &str, min: usize, max: usize) -> Result<(), OutOfBounds> {
    if text.is_empty() && min > 0 {
        return Err(OutOfBounds::Empty);
    }
    // A text of at most `max` bytes has at most `max` characters.
    if text.len() > max && text.chars().nth(max).is_some() {
        return Err(OutOfBounds::TooLong { max });
    }
    Ok(())
}

impl<const MAX: usize> Default for Text<MAX, 0> {
    fn default() -> Self {
        Self(String::new())
    }
}

impl<const MAX: usize, const MIN: usize> Deref for Text<MAX, MIN> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize, const MIN: usize> AsRef<str> for Text<MAX, MIN> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize, const MIN: usize> AsRef<Path> for Text<MAX, MIN> {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl<const MAX: usize, const MIN: usize> fmt::Debug for Text<MAX, MIN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<const MAX: usize, const MIN: usize> fmt::Display for Text<MAX, MIN> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MAX: usize, const MIN: usize> PartialEq<str> for Text<MAX, MIN> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl<const MAX: usize, const MIN: usize> From<Text<MAX, MIN>> for String {
    fn from(text: Text<MAX, MIN>) -> Self {
        text.0
    }
}

impl<const MAX: usize, const MIN: usize> TryFrom<&str> for Text<MAX, MIN> {
    type Error = OutOfBounds;

    fn try_from(text: &str) -> Result<Self, OutOfBounds> {
        Self::new(text)
    }
}

impl<const MAX: usize, const MIN: usize> TryFrom<String> for Text<MAX, MIN> {
    type Error = OutOfBounds;

    fn try_from(text: String) -> Result<Self, OutOfBounds> {
        Self::new(text)
    }
}

impl<const MAX: usize, const MIN: usize> FromStr for Text<MAX, MIN> {
    type Err = OutOfBounds;

    fn from_str(text: &str) -> Result<Self, OutOfBounds> {
        Self::new(text)
    }
}

impl<'de, const MAX: usize, const MIN: usize> Deserialize<'de> for Text<MAX, MIN> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = TextVisitor { min: MIN, max: MAX };
        deserializer.deserialize_string(visitor).map(Self)
    }
}

/// Reads a text of any limits: one visitor for all of them is compiled once, and
/// refuses where the text stands, so that an error tells its place.
struct TextVisitor {
    min: usize,
    max: usize,
}

impl Visitor<'_> for TextVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text of at most {} characters", self.max)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        check(text, self.min, self.max).map_err(E::custom)?;
        Ok(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<String, E> {
        check(&text, self.min, self.max).map_err(E::custom)?;
        Ok(text)
    }
}

impl<const MAX: usize, const MIN: usize> JsonSchema for Text<MAX, MIN> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("text_{MIN}_{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        match MIN {
            0 => json_schema!({ "type": "string", "maxLength": MAX }),
            _ => json_schema!({ "type": "string", "minLength": MIN, "maxLength": MAX }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_limit_counts_characters_not_bytes() {
        assert!(Text::<4>::new("äöüß").is_ok());
        assert_eq!(
            Text::<4>::new("äöüß!"),
            Err(OutOfBounds::TooLong { max: 4 })
        );
        assert_eq!(Text::<4>::new(""), Err(OutOfBounds::Empty));
        assert_eq!(Text::<4, 0>::new("").unwrap(), Text::default());
    }

    #[test]
    fn an_excerpt_shows_that_it_was_cut() {
        assert_eq!(Text::<4>::excerpt("abcdef").unwrap().as_str(), "abc…");
        assert_eq!(Text::<4>::excerpt("abcd").unwrap().as_str(), "abcd");
        assert_eq!(Text::<4>::excerpt(""), None);
    }

    #[test]
    fn what_is_no_text_is_refused_with_what_is_expected() {
        let error = serde_json::from_str::<Text<9>>("7").unwrap_err();
        let error = error.to_string();
        assert!(error.contains("a text of at most 9 characters"), "{error}");
    }

    proptest! {
        #[test]
        fn a_text_is_read_back_or_refused_by_its_characters(text in "\\PC{0,12}") {
            let written = serde_json::to_string(&text).unwrap();
            let read = serde_json::from_str::<Text<8>>(&written);
            match text.chars().count() {
                1..=8 => {
                    let read = read.unwrap();
                    prop_assert_eq!(serde_json::to_string(&read).unwrap(), written);
                    prop_assert_eq!(text.parse::<Text<8>>().unwrap(), read);
                }
                _ => prop_assert!(read.is_err()),
            }
        }
    }
}
