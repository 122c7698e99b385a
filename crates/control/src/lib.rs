//! Structured control of agent CLIs: each is driven by the protocol it offers beside
//! its terminal, and all of them are told in one set of events.
//!
//! Two dialects are spoken: the Agent Client Protocol (version 1, and the draft of
//! version 2 where it is asked for) and the app-server of Codex. There is no process,
//! no clock and no runtime here: bytes and the time go in, events and lines come out,
//! so the same lines give the same events every time.
//!
//! An agent is not trusted: every line, list and text has a bound, an input that is
//! not the announced one is told with both, and nothing it sends makes this panic.

mod acp;
mod app_server;
mod client;
mod conversation;
mod event;
mod json;
mod limits;
mod options;
mod permission;
mod replay;
mod request;
mod rpc;
mod state;
mod text;
mod tool;
mod tool_memory;
mod trouble;

pub use client::{Client, Output};
pub use event::{
    Activity, Agent, AgentError, AuthMethod, Choice, Command, ControlEvent, Cost, LimitWindow,
    MessagePart, MismatchAt, Offers, Opening, Origin, Placement, Plan, PlanStep, Protocol,
    RateLimits, Session, Setting, Speaker, StepStatus, Tokens, ToldBy, TurnEnd, Usage,
};
pub use json::{InputDigest, JsonProblem};
pub use limits::Limits;
pub use options::{
    AcpVersion, CancelledQuestions, Dialect, FileMentions, Habits, HistoryEnd, Options, ToolNames,
    UsageScope,
};
pub use permission::{
    AgentRequestId, Announced, InputSource, OptionKind, PermissionAnswer, PermissionOption,
    PermissionRequest, Resolution,
};
pub use replay::{Direction, RecordedLine, Replayed, Replayer, replay};
pub use request::{
    ControlRequest, McpServer, NamedValue, OpenSession, PromptPart, RequestId, SessionChoice,
};
pub use state::{Connection, ControlState, OpenPermission, Turn, Waiting};
pub use text::Clipped;
pub use tool::{
    ContentChange, ContentPart, FileChange, FileOperation, Location, ToolCall, ToolCallId,
    ToolCallUpdate, ToolContent, ToolInput, ToolKind, ToolStatus,
};
pub use trouble::{Refusal, Trouble};
