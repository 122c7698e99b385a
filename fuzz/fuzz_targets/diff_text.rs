//! Whatever git prints of an agent's files is read within its limits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_workspace::diff_text::{PatchLimits, parse_list, parse_patch};

const LIMITS: PatchLimits = PatchLimits {
    lines: 50,
    bytes: 400,
    line_chars: 40,
};

fuzz_target!(|data: &[u8]| {
    for entry in parse_list(data) {
        assert!(!entry.path.is_empty());
    }
    let sections = parse_patch(data, LIMITS);
    let lines = || {
        let hunks = sections.iter().flat_map(|section| &section.hunks);
        hunks.flat_map(|hunk| &hunk.lines)
    };
    assert!(lines().count() <= LIMITS.lines);
    assert!(lines().map(|line| line.text.len()).sum::<usize>() <= LIMITS.bytes);
});
