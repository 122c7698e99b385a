//! Claude Code.

use std::path::Path;

use missiond_model_server::{Api, Reply};
use serde_json::{Value, json};

use super::binding::Names;
use super::both_ways::{BothWays, Difference, UsageByProtocol};
use super::trouble::{Told, Trouble};
use super::{Agent, Cli, Clis, Control, KEY, MADE, NOWHERE, Refusal, Resumes, Room, platform};
use crate::acp::Editor;

#[test]
fn claude_code_keeps_the_contract() {
    if let Some((room, cli)) = prepared() {
        cli.converse(&room);
    }
}

#[test]
fn claude_code_keeps_the_contract_by_its_protocol() {
    if let Some((room, cli)) = structured() {
        cli.converse(&room);
    }
}

#[test]
fn claude_code_keeps_the_contract_behind_a_wall() {
    if let Some((room, cli)) = set_up(Room::walled) {
        cli.converse(&room);
    }
}

#[test]
fn claude_code_keeps_the_contract_behind_a_wall_by_its_protocol() {
    if let Some((room, cli)) = set_up(Room::walled).map(by_protocol) {
        cli.converse(&room);
    }
}

#[test]
fn claude_code_tells_the_same_both_ways() {
    let both = BothWays {
        transcript: [TRANSCRIPT, RESUMED],
        hooks: [HOOKS, RESUMED_HOOKS],
        protocol: [PROTOCOL, PROTOCOL_RESUMED],
        tools: &[],
        usage: UsageByProtocol::EveryRequest,
        differences: &[
            Difference {
                turn: "write another",
                by_terminal: &["usage 100 in, 20 out"],
                by_protocol: &["agent: It was not written.", "usage 200 in, 40 out"],
                reason: "a refused tool ends the turn in its terminal; by its protocol the model \
                         hears of it and answers",
            },
            Difference {
                turn: "count to a million",
                by_terminal: &["usage 100 in, 1 out"],
                by_protocol: &[],
                reason: "its protocol counts with the end of a turn, and a cancelled one has no \
                         count",
            },
        ],
    };
    both.are_the_same();
}

#[test]
fn claude_code_withstands_what_goes_wrong() {
    if let Some((room, cli)) = structured() {
        cli.withstands(&room, &TROUBLE);
    }
}

#[test]
fn claude_code_withstands_what_goes_wrong_by_its_terminal() {
    if let Some((room, cli)) = prepared() {
        cli.withstands(&room, &TROUBLE);
    }
}

#[test]
fn claude_code_goes_over_into_its_terminal_and_back() {
    if let Some((room, cli)) = structured() {
        cli.goes_over_into_its_terminal_and_back(&room);
    }
}

#[test]
fn claude_code_is_shown_files() {
    if let Some((room, cli)) = structured() {
        cli.is_shown_files(&room);
    }
}

#[test]
fn claude_code_is_read_as_it_is() {
    if let Some((room, cli)) = structured() {
        cli.is_read_as_it_is(&room);
    }
}

#[test]
fn claude_code_is_bound_by_rules() {
    if let Some((room, cli)) = unasked(prepared()) {
        cli.is_bound_by_rules(&room, &NAMES);
    }
}

#[test]
fn claude_code_is_bound_by_rules_also_by_its_protocol() {
    if let Some((room, cli)) = unasked(structured()) {
        cli.is_bound_by_rules(&room, &NAMES);
    }
}

#[test]
fn claude_code_asks_what_a_rule_asks_and_a_rule_answers_what_its_hook_announced() {
    let Some((room, cli)) = unasked(prepared()) else {
        return;
    };
    let add = ["permission", "add", "deny", "--tool", "NoSuchTool"];
    room.home.json(&add);
    let ask = [
        "permission",
        "add",
        "ask",
        "--tool",
        "Bash",
        "--argument",
        "touch asked*",
    ];
    room.home.json(&ask);
    room.model.reply(Reply::new().text("It is quiet here."));
    let agent = Agent::start(&cli, &room, "begin", &["--permission", "bypass"]);
    agent.wait_for_rest("It is quiet here.");
    agent.asks_by_rule(&NAMES);
}

const NAMES: Names = Names {
    read: |reply, path| reply.call("Read", json!({"file_path": path})),
    run: |reply, command| reply.call("Bash", json!({"command": command})),
};

/// It does not take the mode that asks nothing from root, but in what says it is a wall.
fn unasked(prepared: Option<(Room, Cli)>) -> Option<(Room, Cli)> {
    let (room, mut cli) = prepared?;
    let accepted = json!({"skipDangerousModePermissionPrompt": true});
    room.write("home/.claude/settings.json", &accepted.to_string());
    cli.environment.push(("IS_SANDBOX", "1".to_owned()));
    Some((room, cli))
}

#[test]
fn claude_code_is_told_what_it_does_not_read() {
    if let Some((room, cli)) = prepared() {
        cli.is_told(&room, "CLAUDE.md", "AGENTS.md");
    }
}

