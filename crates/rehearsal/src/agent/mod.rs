//! The agent itself: waits for a prompt, takes the turn that answers it, draws.

mod command;
mod input;
mod steps;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal};
use tokio::sync::mpsc;

use crate::mcp::{McpConfig, Servers};
use crate::records::{Transcript, Truth};
use crate::report::Reporter;
use crate::script::{Crash, Script, Variables};
use crate::session::Session;
use crate::terminal::{Event, RawTerminal};
use crate::view::{Activity, Block, Busy, Outcome, Painter, Panel, View};
use crate::{Options, RehearsalError, SessionChoice, SignalChannel, terminal};

/// How often a turning sign turns.
const TICK: Duration = Duration::from_millis(100);
const HANGUP_CODE: u8 = 128;

pub(crate) async fn rehearse(options: Options) -> Result<u8, RehearsalError> {
    let session = match options.session {
        SessionChoice::New(id) => Session::create(&options.session_dir, id, &options.script)?,
        SessionChoice::Resume(id) => Session::resume(&options.session_dir, id, &options.script)?,
    };
    let mcp = options.mcp_config.as_deref().map(McpConfig::load);
    let mcp = mcp.transpose()?;
    let cwd = std::env::current_dir()?.display().to_string();
    let transcript = options
        .transcript
        .unwrap_or_else(|| options.session_dir.join(format!("{}.jsonl", session.id())));
    let record = |path: &PathBuf, source| RehearsalError::Record {
        path: path.clone(),
        source,
    };
    let truth = options.truth.as_ref().map(|path| {
        let truth = Truth::open(path);
        truth.map_err(|source| record(path, source))
    });
    let truth = truth.transpose()?;
    let transcript = Transcript::open(&transcript, session.id(), &cwd)
        .map_err(|source| record(&transcript, source))?;
    let resume = format!(
        "Resume with: mission rehearse {} --resume {}",
        options.script_argument,
        session.id()
    );
    let header = vec![
        "Rehearsal: no model is used".to_owned(),
        format!("script {} · {cwd}", options.script.name),
        format!("session {}", session.id()),
    ];

    let terminal = RawTerminal::enter().map_err(|error| match error.kind() {
        std::io::ErrorKind::Unsupported => RehearsalError::NoTerminal,
        _ => RehearsalError::Terminal(error),
    })?;
    let mut agent = Agent {
        view: View::new(&options.script.name, header),
        painter: Painter::new(),
        events: terminal::events()?,
        variables: Variables {
            cwd: cwd.clone(),
            session: session.id().to_string(),
            ..Variables::default()
        },
        cwd: PathBuf::from(cwd),
        script: options.script,
        session,
        transcript,
        truth,
        speed: options.speed.0,
        servers: Servers::default(),
        signals: options.signals,
        reporter: None,
    };
    let ended = agent.live(mcp, options.prompt).await;
    if let Some(truth) = &mut agent.truth {
        let _ = truth.ended();
    }
    match ended {
        Break::Exit(code) => {
            let _ = agent.painter.finish(&[resume]);
            drop(terminal);
            Ok(code)
        }
        Break::Crash(how) => {
            // Whoever sits at the terminal gets it back first.
            let _ = agent.painter.finish(&[]);
            drop(terminal);
            die_of(how)
        }
        Break::Failed(error) => {
            let _ = agent.painter.finish(&[]);
            drop(terminal);
            Err(error)
        }
        Break::Interrupted | Break::TurnEnds => Ok(0),
    }
}

fn die_of(how: Crash) -> Result<u8, RehearsalError> {
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

pub(crate) struct Agent {
    script: Script,
    session: Session,
    view: View,
    painter: Painter,
    events: mpsc::Receiver<Event>,
    transcript: Transcript,
    truth: Option<Truth>,
    variables: Variables,
    cwd: PathBuf,
    speed: f64,
    servers: Servers,
    signals: Option<Box<dyn SignalChannel>>,
    /// How to report in its output, once it was told.
    reporter: Option<Reporter>,
}

/// Why something does not go on to its end.
#[derive(Debug)]
enum Break {
    /// By the person: the turn ends, the agent does not.
    Interrupted,
    /// By the script: nothing more is done about this prompt.
    TurnEnds,
    Exit(u8),
    Crash(Crash),
    Failed(RehearsalError),
}

impl From<std::io::Error> for Break {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl Agent {
    /// Lives until something ends it.
    async fn live(&mut self, mcp: Option<McpConfig>, first: Option<String>) -> Break {
        if let Err(end) = self.start(mcp).await {
            return match end {
                Break::Interrupted | Break::TurnEnds => Break::Exit(0),
                end => end,
            };
        }
        self.view.queued.extend(first);
        loop {
            let prompt = match self.view.queued.pop_front() {
                Some(prompt) => prompt,
                None => match self.wait_for_prompt().await {
                    Ok(prompt) => prompt,
                    Err(end) => return end,
                },
            };
            match self.turn(prompt).await {
                Ok(()) | Err(Break::Interrupted | Break::TurnEnds) => {}
                Err(end) => return end,
            }
        }
    }

    async fn start(&mut self, mcp: Option<McpConfig>) -> Result<(), Break> {
        self.draw()?;
        self.pass(self.script.startup).await?;
        if let Some(config) = mcp {
            let connected = self.while_working(Servers::connect(config)).await?;
            self.servers = connected.map_err(|error| Break::Failed(error.into()))?;
        }
        self.view.panel = Panel::Prompt;
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
        self.view.failed = false;
        let chosen = self.session.next_turn(&self.script, &prompt);
        self.session
            .save()
            .map_err(|error| Break::Failed(error.into()))?;
        self.variables.attempt = self.session.prompts();
        self.variables.prompt.clone_from(&prompt);
        self.view.push(Block::Prompt(prompt));
        self.view.activity = Some(Busy {
            with: Activity::Thinking,
            since: Instant::now(),
        });
        let done = match chosen {
            Some(index) => {
                let steps = self.script.turns[index].steps.clone();
                self.steps(&steps).await
            }
            None => {
                let text = "The script has no turn for this prompt.";
                self.view.push(Block::Notice(text.to_owned()));
                Ok(())
            }
        };
        self.close_open_block();
        self.view.activity = None;
        self.view.panel = Panel::Prompt;
        if matches!(done, Err(Break::Interrupted)) {
            self.view.push(Block::Notice("Interrupted".to_owned()));
            self.transcript.event("interrupted", "Interrupted")?;
        }
        let saved = self.session.save();
        saved.map_err(|error| Break::Failed(error.into()))?;
        done
    }

    /// What was being said or done when the turn ended.
    fn close_open_block(&mut self) {
        if let Some((_, finished)) = self.view.unfinished_text() {
            *finished = true;
        }
        if let Some(tool) = self.view.tool() {
            tool.outcome = Some(Outcome::Failed("interrupted".to_owned()));
        }
    }

    fn become_busy(&mut self, with: Activity) {
        if let Some(busy) = &mut self.view.activity {
            busy.with = with;
        }
    }

    fn draw(&mut self) -> Result<(), Break> {
        self.painter.paint(&self.view, Instant::now())?;
        self.view.forget(self.painter.written());
        if let Some(truth) = &mut self.truth {
            truth.record(&self.view)?;
        }
        Ok(())
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

    /// Waits for something while the screen goes on and keys are taken.
    async fn while_working<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Break> {
        let mut work = std::pin::pin!(work);
        loop {
            self.draw()?;
            let event = tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                event = self.events.recv() => event,
                () = tokio::time::sleep(TICK) => continue,
            };
            self.while_busy(event)?;
        }
    }
}
