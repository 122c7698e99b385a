//! What a controller tells: one vocabulary for every protocol. A protocol that has no
//! word for something never sends that event; [`Offers`] says what to expect.

use missiond_core::{AgentStepStatus, Timestamp};
use serde::{Deserialize, Serialize};

use crate::permission::{AgentRequestId, PermissionRequest, Resolution};
use crate::request::RequestId;
use crate::text::Clipped;
use crate::tool::{ContentPart, ToolCall, ToolCallId, ToolCallUpdate, ToolInput};
use crate::trouble::Trouble;

/// The protocol both sides agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    AcpV1,
    AcpV2,
    CodexAppServer,
}

/// What an agent can do beside a plain prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// A session comes back with its history told again.
    pub load: bool,
    /// A session comes back without its history.
    pub resume: bool,
    pub list: bool,
    pub fork: bool,
    pub close: bool,
    pub delete: bool,
    /// Words into a running turn.
    pub steer: bool,
    /// A prompt during a turn waits for its end.
    pub queue: bool,
    pub images: bool,
    pub audio: bool,
    pub embedded_context: bool,
    pub mcp_stdio: bool,
    pub mcp_http: bool,
    pub mcp_sse: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthMethod {
    pub id: String,
    pub name: Clipped,
    pub description: Option<Clipped>,
}

/// What an agent says of itself when the connection begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub protocol: Protocol,
    pub name: Option<Clipped>,
    pub version: Option<Clipped>,
    pub offers: Offers,
    pub auth_methods: Vec<AuthMethod>,
    pub meta: Option<Clipped>,
}

/// A value that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub id: String,
    pub name: Clipped,
    pub description: Option<Clipped>,
}

/// One of the settings of a session. Modes and models are settings too, known by their
/// category, whichever way the protocol tells them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    pub id: String,
    pub name: Clipped,
    pub category: Option<Clipped>,
    /// The id of a choice, or `true` or `false`.
    pub current: String,
    pub choices: Vec<Choice>,
    pub told_by: ToldBy,
}

/// How a setting was told, and so how it is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToldBy {
    ConfigOption,
    /// The older list of modes.
    Modes,
    /// The list of models some agents give beside the stable protocol.
    Models,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub name: Clipped,
    pub description: Clipped,
    pub hint: Option<Clipped>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    New,
    Loaded,
    Resumed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub id: String,
    pub cwd: String,
    pub opening: Opening,
    pub settings: Vec<Setting>,
    pub meta: Option<Clipped>,
}

/// Whether something happens now or is told again of an earlier turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Live,
    History,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    User,
    Agent,
    /// The agent to itself.
    Thought,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    Appended,
    /// Instead of all that was said under this message id.
    Replaced,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePart {
    pub speaker: Speaker,
    pub message: Option<Clipped>,
    /// None where a message is emptied.
    pub part: Option<ContentPart>,
    pub placement: Placement,
    pub origin: Origin,
    pub meta: Option<Clipped>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    Pending,
    Running,
    Completed,
    Cancelled,
    Unknown(String),
}

