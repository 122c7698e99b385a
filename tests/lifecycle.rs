//! The life of the daemon's process: start, stop, signals, crashes.

use std::process::Command;

use rustix::process::Signal;
use serde_json::json;

use crate::harness::{TestHome, error_code, text, wait_for};

#[test]
fn start_returns_when_the_daemon_answers_and_stop_when_it_is_gone() {
    let home = TestHome::new();
    assert_eq!(home.mission(&["status"]).status.code(), Some(3));
    let pid = home.start();
    assert_eq!(home.json(&["status"])["pid"], pid);
    let again = home.json(&["daemon", "start"]);
    assert_eq!(again, json!({"pid": pid, "started": false}));
    assert_eq!(
        home.json(&["daemon", "stop"]),
        json!({"stopped": true, "slots_running": 0})
    );
    assert!(!home.home().socket().exists());
    assert!(!home.home().pid_file().exists());
    assert_eq!(
        home.json(&["daemon", "stop"]),
        json!({"stopped": false, "slots_running": 0})
    );
    assert_eq!(
        home.kinds(),
        ["daemon_started", "daemon_stopped", "daemon_started"]
    );
}

#[test]
fn many_starts_at_once_make_one_daemon() {
    let home = TestHome::new();
    let starts: Vec<_> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| home.json(&["daemon", "start"])))
            .collect();
        starts
            .into_iter()
            .map(|start| start.join().unwrap())
            .collect()
    });
    let pid = home.pid();
    assert!(starts.iter().all(|start| start["pid"] == pid), "{starts:?}");
    assert_eq!(
        starts
            .iter()
            .filter(|start| start["started"] == true)
            .count(),
        1
    );
    let started = home.events();
    assert_eq!(started.len(), 1, "one daemon came up: {started:?}");
}

#[test]
fn a_killed_daemon_leaves_nothing_that_stops_the_next_one() {
    let home = TestHome::started();
    let killed = home.pid();
    home.kill();
    assert!(
        home.home().socket().exists(),
        "the dead daemon's socket is still there"
    );
    assert!(home.home().pid_file().exists());
    let pid = home.start();
    assert_ne!(pid, killed);
    wait_for("the crash to be an incident", || {
        let page = home.json(&["incident", "list"]);
        page["incidents"]
            .as_array()
            .unwrap()
            .iter()
            .any(|incident| {
                incident["kind"] == "daemon_crash"
                    && incident["summary"]
                        .as_str()
                        .unwrap()
                        .contains(&killed.to_string())
            })
    });
    let incident = home.json(&["incident", "list"])["incidents"][0]["id"].clone();
    home.json(&["incident", "resolve", incident.as_str().unwrap()]);
    assert_eq!(home.json(&["incident", "list"]), json!({"incidents": []}));
    assert_eq!(home.json(&["status"])["open_incidents"], 0);
}

#[test]
fn stop_never_signals_a_process_that_was_given_the_number_of_a_dead_daemon() {
    let home = TestHome::started();
    home.kill();
    let mut innocent = Command::new("sleep").arg("600").spawn().unwrap();
    let record = json!({
        "pid": innocent.id(),
        "daemon": missiond_core::DaemonId::generate(),
        "start_ticks": 1,
        "version": "0.1.0",
    });
    std::fs::write(home.home().pid_file(), record.to_string()).unwrap();
    assert_eq!(
        home.json(&["daemon", "stop", "--force"]),
        json!({"stopped": false, "slots_running": 0})
    );
    assert_eq!(innocent.try_wait().unwrap(), None, "it still lives");
    innocent.kill().unwrap();
    innocent.wait().unwrap();
}

#[test]
fn a_stopping_daemon_finishes_what_it_has_begun() {
    let home = TestHome::started();
    let mut waiting = home.waiting(1500);
    home.signal(Signal::TERM);
    let answer = waiting.receive();
    assert_eq!(answer["result"]["events"], json!([]), "{answer}");
    assert_eq!(waiting.try_receive(), None);
    home.wait_until_gone();
    assert!(!home.home().socket().exists());
}

