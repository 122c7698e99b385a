//! Gives one answer to one dialog, or none.
//!
//! The option is found in the dialog that is on the screen, and the mark is
//! moved there key by key: each key must show its effect before the next is
//! pressed, so that none can still be under way when Enter is. Right before
//! Enter the dialog must be the same, word for word, and its mark must have
//! stood on the option for a moment. Whatever else is seen ends it without
//! Enter, and Enter is pressed once.

use std::time::Duration;

use missiond_core::PtyState;
use regex::Regex;

use super::keys::{ENTER, ESCAPE, Toward, arrow};
use super::{AnswerKeys, InputContext, Step, quoted};
use crate::dialog::{Dialog, DialogLayout, DialogOption};
use crate::manifest::Manifest;

/// How long a key may take to move the mark.
const MOVE_LIMIT: Duration = Duration::from_secs(2);
/// How long the mark must stand on the option before Enter.
const STEADY: Duration = Duration::from_millis(150);
/// A dialog that is redrawn may be gone or half there for this long.
const REDRAW: Duration = Duration::from_millis(400);
/// How long the program may take to obey Enter.
const ACCEPT_LIMIT: Duration = Duration::from_secs(5);
/// For how long a dialog must be gone to be gone.
const GONE_FOR: Duration = Duration::from_millis(120);

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub option: DialogOption,
    pub question: String,
    pub outcome: AnswerOutcome,
    /// One sentence: what was seen.
    pub evidence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// The dialog is gone or another one took its place.
    Taken,
    /// The option was taken and the dialog still stands there.
    StillOpen,
}

/// Why no option was taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerRefusal {
    #[error("no dialog is open ({}): there is nothing to answer", .0.as_str())]
    NoDialog(PtyState),
    #[error(
        "a dialog is open, but its options or its marked option cannot be read: look at the screen and answer by hand"
    )]
    Unreadable,
    #[error("the dialog asks {} and not {}: nothing was pressed", quoted(.asked), quoted(.expected))]
    OtherQuestion { asked: String, expected: String },
    #[error("no option is {}; there are: {}", quoted(.wanted), .options.join(" / "))]
    NoSuchOption {
        wanted: String,
        options: Vec<String>,
    },
    #[error("{} fits several options: {}", quoted(.wanted), .options.join(" / "))]
    Ambiguous {
        wanted: String,
        options: Vec<String>,
    },
    #[error("the option {} has no number from 1 to 9, and this program is answered by number", quoted(.0))]
    NoNumber(String),
    #[error("the dialog changed or closed before the answer was given: no option was taken")]
    Changed,
    #[error("somebody else typed at the same time: no option was taken")]
    Disturbed,
    #[error("{0}")]
    Protocol(String),
    #[error("the program does not move its mark to {}: no option was taken", quoted(.0))]
    MarkStays(String),
}

/// How an option is shown to a person.
pub(super) fn describe_option(option: &DialogOption) -> String {
    match option.number {
        Some(number) => format!("{number}. {}", option.label),
        None => option.label.clone(),
    }
}

#[derive(Debug)]
pub struct Answering {
    keys: AnswerKeys,
    escaped: Option<Regex>,
    wanted: String,
    expected: Option<String>,
    /// Until when a dialog may take to be there.
    dialog_by: Duration,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Finding,
    Moving(AnswerTarget),
    Entered {
        aim: AnswerTarget,
        until: Duration,
        gone: Option<Duration>,
    },
}

/// The option that was asked for, in the dialog it was found in.
#[derive(Debug, Clone)]
struct AnswerTarget {
    dialog: Dialog,
    target: usize,
    /// A key whose effect has not been seen: where the mark was, and until when.
    pressed: Option<(Option<usize>, Duration)>,
    /// Since when the mark stands where it is, in this very dialog.
    steady: Option<(Option<usize>, Duration)>,
    /// Since when the dialog is not to be seen.
    lost: Option<Duration>,
    presses_left: usize,
}

type Outcome = Result<Answered, AnswerRefusal>;

