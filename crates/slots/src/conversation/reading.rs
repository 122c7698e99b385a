//! Which state a structured conversation is in: what the agent said last, not what a
//! screen looks like.

use std::collections::BTreeSet;
use std::time::Duration;

use missiond_control::{
    Connection, ControlEvent, ControlRequest, ControlState, Refusal, Speaker, ToolCallId,
    ToolStatus, TurnEnd,
};
use missiond_core::PtyState;
use missiond_semantic::{Authority, Evidence, Reading, WaitingFor};

use super::request::dialog;
use super::why_ended;

/// Without these there is no session, or another than was wanted.
const NEEDED: [&str; 9] = [
    "initialize",
    "session/new",
    "session/load",
    "session/resume",
    "session/set_mode",
    "session/set_model",
    "session/set_config_option",
    "thread/start",
    "thread/resume",
];

/// Tools that run at once; of more, the first are counted.
const MOST_TOOLS: usize = 256;

/// Whether nothing goes on before this is answered.
pub(super) fn is_needed(method: &str) -> bool {
    NEEDED.contains(&method)
}

/// What the state of the client does not say: what the agent did last in its turn, and
/// how the last one ended.
#[derive(Debug, Default)]
pub(super) struct Progress {
    tools: BTreeSet<ToolCallId>,
    speaks: bool,
    /// Why nothing goes on until somebody does something.
    broken: Option<String>,
    /// The session will not be opened by asking again.
    failed: bool,
    /// What it should have answered long ago.
    silent: Option<String>,
    exited: bool,
    since: Duration,
    /// What was heard last, for whoever asks why.
    heard: &'static str,
}

impl Progress {
    pub(super) fn absorb(&mut self, event: &ControlEvent, at: Duration) {
        self.heard = word(event).unwrap_or(self.heard);
        self.silent = None;
        match event {
            ControlEvent::Prompted { .. } | ControlEvent::TurnBegan { .. } => {
                self.broken = None;
                self.speaks = false;
                self.tools.clear();
            }
            ControlEvent::Message(message) => self.speaks = message.speaker == Speaker::Agent,
            ControlEvent::ToolCallAnnounced { call, .. } => {
                self.speaks = false;
                self.note_tool(&call.id, &call.status);
            }
            ControlEvent::ToolCallUpdated { update, .. } => {
                self.speaks = false;
                if let Some(status) = &update.status {
                    self.note_tool(&update.id, status);
                }
            }
            ControlEvent::TurnEnded { end, .. } => {
                self.tools.clear();
                self.speaks = false;
                self.broken = match end {
                    TurnEnd::Done | TurnEnd::Cancelled => None,
                    other => why_ended(other),
                };
            }
            ControlEvent::AuthenticationRequired { error, .. } => {
                self.broken = Some(format!("the agent must be signed in: {}", error.message));
                self.failed = true;
            }
            ControlEvent::RequestFailed { method, error, .. } => {
                self.broken = Some(format!("`{method}` failed: {}", error.message));
                self.failed |= is_needed(method);
            }
            ControlEvent::SessionOpened(_) => {
                self.failed = false;
                self.broken = None;
            }
            _ => {}
        }
        self.since = at;
    }

    pub(super) fn refuse(&mut self, request: &ControlRequest, refusal: &Refusal) {
        let why = match request {
            ControlRequest::Open(_) | ControlRequest::Start => refusal.to_string(),
            ControlRequest::SetMode { mode } => format!("the mode `{mode}` was wanted: {refusal}"),
            ControlRequest::SetModel { model } => {
                format!("the model `{model}` was wanted: {refusal}")
            }
            _ => {
                tracing::debug!(%refusal, "request not made");
                return;
            }
        };
        self.broken = Some(why);
        self.failed = true;
    }

    pub(super) fn exit(&mut self, at: Duration) {
        self.exited = true;
        self.since = at;
    }

