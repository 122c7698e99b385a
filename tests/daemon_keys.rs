//! Keys that say whether there is a daemon, where it listens and writes, how often it looks
//! after servers, and what its log says of calls.

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use missiond_daemon::Instance;
use serde_json::{Value, json};

use crate::harness::{TestHome, text, wait_for};
use crate::toolhub_hostile::{call, list_tricks, result_text};

/// A folder for a socket or a log, open as `mode` says.
fn folder(home: &TestHome, name: &str, mode: u32) -> PathBuf {
    let folder = home.path().join(name);
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
    folder
}

fn socket_at(home: &TestHome, place: &Path) {
    home.write_config(&format!("[ipc]\nsocket_path = {}\n", json!(place)));
}

fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

fn runs(home: &TestHome) -> bool {
    Instance::is_held(&home.home()).unwrap()
}

#[test]
fn a_socket_elsewhere_is_found_by_every_client() {
    let home = TestHome::new();
    let private = folder(&home, "private", 0o700);
    let (first, second) = (private.join("first.sock"), private.join("second.sock"));
    socket_at(&home, &first);
    let pid = home.start();
    assert!(is_socket(&first));
    assert_eq!(home.json(&["daemon", "status"])["socket"], json!(first));
    let answer = home.greeted().ask(1, "health", &json!({}));
    assert_eq!(
        answer["result"]["healthy"], true,
        "through the name in the run folder"
    );

    // A new value waits for a restart, and until then the daemon is where it is.
    socket_at(&home, &second);
    assert_eq!(home.json(&["daemon", "status"])["pid"], pid);
    home.json(&["daemon", "restart"]);
    assert!(is_socket(&second) && !first.exists());
    assert_eq!(home.json(&["daemon", "status"])["socket"], json!(second));

    home.kill();
    let (code, message) = home.failure(&["--no-start", "timeline", "query"]);
    assert_eq!(code, 3, "{message}");
    assert!(message.contains("second.sock"), "{message}");
    home.start();
    home.json(&["daemon", "stop"]);
    assert!(!second.exists() && !home.home().socket().is_symlink());
}

#[test]
fn a_short_socket_path_serves_a_home_whose_own_is_too_long() {
    let outer = TestHome::new();
    let private = folder(&outer, "private", 0o700);
    let place = private.join("s");
    let long = outer.path().join("x".repeat(100));
    let config = long.join("config/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, "").unwrap();
    let mission = |args: &[&str]| {
        let mut command = outer.command(args);
        command.env("MISSION_HOME", &long).output().unwrap()
    };
    let refused = mission(&["daemon", "start"]);
    let why = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(7), "{why}");
    assert!(why.contains("set `ipc.socket_path`"), "{why}");
    std::fs::write(&config, format!("[ipc]\nsocket_path = {}\n", json!(place))).unwrap();
    let started = mission(&["daemon", "start"]);
    assert!(started.status.success(), "{}", text(&started.stderr));
    let answer = mission(&["call", "health"]);
    let stopped = mission(&["daemon", "stop", "--force"]);
    assert!(answer.status.success(), "{}", text(&answer.stderr));
    assert!(stopped.status.success(), "{}", text(&stopped.stderr));
}

#[test]
fn a_socket_is_put_in_no_folder_of_others_and_over_no_file() {
    let home = TestHome::new();
    let (open, private) = (
        folder(&home, "open", 0o755),
        folder(&home, "private", 0o700),
    );
    let file = private.join("thesis.tex");
    std::fs::write(&file, "years of work").unwrap();
    let other = TestHome::new();
    let taken = folder(&other, "private", 0o700).join("taken.sock");
    socket_at(&other, &taken);
    other.start();
    for (place, expected) in [
        (open.join("s"), "other users may enter it"),
        (file.clone(), "something that is not a socket"),
        (taken, "another program listens on it"),
    ] {
        socket_at(&home, &place);
        let (code, message) = home.failure(&["up"]);
        assert_eq!(code, 7, "{message}");
        assert!(message.contains(expected), "{message}");
        assert!(
            message.contains("mission config unset ipc.socket_path"),
            "{message}"
        );
        assert!(!runs(&home));
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "years of work");
    assert_eq!(other.json(&["call", "health"])["healthy"], true);
}

#[test]
fn a_daemon_that_is_switched_off_is_started_by_nobody() {
    let home = TestHome::with_config("[daemon]\nenabled = false\n");
    for command in [
        &["timeline", "query"][..],
        &["up"],
        &["daemon", "start"],
        &["daemon", "run"],
        &["mcp", "--daemon", "list-servers"],
    ] {
        let (code, message) = home.failure(command);
        assert_eq!(code, 7, "{command:?}: {message}");
        assert!(message.contains("`daemon.enabled` is false"), "{message}");
        assert!(
            message.contains("`mission config unset daemon.enabled`"),
            "{message}"
        );
        assert!(!runs(&home), "{command:?}");
    }
    list_tricks(&home, &[("plain", "")]);
    let called = call(&home, "plain__echo", &json!({"text": "hi"}));
    assert!(result_text(&called).starts_with("hi of"), "{called}");
    assert!(!runs(&home), "the server was called without a daemon");

    home.json(&["config", "unset", "daemon.enabled"]);
    let pid = home.start();
    home.json(&["config", "set", "daemon.enabled", "false"]);
    let (code, message) = home.failure(&["daemon", "restart"]);
    assert_eq!(code, 7, "{message}");
    assert!(message.contains("what runs was left alone"), "{message}");
    assert_eq!(home.pid(), pid);
}

