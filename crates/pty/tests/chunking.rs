//! The same bytes at the same times give the same screens, answers and
//! readings, however they are split; and no bytes at all can break the reader.

#![allow(clippy::unwrap_used)]

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use missiond_core::PtyState;
use missiond_pty::{
    CastEvent, CastHeader, CastReader, CastWriter, EventKind, OutputFilter, Session, TimedReading,
    replay,
};
use missiond_semantic::{Catalogue, Manifest, Screen, Size};
use proptest::prelude::*;

const SIZE: Size = Size {
    columns: 60,
    rows: 20,
};

fn manifest(engine: &str) -> Arc<Manifest> {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::shipped().unwrap());
    CATALOGUE.for_engine(Some(engine)).unwrap().clone()
}

/// Writes at one moment, cut where the numbers say.
fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

#[derive(Debug, Clone)]
enum Step {
    Write(Vec<u8>),
    Resize(Size),
    Send(&'static str),
    Wait(u64),
}

#[derive(Debug, PartialEq)]
struct Outcome {
    readings: Vec<TimedReading>,
    screen: Screen,
    replies: Vec<u8>,
}

fn run(steps: &[Step], cuts: &[usize], manifest: &Arc<Manifest>) -> Outcome {
    let mut session = Session::new(SIZE, manifest.clone());
    let mut readings = Vec::new();
    let mut at = Duration::ZERO;
    for step in steps {
        match step {
            Step::Write(bytes) => {
                for piece in cut(bytes, cuts) {
                    session.feed(piece, at, &mut readings);
                }
            }
            Step::Resize(size) => session.resize(*size, at, &mut readings),
            Step::Send(keys) => session.sent(keys.as_bytes(), at, &mut readings),
            Step::Wait(millis) => {
                at += Duration::from_millis(*millis);
                session.advance_to(at, &mut readings);
            }
        }
    }
    session.finish(&mut readings);
    let replies = session.terminal().take_replies();
    Outcome {
        readings,
        screen: session.screen().clone(),
        replies,
    }
}

/// Pieces of output as programs write it, and as nobody should.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "\x1b[?2026h",
        "\x1b[?2026l",
        "\x1b[2J\x1b[H",
        "\x1b]0;⠹ work\x07",
        "\x1b]0;work\x07",
        "\x1b]7501;state=working:app=codex\x1b\\",
        "\x1b]7501;state=idle:app=codex\x1b\\",
        "\x1b]7501;state=blocked:kind=permission\x1b\\",
        "\x1b]9;4;3;0\x07",
        "\x1b[>q\x1b[c\x1b[6n\x1b]11;?\x07\x1b[?u",
        "\x1bP+q544e;4d73\x1b\\",
        "\x1b[?2004h",
        "\x1b[?2004l",
        "\r\n> ",
        "\r\nRun it? (Y)es/(N)o [Yes]: ",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\r\n› Ask Codex to do anything\r\n\r\n  model default · /home/x",
        "\r\n• Working (3s • esc to interrupt)\r\n\r\n› \r\n",
        "\r\n  Would you like to run it?\r\n› 1. Yes (y)\r\n  2. No (esc)\r\n",
        "ünïcödé 漢字 👩‍💻 e\u{301}",
        "\x1b[3A\x1b[2K",
    ]);
    prop_oneof![
        4 => known.prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..24),
        1 => "[ -~\\n]{0,80}".prop_map(String::into_bytes),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => prop::collection::vec(piece(), 1..5).prop_map(|pieces| Step::Write(pieces.concat())),
        1 => (2u16..140, 1u16..50).prop_map(|(columns, rows)| Step::Resize(Size { columns, rows })),
        1 => prop::sample::select(vec!["\r", "/", "a text", "\x1b", "\x03", "\x1b[?7u"]).prop_map(Step::Send),
        3 => prop::sample::select(vec![0, 1, 9, 40, 160, 500, 2500]).prop_map(Step::Wait),
    ]
}

/// Whole screens of a program.
const FRAMES: &[&str] = &[
    "› Ask Codex to do anything\r\n\r\n  model default · /home/x",
    "• Working (3s • esc to interrupt)\r\n\r\n› \r\n\r\n  model default · /home/x",
    "  Would you like to run it?\r\n\r\n› 1. Yes (y)\r\n  2. No (esc)\r\n",
    "• It is done.\r\n\r\n› Ask Codex to do anything\r\n\r\n  model default · /home/x",
];

