//! The three dimensions of an execution's status. Each moves by itself; no one
//! of them is derived from another.

mod activity;
mod attention;
mod lifecycle;

pub use activity::ExecutionActivity;
pub use attention::ExecutionAttention;
pub use lifecycle::ExecutionLifecycle;
