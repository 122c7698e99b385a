//! What a person sees of a structured conversation: its words, tools and questions as
//! lines of a terminal. Nothing an agent says can move the cursor or change a colour.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use missiond_control::{
    ContentChange, ContentPart, ControlEvent, MessagePart, Origin, PermissionRequest, Placement,
    Plan, Resolution, Speaker, StepStatus, ToolCall, ToolCallId, ToolCallUpdate, ToolContent,
    ToolInput, ToolStatus,
};

use super::told::greeting;

/// Tools whose end is waited for; of more the oldest are told without their name.
const MOST_TOOLS: usize = 256;
/// Rows of one change that are shown.
const DIFF_ROWS: usize = 12;
/// Bytes of a paragraph that are compared with the message told whole.
const LONGEST_SAID: usize = 256 << 10;
/// Bytes of the last line that are remembered.
const LONGEST_LINE: usize = 1 << 10;
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const CYAN: &str = "\x1b[36m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";

#[derive(Debug, Default)]
pub(super) struct Transcript {
    /// Who speaks in the paragraph that is not ended yet.
    speaker: Option<Speaker>,
    /// What was said in it so far.
    said: String,
    tools: BTreeMap<ToolCallId, String>,
    last_line: String,
}

impl Transcript {
    pub(super) fn show(&mut self, event: &ControlEvent) -> String {
        match event {
            ControlEvent::AgentReady(agent) => self.line(DIM, &greeting(agent)),
            ControlEvent::SessionOpened(session) => {
                self.line(DIM, &format!("Session {}", session.id))
            }
            ControlEvent::Prompted { text, .. } => self.block(BOLD, "> ", &text.to_string()),
            ControlEvent::Message(message) => self.message(message),
            ControlEvent::ToolCallAnnounced { call, .. } => self.tool(call),
            ControlEvent::ToolCallUpdated { update, .. } => self.tool_update(update),
            ControlEvent::Plan(plan) => self.plan(plan),
            ControlEvent::PermissionRequested(request) => self.permission(request),
            ControlEvent::PermissionResolved { resolution, .. } => match resolution {
                Resolution::Answered { option, .. } => {
                    self.line(YELLOW, &format!("  answered: {option}"))
                }
                Resolution::Cancelled | Resolution::Withdrawn | Resolution::Lost => {
                    self.line(YELLOW, "  not asked any more")
                }
            },
            ControlEvent::ModeChanged { mode } => self.line(DIM, &format!("Mode: {mode}")),
            ControlEvent::ModelChanged { model } => self.line(DIM, &format!("Model: {model}")),
            ControlEvent::ContextCompacted => self.line(DIM, "The history was made shorter."),
            ControlEvent::Error { error, .. } => self.line(RED, &error.message.to_string()),
            ControlEvent::RequestFailed { method, error, .. } => {
                self.line(RED, &format!("{method}: {}", error.message))
            }
            ControlEvent::Warning { message } => self.line(YELLOW, &message.to_string()),
            ControlEvent::InputMismatch { .. } => self.line(
                RED,
                "The agent tells another input than it announced or was permitted.",
            ),
            ControlEvent::Trouble(trouble) => self.line(RED, &trouble.to_string()),
            ControlEvent::SubAgent { event, .. } => self.show(event),
            ControlEvent::TurnEnded { .. } => self.end_paragraph(),
            _ => String::new(),
        }
    }

    pub(super) fn notice(&mut self, text: &str) -> String {
        self.line(YELLOW, text)
    }

    pub(super) fn errors(&mut self, text: &str) -> String {
        self.block(DIM, "", text)
    }

