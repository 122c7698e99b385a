//! Manifests: how to read one engine's screens, as data.
//!
//! A manifest is a YAML file. Everything in it is checked when it is loaded:
//! unknown keys, missing regions, patterns that do not compile, each reported
//! with its line. A new engine is a new manifest and no new code.

mod keys;
mod parse;
mod parse_condition;
mod parse_permission;

use std::time::Duration;

use missiond_core::PtyState;

pub use missiond_yaml::Problem;

use crate::dialog::DialogRule;
use crate::fingerprint::Fingerprint;
use crate::input::InputRule;
use crate::region::{RegionId, RegionRule};
use crate::request::PermissionRule;
use crate::rule::{Condition, Rule, View};
use crate::tool::ToolPattern;

/// All problems of one manifest, in file order.
pub type ManifestError = missiond_yaml::Invalid;

/// The version of the manifest format this build reads.
pub const FORMAT: i64 = 1;

#[derive(Debug, Clone)]
pub struct Manifest {
    pub(crate) engine: String,
    pub(crate) versions: Vec<String>,
    pub(crate) regions: Vec<RegionRule>,
    pub(crate) region_names: Vec<String>,
    pub(crate) fingerprints: Vec<NamedFingerprint>,
    pub(crate) dialog: Vec<DialogRule>,
    pub(crate) permission: Option<PermissionRule>,
    pub(crate) tools: Vec<ToolPattern>,
    pub(crate) input: InputRule,
    pub(crate) holds: Vec<Hold>,
    /// How long no rule may match before the state is unknown.
    pub(crate) unknown_after: Duration,
    /// Highest priority first; equal priorities in file order.
    pub(crate) rules: Vec<Rule>,
    /// Regions watched by `changed` conditions.
    pub(crate) trackers: Vec<RegionId>,
}

#[derive(Debug, Clone)]
pub(crate) struct NamedFingerprint {
    pub(crate) name: String,
    pub(crate) region: RegionId,
    pub(crate) hash: Fingerprint,
}

/// A change of state that must last before it is believed.
#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) from: Vec<PtyState>,
    pub(crate) to: Vec<PtyState>,
    pub(crate) time: Duration,
    /// It counts only while this holds.
    pub(crate) when: Option<Condition>,
}

impl Manifest {
    /// Reads a manifest, or says everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        parse::manifest(text)
    }

    #[must_use]
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// Versions of the program it was written against.
    #[must_use]
    pub fn versions(&self) -> &[String] {
        &self.versions
    }

    /// What stops the work of the agent, one press after the other.
    #[must_use]
    pub fn interrupt(&self) -> &'static [&'static [u8]] {
        self.input.interrupt.presses()
    }

    /// How long the change to a state must last, on this screen.
    pub(crate) fn hold(&self, to: PtyState, view: &View<'_>) -> Duration {
        let applies = |states: &[PtyState], state| states.is_empty() || states.contains(&state);
        let now = |hold: &Hold| {
            let when = hold.when.as_ref();
            when.is_none_or(|condition| condition.holds(view, &mut Vec::new()))
        };
        self.holds
            .iter()
            .find(|hold| applies(&hold.from, view.past.state) && applies(&hold.to, to) && now(hold))
            .map_or(Duration::ZERO, |hold| hold.time)
    }

    /// Every condition of the rules and holds.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = &Condition> {
        let holds = self.holds.iter().filter_map(|hold| hold.when.as_ref());
        self.rules.iter().map(|rule| &rule.when).chain(holds)
    }
}

#[cfg(test)]
mod tests;
