//! The hosts of slots when something goes wrong: programs that leave their
//! terminal, strangers at the socket, a disk without room, output that was
//! deleted, a host that was killed.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use missiond_pty::host::{HostFiles, HostRecord, Recording};
use missiond_pty::{CastReader, EventKind, process_exists};
use serde_json::{Value, json};

use crate::harness::{PATIENCE, TestHome, binary, wait_for};
use crate::slots::{recorded, screen, spawn, text_of, wait_for_text, written_pid};

/// A connection to a host that speaks its frames by hand.
struct Wire {
    stream: UnixStream,
}

impl Wire {
    fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream }
    }

    fn hello(socket: &Path, resume_from: u64) -> Self {
        let mut wire = Self::connect(socket);
        wire.send(b'h', &resume_from.to_le_bytes());
        wire
    }

    fn send(&mut self, letter: u8, content: &[u8]) {
        let length = u32::try_from(content.len() + 1).unwrap();
        let frame = [&length.to_le_bytes(), &[letter][..], content].concat();
        self.stream.write_all(&frame).unwrap();
    }

    /// The next frame, or `None` at the end of the connection.
    fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let mut content = vec![0; length - 1];
        self.stream.read_exact(&mut content).ok()?;
        Some((head[4], content))
    }

    /// Output up to this byte: where it began, and the bytes. Each follows the
    /// one before it.
    fn output_until(&mut self, end: u64) -> (u64, Vec<u8>) {
        let (mut first, mut bytes) = (None, Vec::new());
        loop {
            let (letter, content) = self.next().expect("more output");
            if letter != b'o' {
                continue;
            }
            let offset = number(&content);
            let first = *first.get_or_insert(offset);
            assert_eq!(offset, first + bytes.len() as u64);
            bytes.extend(&content[8..]);
            if first + bytes.len() as u64 >= end {
                return (first, bytes);
            }
        }
    }
}

fn number(content: &[u8]) -> u64 {
    u64::from_le_bytes(content[..8].try_into().unwrap())
}

fn record_of(home: &TestHome, slot: &Value) -> HostRecord {
    let records = HostFiles::records(&home.home().slots_dir()).unwrap();
    let id = slot["slot"].as_str().unwrap();
    let mut found = records.into_iter().filter(|r| r.slot.to_string() == id);
    found.next().unwrap()
}

fn socket_of(home: &TestHome, slot: &Value) -> PathBuf {
    HostFiles::new(&home.home().slots_dir(), record_of(home, slot).slot).socket
}

fn wait_until_closed(home: &TestHome) {
    wait_for("every slot to be closed", || {
        let listed = home.json(&["slot", "list"]);
        listed["slots"].as_array().unwrap().is_empty()
    });
}

#[test]
fn a_program_that_closes_its_terminal_is_seen_heard_again_and_ended() {
    let home = TestHome::started();
    let script = "echo open; exec 0<&- 1>&- 2>&-; until [ -e go ]; do sleep 0.02; done; \
                  echo back > /dev/tty; echo $$ > pid; sleep 1000";
    spawn(&home, "closes", script);
    wait_for("the closed terminal to be told", || {
        let trouble = &screen(&home, "closes")["trouble"];
        *trouble == "the program runs on, but it has closed its terminal"
    });
    assert!(text_of(&screen(&home, "closes")).contains("open"));
    std::fs::write(home.path().join("go"), "").unwrap();
    wait_for_text(&home, "closes", "back");
    let pid = written_pid(&home.path().join("pid"));
    let ended = home.json(&["slot", "kill", "closes"]);
    assert_eq!(ended["outcome"], "the program was ended by signal 15");
    assert!(!process_exists(pid));
}

