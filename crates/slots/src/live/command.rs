//! What a slot can be asked, and what it answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use missiond_adapters::{ControlSetup, HookEvent};
use missiond_core::{AgentTold, Controller};
use missiond_pty::host::HostError;
use missiond_pty::screenshot::{Picture, PictureError};
use missiond_pty::{Keys, MAX_SIZE, MIN_SIZE, View};
use missiond_semantic::arbiter::ModelActivity;
use missiond_semantic::{Explanation, Reading, Screen, Size};
use tokio::sync::oneshot;

use crate::typing::Job;
use crate::viewers::{ViewerId, Viewing};

/// What a slot can be asked.
#[derive(Debug)]
pub enum SlotCommand {
    Inspect(oneshot::Sender<SlotView>),
    /// The screen with its colours.
    Picture(oneshot::Sender<Result<Picture, PictureError>>),
    Explain(oneshot::Sender<Box<Explanation>>),
    /// A text or an answer.
    Input(Box<Job>),
    /// Let somebody hear what the program writes from now on; answered with the
    /// number of the first byte they will hear.
    Listen {
        listener: Arc<dyn Listener>,
        done: oneshot::Sender<u64>,
    },
    /// A hook of the program said something.
    HookReported(HookEvent),
    /// What a request of the program to its model tells of it.
    ModelObserved(ModelActivity),
    /// Press a key.
    Key {
        bytes: &'static [u8],
        done: oneshot::Sender<Result<u64, CommandError>>,
    },
    /// Hand on what a person's keys send, as it is.
    RawKeys {
        bytes: Vec<u8>,
        done: oneshot::Sender<Result<u64, CommandError>>,
    },
    /// Give the terminal a size, or, for a viewer, tell its size.
    Resize {
        size: Size,
        viewer: Option<ViewerId>,
        done: oneshot::Sender<Result<Size, CommandError>>,
    },
    /// Show the screen to one more.
    View {
        view: View,
        keys: Keys,
        done: oneshot::Sender<Viewing>,
    },
    /// Let a viewer type, unless somebody else does.
    AcquireInput {
        viewer: ViewerId,
        done: oneshot::Sender<bool>,
    },
    /// A viewer that typed only looks again.
    ReleaseInput {
        viewer: ViewerId,
        done: oneshot::Sender<bool>,
    },
    /// Gives the conversation to another program when this one rests. Whoever no
    /// longer waits for the answer no longer wants it. Answered with the number of the
    /// new program when that runs.
    HandOff {
        next: Box<NextProgram>,
        done: oneshot::Sender<Result<u32, HandoffError>>,
    },
    /// Tell whoever looks at a conversation something that its agent did not say.
    Notice(String),
    /// Answered when every process is gone and the slot is closed.
    Kill {
        grace: Duration,
        done: oneshot::Sender<String>,
    },
}

/// The program that is to have the conversation.
#[derive(Debug)]
pub struct NextProgram {
    pub argv: Vec<String>,
    /// Added to what the program before was given.
    pub env: BTreeMap<String, String>,
    /// How it is driven by a protocol; none for a terminal.
    pub control: Option<ControlSetup>,
}

impl NextProgram {
    pub(super) fn controller(&self) -> Controller {
        match self.control {
            Some(_) => Controller::Structured,
            None => Controller::Terminal,
        }
    }
}

/// Why a conversation was not handed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandoffError {
    #[error("it is being handed over already")]
    UnderWay,
    #[error("{0}")]
    Refused(String),
    #[error("the slot is being ended")]
    Ending,
}

/// Who hears every byte a program writes. It must not block.
pub trait Listener: std::fmt::Debug + Send + Sync {
    fn handle_output(&self, bytes: &[u8]);
}

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("a size is {}x{} to {}x{}", MIN_SIZE.columns, MIN_SIZE.rows, MAX_SIZE.columns, MAX_SIZE.rows)]
    Size,
    #[error("no viewer {0} is attached to this slot")]
    NoViewer(u64),
    #[error(
        "this agent is driven by its protocol and takes no keys but Esc and Ctrl-C, which cancel: \
         send it a message, or answer what it asks"
    )]
    NoKeys,
    #[error(transparent)]
    Host(#[from] HostError),
}

/// What a slot shows.
#[derive(Debug)]
pub struct SlotView {
    pub screen: Screen,
    pub reading: Reading,
    pub offset: u64,
    /// Somebody has it on their terminal.
    pub watched: bool,
    /// The program shows a prompt.
    pub takes_text: bool,
    /// What stands in the program's prompt and was not sent.
    pub draft: Option<String>,
    /// The last line of its work, without what draws the screen.
    pub work_line: Option<String>,
    /// How often somebody typed to the program since this daemon has it: a person, or
    /// the daemon for one.
    pub typed: u64,
    /// What keeps the program from working, or this daemon from seeing it.
    pub trouble: Option<String>,
    /// What an agent that is driven by its protocol tells of itself.
    pub told: Option<Box<AgentTold>>,
}
