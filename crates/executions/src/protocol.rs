//! What a structured agent tells becomes observations: its own word, exact, and counted
//! once by the line it stands in. The recording of the protocol is to it what a
//! transcript is to an agent in a terminal.

use std::sync::Arc;
use std::time::Instant;

use missiond_adapters::TranscriptTail;
use missiond_control::{
    AgentRequestId, Clipped, ContentPart, ControlEvent, MessagePart, OptionKind, Origin,
    PermissionRequest, Placement, Resolution, Speaker as Voice, Tokens, ToolCall, ToolCallId,
    ToolCallUpdate, ToolInput, ToolKind, ToolStatus, TurnEnd,
};
use missiond_core::{Controller, Timestamp, ToolOutcome};
use missiond_journal::catalogue::{
    Diagnostic, DiagnosticCode, Dialog, Edge, Speaker, Target, TargetKind, Thinking, ToolUse, Turn,
    Usage, limits,
};
use missiond_journal::{Confidence, Observed, Source, Text};
use missiond_runtime::blocking;
use missiond_slots::{OpenSlot, ProtocolTail, Slots, TailedEvent};
use missiond_store::executions;

use super::facts;
use super::run::{ObservationDraft, Run};
use super::standing::Standing;
use super::witness::Witness;
use crate::context::Context;
use crate::error::ExecutionError;

const NOTHING: Tokens = Tokens {
    input: Some(0),
    output: Some(0),
    cached_read: Some(0),
    cached_write: Some(0),
    reasoning: Some(0),
    total: Some(0),
};

/// Calls whose end is waited for; the oldest are forgotten.
const MOST_CALLS: usize = 256;

/// Bytes of one speech that are remembered.
const LONGEST_SPEECH: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Protocol {
    /// None while it is read.
    tail: Option<ProtocolTail>,
    telling: Telling,
    /// The agent's own name of the conversation.
    conversation: Option<String>,
    witness: Witness,
}

impl Protocol {
    /// The conversation in a slot; none for a terminal.
    pub(super) fn of(open: &OpenSlot) -> Option<Self> {
        let tail = ProtocolTail::of(&open.record)?;
        Some(Self::new(tail, open.record.generation))
    }

    fn new(tail: ProtocolTail, generation: u32) -> Self {
        Self {
            tail: Some(tail),
            telling: Telling {
                generation,
                ..Telling::default()
            },
            conversation: None,
            witness: Witness::new(),
        }
    }

    pub(super) fn conversation(&self) -> Option<&str> {
        self.conversation.as_deref()
    }

    /// Holds what was heard against the agent's own record.
    pub(super) async fn question_witness(
        &mut self,
        context: &Context,
        run: &Run,
        record: Option<&TranscriptTail>,
    ) -> Result<(), ExecutionError> {
        self.witness.testify(context, run, record).await
    }

    /// Takes in what has come since.
    pub(super) async fn advance(
        &mut self,
        context: &Context,
        run: &Arc<Run>,
    ) -> Result<(), ExecutionError> {
        loop {
            let Some(mut tail) = self.tail.take() else {
                return Ok(());
            };
            let (tail, read) = blocking(move || {
                let read = tail.read();
                (tail, read)
            })
            .await;
            self.tail = Some(tail);
            match read {
                Ok(events) if events.is_empty() => return Ok(()),
                Ok(events) => self.record(context, run, &events).await?,
                Err(error) => {
                    tracing::debug!(execution = %run.id, %error, "protocol recording unavailable");
                    return Ok(());
                }
            }
        }
    }

    async fn record(
        &mut self,
        context: &Context,
        run: &Arc<Run>,
        events: &[TailedEvent],
    ) -> Result<(), ExecutionError> {
        let now = Instant::now();
        for event in events {
            self.witness.hear(&event.event, now);
            if let ControlEvent::SessionOpened(session) = &event.event {
                let (id, conversation) = (run.id, session.id.clone());
                self.conversation = Some(session.id.clone());
                context
                    .db
                    .write(move |tx| {
                        Box::pin(async move {
                            executions::set_conversation(tx, id, &conversation).await
                        })
                    })
                    .await?;
            }
            for seen in self.telling.observations(event) {
                let known =
                    |state: &missiond_journal::ExecutionState| state.processed(&seen.key).is_some();
                // A daemon that takes over reads the recording from its beginning.
                if !run.journal().peek(known)? {
                    run.observe(seen).await?;
                }
            }
        }
        Ok(())
    }
}