#[test]
fn what_is_left_of_a_slot_whose_host_was_killed_is_ended() {
    let home = TestHome::started();
    let script = "trap '' HUP TERM; (setsid sh -c 'trap \"\" HUP; echo $$ > away; exec sleep 1000' &); \
                  echo $$ > pid; while :; do sleep 0.05; done";
    let slot = spawn(&home, "orphan", script);
    let pid = written_pid(&home.path().join("pid"));
    let away = written_pid(&home.path().join("away"));
    let record = record_of(&home, &slot);
    let host = rustix::process::Pid::from_raw(record.host_pid.cast_signed()).unwrap();
    rustix::process::kill_process(host, rustix::process::Signal::KILL).unwrap();
    wait_until_closed(&home);
    assert!(!process_exists(pid));
    match record.cgroup {
        Some(cgroup) => {
            assert!(!process_exists(away), "it was in the slot's control group");
            assert!(!cgroup.exists());
        }
        // Nobody knows of it any more, so the test ends it.
        None => {
            let away = rustix::process::Pid::from_raw(away.cast_signed()).unwrap();
            rustix::process::kill_process(away, rustix::process::Signal::KILL).unwrap();
        }
    }
    let events = home.events();
    let closed = events.iter().rfind(|e| e["event"]["type"] == "slot_closed");
    assert_eq!(
        closed.unwrap()["event"]["reason"],
        "its terminal host was killed"
    );
}

#[test]
fn a_slot_has_a_control_group_of_its_own_where_there_can_be_one() {
    let home = TestHome::started();
    let slot = spawn(&home, "contained", "sleep 1000");
    let Some(cgroup) = slot["program"]["cgroup"].as_str().map(PathBuf::from) else {
        eprintln!("skipped: {}", missiond_pty::host::containment());
        return;
    };
    let inside = std::fs::read_to_string(cgroup.join("cgroup.procs")).unwrap();
    let pid = slot["program"]["pid"].to_string();
    assert!(inside.lines().any(|line| line == pid), "{inside}");
    let host = record_of(&home, &slot).host_pid.to_string();
    assert!(inside.lines().all(|line| line != host), "{inside}");
    home.json(&["slot", "kill", "contained"]);
    assert!(!cgroup.exists());
}

#[test]
fn a_stranger_at_the_socket_does_not_take_the_daemons_place() {
    let home = TestHome::started();
    let slot = spawn(
        &home,
        "counted",
        "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done",
    );
    let socket = socket_of(&home, &slot);
    let log = home.home().log_file();
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 4096],
        b"\x01\0\0\0k",
    ] {
        let mut stranger = Wire::connect(&socket);
        let _ = stranger.stream.write_all(garbage);
        assert_eq!(stranger.next(), None, "it is shown the door");
    }
    // Nor one that speaks as the daemon does.
    let mut stranger = Wire::connect(&socket);
    let hello = [&[9, 0, 0, 0, b'h'][..], &[0; 8]].concat();
    let _ = stranger.stream.write_all(&hello);
    assert_eq!(stranger.next(), None, "it is not the daemon");
    wait_for("the refusals to be on record", || {
        let refused = home
            .events()
            .into_iter()
            .map(|event| event["event"].clone());
        let mut refused = refused.filter(|event| event["type"] == "authority_refused");
        refused.any(|event| event["attempts"].as_u64() >= Some(4))
    });
    // More than there are places; they say nothing at all.
    let silent: Vec<_> = (0..20).map(|_| UnixStream::connect(&socket)).collect();
    let before = screen(&home, "counted")["offset"].as_u64().unwrap();
    wait_for("the program to be read on", || {
        screen(&home, "counted")["offset"].as_u64().unwrap() > before
    });
    drop(silent);
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains("slot host lost"), "{log}");
    let ended = home.json(&["slot", "kill", "counted"]);
    assert_eq!(ended["outcome"], "the program was ended by signal 15");
}

#[test]
fn what_makes_no_sense_is_not_listened_to_and_the_daemon_comes_back() {
    let home = TestHome::started();
    let slot = spawn(&home, "plain", "echo ready; sleep 1000");
    wait_for_text(&home, "plain", "ready");
    let socket = socket_of(&home, &slot);
    home.kill();
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 4096],
        b"\x01\0\0\0k",
    ] {
        let mut stranger = Wire::connect(&socket);
        let _ = stranger.stream.write_all(garbage);
        assert_eq!(stranger.next(), None, "it is shown the door");
    }
    home.start();
    wait_for_text(&home, "plain", "ready");
}

