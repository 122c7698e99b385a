//! The connection: lines in and out, what is open on it, and the agent's steps as
//! messages.

use std::collections::VecDeque;
use std::io;

use missiond_net::{Frame, FrameDecoder, Oversized};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::messages::{
    INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Message, Opening,
    PARSE_ERROR, Refusal, prompt_text, text,
};
use super::updates;
use crate::agent::{Asked, Break, Failed, FailureSort, HANGUP_CODE, Stage, ToolCall};
use crate::script::{PlanEntry, Usage};
use crate::session::SessionId;
use crate::terminal::write_out;
use crate::view::{Activity, Answer, Outcome};

/// A longer line is refused.
const MAX_LINE: usize = 8 << 20;
/// Lines that wait to be read; who writes more of them waits.
const LINES_AHEAD: usize = 64;
/// Prompts that wait for the end of a turn.
const MAX_WAITING: usize = 64;

/// What comes from outside.
#[derive(Debug)]
enum Incoming {
    Line(Vec<u8>),
    TooLong,
    /// Nobody writes any more.
    EndOfInput,
    /// A signal that asks the program to end, by its number.
    Ended(u8),
}

#[derive(Debug)]
pub(super) struct Wire {
    incoming: mpsc::Receiver<Incoming>,
    session: Option<String>,
    /// The prompt that is being answered.
    running: Option<Value>,
    waiting: VecDeque<(Value, String)>,
    /// Calls that were told and have no end yet.
    open_calls: Vec<String>,
    /// Requests of this side so far.
    asked: u64,
    failure: Option<Failed>,
    /// What the last thing told was, so that two sayings stay two.
    saying: Saying,
    used: Usage,
    context: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Saying {
    Nothing,
    Now,
    Before,
}

/// What a message meant for the turn.
enum Heard {
    Nothing,
    Cancelled,
    Answered(u64, Option<Value>),
}

impl Wire {
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self {
            incoming: incoming()?,
            session: None,
            running: None,
            waiting: VecDeque::new(),
            open_calls: Vec::new(),
            asked: 0,
            failure: None,
            saying: Saying::Nothing,
            used: Usage::default(),
            context: 0,
        })
    }

    /// Waits until a session is asked for.
    pub(super) async fn next_opening(&mut self) -> Result<(Value, Opening), Break> {
        self.session = None;
        self.open_calls.clear();
        self.used = Usage::default();
        self.context = 0;
        loop {
            match self.receive().await? {
                Some(Message::Request { id, method, params }) => {
                    match Opening::read(&method, &params) {
                        Some(Ok(opening)) => return Ok((id, opening)),
                        Some(Err(refusal)) => self.refuse(&id, &refusal)?,
                        None if method == "initialize" => {
                            self.answer(&id, &updates::agent_info())?;
                        }
                        None if method.starts_with("session/") => {
                            let message = "no session is open".to_owned();
                            self.refuse(&id, &Refusal::new(INVALID_REQUEST, message))?;
                        }
                        None => self.refuse_method(&id, &method)?,
                    }
                }
                Some(Message::Notice { .. } | Message::Answer { .. }) | None => {}
            }
        }
    }

    /// Says that the session is open, its history first.
    pub(super) fn opened(
        &mut self,
        request: &Value,
        id: SessionId,
        history: &[Value],
    ) -> io::Result<()> {
        self.session = Some(id.to_string());
        for update in history {
            self.update(update)?;
        }
        self.answer(request, &json!({ "sessionId": id.to_string() }))
    }

    pub(super) fn refuse(&mut self, id: &Value, refusal: &Refusal) -> io::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": refusal.body()}))
    }

    fn refuse_method(&mut self, id: &Value, method: &str) -> io::Result<()> {
        let message = format!("there is no method `{method}` here");
        self.refuse(id, &Refusal::new(METHOD_NOT_FOUND, message))
    }

    fn answer(&mut self, id: &Value, result: &Value) -> io::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn update(&mut self, update: &Value) -> io::Result<()> {
        let params = json!({"sessionId": self.session, "update": update});
        self.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        write_out(format!("{message}\n").as_bytes())
    }

    /// The next message; none for a line that was none, which was answered.
    async fn receive(&mut self) -> Result<Option<Message>, Break> {
        let read = match self.incoming.recv().await {
            Some(Incoming::Line(line)) => Message::read(&line),
            Some(Incoming::TooLong) => {
                let message = format!("a line may have {MAX_LINE} bytes");
                Err(Refusal::new(PARSE_ERROR, message))
            }
            Some(Incoming::Ended(signal)) => return Err(Break::Exit(HANGUP_CODE + signal)),
            Some(Incoming::EndOfInput) | None => return Err(Break::Exit(0)),
        };
        match read {
            Ok(message) => Ok(Some(message)),
            Err(refusal) => {
                self.refuse(&Value::Null, &refusal)?;
                Ok(None)
            }
        }
    }

    /// Takes in one message while a session is open.
    async fn hear(&mut self) -> Result<Heard, Break> {
        let (id, method, params) = match self.receive().await? {
            None => return Ok(Heard::Nothing),
            Some(Message::Answer { id, result }) => return Ok(Heard::Answered(id, result)),
            Some(Message::Notice { method, params }) => {
                let is_ours = self.is_ours(&params).is_ok();
                return Ok(if method == "session/cancel" && is_ours {
                    Heard::Cancelled
                } else {
                    Heard::Nothing
                });
            }
            Some(Message::Request { id, method, params }) => (id, method, params),
        };
        match method.as_str() {
            "initialize" => self.answer(&id, &updates::agent_info())?,
            "session/prompt" => {
                let prompt = self.is_ours(&params).and_then(|()| prompt_text(&params));
                match prompt {
                    Ok(_) if self.waiting.len() >= MAX_WAITING => {
                        let message = format!("{MAX_WAITING} prompts wait already");
                        self.refuse(&id, &Refusal::new(INVALID_REQUEST, message))?;
                    }
                    Ok(prompt) => self.waiting.push_back((id, prompt)),
                    Err(refusal) => self.refuse(&id, &refusal)?,
                }
            }
            "session/close" => match self.is_ours(&params) {
                Ok(()) => {
                    self.cancel_all()?;
                    self.answer(&id, &json!({}))?;
                    return Err(Break::SessionCloses);
                }
                Err(refusal) => self.refuse(&id, &refusal)?,
            },
            "session/new" | "session/load" | "session/resume" => {
                let message = "a rehearsal has one session at a time: close it first".to_owned();
                self.refuse(&id, &Refusal::new(INVALID_REQUEST, message))?;
            }
            _ => self.refuse_method(&id, &method)?,
        }
        Ok(Heard::Nothing)
    }

    fn is_ours(&self, params: &Value) -> Result<(), Refusal> {
        let session = text(params, "sessionId")?;
        if self.session.as_deref() == Some(session) {
            return Ok(());
        }
        let message = format!("session {session} is not open here");
        Err(Refusal::new(INVALID_PARAMS, message))
    }

    /// Every prompt without an answer ends.
    fn cancel_all(&mut self) -> io::Result<()> {
        let open: Vec<Value> = self.running.take().into_iter().collect();
        let waiting = std::mem::take(&mut self.waiting);
        for id in open
            .into_iter()
            .chain(waiting.into_iter().map(|(id, _)| id))
        {
            self.answer(&id, &json!({"stopReason": "cancelled"}))?;
        }
        Ok(())
    }

    /// A call is told once, whether by the question about it or by its beginning.
    fn tell_call(&mut self, call: &ToolCall, status: &str) -> io::Result<()> {
        self.saying = Saying::Nothing;
        if self.open_calls.contains(&call.id) {
            return self.update(&updates::status(&call.id, status));
        }
        self.open_calls.push(call.id.clone());
        self.update(&updates::announced(call, status))
    }

    fn end_call(&mut self, id: &str, update: &Value) -> io::Result<()> {
        self.open_calls.retain(|open| open != id);
        self.update(update)
    }

    fn end_prompt(&mut self, stop: &str) -> io::Result<()> {
        let used = std::mem::take(&mut self.used);
        let Some(id) = self.running.take() else {
            return Ok(());
        };
        let mut result = json!({ "stopReason": stop });
        if used != Usage::default() {
            result["usage"] = updates::turn_usage(used);
        }
        self.answer(&id, &result)
    }
}

