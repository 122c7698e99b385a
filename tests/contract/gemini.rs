//! Gemini CLI.

use std::path::Path;

use missiond_model_server::Api;
use serde_json::json;

use super::binding::Names;
use super::both_ways::{BothWays, Difference, UsageByProtocol};
use super::trouble::{Told, Trouble};
use super::{Cli, Clis, Control, KEY, MADE, Refusal, Resumes, Room};

#[test]
fn gemini_cli_keeps_the_contract() {
    if let Some((room, cli)) = prepared() {
        cli.converse(&room);
    }
}

#[test]
fn gemini_cli_keeps_the_contract_by_its_protocol() {
    if let Some((room, cli)) = structured() {
        cli.converse(&room);
    }
}

#[test]
fn gemini_cli_keeps_the_contract_behind_a_wall() {
    if let Some((room, cli)) = set_up(Room::walled) {
        cli.converse(&room);
    }
}

#[test]
fn gemini_cli_keeps_the_contract_behind_a_wall_by_its_protocol() {
    if let Some((room, cli)) = set_up(Room::walled).map(by_protocol) {
        cli.converse(&room);
    }
}

#[test]
fn gemini_cli_tells_the_same_both_ways() {
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
                by_terminal: &[],
                by_protocol: &["agent: One, two, three. / Four, five, six."],
                reason: "words of an interrupted answer are not in its file",
            },
        ],
    };
    both.are_the_same();
}

#[test]
fn gemini_cli_withstands_what_goes_wrong() {
    if let Some((room, cli)) = structured() {
        cli.withstands(&room, &TROUBLE);
    }
}

#[test]
fn gemini_cli_withstands_what_goes_wrong_by_its_terminal() {
    if let Some((room, cli)) = prepared() {
        cli.withstands(&room, &TROUBLE);
    }
}

#[test]
fn gemini_cli_is_shown_files() {
    if let Some((room, cli)) = structured() {
        cli.is_shown_files(&room);
    }
}

#[test]
fn gemini_cli_is_read_as_it_is() {
    if let Some((room, cli)) = structured() {
        cli.is_read_as_it_is(&room);
    }
}

#[test]
fn gemini_cli_is_told_what_it_does_not_read() {
    if let Some((room, cli)) = prepared() {
        cli.is_told(&room, "GEMINI.md", "AGENTS.md");
    }
}

#[test]
fn gemini_cli_is_bound_by_rules() {
    if let Some((room, cli)) = prepared() {
        let names = Names {
            read: |reply, path| reply.call("read_file", json!({"file_path": path})),
            run: |reply, command| reply.call("run_shell_command", json!({"command": command})),
        };
        cli.is_bound_by_rules(&room, &names);
    }
}

pub(super) fn prepared() -> Option<(Room, Cli)> {
    set_up(Room::new)
}