#[test]
fn of_two_daemons_the_newest_is_served_and_both_see_each_byte_in_its_place() {
    let home = TestHome::started();
    let slot = spawn(
        &home,
        "shared",
        "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done",
    );
    wait_for_text(&home, "shared", "5");
    let socket = socket_of(&home, &slot);
    // As long as no daemon is there, whoever is in no slot may be the next one.
    home.kill();
    let mut older = Wire::hello(&socket, 0);
    let (first, bytes) = older.output_until(4);
    assert_eq!((first, &bytes[..4]), (0, &b"1\r\n2"[..]));
    let mut newer = Wire::hello(&socket, 0);
    let (first, bytes) = newer.output_until(4);
    assert_eq!((first, &bytes[..4]), (0, &b"1\r\n2"[..]));
    while older.next().is_some() {}
    // The daemon of this home comes back, and it is the newest then.
    home.start();
    while newer.next().is_some() {}
    let before = screen(&home, "shared")["offset"].as_u64().unwrap();
    wait_for("the program to be read on", || {
        screen(&home, "shared")["offset"].as_u64().unwrap() > before
    });
    home.json(&["slot", "kill", "shared"]);
    let path = PathBuf::from(slot["program"]["recording"].as_str().unwrap());
    let closed = screen(&home, slot["slot"].as_str().unwrap());
    assert_eq!(closed["offset"], recorded(&path).len());
}

const SOCKET: &str = "MISSION_TEST_SOCKET";

#[test]
fn a_process_of_another_user_is_refused() {
    if let Some(socket) = std::env::var_os(SOCKET) {
        // Turned away after its first word, or already while it speaks.
        let answer = std::panic::catch_unwind(|| Wire::hello(Path::new(&socket), 0).next());
        let served = answer.is_ok_and(|answer| answer.is_some());
        std::process::exit(if served { 41 } else { 40 });
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let home = TestHome::started();
    let slot = spawn(&home, "private", "echo secret; sleep 1000");
    wait_for_text(&home, "private", "secret");
    let socket = socket_of(&home, &slot);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&socket), 0o600);
    // As if the file system did not keep others out.
    for path in socket
        .ancestors()
        .take_while(|path| path.starts_with(home.path()))
    {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    }
    // A copy, because another user may not reach this one.
    let program = home.path().join("other-user");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let ask = |uid: u32| {
        let mut command = std::process::Command::new(&program);
        command
            .args(["--exact", "hosts::a_process_of_another_user_is_refused"])
            .env(SOCKET, &socket)
            .current_dir("/")
            .uid(uid);
        command.status().unwrap().code()
    };
    home.kill();
    assert_eq!(ask(65534), Some(40), "it gets nothing");
    assert_eq!(ask(0), Some(41), "the own user is served");
}

#[test]
fn output_older_than_the_backlog_comes_from_the_recording_byte_for_byte() {
    let home = TestHome::started();
    let script = "seq 400000; echo done; sleep 1000";
    let slot = spawn(&home, "long", script);
    wait_for_text(&home, "long", "done");
    let path = PathBuf::from(slot["program"]["recording"].as_str().unwrap());
    let socket = socket_of(&home, &slot);
    home.kill();
    let all = recorded(&path);
    assert!(all.len() > 2 << 20);
    for from in [0, 1_000_003, all.len() - 10] {
        let mut wire = Wire::hello(&socket, from as u64);
        assert_eq!(
            wire.next().unwrap(),
            (b'a', (all.len() as u64).to_le_bytes().to_vec())
        );
        let (first, bytes) = wire.output_until(all.len() as u64);
        assert_eq!(first, from as u64);
        assert!(bytes == all[from..], "the bytes from {from} on differ");
    }
    // The next daemon draws a part of it, and counts all of it.
    home.start();
    let seen = wait_for_text(&home, "long", "done");
    assert_eq!(seen["offset"], all.len());
    assert!(text_of(&seen).contains("399999"));
}

