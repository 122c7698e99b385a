//! The stage of a terminal: what agent CLIs draw, and keys.

mod input;

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::agent::{Agent, Asked, Break, ConnectError, Failed, Role, Stage, ToolCall, die_of};
use crate::mcp::McpConfig;
use crate::options::{Options, RehearsalError, SessionChoice};
use crate::records::{Transcript, Truth};
use crate::script::{PlanEntry, Usage};
use crate::session::Session;
use crate::terminal::{self, Event, RawTerminal};
use crate::view::{
    Activity, Answer, Block, Busy, Outcome, Painter, Panel, Permission, ToolBlock, View,
};

/// How often a turning sign turns.
const TICK: Duration = Duration::from_millis(100);

pub(crate) async fn rehearse(options: Options) -> Result<u8, RehearsalError> {
    let session = match options.session {
        SessionChoice::New(id) => Session::create(&options.session_dir, id, &options.script)?,
        SessionChoice::Resume(id) => Session::resume(&options.session_dir, id, &options.script)?,
    };
    let mcp = options.mcp_config.as_deref().map(McpConfig::load);
    let mcp = mcp.transpose()?;
    let cwd = std::env::current_dir()?;
    let shown_cwd = cwd.display().to_string();
    let record = |path, source| RehearsalError::Record { path, source };
    let truth = options.truth.map(|path| {
        let truth = Truth::open(&path);
        truth.map_err(|source| record(path, source))
    });
    let truth = truth.transpose()?;
    let transcript = options
        .transcript
        .unwrap_or_else(|| options.session_dir.join(format!("{}.jsonl", session.id())));
    let transcript = Transcript::open(&transcript, session.id(), &shown_cwd)
        .map_err(|source| record(transcript, source))?;
    let resume = format!(
        "Resume with: mission rehearse {} --resume {}",
        options.script_argument,
        session.id()
    );
    let header = vec![
        "Rehearsal: no model is used".to_owned(),
        format!("script {} · {shown_cwd}", options.script.name),
        format!("session {}", session.id()),
    ];

    let terminal = RawTerminal::enter().map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => RehearsalError::NoTerminal,
        _ => RehearsalError::Terminal(error),
    })?;
    let screen = Screen {
        view: View::new(&options.script.name, header),
        painter: Painter::new(),
        events: terminal::events()?,
        truth,
        first: options.prompt,
    };
    let role = Role {
        script: options.script,
        session,
        transcript,
        cwd,
        speed: options.speed.0,
        signals: options.signals,
    };
    let mut agent = Agent::new(role, screen);
    let ended = match start(&mut agent, mcp).await {
        Ok(()) => agent.live().await,
        Err(Break::Interrupted | Break::TurnEnds) => Break::Exit(0),
        Err(end) => end,
    };
    let mut screen = agent.stage;
    if let Some(truth) = &mut screen.truth {
        let _ = truth.ended();
    }
    let farewell = match &ended {
        Break::Exit(_) => vec![resume],
        _ => Vec::new(),
    };
    // Whoever sits at the terminal gets it back first, also before a crash.
    let _ = screen.painter.finish(&farewell);
    drop(terminal);
    match ended {
        Break::Exit(code) => Ok(code),
        Break::Crash(how) => die_of(how),
        Break::Failed(error) => Err(error),
        Break::Interrupted | Break::TurnEnds | Break::SessionCloses => Ok(0),
    }
}

async fn start(agent: &mut Agent<Screen>, mcp: Option<McpConfig>) -> Result<(), Break> {
    agent.start_up().await?;
    if let Some(config) = mcp {
        agent.connect(config).await.map_err(|error| match error {
            ConnectError::Server(error) => Break::Failed(error.into()),
            ConnectError::Break(end) => end,
        })?;
    }
    agent.stage.view.panel = Panel::Prompt;
    Ok(())
}

pub(crate) struct Screen {
    view: View,
    painter: Painter,
    events: mpsc::Receiver<Event>,
    truth: Option<Truth>,
    /// A prompt to begin with.
    first: Option<String>,
}

impl Stage for Screen {
    const ANSWERS_ARE_PROMPTS: bool = false;

