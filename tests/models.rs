//! Models of providers, from the command line down to the wire.

use missiond_model_server::{ModelServer, Reply};
use serde_json::json;

use crate::harness::{TestHome, text, wait_for};

const KEY: &str = "sk-a-key-that-nobody-is-shown-0815";

pub(crate) struct Room {
    pub(crate) home: TestHome,
    pub(crate) model: ModelServer,
}

pub(crate) fn room(more: &str) -> Room {
    use std::os::unix::fs::PermissionsExt;
    let model = ModelServer::start().unwrap();
    model.take_plain_turns();
    let home = TestHome::new();
    let key = home.path().join("model-key");
    std::fs::write(&key, KEY).unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    home.write_config(&format!(
        "[llm]\nfind_ollama = false\nfast = [\"near/small\"]\npremium = [\"near/big\"]\n{more}\n\
         [[llm.providers]]\nname = \"near\"\nformat = \"chat\"\nurl = \"{}/v1\"\nkey_file = {key:?}\n\
         [[usage.prices]]\nmodel = \"small\"\ninput = 1\noutput = 10\n",
        model.url()
    ));
    home.start();
    Room { home, model }
}

#[test]
fn models_are_listed_tested_talked_to_and_accounted_for() {
    let room = room("");
    let page = room.home.json(&["llm", "models"]);
    let provider = &page["providers"][0];
    assert_eq!(
        (&provider["name"], &provider["standing"]),
        (&json!("near"), &json!("ready"))
    );
    assert_eq!(provider["key"], "file");
    assert_eq!(page["tiers"][0]["models"], json!(["near/small"]));
    let because = page["tiers"][1]["because"].as_str().unwrap();
    assert!(
        because.contains("`llm.default` is empty, so `llm.premium`"),
        "{because}"
    );

    room.model.reply(Reply::new().text("ready"));
    let tested = room.home.json(&["llm", "test", "near/small"]);
    assert_eq!(tested["said"], "ready");

    room.model
        .reply(Reply::new().text("A lease is held for a while."));
    let said = room.home.json(&["llm", "chat", "what is a lease?"]);
    assert_eq!(said["reply"], "A lease is held for a while.");
    assert_eq!(said["model"], "near/small");
    let session = said["session"].as_str().unwrap();
    room.model.reply(Reply::new().text("Then it ends."));
    room.home
        .json(&["llm", "chat", "--session", session, "and then?"]);
    let asked = room.model.turns().last().unwrap().clone();
    assert!(
        asked
            .body
            .to_string()
            .contains("A lease is held for a while."),
        "it has forgotten"
    );
    assert_eq!(asked.key.as_deref(), Some(KEY));
    let shown = room.home.json(&["llm", "chat", "--show", session]);
    assert_eq!(shown["messages"].as_array().unwrap().len(), 4);
    assert_eq!(
        room.home.json(&["llm", "chat", "--list"])["sessions"][0]["session"],
        session
    );

    let trace = room.home.json(&["llm", "trace"]);
    let requests = trace["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 3);
    assert!(
        requests.iter().all(|one| one["outcome"] == "answered"),
        "{trace}"
    );
    assert!(
        requests.iter().all(|one| one["prompt"].is_null()),
        "nothing is kept: {trace}"
    );
    let used = room.home.json(&["llm", "usage"]);
    assert_eq!(used["models"][0]["requests"], 3, "{used}");
    // People see a table, and nobody is shown the key.
    for command in [
        &["llm", "models"][..],
        &["llm", "trace"],
        &["llm", "usage"],
        &["config", "show"],
    ] {
        let output = room.home.mission(command);
        assert!(output.status.success());
        assert!(!text(&output.stdout).contains(KEY), "{command:?}");
    }
}

#[test]
fn each_request_is_on_the_audit_by_the_digest_of_its_bytes() {
    use sha2::{Digest as _, Sha256};
    let room = room("");
    room.model.reply(Reply::new().text("Understood."));
    room.home.json(&["llm", "chat", "what is a lease?"]);
    room.model.reply(Reply::error(400));
    room.home.failure(&["llm", "chat", "and now?"]);
    let mut records = Vec::new();
    wait_for("both to be on record", || {
        records = crate::audit::records(&room.home);
        records.retain(|record| record["kind"] == "model");
        records.len() >= 2
    });
    records.sort_by_key(|record| record["seq"].as_u64());
    let asked = room.model.turns();
    assert_eq!(records.len(), asked.len(), "{records:#?}");
    for (record, asked) in records.iter().zip(&asked) {
        let sent = Sha256::digest(asked.body.to_string());
        let digest: String = sent.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(record["digest"], digest);
        assert_eq!(record["who"], json!({ "kind": "person" }));
        assert_eq!(record["action"], "near small");
        assert!(record["trace"].is_string(), "{record}");
    }
    let outcomes = records
        .iter()
        .map(|record| record["outcome"].as_str().unwrap());
    let outcomes: Vec<_> = outcomes.collect();
    assert_eq!(outcomes[0], "answered");
    assert!(outcomes[1].starts_with("failed: "), "{outcomes:?}");
}

#[test]
fn what_cannot_be_asked_is_refused_with_a_sentence() {
    let room = room("day_usd = 1.0");
    for (command, words) in [
        (
            &["llm", "test", "small"][..],
            "is not written as provider/model",
        ),
        (&["llm", "test", "far/small"], "there is no provider `far`"),
        (
            &["llm", "test", "near/unpriced"],
            "nobody knows what unpriced costs",
        ),
        (
            &["llm", "chat", "--session", "chat_0", "hello"],
            "there is no conversation `chat_0`",
        ),
        (&["llm", "models", "far"], "there is no provider `far`"),
    ] {
        let (_, told) = room.home.failure(command);
        assert!(told.contains(words), "{command:?}: {told}");
    }
    room.model.always(Some(Reply::error(400)));
    let (_, told) = room.home.failure(&["llm", "test", "near/small"]);
    assert!(told.contains("scripted failure 400"), "{told}");
    let trace = room.home.json(&["llm", "trace"]);
    assert_eq!(trace["requests"][0]["outcome"], "failed");
    assert_eq!(trace["requests"][0]["cost_microdollars"], 0);
    assert_eq!(room.model.turns().len(), 1, "what is refused is not sent");
}

#[test]
fn a_repository_cannot_say_which_models_are_asked() {
    let room = room("");
    let repository = room.home.path().join("repository");
    std::fs::create_dir_all(repository.join(".mission")).unwrap();
    let file = repository.join(".mission/config.toml");
    let private =
        "[[llm.providers]]\nname = \"evil\"\nformat = \"chat\"\nurl = \"https://10.0.0.7\"\n";
    std::fs::write(file, private).unwrap();
    let folder = repository.display().to_string();
    let (_, told) = room
        .home
        .failure(&["task", "add", "do it", "--repository", &folder]);
    assert!(told.contains("llm"), "{told}");
    let page = room.home.json(&["llm", "models"]);
    assert_eq!(page["providers"].as_array().unwrap().len(), 1, "{page}");
}
