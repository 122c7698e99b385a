//! Numbers, texts, paths and lists with their limits in the type. A value that exists
//! is within them: they are checked where it is read, whoever wrote it, and the
//! JSON Schema a caller sees states the same numbers.

mod number;
mod path;
mod text;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

pub use number::{Bounded, BoundedOr, Limit, MAX_EXACT};
pub use path::AbsolutePath;
pub use text::Text;

/// The value is outside its limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutOfBounds {
    #[error("must be from {min} to {max}, but is {found}")]
    Number { found: String, min: i64, max: i64 },
    #[error("must be a whole number from {min} to {max}, but is `{found}`")]
    NotANumber { found: String, min: i64, max: i64 },
    #[error("the text is empty: it needs at least one character")]
    Empty,
    #[error("the text is longer than {max} characters")]
    TooLong { max: usize },
    #[error("must be absolute, but is `{found}`")]
    RelativePath { found: String },
    #[error("the path has a NUL character in it")]
    NulInPath,
    #[error("the path is longer than {max} bytes")]
    LongPath { max: usize },
    #[error("the list has {found} items: it may have {min} to {max}")]
    Items {
        found: usize,
        min: usize,
        max: usize,
    },
}

/// A list of `MIN` to `MAX` items.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct List<T, const MIN: usize, const MAX: usize>(Vec<T>);

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

    /// The same number of other items.
    #[must_use]
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> List<U, MIN, MAX> {
        List(self.0.into_iter().map(change).collect())
    }

    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.0
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

impl<T, const MIN: usize, const MAX: usize> IntoIterator for List<T, MIN, MAX> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T, const MIN: usize, const MAX: usize> TryFrom<Vec<T>> for List<T, MIN, MAX> {
    type Error = OutOfBounds;

    fn try_from(items: Vec<T>) -> Result<Self, OutOfBounds> {
        Self::new(items)
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
        deserializer.deserialize_seq(ListVisitor::<T, MIN, MAX>(PhantomData))
    }
}

/// Refuses where the list ends, so that an error tells its place.
struct ListVisitor<T, const MIN: usize, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MIN: usize, const MAX: usize> Visitor<'de>
    for ListVisitor<T, MIN, MAX>
{
    type Value = List<T, MIN, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {MIN} to {MAX} items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        let items = Vec::deserialize(SeqAccessDeserializer::new(items))?;
        List::new(items).map_err(serde::de::Error::custom)
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
    fn a_list_outside_its_limits_cannot_be_read() {
        assert!(serde_json::from_str::<List<u8, 1, 2>>("[]").is_err());
        assert!(serde_json::from_str::<List<u8, 1, 2>>("[1,2,3]").is_err());
        assert_eq!(
            &*serde_json::from_str::<List<u8, 1, 2>>("[1]").unwrap(),
            &[1]
        );
    }
}