impl From<&StepStatus> for AgentStepStatus {
    fn from(status: &StepStatus) -> Self {
        match status {
            StepStatus::Completed => Self::Done,
            StepStatus::Running => Self::Running,
            StepStatus::Cancelled => Self::Cancelled,
            StepStatus::Pending | StepStatus::Unknown(_) => Self::Pending,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    pub text: Clipped,
    pub status: StepStatus,
    pub priority: Option<Clipped>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub id: Option<Clipped>,
    pub explanation: Option<Clipped>,
    pub steps: Vec<PlanStep>,
}

/// An error as the agent put it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentError {
    pub code: Option<i64>,
    pub message: Clipped,
    /// The agent's word for its sort, where it has one.
    pub sort: Option<Clipped>,
    pub data: Option<Clipped>,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    Done,
    Cancelled,
    /// The model or a policy would not go on.
    Refused,
    MaxTokens,
    MaxTurns,
    /// A usage or rate limit.
    Limit(AgentError),
    AuthenticationRequired(AgentError),
    Failed(AgentError),
    ConnectionLost,
    /// A word this version does not know.
    Unknown(String),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Without those that were read from a cache.
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cached_read: Option<u64>,
    pub cached_write: Option<u64>,
    pub reasoning: Option<u64>,
    pub total: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub amount: f64,
    pub currency: Clipped,
}

impl Cost {
    /// The amount as a decimal number, to a millionth; none for what is no amount.
    #[must_use]
    pub fn decimal(&self) -> Option<String> {
        if !self.amount.is_finite() || !(0.0..1e12).contains(&self.amount) {
            return None;
        }
        let written = format!("{:.6}", self.amount);
        Some(
            written
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned(),
        )
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    pub context_used: Option<u64>,
    pub context_size: Option<u64>,
    /// Of the last request to the model.
    pub request: Option<Tokens>,
    /// Of the turn, as the agent counts it at its end.
    pub turn: Option<Tokens>,
    /// Of the whole session so far.
    pub session: Option<Tokens>,
    /// Of the whole session so far.
    pub cost: Option<Cost>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitWindow {
    pub name: String,
    pub used_percent: Option<f64>,
    pub minutes: Option<u64>,
    pub resets_at: Option<Timestamp>,
}

impl LimitWindow {
    /// Whole percents: what is not full is not called full.
    #[must_use]
    pub fn percent(&self) -> Option<u32> {
        let used = self.used_percent.filter(|used| used.is_finite())?;
        Some(used.clamp(0.0, 1000.0) as u32)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateLimits {
    pub id: Option<Clipped>,
    pub plan: Option<Clipped>,
    pub windows: Vec<LimitWindow>,
    /// The agent's word for which limit is reached.
    pub reached: Option<Clipped>,
}

/// What an agent does between two words of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    Idle,
    Running,
    WaitsForApproval,
    WaitsForInput,
    /// It stands still after an error.
    Broken,
    Unknown(String),
}

/// When the two inputs of a mismatch were told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MismatchAt {
    /// It asks for something else than it announced.
    Request,
    /// After a permission was given it tells another input.
    AfterPermission,
}

/// What happened. See each variant; nothing here is guessed from text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ControlEvent {
    AgentReady(Agent),
    /// The agent will do nothing until someone signs in.
    AuthenticationRequired {
        methods: Vec<AuthMethod>,
        error: AgentError,
    },
    SessionOpened(Session),
    SessionClosed {
        session: String,
    },
    SessionTitled {
        title: Option<Clipped>,
    },
    /// Words of ours went to the agent: a prompt, or something said into a running turn.
    Prompted {
        request: RequestId,
        /// Its text; of what is no text, what it is.
        text: Clipped,
    },
    TurnBegan {
        /// The prompt that began it; none if the agent began by itself.
        request: Option<RequestId>,
        /// The agent's own id of the turn.
        turn: Option<String>,
    },
    /// A prompt waits behind the running turn.
    PromptQueued {
        request: RequestId,
    },
    TurnEnded {
        request: Option<RequestId>,
        turn: Option<String>,
        end: TurnEnd,
        meta: Option<Clipped>,
    },
    ActivityChanged {
        activity: Activity,
    },
    Message(MessagePart),
    Plan(Plan),
    ToolCallAnnounced {
        call: ToolCall,
        origin: Origin,
    },
    ToolCallUpdated {
        update: ToolCallUpdate,
        origin: Origin,
    },
    /// Output of a terminal of the agent, base64 as it came.
    TerminalOutput {
        terminal: Clipped,
        data: Clipped,
        placement: Placement,
        exit_code: Option<i64>,
    },
    PermissionRequested(Box<PermissionRequest>),
    PermissionResolved {
        id: AgentRequestId,
        resolution: Resolution,
    },
    /// One input was announced or permitted, another is told.
    InputMismatch {
        tool_call: ToolCallId,
        at: MismatchAt,
        first: ToolInput,
        second: ToolInput,
    },
    UsageChanged(Usage),
    RateLimitsChanged(RateLimits),
    ModeChanged {
        mode: String,
    },
    ModelChanged {
        model: String,
    },
    SettingsChanged {
        settings: Vec<Setting>,
    },
    CommandsChanged {
        commands: Vec<Command>,
    },
    /// The whole patch of the turn so far.
    TurnDiff {
        patch: Clipped,
    },
    /// The history was made shorter.
    ContextCompacted,
    /// A request that has no event of its own was done.
    RequestDone {
        request: RequestId,
    },
    RequestFailed {
        request: RequestId,
        method: String,
        error: AgentError,
    },
    /// An error that ends nothing by itself.
    Error {
        error: AgentError,
        will_retry: bool,
    },
    Warning {
        message: Clipped,
    },
    /// Something of another session: a sub-agent of ours.
    SubAgent {
        session: String,
        event: Box<ControlEvent>,
    },
    /// The agent asked for what we do not offer, and was told so.
    RequestRefused {
        method: Clipped,
        raw: Clipped,
    },
    /// A notification this version does not know.
    UnknownNotification {
        method: Clipped,
        raw: Clipped,
    },
    /// It breaks the protocol.
    Trouble(Trouble),
}
