//! The vendors' own clients through the gateway, started as agents are: streaming, a
//! tool, a picture, an error. `cargo xtask clis` installs them into `target/sdks`;
//! MISSION_TEST_SKIP_CLIS leaves these tests out.

use std::path::Path;

use missiond_model_server::{ModelServer, Reply};
use serde_json::{Value, json};

use crate::harness::{TestHome, binary, wait_for};

const KEY: &str = "sk-of-the-provider-0042";

#[test]
fn the_client_of_anthropic_goes_through_the_gateway() {
    let Some(got) = through("claude", "anthropic") else {
        return;
    };
    assert_eq!(got["stop"], "end_turn");
    assert_eq!(got["counted"], 100);
}

#[test]
fn the_client_of_openai_goes_through_the_gateway() {
    if let Some(got) = through("codex", "responses") {
        assert_eq!(got["stop"], "completed");
    }
}

#[test]
fn the_client_of_google_goes_through_the_gateway() {
    if let Some(got) = through("gemini", "gemini") {
        assert_eq!(got["stop"], "STOP");
    }
}

fn through(engine: &str, format: &str) -> Option<Value> {
    if std::env::var_os("MISSION_TEST_SKIP_CLIS").is_some_and(|value| !value.is_empty()) {
        eprintln!("the clients are left out: MISSION_TEST_SKIP_CLIS is set");
        return None;
    }
    let binary = binary();
    let modules = binary.parent().and_then(Path::parent).unwrap().join("sdks");
    assert!(
        modules.join("node_modules").is_dir(),
        "the vendors' clients are not installed: run `cargo xtask clis`, or set \
         MISSION_TEST_SKIP_CLIS=1 to leave these tests out"
    );
    let model = ModelServer::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::create_dir(place("bin")).unwrap();
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sdks/client.mjs");
    let script = format!(
        "#!/bin/sh\nexec node {:?} \"$@\"\n",
        client.canonicalize().unwrap()
    );
    executable(&place("bin").join(engine), &script, 0o700);
    executable(&place("key"), KEY, 0o600);
    let told = json!({"modules": modules, "output": place("output.json")});
    std::fs::write(place("told.json"), told.to_string()).unwrap();

    let home = TestHome::with_config(&format!(
        "[llm]\nengines = [\"{engine}\"]\nfind_ollama = false\n[[llm.providers]]\n\
         name = \"scripted\"\nformat = \"{format}\"\nurl = \"{}\"\nkey_file = {:?}\n",
        model.url(),
        place("key"),
    ));
    home.start();
    model.reply(Reply::new().text("The picture shows a harbour, with lights that are green."));
    model.reply(Reply::new().call("weather", json!({"city": "Köln"})));
    model.reply(Reply::error(400));
    let path = format!(
        "--env=PATH={}:{}",
        place("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let sdk_test = format!("--env=SDK_TEST={}", place("told.json").display());
    let cwd = folder.path().display().to_string();
    let run = [
        "run",
        "go",
        "--engine",
        engine,
        "--control",
        "terminal",
        "--trust",
        "--no-context",
        "--cwd",
        &cwd,
        &path,
        &sdk_test,
    ];
    let started = home.json(&run);
    wait_for("the client to be done", || place("output.json").exists());
    let mut got = Value::Null;
    wait_for("all of what it wrote", || {
        got = serde_json::from_slice(&std::fs::read(place("output.json")).unwrap())
            .unwrap_or_default();
        !got.is_null()
    });
    assert_eq!(
        got["text"], "The picture shows a harbour, with lights that are green.",
        "{got}"
    );
    assert!(
        got["pieces"].as_u64().unwrap() > 1,
        "it came at once: {got}"
    );
    assert_eq!(
        (&got["tool"], &got["arguments"]),
        (&json!("weather"), &json!({"city": "Köln"})),
        "{got}"
    );
    assert_eq!(got["output"], 20, "{got}");
    let error = got["error"].as_str().unwrap();
    assert!(
        error.contains("400") && error.contains("scripted failure 400"),
        "{error}"
    );
    let received = model.received();
    assert!(
        received[0].body.to_string().contains("aW1n"),
        "the picture: {}",
        received[0].body
    );
    assert!(received.iter().all(|one| one.key.as_deref() == Some(KEY)));

    let execution = started["execution"].as_str().unwrap();
    let trace = || home.json(&["llm", "trace", "--execution", execution]);
    wait_for("the requests to be settled", || {
        let trace = trace();
        let requests = trace["requests"].as_array().unwrap();
        requests.len() == 3 && requests.iter().all(|one| !one["outcome"].is_null())
    });
    let requests = trace();
    let told = |field: &str| -> Vec<Value> {
        let requests = requests["requests"].as_array().unwrap();
        requests
            .iter()
            .rev()
            .map(|one| one[field].clone())
            .collect()
    };
    assert_eq!(told("outcome"), ["answered", "answered", "failed"]);
    // Each is on the audit as the agent's, which had no key to send it by itself.
    let mut records = Vec::new();
    wait_for("the audit", || {
        records = crate::audit::records(&home);
        records.retain(|record| record["kind"] == "model");
        records.len() >= 3
    });
    records.sort_by_key(|record| record["seq"].as_u64());
    let who = json!({"kind": "agent", "execution": execution});
    assert!(records.iter().all(|one| one["who"] == who), "{records:#?}");
    assert!(records.iter().all(|one| one["digest"].is_string()));
    let outcomes = records.iter().map(|one| one["outcome"].as_str().unwrap());
    let outcomes: Vec<_> = outcomes.collect();
    assert_eq!(outcomes[..2], ["answered", "answered"]);
    assert!(outcomes[2].starts_with("failed: "), "{outcomes:?}");
    assert_eq!(told("stop"), [json!("end"), json!("tool"), Value::Null]);
    assert_eq!(told("output_tokens"), [json!(20), json!(20), Value::Null]);
    Some(got)
}

fn executable(file: &Path, text: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(file, text).unwrap();
    std::fs::set_permissions(file, PermissionsExt::from_mode(mode)).unwrap();
}
