//! Any text on the screen is read and explained without a panic, by every
//! manifest: regions, dialogs, tool lines.

#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use missiond_semantic::{Catalogue, Reader, Screen, Size};

static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| Catalogue::shipped().expect("the shipped manifests are valid"));

fuzz_target!(|input: (Vec<&str>, u8, u8)| {
    let (texts, columns, rows) = input;
    let size = Size {
        columns: u16::from(columns).max(2),
        rows: u16::from(rows).max(1),
    };
    for engine in CATALOGUE.engines() {
        let manifest = CATALOGUE.get(engine).expect("a shipped engine");
        let mut reader = Reader::new(Arc::clone(manifest));
        for (moment, text) in texts.iter().take(8).enumerate() {
            let at = Duration::from_millis(moment as u64 * 700);
            let screen = Screen::from_lines(size, text.lines());
            reader.observe(&screen, at);
            let _ = reader.explain(&screen, at);
            assert!((0.0..=1.0).contains(&reader.current().confidence));
            assert!(
                reader.deadline().is_none_or(|due| due > at),
                "would be looked at for ever"
            );
        }
    }
});
