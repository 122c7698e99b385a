//! The signals as tools of an MCP server: descriptors for `tools/list`, and the
//! way from the arguments of a `tools/call` back to a signal.

use schemars::Schema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Malformed, SIGNALS, Signal, SignalDescriptor, SignalType, limits};
use crate::observation::EventId;

/// The argument that makes a call repeatable. It belongs to the transport, not
/// to any payload, and is added to each schema here.
const EVENT_ID: &str = "event_id";

/// One tool, in the words of `tools/list`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDescriptor {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub input_schema: Schema,
    pub output_schema: Schema,
    pub annotations: ToolAnnotations,
}

/// What a client may tell the person about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    pub read_only_hint: bool,
    pub destructive_hint: bool,
    pub idempotent_hint: bool,
    pub open_world_hint: bool,
}

impl ToolAnnotations {
    /// A signal adds a record and destroys nothing, and the same event id adds
    /// nothing the second time; but a call without one adds each time.
    const SIGNAL: Self = Self {
        read_only_hint: false,
        destructive_hint: false,
        idempotent_hint: false,
        open_world_hint: false,
    };
}

/// The tools for these signals, in the order of the catalogue.
#[must_use]
pub fn tools(allowed: &[SignalType]) -> Vec<ToolDescriptor> {
    let allowed = |signal: &&SignalDescriptor| allowed.contains(&signal.of);
    SIGNALS.iter().filter(allowed).map(tool).collect()
}

fn tool(signal: &SignalDescriptor) -> ToolDescriptor {
    let mut input_schema = portable(signal.schema());
    let properties = input_schema
        .ensure_object()
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(properties) = properties {
        let mut event_id = schemars::schema_for!(EventId);
        let object = event_id.ensure_object();
        object.remove("$schema");
        object.remove("title");
        object.insert(
            "description".into(),
            "A name of your choice for this report. Repeat it when you repeat the call, so that it counts once.".into(),
        );
        properties.insert(EVENT_ID.into(), event_id.into());
    }
    ToolDescriptor {
        name: signal.name,
        title: signal.title,
        description: signal.description,
        input_schema,
        output_schema: portable(schemars::schema_for!(crate::policy::Acknowledgement)),
        annotations: ToolAnnotations::SIGNAL,
    }
}

/// Without the sizes of numbers (`uint64`), which JSON Schema does not know: some
/// clients complain of them on the terminal their interface is drawn on.
fn portable(mut schema: Schema) -> Schema {
    for value in schema.ensure_object().values_mut() {
        without_number_formats(value);
    }
    schema
}

fn without_number_formats(value: &mut Value) {
    match value {
        Value::Object(object) => {
            let is_number = |kind: &Value| {
                let names = kind
                    .as_array()
                    .map_or(std::slice::from_ref(kind), Vec::as_slice);
                names
                    .iter()
                    .any(|name| name == "integer" || name == "number")
            };
            if object.get("type").is_some_and(is_number) {
                object.remove("format");
            }
            object.values_mut().for_each(without_number_formats);
        }
        Value::Array(values) => values.iter_mut().for_each(without_number_formats),
        _ => {}
    }
}

/// Reads the arguments of a call. Whatever the payload does not know is refused,
/// so nobody can smuggle an owner or another execution in.
pub fn parse_tool_call(
    name: &str,
    arguments: &str,
) -> Result<(Option<EventId>, Signal), Malformed> {
    if arguments.len() > limits::SIGNAL_BYTES {
        return Err(Malformed::Oversized {
            bytes: arguments.len(),
            max: limits::SIGNAL_BYTES,
        });
    }
    let kind: SignalType = name.parse()?;
    let json = |error: serde_json::Error| Malformed::Json {
        detail: error.to_string(),
    };
    let mut arguments: Map<String, Value> = serde_json::from_str(arguments).map_err(json)?;
    let event = match arguments.remove(EVENT_ID) {
        None | Some(Value::Null) => None,
        Some(value) => Some(
            serde_json::from_value(value).map_err(|error| Malformed::Payload {
                name: kind.name(),
                detail: format!("{EVENT_ID}: {error}"),
            })?,
        ),
    };
    let payload = serde_json::to_string(&arguments).map_err(json)?;
    Ok((event, Signal::parse(kind, &payload)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Blocked, NeedsInput};

    #[test]
    fn a_call_becomes_the_signal_it_names() {
        let (event, signal) = parse_tool_call(
            "needs_input",
            r#"{"question":"Which port?","choices":[{"label":"80"}],"event_id":"ask-1"}"#,
        )
        .unwrap();
        assert_eq!(event.unwrap().as_str(), "ask-1");
        let Signal::NeedsInput(NeedsInput { question, choices }) = signal else {
            panic!("{signal:?}")
        };
        assert_eq!((question.as_str(), choices.len()), ("Which port?", 1));
        assert_eq!(
            parse_tool_call("blocked", r#"{"reason":"no key"}"#).unwrap(),
            (
                None,
                Blocked {
                    reason: "no key".try_into().unwrap()
                }
                .into()
            )
        );
    }

    #[test]
    fn schemas_say_nothing_that_json_schema_does_not_know() {
        for tool in tools(SignalType::ALL) {
            let shown = serde_json::to_string(&tool).unwrap();
            assert!(!shown.contains(r#""format":"uint"#), "{shown}");
        }
    }

    #[test]
    fn an_owner_in_the_arguments_is_refused_and_named() {
        for smuggled in ["owner", "task", "execution", "execution_id"] {
            let arguments = format!(r#"{{"summary":"done","{smuggled}":"task_1"}}"#);
            let error = parse_tool_call("completed_claim", &arguments).unwrap_err();
            assert!(error.to_string().contains(smuggled), "{error}");
        }
    }

    #[test]
    fn five_megabytes_are_refused_before_they_are_parsed() {
        let arguments = format!(r#"{{"summary":"{}"}}"#, "x".repeat(5_000_000));
        assert!(matches!(
            parse_tool_call("progress", &arguments),
            Err(Malformed::Oversized { .. })
        ));
    }

    #[test]
    fn the_schema_of_a_tool_states_the_limits_of_its_payload() {
        let tools = tools(SignalType::ALL);
        let progress = serde_json::to_value(&tools[0]).unwrap();
        let properties = &progress["inputSchema"]["properties"];
        assert_eq!(properties["summary"]["maxLength"], limits::SIGNAL_TEXT);
        assert_eq!(properties["event_id"]["maxLength"], limits::EVENT_ID);
        assert_eq!(progress["inputSchema"]["additionalProperties"], false);
        assert_eq!(
            progress["inputSchema"]["required"],
            serde_json::json!(["summary"])
        );
    }

    #[test]
    fn only_the_allowed_signals_are_tools() {
        let names: Vec<_> = tools(&[SignalType::Message, SignalType::Blocked])
            .iter()
            .map(|tool| tool.name)
            .collect();
        assert_eq!(names, ["blocked", "message"]);
    }
}
