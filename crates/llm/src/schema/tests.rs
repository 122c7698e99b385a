//! What fits a schema, what does not, and which schemas are refused.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::*;

fn schema(json: &Value) -> AnswerSchema {
    AnswerSchema::parse(json).unwrap()
}

fn problems(schema: &AnswerSchema, value: &Value) -> Vec<String> {
    let problems = schema.problems(value);
    problems.iter().map(ToString::to_string).collect()
}

/// The schema of an object with one member `x`.
fn of_member(x: &Value) -> AnswerSchema {
    schema(&json!({"type": "object", "properties": {"x": x}, "required": ["x"]}))
}

#[test]
fn each_keyword_lets_pass_what_fits_and_says_what_does_not() {
    for (keywords, fits, fits_not, words) in [
        (
            json!({"type": "string"}),
            json!("a"),
            json!(1),
            "/x must be string, and is integer",
        ),
        (
            json!({"type": "integer"}),
            json!(2.0),
            json!(2.5),
            "/x must be integer, and is number",
        ),
        (
            json!({"type": ["string", "null"]}),
            json!(null),
            json!(true),
            "/x must be string or null, and is boolean",
        ),
        (
            json!({"enum": ["a", 1]}),
            json!(1.0),
            json!("b"),
            "/x must be one of \"a\", 1",
        ),
        (
            json!({"const": {"a": [1]}}),
            json!({"a": [1.0]}),
            json!({"a": [2]}),
            "/x must be one of {\"a\":[1]}",
        ),
        (
            json!({"minimum": 0, "maximum": 1}),
            json!(1),
            json!(1.5),
            "/x must be at most 1, and is 1.5",
        ),
        (
            json!({"exclusiveMinimum": 0}),
            json!(0.1),
            json!(0),
            "/x must be more than 0, and is 0",
        ),
        (
            json!({"exclusiveMaximum": 3}),
            json!(2),
            json!(3),
            "/x must be less than 3, and is 3",
        ),
        (
            json!({"maxLength": 2}),
            json!("éé"),
            json!("abc"),
            "/x must have at most 2 characters, and has 3",
        ),
        (
            json!({"minLength": 1}),
            json!("a"),
            json!(""),
            "/x must have at least 1 characters, and has 0",
        ),
        (
            json!({"items": {"type": "null"}}),
            json!([null]),
            json!([null, 1]),
            "/x/1 must be null, and is integer",
        ),
        (
            json!({"prefixItems": [{"type": "null"}], "items": false}),
            json!([null]),
            json!([null, 1]),
            "/x/1 must not be there",
        ),
        (
            json!({"minItems": 2}),
            json!([1, 2]),
            json!([1]),
            "/x must have at least 2 items, and has 1",
        ),
        (
            json!({"maxProperties": 1}),
            json!({"a": 1}),
            json!({"a": 1, "b": 2}),
            "/x must have at most 1 members, and has 2",
        ),
        (
            json!({"properties": {"a/b": {"type": "null"}}}),
            json!({"a/b": null}),
            json!({"a/b": 1}),
            "/x/a~1b must be null, and is integer",
        ),
        (
            json!({"additionalProperties": false}),
            json!({}),
            json!({"more": 1}),
            "/x/more must not be there",
        ),
        (
            json!({"required": ["a"]}),
            json!({"a": 1}),
            json!({}),
            "/x lacks `a`",
        ),
        (
            json!({"oneOf": [{"type": "number"}, {"type": "integer"}]}),
            json!(1.5),
            json!(1),
            "/x fits 2 alternatives, and must fit one",
        ),
        (
            json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}),
            json!(1),
            json!(3),
            "/x must be at most 2, and is 3",
        ),
    ] {
        let schema = of_member(&keywords);
        assert_eq!(
            problems(&schema, &json!({"x": fits})),
            [""; 0],
            "{keywords}"
        );
        assert_eq!(
            problems(&schema, &json!({"x": fits_not})),
            [words],
            "{keywords}"
        );
    }
    assert_eq!(
        problems(&of_member(&json!(true)), &json!({})),
        ["the answer lacks `x`"]
    );
    assert_eq!(
        problems(&of_member(&json!(true)), &json!([])),
        ["the answer must be object, and is array"]
    );
}

#[test]
fn of_alternatives_the_one_that_was_meant_is_told() {
    let schema = of_member(&json!({"anyOf": [
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"type": "null"},
    ]}));
    assert_eq!(problems(&schema, &json!({"x": null})), [""; 0]);
    assert_eq!(
        problems(&schema, &json!({"x": {"a": "1"}})),
        ["/x/a must be integer, and is string"]
    );
}

