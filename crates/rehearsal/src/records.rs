//! The two files a rehearsal can leave: a transcript, as agent CLIs keep one,
//! and the truth about its own state, for tests that compare what was read from
//! the screen with what was so.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use missiond_core::{Clock, PtyState, SystemClock};
use missiond_os::files::open_private_log;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::agent::ToolCall;
use crate::script::Usage;
use crate::session::SessionId;
use crate::view::{Panel, Permission, View};

/// The model a rehearsal says it uses.
const MODEL: &str = "rehearsal";

/// JSON lines: what was said, in the shape of an API's messages.
#[derive(Debug)]
pub(crate) struct Transcript {
    file: File,
    session: SessionId,
    cwd: String,
}

impl Transcript {
    pub(crate) fn open(path: &Path, session: SessionId, cwd: &str) -> io::Result<Self> {
        Ok(Self {
            file: open_private_log(path)?,
            session,
            cwd: cwd.to_owned(),
        })
    }

    pub(crate) fn prompt(&mut self, text: &str) -> io::Result<()> {
        self.message("user", &json!(text))
    }

    pub(crate) fn assistant_text(&mut self, text: &str) -> io::Result<()> {
        self.message("assistant", &json!([{"type": "text", "text": text}]))
    }

    /// What a request to a model cost, had there been one.
    pub(crate) fn used(&mut self, usage: Usage) -> io::Result<()> {
        let request = format!("req_{}", Uuid::now_v7().simple());
        let usage = json!({
            "input_tokens": usage.input, "output_tokens": usage.output,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation_input_tokens": usage.cache_write,
        });
        let message = json!({
            "role": "assistant", "model": MODEL, "content": [], "usage": usage,
        });
        self.line(&json!({"type": "assistant", "requestId": request, "message": message}))
    }

    /// A tool call and its result.
    pub(crate) fn tool(&mut self, call: &ToolCall, result: &ToolResult) -> io::Result<()> {
        let id = &call.id;
        let used = json!([{"type": "tool_use", "id": id, "name": call.name, "input": call.input}]);
        self.message("assistant", &used)?;
        let result = json!([{
            "type": "tool_result", "tool_use_id": id,
            "content": result.text, "is_error": result.is_error,
        }]);
        self.message("user", &result)
    }

    /// Something that happened to the session itself.
    pub(crate) fn event(&mut self, kind: &str, text: &str) -> io::Result<()> {
        self.line(&json!({"type": "system", "subtype": kind, "content": text}))
    }

    fn message(&mut self, role: &str, content: &Value) -> io::Result<()> {
        self.line(&json!({"type": role, "message": {"role": role, "content": content}}))
    }

    fn line(&mut self, value: &Value) -> io::Result<()> {
        let mut value = value.clone();
        value["uuid"] = json!(Uuid::now_v7());
        value["session_id"] = json!(self.session);
        value["timestamp"] = json!(SystemClock.now());
        value["cwd"] = json!(self.cwd);
        self.file.write_all(format!("{value}\n").as_bytes())
    }
}

#[derive(Debug)]
pub(crate) struct ToolResult {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

/// JSON lines: the state the agent is in, each time it changes, written after
/// the picture that shows it.
#[derive(Debug)]
pub(crate) struct Truth {
    file: File,
    last: Option<Claim>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Claim {
    state: PtyState,
    #[serde(skip_serializing_if = "Option::is_none")]
    dialog: Option<TrueDialog>,
    draft: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct TrueDialog {
    title: &'static str,
    tool: String,
    arguments: String,
    question: String,
    options: Vec<&'static str>,
    selected: usize,
}

impl Truth {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: open_private_log(path)?,
            last: None,
        })
    }

    pub(crate) fn record(&mut self, view: &View) -> io::Result<()> {
        let claim = Claim {
            state: view.state(),
            dialog: match &view.panel {
                Panel::Permission(permission) => Some(dialog_of(permission)),
                _ => None,
            },
            draft: view.draft.text().to_owned(),
        };
        if self.last.as_ref() == Some(&claim) {
            return Ok(());
        }
        self.write(&claim)?;
        self.last = Some(claim);
        Ok(())
    }

    /// The last line: the program is about to end.
    pub(crate) fn ended(&mut self) -> io::Result<()> {
        self.write(&Claim {
            state: PtyState::Exited,
            dialog: None,
            draft: String::new(),
        })
    }

    fn write(&mut self, claim: &Claim) -> io::Result<()> {
        let mut value = json!(claim);
        value["at"] = json!(SystemClock.now());
        self.file.write_all(format!("{value}\n").as_bytes())
    }
}

fn dialog_of(permission: &Permission) -> TrueDialog {
    TrueDialog {
        title: Permission::TITLE,
        tool: permission.tool.clone(),
        arguments: permission.args.clone(),
        question: permission.question.clone(),
        options: Permission::OPTIONS.map(|(label, _)| label).to_vec(),
        selected: permission.mark,
    }
}
