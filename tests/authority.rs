//! Who may do what, as `docs/reference/authority.md` says, is what happens: for every
//! operation, every kind of caller and the way each comes in.
//!
//! An operation is called with a parameter that none has. Whoever may call it is told of
//! that; whoever may not is told so first, and nothing is done either way.

use std::collections::BTreeMap;

use missiond_api::{CATALOGUE, authority_table};
use serde_json::{Value, json};

use crate::commander::Agent;
use crate::harness::{TestHome, binary, wait_for};
use crate::http::{Http, token};

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/reference/authority.md"
);
/// Set to write the table instead of comparing it.
const WRITE: &str = "MISSION_WRITE_DOCUMENTS";
const STRAY: &str = r#"{"no_such_parameter":1}"#;

/// The cells of the page by operation: a person, a token, a person's agent, an agent in a
/// slot, everybody else.
fn declared() -> BTreeMap<String, Vec<String>> {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut cells = row
            .trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().to_owned());
        let name = cells.next().unwrap().trim_matches('`').to_owned();
        (name, cells.collect())
    })
    .collect::<BTreeMap<_, _>>()
}

#[test]
fn the_page_is_what_the_catalogue_declares() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, table) = page.split_once("| operation |").unwrap();
    let table = format!("| operation |{table}");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(PAGE, format!("{before}{}", authority_table())).unwrap();
        return;
    }
    let what = format!("{PAGE} is not what the catalogue declares; {WRITE}=1 writes it");
    assert!(table == authority_table(), "{what}");
    assert_eq!(declared().len(), CATALOGUE.len());
}

/// Whether a refusal of each operation is what the cell of this number says.
fn compare(who: &str, column: usize, forbidden: &dyn Fn(&str) -> bool) {
    let declared = declared();
    assert_eq!(declared.len(), CATALOGUE.len());
    for (operation, cells) in declared {
        let cell = &cells[column];
        let may = match column {
            1 => cell != "no token has it",
            _ => cell == "yes",
        };
        assert_eq!(
            !forbidden(&operation),
            may,
            "{who} calls {operation}: {cell}"
        );
    }
}

/// What a script with a line `NAME CODE WHY` for each operation says was refused.
fn refusals(lines: &str) -> BTreeMap<String, bool> {
    let read = |line: &str| {
        let (name, why) = line.split_once(' ').unwrap();
        let stray = why.contains("no_such_parameter");
        let forbidden = why.contains("is for a person") || why.contains("an agent may use");
        assert!(stray != forbidden, "{line}");
        (name.to_owned(), forbidden)
    };
    lines.lines().map(read).collect()
}

/// Calls every operation and says what came of it in the file `said`.
fn script() -> String {
    let mission = binary().display().to_string();
    let names: Vec<_> = CATALOGUE.iter().map(|spec| spec.name).collect();
    format!(
        "for name in {}; do echo \"$name $('{mission}' call $name '{STRAY}' 2>&1 | tr '\\n' ' ')\"; \
         done > said.new; mv said.new said",
        names.join(" ")
    )
}

fn said(home: &TestHome) -> BTreeMap<String, bool> {
    let said = home.path().join("said");
    wait_for("every call", || said.exists());
    let said = refusals(&std::fs::read_to_string(said).unwrap());
    assert_eq!(said.len(), CATALOGUE.len());
    said
}

#[test]
fn a_person_may_everything_at_the_command_line_and_on_the_socket() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    let params: Value = serde_json::from_str(STRAY).unwrap();
    compare("a person", 0, &|_| false);
    for (number, spec) in CATALOGUE.iter().enumerate() {
        let answer = connection.ask(number as u64 + 1, spec.name, &params);
        assert_eq!(
            answer["error"]["data"]["code"], "invalid_params",
            "{}: {answer}",
            spec.name
        );
    }
}

#[test]
fn a_token_opens_what_the_page_says() {
    let home = TestHome::with_config("[http]\nrequests_per_second = 1000\n");
    home.start();
    let (http, token) = (Http::of(&home), token(&home, "ci"));
    let params = serde_json::from_str(STRAY).unwrap();
    compare(
        "a program",
        1,
        &|operation| match http.call(&token, operation, &params).status {
            403 => true,
            400 => false,
            other => panic!("{operation}: {other}"),
        },
    );
}

#[test]
fn a_persons_own_agent_may_what_the_page_says() {
    let home = TestHome::started();
    let agent = std::cell::RefCell::new(Agent::start(&home, &["--toolset", "all"]));
    compare("a person's own agent", 2, &|operation| {
        let params: Value = serde_json::from_str(STRAY).unwrap();
        let call = json!({ "operation": operation, "params": params });
        let answer = agent.borrow_mut().call("operation_call", call);
        match answer["_meta"]["missiond/error"]["code"].as_str() {
            Some("forbidden") => true,
            Some("invalid_params") => false,
            _ => panic!("{operation}: {answer}"),
        }
    });
}

/// What is its own it names, so that naming nothing is refused too.
#[test]
fn the_agent_of_a_slot_may_what_the_page_says() {
    let home = TestHome::started();
    let params = json!({
        "argv": ["sh", "-c", script()], "name": "inside", "cwd": home.path(),
        "env": { "MISSION_HOME": home.path() },
    });
    home.call("slot_spawn", &params);
    let said = said(&home);
    compare("the agent of a slot", 3, &|operation| said[operation]);
}

/// What an MCP server does is no person's doing, nor that of an agent.
#[test]
fn what_the_daemon_starts_may_only_look() {
    let home = TestHome::started();
    let folder = home.path().display().to_string();
    let script = format!(
        "cd '{folder}'; export MISSION_HOME='{folder}'; {}; sleep 60",
        script()
    );
    let server = json!({ "name": "nosy", "command": "sh", "args": ["-c", script] });
    home.call("mcp_server_add", &server);
    let _ = home.mission(&["mcp", "health", "nosy", "--restart"]);
    let said = said(&home);
    compare("a tool server", 4, &|operation| said[operation]);
}