fn redraw(frame: &str) -> Vec<u8> {
    format!("\x1b[?2026h\x1b[2J\x1b[3J\x1b[H{frame}\x1b[?2026l").into_bytes()
}

fn moment() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![0, 1, 40, 160, 500, 2500])
}

/// Sizes the screens above fit into.
fn resizes() -> impl Strategy<Value = Vec<Size>> {
    let size = (50u16..140, 10u16..50).prop_map(|(columns, rows)| Size { columns, rows });
    prop::collection::vec(size, 0..4)
}

/// When the state changed, and to what.
fn states(outcome: &Outcome) -> Vec<(Duration, PtyState)> {
    let mut states: Vec<_> = outcome
        .readings
        .iter()
        .map(|timed| (timed.at, timed.reading.state))
        .collect();
    states.dedup_by_key(|(_, state)| *state);
    states
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn any_split_of_the_same_writes_gives_the_same_readings(
        steps in prop::collection::vec(step(), 1..25),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        for engine in ["codex", "aider", "nobody-knows-it"] {
            let manifest = manifest(engine);
            prop_assert_eq!(run(&steps, &[], &manifest), run(&steps, &cuts, &manifest));
        }
    }

    #[test]
    fn any_resize_history_gives_the_same_readings(
        story in prop::collection::vec((0..FRAMES.len(), moment(), resizes()), 1..8),
    ) {
        for engine in ["codex", "nobody-knows-it"] {
            let manifest = manifest(engine);
            let (mut plain, mut resized) = (Vec::new(), Vec::new());
            for (frame, wait, sizes) in &story {
                let draw = || Step::Write(redraw(FRAMES[*frame]));
                plain.push(draw());
                resized.push(draw());
                // A program draws itself anew for each size it is given.
                for size in sizes {
                    resized.extend([Step::Resize(*size), draw()]);
                }
                resized.extend([Step::Resize(SIZE), draw()]);
                for steps in [&mut plain, &mut resized] {
                    steps.push(Step::Wait(*wait));
                }
            }
            let (plain, resized) = (run(&plain, &[], &manifest), run(&resized, &[], &manifest));
            prop_assert_eq!(states(&plain), states(&resized));
            prop_assert_eq!(plain.screen.rows, resized.screen.rows);
        }
    }

    #[test]
    fn random_bytes_never_panic_and_are_never_believed(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
    ) {
        let steps: Vec<Step> = chunks
            .into_iter()
            .flat_map(|chunk| [Step::Write(chunk), Step::Wait(700)])
            .collect();
        let outcome = run(&steps, &[], &manifest("nobody-knows-it"));
        for timed in outcome.readings {
            prop_assert!(timed.reading.confidence < 0.7, "{timed:?}");
        }
    }

    #[test]
    fn a_cast_file_of_any_content_is_read_or_refused(lines in "(\\PC{0,60}\n){0,8}") {
        if let Ok(reader) = CastReader::new(Cursor::new(lines)) {
            for event in reader {
                if event.is_err() {
                    break;
                }
            }
        }
    }
}

#[test]
fn one_byte_at_a_time_is_like_all_at_once() {
    let bytes = "\x1b[?2026h\x1b[2J\x1b[H漢字 ünï\r\n› Ask Codex to do anything\x1b[?2026l\
                 \x1b]7501;state=idle:app=codex\x1b\\\x1b]0;work\x07";
    let steps = [Step::Write(bytes.as_bytes().to_vec()), Step::Wait(5000)];
    let every: Vec<usize> = (0..bytes.len()).collect();
    let manifest = manifest("codex");
    assert_eq!(run(&steps, &[], &manifest), run(&steps, &every, &manifest));
}

#[test]
fn a_long_update_is_cut_at_the_same_byte_for_every_split() {
    let mut bytes = b"\x1b[?2026h".to_vec();
    for line in 0..60_000 {
        bytes.extend(format!("line {line:05} of a frame that never ends\r\n").bytes());
    }
    let steps = [Step::Write(bytes)];
    let manifest = manifest("codex");
    let whole = run(&steps, &[], &manifest);
    assert_eq!(
        whole,
        run(&steps, &[1, 77_777, 1_000_000, 2_000_003], &manifest)
    );
    assert!(
        whole.screen.rows[0].text.starts_with("line "),
        "an endless update is shown in the end"
    );
}

