//! One conversation with one agent process: bytes of it in, events and lines out.
//!
//! The client owns no process, no clock and no thread. Whoever owns the agent's
//! standard input and output writes every line this returns, records every line of both
//! sides with its time, and reads the recording back with [`replay`](crate::replay())
//! when it has died in between.

use missiond_core::Timestamp;
use missiond_net::{Frame, FrameDecoder, Oversized};
use serde_json::Value;

use crate::conversation::{Conversation, Owed};
use crate::event::ControlEvent;
use crate::options::{Dialect, Options};
use crate::request::{ControlRequest, RequestId};
use crate::rpc::{self, Message};
use crate::state::{Connection, ControlState, Waiting};
use crate::text::Clipped;
use crate::trouble::{Refusal, Trouble};
use crate::{acp, app_server, json};

/// What came of a call: what happened, and the lines to write, each without its
/// newline, in this order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Output {
    pub events: Vec<ControlEvent>,
    pub lines: Vec<String>,
    /// The id of the request, if one was sent that has an answer.
    pub request: Option<RequestId>,
}

/// A client of one connection. A new process of the agent is a new client.
#[derive(Debug)]
pub struct Client {
    decoder: FrameDecoder,
    core: Conversation,
}

impl Client {
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            // At its end: a hostile line is reported once, wherever reads cut it.
            decoder: FrameDecoder::reporting(options.limits.line, Oversized::AtItsEnd),
            core: Conversation::new(options),
        }
    }

    /// Takes in bytes as they came from the agent.
    pub fn receive(&mut self, bytes: &[u8], now: Timestamp) -> Output {
        let mut output = Output::default();
        // Pieces no longer than a line: what is kept stays within two lines.
        for piece in bytes.chunks(self.core.options.limits.line.max(1)) {
            self.decoder.feed(piece);
            while let Some(frame) = self.decoder.next_frame() {
                match frame {
                    Frame::Message(line) => read_line(&mut self.core, line, now),
                    Frame::TooLarge => {
                        let head = self.decoder.edges().head.clone();
                        line_too_long(&mut self.core, &head, now);
                    }
                }
                output.events.append(&mut self.core.take_events());
                self.pay(now, &mut output);
            }
        }
        output
    }

    /// Takes in one line of a recording, without its newline, and answers nothing.
    pub(crate) fn receive_recorded(&mut self, line: &[u8], at: Timestamp) -> Vec<ControlEvent> {
        if line.len() > self.core.options.limits.line {
            line_too_long(&mut self.core, &line[..line.len().min(128)], at);
            return self.core.take_events();
        }
        // As the decoder of a live connection does.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() {
            read_line(&mut self.core, line, at);
        }
        self.core.take_events()
    }

    /// Notes a line that was written to the agent, from a recording.
    pub(crate) fn sent_recorded(&mut self, line: &[u8], at: Timestamp) -> Vec<ControlEvent> {
        if let Ok(message) = json::parse(line, &self.core.options.limits) {
            sent(&mut self.core, message, at);
        }
        self.core.take_events()
    }

    /// Asks something of the agent.
    ///
    /// # Errors
    /// If it cannot be asked now, or of this agent. Nothing is sent then.
    pub fn ask(&mut self, request: &ControlRequest, now: Timestamp) -> Result<Output, Refusal> {
        match &self.core.connection {
            Connection::Refused(sentence) => {
                return Err(Refusal::ConnectionRefused(sentence.clone()));
            }
            Connection::Ended => return Err(Refusal::Disconnected),
            Connection::New | Connection::Greeted if *request != ControlRequest::Start => {
                return Err(Refusal::NotReady);
            }
            Connection::Greeted | Connection::Ready(_) if *request == ControlRequest::Start => {
                return Err(Refusal::StartedAlready);
            }
            _ => {}
        }
        let limits = self.core.options.limits;
        if self.core.asked.len() >= limits.open_requests {
            let limit = limits.open_requests;
            return Err(Refusal::TooManyOpen { limit });
        }
        let messages = match self.core.options.dialect {
            Dialect::Acp { .. } => acp::write(&self.core, request)?,
            Dialect::CodexAppServer => app_server::write(&self.core, request)?,
        };
        let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
        if let Some(bytes) = lines
            .iter()
            .map(String::len)
            .find(|bytes| *bytes > limits.line)
        {
            let limit = limits.line;
            return Err(Refusal::TooLong { bytes, limit });
        }
        let before = self.core.last_id;
        let mut output = Output {
            lines,
            ..Output::default()
        };
        for message in messages {
            sent(&mut self.core, message, now);
            output.events.append(&mut self.core.take_events());
        }
        output.request = (self.core.last_id > before).then_some(RequestId(self.core.last_id));
        Ok(output)
    }

    /// What the protocol wants from us and no caller decides about. After a replay
    /// these are the answers an earlier controller died before writing.
    pub fn flush(&mut self, now: Timestamp) -> Output {
        let mut output = Output::default();
        self.pay(now, &mut output);
        output
    }

    /// The agent's output has ended: nothing that is open will be answered.
    pub fn disconnect(&mut self, now: Timestamp) -> Vec<ControlEvent> {
        self.core.now = now;
        self.core.disconnect();
        self.core.take_events()
    }

    /// What is so now.
    #[must_use]
    pub fn state(&self) -> ControlState {
        let core = &self.core;
        ControlState {
            connection: core.connection.clone(),
            session: core.session.clone(),
            turn: core.turn.clone(),
            queued: core.queued.iter().copied().collect(),
            permissions: core
                .permissions
                .iter()
                .map(|asking| asking.open.clone())
                .collect(),
            waiting: core
                .asked
                .iter()
                .map(|(id, asked)| Waiting {
                    request: RequestId(*id),
                    method: asked.method.clone(),
                    since: asked.since,
                })
                .collect(),
            activity: core.activity.clone(),
            last_line_at: core.last_line_at,
            unknown_notifications: core.unknown.clone(),
        }
    }

    fn pay(&mut self, now: Timestamp, output: &mut Output) {
        let marker = self.core.options.dialect.marker();
        for owed in std::mem::take(&mut self.core.owed) {
            let message = match &owed {
                Owed::Answer { id, body } => rpc::answer(marker, id, body),
                Owed::Notice { method } => rpc::notice(marker, method, None),
            };
            output.lines.push(message.to_string());
            sent(&mut self.core, message, now);
            output.events.append(&mut self.core.take_events());
        }
    }
}

