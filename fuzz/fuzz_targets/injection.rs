//! Any text is inspected: findings are places of it, in order, and the same text says the
//! same twice.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_guard::injection::inspect;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let found = inspect(&text);
    assert!(found.score <= 100);
    let mut last = 0;
    for one in &found.findings {
        assert!(one.start >= last && one.start < one.end && one.end <= text.len());
        assert!(text.is_char_boundary(one.start) && text.is_char_boundary(one.end));
        last = one.start;
    }
    assert_eq!(inspect(&text), found);
});
