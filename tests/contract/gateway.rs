//! Agents that reach their model through the daemon: no process of theirs has the key,
//! what they do is read off the wire, what they use is exact, and a budget that is spent
//! stops them with a sentence.

use std::path::Path;

use missiond_model_server::{Gate, Reply};
use serde_json::{Value, json};

use super::{Agent, Cli, KEY, Room, claude, codex, gemini};
use crate::harness::wait_for;

/// The key of the provider, which only the daemon has.
const PROVIDER_KEY: &str = "sk-only-the-daemon-has-this-key-4711";

#[test]
fn claude_code_reaches_its_model_through_the_daemon() {
    if let Some((room, cli)) = claude::prepared() {
        goes_through(&room, cli, "anthropic", "claude*");
    }
}

#[test]
fn codex_reaches_its_model_through_the_daemon() {
    if let Some((room, cli)) = codex::prepared() {
        goes_through(&room, cli, "responses", "gpt*");
    }
}

#[test]
fn gemini_cli_reaches_its_model_through_the_daemon() {
    if let Some((room, cli)) = gemini::prepared() {
        goes_through(&room, cli, "gemini", "gemini*");
    }
}

fn goes_through(room: &Room, mut cli: Cli, format: &str, models: &str) {
    // Neither a key nor where the model is: both are the daemon's.
    cli.environment
        .retain(|(name, value)| value != KEY && !name.ends_with("BASE_URL"));
    room.write("key", PROVIDER_KEY);
    let key = room.path("key");
    private(&key);
    let configure = |more: &str| {
        room.home.write_config(&format!(
            "[llm]\nengines = [\"{}\"]\nfind_ollama = false\n{more}\n\
             [[llm.providers]]\nname = \"scripted\"\nformat = \"{format}\"\nurl = \"{}\"\n\
             key_file = {key:?}\n\
             [[usage.prices]]\nmodel = \"{models}\"\ninput = 1\noutput = 10\n",
            cli.engine,
            room.model.url(),
        ));
        room.home.json(&["daemon", "reload"]);
    };
    configure("");

    let (begin, finish) = (Gate::closed(), Gate::closed());
    let first = Reply::new()
        .hold(&begin)
        .text("The answer has two lines.\n\nThis is the first one of them.\n\n");
    room.model
        .reply(first.hold(&finish).text("The second says forty-two."));
    let agent = Agent::start(&cli, room, "what is the answer", &[]);
    agent.wait_for_reading("thinking", 0);
    assert_no_process_has_the_key(room);
    begin.open();
    agent.wait_for_reading("responding", 0);
    finish.open();
    agent.wait_for_rest("forty-two");

    let shown: Vec<_> = room
        .model
        .received()
        .into_iter()
        .map(|one| one.key)
        .collect();
    assert!(!shown.is_empty());
    assert!(
        shown.iter().all(|key| key.as_deref() == Some(PROVIDER_KEY)),
        "{shown:?}"
    );

    // What it used is on record to the token, and costs 100 and 20 times 10.
    let trace = || {
        room.home
            .json(&["llm", "trace", "--execution", &agent.execution])
    };
    let step = |trace: &Value| {
        let requests = trace["requests"].as_array().unwrap();
        requests
            .iter()
            .find(|one| one["purpose"] == "agent")
            .cloned()
            .unwrap()
    };
    wait_for("the request to be settled", || {
        !step(&trace())["ended_at"].is_null()
    });
    let settled = step(&trace());
    assert_eq!(settled["outcome"], "answered", "{settled}");
    assert_eq!(settled["stop"], "end", "{settled}");
    assert_eq!(
        (&settled["input_tokens"], &settled["output_tokens"]),
        (&json!(100), &json!(20))
    );
    assert_eq!(settled["cost_microdollars"], 300, "{settled}");
    assert!(settled["first_ms"].is_u64(), "{settled}");

    // A tool, which a person allows.
    agent.writes_what_it_may();

    // Nothing more may be spent: the CLI shows the sentence, and the model hears nothing.
    configure("execution_usd = 0.0001");
    let asked = room.model.turns().len();
    let sent = room.home.json(&["execution", "message", "agent", "go on"]);
    agent.wait_for_delivery(&sent);
    agent.wait_for_text("llm.execution_usd");
    assert_eq!(room.model.turns().len(), asked);

    // The token is of this run alone, and ends with it.
    let (url, token) = way_of(room);
    assert_eq!(
        status(&url, &token),
        404,
        "an address that is not passed on"
    );
    let (all_but_one, last) = token.split_at(token.len() - 1);
    let another = if last == "0" { "1" } else { "0" };
    assert_eq!(status(&url, &format!("{all_but_one}{another}")), 401);
    let execution = agent.execution.clone();
    room.home.json(&["execution", "cancel", &execution]);
    wait_for("the end", || !agent.show()["ended_at"].is_null());
    assert_eq!(status(&url, &token), 401, "the run is over");
}

fn private(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o600)).unwrap();
}

/// The program of the slot and everything below it.
fn processes(room: &Room) -> Vec<u64> {
    let program = room.home.json(&["slot", "list"])["slots"][0]["program"]["pid"]
        .as_u64()
        .unwrap();
    let mut found = vec![program];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            let children = children.unwrap_or_default();
            found.extend(
                children
                    .split_whitespace()
                    .filter_map(|pid| pid.parse::<u64>().ok()),
            );
        }
    }
    found
}

fn assert_no_process_has_the_key(room: &Room) {
    let pids = processes(room);
    let mut tokens = 0;
    for pid in &pids {
        for file in ["environ", "cmdline"] {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(PROVIDER_KEY), "{file} of {pid}");
            if text.contains("mission-model-") {
                assert_eq!(file, "environ", "arguments are for all to see");
                tokens += 1;
            }
        }
    }
    assert!(tokens > 0, "the program has its token: {pids:?}");
}

/// Where the agent reaches the daemon, and its token, as its program has them.
fn way_of(room: &Room) -> (String, String) {
    let environment = processes(room).iter().find_map(|pid| {
        let bytes = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.contains("mission-model-").then_some(text)
    });
    let environment = environment.unwrap();
    let token = environment.split('\0').find_map(|pair| {
        let (_, value) = pair.split_once('=')?;
        value
            .starts_with("mission-model-")
            .then(|| value.to_owned())
    });
    let status = room.home.json(&["status"]);
    let http = status["http"].as_str().unwrap();
    (
        format!("{}/llm/anthropic/v1/nothing", http.trim_end_matches('/')),
        token.unwrap(),
    )
}

/// What a request with a token comes to.
fn status(url: &str, token: &str) -> u16 {
    use std::io::{Read, Write};
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let request = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
         content-length: 0\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}
