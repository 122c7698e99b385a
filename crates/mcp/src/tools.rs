//! The operations of the catalogue as tools: their entries in `tools/list`, and
//! finding one by what it does.
//!
//! A list of tools is read by a model each time it works, so a schema is written
//! as shortly as it can be without saying less.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use missiond_api::{CATALOGUE, Effect, OperationSpec};
use serde_json::{Map, Value, json};

/// The tool by which operations that are not listed are called.
pub const CALL_OPERATION: &str = "operation_call";

/// Where an entry says what a call of it costs.
const COST_KEY: &str = "missiond/cost";

/// Characters of a name or a reference that is no longer than this anyway.
const SHORT_NAME: u64 = 64;

/// A text that may be as long as this is not written up to its limit by accident.
const LONG_TEXT: u64 = 10_000;

/// How deep a schema may be nested in others before it is left as a reference.
const DEPTH: usize = 8;

/// The entry of an operation in `tools/list`.
#[must_use]
pub fn entry(spec: &OperationSpec) -> &'static Value {
    static ENTRIES: OnceLock<Vec<Value>> = OnceLock::new();
    let entries = ENTRIES.get_or_init(|| CATALOGUE.iter().map(described).collect());
    let index = CATALOGUE.iter().position(|known| known.name == spec.name);
    // A specification is always one of the catalogue; nothing else makes one.
    &entries[index.unwrap_or_default()]
}

/// The entry of [`CALL_OPERATION`].
#[must_use]
pub fn call_operation() -> Value {
    json!({
        "name": CALL_OPERATION,
        "title": "Call an operation",
        "description": "Call any operation that operation_find names, with its parameters.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "operation": { "type": "string" },
                "params": { "type": "object", "description": "As its schema says." },
            },
            "required": ["operation"],
            "additionalProperties": false,
        },
        "annotations": {
            "readOnlyHint": false, "destructiveHint": true,
            "idempotentHint": false, "openWorldHint": true,
        },
    })
}

/// The schema of an operation's parameters, for a model to read.
#[must_use]
pub fn params_schema(spec: &OperationSpec) -> &'static Value {
    &entry(spec)["inputSchema"]
}

/// Operations by how well they fit the words, the best first. No words fit all.
#[must_use]
pub fn find(query: &str) -> Vec<&'static OperationSpec> {
    let wanted = words(query);
    let mut found: Vec<_> = CATALOGUE
        .iter()
        .map(|spec| (fitness(spec, &wanted), spec))
        .filter(|(fitness, _)| wanted.is_empty() || *fitness > 0)
        .collect();
    // Equals keep the order of the catalogue, so the answer is always the same.
    found.sort_by_key(|(fitness, _)| std::cmp::Reverse(*fitness));
    found.into_iter().map(|(_, spec)| spec).collect()
}

fn fitness(spec: &OperationSpec, wanted: &[String]) -> u32 {
    let (name, toolset) = (words(spec.name), words(spec.toolset));
    let description = words(spec.description);
    let parameters = params_schema(spec)["properties"].as_object();
    let parameters: Vec<_> = parameters
        .into_iter()
        .flat_map(|parameters| parameters.keys())
        .flat_map(|name| words(name))
        .collect();
    let weigh = |word: &String| {
        let in_words = |known: &[String], whole: u32, begun: u32| {
            let begins = |known: &String| {
                known.starts_with(word.as_str()) || word.starts_with(known.as_str())
            };
            match () {
                () if known.contains(word) => whole,
                () if word.len() >= 4
                    && known.iter().any(|known| known.len() >= 4 && begins(known)) =>
                {
                    begun
                }
                () => 0,
            }
        };
        in_words(&name, 8, 4)
            + in_words(&toolset, 3, 1)
            + in_words(&description, 4, 2)
            + in_words(&parameters, 1, 0)
    };
    wanted.iter().map(weigh).sum()
}

