//! What needs a person: questions that wait, permissions and the rules that give
//! them, what goes out on their behalf, and notifications when nobody has looked for a
//! while.

mod announced;
pub mod network;
pub mod notifications;
pub mod permissions;
pub mod questions;
