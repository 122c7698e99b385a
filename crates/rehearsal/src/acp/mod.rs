//! The stage of the Agent Client Protocol, version 1: what agent CLIs say over standard
//! input and output to whoever drives them without a terminal.
//!
//! The side of the agent, with one session at a time. It offers to load and resume its
//! own sessions, to close one, and to let prompts wait; it asks for no files and no
//! terminals. A question in words ends the turn, and the next prompt is its answer.

mod history;
mod messages;
mod updates;
mod wire;

use std::io;
use std::path::PathBuf;

use crate::agent::{Agent, Break, ConnectError, Role, die_of};
use crate::mcp::McpConfig;
use crate::options::{Options, RehearsalError, SessionChoice};
use crate::records::Transcript;
use crate::session::{Session, SessionError, SessionId};

use self::messages::{INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, Refusal, WhichSession};
use self::wire::Wire;

pub(crate) async fn rehearse(mut options: Options) -> Result<u8, RehearsalError> {
    let file_servers = options.mcp_config.as_deref().map(McpConfig::load);
    let file_servers = file_servers.transpose()?;
    // The id somebody chose is that of the first new session.
    let mut chosen = match options.session {
        SessionChoice::New(id) => Some(id),
        SessionChoice::Resume(_) => None,
    };
    let mut signals = options.signals.take();
    let mut wire = Wire::open()?;
    tokio::time::sleep(options.script.startup.div_f64(options.speed.0)).await;
    loop {
        let (request, opening) = match wire.next_opening().await {
            Ok(asked) => asked,
            Err(end) => return over(end),
        };
        let is_load = opening.which.is_load();
        let opened = opening.which.open(&mut chosen, &options);
        let opened = opened.and_then(|session| {
            let path = options.transcript.clone().unwrap_or_else(|| {
                let file = format!("{}.jsonl", session.id());
                options.session_dir.join(file)
            });
            let history = if is_load {
                history::read(&path)?
            } else {
                Vec::new()
            };
            let cwd = opening.cwd.display().to_string();
            let transcript = Transcript::open(&path, session.id(), &cwd).map_err(|error| {
                Refusal::new(INTERNAL_ERROR, format!("{}: {error}", path.display()))
            })?;
            Ok((session, transcript, history))
        });
        let (session, transcript, history) = match opened {
            Ok(opened) => opened,
            Err(refusal) => {
                wire.refuse(&request, &refusal)?;
                continue;
            }
        };
        let id = session.id();
        let role = Role {
            script: options.script.clone(),
            session,
            transcript,
            cwd: opening.cwd,
            speed: options.speed.0,
            signals: signals.take(),
        };
        let mut agent = Agent::new(role, wire);
        let servers = with_file(file_servers.clone(), opening.servers);
        match agent.connect(servers).await {
            Ok(()) => {}
            Err(ConnectError::Server(error)) => {
                wire = agent.stage;
                wire.refuse(&request, &Refusal::new(INTERNAL_ERROR, error.to_string()))?;
                continue;
            }
            Err(ConnectError::Break(end)) => return over(end),
        }
        agent.stage.opened(&request, id, &history)?;
        match agent.live().await {
            Break::SessionCloses => wire = agent.stage,
            end => return over(end),
        }
    }
}

/// The servers of the file and those of the session, which come last and win.
fn with_file(file: Option<McpConfig>, session: McpConfig) -> McpConfig {
    let mut servers = file.map(|file| file.servers).unwrap_or_default();
    servers.extend(session.servers);
    McpConfig { servers }
}

fn over(end: Break) -> Result<u8, RehearsalError> {
    match end {
        Break::Exit(code) => Ok(code),
        Break::Crash(how) => die_of(how),
        // Whoever drove it is gone, and nobody is left to tell.
        Break::Failed(RehearsalError::Terminal(error))
            if error.kind() == io::ErrorKind::BrokenPipe =>
        {
            Ok(0)
        }
        Break::Failed(error) => Err(error),
        Break::Interrupted | Break::TurnEnds | Break::SessionCloses => Ok(0),
    }
}

impl WhichSession {
    fn is_load(&self) -> bool {
        matches!(self, Self::Load(_))
    }

    fn open(&self, chosen: &mut Option<SessionId>, options: &Options) -> Result<Session, Refusal> {
        let (folder, script): (&PathBuf, _) = (&options.session_dir, &options.script);
        let opened = match self {
            Self::New => {
                let id = chosen.take().unwrap_or_else(SessionId::fresh);
                Session::create(folder, id, script)
            }
            Self::Load(id) | Self::Resume(id) => {
                let id = id.parse::<SessionId>();
                let id = id.map_err(|error| Refusal::new(INVALID_PARAMS, error.to_string()))?;
                Session::resume(folder, id, script)
            }
        };
        opened.map_err(|error| {
            let code = match &error {
                SessionError::Unknown { .. } => NOT_FOUND,
                _ => INTERNAL_ERROR,
            };
            Refusal::new(code, error.to_string())
        })
    }
}
