//! What a reader keeps between screens: holds, stillness, the unknown, the end.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use missiond_core::PtyState;
use missiond_semantic::{Key, Manifest, Reader, Screen, Size};

const MANIFEST: &str = "
manifest: 1
engine: acme
regions:
  prompt: {from_last: '^>', first: 1}
  answer: {above: prompt}
fingerprints:
  welcome: {in: screen, hash: 'HASH'}
hold:
  - {from: [thinking], to: [idle], ms: 300}
unknown_after_ms: 1000
rules:
  - {id: known, state: confirming, priority: 20, confidence: 1, reason: r, waiting_for: trust, when: {fingerprint: welcome}}
  - {id: busy, state: thinking, priority: 10, confidence: 0.9, reason: r, when: {in: answer, has: busy}}
  - {id: moving, state: responding, priority: 8, confidence: 0.5, reason: r, when: {changed: {in: answer, within_ms: 500}, was: idle}}
  - {id: rest, state: idle, priority: 5, confidence: 0.8, reason: r, when: {in: prompt, exists: true}}
";

fn reader(hash: &str) -> Reader {
    Reader::new(Arc::new(
        Manifest::parse(&MANIFEST.replace("HASH", hash)).unwrap(),
    ))
}

fn screen(lines: &[&str]) -> Screen {
    Screen::from_lines(
        Size {
            columns: 40,
            rows: 6,
        },
        lines.iter().copied(),
    )
}

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const NONE: &str = "0000000000000000";

#[test]
fn a_change_is_held_until_it_has_lasted() {
    let mut reader = reader(NONE);
    let (busy, rest) = (screen(&["busy", "> "]), screen(&["done", "> "]));
    assert_eq!(
        reader.observe(&busy, at(0)).unwrap().state,
        PtyState::Thinking
    );
    assert_eq!(
        reader.observe(&rest, at(100)),
        None,
        "a moment of rest is not believed"
    );
    assert_eq!(reader.deadline(), Some(at(400)));
    assert_eq!(
        reader.observe(&busy, at(200)),
        None,
        "it was only a gap between two steps"
    );
    reader.observe(&rest, at(300));
    let reading = reader.observe(&rest, at(600)).unwrap();
    assert_eq!((reading.state, reading.since), (PtyState::Idle, at(300)));
}

#[test]
fn movement_counts_for_its_time_and_asks_for_another_look() {
    let mut reader = reader(NONE);
    reader.observe(&screen(&["> "]), at(0));
    assert_eq!(reader.current().state, PtyState::Idle);
    reader.observe(&screen(&["text", "> "]), at(1000));
    assert_eq!(reader.current().state, PtyState::Responding);
    assert_eq!(reader.deadline(), Some(at(1500)));
    reader.observe(&screen(&["text", "> "]), at(1500));
    assert_eq!(reader.current().state, PtyState::Idle);
    assert_eq!(reader.deadline(), None, "a still screen asks for nothing");
}

#[test]
fn a_screen_nobody_knows_becomes_unknown_and_never_idle() {
    let mut reader = reader(NONE);
    let strange = screen(&["something else entirely"]);
    reader.observe(&strange, at(0));
    assert_eq!(
        reader.current().state,
        PtyState::Starting,
        "it has not shown a prompt yet"
    );
    assert_eq!(reader.deadline(), None);
    reader.observe(&screen(&["> "]), at(100));
    reader.observe(&strange, at(200));
    assert_eq!(reader.deadline(), Some(at(1200)));
    reader.observe(&strange, at(1200));
    let reading = reader.current();
    assert_eq!(reading.state, PtyState::Unknown);
    assert!(reading.confidence < 0.3 && reading.evidence.is_empty());
}

#[test]
fn a_held_unknown_never_asks_for_a_look_in_the_past() {
    let held = MANIFEST
        .replace("HASH", NONE)
        .replace("hold:", "hold:\n  - {to: [unknown], ms: 400}");
    let mut reader = Reader::new(Arc::new(Manifest::parse(&held).unwrap()));
    let blank = screen(&[]);
    reader.observe(&screen(&["> "]), at(0));
    reader.observe(&blank, at(100));
    let mut looks = 0;
    while let Some(due) = reader.deadline() {
        reader.observe(&blank, due);
        looks += 1;
        assert!(looks < 10, "it asks for {due:?} again and again");
    }
    assert_eq!(reader.current().state, PtyState::Unknown);
}

