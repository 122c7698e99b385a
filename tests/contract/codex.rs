//! Codex.

use std::path::Path;

use missiond_model_server::Api;
use serde_json::json;

use super::both_ways::{BothWays, UsageByProtocol};
use super::trouble::{Told, Trouble};
use super::{Cli, Clis, Control, KEY, MADE, NOWHERE, Refusal, Resumes, Room, moments};

#[test]
fn codex_keeps_the_contract() {
    if let Some((room, cli)) = prepared() {
        cli.converse(&room);
    }
}

#[test]
fn codex_keeps_the_contract_by_its_app_server() {
    if let Some((room, cli)) = prepared() {
        by_app_server(cli).converse(&room);
    }
}

#[test]
fn codex_keeps_the_contract_behind_a_wall() {
    if let Some((room, cli)) = set_up(Room::walled) {
        cli.converse(&room);
    }
}

#[test]
fn codex_keeps_the_contract_behind_a_wall_by_its_app_server() {
    if let Some((room, cli)) = set_up(Room::walled) {
        by_app_server(cli).converse(&room);
    }
}

#[test]
fn codex_tells_the_same_both_ways() {
    let both = BothWays {
        transcript: [TRANSCRIPT, RESUMED],
        hooks: ["", ""],
        protocol: [PROTOCOL, PROTOCOL_RESUMED],
        tools: &[
            ("commandExecution", "exec_command"),
            (
                "mission-execution.progress",
                "mcp__mission_execution__progress",
            ),
            (
                "mission-execution.needs_input",
                "mcp__mission_execution__needs_input",
            ),
            (
                "mission-execution.completed_claim",
                "mcp__mission_execution__completed_claim",
            ),
        ],
        usage: UsageByProtocol::EveryRequest,
        differences: &[],
    };
    both.are_the_same();
}

#[test]
fn codex_withstands_what_goes_wrong() {
    if let Some((room, cli)) = prepared() {
        let structured = Cli {
            control: Control::Structured,
            allow: "Yes",
            answered: "accept",
            ..cli
        };
        structured.withstands(&room, &TROUBLE);
    }
}

#[test]
fn codex_withstands_what_goes_wrong_by_its_terminal() {
    if let Some((room, cli)) = prepared() {
        cli.withstands(&room, &TROUBLE);
    }
}

#[test]
fn codex_goes_over_into_its_terminal_and_back() {
    if let Some((room, cli)) = prepared() {
        let structured = Cli {
            control: Control::Structured,
            ..cli
        };
        structured.goes_over_into_its_terminal_and_back(&room);
    }
}

#[test]
fn codex_keeps_its_conversation_at_any_moment() {
    if let Some((room, cli)) = configured(moments::CONFIG) {
        let structured = Cli {
            control: Control::Structured,
            ..cli
        };
        structured.keeps_its_conversation_at_any_moment(&room);
    }
}

#[test]
fn codex_is_read_as_it_is() {
    if let Some((room, cli)) = prepared() {
        let structured = Cli {
            control: Control::Structured,
            allow: "Yes",
            ..cli
        };
        structured.is_read_as_it_is(&room);
    }
}

#[test]
fn codex_is_shown_files() {
    for control in [Control::Structured, Control::Terminal] {
        if let Some((room, cli)) = prepared() {
            Cli { control, ..cli }.is_shown_files(&room);
        }
    }
}

#[test]
fn codex_is_told_what_it_does_not_read() {
    if let Some((room, cli)) = prepared() {
        cli.is_told(&room, "AGENTS.md", "CLAUDE.md");
    }
}

pub(super) fn prepared() -> Option<(Room, Cli)> {
    configured("")
}

/// With a daemon that is configured so.
fn configured(daemon: &str) -> Option<(Room, Cli)> {
    set_up(|name, program| Room::configured(name, program, daemon))
}

fn set_up(make: impl Fn(&str, &Path) -> Room) -> Option<(Room, Cli)> {
    let clis = Clis::installed()?;
    let program = clis.file("@openai/codex/bin/codex.js");
    let room = make("codex", &program);
    let config = format!(
        r#"
model = "gpt-5.5"
model_provider = "scripted"
[analytics]
enabled = false
[model_providers.scripted]
name = "Scripted"
base_url = "{}/v1"
env_key = "SCRIPTED_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[tui.model_availability_nux]
"gpt-6.1-sol" = 9
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
"#,
        room.model.url()
    );
    room.write("home/.codex/config.toml", &config);
    let cli = Cli {
        engine: "codex",
        control: Control::Terminal,
        api: Api::Responses,
        args: Vec::new(),
        environment: vec![
            ("SCRIPTED_API_KEY", KEY.to_owned()),
            ("HTTPS_PROXY", NOWHERE.to_owned()),
        ],
        write: |reply, _, name| {
            let shell = json!({
                "cmd": format!("printf '{MADE}' > {name}"), "yield_time_ms": 15_000,
                "sandbox_permissions": "require_escalated",
                "justification": "May it write a file?",
            });
            reply.call("exec_command", shell)
        },
        signal: |reply, tool, arguments| reply.call_in("mcp__mission_execution", tool, arguments),
        drawn: |reply| reply,
        allow: "Yes, proceed",
        deny: "No",
        farewell: "/quit",
        answered: "",
        refusal: Refusal::EndsTurn,
        exit: "exited 0",
        calls: (4, 1),
        resumes: Resumes::AtOnce,
        hooks: ["", ""],
        transcript: [TRANSCRIPT, RESUMED],
    };
    Some((room, cli))
}

