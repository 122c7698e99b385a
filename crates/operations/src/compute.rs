//! Handlers of the slots' operations.

use std::path::PathBuf;
use std::time::Duration;

use missiond_api::ApiError;
use missiond_api::operations::compute::{
    AnswerOutcome, Columns, ForegroundActivity, Rows, SendWhen, SlotAnswer, SlotAnswerParams,
    SlotAnswerResult, SlotDelivery, SlotExplain, SlotExplanation, SlotForeground,
    SlotForegroundParams, SlotForegroundResult, SlotInterrupt, SlotKeys, SlotKeysParams,
    SlotKeysResult, SlotKill, SlotKillParams, SlotKillResult, SlotList, SlotListParams, SlotPage,
    SlotParams, SlotProgram, SlotRead, SlotReading, SlotResize, SlotResizeParams, SlotResizeResult,
    SlotScreen, SlotSend, SlotSendParams, SlotSendResult, SlotSpawn, SlotSpawnParams, SlotSummary,
    TextLanded,
};
use missiond_core::{ErrorCode, Principal, PtyState, Slot, SlotId, Text};
use missiond_pty::{MAX_SIZE, MIN_SIZE, Session};
use missiond_semantic::{
    AnswerRefusal, DeliveryRefusal, Force, Landed, Reading, Screen, Size, Submit, When,
};
use missiond_slots::{
    Answer, CommandError, Foreground, ForegroundEvent, ForegroundReport, ForegroundVoice,
    InputError, Message, NewSlot, OpenSlot, Share, SlotCommand, SlotView, SlotsError, ViewerId,
};
use missiond_store::slots::{self, SlotFilter};
use tokio::sync::oneshot;

use crate::call::{Call, Operations, of_store};
use crate::walls;

// The sizes a caller may ask for are those a terminal can have.
const _: () = assert!(
    Columns::MIN == MIN_SIZE.columns as i64
        && Columns::MAX == MAX_SIZE.columns as i64
        && Rows::MIN == MIN_SIZE.rows as i64
        && Rows::MAX == MAX_SIZE.rows as i64
);

pub(super) fn register(operations: &mut Operations) {
    operations.add::<SlotSpawn, _, _>(spawn);
    operations.add::<SlotList, _, _>(list);
    operations.add::<SlotRead, _, _>(read);
    operations.add::<SlotSend, _, _>(send);
    operations.add::<SlotAnswer, _, _>(answer);
    operations.add::<SlotKeys, _, _>(keys);
    operations.add::<SlotForeground, _, _>(foreground);
    operations.add::<SlotInterrupt, _, _>(interrupt);
    operations.add::<SlotResize, _, _>(resize);
    operations.add::<SlotKill, _, _>(kill);
    operations.add::<SlotExplain, _, _>(explain);
}

async fn spawn(call: Call, params: SlotSpawnParams) -> Result<SlotSummary, ApiError> {
    let size = Size {
        columns: params.columns.to_u16(),
        rows: params.rows.to_u16(),
    };
    let cwd = params.cwd.map(PathBuf::from);
    let new = NewSlot {
        share: match (call.agent(), call.principal) {
            (Some(agent), _) => Share::Agent(agent),
            (None, Principal::Person) => Share::Person,
            (None, _) => Share::Others,
        },
        sandbox: walls::of_program(&call, cwd.as_deref())?,
        id: SlotId::generate(),
        argv: params.argv,
        engine: params.engine,
        name: params.name,
        cwd,
        env: params.env,
        size,
        control: None,
    };
    let open = call.daemon.slots.spawn(new, call.trace).await;
    let open = open.map_err(|error| of_slots(&error))?;
    call.started.slot(&call.principal, open.slot.id);
    match summary(&open).await {
        // A program may end before anybody has looked; it has run all the same.
        Err(error) if error.code == ErrorCode::Conflict => {
            let slot = closed(&call, &open.slot.id.to_string()).await?;
            Ok(SlotSummary {
                program: Some(program_of(&open)),
                ..closed_summary(slot)
            })
        }
        looked => looked,
    }
}

pub(super) async fn list(call: Call, params: SlotListParams) -> Result<SlotPage, ApiError> {
    let mut found = Vec::new();
    for open in call.daemon.slots.open() {
        // One that closes meanwhile is no longer open.
        found.extend(summary(&open).await.ok());
    }
    found.extend(call.daemon.slots.foreground().await.map(foreground_summary));
    if params.all {
        let stored = call
            .daemon
            .db
            .read(|tx| Box::pin(slots::list(tx, SlotFilter::All)))
            .await
            .map_err(|error| of_store(&error))?;
        let closed = stored.into_iter().filter(|slot| slot.closed_at.is_some());
        found.extend(closed.map(closed_summary));
        found.sort_by_key(|summary| summary.slot);
    }
    Ok(SlotPage { slots: found })
}

