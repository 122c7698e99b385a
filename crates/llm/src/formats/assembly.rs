//! An answer as it grows: parts in the order in which they began.

use serde_json::Value;

use crate::format::Format;
use crate::items::{Answer, Arguments, Call, Item, Opaque, Piece, Reasoning, Stop, Usage};

/// More parts than any answer has.
const MAX_PARTS: usize = 4096;

/// By what a format tells parts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// The number of a block.
    Block(u64),
    /// Text, reasoning: what comes without a number goes on with the last part of
    /// its kind, if nothing came between.
    Running,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Reasoning {
        text: String,
        opaque: Option<Value>,
    },
    Call {
        id: String,
        name: String,
        arguments: String,
        opaque: Option<Value>,
    },
}

#[derive(Debug)]
pub(super) struct Assembly {
    format: Format,
    parts: Vec<(Key, Part)>,
    pub(super) id: String,
    pub(super) model: String,
    pub(super) usage: Usage,
    stop: Option<Stop>,
    /// The format's own sign that nothing follows has come.
    pub(super) ended: bool,
    pub(super) error: Option<String>,
    pieces: Vec<Piece>,
    too_many: bool,
}

impl Assembly {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            parts: Vec::new(),
            id: String::new(),
            model: String::new(),
            usage: Usage::default(),
            stop: None,
            ended: false,
            error: None,
            pieces: Vec::new(),
            too_many: false,
        }
    }

    pub(super) fn named(&mut self, id: &Value, model: &Value) {
        for (mine, theirs) in [(&mut self.id, id), (&mut self.model, model)] {
            if let Some(theirs) = theirs.as_str().filter(|theirs| !theirs.is_empty()) {
                theirs.clone_into(mine);
            }
        }
    }

    pub(super) fn text(&mut self, key: Key, more: &str) {
        if more.is_empty() {
            return;
        }
        match self.part(key, |part| matches!(part, Part::Text(_))) {
            Some(Part::Text(text)) => text.push_str(more),
            _ => self.begin(key, Part::Text(more.to_owned())),
        }
        self.pieces.push(Piece::Text(more.to_owned()));
    }

    pub(super) fn reasoning(&mut self, key: Key, more: &str) {
        if more.is_empty() {
            return;
        }
        match self.part(key, |part| matches!(part, Part::Reasoning { .. })) {
            Some(Part::Reasoning { text, .. }) => text.push_str(more),
            _ => self.begin(
                key,
                Part::Reasoning {
                    text: more.to_owned(),
                    opaque: None,
                },
            ),
        }
        self.pieces.push(Piece::Reasoning(more.to_owned()));
    }

    /// What goes back with reasoning or a call; a part that is not there begins.
    pub(super) fn opaque(&mut self, key: Key, value: Value) {
        let holds = |part: &Part| !matches!(part, Part::Text(_));
        match self.part(key, holds) {
            Some(Part::Reasoning { opaque, .. } | Part::Call { opaque, .. }) => {
                *opaque = Some(value);
            }
            _ => self.begin(
                key,
                Part::Reasoning {
                    text: String::new(),
                    opaque: Some(value),
                },
            ),
        }
    }

    /// A call, or a name for one that began without.
    pub(super) fn call(&mut self, key: Key, id: &str, name: &str) {
        if let Key::Block(_) = key
            && let Some(Part::Call {
                id: known_id,
                name: known,
                ..
            }) = self.part(key, |part| matches!(part, Part::Call { .. }))
        {
            if known_id.is_empty() {
                id.clone_into(known_id);
            }
            if known.is_empty() {
                name.clone_into(known);
            }
            return;
        }
        self.begin(
            key,
            Part::Call {
                id: id.to_owned(),
                name: name.to_owned(),
                arguments: String::new(),
                opaque: None,
            },
        );
        self.pieces.push(Piece::Call {
            name: name.to_owned(),
        });
    }

    pub(super) fn arguments(&mut self, key: Key, more: &str) {
        let call = self.part(key, |part| matches!(part, Part::Call { .. }));
        if let Some(Part::Call { arguments, .. }) = call {
            arguments.push_str(more);
        }
    }

    /// The arguments as a whole, whatever came before.
    pub(super) fn all_arguments(&mut self, key: Key, all: &str) {
        let call = self.part(key, |part| matches!(part, Part::Call { .. }));
        if let Some(Part::Call { arguments, .. }) = call {
            all.clone_into(arguments);
        }
    }

    pub(super) fn stop(&mut self, stop: Stop) {
        self.stop = Some(stop);
    }

    /// What broke the answer off, in the provider's words.
    pub(super) fn fail(&mut self, message: &str) {
        self.error = Some(message.to_owned());
        self.stop = Some(Stop::Cut);
    }

    pub(super) fn has_calls(&self) -> bool {
        let is_call = |(_, part): &(Key, Part)| matches!(part, Part::Call { .. });
        self.parts.iter().any(is_call)
    }

    pub(super) const fn is_too_large(&self) -> bool {
        self.too_many
    }

    pub(super) fn take_pieces(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    /// The answer as far as it came.
    pub(super) fn finish(self) -> Answer {
        let has_calls = self.has_calls();
        let stop = match self.stop {
            _ if !self.ended || self.error.is_some() => Stop::Cut,
            // Some servers say "stop" behind a call.
            Some(Stop::End) | None if has_calls => Stop::Tool,
            Some(stop) => stop,
            None => Stop::End,
        };
        let format = self.format;
        let wrap = |value: Option<Value>| value.map(|value| Opaque { format, value });
        let items = self
            .parts
            .into_iter()
            .enumerate()
            .map(|(index, (_, part))| match part {
                Part::Text(text) => Item::Text(text),
                Part::Reasoning { text, opaque } => Item::Reasoning(Reasoning {
                    text,
                    opaque: wrap(opaque),
                }),
                Part::Call {
                    id,
                    name,
                    arguments,
                    opaque,
                } => Item::Call(Call {
                    // Gemini, Ollama and some servers name no calls.
                    id: if id.is_empty() {
                        format!("call_{index}")
                    } else {
                        id
                    },
                    name,
                    arguments: Arguments::parse(&arguments),
                    opaque: wrap(opaque),
                }),
            });
        Answer {
            id: self.id,
            model: self.model,
            items: items.collect(),
            stop,
            usage: self.usage,
            error: self.error,
        }
    }

    fn begin(&mut self, key: Key, part: Part) {
        if self.parts.len() >= MAX_PARTS {
            self.too_many = true;
        } else {
            self.parts.push((key, part));
        }
    }

    /// The part of a block, or the last part where formats have no blocks.
    fn part(&mut self, key: Key, fits: impl Fn(&Part) -> bool) -> Option<&mut Part> {
        let found = match key {
            Key::Running => self.parts.last_mut().filter(|(known, _)| *known == key),
            Key::Block(_) => self.parts.iter_mut().rev().find(|(known, _)| *known == key),
        };
        found.map(|(_, part)| part).filter(|part| fits(part))
    }
}
