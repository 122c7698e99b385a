//! How well readings agree with a recording's labels.
//!
//! The rule is the one of the recordings: steps of 20 ms from the first label
//! to the last event; for a grace time after a label changes the one before it
//! counts as right too, because labels are set at the cause and the screen
//! follows. Scores of several recordings add up.

use std::collections::BTreeMap;
use std::time::Duration;

use missiond_core::PtyState;
use missiond_pty::Replay;
use serde::Serialize;

const STEP: Duration = Duration::from_millis(20);
/// Spans shorter than this say nothing about delay.
const SHORT: Duration = Duration::from_millis(150);
/// A reading this sure is acted on.
const CONFIDENT: f32 = 0.7;
/// Labels set by a key are this near to it.
const WITH_KEY: Duration = Duration::from_millis(50);

/// What the rule needs to know about a recording beside its labels.
#[derive(Debug, Clone, Copy)]
pub struct ScoreRule {
    pub grace: Duration,
    /// Grace after a label set together with Enter, where a program draws late.
    pub grace_after_enter: Duration,
    /// In an error scenario working may be read as error.
    pub error_scenario: bool,
}

impl ScoreRule {
    #[must_use]
    pub fn new(engine: &str, scenario: &str) -> Self {
        let grace = match engine {
            "claude" => 1300,
            "codex" | "gemini" | "opencode" => 1500,
            _ => 2000,
        };
        let after_enter = if engine == "opencode" { 5000 } else { grace };
        Self {
            grace: Duration::from_millis(grace),
            grace_after_enter: Duration::from_millis(after_enter),
            error_scenario: scenario.contains("error"),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Score {
    pub recordings: usize,
    steps: u64,
    right: u64,
    exact: u64,
    false_idle: u64,
    confidently_wrong: u64,
    confirming: u64,
    confirming_missed: u64,
    delays: Vec<Duration>,
    /// From the screen that first showed a state to the reading of it.
    held: Vec<(PtyState, Duration)>,
    states: BTreeMap<PtyState, Tally>,
    /// Steps by (label, reading) where the class is wrong.
    pub confusions: BTreeMap<(PtyState, PtyState), u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    labelled: u64,
    found: u64,
    read: u64,
    true_read: u64,
}

/// A stretch of a recording where the reading was wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    pub from: Duration,
    pub to: Duration,
    pub label: PtyState,
    pub reading: PtyState,
    pub kind: MistakeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MistakeKind {
    WrongClass,
    WrongState,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreSummary {
    pub recordings: usize,
    pub seconds: f64,
    pub right: f64,
    pub exact: f64,
    pub false_idle_s: f64,
    /// Seconds of a wrong class with a confidence of 0.7 or more.
    pub confidently_wrong_s: f64,
    pub confirming: u64,
    pub confirming_missed: u64,
    pub delay_median_s: f64,
    pub delay_p99_s: f64,
    /// From the screen that first showed a state to the reading of it.
    pub held_median_s: f64,
    pub held_p99_s: f64,
    pub states: BTreeMap<String, StateSummary>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StateSummary {
    pub precision: Option<f64>,
    pub recall: Option<f64>,
    /// From the screen that first showed it to the reading of it, where it was
    /// read at all.
    pub held_median_s: Option<f64>,
    pub held_p99_s: Option<f64>,
}

/// Classes others act on: all working states are one.
fn class(state: PtyState) -> PtyState {
    if state.is_working() {
        PtyState::Thinking
    } else {
        state
    }
}

impl Score {
    /// Scores one recording; labels that name no state are passed over.
    pub fn add(&mut self, replay: &Replay, rule: ScoreRule) -> Vec<Mistake> {
        let labels = known_labels(replay);
        let Some(&Labelled { at: start, .. }) = labels.first() else {
            return Vec::new();
        };
        self.recordings += 1;
        let mut mistakes: Vec<Mistake> = Vec::new();
        let mut label = 0;
        let mut last = 0;
        let mut at = start;
        while at <= replay.end {
            while label + 1 < labels.len() && labels[label + 1].at <= at {
                label += 1;
            }
            while last + 1 < replay.readings.len() && replay.readings[last + 1].at <= at {
                last += 1;
            }
            let truth = Truth::at(&labels, label, at, rule);
            let reading = &replay.readings[last].reading;
            let read = reading.state;
            if let Some(kind) = self.step(&truth, read) {
                let sure = kind == MistakeKind::WrongClass && reading.confidence >= CONFIDENT;
                self.confidently_wrong += u64::from(sure);
                add_mistake(&mut mistakes, at, truth.label, read, kind);
            }
            at += STEP;
        }
        self.spans(&labels, replay);
        let changes = replay.readings.windows(2);
        let changes = changes.filter(|pair| pair[0].reading.state != pair[1].reading.state);
        let held = changes.map(|pair| {
            let held = pair[1].at.saturating_sub(pair[1].reading.since);
            (pair[1].reading.state, held)
        });
        self.held.extend(held);
        mistakes
    }

    pub fn merge(&mut self, other: &Self) {
        self.recordings += other.recordings;
        self.steps += other.steps;
        self.right += other.right;
        self.exact += other.exact;
        self.false_idle += other.false_idle;
        self.confidently_wrong += other.confidently_wrong;
        self.confirming += other.confirming;
        self.confirming_missed += other.confirming_missed;
        self.delays.extend(&other.delays);
        self.held.extend(&other.held);
        for (state, tally) in &other.states {
            let mine = self.states.entry(*state).or_default();
            mine.labelled += tally.labelled;
            mine.found += tally.found;
            mine.read += tally.read;
            mine.true_read += tally.true_read;
        }
        for (pair, steps) in &other.confusions {
            *self.confusions.entry(*pair).or_default() += steps;
        }
    }

    #[must_use]
    pub fn summary(&self) -> ScoreSummary {
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let seconds = |steps: u64| steps as f64 * STEP.as_secs_f64();
        let delays = sorted(self.delays.iter().copied());
        let held = sorted(self.held.iter().map(|(_, held)| *held));
        let states = self.states.iter().map(|(state, tally)| {
            let of_state = self.held.iter().filter(|(to, _)| to == state);
            let held = sorted(of_state.map(|(_, held)| *held));
            let held = |q| (!held.is_empty()).then(|| quantile(&held, q));
            let summary = StateSummary {
                precision: share(tally.true_read, tally.read),
                recall: share(tally.found, tally.labelled),
                held_median_s: held(0.5),
                held_p99_s: held(0.99),
            };
            (state.as_str().to_owned(), summary)
        });
        ScoreSummary {
            recordings: self.recordings,
            seconds: seconds(self.steps),
            right: share(self.right, self.steps).unwrap_or(1.0),
            exact: share(self.exact, self.steps).unwrap_or(1.0),
            false_idle_s: seconds(self.false_idle),
            confidently_wrong_s: seconds(self.confidently_wrong),
            confirming: self.confirming,
            confirming_missed: self.confirming_missed,
            delay_median_s: quantile(&delays, 0.5),
            delay_p99_s: quantile(&delays, 0.99),
            held_median_s: quantile(&held, 0.5),
            held_p99_s: quantile(&held, 0.99),
            states: states.collect(),
        }
    }

    fn step(&mut self, truth: &Truth, read: PtyState) -> Option<MistakeKind> {
        let right = truth.accepts_class(read);
        let exact = truth.accepts(read);
        self.steps += 1;
        self.right += u64::from(right);
        self.exact += u64::from(exact);
        if read == PtyState::Idle && !right {
            self.false_idle += 1;
        }
        let tally = self.states.entry(truth.label).or_default();
        tally.labelled += 1;
        tally.found += u64::from(exact);
        let tally = self.states.entry(read).or_default();
        tally.read += 1;
        tally.true_read += u64::from(exact);
        if !right {
            *self.confusions.entry((truth.label, read)).or_default() += 1;
        }
        match (right, exact) {
            (false, _) => Some(MistakeKind::WrongClass),
            (true, false) => Some(MistakeKind::WrongState),
            (true, true) => None,
        }
    }

    fn spans(&mut self, labels: &[Labelled], replay: &Replay) {
        for (index, label) in labels.iter().enumerate() {
            let (start, state) = (label.at, label.state);
            let end = labels.get(index + 1).map_or(replay.end, |next| next.at);
            // A dialog may be drawn after the label that follows it was set.
            let agreeing = first_agreement(replay, start, end, class(state));
            if state == PtyState::Confirming {
                self.confirming += 1;
                self.confirming_missed += u64::from(agreeing.is_none());
            }
            if end - start >= SHORT {
                self.delays.extend(agreeing.map(|at| at - start));
            }
        }
    }
}

/// What counts as right at one moment.
struct Truth {
    label: PtyState,
    before: Option<PtyState>,
    retried: bool,
    error_scenario: bool,
}

impl Truth {
    fn at(labels: &[Labelled], index: usize, at: Duration, rule: ScoreRule) -> Self {
        let Labelled {
            at: since,
            state: label,
            cause,
        } = labels[index];
        let before = index.checked_sub(1).map(|before| labels[before].state);
        let grace = match cause {
            Cause::Enter => rule.grace_after_enter,
            Cause::Other => rule.grace,
        };
        let next = labels.get(index + 1).map(|next| next.state);
        Self {
            label,
            before: before.filter(|_| at < since + grace),
            retried: label == PtyState::Error && next.is_some_and(PtyState::is_working),
            error_scenario: rule.error_scenario,
        }
    }

    fn accepts_class(&self, read: PtyState) -> bool {
        class(read) == class(self.label)
            || self
                .before
                .is_some_and(|before| class(before) == class(read))
            || self.excused(read)
    }

    fn accepts(&self, read: PtyState) -> bool {
        read == self.label || self.before == Some(read) || self.excused(read)
    }

    fn excused(&self, read: PtyState) -> bool {
        (self.retried && read.is_working())
            || (self.error_scenario && self.label.is_working() && read == PtyState::Error)
    }
}

/// A label that names a state.
#[derive(Debug, Clone, Copy)]
struct Labelled {
    at: Duration,
    state: PtyState,
    cause: Cause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Enter,
    Other,
}

fn known_labels(replay: &Replay) -> Vec<Labelled> {
    let with_enter = |at: Duration| replay.enters.iter().any(|e| e.abs_diff(at) < WITH_KEY);
    let known = replay.labels.iter().filter_map(|label| {
        let cause = if with_enter(label.at) {
            Cause::Enter
        } else {
            Cause::Other
        };
        Some(Labelled {
            at: label.at,
            state: label.name.parse().ok()?,
            cause,
        })
    });
    known.collect()
}

fn sorted(times: impl Iterator<Item = Duration>) -> Vec<Duration> {
    let mut times: Vec<_> = times.collect();
    times.sort();
    times
}

fn quantile(sorted: &[Duration], q: f64) -> f64 {
    let index = (sorted.len() as f64 * q).ceil() as usize;
    let time = sorted.get(index.saturating_sub(1));
    time.map_or(0.0, Duration::as_secs_f64)
}

fn first_agreement(
    replay: &Replay,
    start: Duration,
    end: Duration,
    wanted: PtyState,
) -> Option<Duration> {
    let current = replay
        .readings
        .iter()
        .rev()
        .find(|reading| reading.at <= start);
    if current.is_some_and(|reading| class(reading.reading.state) == wanted) {
        return Some(start);
    }
    let mut within = replay
        .readings
        .iter()
        .filter(|r| r.at > start && r.at < end);
    within
        .find(|reading| class(reading.reading.state) == wanted)
        .map(|reading| reading.at)
}

fn add_mistake(
    mistakes: &mut Vec<Mistake>,
    at: Duration,
    label: PtyState,
    reading: PtyState,
    kind: MistakeKind,
) {
    if let Some(last) = mistakes.last_mut()
        && (last.to, last.label, last.reading, last.kind) == (at, label, reading, kind)
    {
        last.to = at + STEP;
        return;
    }
    mistakes.push(Mistake {
        from: at,
        to: at + STEP,
        label,
        reading,
        kind,
    });
}
