//! Running one command: a check, or a step of setting a worktree up.
//!
//! An argv, never a line for a shell. The command has nothing to read, a short
//! environment, a time limit and a process group; when it ends or must end,
//! everything it started ends too. Whatever happens is a result: also that the
//! program is missing.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use missiond_os::environment::{self, Child as Kind};
use missiond_os::programs::{find_program, is_executable};
use missiond_sandbox::{Place, Wall, refusal};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::Child;

use crate::process_tree::{MARK, MARK_FOLDER, Tree};
use crate::tail::Tail;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub argv: Vec<String>,
    /// Where it runs; a program with a slash in its name is found from here.
    pub folder: PathBuf,
    /// Beside the short list that every command is given.
    pub env: BTreeMap<String, String>,
    pub timeout: Duration,
    pub expected_exit: i32,
    /// How many bytes of the end of its output are kept.
    pub tail_limit: usize,
    pub leftovers: Leftovers,
    /// Behind which wall it runs; none for no wall.
    pub sandbox: Option<Place>,
}

impl Command {
    /// A command that must end with 0 within ten minutes, of whose output the
    /// last 8 KB are kept, and which leaves nothing running.
    #[must_use]
    pub fn new(argv: Vec<String>, folder: &Path) -> Self {
        Self {
            argv,
            folder: folder.to_owned(),
            env: BTreeMap::new(),
            timeout: Duration::from_secs(600),
            expected_exit: 0,
            tail_limit: 8 << 10,
            leftovers: Leftovers::End,
            sandbox: None,
        }
    }
}

/// What becomes of processes that a command leaves behind when it ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    End,
    /// For a setup that starts a server, which its teardown stops.
    Keep,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    Cancelled,
    /// The program is missing, is no program, the wall around it cannot be built, or the
    /// like.
    NotStarted(String),
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandResult {
    pub ending: Ending,
    pub expected_exit: i32,
    /// The end of what it wrote to its output and error output, as valid UTF-8.
    pub tail: String,
    /// How much it wrote in all.
    pub output_bytes: u64,
    pub millis: u64,
}

impl CommandResult {
    /// Of a command for which something was missing.
    #[must_use]
    pub fn not_started(command: &Command, why: String) -> Self {
        Self {
            ending: Ending::NotStarted(why),
            expected_exit: command.expected_exit,
            tail: String::new(),
            output_bytes: 0,
            millis: 0,
        }
    }

    #[must_use]
    pub fn passed(&self) -> bool {
        self.exit() == Some(self.expected_exit)
    }

    #[must_use]
    pub fn exit(&self) -> Option<i32> {
        match self.ending {
            Ending::Exited(code) => Some(code),
            _ => None,
        }
    }

    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        match self.ending {
            Ending::Signalled(signal) => Some(signal),
            _ => None,
        }
    }

    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.ending == Ending::TimedOut
    }
}

impl fmt::Display for CommandResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ending {
            Ending::Exited(code) if self.passed() => write!(f, "passed (exit code {code})"),
            Ending::Exited(code) => {
                write!(f, "exit code {code} instead of {}", self.expected_exit)
            }
            Ending::Signalled(signal) => write!(f, "ended by signal {signal}"),
            Ending::TimedOut => write!(f, "not done after {} s, ended", self.millis / 1000),
            Ending::Cancelled => write!(f, "cancelled"),
            Ending::NotStarted(reason) => write!(f, "not started: {reason}"),
        }
    }
}

/// Runs a command until it ends, its time is over or `cancel` is ready. A
/// dropped future kills what it started.
pub async fn run(command: &Command, cancel: impl Future<Output = ()> + Send) -> CommandResult {
    let began = Instant::now();
    let mut tail = Tail::new(command.tail_limit);
    let (ending, wall) = match start(command) {
        Ok(mut started) => {
            let wall = started.wall.take();
            (started.follow(command, cancel, &mut tail).await, wall)
        }
        Err(reason) => (Ending::NotStarted(reason), None),
    };
    let (output_bytes, tail) = (tail.total(), tail.text());
    let refused = wall.and_then(|wall| refusal(&wall, &tail).map(str::to_owned));
    CommandResult {
        ending: refused.map_or(ending, Ending::NotStarted),
        expected_exit: command.expected_exit,
        output_bytes,
        tail,
        millis: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

struct RunningCommand {
    child: Child,
    output: pipe::Receiver,
    tree: KilledOnDrop,
    wall: Option<Wall>,
}

/// Kills the tree unless it was seen to its end.
struct KilledOnDrop(Option<Tree>);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        if let Some(tree) = &self.0 {
            tree.kill_now();
        }
    }
}

