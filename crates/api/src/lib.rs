//! What missiond can do, declared once.
//!
//! [`CATALOGUE`] lists every operation with its types, schemas and
//! description; IPC, HTTP, MCP and the command line only present it. Beside it
//! stand the wire format (JSON-RPC 2.0, one message a line), the events a
//! client can subscribe to, the places on disk, and the blocking client that
//! the command line uses.

mod attachment;
mod authority;
mod authority_table;
mod catalogue;
mod client;
mod commander;
mod error;
mod execution;
mod home;
mod hook_spool;
mod invalid_params;
mod openapi;
mod operation;
pub mod operations;
mod protocol;
mod rpc;

pub use attachment::{
    AttachParams, Attached, Attachment, DetachParams, EndedNotice, METHOD_ATTACH, METHOD_DETACH,
    METHOD_ENDED, METHOD_PAINT, METHOD_PAINTED, PaintNotice, PaintedParams, ViewAccess, ViewNews,
};
pub use authority::{Authority, Decision, Own, Refusal};
pub use authority_table::authority_table;
pub use catalogue::CATALOGUE;
pub use client::{Client, ClientError, Subscription};
pub use commander::{
    CommanderHelloParams, CommanderWelcome, DEFAULT_TOOLS, METHOD_COMMANDER_HELLO, Toolsets,
    UnknownToolset,
};
pub use error::ApiError;
pub use execution::{
    AccessFile, AccessFileError, AccessToken, EXECUTION_VARIABLE, ExecutionHelloParams,
    ExecutionWelcome, HookParams, METHOD_EXECUTION_HELLO, METHOD_HOOK, METHOD_OVERSIZED,
    METHOD_TOOL_USE, OversizedParams, ToolUseParams,
};
pub use home::{Home, HomeError, socket_place};
pub use hook_spool::{HookSpool, SpoolBatch, Spooled};
pub use missiond_net::{Frame, FrameDecoder, MAX_FRAME};
pub use openapi::openapi;
pub use operation::{Cost, Domain, Effect, Operation, OperationSpec};
pub use protocol::{
    CancelParams, EventNotice, HelloParams, METHOD_CANCEL, METHOD_EVENT, METHOD_HELLO,
    METHOD_SUBSCRIBE, METHOD_UNSUBSCRIBE, PROTOCOL_VERSION, SubscribeParams, SubscribeResult,
    UnsubscribeParams, Welcome,
};
pub use rpc::{Incoming, Notification, Request, RequestId, Response};
