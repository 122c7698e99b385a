//! Executions: runs of agents, what was said to them and what came of it.

use std::collections::BTreeMap;

use missiond_core::{
    AbsolutePath, AgentTold, Bounded, CliEngine, Controller, Cost, DeliveryStatus,
    ExecutionActivity, ExecutionAttention, ExecutionId, ExecutionLifecycle, Limit, MAX_EXACT,
    MessageId, ObservationId, PtyState, SendWhen, SlotId, SlotName, TaskNumber, Text, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operations;
use super::overview::RepositoryName;

pub use missiond_core::Permission;

operations! {
    Compute;

    ExecutionStart = "execution_start" (Additive, "executions", Agents; Agent):
        ExecutionStartParams => ExecutionSummary,
        "Run an agent in a slot of its own, with a journal, and give it a first prompt.";

    ExecutionList = "execution_list" (ReadOnly, "executions"):
        ExecutionListParams => ExecutionPage,
        "List the runs of agents with what each is doing, the newest first.";

    ExecutionShow = "execution_show" (ReadOnly, "executions"):
        ExecutionParams => ExecutionDetails,
        "Show one run of an agent: its state, open questions, messages and what happened last.";

    ExecutionJournal = "execution_journal" (ReadOnly, "executions"):
        ExecutionJournalParams => JournalPage,
        "Read the journal of one run record by record: messages, observations, decisions, effects; \
         by kind, forwards or from the end.";

    ExecutionMessage = "execution_message" (Additive, "executions", Own(StartedExecution); Agent):
        ExecutionMessageParams => MessageResult,
        "Queue a text for an agent; it is typed when the agent waits for one.";

    ExecutionAnswer = "execution_answer" (Additive, "executions", People; Agent):
        ExecutionAnswerParams => MessageResult,
        "Answer a question an agent has asked.";

    ExecutionInterrupt = "execution_interrupt" (Additive, "executions", Own(Execution); Process):
        ExecutionParams => MessageResult,
        "Stop what an agent is doing now; its program goes on and takes the next message.";

    ExecutionCancel = "execution_cancel" (Destructive, "executions", Own(Execution); Process):
        ExecutionCancelParams => ExecutionSummary,
        "End a run of an agent that is no longer wanted, with every process it started.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionStartParams {
    /// Which agent CLI.
    pub engine: CliEngine,
    /// The folder to work in, absolute.
    pub cwd: AbsolutePath,
    /// What to give the agent first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Text<100_000>>,
    /// More arguments for the CLI; for an engine without an adapter, the program and its
    /// arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The model's name, in the words of the CLI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default)]
    pub permission: Permission,
    /// What people call its slot; made up when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<SlotName>,
    /// Variables beside the few that the daemon passes on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Go on with this conversation, by the CLI's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Controller>,
    /// When left out: by MCP where the CLI can be given a server, otherwise by
    /// markers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signals: Option<Signals>,
    /// You trust this folder: say so when the CLI asks.
    #[serde(default)]
    pub trust_folder: bool,
    /// Tell the agent what is known beside its prompt.
    #[serde(
        default = "default_context",
        skip_serializing_if = "is_default_context"
    )]
    pub context: bool,
}

const fn default_context() -> bool {
    true
}

const fn is_default_context(context: &bool) -> bool {
    *context
}

