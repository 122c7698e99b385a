//! The texts and answers a slot is given, one after the other.
//!
//! Drives the machines of `missiond-semantic` with what the slot's terminal
//! shows; the slot's task writes what they say and never waits for them. One job
//! is under way at a time, a few more wait, and a job nobody waits for any more
//! is dropped as long as nothing of it was typed.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use missiond_pty::Session;
use missiond_semantic::{
    AnswerRefusal, Answered, Answering, Delivered, Delivery, DeliveryRefusal, DeliveryRequest,
    Force, InputContext, Landed, Step, Submit, When,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Jobs that may wait behind the one under way.
pub(super) const WAITING: usize = 16;

/// A text for a slot.
#[derive(Debug, Clone)]
pub struct Message {
    pub text: String,
    /// Files that are shown with it. Into a terminal their paths are typed.
    pub attachments: Vec<Attachment>,
    pub submit: Submit,
    pub when: When,
    /// How long the program may take to be ready.
    pub wait: Duration,
    pub force: Force,
}

/// A file that is shown to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Absolute.
    pub path: PathBuf,
    /// What is in it, where it is a picture that an agent can be sent.
    pub picture: Option<Picture>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub mime_type: &'static str,
    /// In base64.
    pub data: String,
}

impl Message {
    /// What is typed of it: an agent in a terminal reads files by their paths.
    fn typed(self) -> String {
        let paths = self.attachments.iter();
        let paths: Vec<_> = paths.map(|file| file.path.display().to_string()).collect();
        if paths.is_empty() {
            self.text
        } else {
            format!("{} ({})", self.text, paths.join(", "))
        }
    }
}

/// An answer for a dialog.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The number or the label of the option, or how the label begins.
    pub option: String,
    /// Words the dialog must contain.
    pub expect: Option<String>,
    /// How long a dialog may take to be there.
    pub wait: Duration,
}