async fn foreground(
    call: Call,
    params: SlotForegroundParams,
) -> Result<SlotForegroundResult, ApiError> {
    let named = params.conversation.as_deref().unwrap_or_default();
    if named.contains('\0') {
        return Err(ApiError::invalid_params("`conversation` is no name of one"));
    }
    let report = ForegroundReport {
        engine: params.engine,
        cwd: params.cwd.into(),
        conversation: params.conversation.map(Text::into_string),
        event: match params.does {
            ForegroundActivity::Idle => ForegroundEvent::Is(PtyState::Idle),
            ForegroundActivity::Thinking => ForegroundEvent::Is(PtyState::Thinking),
            ForegroundActivity::UsesTool => ForegroundEvent::Is(PtyState::ToolRunning),
            ForegroundActivity::Asks => ForegroundEvent::Is(PtyState::Confirming),
            ForegroundActivity::Left => ForegroundEvent::Left,
        },
    };
    let handled = call
        .daemon
        .slots
        .handle_foreground_report(report, call.trace)
        .await;
    let foreground = handled.map_err(|error| of_slots(&error))?;
    Ok(SlotForegroundResult {
        foreground: foreground.map(foreground_summary),
    })
}

fn foreground_summary(session: Foreground) -> SlotSummary {
    let (at, place) = (session.heard_at, session.cwd.display());
    let (reason, authority) = match (session.voice, session.state) {
        (ForegroundVoice::Hooks, _) => (format!("its hooks said so at {at}, in {place}"), "hook"),
        (ForegroundVoice::Connection, PtyState::ToolRunning) => (
            format!("it waits for a tool of ours since {at}, in {place}"),
            "mcp",
        ),
        (ForegroundVoice::Connection, _) => (
            format!("it is connected, in {place}, and tells no more"),
            "mcp",
        ),
    };
    SlotSummary {
        slot: session.slot.id,
        name: session.slot.name,
        kind: session.slot.kind,
        engine: session.slot.engine,
        created_at: session.slot.created_at,
        closed_at: None,
        reading: SlotReading {
            state: session.state,
            reason,
            confidence: match session.state {
                PtyState::Unknown => 0.0,
                _ => 0.9,
            },
            authority: authority.to_owned(),
            waiting_for: None,
        },
        trouble: None,
        program: None,
        conversation: session.conversation,
    }
}

async fn read(call: Call, params: SlotParams) -> Result<SlotScreen, ApiError> {
    if let Some(open) = call.daemon.slots.find(&params.slot) {
        let look = ask(&open, SlotCommand::Inspect).await?;
        let shown = screen(open.slot.id, &look.screen, &look.reading, look.offset);
        return Ok(SlotScreen {
            trouble: look.trouble,
            ..shown
        });
    }
    let (slot, mut session, offset) = last_session(&call, &params.slot).await?;
    let reading = session.reader().current().clone();
    Ok(screen(slot.id, session.screen(), &reading, offset))
}

async fn send(call: Call, params: SlotSendParams) -> Result<SlotDelivery, ApiError> {
    let open = open(&call, &params.slot).await?;
    let message = Message {
        attachments: Vec::new(),
        text: params.text.into_string(),
        submit: if params.submit {
            Submit::Enter
        } else {
            Submit::No
        },
        when: match params.when {
            SendWhen::Idle => When::Idle,
            SendWhen::Now => When::Now,
        },
        wait: Duration::from_millis(params.wait_ms.to_u64()),
        force: if params.force { Force::Yes } else { Force::No },
    };
    let delivered = call.daemon.slots.deliver(&open, message).await;
    let delivered = delivered.map_err(|error| of_input(&error, &open))?;
    Ok(SlotDelivery {
        slot: open.slot.id,
        bytes: delivered.bytes,
        landed: match delivered.landed {
            Landed::Confirmed => TextLanded::Confirmed,
            Landed::Unconfirmed => TextLanded::Unconfirmed,
            Landed::Stalled => TextLanded::Stalled,
        },
        evidence: delivered.evidence,
    })
}

async fn keys(call: Call, params: SlotKeysParams) -> Result<SlotKeysResult, ApiError> {
    let open = open(&call, &params.slot).await?;
    let bytes = params.bytes.into_vec();
    let sent = ask(&open, |done| SlotCommand::RawKeys { bytes, done }).await?;
    Ok(SlotKeysResult {
        slot: open.slot.id,
        bytes: sent.map_err(|error| of_command(&error))?,
    })
}

