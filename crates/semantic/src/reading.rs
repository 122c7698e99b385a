//! What was read from a screen, and why it may be believed.

use std::time::Duration;

use missiond_core::PtyState;
use serde::{Deserialize, Serialize, Serializer};

use crate::dialog::Dialog;
use crate::tool::ToolLine;

/// The state an agent is taken to be in, with the reasons. Every published
/// state carries its evidence, so that a wrong one can be traced to a rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reading {
    pub state: PtyState,
    /// One sentence for people.
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// 0 (a guess) to 1 (the program said so itself).
    pub confidence: f32,
    pub authority: Authority,
    pub evidence: Vec<Evidence>,
    /// Since when this state holds, on the clock of the session.
    #[serde(serialize_with = "as_seconds")]
    pub since: Duration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialog: Option<Dialog>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolLine>,
}

/// What would make a waiting agent go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    Permission,
    Question,
    Trust,
    Login,
    Choice,
}

impl WaitingFor {
    pub const ALL: [Self; 5] = [
        Self::Permission,
        Self::Question,
        Self::Trust,
        Self::Login,
        Self::Choice,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Question => "question",
            Self::Trust => "trust",
            Self::Login => "login",
            Self::Choice => "choice",
        }
    }
}

/// How close to the program's own knowledge a signal is, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authority {
    /// The process tree: alive, gone, has children.
    Process,
    /// What the screen shows.
    Screen,
    /// Window title, progress, program status: sent for machines.
    Osc,
    /// A file the vendor's program keeps about its session.
    StateFile,
    /// A structured protocol or a hook called by the program.
    Protocol,
}

impl Authority {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Screen => "screen",
            Self::Osc => "osc",
            Self::StateFile => "state_file",
            Self::Protocol => "protocol",
        }
    }
}

/// One fact a rule rested on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// The rule that used it.
    pub rule: String,
    /// Where it was seen: `title`, `status`, `progress`, or a region's name.
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<usize>,
    pub text: String,
}

pub(crate) fn as_seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl Reading {
    /// The reading before anything was seen.
    #[must_use]
    pub fn starting() -> Self {
        Self {
            state: PtyState::Starting,
            reason: "the program has not shown its prompt yet".to_owned(),
            waiting_for: None,
            confidence: 0.5,
            authority: Authority::Process,
            evidence: Vec::new(),
            since: Duration::ZERO,
            dialog: None,
            tool: None,
        }
    }

    /// Whether someone acting on readings would act differently on `other`.
    /// Wording of the evidence does not count: it changes with every frame.
    #[must_use]
    pub fn differs_from(&self, other: &Self) -> bool {
        self.state != other.state
            || self.waiting_for != other.waiting_for
            || self.authority != other.authority
            || (self.confidence - other.confidence).abs() > 0.001
            || self.dialog.as_ref().map(Dialog::identity)
                != other.dialog.as_ref().map(Dialog::identity)
            || self.tool.as_ref().map(ToolLine::identity)
                != other.tool.as_ref().map(ToolLine::identity)
    }
}
