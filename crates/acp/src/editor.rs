//! The editor at the other end: what it is told, answered and asked. Every session
//! writes here; a line is written whole.

use std::collections::HashMap;
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use missiond_api::RequestId;
use parking_lot::{Mutex, RwLock};
use serde::Serialize;
use serde_json::{Value, json};

use crate::message::{Refusal, notification_line, refusal_line, request_line, result_line};
use crate::protocol::{Content, Initialize, Update};

/// What an editor said of itself.
#[derive(Debug, Clone, Default)]
struct Features {
    name: Option<String>,
    notices: bool,
    forms: bool,
}

pub(crate) struct Editor {
    out: Mutex<Box<dyn Write + Send>>,
    features: RwLock<Features>,
    last_id: AtomicI64,
    /// What was asked and not answered, with the session it is for.
    asked: Mutex<HashMap<i64, String>>,
    said_servers: AtomicBool,
}

impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Editor")
            .field("features", &self.features)
            .finish_non_exhaustive()
    }
}

impl Editor {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: Mutex::new(out),
            features: RwLock::default(),
            last_id: AtomicI64::new(0),
            asked: Mutex::default(),
            said_servers: AtomicBool::new(false),
        }
    }

    pub(crate) fn introduce(&self, said: Initialize) {
        let name = said.client_info.map(|info| info.title.unwrap_or(info.name));
        *self.features.write() = Features {
            name: name.filter(|name| !name.trim().is_empty()),
            notices: said.client_capabilities.shows_notices(),
            forms: said.client_capabilities.has_forms(),
        };
    }

    /// What answers given in it are signed with.
    pub(crate) fn name(&self) -> String {
        let name = self.features.read().name.clone();
        name.unwrap_or_else(|| "editor".to_owned())
    }

    pub(crate) fn has_forms(&self) -> bool {
        self.features.read().forms
    }

    pub(crate) fn answer(&self, id: &RequestId, result: &impl Serialize) {
        self.write(&result_line(id, result));
    }

    pub(crate) fn refuse(&self, id: Option<&RequestId>, refusal: &Refusal) {
        self.write(&refusal_line(id, refusal));
    }

    pub(crate) fn update(&self, session: &str, update: &Update) {
        let params = json!({ "sessionId": session, "update": update });
        self.write(&notification_line("session/update", &params));
    }

    /// Says once that the MCP servers an editor offers are not passed on: every editor
    /// offers all of its own to every session.
    pub(crate) fn say_servers_are_left(&self, session: &str, names: &[String]) {
        if names.is_empty() || self.said_servers.swap(true, Ordering::Relaxed) {
            return;
        }
        let title = format!(
            "The editor's MCP servers ({}) are not passed on: agents have those of missiond, \
             `mission mcp list-servers` lists them.",
            names.join(", ")
        );
        let update = if self.features.read().notices {
            Update::Notice {
                severity: "info",
                title,
            }
        } else {
            Update::AgentThoughtChunk {
                content: Content::text(title),
                message_id: "servers".to_owned(),
            }
        };
        self.update(session, &update);
    }

    /// Asks, and returns the number that the answer will have.
    pub(crate) fn ask(&self, session: &str, method: &str, params: &Value) -> i64 {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        self.asked.lock().insert(id, session.to_owned());
        self.write(&request_line(&RequestId::Number(id), method, params));
        id
    }

    /// Nobody needs the answer any more.
    pub(crate) fn withdraw(&self, id: i64) {
        if self.forget(id) {
            let params = json!({ "requestId": id });
            self.write(&notification_line("$/cancel_request", &params));
        }
    }

    /// Drops a question whose answer is not waited for; whether it was open.
    pub(crate) fn forget(&self, id: i64) -> bool {
        self.asked.lock().remove(&id).is_some()
    }

    /// The session that asked what is answered now, once.
    pub(crate) fn asker(&self, id: &RequestId) -> Option<(i64, String)> {
        let RequestId::Number(id) = id else {
            return None;
        };
        let session = self.asked.lock().remove(id)?;
        Some((*id, session))
    }

    fn write(&self, line: &[u8]) {
        let mut out = self.out.lock();
        // An editor that has gone reads nothing; the end of its own lines says so.
        let _ = out.write_all(line).and_then(|()| out.flush());
    }
}
