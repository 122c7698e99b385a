//! The agent's side of a connection: reads the editor's lines, answers what concerns no
//! session, and hands everything else to the session it is for.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use missiond_api::RequestId;
use missiond_api::operations::execution::{ExecutionList, ExecutionListParams, ExecutionSummary};
use missiond_core::{AbsolutePath, Limit, SlotId};
use missiond_net::{Frame, FrameDecoder};
use serde_json::{Value, json};

use crate::Settings;
use crate::daemon::{Connect, Daemon};
use crate::editor::Editor;
use crate::message::{Message, Params, Refusal};
use crate::protocol::{
    CancelRequest, Initialize, ListSessions, Modes, NewSession, OfSession, Prompt, SetMode, VERSION,
};
use crate::session::{Command, Parts, Replay, Session};

/// The longest line that is read. A prompt of an editor may quote whole files.
const LONGEST_LINE: usize = 4 * 1024 * 1024;
/// Sessions that may be open at once: each is a thread. Few editors close one.
const MOST_SESSIONS: usize = 500;
/// Requests a session may have waiting; whoever sends more waits itself.
const MOST_WAITING: usize = 64;
/// What the slots of sessions are called before their own part.
const PREFIX: &str = "editor-";

/// Where what is for the person who set this up goes: the editor's log.
pub type Log = Box<dyn Fn(&str) + Send>;

#[derive(Debug)]
struct OpenSession {
    commands: SyncSender<Command>,
    /// Its agent runs, and goes on when the editor is gone.
    runs: Arc<AtomicBool>,
}

/// A request that is about no session.
struct Listing {
    id: RequestId,
    cwd: Option<String>,
}

