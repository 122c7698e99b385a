//! A person at a terminal that is attached to a slot: sees what the program
//! shows, types to it, leaves, and finds the terminal as it was.

use std::io::Read;
use std::time::Duration;

use missiond_pty::Terminal;
use missiond_semantic::Size;
use serde_json::{Value, json};

use crate::harness::{RawConnection, TestHome, binary, error_code, text, wait_for, wait_for_exit};
use crate::person::{Person, number, text_of};

/// `Ctrl-]`, which detaches.
const DETACH: &str = "\x1d";

fn spawn(home: &TestHome, script: &str) {
    let folder = home.path().display().to_string();
    home.json(&[
        "slot", "spawn", "--name", "work", "--cwd", &folder, "--", "/bin/sh", "-c", script,
    ]);
}

fn slot_size(home: &TestHome) -> (usize, usize) {
    let read = home.json(&["slot", "read", "work"]);
    (number(&read["columns"]), number(&read["rows"]))
}

/// Says what it reads, that it was interrupted, and its size.
const TALKER: &str = "trap 'echo caught' INT; trap 'echo \"size $(stty size)\"' WINCH; \
    echo ready; while :; do if read line; then echo \"got <$line>\"; fi; done";

#[test]
fn a_person_types_interrupts_and_resizes_while_others_watch() {
    let home = TestHome::started();
    spawn(&home, TALKER);
    let mut one = Person::attach(&home, (90, 30), &["work"]);
    one.waits_for("ready");
    one.waits_for("Ctrl-] detaches");
    one.waits_for("size 30 90");
    let mut reader = Person::attach(&home, (40, 8), &["work", "--read-only"]);
    reader.waits_for("ready");

    one.types("hello there\r");
    reader.types("not this\r");
    one.waits_for("got <hello there>");
    reader.waits_for("got <hello there>");
    one.types("\x03");
    one.waits_for("caught");
    one.resizes(70, 20);
    one.waits_for("size 20 70");
    assert_eq!(slot_size(&home), (70, 20));

    let mut other = Person::attach(&home, (100, 12), &["work", "--detach-key", "ctrl-q"]);
    other.waits_for("size 12 70");
    other.types("from the other\r");
    for person in [&one, &other, &reader] {
        person.waits_for("got <from the other>");
    }
    other.types("\x11");
    other.left_as_it_was(0);
    assert!(
        other.sees().contains("Detached. work goes on"),
        "{}",
        other.sees()
    );
    one.waits_for("size 20 70");
    one.waits_for_the_slots_screen(&home, "work");
    assert!(!one.sees().contains("not this"));
    reader.types("\x03");
    reader.left_as_it_was(0);
    one.types(DETACH);
    one.left_as_it_was(0);
    assert_eq!(slot_size(&home), (70, 20), "the size stays");
}

#[test]
fn modes_of_the_program_come_with_it_and_are_gone_afterwards() {
    let home = TestHome::started();
    spawn(
        &home,
        "stty raw -echo; printf '\\033[?1049h\\033[?2004h\\033[?1004h\\033[?1002h\\033[?1006h\\033[>1u\
         \\033[?1h\\033]2;the title\\007\\033[2J\\033[3;4H\\033[1;31mbright\\033[0m'; \
         printf '\\033[c\\033[6n\\033[?u'; exec cat > keys",
    );
    let mut person = Person::attach(&home, (80, 24), &["work"]);
    person.waits_for("bright");
    wait_for("the modes", || {
        [1, 1002, 1004, 1006, 2004]
            .iter()
            .all(|mode| person.mode_is_on(*mode))
    });
    assert_eq!(person.keyboard_flags(), "1");
    assert_eq!(person.terminal.lock().unwrap().screen().title, "the title");
    person.waits_for_the_slots_screen(&home, "work");
    // Ctrl-C, and the detach key right behind it, as a terminal sends them that
    // was told to say more about keys.
    person.types("\x1b[99;5u\x1b[93;5u");
    person.left_as_it_was(0);
    wait_for("Ctrl-C to arrive", || {
        let keys = std::fs::read_to_string(home.path().join("keys")).unwrap();
        keys.ends_with("\x1b[99;5u")
    });
    let read = home.json(&["slot", "read", "work"]);
    assert!(text_of(&read).contains("bright"), "the program goes on");
}

