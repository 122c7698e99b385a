//! Every key a script may have, by the mapping it stands in, and every step.
//! `docs/reference/rehearsal.md` says what each is for and is held against these lists.

pub(super) const TOP: &[&str] = &["rehearsal", "description", "startup", "turns"];
pub(super) const STEPS: &[&str] = &[
    "think",
    "say",
    "plan",
    "ask",
    "run",
    "write",
    "append",
    "edit",
    "signal",
    "call",
    "question",
    "error",
    "usage",
    "usage_limit",
    "sleep",
    "hang",
    "flood",
    "exit",
    "crash",
    "repeat",
];
pub(super) const WHEN: &[&str] = &["contains", "matches"];
pub(super) const TURN: &[&str] = &["when", "uses", "steps"];
pub(super) const USAGE_LIMIT: &[&str] = &["resets"];
pub(super) const FLOOD: &[&str] = &["lines", "text"];
pub(super) const REPEAT: &[&str] = &["times", "steps"];
pub(super) const THINK: &[&str] = &["seconds", "text"];
pub(super) const SAY: &[&str] = &["text", "rate"];
pub(super) const PLAN_ENTRY: &[&str] = &["text", "state"];
pub(super) const RUN: &[&str] = &["argv", "cwd", "exit", "tail"];
pub(super) const FILE: &[&str] = &["file", "text"];
pub(super) const EDIT: &[&str] = &["file", "replace", "with"];
pub(super) const SIGNAL: &[&str] = &["type", "payload"];
pub(super) const CALL: &[&str] = &["tool", "arguments"];
pub(super) const USAGE: &[&str] = &["input", "output", "cache_read", "cache_write"];
pub(super) const ERROR: &[&str] = &["text", "retries", "wait", "then"];
pub(super) const ASK: &[&str] = &["tool", "args", "question", "allow", "always", "deny"];
