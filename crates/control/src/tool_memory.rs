//! The tool calls of a conversation, remembered to compare what is asked for with what
//! was announced, and what is done with what was permitted.
//!
//! It is bounded by number and by bytes; the oldest finished calls go first. A call
//! that was forgotten is one that was never announced.

use std::collections::VecDeque;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::json::canonical;
use crate::limits::Limits;
use crate::permission::Announced;
use crate::text::Clipped;
use crate::tool::{ToolCallId, ToolContent, ToolInput, ToolKind};

/// Enough of an input to compare it with another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    whole: [u8; 32],
    /// Hashes of the names and values of its members, if it is an object.
    members: Vec<([u8; 16], [u8; 16])>,
}

impl Fingerprint {
    pub(crate) fn new(input: &Value, limits: &Limits) -> Self {
        let members = input.as_object().into_iter().flatten().take(limits.list);
        Self {
            whole: Sha256::digest(canonical(input)).into(),
            members: members
                .map(|(name, value)| (short(name), short(&canonical(value))))
                .collect(),
        }
    }

    /// How `later` stands to this.
    pub(crate) fn compare(&self, later: &Self) -> Announced {
        if self.whole == later.whole {
            return Announced::Same;
        }
        if self.members.is_empty() || later.members.is_empty() {
            return Announced::Contradicts;
        }
        let mut shared_members = 0;
        for (name, value) in &self.members {
            match later.members.iter().find(|(other, _)| other == name) {
                Some((_, other)) if other != value => return Announced::Contradicts,
                Some(_) => shared_members += 1,
                None => {}
            }
        }
        Announced::Restated { shared_members }
    }
}

fn short(text: &str) -> [u8; 16] {
    let whole: [u8; 32] = Sha256::digest(text).into();
    let mut half = [0; 16];
    half.copy_from_slice(&whole[..16]);
    half
}

/// A call as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) session: String,
    pub(crate) id: ToolCallId,
    pub(crate) name: Option<Clipped>,
    pub(crate) kind: ToolKind,
    pub(crate) title: Clipped,
    pub(crate) input: ToolInput,
    pub(crate) print: Option<Fingerprint>,
    pub(crate) cwd: Option<Clipped>,
    pub(crate) content: Vec<ToolContent>,
    pub(crate) permitted: Option<(Fingerprint, ToolInput)>,
    pub(crate) is_final: bool,
}

impl Remembered {
    fn bytes(&self) -> usize {
        let input = |input: &ToolInput| match input {
            ToolInput::Said { json, .. } => json.text.len() + 128,
            ToolInput::NotSaid => 0,
        };
        let content: usize = self
            .content
            .iter()
            .map(|content| match content {
                ToolContent::Patch { changes, patch } => {
                    changes.len() * 128 + patch.as_ref().map_or(0, |patch| patch.text.len())
                }
                ToolContent::Diff { new, .. } => new.text.len(),
                _ => 128,
            })
            .sum();
        256 + self.session.len()
            + self.id.0.len()
            + self.title.text.len()
            + input(&self.input)
            + content
            + self.permitted.as_ref().map_or(0, |(_, kept)| input(kept))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolMemory {
    calls: VecDeque<Remembered>,
    bytes: usize,
}

impl ToolMemory {
    pub(crate) fn get(&self, session: &str, id: &ToolCallId) -> Option<&Remembered> {
        self.calls
            .iter()
            .rev()
            .find(|call| call.id == *id && call.session == session)
    }

    /// Changes a call, or remembers it.
    pub(crate) fn put(&mut self, call: Remembered, limits: &Limits) {
        let known = self
            .calls
            .iter()
            .rposition(|known| known.id == call.id && known.session == call.session);
        if let Some(old) = known.and_then(|at| self.calls.remove(at)) {
            self.bytes -= old.bytes();
        }
        self.bytes += call.bytes();
        self.calls.push_back(call);
        while self.calls.len() > limits.tool_calls.max(1)
            || (self.bytes > limits.line && self.calls.len() > 1)
        {
            let oldest = self
                .calls
                .iter()
                .position(|call| call.is_final)
                .unwrap_or(0);
            if let Some(gone) = self.calls.remove(oldest) {
                self.bytes -= gone.bytes();
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: usize, text: &str, is_final: bool) -> Remembered {
        Remembered {
            session: "s".into(),
            id: ToolCallId(id.to_string()),
            name: None,
            kind: ToolKind::Other,
            title: Clipped::new(text, usize::MAX),
            input: ToolInput::NotSaid,
            print: None,
            cwd: None,
            content: Vec::new(),
            permitted: None,
            is_final,
        }
    }

    #[test]
    fn inputs_are_compared_by_the_members_both_have() {
        let print = |value| Fingerprint::new(&value, &Limits::default());
        let announced = print(json!({"command": "ls", "description": "list"}));
        for (later, expected) in [
            (
                json!({"description": "list", "command": "ls"}),
                Announced::Same,
            ),
            (
                json!({"command": "ls", "commands": ["ls"]}),
                Announced::Restated { shared_members: 1 },
            ),
            (
                json!({"fileName": "a"}),
                Announced::Restated { shared_members: 0 },
            ),
            (json!({"command": "rm -rf /"}), Announced::Contradicts),
            (json!("ls"), Announced::Contradicts),
            (json!({}), Announced::Contradicts),
        ] {
            assert_eq!(
                announced.compare(&print(later.clone())),
                expected,
                "{later}"
            );
        }
    }

    #[test]
    fn number_and_bytes_stay_bounded_and_finished_calls_go_first() {
        let limits = Limits {
            tool_calls: 4,
            line: 100_000,
            ..Limits::default()
        };
        let mut memory = ToolMemory::default();
        memory.put(call(0, "", false), &limits);
        for id in 1..50 {
            memory.put(call(id, "", true), &limits);
        }
        assert_eq!(memory.len(), 4);
        assert!(memory.get("s", &ToolCallId("0".into())).is_some());
        assert!(memory.get("other", &ToolCallId("0".into())).is_none());
        for id in 50..60 {
            memory.put(call(id, &"x".repeat(60_000), false), &limits);
        }
        assert_eq!(memory.len(), 1);
        assert!(memory.bytes <= 100_000);
    }
}
