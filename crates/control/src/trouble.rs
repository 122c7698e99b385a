//! What an agent did against the protocol, and why a request to it is refused.

use serde::{Deserialize, Serialize};

use crate::json::JsonProblem;
use crate::permission::AgentRequestId;
use crate::request::RequestId;
use crate::text::Clipped;

/// Something of the agent's that breaks the protocol. The conversation goes on, except
/// after [`WrongVersion`](Self::WrongVersion).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "trouble", rename_all = "snake_case")]
pub enum Trouble {
    #[error("a line is longer than {limit} bytes and was left out")]
    LineTooLong { limit: usize, head: Clipped },
    #[error("{problem}")]
    NotAMessage { problem: JsonProblem, raw: Clipped },
    #[error("a message has no method and no answer, or an id that is neither number nor text")]
    NotJsonRpc { raw: Clipped },
    #[error("the agent speaks version {theirs}, and we {ours}: update one of the two")]
    WrongVersion { theirs: Clipped, ours: String },
    #[error("an answer to request {id}, which was never sent")]
    AnswerToNothing { id: Clipped },
    #[error("a second answer to request {}", id.0)]
    SecondAnswer { id: RequestId },
    #[error("request {id} was sent twice, and the first still waits for its answer")]
    DuplicateRequest { id: AgentRequestId },
    #[error("`{method}` lacks or misuses `{member}`")]
    Malformed { method: Clipped, member: String },
    #[error("a message for session {session}, which is not ours")]
    OtherSession { session: Clipped },
    #[error("the agent opened session {got} instead of {asked}")]
    WrongSession { asked: Clipped, got: Clipped },
    #[error("{what}")]
    OutOfOrder { what: String },
    #[error("the turn ended with permission request {id} open")]
    PermissionLeftOpen { id: AgentRequestId },
    #[error("more than {limit} permission requests are open; this one was refused")]
    TooManyPermissions { limit: usize },
    #[error("{omitted} more events of one line were left out")]
    TooManyEvents { omitted: usize },
}

/// Why something cannot be asked of the agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the agent has not answered the greeting yet")]
    NotReady,
    #[error("{0}")]
    ConnectionRefused(String),
    #[error("the connection to the agent has ended")]
    Disconnected,
    #[error("the greeting was sent already")]
    StartedAlready,
    #[error("no session is open")]
    NoSession,
    #[error("a session is open or being opened: one client has one session")]
    SessionOpen,
    #[error("a turn is running: wait for its end, steer it, or cancel it")]
    TurnRunning,
    #[error("no turn is running")]
    NoTurn,
    #[error("the agent has not named its turn yet: ask again when it has")]
    TurnNotNamed,
    #[error("the agent does not offer {0}")]
    NotOffered(&'static str),
    #[error("the agent has no {what} `{id}`")]
    NoSuchChoice { what: &'static str, id: String },
    #[error("no permission request {0} is open")]
    NoSuchPermission(AgentRequestId),
    #[error("permission request {0} was answered already")]
    AlreadyAnswered(AgentRequestId),
    #[error("permission request {request} has no option `{option}`")]
    NoSuchOption {
        request: AgentRequestId,
        option: String,
    },
    #[error("{limit} requests wait for the agent's answer already")]
    TooManyOpen { limit: usize },
    #[error("the message would have {bytes} bytes, and {limit} is the limit")]
    TooLong { bytes: usize, limit: usize },
    #[error("a prompt needs content")]
    EmptyPrompt,
}
