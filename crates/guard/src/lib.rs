//! What agents may do. Rules are data and the decision is a function of them,
//! of what is asked for and of the time: no I/O, no clock, no runtime. Whoever
//! asks has read the screen, resolved the links of a path and knows who runs in
//! the slot; here it is only decided. So it is of text from outside: what of it tries to
//! command a model is found here, and what is done about it is said by whoever hands it on.

pub mod batch;
pub mod injection;
pub mod permissions;
pub mod policy;
mod programs;
mod shell;
mod tool_call;
pub mod trust;

pub use tool_call::ToolCall;
