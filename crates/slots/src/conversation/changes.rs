//! Changes of how a structured agent works: its mode, its model, its settings. One request
//! goes out after the other, each for as long as the agent may take to answer it. What it
//! took stays taken, whatever becomes of the rest.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use missiond_control::{ControlEvent, Refusal, RequestId, SettingChoice};
use tokio::sync::oneshot;

/// Changes that may wait behind the one under way.
const WAITING: usize = 16;
/// Answers that are remembered for whoever still waits for them after a rebuild.
const SETTLED: usize = 16;

/// Why a setting is not as somebody wanted it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// Nothing was sent.
    #[error("{0}")]
    NotOffered(String),
    #[error("the agent did not take `{}` for `{}`: {why}{}", choice.value, choice.setting, but(taken))]
    NotTaken {
        choice: SettingChoice,
        why: String,
        taken: Vec<SettingChoice>,
    },
    #[error(
        "the agent has not answered for {seconds} s whether `{}` may be `{}`, and may take it yet{}",
        choice.setting, choice.value, but(taken)
    )]
    Unanswered {
        choice: SettingChoice,
        seconds: u64,
        taken: Vec<SettingChoice>,
    },
    #[error(
        "the agent is driven by its terminal, which has commands of its own for it: only by its \
         protocol can its mode, model and settings be changed from here"
    )]
    Terminal,
    #[error("{WAITING} changes already wait for this agent: try again later")]
    Crowded,
    #[error("the conversation is being handed over to another program: try again in a moment")]
    HandingOff,
    #[error("the agent's program has ended{}", but(.0))]
    Ended(Vec<SettingChoice>),
}

fn but(taken: &[SettingChoice]) -> String {
    if taken.is_empty() {
        return String::new();
    }
    let taken = taken
        .iter()
        .map(|choice| format!("`{}` is `{}` now", choice.setting, choice.value));
    format!("; {}", taken.collect::<Vec<_>>().join(", "))
}

pub(crate) type ChangeReply = oneshot::Sender<Result<Vec<SettingChoice>, ChangeError>>;

#[derive(Debug)]
struct Change {
    /// What is still to be asked for, in this order.
    left: VecDeque<SettingChoice>,
    taken: Vec<SettingChoice>,
    reply: ChangeReply,
}

/// What was asked for and not answered.
#[derive(Debug)]
struct Asked {
    request: RequestId,
    choice: SettingChoice,
    /// The number of its line among ours.
    line: u64,
    until: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The first is under way.
    waiting: VecDeque<Change>,
    asked: Option<Asked>,
    /// How the last requests ended that nobody here waited for.
    settled: BTreeMap<RequestId, Result<(), String>>,
}

impl Changes {
    pub(super) fn accept(&mut self, choices: Vec<SettingChoice>, reply: ChangeReply) {
        if self.waiting.len() >= WAITING {
            // Whoever asked may have gone.
            let _ = reply.send(Err(ChangeError::Crowded));
            return;
        }
        self.waiting.push_back(Change {
            left: choices.into(),
            taken: Vec::new(),
            reply,
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether somebody waits for the answer to this request.
    pub(super) fn has_asked(&self, request: RequestId) -> bool {
        self.asked.as_ref().is_some_and(|it| it.request == request)
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.asked.as_ref().map(|asked| asked.until)
    }

    pub(super) fn absorb(&mut self, event: &ControlEvent) {
        let (request, outcome) = match event {
            ControlEvent::SettingChosen { request, .. } => (*request, Ok(())),
            ControlEvent::SettingRefused { request, error, .. } => {
                (*request, Err(error.message.to_string()))
            }
            _ => return,
        };
        if self.has_asked(request) {
            self.settle(outcome);
            return;
        }
        self.settled.insert(request, outcome);
        while self.settled.len() > SETTLED {
            self.settled.pop_first();
        }
    }

    /// The request that was not answered in time: nobody waits for it any more.
    pub(super) fn give_up(&mut self, now: Duration, patience: Duration) -> Option<RequestId> {
        let asked = self.asked.take_if(|asked| now >= asked.until)?;
        let seconds = patience.as_secs();
        let choice = asked.choice;
        self.fail(|taken| ChangeError::Unanswered {
            choice,
            seconds,
            taken,
        });
        Some(asked.request)
    }

    /// What is to be asked for next; none while an answer is waited for.
    pub(super) fn next(&mut self) -> Option<SettingChoice> {
        if self.asked.is_some() {
            return None;
        }
        loop {
            let change = self.waiting.front_mut()?;
            if !change.reply.is_closed()
                && let Some(choice) = change.left.front()
            {
                return Some(choice.clone());
            }
            // It is done, or nobody wants the rest of it.
            if let Some(change) = self.waiting.pop_front() {
                let _ = change.reply.send(Ok(change.taken));
            }
        }
    }

    /// What came of asking for it.
    pub(super) fn asked(&mut self, outcome: Result<(RequestId, u64, Duration), Refusal>) {
        let Some(change) = self.waiting.front_mut() else {
            return;
        };
        let Some(choice) = change.left.pop_front() else {
            return;
        };
        match outcome {
            Ok((request, line, until)) => {
                self.asked = Some(Asked {
                    request,
                    choice,
                    line,
                    until,
                });
            }
            Err(refusal) => self.fail(|taken| ChangeError::NotTaken {
                choice,
                why: refusal.to_string(),
                taken,
            }),
        }
    }

    /// The program is gone, or another has its place.
    pub(super) fn end(&mut self, why: impl Fn(Vec<SettingChoice>) -> ChangeError) {
        self.asked = None;
        while !self.waiting.is_empty() {
            self.fail(&why);
        }
    }

    /// In a conversation that was read back: of what was asked for, that is asked for again
    /// whose line is not among the first so many.
    pub(super) fn carried_over(mut self, recorded: u64, read_back: Self) -> Self {
        if let Some(lost) = self.asked.take_if(|asked| asked.line > recorded)
            && let Some(change) = self.waiting.front_mut()
        {
            change.left.push_front(lost.choice);
        }
        let answer = self.asked.as_ref().map(|asked| asked.request);
        if let Some(outcome) = answer.and_then(|request| read_back.settled.get(&request)) {
            self.settle(outcome.clone());
        }
        self.settled = read_back.settled;
        self
    }

    fn settle(&mut self, outcome: Result<(), String>) {
        let Some(Asked { choice, .. }) = self.asked.take() else {
            return;
        };
        match outcome {
            Ok(()) => {
                if let Some(change) = self.waiting.front_mut() {
                    change.taken.push(choice);
                }
            }
            Err(why) => self.fail(|taken| ChangeError::NotTaken { choice, why, taken }),
        }
    }

    fn fail(&mut self, why: impl FnOnce(Vec<SettingChoice>) -> ChangeError) {
        if let Some(change) = self.waiting.pop_front() {
            let _ = change.reply.send(Err(why(change.taken)));
        }
    }
}