/// Who drives the agent of a run.
pub(super) fn controller(protocol: Option<&Protocol>) -> Controller {
    match protocol {
        Some(_) => Controller::Structured,
        None => Controller::Terminal,
    }
}

/// Takes in what the programs before the one that runs in the slot of a run said last: a
/// daemon may have died before it heard it.
pub(super) async fn read_earlier(context: &Context, run: &Arc<Run>) -> Result<(), ExecutionError> {
    let recordings = context.slots.recordings(run.slot);
    let earlier = recordings.len().saturating_sub(1);
    for (path, generation) in recordings.into_iter().take(earlier).zip(1..) {
        if let Some(tail) = blocking(move || ProtocolTail::of_recording(&path)).await {
            Protocol::new(tail, generation)
                .advance(context, run)
                .await?;
        }
    }
    Ok(())
}

/// Whether the recordings of a slot have this text as the last prompt by a protocol, sent
/// after it was accepted; none where a terminal may have been given it. What is on record
/// was given to the agent.
pub(super) async fn has_prompt(
    slots: &Slots,
    open: &OpenSlot,
    text: &str,
    accepted_at: Timestamp,
) -> Option<bool> {
    let recordings = slots.recordings(open.slot.id);
    let last = blocking(move || {
        let tails = recordings.iter().rev();
        let mut tails = tails.filter_map(|path| ProtocolTail::of_recording(path));
        tails.find_map(last_prompt)
    })
    .await;
    let is_last = last.is_some_and(|(at, prompt)| at >= accepted_at && prompt.text.ends_with(text));
    match open.controller() {
        Controller::Structured => Some(is_last),
        Controller::Terminal => is_last.then_some(true),
    }
}

/// The last prompt of a recording, with its time.
fn last_prompt(mut tail: ProtocolTail) -> Option<(Timestamp, Clipped)> {
    let mut last = None;
    loop {
        let events = tail.read().ok()?;
        if events.is_empty() {
            return last;
        }
        for tailed in events {
            if let ControlEvent::Prompted { text, .. } = tailed.event {
                last = Some((tailed.at, text));
            }
        }
    }
}

/// What later events refer to.
#[derive(Debug, Default)]
struct Telling {
    /// The number of the program whose recording is read.
    generation: u32,
    /// What an agent says comes in pieces: they are one speech until something else
    /// happens.
    spoken: Option<Spoken>,
    thinks: bool,
    calls: Vec<(ToolCallId, ToolUse)>,
    /// The calls that questions are about which nobody has answered yet.
    asked: Vec<(AgentRequestId, ToolCallId)>,
    /// Calls somebody said no to. Most protocols have no word for how such a call ends,
    /// and some have no end of it at all.
    refused: Vec<ToolCallId>,
    usage: Option<Tokens>,
    /// Of the whole session, as it was told last.
    counted: Option<Tokens>,
    prompted: bool,
    standing: Standing,
}

#[derive(Debug)]
struct Spoken {
    /// Where it began.
    place: String,
    message: Option<String>,
    text: String,
}

impl Telling {
    fn observations(&mut self, tailed: &TailedEvent) -> Vec<ObservationDraft> {
        let place = match self.generation {
            0 | 1 => format!("protocol:{}:{}", tailed.line, tailed.index),
            later => format!("protocol:{later}/{}:{}", tailed.line, tailed.index),
        };
        let mut all = Vec::new();
        if let ControlEvent::Message(message) = &tailed.event {
            self.message(message, &place, &mut all);
            return all;
        }
        if !is_beside(&tailed.event) {
            self.end_speech(&place, &mut all);
        }
        let standing = self.standing.observed(&tailed.event);
        let standing = standing.into_iter().enumerate();
        all.extend(
            standing.map(|(index, observed)| seen(&format!("{place}:standing:{index}"), observed)),
        );
        all.extend(
            self.observed(&tailed.event)
                .into_iter()
                .enumerate()
                .map(|(index, observed)| seen(&format!("{place}:{index}"), observed)),
        );
        all
    }