#[test]
fn commands_start_the_daemon_by_themselves_unless_that_is_switched_off() {
    let home = TestHome::with_config("[daemon]\nauto_start = false\n");
    let (code, message) = home.failure(&["timeline", "query"]);
    assert_eq!(code, 3, "{message}");
    assert!(
        message.contains("`daemon.auto_start` is false"),
        "{message}"
    );
    list_tricks(&home, &[("plain", "")]);
    call(&home, "plain__echo", &json!({"text": "hi"}));
    assert!(!runs(&home), "the server was called without a daemon");
    home.json(&["up"]);
    home.json(&["timeline", "query"]);
    home.json(&["daemon", "stop"]);

    home.write_config("");
    let direct = home
        .command(&["mcp", "list-servers"])
        .env("MISSION_NO_START", "1")
        .output();
    assert!(direct.unwrap().status.success());
    assert!(!runs(&home));
    call(&home, "plain__echo", &json!({"text": "hi"}));
    assert!(
        runs(&home),
        "a call of a tool starts it as every command does"
    );
}

#[test]
fn the_log_is_where_the_configuration_wants_it() {
    let home = TestHome::new();
    let log = home.path().join("elsewhere/logs");
    home.write_config(&format!("[log]\ndirectory = {}\n", json!(log)));
    home.start();
    let file = log.join("daemon.log");
    wait_for("the log to be written", || {
        std::fs::read_to_string(&file).is_ok_and(|log| log.contains("daemon ready"))
    });
    assert!(!home.home().log_file().exists());
    assert_eq!(home.json(&["daemon", "status"])["log_file"], json!(file));
    let shown = text(&home.mission(&["logs"]).stdout);
    assert!(shown.contains("daemon ready"), "{shown}");
    let unit = home.json(&["daemon", "install", "--print", "--manager", "launchd"]);
    assert!(
        unit["unit"].as_str().unwrap().contains("elsewhere/logs"),
        "{unit}"
    );
    home.json(&["daemon", "stop"]);

    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o777)).unwrap();
    let (_, message) = home.failure(&["daemon", "start"]);
    assert!(message.contains("other users may write there"), "{message}");
    assert!(
        message.contains("mission config unset log.directory"),
        "{message}"
    );
}

#[test]
fn servers_are_asked_for_a_sign_of_life_as_often_as_configured() {
    let home = TestHome::with_config("[daemon]\nhealth_check_secs = 1\n");
    let asked = home.path().join("asked");
    list_tricks(&home, &[("pinged", asked.to_str().unwrap())]);
    home.start();
    call(&home, "pinged__echo", &json!({"text": "hi"}));
    wait_for("three signs of life", || {
        std::fs::read_to_string(&asked)
            .unwrap_or_default()
            .lines()
            .count()
            >= 3
    });
}

/// The lines that speak of calls.
fn calls(home: &TestHome) -> Vec<Value> {
    let log = std::fs::read_to_string(home.home().log_file()).unwrap();
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["message"] == "tool called")
        .collect()
}

#[test]
fn the_log_names_the_tool_its_time_its_outcome_and_the_client_of_each_call() {
    let home = TestHome::new();
    list_tricks(&home, &[("plain", "")]);
    home.start();
    home.json(&["timeline", "note", "the word is s3cret"]);
    call(&home, "plain__echo", &json!({"text": "s3cret"}));
    let mut connection = home.greeted();
    connection.ask(1, "health", &json!({}));
    connection.ask(
        2,
        "board_edit",
        &json!({"task": "T-999", "title": "s3cret"}),
    );
    let written = |wanted: &str| {
        let mut found = Value::Null;
        wait_for(wanted, || {
            let line = calls(&home).into_iter().find(|line| line["tool"] == wanted);
            line.is_some_and(|line| {
                found = line;
                true
            })
        });
        assert!(found["duration_ms"].as_f64().unwrap() > 0.0, "{found}");
        found
    };
    let noted = written("timeline_note");
    assert_eq!(noted["level"], "INFO");
    assert!(
        noted["line_number"].is_u64() && noted["threadId"].is_string(),
        "{noted}"
    );
    assert_eq!(noted["success"], true);
    let client = noted["client_id"].as_str().unwrap();
    assert!(
        client.starts_with("ipc-") && client.contains(" mission "),
        "{client}"
    );
    assert_eq!(written("plain__echo")["success"], true);
    let refused = written("board_edit");
    assert_eq!(refused["success"], false, "{refused}");
    assert!(
        refused["client_id"].as_str().unwrap().ends_with(" test"),
        "{refused}"
    );
    assert!(calls(&home).iter().all(|line| line["tool"] != "health"));
    assert!(
        calls(&home)
            .iter()
            .all(|line| !line.to_string().contains("s3cret"))
    );

    home.write_config("[log]\nlevel = \"debug\"\n");
    home.json(&["daemon", "reload"]);
    connection.ask(3, "health", &json!({}));
    assert_eq!(written("health")["level"], "DEBUG");
}

#[test]
fn the_status_says_how_much_of_the_time_a_daemon_was_there() {
    let home = TestHome::started();
    let of = || home.json(&["daemon", "status"])["availability"].clone();
    let first = of();
    assert_eq!(first["up_percent"], 100.0, "{first}");
    assert_eq!(
        [&first["starts"], &first["stops"], &first["crashes"]],
        [1, 0, 0]
    );
    home.json(&["daemon", "restart"]);
    home.kill();
    home.start();
    let found = of();
    assert_eq!(
        [&found["starts"], &found["stops"], &found["crashes"]],
        [3, 1, 1]
    );
    assert!(found["up_percent"].as_f64().unwrap() < 100.0, "{found}");
    let shown = text(&home.mission(&["daemon", "status"]).stdout);
    assert!(shown.contains("1 crash cost"), "{shown}");
}
