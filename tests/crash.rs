//! SIGKILL at random moments under load: what was acknowledged is there, in
//! order, once, and its effects were applied once.

use std::process::Stdio;
use std::time::Duration;

use crate::harness::{self, TestHome};
use crate::timeline_load::Load;

/// How many kills.
fn rounds() -> u32 {
    harness::rounds("MISSION_CRASH_ROUNDS", 120, 1000)
}

#[test]
fn what_was_acknowledged_survives_a_hundred_kills() {
    let home = TestHome::new();
    let load = Load::default();
    // Deterministic, so that a failure can be looked at again.
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        Duration::from_micros(random % limit)
    };
    let mut served = 0;
    for round in 0..rounds() {
        let life = match round % 6 {
            // In the middle of coming up.
            0 => {
                kill_while_starting(&home, next(30_000));
                continue;
            }
            // Long enough for the consumers to be at work.
            1 => next(1_200_000),
            _ => next(60_000),
        };
        home.start();
        served += 1;
        load.while_producing(&home, || {
            // A moment that nothing marks is what this is about.
            std::thread::sleep(life);
            home.kill();
        });
    }

    home.start();
    assert!(
        load.acknowledged() as u32 > rounds(),
        "the load was real: {}",
        load.acknowledged()
    );
    let kinds = load.verdict(&home);
    assert!(kinds["daemon_started"] > i64::from(served));
}

fn kill_while_starting(home: &TestHome, life: Duration) {
    let mut daemon = home
        .command(&["daemon", "run"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Not until anything is so: how far it came must differ from time to time.
    std::thread::sleep(life);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}
