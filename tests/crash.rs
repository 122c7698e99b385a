//! SIGKILL at random moments under load: what was acknowledged is there, in
//! order, once, and its effects were applied once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use missiond_api::Client;
use missiond_api::operations::communication::{TimelineNote, TimelineNoteParams};
use serde_json::Value;

use crate::harness::{TestHome, wait_for};

const PRODUCERS: u64 = 8;

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
    let next = AtomicU64::new(0);
    let mut acknowledged: BTreeMap<i64, String> = BTreeMap::new();
    // Deterministic, so that a failure can be looked at again.
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..rounds() {
        home.start();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let life = Duration::from_micros(random % 60_000);
        acknowledged.extend(load_until_killed(&home, &next, life));
    }

    home.start();
    let events = home.events();
    let places: Vec<_> = events
        .iter()
        .map(|event| event["seq"].as_i64().unwrap())
        .collect();
    let expected: Vec<_> = (1..=events.len() as i64).collect();
    assert_eq!(
        places, expected,
        "every place is taken once, in order, without a hole"
    );

    let stored: BTreeMap<i64, &str> = events
        .iter()
        .filter(|event| event["event"]["type"] == "note_added")
        .map(|event| {
            (
                event["seq"].as_i64().unwrap(),
                event["event"]["text"].as_str().unwrap(),
            )
        })
        .collect();
    assert!(
        acknowledged.len() as u32 > rounds(),
        "the load was real: {}",
        acknowledged.len()
    );
    for (seq, text) in &acknowledged {
        assert_eq!(
            stored.get(seq),
            Some(&text.as_str()),
            "event {seq} was acknowledged"
        );
    }
    let mut texts: Vec<_> = stored.values().collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), stored.len(), "nothing was stored twice");

    effects_were_applied_once(&home, &events);
}

/// The activity consumer adds up; what it applied twice or not at all would show.
fn effects_were_applied_once(home: &TestHome, events: &[Value]) {
    let since = r#"{"since": "2000-01-01T00:00:00Z"}"#;
    let mut report = Value::Null;
    wait_for("the consumer to catch up", || {
        report = home.json(&["call", "timeline_activity", since]);
        report["counted_to"].as_i64().unwrap() >= events.len() as i64
    });
    let mut counted: BTreeMap<String, i64> = BTreeMap::new();
    for row in report["hours"].as_array().unwrap() {
        let kind = row["kind"].as_str().unwrap().to_owned();
        *counted.entry(kind).or_default() += row["count"].as_i64().unwrap();
    }
    let mut expected: BTreeMap<String, i64> = BTreeMap::new();
    for event in events {
        *expected
            .entry(event["event"]["type"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    assert_eq!(counted, expected);
    assert_eq!(expected["daemon_started"], i64::from(rounds()) + 1);
}

/// Producers note as fast as they are acknowledged, until the daemon is killed.
/// Returns what was acknowledged.
fn load_until_killed(home: &TestHome, next: &AtomicU64, life: Duration) -> Vec<(i64, String)> {
    let killed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|_| {
                scope.spawn(|| {
                    let mut acknowledged = Vec::new();
                    let Ok(mut client) = Client::connect(&home.home()) else {
                        return acknowledged;
                    };
                    while !killed.load(Ordering::Relaxed) {
                        let text = format!("note {}", next.fetch_add(1, Ordering::Relaxed));
                        let params = TimelineNoteParams {
                            text: text.clone(),
                            author: None,
                            trace_id: None,
                            parent_span_id: None,
                        };
                        match client.call::<TimelineNote>(&params) {
                            Ok(result) => {
                                acknowledged.push((result.event.seq.unwrap().0, text));
                            }
                            Err(_) => break,
                        }
                    }
                    acknowledged
                })
            })
            .collect();
        std::thread::sleep(life);
        home.kill();
        killed.store(true, Ordering::Relaxed);
        producers
            .into_iter()
            .flat_map(|producer| producer.join().unwrap())
            .collect()
    })
}
