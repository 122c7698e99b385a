//! Handlers of the board: what was asked in the board's words, and its answers
//! in those of the catalogue.

use missiond_api::ApiError;
use missiond_api::operations::board::{
    BoardAdd, BoardAddParams, BoardAlternative, BoardAlternativeParams, BoardCancel,
    BoardCancelParams, BoardDecompose, BoardDecomposeParams, BoardEdit, BoardEditParams,
    BoardExport, BoardExportParams, BoardGraph, BoardGraphParams, BoardImport, BoardImportParams,
    BoardList, BoardListParams, BoardNote, BoardNoteParams, BoardReady, BoardReadyParams,
    BoardRetry, BoardRetryParams, BoardShow, BoardTaskParams, Decomposed, Exported, GraphNode,
    GraphReport, Imported, ReadyReport, TaskAdded, TaskDetails, TaskField, TaskLink, TaskPage,
    TaskSummary, WaitingTask,
};
use missiond_autopilot::board::{Added, Again, BoardError, Change, Part, Source, TaskRequest};
use missiond_core::{Alternative, BoardTask, ErrorCode, Note, Text, Wait};
use missiond_store::board::{Clearable, Dependency, ReadyLimits, RetryFrom, TaskEdit, TaskFilter};

use crate::alternatives;
use crate::call::{Call, Operations};
use crate::observe;

/// The most of a title a graph shows.
const GRAPH_TITLE: usize = 80;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<BoardAdd, _, _>(add);
    operations.add::<BoardList, _, _>(list);
    operations.add::<BoardShow, _, _>(show);
    operations.add::<BoardEdit, _, _>(edit);
    operations.add::<BoardReady, _, _>(ready);
    operations.add::<BoardGraph, _, _>(graph);
    operations.add::<BoardDecompose, _, _>(decompose);
    operations.add::<BoardAlternative, _, _>(alternative);
    operations.add::<BoardNote, _, _>(note);
    operations.add::<BoardRetry, _, _>(retry);
    operations.add::<BoardCancel, _, _>(cancel);
    operations.add::<BoardImport, _, _>(import);
    operations.add::<BoardExport, _, _>(export);
}

pub(super) async fn add(call: Call, params: BoardAddParams) -> Result<TaskAdded, ApiError> {
    let request = TaskRequest {
        draft: params.task,
        template: params.template,
        parent: params.parent,
        depends_on: params.depends_on,
        alternatives: params.alternatives.into_vec(),
    };
    let added = call
        .daemon
        .board
        .add(request, limits(&call).await?, call.trace)
        .await;
    let added = added.map_err(|error| of_board(&error))?;
    call.started.task(&call.principal, added.task.id);
    for alternative in &added.alternatives {
        call.started.task(&call.principal, alternative.id);
    }
    Ok(task_added(added))
}

fn task_added(added: Added) -> TaskAdded {
    TaskAdded {
        task: added.task,
        waits: explained(added.waits),
        warnings: added.warnings,
        alternatives: added.alternatives.iter().map(|task| task.number).collect(),
    }
}

async fn list(call: Call, params: BoardListParams) -> Result<TaskPage, ApiError> {
    let filter = TaskFilter {
        status: params.status,
        label: params.label,
        parent: None,
        search: params.search.map(Text::into_string),
        offset: params.offset.to_u32(),
        limit: params.limit.to_u32(),
    };
    let listed = call.daemon.board.list(filter, params.parent).await;
    let (tasks, total) = listed.map_err(|error| of_board(&error))?;
    let mut summaries = summaries(&tasks);
    let ids = summaries.iter().map(|task| task.id).collect();
    let mut usage = observe::of_tasks(&call, ids).await?;
    let several = call.daemon.board.alternative_counts(tasks).await;
    let several = several.map_err(|error| of_board(&error))?;
    for task in &mut summaries {
        task.usage = usage.remove(&task.id);
        task.one_of = several.get(&task.id).copied();
    }
    Ok(TaskPage {
        tasks: summaries,
        total,
    })
}

