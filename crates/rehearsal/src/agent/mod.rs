//! The agent itself: waits for a prompt and takes the turn that answers it, on
//! whatever stage it is seen.

mod calls;
mod command;
mod stage;
mod steps;

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal};

pub(crate) use self::stage::{Asked, Failed, FailureSort, Stage, ToolCall, ToolWork};
use crate::mcp::{McpConfig, McpError, Servers};
use crate::options::RehearsalError;
use crate::records::Transcript;
use crate::report::Reporter;
use crate::script::{Crash, Script, Template, Variables};
use crate::session::Session;
use crate::signal::SignalChannel;

/// The exit code of a program that a signal ended, less the signal's number.
pub(crate) const HANGUP_CODE: u8 = 128;

/// What an agent is made of, beside its stage.
pub(crate) struct Role {
    pub(crate) script: Script,
    pub(crate) session: Session,
    pub(crate) transcript: Transcript,
    pub(crate) cwd: PathBuf,
    pub(crate) speed: f64,
    pub(crate) signals: Option<Box<dyn SignalChannel>>,
}

pub(crate) struct Agent<S> {
    pub(crate) stage: S,
    script: Script,
    session: Session,
    transcript: Transcript,
    variables: Variables,
    cwd: PathBuf,
    speed: f64,
    servers: Servers,
    signals: Option<Box<dyn SignalChannel>>,
    /// How to report in its output, once it was told.
    reporter: Option<Reporter>,
    /// A call that was allowed and not made yet.
    asked: Option<ToolCall>,
}

/// Why something does not go on to its end.
#[derive(Debug)]
pub(crate) enum Break {
    /// By the person: the turn ends, the agent does not.
    Interrupted,
    /// By the script: nothing more is done about this prompt.
    TurnEnds,
    /// The person closed the session; another may be opened.
    SessionCloses,
    Exit(u8),
    Crash(Crash),
    Failed(RehearsalError),
}

impl From<std::io::Error> for Break {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl<S: Stage> Agent<S> {
    pub(crate) fn new(role: Role, stage: S) -> Self {
        Self {
            stage,
            variables: Variables {
                cwd: role.cwd.display().to_string(),
                session: role.session.id().to_string(),
                ..Variables::default()
            },
            script: role.script,
            session: role.session,
            transcript: role.transcript,
            cwd: role.cwd,
            speed: role.speed,
            servers: Servers::default(),
            signals: role.signals,
            reporter: None,
            asked: None,
        }
    }

    /// Lives until something ends it.
    pub(crate) async fn live(&mut self) -> Break {
        loop {
            let prompt = match self.stage.next_prompt().await {
                Ok(prompt) => prompt,
                Err(end) => return end,
            };
            match self.turn(prompt).await {
                Ok(()) | Err(Break::Interrupted | Break::TurnEnds) => {}
                Err(end) => return end,
            }
        }
    }

    /// Takes the time a start takes in its script.
    pub(crate) async fn start_up(&mut self) -> Result<(), Break> {
        self.pass(self.script.startup).await
    }

    pub(crate) async fn connect(&mut self, config: McpConfig) -> Result<(), ConnectError> {
        let connected = self.while_working(Servers::connect(config)).await;
        self.servers = connected.map_err(ConnectError::Break)??;
        Ok(())
    }

    async fn turn(&mut self, prompt: String) -> Result<(), Break> {
        self.transcript.prompt(&prompt)?;
        let prompt = match Reporter::instructed(&prompt) {
            Some((reporter, rest)) => {
                self.reporter = Some(reporter);
                rest.to_owned()
            }
            None => prompt,
        };
        let chosen = self.session.next_turn(&self.script, &prompt);
        self.session
            .save()
            .map_err(|error| Break::Failed(error.into()))?;
        self.variables.attempt = self.session.prompts();
        self.stage.begin_turn(&prompt)?;
        self.variables.prompt = prompt;
        let done = match chosen {
            Some(index) => {
                let steps = self.script.turns[index].steps.clone();
                self.steps(&steps).await
            }
            None => {
                let text = "The script has no turn for this prompt.";
                self.stage.notice(text.to_owned())?;
                Ok(())
            }
        };
        self.asked = None;
        if matches!(done, Err(Break::Interrupted)) {
            self.transcript.event("interrupted", "Interrupted")?;
        }
        let saved = self.session.save();
        saved.map_err(|error| Break::Failed(error.into()))?;
        self.stage.end_turn(&done)?;
        done
    }

    fn fill(&self, template: &Template) -> String {
        template.fill(&self.variables)
    }

    /// A time of the script, at the speed asked for.
    fn scaled(&self, time: Duration) -> Duration {
        time.div_f64(self.speed)
    }

    /// Lets time pass; the person can interrupt.
    async fn pass(&mut self, time: Duration) -> Result<(), Break> {
        let time = self.scaled(time);
        self.while_working(tokio::time::sleep(time)).await
    }

    /// Waits for something while the stage goes on.
    async fn while_working<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Break> {
        let mut work = std::pin::pin!(work);
        loop {
            self.stage.draw()?;
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                attended = self.stage.attend() => attended?,
            }
        }
    }
}

/// Why the servers of a session cannot be used.
#[derive(Debug)]
pub(crate) enum ConnectError {
    Server(McpError),
    /// Something else ended first.
    Break(Break),
}

impl From<McpError> for ConnectError {
    fn from(error: McpError) -> Self {
        Self::Server(error)
    }
}

/// Ends this process as a crash of its script asks.
pub(crate) fn die_of(how: Crash) -> Result<u8, RehearsalError> {
    // A crash on purpose leaves no core file.
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = rustix::process::setrlimit(Resource::Core, none);
    let signal = match how {
        Crash::Abort => Signal::ABORT,
        Crash::Kill => Signal::KILL,
        Crash::Segv => Signal::SEGV,
    };
    rustix::process::kill_process(rustix::process::getpid(), signal)
        .map_err(|error| RehearsalError::Terminal(error.into()))?;
    // A signal to oneself may arrive a moment later.
    loop {
        std::thread::park();
    }
}
