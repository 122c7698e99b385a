//! Any output, split in any way, is read without a panic, and the split changes
//! nothing. The first byte chooses the engine, the second where to cut.

#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use missiond_pty::{Session, TimedReading};
use missiond_semantic::{Catalogue, Size};

static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| Catalogue::shipped().expect("the shipped manifests are valid"));

fn readings(engine: &str, pieces: &[&[u8]]) -> Vec<TimedReading> {
    let manifest = CATALOGUE.get(engine).expect("a shipped engine").clone();
    let mut session = Session::new(
        Size {
            columns: 80,
            rows: 24,
        },
        manifest,
    );
    let mut changes = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        // Two pieces share each moment.
        let at = Duration::from_millis(index as u64 / 2 * 300);
        session.feed(piece, at, &mut changes);
    }
    session.advance_to(Duration::from_secs(3600), &mut changes);
    session.finish(&mut changes);
    changes
}

fuzz_target!(|data: &[u8]| {
    let [engine, cut, bytes @ ..] = data else {
        return;
    };
    let engines: Vec<&str> = CATALOGUE.engines().collect();
    let engine = engines[usize::from(*engine) % engines.len()];
    let cut = usize::from(*cut).min(bytes.len());
    let whole = readings(engine, &[bytes, b""]);
    let split = readings(engine, &[&bytes[..cut], &bytes[cut..]]);
    assert_eq!(whole, split);
});