#[test]
fn what_a_program_asks_its_terminal_is_answered_once() {
    let home = TestHome::started();
    // Each answer to `CSI 5 n` is four bytes and none follows within a second.
    spawn(
        &home,
        "stty raw -echo; while :; do printf '\\033[5n'; dd bs=1 count=4 2>/dev/null >/dev/null; \
         stty min 0 time 10; rest=$(dd bs=64 count=1 2>/dev/null | od -An -c); stty min 1 time 0; \
         printf \"more<$rest>\\r\\n\"; [ -e stop ] && break; done; stty sane; exec cat",
    );
    let person = Person::attach(&home, (80, 24), &["work"]);
    person.waits_for("more<>");
    person.waits_for("more<>\nmore<>");
    // Until the notice of the first seconds has gone.
    wait_for("nothing but empty rests", || {
        person.sees().replace("more<>", "").trim().is_empty()
    });
}

#[test]
fn the_view_goes_on_when_the_daemon_was_killed() {
    let home = TestHome::started();
    spawn(&home, TALKER);
    let mut person = Person::attach(&home, (80, 24), &["work"]);
    person.waits_for("ready");
    person.types("before\r");
    person.waits_for("got <before>");
    home.kill();
    person.waits_for("the daemon is gone");
    home.start();
    person.waits_for_the_slots_screen(&home, "work");
    person.types("after\r");
    person.waits_for("got <after>");
    assert!(person.sees().contains("got <before>"));
    home.json(&["daemon", "restart"]);
    wait_for("keys to arrive again", || {
        person.types("once more\r");
        person.sees().contains("got <once more>")
    });
    person.types(DETACH);
    person.left_as_it_was(0);
}

#[test]
fn the_end_of_the_program_ends_the_view_and_says_how() {
    let home = TestHome::started();
    spawn(&home, "echo ready; read line; exit 3");
    let mut person = Person::attach(&home, (100, 24), &["work"]);
    person.waits_for("ready");
    person.types("\r");
    person.left_as_it_was(0);
    person.waits_for("work has ended: the program ended with status 3.");
}

