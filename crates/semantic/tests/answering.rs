//! Answers to dialogs that move, change, close and drop keys: whatever happens,
//! an option is taken only if it is the one that was asked for.

#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::time::Duration;

use missiond_core::PtyState;
use missiond_semantic::{
    AnswerOutcome, AnswerRefusal, Answered, Answering, Dialog, DialogLayout, DialogOption,
    InputContext, InstantReading, Manifest, Modes, Screen, Step,
};
use proptest::prelude::*;

const TICK: Duration = Duration::from_millis(40);

/// What goes wrong at a moment.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    /// The next key is lost.
    Drop,
    /// The next key counts twice.
    Double,
    /// Keys are taken later.
    Hang(u8),
    /// Somebody else moves the mark.
    Nudge,
    /// Other options, or the same ones in another order.
    Reorder,
    /// The dialog is not drawn for a while.
    Vanish(u8),
    Close,
    /// Another dialog takes its place.
    Replace,
}

fn faults() -> impl Strategy<Value = Vec<Fault>> {
    let fault = prop_oneof![
        12 => Just(Fault::None),
        2 => Just(Fault::Drop),
        2 => Just(Fault::Double),
        2 => (1_u8..70).prop_map(Fault::Hang),
        1 => Just(Fault::Nudge),
        1 => Just(Fault::Reorder),
        2 => (1_u8..15).prop_map(Fault::Vanish),
        1 => Just(Fault::Close),
        1 => Just(Fault::Replace),
    ];
    proptest::collection::vec(fault, 0..40)
}

