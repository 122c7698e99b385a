//! Any text is a manifest or is refused with lines that exist.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_semantic::Manifest;

fuzz_target!(|text: &str| {
    if let Err(error) = Manifest::parse(text) {
        // In YAML a lone carriage return ends a line too.
        let lines = 1 + text.chars().filter(|c| matches!(c, '\r' | '\n')).count();
        assert!(!error.problems.is_empty());
        assert!(error.problems.iter().all(|problem| problem.line <= lines));
    }
});
