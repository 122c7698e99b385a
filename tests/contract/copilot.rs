//! GitHub Copilot CLI.

use missiond_model_server::Api;
use serde_json::json;

use super::trouble::{AfterKill, Told, Trouble};
use super::{Cli, Clis, Control, KEY, MADE, NOWHERE, Refusal, Room, platform};

#[test]
fn copilot_keeps_the_contract_by_its_protocol() {
    if let Some((room, cli)) = structured() {
        cli.converse(&room);
    }
}

#[test]
fn copilot_withstands_what_goes_wrong() {
    if let Some((room, cli)) = structured() {
        cli.withstands(&room, &TROUBLE);
    }
}

fn structured() -> Option<(Room, Cli)> {
    let clis = Clis::installed()?;
    let program = clis.file(&format!("@github/copilot-{}/copilot", platform()));
    let room = Room::new("copilot", &program);
    let cli = Cli {
        engine: "copilot",
        control: Control::Structured,
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
        allow: "Allow once",
        deny: "Deny",
        farewell: "/quit",
        answered: "allow_once",
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
        let edit = json!({"path": path, "old_str": "some", "new_str": "other"});
        reply.call("edit", edit)
    },
    error: Told::AsWords("scripted failure 400"),
    limit: Told::AsWords("429"),
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