#[test]
fn references_are_followed_also_in_a_circle() {
    let tree = schema(&json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {
            "type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}, "below": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        }},
    }));
    let value = json!({"root": {"name": "a", "below": [{"name": "b"}, {"below": []}]}});
    assert_eq!(problems(&tree, &value), ["/root/below/1 lacks `name`"]);
    let endless = schema(&json!({"type": "object", "allOf": [{"$ref": "#"}]}));
    assert_eq!(
        problems(&endless, &json!({})),
        ["the answer is nested too deeply"]
    );
    let refers = json!({"$ref": "#"});
    let doubling = schema(&json!({"type": "object", "anyOf": [refers, refers]}));
    assert_eq!(
        problems(&doubling, &json!({})),
        ["the answer takes too long to check against this schema"]
    );
}

#[test]
fn a_schema_that_cannot_be_checked_is_refused() {
    let object = |x: Value| json!({"type": "object", "properties": {"x": x}});
    for (schema, words) in [
        (json!({"type": "array"}), "must be of an object"),
        (json!([]), "the beginning of the schema is wrong"),
        (
            object(json!({"pattern": "a+"})),
            "`pattern` in `/properties/x` of the schema is not checked here",
        ),
        (
            object(json!({"type": "text"})),
            "`/properties/x/type` of the schema is wrong: there is no type `text`",
        ),
        (object(json!({"minLength": -1})), "must be a count"),
        (object(json!({"enum": []})), "must be a list of values"),
        (object(json!({"anyOf": []})), "must be a list of schemas"),
        (
            object(json!({"$ref": "https://elsewhere/x"})),
            "only what stands in the schema",
        ),
        (
            object(json!({"$ref": "#/$defs/Gone"})),
            "there is no such definition",
        ),
        (object(json!({"$defs": {}})), "`$defs` in `/properties/x`"),
        (
            object(json!({"description": "a".repeat(70_000)})),
            "65536 are the most",
        ),
    ] {
        let error = AnswerSchema::parse(&schema).unwrap_err().to_string();
        assert!(error.contains(words), "{schema}: {error}");
    }
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Verdict {
    /// Whether it may go on.
    goes_on: bool,
    confidence: Option<f32>,
    kind: VerdictKind,
    reasons: Vec<Reason>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum VerdictKind {
    Safe,
    /// Needs somebody.
    Unsure {
        whom: String,
    },
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Reason {
    line: u32,
    text: String,
}

#[test]
fn the_schema_of_a_type_takes_what_the_type_takes() {
    let schema = AnswerSchema::of::<Verdict>().unwrap();
    let text = schema.json().to_string();
    assert!(
        !text.contains("$ref") && text.contains("Whether it may go on."),
        "{text}"
    );
    let value = json!({
        "goes_on": true, "confidence": null, "kind": {"unsure": {"whom": "a person"}},
        "reasons": [{"line": 3, "text": "it deletes"}],
    });
    assert_eq!(problems(&schema, &value), [""; 0]);
    assert!(serde_json::from_value::<Verdict>(value.clone()).is_ok());
    for (pointer, instead) in [
        ("/goes_on", json!("yes")),
        ("/kind", json!("dangerous")),
        ("/kind/unsure", json!({})),
        ("/reasons/0/line", json!(-1)),
    ] {
        let mut broken = value.clone();
        *broken.pointer_mut(pointer).unwrap() = instead;
        assert!(!problems(&schema, &broken).is_empty(), "{broken}");
        assert!(serde_json::from_value::<Verdict>(broken).is_err());
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::btree_map("[a-d/~]{1,3}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Whatever a model writes: there is an end, few problems, each at a place that there
    /// is, and a value fits the schema that wants exactly it.
    #[test]
    fn any_answer_is_judged(value in any_json(), other in any_json()) {
        let typed = AnswerSchema::of::<Verdict>().unwrap();
        let found = typed.problems(&value);
        prop_assert!(!found.is_empty() && found.len() <= MAX_PROBLEMS);
        for problem in found {
            prop_assert!(value.pointer(&problem.at).is_some(), "{problem}");
        }
        let exact = of_member(&json!({"const": value}));
        prop_assert_eq!(exact.problems(&json!({"x": value})), vec![]);
        let differs = !is_same(&value, &other);
        let problems = exact.problems(&json!({"x": other}));
        prop_assert_eq!(!problems.is_empty(), differs);
    }

    /// Whatever stands for a schema, it is read or refused.
    #[test]
    fn any_schema_is_read_or_refused(inner in any_json()) {
        if let Ok(schema) = AnswerSchema::parse(&json!({"type": "object", "properties": inner})) {
            let problems = schema.problems(&json!({}));
            prop_assert!(problems.is_empty());
        }
    }
}