#[test]
fn old_output_is_deleted_and_whoever_asks_for_it_is_told() {
    let home = TestHome::with_config("[recording]\nsegment_mb = 1\nkeep_mb = 3\n");
    home.start();
    let slot = spawn(&home, "much", "seq 1000000; echo done; sleep 1000");
    wait_for_text(&home, "much", "done");
    let first = PathBuf::from(slot["program"]["recording"].as_str().unwrap());
    let recording = Recording::open(&first).unwrap();
    let (kept_from, end) = (recording.first_byte(), recording.end().unwrap());
    assert!(kept_from > 1 << 20, "{kept_from}");
    assert!(!first.exists(), "the oldest file is gone");
    let socket = socket_of(&home, &slot);
    home.kill();
    let mut wire = Wire::hello(&socket, 5);
    assert_eq!(wire.next().unwrap().0, b'a');
    let (letter, content) = wire.next().unwrap();
    assert_eq!((letter, number(&content)), (b'g', kept_from));
    let (begin, bytes) = wire.output_until(end);
    assert_eq!((begin, bytes.len() as u64), (kept_from, end - kept_from));
    drop(wire);

    home.start();
    let seen = wait_for_text(&home, "much", "done");
    assert_eq!(seen["offset"], end);
    // Each of the files that are left can be replayed alone.
    let folder = home.home().recordings_dir();
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let casts: Vec<_> = files.filter(|f| f.extension().unwrap() == "cast").collect();
    assert!(casts.len() > 1);
    for cast in casts {
        let replayed = home.mission(&["semantic", "replay", cast.to_str().unwrap()]);
        assert!(replayed.status.success(), "{}", cast.display());
    }
    home.json(&["slot", "kill", "much"]);
    let last = screen(&home, slot["slot"].as_str().unwrap());
    assert_eq!(last["offset"], end);
    assert!(text_of(&last).contains("1000000"));
}

#[test]
fn recordings_of_closed_slots_go_when_all_take_too_much_and_those_of_open_ones_stay() {
    let home = TestHome::started();
    let script = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo done; sleep 1000";
    let names = ["open", "first", "second"];
    let recordings = names.map(|name| {
        let slot = spawn(&home, name, script);
        wait_for_text(&home, name, "done");
        (
            slot["slot"].as_str().unwrap().to_owned(),
            PathBuf::from(slot["program"]["recording"].as_str().unwrap()),
        )
    });
    home.json(&["slot", "kill", "first"]);
    home.json(&["slot", "kill", "second"]);
    wait_for("their hosts to have ended", || {
        let records = HostFiles::records(&home.home().slots_dir()).unwrap();
        records.len() == 1
    });
    home.kill();
    home.write_config("[recording]\nkeep_total_mb = 8\n");
    home.start();
    let [(_, open), (first, oldest), (second, newer)] = &recordings;
    wait_for("the oldest to be deleted", || !oldest.exists());
    assert!(text_of(&screen(&home, second)).contains("done"));
    let (_, said) = home.failure(&["slot", "screenshot", first, "--format", "svg"]);
    assert!(said.contains("its recording is gone"), "{said}");
    assert!(open.exists() && newer.exists());
    assert!(text_of(&screen(&home, "open")).contains("done"));
}

#[test]
fn no_more_slots_are_open_than_may_be() {
    let home = TestHome::with_config("max_slots = 2\n");
    home.start();
    for name in ["one", "two"] {
        spawn(&home, name, "sleep 1000");
    }
    let (_, said) = home.failure(&["slot", "spawn", "--name", "three", "--", "sleep", "1000"]);
    assert!(
        said.contains("2 slots are open") && said.contains("`max_slots`"),
        "{said}"
    );
    home.json(&["slot", "kill", "one"]);
    spawn(&home, "three", "sleep 1000");
    home.json(&["config", "set", "max_slots", "3"]);
    spawn(&home, "four", "sleep 1000");
}

