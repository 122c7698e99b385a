//! Messages to the agent: accepted by the journal, delivered one at a time, when
//! the agent waits for one.
//!
//! `delivering` is recorded before the first key. A daemon that died in between
//! leaves a message of which the next one finds out whether it arrived; it is
//! never typed a second time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::{
    Controller, DeliveryStatus, MessageId, ObservationId, PtyState, SendWhen, Timestamp,
};
use missiond_journal::catalogue::{Answer, Interrupt, MessageContent, Prompt, Review};
use missiond_journal::policy::MessageOutcome;
use missiond_journal::record::{InputRequest, Sender};
use missiond_journal::{MessageKey, MessageState, NewMessage, Reason, Text};
use missiond_semantic::{DeliveryRefusal, Force, Landed, Submit, When};
use missiond_slots::{Attachment, InputError, Message, OpenSlot, SlotCommand, SlotView, Slots};
use tokio::sync::oneshot;

use super::attachments::{self, AcceptedFiles};
use super::protocol;
use super::run::Run;
use crate::context::Context;
use crate::error::ExecutionError;

/// How long the program may take to be ready, once its screen says that it is.
const READY_WITHIN: Duration = Duration::from_secs(5);
/// Before a message that was refused is tried again, at first and at most.
const SHORTEST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// When a message that was refused is tried again. Each try is on record, so
/// they become rare.
#[derive(Debug, Default)]
pub(super) struct Retry {
    pause: Duration,
    at: Option<Instant>,
}

impl Retry {
    fn is_due(&self) -> bool {
        self.at.is_none_or(|at| at <= Instant::now())
    }

    fn put_off(&mut self) {
        self.pause = (2 * self.pause).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        self.at = Some(Instant::now() + self.pause);
    }
}

/// A message that was accepted, or had been before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    pub message: MessageId,
    pub first: bool,
}

/// Accepts a text for the agent. The same key again is the same message.
pub(super) async fn prompt(
    run: &Arc<Run>,
    text: String,
    files: AcceptedFiles,
    key: Option<String>,
    from: Sender,
    when: SendWhen,
) -> Result<Accepted, ExecutionError> {
    let text = Text::new(text).map_err(|error| invalid(&error))?;
    let files = files.into_paths();
    let content = MessageContent::Prompt(Prompt { text, files, when });
    accept(run, key, from, content).await
}

/// Accepts the answer to an open question: the one named, or the only one.
pub(super) async fn answer(
    run: &Arc<Run>,
    request: Option<ObservationId>,
    text: &str,
    key: Option<String>,
    from: Sender,
) -> Result<Accepted, ExecutionError> {
    let open = run
        .journal()
        .peek(|state| state.requests.values().cloned().collect::<Vec<_>>())?;
    let request = match (request, &open[..]) {
        (Some(id), open) => open.iter().find(|request| request.id == id),
        (None, [one]) => Some(one),
        (None, []) => None,
        (None, many) => {
            return Err(ExecutionError::WhichQuestion {
                execution: run.id,
                count: many.len(),
            });
        }
    };
    let request = request.ok_or(ExecutionError::NoQuestion { execution: run.id })?;
    let content = MessageContent::Answer(Answer {
        request: request.id,
        text: Text::new(answer_text(request, text)).map_err(|error| invalid(&error))?,
    });
    accept(run, key, from, content).await
}

/// Accepts a review of the agent's work.
pub(super) async fn review(
    run: &Arc<Run>,
    review: Review,
    key: Option<String>,
    from: Sender,
) -> Result<Accepted, ExecutionError> {
    let content = MessageContent::Review(review);
    accept(run, key, from, content).await
}

/// Accepts the wish that the agent stops what it is doing.
pub(super) async fn interrupt(run: &Arc<Run>, from: Sender) -> Result<Accepted, ExecutionError> {
    let content = MessageContent::Interrupt(Interrupt {});
    accept(run, None, from, content).await
}

