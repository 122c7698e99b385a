//! The protocol between an agent and the system: each signal an agent may send,
//! each fact the system may observe of it and each message it may be sent is
//! declared once, here.
//!
//! Descriptors, JSON Schemas, the tools of the execution's MCP server, the
//! parser of tool calls and the marker codec all come from these declarations.
//! A payload's shape is its Rust type; no other place repeats it.

mod facts;
pub mod limits;
mod messages;
mod signals;
mod tools;

use schemars::Schema;

pub use facts::*;
pub use messages::*;
pub use signals::*;
pub use tools::{ToolAnnotations, ToolDescriptor, parse_tool_call, tools};

/// The version of the protocol. It changes when an old payload is no longer a
/// valid new one.
pub const PROTOCOL_VERSION: u32 = 1;

/// The name of the MCP server an agent finds its tools under.
pub const MCP_SERVER_NAME: &str = "mission-execution";

/// What the catalogue says of one type of signal, fact or message.
#[derive(Debug, Clone, Copy)]
pub struct Descriptor<T: 'static, X: 'static> {
    pub of: T,
    pub name: &'static str,
    pub title: &'static str,
    /// Written for the one who has to choose: a model or a person.
    pub description: &'static str,
    pub traits: X,
    schema: fn() -> Schema,
}

impl<T, X> Descriptor<T, X> {
    /// The JSON Schema of the payload.
    #[must_use]
    pub fn schema(&self) -> Schema {
        (self.schema)()
    }
}

/// The name is none of the catalogue's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no {what}: there are {known}")]
pub struct UnknownType {
    pub what: &'static str,
    pub name: String,
    pub known: String,
}

/// Why a payload was not accepted as what it claims to be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error(transparent)]
    UnknownType(#[from] UnknownType),
    #[error("the {name} is not valid: {detail}")]
    Payload { name: &'static str, detail: String },
    #[error("this is not the JSON it should be: {detail}")]
    Json { detail: String },
    #[error("{bytes} bytes are more than the {max} allowed")]
    Oversized { bytes: usize, max: usize },
}

/// Declares a family: an enum of payloads, an enum of their types, and the list
/// of descriptors. Each variant holds the struct of the same name.
macro_rules! family {
    (
        $(#[$meta:meta])*
        $what:literal $family:ident $type:ident $list:ident $traits:ty {
            $($variant:ident = $name:literal, $title:literal, $description:literal, $extra:expr;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(tag = "type", content = "payload")]
        pub enum $family {
            $(#[doc = $description] #[serde(rename = $name)] $variant($variant),)*
        }

        #[doc = concat!("Which ", $what, " it is.")]
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum $type {
            $(#[doc = $description] #[serde(rename = $name)] $variant,)*
        }

        #[doc = concat!("Every ", $what, " there is.")]
        pub const $list: &[$crate::catalogue::Descriptor<$type, $traits>] = &[
            $($crate::catalogue::Descriptor {
                of: $type::$variant,
                name: $name,
                title: $title,
                description: $description,
                traits: $extra,
                schema: || schemars::schema_for!($variant),
            },)*
        ];

        impl $family {
            #[must_use]
            pub const fn kind(&self) -> $type {
                match self { $(Self::$variant(_) => $type::$variant,)* }
            }

            /// Reads the payload of a given type, within the limits of the type.
            pub fn parse(kind: $type, payload: &str) -> Result<Self, $crate::catalogue::Malformed> {
                let malformed = |error: serde_json::Error| $crate::catalogue::Malformed::Payload {
                    name: kind.name(),
                    detail: error.to_string(),
                };
                match kind {
                    $($type::$variant => {
                        serde_json::from_str(payload).map(Self::$variant).map_err(malformed)
                    })*
                }
            }
        }

        impl $type {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            #[must_use]
            pub const fn descriptor(self) -> &'static $crate::catalogue::Descriptor<Self, $traits> {
                &$list[self as usize]
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::catalogue::UnknownType;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|kind| kind.name() == text).ok_or_else(|| {
                    $crate::catalogue::UnknownType {
                        what: $what,
                        name: text.chars().take(64).collect(),
                        known: Self::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", "),
                    }
                })
            }
        }

        $(impl From<$variant> for $family {
            fn from(payload: $variant) -> Self {
                Self::$variant(payload)
            }
        })*
    };
}
use family;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_descriptor_stands_at_the_place_of_its_type() {
        for kind in SignalType::ALL {
            assert_eq!(kind.descriptor().of, *kind);
        }
        for kind in FactType::ALL {
            assert_eq!(kind.descriptor().of, *kind);
        }
        for kind in MessageType::ALL {
            assert_eq!(kind.descriptor().of, *kind);
        }
    }

    /// The names are those of the page, and it has no other.
    #[test]
    fn the_page_of_journals_has_everything_the_protocol_has() {
        const PAGE: &str = include_str!("../../../../docs/how/journal.md");
        fn words(text: &str) -> Vec<&str> {
            let mut words: Vec<_> = text.split('`').skip(1).step_by(2).collect();
            words.sort_unstable();
            words
        }
        fn sorted(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
            let mut names: Vec<_> = names.collect();
            names.sort_unstable();
            names
        }
        let between = |begins: &str, ends: &str| {
            let (_, rest) = PAGE.split_once(begins).unwrap();
            rest.split(ends).next().unwrap().to_owned()
        };
        let table = between("| signal or fact |", "\n\n");
        let cells = table
            .lines()
            .skip(2)
            .filter_map(|row| row.split('|').nth(1));
        let signals = SIGNALS.iter().map(|signal| signal.name);
        let facts = FACTS.iter().map(|fact| fact.name);
        assert_eq!(
            words(&cells.collect::<String>()),
            sorted(signals.chain(facts))
        );
        let messages = MESSAGES.iter().map(|message| message.name);
        assert_eq!(words(&between("A message is", "\n\n")), sorted(messages));
        let records = crate::record::RecordKind::ALL.iter();
        let kept = between("Nine kinds of records:", "Their fold");
        assert_eq!(words(&kept), sorted(records.map(|kind| kind.name())));
        assert_eq!(crate::record::RecordKind::ALL.len(), 9);
    }

    #[test]
    fn the_seven_signals_are_those_of_the_protocol() {
        let names: Vec<_> = SIGNALS.iter().map(|signal| signal.name).collect();
        assert_eq!(
            names,
            [
                "progress",
                "needs_input",
                "blocked",
                "ready_for_verification",
                "completed_claim",
                "failed_claim",
                "message"
            ]
        );
    }
}
