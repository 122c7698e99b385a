//! Every size limit of the protocol, in one place. The types of the payloads
//! are made of them, so a schema, a parser and a document cannot disagree.

/// Characters of a summary, question, reason or detail an agent writes.
pub const SIGNAL_TEXT: usize = 2_000;
/// Characters of a message to or from an agent.
pub const MESSAGE_TEXT: usize = 8_000;
/// Characters of a prompt to an agent.
pub const PROMPT_TEXT: usize = 100_000;
/// Characters of a label, a name of a tool, a title.
pub const LABEL: usize = 200;
/// Characters of a path.
pub const PATH: usize = 4_096;
/// Characters of an idempotency key.
pub const KEY: usize = 200;
/// Characters of an event id chosen by an agent.
pub const EVENT_ID: usize = 64;
/// Answers an agent may offer with a question.
pub const CHOICES: usize = 6;
/// Comments on lines in one review.
pub const REVIEW_COMMENTS: usize = 100;
/// Windows of a vendor's limit that are kept.
pub const LIMIT_WINDOWS: usize = 16;
/// Steps of an agent's plan that are kept.
pub const PLAN_STEPS: usize = 100;
/// Artifacts an agent may name in one signal.
pub const ARTIFACTS: usize = 64;
/// Bytes of a whole marker or of the arguments of one tool call.
pub const SIGNAL_BYTES: usize = 64 * 1024;
/// Bytes of one line of a journal. Larger lines are not read into memory.
pub const LINE_BYTES: usize = 1024 * 1024;
/// Records of one group.
pub const GROUP_RECORDS: usize = 64;
/// Refused observations a journal records one by one. What is refused after
/// that is answered and counted but not written, so that a file full of false
/// markers cannot fill the disk.
pub const RECORDED_REFUSALS: u32 = 256;
/// Items the timeline projection keeps.
pub const TIMELINE_ITEMS: usize = 200;

/// Messages one agent may send another within [`CHATTER_WINDOW`]: enough to work
/// together, too few for two agents to keep each other busy.
pub const CHATTER: usize = 6;
pub const CHATTER_WINDOW: std::time::Duration = std::time::Duration::from_secs(60);
