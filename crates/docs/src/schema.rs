//! A JSON Schema as the rows of a table: each field with its type, its limits, and
//! what is said of it where it is declared.

use serde_json::Value;

/// Where a schema lists what else may be or must be.
const ALTERNATIVES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Fields of fields are listed as deep as this.
const DEPTH: usize = 6;

/// One field, or one of what it holds: `checks[].run`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) path: String,
    /// `text, 1 to 500 characters`
    pub(crate) kind: String,
    pub(crate) presence: Presence,
    /// What is said of it, and of each word that it may be.
    pub(crate) meaning: String,
}

impl Field {
    /// The same field of another kind of the object: one row says what is said of both.
    fn join(&mut self, other: &Self) {
        self.kind = joined(&self.kind, &other.kind, " or ");
        self.meaning = joined(&self.meaning, &other.meaning, " ");
        if self.presence != other.presence {
            self.presence = Presence::Optional;
        }
    }
}

/// Both, unless the one says what the other says.
fn joined(one: &str, other: &str, between: &str) -> String {
    if other.is_empty() || one.split(between).any(|part| part == other) || one == other {
        one.to_owned()
    } else if one.is_empty() {
        other.to_owned()
    } else {
        format!("{one}{between}{other}")
    }
}

/// Whether a caller gives it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
    /// Taken when it is left out.
    Default(Value),
}

/// A schema with the definitions it refers to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'a> {
    root: &'a Value,
}

/// What one schema allows, in words, and what it holds.
#[derive(Debug, Default)]
struct Shape<'a> {
    words: String,
    /// A word with what is said of it.
    choices: Vec<(String, String)>,
    /// Objects within, and what their fields are called behind the name of this one.
    parts: Vec<(&'static str, &'a Value)>,
    description: String,
}

impl<'a> Schema<'a> {
    pub(crate) fn of(root: &'a Value) -> Self {
        Self { root }
    }

    /// Every field, those that must be given first.
    pub(crate) fn fields(self) -> Vec<Field> {
        let mut fields = Vec::new();
        self.collect(self.root, "", &mut Vec::new(), &mut fields);
        fields
    }

    fn collect(
        self,
        object: &'a Value,
        prefix: &str,
        within: &mut Vec<*const Value>,
        fields: &mut Vec<Field>,
    ) {
        // A type that holds itself is listed once.
        if within.len() >= DEPTH || within.contains(&std::ptr::from_ref(object)) {
            return;
        }
        within.push(std::ptr::from_ref(object));
        for (name, schema, required) in properties(object) {
            let path = format!("{prefix}{name}");
            let shape = self.shape(schema);
            let field = Field {
                kind: shape.words.clone(),
                presence: match schema.get("default") {
                    _ if required => Presence::Required,
                    Some(default) if says_something(default) => Presence::Default(default.clone()),
                    _ => Presence::Optional,
                },
                meaning: shape.meaning(),
                path: path.clone(),
            };
            match fields.iter_mut().find(|known| known.path == field.path) {
                Some(known) => known.join(&field),
                None => fields.push(field),
            }
            for (suffix, part) in shape.parts {
                self.collect(part, &format!("{path}{suffix}."), within, fields);
            }
        }
        // What is flattened into it: fields of one kind of it or another.
        for part in options(object) {
            let part = self.definition(part).unwrap_or(part);
            self.collect(part, prefix, within, fields);
        }
        within.pop();
    }

