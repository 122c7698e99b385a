//! Programs in slots: they outlive the daemon, no byte of theirs is lost, and
//! when they are ended nothing of them is left.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use missiond_api::Client;
use missiond_api::operations::compute::{SlotParams, SlotRead};
use missiond_core::PtyState;
use missiond_pty::host::{RecordedEvent, Recording};
use serde_json::Value;

use crate::harness::{self, TestHome, wait_for};

/// What one of the agents shows before it works in a new folder.
const DIALOG: &str = "\
╭──────────────────────────────────────╮
│ Do you trust the files in this folder?
│ ❯ 1. Yes, proceed
│   2. No, exit
╰──────────────────────────────────────╯
   Enter to confirm · Esc to exit
";

pub(crate) fn spawn(home: &TestHome, name: &str, script: &str) -> Value {
    let folder = home.path().display().to_string();
    home.json(&[
        "slot", "spawn", "--name", name, "--cwd", &folder, "--", "/bin/sh", "-c", script,
    ])
}

pub(crate) fn screen(home: &TestHome, slot: &str) -> Value {
    home.json(&["slot", "read", slot])
}

pub(crate) fn text_of(screen: &Value) -> String {
    let lines = screen["lines"].as_array().unwrap();
    let lines: Vec<_> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    lines.join("\n").trim_end().to_owned()
}

pub(crate) fn wait_for_text(home: &TestHome, slot: &str, wanted: &str) -> Value {
    let mut seen = Value::Null;
    wait_for(&format!("`{wanted}` in {slot}"), || {
        seen = screen(home, slot);
        text_of(&seen).contains(wanted)
    });
    seen
}

fn pid_of(summary: &Value) -> u32 {
    u32::try_from(summary["program"]["pid"].as_u64().unwrap()).unwrap()
}

pub(crate) fn written_pid(file: &Path) -> u32 {
    let mut pid = None;
    wait_for("a process to write its number", || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        pid = text.trim().parse().ok();
        pid.is_some()
    });
    pid.unwrap()
}

