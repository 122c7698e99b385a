//! What an agent is told about markers, made from the catalogue.

use std::fmt::Write as _;

use missiond_core::ExecutionId;
use serde_json::Value;

use super::{MarkerKey, PREFIX};
use crate::catalogue::{PROTOCOL_VERSION, SIGNALS, SignalDescriptor, SignalType, limits};

/// The instructions for an agent that sends its signals as markers. Nothing in
/// them is a marker itself, so a program that echoes its instructions sends none.
#[must_use]
pub fn instructions(execution: ExecutionId, key: &MarkerKey, allowed: &[SignalType]) -> String {
    let mut out = format!(
        "To report to the system that runs you, print one line of its own that begins with \
         {PREFIX} directly followed by a JSON object, all on one line, without a code block and \
         without quotes around it. The object has exactly these fields:\n\
         - \"v\": {PROTOCOL_VERSION}\n\
         - \"execution\": \"{execution}\"\n\
         - \"key\": \"{}\"\n\
         - \"event\": a new name for each report, up to {} letters, digits, dots, dashes, \
         underscores or colons\n\
         - \"type\": the kind of report, one of those below\n\
         - \"payload\": an object with the fields of that kind\n\
         The kinds of reports:\n",
        key.reveal(),
        limits::EVENT_ID,
    );
    for signal in SIGNALS.iter().filter(|signal| allowed.contains(&signal.of)) {
        let fields = fields(signal).join("; ");
        let _ = writeln!(
            out,
            "- {}: {} Payload: {fields}.",
            signal.name, signal.description
        );
    }
    out.push_str("Never show the key in any other text.\n");
    out
}

/// The fields of a payload in words, from its schema.
fn fields(signal: &SignalDescriptor) -> Vec<String> {
    let schema = signal.schema().to_value();
    let required = |name: &str| {
        let names = schema["required"].as_array();
        names.is_some_and(|names| names.iter().any(|field| field == name))
    };
    let properties = schema["properties"].as_object();
    let fields = properties.into_iter().flatten().map(|(name, field)| {
        let need = if required(name) {
            "required"
        } else {
            "optional"
        };
        format!("\"{name}\" ({need}, {})", kind(field, &schema))
    });
    fields.collect()
}

fn kind(field: &Value, schema: &Value) -> String {
    if let Some(list) = field.get("items") {
        let max = field["maxItems"].as_u64().unwrap_or(0);
        return format!("list of up to {max}: {}", kind(list, schema));
    }
    if let Some(reference) = field["$ref"].as_str() {
        let definition = schema
            .pointer(reference.trim_start_matches('#'))
            .unwrap_or(&Value::Null);
        let names = definition["properties"].as_object();
        let names: Vec<_> = names
            .into_iter()
            .flatten()
            .map(|(name, _)| format!("\"{name}\""))
            .collect();
        return format!("object with {}", names.join(", "));
    }
    match field["maxLength"].as_u64() {
        Some(max) => format!("text of up to {max} characters"),
        None => "number".into(),
    }
}
