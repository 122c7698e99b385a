use missiond_core::ExecutionId;
use proptest::prelude::*;

use super::*;
use crate::catalogue::{CompletedClaim, Progress, SignalType};
use crate::observation::EventId;
use missiond_core::List;

struct Agent {
    execution: ExecutionId,
    key: MarkerKey,
}

impl Agent {
    fn new() -> Self {
        Self {
            execution: ExecutionId::generate(),
            key: MarkerKey::generate().unwrap(),
        }
    }

    fn expected(&self) -> Expected {
        Expected {
            execution: self.execution,
            key: self.key.hash(self.execution),
        }
    }

    fn marker(&self, event: &str, signal: &Signal) -> String {
        encode(self.execution, &self.key, &event.parse().unwrap(), signal)
    }
}

fn progress(summary: &str) -> Signal {
    Progress {
        summary: summary.try_into().unwrap(),
        detail: None,
        percent: None,
        artifacts: List::default(),
    }
    .into()
}

fn sent(event: &str, signal: Signal) -> ParsedMarker {
    ParsedMarker::Signal {
        event: event.parse::<EventId>().unwrap(),
        signal,
    }
}

fn code(found: &ParsedMarker) -> DiagnosticCode {
    match found {
        ParsedMarker::Refused { code, .. } => *code,
        ParsedMarker::Signal { .. } => panic!("accepted: {found:?}"),
    }
}

fn in_stream(agent: &Agent, text: &str) -> Vec<ParsedMarker> {
    let mut decoder = StreamDecoder::new(agent.expected(), Broken::Refused);
    let mut found = decoder.push(text.as_bytes());
    found.extend(decoder.finish());
    found
}

#[test]
fn a_marker_in_plain_output_is_found_among_other_lines() {
    let agent = Agent::new();
    let signal = progress("built it");
    let output = format!(
        "compiling\n\u{1b}[1m{}\u{1b}[0m\r\ndone\n",
        agent.marker("e1", &signal)
    );
    assert_eq!(in_stream(&agent, &output), [sent("e1", signal)]);
}

#[test]
fn a_marker_without_a_last_newline_is_found_at_the_end() {
    let agent = Agent::new();
    let signal = progress("last words");
    assert_eq!(
        in_stream(&agent, &agent.marker("e1", &signal)),
        [sent("e1", signal)]
    );
}

#[test]
fn a_marker_quoted_from_a_file_is_refused_as_unauthorised() {
    let agent = Agent::new();
    let claim: Signal = CompletedClaim {
        summary: "trust me".try_into().unwrap(),
        artifacts: List::default(),
    }
    .into();
    // The author of the file may know the execution's id; not the key.
    let stranger = Agent {
        execution: agent.execution,
        key: MarkerKey::generate().unwrap(),
    };
    let quoted = stranger.marker("e1", &claim);
    let found = in_stream(&agent, &format!("+ {quoted}\n"));
    assert_eq!(
        found.iter().map(code).collect::<Vec<_>>(),
        [DiagnosticCode::Unauthorised]
    );
    // Drawn again, wrapped or not, it is the same refusal.
    let rows = [
        format!("• {}", &quoted[..60]),
        format!("  {}", &quoted[60..]),
    ];
    assert_eq!(find_in_rows(&rows, &agent.expected()), found);
}

#[test]
fn a_marker_of_another_execution_is_refused() {
    let (agent, other) = (Agent::new(), Agent::new());
    let found = in_stream(&agent, &other.marker("e1", &progress("mine")));
    assert_eq!(
        found.iter().map(code).collect::<Vec<_>>(),
        [DiagnosticCode::WrongExecution]
    );
}

#[test]
fn a_marker_in_a_sentence_or_with_a_line_number_is_a_quotation() {
    let agent = Agent::new();
    let marker = agent.marker("e1", &progress("x"));
    for line in [
        format!("print {marker} to report"),
        format!("12 | {marker}"),
        format!("`{marker}`"),
    ] {
        assert_eq!(in_stream(&agent, &line), [], "{line}");
    }
}

