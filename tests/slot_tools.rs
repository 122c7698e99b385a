//! Other people's tools in the hands of agents that missiond runs: each agent has
//! those its slot allows, and what it reaches for beyond them is seen.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{TestHome, error_code, wait_for};
use crate::toolhub_hostile::list_tricks;

const CONFIG: &str = r#"
[mcp]
agents = ["modern__echo"]

[[slots]]
name = "keen"
engine = "rehearsal"
tools = ["plain__echo"]

[[slots]]
name = "bare"
engine = "rehearsal"
tools = []
"#;

/// Calls what it may and what it may not, then stays at its prompt.
const SCRIPT: &str = r"
rehearsal: 1
startup: 0
turns:
  - steps:
      - call: {tool: plain__echo, arguments: {text: hello}}
      - call: {tool: modern__echo, arguments: {text: hello}}
";

fn start(home: &TestHome, slot: &str) -> String {
    let script = home.path().join("calls.yaml");
    std::fs::write(&script, SCRIPT).unwrap();
    let params = json!({
        "engine": "rehearsal", "cwd": home.path(), "signals": "mcp", "name": slot,
        "prompt": "go", "args": [script, "--speed", "50"],
    });
    let started = home.json(&["call", "execution_start", &params.to_string()]);
    started["execution"].as_str().unwrap().to_owned()
}

/// What the agent's program is given, asked by hand.
fn ask(home: &TestHome, execution: &str, method: &str, params: &Value) -> Value {
    let launches = home.home().run_dir().join("launches");
    let access = launches.join(execution).join("access.json");
    let mut bridge = home
        .command(&["execution", "mcp", access.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut input = bridge.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, format!("{request}\n").as_bytes()).unwrap();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(bridge.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    drop(input);
    bridge.wait().unwrap();
    serde_json::from_str(&line).unwrap()
}

fn others(home: &TestHome, execution: &str) -> Vec<String> {
    let listed = ask(home, execution, "tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.filter(|name| name.contains("__")).collect()
}

fn events_of_kind(home: &TestHome, kind: &str) -> Vec<Value> {
    let events = home
        .events()
        .into_iter()
        .map(|event| event["event"].clone());
    events.filter(|event| event["type"] == kind).collect()
}

#[test]
fn an_agent_has_the_tools_of_its_slot_and_no_others() {
    let home = TestHome::with_config(CONFIG);
    list_tricks(&home, &[("plain", ""), ("modern", "")]);
    home.start();
    let keen = start(&home, "keen");
    let screen = || {
        let read = home.json(&["slot", "read", "keen"]);
        let lines = read["lines"].as_array().unwrap();
        let lines: Vec<_> = lines.iter().map(|line| line.as_str().unwrap()).collect();
        lines.join("\n")
    };
    // The one it was given answers; of the other it was not even told.
    wait_for("the answer of the tool", || screen().contains("hello of "));
    wait_for("the end of the turn", || screen().contains("modern__echo"));
    wait_for("the call on the timeline", || {
        events_of_kind(&home, "mcp_tool_called").len() == 1
    });
    let called = &events_of_kind(&home, "mcp_tool_called")[0];
    assert_eq!([&called["server"], &called["tool"]], ["plain", "echo"]);
    assert_eq!(others(&home, &keen), ["plain__echo"]);

    // Whoever calls it all the same is refused, and a person can see that.
    for tool in ["modern__echo", "plain__slow", "nobody__knows"] {
        let params = json!({"name": tool, "arguments": {"text": "x"}});
        let answer = ask(&home, &keen, "tools/call", &params);
        assert_eq!(error_code(&answer), "forbidden", "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("`tools` of its slot"), "{message}");
        let refused = events_of_kind(&home, "execution_access_refused");
        let last = refused.last().unwrap();
        assert_eq!(last["execution"], json!(keen));
        assert!(last["reason"].as_str().unwrap().contains(tool), "{last}");
    }
    assert_eq!(
        events_of_kind(&home, "mcp_tool_called").len(),
        1,
        "nothing was called"
    );

    // A slot with an empty list has none; one without a list what all agents have.
    let bare = start(&home, "bare");
    assert_eq!(others(&home, &bare), Vec::<String>::new());
    let other = start(&home, "other");
    assert_eq!(others(&home, &other), ["modern__echo"]);
}