async fn show(call: Call, params: BoardTaskParams) -> Result<TaskDetails, ApiError> {
    let found = call
        .daemon
        .board
        .details(params.task, limits(&call).await?)
        .await;
    let found = found.map_err(|error| of_board(&error))?;
    let id = found.task.id;
    let usage = observe::of_tasks(&call, vec![id]).await?.remove(&id);
    Ok(TaskDetails {
        usage,
        alternatives: alternatives::compared(&call, found.alternatives).await?,
        parent: found.parent.as_ref().map(link),
        children: found.children.iter().map(link).collect(),
        depends_on: found.depends_on.into_iter().map(link_to).collect(),
        dependents: found.dependents.into_iter().map(link_to).collect(),
        waits: explained(found.waits),
        notes: found.notes,
        attempts: found.attempts,
        evidence: found.evidence,
        task: found.task,
    })
}

async fn edit(call: Call, params: BoardEditParams) -> Result<BoardTask, ApiError> {
    let change = Change {
        edit: TaskEdit {
            set: params.set,
            clear: params.clear.into_iter().map(clearable).collect(),
        },
        depend: params.depend,
        undepend: params.undepend,
        phase: params.phase,
    };
    let edited = call
        .daemon
        .board
        .edit(params.task, change, call.trace)
        .await;
    edited.map_err(|error| of_board(&error))
}

async fn ready(call: Call, params: BoardReadyParams) -> Result<ReadyReport, ApiError> {
    let limits = ReadyLimits {
        limit: params.limit.to_u32(),
        ..limits(&call).await?
    };
    let found = call.daemon.board.readiness(limits).await;
    let found = found.map_err(|error| of_board(&error))?;
    let waiting = found.waiting.into_iter().map(|waiting| WaitingTask {
        task: (&waiting.task).into(),
        waits: explained(waiting.waits),
    });
    Ok(ReadyReport {
        ready: summaries(&found.ready),
        ready_total: found.ready_total,
        waiting: waiting.collect(),
        open_total: found.open_total,
    })
}

/// What the autopilot would wait for.
async fn limits(call: &Call) -> Result<ReadyLimits, ApiError> {
    let limits = call.daemon.autopilot.limits_in_force().await;
    limits.map_err(|error| crate::call::of_store(&error))
}

async fn graph(call: Call, params: BoardGraphParams) -> Result<GraphReport, ApiError> {
    let found = call.daemon.board.graph(params.task, params.all).await;
    let found = found.map_err(|error| of_board(&error))?;
    let node = |(task, depends_on): (BoardTask, Vec<_>)| GraphNode {
        number: task.number,
        title: task.title.chars().take(GRAPH_TITLE).collect(),
        status: task.status,
        parent: task
            .parent
            .and_then(|parent| found.numbers.get(&parent).copied()),
        depends_on,
    };
    Ok(GraphReport {
        nodes: found.tasks.into_iter().map(node).collect(),
        left_out: found.left_out,
    })
}

async fn decompose(call: Call, params: BoardDecomposeParams) -> Result<Decomposed, ApiError> {
    let parts = params.steps.map(|step| Part {
        key: step.key,
        draft: step.task,
        depends_on: step.depends_on,
    });
    let board = &call.daemon.board;
    let divided = board.decompose(params.task, parts, call.trace).await;
    let (parent, steps) = divided.map_err(|error| of_board(&error))?;
    Ok(Decomposed {
        parent: (&parent).into(),
        steps: summaries(&steps),
    })
}

async fn alternative(call: Call, params: BoardAlternativeParams) -> Result<TaskAdded, ApiError> {
    let (board, limits) = (&call.daemon.board, limits(&call).await?);
    let alternative = Alternative {
        engine: params.engine,
        model: params.model,
        control: params.control,
    };
    let added = board.add_alternative(params.task, alternative, limits, call.trace);
    let added = added.await.map_err(|error| of_board(&error))?;
    call.daemon.autopilot.wake();
    Ok(task_added(added))
}