/// Small words say nothing about what is wanted.
fn words(text: &str) -> Vec<String> {
    const SMALL: [&str; 17] = [
        "a", "an", "and", "are", "by", "for", "from", "in", "is", "it", "its", "of", "on", "or",
        "the", "to", "with",
    ];
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !SMALL.contains(&word.as_str()))
        .map(|word| match word.strip_suffix('s') {
            Some(one) if one.len() >= 3 && !one.ends_with('s') => one.to_owned(),
            _ => word,
        })
        .collect()
}

fn described(spec: &OperationSpec) -> Value {
    let params = spec.params_schema().to_value();
    let result = spec.result_schema().to_value();
    json!({
        "name": spec.name,
        "title": title(spec.name),
        "description": spec.description,
        "inputSchema": Shortener::new(&params["$defs"]).short(&params, "", 0),
        "outputSchema": plain(&result),
        "annotations": {
            "readOnlyHint": spec.effect == Effect::ReadOnly,
            "destructiveHint": spec.effect == Effect::Destructive,
            "idempotentHint": matches!(spec.effect, Effect::ReadOnly | Effect::Idempotent),
            // Tools of other people's servers may reach anything.
            "openWorldHint": spec.name == "mcp_tool_call",
        },
        // For the client: what is put before a model is described above.
        "_meta": { COST_KEY: spec.cost },
    })
}

/// `board_add` as people would write it.
fn title(name: &str) -> String {
    let mut title = name.replace('_', " ");
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    title
}

/// Writes a schema without what a model need not read: references are resolved,
/// once; what may be left out need not also be said to be null; and of what is
/// said of a type, the first paragraph is for its users.
struct Shortener<'a> {
    definitions: &'a Value,
    /// Definitions that were written out, and where.
    written: BTreeMap<String, String>,
}

impl<'a> Shortener<'a> {
    fn new(definitions: &'a Value) -> Self {
        Self {
            definitions,
            written: BTreeMap::new(),
        }
    }

    fn short(&mut self, schema: &Value, path: &str, depth: usize) -> Value {
        let members = match schema {
            Value::Object(members) => members,
            Value::Array(items) => {
                let items = items.iter().map(|item| self.short(item, path, depth));
                return items.collect();
            }
            other => return other.clone(),
        };
        if let Some(resolved) = self.resolve(members, path)
            && depth < DEPTH
        {
            let mut resolved = self.short(&resolved, path, depth + 1);
            if let Some(description) = members.get("description") {
                resolved["description"] = first_paragraph(description);
            }
            return resolved;
        }
        if let Some(choice) = choice_of_words(members) {
            return choice;
        }
        let mut shorter = Map::new();
        for (key, value) in members {
            let value = match (key.as_str(), value) {
                ("$schema" | "$defs" | "title" | "format", _) => continue,
                ("default", Value::Null | Value::Bool(false)) => continue,
                ("default", Value::Array(items)) if items.is_empty() => continue,
                ("default", Value::Object(members)) if members.is_empty() => continue,
                // Ranges of machine words, which say nothing about what is meant.
                ("minimum" | "maximum", _) if members.contains_key("format") => continue,
                ("minimum" | "maximum", _) if members.get("maximum") == Some(&json!(u32::MAX)) => {
                    continue;
                }
                // What a model reads counts no characters by the thousand, and names
                // nothing at greater length than anybody would.
                ("minLength", _) => continue,
                ("maxLength", value)
                    if value
                        .as_u64()
                        .is_none_or(|most| !(SHORT_NAME + 1..LONG_TEXT).contains(&most)) =>
                {
                    continue;
                }
                ("type", Value::Array(types)) => one_type(types),
                ("properties", Value::Object(properties)) => {
                    let mut shorter = Map::new();
                    for (name, schema) in properties {
                        shorter.insert(name.clone(), self.short(schema, name, depth));
                    }
                    Value::Object(shorter)
                }
                ("description", value) => first_paragraph(value),
                ("const" | "enum" | "default", value) => value.clone(),
                ("items", value) => {
                    let mut items = self.short(value, path, depth);
                    // What a list is for says what is in it, unless that has parts.
                    if members.contains_key("description")
                        && items["properties"].is_null()
                        && let Some(items) = items.as_object_mut()
                    {
                        items.remove("description");
                    }
                    items
                }
                (_, value) => self.short(value, path, depth),
            };
            shorter.insert(key.clone(), value);
        }
        Value::Object(shorter)
    }

