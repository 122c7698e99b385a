//! The nine kinds of records. A record is a fact that was committed; together
//! they are all there is to know of an execution.

use missiond_core::{
    CliEngine, DeliveryStatus, ExecutionActivity, ExecutionAttention, ExecutionId,
    ExecutionLifecycle, MessageId, ObservationId, SlotId, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Choice, MessageContent, Percent, Session, SignalType, Target, limits};
use crate::frame::{Digest, Sequence};
use crate::marker::MarkerKeyHash;
use crate::observation::{MessageKey, Observation};
use crate::owner::OwnerRef;
use crate::policy::{Reason, Verdict};
use crate::timeline::Zone;
use missiond_core::{List, Text};

/// The version of the record format.
pub const FORMAT_VERSION: u32 = 1;

/// One record in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    pub sequence: Sequence,
    /// When it was written, by the daemon's clock.
    pub at: Timestamp,
    #[serde(flatten)]
    pub body: RecordBody,
}

macro_rules! records {
    ($($(#[$meta:meta])* $variant:ident($payload:ty) = $name:literal;)*) => {
        /// What a record says.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "type", content = "data")]
        #[allow(clippy::large_enum_variant, reason = "records pass by, they are not kept")]
        pub enum RecordBody {
            $($(#[$meta])* #[serde(rename = $name)] $variant($payload),)*
        }

        /// Which of the nine kinds it is.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            Serialize, Deserialize, JsonSchema,
        )]
        pub enum RecordKind {
            $($(#[$meta])* #[serde(rename = $name)] $variant,)*
        }

        impl RecordKind {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
                $(if name == $name.as_bytes() { return Some(Self::$variant); })*
                None
            }
        }

        impl RecordBody {
            #[must_use]
            pub const fn kind(&self) -> RecordKind {
                match self { $(Self::$variant(_) => RecordKind::$variant,)* }
            }

            pub(crate) fn write_data(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
                match self { $(Self::$variant(data) => serde_json::to_writer(out, data),)* }
            }

            /// Straight to the type the name asks for, without looking twice at
            /// the data.
            pub(crate) fn read_data(kind: RecordKind, data: &[u8]) -> serde_json::Result<Self> {
                match kind {
                    $(RecordKind::$variant => serde_json::from_slice(data).map(Self::$variant),)*
                }
            }
        }

        $(impl From<$payload> for RecordBody {
            fn from(data: $payload) -> Self {
                Self::$variant(data)
            }
        })*
    };
}

records! {
    /// Whose journal this is. Always the first record.
    Header(JournalHeader) = "journal.header";
    /// A message for the agent was accepted.
    MessageAccepted(MessageAccepted) = "message.accepted";
    /// How far a message has come.
    MessageDelivery(MessageDelivery) = "message.delivery";
    /// Something was observed. It is processed when its decision is recorded.
    Observation(Observation) = "observation.recorded";
    /// What was decided on an observation, and why.
    Decision(DecisionRecorded) = "decision.recorded";
    /// Lifecycle, attention or what is waited for changed.
    StateChanged(StateChanged) = "state.changed";
    /// What the agent is busy with changed. May be compacted away.
    ActivityUpdated(ActivityUpdated) = "activity.updated";
    /// The owner is to be told something, or has been.
    OwnerEffect(OwnerEffect) = "owner-effect.recorded";
    /// Something for the timeline that no other record says.
    Projection(Projection) = "projection.recorded";
}

/// No kind of record has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no kind of record; there are {}", names())]
pub struct UnknownKind {
    name: String,
}

fn names() -> String {
    let names: Vec<_> = RecordKind::ALL.iter().map(|kind| kind.name()).collect();
    names.join(", ")
}

impl std::str::FromStr for RecordKind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        Self::from_name(name.as_bytes()).ok_or_else(|| UnknownKind {
            name: name.chars().take(64).collect(),
        })
    }
}

impl std::fmt::Display for RecordKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// How an agent sends its signals; declared before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Tools of the execution's MCP server.
    McpTool,
    /// Markers in its output.
    Marker,
    /// It cannot send any; it is only observed.
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JournalHeader {
    pub format: u32,
    pub protocol: u32,
    pub execution: ExecutionId,
    pub owner: OwnerRef,
    pub engine: CliEngine,
    pub transport: Transport,
    /// The folder the agent works in.
    pub working_directory: Text<{ limits::PATH }>,
    /// What a marker must prove to know; none when markers are not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker_key: Option<MarkerKeyHash>,
    /// The signals its agent was offered; all that its owner takes when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signals: Option<Vec<SignalType>>,
    /// What the records before this one were, if they were compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted: Option<Compacted>,
    /// Where the audit was when this journal was made, so that an older audit cannot be put
    /// in its place unseen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditedAt>,
}

/// A moment of the audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditedAt {
    /// How many records it had.
    pub records: u64,
    /// The hash of the head that says so.
    pub hash: Digest,
}

impl JournalHeader {
    #[must_use]
    pub const fn new(
        execution: ExecutionId,
        owner: OwnerRef,
        engine: CliEngine,
        transport: Transport,
        working_directory: Text<{ limits::PATH }>,
    ) -> Self {
        Self {
            format: FORMAT_VERSION,
            protocol: crate::catalogue::PROTOCOL_VERSION,
            execution,
            owner,
            engine,
            transport,
            working_directory,
            marker_key: None,
            signals: None,
            compacted: None,
            audit: None,
        }
    }

    #[must_use]
    pub const fn with_marker_key(mut self, key: MarkerKeyHash) -> Self {
        self.marker_key = Some(key);
        self
    }

    #[must_use]
    pub fn with_audit(mut self, audit: Option<AuditedAt>) -> Self {
        self.audit = audit;
        self
    }