#[test]
fn what_is_wrong_is_told_apart() {
    let agent = Agent::new();
    let good = agent.marker("e1", &progress("x"));
    let cases = [
        (
            good.replace("\"progress\"", "\"applause\""),
            DiagnosticCode::Unsupported,
        ),
        (good.replace("summary", "owner"), DiagnosticCode::Malformed),
        (
            good.replace("\"e1\"", "\"<event>\""),
            DiagnosticCode::Malformed,
        ),
        (
            good.replace("\"v\":1", "\"v\":9"),
            DiagnosticCode::Unsupported,
        ),
        (good[..good.len() - 1].to_owned(), DiagnosticCode::Malformed),
        (format!("{good} and more"), DiagnosticCode::Malformed),
        (
            good.replace("\"x\"", &format!("\"{}\"", "y".repeat(2_001))),
            DiagnosticCode::Malformed,
        ),
        (
            good.replace("\"x\"", &format!("\"{}\"", "y".repeat(5_000_000))),
            DiagnosticCode::Oversized,
        ),
    ];
    for (marker, expected) in cases {
        let found = in_stream(&agent, &marker);
        assert_eq!(
            found.iter().map(code).collect::<Vec<_>>(),
            [expected],
            "{:.200}",
            marker
        );
    }
}

#[test]
fn the_instructions_echoed_at_any_width_are_no_marker() {
    let agent = Agent::new();
    let text = instructions(agent.execution, &agent.key, SignalType::ALL);
    assert_eq!(in_stream(&agent, &text), []);
    for width in 20..140 {
        let rows: Vec<String> = text
            .lines()
            .flat_map(|line| break_anywhere(line, "> ", "  ", width))
            .collect();
        assert_eq!(find_in_rows(&rows, &agent.expected()), [], "at {width}");
    }
}

#[test]
fn the_instructions_name_every_allowed_signal_and_its_limits() {
    let agent = Agent::new();
    let text = instructions(agent.execution, &agent.key, &[SignalType::NeedsInput]);
    assert!(text.contains("- needs_input: "), "{text}");
    assert!(!text.contains("- progress: "), "{text}");
    assert!(
        text.contains("\"question\" (required, text of up to 2000 characters)"),
        "{text}"
    );
    assert!(
        text.contains("\"choices\" (optional, list of up to 6: object with"),
        "{text}"
    );
}

/// Breaks wherever the width is reached, as Copilot does.
fn break_anywhere(text: &str, first: &str, next: &str, width: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut rows = Vec::new();
    let mut at = 0;
    while at < chars.len() || rows.is_empty() {
        let lead = if rows.is_empty() { first } else { next };
        let room = width - lead.chars().count();
        let end = (at + room).min(chars.len());
        rows.push(format!(
            "{lead}{}",
            chars[at..end].iter().collect::<String>()
        ));
        at = end;
    }
    rows
}

/// Breaks at spaces, and within a word only when it is longer than a row, as
/// Codex does. The space at the break is lost.
fn break_at_spaces(text: &str, first: &str, next: &str, width: usize) -> Vec<String> {
    let mut rows: Vec<String> = vec![first.to_owned()];
    let mut room = width - first.chars().count();
    for (index, word) in text.split(' ').enumerate() {
        let need = word.chars().count() + usize::from(index > 0);
        let row = rows.last_mut().unwrap();
        if need <= room {
            if index > 0 {
                row.push(' ');
            }
            row.push_str(word);
            room -= need;
            continue;
        }
        if index > 0 {
            rows.push(next.to_owned());
            room = width - next.chars().count();
        }
        for char in word.chars() {
            if room == 0 {
                rows.push(next.to_owned());
                room = width - next.chars().count();
            }
            rows.last_mut().unwrap().push(char);
            room -= 1;
        }
    }
    rows
}

#[test]
fn a_marker_broken_at_spaces_is_read_with_its_spaces() {
    let agent = Agent::new();
    let signal = progress("the tests of the store pass and the journal is next in line");
    let marker = agent.marker("step-1", &signal);
    let mut exact = 0;
    for width in 40..160 {
        let rows = break_at_spaces(&marker, "• ", "  ", width);
        let found = find_in_rows(&rows, &agent.expected());
        let [
            ParsedMarker::Signal {
                event,
                signal: read,
            },
        ] = &found[..]
        else {
            panic!("at {width}: {found:?}\n{}", rows.join("\n"));
        };
        assert_eq!(event.as_str(), "step-1");
        exact += usize::from(*read == signal);
    }
    // A row that is exactly full may hide a space; nothing on the screen tells.
    assert!(exact > 100, "{exact} of 120 widths read word for word");
}