async fn answer(call: Call, params: SlotAnswerParams) -> Result<SlotAnswerResult, ApiError> {
    let open = open(&call, &params.slot).await?;
    let answer = Answer {
        option: params.option.into_string(),
        expect: params.expect.map(Text::into_string),
        wait: Duration::from_millis(params.wait_ms.to_u64()),
    };
    let answered = call.daemon.slots.answer(&open, answer).await;
    let answered = answered.map_err(|error| of_input(&error, &open))?;
    Ok(SlotAnswerResult {
        slot: open.slot.id,
        question: answered.question,
        number: answered.option.number,
        option: answered.option.label,
        outcome: match answered.outcome {
            missiond_semantic::AnswerOutcome::Taken => AnswerOutcome::Taken,
            missiond_semantic::AnswerOutcome::StillOpen => AnswerOutcome::StillOpen,
        },
        evidence: answered.evidence,
    })
}

async fn interrupt(call: Call, params: SlotParams) -> Result<SlotSendResult, ApiError> {
    let open = open(&call, &params.slot).await?;
    let bytes = b"\x03";
    let sent = ask(&open, |done| SlotCommand::Key { bytes, done }).await?;
    Ok(SlotSendResult {
        slot: open.slot.id,
        bytes: sent.map_err(|error| of_command(&error))?,
    })
}

async fn resize(call: Call, params: SlotResizeParams) -> Result<SlotResizeResult, ApiError> {
    let open = open(&call, &params.slot).await?;
    let size = Size {
        columns: params.columns.to_u16(),
        rows: params.rows.to_u16(),
    };
    let viewer = params.attachment.map(|viewer| ViewerId(viewer.to_u64()));
    let size = ask(&open, |done| SlotCommand::Resize { size, viewer, done })
        .await?
        .map_err(|error| of_command(&error))?;
    Ok(SlotResizeResult {
        slot: open.slot.id,
        columns: size.columns,
        rows: size.rows,
    })
}

async fn kill(call: Call, params: SlotKillParams) -> Result<SlotKillResult, ApiError> {
    let grace = Duration::from_millis(params.grace_ms.to_u64());
    let open = open(&call, &params.slot).await?;
    let outcome = ask(&open, |done| SlotCommand::Kill { grace, done }).await?;
    Ok(SlotKillResult {
        slot: open.slot.id,
        outcome,
    })
}

async fn explain(call: Call, params: SlotParams) -> Result<SlotExplanation, ApiError> {
    let open = open(&call, &params.slot).await?;
    let explanation = ask(&open, SlotCommand::Explain).await?;
    Ok(SlotExplanation {
        slot: open.slot.id,
        manifest: call.daemon.slots.manifest_name(&open.slot.engine),
        explanation: serde_json::to_value(&*explanation)
            .map_err(|error| ApiError::internal(error.to_string()))?,
    })
}

/// The open slot, or why there is none.
pub(super) async fn open(call: &Call, reference: &str) -> Result<OpenSlot, ApiError> {
    if let Some(open) = call.daemon.slots.find(reference) {
        return Ok(open);
    }
    let slot = closed(call, reference).await?;
    Err(ApiError::new(
        ErrorCode::Conflict,
        format!("the slot {} is closed: its program has ended", slot.name),
    ))
}

/// The slot that is on record but not open: by its id, or the newest of its name.
pub(super) async fn closed(call: &Call, reference: &str) -> Result<Slot, ApiError> {
    let shown: String = reference.chars().take(64).collect();
    let missing = || {
        not_found(format!(
            "no slot is called `{}`; `mission slot list --all` lists them",
            shown.escape_default()
        ))
    };
    let (id, name) = (reference.parse::<SlotId>().ok(), reference.to_owned());
    let slot = call
        .daemon
        .db
        .read(move |tx| {
            Box::pin(async move {
                match id {
                    Some(id) => slots::get(tx, id).await,
                    None => slots::last_closed(tx, &name).await,
                }
            })
        })
        .await
        .map_err(|error| of_store(&error))?;
    slot.ok_or_else(missing)
}

/// A closed slot, its terminal as the program left it, and how many bytes it
/// wrote.
pub(super) async fn last_session(
    call: &Call,
    reference: &str,
) -> Result<(Slot, Session, u64), ApiError> {
    let slot = closed(call, reference).await?;
    match call.daemon.slots.last_screen(&slot).await {
        Some((session, offset)) => Ok((slot, session, offset)),
        None => Err(not_found(format!(
            "the slot {} is closed, and its recording is gone or cannot be read",
            slot.name
        ))),
    }
}

