//! Brings a text into a program's prompt and sees that it is taken.
//!
//! | phase    | leaves it when |
//! |----------|----------------|
//! | Gate     | the program can be typed to; refuses when it must not be |
//! | Typing   | every keystroke is written |
//! | Landing  | the text is seen in the prompt, then after a pause: Enter |
//! | Accepting | the text has left the prompt; one more Enter if it has not |
//!
//! Text is written once and never again. Enter is pressed at most twice, and
//! the second time only while the text still stands in the prompt. For an engine
//! whose prompt is not known, only a dialog with options and an end of the
//! program are guarded against, and a landing is what the screen echoes.

use std::sync::Arc;
use std::time::Duration;

use missiond_core::PtyState;

use super::keys::{ENTER, LooseBreaks, keystrokes, typeable};
use super::prompt::essence;
use super::{InputContext, Step, quoted};
use crate::manifest::Manifest;

/// Between two keystrokes of one text.
const KEY_GAP: Duration = Duration::from_millis(12);
/// How long a text may take to appear in the prompt.
const LAND_LIMIT: Duration = Duration::from_secs(5);
/// How long an Enter may take to be obeyed.
const ACCEPT_LIMIT: Duration = Duration::from_secs(4);
/// A prompt that is redrawn is empty for a moment.
const EMPTY_FOR: Duration = Duration::from_millis(100);
/// How long an unknown program has to show anything after Enter.
const ECHO_LIMIT: Duration = Duration::from_millis(600);

/// A text for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRequest {
    pub text: String,
    pub submit: Submit,
    pub when: When,
    /// Until when the program may take to be ready.
    pub ready_by: Duration,
    pub force: Force,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submit {
    Enter,
    /// The text is left in the prompt.
    No,
}

/// What to do while the agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Wait until it is idle.
    Idle,
    /// Type: most programs queue the text.
    Now,
    /// Only while the program asks for words: the text is the answer.
    Asked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    No,
    /// Type whatever is on the screen; a person takes the responsibility.
    Yes,
}

/// What became of a text that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// Handed to the terminal.
    pub bytes: u64,
    pub landed: Landed,
    /// One sentence: what was seen.
    pub evidence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landed {
    /// It was seen to be taken.
    Confirmed,
    /// It was written, and the screen cannot tell.
    Unconfirmed,
    /// It was written and not taken.
    Stalled,
}

/// Why nothing was typed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryRefusal {
    #[error("the program has ended: there is nobody to type to")]
    Exited,
    #[error("a dialog waits for an answer{}: answer it first, then send the text", describe_question(.question, .options))]
    Dialog {
        question: String,
        options: Vec<String>,
    },
    #[error("the program asks for no words ({}): there is nothing to answer", .0.as_str())]
    NotAsked(PtyState),
    #[error(
        "the program asks something and shows neither options nor a prompt: look at its screen and answer by hand"
    )]
    NoPrompt,
    #[error("a menu of commands is open: close it (Esc) or finish it first")]
    Menu,
    #[error("somebody's half-typed text stands in the prompt ({}): send or clear it first", quoted(.0))]
    Draft(String),
    #[error("the agent still works ({}) after the time to wait: wait longer, or send it now and let the program queue it", .0.as_str())]
    Busy(PtyState),
    #[error("the program shows no prompt to type into ({}): wait longer, or look at its screen", .0.as_str())]
    NotReady(PtyState),
    #[error(
        "the text has several lines, and this program takes no pasted text: send it line by line, or make it one line"
    )]
    Lines,
    #[error(
        "the agent is driven by its protocol and has no prompt to leave a text in: send the text"
    )]
    NoDraft,
    #[error("{0}")]
    Protocol(String),
}

fn open_dialog(context: &InputContext<'_>) -> DeliveryRefusal {
    let dialog = context.instant.dialog.as_ref();
    DeliveryRefusal::Dialog {
        question: dialog.map_or_else(String::new, |dialog| dialog.question.clone()),
        options: dialog.map_or_else(Vec::new, |dialog| {
            let options = dialog.options.iter();
            options.map(super::answer::describe_option).collect()
        }),
    }
}

fn describe_question(question: &str, options: &[String]) -> String {
    match (question.is_empty(), options.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!(" ({})", quoted(question)),
        (_, false) => format!(" ({} {})", quoted(question), options.join(" / ")),
    }
}

#[derive(Debug)]
pub struct Delivery {
    manifest: Arc<Manifest>,
    request: DeliveryRequest,
    bytes: u64,
    /// The most the terminal itself shows of what was written, by its echo.
    echo: u64,
    /// Nobody else has typed since it was begun.
    alone: bool,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Gate,
    Typing {
        left: std::vec::IntoIter<Vec<u8>>,
        next: Duration,
        before: ScreenBefore,
    },
    Landing {
        until: Duration,
        seen: Option<Duration>,
        before: ScreenBefore,
    },
    Accepting {
        until: Duration,
        tries: u8,
        gone: Option<Duration>,
        before: ScreenBefore,
    },
}