    /// The last line with words, without what draws it.
    pub(super) fn last_line(&self) -> Option<String> {
        let line = self.last_line.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    fn message(&mut self, message: &MessagePart) -> String {
        // A prompt is shown when it is sent; told again it is the same prompt.
        if message.speaker == Speaker::User && message.origin == Origin::Live {
            return String::new();
        }
        let Some(part) = &message.part else {
            return String::new();
        };
        let words = match part {
            ContentPart::Text(text) => plain(&text.to_string()),
            ContentPart::Image { .. } => "[image]".to_owned(),
            ContentPart::Audio { .. } => "[audio]".to_owned(),
            ContentPart::Link { uri, .. } | ContentPart::Resource { uri, .. } => {
                format!("[{}]", plain(&uri.text))
            }
            ContentPart::Unknown { .. } => "[?]".to_owned(),
        };
        let mut shown = String::new();
        if self.speaker != Some(message.speaker) {
            shown.push_str(&self.end_paragraph());
            self.speaker = Some(message.speaker);
            self.last_line.clear();
        }
        // A message told whole after its pieces: only what is new in it is shown.
        let words = match (message.placement, words.strip_prefix(&self.said)) {
            (Placement::Replaced, Some(rest)) => rest.to_owned(),
            (Placement::Replaced, None) => format!("\n{words}"),
            (Placement::Appended, _) => words,
        };
        if words.is_empty() {
            return shown;
        }
        if self.said.len() <= LONGEST_SAID {
            self.said.push_str(&words);
        }
        let style = match message.speaker {
            Speaker::User => BOLD,
            Speaker::Agent => "",
            Speaker::Thought => DIM,
        };
        self.note(&words);
        let _ = write!(shown, "{style}{}{PLAIN}", words.replace('\n', "\r\n"));
        shown
    }

    fn tool(&mut self, call: &ToolCall) -> String {
        let title = plain(&call.title.text);
        if self.tools.len() >= MOST_TOOLS {
            self.tools.pop_first();
        }
        self.tools.insert(call.id.clone(), title.clone());
        let mut shown = self.line(CYAN, &format!("● {title}"));
        if let ToolInput::Said { json, .. } = &call.input {
            shown.push_str(&self.line(DIM, &format!("  {json}")));
        }
        shown.push_str(&self.contents(&call.content));
        shown
    }

    fn tool_update(&mut self, update: &ToolCallUpdate) -> String {
        let mut shown = String::new();
        if let Some(title) = &update.title {
            self.tools.insert(update.id.clone(), plain(&title.text));
        }
        if let Some(ContentChange::Replaced(content) | ContentChange::Appended(content)) =
            &update.content
        {
            shown.push_str(&self.contents(content));
        }
        let name = self.tools.get(&update.id).cloned();
        let name = name.unwrap_or_else(|| "a tool".to_owned());
        let (style, word) = match &update.status {
            Some(ToolStatus::Completed) => (DIM, "done"),
            Some(ToolStatus::Failed) => (RED, "failed"),
            Some(ToolStatus::Declined) => (YELLOW, "not permitted"),
            Some(ToolStatus::Cancelled) => (YELLOW, "cancelled"),
            _ => return shown,
        };
        self.tools.remove(&update.id);
        shown.push_str(&self.line(style, &format!("  {word}: {name}")));
        shown
    }

    fn contents(&mut self, content: &[ToolContent]) -> String {
        let mut shown = String::new();
        for part in content {
            shown.push_str(&match part {
                ToolContent::Part(ContentPart::Text(text)) => {
                    self.block(DIM, "  ", &first_rows(&text.text))
                }
                ToolContent::Diff { path, new, .. } => {
                    let head = self.line(DIM, &format!("  {}", path.text));
                    head + &self.block(DIM, "  + ", &first_rows(&new.text))
                }
                ToolContent::Patch {
                    patch: Some(patch), ..
                } => self.block(DIM, "  ", &first_rows(&patch.text)),
                _ => String::new(),
            });
        }
        shown
    }

    fn plan(&mut self, plan: &Plan) -> String {
        let mut shown = self.line(BOLD, "Plan");
        for step in &plan.steps {
            let mark = match step.status {
                StepStatus::Completed => "[x]",
                StepStatus::Running => "[>]",
                StepStatus::Cancelled => "[-]",
                StepStatus::Pending | StepStatus::Unknown(_) => "[ ]",
            };
            shown.push_str(&self.line("", &format!("  {mark} {}", step.text)));
        }
        shown
    }

    fn permission(&mut self, request: &PermissionRequest) -> String {
        let dialog = super::request::dialog(request);
        let mut shown = self.line(YELLOW, &format!("? {}", dialog.title));
        if dialog.question != dialog.title {
            shown.push_str(&self.block(YELLOW, "  ", &dialog.question));
        }
        if let Some(arguments) = &dialog.arguments {
            shown.push_str(&self.block(DIM, "  ", arguments));
        }
        for (number, option) in dialog.options.iter().enumerate() {
            let option = format!("  {}. {}", number + 1, option.label);
            shown.push_str(&self.line(YELLOW, &option));
        }
        shown
    }

    fn line(&mut self, style: &str, text: &str) -> String {
        let text = plain(text).replace('\n', " ");
        let mut shown = self.end_paragraph();
        self.note(&text);
        let _ = write!(shown, "{style}{text}{PLAIN}\r\n");
        shown
    }

    fn block(&mut self, style: &str, before: &str, text: &str) -> String {
        let mut shown = self.end_paragraph();
        for row in plain(text).trim_end().lines() {
            self.note(row);
            let _ = write!(shown, "{style}{before}{row}{PLAIN}\r\n");
        }
        shown
    }

    fn end_paragraph(&mut self) -> String {
        self.said.clear();
        match self.speaker.take() {
            Some(_) => "\r\n".to_owned(),
            None => String::new(),
        }
    }

    /// Remembers the last line with words.
    fn note(&mut self, text: &str) {
        if self.speaker.is_none() {
            self.last_line.clear();
        }
        for (index, row) in text.split('\n').enumerate() {
            if index > 0 && !row.trim().is_empty() {
                self.last_line.clear();
            }
            if self.last_line.len() <= LONGEST_LINE {
                self.last_line.push_str(row);
            }
        }
    }
}

/// Text without anything a terminal would obey: no control characters, and nothing of
/// the sequences that begin with ESC `[`.
fn plain(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\x1b' && rest.next_if_eq(&'[').is_some() {
            while rest.next_if(|c| !('@'..='~').contains(c)).is_some() {}
            rest.next();
        } else if c == '\n' || c == '\t' || !c.is_control() {
            kept.push(c);
        }
    }
    kept
}

