//! Handlers of the executions' operations.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use missiond_adapters::PermissionMode;
use missiond_api::ApiError;
use missiond_api::operations::execution::{
    ExecutionAnswer, ExecutionAnswerParams, ExecutionCancel, ExecutionCancelParams,
    ExecutionControl, ExecutionDetails, ExecutionInterrupt, ExecutionJournal,
    ExecutionJournalParams, ExecutionList, ExecutionListParams, ExecutionMessage,
    ExecutionMessageParams, ExecutionPage, ExecutionParams, ExecutionShow, ExecutionStart,
    ExecutionStartParams, ExecutionSummary, Happening, JournalEntry, JournalPage, MessageOutcome,
    MessageResult, OpenQuestion, Permission, RecordKind, SentMessage, Signals, Tokens,
};
use missiond_attention::questions::Answerer;
use missiond_briefing::BriefingRequest;
use missiond_core::{
    Bounded, CliEngine, ErrorCode, ExecutionActivity, ExecutionAttention, ExecutionId,
    ExecutionLifecycle, MAX_EXACT, Principal, SlotName, Text,
};
use missiond_executions::{
    Accepted, Direction, ExecutionError, Identity, NewExecution, Owner, Part, Preamble, Sender,
    Shown,
};
use missiond_guard::injection::{Verdict, inspect};
use missiond_journal::{ExecutionState, Record, Sequence, Transport, narrate};
use missiond_rehearsal::{check_builtin, named_script};
use missiond_slots::DEFAULT_SIZE;
use missiond_store::executions::ExecutionFilter;

use crate::call::{Call, Operations};
use crate::run_facts::{RunFacts, facts_of, failure, first_prompt, repository_name, tokens};
use crate::walls;

/// An answer is one frame; what a record says is in it once.
const MOST_RECORD_BYTES: usize = 700_000;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<ExecutionStart, _, _>(start);
    operations.add::<ExecutionList, _, _>(list);
    operations.add::<ExecutionShow, _, _>(show);
    operations.add::<ExecutionJournal, _, _>(journal);
    operations.add::<ExecutionMessage, _, _>(message);
    operations.add::<ExecutionAnswer, _, _>(answer);
    operations.add::<ExecutionInterrupt, _, _>(interrupt);
    operations.add::<ExecutionCancel, _, _>(cancel);
}

async fn start(call: Call, params: ExecutionStartParams) -> Result<ExecutionSummary, ApiError> {
    check_permission(&call, params.permission)?;
    let cwd = PathBuf::from(params.cwd);
    check_script(&params.engine, &params.args, &cwd)?;
    let sandbox = walls::of_agent(&call, &cwd)?;
    let preamble: Option<Arc<dyn Preamble>> = match &params.prompt {
        Some(prompt) if params.context && call.daemon.context.is_on() && cwd.is_dir() => {
            let wanted = BriefingRequest {
                engine: params.engine.clone(),
                cwd: cwd.clone(),
                prompt: prompt.to_string(),
                task: None,
                slot: params.name.clone().map(SlotName::into_string),
                conversation: params.resume.clone(),
                tokens: None,
            };
            Some(Arc::new(call.daemon.context.make(wanted).await))
        }
        _ => None,
    };
    let new = NewExecution {
        identity: Identity::Fresh,
        owner: Owner::Folder,
        engine: params.engine,
        args: params.args,
        prompt: params.prompt.map(Text::into_string),
        from: call.sender().await,
        agent: call.agent(),
        preamble,
        cwd,
        model: params.model,
        permission: match params.permission {
            Permission::Ask => PermissionMode::Ask,
            Permission::AcceptEdits => PermissionMode::AcceptEdits,
            Permission::Plan => PermissionMode::Plan,
            Permission::Bypass => PermissionMode::Bypass,
        },
        name: params.name,
        env: params.env,
        resume: params.resume,
        controller: params.control,
        signals: params.signals.map(|signals| match signals {
            Signals::Mcp => Transport::McpTool,
            Signals::Markers => Transport::Marker,
            Signals::None => Transport::None,
        }),
        trust_folder: params.trust_folder,
        sandbox,
        size: DEFAULT_SIZE,
    };
    let run = call.daemon.executions.start(new, call.trace).await;
    let id = run.map_err(|error| of_execution(&error))?.id;
    call.started.execution(&call.principal, id);
    summary_of(&call, &id.to_string()).await
}