pub struct Server {
    editor: Arc<Editor>,
    connect: Connect,
    settings: Arc<Settings>,
    log: Log,
    initialized: bool,
    sessions: HashMap<String, OpenSession>,
    listings: Option<SyncSender<Listing>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("settings", &self.settings)
            .field("sessions", &self.sessions)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// An agent that writes to `out` and reaches the daemon by `connect`.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, connect: Connect, settings: Settings, log: Log) -> Self {
        Self {
            editor: Arc::new(Editor::new(out)),
            connect,
            settings: Arc::new(settings),
            log,
            initialized: false,
            sessions: HashMap::new(),
            listings: None,
        }
    }

    /// Serves the editor until it sends no more. Its agents go on.
    pub fn serve(&mut self, mut input: impl Read) -> io::Result<()> {
        let mut decoder = FrameDecoder::with_limit(LONGEST_LINE);
        let mut chunk = vec![0; 64 * 1024];
        loop {
            while let Some(frame) = decoder.next_frame() {
                match frame {
                    Frame::Message(line) => self.receive(line),
                    Frame::TooLarge => self.editor.refuse(
                        None,
                        &Refusal::invalid_request(format!(
                            "a line may have {LONGEST_LINE} bytes: this one was not read"
                        )),
                    ),
                }
            }
            match input.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => decoder.feed(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        for (name, session) in &self.sessions {
            if session.runs.load(Ordering::Relaxed) {
                (self.log)(&format!(
                    "the editor has gone, the agent goes on: `mission slot attach {name}` shows \
                     it, and the editor finds it again when it loads the session {name}"
                ));
            }
        }
        Ok(())
    }

    fn receive(&mut self, line: &[u8]) {
        match Message::parse(line) {
            Err(refusal) => self.editor.refuse(None, &refusal),
            Ok(Message::Request { id, method, params }) => {
                if let Err(refusal) = self.request(&id, &method, &params) {
                    self.editor.refuse(Some(&id), &refusal);
                }
            }
            Ok(Message::Notification { method, params }) => self.notification(&method, &params),
            Ok(Message::Answer { id, result }) => {
                // An answer to nothing is nothing.
                if let Some((id, session)) = self.editor.asker(&id) {
                    let _ = self.hand_over(&session, Command::Answer(id, result));
                }
            }
        }
    }

    fn request(&mut self, id: &RequestId, method: &str, params: &Params) -> Result<(), Refusal> {
        if !self.initialized && method != "initialize" {
            return Err(Refusal::invalid_request("say `initialize` first"));
        }
        match method {
            "initialize" => self.initialize(id, params),
            "authenticate" => {
                self.editor.answer(id, &json!({}));
                Ok(())
            }
            "session/new" => self.new_session(id, params),
            "session/load" => self.load(id, params, Replay::History),
            "session/resume" => self.load(id, params, Replay::Nothing),
            "session/list" => self.list(id, params),
            "session/close" => {
                let session = params.read::<OfSession>()?.session_id;
                self.hand_over(&session, Command::Close(id.clone()))?;
                self.sessions.remove(&session);
                Ok(())
            }
            "session/set_mode" => {
                let SetMode {
                    session_id,
                    mode_id,
                } = params.read()?;
                self.hand_over(&session_id, Command::SetMode(id.clone(), mode_id))
            }
            "session/prompt" => {
                let Prompt { session_id, prompt } = params.read()?;
                self.hand_over(&session_id, Command::Prompt(id.clone(), prompt))
            }
            _ => Err(Refusal::unknown_method(method)),
        }
    }

    fn notification(&mut self, method: &str, params: &Params) {
        match method {
            "session/cancel" => {
                if let Ok(of) = params.read::<OfSession>() {
                    let _ = self.hand_over(&of.session_id, Command::Cancel);
                }
            }
            "$/cancel_request" => {
                if let Ok(cancel) = params.read::<CancelRequest>() {
                    for session in self.sessions.values() {
                        let id = cancel.request_id.clone();
                        let _ = session.commands.send(Command::CancelRequest(id));
                    }
                }
            }
            // Nobody waits for an answer to a notification.
            _ => {}
        }
    }

    fn initialize(&mut self, id: &RequestId, params: &Params) -> Result<(), Refusal> {
        self.editor.introduce(params.read::<Initialize>()?);
        self.initialized = true;
        self.editor.answer(id, &json!({
            "protocolVersion": VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": false, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": false, "sse": false },
                "sessionCapabilities": { "list": {}, "resume": {}, "close": {} },
            },
            "authMethods": [],
            "agentInfo": {
                "name": "missiond",
                "title": format!("missiond ({})", self.settings.engine),
                "version": env!("CARGO_PKG_VERSION"),
            },
        }));
        Ok(())
    }

    fn new_session(&mut self, id: &RequestId, params: &Params) -> Result<(), Refusal> {
        let wanted = params.read::<NewSession>()?;
        if !wanted.additional_directories.is_empty() {
            return Err(Refusal::invalid_params(
                "an agent works in one folder: leave out `additionalDirectories`",
            ));
        }
        let cwd = AbsolutePath::new(wanted.cwd)
            .map_err(|error| Refusal::invalid_params(format!("`cwd`: {error}")))?;
        if !Path::new(cwd.as_str()).is_dir() {
            let message = format!("`cwd`: {} is no folder", cwd.as_str());
            return Err(Refusal::invalid_params(message));
        }
        let servers = wanted.mcp_servers.iter().filter_map(name_of).collect();
        let name = self.open(fresh_name(), |parts| Session::fresh(parts, cwd, servers))?;
        let modes = Modes::with(self.settings.permission);
        self.editor
            .answer(id, &json!({ "sessionId": name, "modes": modes }));
        Ok(())
    }

    fn load(&mut self, id: &RequestId, params: &Params, replay: Replay) -> Result<(), Refusal> {
        let name = params.read::<OfSession>()?.session_id;
        if !self.sessions.contains_key(&name) {
            self.open(name.clone(), Session::known)?;
        }
        self.hand_over(&name, Command::Load(id.clone(), replay))
    }

    /// A session with a thread of its own.
    fn open(
        &mut self,
        name: String,
        make: impl FnOnce(Parts) -> Session,
    ) -> Result<String, Refusal> {
        if self.sessions.len() >= MOST_SESSIONS {
            return Err(Refusal::invalid_request(format!(
                "{MOST_SESSIONS} sessions are open: close one"
            )));
        }
        let (commands, taken) = sync_channel(MOST_WAITING);
        let runs = Arc::new(AtomicBool::new(false));
        let session = make(Parts {
            name: name.clone(),
            editor: Arc::clone(&self.editor),
            daemon: Daemon::new(Arc::clone(&self.connect)),
            commands: taken,
            settings: Arc::clone(&self.settings),
            runs: Arc::clone(&runs),
        });
        spawned(&name, move || session.run())?;
        self.sessions
            .insert(name.clone(), OpenSession { commands, runs });
        Ok(name)
    }

    fn hand_over(&mut self, session: &str, command: Command) -> Result<(), Refusal> {
        let open = self.sessions.get(session);
        let handed = open.is_some_and(|open| open.commands.send(command).is_ok());
        if handed {
            return Ok(());
        }
        self.sessions.remove(session);
        let shown: String = session.chars().take(64).collect();
        let shown = shown.escape_debug();
        Err(Refusal::not_found(format!(
            "the session `{shown}` is not open: load it"
        )))
    }

    /// Sessions are listed beside the others, so that a daemon that is away keeps nobody
    /// from cancelling.
    fn list(&mut self, id: &RequestId, params: &Params) -> Result<(), Refusal> {
        let cwd = params.read::<ListSessions>()?.cwd;
        let listings = match &self.listings {
            Some(listings) => listings,
            None => {
                let (listings, taken) = sync_channel::<Listing>(MOST_WAITING);
                let editor = Arc::clone(&self.editor);
                let mut daemon = Daemon::new(Arc::clone(&self.connect));
                spawned("list", move || {
                    for listing in taken {
                        match sessions(&mut daemon, listing.cwd.as_deref()) {
                            Ok(listed) => editor.answer(&listing.id, &listed),
                            Err(refusal) => editor.refuse(Some(&listing.id), &refusal),
                        }
                    }
                })?;
                self.listings.insert(listings)
            }
        };
        let id = id.clone();
        let sent = listings.send(Listing { id, cwd });
        sent.map_err(|_| Refusal::internal("sessions cannot be listed any more"))
    }
}

