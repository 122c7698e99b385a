//! A disk that is full, cannot sync, cannot be written or cannot be read: each
//! gets its clear error, the daemon keeps serving what it can, and when the
//! disk is well again it goes on without losing anything.

use std::io::Write;

use missiond_api::{ApiError, Client};
use missiond_core::ErrorCode;
use missiond_log::RotatingFile;
use serde_json::Value;

use crate::fault_fs::{Access, FaultDisk, FaultyHome, Read, Sync, Unsynced};
use crate::harness::{TestHome, wait_for};
use crate::timeline_load::Load;

/// More notes than any of these disks takes before it refuses one.
const MANY: usize = 100_000;

#[test]
fn a_full_disk_refuses_notes_and_takes_them_again_when_there_is_room() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    let pid = home.start();
    let load = Load::default();
    let mut client = Client::connect(&home.home()).unwrap();
    note(&load, &mut client).unwrap();
    // Not a whole number of pages: the last write that fits is cut short.
    disk.full_after(150_001);
    load.while_producing(home, || {
        wait_for("a note to be refused", || !load.refusals().is_empty());
    });
    let refused = first_refusal(&load, &mut client);
    assert_eq!(refused.code, ErrorCode::StorageFull);
    assert_eq!(
        refused.message,
        format!(
            "the event was not stored: the disk that holds {} is full: free some space, then try \
             again",
            home.home().database().display()
        )
    );
    let codes: Vec<_> = load.refusals().into_keys().collect();
    assert_eq!(codes, ["StorageFull"]);

    let status = home.json(&["status"]);
    assert_eq!(status["pid"], pid);
    let notes = stored_notes(home);
    assert_eq!(
        notes,
        load.acknowledged(),
        "what was acknowledged can be read"
    );
    let (code, message) = home.failure(&["timeline", "note", "x".repeat(4000).as_str()]);
    assert_eq!(code, 8, "{message}");

    disk.make_room();
    note(&load, &mut client).expect("the same connection to the same daemon");
    assert_eq!(home.pid(), pid);
    load.verdict(home);
    // The disk was full for the log, too.
    home.json(&["daemon", "stop"]);
    let log = std::fs::read_to_string(home.home().log_file()).unwrap();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).expect(&log);
    assert_eq!(last["message"], "daemon stopped");
}

#[test]
fn a_log_line_cut_short_by_a_full_disk_does_not_take_the_next_one_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = FaultDisk::mount(&folder.path().join("disk")) else {
        return;
    };
    let path = folder.path().join("disk/daemon.log");
    let mut log = RotatingFile::open(&path, 1000, 3).unwrap();
    log.write_all(b"first\n").unwrap();
    disk.full_after(4);
    for _ in 0..3 {
        log.write_all(b"this one does not fit\n").unwrap_err();
    }
    disk.make_room();
    log.write_all(b"last\n").unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "first\nthis\nlast\n");
}

#[test]
fn a_log_that_cannot_be_begun_anew_keeps_its_older_files() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = FaultDisk::mount(&folder.path().join("disk")) else {
        return;
    };
    let path = folder.path().join("disk/daemon.log");
    let mut log = RotatingFile::open(&path, 10, 4).unwrap();
    for line in ["line one\n", "line two\n", "line 3\n"] {
        log.write_all(line.as_bytes()).unwrap();
    }
    disk.full_after(0);
    for _ in 0..10 {
        log.write_all(b"no room for this\n").unwrap_err();
    }
    disk.make_room();
    log.write_all(b"line four\n").unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join("disk").join(name)).unwrap();
    assert_eq!(read("daemon.log"), "line four\n");
    assert_eq!(read("daemon.log.1"), "line 3\n");
    assert_eq!(read("daemon.log.2"), "line two\n");
    assert_eq!(read("daemon.log.3"), "line one\n");
}

#[test]
fn a_daemon_stops_and_is_refused_on_a_full_disk_and_starts_when_there_is_room() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    home.start();
    let load = Load::default();
    let mut client = Client::connect(&home.home()).unwrap();
    note(&load, &mut client).unwrap();
    disk.full_after(50_000);
    first_refusal(&load, &mut client);
    home.json(&["daemon", "stop"]);
    disk.full_after(0);
    let (code, message) = home.failure(&["daemon", "start"]);
    assert_eq!(code, 8, "{message}");
    assert!(message.contains("full"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");

    disk.make_room();
    home.start();
    let mut client = Client::connect(&home.home()).unwrap();
    note(&load, &mut client).unwrap();
    load.verdict(home);
}

#[test]
fn a_sync_that_fails_is_no_acknowledgement() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    let pid = home.start();
    let load = Load::default();
    for failures in 1..=10 {
        load.while_producing(home, || {
            disk.set_sync(Sync::FailsOnce);
            disk.wait_for_failed_syncs(failures);
        });
        let mut client = Client::connect(&home.home()).unwrap();
        note(&load, &mut client).expect("one failure does not end the daemon");
    }
    let refusals = load.refusals();
    let refused = &refusals["Conflict"];
    assert!(
        refused.message.contains("may or may not have been kept")
            && refused.message.contains("look before you do it again")
            && !refused.message.contains("was not stored"),
        "{refused}"
    );
    assert_eq!(home.pid(), pid);
    load.verdict(home);

    // A page whose sync failed never reaches the disk by itself. Nothing that
    // was acknowledged afterwards may stand on one.
    lose_power(&faulty);
    home.start();
    load.verdict(home);
}

