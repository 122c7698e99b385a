//! Any text is a file of tasks or is refused with a line that exists; what was
//! read and written again reads the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_exchange::{
    Card, ImportError, read_beads, read_jsonl, read_markdown, write_jsonl, write_markdown,
};

fuzz_target!(|text: &str| {
    for read in [read_jsonl, read_markdown, read_beads] {
        match read(text) {
            Ok(cards) => returns(cards),
            Err(ImportError::Line { line, .. }) => {
                assert!(line >= 1 && line <= text.lines().count());
            }
            Err(ImportError::File(_)) => {}
        }
    }
});

/// Only what may become a task is ever written.
fn returns(mut cards: Vec<Card>) {
    for card in &mut cards {
        card.line = 0;
        card.draft.repository = None;
        card.draft.isolation = Some(missiond_core::Isolation::None);
    }
    if cards.is_empty() || cards.iter().any(|card| card.draft.check().is_err()) {
        return;
    }
    for card in &mut cards {
        let title = card.draft.title.take().unwrap_or_default();
        card.draft.title = Some(title.trim().to_owned());
    }
    let lines: Vec<_> = cards.iter().map(write_jsonl).collect();
    let again = [
        read_jsonl(&lines.join("\n")),
        read_markdown(&write_markdown(&cards)),
    ];
    for again in again {
        let mut again = again.expect("what was written can be read");
        again.iter_mut().for_each(|card| card.line = 0);
        assert_eq!(again, cards);
    }
}
