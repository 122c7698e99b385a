//! A terminal drawn again from its repaint is the same, and stays the same
//! when the program goes on.

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use missiond_pty::{CastReader, EventKind, Terminal};
use missiond_semantic::Size;
use proptest::prelude::*;

const SIZE: Size = Size {
    columns: 20,
    rows: 6,
};

fn drawn_again(terminal: &mut Terminal, size: Size) -> Option<Terminal> {
    let paint = terminal.repaint()?;
    let mut again = Terminal::new(size);
    again.feed(paint.as_bytes(), Duration::ZERO);
    Some(again)
}

/// Nothing here moves rows down or deletes half of a wide character: a row that
/// was wrapped into one pushed off the screen, and a half, cannot be drawn.
fn piece() -> impl Strategy<Value = String> {
    let styles: &'static [&str] = &["0", "1", "2;31", "7", "48;5;20", "38;2;1;2;3", "4:3", "97"];
    prop_oneof![
        4 => "[a-z ]{0,30}",
        2 => Just("\r\n".to_owned()),
        1 => "[é漢🦀─]{0,12}",
        1 => Just("e\u{301}\t".to_owned()),
        2 => proptest::sample::select(styles).prop_map(|style| format!("\x1b[{style}m")),
        1 => (1..8, 1..24).prop_map(|(row, column)| format!("\x1b[{row};{column}H")),
        1 => proptest::sample::select(&["\x1b[K", "\x1b[2J", "\x1b[?25l",
            "\x1b[?2004h", "\x1b[?1004h", "\x1b[?7l", "\x1b[?1049h", "\x1b]2;title\x07",
            "\x1b]9;4;1;40\x07", "\x1b]7501;state=idle:app=x\x07"][..]).prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn what_is_drawn_again_is_the_same_and_goes_on_the_same(
        before in proptest::collection::vec(piece(), 0..40),
        after in proptest::collection::vec("[a-z漢]{0,30}(\r\n)?", 0..10),
    ) {
        let mut terminal = Terminal::new(SIZE);
        terminal.feed(before.concat().as_bytes(), Duration::ZERO);
        let mut again = drawn_again(&mut terminal, SIZE).unwrap();
        prop_assert_eq!(again.screen(), terminal.screen());
        prop_assert_eq!(again.bracketed_paste(), terminal.bracketed_paste());
        for terminal in [&mut terminal, &mut again] {
            terminal.feed(after.concat().as_bytes(), Duration::ZERO);
        }
        prop_assert_eq!(again.screen(), terminal.screen());
    }
}

#[test]
fn an_agent_goes_on_the_same_on_a_terminal_that_was_drawn_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for file in ["claude_session", "codex_session", "gemini_session"] {
        let path = folder.join(file).with_extension("cast");
        let cast = CastReader::new(BufReader::new(File::open(path).unwrap())).unwrap();
        let mut size = cast.header().size();
        let mut terminal = Terminal::new(size);
        let mut again = Terminal::new(size);
        for (number, event) in cast.map(Result::unwrap).enumerate() {
            if number % 25 == 24
                && let Some(drawn) = drawn_again(&mut again, size)
            {
                again = drawn;
            }
            for terminal in [&mut terminal, &mut again] {
                match &event.kind {
                    EventKind::Output(data) => terminal.feed(data.as_bytes(), event.at),
                    EventKind::Resize(wanted) => terminal.resize(*wanted, event.at),
                    EventKind::Input(_) | EventKind::Marker(_) => {}
                }
            }
            if let EventKind::Resize(wanted) = event.kind {
                size = wanted;
            }
            assert_eq!(again.screen(), terminal.screen(), "{file}, event {number}");
        }
    }
}