#[test]
fn a_registered_screen_is_recognised_at_any_width() {
    let hash = missiond_semantic::Fingerprint::of(&screen(&["Do you accept the terms?"]).rows);
    let mut reader = reader(&hash.to_string());
    reader.observe(
        &screen(&["│ Do you acc", "│ ept the    ", "│ terms?"]),
        at(0),
    );
    assert_eq!(reader.current().state, PtyState::Confirming);
}

#[test]
fn the_end_of_the_process_is_final() {
    let mut reader = reader(NONE);
    reader.observe(&screen(&["> "]), at(0));
    assert_eq!(reader.exited(at(10)).unwrap().state, PtyState::Exited);
    assert_eq!(reader.observe(&screen(&["busy", "> "]), at(20)), None);
    assert_eq!(reader.exited(at(30)), None);
    assert_eq!(reader.deadline(), None);
}

#[test]
fn an_edited_manifest_is_taken_up_without_losing_the_state() {
    let mut reader = reader(NONE);
    reader.observe(&screen(&["busy", "> "]), at(0));
    let edited = MANIFEST
        .replace("HASH", NONE)
        .replace("has: busy", "has: hard at work");
    reader.reload(Arc::new(Manifest::parse(&edited).unwrap()));
    assert_eq!(reader.current().state, PtyState::Thinking);
    reader.observe(&screen(&["busy", "> "]), at(100));
    reader.observe(&screen(&["busy", "> "]), at(500));
    assert_eq!(reader.current().state, PtyState::Idle);
}

const KEYED: &str = "
manifest: 1
engine: acme
regions:
  prompt: {from_last: '^>', first: 1}
  answer: {above: prompt}
hold:
  - {from: [thinking], to: [idle], ms: 5000, when: {sent: {key: escape, within_ms: 1000}}}
rules:
  - {id: busy, state: thinking, priority: 10, confidence: 0.9, reason: r, when: {in: answer, has: busy}}
  - {id: sent, state: thinking, priority: 8, confidence: 0.5, reason: r, when: {unanswered: {after_ms: 1000, within_ms: 4000}}}
  - {id: rest, state: idle, priority: 5, confidence: 0.8, reason: r, when: {in: prompt, exists: true}}
";

#[test]
fn a_text_nothing_has_answered_is_work_for_a_while() {
    let mut reader = Reader::new(Arc::new(Manifest::parse(KEYED).unwrap()));
    let rest = screen(&["done", "> do it"]);
    reader.observe(&rest, at(0));
    reader.sent(Key::Text, at(100));
    reader.sent(Key::Enter, at(200));
    assert_eq!(reader.observe(&rest, at(212)), None, "it may still come");
    assert_eq!(reader.deadline(), Some(at(1200)));
    let reading = reader.observe(&rest, at(1200)).unwrap();
    assert_eq!(reading.state, PtyState::Thinking);
    assert_eq!(reader.deadline(), Some(at(4200)));
    assert_eq!(
        reader.observe(&rest, at(4200)).unwrap().state,
        PtyState::Idle,
        "nobody waits for ever"
    );

    reader.sent(Key::Text, at(5000));
    reader.sent(Key::Enter, at(5100));
    reader.observe(&screen(&["busy", "> "]), at(5200));
    assert_eq!(
        reader.observe(&rest, at(6500)).unwrap().state,
        PtyState::Idle,
        "it was answered"
    );
}

#[test]
fn a_hold_with_a_condition_ends_with_it() {
    let mut reader = Reader::new(Arc::new(Manifest::parse(KEYED).unwrap()));
    let rest = screen(&["done", "> "]);
    reader.observe(&screen(&["busy", "> "]), at(0));
    reader.sent(Key::Escape, at(100));
    assert_eq!(reader.observe(&rest, at(200)), None);
    assert_eq!(reader.deadline(), Some(at(1100)));
    let reading = reader.observe(&rest, at(1100)).unwrap();
    assert_eq!((reading.state, reading.since), (PtyState::Idle, at(200)));
}