#[test]
fn what_is_written_is_what_is_read() {
    let header = CastHeader {
        version: 2,
        width: 80,
        height: 24,
        timestamp: None,
        title: Some("a title".into()),
        env: None,
        mission: None,
    };
    let events = [
        (0, EventKind::Output("a\x1b[1mb\u{fffd}ü".into())),
        (1_500, EventKind::Input("\r".into())),
        (
            1_500,
            EventKind::Resize(Size {
                columns: 100,
                rows: 30,
            }),
        ),
        (2_000_001, EventKind::Marker("idle".into())),
    ]
    .map(|(micros, kind)| CastEvent {
        at: Duration::from_micros(micros),
        kind,
    });
    let mut writer = CastWriter::new(Vec::new(), &header).unwrap();
    for event in &events {
        writer.write(event).unwrap();
    }
    let bytes = writer.into_inner();
    let reader = CastReader::new(&bytes[..]).unwrap();
    assert_eq!(reader.header(), &header);
    let read: Vec<CastEvent> = reader.map(Result::unwrap).collect();
    assert_eq!(read, events);
}

#[test]
fn a_broken_cast_says_which_line() {
    let header = r#"{"version": 2, "width": 80, "height": 24}"#;
    let cases = [
        ("", "the recording is empty"),
        ("{}\n", "line 1 is not an asciicast v2 header"),
        (
            r#"{"version": 1, "width": 80, "height": 24}"#,
            "version 1 is not supported",
        ),
        (
            &format!("{header}\n[0.1, \"o\"]\n[0.2, \"o\", \"x\"]\n"),
            "line 2 is not an event",
        ),
        (
            &format!("{header}\n[-1, \"o\", \"x\"]\n"),
            "-1 is not a time",
        ),
        (
            &format!("{header}\n[0, \"r\", \"80\"]\n"),
            "`80` is not COLSxROWS",
        ),
    ];
    for (text, expected) in cases {
        let error = match CastReader::new(text.as_bytes()) {
            Ok(mut reader) => reader.find_map(Result::err).unwrap(),
            Err(error) => error,
        };
        assert!(
            error.to_string().contains(expected),
            "{error} does not say {expected:?}"
        );
    }
    // A recorder that was killed leaves half a line, and what came before counts.
    let torn = format!("{header}\n[0.1, \"o\", \"x\"]\n[0.2, \"o\", \"y");
    assert_eq!(
        CastReader::new(torn.as_bytes())
            .unwrap()
            .map(Result::unwrap)
            .count(),
        1
    );
}

/// Every recording at hand, its output cut in pieces within the same times.
#[test]
#[cfg_attr(not(recordings), ignore = "no recordings beside the repository")]
fn recordings_read_the_same_when_their_output_is_split() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    for file in [
        "codex/0.166.0/tool_accept.cast",
        "gemini/0.61.0/ask_user.cast",
        "claude/2.0.77/edit_accept.cast",
    ] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let engine = file.split('/').next().unwrap();
        let whole = replay(
            CastReader::new(text.as_bytes()).unwrap(),
            manifest(engine),
            OutputFilter::All,
        )
        .unwrap();
        let split = split_output(&text);
        let pieces = replay(
            CastReader::new(&split[..]).unwrap(),
            manifest(engine),
            OutputFilter::All,
        )
        .unwrap();
        assert_eq!(whole.readings, pieces.readings, "{file}");
    }
}

/// The same recording with each output event cut after every third character.
fn split_output(text: &str) -> Vec<u8> {
    let reader = CastReader::new(text.as_bytes()).unwrap();
    let mut writer = CastWriter::new(Vec::new(), reader.header()).unwrap();
    for event in reader.map(Result::unwrap) {
        match event.kind {
            EventKind::Output(data) => {
                let characters: Vec<char> = data.chars().collect();
                for piece in characters.chunks(3) {
                    let kind = EventKind::Output(piece.iter().collect());
                    writer.write(&CastEvent { at: event.at, kind }).unwrap();
                }
            }
            kind => writer.write(&CastEvent { at: event.at, kind }).unwrap(),
        }
    }
    writer.into_inner()
}
