//! Any file is read as a recording or refused with a reason.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_pty::CastReader;

fuzz_target!(|data: &[u8]| {
    let Ok(reader) = CastReader::new(data) else {
        return;
    };
    for event in reader {
        if event.is_err() {
            break;
        }
    }
});
