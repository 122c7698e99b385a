//! How two journals differ, and what changed between two moments of one.

use std::process::ExitCode;

use missiond_journal::inspect::{self, Difference};
use missiond_journal::{Record, Sequence};
use serde_json::{Value, json};

use super::{JournalLocation, line, outline, state_at, store_failure};
use crate::failure::Failure;
use crate::output::Output;
use crate::term::printable;

/// Each difference a line; 0 when there is none, as `diff` does.
pub(super) fn journals(
    left: &JournalLocation,
    right: &JournalLocation,
    limit: u32,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let found = inspect::diff(left.side(), right.side(), limit as usize)
        .map_err(|error| store_failure(&error))?;
    if output.is_json() {
        for difference in &found {
            output.json_line(difference);
        }
    } else {
        for difference in &found {
            print_difference(output, difference);
        }
        match found.len() {
            0 => output.line("every record is the same"),
            count if count == limit as usize => {
                output.notice("there may be more: --limit names more");
            }
            _ => {}
        }
    }
    Ok(ExitCode::from(u8::from(!found.is_empty())))
}

fn print_difference(output: &mut Output, difference: &Difference) {
    let mut side = |mark: char, record: &Record| {
        let line = line(output, record);
        output.line(format!("{mark} {line}"));
    };
    match difference {
        Difference::Changed { left, right, .. } => {
            side('-', left);
            side('+', right);
        }
        Difference::OnlyLeft { record } => side('-', record),
        Difference::OnlyRight { record } => side('+', record),
    }
}

/// The fields of the state that are not the same after both records.
pub(super) fn moments(
    location: &JournalLocation,
    from: Sequence,
    to: Option<Sequence>,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let before = state_at(location, Some(from))?.state;
    let after = state_at(location, to)?.state;
    let (from, to) = (before.head, after.head);
    let found = inspect::changes(
        &without_view(outline(&before)?),
        &without_view(outline(&after)?),
    );
    let result = json!({"from": from, "to": to, "changes": found});
    output.result(&result, |output, _| {
        output.line(format!("from record {from} to record {to}"));
        for change in &found {
            let (before, after) = (shown(&change.before), shown(&change.after));
            output.line(format!(
                "  {}: {before} -> {after}",
                printable(&change.path)
            ));
        }
        if found.is_empty() {
            output.line("  nothing changed");
        }
    });
    Ok(ExitCode::from(u8::from(!found.is_empty())))
}

/// Place and time differ always, and the timeline repeats what the records say.
fn without_view(mut outline: Value) -> Value {
    if let Value::Object(fields) = &mut outline {
        for name in ["head", "updated_at", "timeline"] {
            fields.remove(name);
        }
    }
    outline
}

fn shown(value: &Option<Value>) -> String {
    match value {
        None => "-".to_owned(),
        Some(Value::String(text)) => printable(text),
        Some(other) => printable(&other.to_string()),
    }
}