#[test]
fn while_no_sync_succeeds_nothing_is_acknowledged() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    let pid = home.start();
    let load = Load::default();
    let mut client = Client::connect(&home.home()).unwrap();
    note(&load, &mut client).unwrap();
    disk.set_sync(Sync::Fails);
    let before = load.acknowledged();
    load.while_producing(home, || {
        disk.wait_for_failed_syncs(disk.failed_syncs() + 20);
    });
    assert_eq!(load.acknowledged(), before);
    assert_eq!(home.json(&["status"])["pid"], pid);

    disk.set_sync(Sync::Succeeds);
    note(&load, &mut client).expect("the daemon has recovered");
    load.verdict(home);
    lose_power(&faulty);
    home.start();
    load.verdict(home);
}

#[test]
fn what_a_restart_finds_after_failed_syncs_is_made_durable_before_it_is_built_on() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    let load = Load::default();
    for _ in 0..5 {
        home.start();
        disk.set_sync(Sync::Fails);
        // The process ends, the machine does not: its memory still has the log
        // of a commit that is not on the disk.
        load.while_producing(home, || {
            disk.wait_for_failed_syncs(disk.failed_syncs() + 1);
            faulty.kill_if_alive();
        });
        disk.set_sync(Sync::Succeeds);
        home.start();
        let mut client = Client::connect(&home.home()).unwrap();
        note(&load, &mut client).unwrap();
        lose_power(&faulty);
    }
    home.start();
    load.verdict(home);
}

#[test]
fn a_read_only_data_folder_is_named_at_the_start() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    disk.set_access(Access::ReadOnly);
    let data = home.home().data_dir().display().to_string();
    let refused = || {
        let (code, message) = home.failure(&["daemon", "start"]);
        assert_eq!(code, 8, "{message}");
        assert!(message.contains(&data), "{message}");
        assert!(message.contains("Read-only file system"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    };
    refused();
    disk.set_access(Access::ReadWrite);
    home.start();
    home.json(&["timeline", "note", "before"]);
    home.json(&["daemon", "stop"]);
    disk.set_access(Access::ReadOnly);
    refused();
    let doctor = home.mission(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1));
}

#[test]
fn a_disk_that_turns_read_only_is_readable_and_writable_again_without_a_restart() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    let pid = home.start();
    let load = Load::default();
    let mut client = Client::connect(&home.home()).unwrap();
    note(&load, &mut client).unwrap();
    disk.set_access(Access::ReadOnly);
    // The first finds out, those after it are told at once.
    let refused = [0, 1].map(|_| note(&load, &mut client).unwrap_err());
    for refused in &refused {
        assert!(
            refused
                .message
                .contains(&home.home().database().display().to_string()),
            "{refused}"
        );
    }
    assert!(
        refused[1].message.contains("cannot be written"),
        "{}",
        refused[1]
    );
    assert_eq!(home.json(&["status"])["pid"], pid);
    assert_eq!(stored_notes(home), load.acknowledged());

    disk.set_access(Access::ReadWrite);
    note(&load, &mut client).unwrap();
    assert_eq!(home.pid(), pid);
    load.verdict(home);
}

#[test]
fn a_daemon_stops_although_its_disk_takes_nothing() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    home.start();
    let load = Load::default();
    let mut client = Client::connect(&home.home()).unwrap();
    note(&load, &mut client).unwrap();
    disk.set_access(Access::ReadOnly);
    home.json(&["daemon", "stop"]);
    disk.set_access(Access::ReadWrite);

    home.start();
    disk.set_sync(Sync::Fails);
    home.json(&["daemon", "stop"]);
    disk.set_sync(Sync::Succeeds);
    let log = std::fs::read_to_string(home.home().log_file()).unwrap();
    let last = log.lines().last().unwrap();
    assert!(last.contains("could not be closed"), "{log}");

    home.start();
    load.verdict(home);
}

#[test]
fn a_disk_that_cannot_be_read_is_an_error_and_not_the_end() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    home.start();
    let load = Load::default();
    let mut client = Client::connect(&home.home()).unwrap();
    for _ in 0..500 {
        note(&load, &mut client).unwrap();
    }
    // After a restart the daemon has little of it in memory.
    home.json(&["daemon", "stop"]);
    let pid = home.start();
    disk.set_read(Read::Fails);
    disk.drop_cached(&home.home().database());
    let query = r#"{"order": "oldest_first", "limit": 1000}"#;
    let (code, message) = home.failure(&["call", "timeline_query", query]);
    assert_eq!(code, 8, "{message}");
    let database = home.home().database().display().to_string();
    assert!(message.contains(&database), "{message}");
    disk.set_read(Read::Succeeds);
    assert_eq!(home.json(&["status"])["pid"], pid);
    load.verdict(home);
}

fn note(load: &Load, client: &mut Client) -> Result<i64, ApiError> {
    load.note(client).expect("the daemon answers")
}

fn first_refusal(load: &Load, client: &mut Client) -> ApiError {
    (0..MANY)
        .find_map(|_| note(load, client).err())
        .expect("the disk refuses at last")
}

fn stored_notes(home: &TestHome) -> usize {
    let is_note = |event: &&Value| event["event"]["type"] == "note_added";
    home.events().iter().filter(is_note).count()
}

fn lose_power(faulty: &FaultyHome) {
    faulty.disk.lose_power();
    faulty.kill_if_alive();
    faulty.disk.restore_power(Unsynced::Lost);
}
