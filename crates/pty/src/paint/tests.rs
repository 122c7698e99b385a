use std::time::Duration;

use alacritty_terminal::term::TermMode;
use missiond_semantic::Cursor;
use proptest::prelude::*;

use super::*;

const SIZE: Size = Size {
    columns: 20,
    rows: 6,
};

/// A terminal, and another one that is painted from it.
struct Pair {
    terminal: Terminal,
    painter: Painter,
    other: Terminal,
}

impl Pair {
    fn new(view: Size, keys: Keys) -> Self {
        let mut other = Terminal::new(view);
        // As an attached client leaves it, and with the remains of another
        // program on it.
        other.feed(b"\x1b[?1049h\x1b[?7lold text", Duration::ZERO);
        Self {
            terminal: Terminal::new(SIZE),
            painter: Painter::new(View::Of(view), keys),
            other,
        }
    }

    fn program_writes(&mut self, bytes: &[u8]) {
        self.terminal.feed(bytes, Duration::ZERO);
    }

    fn paint(&mut self) -> String {
        let painted = self.painter.paint(&self.terminal);
        self.other.feed(painted.as_bytes(), Duration::ZERO);
        painted
    }

    fn lines(&mut self) -> Vec<String> {
        let text = |row: &missiond_semantic::Row| row.text.clone();
        self.other.screen().rows.iter().map(text).collect()
    }
}

#[derive(Debug, PartialEq)]
struct Picture {
    /// With where each links to.
    cells: Vec<(Cell, Option<String>)>,
    title: String,
    cursor: Option<Cursor>,
}

/// What a person sees. The id of a link is not seen: a terminal makes one up
/// for a link that has none.
fn visible(terminal: &mut Terminal) -> Picture {
    let mut all = Vec::new();
    for row in 0..SIZE.rows {
        let row = &terminal.cells()[Line(row.into())];
        let mut cells: Vec<_> = row.into_iter().map(visible_cell).collect();
        blank_half_cells(&mut cells);
        all.extend(cells.into_iter().map(|mut cell| {
            let uri = cell.hyperlink().map(|link| link.uri().to_owned());
            cell.set_hyperlink(None);
            (cell, uri)
        }));
    }
    let screen = terminal.screen();
    let cursor = screen.cursor.visible.then_some(screen.cursor);
    Picture {
        cells: all,
        title: screen.title.clone(),
        cursor,
    }
}

#[test]
fn text_colours_and_links_look_the_same_on_the_other_terminal() {
    let mut pair = Pair::new(SIZE, Keys::Sent);
    pair.program_writes(
        "\x1b]0;a title\x07plain \x1b[1;4:3;58:5:9;31mred\x1b[0;38;5;200;48;2;1;2;3m deep\x1b[0m\r\n\
         wide: 漢字 e\u{301} ✂ ⚠️ ❯\r\n\x1b]8;;https://example.org/a\x1b\\link\x1b]8;;\x1b\\\x1b[2;9H"
            .as_bytes(),
    );
    pair.paint();
    assert_eq!(visible(&mut pair.other), visible(&mut pair.terminal));
    assert_eq!(pair.paint(), "", "nothing has changed");
}

#[test]
fn a_change_costs_little_and_keeps_the_rest() {
    let mut pair = Pair::new(SIZE, Keys::Sent);
    pair.program_writes(b"one\r\ntwo\r\nthree");
    pair.paint();
    pair.program_writes(b"\x1b[2;1HTWO\x1b[K");
    let painted = pair.paint();
    assert!(painted.contains("TWO") && !painted.contains("three"));
    assert_eq!(pair.lines()[..3], ["one", "TWO", "three"]);
}

#[test]
fn a_small_terminal_shows_the_part_with_the_cursor_and_a_large_one_has_room_left() {
    let small = Size {
        columns: 8,
        rows: 2,
    };
    let mut pair = Pair::new(small, Keys::NotSent);
    pair.program_writes("0123456漢字\r\n2\r\n3\r\n4\r\n5\r\n6".as_bytes());
    pair.paint();
    assert_eq!(pair.lines(), ["5", "6"]);
    pair.program_writes(b"\x1b[H");
    pair.paint();
    assert_eq!(pair.lines(), ["0123456", "2"], "half a character is none");

    let large = Size {
        columns: 30,
        rows: 8,
    };
    let mut pair = Pair::new(large, Keys::NotSent);
    pair.program_writes(b"12345678901234567890next row");
    pair.paint();
    assert_eq!(pair.lines()[..2], ["12345678901234567890", "next row"]);
}