/// What the agent is told when the person chose one of its answers by its label.
fn answer_text(request: &InputRequest, text: &str) -> String {
    let chosen = request.choices.iter().find(|choice| &*choice.label == text);
    let value = chosen.and_then(|choice| choice.value.as_ref());
    value.map_or_else(|| text.to_owned(), |value| value.as_str().to_owned())
}

async fn accept(
    run: &Arc<Run>,
    key: Option<String>,
    from: Sender,
    content: MessageContent,
) -> Result<Accepted, ExecutionError> {
    let key = key.unwrap_or_else(|| MessageId::generate().to_string());
    let new = NewMessage {
        key: MessageKey::new(key).map_err(|error| invalid(&error))?,
        from,
        content,
    };
    match run.accept(new).await?.outcome {
        MessageOutcome::Accepted { message, .. } => Ok(Accepted {
            message,
            first: true,
        }),
        MessageOutcome::Duplicate { message, .. } => Ok(Accepted {
            message,
            first: false,
        }),
        // It ended between the look at it and the message.
        MessageOutcome::Rejected {
            reason: Reason::Stopped,
        } => Err(ExecutionError::NotRunning { execution: run.id }),
        MessageOutcome::Rejected { reason } => Err(ExecutionError::Refused(reason)),
    }
}

fn invalid(error: &missiond_journal::OutOfBounds) -> ExecutionError {
    ExecutionError::Invalid(format!("the message is not possible: {error}"))
}

/// A message that is not delivered.
struct Next {
    id: MessageId,
    status: DeliveryStatus,
    /// Why it is held.
    reason: Option<String>,
    accepted_at: Timestamp,
    text: Option<String>,
    files: Vec<PathBuf>,
    when: SendWhen,
}

impl Next {
    fn of((id, message): (MessageId, &MessageState)) -> Self {
        let content = message.content.as_ref();
        Self {
            id,
            status: message.status,
            reason: message.reason.clone(),
            accepted_at: message.accepted_at,
            text: content.and_then(text_of),
            files: content.map_or_else(Vec::new, files_of),
            when: content.map_or(SendWhen::Idle, when_of),
        }
    }
}

/// The message that is to be delivered next: an interrupt before everything else, then
/// what does not wait for the end of a turn, otherwise the oldest.
fn next(run: &Run) -> Result<Option<Next>, ExecutionError> {
    let next = run.journal().peek(|state| {
        let first = |is_it: fn(&MessageContent) -> bool| {
            let mut undelivered = state.undelivered();
            undelivered.find(|(_, message)| message.content.as_ref().is_some_and(is_it))
        };
        let interrupt = first(|content| matches!(content, MessageContent::Interrupt(_)));
        let urgent = interrupt.or_else(|| first(|content| when_of(content) == SendWhen::Now));
        urgent.or_else(|| state.undelivered().next()).map(Next::of)
    })?;
    Ok(next)
}

fn when_of(content: &MessageContent) -> SendWhen {
    match content {
        MessageContent::Prompt(prompt) => prompt.when,
        _ => SendWhen::Idle,
    }
}

fn text_of(content: &MessageContent) -> Option<String> {
    match content {
        MessageContent::Prompt(prompt) => Some(prompt.text.as_str().to_owned()),
        MessageContent::Answer(answer) => Some(answer.text.as_str().to_owned()),
        MessageContent::Nudge(nudge) => Some(nudge.text.as_str().to_owned()),
        MessageContent::Review(review) => Some(review.text.as_str().to_owned()),
        MessageContent::Checkpoint(asked) => Some(asked.text.as_str().to_owned()),
        MessageContent::Interrupt(_) => None,
    }
}

fn files_of(content: &MessageContent) -> Vec<PathBuf> {
    match content {
        MessageContent::Prompt(prompt) => {
            let files = prompt.files.iter();
            files.map(|file| PathBuf::from(file.as_str())).collect()
        }
        _ => Vec::new(),
    }
}