fn set_up(make: impl Fn(&str, &Path) -> Room) -> Option<(Room, Cli)> {
    let clis = Clis::installed()?;
    let room = make("gemini", &clis.file("@google/gemini-cli/bundle/gemini.js"));
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
    });
    room.write("home/.gemini/settings.json", &settings.to_string());
    let cli = Cli {
        engine: "gemini",
        control: Control::Terminal,
        api: Api::Gemini,
        args: vec!["-m", "gemini-2.5-flash"],
        // It sends everything through a proxy, loopback too, so it gets none.
        environment: vec![
            ("GEMINI_API_KEY", KEY.to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", room.model.url()),
            ("GEMINI_TELEMETRY_ENABLED", "false".to_owned()),
        ],
        write: |reply, _, name| {
            reply.call("write_file", json!({"file_path": name, "content": MADE}))
        },
        signal: |reply, tool, arguments| {
            reply.call(&format!("mcp_mission-execution_{tool}"), arguments)
        },
        drawn: |reply| reply,
        allow: "Allow once",
        deny: "No",
        farewell: "/quit",
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
    let structured = Cli {
        control: Control::Structured,
        allow: "Allow",
        deny: "Reject",
        answered: "proceed_once",
        refusal: Refusal::GoesOn,
        resumes: Resumes::NextMinute,
        // What was refused is not in its file.
        calls: (4, 0),
        hooks: ["", ""],
        transcript: [PROTOCOL, PROTOCOL_RESUMED],
        ..cli
    };
    (room, structured)
}

const TROUBLE: Trouble = Trouble {
    edit: |reply, _| {
        let edit = json!({
            "file_path": "notes.txt", "old_string": "some notes", "new_string": "other notes",
            "instruction": "Name other notes.",
        });
        reply.call("replace", edit)
    },
    error: Told::AsError("scripted failure 400"),
    limit: Told::NotSoon,
};

const HOOKS: &str = r#"
    turn began
    turn ended
    turn began
    mcp_mission-execution_progress began
    mcp_mission-execution_progress ended
    turn ended
    turn began
    mcp_mission-execution_needs_input began
    mcp_mission-execution_needs_input ended
    turn ended
    turn began
    turn ended
    turn began
    write_file began
    write_file ended
    turn ended
    turn began
    write_file began
    turn began
    turn ended
    turn began
    turn ended
    turn began
    mcp_mission-execution_completed_claim began
    mcp_mission-execution_completed_claim ended
    turn ended
"#;

const RESUMED_HOOKS: &str = r#"
    turn began
    turn ended
"#;

const TRANSCRIPT: &str = r#"
    operator: what is the answer
    agent: The answer has two lines. / This is the first one of them. / The second says forty-two.
    usage 100 in, 20 out
    operator: report how far you are
    usage 100 in, 20 out
    mcp_mission-execution_progress began
    mcp_mission-execution_progress ended succeeded
    agent: It is reported.
    usage 100 in, 20 out
    operator: ask me for the port
    usage 100 in, 20 out
    mcp_mission-execution_needs_input began
    mcp_mission-execution_needs_input ended succeeded
    agent: The port was asked for.
    usage 100 in, 20 out
    operator: 8080
    agent: Port 8080 it is.
    usage 100 in, 20 out
    operator: write the file
    usage 100 in, 20 out
    write_file began
    write_file ended succeeded
    agent: It was written.
    usage 100 in, 20 out
    operator: write another
    usage 100 in, 20 out
    write_file began
    write_file ended denied
    turn ended
    operator: take your time
    agent: One thing first. / Then there is another. / And that was all.
    usage 100 in, 20 out
    operator: count to a million
    turn ended
    operator: say that it is done
    usage 100 in, 20 out
    mcp_mission-execution_completed_claim began
    mcp_mission-execution_completed_claim ended succeeded
    agent: It is claimed.
    usage 100 in, 20 out
"#;

const RESUMED: &str = r#"
    operator: which port was it
    agent: It was eighty-eighty.
    usage 100 in, 20 out
"#;

/// The same as in its transcript, with what a transcript does not say: where turns
/// begin, and that somebody is asked. What is used is told by the turn, and a call that
/// was refused ends with its turn.
const PROTOCOL: &str = r#"
    session
    operator: what is the answer
    turn began
    agent: The answer has two lines. / This is the first one of them. / The second says forty-two.
    usage 100 in, 20 out
    turn ended
    operator: report how far you are
    turn began
    mcp_mission-execution_progress began
    mcp_mission-execution_progress ended succeeded
    agent: It is reported.
    usage 200 in, 40 out
    turn ended
    operator: ask me for the port
    turn began
    mcp_mission-execution_needs_input began
    mcp_mission-execution_needs_input ended succeeded
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
    write_file began
    dialog began
    dialog ended
    write_file ended succeeded
    agent: It was written.
    usage 200 in, 40 out
    turn ended
    operator: write another
    turn began
    write_file began
    dialog began
    dialog ended
    agent: It was not written.
    usage 200 in, 40 out
    write_file ended denied
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
    mcp_mission-execution_completed_claim began
    mcp_mission-execution_completed_claim ended succeeded
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