impl RunningCommand {
    async fn follow(
        mut self,
        command: &Command,
        cancel: impl Future<Output = ()> + Send,
        tail: &mut Tail,
    ) -> Ending {
        let ended = tokio::select! {
            status = wait_reading(&mut self.child, &mut self.output, tail) => Ok(status),
            () = tokio::time::sleep(command.timeout) => Err(Ending::TimedOut),
            () = cancel => Err(Ending::Cancelled),
        };
        if let Some(tree) = &self.tree.0 {
            match (&ended, command.leftovers) {
                (Ok(_), Leftovers::End) => tree.end_leftovers().await,
                (Ok(_), Leftovers::Keep) => {}
                // While it ends it may still write, and must not wait for us.
                (Err(_), _) => {
                    let end = tree.end(&mut self.child);
                    tokio::pin!(end);
                    tokio::select! {
                        () = &mut end => {}
                        () = drain_output(&mut self.output, tail) => end.await,
                    }
                }
            }
        }
        self.tree.0 = None;
        // Whoever wrote is gone: what is left is in the pipe already.
        let mut buffer = [0; 8192];
        while let Ok(read @ 1..) = self.output.try_read(&mut buffer) {
            tail.push(&buffer[..read]);
        }
        match ended {
            Ok(status) => ending_of(status),
            Err(ending) => ending,
        }
    }
}

fn ending_of(status: std::io::Result<ExitStatus>) -> Ending {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Exited(code),
            (None, Some(signal)) => Ending::Signalled(signal),
            (None, None) => Ending::NotStarted(format!("it ended with {status}")),
        },
        Err(error) => Ending::NotStarted(format!("its end could not be learned: {error}")),
    }
}

/// The exit of the command itself; descendants may hold its output open longer.
async fn wait_reading(
    child: &mut Child,
    output: &mut pipe::Receiver,
    tail: &mut Tail,
) -> std::io::Result<ExitStatus> {
    tokio::select! {
        status = child.wait() => status,
        () = drain_output(output, tail) => child.wait().await,
    }
}

/// Until nobody can write any more.
async fn drain_output(output: &mut pipe::Receiver, tail: &mut Tail) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = output.read(&mut buffer).await {
        tail.push(&buffer[..read]);
    }
}

fn start(command: &Command) -> Result<RunningCommand, String> {
    if !command.folder.is_dir() {
        return Err(format!(
            "the folder {} does not exist",
            command.folder.display()
        ));
    }
    if let Some(name) = environment::find_unusable(&command.env) {
        return Err(format!("`{}` cannot be a variable", name.escape_default()));
    }
    let mut environment = environment::inherited(Kind::Command, std::env::vars_os());
    for (name, value) in &command.env {
        environment.insert(name.into(), value.into());
    }
    let path = environment.get(OsStr::new("PATH"));
    let program = resolve_program(command, path.map_or(OsStr::new(""), |path| path))?;
    let mark = format!("{:032x}", rand::random::<u128>());
    environment.insert(MARK.into(), mark.as_str().into());
    if command.leftovers == Leftovers::End {
        environment.insert(MARK_FOLDER.into(), command.folder.clone().into());
    }
    let (reader, writer) = std::io::pipe().map_err(|error| format!("no pipe: {error}"))?;
    let errors = writer
        .try_clone()
        .map_err(|error| format!("no pipe: {error}"))?;
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))
        .map_err(|error| format!("no pipe: {error}"))?;
    let wall = wall(command, &program, &environment)?;
    let mut prepared = match &wall {
        Some(wall) => {
            let walled = wall
                .command(&program)
                .map_err(|error| format!("no sandbox: {error}"))?;
            let mut prepared = tokio::process::Command::new(walled.program);
            prepared.args(walled.arguments);
            environment.insert(walled.variable.0.into(), walled.variable.1.into());
            prepared
        }
        None => {
            let mut prepared = tokio::process::Command::new(&program);
            if let Some(name) = command.argv.first() {
                prepared.arg0(name);
            }
            prepared
        }
    };
    let child = prepared
        .args(&command.argv[1..])
        .env_clear()
        .envs(environment)
        .current_dir(&command.folder)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(errors)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{} cannot be run: {error}", program.display()))?;
    let tree = child.id().map(|pid| Tree::new(pid, &mark));
    Ok(RunningCommand {
        child,
        output,
        tree: KilledOnDrop(tree),
        wall,
    })
}

fn wall(
    command: &Command,
    program: &Path,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<Option<Wall>, String> {
    let Some(place) = &command.sandbox else {
        return Ok(None);
    };
    // What is no text names no home and no toolchain.
    let text = |text: &OsString| text.to_str().map(str::to_owned);
    let variables = environment
        .iter()
        .filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    let wall = place.wall(program, &variables.collect());
    wall.map_err(|error| format!("no sandbox: {error}"))
}

fn resolve_program(command: &Command, path: &OsStr) -> Result<PathBuf, String> {
    let name = match command.argv.first() {
        Some(name) if !name.is_empty() => name,
        _ => return Err("it names no program".to_owned()),
    };
    if !name.contains('/') {
        let found = find_program(name, path);
        return found.ok_or_else(|| format!("there is no program `{name}` in PATH"));
    }
    let program = command.folder.join(name);
    if is_executable(&program) {
        return Ok(program);
    }
    Err(match program.metadata() {
        Err(_) => format!("there is no program {}", program.display()),
        Ok(found) if found.is_dir() => format!("{} is a folder", program.display()),
        Ok(_) => format!("{} is not executable", program.display()),
    })
}
