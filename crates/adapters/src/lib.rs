//! How each agent CLI is found, launched and equipped, and what its own records
//! say.
//!
//! An adapter turns a [`Launch`] (what is wanted) into a [`LaunchPlan`] (argv,
//! environment and files, as data). Nothing is started here. What a CLI cannot
//! do is a [`PlanError`] before anything runs, never a quieter launch than the
//! one that was asked for. A new CLI is a manifest for its screen and one file
//! here.

mod acp_agent;
mod adapter;
mod aider;
mod claude;
mod codex;
mod copilot;
mod detect;
mod drive;
mod equipment;
#[cfg(test)]
mod fixture;
mod fnv;
mod gemini;
mod generic;
mod home_needs;
mod hook;
mod launch;
mod login;
mod native_context;
mod opencode;
mod opencode_rows;
mod personal_transcripts;
mod plan;
mod qwen;
mod recent_files;
mod records;
mod rehearsal;
mod structured;
mod subject;
mod tail;
mod tool_use;
mod transcript;

pub use acp_agent::AcpAgent;
pub use adapter::{Adapter, FoundTranscript, ProgramSource, TranscriptSearch};
pub use detect::{DetectError, Detected, detect, find_program};
pub use drive::Drive;
pub use equipment::{EquipError, Equipment};
pub use home_needs::{HomeNeeds, home_needs};
pub use hook::{HookError, HookEvent, HookReport, MAX_HOOK_INPUT};
pub use launch::{
    Conversation, HookCommand, Launch, McpServer, ModelAccess, ModelWay, PermissionMode,
};
pub use login::{Variables, install_command, login_state};
pub use native_context::{InstructionFiles, NativeContext};
pub use opencode_rows::RowTail;
pub use personal_transcripts::{PersonalTranscript, Stamp, TranscriptOrigin};
pub use plan::{
    ConversationId, Instructions, LaunchPlan, LinkedTo, PlanError, PlannedFile, PlannedLink,
    SignalTransport, StartupDialog, StartupQuestion,
};
pub use records::{MessageOrigin, Record, RecordBody, RecordMemory, Role, Unreadable, records};
pub use structured::{ControlSetup, ResumeBy, Standing, StructuredOffer, offer_for};
pub use subject::ToolSubject;
pub use tail::{FileTail, TailBatch, TailError, TailedLine, TranscriptTail};
pub use tool_use::{HookDialect, REFUSING_EXIT, ToolUse, ToolUseAnswer, ToolUseVerdict};
pub use transcript::{TokenUsage, TranscriptFact, TranscriptMemory};

use missiond_core::CliEngine;

/// The adapter of an engine. Engines without one of their own are launched as
/// plain programs that speak by markers.
#[must_use]
pub fn adapter(engine: &CliEngine) -> Box<dyn Adapter> {
    match engine {
        CliEngine::Claude => Box::new(claude::ClaudeCode),
        CliEngine::Codex => Box::new(codex::Codex),
        CliEngine::Gemini => Box::new(gemini::GeminiCli),
        CliEngine::OpenCode => Box::new(opencode::OpenCode),
        CliEngine::Copilot => Box::new(copilot::Copilot),
        CliEngine::Qwen => Box::new(qwen::QwenCode),
        CliEngine::Aider => Box::new(aider::Aider),
        CliEngine::Other(_) if engine.name() == rehearsal::ENGINE => {
            Box::new(rehearsal::Rehearsal::new(engine.clone()))
        }
        CliEngine::Other(_) => Box::new(generic::Generic::new(engine.clone())),
    }
}

/// The engines with an adapter of their own.
#[must_use]
pub fn known_engines() -> &'static [CliEngine] {
    const KNOWN: &[CliEngine] = &[
        CliEngine::Claude,
        CliEngine::Codex,
        CliEngine::Gemini,
        CliEngine::OpenCode,
        CliEngine::Copilot,
        CliEngine::Qwen,
        CliEngine::Aider,
    ];
    KNOWN
}
