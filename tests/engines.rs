//! `mission engine`: which agents there are, how they are driven, and one of one's own.

use serde_json::{Value, json};

use crate::harness::{TestHome, binary, text, wait_for};

const SCRIPT: &str = r#"
rehearsal: 1
turns:
  - when: {contains: hello}
    steps:
      - say: Hello from an agent that was added.
"#;

fn named<'v>(list: &'v Value, engine: &str) -> &'v Value {
    let engines = list["engines"].as_array().unwrap();
    let found = engines.iter().find(|one| one["engine"] == engine);
    found.unwrap_or_else(|| panic!("no {engine} in {list}"))
}

#[test]
fn engines_are_listed_with_how_they_are_driven_and_why() {
    let home = TestHome::with_config("[engines]\nterminal = [\"opencode\"]\n");
    let list = || {
        let list = home
            .command(&["--json", "engine", "list"])
            .env("PATH", "/nowhere")
            .output()
            .unwrap();
        serde_json::from_slice::<Value>(&list.stdout).unwrap()
    };
    let list = list();
    let aider = named(&list, "aider");
    assert_eq!(aider["driven"], "terminal");
    assert_eq!(aider["why"], "it has no protocol that missiond speaks");
    assert_eq!(
        named(&list, "opencode")["why"],
        "`engines.terminal` says so"
    );
    let shown = home.json(&["engine", "show", "codex"]);
    assert_eq!(shown["protocol"]["by"], "codex app-server");
    let (_, said) = home.failure(&["engine", "show", "nobody"]);
    assert!(said.contains("there is no engine `nobody`"), "{said}");
}

#[test]
fn an_agent_that_speaks_the_protocol_is_added_and_run() {
    let home = TestHome::started();
    let work = tempfile::tempdir().unwrap();
    let script = work.path().join("script.yaml");
    std::fs::write(&script, SCRIPT).unwrap();
    let (program, script) = (binary(), script.display().to_string());
    let program = program.to_str().unwrap();
    let mut add = vec!["engine", "add", "mine", "--command", program, "--"];
    add.extend(["rehearse", &script, "--speed", "100", "--acp"]);
    assert_eq!(home.json(&add)["name"], "mine");
    let list = home.json(&["engine", "list"]);
    assert_eq!(named(&list, "mine")["driven"], "structured");
    let known = home.call("engine_list", &json!({}));
    let why = "by `".to_owned() + program + "`: it was added as an agent that speaks ACP";
    let control = json!({"by": "structured", "why": why, "offered": ["structured"]});
    assert_eq!(named(&known, "mine")["control"], control);
    let offered = |engine: &str| named(&known, engine)["control"]["offered"].clone();
    assert_eq!(offered("aider"), json!(["terminal"]));
    assert_eq!(offered("codex"), json!(["structured", "terminal"]));

    let folder = work.path().display().to_string();
    let run = ["run", "say hello", "--engine", "mine", "--cwd", &folder];
    let run = [&run[..], &["--name", "agent"]].concat();
    home.json(&run);
    wait_for("its words", || {
        let screen = home.json(&["slot", "read", "agent"]).to_string();
        screen.contains("Hello from an agent that was added.")
    });
    let shown = text(&home.mission(&["execution", "show", "agent"]).stdout);
    assert!(
        shown.contains(&format!("driven by     its protocol: {why}")),
        "{shown}"
    );
    home.json(&["execution", "cancel", "agent"]);
    let ended = || home.json(&["execution", "show", "agent"]);
    wait_for("its end", || ended()["ended_at"] != Value::Null);
    // What it was started with is gone, what it said is not.
    wait_for("its slot to close", || {
        ended()["control"] == json!({"by": "structured"})
    });
    let terminal = [&run[..6], &["--control", "terminal"]].concat();
    let (_, said) = home.failure(&terminal);
    assert!(said.contains("an agent without a terminal"), "{said}");
}

#[test]
fn an_entry_of_the_registry_is_added_from_standard_input() {
    let home = TestHome::new();
    let entry = json!({
        "id": "mytool", "name": "My tool", "version": "1.0.0", "description": "It helps.",
        "distribution": {"npx": {"package": "mytool@1.0.0", "args": ["--acp"]}},
    });
    let mut command = home.command(&["--json", "engine", "add", "--from", "-"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, entry.to_string().as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = home.json(&["engine", "show", "mytool"]);
    assert_eq!(
        shown["added"],
        json!({"name": "mytool", "command": "npx", "args": ["--yes", "mytool@1.0.0", "--acp"]})
    );
    let known = ["engine", "add", "claude", "--command", "x"];
    let (_, said) = home.failure(&known);
    assert!(said.contains("is known already"), "{said}");
}
