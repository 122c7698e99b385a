//! The board: tasks with dependencies, what is ready, and what waits for what.
//! Claiming is not here: who works on a task is decided by the daemon alone.

use missiond_core::{
    Alternatives, Attempt, BoardTask, BoardTaskId, BoardTaskStatus, BoundedOr, CheckVerdict,
    CliEngine, Controller, EngineeringPhase, Evidence, Limit, Note, NoteText, Parts, Priority,
    PullRequest, TaskDraft, TaskNumber, TaskRef, Text, Timestamp, Wait,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::observe::Usage;
use super::operations;

pub use missiond_core::{ExportFormat, ImportFormat};

operations! {
    Knowledge;

    BoardAdd = "board_add" (Additive, "board", Agents):
        BoardAddParams => TaskAdded,
        "Put a task on the board, with what it depends on and the checks that prove it done.";

    BoardList = "board_list" (ReadOnly, "board"):
        BoardListParams => TaskPage,
        "List the tasks of the board, the most wanted first.";

    BoardShow = "board_show" (ReadOnly, "board"):
        BoardTaskParams => TaskDetails,
        "Show one task: what it waits for, its notes, and every attempt with its evidence.";

    BoardEdit = "board_edit" (Idempotent, "board", Own(AddedTask)):
        BoardEditParams => BoardTask,
        "Change what a task says, what it depends on or the phase it is in.";

    BoardReady = "board_ready" (ReadOnly, "board"):
        BoardReadyParams => ReadyReport,
        "Say which tasks can be worked on now, and for each of the others what it waits for.";

    BoardGraph = "board_graph" (ReadOnly, "board"):
        BoardGraphParams => GraphReport,
        "Give the tasks with what each depends on, whole or around one task.";

    BoardDecompose = "board_decompose" (Additive, "board", Agents):
        BoardDecomposeParams => Decomposed,
        "Divide a task into steps that may depend on each other, all of them or none.";

    BoardAlternative = "board_alternative" (Additive, "board", Agents):
        BoardAlternativeParams => TaskAdded,
        "Have one more engine try a task that is not worked on and has not ended; a person keeps \
         one of its alternatives.";

    BoardNote = "board_note" (Additive, "board", Agents):
        BoardNoteParams => Note,
        "Write a note on a task.";

    BoardRetry = "board_retry" (Idempotent, "board", Own(AddedTask); Agent):
        BoardRetryParams => BoardTask,
        "Have a task tried again that is blocked, failed or in review, with its count of attempts \
         at zero; from scratch if asked. Refused while it is worked on.";

    BoardCancel = "board_cancel" (Destructive, "board", Own(AddedTask)):
        BoardCancelParams => BoardTask,
        "Cancel a task and give it up; what its agent still writes is refused.";

    BoardImport = "board_import" (Additive, "board", Agents):
        BoardImportParams => Imported,
        "Put the tasks of a file on the board, all of them or none.";

    BoardExport = "board_export" (Additive, "board", Agents):
        BoardExportParams => Exported,
        "Write the board to a file in the exchange folder, as JSON lines or a Markdown checklist.";
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardAddParams {
    pub task: TaskDraft,
    /// A template for what the task leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The task it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskRef>,
    /// Tasks that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskRef>,
    /// Engines to try it too, as engine:model; one is kept.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub alternatives: Alternatives,
}

fn is_empty(alternatives: &Alternatives) -> bool {
    alternatives.is_empty()
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardAlternativeParams {
    /// Its number, like T-1, or its id.
    pub task: TaskRef,
    pub engine: CliEngine,
    /// The model, in the words of the engine; its usual one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What drives it; as for every run of the engine when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Controller>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardRetryParams {
    /// Its number, like T-1, or its id.
    pub task: TaskRef,
    /// Begin from scratch, in a new worktree from the base. Without this the next
    /// attempt goes on with what the last one left.
    #[serde(default)]
    pub fresh: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskAdded {
    pub task: BoardTask,
    pub waits: Vec<Explained>,
    /// What is probably a mistake.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The same task for other engines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<TaskNumber>,
}

/// One thing a task waits for, and the sentence that says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    #[serde(flatten)]
    pub wait: Wait,
    pub sentence: String,
}

impl From<Wait> for Explained {
    fn from(wait: Wait) -> Self {
        let sentence = wait.to_string();
        Self { wait, sentence }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BoardListParams {
    /// Any of these; every status when left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<BoardTaskStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Only parts of this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskRef>,
    /// Part of the title or the description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Text<500, 0>>,
    /// Leave out so many.
    pub offset: BoundedOr<0, { u32::MAX as i64 }, 0>,
    /// At most so many.
    pub limit: Limit<500, 100>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskPage {
    pub tasks: Vec<TaskSummary>,
    /// How many there are beyond the limit too.
    pub total: u64,
}

/// A task in few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSummary {
    pub id: BoardTaskId,
    pub number: TaskNumber,
    pub title: String,
    pub status: BoardTaskStatus,
    pub phase: EngineeringPhase,
    pub priority: Priority,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The repository it is done in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// Why it is blocked or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// Where its work is judged, once that was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequest>,
    /// What its agents used so far; absent when nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How many engines try the same, this one too; absent when it is alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_of: Option<u32>,
    pub updated_at: Timestamp,
}

impl From<&BoardTask> for TaskSummary {
    fn from(task: &BoardTask) -> Self {
        Self {
            id: task.id,
            number: task.number,
            title: task.title.clone(),
            status: task.status,
            phase: task.phase,
            priority: task.priority,
            engine: task.engine.clone(),
            labels: task.labels.clone(),
            repository: task
                .repository
                .as_ref()
                .map(|path| path.display().to_string()),
            due: task.due,
            blocked: task.blocked.clone(),
            pull_request: task.pull_request.clone(),
            usage: None,
            one_of: None,
            updated_at: task.updated_at,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardTaskParams {
    /// Its number, like T-12, or its id.
    pub task: TaskRef,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskDetails {
    pub task: BoardTask,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskLink>,
    pub children: Vec<TaskLink>,
    pub depends_on: Vec<TaskLink>,
    pub dependents: Vec<TaskLink>,
    pub waits: Vec<Explained>,
    /// The newest, oldest first.
    pub notes: Vec<Note>,
    /// Oldest first.
    pub attempts: Vec<Attempt>,
    /// What the checks of the newest attempt said last.
    pub evidence: Vec<Evidence>,
    /// What its agents used so far; absent when nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// All that try the same, this one too, by number; none when it is alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<AlternativeSummary>,
}

/// One of several tasks for the same work, as far as they are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlternativeSummary {
    pub number: TaskNumber,
    pub status: BoardTaskStatus,
    pub engine: CliEngine,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the last round of checks came to; absent when none ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckVerdict>,
    /// What its last attempt changed; absent when there is nothing to look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ChangeSize>,
    /// What its agents used so far; absent when nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// How much was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeSize {
    pub files: u64,
    pub additions: u64,
    pub deletions: u64,
}

/// Another task, as far as one needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskLink {
    pub number: TaskNumber,
    pub title: String,
    pub status: BoardTaskStatus,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardEditParams {
    /// Its number, like T-12, or its id.
    pub task: TaskRef,
    /// What it has replaces what the task had.
    #[serde(default)]
    pub set: TaskDraft,
    /// What the task is to be without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clear: Vec<TaskField>,
    /// Tasks that must be done first, beside those that already are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depend: Vec<TaskRef>,
    /// Tasks that need not be done first any longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undepend: Vec<TaskRef>,
    /// The phase to go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<EngineeringPhase>,
}

/// What a task may be without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskField {
    Due,
    Engine,
    Permission,
    Model,
    Control,
    Repository,
    Base,
    Budget,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BoardReadyParams {
    /// At most so many of each.
    pub limit: Limit<200, 50>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadyReport {
    /// Can be worked on now, the most wanted first.
    pub ready: Vec<TaskSummary>,
    /// How many are ready beyond the limit too.
    pub ready_total: u64,
    pub waiting: Vec<WaitingTask>,
    /// How many are open or blocked in all, ready or not.
    pub open_total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingTask {
    pub task: TaskSummary,
    pub waits: Vec<Explained>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BoardGraphParams {
    /// Only what this task depends on and what depends on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskRef>,
    /// Also tasks that are done or failed.
    pub all: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphReport {
    /// By number.
    pub nodes: Vec<GraphNode>,
    /// Tasks beyond what one answer can hold.
    pub left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphNode {
    pub number: TaskNumber,
    /// Its first 80 characters.
    pub title: String,
    pub status: BoardTaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskNumber>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskNumber>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardDecomposeParams {
    /// Its number, like T-12, or its id.
    pub task: TaskRef,
    pub steps: Parts<Step>,
}

/// One step of a task that is divided.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// A name for other steps to depend on.
    pub key: String,
    /// What it leaves out is taken from the task that is divided.
    pub task: TaskDraft,
    /// Keys of other steps, or numbers of other tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decomposed {
    pub parent: TaskSummary,
    pub steps: Vec<TaskSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardNoteParams {
    /// Its number, like T-12, or its id.
    pub task: TaskRef,
    pub text: NoteText,
    /// Who says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Text<128>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardCancelParams {
    /// Its number, like T-12, or its id.
    pub task: TaskRef,
    /// Why, for whoever looks at it later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<2000>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardImportParams {
    pub format: ImportFormat,
    /// What is in the file; or `file`, for more than fits here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The name of a file in the exchange folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What tasks are given that leave it out.
    #[serde(default)]
    pub defaults: TaskDraft,
    /// Only look whether it could be done.
    #[serde(default)]
    pub dry_run: bool,
    /// Also when all of its tasks are on the board already.
    #[serde(default)]
    pub again: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    pub tasks: u64,
    /// The numbers they got; none for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<TaskNumber>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<TaskNumber>,
    /// Lines of the file that belong to no task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardExportParams {
    pub format: ExportFormat,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exported {
    /// The file that was written, whole path.
    pub file: String,
    pub tasks: u64,
}
