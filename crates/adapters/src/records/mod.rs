//! What a transcript has on record of a conversation, whole: words, calls of
//! tools with what went in and came out, what requests cost, and where turns
//! end. Each record has a key that its transcript gives it, the same however
//! often and in whatever pieces the transcript is read.
//!
//! Private reasoning has no word here: it is never taken over. Texts are as they
//! stand in the transcript, secrets and all; whoever keeps them masks and cuts
//! them first.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;
mod qwen;
mod record;

use missiond_core::CliEngine;
use serde_json::Value;

use record::Line;
pub use record::{MessageOrigin, Record, RecordBody, RecordMemory, Role};

/// Why nothing could be made of a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

/// The records of one line of an engine's transcript. An engine without a
/// format of its own has none.
pub fn records(
    engine: &CliEngine,
    line: &str,
    memory: &mut RecordMemory,
) -> Result<Vec<Record>, Unreadable> {
    if line.trim().is_empty() {
        return Ok(Vec::new());
    }
    let entry: Value = serde_json::from_str(line).map_err(|error| Unreadable(error.to_string()))?;
    if !entry.is_object() {
        return Err(Unreadable("it is no JSON object".to_owned()));
    }
    let line = Line { entry, text: line };
    Ok(match engine {
        CliEngine::Claude => claude::records(&line),
        CliEngine::Codex => codex::records(&line, memory),
        CliEngine::Gemini => gemini::records(&line, memory),
        CliEngine::OpenCode => opencode::records(&line),
        // It writes the messages that Claude Code writes.
        CliEngine::Other(_) if engine.name() == crate::rehearsal::ENGINE => claude::records(&line),
        CliEngine::Copilot => copilot::records(&line),
        CliEngine::Qwen => qwen::records(&line),
        CliEngine::Aider | CliEngine::Other(_) => Vec::new(),
    })
}

#[cfg(test)]
mod tests;