fn spawned(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Refusal> {
    // The system cuts a name that is too long, and has none with a zero in it.
    let name: String = name.chars().filter(char::is_ascii_graphic).collect();
    let thread = std::thread::Builder::new().name(name).spawn(work);
    let failed = |error: io::Error| Refusal::internal(format!("no thread can be started: {error}"));
    thread.map(drop).map_err(failed)
}

/// A session is called as its slot will be: the end of an id is chance.
fn fresh_name() -> String {
    let id = SlotId::generate().to_string();
    let start = id.len().saturating_sub(10);
    format!("{PREFIX}{}", id.get(start..).unwrap_or(&id))
}

/// Only its name: it is said which servers are not passed on.
fn name_of(server: &Value) -> Option<String> {
    let name = server.get("name")?.as_str()?;
    Some(name.chars().take(64).collect())
}

fn sessions(daemon: &mut Daemon, cwd: Option<&str>) -> Result<Value, Refusal> {
    let page = daemon.call::<ExecutionList>(&ExecutionListParams {
        all: true,
        limit: Limit::of::<200>(),
    })?;
    let wanted = page
        .executions
        .iter()
        .filter(|one| cwd.is_none_or(|cwd| one.cwd == cwd));
    let sessions: Vec<Value> = wanted.map(listed).collect();
    Ok(json!({ "sessions": sessions }))
}

/// A session of an editor keeps the id it was given; other runs are known by theirs.
fn listed(run: &ExecutionSummary) -> Value {
    let own = run.slot_name.as_deref();
    let own = own.filter(|name| name.starts_with(PREFIX));
    let id = own.map_or_else(|| run.execution.to_string(), str::to_owned);
    json!({
        "sessionId": id,
        "cwd": run.cwd,
        "title": run.title,
        "updatedAt": run.ended_at.unwrap_or(run.started_at),
    })
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
