//! Any file is read as the transcript of any engine, or its lines are refused,
//! without a panic; what is kept of it is short and holds no secret a second
//! look would find.

#![no_main]

use libfuzzer_sys::fuzz_target;
use missiond_adapters::{RecordBody, RecordMemory, records};
use missiond_core::CliEngine;
use missiond_knowledge::conversation::{
    LONGEST_MESSAGE, masked_json, noise_of_message, noise_of_result, sanitize, title,
};
use missiond_secrets::mask;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for engine in [
        CliEngine::Claude,
        CliEngine::Codex,
        CliEngine::Gemini,
        CliEngine::OpenCode,
    ] {
        let mut memory = RecordMemory::default();
        for line in text.lines() {
            for record in records(&engine, line, &mut memory).unwrap_or_default() {
                match record.what {
                    RecordBody::Message { text, .. } => {
                        let _ = (noise_of_message(&text), title(&text));
                        let short = sanitize(&text, LONGEST_MESSAGE);
                        assert!(short.len() <= LONGEST_MESSAGE && !short.contains('\0'));
                        assert_eq!(mask(sanitize(&text, usize::MAX)).secrets(), 0);
                    }
                    RecordBody::ToolStarted { input, .. } => {
                        let masked = masked_json(&input);
                        assert_eq!(masked_json(&masked), masked);
                    }
                    RecordBody::ToolEnded { output, .. } => drop(noise_of_result(&output)),
                    _ => {}
                }
            }
        }
    }
});