/// What was there before the text.
#[derive(Debug, Clone, Copy)]
struct ScreenBefore {
    working: bool,
    /// How often the text's last line stood on the screen.
    echoes: usize,
    /// What the program had written when the first key was typed.
    began: u64,
    echoed: bool,
    /// The text was seen in the prompt; otherwise only the echo can tell.
    in_prompt: bool,
}

type Outcome = Result<Delivered, DeliveryRefusal>;

impl Delivery {
    #[must_use]
    pub fn new(manifest: Arc<Manifest>, mut request: DeliveryRequest) -> Self {
        request.text = typeable(&request.text);
        Self {
            manifest,
            request,
            bytes: 0,
            echo: 0,
            alone: true,
            phase: Phase::Gate,
        }
    }

    /// Whether nothing has been written yet, so that it can be given up.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Gate)
    }

    /// Somebody else's keys are about to reach the program. What is in the prompt
    /// is then not this text alone: it is over, unless Enter was pressed already.
    pub fn disturb(&mut self) -> Option<Result<Delivered, DeliveryRefusal>> {
        match self.phase {
            Phase::Gate => None,
            Phase::Typing { .. } | Phase::Landing { .. } => Some(Ok(self.delivered(
                Landed::Stalled,
                "somebody else typed at the same time; Enter was not pressed",
            ))),
            Phase::Accepting { .. } => {
                self.alone = false;
                None
            }
        }
    }

    /// What to do, seeing this at `now`.
    pub fn step(&mut self, context: &InputContext<'_>, now: Duration) -> Step<Outcome> {
        let step = self.advance(context, now);
        if let Step::Write(bytes) = &step {
            self.bytes += bytes.len() as u64;
            self.echo += bytes.iter().copied().map(echo_of).sum::<u64>();
        }
        step
    }

    fn advance(&mut self, context: &InputContext<'_>, now: Duration) -> Step<Outcome> {
        match &mut self.phase {
            Phase::Gate => self.gate(context, now),
            Phase::Typing { left, next, .. } if *next <= now => match left.next() {
                Some(bytes) => {
                    *next = now + KEY_GAP;
                    Step::Write(bytes)
                }
                None => self.begin_landing(context, now),
            },
            Phase::Typing { next, .. } => Step::Wait(*next),
            Phase::Landing { .. } => self.landing(context, now),
            Phase::Accepting { .. } => self.accepting(context, now),
        }
    }

    fn knows_prompt(&self) -> bool {
        !self.manifest.input.prompts.is_empty()
    }

    fn gate(&mut self, context: &InputContext<'_>, now: Duration) -> Step<Outcome> {
        if context.state == PtyState::Exited {
            return Step::Done(Err(DeliveryRefusal::Exited));
        }
        match self.obstacle(context) {
            Some(Obstacle::Refuse(refusal)) => return Step::Done(Err(refusal)),
            Some(Obstacle::Wait(refusal)) if self.request.ready_by <= now => {
                return Step::Done(Err(refusal));
            }
            Some(Obstacle::Wait(_)) => return Step::Wait(self.request.ready_by),
            None => {}
        }
        let breaks = match self.request.force {
            Force::Yes => LooseBreaks::PressEnter,
            Force::No => LooseBreaks::Refuse,
        };
        let newline = self.manifest.input.newline;
        let Ok(keys) = keystrokes(&self.request.text, context.modes, newline, breaks) else {
            return Step::Done(Err(DeliveryRefusal::Lines));
        };
        self.phase = Phase::Typing {
            left: keys.0.into_iter(),
            next: now,
            before: ScreenBefore {
                working: context.is_working(),
                echoes: self.echoes(context),
                began: context.offset,
                echoed: false,
                in_prompt: false,
            },
        };
        self.advance(context, now)
    }

    fn obstacle(&self, context: &InputContext<'_>) -> Option<Obstacle> {
        if self.request.force == Force::Yes {
            return None;
        }
        if self.request.when == When::Asked {
            return Self::obstacle_to_answer(context);
        }
        let known = self.knows_prompt();
        // A program nobody knows may ask for a line of text: `[y/n]`.
        if context.dialog_open() && (known || context.instant.dialog.is_some()) {
            let refusal = open_dialog(context);
            // One that was just answered is believed in for a moment longer.
            return Some(match context.instant.state {
                Some(PtyState::Confirming) => Obstacle::Refuse(refusal),
                _ => Obstacle::Wait(refusal),
            });
        }
        if !known {
            return None;
        }
        if context.state == PtyState::SlashMenu {
            return Some(Obstacle::Refuse(DeliveryRefusal::Menu));
        }
        let not_ready = || Some(Obstacle::Wait(DeliveryRefusal::NotReady(context.state)));
        let Some(prompt) = context.instant.prompt.as_ref().filter(|_| context.settled) else {
            return not_ready();
        };
        if matches!(context.state, PtyState::Starting | PtyState::Unknown) {
            return not_ready();
        }
        if !prompt.is_empty() {
            return Some(Obstacle::Refuse(DeliveryRefusal::Draft(prompt.text())));
        }
        (context.is_working() && self.request.when == When::Idle)
            .then_some(Obstacle::Wait(DeliveryRefusal::Busy(context.state)))
    }

    /// What stands against answering in words what is asked in words.
    fn obstacle_to_answer(context: &InputContext<'_>) -> Option<Obstacle> {
        let asks = context.instant.state == Some(PtyState::Confirming);
        if !asks {
            let state = context.instant.state.unwrap_or(context.state);
            return Some(Obstacle::Wait(DeliveryRefusal::NotAsked(state)));
        }
        if context.instant.dialog.is_some() {
            return Some(Obstacle::Refuse(open_dialog(context)));
        }
        match context.instant.prompt.as_ref().filter(|_| context.settled) {
            None => Some(Obstacle::Wait(DeliveryRefusal::NoPrompt)),
            Some(prompt) if !prompt.is_empty() => {
                Some(Obstacle::Refuse(DeliveryRefusal::Draft(prompt.text())))
            }
            Some(_) => None,
        }
    }

    /// Whether a dialog that this text is no answer to has the keyboard.
    fn shut_out(&self, context: &InputContext<'_>) -> bool {
        match (self.request.force, self.request.when) {
            (Force::Yes, _) => false,
            (Force::No, When::Asked) => context.instant.dialog.is_some(),
            (Force::No, When::Idle | When::Now) => {
                context.dialog_open() && (self.knows_prompt() || context.instant.dialog.is_some())
            }
        }
    }

    fn begin_landing(&mut self, context: &InputContext<'_>, now: Duration) -> Step<Outcome> {
        if let Phase::Typing { before, .. } = self.phase {
            self.phase = Phase::Landing {
                until: now + LAND_LIMIT,
                seen: None,
                before,
            };
        }
        self.advance(context, now)
    }

    fn landing(&mut self, context: &InputContext<'_>, now: Duration) -> Step<Outcome> {
        let pause = self.manifest.input.enter_pause;
        let (known, forced) = (self.knows_prompt(), self.request.force == Force::Yes);
        let echoes = self.echoes(context);
        let in_prompt = known && self.in_prompt(context);
        let shut_out = self.shut_out(context);
        let Phase::Landing {
            until,
            seen,
            before,
        } = &mut self.phase
        else {
            return Step::Wait(now);
        };
        if context.state == PtyState::Exited {
            return self.stalled("the program ended before the text was seen");
        }
        before.echoed |= echoes > before.echoes;
        let shown = in_prompt || !known || forced && before.echoed;
        if shut_out {
            return self.stalled("a dialog opened before Enter was pressed; Enter was not pressed");
        }
        let since = match (shown, *seen) {
            (true, None) => *seen.insert(now),
            (true, Some(since)) => since,
            (false, _) => {
                *seen = None;
                if now < *until {
                    return Step::Wait(*until);
                }
                if !forced {
                    return self.stalled(
                        "the text was typed and did not appear in the prompt; Enter was not pressed",
                    );
                }
                now.saturating_sub(pause)
            }
        };
        if now < since + pause {
            return Step::Wait(since + pause);
        }
        let before = ScreenBefore {
            in_prompt,
            ..*before
        };
        if self.request.submit == Submit::No {
            return self.left_in_prompt(before);
        }
        self.phase = Phase::Accepting {
            until: now + if in_prompt { ACCEPT_LIMIT } else { ECHO_LIMIT },
            tries: 1,
            gone: None,
            before,
        };
        Step::Write(ENTER.to_vec())
    }

    fn accepting(&mut self, context: &InputContext<'_>, now: Duration) -> Step<Outcome> {
        let shown = self.in_prompt(context);
        let dialog = match self.request.when {
            When::Asked => context.instant.dialog.is_some(),
            When::Idle | When::Now => context.dialog_open(),
        };
        let Phase::Accepting {
            until,
            tries,
            gone,
            before,
        } = &mut self.phase
        else {
            return Step::Wait(now);
        };
        if !before.in_prompt {
            return self.accepting_unseen(context, now);
        }
        if context.state == PtyState::Exited {
            return self.confirmed("the program ended after Enter");
        }
        if !shown && context.settled {
            let since = *gone.get_or_insert(now);
            let began = context.is_working() && !before.working;
            if began || now >= since + EMPTY_FOR {
                let seen = match (began, context.is_working()) {
                    (true, _) => "the agent began to work",
                    (false, true) => "the prompt is empty again while the agent works",
                    (false, false) => "the text has left the prompt",
                };
                return self.confirmed(seen);
            }
            return Step::Wait(since + EMPTY_FOR);
        }
        if shown {
            *gone = None;
        }
        if now < *until {
            return Step::Wait(*until);
        }
        if *tries == 1 && shown && !dialog && self.alone {
            *tries = 2;
            *until = now + ACCEPT_LIMIT;
            return Step::Write(ENTER.to_vec());
        }
        let twice = *tries == 2;
        self.stalled(match (dialog, twice) {
            (true, _) => "a dialog opened and the text still stands in the prompt",
            (false, true) => "Enter was pressed twice and the text still stands in the prompt",
            (false, false) => "the text did not leave the prompt after Enter",
        })
    }

    fn accepting_unseen(&mut self, context: &InputContext<'_>, now: Duration) -> Step<Outcome> {
        let echoes = self.echoes(context);
        let Phase::Accepting { until, before, .. } = &mut self.phase else {
            return Step::Wait(now);
        };
        before.echoed |= echoes > before.echoes;
        // The terminal echoes whether or not anybody reads: only what was written
        // beyond that comes from the program.
        let wrote = context.offset > before.began + self.echo;
        let echoed = before.echoed;
        let until = *until;
        let done = |landed, evidence: &str| Step::Done(Ok(self.delivered(landed, evidence)));
        match (echoed, wrote) {
            (true, true) => done(
                Landed::Confirmed,
                "the text was echoed, and the program wrote on after Enter",
            ),
            _ if now < until && context.state != PtyState::Exited => Step::Wait(until),
            (false, true) => done(
                Landed::Unconfirmed,
                "the program wrote on after Enter, but the text was not echoed",
            ),
            (_, false) => done(
                Landed::Unconfirmed,
                "the program has written nothing of its own since",
            ),
        }
    }

    fn left_in_prompt(&self, before: ScreenBefore) -> Step<Outcome> {
        let (landed, evidence) = match (before.in_prompt, before.echoed) {
            (true, _) => (Landed::Confirmed, "the text stands in the prompt"),
            (false, true) => (Landed::Confirmed, "the text was echoed"),
            (false, false) => (Landed::Unconfirmed, "the text is not on the screen yet"),
        };
        Step::Done(Ok(self.delivered(landed, evidence)))
    }

    /// Whether the text, or what stands for it, is in the prompt.
    fn in_prompt(&self, context: &InputContext<'_>) -> bool {
        let text = &self.request.text;
        let Some(prompt) = &context.instant.prompt else {
            return false;
        };
        if text.trim().is_empty() {
            // Nothing to see: Enter alone.
            return !matches!(self.phase, Phase::Accepting { .. });
        }
        let stands_for = |pattern: &regex::Regex| pattern.is_match(&prompt.text());
        prompt.shows(text) && !prompt.is_empty()
            || self.manifest.input.pasted.as_ref().is_some_and(stands_for)
    }

    /// How often the last line of the text stands on the screen.
    fn echoes(&self, context: &InputContext<'_>) -> usize {
        let line = self.request.text.lines().next_back().unwrap_or_default();
        let line = essence(line);
        if line.is_empty() {
            return 0;
        }
        let shown: String = context
            .screen
            .rows
            .iter()
            .map(|row| essence(&row.text))
            .collect();
        shown.matches(&line).count()
    }

    fn delivered(&self, landed: Landed, evidence: &str) -> Delivered {
        Delivered {
            bytes: self.bytes,
            landed,
            evidence: evidence.to_owned(),
        }
    }

    fn confirmed(&self, evidence: &str) -> Step<Outcome> {
        Step::Done(Ok(self.delivered(Landed::Confirmed, evidence)))
    }

    fn stalled(&self, evidence: &str) -> Step<Outcome> {
        Step::Done(Ok(self.delivered(Landed::Stalled, evidence)))
    }
}

/// How many bytes a terminal writes when it echoes one: a control character as `^X`, a
/// tab as up to eight blanks, the end of a line as two.
const fn echo_of(byte: u8) -> u64 {
    match byte {
        b'\t' => 8,
        0..0x20 | 0x7f => 2,
        _ => 1,
    }
}

/// Why a text cannot be typed now.
enum Obstacle {
    /// It will not go away by itself, or not by waiting.
    Refuse(DeliveryRefusal),
    Wait(DeliveryRefusal),
}
