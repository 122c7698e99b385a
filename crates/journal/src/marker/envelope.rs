//! The JSON of one marker.

use missiond_core::ExecutionId;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Expected, MarkerKey, PREFIX, ParsedMarker};
use crate::catalogue::{DiagnosticCode, Malformed, PROTOCOL_VERSION, Signal, SignalType, limits};
use crate::observation::EventId;

/// The whole of a marker. The execution and the key come first, so that the part
/// which must be exact is the least likely to be wrapped.
#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    execution: ExecutionId,
    key: String,
    event: &'a EventId,
    #[serde(flatten)]
    signal: &'a Signal,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read<'a> {
    v: u32,
    execution: String,
    key: String,
    event: String,
    r#type: String,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// The line an agent prints to send the signal.
#[must_use]
pub fn encode(execution: ExecutionId, key: &MarkerKey, event: &EventId, signal: &Signal) -> String {
    let written = Written {
        v: PROTOCOL_VERSION,
        execution,
        key: key.reveal(),
        event,
        signal,
    };
    let json = serde_json::to_string(&written).expect("its maps have text keys");
    format!("{PREFIX}{json}")
}

/// Reads the JSON of a marker.
pub(super) fn decode(json: &str, expected: &Expected) -> ParsedMarker {
    let refused = |code, detail: String| ParsedMarker::refused(code, detail, json);
    if json.len() > limits::SIGNAL_BYTES {
        return refused(
            DiagnosticCode::Oversized,
            format!("a marker of {} bytes", json.len()),
        );
    }
    let read: Read<'_> = match serde_json::from_str(json) {
        Ok(read) => read,
        Err(error) => return refused(DiagnosticCode::Malformed, format!("a marker: {error}")),
    };
    if read.execution != expected.execution.to_string() {
        let named: String = read.execution.chars().take(64).collect();
        return refused(
            DiagnosticCode::WrongExecution,
            format!("a marker of another execution, {named}"),
        );
    }
    let genuine = |key: MarkerKey| expected.key.matches(expected.execution, &key);
    if !read.key.parse().is_ok_and(genuine) {
        return refused(
            DiagnosticCode::Unauthorised,
            "a marker without this execution's key: probably text the agent was shown".into(),
        );
    }
    if read.v != PROTOCOL_VERSION {
        return refused(
            DiagnosticCode::Unsupported,
            format!("a marker of version {}, not {PROTOCOL_VERSION}", read.v),
        );
    }
    let signal = read
        .r#type
        .parse::<SignalType>()
        .map_err(Malformed::from)
        .and_then(|kind| Signal::parse(kind, read.payload.get()));
    match (signal, read.event.parse()) {
        (Ok(signal), Ok(event)) => ParsedMarker::Signal { event, signal },
        (Err(error @ Malformed::UnknownType(_)), _) => {
            refused(DiagnosticCode::Unsupported, error.to_string())
        }
        (Err(error), _) => refused(DiagnosticCode::Malformed, error.to_string()),
        (_, Err(error)) => refused(DiagnosticCode::Malformed, error.to_string()),
    }
}
