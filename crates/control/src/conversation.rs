//! The part both dialects share: open requests, permissions, the turn, and the events
//! of the line being read.
//!
//! Everything that changes the state is a line, of either side. A request of ours
//! changes it when its line is noted as sent, never when it is made, and that is the
//! same function whether the line was just written or is read from a recording.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use missiond_core::Timestamp;
use serde_json::Value;

use crate::event::{Activity, Agent, ControlEvent, MismatchAt, Origin, Session, TurnEnd};
use crate::json::{InputDigest, canonical};
use crate::options::Options;
use crate::permission::{
    AgentRequestId, Announced, OptionKind, PermissionOption, PermissionRequest, Resolution,
};
use crate::request::RequestId;
use crate::rpc;
use crate::state::{Connection, OpenPermission, Turn};
use crate::text::Clipped;
use crate::tool::{ToolCallId, ToolInput, ToolKind};
use crate::tool_memory::{Fingerprint, Remembered, ToolMemory};
use crate::trouble::Trouble;

/// How many ended requests are remembered, to tell a second answer from a stray one.
const REMEMBERED: usize = 64;

/// What a request of ours was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) params: AskedParams,
    pub(crate) since: Timestamp,
}

/// Of the parameters what the answer needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AskedParams {
    pub(crate) session: Option<String>,
    pub(crate) cwd: Option<String>,
    /// The history comes too.
    pub(crate) is_load: bool,
    /// The id of what was chosen.
    pub(crate) choice: Option<(String, String)>,
}

/// A message the protocol wants from us that no caller decides about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Owed {
    Answer {
        id: AgentRequestId,
        body: Result<Value, Value>,
    },
    Notice {
        method: &'static str,
    },
}

/// An open permission with the answer each of its options is on the wire.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asking {
    pub(crate) open: OpenPermission,
    pub(crate) answers: Vec<Value>,
    /// The answer that cancels.
    pub(crate) cancel: Value,
    print: Option<Fingerprint>,
    bytes: usize,
}

#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) options: Options,
    pub(crate) connection: Connection,
    pub(crate) asked: BTreeMap<u64, Asked>,
    pub(crate) last_id: u64,
    answered: VecDeque<u64>,
    pub(crate) session: Option<Session>,
    /// A session that was loaded, and whose history is still being told; with the
    /// request, which counts as open until then.
    pub(crate) retold: Option<(RequestId, Session)>,
    pub(crate) turn: Option<Turn>,
    pub(crate) queued: VecDeque<RequestId>,
    pub(crate) permissions: Vec<Asking>,
    /// Questions of a turn that is being cancelled, with the answers that cancel. Nobody
    /// decides about them any more, and the agent is still to take them back.
    dropped: Vec<(AgentRequestId, Value)>,
    settled: VecDeque<AgentRequestId>,
    pub(crate) tools: ToolMemory,
    pub(crate) children: BTreeSet<String>,
    pub(crate) activity: Option<Activity>,
    pub(crate) owed: Vec<Owed>,
    pub(crate) unknown: BTreeMap<String, u64>,
    pub(crate) last_line_at: Option<Timestamp>,
    /// When the line being read came.
    pub(crate) now: Timestamp,
    pub(crate) line_bytes: usize,
    events: Vec<ControlEvent>,
    omitted: usize,
    /// The sub-agent whose events are being told.
    speaking_for: Option<String>,
}

