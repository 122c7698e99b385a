//! Background workers in words: what one needs, what it works for, and the switches
//! that let it work or pause it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a worker needs beside this machine.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WorkerKind {
    /// Nothing: it works by rules, or with the embedding model.
    Local,
    /// A model of the fast tier.
    Fast,
    /// A model of the default tier.
    Default,
    /// A model of the premium tier.
    Premium,
}

/// What a worker works for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum WorkerDomain {
    Knowledge,
    Conversations,
    Code,
}

/// Whether something may work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkerSwitch {
    Running,
    Paused,
}

/// What a switch is for: one worker, all of them, or those of a kind or a domain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ControlNode {
    Worker(String),
    All,
    Kind(WorkerKind),
    Domain(WorkerDomain),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct UnknownWorkerWord {
    text: String,
    expected: &'static str,
}

macro_rules! words {
    ($type:ident, $expected:literal, $($variant:ident = $word:literal),*) => {
        impl $type {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $type {
            type Err = UnknownWorkerWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(unknown(text, $expected)),
                }
            }
        }
    };
}

words!(
    WorkerKind,
    "a kind of worker: local, fast, default or premium",
    Local = "local",
    Fast = "fast",
    Default = "default",
    Premium = "premium"
);
words!(
    WorkerDomain,
    "a domain of workers: knowledge, conversations or code",
    Knowledge = "knowledge",
    Conversations = "conversations",
    Code = "code"
);
words!(
    WorkerSwitch,
    "a position of a switch: running or paused",
    Running = "running",
    Paused = "paused"
);

fn unknown(text: &str, expected: &'static str) -> UnknownWorkerWord {
    UnknownWorkerWord {
        text: text.chars().take(64).collect(),
        expected,
    }
}

impl fmt::Display for ControlNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker(name) => write!(f, "worker/{name}"),
            Self::All => f.write_str("all"),
            Self::Kind(kind) => write!(f, "kind/{kind}"),
            Self::Domain(domain) => write!(f, "domain/{domain}"),
        }
    }
}

impl FromStr for ControlNode {
    type Err = UnknownWorkerWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            None if text == "all" => Ok(Self::All),
            Some(("worker", name)) if !name.is_empty() => Ok(Self::Worker(name.to_owned())),
            Some(("kind", kind)) => Ok(Self::Kind(kind.parse()?)),
            Some(("domain", domain)) => Ok(Self::Domain(domain.parse()?)),
            _ => Err(unknown(
                text,
                "a switch: worker/NAME, all, kind/KIND or domain/DOMAIN",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_reads_back_and_nothing_else_is_one() {
        let kinds = WorkerKind::ALL.iter().copied().map(ControlNode::Kind);
        let domains = WorkerDomain::ALL.iter().copied().map(ControlNode::Domain);
        let one = ControlNode::Worker("embedding".to_owned());
        for node in kinds.chain(domains).chain([one, ControlNode::All]) {
            assert_eq!(node.to_string().parse(), Ok(node));
        }
        for text in [
            "",
            "worker/",
            "kind/sonnet",
            "domain",
            "everything",
            "all/all",
        ] {
            assert!(text.parse::<ControlNode>().is_err(), "{text}");
        }
    }
}
