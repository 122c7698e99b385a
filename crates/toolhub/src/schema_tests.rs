use serde_json::json;

use super::*;

fn of(schema: &Value, instance: &Value) -> String {
    mismatch(schema, instance).unwrap_or_else(|| "fits".to_owned())
}

#[test]
fn a_mistake_in_the_arguments_is_named_with_its_place() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "pattern": "^/"},
            "lines": {"type": "integer", "minimum": 1, "maximum": 100},
            "mode": {"enum": ["head", "tail"]},
            "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}, "maxItems": 2, "uniqueItems": true},
        },
        "required": ["path"],
        "additionalProperties": false,
        "$defs": {"edit": {"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old"]}},
    });
    for (arguments, said) in [
        (
            json!({"path": "/a", "lines": 3.0, "mode": "tail", "edits": [{"old": "x"}]}),
            "fits",
        ),
        (json!({"path": "/a", "lines": null}), "fits"),
        (json!({"path": null}), "`path` must be string, not null"),
        (json!({}), "`path` is missing"),
        (json!([]), "they must be object, not array"),
        (json!({"path": 1}), "`path` must be string, not number"),
        (
            json!({"path": ""}),
            "`path` must have at least 1 characters",
        ),
        (json!({"path": "a"}), "`path` must match ^/"),
        (
            json!({"path": "/a", "lines": 0}),
            "`lines` must be at least 1",
        ),
        (
            json!({"path": "/a", "lines": 1.5}),
            "`lines` must be integer, not number",
        ),
        (
            json!({"path": "/a", "mode": "x"}),
            "`mode` must be one of \"head\", \"tail\"",
        ),
        (
            json!({"path": "/a", "edits": [{"old": "x"}, {}]}),
            "`edits[1].old` is missing",
        ),
        (
            json!({"path": "/a", "edits": [{"old": "x"}, {"old": "x"}]}),
            "`edits` must not repeat an item",
        ),
        (
            json!({"path": "/a", "edits": [1, 2, 3]}),
            "`edits` must have at most 2 items",
        ),
        (
            json!({"path": "/a", "Lines": 1}),
            "`Lines` is not known; is `lines` meant?",
        ),
        (
            json!({"path": "/a", "zz": 1}),
            "`zz` is not known; there are edits, lines, mode, path",
        ),
    ] {
        assert_eq!(of(&schema, &arguments), said, "{arguments}");
    }
}

#[test]
fn alternatives_and_conditions_are_followed() {
    let either = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
    assert_eq!(of(&either, &json!(null)), "fits");
    assert_eq!(
        of(&either, &json!(1)),
        "they must be string, not number, or they must be null, not number"
    );
    let one = json!({"oneOf": [{"minimum": 0}, {"multipleOf": 2}]});
    assert_eq!(of(&one, &json!(3)), "fits");
    assert_eq!(of(&one, &json!(4)), "they must fit one alternative only");
    let not = json!({"not": {"const": 5}});
    assert_eq!(of(&not, &json!(5.0)), "they must not be that");
    let when = json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}});
    assert_eq!(of(&when, &json!({"a": 1})), "`b` is missing");
    assert_eq!(of(&when, &json!({})), "`c` is missing");
    let tuple = json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}});
    assert_eq!(of(&tuple, &json!(["a", 1])), "fits");
    assert_eq!(
        of(&tuple, &json!(["a", "b"])),
        "`[1]` must be integer, not string"
    );
}

#[test]
fn a_schema_made_to_hurt_says_nothing_and_ends() {
    let itself = json!({"$ref": "#"});
    assert_eq!(of(&itself, &json!({})), "fits");
    let wide = json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"});
    assert_eq!(of(&wide, &json!(1)), "fits");
    let away = json!({"properties": {"x": {"$ref": "http://127.0.0.1/steal"}}});
    assert_eq!(of(&away, &json!({"x": 1})), "fits");
    let pattern = json!({"pattern": "(?=look)ahead"});
    assert_eq!(of(&pattern, &json!("x")), "fits");
    let huge = json!({"pattern": "(a{1000}){1000}"});
    assert_eq!(of(&huge, &json!("x")), "fits");
    let either = json!({"anyOf": [{"type": "string"}, {"$ref": "#/nowhere"}]});
    assert_eq!(of(&either, &json!(1)), "fits");
}