/// Why a text or an answer was not typed.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("{WAITING} texts and answers already wait for this slot: try again later")]
    Crowded,
    #[error(transparent)]
    Undelivered(#[from] DeliveryRefusal),
    #[error(transparent)]
    Unanswered(#[from] AnswerRefusal),
    #[error("the conversation is being handed over to another program: try again in a moment")]
    HandingOff,
    #[error("the slot has just been closed")]
    Closed,
}

/// What a job is answered with.
type Reply<T> = oneshot::Sender<Result<T, InputError>>;

#[derive(Debug)]
pub enum Job {
    Deliver(Message, Reply<Delivered>),
    Answer(Answer, Reply<Answered>),
}

impl Job {
    pub(super) fn refuse(self, why: InputError) {
        // Whoever asked may have gone.
        match self {
            Self::Deliver(_, reply) => drop(reply.send(Err(why))),
            Self::Answer(_, reply) => drop(reply.send(Err(why))),
        }
    }

    /// Nobody waits for it any more.
    pub(super) fn is_unwanted(&self) -> bool {
        match self {
            Self::Deliver(_, reply) => reply.is_closed(),
            Self::Answer(_, reply) => reply.is_closed(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Typing {
    begun: Instant,
    current: Option<Current>,
    /// Each with the moment it came.
    waiting: VecDeque<(Job, Duration)>,
    due: Option<Duration>,
}

#[derive(Debug)]
enum Current {
    Deliver(Delivery, Reply<Delivered>),
    Answer(Box<Answering>, Reply<Answered>),
}

/// What the slot's task has to do for the job under way.
#[derive(Debug)]
pub(super) enum Turn {
    Write(Vec<u8>),
    /// It is over: put it on record, then let the caller know.
    Ended(Ended),
}

#[derive(Debug)]
pub(super) enum Ended {
    Delivered(Result<Delivered, DeliveryRefusal>, Reply<Delivered>),
    Answered(Result<Answered, AnswerRefusal>, Reply<Answered>),
}

impl Ended {
    /// What is known about the slot's prompt now.
    pub(super) fn landed(&self) -> Option<Landed> {
        match self {
            Self::Delivered(Ok(delivered), _) => Some(delivered.landed),
            _ => None,
        }
    }

    /// Question and option of a dialog that was answered.
    pub(super) fn answered(&self) -> Option<(String, String)> {
        match self {
            Self::Answered(Ok(answered), _) => {
                Some((answered.question.clone(), answered.option.label.clone()))
            }
            _ => None,
        }
    }

    pub(super) fn reply(self) {
        // Whoever asked may have gone.
        match self {
            Self::Delivered(outcome, reply) => drop(reply.send(outcome.map_err(Into::into))),
            Self::Answered(outcome, reply) => drop(reply.send(outcome.map_err(Into::into))),
        }
    }
}

impl Typing {
    pub(super) fn new() -> Self {
        Self {
            begun: Instant::now(),
            current: None,
            waiting: VecDeque::new(),
            due: None,
        }
    }

    pub(super) fn accept(&mut self, job: Job) {
        if self.waiting.len() < WAITING {
            let came = self.begun.elapsed();
            self.waiting.push_back((job, came));
            return;
        }
        job.refuse(InputError::Crowded);
    }

    /// Nothing is being typed, and nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.current.is_none() && self.waiting.is_empty()
    }

    /// When to be asked again although nothing has changed.
    pub(super) fn wake(&self) -> Option<Instant> {
        if self.current.is_none() {
            return (!self.waiting.is_empty()).then(Instant::now);
        }
        self.due.map(|due| self.begun + due)
    }

    /// The next thing to do for what the terminal shows at `at` of its clock.
    pub(super) fn turn(&mut self, session: &mut Session, at: Duration) -> Option<Turn> {
        let now = self.begun.elapsed();
        while self.current.as_ref().is_some_and(Current::is_unwanted) {
            self.current = None;
        }
        if self.current.is_none() {
            let (job, came) = self.waiting.pop_front()?;
            self.current = Some(Current::begin(job, came, session));
            self.due = None;
        }
        let settled = session.is_settled();
        // A frame that is still being drawn is looked at when it is complete.
        if !settled && self.due.is_some_and(|due| now < due) {
            return None;
        }
        let instant = session.read_instant(at);
        let modes = session.terminal().input_modes();
        let (state, offset) = (
            session.reader().current().state,
            session.terminal().offset(),
        );
        let context = InputContext {
            state,
            instant: &instant,
            screen: session.screen(),
            modes,
            settled,
            offset,
        };
        match self.current.take()? {
            Current::Deliver(mut delivery, reply) => match delivery.step(&context, now) {
                Step::Done(outcome) => Some(Turn::Ended(Ended::Delivered(outcome, reply))),
                Step::Wait(due) => self.keep(Current::Deliver(delivery, reply), due),
                Step::Write(bytes) => {
                    self.keep(Current::Deliver(delivery, reply), now);
                    Some(Turn::Write(bytes))
                }
            },
            Current::Answer(mut answering, reply) => match answering.step(&context, now) {
                Step::Done(outcome) => Some(Turn::Ended(Ended::Answered(outcome, reply))),
                Step::Wait(due) => self.keep(Current::Answer(answering, reply), due),
                Step::Write(bytes) => {
                    self.keep(Current::Answer(answering, reply), now);
                    Some(Turn::Write(bytes))
                }
            },
        }
    }

    /// Somebody else's keys are about to be written.
    pub(super) fn disturb(&mut self) -> Option<Ended> {
        match self.current.take()? {
            Current::Deliver(mut delivery, reply) => match delivery.disturb() {
                Some(outcome) => return Some(Ended::Delivered(outcome, reply)),
                None => self.current = Some(Current::Deliver(delivery, reply)),
            },
            Current::Answer(mut answering, reply) => match answering.disturb() {
                Some(outcome) => return Some(Ended::Answered(outcome, reply)),
                None => self.current = Some(Current::Answer(answering, reply)),
            },
        }
        None
    }

    fn keep(&mut self, current: Current, due: Duration) -> Option<Turn> {
        self.current = Some(current);
        self.due = Some(due);
        None
    }
}

impl Current {
    fn begin(job: Job, came: Duration, session: &Session) -> Self {
        let manifest = session.reader().manifest();
        match job {
            Job::Deliver(message, reply) => {
                let (submit, when, force) = (message.submit, message.when, message.force);
                let ready_by = came + message.wait;
                let request = DeliveryRequest {
                    text: message.typed(),
                    submit,
                    when,
                    ready_by,
                    force,
                };
                Self::Deliver(Delivery::new(manifest.clone(), request), reply)
            }
            Job::Answer(answer, reply) => {
                let by = came + answer.wait;
                let answering = Answering::new(manifest, answer.option, answer.expect, by);
                Self::Answer(Box::new(answering), reply)
            }
        }
    }

    /// Nobody waits for it, and nothing of it was typed.
    fn is_unwanted(&self) -> bool {
        match self {
            Self::Deliver(delivery, reply) => delivery.is_waiting() && reply.is_closed(),
            Self::Answer(answering, reply) => answering.is_waiting() && reply.is_closed(),
        }
    }
}
