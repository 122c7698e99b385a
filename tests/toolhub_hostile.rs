//! Servers that break the protocol in every way we know: the caller gets the
//! right result or a clear error, and the hub serves the next one as before.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{TestHome, binary, text, wait_for};

/// The server of `tests/fake_mcp_server`.
pub(crate) fn fake_server() -> PathBuf {
    let folder = binary().parent().unwrap().join("examples");
    let program = folder.join("fake_mcp_server");
    assert!(
        program.exists(),
        "`cargo build -p mission --examples` builds {}",
        program.display()
    );
    program
}

/// A list with one server for each trick, named after it.
pub(crate) fn list_tricks(home: &TestHome, tricks: &[(&str, &str)]) {
    let mut list = String::new();
    for (trick, more) in tricks {
        let args = json!([trick, more]);
        list += &format!(
            "[servers.{trick}]\ncommand = {}\nargs = {args}\n",
            json!(fake_server())
        );
    }
    write_list(home, &list);
}

pub(crate) fn write_list(home: &TestHome, list: &str) {
    let file = home.home().config_dir().join("mcp.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, list).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(file, mode).unwrap();
}

pub(crate) fn call(home: &TestHome, tool: &str, arguments: &Value) -> Value {
    home.json(&["mcp", "call-tool", tool, &arguments.to_string()])
}

pub(crate) fn result_text(result: &Value) -> &str {
    result["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"))
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Tricks that must not keep a call from its right answer.
#[test]
fn odd_servers_are_understood() {
    let home = TestHome::new();
    let tricks = [
        "plain",
        "modern",
        "banner",
        "notice-first",
        "split",
        "wrong-id",
        "twice",
        "no-id",
        "exit-on-discover",
        "silent-to-discover",
        "stderr-flood",
        "same-name",
    ];
    list_tricks(&home, &tricks.map(|trick| (trick, "")));
    home.start();
    for trick in tricks {
        for word in ["one", "two"] {
            let result = call(&home, &format!("{trick}__echo"), &json!({"text": word}));
            assert!(
                result_text(&result).starts_with(&format!("{word} of ")),
                "{trick}: {result}"
            );
        }
    }
    let servers = home.json(&["mcp", "list-servers"]);
    for server in servers["servers"].as_array().unwrap() {
        assert_eq!(server["state"], "ready", "{server}");
        assert_eq!(server["starts"], 1, "{server}");
    }
    let flooded = servers["servers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|server| server["name"] == "stderr-flood")
        .unwrap();
    let last = flooded["stderr"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .as_str()
        .unwrap();
    assert!(
        last.contains("line 19999") && !last.contains('\u{1b}'),
        "{last}"
    );
    let stats = home.json(&["daemon", "stats"]);
    assert_eq!(stats["servers_connected"], tricks.len());
    assert_eq!(stats["servers_healthy"], tricks.len());
}

/// Tricks that must become a clear error, after which the hub is well.
#[test]
fn broken_servers_become_clear_errors() {
    let home = TestHome::new();
    let tricks = [
        ("huge", "more than 4 MB"),
        ("no-newline", "did not answer"),
        ("hang", "did not answer"),
        ("exit-mid-call", "Whether it was carried out is unknown"),
        ("not-an-object", "the answer is no object"),
        ("rpc-error", "refused `tools/call`"),
        ("exit-at-once", "the license has expired"),
        ("endless-pages", "a page leads to itself"),
    ];
    list_tricks(&home, &tricks.map(|(trick, _)| (trick, "")));
    for way in ["--no-daemon", "--daemon"] {
        for (trick, sentence) in tricks {
            let arguments = json!({"text": "x"}).to_string();
            let args = [
                "mcp",
                way,
                "call-tool",
                &format!("{trick}__echo"),
                &arguments,
                "--timeout",
                "3",
            ];
            let (code, error) = home.failure(&args);
            assert!(error.contains(sentence), "{way} {trick}: {error}");
            assert!(!error.contains("\u{1b}[2J"), "{trick}: {error}");
            assert!(matches!(code, 1 | 6 | 9), "{way} {trick}: {code}");
        }
    }
    // The hub is well: another server is served, and the broken ones are named.
    list_tricks(&home, &[("plain", ""), ("exit-at-once", "")]);
    assert!(
        result_text(&call(&home, "plain__echo", &json!({"text": "still"}))).starts_with("still of")
    );
    let listed = home.json(&["mcp", "list-servers"]);
    let names: Vec<_> = listed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| server["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["exit-at-once", "plain"]);
    let failed = home.mission(&["mcp", "call-tool", "plain__echo", "{\"text\": 1}"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(text(&failed.stderr).contains("`text` must be string, not number"));
}

#[test]
fn a_tool_that_says_it_failed_is_a_result_and_not_a_success() {
    let home = TestHome::new();
    list_tricks(&home, &[("tool-error", "")]);
    for way in ["--no-daemon", "--daemon"] {
        let output = home.mission(&[
            "mcp",
            way,
            "call-tool",
            "tool-error__echo",
            "{\"text\": \"x\"}",
        ]);
        assert_eq!(
            (output.status.code(), text(&output.stdout).as_str()),
            (Some(1), "it broke")
        );
    }
    // It is recorded beside the answer, which does not wait for it.
    let mut called = None;
    wait_for("the call on the timeline", || {
        let is_call = |event: &Value| event["event"]["type"] == "mcp_tool_called";
        called = home.events().into_iter().find(is_call);
        called.is_some()
    });
    let called = called.unwrap();
    assert_eq!(called["event"]["outcome"], "tool_error");
    assert_eq!(called["event"]["server"], "tool-error");
}

#[test]
fn a_server_that_keeps_dying_is_left_alone_and_says_so() {
    let home = TestHome::new();
    list_tricks(&home, &[("exit-at-once", "")]);
    home.start();
    let ask = || {
        home.failure(&[
            "mcp",
            "call-tool",
            "exit-at-once__echo",
            "{\"text\": \"x\"}",
        ])
        .1
    };
    let mut errors = Vec::new();
    for _ in 0..7 {
        errors.push(ask());
    }
    assert!(errors[0].contains("did not start"), "{errors:?}");
    assert!(
        errors[6].contains("keeps failing and is left alone"),
        "{errors:?}"
    );
    let server = home.json(&["mcp", "list-servers"])["servers"][0].clone();
    assert_eq!(server["state"], "parked");
    wait_for("the incident", || {
        let open = home.json(&["incident", "list"]);
        open["incidents"]
            .as_array()
            .unwrap()
            .iter()
            .any(|incident| incident["kind"] == "mcp_server_parked")
    });
    // A person who has mended it need not wait.
    write_list(
        &home,
        &format!(
            "[servers.exit-at-once]\ncommand = {}\nargs = [\"plain\"]\n",
            json!(fake_server())
        ),
    );
    assert!(
        result_text(&call(
            &home,
            "exit-at-once__echo",
            &json!({"text": "mended"})
        ))
        .starts_with("mended")
    );
}

/// Whatever a server starts ends with it: when it is stopped, when the daemon
/// stops, when the daemon is killed, and after a call without a daemon.
#[test]
fn nothing_of_a_server_is_left_behind() {
    let home = TestHome::new();
    let record = home.path().join("litter");
    let littered = record.display().to_string();
    list_tricks(&home, &[("litter", &littered), ("ignores-end", "")]);
    let pids = || std::fs::read_to_string(&record).unwrap_or_default();
    let all_gone = |what: &str| {
        wait_for(what, || {
            !pids().is_empty() && pids().lines().all(|pid| !is_alive(pid))
        });
        std::fs::remove_file(&record).unwrap();
    };
    let arguments = "{\"text\": \"x\"}";
    home.json(&["mcp", "--no-daemon", "call-tool", "litter__echo", arguments]);
    all_gone("what a call without a daemon left");
    home.start();
    call(&home, "litter__echo", &json!({"text": "x"}));
    home.json(&["mcp", "health", "litter", "--stop"]);
    all_gone("what a stopped server left");
    call(&home, "litter__echo", &json!({"text": "x"}));
    let stubborn = call(&home, "ignores-end__echo", &json!({"text": "x"}));
    let stubborn = result_text(&stubborn)
        .rsplit(' ')
        .next()
        .unwrap()
        .to_owned();
    assert!(is_alive(&stubborn));
    home.json(&["daemon", "stop"]);
    all_gone("what a stopped daemon left");
    wait_for("the stubborn server to be gone", || !is_alive(&stubborn));
    home.start();
    call(&home, "litter__echo", &json!({"text": "x"}));
    home.kill();
    all_gone("what a killed daemon left");
}

#[test]
fn a_server_has_no_variable_it_was_not_given() {
    let home = TestHome::new();
    let list = format!(
        "[servers.environment]\ncommand = {}\nargs = [\"environment\"]\nenv = {{ GIVEN = \"${{SOME_SECRET}}\" }}\npass_env = [\"PASSED\"]\n",
        json!(fake_server())
    );
    write_list(&home, &list);
    let mut command = home.command(&[
        "--json",
        "mcp",
        "--no-daemon",
        "call-tool",
        "environment__echo",
        "{\"text\": \"x\"}",
    ]);
    command
        .env("SOME_SECRET", "s3cret")
        .env("PASSED", "1")
        .env("SSH_AUTH_SOCK", "/run/x");
    let output = command.output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let names: Vec<_> = result_text(&result).split(' ').collect();
    assert!(
        names.contains(&"GIVEN") && names.contains(&"PASSED") && names.contains(&"PATH"),
        "{names:?}"
    );
    for hidden in ["SOME_SECRET", "SSH_AUTH_SOCK", "MISSION_HOME"] {
        assert!(!names.contains(&hidden), "{names:?}");
    }
}

#[test]
fn a_changed_tool_is_held_until_it_is_accepted() {
    let home = TestHome::new();
    let manifest = home.path().join("description");
    std::fs::write(&manifest, "Say it again.").unwrap();
    list_tricks(&home, &[("changes", &manifest.display().to_string())]);
    home.start();
    call(&home, "changes__echo", &json!({"text": "first"}));
    call(&home, "changes__echo", &json!({"text": "change"}));
    let refused = || home.failure(&["mcp", "call-tool", "changes__echo", "{\"text\": \"x\"}"]);
    let (code, error) = refused();
    assert_eq!(code, 6, "{error}");
    assert!(
        error.contains("is held: it has changed since it was accepted"),
        "{error}"
    );
    // Neither a new process of the server nor a new daemon forgets.
    home.json(&["mcp", "health", "changes", "--restart"]);
    assert_eq!(refused().0, 6);
    home.json(&["daemon", "restart"]);
    assert_eq!(refused().0, 6);
    let without = home.failure(&[
        "mcp",
        "--no-daemon",
        "call-tool",
        "changes__echo",
        "{\"text\": \"x\"}",
    ]);
    assert_eq!(without.0, 6);
    let listed = home.json(&["mcp", "list-tools", "changes"]);
    assert_eq!(
        listed["tools"][0]["held"],
        "it has changed since it was accepted"
    );
    assert_eq!(home.json(&["mcp", "list-servers"])["servers"][0]["held"], 2);
    let accepted = home.json(&["mcp", "pin", "changes"]);
    assert_eq!(accepted["accepted"], json!(["echo", "slow"]));
    call(&home, "changes__echo", &json!({"text": "accepted"}));
    let list = std::fs::read_to_string(home.home().config_dir().join("mcp.toml")).unwrap();
    assert!(!list.contains("enabled"), "the list was written to: {list}");
}
