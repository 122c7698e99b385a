//! What a person is asked, and by whom.
//!
//! A question knows where it comes from, because the answer must find its way
//! back there, and because the same dialog read twice or the same event told
//! twice is the same question.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    BoardTaskId, ExecutionId, ObservationId, QuestionId, QuestionStatus, SlotId, TaskNumber, Text,
    Timestamp, excerpt, from_text, one_line,
};

/// More than this of what is asked is cut from its headline.
const LONGEST_HEADLINE: usize = 120;

/// What a person answers.
pub type AnswerText = Text<32_000>;

/// What people call a question: `Q-7`. Counted per database.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct QuestionNumber(pub i64);

impl fmt::Display for QuestionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Q-{}", self.0)
    }
}

/// A question, by its number or its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionRef {
    Number(QuestionNumber),
    Id(QuestionId),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a question: use its number, such as Q-7 (`mission inbox` lists them)")]
pub struct InvalidQuestionRef(String);

impl FromStr for QuestionRef {
    type Err = InvalidQuestionRef;

    fn from_str(text: &str) -> Result<Self, InvalidQuestionRef> {
        let digits = text
            .strip_prefix("Q-")
            .or_else(|| text.strip_prefix("q-"))
            .unwrap_or(text);
        if digits.bytes().all(|b| b.is_ascii_digit())
            && let Ok(number @ 1..) = digits.parse()
        {
            return Ok(Self::Number(QuestionNumber(number)));
        }
        text.parse()
            .map(Self::Id)
            .map_err(|_| InvalidQuestionRef(text.chars().take(64).collect()))
    }
}

impl fmt::Display for QuestionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => fmt::Display::fmt(number, f),
            Self::Id(id) => fmt::Display::fmt(id, f),
        }
    }
}

impl Serialize for QuestionRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for QuestionRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text::deserialize(deserializer, "a question, like Q-7")
    }
}

impl JsonSchema for QuestionRef {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "QuestionRef".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": 64,
            "description": "A question's number, like Q-7, or its id.",
        })
    }
}

/// Something a person is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    pub id: QuestionId,
    pub number: QuestionNumber,
    pub origin: QuestionOrigin,
    /// The task it is about, or whose agent asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNumber>,
    /// What is asked, in a sentence.
    pub question: String,
    /// The same on one line, as every surface says it: of a permission, what would be
    /// done.
    pub headline: String,
    /// What a person must know to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The answers that are offered; empty when words are wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// How many tasks cannot begin without the answer, beside the one that asks.
    pub blocks: u32,
    pub asked_at: Timestamp,
    pub status: QuestionStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// Who answered or dismissed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<String>,
    /// Why it was closed without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Question {
    /// How much it wants an answer: the time it has waited, once for who asks and
    /// once for each that waits with it.
    #[must_use]
    pub fn weight(&self, now: Timestamp) -> u128 {
        now.since(self.asked_at).as_micros() * (1 + u128::from(self.blocks))
    }
}

/// Where a question comes from and where its answer goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum QuestionOrigin {
    /// A dialog on the screen of a slot.
    Dialog {
        slot: SlotId,
        slot_name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution: Option<ExecutionId>,
        /// Tells dialogs of a slot apart: a hash of what it says and offers.
        dialog: String,
        /// What permission is asked for, as far as it can be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        permission: Option<Box<PermissionAsked>>,
        /// The option that allows it this once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allows: Option<String>,
        /// The option that denies it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denies: Option<String>,
    },
    /// An agent said in structure that it needs input.
    NeedsInput {
        execution: ExecutionId,
        slot: SlotId,
        request: ObservationId,
    },
    /// Work on a task of the board cannot go on.
    Task {
        task: BoardTaskId,
        /// The same key again is the same question.
        key: String,
    },
    /// A tool was called that asks a person.
    Tool {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution: Option<ExecutionId>,
        /// The same key again is the same question.
        key: String,
    },
}

impl QuestionOrigin {
    /// The same key is the same question: for a dialog until it has left the
    /// screen, for everything else for ever.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Dialog { slot, dialog, .. } => format!("dialog/{slot}/{dialog}"),
            Self::NeedsInput {
                execution, request, ..
            } => format!("input/{execution}/{request}"),
            Self::Task { task, key } => format!("task/{task}/{key}"),
            Self::Tool { execution, key } => match execution {
                Some(execution) => format!("tool/{execution}/{key}"),
                None => format!("tool/{key}"),
            },
        }
    }

    #[must_use]
    pub const fn slot(&self) -> Option<SlotId> {
        match self {
            Self::Dialog { slot, .. } | Self::NeedsInput { slot, .. } => Some(*slot),
            Self::Task { .. } | Self::Tool { .. } => None,
        }
    }

    #[must_use]
    pub const fn execution(&self) -> Option<ExecutionId> {
        match self {
            Self::NeedsInput { execution, .. } => Some(*execution),
            Self::Dialog { execution, .. } | Self::Tool { execution, .. } => *execution,
            Self::Task { .. } => None,
        }
    }

    /// What is asked, on one line: what an agent wants to do says more than the words of
    /// its dialog.
    #[must_use]
    pub fn headline(&self, question: &str) -> String {
        let asked = match self {
            Self::Dialog { permission, .. } => permission.as_deref(),
            _ => None,
        };
        let said = asked.and_then(PermissionAsked::to_sentence);
        let mut lines = question.lines();
        let said = said.or_else(|| {
            lines
                .find(|line| !line.trim().is_empty())
                .map(str::to_owned)
        });
        excerpt(&one_line(&said.unwrap_or_default()), LONGEST_HEADLINE)
    }

    #[must_use]
    pub const fn task(&self) -> Option<BoardTaskId> {
        match self {
            Self::Task { task, .. } => Some(*task),
            _ => None,
        }
    }
}