pub(super) async fn ask<T>(
    open: &OpenSlot,
    command: impl FnOnce(oneshot::Sender<T>) -> SlotCommand,
) -> Result<T, ApiError> {
    let gone = || {
        ApiError::new(
            ErrorCode::Conflict,
            format!("the slot {} has just been closed", open.slot.name),
        )
    };
    let (done, answer) = oneshot::channel();
    open.commands
        .send(command(done))
        .await
        .map_err(|_| gone())?;
    answer.await.map_err(|_| gone())
}

async fn summary(open: &OpenSlot) -> Result<SlotSummary, ApiError> {
    let SlotView {
        reading, trouble, ..
    } = ask(open, SlotCommand::Inspect).await?;
    let slot = &open.slot;
    Ok(SlotSummary {
        slot: slot.id,
        name: slot.name.clone(),
        kind: slot.kind,
        engine: slot.engine.clone(),
        created_at: slot.created_at,
        closed_at: None,
        reading: reading_of(&reading),
        trouble,
        program: Some(program_of(open)),
        conversation: None,
    })
}

fn program_of(open: &OpenSlot) -> SlotProgram {
    let record = &open.record;
    SlotProgram {
        argv: record.argv.clone(),
        cwd: record.cwd.display().to_string(),
        pid: record.program_pid,
        controller: open.controller(),
        generation: record.generation,
        recording: record.recording.display().to_string(),
        cgroup: record
            .cgroup
            .as_ref()
            .map(|path| path.display().to_string()),
    }
}

fn closed_summary(slot: Slot) -> SlotSummary {
    let mut ended = Reading::starting();
    ended.state = PtyState::Exited;
    ended.confidence = 1.0;
    "the slot is closed".clone_into(&mut ended.reason);
    SlotSummary {
        slot: slot.id,
        name: slot.name,
        kind: slot.kind,
        engine: slot.engine,
        created_at: slot.created_at,
        closed_at: slot.closed_at,
        reading: reading_of(&ended),
        trouble: None,
        program: None,
        conversation: None,
    }
}

fn reading_of(reading: &Reading) -> SlotReading {
    SlotReading {
        state: reading.state,
        reason: reading.reason.clone(),
        confidence: reading.confidence,
        authority: reading.authority.name().to_owned(),
        waiting_for: reading.waiting_for.map(|waiting| waiting.name().to_owned()),
    }
}

fn screen(slot: SlotId, screen: &Screen, reading: &Reading, offset: u64) -> SlotScreen {
    SlotScreen {
        slot,
        reading: reading_of(reading),
        lines: screen.rows.iter().map(|row| row.text.clone()).collect(),
        title: screen.title.clone(),
        columns: screen.size.columns,
        rows: screen.size.rows,
        cursor_row: screen.cursor.row,
        cursor_column: screen.cursor.column,
        offset,
        trouble: None,
    }
}

fn not_found(message: String) -> ApiError {
    ApiError::new(ErrorCode::NotFound, message)
}

fn of_slots(error: &SlotsError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}

/// The refusal, with the command that helps where there is one.
fn of_input(error: &InputError, open: &OpenSlot) -> ApiError {
    let code = match error {
        InputError::Crowded | InputError::HandingOff => ErrorCode::Busy,
        InputError::Undelivered(_) | InputError::Unanswered(_) | InputError::Closed => {
            ErrorCode::Conflict
        }
    };
    let name = &open.slot.name;
    let help = match error {
        InputError::Undelivered(DeliveryRefusal::Dialog { options, .. }) if options.is_empty() => {
            format!(
                " (`mission slot answer {name} WORDS`, or at its terminal: `mission slot attach {name}`)"
            )
        }
        InputError::Undelivered(DeliveryRefusal::Dialog { .. }) => {
            format!(" (`mission slot answer {name} OPTION`)")
        }
        InputError::Undelivered(DeliveryRefusal::NoPrompt)
        | InputError::Unanswered(AnswerRefusal::Unreadable) => {
            format!(" (`mission slot attach {name}`)")
        }
        InputError::Undelivered(DeliveryRefusal::Busy(_)) => {
            format!(" (`mission slot send {name} --now TEXT`)")
        }
        _ => String::new(),
    };
    ApiError::new(code, format!("{name}: {error}{help}"))
}

fn of_command(error: &CommandError) -> ApiError {
    let code = match error {
        CommandError::Size => ErrorCode::InvalidParams,
        CommandError::NoKeys => ErrorCode::Conflict,
        CommandError::NoViewer(_) => ErrorCode::NotFound,
        CommandError::Host(_) => ErrorCode::Internal,
    };
    ApiError::new(code, error.to_string())
}
