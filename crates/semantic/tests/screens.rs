//! Screens in, states out, for every shipped manifest.
//!
//! Each file under `screens/` is one session: sections that begin with
//! `=== state` hold a screen that lasts for a few seconds and the state it must
//! be read as. Options after the state: `waiting_for=…`, `title="…"`,
//! `status="…"`, `progress=busy`, `paste=on`, `options=n`, `selected=n`, `tool="…"`.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::time::Duration;

use missiond_semantic::{Catalogue, ProgramStatus, Progress, Reader, Screen, Size};

struct Section {
    line: usize,
    state: String,
    options: Vec<(String, String)>,
    screen: Screen,
}

#[test]
fn every_screen_is_read_as_its_file_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens");
    let catalogue = Catalogue::shipped().unwrap();
    let mut wrong = Vec::new();
    let mut sections_read = 0;
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let engine = name.split('-').next().unwrap().to_owned();
        let manifest = catalogue
            .get(&engine)
            .expect("files are named after an engine");
        let mut reader = Reader::new(manifest.clone());
        let mut at = Duration::ZERO;
        for section in sections(&std::fs::read_to_string(&file).unwrap()) {
            sections_read += 1;
            // Long enough for every hold and every wait for stillness.
            for _ in 0..60 {
                at += Duration::from_millis(100);
                reader.observe(&section.screen, at);
            }
            let reading = reader.current();
            let read = actual(reading, &section.options);
            let expected = (section.state, section.options);
            if read != expected {
                wrong.push(format!(
                    "{name}:{}: expected {expected:?}, read {read:?} by {:?}",
                    section.line,
                    reading.evidence.first().map(|evidence| &evidence.rule),
                ));
            }
        }
    }
    assert!(sections_read > 40, "only {sections_read} screens found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What was read, as far as the section asks for it.
fn actual(
    reading: &missiond_semantic::Reading,
    asked: &[(String, String)],
) -> (String, Vec<(String, String)>) {
    let dialog = reading.dialog.as_ref();
    let answer = |name: &str, given: &str| match name {
        "waiting_for" => reading
            .waiting_for
            .map(|w| w.name().to_owned())
            .unwrap_or_default(),
        "options" => dialog.map_or(0, |dialog| dialog.options.len()).to_string(),
        "selected" => dialog
            .and_then(|dialog| dialog.options.get(dialog.selected?))
            .map(|option| option.label.clone())
            .unwrap_or_default(),
        "question" => dialog
            .map(|dialog| dialog.question.clone())
            .unwrap_or_default(),
        "tool" => reading
            .tool
            .as_ref()
            .map(|tool| tool.name.clone())
            .unwrap_or_default(),
        "confidence_below" => {
            let limit: f32 = given.parse().unwrap();
            if reading.confidence < limit {
                given.to_owned()
            } else {
                reading.confidence.to_string()
            }
        }
        // Given to the screen, not read from it.
        _ => given.to_owned(),
    };
    let options = asked
        .iter()
        .map(|(name, given)| (name.clone(), answer(name, given)))
        .collect();
    (reading.state.as_str().to_owned(), options)
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<(usize, &str, Vec<&str>)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("=== "), sections.last_mut()) {
            (Some(head), _) => sections.push((index + 1, head, Vec::new())),
            (None, Some((_, _, lines))) => lines.push(line),
            // What stands before the first section says what the file is about.
            (None, None) => {}
        }
    }
    sections
        .into_iter()
        .map(|(line, head, lines)| section(line, head, &lines))
        .collect()
}

fn section(line: usize, head: &str, lines: &[&str]) -> Section {
    let (state, rest) = head.split_once(' ').unwrap_or((head, ""));
    let options = parse_options(rest);
    let rows = u16::try_from(lines.len().max(1)).unwrap();
    let mut screen = Screen::from_lines(Size { columns: 100, rows }, lines.iter().copied());
    for (name, value) in &options {
        match &name[..] {
            "title" => screen.title = value.clone(),
            "status" => {
                let (state, kind) = value.split_once('/').unwrap_or((value, ""));
                screen.status = Some(ProgramStatus {
                    state: state.to_owned(),
                    kind: (!kind.is_empty()).then(|| kind.to_owned()),
                    app: None,
                });
            }
            "progress" => screen.progress = Some(Progress::Busy),
            "alternate" => screen.alternate = value == "yes",
            "cursor" => screen.cursor.row = value.parse().unwrap(),
            "paste" => screen.paste = value == "on",
            _ => {}
        }
    }
    Section {
        line,
        state: state.to_owned(),
        options,
        screen,
    }
}

/// `name=value name="two words"`.
fn parse_options(text: &str) -> Vec<(String, String)> {
    let mut options = Vec::new();
    let mut rest = text.trim();
    while let Some((name, after)) = rest.split_once('=') {
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').expect("a quote is closed"),
            None => after.split_once(' ').unwrap_or((after, "")),
        };
        options.push((name.trim().to_owned(), value.to_owned()));
        rest = after.trim();
    }
    options
}