    /// What a reference stands for, also one that may be null instead. An object
    /// that was written out before is named.
    fn resolve(&mut self, members: &Map<String, Value>, path: &str) -> Option<Value> {
        let is_null = |schema: &&Value| schema["type"] == "null";
        if let Some(Value::Array(options)) = members.get("anyOf") {
            let real: Vec<_> = options.iter().filter(|option| !is_null(option)).collect();
            return match real.as_slice() {
                [only] => Some((*only).clone()),
                _ => None,
            };
        }
        let name = members.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        let definition = self.definitions.get(name)?;
        if !definition["properties"].is_object() {
            return Some(definition.clone());
        }
        match self.written.get(name) {
            Some(first) => {
                Some(json!({ "type": "object", "description": format!("As in `{first}`.") }))
            }
            None => {
                self.written.insert(name.to_owned(), path.to_owned());
                Some(definition.clone())
            }
        }
    }
}

/// Without the breaks of its lines.
fn first_paragraph(description: &Value) -> Value {
    let Some(text) = description.as_str() else {
        return description.clone();
    };
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    Value::from(paragraph.replace('\n', " "))
}

/// Words to choose from, each with what it means, as one list and one sentence.
fn choice_of_words(members: &Map<String, Value>) -> Option<Value> {
    let options = members.get("oneOf")?.as_array()?;
    let mut choices = Vec::new();
    let said = members.get("description").map(first_paragraph);
    let mut meanings: Vec<String> = said
        .as_ref()
        .and_then(Value::as_str)
        .map(str::to_owned)
        .into_iter()
        .collect();
    for option in options {
        let described = option["description"].as_str();
        let words: Vec<_> = match (&option["const"], option["enum"].as_array()) {
            (Value::String(word), _) => vec![word.clone()],
            (_, Some(words)) => words
                .iter()
                .map(|word| word.as_str().map(str::to_owned))
                .collect::<Option<_>>()?,
            _ => return None,
        };
        if let (Some(described), [word]) = (described, words.as_slice()) {
            meanings.push(format!("{word}: {described}"));
        }
        choices.extend(words);
    }
    let mut choice = json!({ "type": "string", "enum": choices });
    if !meanings.is_empty() {
        choice["description"] = json!(meanings.join(" "));
    }
    Some(choice)
}

fn one_type(types: &[Value]) -> Value {
    let real: Vec<_> = types.iter().filter(|kind| *kind != "null").collect();
    match real.as_slice() {
        [only] => (*only).clone(),
        _ => json!(real),
    }
}

/// Anything at all is written as a schema that demands nothing: some clients know
/// no other word for it.
fn anything_or(schema: &Value) -> Value {
    match schema {
        Value::Bool(true) => json!({}),
        schema => plain(schema),
    }
}

