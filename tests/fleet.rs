//! Several daemons on one PostgreSQL database: one timeline, seen whole and in
//! one order by all, with effects applied once whoever applies them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{RawConnection, TestHome, wait_for};
use crate::shared_database::SharedDatabase;

const NOTES: u64 = 150;

/// The next `count` notes a subscription tells, as place and text.
fn notes(connection: &mut RawConnection, count: u64) -> Vec<(i64, String)> {
    let mut notes = Vec::new();
    while (notes.len() as u64) < count {
        let message = connection.receive();
        let event = &message["params"]["event"];
        if event["event"]["type"] == "note_added" {
            let text = event["event"]["text"].as_str().unwrap().to_owned();
            notes.push((event["seq"].as_i64().unwrap(), text));
        }
    }
    notes
}

#[test]
fn two_daemons_share_one_timeline_and_miss_nothing() {
    let Some(database) = SharedDatabase::new() else {
        return;
    };
    let homes = [database.daemon(), database.daemon()];
    let mut listeners = homes.each_ref().map(|home| {
        let mut connection = home.greeted();
        connection.ask(1, "subscribe", &json!({"kinds": ["note_added"]}));
        connection
    });
    std::thread::scope(|scope| {
        for (number, home) in homes.iter().enumerate() {
            for writer in 0..2 {
                scope.spawn(move || {
                    let mut connection = home.greeted();
                    for note in 0..NOTES {
                        let text = format!("{number}/{writer}/{note}");
                        let answer = connection.ask(note, "timeline_note", &json!({"text": text}));
                        assert!(answer["result"]["event"]["seq"].is_i64(), "{answer}");
                    }
                });
            }
        }
    });
    let told = listeners
        .each_mut()
        .map(|listener| notes(listener, 4 * NOTES));
    assert_eq!(
        told[0], told[1],
        "both tell the same notes in the same order"
    );
    assert!(
        told[0].is_sorted_by(|one, next| one.0 < next.0),
        "in the order of their places"
    );
    effects_were_applied_once(&homes[0]);

    // One dies; the other goes on, and the dead one's place is taken up again.
    homes[1].kill();
    homes[0]
        .greeted()
        .ask(1, "timeline_note", &json!({"text": "alone"}));
    homes[1].start();
    let kinds: Vec<Value> = homes[0]
        .events()
        .iter()
        .map(|event| event["event"]["type"].clone())
        .collect();
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| **kind == "daemon_crash_found")
            .count(),
        1
    );
    effects_were_applied_once(&homes[1]);
}

/// Two daemons count the same events into the same rows.
fn effects_were_applied_once(home: &TestHome) {
    let events = home.events();
    let mut expected: BTreeMap<&str, i64> = BTreeMap::new();
    for event in &events {
        *expected
            .entry(event["event"]["type"].as_str().unwrap())
            .or_default() += 1;
    }
    wait_for("the consumers to catch up", || {
        let report = home.json(&["timeline", "activity"]);
        report["counted_to"].as_i64().unwrap() >= events.len() as i64
    });
    let report = home.json(&["timeline", "activity"]);
    let mut counted: BTreeMap<&str, i64> = BTreeMap::new();
    for row in report["hours"].as_array().unwrap() {
        *counted.entry(row["kind"].as_str().unwrap()).or_default() +=
            row["count"].as_i64().unwrap();
    }
    assert_eq!(counted, expected);
}

#[test]
fn after_a_restart_of_the_machine_a_daemon_closes_its_own_slots_and_no_others() {
    let Some(database) = SharedDatabase::new() else {
        return;
    };
    let [ours, theirs] = [0, 1].map(|_| database.daemon());
    let slots = [("ours", &ours), ("theirs", &theirs)]
        .map(|(name, home)| crate::slots::spawn(home, name, "sleep 1000"));
    // What a restart of the machine leaves: no process, and an empty run folder.
    ours.kill();
    ours.end_slots();
    std::fs::remove_dir_all(ours.home().slots_dir()).unwrap();
    ours.start();
    let closed: Vec<_> = ours
        .events()
        .into_iter()
        .filter(|event| event["event"]["type"] == "slot_closed")
        .collect();
    assert_eq!(closed.len(), 1);
    assert_eq!(closed[0]["event"]["slot"], slots[0]["slot"]);
    let reason = closed[0]["event"]["reason"].as_str().unwrap();
    assert_eq!(reason, "its terminal is gone: was the machine restarted?");
    let listed = theirs.json(&["slot", "list"]);
    assert_eq!(listed["slots"][0]["slot"], slots[1]["slot"]);
}