/// A program with a dialog: takes keys in the order they came.
#[derive(Debug)]
struct Program {
    dialog: Option<Dialog>,
    keys: VecDeque<Vec<u8>>,
    drop: bool,
    double: bool,
    hang: u8,
    hidden: u8,
    wraps: bool,
    digits: Digits,
    taken: Vec<(Dialog, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digits {
    Ignored,
    Move,
    Select,
}

impl Program {
    fn suffer(&mut self, fault: Fault) {
        match (fault, &mut self.dialog) {
            (Fault::None, _) => {}
            (Fault::Drop, _) => self.drop = true,
            (Fault::Double, _) => self.double = true,
            (Fault::Hang(ticks), _) => self.hang = ticks,
            (Fault::Vanish(ticks), _) => self.hidden = ticks,
            (Fault::Close, dialog) => *dialog = None,
            (Fault::Replace, dialog) => *dialog = Some(other_dialog()),
            (Fault::Nudge, Some(dialog)) => {
                dialog.selected = dialog.selected.map(|at| (at + 1) % dialog.options.len());
            }
            (Fault::Reorder, Some(dialog)) => {
                let mut labels: Vec<_> = dialog.options.iter().map(|o| o.label.clone()).collect();
                labels.rotate_left(1);
                for (option, label) in dialog.options.iter_mut().zip(labels) {
                    option.label = label;
                }
            }
            (Fault::Nudge | Fault::Reorder, None) => {}
        }
    }

    fn process_keys(&mut self) {
        if self.hang > 0 {
            self.hang -= 1;
            return;
        }
        while let Some(key) = self.keys.pop_front() {
            if std::mem::take(&mut self.drop) {
                continue;
            }
            let times = if std::mem::take(&mut self.double) {
                2
            } else {
                1
            };
            for _ in 0..times {
                self.press(&key);
            }
        }
        self.hidden = self.hidden.saturating_sub(1);
    }

    fn press(&mut self, key: &[u8]) {
        let Some(dialog) = &mut self.dialog else {
            return;
        };
        let (count, at) = (dialog.options.len(), dialog.selected.unwrap());
        let moved = match key {
            b"\x1b[A" if at > 0 => at - 1,
            b"\x1b[A" if self.wraps => count - 1,
            b"\x1b[B" if at + 1 < count => at + 1,
            b"\x1b[B" if self.wraps => 0,
            b"\r" => {
                self.taken.push((dialog.clone(), at));
                self.dialog = None;
                return;
            }
            [digit @ b'1'..=b'9'] if self.digits != Digits::Ignored => {
                let chosen = usize::from(digit - b'1');
                if chosen >= count {
                    return;
                }
                if self.digits == Digits::Select {
                    self.taken.push((dialog.clone(), chosen));
                    self.dialog = None;
                    return;
                }
                chosen
            }
            _ => at,
        };
        dialog.selected = Some(moved);
    }

    fn read_instant(&self) -> InstantReading {
        let dialog = self.dialog.clone().filter(|_| self.hidden == 0);
        InstantReading {
            state: dialog.as_ref().map(|_| PtyState::Confirming),
            dialog,
            prompt: None,
        }
    }
}

fn a_dialog(count: usize, selected: usize) -> Dialog {
    let option = |index: usize| DialogOption {
        label: format!(
            "choice {}",
            ["zero", "one", "two", "three", "four", "five"][index]
        ),
        number: u32::try_from(index + 1).ok(),
        row: 4 + index,
    };
    Dialog {
        title: "Bash command".to_owned(),
        question: "Do you want to proceed?".to_owned(),
        text: "Bash command make Do you want to proceed?".to_owned(),
        tool: Some("Bash".to_owned()),
        arguments: Some("make".to_owned()),
        options: (0..count).map(option).collect(),
        selected: Some(selected % count),
        layout: DialogLayout::List,
        request: None,
    }
}

/// The same options for another command: the difference that matters most.
fn other_dialog() -> Dialog {
    Dialog {
        text: "Bash command rm -rf / Do you want to proceed?".to_owned(),
        ..a_dialog(3, 0)
    }
}

fn manifest(keys: &str) -> Manifest {
    let text = format!("manifest: 1\nengine: acme\ninput: {{answer: {keys}}}\nrules: []\n");
    Manifest::parse(&text).unwrap()
}

/// An answer from the first look to the end.
#[derive(Debug)]
struct AnswerRun {
    outcome: Result<Answered, AnswerRefusal>,
    /// The dialog the option was asked for in.
    asked: Option<Dialog>,
    /// What was on the screen when the key that takes an option was pressed.
    pressed_on: Vec<Dialog>,
}

fn answer(program: &mut Program, keys: &str, wanted: usize, faults: Vec<Fault>) -> AnswerRun {
    let number = format!("{}", wanted + 1);
    let mut answering = Answering::new(&manifest(keys), number, None, Duration::from_millis(500));
    let screen = Screen::default();
    let mut faults = faults.into_iter();
    let (mut asked, mut pressed_on) = (None, Vec::new());
    for tick in 0_u32..2000 {
        program.suffer(faults.next().unwrap_or(Fault::None));
        let instant = program.read_instant();
        if asked.is_none() {
            asked.clone_from(&instant.dialog);
        }
        let context = InputContext {
            state: instant.state.unwrap_or(PtyState::Thinking),
            instant: &instant,
            screen: &screen,
            modes: Modes::default(),
            settled: true,
            offset: 0,
        };
        match answering.step(&context, TICK * tick) {
            Step::Write(key) => {
                if key == b"\r" || keys == "number-selects" {
                    pressed_on.push(instant.dialog.clone().unwrap());
                }
                program.keys.push_back(key);
            }
            Step::Wait(_) => {}
            Step::Done(outcome) => {
                return AnswerRun {
                    outcome,
                    asked,
                    pressed_on,
                };
            }
        }
        program.process_keys();
    }
    panic!("it never ends");
}

fn program(count: usize, selected: usize, wraps: bool, digits: Digits) -> Program {
    Program {
        dialog: Some(a_dialog(count, selected)),
        keys: VecDeque::new(),
        drop: false,
        double: false,
        hang: 0,
        hidden: 0,
        wraps,
        digits,
        taken: Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn no_other_option_is_ever_taken(
        (count, selected, wanted) in (2_usize..=6).prop_flat_map(|n| (Just(n), 0..n, 0..n)),
        wraps: bool,
        way in 0_usize..3,
        faults in faults(),
    ) {
        let (keys, digits) = [
            ("arrows", Digits::Ignored),
            ("number-moves", Digits::Move),
            ("number-selects", Digits::Select),
        ][way];
        let mut program = program(count, selected, wraps, digits);
        // A program that hangs takes Enter later than it was pressed.
        let prompt = !faults.iter().any(|fault| matches!(fault, Fault::Hang(_)));
        let run = answer(&mut program, keys, wanted, faults);
        prop_assert!(run.pressed_on.len() <= 1 && program.taken.len() <= 1);
        prop_assert!(run.outcome.is_err() || run.pressed_on.len() == 1);
        for seen in &run.pressed_on {
            prop_assert!(seen.is_same_as(run.asked.as_ref().unwrap()));
            prop_assert!(keys == "number-selects" || seen.selected == Some(wanted));
        }
        for (dialog, option) in program.taken.iter().filter(|_| prompt) {
            prop_assert!(dialog.is_same_as(run.asked.as_ref().unwrap()));
            prop_assert_eq!(*option, wanted);
        }
    }

    #[test]
    fn without_faults_the_option_is_always_taken(
        (count, selected, wanted) in (2_usize..=6).prop_flat_map(|n| (Just(n), 0..n, 0..n)),
        wraps: bool,
        way in 0_usize..3,
    ) {
        let (keys, digits) = [
            ("arrows", Digits::Ignored),
            ("number-moves", Digits::Move),
            ("number-selects", Digits::Select),
        ][way];
        let mut program = program(count, selected, wraps, digits);
        let answered = answer(&mut program, keys, wanted, Vec::new()).outcome.unwrap();
        prop_assert_eq!(answered.outcome, AnswerOutcome::Taken);
        prop_assert_eq!(program.taken[0].1, wanted);
    }
}

#[test]
fn a_number_that_takes_at_once_is_pressed_only_where_the_manifest_says_so() {
    let mut program = program(3, 0, true, Digits::Select);
    let answered = answer(&mut program, "arrows", 2, Vec::new())
        .outcome
        .unwrap();
    assert_eq!(answered.option.label, "choice two");
    assert_eq!(program.taken[0].1, 2);
}

#[test]
fn a_program_that_moves_no_mark_gets_no_enter() {
    let mut program = program(3, 0, false, Digits::Ignored);
    let run = answer(&mut program, "number-moves", 2, Vec::new());
    let refused = run.outcome.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the program does not move its mark to “choice two”: no option was taken"
    );
    assert!(program.taken.is_empty());
}