impl Stage for Wire {
    const ANSWERS_ARE_PROMPTS: bool = true;

    async fn next_prompt(&mut self) -> Result<String, Break> {
        loop {
            if let Some((id, prompt)) = self.waiting.pop_front() {
                self.running = Some(id);
                return Ok(prompt);
            }
            self.hear().await?;
        }
    }

    fn begin_turn(&mut self, _prompt: &str) -> io::Result<()> {
        self.failure = None;
        self.saying = Saying::Nothing;
        Ok(())
    }

    fn end_turn(&mut self, done: &Result<(), Break>) -> io::Result<()> {
        match done {
            Ok(()) | Err(Break::TurnEnds | Break::Interrupted) => {}
            // The program ends with the turn, or the prompt was answered already.
            Err(_) => return Ok(()),
        }
        for call in std::mem::take(&mut self.open_calls) {
            self.update(&updates::status(&call, "failed"))?;
        }
        if matches!(done, Err(Break::Interrupted)) {
            return self.end_prompt("cancelled");
        }
        let Some(failure) = self.failure.take() else {
            return self.end_prompt("end_turn");
        };
        self.used = Usage::default();
        let Some(id) = self.running.take() else {
            return Ok(());
        };
        let sort = match failure.sort {
            FailureSort::Error => "server_error",
            FailureSort::UsageLimit => "rate_limit",
        };
        let refusal = Refusal {
            data: Some(json!({ "errorKind": sort })),
            ..Refusal::new(INTERNAL_ERROR, failure.text)
        };
        self.refuse(&id, &refusal)
    }

