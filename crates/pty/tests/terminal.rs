//! What a program gets from the terminal, and what the screen shows of it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::Duration;

use missiond_core::PtyState;
use missiond_pty::{Focus, Session, Terminal, TerminalSignal};
use missiond_semantic::{Catalogue, Progress, Size};

const SIZE: Size = Size {
    columns: 20,
    rows: 4,
};

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn lines(terminal: &mut Terminal) -> Vec<String> {
    terminal
        .screen()
        .rows
        .iter()
        .map(|row| row.text.clone())
        .collect()
}

#[test]
fn queries_are_answered_at_once_and_in_order() {
    let version = format!("\x1bP>|missiond({})\x1b\\", env!("CARGO_PKG_VERSION"));
    let cases: [(&str, &str); 13] = [
        ("\x1b[c", "\x1b[?6c"),
        ("\x1b[>c", "\x1b[>0;2600;1c"),
        ("ab\x1b[6n", "\x1b[1;3R"),
        ("\x1b[5n", "\x1b[0n"),
        ("\x1b[?2026$p", "\x1b[?2026;2$y"),
        ("\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"),
        ("\x1b[>1u\x1b[?u", "\x1b[?1u"),
        ("\x1b]11;?\x1b\\", "\x1b]11;rgb:1818/1818/1818\x1b\\"),
        ("\x1b]10;?\x07", "\x1b]10;rgb:d8d8/d8d8/d8d8\x07"),
        ("\x1b]4;1;?\x07", "\x1b]4;1;rgb:acac/4242/4242\x07"),
        ("\x1b]7501;?\x1b\\", "\x1b]7501;?\x1b\\"),
        (
            "\x1bP+q544e;666f6f\x1b\\",
            "\x1bP1+r544e=787465726d2d323536636f6c6f72\x1b\\\x1bP0+r\x1b\\",
        ),
        ("\x1b[?996n", "\x1b[?997;1n"),
    ];
    for (query, answer) in cases {
        let mut terminal = Terminal::new(SIZE);
        terminal.feed(query.as_bytes(), at(0));
        assert_eq!(
            String::from_utf8_lossy(&terminal.take_replies()),
            answer,
            "{query:?}"
        );
    }
    let mut terminal = Terminal::new(SIZE);
    terminal.feed(b"\x1b[c\x1b[>0q\x1b[c", at(0));
    let answers = terminal.take_replies();
    assert_eq!(
        String::from_utf8_lossy(&answers),
        format!("\x1b[?6c{version}\x1b[?6c")
    );
}

#[test]
fn a_flood_of_queries_gets_few_answers() {
    let mut terminal = Terminal::new(SIZE);
    for _ in 0..5000 {
        terminal.feed(b"\x1b[c\x1b[>q", at(10));
    }
    let first = terminal.take_replies().len();
    assert!(first > 0 && first < 4096, "{first} bytes");
    terminal.feed(b"\x1b[c", at(20));
    assert!(
        terminal.take_replies().is_empty(),
        "the limit holds within the second"
    );
    terminal.feed(b"\x1b[c", at(1100));
    assert!(!terminal.take_replies().is_empty(), "and ends with it");
}

#[test]
fn half_a_frame_is_never_shown_until_its_time_is_over() {
    let mut terminal = Terminal::new(SIZE);
    terminal.feed(b"before", at(0));
    terminal.feed(b"\x1b[?2026h\x1b[2J\x1b[Hafter", at(10));
    assert_eq!(lines(&mut terminal)[0], "before");
    assert_eq!(terminal.deadline(), Some(at(160)));
    terminal.advance_to(at(159));
    assert_eq!(lines(&mut terminal)[0], "before");
    terminal.advance_to(at(160));
    assert_eq!(lines(&mut terminal)[0], "after");
    assert_eq!(terminal.deadline(), None);
    terminal.feed(b"\x1b[?2026h\x1b[2J\x1b[Hwhole\x1b[?2026l", at(200));
    assert_eq!(lines(&mut terminal)[0], "whole");
    terminal.feed(b"\x1b[?2026h\x1b[2J\x1b[Hcut short", at(300));
    terminal.finish(at(301));
    assert_eq!(lines(&mut terminal)[0], "cut short");
}

