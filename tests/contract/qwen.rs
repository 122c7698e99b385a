//! Qwen Code.

use missiond_model_server::Api;
use serde_json::json;

use super::trouble::{Told, Trouble};
use super::{Cli, Clis, Control, KEY, MADE, Refusal, Resumes, Room};

#[test]
fn qwen_code_keeps_the_contract_by_its_protocol() {
    if let Some((room, cli)) = structured() {
        cli.converse(&room);
    }
}

#[test]
fn qwen_code_withstands_what_goes_wrong() {
    if let Some((room, cli)) = structured() {
        cli.withstands(&room, &TROUBLE);
    }
}

#[test]
fn qwen_code_is_shown_files() {
    if let Some((room, cli)) = structured() {
        cli.is_shown_files(&room);
    }
}

#[test]
fn qwen_code_is_read_as_it_is() {
    if let Some((room, cli)) = structured() {
        cli.is_read_as_it_is(&room);
    }
}

fn structured() -> Option<(Room, Cli)> {
    let clis = Clis::installed()?;
    let room = Room::new("qwen", &clis.file("@qwen-code/qwen-code/cli-entry.js"));
    let settings = json!({
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
        "model": {"generationConfig": {"maxRetries": 0, "modalities": {"image": true}}},
        // It would ask the model what the person may say next, and what to remember.
        "memory": {"enableManagedAutoMemory": false},
        "ui": {"enableFollowupSuggestions": false},
    });
    room.write("home/.qwen/settings.json", &settings.to_string());
    let cli = Cli {
        engine: "qwen",
        control: Control::Structured,
        api: Api::Chat,
        args: Vec::new(),
        environment: vec![
            ("OPENAI_API_KEY", KEY.to_owned()),
            ("OPENAI_BASE_URL", format!("{}/v1", room.model.url())),
            ("OPENAI_MODEL", "scripted".to_owned()),
        ],
        write: |reply, room, name| {
            let path = room.path("work").join(name);
            reply.call("write_file", json!({"file_path": path, "content": MADE}))
        },
        signal: |reply, tool, arguments| {
            reply.call(&format!("mcp__mission-execution__{tool}"), arguments)
        },
        drawn: |reply| reply,
        allow: "Allow",
        deny: "Reject",
        farewell: "/quit",
        answered: "proceed_once",
        refusal: Refusal::EndsTurn,
        exit: "exited by signal 15",
        calls: (4, 1),
        resumes: Resumes::AtOnce,
        hooks: ["", ""],
        transcript: [PROTOCOL, PROTOCOL_RESUMED],
    };
    Some((room, cli))
}

const TROUBLE: Trouble = Trouble {
    edit: |reply, room| {
        let path = room.path("work/notes.txt");
        let read = json!({ "file_path": path });
        let edit =
            json!({"file_path": path, "old_string": "some notes", "new_string": "other notes"});
        reply.call("read_file", read).call("edit", edit)
    },
    error: Told::AsError("scripted failure 400"),
    limit: Told::AsError("Rate limit exceeded"),
};

/// By its protocol.
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
    usage 100 in, 20 out
    mcp__mission-execution__progress ended succeeded
    agent: It is reported.
    usage 100 in, 20 out
    turn ended
    operator: ask me for the port
    turn began
    mcp__mission-execution__needs_input began
    usage 100 in, 20 out
    mcp__mission-execution__needs_input ended succeeded
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
    write_file began
    usage 100 in, 20 out
    dialog began
    dialog ended
    write_file ended succeeded
    agent: It was written.
    usage 100 in, 20 out
    turn ended
    operator: write another
    turn began
    write_file began
    usage 100 in, 20 out
    dialog began
    dialog ended
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
    mcp__mission-execution__completed_claim began
    usage 100 in, 20 out
    mcp__mission-execution__completed_claim ended succeeded
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