/// A use of a tool that an agent asks permission for, as its dialog shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionAsked {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The MCP server the tool belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// A line for a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// An argument that is no line for a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The file it is about, as the dialog writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The folder it would happen in, where the agent's program says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// SHA-256 of the tool, its whole input and the folder, where the agent's program said
    /// them by its protocol or a hook. What is read from a screen has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The dialog shows only a part of it.
    #[serde(default)]
    pub shown_in_part: bool,
}

impl PermissionAsked {
    /// What would be done, as a question: `May it run pip install numpy?`
    fn to_sentence(&self) -> Option<String> {
        Some(match (&self.command, &self.path, &self.tool) {
            (Some(command), ..) => format!("May it run {command}?"),
            (None, Some(path), Some(tool)) => format!("May it {} {path}?", tool.to_lowercase()),
            (None, Some(path), None) => format!("May it use {path}?"),
            (None, None, Some(tool)) => match &self.argument {
                Some(argument) => format!("May it use {tool}: {argument}?"),
                None => format!("May it use {tool}?"),
            },
            (None, None, None) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_question_is_found_by_number_or_id() {
        let number = |n| Ok(QuestionRef::Number(QuestionNumber(n)));
        for (text, expected) in [("Q-7", number(7)), ("q-7", number(7)), ("12", number(12))] {
            assert_eq!(text.parse(), expected);
        }
        let id = QuestionId::generate();
        assert_eq!(id.to_string().parse(), Ok(QuestionRef::Id(id)));
        for reference in [QuestionRef::Number(QuestionNumber(7)), QuestionRef::Id(id)] {
            let written = serde_json::to_value(reference).unwrap();
            assert_eq!(written, reference.to_string());
            assert_eq!(
                serde_json::from_value::<QuestionRef>(written).unwrap(),
                reference
            );
        }
        for text in [
            "",
            "Q-",
            "Q-0",
            "Q-x",
            "-3",
            "T-3",
            "Q-99999999999999999999",
        ] {
            assert!(text.parse::<QuestionRef>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_permission_is_asked_by_what_would_be_done() {
        let dialog = |permission: PermissionAsked| QuestionOrigin::Dialog {
            slot: SlotId::generate(),
            slot_name: "calm-fox".to_owned(),
            execution: None,
            dialog: "d".to_owned(),
            permission: Some(Box::new(permission)),
            allows: None,
            denies: None,
        };
        let some = |text: &str| Some(text.to_owned());
        let command = dialog(PermissionAsked {
            tool: some("Bash"),
            command: some("pip install\n numpy"),
            ..PermissionAsked::default()
        });
        assert_eq!(command.headline("Do it?"), "May it run pip install numpy?");
        let file = dialog(PermissionAsked {
            tool: some("Edit"),
            path: some("a.rs"),
            ..PermissionAsked::default()
        });
        assert_eq!(file.headline("Do it?"), "May it edit a.rs?");
        let unread = dialog(PermissionAsked::default());
        assert_eq!(
            unread.headline("\n  Do you\tproceed?\nmore"),
            "Do you proceed?"
        );
    }

    #[test]
    fn what_blocks_more_or_waits_longer_weighs_more() {
        let asked_at: Timestamp = "2026-01-04T12:00:00Z".parse().unwrap();
        let question = |blocks| Question {
            id: QuestionId::generate(),
            number: QuestionNumber(1),
            origin: QuestionOrigin::Tool {
                execution: None,
                key: "k".to_owned(),
            },
            task: None,
            headline: String::new(),
            question: "Which?".to_owned(),
            context: None,
            options: Vec::new(),
            blocks,
            asked_at,
            status: QuestionStatus::Pending,
            answer: None,
            closed_at: None,
            closed_by: None,
            reason: None,
        };
        let after = |seconds| asked_at.plus(Duration::from_secs(seconds));
        assert!(question(1).weight(after(60)) > question(1).weight(after(30)));
        assert!(question(4).weight(after(30)) > question(1).weight(after(60)));
        assert!(question(1).weight(after(9)) > question(0).weight(after(9)));
        assert!(question(0).weight(after(9)) > 0, "who asks waits too");
    }
}
