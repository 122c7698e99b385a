//! The vocabulary of missiond.
//!
//! Every other crate speaks in these words: ids that cannot be mixed up, the
//! engines, the state machines, the events of the timeline, time and the
//! error codes. Nothing here does I/O, knows an async runtime or depends on
//! another crate of the workspace.

mod access;
mod agent_told;
mod audit;
mod board;
mod bounded;
mod clock;
mod config_kind;
mod context;
mod controller;
mod conversation;
mod document;
mod engine;
mod entity;
mod error;
mod event;
mod from_text;
mod glob;
mod ids;
mod knowledge;
mod log_line;
pub mod machines;
mod nearest_name;
mod panic;
mod permission;
mod principal;
mod question;
mod quoted;
mod send_when;
mod slot_name;
mod symbol_kind;
mod trace;
mod usage;

pub use access::{AccessKind, UnknownAccessKind};
pub use agent_told::{
    AgentCommand, AgentLimit, AgentSetting, AgentStep, AgentStepStatus, AgentTold, SubAgent,
    WhileWorking,
};
pub use audit::{
    AuditKind, AuditRecord, AuditWho, AuditedDecision, AuditedEvents, AuditedJournal, AuditedKey,
};
pub use board::{
    Alternative, Alternatives, Attempt, BoardTask, Budget, BudgetScope, Check, CheckVerdict, Claim,
    ClaimKind, Consequence, DEFAULT_CHECK_TIMEOUT_SECS, DEFAULT_MAX_ATTEMPTS, DraftError,
    EVIDENCE_TAIL_BYTES, Evidence, ExportFormat, Finish, ImportFormat, InvalidAlternative,
    InvalidTaskRef, InvalidTouch, Isolation, MOST_ALTERNATIVES, MOST_CHECK_SECS, Note, NoteText,
    Outcome, Parts, Priority, PullRequest, PullRequestState, ReviewGate, TaskDraft, TaskNumber,
    TaskRef, UnknownChoice, Wait, backoff, check_touch, touches_overlap,
};
pub use bounded::{AbsolutePath, Bounded, BoundedOr, Limit, List, MAX_EXACT, OutOfBounds, Text};
pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use config_kind::ConfigKind;
pub use context::{ContextItem, ContextOutcome, ContextSource, ContextTokens, SourceState};
pub use controller::{Controller, InvalidController};
pub use conversation::{
    Conversation, ConversationItem, ConversationTurn, SaidBy, ToolOutcome, TurnLimit,
};
pub use document::{DocHeading, DocHit, DocKind, DocLink, DocSummary};
pub use engine::{CliEngine, InvalidEngineName, LoginState};
pub use entity::{
    Anomaly, DaemonRun, Incident, IncidentState, Lease, RunEnd, Severity, Slot, SlotKind, Task,
};
pub use error::ErrorCode;
pub use event::{Category, Durability, Event, KINDS, KindSpec, Seq, TimelineEvent, kind_spec};
pub use glob::glob;
pub use ids::{
    AccessId, AttemptId, BoardTaskId, ConversationId, DaemonId, EntryId, ExecutionId, FencingToken,
    Id, IncidentId, InvalidId, Kind, MessageId, ObservationId, QuestionId, SlotId, TaskId, TurnId,
    kind,
};
pub use knowledge::{
    AuthorTier, EdgeKind, Entry, EntryCategory, EntryEdge, EntryMapLimit, EntryRevision, HitLimit,
    InvalidAuthorTier, InvalidEdgeKind, InvalidEntryCategory,
};
pub use log_line::{LogLevel, LogLine};
pub use machines::{
    BoardTaskStatus, DeliveryStatus, EngineeringPhase, ExecutionActivity, ExecutionAttention,
    ExecutionLifecycle, ExtractionPhase, IllegalMove, PtyState, QuestionStatus, TaskStatus,
};
pub use nearest_name::nearest_name;
pub use panic::panic_message;
pub use permission::{InvalidPermission, Permission};
pub use principal::{Principal, PrincipalKind, Scope, Scopes, UnknownScope};
pub use question::{
    AnswerText, InvalidQuestionRef, PermissionAsked, Question, QuestionNumber, QuestionOrigin,
    QuestionRef,
};
pub use quoted::{excerpt, is_deceptive, one_line};
pub use send_when::SendWhen;
pub use slot_name::{InvalidSlotName, SlotName};
pub use symbol_kind::{InvalidSymbolKind, SymbolKind};
pub use trace::{InvalidTraceId, SpanId, TraceContext, TraceId};
pub use usage::{Cost, TokenCounts};
