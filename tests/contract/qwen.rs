//! Qwen Code.

use missiond_model_server::Api;
use serde_json::json;

use super::trouble::{AfterKill, Told, Trouble};
use super::{Cli, Clis, Control, KEY, MADE, Refusal, Room};

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

fn structured() -> Option<(Room, Cli)> {
    let clis = Clis::installed()?;
    let room = Room::new("qwen", &clis.file("@qwen-code/qwen-code/cli.js"));
    let settings = json!({
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
        "model": {"generationConfig": {"maxRetries": 0}},
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
        allow: "Allow",
        deny: "Reject",
        farewell: "/quit",
        answered: "proceed_once",
        refusal: Refusal::GoesOn,
        exit: "exited 0",
        hooks: ["", ""],
        transcript: [PROTOCOL, PROTOCOL_RESUMED],
    };
    Some((room, cli))
}

const TROUBLE: Trouble = Trouble {
    edit: |reply, room| {
        let path = room.path("work/notes.txt");
        let edit = json!({"file_path": path, "old_string": "some", "new_string": "other"});
        reply.call("edit", edit)
    },
    error: Told::AsError("scripted failure 400"),
    limit: Told::AsError("429"),
    after_kill: AfterKill::GoesOn,
};

/// The same as in its transcript, and what a transcript does not say: where turns
/// begin, and that somebody is asked.
const PROTOCOL: &str = r#"
    session
    operator: what is the answer
    turn began
    agent: The answer has two lines. / This is the first one of them. / The second says forty-two.
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
