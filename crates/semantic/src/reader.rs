//! Follows one terminal: screens in, readings out.
//!
//! A reader applies its manifest's rules to each screen and keeps what a single
//! screen cannot tell: what the state was, what has been changing, and whether
//! a change has lasted long enough to be believed. Time is given by the caller,
//! so the same screens at the same times always give the same readings.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use missiond_core::PtyState;

use crate::explain::{Explanation, PendingChange};
use crate::input::{InstantReading, find_prompt};
use crate::keys::{Key, KeysSent, Prompt};
use crate::manifest::Manifest;
use crate::paste::Paste;
use crate::reading::{Authority, Reading};
use crate::region::{RegionId, Regions};
use crate::rule::{Condition, Fact, Past, Rule, View};
use crate::screen::Screen;
use crate::work_line::find_work_line;

#[derive(Debug, Clone)]
pub struct Reader {
    manifest: Arc<Manifest>,
    current: Reading,
    /// A state that was seen and must last before it is believed.
    pending: Option<Pending>,
    /// Since when no rule has matched.
    unmatched: Option<Duration>,
    trackers: Vec<Tracker>,
    keys: KeysSent,
    paste: Paste,
    /// What the last screen alone called for.
    shown: Option<PtyState>,
    next_change: Option<Duration>,
    observed_at: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    state: PtyState,
    since: Duration,
    due: Duration,
}

/// When a region last changed. Coming and going are changes; before the first
/// look nothing is there.
#[derive(Debug, Clone, Copy, Default)]
struct Tracker {
    hash: Option<u64>,
    changed: Option<Duration>,
}

impl Reader {
    #[must_use]
    pub fn new(manifest: Arc<Manifest>) -> Self {
        let trackers = vec![Tracker::default(); manifest.trackers.len()];
        Self {
            manifest,
            current: Reading::starting(),
            pending: None,
            unmatched: None,
            trackers,
            keys: KeysSent::default(),
            paste: Paste::default(),
            shown: None,
            next_change: None,
            observed_at: None,
        }
    }

    #[must_use]
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    #[must_use]
    pub fn current(&self) -> &Reading {
        &self.current
    }

    /// Goes on with another manifest, for instance one that was edited.
    pub fn reload(&mut self, manifest: Arc<Manifest>) {
        self.trackers = vec![Tracker::default(); manifest.trackers.len()];
        self.pending = None;
        self.manifest = manifest;
    }

    /// A key was sent to the program at `at`; look again soon.
    pub fn sent(&mut self, key: Key, at: Duration) {
        let prompt = match self.shown {
            Some(PtyState::Idle | PtyState::Error | PtyState::Unknown) => Prompt::Waiting,
            _ => Prompt::Elsewhere,
        };
        self.keys.record(key, prompt, at);
    }

    /// Looks at the screen as it is at `at`. Returns the reading if it changed.
    pub fn observe(&mut self, screen: &Screen, at: Duration) -> Option<&Reading> {
        if self.current.state == PtyState::Exited {
            return None;
        }
        self.observed_at = Some(at);
        let manifest = Arc::clone(&self.manifest);
        let regions = Regions::find(&manifest.regions, screen);
        self.track(screen, &regions, at);
        self.paste = self.paste.next(screen.paste);
        let changes: Vec<_> = self
            .trackers
            .iter()
            .map(|tracker| tracker.changed)
            .collect();
        let view = View::new(&manifest, screen, &regions, at, &changes, self.past());
        let verdict = decide(&manifest, &view);
        let next = match verdict {
            Some((rule, facts)) => {
                self.unmatched = None;
                self.record_match(rule);
                Some(reading_of(rule, facts, &view))
            }
            None => self.unmatched_for(at, manifest.unknown_after),
        };
        self.next_change = self.deadline_of_changes(&manifest, at);
        let changed = match next {
            Some(next) => {
                let hold = manifest.hold(next.state, &view);
                self.adopt(next, hold, at)
            }
            None => {
                self.pending = None;
                false
            }
        };
        changed.then_some(&self.current)
    }

