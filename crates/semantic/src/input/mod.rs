//! How a program is typed to: what its prompt holds, which keys carry a text,
//! and two machines that decide when a key may be pressed.
//!
//! [`Delivery`] brings a text into a prompt, [`Answering`] an answer into a
//! dialog. Both are fed with what the screen shows and the time, and say what to
//! write or how long to wait; neither ever presses Enter on something it has not
//! just seen. Who owns the terminal carries the steps out.

mod answer;
mod delivery;
mod keys;
mod prompt;

use std::time::Duration;

use missiond_core::PtyState;
use regex::Regex;

pub use answer::{AnswerOutcome, AnswerRefusal, Answered, Answering, option_for};
pub use delivery::{
    Delivered, Delivery, DeliveryRefusal, DeliveryRequest, Force, Landed, Submit, When,
};
pub use keys::{Modes, is_command};
pub use prompt::Prompt;

pub(crate) use prompt::{PromptRule, find_prompt};

use crate::dialog::Dialog;
use crate::screen::Screen;

/// Between a text that is seen and Enter: programs take what comes at once for
/// a paste.
const ENTER_PAUSE: Duration = Duration::from_millis(80);

/// What a manifest says about typing to its engine.
#[derive(Debug, Clone)]
pub(crate) struct InputRule {
    /// Where what was typed is drawn, tried in order. Without any, the engine's
    /// prompt is not known and little can be promised.
    pub(crate) prompts: Vec<PromptRule>,
    /// It reads lines with an editor: what is drawn is its prompt only while it asks for
    /// pastes, and below an Enter it stands there as it was.
    pub(crate) by_line: bool,
    /// What is drawn instead of a long paste.
    pub(crate) pasted: Option<Regex>,
    pub(crate) newline: Option<NewlineKey>,
    pub(crate) enter_pause: Duration,
    pub(crate) answer: AnswerKeys,
    /// Options that Escape takes: Enter on them asks for words first.
    pub(crate) escaped: Option<Regex>,
    pub(crate) interrupt: InterruptKey,
}

impl Default for InputRule {
    fn default() -> Self {
        Self {
            prompts: Vec::new(),
            by_line: false,
            pasted: None,
            newline: None,
            enter_pause: ENTER_PAUSE,
            answer: AnswerKeys::Arrows,
            escaped: None,
            interrupt: InterruptKey::CtrlC,
        }
    }
}

/// The key that begins a new line in a prompt instead of sending it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewlineKey {
    CtrlJ,
    AltEnter,
    BackslashEnter,
}

impl NewlineKey {
    pub(crate) const NAMES: [(&'static str, Self); 3] = [
        ("ctrl-j", Self::CtrlJ),
        ("alt-enter", Self::AltEnter),
        ("backslash-enter", Self::BackslashEnter),
    ];

    const fn bytes(self) -> &'static [u8] {
        match self {
            Self::CtrlJ => b"\n",
            Self::AltEnter => b"\x1b\r",
            Self::BackslashEnter => b"\\\r",
        }
    }
}

/// How the options of a dialog are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerKeys {
    /// Arrow keys move the mark, Enter takes the marked option.
    Arrows,
    /// The option's number moves the mark, Enter takes it.
    NumberMoves,
    /// The option's number takes it at once.
    NumberSelects,
    /// The letter the option is named by is typed, and Enter takes it: the only way in a
    /// dialog of letters.
    Letter,
    /// Escape takes it, wherever the mark is.
    Escape,
}

impl AnswerKeys {
    pub(crate) const NAMES: [(&'static str, Self); 3] = [
        ("arrows", Self::Arrows),
        ("number-moves", Self::NumberMoves),
        ("number-selects", Self::NumberSelects),
    ];
}

/// What stops the work of an agent and leaves its program running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InterruptKey {
    CtrlC,
    Escape,
    /// The first asks whether it is meant, the second stops.
    EscapeTwice,
}

impl InterruptKey {
    pub(crate) const NAMES: [(&'static str, Self); 3] = [
        ("ctrl-c", Self::CtrlC),
        ("escape", Self::Escape),
        ("escape-twice", Self::EscapeTwice),
    ];

    /// One press after the other.
    pub(crate) const fn presses(self) -> &'static [&'static [u8]] {
        match self {
            Self::CtrlC => &[b"\x03"],
            Self::Escape => &[b"\x1b"],
            Self::EscapeTwice => &[b"\x1b", b"\x1b"],
        }
    }
}

/// What one screen says by itself. A reading may lag behind it on purpose.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstantReading {
    /// The state the rules give this screen; none when no rule holds.
    pub state: Option<PtyState>,
    /// The dialog, when the rules take the screen for one.
    pub dialog: Option<Dialog>,
    /// The place to type into, when it is on the screen.
    pub prompt: Option<Prompt>,
}

/// What a machine decides from.
#[derive(Debug, Clone, Copy)]
pub struct InputContext<'a> {
    /// The state that is believed.
    pub state: PtyState,
    pub instant: &'a InstantReading,
    pub screen: &'a Screen,
    pub modes: Modes,
    /// Everything the program wrote has been read.
    pub settled: bool,
    /// Bytes of output so far.
    pub offset: u64,
}

impl InputContext<'_> {
    fn dialog_open(&self) -> bool {
        self.state == PtyState::Confirming || self.instant.state == Some(PtyState::Confirming)
    }

    fn is_working(&self) -> bool {
        self.state.is_working() || self.instant.state.is_some_and(PtyState::is_working)
    }
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<T> {
    /// Hand these bytes to the terminal, then ask again.
    Write(Vec<u8>),
    /// Ask again when the screen has changed, at the latest at this time.
    Wait(Duration),
    Done(T),
}

/// A text on one line, short enough for a sentence.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.extend(word.chars().filter(|c| !c.is_control()));
    }
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("“{}…”", &words[..end]),
        None => format!("“{words}”"),
    }
}
