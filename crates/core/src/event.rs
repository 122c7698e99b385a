//! The events of the timeline.
//!
//! One enum, so that everything that can happen is on one page. Each kind
//! belongs to a category and is either persistent (stored with a sequence
//! number before anyone hears of it) or ephemeral (told to whoever listens and
//! then forgotten). Payloads name things by id and say what changed; the thing
//! itself is read from the store.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{
    AccessId, AccessKind, Anomaly, AttemptId, BoardTaskId, BoardTaskStatus, CliEngine, Controller,
    ConversationId, DaemonId, EngineeringPhase, EntryId, ErrorCode, ExecutionActivity,
    ExecutionAttention, ExecutionId, ExecutionLifecycle, FencingToken, IncidentId, MessageId,
    ObservationId, PtyState, QuestionId, Severity, SlotId, TaskId, Timestamp, TraceContext, TurnId,
};

/// The place of a persistent event in the timeline: 1, 2, 3 … without holes.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Seq(pub i64);

impl std::fmt::Display for Seq {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// An event with its place, time, origin and cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineEvent {
    /// Absent on ephemeral events.
    pub seq: Option<Seq>,
    pub at: Timestamp,
    /// The daemon that saw it happen.
    pub daemon: DaemonId,
    #[serde(flatten)]
    pub trace: TraceContext,
    pub event: Event,
}

/// What an event is about.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    Pty,
    Message,
    Task,
    Board,
    Slot,
    Knowledge,
    CliEngine,
    Pipeline,
    /// The daemon itself: its life, its operations, its incidents.
    System,
}

/// Whether an event is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    Persistent,
    Ephemeral,
}

/// What is fixed about a kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindSpec {
    pub kind: &'static str,
    pub category: Category,
    pub durability: Durability,
}

/// The spec of the kind with this name, if there is one.
#[must_use]
pub fn kind_spec(kind: &str) -> Option<&'static KindSpec> {
    KINDS.iter().find(|spec| spec.kind == kind)
}

/// What an event is read from: an object whose `type` says which event it is.
struct Fields(Map<String, Value>);