    /// When [`Reader::observe`] may answer differently for the same screen.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let unknown = self.unmatched.filter(|_| self.may_become_unknown());
        let unknown = unknown.map(|since| since + self.manifest.unknown_after);
        let due = [
            self.pending.map(|pending| pending.due),
            unknown,
            self.next_change,
        ];
        // What the last look has already weighed asks for no other.
        due.into_iter()
            .flatten()
            .filter(|due| Some(*due) > self.observed_at)
            .min()
    }

    /// The process has ended: known for certain, and final.
    pub fn exited(&mut self, at: Duration) -> Option<&Reading> {
        if self.current.state == PtyState::Exited {
            return None;
        }
        self.current = Reading {
            state: PtyState::Exited,
            reason: "the process has ended".to_owned(),
            confidence: 1.0,
            since: at,
            ..Reading::starting()
        };
        self.pending = None;
        self.unmatched = None;
        self.next_change = None;
        Some(&self.current)
    }

    /// Why the reading is what it is, for the screen at `at`.
    #[must_use]
    pub fn explain(&self, screen: &Screen, at: Duration) -> Explanation {
        let regions = Regions::find(&self.manifest.regions, screen);
        let changes: Vec<_> = self
            .trackers
            .iter()
            .map(|tracker| tracker.changed)
            .collect();
        let view = View::new(&self.manifest, screen, &regions, at, &changes, self.past());
        let pending = self.pending.map(|pending| PendingChange {
            state: pending.state,
            due: pending.due,
        });
        Explanation::new(&self.manifest, &view, &self.current, pending)
    }

    /// What this screen says by itself: without holds, and without becoming the
    /// reading.
    #[must_use]
    pub fn read_instant(&self, screen: &Screen, at: Duration) -> InstantReading {
        let manifest = &self.manifest;
        let regions = Regions::find(&manifest.regions, screen);
        let changes: Vec<_> = self
            .trackers
            .iter()
            .map(|tracker| tracker.changed)
            .collect();
        let view = View::new(manifest, screen, &regions, at, &changes, self.past());
        let state = decide(manifest, &view).map(|(rule, _)| rule.state);
        let asks = state == Some(PtyState::Confirming);
        let reads_no_line = manifest.input.by_line && self.paste == Paste::Withdrawn;
        let prompt = || find_prompt(&manifest.input.prompts, screen, &regions);
        InstantReading {
            state,
            dialog: asks.then(|| view.dialog().cloned()).flatten(),
            prompt: if reads_no_line { None } else { prompt() },
        }
    }

    /// The last line of the program's work, without what draws the screen.
    #[must_use]
    pub fn work_line(&self, screen: &Screen) -> Option<String> {
        let regions = Regions::find(&self.manifest.regions, screen);
        find_work_line(&self.manifest, screen, &regions)
    }

    fn past(&self) -> Past {
        Past {
            state: self.current.state,
            keys: self.keys,
            paste: self.paste,
        }
    }

    fn track(&mut self, screen: &Screen, regions: &Regions, at: Duration) {
        for (tracker, region) in self.trackers.iter_mut().zip(&self.manifest.trackers) {
            let hash = hash_rows(screen, regions, *region);
            if tracker.hash != hash {
                tracker.changed = Some(at);
            }
            tracker.hash = hash;
        }
    }

    fn deadline_of_changes(&self, manifest: &Manifest, at: Duration) -> Option<Duration> {
        let mut next: Option<Duration> = None;
        let mut turns = |since: Option<Duration>, after: Duration| {
            let turn = since.map(|since| since + after).filter(|turn| *turn > at);
            next = [next, turn].into_iter().flatten().min();
        };
        for condition in manifest.conditions() {
            condition.visit(&mut |condition| match condition {
                Condition::Changed {
                    within, tracker, ..
                } => turns(self.trackers[*tracker].changed, *within),
                Condition::Sent { test, within } => turns(self.keys.last(*test), *within),
                Condition::Unanswered { after, within } => {
                    turns(self.keys.unanswered, *after);
                    turns(self.keys.unanswered, *within);
                }
                _ => {}
            });
        }
        next
    }

    /// What the screen says, apart from what was sent to it. Work, a question and
    /// a new error are answers.
    fn record_match(&mut self, rule: &Rule) {
        let mut guessed = false;
        rule.when.visit(&mut |condition| {
            guessed |= matches!(condition, Condition::Unanswered { .. });
        });
        if guessed {
            return;
        }
        let answer = match rule.state {
            // One that was there before the text is none.
            PtyState::Error => self.shown != Some(PtyState::Error),
            state => state.is_working() || state == PtyState::Confirming,
        };
        if answer {
            self.keys.unanswered = None;
        }
        self.shown = Some(rule.state);
    }

    /// Nothing known is on the screen. A program that has shown nothing known
    /// yet is still starting; one that has is soon in an unknown state.
    fn unmatched_for(&mut self, at: Duration, limit: Duration) -> Option<Reading> {
        let since = *self.unmatched.get_or_insert(at);
        if !self.may_become_unknown() || at < since + limit {
            return None;
        }
        Some(Reading {
            state: PtyState::Unknown,
            reason: "nothing on the screen is known to the manifest".to_owned(),
            confidence: 0.2,
            authority: Authority::Screen,
            ..Reading::starting()
        })
    }

    fn may_become_unknown(&self) -> bool {
        !matches!(self.current.state, PtyState::Starting | PtyState::Unknown)
    }

    /// Takes over a reading, at once or after its hold. True if it changed.
    fn adopt(&mut self, mut next: Reading, hold: Duration, at: Duration) -> bool {
        if next.state == self.current.state {
            self.pending = None;
            next.since = self.current.since;
            let changed = next.differs_from(&self.current);
            self.current = next;
            return changed;
        }
        let since = match self.pending {
            Some(pending) if pending.state == next.state => pending.since,
            _ => at,
        };
        let due = since + hold;
        if at < due {
            self.pending = Some(Pending {
                state: next.state,
                since,
                due,
            });
            return false;
        }
        self.pending = None;
        next.since = since;
        self.current = next;
        true
    }
}