fn first_rows(text: &str) -> String {
    let rows: Vec<_> = text.lines().collect();
    match rows.get(..DIFF_ROWS) {
        Some(first) if rows.len() > DIFF_ROWS => {
            let more = rows.len() - DIFF_ROWS;
            format!("{}\n… {more} more", first.join("\n"))
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use missiond_control::{Clipped, RequestId};

    use super::*;

    fn said(text: &str) -> ControlEvent {
        ControlEvent::Message(MessagePart {
            speaker: Speaker::Agent,
            message: None,
            part: Some(ContentPart::Text(Clipped::new(text, 1000))),
            placement: Placement::Appended,
            origin: Origin::Live,
            meta: None,
        })
    }

    #[test]
    fn words_in_pieces_are_one_paragraph_and_nothing_in_them_is_obeyed() {
        let mut transcript = Transcript::default();
        let mut shown = transcript.show(&said("Hel"));
        shown += &transcript.show(&said("lo\x1b[2J\x07\nthere"));
        assert_eq!(shown, "Hel\x1b[0mlo\r\nthere\x1b[0m");
        assert_eq!(transcript.last_line().as_deref(), Some("there"));
        let ControlEvent::Message(mut whole) = said("Hello\nthere!") else {
            unreachable!("it is a message");
        };
        whole.placement = Placement::Replaced;
        let shown = transcript.show(&ControlEvent::Message(whole));
        assert_eq!(shown, "!\x1b[0m", "told whole after its pieces");
        let next = transcript.show(&ControlEvent::Prompted {
            request: RequestId(1),
            text: Clipped::new("go on", 100),
        });
        assert_eq!(next, "\r\n\x1b[1m> go on\x1b[0m\r\n");
    }
}