#[test]
fn a_signal_or_a_closed_terminal_ends_it_cleanly() {
    let home = TestHome::started();
    spawn(&home, TALKER);
    let mut person = Person::attach(&home, (80, 24), &["work"]);
    person.waits_for("ready");
    let pid = rustix::process::Pid::from_raw(person.child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    person.left_as_it_was(143);

    // Also where nobody tells it that the terminal is gone.
    let attach = format!(
        "trap '' HUP; MISSION_HOME={} {} slot attach work; exit 7",
        home.path().display(),
        binary().display()
    );
    let (pty, pts) = pty_process::blocking::open().unwrap();
    pty.resize(pty_process::Size::new(10, 40)).unwrap();
    let mut shell = pty_process::blocking::Command::new("/bin/sh")
        .args(["-c", &attach])
        .spawn(pts)
        .unwrap();
    wait_for("the size of the viewer", || slot_size(&home) == (40, 10));
    drop(pty);
    assert_eq!(wait_for_exit(&mut shell).code(), Some(7));
    let mut again = Person::attach(&home, (80, 24), &["work"]);
    wait_for("the viewer to be gone", || slot_size(&home) == (80, 24));
    again.types("still here\r");
    again.waits_for("got <still here>");
}

#[test]
fn without_a_terminal_it_says_so_and_read_only_streams() {
    let home = TestHome::started();
    spawn(&home, "echo picture; read line; echo last words");
    let (code, refusal) = home.failure(&["slot", "attach", "work"]);
    assert_eq!(code, 2);
    assert!(
        refusal.contains("standard input is not a terminal"),
        "{refusal}"
    );
    let (code, _) = home.failure(&["slot", "attach", "nobody", "--read-only"]);
    assert_eq!(code, 4);

    let mut watching = home
        .command(&["slot", "attach", "work", "--read-only"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = watching.stdout.take().unwrap();
    let mut terminal = Terminal::new(Size {
        columns: 120,
        rows: 40,
    });
    let mut buffer = [0; 4096];
    let mut shows = |wanted: &str| loop {
        let count = stdout.read(&mut buffer).unwrap();
        assert!(count > 0, "the end before `{wanted}`");
        terminal.feed(&buffer[..count], Duration::ZERO);
        if terminal.screen().rows.iter().any(|row| row.text == wanted) {
            return;
        }
    };
    shows("picture");
    home.json(&["slot", "send", "work", "go"]);
    shows("last words");
    assert!(wait_for_exit(&mut watching).success());
}

/// Asks, and passes over the pictures that come in between.
fn ask(connection: &mut RawConnection, id: u64, method: &str, params: &Value) -> Value {
    connection.request(id, method, params);
    loop {
        let message = connection.receive();
        if message["id"] == id {
            return message;
        }
    }
}

#[test]
fn a_viewer_that_does_not_paint_gets_one_frame_and_then_the_newest_screen() {
    let home = TestHome::started();
    spawn(
        &home,
        "read line; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo \"line $i\"; done; exec cat",
    );
    let mut slow = home.greeted();
    let params = json!({"slot": "work", "access": "read_only", "columns": 80, "rows": 24});
    let attachment = slow.ask(1, "attach", &params)["result"]["attachment"].clone();
    let first = slow.receive();
    assert_eq!(first["method"], "paint");
    assert_eq!(
        (&first["params"]["frame"], &first["params"]["more"]),
        (&1.into(), &false.into())
    );

    let mut person = Person::attach(&home, (80, 24), &["work"]);
    person.types("\r");
    person.waits_for("line 20000");
    person.waits_for_the_slots_screen(&home, "work");

    // Nothing came meanwhile: the next message is the answer.
    assert_eq!(slow.ask(2, "health", &json!({}))["result"]["healthy"], true);
    slow.send(&json!({"jsonrpc": "2.0", "method": "painted",
        "params": {"attachment": attachment, "frame": 1}}));
    let second = slow.receive();
    let mut terminal = Terminal::new(Size {
        columns: 80,
        rows: 24,
    });
    for frame in [first, second] {
        let painted = frame["params"]["text"].as_str().unwrap();
        terminal.feed(painted.as_bytes(), Duration::ZERO);
    }
    let shows = |row: &missiond_semantic::Row| row.text == "line 20000";
    assert!(terminal.screen().rows.iter().any(shows));
    let detached = ask(&mut slow, 3, "detach", &json!({"attachment": attachment}));
    assert_eq!(detached["result"], json!({}));
}

#[test]
fn nonsense_to_the_attach_methods_is_refused_and_harms_nobody() {
    let home = TestHome::started();
    spawn(&home, TALKER);
    let mut connection = home.greeted();
    let sized = |columns: u64, rows: u64| json!({"slot": "work", "access": "write", "columns": columns, "rows": rows});
    for (params, code) in [
        (json!({}), "invalid_params"),
        (json!({"slot": "work"}), "invalid_params"),
        (json!({"slot": 7, "access": "write"}), "invalid_params"),
        (json!({"slot": "work", "access": "write"}), "invalid_params"),
        (
            json!({"slot": "work", "access": "read_only", "rows": 3}),
            "invalid_params",
        ),
        (
            json!({"slot": "work", "access": "everything"}),
            "invalid_params",
        ),
        (
            json!({"slot": "work", "access": "read_only", "also": 1}),
            "invalid_params",
        ),
        (sized(0, 0), "invalid_params"),
        (sized(1001, 24), "invalid_params"),
        (sized(70_000, 24), "invalid_params"),
        (
            json!({"slot": "nobody", "access": "read_only"}),
            "not_found",
        ),
    ] {
        let answer = connection.ask(1, "attach", &params);
        assert_eq!(error_code(&answer), code, "{params}");
    }
    let answer = connection.ask(1, "detach", &json!({"attachment": 99}));
    assert_eq!(error_code(&answer), "not_found");
    for params in [
        json!({}),
        json!({"attachment": 99, "frame": 1}),
        json!([1]),
        json!({"attachment": -1}),
    ] {
        connection.send(&json!({"jsonrpc": "2.0", "method": "painted", "params": params}));
    }
    let resize = json!({"slot": "work", "columns": 10, "rows": 10, "attachment": 99});
    assert_eq!(
        error_code(&connection.ask(1, "slot_resize", &resize)),
        "not_found"
    );
    for bytes in [
        json!([256]),
        json!("text"),
        json!([-1]),
        json!(vec![0; 65_537]),
    ] {
        let answer = connection.ask(1, "slot_keys", &json!({"slot": "work", "bytes": bytes}));
        assert_eq!(error_code(&answer), "invalid_params");
    }
    for id in 1..=16 {
        let params = json!({"slot": "work", "access": "read_only"});
        let answer = ask(&mut connection, id, "attach", &params);
        assert!(answer["result"]["attachment"].is_u64(), "{answer}");
    }
    let one_more = json!({"slot": "work", "access": "read_only"});
    assert_eq!(
        error_code(&ask(&mut connection, 17, "attach", &one_more)),
        "busy"
    );
    assert_eq!(slot_size(&home), (120, 40));
    let output = home.mission(&["slot", "attach", "work", "--detach-key", "ctrl-m"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("Ctrl-M is what Enter sends"));
}
