//! The way back after a crash: the lines of a recording, read again, give the same
//! events and the same state. What happened after the last recorded line is not known;
//! what it left open is answered now, once.

use missiond_core::Timestamp;
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::event::ControlEvent;
use crate::options::Options;

/// Which way a recorded line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    FromAgent,
    ToAgent,
}

/// One line of a recording, without its newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedLine {
    pub direction: Direction,
    pub at: Timestamp,
    pub line: Vec<u8>,
}

/// What a recording comes to.
#[derive(Debug)]
pub struct Replayed {
    pub client: Client,
    /// Every event with the index of its line.
    pub events: Vec<(usize, ControlEvent)>,
}

/// Reads a recording line by line, as it grows.
#[derive(Debug)]
pub struct Replayer {
    client: Client,
}

impl Replayer {
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            client: Client::new(options),
        }
    }

    /// What happened by this line.
    pub fn line(&mut self, recorded: &RecordedLine) -> Vec<ControlEvent> {
        match recorded.direction {
            Direction::FromAgent => self.client.receive_recorded(&recorded.line, recorded.at),
            Direction::ToAgent => self.client.sent_recorded(&recorded.line, recorded.at),
        }
    }

    /// The client as the lines left it. It has written nothing: [`Client::flush`] gives
    /// what is still owed.
    #[must_use]
    pub fn into_client(self) -> Client {
        self.client
    }
}

/// Reads a recording. The client has written nothing: [`Client::flush`] gives what is
/// still owed.
pub fn replay<'l>(options: Options, lines: impl IntoIterator<Item = &'l RecordedLine>) -> Replayed {
    let mut replayer = Replayer::new(options);
    let mut events = Vec::new();
    for (index, recorded) in lines.into_iter().enumerate() {
        let of_line = replayer.line(recorded);
        events.extend(of_line.into_iter().map(|event| (index, event)));
    }
    Replayed {
        client: replayer.into_client(),
        events,
    }
}
