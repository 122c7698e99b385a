//! What reaches the journal from outside: one shape for every source. Where it
//! came from changes its provenance and its confidence, never its path.

use std::fmt;
use std::str::FromStr;

use missiond_core::{ExecutionId, ObservationId, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::catalogue::{Fact, FactType, Signal, SignalType, limits};
use missiond_core::{OutOfBounds, Text};

/// Which way an observation came.
///
/// The structured output that some programs write when they run without a
/// terminal is none: agents run in terminals, and what it would tell comes from
/// hooks and transcripts. A source is added with what produces it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A marker in the output of the program.
    Marker,
    /// A tool of the execution's MCP server.
    McpTool,
    /// A hook of the agent's program.
    Hook,
    /// The protocol the agent is driven by: its own word, and exact.
    Protocol,
    /// A reading of the screen.
    Terminal,
    /// The transcript the agent's program writes.
    Transcript,
    /// The operating system's word on the process.
    Process,
    /// The daemon itself.
    Daemon,
}

impl Source {
    pub const ALL: [Self; 8] = [
        Self::Marker,
        Self::McpTool,
        Self::Hook,
        Self::Protocol,
        Self::Terminal,
        Self::Transcript,
        Self::Process,
        Self::Daemon,
    ];

    /// The most that can be believed of it, whatever the observation claims.
    #[must_use]
    pub const fn ceiling(self) -> Confidence {
        match self {
            Self::Process | Self::Daemon | Self::Protocol => Confidence::Authoritative,
            Self::Hook | Self::Transcript | Self::McpTool => Confidence::High,
            Self::Marker | Self::Terminal => Confidence::Medium,
        }
    }
}

/// How far an observation is to be believed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Good for looking at, for nothing else.
    Diagnostic,
    Low,
    Medium,
    High,
    Authoritative,
}

/// What was observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    /// The agent said it.
    Signal(Signal),
    /// The system saw it.
    Fact(Fact),
}

/// Which type of signal or fact it is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ObservedType {
    Signal(SignalType),
    Fact(FactType),
}

impl Observed {
    #[must_use]
    pub const fn kind(&self) -> ObservedType {
        match self {
            Self::Signal(signal) => ObservedType::Signal(signal.kind()),
            Self::Fact(fact) => ObservedType::Fact(fact.kind()),
        }
    }
}

impl ObservedType {
    /// Every type, in the order of the catalogue.
    pub fn all() -> impl Iterator<Item = Self> {
        let signals = SignalType::ALL.iter().copied().map(Self::Signal);
        signals.chain(FactType::ALL.iter().copied().map(Self::Fact))
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Signal(signal) => signal.name(),
            Self::Fact(fact) => fact.name(),
        }
    }
}

impl fmt::Display for ObservedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One observation, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    pub id: ObservationId,
    /// The execution it says it is about.
    pub execution: ExecutionId,
    /// What makes it the same observation when it comes again.
    pub key: ObservationKey,
    pub source: Source,
    pub confidence: Confidence,
    /// When it was made, by the clock of the one who made it.
    pub observed_at: Timestamp,
    pub observed: Observed,
}

/// A name an agent gives to one signal: letters, digits, `.`, `_`, `-`, `:`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct EventId(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "an event id has 1 to {} letters, digits, dots, dashes, underscores or colons",
    limits::EVENT_ID
)]
pub struct InvalidEventId;

impl EventId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EventId {
    type Err = InvalidEventId;

    fn from_str(text: &str) -> Result<Self, InvalidEventId> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:".contains(&byte);
        if (1..=limits::EVENT_ID).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidEventId)
        }
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<'de> Deserialize<'de> for EventId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for EventId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "event_id".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^[A-Za-z0-9._:-]+$",
            "minLength": 1,
            "maxLength": limits::EVENT_ID,
        })
    }
}

macro_rules! keys {
    ($($(#[$meta:meta])* $key:ident;)*) => {$(
        $(#[$meta])*
        #[derive(
            Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $key(Text<{ limits::KEY }>);

        impl $key {
            pub fn new(key: impl Into<String>) -> Result<Self, OutOfBounds> {
                Text::new(key).map(Self)
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $key {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    )*};
}

keys! {
    /// What makes an observation the same when it comes again. For a signal it
    /// is made of the agent's event id, so a signal sent both by marker and by
    /// tool counts once; for a fact, of something that names the occasion (the
    /// request's id, the hook's number), never of its content.
    ObservationKey;
    /// What makes a message the same when its sender sends it again.
    MessageKey;
}

impl ObservationKey {
    #[must_use]
    pub fn of_signal(event: &EventId) -> Self {
        Self(Text::excerpt(&format!("signal:{}", event.as_str())).expect("it is not empty"))
    }
}