#[test]
fn the_last_slots_are_kept_for_the_person() {
    let home = TestHome::with_config("max_slots = 5\n");
    home.start();
    let mission = crate::attacks::quoted(&binary().display().to_string());
    let script = format!(
        "for name in a b c d e; do {mission} slot spawn --name $name -- sleep 1000 >/dev/null 2>why; \
         echo \"$name $? $(tr '\\n' ' ' <why)\"; done"
    );
    crate::attacks::inside(&home, "agent", &script);
    let said = crate::attacks::said(&home, "agent");
    let lines: Vec<&str> = said.lines().collect();
    let began = lines
        .iter()
        .filter(|line| line.split(' ').nth(1) == Some("0"));
    // With the one it is in, four of five: one is a quarter.
    assert_eq!(began.count(), 3, "{said}");
    assert!(lines[3].contains("kept for the person"), "{said}");
    // By a token there is no more, and for the person there is one.
    let http = crate::http::Http::of(&home);
    let token = crate::http::token(&home, "ci");
    let spawned = http.call(&token, "slot_spawn", &json!({ "argv": ["sleep", "1000"] }));
    assert_eq!(spawned.code(), "busy", "{spawned:?}");
    spawn(&home, "mine", "sleep 1000");
    let (_, why) = home.failure(&["slot", "spawn", "--name", "more", "--", "sleep", "1000"]);
    assert!(why.contains("5 slots are open"), "{why}");
}

#[test]
fn what_a_program_set_once_and_long_ago_is_still_known_after_a_restart() {
    let home = TestHome::started();
    // Bracketed paste and a title, then more output than is drawn again.
    let script = "printf '\\033[?2004h\\033]2;long ago\\007'; seq 1000000; \
                  printf 'top\\n'; until [ -e more ]; do sleep 0.02; done; seq 100; echo done; sleep 1000";
    let slot = spawn(&home, "modes", script);
    wait_for_text(&home, "modes", "top");
    let screens = home.home().recordings_dir();
    wait_for("a checkpoint", || {
        let mut files = std::fs::read_dir(&screens).unwrap();
        files.any(|f| f.unwrap().path().extension().unwrap() == "screen")
    });
    std::fs::write(home.path().join("more"), "").unwrap();
    let before = wait_for_text(&home, "modes", "done");
    home.kill();
    home.start();
    let after = wait_for_text(&home, "modes", "done");
    for what in ["title", "lines", "offset", "cursor_row"] {
        assert_eq!(after[what], before[what], "{what}");
    }
    home.json(&["slot", "send", "modes", "pasted", "--no-enter"]);
    let path = PathBuf::from(slot["program"]["recording"].as_str().unwrap());
    wait_for("the paste to be recorded", || {
        inputs(&path).contains(&"\x1b[200~pasted\x1b[201~".to_owned())
    });
}

/// What was typed into a program, by its recording.
fn inputs(path: &Path) -> Vec<String> {
    let cast = CastReader::new(BufReader::new(File::open(path).unwrap())).unwrap();
    let inputs = cast
        .map(Result::unwrap)
        .filter_map(|event| match event.kind {
            EventKind::Input(text) => Some(text),
            _ => None,
        });
    inputs.collect()
}

#[test]
fn a_program_that_asks_what_its_terminal_is_is_answered_without_a_daemon_and_once() {
    let home = TestHome::started();
    let script = "stty raw -echo; until [ -e go ]; do sleep 0.02; done; printf '\\033[c\\033[6n'; \
                  dd bs=1 count=5 of=reply 2>/dev/null; echo answered; sleep 1000";
    let slot = spawn(&home, "asks", script);
    home.kill();
    std::fs::write(home.path().join("go"), "").unwrap();
    wait_for("the answer", || {
        std::fs::read(home.path().join("reply")).is_ok_and(|reply| reply == b"\x1b[?6c")
    });
    home.start();
    wait_for_text(&home, "asks", "answered");
    let path = PathBuf::from(slot["program"]["recording"].as_str().unwrap());
    assert_eq!(inputs(&path), ["\x1b[?6c"]);
}