/// The first rule that holds.
pub(crate) fn decide<'m>(manifest: &'m Manifest, view: &View<'_>) -> Option<(&'m Rule, Vec<Fact>)> {
    manifest.rules.iter().find_map(|rule| {
        let mut facts = Vec::new();
        rule.when.holds(view, &mut facts).then_some((rule, facts))
    })
}

fn reading_of(rule: &Rule, facts: Vec<Fact>, view: &View<'_>) -> Reading {
    let osc = facts
        .iter()
        .any(|f| matches!(&f.source[..], "title" | "status" | "progress"));
    Reading {
        state: rule.state,
        reason: rule.reason.clone(),
        waiting_for: rule.waiting_for,
        confidence: rule.confidence,
        authority: if osc {
            Authority::Osc
        } else {
            Authority::Screen
        },
        evidence: facts
            .into_iter()
            .map(|fact| fact.of_rule(&rule.id))
            .collect(),
        since: Duration::ZERO,
        dialog: (rule.state == PtyState::Confirming)
            .then(|| view.dialog().cloned())
            .flatten(),
        tool: (rule.state == PtyState::ToolRunning)
            .then(|| view.tool().cloned())
            .flatten(),
    }
}

fn hash_rows(screen: &Screen, regions: &Regions, region: RegionId) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    for row in screen.rows[regions.rows(region)?]
        .iter()
        .filter(|row| !row.is_blank())
    {
        row.text.hash(&mut hasher);
    }
    Some(hasher.finish())
}
