//! What the model says, independent of the API it is asked through.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

/// One answer: parts that are sent one after the other, or an error.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(crate) parts: Vec<Part>,
}

#[derive(Debug, Clone)]
pub(crate) enum Part {
    Text(String),
    Reasoning(String),
    Tool {
        /// Where the API groups tools: the group's name.
        namespace: Option<String>,
        name: String,
        arguments: Value,
    },
    Pause(Duration),
    Hold(Gate),
    /// Instead of an answer, as the whole reply.
    Error {
        status: u16,
    },
    /// The connection breaks.
    Drop,
}

impl Reply {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { parts: Vec::new() }
    }

    /// An error status, such as 429 or 500.
    #[must_use]
    pub fn error(status: u16) -> Self {
        Self::new().with(Part::Error { status })
    }

    /// Says text, a few words at a time.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.with(Part::Text(text.to_owned()))
    }

    /// Reasons, where the API can show it.
    #[must_use]
    pub fn reason(self, text: &str) -> Self {
        self.with(Part::Reasoning(text.to_owned()))
    }

    /// Calls a tool of the CLI, by the name it offers it under.
    #[must_use]
    pub fn call(self, name: &str, arguments: Value) -> Self {
        self.with(Part::Tool {
            namespace: None,
            name: name.to_owned(),
            arguments,
        })
    }

    /// Calls a tool of a group, where the API has groups.
    #[must_use]
    pub fn call_in(self, namespace: &str, name: &str, arguments: Value) -> Self {
        self.with(Part::Tool {
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
            arguments,
        })
    }

    #[must_use]
    pub fn pause(self, time: Duration) -> Self {
        self.with(Part::Pause(time))
    }

    /// Goes on when the gate is opened.
    #[must_use]
    pub fn hold(self, gate: &Gate) -> Self {
        self.with(Part::Hold(gate.clone()))
    }

    /// Breaks the connection here.
    #[must_use]
    pub fn drop_connection(self) -> Self {
        self.with(Part::Drop)
    }

    fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }
}

impl Default for Reply {
    fn default() -> Self {
        Self::new()
    }
}

/// Something a reply waits for and a test opens, once and for good.
#[derive(Debug, Clone)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    /// A closed one.
    #[must_use]
    pub fn closed() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn opened(&self) {
        // Fails only when nobody can open it any more, and this one can.
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

/// What leaves the server for a reply, and when.
#[derive(Debug, Clone)]
pub(crate) enum Emit {
    Send(String),
    Pause(Duration),
    Hold(Gate),
    Drop,
}

/// Text as it streams: a few words at a time.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    const LETTERS: usize = 12;
    let mut pieces = vec![String::new()];
    for letter in text.chars() {
        let full = pieces.last().is_some_and(|p| p.chars().count() >= LETTERS);
        if full && letter == ' ' {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(letter);
        }
    }
    pieces
}

/// A server-sent event.
pub(crate) fn event(name: &str, data: &Value) -> Emit {
    Emit::Send(format!("event: {name}\ndata: {data}\n\n"))
}

/// A server-sent event without a name.
pub(crate) fn data(data: &Value) -> Emit {
    Emit::Send(format!("data: {data}\n\n"))
}
