//! How people name a task: by its number, `T-12`, or by its id.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{BoardTaskId, from_text};

/// The number of a task on its board, written `T-12`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskNumber(pub i64);

/// A task as somebody named it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskRef {
    Number(TaskNumber),
    Id(BoardTaskId),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no task: write its number, like T-12, or its id")]
pub struct InvalidTaskRef(String);

impl fmt::Display for TaskNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("T-{}", self.0))
    }
}

impl FromStr for TaskNumber {
    type Err = InvalidTaskRef;

    fn from_str(text: &str) -> Result<Self, InvalidTaskRef> {
        let digits = text
            .strip_prefix("T-")
            .or_else(|| text.strip_prefix("t-"))
            .unwrap_or(text);
        let only_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(number) if only_digits && number > 0 => Ok(Self(number)),
            _ => Err(InvalidTaskRef(text.chars().take(64).collect())),
        }
    }
}

impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Id(id) => id.fmt(f),
        }
    }
}

impl FromStr for TaskRef {
    type Err = InvalidTaskRef;

    fn from_str(text: &str) -> Result<Self, InvalidTaskRef> {
        match text.parse() {
            Ok(id) => Ok(Self::Id(id)),
            Err(_) => text.parse().map(Self::Number),
        }
    }
}

impl From<TaskNumber> for TaskRef {
    fn from(number: TaskNumber) -> Self {
        Self::Number(number)
    }
}

impl From<BoardTaskId> for TaskRef {
    fn from(id: BoardTaskId) -> Self {
        Self::Id(id)
    }
}

macro_rules! written {
    ($type:ident, $schema:expr) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text::deserialize(deserializer, "a task, like T-12")
            }
        }

        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

written!(
    TaskNumber,
    json_schema!({"type": "string", "pattern": "^T-[1-9][0-9]*$"})
);
written!(
    TaskRef,
    json_schema!({
        "type": "string",
        "maxLength": 64,
        "description": "A task's number, like T-12, or its id.",
    })
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_named_by_number_or_id() {
        let id = BoardTaskId::generate();
        assert_eq!("T-12".parse(), Ok(TaskRef::Number(TaskNumber(12))));
        assert_eq!("t-12".parse(), Ok(TaskRef::Number(TaskNumber(12))));
        assert_eq!("12".parse(), Ok(TaskRef::Number(TaskNumber(12))));
        assert_eq!(id.to_string().parse(), Ok(TaskRef::Id(id)));
        for bad in [
            "",
            "T-",
            "T-0",
            "T--1",
            "+3",
            "T-1 ",
            "card_",
            "99999999999999999999",
        ] {
            assert!(bad.parse::<TaskRef>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_is_text_on_the_wire() {
        let written = serde_json::to_value(TaskNumber(7)).unwrap();
        assert_eq!(written, "T-7");
        assert_eq!(
            serde_json::from_value::<TaskNumber>(written).unwrap(),
            TaskNumber(7)
        );
    }
}
