//! JSON of an agent: read within bounds, written canonically, digested.
//!
//! serde_json alone would take any number of values and keep the last of two members
//! with the same name, where another parser keeps the first. A permission is given for
//! one input, so a message that can be read in two ways is refused.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use sha2::{Digest as _, Sha256};

use crate::limits::Limits;
use crate::text::Clipped;

/// Why a line is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JsonProblem {
    #[error("the line is not JSON")]
    NotJson,
    #[error("the message is nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("the message has more than {limit} values")]
    TooManyValues { limit: usize },
    #[error("the message has the member `{name}` twice in one object")]
    DuplicateMember { name: String },
}

/// One message, or why it is none.
pub(crate) fn parse(line: &[u8], limits: &Limits) -> Result<Value, JsonProblem> {
    let budget = Budget {
        limits,
        values: Cell::new(0),
        problem: RefCell::new(None),
    };
    let mut deserializer = serde_json::Deserializer::from_slice(line);
    let seed = Bounded {
        budget: &budget,
        depth: 0,
    };
    seed.deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|_| budget.problem.take().unwrap_or(JsonProblem::NotJson))
}

struct Budget<'a> {
    limits: &'a Limits,
    values: Cell<usize>,
    problem: RefCell<Option<JsonProblem>>,
}

impl Budget<'_> {
    fn fail<E: Error>(&self, problem: JsonProblem) -> E {
        let error = E::custom(&problem);
        self.problem.replace(Some(problem));
        error
    }
}

#[derive(Clone, Copy)]
struct Bounded<'a, 'b> {
    budget: &'a Budget<'b>,
    depth: usize,
}

impl Bounded<'_, '_> {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        let limit = self.budget.limits.depth;
        if self.depth >= limit {
            return Err(self.budget.fail(JsonProblem::TooDeep { limit }));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_, '_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let limit = self.budget.limits.values;
        let count = self.budget.values.get() + 1;
        self.budget.values.set(count);
        if count > limit {
            return Err(self.budget.fail(JsonProblem::TooManyValues { limit }));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut list = Vec::new();
        while let Some(value) = elements.next_element_seed(inner)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let value = members.next_value_seed(inner)?;
            if object.contains_key(&name) {
                let name = Clipped::new(&name, 64).text;
                return Err(self.budget.fail(JsonProblem::DuplicateMember { name }));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

/// Members in the order of their names and no space, whatever order the map keeps:
/// another crate of a build may turn on serde_json's `preserve_order`.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Array(list) => {
            text.push('[');
            for (index, element) in list.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(element, text);
            }
            text.push(']');
        }
        Value::Object(object) => {
            let mut names: Vec<&String> = object.keys().collect();
            names.sort_unstable();
            text.push('{');
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::String(name.clone()).to_string());
                text.push(':');
                write_canonical(&object[name.as_str()], text);
            }
            text.push('}');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

/// SHA-256 over what a tool would do: its name, its input and where. Rules, approvals
/// and the audit bind to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InputDigest(String);

impl InputDigest {
    #[must_use]
    pub fn new(tool: &str, input: &Value, cwd: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"{\"cwd\":");
        hash.update(Value::String(cwd.to_owned()).to_string());
        hash.update(b",\"input\":");
        hash.update(canonical(input));
        hash.update(b",\"tool\":");
        hash.update(Value::String(tool.to_owned()).to_string());
        hash.update(b"}");
        Self(missiond_os::hex::encode(&hash.finalize()))
    }

    /// 64 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InputDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn small() -> Limits {
        Limits {
            depth: 3,
            values: 8,
            ..Limits::default()
        }
    }

    #[test]
    fn a_message_within_bounds_is_what_serde_json_reads() {
        let line = br#"{"a":[1,-2,2.5,"x\u00e9",null,true]}"#;
        let whole: Value = serde_json::from_slice(line).unwrap();
        assert_eq!(parse(line, &small()), Ok(whole));
    }

    #[test]
    fn every_bound_has_its_own_answer() {
        let limits = small();
        assert_eq!(parse(b"[[[1]]]", &limits), Ok(json!([[[1]]])));
        assert_eq!(
            parse(b"[[[[1]]]]", &limits),
            Err(JsonProblem::TooDeep { limit: 3 })
        );
        assert_eq!(
            parse(b"[1,2,3,4,5,6,7,8]", &limits),
            Err(JsonProblem::TooManyValues { limit: 8 })
        );
        assert_eq!(
            parse(br#"{"command":"ls","command":"rm"}"#, &limits),
            Err(JsonProblem::DuplicateMember {
                name: "command".into()
            })
        );
        for line in [&b"{"[..], b"", b"1 2", b"\xff", b"{\"a\":01}"] {
            assert_eq!(parse(line, &limits), Err(JsonProblem::NotJson));
        }
    }

    #[test]
    fn the_digest_knows_tool_input_and_place_and_no_order_of_members() {
        let one = InputDigest::new("Bash", &json!({"a": 1, "b": [2, {"d": 4, "c": 3}]}), "/w");
        let same = InputDigest::new("Bash", &json!({"b": [2, {"c": 3, "d": 4}], "a": 1}), "/w");
        assert_eq!(one, same);
        assert_eq!(one.as_str().len(), 64);
        for other in [
            InputDigest::new("Write", &json!({"a": 1, "b": [2, {"d": 4, "c": 3}]}), "/w"),
            InputDigest::new("Bash", &json!({"a": 1, "b": [2, {"d": 4, "c": 5}]}), "/w"),
            InputDigest::new("Bash", &json!({"a": 1, "b": [2, {"d": 4, "c": 3}]}), "/x"),
        ] {
            assert_ne!(one, other);
        }
    }
}