impl Answering {
    #[must_use]
    pub fn new(
        manifest: &Manifest,
        wanted: String,
        expected: Option<String>,
        dialog_by: Duration,
    ) -> Self {
        Self {
            keys: manifest.input.answer,
            escaped: manifest.input.escaped.clone(),
            wanted,
            expected,
            dialog_by,
            phase: Phase::Finding,
        }
    }

    /// Whether nothing has been pressed yet, so that it can be given up.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Finding)
    }

    /// Somebody else's keys are about to reach the program: they could move the
    /// mark unseen, so it is over, unless the option was taken already.
    pub fn disturb(&mut self) -> Option<Result<Answered, AnswerRefusal>> {
        matches!(self.phase, Phase::Moving(_)).then_some(Err(AnswerRefusal::Disturbed))
    }

    /// What to do, seeing this at `now`.
    pub fn step(&mut self, context: &InputContext<'_>, now: Duration) -> Step<Outcome> {
        match &mut self.phase {
            Phase::Finding => self.find(context, now),
            Phase::Moving(aim) => match move_mark(aim, self.keys, context, now) {
                Move::Step(step) => step,
                Move::Enter(bytes) => {
                    self.phase = Phase::Entered {
                        aim: aim.clone(),
                        until: now + ACCEPT_LIMIT,
                        gone: None,
                    };
                    Step::Write(bytes)
                }
            },
            Phase::Entered { aim, until, gone } => verify(aim, *until, gone, context, now),
        }
    }

    fn find(&mut self, context: &InputContext<'_>, now: Duration) -> Step<Outcome> {
        let believed = context.state == PtyState::Confirming && context.settled;
        let dialog = match &context.instant.dialog {
            Some(dialog) if believed => dialog,
            _ if now < self.dialog_by && context.state != PtyState::Exited => {
                return Step::Wait(self.dialog_by);
            }
            _ if context.instant.state == Some(PtyState::Confirming) => {
                return Step::Done(Err(AnswerRefusal::Unreadable));
            }
            _ => {
                let state = context.instant.state.unwrap_or(context.state);
                return Step::Done(Err(AnswerRefusal::NoDialog(state)));
            }
        };
        if let Some(expected) = &self.expected
            && !dialog.asks(expected)
        {
            return Step::Done(Err(AnswerRefusal::OtherQuestion {
                asked: dialog.question.clone(),
                expected: expected.clone(),
            }));
        }
        let target = match option_for(dialog, &self.wanted) {
            Ok(target) => target,
            Err(refusal) => return Step::Done(Err(refusal)),
        };
        let label = &dialog.options[target].label;
        let escapes = |pattern: &Regex| pattern.is_match(label);
        let keys = match dialog.layout {
            _ if self.escaped.as_ref().is_some_and(escapes) => AnswerKeys::Escape,
            DialogLayout::Letters => AnswerKeys::Letter,
            DialogLayout::List | DialogLayout::Buttons => self.keys,
        };
        let by_number = matches!(keys, AnswerKeys::NumberMoves | AnswerKeys::NumberSelects);
        if by_number && digit(&dialog.options[target]).is_none() {
            let label = dialog.options[target].label.clone();
            return Step::Done(Err(AnswerRefusal::NoNumber(label)));
        }
        if keys == AnswerKeys::Arrows && dialog.selected.is_none() {
            return Step::Done(Err(AnswerRefusal::Unreadable));
        }
        self.keys = keys;
        self.phase = Phase::Moving(AnswerTarget {
            presses_left: 2 * dialog.options.len(),
            dialog: dialog.clone(),
            target,
            pressed: None,
            steady: None,
            lost: None,
        });
        self.step(context, now)
    }
}

enum Move {
    Step(Step<Outcome>),
    /// The key that takes the option.
    Enter(Vec<u8>),
}

