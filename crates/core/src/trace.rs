//! Causality: which chain of events an event belongs to, and which event
//! caused it. The ids have the sizes and the written form of W3C Trace Context,
//! so an OpenTelemetry backend takes them as they are.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{Id, Kind};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what}: expected {digits} hexadecimal digits, not all zero")]
pub struct InvalidTraceId {
    text: String,
    what: &'static str,
    digits: usize,
}

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident, $int:ty, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
        #[schemars(with = "String", inline, extend("pattern" = "^[0-9a-fA-F]+$"))]
        pub struct $name($int);

        impl $name {
            const DIGITS: usize = std::mem::size_of::<$int>() * 2;

            /// A new random id.
            #[must_use]
            pub fn generate() -> Self {
                loop {
                    // From this thread's generator: asking the system for each id was
                    // a fifth of what an event cost.
                    let value = rand::random::<$int>();
                    // All zero means "absent" in W3C Trace Context.
                    if value != 0 {
                        return Self(value);
                    }
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:0width$x}", self.0, width = Self::DIGITS)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidTraceId;

            fn from_str(text: &str) -> Result<Self, InvalidTraceId> {
                let hex = text.len() == Self::DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit());
                match <$int>::from_str_radix(text, 16) {
                    Ok(value) if hex && value != 0 => Ok(Self(value)),
                    _ => Err(InvalidTraceId {
                        text: text.chars().take(64).collect(),
                        what: $what,
                        digits: Self::DIGITS,
                    }),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::from_text::deserialize(deserializer, $what)
            }
        }
    };
}

hex_id!(
    /// Names a whole causal chain.
    TraceId,
    u128,
    "trace id"
);
hex_id!(
    /// Names one event within a chain.
    SpanId,
    u64,
    "span id"
);

impl TraceId {
    /// The chain of a thing. An id made by us is never zero.
    fn of<K: Kind>(begun: Id<K>) -> Self {
        Self(begun.uuid().as_u128().max(1))
    }
}

impl SpanId {
    /// The beginning of a thing: the random half of its id.
    fn of<K: Kind>(begun: Id<K>) -> Self {
        Self(begun.uuid().as_u64_pair().1.max(1))
    }
}

/// Where an event stands in its causal chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct TraceContext {
    pub trace_id: TraceId,
    pub span_id: SpanId,
    pub parent_span_id: Option<SpanId>,
}

impl TraceContext {
    /// Begins a chain: this event has no known cause.
    #[must_use]
    pub fn root() -> Self {
        Self {
            trace_id: TraceId::generate(),
            span_id: SpanId::generate(),
            parent_span_id: None,
        }
    }

    /// The beginning of a thing that goes on for long, such as a task: whoever knows
    /// its id knows its chain, also after a restart, and nobody has to keep it.
    #[must_use]
    pub fn of<K: Kind>(begun: Id<K>) -> Self {
        Self {
            trace_id: TraceId::of(begun),
            span_id: SpanId::of(begun),
            parent_span_id: None,
        }
    }

    /// The beginning of a thing that `self` caused and that others continue.
    #[must_use]
    pub fn began<K: Kind>(&self, begun: Id<K>) -> Self {
        Self {
            trace_id: self.trace_id,
            span_id: SpanId::of(begun),
            parent_span_id: Some(self.span_id),
        }
    }

    /// Continues the chain: what comes next was caused by `self`.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            trace_id: self.trace_id,
            span_id: SpanId::generate(),
            parent_span_id: Some(self.span_id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AttemptId, BoardTaskId};

    #[test]
    fn a_child_shares_the_trace_and_names_its_parent() {
        let root = TraceContext::root();
        let child = root.child();
        assert_eq!(child.trace_id, root.trace_id);
        assert_eq!(child.parent_span_id, Some(root.span_id));
        assert_ne!(child.span_id, root.span_id);
    }

    #[test]
    fn the_chain_of_a_thing_follows_from_its_id() {
        let (task, attempt) = (BoardTaskId::generate(), AttemptId::generate());
        let created = TraceContext::of(task);
        assert_eq!(created, TraceContext::of(task));
        assert_eq!(created.parent_span_id, None);
        let claimed = created.began(attempt);
        assert_eq!(claimed, TraceContext::of(task).began(attempt));
        assert_eq!(claimed.trace_id, created.trace_id);
        assert_eq!(claimed.parent_span_id, Some(created.span_id));
        assert_ne!(claimed.span_id, created.span_id);
    }

    #[test]
    fn the_written_form_is_that_of_w3c_trace_context() {
        let id: SpanId = "00f067aa0ba902b7".parse().unwrap();
        assert_eq!(id.to_string(), "00f067aa0ba902b7");
        for bad in [
            "",
            "0000000000000000",
            "00f067aa0ba902b",
            "+0f067aa0ba902b7",
            "zz",
        ] {
            assert!(bad.parse::<SpanId>().is_err(), "{bad}");
        }
    }
}
