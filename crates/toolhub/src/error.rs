//! What can go wrong between a caller and a tool, said so that the caller knows
//! whether the tool may have acted and what to do next.

use std::path::PathBuf;
use std::time::Duration;

use missiond_core::ErrorCode;

/// Why a list of servers cannot be used or changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {path}: {why}")]
    Unreadable { path: PathBuf, why: String },
    #[error("{path}: {why}")]
    Malformed { path: PathBuf, why: String },
    #[error("{path}: server `{server}`: {why}")]
    Server {
        path: PathBuf,
        server: String,
        why: String,
    },
    #[error(
        "others may write {path}, and what it names is run: take the right away with `chmod go-w`"
    )]
    Writable { path: PathBuf },
    #[error("the server `{server}` is in both {first} and {second}: remove it from one of them")]
    Twice {
        server: String,
        first: PathBuf,
        second: PathBuf,
    },
    #[error("the server `{server}` is already in {path}; `mission mcp remove {server}` removes it")]
    Exists { server: String, path: PathBuf },
    #[error("the server `{server}` is in {path}: change it there")]
    Elsewhere { server: String, path: PathBuf },
    #[error("no server is called `{0}`; `mission mcp list-servers` lists those that exist")]
    Unknown(String),
    #[error("`{name}` cannot be the name of a server: {why}")]
    Name { name: String, why: &'static str },
    #[error("cannot write {path}: {why}")]
    Unwritable { path: PathBuf, why: String },
}

/// Whether a call that failed may have been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It never left.
    No,
    /// It left and was not answered.
    Yes,
}

/// Why a request to a server has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HubError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("`{0}` names no tool: a tool is called by its server and its name, `server__tool`")]
    NotQualified(String),
    #[error(
        "the server `{server}` has no {what} `{name}`; `mission mcp {list} {server}` lists them"
    )]
    Unknown {
        server: String,
        what: &'static str,
        name: String,
        list: &'static str,
    },
    #[error("the server `{0}` is disabled; `mission mcp enable {0}` enables it")]
    Disabled(String),
    #[error(
        "the tool `{server}__{tool}` is held: {why}. Look at it with `mission mcp list-tools \
         {server} --schema`; `mission mcp pin {server}` accepts it"
    )]
    Held {
        server: String,
        tool: String,
        why: &'static str,
    },
    #[error("the arguments do not fit `{server}__{tool}`: {problem}")]
    Arguments {
        server: String,
        tool: String,
        problem: String,
    },
    #[error("the server `{server}` did not start: {why}")]
    Start { server: String, why: String },
    #[error(
        "the server `{server}` keeps failing and is left alone for {} s: {why}. \
         `mission mcp health {server} --restart` tries at once",
        left.as_secs().max(1)
    )]
    Parked {
        server: String,
        why: String,
        left: Duration,
    },
    #[error("the connection to the server `{server}` was lost: {why}. {}", effect(*.sent))]
    Lost {
        server: String,
        why: String,
        sent: Sent,
    },
    #[error("the server `{server}` did not answer `{what}` within {} s. {}", limit.as_secs_f32(), effect(*.sent))]
    Timeout {
        server: String,
        what: String,
        limit: Duration,
        sent: Sent,
    },
    #[error("the server `{server}` refused `{what}`: {message} (code {code})")]
    Refused {
        server: String,
        what: String,
        code: i64,
        message: String,
    },
    #[error("the server `{server}` sent more than {} MB in one message", limit / (1024 * 1024))]
    TooLarge { server: String, limit: usize },
    #[error("the server `{server}` broke the protocol: {why}")]
    Protocol { server: String, why: String },
    #[error(
        "`{server}__{tool}` asks a person for input before it goes on, which the hub cannot give"
    )]
    InputRequired { server: String, tool: String },
    #[error("the server `{server}` has {limit} calls under way already")]
    Busy { server: String, limit: usize },
    #[error("the pins of tools cannot be kept in {path}: {why}")]
    Pins { path: PathBuf, why: String },
    #[error("the hub is stopping")]
    Stopping,
}

fn effect(sent: Sent) -> &'static str {
    match sent {
        Sent::No => "Nothing was sent; trying again is safe",
        Sent::Yes => "Whether it was carried out is unknown; it is not tried again by itself",
    }
}

impl HubError {
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Config(ConfigError::Unknown(_)) | Self::Unknown { .. } => ErrorCode::NotFound,
            Self::Config(ConfigError::Exists { .. } | ConfigError::Elsewhere { .. })
            | Self::Disabled(_) => ErrorCode::Conflict,
            Self::Config(_) => ErrorCode::InvalidConfig,
            Self::NotQualified(_) | Self::Arguments { .. } => ErrorCode::InvalidParams,
            Self::Held { .. } => ErrorCode::Forbidden,
            Self::Timeout { .. } => ErrorCode::Timeout,
            Self::TooLarge { .. } => ErrorCode::TooLarge,
            Self::Busy { .. } => ErrorCode::Busy,
            Self::Pins { .. } => ErrorCode::StorageUnavailable,
            Self::Stopping => ErrorCode::ShuttingDown,
            Self::Start { .. }
            | Self::Parked { .. }
            | Self::Lost { .. }
            | Self::Refused { .. }
            | Self::Protocol { .. }
            | Self::InputRequired { .. } => ErrorCode::Upstream,
        }
    }
}