#[test]
fn text_reflows_and_comes_back() {
    let mut terminal = Terminal::new(SIZE);
    terminal.feed("a line of words\r\n漢字".as_bytes(), at(0));
    terminal.resize(
        Size {
            columns: 8,
            rows: 4,
        },
        at(1),
    );
    // The first half of the wrapped line has moved into the history.
    assert_eq!(lines(&mut terminal)[..2], ["f words", "漢字"]);
    terminal.resize(SIZE, at(2));
    assert_eq!(lines(&mut terminal), ["a line of words", "漢字", "", ""]);
}

#[test]
fn sizes_from_nowhere_are_brought_into_range() {
    let mut terminal = Terminal::new(Size {
        columns: 0,
        rows: 0,
    });
    terminal.feed(b"x\r\ny", at(0));
    terminal.resize(
        Size {
            columns: u16::MAX,
            rows: u16::MAX,
        },
        at(1),
    );
    assert_eq!(
        terminal.screen().size,
        Size {
            columns: 1000,
            rows: 1000
        }
    );
}

#[test]
fn what_is_said_beside_the_picture_is_kept() {
    let mut terminal = Terminal::new(SIZE);
    terminal.feed(
        b"\x1b]0;the title\x07\x1b]9;4;3;0\x07\x1b]7501;state=done:app=x\x1b\\",
        at(0),
    );
    terminal.feed(b"\x1b]777;notify;Agent;needs you\x07\x07", at(0));
    let screen = terminal.screen();
    assert_eq!(screen.title, "the title");
    assert_eq!(screen.progress, Some(Progress::Busy));
    assert_eq!(screen.status.as_ref().unwrap().summary(), "done app=x");
    assert_eq!(
        terminal.take_signals(),
        [
            TerminalSignal::Notification("Agent;needs you".into()),
            TerminalSignal::Bell
        ]
    );
    let long = format!("\x1b]0;{}\x07", "t".repeat(5000));
    terminal.feed(long.as_bytes(), at(1));
    assert_eq!(terminal.screen().title.chars().count(), 512);
}

#[test]
fn focus_and_paste_follow_what_the_program_asked_for() {
    let mut terminal = Terminal::new(SIZE);
    assert_eq!(terminal.focus_report(Focus::Gained), None);
    assert!(!terminal.bracketed_paste());
    terminal.feed(b"\x1b[?1004h\x1b[?2004h", at(0));
    assert_eq!(terminal.focus_report(Focus::Gained), Some(&b"\x1b[I"[..]));
    assert_eq!(terminal.focus_report(Focus::Lost), Some(&b"\x1b[O"[..]));
    assert!(terminal.bracketed_paste());
}

#[test]
fn an_untouched_screen_is_not_read_again() {
    let mut terminal = Terminal::new(SIZE);
    terminal.feed(b"hello", at(0));
    assert!(terminal.is_dirty());
    terminal.screen();
    terminal.advance_to(at(60_000));
    assert!(!terminal.is_dirty());
}

#[test]
fn the_end_of_the_process_is_the_last_reading() {
    let manifest = Catalogue::shipped().unwrap().get("codex").unwrap().clone();
    let mut session = Session::new(SIZE, manifest);
    let mut changes = Vec::new();
    session.feed(
        b"\x1b]7501;state=working\x1b\\\x1b[?2026hhalf a frame",
        at(0),
        &mut changes,
    );
    session.exited(at(50), &mut changes);
    session.advance_to(at(60_000), &mut changes);
    let states: Vec<PtyState> = changes.iter().map(|change| change.reading.state).collect();
    assert_eq!(states.last(), Some(&PtyState::Exited));
    assert_eq!(session.deadline(), None);
    assert_eq!(session.screen().rows[0].text, "half a frame");
}