fn move_mark(
    aim: &mut AnswerTarget,
    keys: AnswerKeys,
    context: &InputContext<'_>,
    now: Duration,
) -> Move {
    let seen = context.instant.dialog.as_ref();
    let Some(seen) = seen.filter(|seen| context.settled && seen.is_same_as(&aim.dialog)) else {
        aim.steady = None;
        let since = *aim.lost.get_or_insert(now);
        let over = now >= since + REDRAW || context.state == PtyState::Exited;
        return Move::Step(if over {
            Step::Done(Err(AnswerRefusal::Changed))
        } else {
            Step::Wait(since + REDRAW)
        });
    };
    aim.lost = None;
    let mark = seen.selected;
    let stood = match aim.steady {
        Some((stood, since)) if stood == mark => since,
        _ => aim.steady.insert((mark, now)).1,
    };
    if let Some((from, until)) = aim.pressed {
        let arrived = mark != from && mark.is_some();
        if !arrived {
            let label = aim.dialog.options[aim.target].label.clone();
            return Move::Step(if now >= until {
                Step::Done(Err(AnswerRefusal::MarkStays(label)))
            } else {
                Step::Wait(until)
            });
        }
        aim.pressed = None;
    }
    let needs_no_mark = matches!(
        keys,
        AnswerKeys::NumberSelects | AnswerKeys::Letter | AnswerKeys::Escape
    );
    let there = needs_no_mark || mark == Some(aim.target);
    if !there {
        return Move::Step(press(aim, keys, mark, context, now));
    }
    if now < stood + STEADY {
        return Move::Step(Step::Wait(stood + STEADY));
    }
    let target = &aim.dialog.options[aim.target];
    Move::Enter(match (keys, digit(target)) {
        (AnswerKeys::NumberSelects, Some(digit)) => vec![digit],
        (AnswerKeys::Letter, _) => letter(target),
        (AnswerKeys::Escape, _) => ESCAPE.to_vec(),
        _ => ENTER.to_vec(),
    })
}

fn press(
    aim: &mut AnswerTarget,
    keys: AnswerKeys,
    mark: Option<usize>,
    context: &InputContext<'_>,
    now: Duration,
) -> Step<Outcome> {
    let target = &aim.dialog.options[aim.target];
    let bytes = match (keys, digit(target), mark) {
        (AnswerKeys::NumberMoves, Some(digit), _) => vec![digit],
        (_, _, Some(mark)) => {
            let toward = if mark < aim.target {
                Toward::Later
            } else {
                Toward::Earlier
            };
            arrow(aim.dialog.layout, toward, context.modes)
        }
        (_, _, None) => return Step::Done(Err(AnswerRefusal::Unreadable)),
    };
    if aim.presses_left == 0 {
        return Step::Done(Err(AnswerRefusal::MarkStays(target.label.clone())));
    }
    aim.presses_left -= 1;
    aim.pressed = Some((mark, now + MOVE_LIMIT));
    Step::Write(bytes)
}

fn verify(
    aim: &AnswerTarget,
    until: Duration,
    gone: &mut Option<Duration>,
    context: &InputContext<'_>,
    now: Duration,
) -> Step<Outcome> {
    let answered = |outcome, evidence: String| {
        Step::Done(Ok(Answered {
            option: aim.dialog.options[aim.target].clone(),
            question: aim.dialog.question.clone(),
            outcome,
            evidence,
        }))
    };
    let same = context
        .instant
        .dialog
        .as_ref()
        .is_some_and(|seen| seen.is_same_as(&aim.dialog));
    if same {
        *gone = None;
        if now < until {
            return Step::Wait(until);
        }
        let evidence = "Enter was pressed on the option and the dialog still stands there";
        return answered(AnswerOutcome::StillOpen, evidence.to_owned());
    }
    let since = *gone.get_or_insert(now);
    let exited = context.state == PtyState::Exited;
    if !exited && (now < since + GONE_FOR || !context.settled) {
        return Step::Wait((since + GONE_FOR).max(now + GONE_FOR));
    }
    let evidence = match &context.instant.dialog {
        Some(next) => format!("the next dialog asks {}", quoted(&next.question)),
        None if exited => "the program ended".to_owned(),
        None => "the dialog is gone".to_owned(),
    };
    answered(AnswerOutcome::Taken, evidence)
}