/// Delivers the oldest message if the agent waits for one, and says otherwise
/// why it is held.
pub(super) async fn deliver_next(
    context: &Arc<Context>,
    run: &Arc<Run>,
    retry: &mut Retry,
) -> Result<(), ExecutionError> {
    let Some(next) = next(run)? else {
        return Ok(());
    };
    let Some(text) = next.text else {
        return super::interrupt::deliver(context, run, next.id).await;
    };
    if !retry.is_due() {
        return Ok(());
    }
    let Some(open) = context.slots.find(&run.slot.to_string()) else {
        return Ok(());
    };
    let Some(look) = open.inspect().await else {
        return Ok(());
    };
    let goes_into_turn = look.reading.state.is_working()
        && next.when == SendWhen::Now
        && takes_words_at_work(&open, &look);
    if let Some(reason) = hindrance(look.reading.state).filter(|_| !goes_into_turn) {
        if next.status == DeliveryStatus::Queued {
            run.deliver(next.id, DeliveryStatus::Held, Some(reason))
                .await?;
        }
        return Ok(());
    }
    if let Some(drift) = context.drift(run).await? {
        if next.reason.as_deref() != Some(drift) {
            // The agent had been busy: now it is a person that the message waits for.
            if next.status == DeliveryStatus::Held {
                run.deliver(next.id, DeliveryStatus::Queued, None).await?;
            }
            run.deliver(next.id, DeliveryStatus::Held, Some(drift))
                .await?;
        }
        return Ok(());
    }
    let instructions = context.instructions_file(run.id);
    let typed = match tokio::fs::read_to_string(&instructions).await {
        Ok(instructions) => format!("{instructions}\n{text}"),
        Err(_) => text,
    };
    let attachments = match attachments::read(next.files).await {
        Ok(attachments) => attachments,
        Err(why) => {
            let failed = DeliveryStatus::Failed;
            return run.deliver(next.id, failed, Some(&why)).await;
        }
    };
    run.deliver(next.id, DeliveryStatus::Delivering, None)
        .await?;
    let when = if goes_into_turn {
        When::Now
    } else {
        When::Idle
    };
    match deliver_text(&context.slots, &open, typed, attachments, when).await {
        DeliveryOutcome::Taken { doubt } => {
            *retry = Retry::default();
            // From now on the agent knows them; what it is told next is plain.
            let _ = tokio::fs::remove_file(&instructions).await;
            let delivered = DeliveryStatus::Delivered;
            run.deliver(next.id, delivered, doubt.as_deref()).await
        }
        DeliveryOutcome::Refused(why) => {
            retry.put_off();
            run.deliver(next.id, DeliveryStatus::Held, Some(&why)).await
        }
        DeliveryOutcome::Lost(why) => {
            run.deliver(next.id, DeliveryStatus::Failed, Some(&why))
                .await
        }
    }
}

/// Settles a message that an earlier daemon was typing when it died.
pub(super) async fn settle_interrupted(
    context: &Context,
    run: &Arc<Run>,
) -> Result<(), ExecutionError> {
    let interrupted = run.journal().peek(|state| {
        let mut undelivered = state.undelivered();
        let interrupted =
            undelivered.find(|(_, message)| message.status == DeliveryStatus::Delivering);
        interrupted.map(Next::of)
    })?;
    let Some(next) = interrupted else {
        return Ok(());
    };
    let open = context.slots.find(&run.slot.to_string());
    if let (Some(open), Some(text)) = (&open, &next.text)
        && let Some(arrived) =
            protocol::has_prompt(&context.slots, open, text, next.accepted_at).await
    {
        let (status, reason) = if arrived {
            let _ = tokio::fs::remove_file(context.instructions_file(run.id)).await;
            (DeliveryStatus::Delivered, None)
        } else {
            (
                DeliveryStatus::Held,
                Some("the daemon stopped before it was sent"),
            )
        };
        return run.deliver(next.id, status, reason).await;
    }
    let look = match &open {
        Some(open) => open.inspect().await,
        None => None,
    };
    if let (Some(open), Some(look), Some(text)) = (open, look, next.text) {
        let rows = look.screen.rows.iter().map(|row| row.text.as_str());
        let drafted = look.draft.is_some_and(|draft| shows(&[&draft], &text));
        // It was typed and not sent: one key is missing, and no text comes twice.
        let sent = if drafted {
            send_draft(&open).await
        } else {
            shows(&rows.collect::<Vec<_>>(), &text)
        };
        if sent {
            let _ = tokio::fs::remove_file(context.instructions_file(run.id)).await;
            return run.deliver(next.id, DeliveryStatus::Delivered, None).await;
        }
    }
    let reason = "the daemon stopped while it was typed: whether it arrived is not known";
    run.deliver(next.id, DeliveryStatus::Failed, Some(reason))
        .await
}

