//! Why a screen was read as it was: the rule that decided, the rules that
//! nearly did, and what each region held.

use std::ops::Range;
use std::time::Duration;

use missiond_core::PtyState;
use serde::Serialize;

use crate::dialog::Dialog;
use crate::fingerprint::Fingerprint;
use crate::manifest::Manifest;
use crate::reader::decide;
use crate::reading::{Evidence, Reading, as_seconds};
use crate::region::RegionId;
use crate::rule::{Rule, View};
use crate::tool::ToolLine;

#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// What is published now.
    pub reading: Reading,
    /// The rule this screen alone calls for; it may be waiting out a hold.
    pub decided: Option<RuleVerdict>,
    /// Seen but not yet believed: the state and when it will be.
    pub pending: Option<PendingChange>,
    /// Rules of lower priority that hold as well.
    pub also: Vec<RuleVerdict>,
    /// Rules that fail in exactly one part.
    pub near: Vec<NearMiss>,
    pub regions: Vec<RegionView>,
    pub dialog: Option<Dialog>,
    pub tool: Option<ToolLine>,
}

/// A change that has been seen and must last before it is believed.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PendingChange {
    pub state: PtyState,
    /// When it will be believed if it lasts.
    #[serde(serialize_with = "as_seconds")]
    pub due: Duration,
}

#[derive(Debug, Clone, Serialize)]
pub struct RuleVerdict {
    pub rule: String,
    /// Line of the rule in its manifest.
    pub line: usize,
    pub state: PtyState,
    pub priority: i32,
    pub evidence: Vec<Evidence>,
}

#[derive(Debug, Clone, Serialize)]
pub struct NearMiss {
    pub rule: String,
    pub line: usize,
    pub state: PtyState,
    pub missing: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct RegionView {
    pub name: String,
    pub rows: Option<Range<usize>>,
    pub fingerprint: Option<Fingerprint>,
    /// Name of the registered fingerprint it carries.
    pub known_as: Option<String>,
}

impl Explanation {
    pub(crate) fn new(
        manifest: &Manifest,
        view: &View<'_>,
        reading: &Reading,
        pending: Option<PendingChange>,
    ) -> Self {
        let winner = decide(manifest, view);
        let winner_id = winner.as_ref().map(|(rule, _)| rule.id.clone());
        let mut also = Vec::new();
        let mut near = Vec::new();
        for rule in &manifest.rules {
            if Some(&rule.id) == winner_id.as_ref() {
                continue;
            }
            let mut facts = Vec::new();
            if rule.when.holds(view, &mut facts) {
                also.push(verdict(rule, facts));
                continue;
            }
            near.extend(near_miss(rule, view));
        }
        Self {
            reading: reading.clone(),
            decided: winner.map(|(rule, facts)| verdict(rule, facts)),
            pending,
            also,
            near,
            regions: regions(manifest, view),
            dialog: view.dialog().cloned(),
            tool: view.tool().cloned(),
        }
    }
}

fn verdict(rule: &Rule, facts: Vec<crate::rule::Fact>) -> RuleVerdict {
    RuleVerdict {
        rule: rule.id.clone(),
        line: rule.line,
        state: rule.state,
        priority: rule.priority,
        evidence: facts
            .into_iter()
            .map(|fact| fact.of_rule(&rule.id))
            .collect(),
    }
}

/// A rule of several parts of which exactly one fails.
fn near_miss(rule: &Rule, view: &View<'_>) -> Option<NearMiss> {
    let parts = rule.when.parts();
    let mut failing = parts
        .iter()
        .filter(|part| !part.holds(view, &mut Vec::new()));
    let missing = failing.next().filter(|_| parts.len() > 1)?;
    if failing.next().is_some() {
        return None;
    }
    Some(NearMiss {
        rule: rule.id.clone(),
        line: rule.line,
        state: rule.state,
        missing: missing.describe(&view.manifest.region_names),
    })
}

fn regions(manifest: &Manifest, view: &View<'_>) -> Vec<RegionView> {
    manifest
        .region_names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let id = RegionId(index);
            let rows = view.regions.rows(id);
            let fingerprint = rows
                .clone()
                .map(|rows| Fingerprint::of(&view.screen.rows[rows]));
            let known = manifest
                .fingerprints
                .iter()
                .find(|known| known.region == id && Some(known.hash) == fingerprint);
            RegionView {
                name: name.clone(),
                rows,
                fingerprint,
                known_as: known.map(|known| known.name.clone()),
            }
        })
        .collect()
}
