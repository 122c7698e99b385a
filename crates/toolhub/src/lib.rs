//! External MCP servers: the list a person keeps, connections in both eras of
//! the protocol over pipes and HTTP, health, and pins of what was accepted.
//!
//! A [`Hub`] is used the same way by a daemon that keeps servers for everyone
//! and by a command that starts one, calls it and stops it. It knows nothing of
//! either. Servers are not trusted: what they send is bounded, what they say is
//! data, and a tool that changes is held until a person accepts it.

mod client;
mod config;
mod edit;
mod error;
mod http;
mod hub;
mod import;
mod jsonc;
mod keeper;
mod launch;
mod link;
mod outlet;
mod pins;
mod register;
mod schema;
mod server;
mod session;
mod stdio;
mod tools;
mod wire;

pub use client::{McpClient, ToolText};
pub use config::{
    ProtocolChoice, SEPARATOR, ServerEntry, ServerList, ServerName, ServerSpec, ServerWall,
    Transport, check_file, files,
};
pub use edit::{Switch, add, remove, switch, with_server, without_server};
pub use error::{ConfigError, HubError, Sent};
pub use hub::{
    Hub, HubEvent, HubSettings, ServerPrompts, ServerTools, ToolResult, progress_channel,
};
pub use import::{Client as ImportClient, ConfigRoots, FoundServer, find};
pub use keeper::run as keep;
pub use launch::{KeeperCommand, ServerNetwork};
pub use link::Progress;
pub use pins::HoldReason;
pub use register::{
    ChangedSince, Plan, RegisterError, Registration, UndoOutcome, Undone, apply as apply_plan,
    is_used, plan, registered_files, undo,
};
pub use schema::mismatch;
pub use server::{ServerState, ServerStatus};
pub use tools::Tool;
pub use wire::{Incoming, RpcError, id_of_oversized};
