//! GitHub Copilot CLI.

use missiond_model_server::Api;
use serde_json::json;

use super::both_ways::{BothWays, Difference, UsageByProtocol};
use super::trouble::{Told, Trouble};
use super::{Cli, Clis, Control, KEY, MADE, NOWHERE, Refusal, Resumes, Room, platform};

#[test]
fn copilot_keeps_the_contract() {
    if let Some((room, cli)) = prepared() {
        cli.converse(&room);
    }
}

#[test]
fn copilot_keeps_the_contract_by_its_protocol() {
    if let Some((room, cli)) = structured() {
        cli.converse(&room);
    }
}

#[test]
fn copilot_tells_the_same_both_ways() {
    let both = BothWays {
        transcript: [TRANSCRIPT, RESUMED],
        hooks: ["", ""],
        protocol: [PROTOCOL, PROTOCOL_RESUMED],
        // The kind of a tool instead of its name.
        tools: &[("edit", "create")],
        usage: UsageByProtocol::EveryRequest,
        differences: &[
            Difference {
                turn: "write the file",
                by_terminal: &[],
                by_protocol: &["agent: Info: WORK/made.txt"],
                reason: "its own remarks are words of the agent in its protocol",
            },
            Difference {
                turn: "write another",
                by_terminal: &[],
                by_protocol: &[
                    "create ended denied",
                    "agent: Info: Operation cancelled by user",
                ],
                reason: "its file has no end of a refused tool, nor its own remarks",
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
fn copilot_withstands_what_goes_wrong() {
    if let Some((room, cli)) = structured() {
        cli.withstands(&room, &TROUBLE);
    }
}

#[test]
fn copilot_withstands_what_goes_wrong_by_its_terminal() {
    if let Some((room, cli)) = prepared() {
        let trouble = Trouble {
            // What its protocol says as if the model had, its screen shows as an error.
            error: Told::AsError("scripted failure 400"),
            limit: Told::TriesAgain,
            ..TROUBLE
        };
        cli.withstands(&room, &trouble);
    }
}

#[test]
fn copilot_goes_over_into_its_terminal_and_back() {
    if let Some((room, cli)) = structured() {
        cli.goes_over_into_its_terminal_and_back(&room);
    }
}

#[test]
fn copilot_is_shown_files() {
    if let Some((room, cli)) = structured() {
        cli.is_shown_files(&room);
    }
}

#[test]
fn copilot_is_read_as_it_is() {
    if let Some((room, cli)) = structured() {
        cli.is_read_as_it_is(&room);
    }
}

fn prepared() -> Option<(Room, Cli)> {
    let clis = Clis::installed()?;
    let program = clis.file(&format!("@github/copilot-{}/copilot", platform()));
    let room = Room::new("copilot", &program);
    let cli = Cli {
        engine: "copilot",
        control: Control::Terminal,
        api: Api::Chat,
        args: Vec::new(),
        environment: vec![
            ("COPILOT_OFFLINE", "true".to_owned()),
            (
                "COPILOT_PROVIDER_BASE_URL",
                format!("{}/v1", room.model.url()),
            ),
            ("COPILOT_PROVIDER_API_KEY", KEY.to_owned()),
            ("COPILOT_MODEL", "gpt-4.1".to_owned()),
            ("COPILOT_AUTO_UPDATE", "false".to_owned()),
            ("HTTPS_PROXY", NOWHERE.to_owned()),
        ],
        write: |reply, room, name| {
            let path = room.path("work").join(name);
            reply.call("create", json!({"path": path, "file_text": MADE}))
        },
        signal: |reply, tool, arguments| {
            reply.call(&format!("mission-execution-{tool}"), arguments)
        },
        drawn: |reply| reply,
        allow: "Yes",
        deny: "No, and tell",
        farewell: "/quit",
        answered: "",
        refusal: Refusal::EndsTurn,
        exit: "exited 0",
        // What was refused has no end in its file.
        calls: (4, 0),
        resumes: Resumes::AtOnce,
        hooks: ["", ""],
        transcript: [TRANSCRIPT, RESUMED],
    };
    Some((room, cli))
}

/// The same, driven by its protocol.
fn structured() -> Option<(Room, Cli)> {
    let (room, cli) = prepared()?;
    let structured = Cli {
        control: Control::Structured,
        allow: "Allow once",
        deny: "Deny",
        answered: "allow_once",
        calls: (4, 1),
        transcript: [PROTOCOL, PROTOCOL_RESUMED],
        ..cli
    };
    Some((room, structured))
}

const TROUBLE: Trouble = Trouble {
    edit: |reply, room| {
        let path = room.path("work/notes.txt");
        let edit = json!({"path": path, "old_str": "some notes", "new_str": "other notes"});
        reply.call("edit", edit)
    },
    error: Told::AsWords("scripted failure 400"),
    limit: Told::NotSoon,
};

/// In its file what is used stands before the words it bought.
const TRANSCRIPT: &str = r#"
    operator: what is the answer
    usage 100 in, 20 out
    agent: The answer has two lines. / This is the first one of them. / The second says forty-two.
    turn ended
    operator: report how far you are
    usage 100 in, 20 out
    mission-execution-progress began
    mission-execution-progress ended succeeded
    usage 100 in, 20 out
    agent: It is reported.
    turn ended
    operator: ask me for the port
    usage 100 in, 20 out
    mission-execution-needs_input began
    mission-execution-needs_input ended succeeded
    usage 100 in, 20 out
    agent: The port was asked for.
    turn ended
    operator: 8080
    usage 100 in, 20 out
    agent: Port 8080 it is.
    turn ended
    operator: write the file
    usage 100 in, 20 out
    create began
    create ended succeeded
    usage 100 in, 20 out
    agent: It was written.
    turn ended
    operator: write another
    usage 100 in, 20 out
    create began
    turn ended
    operator: take your time
    usage 100 in, 20 out
    agent: One thing first. / Then there is another. / And that was all.
    turn ended
    operator: count to a million
    turn ended
    operator: say that it is done
    usage 100 in, 20 out
    mission-execution-completed_claim began
    mission-execution-completed_claim ended succeeded
    usage 100 in, 20 out
    agent: It is claimed.
    turn ended
"#;

const RESUMED: &str = r#"
    operator: which port was it
    usage 100 in, 20 out
    agent: It was eighty-eighty.
    turn ended
"#;

/// By its protocol: the kinds of tools instead of their names, its own remarks among
/// the words of the agent, and what is used by the turn.
const PROTOCOL: &str = r#"
    session
    operator: what is the answer
    turn began
    agent: The answer has two lines. / This is the first one of them. / The second says forty-two.
    usage 100 in, 20 out
    turn ended
    operator: report how far you are
    turn began
    mission-execution-progress began
    mission-execution-progress ended succeeded
    agent: It is reported.
    usage 200 in, 40 out
    turn ended
    operator: ask me for the port
    turn began
    mission-execution-needs_input began
    mission-execution-needs_input ended succeeded
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
    edit began
    dialog began
    dialog ended
    agent: Info: WORK/made.txt
    edit ended succeeded
    agent: It was written.
    usage 200 in, 40 out
    turn ended
    operator: write another
    turn began
    edit began
    dialog began
    dialog ended
    edit ended denied
    agent: Info: Operation cancelled by user
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
    mission-execution-completed_claim began
    mission-execution-completed_claim ended succeeded
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
