//! SIGKILL at random moments under load: what was acknowledged is there, in
//! order, once, and its effects were applied once.

use std::time::Duration;

use crate::harness::TestHome;
use crate::timeline_load::Load;

/// How many kills; MISSION_CRASH_ROUNDS makes it a longer test.
fn rounds() -> u32 {
    std::env::var("MISSION_CRASH_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100)
}

#[test]
fn what_was_acknowledged_survives_a_hundred_kills() {
    let home = TestHome::new();
    let load = Load::default();
    // Deterministic, so that a failure can be looked at again.
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..rounds() {
        home.start();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let life = Duration::from_micros(random % 60_000);
        load.while_producing(&home, || {
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
    assert_eq!(kinds["daemon_started"], i64::from(rounds()) + 1);
}
