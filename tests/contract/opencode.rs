//! OpenCode.

use std::path::Path;

use missiond_model_server::Api;
use serde_json::json;

use super::both_ways::{BothWays, Difference, UsageByProtocol};
use super::trouble::{Told, Trouble};
use super::{Cli, Clis, Control, KEY, MADE, NOWHERE, Refusal, Resumes, Room, platform};

#[test]
fn opencode_keeps_the_contract() {
    if let Some((room, cli)) = prepared() {
        cli.converse(&room);
    }
}

#[test]
fn opencode_keeps_the_contract_by_its_protocol() {
    if let Some((room, cli)) = structured() {
        cli.converse(&room);
    }
}

#[test]
fn opencode_keeps_the_contract_behind_a_wall() {
    if let Some((room, cli)) = set_up(Room::walled) {
        cli.converse(&room);
    }
}

#[test]
fn opencode_keeps_the_contract_behind_a_wall_by_its_protocol() {
    if let Some((room, cli)) = set_up(Room::walled).map(by_protocol) {
        cli.converse(&room);
    }
}

#[test]
fn opencode_tells_the_same_both_ways() {
    let both = BothWays {
        transcript: [TRANSCRIPT, RESUMED],
        hooks: ["", ""],
        protocol: [PROTOCOL, PROTOCOL_RESUMED],
        tools: &[],
        usage: UsageByProtocol::LastRequest,
        differences: &[
            Difference {
                turn: "write another",
                by_terminal: &[],
                by_protocol: &["turn ended"],
                reason: "its database closes no step of an answer that was refused",
            },
            Difference {
                turn: "count to a million",
                by_terminal: &[],
                by_protocol: &["turn ended"],
                reason: "its database closes no step of an answer that was interrupted",
            },
        ],
    };
    both.are_the_same();
}

#[test]
fn opencode_withstands_what_goes_wrong() {
    if let Some((room, cli)) = structured() {
        cli.withstands(&room, &TROUBLE);
    }
}

#[test]
fn opencode_is_shown_files() {
    if let Some((room, cli)) = structured() {
        cli.is_shown_files(&room);
    }
}

#[test]
fn opencode_is_read_as_it_is() {
    if let Some((room, cli)) = structured() {
        cli.is_read_as_it_is(&room);
    }
}

#[test]
fn opencode_is_told_what_it_does_not_read() {
    if let Some((room, cli)) = prepared() {
        cli.is_told(&room, "AGENTS.md", "CLAUDE.md");
    }
}

fn prepared() -> Option<(Room, Cli)> {
    set_up(Room::new)
}

fn set_up(make: impl Fn(&str, &Path) -> Room) -> Option<(Room, Cli)> {
    let clis = Clis::installed()?;
    let program = clis.file(&format!("opencode-{}/bin/opencode", platform()));
    let room = make("opencode", &program);
    let config = json!({
        "autoupdate": false, "share": "disabled",
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible", "name": "Scripted",
            "options": {"baseURL": format!("{}/v1", room.model.url()), "apiKey": KEY},
            "models": {"model": {
                "name": "Scripted model", "tool_call": true, "attachment": true,
                "modalities": {"input": ["text", "image"], "output": ["text"]},
                "limit": {"context": 200_000, "output": 8000},
            }},
        }},
        "model": "scripted/model", "small_model": "scripted/model",
    });
    room.write("home/.config/opencode/opencode.json", &config.to_string());
    let cli = Cli {
        engine: "opencode",
        control: Control::Terminal,
        api: Api::Chat,
        args: Vec::new(),
        environment: vec![
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
            ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1".to_owned()),
            ("HTTPS_PROXY", NOWHERE.to_owned()),
        ],
        write: |reply, room, name| {
            let file = room.path("work").join(name);
            reply.call("write", json!({"filePath": file, "content": MADE}))
        },
        signal: |reply, tool, arguments| {
            reply.call(&format!("mission-execution_{tool}"), arguments)
        },
        drawn: |reply| reply,
        allow: "Allow once",
        deny: "Reject",
        farewell: "/exit",
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

/// The same, driven by its protocol.
fn structured() -> Option<(Room, Cli)> {
    prepared().map(by_protocol)
}

fn by_protocol((room, cli): (Room, Cli)) -> (Room, Cli) {
    let structured = Cli {
        control: Control::Structured,
        allow: "Allow once",
        deny: "Reject",
        answered: "once",
        exit: "exited by signal 15",
        hooks: ["", ""],
        transcript: [PROTOCOL, PROTOCOL_RESUMED],
        ..cli
    };
    (room, structured)
}

const TROUBLE: Trouble = Trouble {
    edit: |reply, room| {
        let file = room.path("work/notes.txt");
        let edit = json!({"filePath": file, "oldString": "some notes", "newString": "other notes"});
        reply
            .call("read", json!({ "filePath": file }))
            .call("edit", edit)
    },
    error: Told::AsError("scripted failure 400"),
    limit: Told::AsError("scripted failure 429"),
};

const TRANSCRIPT: &str = r#"
    operator: what is the answer
    agent: The answer has two lines. / This is the first one of them. / The second says forty-two.
    usage 100 in, 20 out
    turn ended
    operator: report how far you are
    mission-execution_progress began
    mission-execution_progress ended succeeded
    usage 100 in, 20 out
    agent: It is reported.
    usage 100 in, 20 out
    turn ended
    operator: ask me for the port
    mission-execution_needs_input began
    mission-execution_needs_input ended succeeded
    usage 100 in, 20 out
    agent: The port was asked for.
    usage 100 in, 20 out
    turn ended
    operator: 8080
    agent: Port 8080 it is.
    usage 100 in, 20 out
    turn ended
    operator: write the file
    write began
    write ended succeeded
    usage 100 in, 20 out
    agent: It was written.
    usage 100 in, 20 out
    turn ended
    operator: write another
    write began
    write ended denied
    usage 100 in, 20 out
    operator: take your time
    agent: One thing first. / Then there is another. / And that was all.
    usage 100 in, 20 out
    turn ended
    operator: count to a million
    agent: One, two, three. / Four, five, six.
    operator: say that it is done
    mission-execution_completed_claim began
    mission-execution_completed_claim ended succeeded
    usage 100 in, 20 out
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

/// The same as in its transcript, with what a transcript does not say: where turns
/// begin, and that somebody is asked. Of what a turn used it tells the last request.
const PROTOCOL: &str = r#"
    session
    operator: what is the answer
    turn began
    agent: The answer has two lines. / This is the first one of them. / The second says forty-two.
    usage 100 in, 20 out
    turn ended
    operator: report how far you are
    turn began
    mission-execution_progress began
    mission-execution_progress ended succeeded
    agent: It is reported.
    usage 100 in, 20 out
    turn ended
    operator: ask me for the port
    turn began
    mission-execution_needs_input began
    mission-execution_needs_input ended succeeded
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
    write began
    dialog began
    dialog ended
    write ended succeeded
    agent: It was written.
    usage 100 in, 20 out
    turn ended
    operator: write another
    turn began
    write began
    dialog began
    dialog ended
    write ended denied
    usage 100 in, 20 out
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
    mission-execution_completed_claim began
    mission-execution_completed_claim ended succeeded
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
