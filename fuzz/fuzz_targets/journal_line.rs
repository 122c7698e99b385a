//! Any line is a record or is refused with a reason.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_journal::Line;

fuzz_target!(|data: &[u8]| {
    if let Ok(line) = Line::parse(data) {
        let _ = line.verified_hash();
        let _ = line.record();
    }
});
