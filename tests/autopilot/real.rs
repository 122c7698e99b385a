//! The full graph and the demo with real agent CLIs, by their terminals and by their
//! protocols, against a scripted model on this machine: through claims, worktrees, checks
//! and merges.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use missiond_api::Home;
use missiond_core::Controller;
use missiond_model_server::{ModelServer, Reply};
use missiond_pty::host::Recording;
use serde_json::{Value, json};

use super::Field;
use crate::contract::{Clis, KEY, NOWHERE, platform};
use crate::harness::{TestHome, text};

/// What the model has the agent do for one task.
fn script(model: &ModelServer, hand: &Hand, file: &str) {
    model.reply((hand.run)(format!("echo {file} > {file}.txt")));
    let claim = json!({"summary": "The file is written."});
    model.reply((hand.signal)("completed_claim", claim));
    model.reply(Reply::new().text("It is done."));
}

/// What Claude Code finds in the person's home.
fn furnish(home: &Path, model: &ModelServer) {
    let config = json!({
        "hasCompletedOnboarding": true, "lastOnboardingVersion": "9.9.9", "theme": "dark",
        "numStartups": 5, "autoUpdates": false,
        "officialMarketplaceAutoInstallAttempted": true,
        "customApiKeyResponses": {"approved": [KEY], "rejected": []},
    });
    let settings = json!({
        "env": {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": model.url(),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "HTTPS_PROXY": NOWHERE,
            "NO_PROXY": "127.0.0.1,localhost",
        },
        "permissions": {"allow": ["Bash", "mcp__mission-execution"]},
    });
    std::fs::create_dir_all(home.join(".claude")).unwrap();
    std::fs::write(home.join(".claude.json"), config.to_string()).unwrap();
    std::fs::write(home.join(".claude/settings.json"), settings.to_string()).unwrap();
}

/// Claude Code takes its time to start on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(300);