#[test]
fn a_host_that_waits_for_a_daemon_ends_when_it_is_told_to_and_its_record_tells_the_next() {
    let home = TestHome::started();
    let slot = spawn(
        &home,
        "over",
        "until [ -e go ]; do sleep 0.02; done; exit 3",
    );
    let host = record_of(&home, &slot).host_pid;
    home.kill();
    std::fs::write(home.path().join("go"), "").unwrap();
    wait_for("the exit to be on record", || {
        record_of(&home, &slot).exited.is_some()
    });
    let pid = rustix::process::Pid::from_raw(host.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    wait_for("the host to end", || !process_exists(host));
    home.start();
    wait_until_closed(&home);
    let events = home.events();
    let closed = events.iter().rfind(|e| e["event"]["type"] == "slot_closed");
    assert_eq!(
        closed.unwrap()["event"]["reason"],
        "the program ended with status 3"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_waits_while_the_disk_is_full_and_nothing_of_it_is_lost() {
    let Some(faulty) = crate::fault_fs::FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    home.start();
    let script = "i=0; until [ -e stop ]; do i=$((i+1)); echo \"line $i\"; \
                  [ $((i % 100)) = 0 ] && sleep 0.01; done; echo \"end $i\"; sleep 1000";
    let slot = spawn(home, "waits", script);
    wait_for_text(home, "waits", "line 100");
    disk.full_after(20_000);
    let mut trouble = String::new();
    wait_for("the full disk to be told", || {
        let told = screen(home, "waits")["trouble"].as_str().map(str::to_owned);
        trouble = told.unwrap_or_default();
        !trouble.is_empty()
    });
    assert!(
        trouble.contains("No space left on device") && trouble.contains("free some space"),
        "{trouble}"
    );
    disk.make_room();
    wait_for("the program to go on", || {
        screen(home, "waits")["trouble"].is_null()
    });
    std::fs::write(home.path().join("stop"), "").unwrap();
    wait_for_text(home, "waits", "end ");
    let path = PathBuf::from(slot["program"]["recording"].as_str().unwrap());
    let output = String::from_utf8(recorded(&path)).unwrap();
    let lines: Vec<_> = output.lines().collect();
    let (last, counted) = lines.split_last().unwrap();
    for (place, line) in counted.iter().enumerate() {
        assert_eq!(*line, format!("line {}", place + 1));
    }
    assert_eq!(*last, format!("end {}", counted.len()));
    wait_for("the incident", || {
        let incidents = home.json(&["incident", "list"]).to_string();
        incidents.contains("recording_stalled")
    });
    home.json(&["slot", "kill", "waits"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_waits_for_a_full_disk_can_be_ended() {
    let Some(faulty) = crate::fault_fs::FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    home.start();
    let slot = spawn(
        home,
        "stuck",
        "echo ready; until [ -e go ]; do sleep 0.02; done; seq 1000000",
    );
    wait_for_text(home, "stuck", "ready");
    disk.full_after(10_000);
    std::fs::write(home.path().join("go"), "").unwrap();
    wait_for("the full disk to be told", || {
        screen(home, "stuck")["trouble"].is_string()
    });
    let host = record_of(home, &slot);
    let ended = home.mission(&["slot", "kill", "stuck", "--grace", "0"]);
    assert!(ended.status.success(), "{ended:?}");
    assert!(!process_exists(host.program_pid));
}

#[test]
fn a_daemon_that_asks_and_does_not_listen_takes_no_memory() {
    let home = TestHome::started();
    let slot = spawn(&home, "asked", "echo ready; sleep 1000");
    wait_for_text(&home, "asked", "ready");
    let (socket, record) = (socket_of(&home, &slot), record_of(&home, &slot));
    home.kill();
    // Every one of these needs an answer: there is no such byte to go on from.
    let mut deaf = Wire::hello(&socket, 0);
    let no_such_byte = {
        let content = u64::MAX.to_le_bytes();
        let length = u32::try_from(content.len() + 1).unwrap();
        [&length.to_le_bytes(), &b"h"[..], &content].concat()
    };
    let many = no_such_byte.repeat(5_000);
    let patience = std::time::Duration::from_secs(2);
    deaf.stream.set_write_timeout(Some(patience)).unwrap();
    let sent = (0..400).take_while(|_| deaf.stream.write_all(&many).is_ok());
    assert!(sent.count() < 400, "it stops listening");
    let status = std::fs::read_to_string(format!("/proc/{}/status", record.host_pid)).unwrap();
    let resident = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    let kilobytes: u64 = resident.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 64 << 10, "{resident}");
    // Whoever comes next is served.
    let (first, bytes) = Wire::hello(&socket, 0).output_until(5);
    assert_eq!((first, &bytes[..5]), (0, &b"ready"[..]));
}