    fn message(&mut self, message: &MessagePart, place: &str, all: &mut Vec<ObservationDraft>) {
        if message.origin == Origin::History {
            return;
        }
        match (message.speaker, &message.part) {
            (Voice::Agent, Some(ContentPart::Text(text))) => {
                if std::mem::take(&mut self.thinks) {
                    let ended = Thinking { edge: Edge::Ended };
                    all.push(seen(&format!("{place}:thought"), facts::fact(ended)));
                }
                let id = message.message.as_ref().map(|id| id.text.clone());
                // Another message is another speech.
                if self
                    .spoken
                    .as_ref()
                    .is_some_and(|spoken| spoken.message != id)
                {
                    self.end_speech(place, all);
                }
                let spoken = self.spoken.get_or_insert_with(|| Spoken {
                    place: place.to_owned(),
                    message: id,
                    text: String::new(),
                });
                if message.placement == Placement::Replaced {
                    spoken.text.clear();
                }
                // The journal keeps the beginning.
                if spoken.text.len() <= LONGEST_SPEECH {
                    spoken.text.push_str(&text.text);
                }
            }
            (Voice::Thought, _) if !self.thinks => {
                self.end_speech(place, all);
                self.thinks = true;
                let began = Thinking { edge: Edge::Began };
                all.push(seen(&format!("{place}:thinks"), facts::fact(began)));
            }
            _ => {}
        }
    }

    fn end_speech(&mut self, place: &str, all: &mut Vec<ObservationDraft>) {
        if std::mem::take(&mut self.thinks) {
            let ended = Thinking { edge: Edge::Ended };
            all.push(seen(&format!("{place}:thought"), facts::fact(ended)));
        }
        if let Some(Spoken { place, text, .. }) = self.spoken.take()
            && let Some(speech) = facts::speech(Speaker::Agent, text.trim())
        {
            all.push(seen(&format!("{place}:speech"), speech));
        }
    }

    fn observed(&mut self, event: &ControlEvent) -> Vec<Observed> {
        match event {
            ControlEvent::SessionOpened(session) => {
                vec![facts::fact(facts::session(&session.id, None))]
            }
            ControlEvent::Prompted { text, .. } => {
                self.prompted = true;
                let said = facts::speech(Speaker::Operator, &text.text);
                said.into_iter().collect()
            }
            ControlEvent::TurnBegan { .. } => vec![facts::fact(Turn { edge: Edge::Began })],
            ControlEvent::TurnEnded { end, .. } => self.turn_ended(end),
            ControlEvent::ToolCallAnnounced { call, origin } if *origin == Origin::Live => {
                let began = tool_use(call);
                if is_over(&call.status).is_some() {
                    let ended = end_of(&began, &call.status);
                    return vec![facts::fact(began), facts::fact(ended)];
                }
                self.calls.push((call.id.clone(), began.clone()));
                let too_many = self.calls.len().saturating_sub(MOST_CALLS);
                self.calls.drain(..too_many);
                vec![facts::fact(began)]
            }
            ControlEvent::ToolCallUpdated { update, origin } if *origin == Origin::Live => {
                self.tool_updated(update).into_iter().collect()
            }
            ControlEvent::PermissionRequested(request) => {
                if let Some(call) = &request.tool_call {
                    self.asked.push((request.id.clone(), call.clone()));
                    let too_many = self.asked.len().saturating_sub(MOST_CALLS);
                    self.asked.drain(..too_many);
                }
                vec![facts::fact(asked(request))]
            }
            ControlEvent::PermissionResolved { id, resolution } => {
                self.answered(id, resolution);
                vec![facts::fact(Dialog {
                    edge: Edge::Ended,
                    question: None,
                    input_digest: None,
                })]
            }
            ControlEvent::UsageChanged(usage) => {
                let since = usage.session.filter(|_| usage.request.is_none());
                let since = since.map(|whole| less(whole, self.counted.unwrap_or_default()));
                self.usage = usage.turn.or(since).or(self.usage);
                // Some tell the last request again when a turn ends, or a session is
                // taken up: then the whole is what it was.
                let is_new = usage.session.is_none() || usage.session != self.counted;
                self.counted = usage.session.or(self.counted);
                let request = usage.request.as_ref().filter(|_| is_new && self.prompted);
                request.map(used).into_iter().collect()
            }
            ControlEvent::InputMismatch { first, second, .. } => {
                let (first, second) = (words(first), words(second));
                vec![diagnostic(
                    DiagnosticCode::Malformed,
                    &format!(
                        "another input than the announced or permitted one: {second} instead of \
                         {first}"
                    ),
                )]
            }
            ControlEvent::Trouble(trouble) => {
                vec![diagnostic(DiagnosticCode::Malformed, &trouble.to_string())]
            }
            ControlEvent::Error { error, .. } => {
                vec![diagnostic(
                    DiagnosticCode::Program,
                    &error.message.to_string(),
                )]
            }
            ControlEvent::RequestFailed { method, error, .. } => vec![diagnostic(
                DiagnosticCode::Program,
                &format!("{method}: {}", error.message),
            )],
            ControlEvent::AuthenticationRequired { error, .. } => vec![diagnostic(
                DiagnosticCode::Program,
                &format!("the agent must be signed in: {}", error.message),
            )],
            _ => Vec::new(),
        }
    }

