//! The five kinds of value both engines agree on, and rows of them.
//!
//! Times are integers of microseconds, ids and JSON are text, booleans are
//! integers: so one SQL text and one reading of its rows serve both engines.

use std::str::FromStr;

use missiond_core::{FencingToken, Seq, Timestamp};

use crate::StoreError;

/// A parameter or a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    /// A thing by its written form: an id, an engine, a status.
    pub fn written(thing: impl std::fmt::Display) -> Self {
        Self::Text(format!("{thing}"))
    }
}

macro_rules! value_from {
    ($($source:ty, $bound:ident => $value:expr;)*) => {$(
        impl From<$source> for Value {
            fn from($bound: $source) -> Self {
                $value
            }
        }
    )*};
}

value_from! {
    i64, n => Self::Int(n);
    u32, n => Self::Int(n.into());
    f64, n => Self::Real(n);
    bool, b => Self::Int(b.into());
    &str, text => Self::Text(text.to_owned());
    &String, text => Self::Text(text.clone());
    String, text => Self::Text(text);
    Vec<u8>, bytes => Self::Bytes(bytes);
    Timestamp, at => Self::Int(at.as_micros());
    Seq, seq => Self::Int(seq.0);
    FencingToken, token => Self::Int(token.0);
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl Value {
    /// A text that people, agents or programs wrote, without its secrets. What is stored of
    /// such texts is made here.
    #[must_use]
    pub fn masked(text: &str) -> Self {
        Self::Text(missiond_secrets::mask_within(text).into_string())
    }

    /// As [`Value::masked`]; nothing stays NULL.
    #[must_use]
    pub fn masked_optional(text: Option<&str>) -> Self {
        text.map_or(Self::Null, Self::masked)
    }

    /// As [`Value::masked`], of what is stored as JSON.
    #[must_use]
    pub fn masked_json(self) -> Self {
        match self {
            Self::Text(text) => {
                let masked = missiond_secrets::mask_written(text.as_bytes());
                let masked = masked.and_then(|masked| String::from_utf8(masked).ok());
                Self::Text(masked.unwrap_or(text))
            }
            other => other,
        }
    }
}

/// One row of an answer, its columns in the order they were asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Row(pub(crate) Vec<Value>);

impl Row {
    /// The column at `index`, counted from 0.
    pub fn get<T: FromValue>(&self, index: usize) -> Result<T, StoreError> {
        let value = self.0.get(index).ok_or_else(|| {
            StoreError::internal(format!(
                "column {index} of a row with {} was read",
                self.0.len()
            ))
        })?;
        T::from_value(value).ok_or_else(|| {
            StoreError::internal(format!(
                "column {index} holds {value:?}, which does not fit"
            ))
        })
    }

    /// The text of the column at `index`, parsed.
    pub fn parse<T>(&self, index: usize) -> Result<T, StoreError>
    where
        T: FromStr,
        T::Err: std::fmt::Display,
    {
        let text: &str = self.text(index)?;
        text.parse()
            .map_err(|error| StoreError::internal(format!("column {index}: {error}")))
    }

    /// As [`Row::parse`], with NULL as `None`.
    pub fn parse_optional<T>(&self, index: usize) -> Result<Option<T>, StoreError>
    where
        T: FromStr,
        T::Err: std::fmt::Display,
    {
        match self.0.get(index) {
            Some(Value::Null) => Ok(None),
            _ => self.parse(index).map(Some),
        }
    }

    /// The text of the column at `index`, borrowed.
    pub fn text(&self, index: usize) -> Result<&str, StoreError> {
        match self.0.get(index) {
            Some(Value::Text(text)) => Ok(text),
            other => Err(StoreError::internal(format!(
                "column {index} holds {other:?} where text was expected"
            ))),
        }
    }
}

/// A type a column can be read as.
pub trait FromValue: Sized {
    fn from_value(value: &Value) -> Option<Self>;
}

impl FromValue for i64 {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }
}

impl FromValue for u32 {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value)?.try_into().ok()
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).map(|n| n != 0)
    }
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Real(n) => Some(*n),
            _ => None,
        }
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        }
    }
}

impl FromValue for Timestamp {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).map(Self::from_micros)
    }
}

impl FromValue for Seq {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).map(Self)
    }
}

impl FromValue for FencingToken {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).map(Self)
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            other => T::from_value(other).map(Some),
        }
    }
}
