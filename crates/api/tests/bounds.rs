//! Every number among the parameters of the catalogue says its range, and every
//! free text its length, or stands here with the reason why not.

use std::collections::BTreeSet;

use missiond_api::CATALOGUE;
use serde_json::Value;

/// Parameters that have no limit of their own in the schema, by their name in any
/// operation or by their whole path, and what limits them instead.
const LISTED: &[(&str, &[&str])] = &[
    (
        "looked up among what there is: what is longer than any name is not found",
        &[
            "access",
            "conversation",
            "entry",
            "execution",
            "into",
            "kinds",
            "label",
            "names",
            "rule",
            "scope",
            "server",
            "slot",
            "symbol",
            "symbols",
            "template",
            "to",
            "tool",
            "worktree",
            "worktrees",
            "beacon_remove.name",
            "mcp_prompt_get.prompt",
        ],
    ),
    (
        "a path that may be relative: the system refuses what is longer than it allows",
        &["file", "files", "focus", "folder", "path", "repository"],
    ),
    (
        "a place that an earlier answer named: beyond the ends there is nothing",
        &["after", "before"],
    ),
    (
        "a task is checked as a whole, with sentences of its own, also one of a file",
        &[
            "base",
            "depends_on",
            "expected_exit",
            "key",
            "protect",
            "run",
        ],
    ),
    (
        "quoted: what is longer than the journal keeps is cut",
        &["commit", "quote"],
    ),
    (
        "a whole file, or what a command is called in a report: a message has at most a megabyte",
        &[
            "board_import.text",
            "checks[].name",
            "setup[].name",
            "teardown[].name",
        ],
    ),
    (
        "handed to a program: the system limits its arguments and variables",
        &["args", "argv", "arguments", "env", "model", "resume"],
    ),
];

/// One number or text of an operation's parameters.
#[derive(Debug)]
struct Leaf {
    operation: &'static str,
    /// The field it is the value of, or in the value of.
    field: String,
    path: String,
    bounded: bool,
}

impl Leaf {
    fn whole_path(&self) -> String {
        format!("{}{}", self.operation, self.path)
    }

    /// By its field in any operation, or by the end of its path.
    fn is_called(&self, name: &str) -> bool {
        let path = self.whole_path();
        let before = path.strip_suffix(name);
        self.field == name
            || before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    }
}

struct Walk<'a> {
    operation: &'static str,
    definitions: &'a Value,
    leaves: Vec<Leaf>,
}

impl Walk<'_> {
    fn visit(&mut self, schema: &Value, field: &str, path: &str, depth: usize) {
        assert!(depth < 20, "{}: {path} is too deep", self.operation);
        if let Some(name) = schema["$ref"].as_str() {
            let name = name
                .strip_prefix("#/$defs/")
                .expect("a definition of its own");
            let definition = self.definitions[name].clone();
            self.visit(&definition, field, path, depth + 1);
        }
        for choice in ["anyOf", "oneOf", "allOf"] {
            for option in schema[choice].as_array().into_iter().flatten() {
                self.visit(option, field, path, depth + 1);
            }
        }
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            self.visit(schema, name, &format!("{path}.{name}"), depth + 1);
        }
        if schema["items"].is_object() {
            self.visit(&schema["items"], field, &format!("{path}[]"), depth + 1);
        }
        if schema["additionalProperties"].is_object() {
            let values = &schema["additionalProperties"];
            self.visit(values, field, &format!("{path}.*"), depth + 1);
        }
        let is = |kind: &str| match &schema["type"] {
            Value::String(only) => only == kind,
            Value::Array(kinds) => kinds.iter().any(|known| known == kind),
            _ => false,
        };
        let has = |keyword: &str| !schema[keyword].is_null();
        let chosen = has("enum") || has("const");
        let bounded = match () {
            () if is("integer") || is("number") => chosen || (has("minimum") && has("maximum")),
            () if is("string") => chosen || has("maxLength") || has("pattern") || has("format"),
            () => return,
        };
        self.leaves.push(Leaf {
            operation: self.operation,
            field: field.to_owned(),
            path: path.to_owned(),
            bounded,
        });
    }
}

fn leaves() -> Vec<Leaf> {
    CATALOGUE
        .iter()
        .flat_map(|spec| {
            let schema = spec.params_schema().to_value();
            let mut walk = Walk {
                operation: spec.name,
                definitions: &schema["$defs"],
                leaves: Vec::new(),
            };
            walk.visit(&schema, "", "", 0);
            walk.leaves
        })
        .collect()
}

#[test]
fn every_number_and_text_has_its_limits_or_a_reason() {
    let listed: BTreeSet<_> = LISTED.iter().flat_map(|(_, names)| *names).collect();
    let leaves = leaves();
    let unbounded: Vec<_> = leaves.iter().filter(|leaf| !leaf.bounded).collect();
    let unlisted: Vec<_> = unbounded
        .iter()
        .filter(|leaf| !listed.iter().any(|name| leaf.is_called(name)))
        .map(|leaf| leaf.whole_path())
        .collect();
    let stale: Vec<_> = listed
        .iter()
        .filter(|name| !unbounded.iter().any(|leaf| leaf.is_called(name)))
        .collect();
    assert!(
        unlisted.is_empty() && stale.is_empty(),
        "{unlisted:#?} {stale:#?}"
    );
}

/// What a caller reads is what a call obeys: each edge of each range is taken,
/// and what is beyond it is refused by its name.
#[test]
fn limits_are_the_same_in_the_schema_and_in_force() {
    let numbers = |schema: &Value, name: &str| {
        let known = &schema["properties"][name];
        (known["minimum"].as_i64(), known["maximum"].as_i64())
    };
    let spec = CATALOGUE.iter().find(|spec| spec.name == "board_list");
    let schema = spec.unwrap().params_schema().to_value();
    assert_eq!(numbers(&schema, "limit"), (Some(1), Some(500)));
    assert_eq!(schema["properties"]["limit"]["default"], 100);
    use missiond_api::Operation;
    use missiond_api::operations::board::BoardList;
    for (limit, taken) in [(0, false), (1, true), (500, true), (501, false)] {
        let parsed = BoardList::parse(&format!(r#"{{"limit":{limit}}}"#));
        assert_eq!(parsed.is_ok(), taken, "{limit}");
    }
    assert_eq!(BoardList::parse("{}").unwrap().limit.get(), 100);
}

#[test]
fn a_folder_is_asked_about_by_its_absolute_path() {
    use missiond_api::Operation;
    use missiond_api::operations::code::CodeStatus;
    let schema = CodeStatus::SPEC.params_schema().to_value();
    assert_eq!(schema["properties"]["path"]["pattern"], "^/");
    assert!(CodeStatus::parse(r#"{"path":"/src"}"#).is_ok());
    let refused = CodeStatus::parse(r#"{"path":"src"}"#).unwrap_err();
    assert_eq!(
        refused.message,
        "parameter `path`: must be absolute, but is `src`"
    );
}