#[test]
fn a_marker_broken_anywhere_is_read() {
    let agent = Agent::new();
    let signal = progress("the tests pass");
    let marker = agent.marker("step-1", &signal);
    for width in 40..160 {
        let rows = break_anywhere(&marker, "● ", "  ", width);
        let found = find_in_rows(&rows, &agent.expected());
        assert!(
            matches!(&found[..], [ParsedMarker::Signal { event, .. }] if event.as_str() == "step-1"),
            "at {width}: {found:?}"
        );
    }
}

#[test]
fn two_markers_below_each_other_are_two() {
    let agent = Agent::new();
    let (one, two) = (progress("one"), progress("two"));
    let mut rows = break_anywhere(&agent.marker("1", &one), "• ", "  ", 60);
    rows.extend(break_anywhere(&agent.marker("2", &two), "• ", "  ", 60));
    rows.push("› next prompt".into());
    let found = find_in_rows(&rows, &agent.expected());
    assert_eq!(found, [sent("1", one), sent("2", two)]);
}

#[test]
fn a_marker_in_a_box_is_read() {
    let agent = Agent::new();
    let signal = progress("boxed");
    let rows: Vec<String> = break_anywhere(&agent.marker("1", &signal), "", "", 60)
        .iter()
        .map(|row| format!("│ {row:<60} │"))
        .collect();
    assert_eq!(find_in_rows(&rows, &agent.expected()), [sent("1", signal)]);
}

#[test]
fn a_marker_still_being_drawn_waits() {
    let agent = Agent::new();
    let rows = break_anywhere(&agent.marker("1", &progress("one")), "• ", "  ", 60);
    for shown in 0..rows.len() {
        assert_eq!(find_in_rows(&rows[..shown], &agent.expected()), []);
    }
}

#[test]
fn a_key_is_not_shown_by_accident() {
    let key = MarkerKey::generate().unwrap();
    assert!(!format!("{key:?}").contains(&key.reveal()));
    assert_eq!(key.reveal().parse::<MarkerKey>().unwrap(), key);
}

#[test]
fn the_output_of_a_screen_is_read_as_far_as_it_is_whole() {
    let agent = Agent::new();
    let marker = agent.marker("e1", &progress("built it"));
    let beside_screen = |text: &str| {
        let mut decoder = StreamDecoder::new(agent.expected(), Broken::LeftToTheScreen);
        let mut found = decoder.push(text.as_bytes());
        found.extend(decoder.finish());
        found
    };
    let sent = [sent("e1", progress("built it"))];
    // Drawn at a place of its own, in another character set, over an older line.
    for drawn in [
        format!("words\u{1b}[5;1H\u{1b}(B{marker}\u{1b}[6;1Hmore"),
        format!("an older line\r{marker}\u{1b}[K\r\n"),
        format!("\u{1b}7{marker}\u{1b}8"),
    ] {
        assert_eq!(beside_screen(&drawn), sent, "{drawn:?}");
    }
    // Cells that already showed the right letter are passed over: what is left
    // is not what was meant.
    let (head, tail) = marker.split_at(marker.len() - 8);
    assert_eq!(beside_screen(&format!("{head}\u{1b}[C{tail}\r\n")), []);
    assert_eq!(beside_screen(&format!("{head}\r\n  {tail}\r\n")), []);
}

proptest! {
    #[test]
    fn any_chunking_finds_the_same(cuts in prop::collection::vec(1usize..40, 0..60), noise in "[ -~\n\u{1b}äß]{0,80}") {
        let agent = Agent::new();
        let text = format!("{noise}\n{}\n{noise}\n", agent.marker("e", &progress("ünïcödé")));
        let whole = in_stream(&agent, &text);
        let mut decoder = StreamDecoder::new(agent.expected(), Broken::Refused);
        let (mut found, mut rest) = (Vec::new(), text.as_bytes());
        for cut in cuts {
            let (now, later) = rest.split_at(cut.min(rest.len()));
            found.extend(decoder.push(now));
            rest = later;
        }
        found.extend(decoder.push(rest));
        found.extend(decoder.finish());
        prop_assert_eq!(found, whole);
    }

    #[test]
    fn no_rows_make_the_finder_panic(rows in prop::collection::vec("[ -~•@:{}\"\\\\äß]{0,60}", 0..20)) {
        let agent = Agent::new();
        let _ = find_in_rows(&rows, &agent.expected());
        let begun: Vec<_> = rows.iter().map(|row| format!("@mission::{{{row}")).collect();
        let _ = find_in_rows(&begun, &agent.expected());
    }
}
