//! What an agent may say of itself. A signal is a claim: what comes of it is
//! decided by the policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{family, limits};
use missiond_core::{List, Text};

/// What a signal is for; the policy and the projection go by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// How the work goes.
    Progress,
    /// Somebody must answer.
    InputRequest,
    /// The agent says where it stands; somebody else finds out whether it is so.
    Claim,
    /// Words for the record.
    Conversation,
}

pub type SignalDescriptor = super::Descriptor<SignalType, Meaning>;

family! {
    /// Something an agent says about its own run.
    "signal" Signal SignalType SIGNALS Meaning {
        Progress = "progress", "Report progress",
            "Say in a sentence what you have done or what you are doing now.",
            Meaning::Progress;
        NeedsInput = "needs_input", "Ask for input",
            "Ask the person a question you need answered before you can go on. The answer comes as a message.",
            Meaning::InputRequest;
        Blocked = "blocked", "Report being blocked",
            "Say that you cannot go on, and why.",
            Meaning::Claim;
        ReadyForVerification = "ready_for_verification", "Ask for verification",
            "Say that the work is ready to be checked, with a summary of what was done.",
            Meaning::Claim;
        CompletedClaim = "completed_claim", "Claim completion",
            "Say that you believe the task is done. The checks decide whether it is.",
            Meaning::Claim;
        FailedClaim = "failed_claim", "Claim failure",
            "Say that you could not do the task, and why.",
            Meaning::Claim;
        Message = "message", "Say something",
            "Say something for the record that is none of the other signals.",
            Meaning::Conversation;
    }
}

/// What an agent has done or is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// One sentence.
    pub summary: Text<{ limits::SIGNAL_TEXT }>,
    /// More, if one sentence is not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Text<{ limits::SIGNAL_TEXT }>>,
    /// How much of the whole is done, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub percent: Option<Percent>,
    /// What it touched.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub artifacts: List<Artifact, 0, { limits::ARTIFACTS }>,
}

/// 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u8", into = "u8")]
#[schemars(with = "u8")]
pub struct Percent(u8);

impl Percent {
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Percent {
    type Error = &'static str;

    fn try_from(percent: u8) -> Result<Self, Self::Error> {
        if percent <= 100 {
            Ok(Self(percent))
        } else {
            Err("a percentage is at most 100")
        }
    }
}

impl From<Percent> for u8 {
    fn from(percent: Percent) -> Self {
        percent.0
    }
}

/// A question only somebody else can answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeedsInput {
    /// The question, complete in itself.
    pub question: Text<{ limits::SIGNAL_TEXT }>,
    /// Answers to choose from; none when the answer is free text.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub choices: List<Choice, 0, { limits::CHOICES }>,
}

/// One answer an agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// What the person sees.
    pub label: Text<{ limits::LABEL }>,
    /// What the agent is told; the label when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Text<{ limits::LABEL }>>,
}

/// Why an agent cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blocked {
    pub reason: Text<{ limits::SIGNAL_TEXT }>,
}

/// What there is to be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadyForVerification {
    pub summary: Text<{ limits::SIGNAL_TEXT }>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub artifacts: List<Artifact, 0, { limits::ARTIFACTS }>,
}

/// What an agent believes to have completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompletedClaim {
    pub summary: Text<{ limits::SIGNAL_TEXT }>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub artifacts: List<Artifact, 0, { limits::ARTIFACTS }>,
}

/// Why an agent believes to have failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailedClaim {
    pub reason: Text<{ limits::SIGNAL_TEXT }>,
}

/// Words for the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub text: Text<{ limits::MESSAGE_TEXT }>,
}

/// A file or another thing an agent says it worked with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Relative to the working folder, or a name the owner knows.
    pub path: Text<{ limits::PATH }>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Text<{ limits::LABEL }>>,
    #[serde(default)]
    pub activity: ArtifactActivity,
}

/// What was done with an artifact, by the agent's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactActivity {
    Read,
    Edit,
    Write,
    Output,
    #[default]
    Reference,
}