    async fn next_prompt(&mut self) -> Result<String, Break> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        match self.view.queued.pop_front() {
            Some(prompt) => Ok(prompt),
            None => self.wait_for_prompt().await,
        }
    }

    fn begin_turn(&mut self, prompt: &str) -> io::Result<()> {
        self.view.failed = false;
        self.view.push(Block::Prompt(prompt.to_owned()));
        self.view.activity = Some(Busy {
            with: Activity::Thinking,
            since: Instant::now(),
        });
        Ok(())
    }

    fn end_turn(&mut self, done: &Result<(), Break>) -> io::Result<()> {
        // What was being said or done when the turn ended.
        self.end_saying();
        if let Some(tool) = self.view.tool() {
            tool.outcome = Some(Outcome::Failed("interrupted".to_owned()));
        }
        self.view.activity = None;
        self.view.panel = Panel::Prompt;
        if matches!(done, Err(Break::Interrupted)) {
            self.view.push(Block::Notice("Interrupted".to_owned()));
        }
        Ok(())
    }

    fn think(&mut self) -> io::Result<()> {
        self.become_busy(Activity::Thinking)
    }

    fn become_busy(&mut self, with: Activity) -> io::Result<()> {
        if let Some(busy) = &mut self.view.activity {
            busy.with = with;
        }
        Ok(())
    }

    fn say(&mut self, piece: &str) -> io::Result<()> {
        match self.view.unfinished_text() {
            Some((shown, _)) => shown.push_str(piece),
            None => self.view.push(Block::Said {
                text: piece.to_owned(),
                finished: false,
            }),
        }
        Ok(())
    }

    fn end_saying(&mut self) {
        if let Some((_, finished)) = self.view.unfinished_text() {
            *finished = true;
        }
    }

    fn pour(&mut self, lines: Vec<String>) -> io::Result<()> {
        self.view.push(Block::Lines(lines));
        Ok(())
    }

    fn notice(&mut self, text: String) -> io::Result<()> {
        self.view.push(Block::Notice(text));
        Ok(())
    }

    fn plan(&mut self, entries: &[(String, PlanEntry)]) -> io::Result<()> {
        let line = |(text, entry): &(String, PlanEntry)| match entry {
            PlanEntry::Pending => format!("○ {text}"),
            PlanEntry::Running => format!("◐ {text}"),
            PlanEntry::Done => format!("● {text}"),
        };
        let lines: Vec<_> = entries.iter().map(line).collect();
        self.notice(format!("Plan\n{}", lines.join("\n")))
    }

    fn used(&mut self, _usage: Usage) -> io::Result<()> {
        Ok(())
    }

    fn fail(&mut self, failure: Failed) -> io::Result<()> {
        self.view.failed = true;
        self.view.push(Block::Failure(failure.text));
        Ok(())
    }

    fn begin_tool(&mut self, call: &ToolCall) -> io::Result<()> {
        self.view.push(Block::Tool(ToolBlock {
            name: call.name.clone(),
            args: call.shown.clone(),
            tail: VecDeque::new(),
            outcome: None,
        }));
        Ok(())
    }

    fn tool_line(&mut self, line: String, kept: usize) {
        if let Some(tool) = self.view.tool() {
            tool.tail.push_back(line);
            while tool.tail.len() > kept {
                tool.tail.pop_front();
            }
        }
    }

    fn end_tool(&mut self, _call: &ToolCall, outcome: Outcome, _output: &str) -> io::Result<()> {
        if let Some(tool) = self.view.tool() {
            tool.outcome = Some(outcome);
        }
        Ok(())
    }

    fn refuse_tool(&mut self, call: &ToolCall) -> io::Result<()> {
        self.notice(format!("Denied: {}", call.asked_as))
    }

    async fn ask_permission(&mut self, asked: &Asked<'_>) -> Result<Answer, Break> {
        let permission = Permission {
            tool: asked.call.asked_as.clone(),
            args: asked.args.clone(),
            question: asked.question.clone(),
            mark: 0,
        };
        self.ask_person(permission).await
    }

    async fn ask_in_words(&mut self, question: String) -> Result<String, Break> {
        self.ask_question(question).await
    }

    async fn hang(&mut self) -> Break {
        self.ignore_keys().await
    }

    fn draw(&mut self) -> io::Result<()> {
        self.painter.paint(&self.view, Instant::now())?;
        self.view.forget(self.painter.written());
        if let Some(truth) = &mut self.truth {
            truth.record(&self.view)?;
        }
        Ok(())
    }

    async fn attend(&mut self) -> Result<(), Break> {
        tokio::select! {
            biased;
            event = self.events.recv() => self.while_busy(event),
            () = tokio::time::sleep(TICK) => Ok(()),
        }
    }
}
