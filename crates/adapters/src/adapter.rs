//! What is known about one agent CLI, as a trait: how it is launched, and where
//! and how its own records are read.

use std::path::Path;
use std::time::SystemTime;

use missiond_core::CliEngine;

use crate::launch::{Launch, ModelAccess, ModelWay};
use crate::native_context::NativeContext;
use crate::personal_transcripts::{PersonalTranscript, TranscriptOrigin};
use crate::plan::{LaunchPlan, PlanError, StartupDialog};
use crate::structured::StructuredOffer;
use crate::tail::{FileTail, TranscriptTail};
use crate::transcript::{TranscriptFact, TranscriptMemory};

/// What is known about one agent CLI.
pub trait Adapter: std::fmt::Debug + Send + Sync {
    fn engine(&self) -> CliEngine;

    /// The program's usual file name.
    fn program(&self) -> &str;

    /// By what it is driven in structure; none where a CLI has no protocol, or one that
    /// was not proven with the real program.
    fn structured(&self) -> Option<StructuredOffer<'_>> {
        None
    }

    /// Where the program comes from.
    fn source(&self) -> ProgramSource {
        ProgramSource::Installed
    }

    /// How a launch is done with this CLI, by the controller it names.
    fn plan(&self, launch: &Launch) -> Result<LaunchPlan, PlanError>;

    /// How the CLI is told to reach its model through the daemon; none where it cannot.
    fn model_way(&self, _access: &ModelAccess) -> Option<ModelWay> {
        None
    }

    /// Questions the CLI may ask on its screen before it takes a prompt.
    fn startup_dialogs(&self) -> &'static [StartupDialog] {
        &[]
    }

    /// What is typed at its prompt to end the CLI in order.
    fn exit_command(&self) -> Option<&'static str> {
        None
    }

    /// What the CLI tells its model from the folder it starts in, without us.
    fn native_context(&self) -> NativeContext {
        NativeContext::NONE
    }

    /// Whether a text of many lines arrives as one message.
    fn accepts_long_prompts(&self) -> bool {
        true
    }

    /// Whether it can be given our MCP server. One that cannot reports by markers.
    fn takes_mcp_servers(&self) -> bool {
        true
    }

    /// Whether what its agent says is on record already, because its transcript
    /// is read. Such an agent is not offered a signal for plain words: they would
    /// be there twice.
    fn transcript_has_messages(&self) -> bool {
        false
    }

    /// Whether its hooks, where it is given any, ask before every tool with the exact
    /// input, and are obeyed.
    fn asks_before_tools(&self) -> bool {
        false
    }

    /// Where the CLI keeps the transcript of a conversation, when that can be
    /// told from outside.
    fn transcript(&self, _search: &TranscriptSearch<'_>) -> Option<FoundTranscript> {
        None
    }

    /// The transcripts of the person's own conversations, those that changed last
    /// first, a bounded number of them.
    fn personal_transcripts(
        &self,
        _environment: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<PersonalTranscript> {
        Vec::new()
    }

    /// What a transcript is about; none for one that is no conversation of a
    /// person's.
    fn origin(&self, _tail: &TranscriptTail) -> Option<TranscriptOrigin> {
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
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
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

    pub(crate) fn file(conversation: String, path: &Path) -> Self {
        Self {
            conversation,
            tail: TranscriptTail::File(FileTail::new(path)),
        }
    }
}