/// Why something is no event.
#[derive(Debug, thiserror::Error)]
enum EventError {
    #[error("missing field `{0}`")]
    Missing(&'static str),
    #[error("field `{field}`: {error}")]
    Field {
        field: &'static str,
        error: serde_json::Error,
    },
    #[error("unknown kind of event `{0}`")]
    UnknownKind(String),
}

impl Fields {
    /// What may be absent reads an absent field as none.
    fn remove<T: DeserializeOwned>(&mut self, field: &'static str) -> Result<T, EventError> {
        match self.0.remove(field) {
            Some(value) => {
                T::deserialize(value).map_err(|error| EventError::Field { field, error })
            }
            None => T::deserialize(Value::Null).map_err(|_| EventError::Missing(field)),
        }
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(deserializer)?;
        Self::from_fields(Fields(fields)).map_err(serde::de::Error::custom)
    }
}

macro_rules! events {
    ($($category:ident {
        $($durability:ident $(#[$doc:meta])* $variant:ident = $kind:literal {
            $($field:ident: $type:ty),* $(,)?
        })*
    })*) => {
        /// Everything that can happen.
        #[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
        #[serde(tag = "type")]
        pub enum Event {
            $($(
                $(#[$doc])*
                #[serde(rename = $kind)]
                $variant { $($field: $type),* },
            )*)*
        }

        /// Every kind of event, in the order of the enum.
        pub const KINDS: &[KindSpec] = &[
            $($(KindSpec {
                kind: $kind,
                category: Category::$category,
                durability: Durability::$durability,
            },)*)*
        ];

        impl Event {
            /// The event of this kind with these fields. Not generic, and so made
            /// once: derived, each crate that reads events would make the code
            /// for every kind again, for each format it reads.
            fn from_fields(mut fields: Fields) -> Result<Self, EventError> {
                let kind: String = fields.remove("type")?;
                match kind.as_str() {
                    $($($kind => Ok(Self::$variant {
                        $($field: fields.remove(stringify!($field))?),*
                    }),)*)*
                    _ => Err(EventError::UnknownKind(kind.chars().take(64).collect())),
                }
            }

            #[must_use]
            pub const fn spec(&self) -> KindSpec {
                match self {
                    $($(Self::$variant { .. } => KindSpec {
                        kind: $kind,
                        category: Category::$category,
                        durability: Durability::$durability,
                    },)*)*
                }
            }
        }
    };
}

impl Event {
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.spec().kind
    }

    #[must_use]
    pub const fn is_persistent(&self) -> bool {
        matches!(self.spec().durability, Durability::Persistent)
    }
}

events! {
    Pty {
        Persistent
        /// The reading of a terminal changed.
        PtyStateChanged = "pty_state_changed" {
            slot: SlotId, from: PtyState, to: PtyState, confidence: f32, reason: String,
        }
        Ephemeral
        /// Bytes arrived; `offset` counts from the start of the recording.
        PtyOutput = "pty_output" { slot: SlotId, offset: u64, bytes: u64 }
        Ephemeral
        PtyScreenshot = "pty_screenshot" { slot: SlotId, path: String }
        Persistent
        /// A dialog waits for an answer.
        ConfirmRequired = "confirm_required" {
            slot: SlotId, execution: Option<ExecutionId>, title: String, options: Vec<String>,
        }
        Persistent
        ConfirmResolved = "confirm_resolved" { slot: SlotId, chosen: String, by: String }
        Persistent
        /// A prompt was typed and never taken.
        PromptStalled = "prompt_stalled" { slot: SlotId, message: Option<MessageId> }
        Persistent
        /// A dialog was answered by an operation.
        DialogAnswered = "dialog_answered" { slot: SlotId, question: String, option: String }
    }
    Message {
        Persistent
        ConversationMessageLogged = "conversation_message_logged" {
            conversation: ConversationId, message: MessageId, role: String,
        }
        Persistent
        ImageMessageInserted = "image_message_inserted" {
            conversation: ConversationId, message: MessageId, images: u32,
        }
        Persistent
        MessagePersisted = "message_persisted" { conversation: ConversationId, message: MessageId }
        Persistent
        /// A message to an agent was queued, held, delivered or failed.
        MessageDelivery = "message_delivery" {
            execution: ExecutionId, message: MessageId, outcome: String, reason: Option<String>,
        }
        Persistent
        NarrationSessionCompleted = "narration_session_completed" {
            conversation: ConversationId, narrated: u32,
        }
    }
    Task {
        Persistent
        TaskCreated = "task_created" { task: TaskId }
        Persistent
        TaskStarted = "task_started" { task: TaskId, slot: SlotId, token: FencingToken }
        Persistent
        TaskCompleted = "task_completed" { task: TaskId, slot: Option<SlotId> }
        Persistent
        TaskFailed = "task_failed" { task: TaskId, slot: Option<SlotId>, error: String }
        Persistent
        SlotTaskDispatched = "slot_task_dispatched" { slot: SlotId, task: TaskId }
    }
    Board {
        Persistent
        BoardTaskCreated = "board_task_created" { task: BoardTaskId, title: String }
        Persistent
        BoardTaskUpdated = "board_task_updated" { task: BoardTaskId, status: BoardTaskStatus }
        Persistent
        /// Of the alternatives of a task, this one was kept.
        BoardAlternativeKept = "board_alternative_kept" {
            task: BoardTaskId, instead_of: Vec<BoardTaskId>,
        }
        Persistent
        BoardTaskClaimed = "board_task_claimed" {
            task: BoardTaskId, attempt: AttemptId, holder: String, token: FencingToken,
        }
        Persistent
        BoardPhaseChanged = "board_phase_changed" {
            task: BoardTaskId, from: EngineeringPhase, to: EngineeringPhase,
        }
        Persistent
        /// The checks of an attempt ran.
        ChecksFinished = "checks_finished" {
            task: BoardTaskId, attempt: AttemptId, passed: u32, failed: u32,
        }
        Persistent
        LeaseExpired = "lease_expired" { resource: String, holder: String, token: FencingToken }
        Persistent
        /// A result arrived under a lease that was no longer held.
        StaleWriteRefused = "stale_write_refused" {
            resource: String, holder: String, token: FencingToken,
        }
        Persistent
        QuestionCreated = "question_created" {
            question: QuestionId, task: Option<BoardTaskId>, slot: Option<SlotId>,
        }
        Persistent
        QuestionAnswered = "question_answered" { question: QuestionId, by: String }
        Persistent
        QuestionDismissed = "question_dismissed" { question: QuestionId, by: String }
    }
    Slot {
        Persistent
        SlotCreated = "slot_created" { slot: SlotId, name: String, engine: CliEngine }
        Persistent
        SlotBecameIdle = "slot_became_idle" { slot: SlotId, execution: Option<ExecutionId> }
        Persistent
        SlotStateChanged = "slot_state_changed" { slot: SlotId, state: PtyState }
        Persistent
        /// Another program has the conversation, and how that is driven.
        ControllerChanged = "controller_changed" {
            slot: SlotId, generation: u32, controller: Controller,
        }
        Persistent
        /// Its recording cannot be written, and the program waits until it can.
        SlotRecordingStalled = "slot_recording_stalled" { slot: SlotId, name: String, why: String }
        Persistent
        SlotRecordingResumed = "slot_recording_resumed" { slot: SlotId }
        Persistent
        SlotClosed = "slot_closed" { slot: SlotId, reason: String }
        Persistent
        /// Something is wrong with what a slot does.
        SlotAnomalyFound = "slot_anomaly_found" {
            slot: SlotId, subject: String, anomaly: Anomaly, detail: String,
        }
        Persistent
        SlotAnomalyOver = "slot_anomaly_over" { slot: SlotId, subject: String, anomaly: Anomaly }
        Persistent
        SessionCompleted = "session_completed" {
            slot: SlotId, conversation: Option<ConversationId>, exit_status: Option<i32>,
            signal: Option<i32>, last_words: Option<String>,
        }
    }
    Knowledge {
        Persistent
        KbBatchMutated = "kb_batch_mutated" { added: u32, revised: u32, archived: u32 }
        Persistent
        KbConflictDetected = "kb_conflict_detected" { entry: EntryId, other: EntryId, relation: String }
        Persistent
        DeepAnalysisCompleted = "deep_analysis_completed" { conversation: ConversationId }
        Persistent
        /// A pass of the code map found changed files.
        CodeIndexed = "code_indexed" {
            root: String, changed: u32, gone: u32, files: u32, symbols: u32, millis: u64,
        }
        Persistent
        /// The code of a beacon is somewhere else now, or back. `trail` says by what it
        /// was known: `unchanged`, `edited`, `moved`, `renamed` or `alike`.
        BeaconMoved = "beacon_moved" {
            root: String, beacon: String, from: String, to: String, trail: String,
        }
        Persistent
        /// The code of a beacon is not found any more.
        BeaconLost = "beacon_lost" { root: String, beacon: String, from: String }
        Ephemeral
        EmbeddingProgress = "embedding_progress" { done: u64, total: u64 }
    }
    CliEngine {
        Persistent
        /// One run of an agent began; its journal exists.
        ExecutionStarted = "execution_started" {
            execution: ExecutionId, slot: SlotId, engine: CliEngine, cwd: String,
        }
        Persistent
        ExecutionStateChanged = "execution_state_changed" {
            execution: ExecutionId, lifecycle: ExecutionLifecycle,
            attention: ExecutionAttention, activity: ExecutionActivity,
        }
        Persistent
        /// The agent said something in structure. What it said is in its journal.
        ExecutionSignal = "execution_signal" {
            execution: ExecutionId, observation: Option<ObservationId>, signal: String,
            outcome: String,
        }
        Persistent
        /// The agent waits for an answer.
        InputRequested = "input_requested" {
            execution: ExecutionId, request: ObservationId, question: String,
        }
        Persistent
        ExecutionEnded = "execution_ended" {
            execution: ExecutionId, lifecycle: ExecutionLifecycle,
        }
        Persistent
        CliRequestStarted = "cli_request_started" { execution: ExecutionId, engine: CliEngine }
        Persistent
        CliRequestCompleted = "cli_request_completed" {
            execution: ExecutionId, input_tokens: u64, output_tokens: u64,
        }
        Ephemeral
        CliToolActivity = "cli_tool_activity" { execution: ExecutionId, tool: String, running: bool }
        Persistent
        /// The vendor's limit was reached; work may go on at `resets_at`.
        UsageLimitReached = "usage_limit_reached" {
            engine: CliEngine, execution: Option<ExecutionId>, resets_at: Option<Timestamp>,
        }
        Persistent
        /// Somebody who may not tried to speak for an execution, or said too much.
        ExecutionAccessRefused = "execution_access_refused" {
            execution: ExecutionId, reason: String,
        }
    }
    Pipeline {
        Persistent
        SessionOrganized = "session_organized" { conversation: ConversationId, repaired: u32 }
        Persistent
        TurnExtracted = "turn_extracted" { conversation: ConversationId, turn: TurnId }
        Persistent
        IntentAnalyzed = "intent_analyzed" { conversation: ConversationId, intent: String }
        Persistent
        RetrospectiveCompleted = "retrospective_completed" {
            conversation: ConversationId, lessons: u32,
        }
    }
    System {
        Persistent
        DaemonStarted = "daemon_started" { host: String, pid: u32, version: String }
        Persistent
        DaemonStopped = "daemon_stopped" { reason: String }
        Persistent
        /// An earlier run ended without closing.
        DaemonCrashFound = "daemon_crash_found" { run: DaemonId, host: String, pid: u32 }
        Persistent
        ConfigReloaded = "config_reloaded" { changed: Vec<String>, needs_restart: Vec<String> }
        Persistent
        /// A person changed a setting through the daemon; values are without passwords.
        /// `key` is that of the configuration, `servers.NAME` of the list of MCP
        /// servers, or a field of a repository's own configuration.
        ConfigChanged = "config_changed" {
            change: u64, key: String, repository: Option<String>, old: Option<String>,
            new: Option<String>, undoes: Option<u64>,
        }
        Persistent
        ConfigRejected = "config_rejected" { error: String }
        Persistent
        /// What agents may do was changed. `rule` is its name, `sentence` what it says.
        PermissionRuleAdded = "permission_rule_added" {
            rule: String, sentence: String, by: String,
        }
        Persistent
        PermissionRuleRemoved = "permission_rule_removed" {
            rule: String, sentence: String, by: String,
        }
        Persistent
        /// A policy file is in force as it is now; `digest` is none when it is gone.
        /// `warnings` are its rules that contradict each other or can never match.
        PolicyChanged = "policy_changed" {
            file: String, digest: Option<String>, rules: u32, warnings: Vec<String>,
        }
        Persistent
        /// What it said before stays in force; where it said nothing before, nothing is
        /// allowed.
        PolicyRejected = "policy_rejected" { file: String, error: String }
        Persistent
        /// An agent, a check or a tool server wanted to reach a host. `count` is how often
        /// it was the same since it was told last.
        EgressDecided = "egress_decided" {
            caller: String, kind: String, outcome: String, host: String, port: u16,
            method: Option<String>, path: Option<String>, rules: Vec<String>, reason: String,
            digest: String, count: u64,
        }
        Persistent
        /// A browser was logged in or a token made. What it shows to be let in is
        /// never told.
        AccessGranted = "access_granted" {
            access: AccessId, kind: AccessKind, name: String, expires_at: Option<Timestamp>,
        }
        Persistent
        /// A browser was logged out or a token taken back.
        AccessRevoked = "access_revoked" { access: AccessId, kind: AccessKind, name: String }
        Persistent
        /// Somebody asked for what is not theirs to do. `attempts` counts what was refused
        /// to them since the daemon began.
        AuthorityRefused = "authority_refused" {
            principal: String, slot: Option<SlotId>, operation: String, reason: String,
            attempts: u64,
        }
        Persistent
        /// What a run was started with is not what it was; the run is held until a person
        /// decides. `parts` names what differs, `digest` what was found.
        RunDrifted = "run_drifted" {
            execution: ExecutionId, slot: SlotId, digest: String, parts: Vec<String>,
        }
        Persistent
        /// A manifest of the person's own is in force as it is now, or gone.
        ManifestReloaded = "manifest_reloaded" { file: String }
        Persistent
        /// What it said before stays in force.
        ManifestRejected = "manifest_rejected" { file: String, error: String }
        Ephemeral
        OperationFinished = "operation_finished" {
            operation: String, micros: u64, error: Option<ErrorCode>,
        }
        Persistent
        /// The autopilot was switched to another mode.
        AutopilotChanged = "autopilot_changed" { mode: String, by: String, reason: String }
        Persistent
        /// A person or a script marked this moment.
        NoteAdded = "note_added" { text: String, author: String }
        Persistent
        IncidentOpened = "incident_opened" {
            incident: IncidentId, kind: String, severity: Severity, summary: String,
        }
        Persistent
        IncidentResolved = "incident_resolved" { incident: IncidentId, by: String }
        Persistent
        /// A consumer could not handle events and will try again.
        ConsumerFailed = "consumer_failed" { consumer: String, error: String, attempt: u32 }
        Persistent
        /// A task of the daemon panicked. `then` is `report` (only its subject is
        /// lost), `restart` or `shutdown`.
        TaskPanicked = "task_panicked" {
            task: String, subject: Option<String>, error: String, then: String,
        }
        Persistent
        /// A tool of an external MCP server was called. `outcome` is `done`,
        /// `tool_error` (the tool said so itself), `failed` or `cancelled`.
        McpToolCalled = "mcp_tool_called" {
            server: String, tool: String, micros: u64, outcome: String, error: Option<ErrorCode>,
        }
        Persistent
        McpServerStateChanged = "mcp_server_state_changed" {
            server: String, from: String, to: String, reason: Option<String>,
        }
        Persistent
        /// The tools of a server were listed and are not what they were.
        McpToolsListed = "mcp_tools_listed" { server: String, tools: u32, held: Vec<String> }
        Ephemeral
        /// How far a tool says it has come.
        McpToolProgress = "mcp_tool_progress" {
            server: String, tool: String, progress: f64, total: Option<f64>, message: Option<String>,
        }
        Ephemeral
        WorkerProgress = "worker_progress" { worker: String, done: u64, total: Option<u64> }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_kinds_the_source_report_names_are_all_there() {
        let named = [
            "pty_state_changed",
            "pty_output",
            "pty_screenshot",
            "conversation_message_logged",
            "image_message_inserted",
            "task_created",
            "task_completed",
            "slot_task_dispatched",
            "board_task_created",
            "board_task_updated",
            "board_task_claimed",
            "slot_became_idle",
            "slot_state_changed",
            "session_completed",
            "kb_batch_mutated",
            "deep_analysis_completed",
            "cli_request_started",
            "cli_request_completed",
            "cli_tool_activity",
            "session_organized",
            "turn_extracted",
            "intent_analyzed",
            "question_created",
            "narration_session_completed",
            "message_persisted",
        ];
        for kind in named {
            assert!(kind_spec(kind).is_some(), "{kind}");
        }
    }

    #[test]
    fn kinds_are_unique_and_in_every_category() {
        let kinds: BTreeSet<_> = KINDS.iter().map(|spec| spec.kind).collect();
        assert_eq!(kinds.len(), KINDS.len());
        assert!(KINDS.len() >= 40);
        let categories: BTreeSet<_> = KINDS.iter().map(|spec| spec.category).collect();
        assert_eq!(categories.len(), 9);
    }

    #[test]
    fn an_event_is_read_by_its_kind_and_says_what_is_wrong_with_it() {
        let read = |text| serde_json::from_str::<Event>(text);
        let finished = r#"{"type":"operation_finished","operation":"health","micros":3}"#;
        assert_eq!(
            read(finished).unwrap(),
            Event::OperationFinished {
                operation: "health".into(),
                micros: 3,
                error: None,
            }
        );
        for (text, expected) in [
            (
                r#"{"type":"note_added","text":"x"}"#,
                "missing field `author`",
            ),
            (r#"{"text":"x"}"#, "missing field `type`"),
            (r#"{"type":"nonsense"}"#, "unknown kind of event `nonsense`"),
            (
                r#"{"type":"daemon_started","host":"h","pid":-1,"version":"v"}"#,
                "field `pid`: invalid value",
            ),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn an_event_reads_back_with_its_cause() {
        let root = TraceContext::root();
        let event = TimelineEvent {
            seq: Some(Seq(7)),
            at: "2026-01-04T10:30:45.123456Z".parse().unwrap(),
            daemon: DaemonId::generate(),
            trace: root.child(),
            event: Event::NoteAdded {
                text: "here".into(),
                author: "cli".into(),
            },
        };
        let written = serde_json::to_value(&event).unwrap();
        assert_eq!(written["event"]["type"], "note_added");
        assert_eq!(written["parent_span_id"], root.span_id.to_string());
        assert_eq!(
            serde_json::from_value::<TimelineEvent>(written).unwrap(),
            event
        );
    }
}
