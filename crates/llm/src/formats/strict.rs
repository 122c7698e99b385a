//! Whether a schema keeps the rules under which OpenAI promises an answer of its form. One
//! that does not would be refused if the promise were asked for; without it, it still
//! guides the model, and the answer is checked here anyway.

use serde_json::Value;

/// What may stand in a schema of which the form is promised.
const KEYWORDS: [&str; 17] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "properties",
    "required",
    "title",
];

pub(super) fn is_strict(schema: &Value) -> bool {
    let Some(members) = schema.as_object() else {
        return false;
    };
    let known = |keyword: &String| keyword == "type" || KEYWORDS.contains(&keyword.as_str());
    if !members.keys().all(known) {
        return false;
    }
    let is_object = schema["type"] == "object" || members.contains_key("properties");
    if is_object && !is_closed(schema) {
        return false;
    }
    let named = ["properties", "$defs"].into_iter();
    let named = named.filter_map(|keyword| schema[keyword].as_object());
    let alternatives = schema["anyOf"].as_array().into_iter().flatten();
    let mut inner = named
        .flat_map(|members| members.values())
        .chain(alternatives)
        .chain(members.get("items"));
    inner.all(is_strict)
}

/// Every member must be there, and no other.
fn is_closed(schema: &Value) -> bool {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let members = schema["properties"].as_object();
    let mut names = members.into_iter().flat_map(|members| members.keys());
    schema["additionalProperties"] == false
        && names.all(|name| required.iter().any(|one| one.as_str() == Some(name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_promise_is_asked_for_where_it_is_given() {
        let closed = |x: Value| {
            json!({
                "type": "object", "additionalProperties": false, "required": ["x"],
                "properties": {"x": x},
            })
        };
        assert!(is_strict(&closed(json!({"type": ["string", "null"]}))));
        assert!(is_strict(&closed(closed(json!({"enum": ["a"]})))));
        for schema in [
            json!({"type": "object", "properties": {"x": {}}, "required": ["x"]}),
            json!({"type": "object", "additionalProperties": false, "properties": {"x": {}}}),
            closed(json!({"type": "object"})),
            closed(json!({"oneOf": [{"type": "null"}]})),
            closed(json!({"type": "array", "items": {"format": "uint32"}})),
            closed(json!(true)),
        ] {
            assert!(!is_strict(&schema), "{schema}");
        }
    }
}