#[test]
fn a_second_stop_waits_with_the_first() {
    let home = TestHome::started();
    let mut waiting = home.waiting(1500);
    home.signal(Signal::TERM);
    wait_for("the daemon to drain", || {
        missiond_api::Client::connect(&home.home()).is_err()
    });
    assert_eq!(home.json(&["daemon", "stop"])["stopped"], true);
    let answer = waiting.receive();
    assert_eq!(answer["result"]["events"], json!([]), "{answer}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_daemon_that_is_stuck_is_named_and_can_be_ended() {
    let home = TestHome::started();
    home.signal(Signal::STOP);
    // Each thread stops when it next looks: until then one may still answer.
    let threads = format!("/proc/{}/task", home.pid());
    wait_for("every thread to stop", || {
        std::fs::read_dir(&threads).unwrap().all(|thread| {
            let stat = std::fs::read_to_string(thread.unwrap().path().join("stat")).unwrap();
            stat[stat.rfind(')').unwrap()..].starts_with(") T")
        })
    });
    let (code, message) = home.failure(&["daemon", "stats"]);
    assert_eq!(code, 3, "{message}");
    assert!(message.contains("it is stuck or suspended"), "{message}");
    assert!(
        message.contains("`mission daemon stop --force` ends it"),
        "{message}"
    );
    home.json(&["daemon", "stop", "--force"]);
}

#[test]
fn a_request_that_does_not_end_holds_up_the_stop_only_so_long() {
    let home = TestHome::with_config("[daemon]\ndrain_secs = 1\n");
    home.start();
    let mut waiting = home.waiting(50000);
    home.json(&["daemon", "stop"]);
    assert_eq!(waiting.try_receive(), None);
    assert_eq!(
        home.kinds(),
        ["daemon_started", "daemon_stopped", "daemon_started"],
        "it closed in order"
    );
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let home = TestHome::new();
    let mut daemon = home.command(&["daemon", "run", "--json"]).spawn().unwrap();
    wait_for("the daemon to answer", || {
        missiond_api::Client::connect(&home.home()).is_ok()
    });
    let mut waiting = home.waiting(50000);
    home.signal(Signal::TERM);
    wait_for("the daemon to drain", || {
        missiond_api::Client::connect(&home.home()).is_err()
    });
    // Not the same request arriving twice, but somebody who insists.
    let mut status = None;
    wait_for("the daemon to end", || {
        home.signal(Signal::TERM);
        status = daemon.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(143));
    assert_eq!(
        waiting.try_receive(),
        None,
        "the request under way was cut off"
    );
    // Nothing was half-written: the next daemon comes up and finds the crash.
    home.start();
}

#[test]
fn a_reload_reads_the_configuration_again_and_a_signal_does_not() {
    let home = TestHome::started();
    let value = |key: &str| {
        let report = home.json(&["config", "show"]);
        let keys = report["keys"].as_array().unwrap();
        keys.iter().find(|entry| entry["key"] == key).unwrap()["value"].clone()
    };
    assert_eq!(value("log.level"), "\"info\"");
    home.write_config(
        "[log]\nlevel = \"debug\"\nmax_files = 3\n[http]\nenabled = false\n\
         requests_per_second = 150\n",
    );
    home.signal(Signal::HUP);
    wait_for("the signal to be refused", || {
        text(&home.mission(&["--json", "logs"]).stdout).contains("SIGHUP received")
    });
    assert_eq!(value("log.level"), "\"info\"");
    home.json(&["daemon", "reload"]);
    assert_eq!(value("log.level"), "\"debug\"");
    assert_eq!(value("http.requests_per_second"), "150");
    assert_eq!(value("http.enabled"), "true", "needs a restart");
    assert_eq!(
        value("log.max_files"),
        "5",
        "needs a restart, so the old value is in force"
    );

    home.write_config("[log]\nlevle = \"debug\"\n");
    let (code, message) = home.failure(&["daemon", "reload"]);
    assert_eq!(code, 7, "{message}");
    assert!(message.contains("line 2: unknown key `log.levle`; did you mean `log.level`?"));
    assert_eq!(
        value("log.level"),
        "\"debug\"",
        "the old configuration stays"
    );
    wait_for("the refusal to be an incident", || {
        home.json(&["incident", "list"])["incidents"][0]["kind"] == "config_rejected"
    });

    home.write_config("[log]\nlevel = \"info\"\n");
    home.json(&["daemon", "reload"]);
    wait_for("the incident to be over", || {
        let list = home.json(&["incident", "list"]);
        list["incidents"].as_array().unwrap().is_empty()
    });
}

#[test]
fn a_command_starts_the_daemon_unless_told_not_to() {
    let home = TestHome::new();
    let (code, message) = home.failure(&["--no-start", "timeline", "query"]);
    assert_eq!(code, 3);
    assert!(message.contains("`mission up` starts it"), "{message}");
    let output = home
        .command(&["timeline", "query"])
        .env("MISSION_NO_START", "1")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(
        home.json(&["timeline", "query"])["events"][0]["event"]["type"],
        "daemon_started"
    );
}

#[test]
fn everything_on_disk_is_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = TestHome::started();
    home.json(&["timeline", "note", "hello"]);
    let mut open = vec![home.path().to_owned()];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = std::fs::symlink_metadata(&path).unwrap();
            let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
            let mode = metadata.permissions().mode() & 0o777;
            assert_eq!(mode, expected, "{} has mode {mode:o}", path.display());
            seen += 1;
            if metadata.is_dir() {
                open.push(path);
            }
        }
    }
    assert!(
        seen >= 8,
        "config, data, run, logs, database, log, socket, lock and PID file"
    );
}

#[test]
fn a_process_of_another_user_is_turned_away() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        eprintln!("only root can become another user: nothing to see here");
        return;
    }
    let home = TestHome::started();
    let open = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    // As if the folder's permissions had been opened by mistake: the peer check
    // is the second lock.
    open(home.path(), 0o755);
    open(home.home().run_dir(), 0o755);
    open(&home.home().socket(), 0o666);
    let copy = home.path().join("mission");
    std::fs::copy(crate::harness::binary(), &copy).unwrap();
    open(&copy, 0o755);
    let output = Command::new(&copy)
        .args(["--no-start", "call", "health"])
        .env("MISSION_HOME", home.path())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("serves only the user who runs it"));
    let mut connection = home.greeted();
    let answer = connection.ask(1, "no_such_thing", &json!({}));
    assert_eq!(
        error_code(&answer),
        "unknown_operation",
        "the owner is served as before"
    );
}