fn by_app_server(cli: Cli) -> Cli {
    Cli {
        control: Control::Structured,
        drawn: |reply| reply,
        allow: "Yes",
        deny: "No, and stop",
        transcript: [PROTOCOL, PROTOCOL_RESUMED],
        ..cli
    }
}

const TROUBLE: Trouble = Trouble {
    edit: |reply, _| {
        let patch = "*** Begin Patch\n*** Update File: notes.txt\n@@\n-some notes\n+other notes\n\
                     *** End Patch";
        let shell = json!({ "cmd": format!("apply_patch <<'PATCH'\n{patch}\nPATCH") });
        reply.call("exec_command", shell)
    },
    error: Told::AsError("scripted failure 400"),
    limit: Told::AsError("429"),
};

const TRANSCRIPT: &str = r#"
    operator: what is the answer
    agent: The answer has two lines. / This is the first one of them.
    agent: The second says forty-two.
    usage 100 in, 20 out
    turn ended
    operator: report how far you are
    mcp__mission_execution__progress began
    usage 100 in, 20 out
    mcp__mission_execution__progress ended succeeded
    agent: It is reported.
    usage 100 in, 20 out
    turn ended
    operator: ask me for the port
    mcp__mission_execution__needs_input began
    usage 100 in, 20 out
    mcp__mission_execution__needs_input ended succeeded
    agent: The port was asked for.
    usage 100 in, 20 out
    turn ended
    operator: 8080
    agent: Port 8080 it is.
    usage 100 in, 20 out
    turn ended
    operator: write the file
    exec_command began
    usage 100 in, 20 out
    exec_command ended succeeded
    agent: It was written.
    usage 100 in, 20 out
    turn ended
    operator: write another
    exec_command began
    usage 100 in, 20 out
    exec_command ended denied
    turn ended
    operator: take your time
    agent: One thing first. / Then there is another.
    agent: And that was all.
    usage 100 in, 20 out
    turn ended
    operator: count to a million
    agent: One, two, three. / Four, five, six.
    turn ended
    operator: say that it is done
    mcp__mission_execution__completed_claim began
    usage 100 in, 20 out
    mcp__mission_execution__completed_claim ended succeeded
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

/// The same as in its transcript, but for the names of tools, and with what a
/// transcript does not say: where turns begin, and that somebody is asked.
const PROTOCOL: &str = r#"
    session
    operator: what is the answer
    turn began
    agent: The answer has two lines. / This is the first one of them.
    agent: The second says forty-two.
    usage 100 in, 20 out
    turn ended
    operator: report how far you are
    turn began
    mission-execution.progress began
    mission-execution.progress ended succeeded
    usage 100 in, 20 out
    agent: It is reported.
    usage 100 in, 20 out
    turn ended
    operator: ask me for the port
    turn began
    mission-execution.needs_input began
    mission-execution.needs_input ended succeeded
    usage 100 in, 20 out
    agent: The port was asked for.
    usage 100 in, 20 out
    turn ended
    operator: 8080
    turn began
    agent: Port 8080 it is.
    usage 100 in, 20 out
    turn ended
    operator: write the file
    turn began
    commandExecution began
    dialog began
    dialog ended
    commandExecution ended succeeded
    usage 100 in, 20 out
    agent: It was written.
    usage 100 in, 20 out
    turn ended
    operator: write another
    turn began
    commandExecution began
    dialog began
    dialog ended
    commandExecution ended denied
    usage 100 in, 20 out
    turn ended
    operator: take your time
    turn began
    agent: One thing first. / Then there is another.
    agent: And that was all.
    usage 100 in, 20 out
    turn ended
    operator: count to a million
    turn began
    agent: One, two, three. / Four, five, six.
    turn ended
    operator: say that it is done
    turn began
    mission-execution.completed_claim began
    mission-execution.completed_claim ended succeeded
    usage 100 in, 20 out
    agent: It is claimed.
    usage 100 in, 20 out
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