    /// Offers the agent only these of the signals that its owner takes.
    #[must_use]
    pub fn with_signals(mut self, signals: Vec<SignalType>) -> Self {
        self.signals = Some(signals);
        self
    }
}

/// What a compaction replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compacted {
    /// How often the journal was compacted, this time included.
    pub segment: u32,
    /// The last record of the journal as it was.
    pub head: Sequence,
    /// Its hash, which through the chain covers every record that was there.
    pub head_hash: Digest,
    /// How many records there were, and how many of them were left out.
    pub records: u64,
    pub removed: u64,
}

/// Who sends a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// The person whose daemon it is. Journals of before the first release that tells others
    /// apart have this word for everybody but agents.
    Operator,
    /// The daemon by itself: the autopilot, and what tells an agent of a decision.
    Daemon,
    System,
    Owner,
    /// Another agent.
    Execution(ExecutionId),
    /// The program of a slot in which no run is known.
    Slot(SlotId),
    /// A program, by the name of its token.
    Program(Text<{ limits::LABEL }>),
    /// A model that a person runs themselves.
    Commander,
    /// Nobody can say.
    Unknown,
}

impl Sender {
    /// Whether it is the agent of a slot, whose words are another's input and no orders.
    #[must_use]
    pub const fn is_agent(&self) -> bool {
        matches!(self, Self::Execution(_) | Self::Slot(_))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageAccepted {
    pub id: MessageId,
    pub key: MessageKey,
    pub from: Sender,
    pub content: MessageContent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageDelivery {
    pub message: MessageId,
    pub status: DeliveryStatus,
    /// Why it is held or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<{ limits::SIGNAL_TEXT }>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRecorded {
    pub observation: ObservationId,
    pub verdict: Verdict,
    pub reason: Reason,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StateChanged {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<ExecutionLifecycle>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<ExecutionAttention>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
}

impl StateChanged {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An input request opened or closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestChange {
    Opened(InputRequest),
    Answered {
        request: ObservationId,
        message: MessageId,
    },
    /// Nobody waits for the answer any more.
    Withdrawn {
        request: ObservationId,
    },
}

/// A question an agent waits to have answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputRequest {
    /// The observation it came from.
    pub id: ObservationId,
    pub question: Text<{ limits::SIGNAL_TEXT }>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub choices: List<Choice, 0, { limits::CHOICES }>,
}

/// Each field that is present replaces what was known before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivityUpdated {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<ExecutionActivity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressSnapshot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<Telemetry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<CapabilitySnapshot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<CurrentTarget>,
}

impl ActivityUpdated {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressSnapshot {
    pub summary: Text<{ limits::SIGNAL_TEXT }>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<Percent>,
}

/// Totals of the execution so far, never differences, so that one record may
/// stand for all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    pub requests: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
}

/// What an execution can do at the moment; no status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapabilitySnapshot {
    pub terminal_attached: bool,
    pub streaming: bool,
    pub tool_call_active: bool,
    pub filesystem_mutating: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CurrentTarget {
    Nothing,
    On(Target),
}

/// Names one effect for ever: the observation and its place among its effects.
/// Written as `obs_…/0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(with = "String", inline)]
pub struct EffectKey {
    pub observation: ObservationId,
    pub index: u32,
}

impl std::fmt::Display for EffectKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.observation, self.index)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not the key of an effect: expected obs_…/ and a number")]
pub struct InvalidEffectKey(String);

impl std::str::FromStr for EffectKey {
    type Err = InvalidEffectKey;

    fn from_str(text: &str) -> Result<Self, InvalidEffectKey> {
        text.split_once('/')
            .and_then(|(observation, index)| {
                Some(Self {
                    observation: observation.parse().ok()?,
                    index: index.parse().ok()?,
                })
            })
            .ok_or_else(|| InvalidEffectKey(text.chars().take(64).collect()))
    }
}

impl Serialize for EffectKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EffectKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Something the owner of the execution is told. It is recorded as due together
/// with what caused it, and as applied or refused when the owner has answered;
/// whoever applies it uses the key to apply it once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnerEffect {
    pub key: EffectKey,
    pub owner: OwnerRef,
    pub kind: OwnerEffectKind,
    pub status: EffectStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnerEffectKind {
    InputRequested,
    Blocked,
    VerificationRequested,
    CompletionClaimed,
    FailureClaimed,
    RunEnded,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectStatus {
    Due,
    Applied,
    /// The owner did not want it.
    Refused {
        reason: Text<{ limits::SIGNAL_TEXT }>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Projection {
    pub zone: Zone,
    pub title: Text<{ limits::LABEL }>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text<{ limits::SIGNAL_TEXT }>>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn senders_of_old_journals_are_read_as_they_were_written() {
        let execution = ExecutionId::generate();
        let old = [
            (json!("operator"), Sender::Operator),
            (json!("daemon"), Sender::Daemon),
            (json!("system"), Sender::System),
            (json!("owner"), Sender::Owner),
            (
                json!({ "execution": execution }),
                Sender::Execution(execution),
            ),
        ];
        for (written, sender) in old {
            assert_eq!(serde_json::from_value::<Sender>(written).unwrap(), sender);
        }
    }

    #[test]
    fn everybody_who_is_no_person_has_a_name_of_their_own() {
        let (execution, slot) = (ExecutionId::generate(), SlotId::generate());
        let new = [
            Sender::Daemon,
            Sender::Execution(execution),
            Sender::Slot(slot),
            Sender::Program(Text::new("ci").unwrap()),
            Sender::Commander,
            Sender::Unknown,
        ];
        for sender in new {
            let written = serde_json::to_value(&sender).unwrap();
            assert_ne!(written, Value::from("operator"));
            assert_eq!(serde_json::from_value::<Sender>(written).unwrap(), sender);
        }
    }
}
