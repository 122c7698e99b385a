//! The tool hub through the real daemon and the real command line.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use crate::harness::{TestHome, wait_for};
use crate::toolhub_hostile::{call, fake_server, list_tricks, result_text, write_list};

#[test]
fn the_list_is_kept_by_commands_and_obeyed_at_once() {
    let home = TestHome::started();
    let fake = fake_server().display().to_string();
    assert_eq!(home.json(&["mcp", "list-servers"])["servers"], json!([]));
    home.json(&[
        "mcp",
        "add",
        "mine",
        "--timeout",
        "30",
        "--",
        &fake,
        "plain",
    ]);
    assert!(result_text(&call(&home, "mine__echo", &json!({"text": "hi"}))).starts_with("hi of"));
    assert_eq!(home.failure(&["mcp", "add", "mine", "--", "x"]).0, 5);
    home.json(&["mcp", "disable", "mine"]);
    let (code, error) = home.failure(&["mcp", "call-tool", "mine__echo", "{\"text\": \"x\"}"]);
    assert_eq!(code, 5, "{error}");
    assert!(error.contains("`mission mcp enable mine`"), "{error}");
    wait_for("the disabled server to be gone", || {
        home.json(&["daemon", "stats"])["servers_connected"] == 0
    });
    home.json(&["mcp", "enable", "mine"]);
    call(&home, "mine__echo", &json!({"text": "again"}));
    home.json(&["mcp", "remove", "mine"]);
    assert_eq!(
        home.failure(&["mcp", "call-tool", "mine__echo", "{\"text\": \"x\"}"])
            .0,
        4
    );
    for wrong in ["mine", "__x", "no__tool"] {
        assert!(
            matches!(home.failure(&["mcp", "call-tool", wrong]).0, 2 | 4),
            "{wrong}"
        );
    }
}

