//! The full graph once with a real agent CLI: Claude Code against a scripted
//! model on this machine, through claims, worktrees, checks and merges.

use std::path::Path;
use std::time::{Duration, Instant};

use missiond_model_server::{ModelServer, Reply};
use serde_json::{Value, json};

use super::Field;
use crate::contract::{Clis, KEY, NOWHERE, platform};
use crate::harness::TestHome;

/// What the model has the agent do for one task.
fn script(model: &ModelServer, file: &str) {
    let command = format!("echo {file} > {file}.txt");
    let arguments = json!({"command": command, "description": "Write the file"});
    model.reply(Reply::new().call("Bash", arguments));
    let claim = "mcp__mission-execution__completed_claim";
    model.reply(Reply::new().call(claim, json!({"summary": "The file is written."})));
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

/// The program of the pinned Claude Code, in a folder of its own.
fn claude(clis: &Clis, folder: &Path) -> String {
    let program = clis.file(&format!("@anthropic-ai/claude-code-{}/claude", platform()));
    std::fs::create_dir(folder).unwrap();
    std::os::unix::fs::symlink(program, folder.join("claude")).unwrap();
    let path = std::env::var("PATH").unwrap();
    format!("{}:{path}", folder.display())
}

/// `mission demo --engine claude`: the same five tasks, with the real CLI. Two
/// agents work at once, so each is answered by what its task says.
#[test]
fn the_demo_runs_with_claude_code() {
    let Some(clis) = Clis::installed() else {
        return;
    };
    let home = TestHome::new();
    let model = ModelServer::start().unwrap();
    let person = home.path().join("person");
    furnish(&person, &model);
    let path = claude(&clis, &home.path().join("programs"));
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
        let signal = |tool: &str, arguments: Value| {
            let tool = format!("mcp__mission-execution__{tool}");
            model.reply_about(&about, Reply::new().call(&tool, arguments));
        };
        if name == "shout" {
            let choices = json!([
                {"label": "one exclamation mark", "value": "one"},
                {"label": "three exclamation marks", "value": "three"},
            ]);
            signal(
                "needs_input",
                json!({"question": "How loud?", "choices": choices}),
            );
            model.reply_about(&about, Reply::new().text("I wait for the answer."));
        }
        let command = format!("cat > lib/{name}.sh <<'END'\n{body}\nEND");
        let arguments = json!({"command": command, "description": "Write the command"});
        model.reply_about(&about, Reply::new().call("Bash", arguments));
        let test = json!({"command": format!("sh tests/run.sh {name}"), "description": "Test it"});
        model.reply_about(&about, Reply::new().call("Bash", test));
        signal(
            "completed_claim",
            json!({"summary": format!("greet {name} works")}),
        );
        model.reply_about(&about, Reply::new().text("It is done."));
    }
    let demo = home
        .command(&["demo", "--json", "--engine", "claude"])
        .env("HOME", &person)
        .env("PATH", path)
        .env("ANTHROPIC_API_KEY", KEY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&demo.stderr);
    assert!(demo.status.success(), "{said}\n{:?}", demo.stdout);
    let report: Value = serde_json::from_slice(&demo.stdout).unwrap();
    assert_eq!(report["verified"], true, "{report:#}");
    assert_eq!(report["questions_answered"], 1, "{report:#}");
    for task in report["tasks"].as_array().unwrap() {
        assert_eq!(task["status"], "done", "{task}");
    }
}

#[test]
fn claude_code_works_off_a_graph_of_tasks() {
    let Some(clis) = Clis::installed() else {
        return;
    };
    // One at a time, because the model's replies are one queue.
    let config = "[autopilot]\nengine = \"claude\"\nmax_agents = 1\nsettle_ms = 500\n";
    let field = Field::quiet(TestHome::with_config(config));
    let model = ModelServer::start().unwrap();
    let person = field.file("person");
    furnish(&person, &model);
    let path = claude(&clis, &field.file("programs"));
    let started = field
        .home
        .command(&["daemon", "start"])
        .env("HOME", &person)
        .env("PATH", path)
        .env("ANTHROPIC_API_KEY", KEY)
        .output()
        .unwrap();
    assert!(started.status.success(), "{started:?}");

    let add = |name: &str, after: &[&str]| {
        script(&model, name);
        let check = format!("grep -q {name} {name}.txt");
        let params = json!({
            "task": {
                "title": format!("Write {name}"),
                "description": format!("Write {name} into {name}.txt."),
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
    let right = add("right", &[&top]);
    let below = add("below", &[&left]);
    let end = add("end", &[&right, &below]);
    field.resume();
    for task in [&top, &left, &right, &below, &end] {
        let last = finished(&field, task);
        assert_eq!(last["task"]["status"], "done", "{last:#}");
        assert_eq!(last["attempts"][0]["outcome"], "verified");
    }
    for file in ["top", "left", "right", "below", "end"] {
        assert_eq!(field.on_main(&format!("{file}.txt")), file);
    }
    let used = field.home.json(&["autopilot", "status"])["tokens_today"].clone();
    assert!(
        used.as_u64() > Some(0),
        "the transcript told what it cost: {used}"
    );
    field.wait_for_quiet();
}
