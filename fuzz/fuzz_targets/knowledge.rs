//! Any query is read and any file of entries is read or refused, without a
//! panic; what is read can be written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_knowledge::snippet::{SNIPPET_TOKENS, snippet};
use missiond_knowledge::tokens::{exact_parts, tokens};
use missiond_knowledge::transfer::{read_jsonl, read_markdown, write_jsonl};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let query = tokens(&text);
    let _ = exact_parts(&text);
    let shown = snippet(&text, &query, SNIPPET_TOKENS);
    for (start, end) in shown.highlights {
        assert!(shown.text.get(start..end).is_some());
    }
    let _ = read_markdown("notes.md", &text);
    if let Ok(drafts) = read_jsonl(&text) {
        assert_eq!(read_jsonl(&write_jsonl(&drafts)), Ok(drafts));
    }
});