async fn note(call: Call, params: BoardNoteParams) -> Result<Note, ApiError> {
    let author = call.principal.with_note(params.author.as_deref());
    let board = &call.daemon.board;
    let noted = board
        .add_note(params.task, author, params.text, call.trace)
        .await;
    noted.map_err(|error| of_board(&error))
}

async fn retry(call: Call, params: BoardRetryParams) -> Result<BoardTask, ApiError> {
    let from = if params.fresh {
        RetryFrom::Scratch
    } else {
        RetryFrom::LastAttempt
    };
    let retried = call.daemon.board.retry(params.task, from, call.trace).await;
    call.daemon.autopilot.wake();
    retried.map_err(|error| match error.illegal_move() {
        Some(illegal) => conflict(format!(
            "{} is {}: only what is blocked, failed or in review is tried again",
            params.task, illegal.from
        )),
        None => of_board(&error),
    })
}

async fn cancel(call: Call, params: BoardCancelParams) -> Result<BoardTask, ApiError> {
    let reason = params
        .reason
        .map_or_else(|| "no reason was given".to_owned(), Text::into_string);
    let cancelled = call
        .daemon
        .board
        .cancel(params.task, reason, call.trace)
        .await;
    cancelled.map_err(|error| match error.illegal_move() {
        Some(illegal) => conflict(format!(
            "{} is {}: there is nothing to cancel",
            params.task, illegal.from
        )),
        None => of_board(&error),
    })
}

async fn import(call: Call, params: BoardImportParams) -> Result<Imported, ApiError> {
    let source = match (params.text, params.file) {
        (Some(text), None) => Source::Text(text),
        (None, Some(file)) => Source::File(file),
        _ => {
            let message = "give the tasks as `text` or as the name of a `file`, one of the two";
            return Err(ApiError::invalid_params(message));
        }
    };
    let board = &call.daemon.board;
    let read = board.read_cards(params.format, source).await;
    let read = read.map_err(|error| of_board(&error))?;
    let again = if params.again {
        Again::Take
    } else {
        Again::Refuse
    };
    let (cards, defaults) = (read.cards, params.defaults);
    let taken = if params.dry_run {
        board.could_take(cards, defaults, again).await
    } else {
        board.import(cards, defaults, again, call.trace).await
    };
    let taken = taken.map_err(|error| of_board(&error))?;
    Ok(Imported {
        tasks: taken.tasks,
        first: taken.first,
        last: taken.last,
        passed_over: read.passed_over.iter().map(|line| *line as u64).collect(),
    })
}

async fn export(call: Call, params: BoardExportParams) -> Result<Exported, ApiError> {
    let written = call.daemon.board.export(params.format).await;
    let (file, tasks) = written.map_err(|error| of_board(&error))?;
    Ok(Exported {
        file: file.display().to_string(),
        tasks,
    })
}

fn conflict(message: String) -> ApiError {
    ApiError::new(ErrorCode::Conflict, message)
}

pub(super) fn of_board(error: &BoardError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}

fn explained(waits: Vec<Wait>) -> Vec<missiond_api::operations::board::Explained> {
    waits.into_iter().map(Into::into).collect()
}

fn summaries(tasks: &[BoardTask]) -> Vec<TaskSummary> {
    tasks.iter().map(Into::into).collect()
}

fn link(task: &BoardTask) -> TaskLink {
    TaskLink {
        number: task.number,
        title: task.title.clone(),
        status: task.status,
    }
}

fn link_to(other: Dependency) -> TaskLink {
    TaskLink {
        number: other.number,
        title: other.title,
        status: other.status,
    }
}

const fn clearable(field: TaskField) -> Clearable {
    match field {
        TaskField::Due => Clearable::Due,
        TaskField::Engine => Clearable::Engine,
        TaskField::Permission => Clearable::Permission,
        TaskField::Model => Clearable::Model,
        TaskField::Control => Clearable::Control,
        TaskField::Repository => Clearable::Repository,
        TaskField::Base => Clearable::Base,
        TaskField::Budget => Clearable::Budget,
    }
}