impl Conversation {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            connection: Connection::New,
            asked: BTreeMap::new(),
            last_id: 0,
            answered: VecDeque::new(),
            session: None,
            retold: None,
            turn: None,
            queued: VecDeque::new(),
            permissions: Vec::new(),
            dropped: Vec::new(),
            settled: VecDeque::new(),
            tools: ToolMemory::default(),
            children: BTreeSet::new(),
            activity: None,
            owed: Vec::new(),
            unknown: BTreeMap::new(),
            last_line_at: None,
            now: Timestamp::from_micros(0),
            line_bytes: 0,
            events: Vec::new(),
            omitted: 0,
            speaking_for: None,
        }
    }

    // Events of one line.

    pub(crate) fn emit(&mut self, event: ControlEvent) {
        if self.events.len() >= self.options.limits.events_per_line {
            self.omitted += 1;
            return;
        }
        self.events.push(match &self.speaking_for {
            Some(session) => ControlEvent::SubAgent {
                session: session.clone(),
                event: Box::new(event),
            },
            None => event,
        });
    }

    pub(crate) fn trouble(&mut self, trouble: Trouble) {
        self.emit(ControlEvent::Trouble(trouble));
    }

    pub(crate) fn malformed(&mut self, method: &str, member: &str) {
        let method = Clipped::new(method, self.options.limits.raw);
        self.trouble(Trouble::Malformed {
            method,
            member: member.to_owned(),
        });
    }

    pub(crate) fn out_of_order(&mut self, what: impl Into<String>) {
        self.trouble(Trouble::OutOfOrder { what: what.into() });
    }

    pub(crate) fn take_events(&mut self) -> Vec<ControlEvent> {
        self.speaking_for = None;
        let mut events = std::mem::take(&mut self.events);
        let omitted = std::mem::take(&mut self.omitted);
        if omitted > 0 {
            events.push(ControlEvent::Trouble(Trouble::TooManyEvents { omitted }));
        }
        events
    }

    /// The events until the line's end are a sub-agent's.
    pub(crate) fn speak_for(&mut self, session: &str) {
        self.speaking_for = Some(session.to_owned());
    }

    // Bounded pieces of messages.

    pub(crate) fn clip(&self, text: &str) -> Clipped {
        Clipped::new(text, self.options.limits.text)
    }

    pub(crate) fn clip_at(&self, value: &Value, member: &str) -> Option<Clipped> {
        value[member].as_str().map(|text| self.clip(text))
    }

    pub(crate) fn raw(&self, value: &Value) -> Clipped {
        Clipped::new(&value.to_string(), self.options.limits.raw)
    }

    pub(crate) fn meta(&self, value: &Value) -> Option<Clipped> {
        value
            .get("_meta")
            .filter(|meta| !meta.is_null())
            .map(|meta| self.raw(meta))
    }

    /// The elements of a list, as many as are kept.
    pub(crate) fn list<'v>(&self, value: &'v Value, member: &str) -> &'v [Value] {
        let list = value[member].as_array().map_or(&[][..], Vec::as_slice);
        &list[..list.len().min(self.options.limits.list)]
    }

    // Requests of ours.

    pub(crate) fn agent(&self) -> Option<&Agent> {
        match &self.connection {
            Connection::Ready(agent) => Some(agent),
            _ => None,
        }
    }

    pub(crate) fn sent_request(&mut self, id: u64, asked: Asked) {
        self.last_id = self.last_id.max(id);
        self.asked.insert(id, asked);
    }

    /// The request an answer is to; none if it is to nothing, which is said.
    pub(crate) fn answered(&mut self, id: &AgentRequestId) -> Option<(RequestId, Asked)> {
        let number = match id {
            AgentRequestId::Number(number) => u64::try_from(*number).ok(),
            AgentRequestId::Text(_) => None,
        };
        if let Some((number, asked)) = number.and_then(|number| self.asked.remove_entry(&number)) {
            remember(&mut self.answered, number);
            return Some((RequestId(number), asked));
        }
        let trouble = match number.filter(|number| self.answered.contains(number)) {
            Some(number) => Trouble::SecondAnswer {
                id: RequestId(number),
            },
            None => Trouble::AnswerToNothing {
                id: Clipped::new(&id.to_string(), self.options.limits.raw),
            },
        };
        self.trouble(trouble);
        None
    }

    /// Whether what is told now is told again: a session is being loaded.
    pub(crate) fn origin(&self) -> Origin {
        if self.asked.values().any(|asked| asked.params.is_load) {
            Origin::History
        } else {
            Origin::Live
        }
    }

    // The turn.

    pub(crate) fn begin_turn(&mut self, request: Option<RequestId>, id: Option<String>) {
        self.turn = Some(Turn {
            request,
            id: id.clone(),
            since: self.now,
            is_cancelling: false,
            is_confirmed: false,
        });
        self.emit(ControlEvent::TurnBegan { request, turn: id });
    }

    /// Ends the turn that runs, and begins the next prompt that waits.
    pub(crate) fn end_turn(&mut self, end: TurnEnd, meta: Option<Clipped>) {
        let Some(turn) = self.turn.take() else {
            self.out_of_order("a turn ended that did not run");
            return;
        };
        self.emit(ControlEvent::TurnEnded {
            request: turn.request,
            turn: turn.id,
            end,
            meta,
        });
        // What it has not taken back by now it may still wait for.
        let left = self.dropped.drain(..);
        self.owed.extend(left.map(|(id, cancel)| Owed::Answer {
            id,
            body: Ok(cancel),
        }));
        if let Some(next) = self.queued.pop_front() {
            self.begin_turn(Some(next), None);
        }
    }

    // Requests of the agent.

    pub(crate) fn owe_error(&mut self, id: AgentRequestId, code: i64, message: &str) {
        self.owed.push(Owed::Answer {
            id,
            body: Err(rpc::error(code, message)),
        });
    }

    pub(crate) fn refuse_request(&mut self, id: AgentRequestId, method: &str, params: &Value) {
        let event = ControlEvent::RequestRefused {
            method: Clipped::new(method, self.options.limits.raw),
            raw: self.raw(params),
        };
        self.emit(event);
        self.owe_error(
            id,
            rpc::METHOD_NOT_FOUND,
            "this client does not offer that method",
        );
    }

    /// A request whose first still waits: an answer would be taken for the first's.
    pub(crate) fn is_duplicate(&mut self, id: &AgentRequestId) -> bool {
        let open = self
            .permissions
            .iter()
            .any(|asking| asking.open.request.id == *id)
            || self.dropped.iter().any(|(dropped, _)| dropped == id)
            || self
                .owed
                .iter()
                .any(|owed| matches!(owed, Owed::Answer { id: other, .. } if other == id));
        if open {
            self.trouble(Trouble::DuplicateRequest { id: id.clone() });
        }
        open
    }

    pub(crate) fn ask_permission(
        &mut self,
        request: PermissionRequest,
        print: Option<Fingerprint>,
        answers: Vec<Value>,
        cancel: Value,
    ) {
        let limits = self.options.limits;
        let bytes: usize = self.permissions.iter().map(|asking| asking.bytes).sum();
        // The first is always taken; together they cost no more than two lines.
        if self.permissions.len() + self.dropped.len() >= limits.open_permissions
            || (bytes > 0 && bytes + self.line_bytes > limits.line)
        {
            self.trouble(Trouble::TooManyPermissions {
                limit: limits.open_permissions,
            });
            self.owed.push(Owed::Answer {
                id: request.id,
                body: Ok(cancel),
            });
            return;
        }
        self.emit(ControlEvent::PermissionRequested(Box::new(request.clone())));
        self.permissions.push(Asking {
            open: OpenPermission {
                request,
                since: self.now,
            },
            answers,
            cancel,
            print,
            bytes: self.line_bytes,
        });
    }

    pub(crate) fn permission(&self, id: &AgentRequestId) -> Option<&Asking> {
        self.permissions
            .iter()
            .find(|asking| asking.open.request.id == *id)
    }

    pub(crate) fn was_settled(&self, id: &AgentRequestId) -> bool {
        self.settled.contains(id)
    }

    /// The agent no longer waits for an answer, or never gets one.
    pub(crate) fn settle(&mut self, id: &AgentRequestId, resolution: Resolution) -> bool {
        let at = self
            .permissions
            .iter()
            .position(|asking| asking.open.request.id == *id);
        let Some(asking) = at.map(|at| self.permissions.remove(at)) else {
            return false;
        };
        remember(&mut self.settled, id.clone());
        if let Resolution::Answered {
            kind: OptionKind::AllowOnce | OptionKind::AllowAlways,
            ..
        } = &resolution
        {
            self.permitted(&asking);
        }
        self.emit(ControlEvent::PermissionResolved {
            id: id.clone(),
            resolution,
        });
        true
    }

    /// The turn is being cancelled: nobody decides about what it asks.
    pub(crate) fn drop_questions(&mut self) {
        let open: Vec<_> = self
            .permissions
            .iter()
            .map(|asking| (asking.open.request.id.clone(), asking.cancel.clone()))
            .collect();
        for (id, _) in &open {
            self.settle(id, Resolution::Cancelled);
        }
        self.dropped.extend(open);
    }

    /// The agent takes a question back that was dropped.
    pub(crate) fn take_back(&mut self, id: &AgentRequestId) -> bool {
        let before = self.dropped.len();
        self.dropped.retain(|(dropped, _)| dropped != id);
        self.dropped.len() < before
    }

    /// An answer of ours went out.
    pub(crate) fn sent_answer(&mut self, id: &AgentRequestId, body: &Result<Value, Value>) {
        if let Some(asking) = self.permission(id) {
            let chosen = body.as_ref().ok().and_then(|body| {
                let at = asking.answers.iter().position(|answer| answer == body)?;
                asking.open.request.options.get(at)
            });
            let resolution = match chosen {
                Some(PermissionOption { id, kind, .. }) => Resolution::Answered {
                    option: id.clone(),
                    kind: kind.clone(),
                },
                None => Resolution::Cancelled,
            };
            self.settle(id, resolution);
        }
        self.owed
            .retain(|owed| !matches!(owed, Owed::Answer { id: other, .. } if other == id));
    }

    fn permitted(&mut self, asking: &Asking) {
        let request = &asking.open.request;
        let (Some(tool), Some(print)) = (&request.tool_call, &asking.print) else {
            return;
        };
        if let Some(mut call) = self.tools.get(&request.session, tool).cloned() {
            call.permitted = Some((print.clone(), request.input.clone()));
            self.tools.put(call, &self.options.limits);
        }
    }

    // Tools.

    /// An input as it is told, and what it is compared by. An empty object says that
    /// the arguments are still to come, so nothing is compared with it.
    pub(crate) fn input(
        &self,
        tool: &str,
        call: &ToolCallId,
        raw: &Value,
        cwd: &str,
    ) -> (ToolInput, Option<Fingerprint>) {
        if raw.is_null() {
            return (ToolInput::NotSaid, None);
        }
        let effect = self.without_bookkeeping(call, raw);
        let effect = effect.as_ref().unwrap_or(raw);
        let input = ToolInput::Said {
            json: Clipped::new(&canonical(raw), self.options.limits.input),
            digest: InputDigest::new(tool, effect, cwd),
        };
        let is_empty = raw.as_object().is_some_and(serde_json::Map::is_empty);
        let print = (!is_empty).then(|| Fingerprint::new(effect, &self.options.limits));
        (input, print)
    }

    fn without_bookkeeping(&self, call: &ToolCallId, raw: &Value) -> Option<Value> {
        let object = raw.as_object()?;
        let bookkeeping = &self.options.bookkeeping;
        if bookkeeping.is_empty() || !object.values().any(|value| value == call.0.as_str()) {
            return None;
        }
        Some(
            object
                .iter()
                .filter(|(name, value)| *value != call.0.as_str() && !bookkeeping.contains(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }

    /// How a request's input stands to what was announced; a contradiction is told.
    pub(crate) fn compare_with_announced(
        &mut self,
        known: Option<&Remembered>,
        input: &ToolInput,
        print: Option<&Fingerprint>,
    ) -> Announced {
        let Some(known) = known else {
            return Announced::NotBefore;
        };
        let (Some(before), Some(now)) = (&known.print, print) else {
            return Announced::WithoutInput;
        };
        let announced = before.compare(now);
        if announced == Announced::Contradicts {
            self.emit(ControlEvent::InputMismatch {
                tool_call: known.id.clone(),
                at: MismatchAt::Request,
                first: known.input.clone(),
                second: input.clone(),
            });
        }
        announced
    }

    /// Tells an input that contradicts the one a permission was given for.
    pub(crate) fn check_permitted(&mut self, call: &Remembered) {
        let (Some((permitted, first)), Some(now)) = (&call.permitted, &call.print) else {
            return;
        };
        if permitted.compare(now) == Announced::Contradicts {
            self.emit(ControlEvent::InputMismatch {
                tool_call: call.id.clone(),
                at: MismatchAt::AfterPermission,
                first: first.clone(),
                second: call.input.clone(),
            });
        }
    }

    pub(crate) fn new_call(&self, session: &str, id: ToolCallId, kind: ToolKind) -> Remembered {
        Remembered {
            session: session.to_owned(),
            id,
            name: None,
            kind,
            title: self.clip(""),
            input: ToolInput::NotSaid,
            print: None,
            cwd: None,
            content: Vec::new(),
            permitted: None,
            is_final: false,
        }
    }

    // What nobody here knows.

    pub(crate) fn unknown_notification(&mut self, method: &str, params: &Value) {
        let name = Clipped::new(method, 128).text;
        // Names are the agent's: their number is bounded like everything else.
        if self.unknown.contains_key(&name) || self.unknown.len() < self.options.limits.list {
            *self.unknown.entry(name).or_default() += 1;
        }
        let event = ControlEvent::UnknownNotification {
            method: Clipped::new(method, self.options.limits.raw),
            raw: self.raw(params),
        };
        self.emit(event);
    }

    /// A prompt of ours was sent: its words, and what else is in it.
    pub(crate) fn prompted(&mut self, request: RequestId, parts: &Value) {
        let parts = parts.as_array().map_or(&[] as &[_], Vec::as_slice);
        let words = parts.iter().map(|part| match part["text"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("[{}]", part["type"].as_str().unwrap_or("part")),
        });
        let text = self.clip(&words.collect::<Vec<_>>().join("\n"));
        self.emit(ControlEvent::Prompted { request, text });
    }

    pub(crate) fn disconnect(&mut self) {
        self.connection = Connection::Ended;
        for id in self
            .permissions
            .iter()
            .map(|asking| asking.open.request.id.clone())
            .collect::<Vec<_>>()
        {
            self.settle(&id, Resolution::Lost);
        }
        self.queued.clear();
        if self.turn.is_some() {
            self.end_turn(TurnEnd::ConnectionLost, None);
        }
        self.asked.clear();
        self.retold = None;
        self.dropped.clear();
        self.owed.clear();
        self.activity = None;
    }
}

fn remember<T>(ring: &mut VecDeque<T>, item: T) {
    ring.push_back(item);
    if ring.len() > REMEMBERED {
        ring.pop_front();
    }
}