pub(crate) fn recorded(path: &Path) -> Vec<u8> {
    let mut output = Vec::new();
    for event in Recording::open(path).unwrap().read().unwrap() {
        if let (_, RecordedEvent::Output(bytes)) = event.unwrap() {
            output.extend(bytes);
        }
    }
    output
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn kinds_of(home: &TestHome, slot: &Value) -> Vec<String> {
    let about = |event: &&Value| event["event"]["slot"] == slot["slot"];
    let kind = |event: &Value| event["event"]["type"].as_str().unwrap().to_owned();
    home.events().iter().filter(about).map(kind).collect()
}

#[test]
fn a_program_is_started_typed_to_interrupted_resized_and_ended() {
    let home = TestHome::started();
    let script = "trap 'echo caught' INT; echo ready $TERM; read line; echo \"got <$line>\"; \
                  while :; do sleep 0.05; stty size; done";
    let slot = spawn(&home, "work", script);
    assert_eq!(slot["engine"], "generic");
    wait_for_text(&home, "work", "ready xterm-256color");

    home.json(&["slot", "send", "work", "two words"]);
    wait_for_text(&home, "work", "got <two words>");
    wait_for_text(&home, "work", "40 120");
    home.json(&["slot", "resize", "work", "90x20"]);
    let seen = wait_for_text(&home, "work", "20 90");
    assert_eq!((&seen["columns"], &seen["rows"]), (&90.into(), &20.into()));
    home.json(&["slot", "interrupt", "work"]);
    wait_for_text(&home, "work", "caught");

    let explained = home.json(&["slot", "explain", "work"]);
    assert_eq!(explained["manifest"], "generic");
    assert!(explained["explanation"]["reading"]["state"].is_string());
    let listed = home.json(&["slot", "list"]);
    assert_eq!(listed["slots"][0]["name"], "work");

    let ended = home.json(&["slot", "kill", "work"]);
    assert_eq!(ended["outcome"], "the program was ended by signal 15");
    assert_eq!(home.json(&["slot", "list"])["slots"], Value::Array(vec![]));
    let id = slot["slot"].as_str().unwrap();
    let last = screen(&home, id);
    assert_eq!(last["reading"]["state"], "exited");
    assert!(text_of(&last).contains("20 90"), "the last screen stays");
    let (_, refusal) = home.failure(&["slot", "send", id, "hello"]);
    assert!(refusal.contains("is closed"), "{refusal}");

    let kinds = kinds_of(&home, &slot);
    assert_eq!(kinds.first().unwrap(), "slot_created");
    assert_eq!(kinds.last().unwrap(), "slot_closed");
    assert!(kinds.iter().any(|kind| kind == "pty_state_changed"));
    assert_eq!(files_in(&home.home().slots_dir()), Vec::<PathBuf>::new());
}

/// At length it has the size the promise is about: 20 programs, and the daemon
/// killed 50 times.
#[test]
fn programs_outlive_a_killed_daemon_and_no_byte_is_lost_or_doubled() {
    let home = TestHome::started();
    let stop = home.path().join("stop");
    let script = "i=0; while ! [ -e stop ]; do i=$((i+1)); echo \"line $i\"; \
                  [ $((i % 50)) = 0 ] && sleep 0.2; done; echo \"end $i\"; exec sleep 1000";
    let names: Vec<_> = (0..harness::rounds("MISSION_SLOT_HOSTS", 8, 20))
        .map(|number| format!("count-{number}"))
        .collect();
    let slots: Vec<_> = names
        .iter()
        .map(|name| spawn(&home, name, script))
        .collect();

    for _ in 0..harness::rounds("MISSION_SLOT_KILLS", 12, 50) {
        let mut client = Client::connect(&home.home()).unwrap();
        let mut read = |name: &String| {
            let slot = name.clone();
            client.call::<SlotRead>(&SlotParams { slot }).unwrap()
        };
        let before: Vec<_> = names.iter().map(|name| read(name).offset).collect();
        for (name, before) in names.iter().zip(&before) {
            wait_for("every program to be read on", || {
                let seen = read(name);
                seen.offset > *before && seen.reading.state != PtyState::Exited
            });
        }
        home.kill();
        home.start();
    }
    std::fs::write(&stop, "").unwrap();

    for (name, slot) in names.iter().zip(&slots) {
        let seen = wait_for_text(&home, name, "end ");
        assert!(missiond_pty::process_exists(pid_of(slot)), "{name} lives");
        let path = PathBuf::from(slot["program"]["recording"].as_str().unwrap());
        let output = recorded(&path);
        assert_eq!(seen["offset"].as_u64().unwrap(), output.len() as u64);
        let output = String::from_utf8(output).unwrap();
        let lines: Vec<_> = output.lines().collect();
        let (last, counted) = lines.split_last().unwrap();
        for (place, line) in counted.iter().enumerate() {
            assert_eq!(*line, format!("line {}", place + 1));
        }
        assert_eq!(*last, format!("end {}", counted.len()));
        // The last row is where the cursor waits.
        let shown = text_of(&seen);
        assert_eq!(shown, lines[lines.len() - 39..].join("\n"));
    }
    let found = home.json(&["slot", "list"]);
    let pids: BTreeSet<_> = found["slots"]
        .as_array()
        .unwrap()
        .iter()
        .map(pid_of)
        .collect();
    assert_eq!(pids, slots.iter().map(pid_of).collect());
}

#[test]
fn a_stop_leaves_programs_running_and_the_next_start_reads_them_the_same() {
    let home = TestHome::started();
    std::fs::write(home.path().join("dialog"), DIALOG).unwrap();
    let folder = home.path().display().to_string();
    let slot = home.json(&[
        "slot",
        "spawn",
        "--engine",
        "claude",
        "--name",
        "agent",
        "--cwd",
        &folder,
        "--",
        "/bin/sh",
        "-c",
        "cat dialog; exec sleep 1000",
    ]);
    wait_for("the dialog to be seen", || {
        screen(&home, "agent")["reading"]["state"] == "confirming"
    });
    let before = screen(&home, "agent");

    let stopped = home.mission(&["down"]);
    let said = crate::harness::text(&stopped.stdout);
    assert_eq!(said, "The daemon has stopped. 1 agent keeps running.");
    assert!(missiond_pty::process_exists(pid_of(&slot)));
    home.start();
    // A dialog is believed after it has stood for a moment.
    wait_for("the dialog to be seen again", || {
        screen(&home, "agent")["reading"]["state"] == "confirming"
    });
    let after = screen(&home, "agent");
    assert_eq!(after["lines"], before["lines"]);
    assert_eq!(after["offset"], before["offset"]);
}

#[test]
fn a_program_that_ends_while_no_daemon_runs_is_closed_by_the_next() {
    let home = TestHome::started();
    let script = "until [ -e go ]; do sleep 0.02; done; echo bye; exit 3";
    let slot = spawn(&home, "short", script);
    home.kill();
    std::fs::write(home.path().join("go"), "").unwrap();
    wait_for("the program to end", || {
        !missiond_pty::process_exists(pid_of(&slot))
    });
    home.start();
    wait_for("the slot to be closed", || {
        let listed = home.json(&["slot", "list"]);
        listed["slots"].as_array().unwrap().is_empty()
    });
    let closed = home.events();
    let closed = closed
        .iter()
        .find(|event| event["event"]["type"] == "slot_closed");
    let reason = closed.unwrap()["event"]["reason"].as_str().unwrap();
    assert_eq!(reason, "the program ended with status 3");
    assert!(text_of(&screen(&home, slot["slot"].as_str().unwrap())).contains("bye"));
}

#[test]
fn a_program_that_ignores_the_request_to_end_is_killed() {
    let home = TestHome::started();
    let script = "trap '' TERM HUP INT; echo ready; while :; do sleep 0.05; done";
    let slot = spawn(&home, "stubborn", script);
    wait_for_text(&home, "stubborn", "ready");
    let ended = home.json(&["slot", "kill", "stubborn", "--grace", "0.2"]);
    assert_eq!(ended["outcome"], "the program was ended by signal 9");
    assert!(!missiond_pty::process_exists(pid_of(&slot)));
}

#[test]
fn what_forks_away_from_a_program_ends_with_it() {
    let home = TestHome::started();
    let fork = "(setsid sh -c 'trap \"\" HUP; echo $$ > away; exec sleep 1000' &) ; ";
    spawn(&home, "killed", &format!("{fork} exec sleep 1000"));
    let away = written_pid(&home.path().join("away"));
    home.json(&["slot", "kill", "killed"]);
    assert!(!missiond_pty::process_exists(away), "it was killed");

    std::fs::remove_file(home.path().join("away")).unwrap();
    let wait = "until [ -e away ]; do sleep 0.02; done";
    spawn(&home, "left", &format!("{fork} {wait}"));
    let away = written_pid(&home.path().join("away"));
    wait_for("what was left running to end", || {
        !missiond_pty::process_exists(away)
    });
    wait_for("the slot to be closed", || {
        let listed = home.json(&["slot", "list"]);
        listed["slots"].as_array().unwrap().is_empty()
    });
}

#[test]
fn what_cannot_be_started_is_said_and_leaves_nothing() {
    let home = TestHome::started();
    let plain = home.path().join("plain.txt");
    std::fs::write(&plain, "not a program").unwrap();
    let plain = plain.display().to_string();
    let cases: [(&[&str], &str); 6] = [
        (
            &["--", "no-such-program"],
            "there is no program `no-such-program`",
        ),
        (&["--", &plain], "may not be run"),
        (
            &["--cwd", "/no/such/folder", "--", "sh"],
            "the folder /no/such/folder cannot be used",
        ),
        (&["--cwd", &plain, "--", "sh"], "is not a folder"),
        (&["--name", "a b", "--", "sh"], "is not a slot name"),
        (
            &["--env", "NOT_SET_ANYWHERE", "--", "sh"],
            "cannot be passed on",
        ),
    ];
    for (args, wanted) in cases {
        let args = [&["slot", "spawn"], args].concat();
        let (_, message) = home.failure(&args);
        assert!(message.contains(wanted), "{args:?}: {message}");
    }
    let (_, message) = home.failure(&["slot", "read", "nobody"]);
    assert!(message.contains("no slot is called `nobody`"), "{message}");

    spawn(&home, "twice", "sleep 1000");
    let (code, message) = home.failure(&["slot", "spawn", "--name", "twice", "--", "sh"]);
    assert!(
        message.contains("a slot named twice is already open"),
        "{message}"
    );
    assert_eq!(code, 5);
    home.json(&["slot", "kill", "twice"]);

    assert_eq!(files_in(&home.home().slots_dir()), Vec::<PathBuf>::new());
    assert_eq!(files_in(&home.home().recordings_dir()).len(), 1);
    let all = home.json(&["slot", "list", "--all"]);
    assert_eq!(all["slots"].as_array().unwrap().len(), 1);
}

#[test]
fn a_program_that_ends_at_once_has_run_and_is_found_by_its_name() {
    let home = TestHome::started();
    for round in 0..5 {
        let word = format!("word-{round}");
        let argv = ["slot", "spawn", "--name", "brief", "--", "echo", &word];
        assert_eq!(home.json(&argv)["name"], "brief");
        wait_for("the slot to be closed", || {
            home.json(&["slot", "list"])["slots"] == serde_json::json!([])
        });
        // Of several that bore the name, the last one.
        assert!(text_of(&home.json(&["slot", "read", "brief"])).contains(&word));
    }
}

#[test]
fn what_a_slot_keeps_is_private_and_its_environment_is_short() {
    let home = TestHome::new();
    let output = home
        .command(&["daemon", "start"])
        .env("SOME_SECRET", "from the daemon")
        .output()
        .unwrap();
    assert!(output.status.success());
    let folder = home.path().display().to_string();
    let slot = home.json(&[
        "slot",
        "spawn",
        "--env",
        "GIVEN=1",
        "--cwd",
        &folder,
        "--",
        "/bin/sh",
        "-c",
        "env | cut -d= -f1 | sort | tr '\\n' ' '; echo; sleep 1000",
    ]);
    let name = slot["name"].as_str().unwrap();
    let seen = text_of(&wait_for_text(&home, name, "TERM"));
    assert!(seen.contains("GIVEN"), "{seen}");
    assert!(!seen.contains("SOME_SECRET"), "{seen}");
    assert!(!seen.contains("MISSION_HOME"), "{seen}");

    let kept = [
        files_in(&home.home().slots_dir()),
        files_in(&home.home().recordings_dir()),
    ];
    assert_eq!(kept.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    for file in kept.iter().flatten() {
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}
