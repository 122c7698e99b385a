//! Whatever a program writes, and however much: a session reads on, and does not
//! grow.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use missiond_pty::Session;
use missiond_semantic::{Catalogue, Manifest, Size};
use parking_lot::Mutex;

const SIZE: Size = Size {
    columns: 80,
    rows: 24,
};

/// Memory is counted for the process: the tests take turns.
static TURN: Mutex<()> = Mutex::new(());

fn manifest() -> Arc<Manifest> {
    let shipped = Catalogue::shipped().unwrap();
    Arc::clone(shipped.get("claude").unwrap())
}

/// A session that was fed a beginning and then a block again and again, read as
/// a daemon reads it, and by how much the process grew at most.
fn fed(begin: &str, block: &str, total: usize) -> (Session, usize) {
    let mut session = Session::new(SIZE, manifest());
    let mut changes = Vec::new();
    session.feed(begin.as_bytes(), Duration::ZERO, &mut changes);
    session.screen();
    let before = resident();
    let (mut count, mut grown) = (0, 0);
    for piece in block.as_bytes().chunks(4096).cycle() {
        let time = Duration::from_micros(count as u64 / 4);
        session.feed(piece, time, &mut changes);
        let megabytes = count >> 20;
        count += piece.len();
        if count >> 20 != megabytes {
            grown = grown.max(resident().saturating_sub(before));
        }
        if count >= total {
            break;
        }
    }
    (session, grown)
}

#[test]
fn a_hundred_megabytes_keep_memory_bounded() {
    let _turn = TURN.lock();
    let block: String = (0..1000)
        .map(|n| format!("\x1b[3{}mlog line {n}\x1b[0m\r\n", n % 8))
        .collect();
    let (mut session, grown) = fed("", &block, 100 << 20);
    assert!(session.screen().rows[0].text.starts_with("log line"));
    assert!(grown < 12 << 20, "grew by {grown} bytes");
}

#[test]
fn output_made_to_fill_memory_does_not() {
    let _turn = TURN.lock();
    let many = |text: &str| text.repeat((32 << 10) / text.len());
    let cases = [
        ("a title without end", "\x1b]0;", many("title")),
        ("a device string without end", "\x1bP+q", many("6b")),
        ("an update without end", "\x1b[?2026h", many("text\r\n")),
        ("marks on one letter", "a", many("\u{301}")),
        (
            "marks on letters that scroll away",
            "",
            format!("a{}\r\n", many("\u{301}")),
        ),
        (
            "marks on one letter in updates",
            "a",
            format!("\x1b[?2026h{}\x1b[?2026l", many("\u{301}")),
        ),
        ("titles put aside", "\x1b]0;title\x07", many("\x1b[22t")),
        ("questions", "", many("\x1b[c\x1b[6n\x1b[>q")),
        ("signals", "", many("\x07\x1b]9;wake up\x07")),
    ];
    for (name, begin, block) in cases {
        let (mut session, grown) = fed(begin, &block, 12 << 20);
        assert!(grown < 10 << 20, "{name}: grew by {grown} bytes");
        let later = Duration::from_secs(3600);
        session.feed(b"\x1b\\\x1b[?2026l\x1bc\x1b[Halive", later, &mut Vec::new());
        let first = &session.screen().rows[0].text;
        assert_eq!(first, "alive", "{name}");
    }
}

/// Bytes of this process in memory, where the system tells.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0usize);
    pages * 4096
}
