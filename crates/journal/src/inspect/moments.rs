//! A state as plain data, and what differs between two moments of it.

use serde::Serialize;
use serde_json::{Value, json};

use crate::state::ExecutionState;

/// A state for reading: the keys that are kept to recognise duplicates are
/// counted instead of listed, because there is one for everything that was ever
/// observed.
pub fn outline(state: &ExecutionState) -> serde_json::Result<Value> {
    let mut outline = serde_json::to_value(state)?;
    if let Value::Object(fields) = &mut outline {
        for (kept, counted) in [
            ("observations", "observations_processed"),
            ("message_keys", "messages_accepted"),
            ("undecided", "observations_undecided"),
        ] {
            let count = fields.remove(kept).map_or(0, |kept| match kept {
                Value::Object(entries) => entries.len(),
                _ => 0,
            });
            fields.insert(counted.to_owned(), json!(count));
        }
    }
    Ok(outline)
}

/// One field that is not what it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Names of fields and keys, from the outside in.
    pub path: String,
    /// Absent when it was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// What differs between two outlines, in the order of the fields' names.
#[must_use]
pub fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare("", Some(before), Some(after), &mut found);
    found
}

fn compare(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Change>) {
    if before == after {
        return;
    }
    if let (Some(Value::Object(left)), Some(Value::Object(right))) = (before, after) {
        let mut names: Vec<_> = left.keys().chain(right.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let path = match path {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            compare(&path, left.get(name), right.get(name), found);
        }
        return;
    }
    found.push(Change {
        path: path.to_owned(),
        before: before.cloned(),
        after: after.cloned(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_named_with_its_place() {
        let before = json!({"a": 1, "b": {"x": [1], "y": 2}, "gone": true});
        let after = json!({"a": 1, "b": {"x": [1, 2], "y": 2}, "new": null});
        let change = |path: &str, before, after| Change {
            path: path.to_owned(),
            before,
            after,
        };
        assert_eq!(
            changes(&before, &after),
            [
                change("b.x", Some(json!([1])), Some(json!([1, 2]))),
                change("gone", Some(json!(true)), None),
                change("new", None, Some(json!(null))),
            ]
        );
        assert_eq!(changes(&before, &before), []);
    }
}