fn finished(field: &Field, task: &str) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let details = field.show(task);
        let status = details["task"]["status"].as_str().unwrap().to_owned();
        if !["open", "running"].contains(&status.as_str()) {
            return details;
        }
        assert!(Instant::now() < deadline, "{details:#}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The programs of the pinned CLIs, under the names that the engines look for, in a
/// folder of their own before all others.
fn programs(clis: &Clis, folder: &Path, named: &[(&str, &str)]) -> String {
    std::fs::create_dir(folder).unwrap();
    for (name, file) in named {
        std::os::unix::fs::symlink(clis.file(file), folder.join(name)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", folder.display())
}

/// The program of the pinned Claude Code.
fn claude() -> String {
    format!("@anthropic-ai/claude-code-{}/claude", platform())
}

/// What Claude Code is spoken to by.
const CLAUDE_ADAPTER: &str = "@agentclientprotocol/claude-agent-acp/dist/index.js";

/// How the model of an engine has it run a command, and tell us something.
struct Hand {
    run: fn(String) -> Reply,
    signal: fn(&str, Value) -> Reply,
}

const CLAUDE: Hand = Hand {
    run: |command| Reply::new().call("Bash", json!({"command": command, "description": "Work"})),
    signal: |tool, arguments| {
        let tool = format!("mcp__mission-execution__{tool}");
        Reply::new().call(&tool, arguments)
    },
};

const CODEX: Hand = Hand {
    run: |command| {
        let arguments = json!({"cmd": command, "yield_time_ms": 15_000});
        Reply::new().call("exec_command", arguments)
    },
    signal: |tool, arguments| Reply::new().call_in("mcp__mission_execution", tool, arguments),
};

/// What the model says to each task of the demo. Two agents work at once, so each is
/// answered by what its task says.
fn script_demo(model: &ModelServer, hand: &Hand) {
    let shout = r#"echo "HELLO, $(echo "${1:-World}" | tr a-z A-Z)!!!""#;
    let help = r#"echo $(cd "$here/lib" && ls *.sh | sed 's/.sh$//')"#;
    for (name, body) in [
        ("version", "echo 'greet 1.0'"),
        ("bye", r#"echo "Goodbye, ${1:-World}!""#),
        ("hola", r#"echo "Hola, ${1:-World}!""#),
        ("shout", shout),
        ("help", help),
    ] {
        let about = format!("Add lib/{name}.sh, so that");
        let says = |reply| model.reply_about(&about, reply);
        if name == "shout" {
            let choices = json!([
                {"label": "one exclamation mark", "value": "one"},
                {"label": "three exclamation marks", "value": "three"},
            ]);
            let asked = json!({"question": "How loud?", "choices": choices});
            says((hand.signal)("needs_input", asked));
            says(Reply::new().text("I wait for the answer."));
        }
        says((hand.run)(format!(
            "cat > lib/{name}.sh <<'END'\n{body}\nEND"
        )));
        says((hand.run)(format!("sh tests/run.sh {name}")));
        let claim = json!({"summary": format!("greet {name} works")});
        says((hand.signal)("completed_claim", claim));
        says(Reply::new().text("It is done."));
    }
}

/// Plays the demo, of which every task must be done by the engine's protocol.
fn demo_is_done(home: &TestHome, mut demo: Command) {
    let demo = demo.output().unwrap();
    let said = String::from_utf8_lossy(&demo.stderr);
    assert!(demo.status.success(), "{said}\n{}", text(&demo.stdout));
    let report: Value = serde_json::from_slice(&demo.stdout).unwrap();
    assert_eq!(report["verified"], true, "{report:#}");
    assert_eq!(report["questions_answered"], 1, "{report:#}");
    for task in report["tasks"].as_array().unwrap() {
        assert_eq!(task["status"], "done", "{task}");
    }
    let inside = Home::under(&home.home().data_dir().join("demos/1/home"));
    let recordings = std::fs::read_dir(inside.recordings_dir()).unwrap();
    let recordings = recordings.map(|entry| entry.unwrap().path());
    let casts = recordings.filter(|path| path.extension().is_some_and(|kind| kind == "cast"));
    let of_protocol = casts.map(|path| Recording::open(&path).unwrap().handover().is_some());
    let by: Vec<_> = of_protocol.collect();
    assert!(by.len() >= 5, "{by:?}");
    assert!(by.iter().all(|by| *by), "{by:?}");
}

/// `mission demo --engine claude`: the same five tasks, with the real CLI.
#[test]
fn the_demo_runs_with_claude_code_by_its_protocol() {
    let Some(clis) = Clis::installed() else {
        return;
    };
    let home = TestHome::new();
    let model = ModelServer::start().unwrap();
    let person = home.path().join("person");
    furnish(&person, &model);
    let claude = claude();
    let named = [
        ("claude", claude.as_str()),
        ("claude-agent-acp", CLAUDE_ADAPTER),
    ];
    let path = programs(&clis, &home.path().join("programs"), &named);
    script_demo(&model, &CLAUDE);
    let mut demo = home.command(&["demo", "--json", "--engine", "claude"]);
    demo.args(["--control", "structured"])
        .env("HOME", &person)
        .env("PATH", path)
        .env("ANTHROPIC_API_KEY", KEY);
    demo_is_done(&home, demo);
}

/// What Codex finds in the person's home.
fn furnish_codex(home: &Path, model: &ModelServer) {
    let config = format!(
        "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n[analytics]\nenabled = false\n\
         [model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"{}/v1\"\n\
         wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
        model.url()
    );
    std::fs::create_dir_all(home.join(".codex")).unwrap();
    std::fs::write(home.join(".codex/config.toml"), config).unwrap();
}

/// The program of the pinned Codex.
const CODEX_PROGRAM: &str = "@openai/codex/bin/codex.js";

#[test]
fn the_demo_runs_with_codex_by_its_app_server() {
    let Some(clis) = Clis::installed() else {
        return;
    };
    let home = TestHome::new();
    let model = ModelServer::start().unwrap();
    let person = home.path().join("person");
    furnish_codex(&person, &model);
    let named = [("codex", CODEX_PROGRAM)];
    let path = programs(&clis, &home.path().join("programs"), &named);
    script_demo(&model, &CODEX);
    let mut demo = home.command(&["demo", "--json", "--engine", "codex"]);
    demo.args(["--control", "structured"])
        .env("HOME", &person)
        .env("PATH", path);
    demo_is_done(&home, demo);
}

#[test]
fn claude_code_works_off_a_graph_of_tasks() {
    claude_code_works_off_a_graph(Controller::Terminal);
}

#[test]
fn claude_code_works_off_a_graph_of_tasks_by_its_protocol() {
    claude_code_works_off_a_graph(Controller::Structured);
}

#[test]
fn codex_works_off_a_graph_of_tasks_by_its_app_server() {
    let Some(clis) = Clis::installed() else {
        return;
    };
    let (field, model) = graph_field("codex");
    let person = field.file("person");
    furnish_codex(&person, &model);
    let named = [("codex", CODEX_PROGRAM)];
    let path = programs(&clis, &field.file("programs"), &named);
    let mut start = field.home.command(&["daemon", "start"]);
    start.env("HOME", &person).env("PATH", path);
    graph_is_worked_off(&field, &model, start, &CODEX, Controller::Structured);
}

fn claude_code_works_off_a_graph(control: Controller) {
    let Some(clis) = Clis::installed() else {
        return;
    };
    let (field, model) = graph_field("claude");
    let person = field.file("person");
    furnish(&person, &model);
    let claude = claude();
    let named = [
        ("claude", claude.as_str()),
        ("claude-agent-acp", CLAUDE_ADAPTER),
    ];
    let path = programs(&clis, &field.file("programs"), &named);
    let mut start = field.home.command(&["daemon", "start"]);
    start
        .env("HOME", &person)
        .env("PATH", path)
        .env("ANTHROPIC_API_KEY", KEY);
    graph_is_worked_off(&field, &model, start, &CLAUDE, control);
}

/// One agent at a time, because the model's replies are one queue.
fn graph_field(engine: &str) -> (Field, ModelServer) {
    let config = format!("[autopilot]\nengine = \"{engine}\"\nmax_agents = 1\nsettle_ms = 500\n");
    let field = Field::quiet(TestHome::with_config(&config));
    (field, ModelServer::start().unwrap())
}

fn graph_is_worked_off(
    field: &Field,
    model: &ModelServer,
    mut start: Command,
    hand: &Hand,
    control: Controller,
) {
    let started = start.output().unwrap();
    assert!(started.status.success(), "{started:?}");

    let add = |name: &str, after: &[&str]| {
        script(model, hand, name);
        let check = format!("grep -q {name} {name}.txt");
        let params = json!({
            "task": {
                "title": format!("Write {name}"),
                "description": format!("Write {name} into {name}.txt."),
                "control": control,
                "permission": "accept-edits",
                "repository": field.repository(),
                "checks": [{"run": ["sh", "-c", check]}],
            },
            "depends_on": after,
        });
        let added = field.home.json(&["call", "board_add", &params.to_string()]);
        added["task"]["number"].as_str().unwrap().to_owned()
    };
    let top = add("top", &[]);
    let left = add("left", &[&top]);
    let end = add("end", &[&top, &left]);
    field.resume();
    for task in [&top, &left, &end] {
        let last = finished(field, task);
        assert_eq!(last["task"]["status"], "done", "{last:#}");
        assert_eq!(last["attempts"][0]["outcome"], "verified");
    }
    for file in ["top", "left", "end"] {
        assert_eq!(field.on_main(&format!("{file}.txt")), file);
    }
    let used = field.home.json(&["autopilot", "status"])["tokens_today"].clone();
    assert!(
        used.as_u64() > Some(0),
        "the transcript told what it cost: {used}"
    );
    field.wait_for_quiet();
}
