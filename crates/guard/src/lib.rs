//! What agents may do. Rules are data and the decision is a function of them,
//! of what is asked for and of the time: no I/O, no clock, no runtime. Whoever
//! asks has read the screen, resolved the links of a path and knows who runs in
//! the slot; here it is only decided.

pub mod batch;
pub mod permissions;
mod programs;
mod shell;
mod tool_call;

pub use tool_call::ToolCall;