#[test]
fn a_daemon_that_takes_over_answers_what_the_launch_has_answered() {
    let Some((room, cli)) = prepared() else {
        return;
    };
    room.model.reply(Reply::new().text("It is a short one."));
    let agent = Agent::start(&cli, &room, "what is the answer", &[]);
    // Claude Code has not asked yet whether it may trust the folder.
    room.home.kill();
    room.home.start();
    agent.wait_for_rest("It is a short one.");
    let asked = room.home.json(&["inbox", "--all"]);
    assert_eq!(asked["questions"], json!([]), "nobody was bothered");
}

#[test]
fn claude_code_is_driven_by_an_editor() {
    let Some((room, cli)) = prepared() else {
        return;
    };
    let environment = room.environment().into_iter().chain(cli.environment);
    let variables: Vec<_> = environment
        .map(|(name, value)| format!("--env={name}={value}"))
        .collect();
    let mut args = vec!["--engine", "claude", "--trust", "--no-context"];
    args.extend(variables.iter().map(String::as_str));
    let mut editor = Editor::spawned(&room.home, &args);
    editor.greet(&json!({}));
    let session = editor.open_in(&room.path("work"));
    let made = room.path("work").join("made.txt");
    let write = json!({ "file_path": made, "content": MADE });
    room.model
        .reply(Reply::new().text("I write it.").call("Write", write));
    room.model.reply(Reply::new().text("It was written."));
    let prompt = editor.prompt(&session, "write the file");
    let asked = editor.asked("session/request_permission");
    assert!(asked.to_string().contains("made.txt"), "{asked}");
    editor.choose(&asked, "allow_once");
    assert_eq!(editor.stop(prompt), "end_turn");
    assert_eq!(std::fs::read_to_string(made).unwrap(), MADE);
    // Hooks and transcript both tell of the call: the editor hears of one.
    let calls: Vec<_> = editor
        .updates
        .iter()
        .filter(|update| update["sessionUpdate"] == "tool_call")
        .collect();
    assert_eq!(calls.len(), 1, "{:#?}", editor.updates);
    assert_eq!(calls[0]["name"], "Write");
    let id = &calls[0]["toolCallId"];
    let of_call = editor.updates.iter().filter(|one| one["toolCallId"] == *id);
    let last = of_call.filter_map(|one| one["status"].as_str()).next_back();
    assert_eq!(last, Some("completed"), "{:#?}", editor.updates);
    let title = format!("Write: {}", room.path("work/made.txt").display());
    let titled = |one: &Value| one["toolCallId"] == *id && one["title"] == title;
    assert!(editor.updates.iter().any(titled), "{:#?}", editor.updates);
    let said: Vec<_> = editor.said().into_iter().map(|(_, words)| words).collect();
    assert_eq!(said, ["I write it.", "It was written."]);
}

/// A room with Claude Code in it, past its first start.
pub(super) fn prepared() -> Option<(Room, Cli)> {
    set_up(Room::new)
}