/// A result's schema as it is, without formats that only Rust knows.
fn plain(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let kept = members.iter().filter(|(key, value)| {
                let is_number = key.as_str() == "format"
                    && value
                        .as_str()
                        .is_some_and(|format| format.starts_with(['u', 'i', 'd', 'f']));
                !(is_number || *key == "$schema")
            });
            let written = kept.map(|(key, value)| match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    let properties = properties
                        .iter()
                        .map(|(name, schema)| (name.clone(), anything_or(schema)));
                    (key.clone(), Value::Object(properties.collect()))
                }
                ("items", items) => (key.clone(), anything_or(items)),
                _ => (key.clone(), plain(value)),
            });
            Value::Object(written.collect())
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use missiond_api::Toolsets;

    use super::*;

    fn best(query: &str) -> Vec<&'static str> {
        find(query).iter().take(3).map(|spec| spec.name).collect()
    }

    #[test]
    fn an_operation_is_found_by_what_it_does() {
        for (query, expected) in [
            ("take a screenshot of a slot", "slot_screenshot"),
            ("split a task into steps", "board_decompose"),
            ("pause the autopilot", "autopilot_set"),
            ("which rules decide what agents may do", "permission_list"),
            ("call a tool of another MCP server", "mcp_tool_call"),
            ("kill", "slot_kill"),
            ("remove worktrees", "worktree_clean"),
            ("wait for an event", "timeline_wait"),
            ("give up a task", "board_cancel"),
            ("cancel a task", "board_cancel"),
        ] {
            assert!(
                best(query).contains(&expected),
                "{query}: {:?}",
                best(query)
            );
        }
        assert_eq!(find("").len(), CATALOGUE.len());
        assert!(find("xylophone").is_empty());
    }

    #[test]
    fn a_schema_names_every_parameter_and_refers_to_nothing() {
        for spec in CATALOGUE {
            let whole = spec.params_schema().to_value();
            let schema = params_schema(spec);
            let names = |schema: &Value| -> Vec<String> {
                let properties = schema["properties"].as_object();
                let names = properties.into_iter().flat_map(|known| known.keys());
                names.cloned().collect()
            };
            assert_eq!(names(schema), names(&whole), "{}", spec.name);
            assert_eq!(schema["required"], whole["required"], "{}", spec.name);
            assert_eq!(schema["additionalProperties"], false, "{}", spec.name);
            let text = schema.to_string();
            for left_out in ["$ref", "$defs", "\"null\"", "uint"] {
                assert!(!text.contains(left_out), "{}: {text}", spec.name);
            }
        }
    }

    #[test]
    fn ranges_and_defaults_are_there_for_a_model_to_read() {
        let of = |name: &str| {
            let spec = CATALOGUE.iter().find(|spec| spec.name == name).unwrap();
            &params_schema(spec)["properties"]
        };
        assert_eq!(
            of("board_list")["limit"],
            json!({
                "type": "integer", "description": "At most so many.",
                "minimum": 1, "maximum": 500, "default": 100,
            })
        );
        let grace = &of("slot_kill")["grace_ms"];
        assert_eq!(
            (&grace["minimum"], &grace["maximum"], &grace["default"]),
            (&json!(0), &json!(30_000), &json!(5_000))
        );
        assert_eq!(of("context_preview")["tokens"]["maximum"], 16_000);
        assert_eq!(of("beacon_set")["name"]["maxLength"], 100);
        assert_eq!(of("beacon_set")["symbols"]["maxItems"], 20);
    }

    #[test]
    fn choices_keep_what_they_mean() {
        let start = CATALOGUE
            .iter()
            .find(|spec| spec.name == "execution_start")
            .unwrap();
        let permission = &params_schema(start)["properties"]["permission"];
        assert_eq!(
            permission["enum"],
            json!(["ask", "accept-edits", "plan", "bypass"])
        );
        let meaning = permission["description"].as_str().unwrap();
        assert!(meaning.contains("bypass: It never asks."), "{meaning}");
    }

    #[test]
    fn annotations_say_what_a_call_does() {
        let of = |name: &str| {
            let spec = CATALOGUE.iter().find(|spec| spec.name == name).unwrap();
            let hints = &entry(spec)["annotations"];
            ["readOnlyHint", "destructiveHint", "idempotentHint"].map(|hint| hints[hint] == true)
        };
        assert_eq!(of("board_list"), [true, false, true]);
        assert_eq!(of("board_add"), [false, false, false]);
        assert_eq!(of("slot_kill"), [false, true, false]);
        assert_eq!(of("slot_resize"), [false, false, true]);
    }

    /// What a client reads that asks for nothing more. A token is at least three
    /// bytes of such text; `mission bench mcp` counts them better.
    #[test]
    fn the_default_list_stays_short() {
        let shown: Vec<_> = Toolsets::default().operations().map(entry).collect();
        let bytes: usize = shown
            .iter()
            .map(|tool| {
                [&tool["name"], &tool["description"], &tool["inputSchema"]]
                    .map(|part| part.to_string().len())
                    .iter()
                    .sum::<usize>()
            })
            .sum();
        assert!(bytes < 10_000, "{bytes} bytes");
    }
}