/// How an agent reports to its execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Signals {
    /// By lines in its output; how is told before the first prompt.
    Markers,
    /// By the tools of an MCP server the agent's CLI is given; an agent that
    /// cannot be given it does not start.
    Mcp,
    /// Not at all: it is only observed.
    None,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionSummary {
    pub execution: ExecutionId,
    pub engine: CliEngine,
    pub slot: SlotId,
    /// The name of the slot while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot_name: Option<String>,
    /// The task it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNumber>,
    /// The title of its task, else how its first prompt begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub cwd: String,
    /// The checkout of its task, else the folder it runs in.
    pub repository: RepositoryName,
    /// Where the run is between its start and its end.
    pub lifecycle: ExecutionLifecycle,
    /// Whether it needs somebody.
    pub attention: ExecutionAttention,
    /// What the agent is busy with.
    pub activity: ExecutionActivity,
    /// What the agent last said of its progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    pub open_questions: usize,
    pub waiting_messages: usize,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Why it did not end well, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    pub tokens: Tokens,
    pub cost: Cost,
    /// The CLI's own id of the conversation, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Why the journal cannot be read, if it cannot; the states are then the
    /// last resort, not the truth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExecutionListParams {
    /// Also those that have ended.
    pub all: bool,
    /// With `all`: at most so many.
    pub limit: Limit<1000, 50>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionPage {
    pub executions: Vec<ExecutionSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionParams {
    /// The execution's id, or the name of its slot.
    pub execution: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionDetails {
    #[serde(flatten)]
    pub summary: ExecutionSummary,
    /// Whom the run belongs to.
    pub owner: String,
    /// How the agent reports: `mcp_tool`, `marker` or `none`.
    pub signals: String,
    /// The file or the database that holds the journal.
    pub journal: String,
    /// Records in the journal.
    pub records: u64,
    pub questions: Vec<OpenQuestion>,
    pub messages: Vec<SentMessage>,
    /// What its screen was last read as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<PtyState>,
    /// How the agent's last words begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// What drives the agent, or drove it last; unknown when nothing is left that tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ExecutionControl>,
    /// What an agent that is driven by its protocol tells of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentTold>,
    /// What happened last, oldest first.
    pub timeline: Vec<Happening>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionControl {
    pub by: Controller,
    /// Why it is that; not kept of a run that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionJournalParams {
    /// The execution's id, or the name of its slot.
    pub execution: String,
    /// Only these kinds of record; all when left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<RecordKind>,
    /// Only what comes after this record, oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Bounded<0, MAX_EXACT>>,
    /// Only what comes before this record: the last ones of it. Without either,
    /// the last ones of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Bounded<0, MAX_EXACT>>,
    /// At most so many.
    #[serde(default)]
    pub limit: Limit<500, 100>,
    /// With everything a record says, not only a sentence of it.
    #[serde(default)]
    pub data: bool,
}

/// The kinds of records a journal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RecordKind {
    /// Whose journal this is. Always the first record.
    #[serde(rename = "journal.header")]
    Header,
    /// A message for the agent was accepted.
    #[serde(rename = "message.accepted")]
    MessageAccepted,
    /// How far a message has come.
    #[serde(rename = "message.delivery")]
    MessageDelivery,
    /// Something was observed.
    #[serde(rename = "observation.recorded")]
    Observation,
    /// What was decided on an observation, and why.
    #[serde(rename = "decision.recorded")]
    Decision,
    /// Lifecycle, attention or what is waited for changed.
    #[serde(rename = "state.changed")]
    StateChanged,
    /// What the agent is busy with changed.
    #[serde(rename = "activity.updated")]
    ActivityUpdated,
    /// The owner is to be told something, or has been.
    #[serde(rename = "owner-effect.recorded")]
    OwnerEffect,
    /// Something for the timeline that no other record says.
    #[serde(rename = "projection.recorded")]
    Projection,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JournalPage {
    pub execution: ExecutionId,
    /// Oldest first.
    pub records: Vec<JournalEntry>,
    /// The newest record there is.
    pub head: u64,
    /// Everything up to here was looked at: pass it as `after` to go on. With
    /// `before`, everything from here on: pass it as `before`.
    pub next: u64,
    /// There may be more in the direction that was asked for.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JournalEntry {
    pub sequence: u64,
    pub at: Timestamp,
    pub kind: String,
    /// What it says, in one line.
    pub text: String,
    /// All that it says, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

/// What the agent's requests to its model took, as far as its CLI tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    pub requests: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenQuestion {
    pub request: ObservationId,
    pub question: String,
    /// Answers to choose from; none when any text will do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentMessage {
    pub message: MessageId,
    pub accepted_at: Timestamp,
    pub status: DeliveryStatus,
    /// Why it is held or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The question it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<ObservationId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Happening {
    pub sequence: u64,
    pub at: Timestamp,
    pub title: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionMessageParams {
    /// The execution's id, or the name of its slot.
    pub execution: String,
    pub text: Text<100_000>,
    /// The same key again is the same message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<200>>,
    /// The execution whose agent sends it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ExecutionId>,
    /// Files to show with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<AbsolutePath>,
    /// What to do while the agent works; where it takes nothing then, the message waits.
    #[serde(default, skip_serializing_if = "SendWhen::is_idle")]
    pub when: SendWhen,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionAnswerParams {
    /// The execution's id, or the name of its slot.
    pub execution: String,
    /// The question; the only open one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<ObservationId>,
    /// The answer, or the label of one of the offered ones.
    pub text: Text<8000>,
    /// A name for this answer, as for a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Text<200>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageResult {
    pub execution: ExecutionId,
    pub message: MessageId,
    pub outcome: MessageOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageOutcome {
    /// It is on record and will be delivered.
    Accepted,
    /// It was accepted before under the same key.
    Duplicate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionCancelParams {
    /// The execution's id, or the name of its slot.
    pub execution: String,
    /// Why, for the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text<2000>>,
}
