//! The handlers of the catalogue.
//!
//! Each domain registers its own; [`Operations::call`] is the only way in.

mod access;
mod allowance;
mod allowed;
mod alternatives;
mod attention;
mod audit;
mod authority;
mod autopilot;
mod availability;
mod board;
mod call;
mod call_log;
mod code;
mod communication;
mod compute;
mod context;
mod conversation;
mod demo;
pub mod docs;
mod engines;
mod execution;
pub mod http_access;
mod knowledge;
pub mod known_secrets;
mod llm;
mod observe;
mod overview;
mod policy;
mod proposal;
pub mod reload;
mod repository;
mod review;
mod run_facts;
pub mod sampler;
mod screenshot;
mod search;
pub mod settings;
pub mod state;
mod system;
pub mod toolhub;
mod tools;
mod trust;
mod viewing;
mod walls;
mod worktree;

pub use access::{tell_granted, tell_revoked};
pub use allowed::Allowed;
pub use knowledge::wire_draft;
pub use screenshot::picture;
pub use state::VERSION;
pub use system::config_keys;
pub use viewing::{Terminal, attach, recording};

use std::sync::Arc;

use crate::state::Daemon;

pub use call::{Call, ClientId, Operations, Reporter, check_kinds};

/// Every operation with its handler.
#[must_use]
pub fn operations(daemon: Daemon) -> Arc<Operations> {
    let mut operations = Operations::without_handlers(daemon);
    access::register(&mut operations);
    board::register(&mut operations);
    attention::register(&mut operations);
    audit::register(&mut operations);
    autopilot::register(&mut operations);
    code::register(&mut operations);
    communication::register(&mut operations);
    compute::register(&mut operations);
    context::register(&mut operations);
    conversation::register(&mut operations);
    demo::register(&mut operations);
    docs::register(&mut operations);
    engines::register(&mut operations);
    execution::register(&mut operations);
    knowledge::register(&mut operations);
    llm::register(&mut operations);
    observe::register(&mut operations);
    proposal::register(&mut operations);
    repository::register(&mut operations);
    overview::register(&mut operations);
    policy::register(&mut operations);
    review::register(&mut operations);
    screenshot::register(&mut operations);
    search::register(&mut operations);
    settings::register(&mut operations);
    system::register(&mut operations);
    tools::register(&mut operations);
    trust::register(&mut operations);
    worktree::register(&mut operations);
    Arc::new(operations)
}
