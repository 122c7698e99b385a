//! Any file beside a slot is read back as a recording or refused with a reason.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_pty::host::Recording;

fuzz_target!(|data: &[u8]| {
    let path = std::env::temp_dir().join(format!("recording-{}.cast", std::process::id()));
    if std::fs::write(&path, data).is_err() {
        return;
    }
    let Ok(events) = Recording::open(&path).and_then(|recording| recording.read()) else {
        return;
    };
    for event in events {
        if event.is_err() {
            break;
        }
    }
});
