//! How each agent CLI is found, launched and equipped, and what its own records
//! say.
//!
//! An adapter turns a [`Launch`] (what is wanted) into a [`LaunchPlan`] (argv,
//! environment and files, as data). Nothing is started here. What a CLI cannot
//! do is a [`PlanError`] before anything runs, never a quieter launch than the
//! one that was asked for. A new CLI is a manifest for its screen and one file
//! here.

mod claude;
mod codex;
mod detect;
mod equipment;
#[cfg(test)]
mod fixture;
mod gemini;
mod generic;
mod hook;
mod launch;
mod opencode;
mod opencode_rows;
mod own;
mod own_reading;
mod plan;
mod records;
mod rehearsal;
mod tail;
mod transcript;

pub use detect::{DetectError, Detected, detect, find_program};
pub use equipment::{EquipError, Equipment};
pub use hook::{HookError, HookEvent, HookReport, MAX_HOOK_INPUT};
pub use launch::{Conversation, HookCommand, Launch, McpServer, PermissionMode};
pub use opencode_rows::RowTail;
pub use own::{About, OwnTranscript, Stamp};
pub use own_reading::{OwnFiles, OwnReading};
pub use plan::{
    ConversationId, Instructions, LaunchPlan, LinkedTo, PlanError, PlannedFile, PlannedLink,
    SignalTransport, StartupDialog, StartupQuestion,
};
pub use records::{Record, RecordMemory, Recorded, Role, Unreadable, Written, records};
pub use tail::{FileTail, TailError, Tailed, TailedLine, TranscriptTail};
pub use transcript::{CallOutcome, TokenUsage, TranscriptFact, TranscriptMemory};

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use missiond_core::CliEngine;

/// What is known about one agent CLI.
pub trait Adapter: std::fmt::Debug + Send + Sync {
    fn engine(&self) -> CliEngine;

    /// The program's usual file name.
    fn program(&self) -> &str;

    /// Where the program comes from.
    fn source(&self) -> ProgramSource {
        ProgramSource::Installed
    }

    /// How a launch is done with this CLI.
    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError>;

    /// Questions the CLI may ask on its screen before it takes a prompt.
    fn startup_dialogs(&self) -> &'static [StartupDialog] {
        &[]
    }

    /// What is typed at its prompt to end the CLI in order.
    fn exit_command(&self) -> Option<&'static str> {
        None
    }

    /// What the CLI tells its model from the folder it starts in, without us.
    fn reads_itself(&self) -> OwnReading {
        OwnReading::NOTHING
    }

    /// Whether a text of many lines arrives as one message.
    fn takes_long_prompts(&self) -> bool {
        true
    }

    /// Whether what its agent says is on record already, because its transcript
    /// is read. Such an agent is not offered a signal for plain words: they would
    /// be there twice.
    fn words_are_on_record(&self) -> bool {
        false
    }

    /// Where the CLI keeps the transcript of a conversation, when that can be
    /// told from outside.
    fn transcript(&self, _search: &TranscriptSearch<'_>) -> Option<FoundTranscript> {
        None
    }

    /// The transcripts of the person's own conversations, those that changed last
    /// first, a bounded number of them.
    fn own_transcripts(&self, _environment: &dyn Fn(&str) -> Option<String>) -> Vec<OwnTranscript> {
        Vec::new()
    }

    /// What a transcript is about; none for one that is no conversation of a
    /// person's.
    fn about(&self, _tail: &TranscriptTail) -> Option<About> {
        None
    }

    /// What one line of the transcript says. The memory is that of the lines
    /// before.
    fn transcript_facts(&self, _line: &str, _memory: &mut TranscriptMemory) -> Vec<TranscriptFact> {
        Vec::new()
    }
}

/// Which file a launch runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramSource {
    /// The one of its name in PATH.
    Installed,
    /// The binary that asks.
    OwnBinary,
    /// The person names it before the arguments.
    FirstArgument,
}

/// Which conversation's transcript is looked for.
#[derive(Clone, Copy)]
pub struct TranscriptSearch<'a> {
    /// Its id, once it is known.
    pub conversation: Option<&'a str>,
    pub cwd: &'a Path,
    /// Without an id: no conversation from before the launch.
    pub started_at: SystemTime,
    /// What the program found in its environment.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
}

impl TranscriptSearch<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }
}

impl std::fmt::Debug for TranscriptSearch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TranscriptSearch")
            .field("conversation", &self.conversation)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTranscript {
    pub conversation: String,
    /// From its beginning.
    pub tail: TranscriptTail,
}

impl FoundTranscript {
    /// From its beginning, by the cursor that a reader of it stored as JSON.
    #[must_use]
    pub fn from_cursor(cursor: &str) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct Cursor {
            conversation: String,
            tail: TranscriptTail,
        }
        let Cursor { conversation, tail } = serde_json::from_str(cursor).ok()?;
        Some(Self {
            conversation,
            tail: tail.from_start(),
        })
    }

    fn file(conversation: String, path: &Path) -> Self {
        Self {
            conversation,
            tail: TranscriptTail::File(FileTail::new(path)),
        }
    }
}

/// The adapter of an engine. Engines without one of their own are launched as
/// plain programs that speak by markers.
#[must_use]
pub fn adapter(engine: &CliEngine) -> Box<dyn Adapter> {
    match engine {
        CliEngine::Claude => Box::new(claude::ClaudeCode),
        CliEngine::Codex => Box::new(codex::Codex),
        CliEngine::Gemini => Box::new(gemini::GeminiCli),
        CliEngine::OpenCode => Box::new(opencode::OpenCode),
        CliEngine::Other(_) if engine.name() == rehearsal::ENGINE => {
            Box::new(rehearsal::Rehearsal::new(engine.clone()))
        }
        CliEngine::Other(_) => Box::new(generic::Generic::new(engine.clone())),
    }
}

/// The engines with an adapter of their own.
#[must_use]
pub fn known_engines() -> [CliEngine; 4] {
    [
        CliEngine::Claude,
        CliEngine::Codex,
        CliEngine::Gemini,
        CliEngine::OpenCode,
    ]
}

/// At most this many files are looked at for a conversation.
const MOST_FILES: usize = 200;

/// At most so many entries of folders are looked at in one go.
const MOST_ENTRIES: usize = 100_000;

struct RecentFile {
    path: PathBuf,
    modified: SystemTime,
    size: u64,
}

/// The newest files below `folder`, down to `depth` folders, whose name is wanted.
fn recent_files(folder: &Path, depth: usize, wanted: impl Fn(&str) -> bool) -> Vec<RecentFile> {
    newest_files(folder, depth, MOST_FILES, wanted)
}

fn newest_files(
    folder: &Path,
    depth: usize,
    most: usize,
    wanted: impl Fn(&str) -> bool,
) -> Vec<RecentFile> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    let mut entries = 0;
    while let Some((folder, level)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                folders.clear();
                break;
            }
            let Ok(found) = entry.metadata() else {
                continue;
            };
            if found.is_dir() && level < depth {
                folders.push((entry.path(), level + 1));
            } else if found.is_file() && entry.file_name().to_str().is_some_and(&wanted) {
                files.push(RecentFile {
                    path: entry.path(),
                    modified: found.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    size: found.len(),
                });
            }
        }
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.modified));
    files.truncate(most);
    files
}
