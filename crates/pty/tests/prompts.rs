//! What stands in the prompts of real programs, moment by moment, against what
//! was typed into them.
//!
//! The recordings are not part of the repository; where they lie beside it the
//! promises must hold.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_core::PtyState;
use missiond_pty::{CastReader, EventKind, Session, load_catalogue};
use missiond_semantic::Prompt;

/// After the last key, what is typed has been drawn.
const DRAWN: Duration = Duration::from_millis(900);

#[derive(Debug, Default)]
struct Tally {
    looked: u32,
    wrong: Vec<String>,
}

#[test]
#[cfg_attr(not(recordings), ignore = "no recordings beside the repository")]
fn what_is_typed_is_seen_and_an_empty_prompt_is_empty() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    let mut casts = Vec::new();
    collect(&folder, &mut casts);
    let mut tally = Tally::default();
    for cast in casts {
        follow(&cast, &mut tally);
    }
    assert!(
        tally.looked > 200,
        "only {} prompts were seen",
        tally.looked
    );
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
}

fn collect(folder: &Path, casts: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, casts);
        } else if path.extension().is_some_and(|ext| ext == "cast") {
            casts.push(path);
        }
    }
    casts.sort();
}

/// What was typed since the last Enter, and before it.
#[derive(Debug, Default)]
struct Typed {
    now: String,
    before: String,
}

/// Looks at the prompt whenever a key follows a time without any.
fn follow(path: &Path, tally: &mut Tally) {
    let cast = CastReader::new(BufReader::new(File::open(path).unwrap())).unwrap();
    // What is typed before a program listens may be lost.
    let ahead = path.to_string_lossy().contains("typeahead");
    let catalogue = load_catalogue(None).unwrap();
    let manifest = catalogue.for_engine(cast.header().engine()).unwrap();
    let mut session = Session::new(cast.header().size(), manifest.clone());
    let (mut last_key, mut label) = (Duration::ZERO, String::new());
    let mut typed = (!ahead).then(Typed::default);
    for event in cast {
        let event = event.unwrap();
        let mut changes = Vec::new();
        session.advance_to(event.at, &mut changes);
        let quiet = event.at.saturating_sub(last_key) > DRAWN;
        if let (EventKind::Input(_), true, "idle", Some(typed)) =
            (&event.kind, quiet, label.as_str(), &typed)
        {
            check_prompt(path, &mut session, event.at, typed, tally);
        }
        match event.kind {
            EventKind::Output(text) => session.feed(text.as_bytes(), event.at, &mut changes),
            EventKind::Resize(size) => session.resize(size, event.at, &mut changes),
            EventKind::Input(keys) => {
                last_key = event.at;
                let asked = session.reader().current().state == PtyState::Confirming;
                typed = typed
                    .filter(|_| !asked)
                    .and_then(|typed| after(typed, &keys));
            }
            EventKind::Marker(name) if !name.starts_with('#') => label = name,
            EventKind::Marker(_) => {}
        }
    }
}

fn check_prompt(
    path: &Path,
    session: &mut Session,
    at: Duration,
    typed: &Typed,
    tally: &mut Tally,
) {
    let glance = session.read_instant(at);
    if glance.state == Some(PtyState::Confirming) {
        return;
    }
    tally.looked += 1;
    let shown = glance.prompt.as_ref().map(Prompt::text);
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let right = shown.as_ref().is_some_and(|shown| {
        let is = |text: &str| plain(shown).contains(&plain(text)) && !text.is_empty();
        // An Enter may have been swallowed.
        let as_before = shown.is_empty() || is(&typed.before);
        if typed.now.is_empty() {
            as_before
        } else {
            is(&typed.now) || shown.contains("[Past")
        }
    });
    if !right {
        let (at, name) = (at.as_secs_f64(), path.display());
        let wrong = format!("{name} at {at}: {typed:?}, shown {shown:?}");
        tally.wrong.push(wrong);
    }
}

/// What the prompt holds after these keys; none when that cannot be told.
fn after(typed: Typed, keys: &str) -> Option<Typed> {
    let reports = ["\x1b[?", "\x1b]", "\x1bP", "\x1b[I", "\x1b[O", "\x1b[>"];
    let position = keys.starts_with("\x1b[") && keys.ends_with('R');
    if position || reports.iter().any(|report| keys.starts_with(report)) {
        return Some(typed);
    }
    if let Some(pasted) = keys.strip_prefix("\x1b[200~") {
        let pasted = pasted.trim_end_matches("\x1b[201~").replace('\r', "\n");
        let now = typed.now + &pasted;
        return Some(Typed { now, ..typed });
    }
    match keys {
        "\r" => Some(Typed {
            now: String::new(),
            before: typed.now,
        }),
        _ if keys.chars().all(|c| !c.is_control()) => Some(Typed {
            now: typed.now + keys,
            ..typed
        }),
        _ => None,
    }
}