/// An agent in a slot cannot give another what it has not got itself: to be asked about
/// nothing is for somebody else to allow.
fn check_permission(call: &Call, wanted: Permission) -> Result<(), ApiError> {
    if call.principal.slot().is_none() || wanted != Permission::Bypass {
        return Ok(());
    }
    Err(ApiError::new(
        ErrorCode::Forbidden,
        "an agent in a slot cannot start another that is asked about nothing: a person can, at the \
         command line outside every slot or on the page",
    ))
}

/// Refuses a rehearsal of a script that is not there, before anything is made.
fn check_script(engine: &CliEngine, args: &[String], cwd: &Path) -> Result<(), ApiError> {
    if engine.name() != "rehearsal" {
        return Ok(());
    }
    match named_script(args) {
        Some(script) if !cwd.join(script).exists() => {
            check_builtin(script).map_err(|unknown| ApiError::invalid_params(unknown.to_string()))
        }
        _ => Ok(()),
    }
}

async fn list(call: Call, params: ExecutionListParams) -> Result<ExecutionPage, ApiError> {
    let limit = params.limit.to_u32();
    let filter = if params.all {
        ExecutionFilter::Newest { limit }
    } else {
        ExecutionFilter::Running
    };
    let shown = call.daemon.executions.list(filter).await;
    let shown = shown.map_err(|error| of_execution(&error))?;
    let executions = summaries(&call, &shown).await?;
    Ok(ExecutionPage { executions })
}

async fn show(call: Call, params: ExecutionParams) -> Result<ExecutionDetails, ApiError> {
    let shown = shown(&call, &params.execution).await?;
    let open = call.daemon.slots.find(&shown.row.slot.to_string());
    let look = match &open {
        Some(open) => open.inspect().await,
        None => None,
    };
    let state = shown
        .state
        .as_ref()
        .map_err(|trouble| ApiError::new(ErrorCode::StorageCorrupt, trouble.clone()))?;
    let control = call.daemon.executions.control(shown.row.id, shown.row.slot);
    let control = control.await.map(|control| ExecutionControl {
        by: control.by,
        why: control.why,
    });
    Ok(ExecutionDetails {
        control,
        summary: summary(&call, &shown).await?,
        owner: state.owner.to_string(),
        signals: match state.transport {
            Transport::McpTool => "mcp_tool",
            Transport::Marker => "marker",
            Transport::None => "none",
        }
        .to_owned(),
        journal: call.daemon.executions.journal_location(shown.row.id),
        records: state.head.0,
        questions: questions(state),
        messages: messages(state),
        screen: state.last_known.screen,
        last_words: state
            .last_known
            .last_words
            .as_ref()
            .map(|(words, _)| words.clone()),
        agent: look.and_then(|look| look.told).map(|told| *told),
        timeline: state
            .timeline
            .items()
            .map(|item| Happening {
                sequence: item.sequence.0,
                at: item.at,
                title: item.title.clone(),
                text: item.text.clone(),
            })
            .collect(),
    })
}

async fn journal(call: Call, params: ExecutionJournalParams) -> Result<JournalPage, ApiError> {
    let sequence = |place: Option<Bounded<0, MAX_EXACT>>| place.map(|at| Sequence(at.to_u64()));
    let direction = match (sequence(params.after), sequence(params.before)) {
        (Some(_), Some(_)) => {
            let message = "say `after` or `before`, not both";
            return Err(ApiError::invalid_params(message));
        }
        (Some(after), None) => Direction::After(after),
        (None, before) => Direction::Before(before),
    };
    let part = Part {
        kinds: params.kinds.into_iter().map(record_kind).collect(),
        direction,
        limit: params.limit.to_usize(),
        bytes: MOST_RECORD_BYTES,
    };
    let execution = id_of(&call, &params.execution).await?;
    let found = call.daemon.executions.journal(execution, part).await;
    let found = found.map_err(|error| of_execution(&error))?;
    let entry = |record: Record| JournalEntry {
        sequence: record.sequence.0,
        at: record.at,
        kind: record.body.kind().name().to_owned(),
        text: narrate::sentence(&record.body),
        data: params.data.then(|| data(&record)).flatten(),
    };
    Ok(JournalPage {
        execution,
        records: found.records.into_iter().map(entry).collect(),
        head: found.head.0,
        next: found.next.0,
        more: found.more,
    })
}