    fn turn_ended(&mut self, end: &TurnEnd) -> Vec<Observed> {
        let mut all = Vec::new();
        if let TurnEnd::Limit(error) | TurnEnd::Failed(error) = end {
            all.push(diagnostic(
                DiagnosticCode::Program,
                &error.message.to_string(),
            ));
        }
        let used_any = |tokens: &Tokens| less(*tokens, Tokens::default()) != NOTHING;
        all.extend(self.usage.take().filter(used_any).as_ref().map(used));
        // A tool whose end no word tells of ended with the turn.
        for (id, began) in self.calls.drain(..) {
            let refused = self.refused.contains(&id);
            all.push(facts::fact(ToolUse {
                edge: Edge::Ended,
                outcome: refused.then_some(ToolOutcome::Denied),
                ..began
            }));
        }
        self.refused.clear();
        all.push(facts::fact(Turn { edge: Edge::Ended }));
        all
    }

    fn tool_updated(&mut self, update: &ToolCallUpdate) -> Option<Observed> {
        let index = self.calls.iter().position(|(id, _)| *id == update.id)?;
        if let Some(input) = &update.input {
            self.calls[index].1.input_digest = digest(input);
        }
        let status = update.status.as_ref()?;
        is_over(status)?;
        let (id, began) = self.calls.remove(index);
        let mut ended = end_of(&began, status);
        if self.refused.contains(&id) && ended.outcome == Some(ToolOutcome::Failed) {
            ended.outcome = Some(ToolOutcome::Denied);
        }
        Some(facts::fact(ended))
    }

    fn answered(&mut self, id: &AgentRequestId, resolution: &Resolution) {
        let Some(index) = self.asked.iter().position(|(asked, _)| asked == id) else {
            return;
        };
        let (_, call) = self.asked.remove(index);
        let said_no = matches!(
            resolution,
            Resolution::Answered {
                kind: OptionKind::RejectOnce | OptionKind::RejectAlways | OptionKind::RejectAndStop,
                ..
            }
        );
        if said_no {
            self.refused.push(call);
        }
    }
}

/// What an agent tells of itself at any moment, in the middle of a sentence too.
fn is_beside(event: &ControlEvent) -> bool {
    matches!(
        event,
        ControlEvent::CommandsChanged { .. }
            | ControlEvent::SettingsChanged { .. }
            | ControlEvent::ModeChanged { .. }
            | ControlEvent::ModelChanged { .. }
            | ControlEvent::SessionTitled { .. }
            | ControlEvent::RateLimitsChanged(_)
            | ControlEvent::UnknownNotification { .. }
    )
}

