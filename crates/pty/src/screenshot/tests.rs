//! Facts about pictures that a person who looks at them would notice.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use super::font::Font;
use super::mask::{CELL_HEIGHT, CELL_WIDTH, Mask};
use missiond_semantic::Size;

use super::*;

const INK: [u8; 3] = [0xd8; 3];
const PAPER: [u8; 3] = [0x18; 3];
const NO_CURSOR: &str = "\x1b[?25l";

fn picture(columns: u16, rows: u16, output: &str) -> Picture {
    let mut terminal = Terminal::new(Size { columns, rows });
    terminal.feed(output.as_bytes(), Duration::ZERO);
    terminal.picture().unwrap()
}

/// A decoded PNG.
struct Pixels {
    width: usize,
    height: usize,
    rgb: Vec<[u8; 3]>,
}

impl Pixels {
    fn of(picture: &Picture) -> Self {
        let png = picture.render(Format::Png).unwrap();
        let mut decoder = ::png::Decoder::new(std::io::Cursor::new(png));
        decoder.set_transformations(::png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!(info.color_type, ::png::ColorType::Rgb);
        Self {
            width: info.width as usize,
            height: info.height as usize,
            rgb: bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect(),
        }
    }

    fn at(&self, x: usize, y: usize) -> [u8; 3] {
        self.rgb[y * self.width + x]
    }

    /// The colours of a cell.
    fn colours(&self, column: usize, row: usize) -> BTreeSet<[u8; 3]> {
        let mut colours = BTreeSet::new();
        for y in row * CELL_HEIGHT..(row + 1) * CELL_HEIGHT {
            for x in column * CELL_WIDTH..(column + 1) * CELL_WIDTH {
                colours.insert(self.at(x, y));
            }
        }
        colours
    }

    /// The paper that is reached from the upper left without crossing ink.
    fn outside(&self) -> BTreeSet<(usize, usize)> {
        let mut reached = BTreeSet::new();
        let mut next = vec![(0, 0)];
        while let Some((x, y)) = next.pop() {
            let open = x < self.width && y < self.height && self.at(x, y) == PAPER;
            if open && reached.insert((x, y)) {
                next.extend([(x + 1, y), (x, y + 1)]);
                next.extend(x.checked_sub(1).map(|x| (x, y)));
                next.extend(y.checked_sub(1).map(|y| (x, y)));
            }
        }
        reached
    }
}

/// The one colour of a cell filled by a block.
fn only(pixels: &Pixels, column: usize) -> [u8; 3] {
    let colours = pixels.colours(column, 0);
    assert_eq!(colours.len(), 1, "column {column}: {colours:x?}");
    colours.into_iter().next().unwrap()
}

#[test]
fn every_way_to_name_a_colour_gives_that_colour() {
    let output = "\x1b[31m█\x1b[91m█\x1b[38;5;196m█\x1b[38;5;244m█\x1b[38;2;1;2;3m█\x1b[0m\
                  \x1b[44m \x1b[48;5;21m \x1b[48;2;9;8;7m \x1b[0m█ ";
    let pixels = Pixels::of(&picture(12, 1, &format!("{NO_CURSOR}{output}")));
    let seen: Vec<_> = (0..10).map(|column| only(&pixels, column)).collect();
    let wanted = [
        [0xac, 0x42, 0x42],
        [0xc5, 0x55, 0x55],
        [0xff, 0, 0],
        [0x80, 0x80, 0x80],
        [1, 2, 3],
        [0x6a, 0x9f, 0xb5],
        [0, 0, 0xff],
        [9, 8, 7],
        INK,
        PAPER,
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn looks_change_the_colours() {
    let output = "\x1b[7m █\x1b[0;2m█\x1b[0;8;41mx\x1b[0;1;7;48;2;1;1;1m█\x1b[0m";
    let pixels = Pixels::of(&picture(8, 1, &format!("{NO_CURSOR}{output}")));
    assert_eq!(only(&pixels, 0), INK, "inverse paper");
    assert_eq!(only(&pixels, 1), PAPER, "inverse ink");
    let [dim, ..] = only(&pixels, 2);
    assert!((0x60..0xa8).contains(&dim), "dim: {dim:x}");
    assert_eq!(only(&pixels, 3), [0xac, 0x42, 0x42], "hidden");
    assert_eq!(only(&pixels, 4), [1, 1, 1], "inverse of an exact colour");
}

#[test]
fn a_palette_the_program_changed_is_used() {
    let output = "\x1b]4;1;rgb:12/34/56\x1b\\\x1b]11;#020304\x1b\\\x1b[31m█\x1b[0m ";
    let shown = picture(4, 1, &format!("{NO_CURSOR}{output}"));
    let pixels = Pixels::of(&shown);
    assert_eq!(only(&pixels, 0), [0x12, 0x34, 0x56]);
    assert_eq!(only(&pixels, 1), [2, 3, 4]);
    let ansi = String::from_utf8(shown.render(Format::Ansi).unwrap()).unwrap();
    assert!(ansi.contains("38;2;18;52;86"), "{ansi:?}");
}

#[test]
fn the_cursor_is_seen_where_it_is_and_only_when_shown() {
    let shown = Pixels::of(&picture(4, 2, "ab\r\n  "));
    assert_eq!(shown.colours(2, 1), BTreeSet::from([INK]));
    let hidden = Pixels::of(&picture(4, 2, &format!("{NO_CURSOR}ab\r\n  ")));
    assert_eq!(hidden.colours(2, 1), BTreeSet::from([PAPER]));
    let wide = Pixels::of(&picture(4, 1, "中\x1b[1;2H"));
    assert_eq!(wide.at(0, 0), INK, "a wide cell is one cell");
    assert_eq!(wide.at(2 * CELL_WIDTH - 1, 0), INK);
}

#[test]
fn boxes_have_no_holes() {
    for corners in ["┌─┐│└┘", "┏━┓┃┗┛", "╔═╗║╚╝", "╭─╮│╰╯", "╒═╕│╘╛", "╓─╖║╙╜"]
    {
        let [a, h, b, v, c, d] = corners.chars().collect::<Vec<_>>()[..] else {
            panic!("six characters");
        };
        let output = format!(
            "{NO_CURSOR}\r\n {a}{h}{h}{h}{b}\r\n {v}   {v}\r\n {v}   {v}\r\n {c}{h}{h}{h}{d}"
        );
        let pixels = Pixels::of(&picture(7, 6, &output));
        let outside = pixels.outside();
        let middle = (pixels.width / 2, pixels.height / 2);
        assert_eq!(pixels.at(middle.0, middle.1), PAPER);
        assert!(!outside.contains(&middle), "{corners} leaks");
        assert!(outside.contains(&(pixels.width - 1, pixels.height - 1)));
    }
}

/// Which edges of its cell a glyph touches: left, right, top, bottom.
fn edges(rows: &[Vec<bool>]) -> [bool; 4] {
    let last = rows[0].len() - 1;
    [
        rows.iter().any(|row| row[0]),
        rows.iter().any(|row| row[last]),
        rows[0].contains(&true),
        rows[rows.len() - 1].contains(&true),
    ]
}

#[test]
fn lines_reach_the_edges_their_names_say() {
    let mut unifont = unifont_bitmap::Unifont::open();
    let dashed_or_diagonal = "┄┅┆┇┈┉┊┋╌╍╎╏╱╲╳";
    for character in ('\u{2500}'..='\u{257f}').filter(|c| !dashed_or_diagonal.contains(*c)) {
        let ours = shapes::draw(character, 1).unwrap();
        let ours: Vec<Vec<bool>> = ours
            .rows()
            .map(|row| row.iter().map(|&coverage| coverage == 255).collect())
            .collect();
        let theirs = unifont.load_bitmap(u32::from(character));
        let theirs: Vec<Vec<bool>> = theirs
            .get_bytes()
            .iter()
            .map(|byte| (0..8).map(|x| byte & (0x80 >> x) != 0).collect())
            .collect();
        assert_eq!(edges(&ours), edges(&theirs), "{character}");
    }
}

#[test]
fn blocks_and_status_lines_fill_their_cells_to_the_edge() {
    let pixels = Pixels::of(&picture(4, 2, &format!("{NO_CURSOR}██\r\n▄▀")));
    for x in 0..2 * CELL_WIDTH {
        for y in 0..CELL_HEIGHT {
            assert_eq!(pixels.at(x, y), INK);
        }
    }
    assert_eq!(pixels.at(0, CELL_HEIGHT), PAPER);
    assert_eq!(pixels.at(0, 2 * CELL_HEIGHT - 1), INK);
    assert_eq!(pixels.at(CELL_WIDTH, CELL_HEIGHT), INK);
    assert_eq!(pixels.at(CELL_WIDTH, 2 * CELL_HEIGHT - 1), PAPER);
    let arrow = shapes::draw('\u{e0b0}', 1).unwrap();
    let rows: Vec<_> = arrow.rows().collect();
    assert!(rows[CELL_HEIGHT / 2][CELL_WIDTH - 1] > 0, "its tip");
    assert!(rows.iter().all(|row| row[0] > 0), "its back");
}

fn mask(output: &str) -> Mask {
    let shown = picture(4, 1, output);
    Font::new().mask(&shown.rows[0][0]).clone()
}

#[test]
fn wide_characters_take_two_cells_and_marks_join_their_letter() {
    let shown = picture(8, 1, "中🚀e\u{301}x");
    let widths: Vec<_> = shown.rows[0].iter().map(|glyph| glyph.columns).collect();
    assert_eq!(widths, [2, 2, 1, 1, 1, 1]);
    assert_eq!(shown.rows[0][2].marks, "\u{301}");
    for wide in ["中", "한", "あ", "🚀"] {
        let wide = mask(wide);
        let ink = |x: std::ops::Range<usize>| wide.rows().any(|row| row[x.clone()].contains(&255));
        assert!(ink(0..CELL_WIDTH) && ink(CELL_WIDTH..2 * CELL_WIDTH));
    }
    assert_ne!(mask("中"), mask("文"), "glyphs, not boxes");
    assert_ne!(mask("e"), mask("e\u{301}"));
    assert_eq!(mask("✔"), mask("✔\u{fe0f}"), "a selector has no looks");
    assert_ne!(mask("a"), mask("\x1b[1ma"));
    assert_ne!(mask("a"), mask("\x1b[3ma"));
}

#[test]
fn half_a_wide_character_is_blank() {
    let shown = picture(6, 1, "中文x\x1b[1;2H\x1b[P");
    let text = String::from_utf8(shown.render(Format::Text).unwrap()).unwrap();
    assert_eq!(text, " 文x\n");
}

#[test]
fn nothing_that_should_be_seen_is_drawn_as_nothing() {
    let framed = mask("\u{e700}");
    assert_eq!(framed, mask("\u{10fffd}"), "both are unknown");
    assert!(!framed.is_empty());
    let mut font = Font::new();
    // A prime, so that every place in a block has its turn.
    for code in (0x21..0x32000).step_by(13) {
        let Some(character) = char::from_u32(code) else {
            continue;
        };
        let shown = picture(2, 1, &character.to_string());
        let glyph = &shown.rows[0][0];
        let drawn = glyph.character == character && glyph.marks.is_empty();
        if drawn && !character.is_whitespace() && !font::is_invisible(character) {
            let blank = font.mask(glyph).is_empty();
            assert!(!blank || character == '\u{2800}', "U+{code:04X}");
        }
    }
}

#[test]
fn svg_is_well_formed_and_says_what_the_terminal_said() {
    let shown = picture(
        24,
        3,
        "a<b> & 'c' \"d\"\r\n\x1b[1;31m</text><script>\x1b[0m\r\n\x1b[4;7m中─e\u{301}\x1b[8mx",
    );
    let svg = String::from_utf8(shown.render(Format::Svg).unwrap()).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let root = document.root_element();
    let names: BTreeSet<_> = root
        .descendants()
        .filter(roxmltree::Node::is_element)
        .map(|node| node.tag_name().name())
        .collect();
    assert_eq!(names, BTreeSet::from(["g", "path", "rect", "svg", "text"]));
    assert!(!svg.contains("href"));
    let texts: Vec<_> = root
        .descendants()
        .filter(|node| node.has_tag_name("text"))
        .collect();
    let said: Vec<_> = texts.iter().filter_map(roxmltree::Node::text).collect();
    assert_eq!(
        said,
        ["a<b> & 'c' \"d\"", "</text><script>", "中", "─", "e\u{301}"]
    );
    let length = |index: usize| texts[index].attribute("textLength").unwrap();
    assert_eq!(length(1).parse::<usize>().unwrap(), 15 * CELL_WIDTH);
    assert_eq!(length(2).parse::<usize>().unwrap(), 2 * CELL_WIDTH);
    assert_eq!(texts[1].attribute("font-weight"), Some("bold"));
    assert_eq!(texts[1].attribute("fill"), Some("#ac4242"));
    assert_eq!(texts[2].attribute("fill"), Some("#181818"), "inverse");
}

#[test]
fn text_is_what_is_seen() {
    let shown = picture(10, 4, "one  \r\n\x1b[8msecret\x1b[0m!\r\n中x");
    let text = String::from_utf8(shown.render(Format::Text).unwrap()).unwrap();
    assert_eq!(text, "one\n      !\n中x\n");
}

#[test]
fn a_picture_has_a_largest_size() {
    let size = Size {
        columns: 1000,
        rows: 501,
    };
    let error = Terminal::new(size).picture().unwrap_err();
    assert_eq!(
        error.to_string(),
        "a picture has at most 1000x500 cells, this terminal has 1000x501: make it smaller first"
    );
}

#[test]
fn a_recording_is_shown_as_it_was_at_a_moment() {
    let cast = "{\"version\":2,\"width\":10,\"height\":2}\n\
                [1.0,\"o\",\"one\"]\n[2.0,\"o\",\"\\r\\ntwo\"]\n[3.0,\"r\",\"20x3\"]\n";
    let at = |until: Option<u64>| {
        let cast = CastReader::new(cast.as_bytes()).unwrap();
        let shown = of_recording(cast, until.map(Duration::from_secs)).unwrap();
        let text = shown.render(Format::Text).unwrap();
        (shown.size.columns, String::from_utf8(text).unwrap())
    };
    assert_eq!(at(Some(0)), (10, "\n".to_owned()));
    assert_eq!(at(Some(1)), (10, "one\n".to_owned()));
    assert_eq!(at(Some(2)), (10, "one\ntwo\n".to_owned()));
    assert_eq!(at(None), (20, "one\ntwo\n".to_owned()));
}

/// What programs write: text of all kinds, looks, moves, erasures and colours.
fn output() -> impl Strategy<Value = String> {
    let colour = prop_oneof![
        (0u8..8).prop_map(|n| format!("{n}")),
        any::<u8>().prop_map(|n| format!("8;5;{n}")),
        any::<(u8, u8, u8)>().prop_map(|(r, g, b)| format!("8;2;{r};{g};{b}")),
        Just("9".to_owned()),
    ];
    let piece = prop_oneof![
        4 => "[ -~]{1,12}",
        2 => "[中文é한🚀─│█⠋✻e\u{301}\u{fe0f}\u{200d}]{1,6}",
        3 => prop::sample::select(vec![
            "0", "1", "2", "3", "4", "4:2", "4:3", "4:4", "4:5", "7", "8", "9", "22", "24", "27",
            "58;5;9", "58;2;1;2;3", "59", "90", "107",
        ]).prop_map(|code| format!("\x1b[{code}m")),
        2 => colour.clone().prop_map(|colour| format!("\x1b[3{colour}m")),
        2 => colour.prop_map(|colour| format!("\x1b[4{colour}m")),
        1 => (1u8..9, 1u8..20).prop_map(|(row, column)| format!("\x1b[{row};{column}H")),
        1 => prop::sample::select(vec![
            "\x1b[K", "\x1b[1K", "\x1b[J", "\x1b[2J", "\x1b[3X", "\x1b[2P", "\x1b[@", "\x1b[L",
            "\x1b[M", "\r\n", "\r", "\t", "\x08", "\x1b[?1049h", "\x1b[?1049l", "\x1b[S",
        ]).prop_map(str::to_owned),
        1 => (0u8..16, any::<(u8, u8, u8)>())
            .prop_map(|(n, (r, g, b))| format!("\x1b]4;{n};rgb:{r:02x}/{g:02x}/{b:02x}\x1b\\")),
        1 => any::<(u8, u8, u8)>()
            .prop_map(|(r, g, b)| format!("\x1b]11;rgb:{r:02x}/{g:02x}/{b:02x}\x1b\\")),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn ansi_fed_to_a_terminal_gives_the_same_picture(output in output()) {
        let shown = picture(18, 7, &output);
        let ansi = String::from_utf8(shown.render(Format::Ansi).unwrap()).unwrap();
        let again = picture(18, 7, &ansi);
        prop_assert_eq!(&shown.rows, &again.rows, "{:?}", ansi);
        prop_assert_eq!(shown.render(Format::Text).unwrap(), again.render(Format::Text).unwrap());
    }

    #[test]
    fn whatever_is_shown_can_be_drawn(output in output()) {
        let shown = picture(18, 7, &output);
        let pixels = Pixels::of(&shown);
        prop_assert_eq!((pixels.width, pixels.height), (18 * CELL_WIDTH, 7 * CELL_HEIGHT));
        let svg = String::from_utf8(shown.render(Format::Svg).unwrap()).unwrap();
        prop_assert!(roxmltree::Document::parse(&svg).is_ok());
    }
}