const fn record_kind(kind: RecordKind) -> missiond_journal::RecordKind {
    use missiond_journal::RecordKind as Kind;
    match kind {
        RecordKind::Header => Kind::Header,
        RecordKind::MessageAccepted => Kind::MessageAccepted,
        RecordKind::MessageDelivery => Kind::MessageDelivery,
        RecordKind::Observation => Kind::Observation,
        RecordKind::Decision => Kind::Decision,
        RecordKind::StateChanged => Kind::StateChanged,
        RecordKind::ActivityUpdated => Kind::ActivityUpdated,
        RecordKind::OwnerEffect => Kind::OwnerEffect,
        RecordKind::Projection => Kind::Projection,
    }
}

/// What a record says beside its place, time and kind.
fn data(record: &Record) -> Option<serde_json::Value> {
    let mut written = serde_json::to_value(&record.body).ok()?;
    written.get_mut("data").map(serde_json::Value::take)
}

async fn message(call: Call, params: ExecutionMessageParams) -> Result<MessageResult, ApiError> {
    let id = id_of(&call, &params.execution).await?;
    let executions = &call.daemon.executions;
    let files = params.files.into_iter().map(PathBuf::from).collect();
    // An agent speaks for itself, and nobody but a person for another.
    let from = match (call.principal, params.from) {
        (Principal::Person, Some(agent)) => Sender::Execution(agent),
        _ => call.sender().await,
    };
    if from.is_agent() {
        let seen = inspect(&params.text);
        if seen.verdict() == Verdict::Held {
            return Err(ApiError::new(
                ErrorCode::Forbidden,
                format!(
                    "this message reads like orders that turn an agent from its own, {} percent \
                     sure: it {}; say it otherwise, or ask a person to send it",
                    seen.score,
                    seen.reasons()
                ),
            ));
        }
    }
    let accepted = executions
        .message(
            id,
            params.text.into_string(),
            files,
            params.key.map(Text::into_string),
            from,
            params.when,
        )
        .await;
    Ok(message_result(
        id,
        accepted.map_err(|error| of_execution(&error))?,
    ))
}

async fn answer(call: Call, params: ExecutionAnswerParams) -> Result<MessageResult, ApiError> {
    let id = id_of(&call, &params.execution).await?;
    let questions = &call.daemon.questions;
    let accepted = questions
        .answer_input(
            id,
            params.request,
            &params.text,
            params.key.map(Text::into_string),
            Answerer {
                name: call.principal.name(),
                sender: call.sender().await,
            },
            call.trace,
        )
        .await;
    Ok(message_result(
        id,
        accepted.map_err(|error| ApiError::new(error.code(), error.to_string()))?,
    ))
}

async fn interrupt(call: Call, params: ExecutionParams) -> Result<MessageResult, ApiError> {
    let id = id_of(&call, &params.execution).await?;
    let accepted = call
        .daemon
        .executions
        .interrupt(id, call.sender().await)
        .await;
    Ok(message_result(
        id,
        accepted.map_err(|error| of_execution(&error))?,
    ))
}

async fn cancel(call: Call, params: ExecutionCancelParams) -> Result<ExecutionSummary, ApiError> {
    let id = id_of(&call, &params.execution).await?;
    let reason = params.reason.as_deref().unwrap_or("cancelled");
    let cancelled = call.daemon.executions.cancel(id, reason).await;
    cancelled.map_err(|error| of_execution(&error))?;
    summary_of(&call, &id.to_string()).await
}

async fn id_of(call: &Call, reference: &str) -> Result<ExecutionId, ApiError> {
    let found = call.daemon.executions.find(reference).await;
    Ok(found.map_err(|error| of_execution(&error))?.id)
}