#[test]
fn servers_of_other_clients_are_imported_once() {
    let home = TestHome::new();
    let person = home.path().join("person");
    std::fs::create_dir_all(person.join(".cursor")).unwrap();
    let servers = json!({"mcpServers": {"fake": {"command": fake_server(), "args": ["plain"]}}});
    std::fs::write(person.join(".cursor/mcp.json"), servers.to_string()).unwrap();
    let import = |more: &[&str]| {
        let args = [&["--json", "mcp", "import"], more].concat();
        let output = home
            .command(&args)
            .env("HOME", &person)
            .env_remove("XDG_CONFIG_HOME")
            .current_dir(&person)
            .output()
            .unwrap();
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        found[0]["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(import(&["--dry-run"]), "would be added");
    assert_eq!(import(&["cursor"]), "added");
    assert_eq!(import(&[]), "is there already");
    assert!(result_text(&call(&home, "fake__echo", &json!({"text": "hi"}))).starts_with("hi of"));
}

/// The server tells what it sees by starting at all.
#[cfg(target_os = "linux")]
#[test]
fn a_server_behind_a_wall_serves_and_sees_nothing_of_the_daemon() {
    let home = TestHome::new();
    let data = home.home().data_dir().display().to_string();
    let line = format!("test -n \"$MISSION_SANDBOX\" && test ! -e '{data}' && exec \"$0\" plain");
    let server = |name: &str, sandbox: &str| {
        format!(
            "[servers.{name}]\ncommand = \"sh\"\nargs = [\"-c\", {}, {}]\n\
             read = [{}]\nsandbox = \"{sandbox}\"\n",
            json!(line),
            json!(fake_server()),
            json!(fake_server().parent()),
        )
    };
    write_list(
        &home,
        &[server("walled", "guarded"), server("bare", "open")].concat(),
    );
    home.start();
    let answer = call(&home, "walled__echo", &json!({"text": "hi"}));
    assert!(result_text(&answer).starts_with("hi of"), "{answer}");
    let (code, _) = home.failure(&["mcp", "call-tool", "bare__echo", "{\"text\": \"x\"}"]);
    assert_ne!(
        code, 0,
        "outside it sees the daemon's data, and does not start"
    );
}

#[test]
fn a_server_is_started_when_needed_and_stopped_when_idle() {
    let home = TestHome::new();
    write_list(
        &home,
        &format!(
            "[servers.brief]\ncommand = {}\nargs = [\"plain\"]\nidle_secs = 1\n",
            json!(fake_server())
        ),
    );
    home.start();
    assert_eq!(
        home.json(&["mcp", "list-servers"])["servers"][0]["state"],
        "stopped"
    );
    let first = result_text(&call(&home, "brief__echo", &json!({"text": "x"}))).to_owned();
    wait_for("the idle server to stop", || {
        home.json(&["mcp", "list-servers"])["servers"][0]["state"] == "stopped"
    });
    assert_eq!(
        home.json(&["mcp", "list-servers"])["servers"][0]["reason"],
        "nobody used it"
    );
    let second = result_text(&call(&home, "brief__echo", &json!({"text": "x"}))).to_owned();
    assert_ne!(first, second, "the same process answered");
    let expected = ["starting", "ready", "stopped", "starting", "ready"];
    wait_for("every state to be on the timeline", || {
        let events = home.events();
        let changes = events
            .iter()
            .filter(|event| event["event"]["type"] == "mcp_server_state_changed");
        let states: Vec<_> = changes
            .map(|event| event["event"]["to"].as_str().unwrap())
            .collect();
        states == expected
    });
}

#[test]
fn a_caller_that_goes_away_takes_its_call_back() {
    let home = TestHome::new();
    let record = home.path().join("cancelled");
    list_tricks(&home, &[("hang", &record.display().to_string())]);
    home.start();
    home.json(&["mcp", "health", "hang"]);
    let mut connection = home.greeted();
    let params = json!({"tool": "hang__echo", "arguments": {"text": "x"}});
    connection.request(1, "mcp_tool_call", &params);
    wait_for("the call to be under way", || {
        home.json(&["mcp", "list-servers"])["servers"][0]["in_flight"] == 1
    });
    connection.send(&json!({"jsonrpc": "2.0", "method": "cancel", "params": {"id": 1}}));
    assert_eq!(connection.receive()["error"]["data"]["code"], "cancelled");
    wait_for("the server to be told", || {
        std::fs::read_to_string(&record).is_ok_and(|text| text.starts_with("cancelled "))
    });
    assert_eq!(
        home.json(&["mcp", "list-servers"])["servers"][0]["in_flight"],
        0
    );
    wait_for("the call to be on the timeline", || {
        let events = home.events();
        let mut called = events.iter().map(|event| &event["event"]);
        called.any(|event| event["type"] == "mcp_tool_called" && event["outcome"] == "cancelled")
    });
}

#[test]
fn every_page_of_tools_is_read() {
    let home = TestHome::new();
    list_tricks(&home, &[("pages", ""), ("exit-at-once", "")]);
    let output = home.mission(&["--json", "mcp", "list-tools"]);
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["pages__echo", "pages__second", "pages__third"]);
    assert_eq!(listed["failures"][0]["server"], "exit-at-once");
    assert_eq!(output.status.code(), Some(1));
}

/// A thousand calls at once over twenty servers of which five keep crashing:
/// every call is answered, and with its own answer.
#[test]
fn no_call_is_lost_and_no_answer_goes_astray() {
    const CONNECTIONS: u64 = 20;
    const CALLS: u64 = 50;
    let home = TestHome::new();
    let mut list = String::new();
    for number in 0..20 {
        let trick = if number < 5 { "crashes" } else { "many" };
        let fake = json!(fake_server());
        list += &format!("[servers.s{number}]\ncommand = {fake}\nargs = [\"{trick}\"]\n");
    }
    write_list(&home, &list);
    home.start();
    let (done, failed) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for caller in 0..CONNECTIONS {
            let (home, done, failed) = (&home, &done, &failed);
            scope.spawn(move || {
                let mut connection = home.greeted();
                let server = |number: u64| (caller * 7 + number * 3) % 20;
                let word = |number: u64| format!("word-{caller}-{number}");
                for number in 1..=CALLS {
                    let arguments = json!({"text": word(number), "ms": (caller + number) % 5});
                    let tool = format!("s{}__echo", server(number));
                    let params = json!({"tool": tool, "arguments": arguments});
                    connection.request(number, "mcp_tool_call", &params);
                }
                for _ in 0..CALLS {
                    let answer = connection.receive();
                    let number = answer["id"].as_u64().unwrap();
                    if let Some(message) = answer["error"]["message"].as_str() {
                        let server = server(number);
                        assert!(server < 5, "s{server}: {message}");
                        let clear = ["was lost", "left alone", "did not start"];
                        assert!(
                            clear.iter().any(|clear| message.contains(clear)),
                            "{message}"
                        );
                        failed.fetch_add(1, Ordering::Relaxed);
                    } else {
                        let text = result_text(&answer["result"]);
                        let own = format!("{} of ", word(number));
                        assert!(text.starts_with(&own), "{own}: {text}");
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let (done, failed) = (done.into_inner(), failed.into_inner());
    assert_eq!(u64::from(done + failed), CONNECTIONS * CALLS);
    assert!(done >= 750, "only {done} of 1000 were carried out");
    assert!(failed > 0, "nothing crashed");
    for server in home.json(&["mcp", "list-servers"])["servers"]
        .as_array()
        .unwrap()
    {
        assert_eq!(server["in_flight"], 0, "{server}");
    }
    wait_for("every call to be on the timeline", || {
        let kinds = home.kinds();
        let called = kinds.iter().filter(|kind| *kind == "mcp_tool_called");
        called.count() as u64 == CONNECTIONS * CALLS
    });
}