    /// It says nothing where it must. Its next word is believed again.
    pub(super) fn note_silence(&mut self, method: &str, patience: Duration, at: Duration) {
        let seconds = patience.as_secs();
        let why = format!("the agent has not answered `{method}` for {seconds} s");
        if self.silent.as_ref() != Some(&why) {
            self.silent = Some(why);
            self.since = at;
        }
    }

    /// Why the session is not as it was wanted: then nothing is asked in it.
    pub(super) fn failure(&self) -> Option<&str> {
        let broken = self.broken.as_deref().filter(|_| self.failed);
        broken.or(self.silent.as_deref())
    }

    pub(super) fn reading(&self, state: &ControlState) -> Reading {
        let (now, reason) = self.state(state);
        let asked = state.permissions.first();
        let dialog = asked.map(|open| dialog(&open.request));
        let evidence = Evidence {
            rule: "protocol".to_owned(),
            source: "protocol".to_owned(),
            row: None,
            text: self.heard.to_owned(),
        };
        Reading {
            state: now,
            reason,
            waiting_for: (now == PtyState::Confirming).then_some(WaitingFor::Permission),
            confidence: 1.0,
            authority: Authority::Protocol,
            evidence: vec![evidence],
            since: self.since,
            dialog: dialog.filter(|_| now == PtyState::Confirming),
            tool: None,
        }
    }

    fn state(&self, state: &ControlState) -> (PtyState, String) {
        let said = |state, reason: &str| (state, reason.to_owned());
        if self.exited {
            return said(PtyState::Exited, "the agent's process has ended");
        }
        if let Connection::Refused(why) = &state.connection {
            return (PtyState::Error, why.clone());
        }
        if !state.permissions.is_empty() {
            return said(PtyState::Confirming, "the agent asks for a permission");
        }
        if state.turn.is_some() {
            return if !self.tools.is_empty() {
                said(PtyState::ToolRunning, "the agent says that a tool runs")
            } else if self.speaks {
                said(PtyState::Responding, "the agent speaks")
            } else {
                said(PtyState::Thinking, "a turn is under way")
            };
        }
        if let (None, Some(why)) = (&self.broken, &self.silent) {
            return said(PtyState::Error, why);
        }
        match (&self.broken, &state.session) {
            (Some(why), _) => (PtyState::Error, why.clone()),
            (None, Some(_)) => said(
                PtyState::Idle,
                "the session is open and no turn is under way",
            ),
            (None, None) => said(PtyState::Starting, "the session is not open yet"),
        }
    }

    fn note_tool(&mut self, call: &ToolCallId, status: &ToolStatus) {
        match status {
            ToolStatus::Running | ToolStatus::Unknown(_) | ToolStatus::Pending => {
                if self.tools.len() < MOST_TOOLS {
                    self.tools.insert(call.clone());
                }
            }
            ToolStatus::Completed
            | ToolStatus::Failed
            | ToolStatus::Declined
            | ToolStatus::Cancelled => {
                self.tools.remove(call);
            }
        }
    }
}

/// The agent's word in ours; none for what says nothing of its state.
fn word(event: &ControlEvent) -> Option<&'static str> {
    Some(match event {
        ControlEvent::AgentReady(_) => "the agent answered the greeting",
        ControlEvent::SessionOpened(_) => "the session was opened",
        ControlEvent::Prompted { .. } => "a prompt was sent",
        ControlEvent::TurnBegan { .. } => "a turn began",
        ControlEvent::TurnEnded { .. } => "the turn ended",
        ControlEvent::Message(_) => "words came",
        ControlEvent::ToolCallAnnounced { .. } => "a tool was announced",
        ControlEvent::ToolCallUpdated { .. } => "a tool went on",
        ControlEvent::PermissionRequested(_) => "a permission was asked for",
        ControlEvent::PermissionResolved { .. } => "a permission was answered",
        ControlEvent::Error { .. } => "an error was told",
        _ => return None,
    })
}