/// The one option that is meant: by its number, its whole label, or a part of
/// the label's beginning that fits no other.
pub fn option_for(dialog: &Dialog, wanted: &str) -> Result<usize, AnswerRefusal> {
    let wanted = wanted.trim();
    let options = || dialog.options.iter().map(describe_option).collect();
    let position = |fits: &dyn Fn(&DialogOption) -> bool| -> Vec<usize> {
        let found = dialog.options.iter().enumerate();
        found
            .filter(|(_, option)| fits(option))
            .map(|(index, _)| index)
            .collect()
    };
    let lower = wanted.to_lowercase();
    let mut found = match wanted.parse::<u32>() {
        Ok(number) if dialog.options.iter().any(|option| option.number.is_some()) => {
            position(&|option| option.number == Some(number))
        }
        // Options without numbers are counted from 1.
        Ok(number) => position(&|option| {
            let place = dialog.options.iter().position(|other| other == option);
            place.and_then(|place| u32::try_from(place + 1).ok()) == Some(number)
        }),
        Err(_) => position(&|option| {
            option.label.to_lowercase() == lower || describe_option(option).to_lowercase() == lower
        }),
    };
    if found.is_empty() && !lower.is_empty() && wanted.parse::<u32>().is_err() {
        found = position(&|option| option.label.to_lowercase().starts_with(&lower));
    }
    let wanted = wanted.to_owned();
    match found[..] {
        [one] => Ok(one),
        [] => Err(AnswerRefusal::NoSuchOption {
            wanted,
            options: options(),
        }),
        _ => Err(AnswerRefusal::Ambiguous {
            wanted,
            options: options(),
        }),
    }
}

impl Dialog {
    /// Whether its words contain these.
    #[must_use]
    pub fn asks(&self, expected: &str) -> bool {
        let flat = |text: &str| {
            text.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .to_lowercase()
        };
        flat(&self.text).contains(&flat(expected))
    }
}

/// The letter that stands for an option, and Enter behind it.
fn letter(option: &DialogOption) -> Vec<u8> {
    let first = option.label.chars().take(1);
    let letter: String = first.flat_map(char::to_lowercase).collect();
    [letter.as_bytes(), ENTER].concat()
}

fn digit(option: &DialogOption) -> Option<u8> {
    let number = option.number.filter(|number| (1..=9).contains(number))?;
    u8::try_from(number).ok().map(|number| b'0' + number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog(labels: &[(Option<u32>, &str)]) -> Dialog {
        let option = |(row, (number, label)): (usize, &(Option<u32>, &str))| DialogOption {
            label: (*label).to_owned(),
            number: *number,
            row,
        };
        Dialog {
            title: "Bash command".to_owned(),
            question: "Do you want to proceed?".to_owned(),
            text: "Bash command rm -rf build Do you want to proceed?".to_owned(),
            tool: None,
            arguments: Some("rm -rf build".to_owned()),
            options: labels.iter().enumerate().map(option).collect(),
            selected: Some(0),
            layout: DialogLayout::List,
            request: None,
        }
    }

    #[test]
    fn an_option_is_found_by_number_label_or_beginning_and_only_if_it_is_one() {
        let numbered = dialog(&[
            (Some(1), "Yes"),
            (Some(2), "Yes, and don't ask again"),
            (Some(3), "No (esc)"),
        ]);
        for (wanted, index) in [
            ("3", 2),
            ("yes", 0),
            ("2. Yes, and don't ask again", 1),
            ("no", 2),
        ] {
            assert_eq!(option_for(&numbered, wanted), Ok(index), "{wanted}");
        }
        for wanted in ["4", "0", "maybe", "", "esc"] {
            let refused = option_for(&numbered, wanted);
            assert!(
                matches!(refused, Err(AnswerRefusal::NoSuchOption { .. })),
                "{wanted}"
            );
        }
        let refused = option_for(&numbered, "ye").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "“ye” fits several options: 1. Yes / 2. Yes, and don't ask again / 3. No (esc)"
        );
        let plain = dialog(&[(None, "No, exit"), (None, "Yes, I trust this folder")]);
        assert_eq!(option_for(&plain, "2"), Ok(1));
    }

    #[test]
    fn an_expected_question_may_stand_anywhere_above_the_options() {
        let dialog = dialog(&[(Some(1), "Yes"), (Some(2), "No")]);
        for expected in ["want to  PROCEED", "bash command", "rm -rf"] {
            assert!(dialog.asks(expected), "{expected}");
        }
        assert!(!dialog.asks("create hello.txt"));
    }
}
