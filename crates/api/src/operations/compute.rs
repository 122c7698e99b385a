//! Slots: the places agents run, what they show, and what they are told.

use std::collections::BTreeMap;

use missiond_core::{
    AbsolutePath, Bounded, BoundedOr, CliEngine, Controller, List, MAX_EXACT, PtyState, SlotId,
    SlotKind, SlotName, Text, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operations;

pub use missiond_core::SendWhen;

operations! {
    Compute;

    SlotSpawn = "slot_spawn" (Additive, "slots", Agents; Process):
        SlotSpawnParams => SlotSummary,
        "Start a program in a terminal of its own that goes on when the daemon stops.";

    SlotList = "slot_list" (ReadOnly, "slots"; Instant):
        SlotListParams => SlotPage,
        "List the slots with what runs in each and what it is doing.";

    SlotRead = "slot_read" (ReadOnly, "slots"; Instant):
        SlotParams => SlotScreen,
        "Show the screen of a slot as text, and what it was read as.";

    SlotScreenshot = "slot_screenshot" (ReadOnly, "slots"; Instant):
        SlotScreenshotParams => SlotPicture,
        "Take a picture of the screen of a slot: PNG, SVG, ANSI or plain text.";

    SlotSend = "slot_send" (Additive, "slots", Own(StartedSlot); Process):
        SlotSendParams => SlotDelivery,
        "Type text into a slot when its prompt is free, press Enter, and see that it was taken.";

    SlotAnswer = "slot_answer" (Additive, "slots", People; Process):
        SlotAnswerParams => SlotAnswerResult,
        "Take one option of the dialog a slot shows; never another one.";

    SlotKeys = "slot_keys" (Additive, "slots", People; Process):
        SlotKeysParams => SlotKeysResult,
        "Hand raw keys to a slot as they are, for a person who types at an attached terminal.";

    SlotInterrupt = "slot_interrupt" (Additive, "slots", Own(Slot); Process):
        SlotParams => SlotSendResult,
        "Press Ctrl-C in a slot.";

    SlotResize = "slot_resize" (Idempotent, "slots", Own(Slot); Process):
        SlotResizeParams => SlotResizeResult,
        "Give the terminal of a slot another size.";

    SlotKill = "slot_kill" (Destructive, "slots", Own(Slot); Process):
        SlotKillParams => SlotKillResult,
        "End the program of a slot and every process it started, and close the slot.";

    SlotForeground = "slot_foreground" (Additive, "slots", Programs):
        SlotForegroundParams => SlotForegroundResult,
        "Tell what the person's own session does, as its hooks report it: it is registered as the \
         foreground slot and never typed into or ended.";

    SlotExplain = "slot_explain" (ReadOnly, "slots"; Instant):
        SlotParams => SlotExplanation,
        "Say which rule decided what a slot is doing, on which rows, and which rules nearly did.";
}

/// Shorter than a request may take, by what typing takes.
const LONGEST_WAIT_MS: i64 = 45_000;

/// How wide a terminal can be.
pub type Columns = Bounded<2, 1000>;
/// How high a terminal can be.
pub type Rows = Bounded<1, 1000>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotSpawnParams {
    /// The program and its arguments; no shell reads them.
    pub argv: Vec<String>,
    /// Which manifest reads the screen; guessed from the program when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    /// What people call the slot; made up when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<SlotName>,
    /// The folder to run in, absolute; the home folder when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<AbsolutePath>,
    /// Variables on top of the few that are passed on from the daemon.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub columns: BoundedOr<2, 1000, 120>,
    #[serde(default)]
    pub rows: BoundedOr<1, 1000, 40>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlotSummary {
    pub slot: SlotId,
    pub name: String,
    pub kind: SlotKind,
    pub engine: CliEngine,
    pub created_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    pub reading: SlotReading,
    /// What keeps the program from working, or its screen from being seen: a
    /// disk without room for the recording, a terminal the program has closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// What runs; unknown for a slot that was closed and for one that is not owned.
    pub program: Option<SlotProgram>,
    /// The conversation of a foreground slot, by the name its program gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotForegroundParams {
    pub engine: CliEngine,
    /// Where the session works, absolute.
    pub cwd: AbsolutePath,
    /// The conversation, by the name its program gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Text<256, 0>>,
    pub does: ForegroundActivity,
}

/// What the hooks of a session can tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForegroundActivity {
    /// It waits for a prompt.
    Idle,
    Thinking,
    UsesTool,
    /// It asks the person something.
    Asks,
    Left,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlotForegroundResult {
    /// The foreground slot, if there is one now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreground: Option<SlotSummary>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlotProgram {
    pub argv: Vec<String>,
    pub cwd: String,
    pub pid: u32,
    /// By its protocol, or by its terminal.
    pub controller: Controller,
    /// How many programs have had the slot, with this one.
    pub generation: u32,
    pub recording: String,
    /// The control group that holds all its processes. Without one they are held
    /// by their process group and the slot's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
}

/// What a slot is taken to be doing, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlotReading {
    pub state: PtyState,
    pub reason: String,
    /// 0 (a guess) to 1 (the program said so itself).
    pub confidence: f32,
    /// How close to the program's own knowledge the signal is.
    pub authority: String,
    /// What would make a waiting agent go on.
    pub waiting_for: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SlotListParams {
    /// Closed slots too.
    pub all: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlotPage {
    pub slots: Vec<SlotSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotParams {
    /// The slot's id, or the name of an open slot.
    pub slot: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlotScreen {
    pub slot: SlotId,
    pub reading: SlotReading,
    /// The rows of the screen, without spaces at their ends.
    pub lines: Vec<String>,
    pub title: String,
    pub columns: u16,
    pub rows: u16,
    /// Counted from 0.
    pub cursor_row: usize,
    pub cursor_column: usize,
    /// Bytes of output that made this screen.
    pub offset: u64,
    /// What keeps the program from working, or its screen from being seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotScreenshotParams {
    /// The slot's id, or the name of an open slot.
    pub slot: String,
    pub format: ScreenshotFormat,
}

/// How a picture is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScreenshotFormat {
    Png,
    Text,
    Ansi,
    Svg,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotPicture {
    pub slot: SlotId,
    pub format: ScreenshotFormat,
    pub columns: u16,
    pub rows: u16,
    pub encoding: PictureEncoding,
    pub content: String,
}

/// How a picture's content fits into text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PictureEncoding {
    /// It is text.
    Text,
    /// Bytes, written with the standard alphabet of base64.
    Base64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotSendParams {
    /// The slot's id, or the name of an open slot.
    pub slot: String,
    /// Control characters other than line breaks and tabs are left out.
    pub text: Text<262_144, 0>,
    /// Press Enter afterwards.
    pub submit: bool,
    /// What to do while the agent works.
    #[serde(default)]
    pub when: SendWhen,
    /// How long the program may take until it can be typed to.
    #[serde(default)]
    pub wait_ms: BoundedOr<0, LONGEST_WAIT_MS, 10_000>,
    /// Type whatever is on the screen, even a dialog or somebody's draft.
    #[serde(default)]
    pub force: bool,
}

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotDelivery {
    pub slot: SlotId,
    /// Bytes handed to the terminal.
    pub bytes: u64,
    pub landed: TextLanded,
    /// One sentence: what was seen.
    pub evidence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextLanded {
    /// It was seen to be taken.
    Confirmed,
    /// It was typed, and the screen cannot tell.
    Unconfirmed,
    /// It was typed and not taken.
    Stalled,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotAnswerParams {
    /// The slot's id, or the name of an open slot.
    pub slot: String,
    /// The number of the option, its text, or the beginning of its text.
    pub option: Text<2000>,
    /// Words that must stand in the dialog; otherwise nothing is pressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Text<2000, 0>>,
    /// How long a dialog may take to appear.
    #[serde(default)]
    pub wait_ms: BoundedOr<0, LONGEST_WAIT_MS, 2_000>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotAnswerResult {
    pub slot: SlotId,
    pub question: String,
    /// The option that was taken, as it was shown.
    pub option: String,
    pub number: Option<u32>,
    pub outcome: AnswerOutcome,
    /// One sentence: what was seen.
    pub evidence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// The dialog is gone or another one took its place.
    Taken,
    /// The option was taken and the dialog still stands there.
    StillOpen,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotSendResult {
    pub slot: SlotId,
    /// Bytes handed to the terminal.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotKeysParams {
    /// The slot's id, or the name of an open slot.
    pub slot: String,
    /// What the keys send, byte by byte.
    pub bytes: List<u8, 0, 65_536>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotKeysResult {
    pub slot: SlotId,
    /// Bytes handed to the terminal.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotResizeParams {
    /// The slot's id, or the name of an open slot.
    pub slot: String,
    pub columns: Columns,
    pub rows: Rows,
    /// This is the size of an attached viewer: the view is painted anew, and
    /// the slot takes the smallest size of those who may write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment: Option<Bounded<0, MAX_EXACT>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotResizeResult {
    pub slot: SlotId,
    pub columns: u16,
    pub rows: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotKillParams {
    /// The slot's id, or the name of an open slot.
    pub slot: String,
    /// How long the processes have to end by themselves.
    #[serde(default)]
    pub grace_ms: BoundedOr<0, 30_000, 5_000>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotKillResult {
    pub slot: SlotId,
    /// How the program ended, as a sentence.
    pub outcome: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlotExplanation {
    pub slot: SlotId,
    /// Which manifest was used.
    pub manifest: String,
    /// The reading, the rule that decided, the rules that nearly did, and what
    /// each region of the screen held.
    pub explanation: serde_json::Value,
}