fn line_too_long(core: &mut Conversation, head: &[u8], at: Timestamp) {
    core.now = at;
    core.last_line_at = Some(at);
    let head = Clipped::new(
        &String::from_utf8_lossy(head),
        core.options.limits.raw.min(128),
    );
    let limit = core.options.limits.line;
    core.trouble(Trouble::LineTooLong { limit, head });
}

fn read_line(core: &mut Conversation, line: &[u8], at: Timestamp) {
    core.now = at;
    core.last_line_at = Some(at);
    core.line_bytes = line.len();
    let kept = &line[..line.len().min(core.options.limits.raw)];
    let raw = || Clipped {
        text: String::from_utf8_lossy(kept).into_owned(),
        omitted_bytes: line.len() - kept.len(),
    };
    match json::parse(line, &core.options.limits).map(Message::read) {
        Err(problem) => core.trouble(Trouble::NotAMessage {
            problem,
            raw: raw(),
        }),
        Ok(None) => core.trouble(Trouble::NotJsonRpc { raw: raw() }),
        // After a refusal or the end nothing is believed any more.
        Ok(Some(_)) if matches!(core.connection, Connection::Refused(_) | Connection::Ended) => {}
        Ok(Some(message)) => match core.options.dialect {
            Dialect::Acp { .. } => acp::receive(core, message),
            Dialect::CodexAppServer => app_server::receive(core, message),
        },
    }
}

/// Notes a message of ours, just written or read from a recording.
fn sent(core: &mut Conversation, message: Value, at: Timestamp) {
    core.now = at;
    match Message::read(message) {
        Some(Message::Answer { id, outcome }) => core.sent_answer(&id, &outcome),
        Some(Message::Notice { method, params }) => {
            core.owed
                .retain(|owed| !matches!(owed, Owed::Notice { method: other } if *other == method));
            if let Dialect::Acp { .. } = core.options.dialect {
                acp::sent_notice(core, &method, &params);
            }
        }
        Some(Message::Request { id, method, params }) => {
            let crate::AgentRequestId::Number(id) = id else {
                return;
            };
            let Ok(id) = u64::try_from(id) else {
                return;
            };
            match core.options.dialect {
                Dialect::Acp { .. } => acp::sent_request(core, id, &method, &params),
                Dialect::CodexAppServer => app_server::sent_request(core, id, &method, &params),
            }
        }
        None => {}
    }
}