#[test]
fn modes_follow_the_program_only_where_keys_are_sent() {
    let modes = b"\x1b[?1h\x1b=\x1b[?1002h\x1b[?1006h\x1b[?1004h\x1b[?2004h\x1b[>5u\x1b[5 q";
    let mut pair = Pair::new(SIZE, Keys::Sent);
    pair.program_writes(modes);
    pair.paint();
    let of = |terminal: &Terminal| Modes::of(terminal, Keys::Sent);
    assert_eq!(of(&pair.other), of(&pair.terminal));
    assert!(pair.other.bracketed_paste());
    pair.program_writes(b"\x1b[?1002l\x1b[?2004l\x1b[<u\x1b[?1003h");
    pair.paint();
    assert_eq!(of(&pair.other), of(&pair.terminal));

    let mut reader = Pair::new(SIZE, Keys::NotSent);
    reader.program_writes(modes);
    reader.paint();
    assert!(!reader.other.bracketed_paste());
    assert!(!reader.other.mode().intersects(TermMode::MOUSE_MODE));
}

#[test]
fn nothing_the_program_asks_or_orders_reaches_the_other_terminal() {
    let mut pair = Pair::new(SIZE, Keys::Sent);
    pair.program_writes(
        b"\x1b[c\x1b[>q\x1b[6n\x1b[?996n\x1bP+q544e\x1b\\\x1b]11;?\x07\x1b]52;c;aGk=\x07\
          \x1b]8;;file:///x\x1b\x1b\\y\x1b]2;a\xc2\x9btitle\x07\x1b[21t",
    );
    pair.paint();
    assert_eq!(pair.other.take_replies(), b"");
}

#[test]
fn links_that_open_no_page_and_signs_that_turn_letters_round_stay_behind() {
    let mut pair = Pair::new(SIZE, Keys::NotSent);
    for uri in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ssh://x",
        "x-scheme:y",
        "nothing",
    ] {
        pair.program_writes(format!("\x1b]8;;{uri}\x1b\\x\x1b]8;;\x1b\\").as_bytes());
    }
    pair.program_writes("rm\u{202e}\u{e0041} e\u{301}".as_bytes());
    let painted = pair.paint();
    assert!(painted.contains("rm") && painted.contains("e\u{301}"));
    assert!(!painted.contains(['\u{202e}', '\u{e0041}']));
    assert!(!painted.contains("\x1b]8;id="), "{painted:?}");
    pair.program_writes(b"\x1b]8;;HTTPS://example.org/\x1b\\y\x1b]8;;\x1b\\");
    assert!(pair.paint().contains("HTTPS://example.org/"));
}

#[test]
fn the_bell_rings_once() {
    let mut pair = Pair::new(SIZE, Keys::Sent);
    pair.program_writes(b"x");
    pair.paint();
    pair.program_writes(b"\x07");
    assert_eq!(pair.paint().matches('\x07').count(), 1);
    assert_eq!(pair.paint(), "");
}

fn writes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[a-z 漢字e\u{301}❯│─⚠️]{0,30}".prop_map(String::into_bytes),
        (1..9u8, 1..25u8).prop_map(|(r, c)| format!("\x1b[{r};{c}H").into_bytes()),
        (0..108u8).prop_map(|sgr| format!("\x1b[{sgr}m").into_bytes()),
        prop::sample::select(vec![
            "\r\n",
            "\x1b[K",
            "\x1b[2J",
            "\x1b[3P",
            "\x1b[2@",
            "\x1b[L",
            "\x1b[M",
            "\x1b[2;4r",
            "\x1b[?1049h",
            "\x1b[?1049l",
            "\x1b[?25l",
            "\x1b[?25h",
            "\x1b[?2026h",
            "\x1b[?2026l",
            "\x1bM",
            "\t",
            "\x1b[41;4mx\x1b[K",
            "\x1b[?2004h",
            "\x1b]2;t\x07",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn whatever_a_program_draws_the_other_terminal_shows_it(rounds in prop::collection::vec(writes(), 1..6)) {
        let mut pair = Pair::new(SIZE, Keys::Sent);
        for bytes in rounds {
            pair.program_writes(&bytes);
            pair.paint();
            prop_assert_eq!(visible(&mut pair.other), visible(&mut pair.terminal));
            prop_assert_eq!(pair.other.take_replies(), b"".to_vec());
        }
    }
}
