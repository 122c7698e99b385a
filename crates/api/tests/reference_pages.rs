//! `docs/reference/protocol.md` and `docs/reference/mcp.md` are written by hand, because what a
//! message or a tool is for stands nowhere else in a few words. That they have everything there
//! is and nothing more is held here against the declarations.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

use std::collections::{BTreeMap, BTreeSet};

use missiond_api::{
    AttachParams, CATALOGUE, CancelParams, CommanderHelloParams, Cost, DEFAULT_TOOLS, DetachParams,
    EndedNotice, ExecutionHelloParams, HelloParams, HookParams, OversizedParams, PaintNotice,
    PaintedParams, SubscribeParams, ToolUseParams, Toolsets, UnsubscribeParams,
};
use missiond_core::ErrorCode;
use serde::de::DeserializeOwned;
use serde_json::Value;

const PROTOCOL: &str = include_str!("../../../docs/reference/protocol.md");
const MCP: &str = include_str!("../../../docs/reference/mcp.md");
const SOURCES: [&str; 4] = [
    include_str!("../src/attachment.rs"),
    include_str!("../src/commander.rs"),
    include_str!("../src/execution.rs"),
    include_str!("../src/protocol.rs"),
];

/// What stands in backticks.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The rows of the tables whose first column is called so, cut into cells.
fn rows<'a>(page: &'a str, first_column: &str) -> Vec<Vec<&'a str>> {
    let begins = format!("| {first_column} |");
    let tables = page.split(&begins).skip(1);
    let rows =
        tables.flat_map(|table| table.lines().skip(2).take_while(|row| row.starts_with('|')));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// The names of all fields of what refuses others: it names them when it refuses.