/// Presses the key that sends what stands in the prompt.
async fn send_draft(open: &OpenSlot) -> bool {
    let (done, pressed) = oneshot::channel();
    let bytes = b"\r";
    if open
        .commands
        .send(SlotCommand::Key { bytes, done })
        .await
        .is_err()
    {
        return false;
    }
    matches!(pressed.await, Ok(Ok(_)))
}

/// Whether a screen shows how a text begins, however it is wrapped.
fn shows(rows: &[&str], text: &str) -> bool {
    const ENOUGH: usize = 40;
    let plain = |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
    let begins: String = plain(text).chars().take(ENOUGH).collect();
    !begins.is_empty() && plain(&rows.concat()).contains(&begins)
}

/// Whether it can be given a text while it works. A protocol says so; the terminals of
/// most programs take one and queue it.
fn takes_words_at_work(open: &OpenSlot, look: &SlotView) -> bool {
    match open.controller() {
        Controller::Terminal => true,
        Controller::Structured => {
            let told = look.told.as_ref();
            told.is_some_and(|told| told.while_working.is_some())
        }
    }
}

/// Why the agent cannot be given a text now.
fn hindrance(state: PtyState) -> Option<&'static str> {
    match state {
        // What ended with an error is left by the next prompt.
        PtyState::Idle | PtyState::Error => None,
        PtyState::Starting => Some("the program is starting"),
        PtyState::Thinking | PtyState::Responding | PtyState::ToolRunning => {
            Some("the agent is working")
        }
        PtyState::Confirming => Some("the program asks something that must be answered first"),
        PtyState::SlashMenu => Some("a menu is open in the program"),
        PtyState::Unknown => Some("it is not known what the program is doing"),
        PtyState::Exited => Some("the program has ended"),
    }
}

/// What came of giving a text to the agent.
enum DeliveryOutcome {
    Taken {
        doubt: Option<String>,
    },
    /// Nothing was typed; later it may be.
    Refused(String),
    Lost(String),
}

async fn deliver_text(
    slots: &Slots,
    open: &OpenSlot,
    text: String,
    attachments: Vec<Attachment>,
    when: When,
) -> DeliveryOutcome {
    let message = Message {
        text,
        attachments,
        submit: Submit::Enter,
        when,
        wait: READY_WITHIN,
        force: Force::No,
    };
    match slots.deliver(open, message).await {
        Ok(delivered) => match delivered.landed {
            Landed::Confirmed => DeliveryOutcome::Taken { doubt: None },
            Landed::Unconfirmed => DeliveryOutcome::Taken {
                doubt: Some(delivered.evidence),
            },
            Landed::Stalled => DeliveryOutcome::Lost(delivered.evidence),
        },
        Err(error @ InputError::Undelivered(DeliveryRefusal::Lines)) => {
            DeliveryOutcome::Lost(error.to_string())
        }
        Err(error) => DeliveryOutcome::Refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_text_is_found_on_a_screen_and_another_is_not() {
        let rows = [
            "╭──────╮",
            "│ > fix the failing t │",
            "│   est in parser.rs  │",
        ];
        assert!(shows(&rows, "Fix the failing test".to_lowercase().as_str()));
        assert!(!shows(&rows, "write the docs"));
        assert!(!shows(&rows, "  "));
    }
}
