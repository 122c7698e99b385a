//! The power goes at random moments under load: what was acknowledged is there,
//! in order, once, and its effects were applied once.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use missiond_os::files::replace_private;
use rusqlite::Connection;

use crate::fault_fs::{FaultDisk, FaultyHome, Random, Unsynced};
use crate::harness;
use crate::timeline_load::Load;

/// How many power cuts.
fn rounds() -> u64 {
    harness::rounds("MISSION_POWER_ROUNDS", 40, 400)
}

/// Power cuts while the daemon starts, and while it serves.
#[derive(Debug, Default)]
struct Moments {
    starting: u64,
    serving: u64,
}

#[test]
fn what_was_acknowledged_survives_power_loss() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    let load = Load::default();
    let mut random = Random::new(20);
    let mut moments = Moments::default();
    for round in 0..rounds() {
        // As often soon as late: within the start, between two commits, and
        // after the log has been folded into the file several times.
        let magnitude = random.below(13);
        disk.lose_power_after((1 << magnitude) + random.below(1 << magnitude));
        let started = home.mission(&["daemon", "start"]);
        if started.status.success() {
            load.while_producing(home, || {
                disk.wait_until_power_is_lost();
                faulty.kill_if_alive();
            });
            moments.serving += 1;
        } else {
            assert!(disk.power_is_lost(), "round {round}: {started:?}");
            faulty.kill_if_alive();
            moments.starting += 1;
        }
        disk.restore_power(if round % 2 == 0 {
            Unsynced::Lost
        } else {
            Unsynced::LostInPart(round)
        });
    }

    home.start();
    assert!(
        moments.starting > 0 && moments.serving > rounds() / 4,
        "{moments:?}"
    );
    assert!(
        load.acknowledged() as u64 > 10 * rounds(),
        "the load was real: {}",
        load.acknowledged()
    );
    load.verdict(home);
}

/// The control: if these rows survived, the test above would prove nothing.
#[test]
fn power_loss_takes_what_sqlite_did_not_sync() {
    let expected = [
        ("OFF", Survival::None),
        ("NORMAL", Survival::None),
        ("FULL", Survival::All),
    ];
    for (synchronous, survival) in expected {
        let folder = tempfile::tempdir().unwrap();
        let Some(disk) = FaultDisk::mount(&folder.path().join("disk")) else {
            return;
        };
        let path = folder.path().join("disk/control.db");
        let rows = 200;
        let connection = open(&path, "FULL");
        connection
            .execute_batch("CREATE TABLE kept (n INTEGER) STRICT; PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        drop(connection);
        let connection = open(&path, synchronous);
        for n in 0..rows {
            connection
                .execute("INSERT INTO kept VALUES (?1)", [n])
                .unwrap();
        }
        disk.lose_power();
        drop(connection);
        disk.restore_power(Unsynced::Lost);

        let connection = open(&path, "FULL");
        let found: i64 = connection
            .query_row("SELECT count(*) FROM kept", [], |row| row.get(0))
            .unwrap();
        let survived = match survival {
            Survival::None => 0,
            Survival::All => rows,
        };
        assert_eq!(found, survived, "synchronous = {synchronous}");
    }
}

enum Survival {
    None,
    All,
}

fn open(path: &Path, synchronous: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
        .unwrap();
    connection
        .pragma_update(None, "synchronous", synchronous)
        .unwrap();
    connection
}

/// The control of the disk itself, without a database.
#[test]
fn power_loss_takes_a_file_back_to_its_last_sync() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("disk");
    let Some(disk) = FaultDisk::mount(&at) else {
        return;
    };
    let path = at.join("file");
    let mut file = File::create(&path).unwrap();
    file.write_all(b"synced").unwrap();
    file.sync_data().unwrap();
    file.write_all(b" and not").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"synced and not");
    drop(file);
    disk.lose_power();
    assert!(std::fs::read(&path).is_err());
    disk.restore_power(Unsynced::Lost);
    assert_eq!(std::fs::read(&path).unwrap(), b"synced");

    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(3).unwrap();
    drop(file);
    assert_eq!(std::fs::read(&path).unwrap(), b"syn");
    disk.lose_power();
    disk.restore_power(Unsynced::Lost);
    assert_eq!(std::fs::read(&path).unwrap(), b"synced");
}

/// A key, a list or a record that was replaced is there when the power comes
/// back; a replacement the power interrupted left the version before or the new
/// one, and never a part of either.
#[test]
fn a_replaced_file_is_whole_after_power_loss() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("disk");
    let Some(disk) = FaultDisk::mount(&at) else {
        return;
    };
    let path = at.join("file");
    let version = |number: u64| format!("{number} ").repeat(3000);
    let replace = |number: u64| replace_private(&path, version(number).as_bytes());
    replace(0).unwrap();
    let mut random = Random::new(6);
    let mut kept = 0;
    let (mut done, mut interrupted) = (0, 0);
    for number in 1..200 {
        disk.lose_power_after(random.below(16));
        let acknowledged = replace(number).is_ok();
        disk.lose_power();
        disk.restore_power(if number % 2 == 0 {
            Unsynced::Lost
        } else {
            Unsynced::LostInPart(number)
        });
        let found = std::fs::read_to_string(&path).unwrap();
        if acknowledged {
            assert_eq!(found, version(number));
            done += 1;
        } else {
            assert!(found == version(kept) || found == version(number));
            interrupted += 1;
        }
        if found == version(number) {
            kept = number;
        }
    }
    assert!(done > 20 && interrupted > 20, "{done} and {interrupted}");
}
