//! What the agent shows: a plain model of its screen, without any drawing.

mod draw;
mod paint;
mod wrap;

use std::collections::VecDeque;
use std::time::Instant;

use missiond_core::PtyState;

pub(crate) use paint::Painter;

use crate::draft::Draft;

/// Blocks kept for a redraw after a resize; older ones stay in the terminal's
/// own history.
const MAX_BLOCKS: usize = 400;

#[derive(Debug)]
pub(crate) struct View {
    pub(crate) header: Vec<String>,
    pub(crate) blocks: VecDeque<Block>,
    /// Blocks removed from the front so far, so that a block keeps its number.
    pub(crate) dropped: usize,
    /// What the agent is busy with.
    pub(crate) activity: Option<Busy>,
    pub(crate) panel: Panel,
    pub(crate) draft: Draft,
    /// Prompts that wait for the end of the turn.
    pub(crate) queued: VecDeque<String>,
    /// Which entry of the command menu is marked.
    pub(crate) menu_mark: usize,
    /// The menu was closed although the draft is still a command.
    pub(crate) menu_closed: bool,
    /// The last turn ended with an error.
    pub(crate) failed: bool,
    /// One more Ctrl-C ends the program.
    pub(crate) exit_armed: bool,
    pub(crate) script: String,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Busy {
    pub(crate) with: Activity,
    /// When the turn began, for the seconds shown.
    pub(crate) since: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    Thinking,
    Responding,
    Tool,
}

/// One piece of the transcript.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    Prompt(String),
    Said {
        text: String,
        finished: bool,
    },
    Tool(ToolBlock),
    Notice(String),
    Failure(String),
    /// Lines of a flood, as they are.
    Lines(Vec<String>),
}

impl Block {
    /// It will not change any more.
    fn is_final(&self) -> bool {
        match self {
            Self::Said { finished, .. } => *finished,
            Self::Tool(tool) => tool.outcome.is_some(),
            _ => true,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ToolBlock {
    pub(crate) name: String,
    pub(crate) args: String,
    pub(crate) tail: VecDeque<String>,
    pub(crate) outcome: Option<Outcome>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done(String),
    Failed(String),
}

/// What stands at the bottom.
#[derive(Debug, Clone)]
pub(crate) enum Panel {
    /// Nothing yet: the agent is starting.
    Starting,
    Prompt,
    Permission(Permission),
    Question(String),
}

#[derive(Debug, Clone)]
pub(crate) struct Permission {
    pub(crate) tool: String,
    pub(crate) args: String,
    pub(crate) question: String,
    pub(crate) mark: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Allow,
    Always,
    Deny,
}

impl Permission {
    pub(crate) const TITLE: &'static str = "Permission";

    /// Numbered from 1 on the screen.
    pub(crate) const OPTIONS: [(&'static str, Answer); 3] = [
        ("Allow", Answer::Allow),
        ("Allow always", Answer::Always),
        ("Deny (esc)", Answer::Deny),
    ];
}

/// What can be typed with a slash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
}

pub(crate) const COMMANDS: [Command; 3] = [
    Command {
        name: "/help",
        about: "say what can be typed",
    },
    Command {
        name: "/clear",
        about: "empty the screen",
    },
    Command {
        name: "/exit",
        about: "end the rehearsal",
    },
];

impl View {
    pub(crate) fn new(script: &str, header: Vec<String>) -> Self {
        Self {
            header,
            blocks: VecDeque::new(),
            dropped: 0,
            activity: None,
            panel: Panel::Starting,
            draft: Draft::default(),
            queued: VecDeque::new(),
            menu_mark: 0,
            menu_closed: false,
            failed: false,
            exit_armed: false,
            script: script.to_owned(),
        }
    }

    pub(crate) fn push(&mut self, block: Block) {
        self.blocks.push_back(block);
    }

    /// Forgets old blocks that were drawn for good.
    pub(crate) fn forget(&mut self, drawn: usize) {
        while self.blocks.len() > MAX_BLOCKS && self.dropped < drawn {
            self.blocks.pop_front();
            self.dropped += 1;
        }
    }

    /// The tool call under way.
    pub(crate) fn tool(&mut self) -> Option<&mut ToolBlock> {
        match self.blocks.back_mut() {
            Some(Block::Tool(tool)) if tool.outcome.is_none() => Some(tool),
            _ => None,
        }
    }

    /// What is being said.
    pub(crate) fn unfinished_text(&mut self) -> Option<(&mut String, &mut bool)> {
        match self.blocks.back_mut() {
            Some(Block::Said { text, finished }) if !*finished => Some((text, finished)),
            _ => None,
        }
    }

    /// The commands that go on as the draft begins; none without a menu.
    pub(crate) fn menu(&self) -> Vec<Command> {
        let text = self.draft.text();
        let open = matches!(self.panel, Panel::Prompt) && self.activity.is_none();
        if !open || self.menu_closed || !text.starts_with('/') {
            return Vec::new();
        }
        let begins = |command: &Command| command.name.starts_with(text);
        COMMANDS.into_iter().filter(begins).collect()
    }

    /// What the agent is truly doing.
    pub(crate) fn state(&self) -> PtyState {
        match (&self.panel, self.activity) {
            (Panel::Starting, _) => PtyState::Starting,
            (Panel::Permission(_) | Panel::Question(_), _) => PtyState::Confirming,
            (Panel::Prompt, Some(busy)) => match busy.with {
                Activity::Thinking => PtyState::Thinking,
                Activity::Responding => PtyState::Responding,
                Activity::Tool => PtyState::ToolRunning,
            },
            (Panel::Prompt, None) if !self.menu().is_empty() => PtyState::SlashMenu,
            (Panel::Prompt, None) if self.failed => PtyState::Error,
            (Panel::Prompt, None) => PtyState::Idle,
        }
    }
}
