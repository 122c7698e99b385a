//! From a terminal screen to what the agent is doing.
//!
//! Pure: no I/O, no clock, no runtime. A [`Reader`] holds one engine's
//! [`Manifest`] and turns screens into [`Reading`]s; the [`arbiter`] fuses
//! readings with signals of other authority. Who owns the terminal, and what is
//! done about a reading, is decided elsewhere.

pub mod arbiter;
mod catalogue;
mod dialog;
mod explain;
mod fingerprint;
mod input;
mod keys;
mod manifest;
mod paste;
mod reader;
mod reading;
mod region;
mod request;
mod rule;
mod screen;
mod tool;
mod work_line;

pub use catalogue::{Catalogue, GENERIC};
pub use dialog::{Dialog, DialogLayout, DialogOption};
pub use explain::{Explanation, NearMiss, PendingChange, RegionView, RuleVerdict};
pub use fingerprint::{Fingerprint, InvalidFingerprint};
pub use input::{
    AnswerOutcome, AnswerRefusal, Answered, Answering, Delivered, Delivery, DeliveryRefusal,
    DeliveryRequest, Force, InputContext, InstantReading, Landed, Modes, Prompt, Step, Submit,
    When, is_command, option_for,
};
pub use keys::Key;
pub use manifest::{FORMAT, Manifest, ManifestError, Problem};
pub use reader::Reader;
pub use reading::{Authority, Evidence, Reading, WaitingFor};
pub use region::{flowing_text, is_frame, unframed};
pub use request::ToolRequest;
pub use screen::{Cursor, Emphasis, ProgramStatus, Progress, Row, Screen, Size, Style};
pub use tool::{ToolLine, ToolPhase};