    /// What it would think is nobody's; that it thinks is told.
    fn think(&mut self) -> io::Result<()> {
        self.update(&updates::chunk("agent_thought_chunk", "Thinking. "))
    }

    fn become_busy(&mut self, _with: Activity) -> io::Result<()> {
        Ok(())
    }

    fn say(&mut self, piece: &str) -> io::Result<()> {
        let piece = match self.saying {
            Saying::Before => format!("\n\n{piece}"),
            Saying::Nothing | Saying::Now => piece.to_owned(),
        };
        self.saying = Saying::Now;
        self.update(&updates::chunk("agent_message_chunk", &piece))
    }

    fn end_saying(&mut self) {
        self.saying = Saying::Before;
    }

    fn pour(&mut self, lines: Vec<String>) -> io::Result<()> {
        self.say(&(lines.join("\n") + "\n"))
    }

    fn notice(&mut self, text: String) -> io::Result<()> {
        self.say(&text)?;
        self.end_saying();
        Ok(())
    }

    fn plan(&mut self, entries: &[(String, PlanEntry)]) -> io::Result<()> {
        self.update(&updates::plan(entries))
    }

    fn used(&mut self, usage: Usage) -> io::Result<()> {
        self.used = Usage {
            input: self.used.input + usage.input,
            output: self.used.output + usage.output,
            cache_read: self.used.cache_read + usage.cache_read,
            cache_write: self.used.cache_write + usage.cache_write,
        };
        self.context += usage.input + usage.output + usage.cache_read + usage.cache_write;
        self.update(&updates::usage(self.context))
    }

    fn fail(&mut self, failure: Failed) -> io::Result<()> {
        self.failure = Some(failure);
        Ok(())
    }

    fn begin_tool(&mut self, call: &ToolCall) -> io::Result<()> {
        self.tell_call(call, "in_progress")
    }

    fn tool_line(&mut self, _line: String, _kept: usize) {}

    fn end_tool(&mut self, call: &ToolCall, outcome: Outcome, output: &str) -> io::Result<()> {
        self.end_call(&call.id, &updates::ended(call, &outcome, output))
    }