fn set_up(make: impl Fn(&str, &Path) -> Room) -> Option<(Room, Cli)> {
    let clis = Clis::installed()?;
    let program = clis.file(&format!("@anthropic-ai/claude-code-{}/claude", platform()));
    let room = make("claude", &program);
    let config = json!({
        "hasCompletedOnboarding": true, "lastOnboardingVersion": "9.9.9", "theme": "dark",
        "numStartups": 5, "autoUpdates": false,
        "officialMarketplaceAutoInstallAttempted": true,
        "customApiKeyResponses": {"approved": [KEY], "rejected": []},
    });
    room.write("home/.claude/.claude.json", &config.to_string());
    let cli = Cli {
        engine: "claude",
        control: Control::Terminal,
        api: Api::Anthropic,
        args: Vec::new(),
        environment: vec![
            (
                "CLAUDE_CONFIG_DIR",
                room.path("home/.claude").display().to_string(),
            ),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("ANTHROPIC_BASE_URL", room.model.url()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            ("DISABLE_TELEMETRY", "1".to_owned()),
            ("CLAUDE_CODE_MAX_RETRIES", "0".to_owned()),
            ("HTTPS_PROXY", NOWHERE.to_owned()),
        ],
        write: |reply, room, name| {
            let file = room.path("work").join(name);
            reply.call("Write", json!({"file_path": file, "content": MADE}))
        },
        signal: |reply, tool, arguments| {
            reply.call(&format!("mcp__mission-execution__{tool}"), arguments)
        },
        drawn: |reply| reply,
        allow: "Yes",
        deny: "No",
        farewell: "/exit",
        answered: "",
        refusal: Refusal::EndsTurn,
        exit: "exited 0",
        calls: (4, 1),
        resumes: Resumes::AtOnce,
        hooks: [HOOKS, RESUMED_HOOKS],
        transcript: [TRANSCRIPT, RESUMED],
    };
    Some((room, cli))
}

/// The same, driven by its protocol.
fn structured() -> Option<(Room, Cli)> {
    prepared().map(by_protocol)
}

fn by_protocol((room, cli): (Room, Cli)) -> (Room, Cli) {
    let clis = Clis::installed().expect("as before");
    let adapter = "@agentclientprotocol/claude-agent-acp/dist/index.js";
    room.install("claude-agent-acp", &clis.file(adapter));
    let structured = Cli {
        control: Control::Structured,
        allow: "Yes",
        deny: "No",
        answered: "allow",
        refusal: Refusal::GoesOn,
        hooks: ["", ""],
        transcript: [PROTOCOL, PROTOCOL_RESUMED],
        ..cli
    };
    (room, structured)
}

const TROUBLE: Trouble = Trouble {
    edit: |reply, room| {
        let file = room.path("work/notes.txt");
        let edit =
            json!({"file_path": file, "old_string": "some notes", "new_string": "other notes"});
        reply
            .call("Read", json!({ "file_path": file }))
            .call("Edit", edit)
    },
    error: Told::AsError("scripted failure 400"),
    limit: Told::AsError("scripted failure 429"),
};

const HOOKS: &str = r#"
    turn began
    turn ended
    turn began
    mcp__mission-execution__progress began
    mcp__mission-execution__progress ended
    turn ended
    turn began
    mcp__mission-execution__needs_input began
    mcp__mission-execution__needs_input ended
    turn ended
    turn began
    turn ended
    turn began
    Write began
    Write ended
    turn ended
    turn began
    Write began
    turn began
    turn ended
    turn began
    turn began
    mcp__mission-execution__completed_claim began
    mcp__mission-execution__completed_claim ended
    turn ended
"#;

const RESUMED_HOOKS: &str = r#"
    turn began
    turn ended
"#;

const TRANSCRIPT: &str = r#"
    operator: what is the answer
    agent: The answer has two lines. / This is the first one of them.
    usage 100 in, 20 out
    agent: The second says forty-two.
    turn ended
    operator: report how far you are
    mcp__mission-execution__progress began
    usage 100 in, 20 out
    mcp__mission-execution__progress ended succeeded
    agent: It is reported.
    usage 100 in, 20 out
    turn ended
    operator: ask me for the port
    mcp__mission-execution__needs_input began
    usage 100 in, 20 out
    mcp__mission-execution__needs_input ended succeeded
    agent: The port was asked for.
    usage 100 in, 20 out
    turn ended
    operator: 8080
    agent: Port 8080 it is.
    usage 100 in, 20 out
    turn ended
    operator: write the file
    Write began
    usage 100 in, 20 out
    Write ended succeeded
    agent: It was written.
    usage 100 in, 20 out
    turn ended
    operator: write another
    Write began
    usage 100 in, 20 out
    Write ended denied
    turn ended
    turn ended
    operator: take your time
    agent: One thing first. / Then there is another.
    usage 100 in, 20 out
    agent: And that was all.
    turn ended
    operator: count to a million
    agent: One, two, three. / Four, five, six.
    usage 100 in, 1 out
    turn ended
    operator: say that it is done
    mcp__mission-execution__completed_claim began
    usage 100 in, 20 out
    mcp__mission-execution__completed_claim ended succeeded
    agent: It is claimed.
    usage 100 in, 20 out
    turn ended
"#;

const RESUMED: &str = r#"
    operator: which port was it
    agent: It was eighty-eighty.
    usage 100 in, 20 out
    turn ended
"#;

/// The same as in its transcript, but for what both cannot say: where turns begin, that
/// somebody is asked (also about our own tools, which are allowed at once), and what is
/// used, by the turn instead of by the request.
const PROTOCOL: &str = r#"
    session
    operator: what is the answer
    turn began
    agent: The answer has two lines. / This is the first one of them. / The second says forty-two.
    usage 100 in, 20 out
    turn ended
    operator: report how far you are
    turn began
    mcp__mission-execution__progress began
    dialog began
    dialog ended
    mcp__mission-execution__progress ended succeeded
    agent: It is reported.
    usage 200 in, 40 out
    turn ended
    operator: ask me for the port
    turn began
    mcp__mission-execution__needs_input began
    dialog began
    dialog ended
    mcp__mission-execution__needs_input ended succeeded
    agent: The port was asked for.
    usage 200 in, 40 out
    turn ended
    operator: 8080
    turn began
    agent: Port 8080 it is.
    usage 100 in, 20 out
    turn ended
    operator: write the file
    turn began
    Write began
    dialog began
    dialog ended
    Write ended succeeded
    agent: It was written.
    usage 200 in, 40 out
    turn ended
    operator: write another
    turn began
    Write began
    dialog began
    dialog ended
    Write ended denied
    agent: It was not written.
    usage 200 in, 40 out
    turn ended
    operator: take your time
    turn began
    agent: One thing first. / Then there is another. / And that was all.
    usage 100 in, 20 out
    turn ended
    operator: count to a million
    turn began
    agent: One, two, three. / Four, five, six.
    turn ended
    operator: say that it is done
    turn began
    mcp__mission-execution__completed_claim began
    dialog began
    dialog ended
    mcp__mission-execution__completed_claim ended succeeded
    agent: It is claimed.
    usage 200 in, 40 out
    turn ended
"#;

const PROTOCOL_RESUMED: &str = r#"
    session
    operator: which port was it
    turn began
    agent: It was eighty-eighty.
    usage 100 in, 20 out
    turn ended
"#;