fn fields<T: DeserializeOwned>() -> BTreeSet<String> {
    let refused = serde_json::from_str::<T>(r#"{"no such field": 1}"#);
    let Err(error) = refused else {
        panic!("it takes any field");
    };
    let error = error.to_string();
    let (_, expected) = error.split_once("expected ").unwrap();
    words(expected).map(str::to_owned).collect()
}

/// Each message the page shows, and the fields it shows of it: in a row of a table, or as a
/// whole line.
fn shown_messages() -> BTreeMap<String, BTreeSet<String>> {
    let mut shown = BTreeMap::new();
    for row in rows(PROTOCOL, "notification or request") {
        let mut inside = words(row[0]);
        let method = inside.next().unwrap().to_owned();
        let params = inside.next().unwrap_or_default();
        // Every second piece is between quotes, and a name is what a colon follows.
        let pieces: Vec<_> = params.split('"').collect();
        let names = pieces.windows(2).skip(1).step_by(2);
        let names = names.filter(|pair| pair[1].starts_with(':'));
        // `{…}` stands for what is inside, so the names are those of the outermost.
        let names = names.map(|pair| pair[0].to_owned()).collect();
        let before = shown.insert(method.clone(), names);
        assert!(before.is_none(), "{method} is there twice");
    }
    for line in PROTOCOL
        .lines()
        .filter(|line| line.starts_with("{\"jsonrpc\""))
    {
        let message: Value = serde_json::from_str(line).unwrap();
        let params = message["params"].as_object().unwrap();
        let names = params.keys().cloned().collect();
        let method = message["method"].as_str().unwrap().to_owned();
        let before = shown.insert(method.clone(), names);
        assert!(before.is_none(), "{method} is there twice");
    }
    shown
}

#[test]
fn the_page_of_the_wire_has_every_message_with_every_field() {
    let declared = SOURCES.iter().flat_map(|source| {
        let lines = source.lines();
        lines.filter_map(|line| line.strip_prefix("pub const METHOD_")?.split('"').nth(1))
    });
    let declared: BTreeSet<_> = declared.map(str::to_owned).collect();
    let shown = shown_messages();
    assert_eq!(shown.keys().cloned().collect::<BTreeSet<_>>(), declared);

    let written = |value: Value| value.as_object().unwrap().keys().cloned().collect();
    let expected: [(&str, BTreeSet<String>); 14] = [
        ("hello", fields::<HelloParams>()),
        ("cancel", fields::<CancelParams>()),
        ("subscribe", fields::<SubscribeParams>()),
        ("unsubscribe", fields::<UnsubscribeParams>()),
        ("attach", fields::<AttachParams>()),
        ("detach", fields::<DetachParams>()),
        ("painted", fields::<PaintedParams>()),
        (
            "paint",
            written(
                serde_json::to_value(PaintNotice {
                    attachment: 1,
                    frame: 1,
                    text: String::new(),
                    more: false,
                })
                .unwrap(),
            ),
        ),
        (
            "ended",
            written(
                serde_json::to_value(EndedNotice {
                    attachment: 1,
                    outcome: String::new(),
                    goes_on: true,
                })
                .unwrap(),
            ),
        ),
        ("execution_hello", fields::<ExecutionHelloParams>()),
        ("hook", fields::<HookParams>()),
        ("tool_use", fields::<ToolUseParams>()),
        ("oversized", fields::<OversizedParams>()),
        ("commander_hello", fields::<CommanderHelloParams>()),
    ];
    // What a subscription tells is an event of the timeline, which has no fields of its own.
    assert_eq!(expected.len() + 1, declared.len());
    for (method, fields) in expected {
        assert_eq!(shown[method], fields, "{method}");
    }
}

#[test]
fn the_page_of_the_wire_has_every_code_of_an_error_once() {
    let mut shown: Vec<String> = rows(PROTOCOL, "`data.code`")
        .iter()
        .flat_map(|row| words(row[0]))
        .map(str::to_owned)
        .collect();
    shown.sort();
    // A client says this itself, when there is nobody to answer.
    let told = ErrorCode::ALL
        .iter()
        .filter(|code| **code != ErrorCode::Unreachable);
    let name = |code: &ErrorCode| serde_json::to_value(code).unwrap();
    let mut codes: Vec<_> = told
        .map(|code| name(code).as_str().unwrap().to_owned())
        .collect();
    codes.sort();
    assert_eq!(shown, codes);
}

#[test]
fn the_page_of_the_mcp_server_has_every_operation_toolset_and_cost() {
    let table = rows(MCP, "domain");
    let in_column = |index: usize| table.iter().flat_map(move |row| words(row[index]));
    // A flag of one stands beside it in brackets.
    let shown: BTreeSet<_> = in_column(2).filter(|word| word.contains('_')).collect();
    let single = ["search", "health", "overview"];
    let shown: BTreeSet<_> = shown.into_iter().chain(single).collect();
    let catalogue: BTreeSet<_> = CATALOGUE.iter().map(|spec| spec.name).collect();
    assert_eq!(shown, catalogue);
    assert!(
        single
            .iter()
            .all(|name| in_column(2).any(|word| word == *name))
    );

    let (_, sentence) = MCP.split_once("The toolsets are ").unwrap();
    let shown: BTreeSet<_> = words(sentence.split('.').next().unwrap()).collect();
    let toolsets: BTreeSet<_> = Toolsets::all_names().into_iter().collect();
    assert_eq!(shown, toolsets);

    let costs: Vec<_> = rows(MCP, "cost")
        .iter()
        .flat_map(|row| words(row[0]))
        .collect();
    let all = [
        Cost::Instant,
        Cost::Database,
        Cost::Process,
        Cost::Wait,
        Cost::Agent,
    ];
    assert_eq!(costs, all.map(Cost::name));
    assert_eq!(DEFAULT_TOOLS.len(), 10, "the page says ten");
    assert!(MCP.contains("ten operations, `operation_call`, and `operation_find`"));
}

/// The plan is what it was: 71 names in four domains. What is said not to be built is one of
/// them and is not there.
#[test]
fn the_plan_of_the_catalogue_is_accounted_for() {
    let mut planned = BTreeMap::<&str, BTreeSet<&str>>::new();
    let mut absent = Vec::new();
    for row in rows(MCP, "domain") {
        let names = row[1].split(", ").filter(|name| !name.is_empty());
        planned.entry(row[0]).or_default().extend(names);
        let missing = row[3].trim().split([',', ' ', ':']);
        let missing = missing.filter(|word| row[1].split(", ").any(|name| name == *word));
        absent.extend(missing);
        assert!(row[3].is_empty() || !absent.is_empty(), "{row:?}");
    }
    let counts: Vec<_> = planned
        .iter()
        .map(|(domain, names)| (*domain, names.len()))
        .collect();
    let expected = [
        ("communication", 13),
        ("compute", 18),
        ("knowledge", 26),
        ("not planned", 0),
        ("system", 14),
    ];
    assert_eq!(counts, expected);
    for name in absent {
        let is_there = CATALOGUE.iter().any(|spec| spec.name == name);
        assert!(!is_there, "{name} is said not to be built");
    }
}
