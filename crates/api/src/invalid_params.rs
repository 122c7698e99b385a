//! Parameters that do not fit their operation, said in one sentence that names
//! the parameter.
//!
//! A JSON error knows the line and column where reading stopped, not the name of
//! what was being read; the name is found again in the text. That costs nothing
//! while parameters fit, where a deserializer that keeps the path would be
//! compiled a second time for every type.

use crate::ApiError;

/// No name of a parameter is longer; the rest is somebody's mistake or worse.
const LONGEST_NAME: usize = 64;

/// Parameters have names. A list of values would be read by the order of the fields
/// in the program, which is nothing that a caller can know.
pub(crate) fn check_object(operation: &str, params: &str) -> Result<(), ApiError> {
    if params.trim_start().starts_with('{') {
        Ok(())
    } else {
        let message = format!("the parameters do not fit `{operation}`: they must be an object");
        Err(ApiError::invalid_params(message))
    }
}

/// Why `params` are none of `operation`.
pub(crate) fn invalid_params(operation: &str, params: &str, error: &serde_json::Error) -> ApiError {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let place = format!(" at line {line} column {column}");
    let message = message.strip_suffix(&place).unwrap_or(&message);
    let read = params
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum::<usize>()
        + column;
    let path = path(&params.as_bytes()[..read.min(params.len())]);
    ApiError::invalid_params(if path.is_empty() {
        format!("the parameters do not fit `{operation}`: {message}")
    } else {
        format!("parameter `{path}`: {message}")
    })
}

/// Something that is open where reading stopped.
enum Open {
    /// With the name of the field that was being read.
    Object(Option<String>),
    /// With how many items were read before.
    List(usize),
}

/// Which field a text of JSON is in at its end: `task.checks[0].run`.
fn path(text: &[u8]) -> String {
    let mut open = Vec::new();
    let mut last_string: &[u8] = &[];
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                let end = string_end(text, at + 1);
                last_string = &text[at + 1..end];
                at = end;
            }
            b'{' => open.push(Open::Object(None)),
            b'[' => open.push(Open::List(0)),
            b'}' | b']' => {
                open.pop();
            }
            b':' => {
                if let Some(Open::Object(name)) = open.last_mut() {
                    let shown = String::from_utf8_lossy(last_string);
                    *name = Some(shown.chars().take(LONGEST_NAME).collect());
                }
            }
            b',' => match open.last_mut() {
                Some(Open::Object(name)) => *name = None,
                Some(Open::List(items)) => *items += 1,
                None => {}
            },
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for level in open {
        match level {
            Open::Object(None) => {}
            Open::Object(Some(name)) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&name);
            }
            Open::List(item) => path.push_str(&format!("[{item}]")),
        }
    }
    path
}

/// Where the string that begins at `at` has its closing quote, or the text ends.
fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use missiond_core::ErrorCode;
    use proptest::prelude::*;

    use super::*;
    use crate::Operation;
    use crate::operations::board::{BoardAdd, BoardList};
    use crate::operations::code::BeaconSet;
    use crate::operations::compute::{SlotKeys, SlotSpawn};

    fn refused<O: Operation>(params: &str) -> String {
        match O::parse(params) {
            Err(error) => {
                assert_eq!(error.code, ErrorCode::InvalidParams);
                error.message
            }
            Ok(_) => panic!("{params} was taken"),
        }
    }

    #[test]
    fn a_value_outside_its_range_is_refused_by_its_name() {
        assert_eq!(
            refused::<BoardList>(r#"{"limit":9999}"#),
            "parameter `limit`: must be from 1 to 500, but is 9999"
        );
        assert_eq!(
            refused::<BoardList>("{\n  \"offset\": 3,\n  \"limit\": 0,\n  \"label\": \"x\"\n}"),
            "parameter `limit`: must be from 1 to 500, but is 0"
        );
        assert_eq!(
            refused::<BoardList>(r#"{"limit":"7"}"#),
            "parameter `limit`: invalid type: string \"7\", expected a whole number from 1 to 500"
        );
        assert_eq!(
            refused::<BeaconSet>(r#"{"path":"/","symbols":["a"],"name":""}"#),
            "parameter `name`: the text is empty: it needs at least one character"
        );
        assert_eq!(
            refused::<BeaconSet>(r#"{"path":"/","name":"n","symbols":[]}"#),
            "parameter `symbols`: the list has 0 items: it may have 1 to 20"
        );
        assert_eq!(
            refused::<SlotKeys>(r#"{"slot":"a\"},{[:","bytes":[1,2,256]}"#),
            "parameter `bytes[2]`: invalid value: integer `256`, expected u8"
        );
    }

    #[test]
    fn what_is_deep_inside_is_named_with_its_path() {
        assert_eq!(
            refused::<BoardAdd>(r#"{"task":{"title":"x","checks":[["a"],{"run":7}]}}"#),
            "parameter `task.checks[1].run`: invalid type: integer `7`, expected a sequence"
        );
    }

    #[test]
    fn fields_that_are_missing_or_unknown_are_said_of_what_has_them() {
        let missing = refused::<SlotSpawn>("{}");
        assert_eq!(
            missing,
            "the parameters do not fit `slot_spawn`: missing field `argv`"
        );
        let unknown = refused::<BoardAdd>(r#"{"task":{"titel":"x"}}"#);
        let expected = "parameter `task`: unknown field `titel`, expected";
        assert!(unknown.starts_with(expected), "{unknown}");
    }

    proptest! {
        #[test]
        fn any_text_at_all_has_some_path(text in "[\\[\\]{}:,\"\\\\a1 ]{0,40}") {
            let _ = path(text.as_bytes());
        }
    }
}