    fn definition(self, schema: &Value) -> Option<&'a Value> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        self.root.get("$defs")?.get(name)
    }

    fn shape(self, schema: &'a Value) -> Shape<'a> {
        let mut shape = self.shape_without_description(schema);
        // What is said of the field comes before what is said of its type.
        if let Some(said) = schema.get("description").and_then(Value::as_str) {
            said.clone_into(&mut shape.description);
        }
        shape
    }

    fn shape_without_description(self, schema: &'a Value) -> Shape<'a> {
        if let Some(definition) = self.definition(schema) {
            return self.shape(definition);
        }
        let options = options(schema);
        if !options.is_empty() && schema.get("properties").is_none() {
            return self.one_of(&options);
        }
        if let Some(word) = schema.get("const") {
            return Shape::of_words(std::slice::from_ref(word), "");
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return Shape::of_words(words, "");
        }
        match type_of(schema) {
            Some("array") => {
                let items = schema.get("items").map(|items| self.shape(items));
                let items = items.unwrap_or_default();
                let suffix = |(_, part)| ("[]", part);
                let what = if items.words.is_empty() {
                    "anything"
                } else {
                    &items.words
                };
                Shape {
                    words: format!("list of {what}{}", counts(schema, "Items", "items")),
                    choices: items.choices,
                    parts: items.parts.into_iter().map(suffix).collect(),
                    description: items.description,
                }
            }
            Some("object") if schema.get("properties").is_some() => Shape {
                words: "object".to_owned(),
                parts: vec![("", schema)],
                ..Shape::default()
            },
            Some("object") => match schema.get("additionalProperties") {
                Some(values @ Value::Object(_)) => {
                    let values = self.shape(values);
                    let suffix = |(_, part)| (".*", part);
                    Shape {
                        words: format!("names with {} each", values.words),
                        parts: values.parts.into_iter().map(suffix).collect(),
                        ..Shape::default()
                    }
                }
                _ => Shape::named("object"),
            },
            Some("string") => {
                Shape::named(format!("text{}", counts(schema, "Length", "characters")))
            }
            Some("integer") => Shape::named(format!("whole number{}", range(schema))),
            Some("number") => Shape::named(format!("number{}", range(schema))),
            Some("boolean") => Shape::named("true or false"),
            _ => Shape::named("anything"),
        }
    }

    /// Words to choose from, one type that may be null, or several types.
    fn one_of(self, options: &[&'a Value]) -> Shape<'a> {
        let mut whole = Shape::default();
        let mut kinds: Vec<String> = Vec::new();
        let real = options.iter().filter(|one| type_of(one) != Some("null"));
        let real: Vec<_> = real.collect();
        for option in &real {
            let shape = self.shape(option);
            if shape.choices.is_empty() {
                if !kinds.contains(&shape.words) {
                    kinds.push(shape.words);
                }
            } else {
                let said = shape.description.clone();
                let single = shape.choices.len() == 1;
                whole
                    .choices
                    .extend(shape.choices.into_iter().map(|(word, own)| {
                        let said = if single && own.is_empty() {
                            said.clone()
                        } else {
                            own
                        };
                        (word, said)
                    }));
            }
            whole.parts.extend(shape.parts);
            if real.len() == 1 && !shape.description.is_empty() {
                whole.description = shape.description;
            }
        }
        if !whole.choices.is_empty() {
            kinds.insert(0, words_of(&whole.choices));
        }
        whole.words = kinds.join(" or ");
        whole
    }
}

impl<'a> Shape<'a> {
    fn named(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            ..Self::default()
        }
    }

    fn of_words(words: &[Value], said: &str) -> Self {
        let plain = |word: &Value| match word {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let words = words.iter().filter(|word| !word.is_null());
        let choices: Vec<_> = words.map(|word| (plain(word), said.to_owned())).collect();
        Self {
            words: words_of(&choices),
            choices,
            ..Self::default()
        }
    }

    fn meaning(&self) -> String {
        let mut meaning = self.description.clone();
        for (word, said) in self.choices.iter().filter(|(_, said)| !said.is_empty()) {
            let gap = if meaning.is_empty() { "" } else { " " };
            meaning.push_str(&format!("{gap}`{word}`: {said}"));
        }
        meaning
    }
}

fn words_of(choices: &[(String, String)]) -> String {
    let words: Vec<_> = choices
        .iter()
        .map(|(word, _)| format!("`{word}`"))
        .collect();
    match words.as_slice() {
        [only] => only.clone(),
        words => format!("one of {}", words.join(", ")),
    }
}

fn options(schema: &Value) -> Vec<&Value> {
    let lists = ALTERNATIVES.iter().filter_map(|name| schema.get(name));
    lists.filter_map(Value::as_array).flatten().collect()
}

fn properties(object: &Value) -> Vec<(&str, &Value, bool)> {
    let required: Vec<_> = object
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let all = object.get("properties").and_then(Value::as_object);
    let mut properties: Vec<_> = all
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.as_str(), schema, required.contains(&name.as_str())))
        .collect();
    properties.sort_by_key(|(.., required)| !required);
    properties
}

/// Its type, if there is one beside null.
fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(only) => Some(only),
        Value::Array(types) => {
            let mut types = types.iter().filter_map(Value::as_str);
            types.find(|name| *name != "null")
        }
        _ => None,
    }
}

/// Whether a default is more than that nothing was given.
fn says_something(default: &Value) -> bool {
    match default {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// `, 1 to 20 items`
fn counts(schema: &Value, of: &str, what: &str) -> String {
    let bound = |end: &str| schema.get(format!("{end}{of}")).and_then(Value::as_u64);
    match (bound("min"), bound("max")) {
        (None | Some(0), None) => String::new(),
        (None | Some(0), Some(most)) => format!(", at most {most} {what}"),
        (Some(least), None) => format!(", at least {least} {what}"),
        (Some(least), Some(most)) => format!(", {least} to {most} {what}"),
    }
}

/// `, 1 to 100`. The range of a machine word says nothing about what is meant.
fn range(schema: &Value) -> String {
    if schema.get("format").is_some() {
        return String::new();
    }
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_listed_with_what_they_hold() {
        let schema = json!({
            "type": "object",
            "required": ["name", "checks"],
            "properties": {
                "limit": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
                "name": {"type": "string", "minLength": 1, "maxLength": 20, "description": "Its name."},
                "checks": {"type": "array", "items": {"$ref": "#/$defs/Check"}},
                "how": {"description": "How.", "anyOf": [{"$ref": "#/$defs/How"}, {"type": "null"}]},
            },
            "$defs": {
                "Check": {
                    "type": "object", "required": ["run"],
                    "properties": {
                        "run": {"type": "string"},
                        "inner": {"$ref": "#/$defs/Check"},
                    },
                },
                "How": {"oneOf": [
                    {"const": "fast", "type": "string", "description": "At once."},
                    {"const": "slow", "type": "string"},
                ]},
            },
        });
        let schema = Schema::of(&schema);
        let rows: Vec<_> = schema
            .fields()
            .into_iter()
            .map(|field| (field.path, field.kind, field.presence, field.meaning))
            .collect();
        let row = |path: &str, kind: &str, presence, meaning: &str| {
            (
                path.to_owned(),
                kind.to_owned(),
                presence,
                meaning.to_owned(),
            )
        };
        assert_eq!(
            rows,
            [
                row("checks", "list of object", Presence::Required, ""),
                row("checks[].run", "text", Presence::Required, ""),
                row("checks[].inner", "object", Presence::Optional, ""),
                row(
                    "name",
                    "text, 1 to 20 characters",
                    Presence::Required,
                    "Its name."
                ),
                row(
                    "how",
                    "one of `fast`, `slow`",
                    Presence::Optional,
                    "How. `fast`: At once."
                ),
                row(
                    "limit",
                    "whole number, 1 to 9",
                    Presence::Default(json!(3)),
                    ""
                ),
            ]
        );
    }
}