async fn shown(call: &Call, reference: &str) -> Result<Shown, ApiError> {
    let executions = &call.daemon.executions;
    let row = executions
        .find(reference)
        .await
        .map_err(|error| of_execution(&error))?;
    executions
        .show(row)
        .await
        .map_err(|error| of_execution(&error))
}

async fn summary_of(call: &Call, reference: &str) -> Result<ExecutionSummary, ApiError> {
    let shown = shown(call, reference).await?;
    summary(call, &shown).await
}

async fn summary(call: &Call, shown: &Shown) -> Result<ExecutionSummary, ApiError> {
    let facts = facts_of(call, std::slice::from_ref(shown)).await?;
    Ok(summary_with(call, shown, &facts))
}

async fn summaries(call: &Call, shown: &[Shown]) -> Result<Vec<ExecutionSummary>, ApiError> {
    let facts = facts_of(call, shown).await?;
    let one = |shown| summary_with(call, shown, &facts);
    Ok(shown.iter().map(one).collect())
}

fn summary_with(call: &Call, shown: &Shown, facts: &RunFacts) -> ExecutionSummary {
    let row = &shown.row;
    let state = shown.state.as_ref();
    let open = call.daemon.slots.find(&row.slot.to_string());
    let task = facts.tasks.get(&row.id);
    let folder = task.and_then(|task| task.repository.as_deref());
    ExecutionSummary {
        execution: row.id,
        engine: row.engine.clone(),
        slot: row.slot,
        slot_name: open.map(|open| open.slot.name),
        task: task.map(|task| task.number),
        title: task
            .map(|task| task.title.clone())
            .or_else(|| state.ok().and_then(|state| first_prompt(state))),
        cwd: row.cwd.display().to_string(),
        repository: repository_name(folder.unwrap_or(&row.cwd)),
        lifecycle: state.map_or(ExecutionLifecycle::Terminated, |state| state.lifecycle),
        attention: state.map_or(ExecutionAttention::None, |state| state.attention),
        activity: state.map_or(ExecutionActivity::Unknown, |state| state.activity),
        progress: state.ok().and_then(|state| {
            let progress = state.progress.as_ref()?;
            Some(progress.summary.as_str().to_owned())
        }),
        open_questions: state.map_or(0, |state| state.requests.len()),
        waiting_messages: state.map_or(0, |state| state.undelivered().count()),
        started_at: row.started_at,
        ended_at: row.ended_at,
        failure: state.ok().and_then(|state| failure(state)),
        tokens: state.map_or_else(|_| Tokens::default(), |state| tokens(state)),
        cost: facts.cost(call, row.id),
        conversation: row.conversation.clone(),
        trouble: state.err().cloned(),
    }
}

fn questions(state: &ExecutionState) -> Vec<OpenQuestion> {
    let question = |request: &missiond_journal::record::InputRequest| OpenQuestion {
        request: request.id,
        question: request.question.as_str().to_owned(),
        choices: request
            .choices
            .iter()
            .map(|choice| choice.label.as_str().to_owned())
            .collect(),
    };
    state.requests.values().map(question).collect()
}

fn messages(state: &ExecutionState) -> Vec<SentMessage> {
    let message = |(id, message): (_, &missiond_journal::state::MessageState)| SentMessage {
        message: id,
        accepted_at: message.accepted_at,
        status: message.status,
        reason: message.reason.clone(),
        answers: message.answers,
    };
    let all = state.messages.iter().map(|(&id, message)| (id, message));
    all.map(message).collect()
}

fn message_result(execution: ExecutionId, accepted: Accepted) -> MessageResult {
    MessageResult {
        execution,
        message: accepted.message,
        outcome: if accepted.first {
            MessageOutcome::Accepted
        } else {
            MessageOutcome::Duplicate
        },
    }
}

fn of_execution(error: &ExecutionError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_record_has_the_same_word_in_a_call_and_in_a_journal() {
        for kind in missiond_journal::RecordKind::ALL {
            let word = serde_json::to_value(kind).unwrap();
            let asked: RecordKind = serde_json::from_value(word).unwrap();
            assert_eq!(record_kind(asked), *kind);
        }
    }
}