fn seen(place: &str, observed: Observed) -> ObservationDraft {
    ObservationDraft {
        key: facts::key(place),
        source: Source::Protocol,
        confidence: Confidence::Authoritative,
        observed,
    }
}

fn diagnostic(code: DiagnosticCode, detail: &str) -> Observed {
    facts::fact(Diagnostic {
        code,
        detail: facts::some_text(detail),
    })
}

fn used(tokens: &Tokens) -> Observed {
    facts::fact(Usage {
        model: None,
        input_tokens: tokens.input.unwrap_or(0),
        output_tokens: tokens.output.unwrap_or(0),
        cache_read_tokens: tokens.cached_read.unwrap_or(0),
        cache_write_tokens: tokens.cached_write.unwrap_or(0),
    })
}

/// What was used since the session was counted before; nothing for what is not told.
fn less(whole: Tokens, before: Tokens) -> Tokens {
    let rest = |whole: Option<u64>, before: Option<u64>| {
        Some(whole.unwrap_or(0).saturating_sub(before.unwrap_or(0)))
    };
    Tokens {
        input: rest(whole.input, before.input),
        output: rest(whole.output, before.output),
        cached_read: rest(whole.cached_read, before.cached_read),
        cached_write: rest(whole.cached_write, before.cached_write),
        reasoning: rest(whole.reasoning, before.reasoning),
        total: rest(whole.total, before.total),
    }
}

/// The name of a tool. Where the protocol has none, a title of one word is most often
/// the name; a longer one is about this call, so what kind of tool it is says more.
fn name_of(call: &ToolCall) -> &str {
    match (&call.name, &call.kind) {
        (Some(name), _) => &name.text,
        (None, ToolKind::Other) => &call.title.text,
        (None, kind) if call.title.text.contains(char::is_whitespace) => kind.word(),
        (None, _) => &call.title.text,
    }
}

fn tool_use(call: &ToolCall) -> ToolUse {
    ToolUse {
        edge: Edge::Began,
        tool: facts::some_text(name_of(call)),
        target: target(call),
        input_digest: digest(&call.input),
        outcome: None,
    }
}

fn target(call: &ToolCall) -> Option<Target> {
    let kind = match call.kind {
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => TargetKind::File,
        ToolKind::Execute => TargetKind::Command,
        ToolKind::Fetch => TargetKind::Address,
        _ => TargetKind::Other,
    };
    let label = match (&call.kind, call.locations.first()) {
        (ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Read, Some(place)) => {
            &place.path
        }
        _ => &call.title,
    };
    let label = Text::excerpt(&label.text)?;
    Some(Target { kind, label })
}

fn end_of(began: &ToolUse, status: &ToolStatus) -> ToolUse {
    ToolUse {
        edge: Edge::Ended,
        outcome: is_over(status),
        ..began.clone()
    }
}

/// How a call that is over ended.
fn is_over(status: &ToolStatus) -> Option<ToolOutcome> {
    match status {
        ToolStatus::Completed => Some(ToolOutcome::Succeeded),
        ToolStatus::Failed | ToolStatus::Cancelled => Some(ToolOutcome::Failed),
        ToolStatus::Declined => Some(ToolOutcome::Denied),
        ToolStatus::Pending | ToolStatus::Running | ToolStatus::Unknown(_) => None,
    }
}

fn asked(request: &PermissionRequest) -> Dialog {
    Dialog {
        edge: Edge::Began,
        question: Text::excerpt(&request.title.text),
        input_digest: digest(&request.input),
    }
}

fn digest(input: &ToolInput) -> Option<Text<{ limits::LABEL }>> {
    Text::new(input.digest()?.as_str()).ok()
}

fn words(input: &ToolInput) -> String {
    match input {
        ToolInput::Said { json, .. } => json.to_string(),
        ToolInput::NotSaid => "nothing".to_owned(),
    }
}