    fn refuse_tool(&mut self, call: &ToolCall) -> io::Result<()> {
        let denied = Outcome::Failed("denied".to_owned());
        self.end_call(&call.id, &updates::ended(call, &denied, ""))
    }

    async fn ask_permission(&mut self, asked: &Asked<'_>) -> Result<Answer, Break> {
        self.tell_call(asked.call, "pending")?;
        self.asked += 1;
        let ours = self.asked;
        let session = self.session.clone().unwrap_or_default();
        self.send(&json!({
            "jsonrpc": "2.0",
            "id": ours,
            "method": "session/request_permission",
            "params": updates::permission(&session, asked),
        }))?;
        loop {
            match self.hear().await? {
                Heard::Cancelled => return Err(Break::Interrupted),
                Heard::Answered(id, result) if id == ours => return chosen(result.as_ref()),
                Heard::Answered(..) | Heard::Nothing => {}
            }
        }
    }

    /// The protocol has no question in words: it is said, the turn ends, and the next
    /// prompt answers it.
    async fn ask_in_words(&mut self, question: String) -> Result<String, Break> {
        self.notice(question)?;
        self.end_prompt("end_turn")?;
        let answer = self.next_prompt().await?;
        self.saying = Saying::Nothing;
        Ok(answer.trim().to_owned())
    }

    async fn hang(&mut self) -> Break {
        loop {
            match self.incoming.recv().await {
                Some(Incoming::Ended(signal)) => return Break::Exit(HANGUP_CODE + signal),
                Some(Incoming::EndOfInput) | None => return Break::Exit(0),
                Some(Incoming::Line(_) | Incoming::TooLong) => {}
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        Ok(())
    }

    async fn attend(&mut self) -> Result<(), Break> {
        match self.hear().await? {
            Heard::Cancelled if self.running.is_some() => Err(Break::Interrupted),
            Heard::Cancelled | Heard::Answered(..) | Heard::Nothing => Ok(()),
        }
    }
}

/// An answer that chooses nothing allows nothing.
fn chosen(result: Option<&Value>) -> Result<Answer, Break> {
    let outcome = result.map_or(&Value::Null, |result| &result["outcome"]);
    if outcome["outcome"] == "cancelled" {
        return Err(Break::Interrupted);
    }
    let option = outcome["optionId"].as_str().unwrap_or_default();
    let found = updates::OPTIONS.iter().find(|(id, ..)| *id == option);
    Ok(found.map_or(Answer::Deny, |(.., answer)| *answer))
}

/// Lines are read on a thread of their own, which ends with the process.
fn incoming() -> io::Result<mpsc::Receiver<Incoming>> {
    let (sender, receiver) = mpsc::channel(LINES_AHEAD);
    for (kind, number) in [
        (SignalKind::interrupt(), 2),
        (SignalKind::terminate(), 15),
        (SignalKind::hangup(), 1),
    ] {
        let mut signals = signal(kind)?;
        let sender = sender.clone();
        tokio::spawn(async move {
            if signals.recv().await.is_some() {
                let _ = sender.send(Incoming::Ended(number)).await;
            }
        });
    }
    std::thread::spawn(move || read_lines(&sender));
    Ok(receiver)
}

fn read_lines(sender: &mpsc::Sender<Incoming>) {
    let mut decoder = FrameDecoder::reporting(MAX_LINE, Oversized::AtOnce);
    let mut bytes = vec![0; 64 << 10];
    loop {
        match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
            Err(rustix::io::Errno::INTR) => continue,
            Ok(0) | Err(_) => {
                let _ = sender.blocking_send(Incoming::EndOfInput);
                return;
            }
            Ok(count) => decoder.feed(&bytes[..count]),
        }
        while let Some(frame) = decoder.next_frame() {
            let incoming = match frame {
                Frame::Message(line) => Incoming::Line(line.to_vec()),
                Frame::TooLarge => Incoming::TooLong,
            };
            if sender.blocking_send(incoming).is_err() {
                return;
            }
        }
    }
}
