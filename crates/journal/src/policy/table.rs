//! The table itself, as data that can be shown, compared and replaced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Reason, Verdict};
use crate::catalogue::{FactType, SignalType};
use crate::observation::{Confidence, ObservedType, Source};

/// What one source may do with one type of observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    pub observed: ObservedType,
    pub source: Source,
    /// From this confidence on the verdict holds; below it, recorded only.
    pub at_least: Confidence,
    pub verdict: Verdict,
    pub reason: Reason,
}

/// Rules by type and source. What no rule names is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Policy {
    rules: Vec<Rule>,
}

impl Policy {
    #[must_use]
    pub const fn new(rules: Vec<Rule>) -> Self {
        Self { rules }
    }

    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rules missiond comes with.
    #[must_use]
    pub fn standard() -> Self {
        let rule = |row: &Row| {
            let &Row(observed, sources, at_least, verdict, reason) = row;
            sources.iter().map(move |&source| Rule {
                observed,
                source,
                at_least,
                verdict,
                reason,
            })
        };
        Self::new(STANDARD.iter().flat_map(rule).collect())
    }

    pub(crate) fn rule(&self, observed: ObservedType, source: Source) -> Option<&Rule> {
        self.rules
            .iter()
            .find(|rule| rule.observed == observed && rule.source == source)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::standard()
    }
}

struct Row(ObservedType, &'static [Source], Confidence, Verdict, Reason);

const fn signal(signal: SignalType) -> ObservedType {
    ObservedType::Signal(signal)
}

const fn fact(fact: FactType) -> ObservedType {
    ObservedType::Fact(fact)
}

/// Who speaks for the agent: the two transports of signals, nobody else. A text
/// on a screen that looks like a claim is not one.
const AGENT: &[Source] = &[Source::Marker, Source::McpTool];
/// What only a protocol tells, beside the course of the work.
const PROTOCOL: &[Source] = &[Source::Protocol];
/// What the agent's own program tells of itself.
const PROGRAM: &[Source] = &[Source::Hook, Source::Protocol, Source::Transcript];
const PROGRAM_OR_SCREEN: &[Source] = &[
    Source::Hook,
    Source::Protocol,
    Source::Transcript,
    Source::Terminal,
];

use Confidence::{Authoritative, Diagnostic, Medium};
use Reason::{Allowed, ClaimForOwner, Informational};
use Verdict::{ChangedState, Promoted, RecordedOnly};

const STANDARD: &[Row] = &[
    Row(
        signal(SignalType::Progress),
        AGENT,
        Medium,
        ChangedState,
        Allowed,
    ),
    Row(
        signal(SignalType::NeedsInput),
        AGENT,
        Medium,
        ChangedState,
        Allowed,
    ),
    Row(
        signal(SignalType::Blocked),
        AGENT,
        Medium,
        ChangedState,
        Allowed,
    ),
    Row(
        signal(SignalType::ReadyForVerification),
        AGENT,
        Medium,
        Promoted,
        ClaimForOwner,
    ),
    Row(
        signal(SignalType::CompletedClaim),
        AGENT,
        Medium,
        Promoted,
        ClaimForOwner,
    ),
    Row(
        signal(SignalType::FailedClaim),
        AGENT,
        Medium,
        Promoted,
        ClaimForOwner,
    ),
    Row(
        signal(SignalType::Message),
        AGENT,
        Diagnostic,
        RecordedOnly,
        Informational,
    ),
    Row(
        fact(FactType::Reading),
        &[Source::Terminal, Source::Protocol],
        Medium,
        ChangedState,
        Allowed,
    ),
    Row(fact(FactType::Turn), PROGRAM, Medium, ChangedState, Allowed),
    Row(
        fact(FactType::ToolUse),
        PROGRAM_OR_SCREEN,
        Medium,
        ChangedState,
        Allowed,
    ),
    Row(
        fact(FactType::Dialog),
        PROGRAM_OR_SCREEN,
        Medium,
        ChangedState,
        Allowed,
    ),
    Row(
        fact(FactType::Speech),
        PROGRAM_OR_SCREEN,
        Diagnostic,
        RecordedOnly,
        Informational,
    ),
    Row(
        fact(FactType::Thinking),
        PROGRAM,
        Medium,
        ChangedState,
        Allowed,
    ),
    Row(
        fact(FactType::Usage),
        PROGRAM,
        Medium,
        ChangedState,
        Allowed,
    ),
    Row(
        fact(FactType::SessionCost),
        PROTOCOL,
        Diagnostic,
        RecordedOnly,
        Informational,
    ),
    Row(
        fact(FactType::RateLimits),
        PROTOCOL,
        Diagnostic,
        RecordedOnly,
        Informational,
    ),
    Row(
        fact(FactType::Plan),
        PROTOCOL,
        Diagnostic,
        RecordedOnly,
        Informational,
    ),
    Row(
        fact(FactType::Setting),
        PROTOCOL,
        Diagnostic,
        RecordedOnly,
        Informational,
    ),
    Row(
        fact(FactType::Session),
        PROGRAM,
        Medium,
        ChangedState,
        Allowed,
    ),
    Row(
        fact(FactType::Session),
        &[Source::Daemon],
        Medium,
        ChangedState,
        Allowed,
    ),
    Row(
        fact(FactType::Process),
        &[Source::Process],
        Authoritative,
        ChangedState,
        Allowed,
    ),
    Row(
        fact(FactType::Control),
        &[Source::Daemon],
        Authoritative,
        ChangedState,
        Allowed,
    ),
    Row(
        fact(FactType::Diagnostic),
        &Source::ALL,
        Diagnostic,
        RecordedOnly,
        Informational,
    ),
];
