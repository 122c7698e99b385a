//! Signals in the output of a program: one line that begins with `@mission::`
//! and goes on with a JSON object. For agents that have no MCP.
//!
//! Output is full of text nobody meant: files the agent shows, prompts that are
//! echoed, screens that are drawn again. So a marker counts only when all of it
//! is right: it stands alone on its line, its JSON is complete and valid, it
//! names this execution, and it carries the key that only this execution's
//! instructions contain. A marker quoted from a file has no such key: it is
//! refused, and the refusal is recorded, once however often it is drawn.

mod envelope;
mod instructions;
mod key;
mod rows;
mod stream;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Diagnostic, DiagnosticCode, Fact, Signal, limits};
use crate::frame::Digest;
use crate::observation::{EventId, ObservationKey, Observed};
use missiond_core::Text;

pub use envelope::encode;
pub use instructions::instructions;
pub use key::{InvalidMarkerKey, MarkerKey, MarkerKeyHash};
pub use rows::find_in_rows;
pub use stream::{Broken, StreamDecoder};

/// What a marker begins with, directly before its `{`.
pub const PREFIX: &str = "@mission::";

/// What the decoder must know to tell this execution's markers from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    pub execution: missiond_core::ExecutionId,
    pub key: MarkerKeyHash,
}

/// Something that began like a marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ParsedMarker {
    Signal {
        event: EventId,
        signal: Signal,
    },
    Refused {
        code: DiagnosticCode,
        detail: String,
        /// The same for the same text, however it was wrapped.
        key: ObservationKey,
    },
}

impl ParsedMarker {
    fn refused(code: DiagnosticCode, detail: impl Into<String>, text: &str) -> Self {
        let squeezed: String = text.chars().filter(|char| !char.is_whitespace()).collect();
        let digest = Digest::of(squeezed.as_bytes()).to_string();
        Self::Refused {
            code,
            detail: detail.into(),
            key: ObservationKey::new(format!("marker:{}", &digest[..32]))
                .expect("39 characters are within the limit"),
        }
    }

    /// As an observation: what was observed and the key that makes it count once.
    #[must_use]
    pub fn into_observed(self) -> (ObservationKey, Observed) {
        match self {
            Self::Signal { event, signal } => {
                (ObservationKey::of_signal(&event), Observed::Signal(signal))
            }
            Self::Refused { code, detail, key } => {
                let detail = Text::<{ limits::SIGNAL_TEXT }>::excerpt(&detail)
                    .unwrap_or_else(|| Text::excerpt("refused").expect("it is not empty"));
                let diagnostic = Fact::Diagnostic(Diagnostic { code, detail });
                (key, Observed::Fact(diagnostic))
            }
        }
    }
}

/// The text after bullets, indents and frames, if it begins like a marker. What
/// stands before must not be words: a marker in a sentence is a quotation.
fn after_ornament(row: &str) -> Option<&str> {
    const ORNAMENT: usize = 16;
    let at = row.find(PREFIX)?;
    let (before, marker) = row.split_at(at);
    let plain = before.chars().count() <= ORNAMENT
        && !before
            .chars()
            .any(|char| char.is_alphanumeric() || "`'\"({[".contains(char));
    (plain && marker[PREFIX.len()..].starts_with('{')).then_some(marker)
}

/// Follows a JSON object to its end, piece by piece.
#[derive(Debug, Default)]
struct ObjectScan {
    depth: u32,
    quoted: bool,
    escaped: bool,
}

impl ObjectScan {
    /// Where in `text` the object ends, if it does.
    fn end_in(&mut self, text: &str) -> Option<usize> {
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.quoted => self.escaped = true,
                b'"' => self.quoted = !self.quoted,
                b'{' if !self.quoted => self.depth += 1,
                b'}' if !self.quoted => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// Where the JSON object that `text` begins with ends, if it does.
fn object_end(text: &str) -> Option<usize> {
    ObjectScan::default().end_in(text)
}

/// Nothing but space and the right edge of a frame.
fn is_edge(rest: &str) -> bool {
    rest.chars().all(|char| !char.is_alphanumeric())
}

#[cfg(test)]
mod tests;
