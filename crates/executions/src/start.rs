//! Starting an execution: what is wanted becomes a plan, a journal, files and a
//! slot, in this order. What fails ends the journal and removes the files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use missiond_adapters::{
    AcpAgent, Adapter, Conversation, ConversationId, DetectError, Drive, Equipment, HookCommand,
    Launch, LaunchPlan, McpServer, ModelAccess, PermissionMode, PlannedFile, ProgramSource,
    StartupDialog, adapter, find_program, known_engines, offer_for,
};
use missiond_api::EXECUTION_VARIABLE;
use missiond_config::EnginesConfig;
use missiond_context::own_words;
use missiond_core::{
    BoardTaskId, CliEngine, Controller, Event, ExecutionId, SlotId, SlotName, TraceContext,
    nearest_name,
};
use missiond_journal::catalogue::{
    MCP_SERVER_NAME, Meaning, MessageContent, Process, Prompt, SignalType,
};
use missiond_journal::marker::{self, MarkerKey};
use missiond_journal::record::Sender;
use missiond_journal::{
    Journal, JournalHeader, MessageKey, NewMessage, OwnerEntity, OwnerRef, Text, Transport,
};
use missiond_runtime::blocking;
use missiond_sandbox::{Place, Profile};
use missiond_semantic::Size;
use missiond_slots::{NewSlot, Share, program_environment};
use missiond_store::executions::{self, ExecutionRow};
use missiond_store::run_surfaces;

use super::follow::{self, Follow};
use super::handoff::LaunchChoices;
use super::run::Run;
use super::surface::Beginning;
use super::transcript::TranscriptCursor;
use super::{ExecutionLookup, Executions, access, facts, startup};
use crate::context::Context;
use crate::error::ExecutionError;
use crate::preamble::{Preamble, append_preamble};

/// What an agent is told about markers, until it has been told.
const INSTRUCTIONS: &str = "instructions.txt";

/// Where the agent's program looks for things, to find its transcript later.
pub(super) const PLACES: &str = "places.json";

/// What an execution and its slot are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    Fresh,
    /// Chosen and stored before the start, so that whoever comes after a crash
    /// can tell what was begun. What exists under this id is not started again.
    Given {
        execution: ExecutionId,
        slot: SlotId,
    },
}

/// Whom an execution works for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The repository it runs in, or else the system.
    Folder,
    Task(BoardTaskId),
}

/// An execution as it is asked for.
#[derive(Debug)]
pub struct NewExecution {
    pub identity: Identity,
    pub owner: Owner,
    pub engine: CliEngine,
    /// For the agent's program; for an engine without an adapter, the program
    /// itself and its arguments.
    pub args: Vec<String>,
    pub prompt: Option<String>,
    /// Who wants it, and whose its prompt is.
    pub from: Sender,
    /// The slot of the agent that wants it, or of the first of those that started each other.
    pub agent: Option<SlotId>,
    /// What stands behind the prompt.
    pub preamble: Option<Arc<dyn Preamble>>,
    pub cwd: PathBuf,
    pub model: Option<String>,
    pub permission: PermissionMode,
    /// The name of the slot.
    pub name: Option<SlotName>,
    pub env: BTreeMap<String, String>,
    pub resume: Option<String>,
    /// Who drives the agent; as the configuration says when left out.
    pub controller: Option<Controller>,
    /// What the engine does best when left out.
    pub signals: Option<Transport>,
    /// The person says that this folder may be worked in.
    pub trust_folder: bool,
    /// How thick the wall around it is.
    pub sandbox: Profile,
    pub size: Size,
}

/// Everything that is decided before anything is done.
struct Prepared {
    id: ExecutionId,
    slot: SlotId,
    cwd: PathBuf,
    folder: PathBuf,
    plan: LaunchPlan,
    header: JournalHeader,
    prompt: Option<NewMessage>,
    preamble: Option<Arc<dyn Preamble>>,
    env: BTreeMap<String, String>,
    name: Option<SlotName>,
    size: Size,
    share: Share,
    sandbox: Option<Place>,
    dialogs: Vec<StartupDialog>,
    /// Where the transcript is read from, when it is not its beginning.
    transcript: Option<String>,
    beginning: Beginning,
}

impl Executions {
    /// Starts an agent; returns when its program runs. One that was started
    /// under the given id before is returned as it is.
    pub async fn start(
        &self,
        new: NewExecution,
        trace: TraceContext,
    ) -> Result<Arc<Run>, ExecutionError> {
        if let Identity::Given { execution, .. } = new.identity {
            match self.lookup(execution).await? {
                ExecutionLookup::Never => {}
                ExecutionLookup::Running(run) => return Ok(run),
                ExecutionLookup::Ended => return Err(ExecutionError::NotRunning { execution }),
            }
        }
        let engines = self.context.config.borrow().engines.clone();
        let new = self.context.with_model_access(new, &engines).await?;
        let prepared = self.context.prepare(new, &engines)?;
        let header = prepared
            .header
            .clone()
            .with_audit(self.context.audited_at());
        let dialogs = prepared.dialogs.clone();
        let (journals, policy) = (
            Arc::clone(&self.context.journals),
            Arc::clone(&self.context.policy),
        );
        let at = self.context.clock.now();
        let created = blocking(move || Journal::create(journals, policy, at, header));
        let journal = created.await?;
        let (run, notices) = Run::new(
            prepared.slot,
            journal,
            self.context.timeline.clone(),
            Arc::clone(&self.context.clock),
            self.context.supervisor.clone(),
            self.context.audit.clone(),
        )?;
        let run = Arc::new(run);
        // Before the program runs: nothing it does may be missed.
        self.context.runs().insert(run.id, Arc::clone(&run));
        self.context.audited.began(run.id);
        match self.context.launch(&run, prepared, trace).await {
            Ok(row) => {
                let context = Arc::clone(&self.context);
                let follow = Follow::new(context, Arc::clone(&run), &row, dialogs).await?;
                self.spawn(run.id, follow.until_closed(notices));
                Ok(run)
            }
            Err(error) => {
                self.context.give_up(&run, &error).await;
                Err(error)
            }
        }
    }
}

impl Context {
    /// Where the configuration wants it: the agent is to reach its model through this
    /// daemon, with a token of its own instead of a key.
    async fn with_model_access(
        &self,
        mut new: NewExecution,
        engines: &EnginesConfig,
    ) -> Result<NewExecution, ExecutionError> {
        if !self.config.borrow().llm.is_for(&new.engine) {
            return Ok(new);
        }
        let execution = match new.identity {
            Identity::Given { execution, .. } => execution,
            Identity::Fresh => {
                let (execution, slot) = (ExecutionId::generate(), SlotId::generate());
                new.identity = Identity::Given { execution, slot };
                execution
            }
        };
        let granted = self.llm.grant(execution).await;
        let granted = granted.map_err(|error| ExecutionError::Invalid(error.to_string()))?;
        let access = ModelAccess {
            base_url: granted.base_url,
            token: granted.token,
        };
        let Some(way) = adapter_of(&new.engine, engines).model_way(&access) else {
            return Err(ExecutionError::Invalid(format!(
                "{} cannot be told to reach its model through the daemon: take it out of \
                 `llm.engines`",
                new.engine
            )));
        };
        new.args.extend(way.args);
        new.env.extend(way.environment);
        Ok(new)
    }

    fn prepare(
        &self,
        new: NewExecution,
        engines: &EnginesConfig,
    ) -> Result<Prepared, ExecutionError> {
        let (id, slot) = match new.identity {
            Identity::Fresh => (ExecutionId::generate(), SlotId::generate()),
            Identity::Given { execution, slot } => (execution, slot),
        };
        if !new.cwd.is_dir() {
            let message = format!("{} is not a folder", new.cwd.display());
            return Err(ExecutionError::Invalid(message));
        }
        let behind = new.preamble.as_ref().map_or("", |preamble| preamble.text());
        let share = match (new.agent, &new.from) {
            (Some(agent), _) => Share::Agent(agent),
            (None, Sender::Operator) => Share::Person,
            (None, _) => Share::Others,
        };
        let prompt = new.prompt.map(|prompt| append_preamble(prompt, behind));
        let prompt = prompt.map(|prompt| first_prompt(prompt, new.from));
        let prompt = prompt.transpose()?;
        let mut env = new.env;
        // A message this agent sends to another is known to be an agent's.
        env.insert(EXECUTION_VARIABLE.to_owned(), id.to_string());
        // An agent that calls `mission` speaks to the daemon that runs it.
        if let Ok(home) = std::env::var("MISSION_HOME") {
            env.entry("MISSION_HOME".to_owned()).or_insert(home);
        }
        let environment = program_environment(&env);
        let adapter = adapter_of(&new.engine, engines);
        let path = environment.get("PATH").map_or("", String::as_str);
        let drive = match new.controller {
            Some(by) => chosen(by, new.owner),
            None => {
                let configured = engines.controller(&new.engine);
                usual_drive(&*adapter, configured, new.signals, &new.args, path)
            }
        };
        let controller = drive.by;
        let choices = LaunchChoices {
            controller,
            why: Some(drive.why),
            args: new.args.clone(),
            model: new.model.clone(),
            permission: new.permission,
            trust_folder: new.trust_folder,
        };
        let (program, extra) = program(&*adapter, controller, new.args, path, &new.cwd)?;
        let folder = self.launch_folder(id);
        let signals = new.signals.unwrap_or(match adapter.source() {
            ProgramSource::Installed | ProgramSource::OwnBinary if adapter.takes_mcp_servers() => {
                Transport::McpTool
            }
            _ => Transport::Marker,
        });
        let owner = owner(new.owner, &new.cwd);
        let offered = offered(owner.entity, &*adapter);
        let equipped = match signals {
            Transport::McpTool => Some(own_server(&access::file_in(&folder), &offered)?),
            Transport::Marker | Transport::None => None,
        };
        let launch = Launch {
            controller,
            program,
            cwd: new.cwd.clone(),
            environment: environment.clone(),
            folder: folder.clone(),
            model: new.model,
            permission: new.permission,
            conversation: match new.resume {
                Some(id) => Conversation::Resume { id },
                None => Conversation::New {
                    id: id.uuid().to_string(),
                },
            },
            instructions: None,
            mcp: equipped.as_ref().map(|(server, _)| server.clone()),
            hooks: equipped.map(|(_, hooks)| hooks),
            trust_folder: new.trust_folder,
            extra,
        };
        let mut plan = adapter.plan(&launch)?;
        let beginning = Beginning {
            cwd: new.cwd.clone(),
            own: launch.environment.get("HOME").map(PathBuf::from),
            // Our own binary is the person's to upgrade while agents run.
            program: match adapter.source() {
                ProgramSource::OwnBinary => None,
                _ => plan.argv.first().cloned(),
            },
            resumed: match &launch.conversation {
                Conversation::Resume { id } => Some(id.clone()),
                Conversation::New { .. } => None,
            },
        };
        let transcript = match &launch.conversation {
            Conversation::Resume { id } => {
                TranscriptCursor::behind(&new.engine, &new.cwd, id, &launch.environment)
            }
            Conversation::New { .. } => None,
        };
        plan.files.push(PlannedFile {
            path: folder.join(PLACES),
            contents: places(launch.environment, &plan.environment),
        });
        let cwd = new.cwd.to_str().and_then(|cwd| Text::new(cwd).ok());
        let cwd = cwd.ok_or_else(|| {
            ExecutionError::Invalid(format!("{} is not a path in text", new.cwd.display()))
        })?;
        let mut header = JournalHeader::new(id, owner, new.engine.clone(), signals, cwd)
            .with_signals(offered.clone());
        if signals == Transport::Marker {
            let key = MarkerKey::generate().map_err(|e| ExecutionError::Random(e.to_string()))?;
            header = header.with_marker_key(key.hash(id));
            // Typed before the first prompt, because arguments are for all to see.
            plan.files.push(PlannedFile {
                path: folder.join(INSTRUCTIONS),
                contents: own_words(&marker::instructions(id, &key, &offered)),
            });
        }
        let dialogs = choices.answered_dialogs(&*adapter);
        plan.files.push(startup::planned(&folder, &dialogs));
        plan.files.push(choices.planned(&folder));
        let folders = (new.cwd.as_path(), folder.as_path());
        let sandbox = self.place(new.sandbox, (id, &new.engine), folders, &environment)?;
        Ok(Prepared {
            sandbox,
            dialogs,
            beginning,
            transcript: transcript.and_then(|place| place.written()),
            id,
            slot,
            folder,
            plan,
            header,
            prompt,
            preamble: new.preamble,
            env,
            name: new.name,
            size: new.size,
            share,
            cwd: new.cwd,
        })
    }

    async fn launch(
        self: &Arc<Self>,
        run: &Arc<Run>,
        prepared: Prepared,
        trace: TraceContext,
    ) -> Result<ExecutionRow, ExecutionError> {
        let conversation = match &prepared.plan.conversation {
            ConversationId::Given(id) => Some(id.clone()),
            ConversationId::ToldLater => None,
        };
        let row = ExecutionRow {
            id: prepared.id,
            slot: prepared.slot,
            engine: run.engine.clone(),
            cwd: prepared.cwd.clone(),
            conversation,
            transcript: prepared.transcript,
            started_at: self.clock.now(),
            ended_at: None,
            ended_as: None,
        };
        let stored = row.clone();
        let surface = self.first_surface(prepared.beginning).await?;
        let (told, execution, slot) = (prepared.preamble, run.id, run.slot);
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    executions::begin(tx, &stored).await?;
                    run_surfaces::keep(tx, execution, &surface).await?;
                    match &told {
                        Some(told) => told.record(tx, execution, slot).await,
                        None => Ok(()),
                    }
                })
            })
            .await?;
        let started = Event::ExecutionStarted {
            execution: run.id,
            slot: run.slot,
            engine: run.engine.clone(),
            cwd: prepared.cwd.display().to_string(),
        };
        // The attempt, where there is one, stands between the task and its run.
        let begun = if trace.trace_id == run.trace().trace_id {
            trace.began(run.id)
        } else {
            run.trace()
        };
        self.timeline.record(started, begun).await?;
        let (folder, plan) = (prepared.folder, prepared.plan);
        let (argv, additions) = (plan.argv.clone(), plan.environment.clone());
        let plan_control = plan.control.clone();
        let launch_folder = folder.clone();
        blocking(move || Equipment::write(&launch_folder, &plan)).await?;
        if prepared.header.transport == Transport::McpTool {
            let now = self.clock.now();
            access::grant(&self.db, &self.home, run.id, &folder, now).await?;
        }
        if let Some(prompt) = prepared.prompt {
            run.accept(prompt).await?;
        }
        let new = NewSlot {
            share: prepared.share,
            id: prepared.slot,
            argv,
            engine: Some(run.engine.clone()),
            name: prepared.name,
            cwd: Some(prepared.cwd),
            env: prepared.env.into_iter().chain(additions).collect(),
            size: prepared.size,
            control: plan_control,
            sandbox: prepared.sandbox,
        };
        let open = self.slots.spawn(new, begun.child()).await?;
        let pid = open.record.program_pid;
        run.observe(facts::of_process(Process::Started { pid }))
            .await?;
        if let Some(conversation) = &row.conversation {
            let known = facts::of_conversation(conversation, None);
            run.observe(known).await?;
        }
        Ok(row)
    }

    /// The start failed: the journal says why and ends.
    async fn give_up(&self, run: &Arc<Run>, error: &ExecutionError) {
        tracing::warn!(execution = %run.id, %error, "execution start failed");
        let code = None;
        let ended = facts::of_process(Process::Exited { code, signal: None });
        for seen in [facts::of_failure(&error.to_string()), ended] {
            if let Err(error) = run.observe(seen).await {
                tracing::error!(execution = %run.id, %error, "end of execution not recorded in journal");
            }
        }
        follow::close(self, run).await;
    }

    pub(super) fn launch_folder(&self, execution: ExecutionId) -> PathBuf {
        let launches = self.home.run_dir().join("launches");
        launches.join(execution.to_string())
    }

    /// The file that says where the agent's program looks for things.
    pub(super) fn places_file(&self, execution: ExecutionId) -> PathBuf {
        self.launch_folder(execution).join(PLACES)
    }

    /// The file that holds what comes before the first prompt.
    pub(super) fn instructions_file(&self, execution: ExecutionId) -> PathBuf {
        self.launch_folder(execution).join(INSTRUCTIONS)
    }
}

/// What the agent may say: what its owner takes, but for what its CLI puts on
/// record by itself.
pub(super) fn offered(owner: OwnerEntity, adapter: &dyn Adapter) -> Vec<SignalType> {
    let mut offered = owner.signals();
    if adapter.transcript_has_messages() {
        offered.retain(|signal| signal.descriptor().traits != Meaning::Conversation);
    }
    offered
}

/// This binary as the execution's MCP server and as the command of its hooks.
/// The capability is in the file; its path is no secret.
pub(super) fn own_server(
    access: &Path,
    offered: &[SignalType],
) -> Result<(McpServer, HookCommand), ExecutionError> {
    let command = missiond_os::programs::own_program()
        .map_err(|error| ExecutionError::Invalid(error.to_string()))?;
    let access = access.to_str().map(str::to_owned).ok_or_else(|| {
        ExecutionError::Invalid(format!("{} is not a path in text", access.display()))
    })?;
    let server = McpServer {
        name: MCP_SERVER_NAME.to_owned(),
        command: command.clone(),
        args: vec!["execution".to_owned(), "mcp".to_owned(), access.clone()],
        tools: offered
            .iter()
            .map(|signal| signal.name().to_owned())
            .collect(),
    };
    let hooks = HookCommand {
        command,
        args: vec!["hook".to_owned(), access],
    };
    Ok((server, hooks))
}

/// The adapter of an engine, which may be one of the configuration.
#[must_use]
pub fn adapter_of(engine: &CliEngine, engines: &EnginesConfig) -> Box<dyn Adapter> {
    match engines.added(engine) {
        Some(added) => Box::new(AcpAgent {
            engine: engine.clone(),
            command: added.command.clone(),
            args: added.args.clone(),
            env: added.env.clone(),
        }),
        None => adapter(engine),
    }
}

/// As whoever started it said.
fn chosen(by: Controller, owner: Owner) -> Drive {
    let why = match owner {
        Owner::Task(_) => "its task says so",
        Owner::Folder => "chosen when it was started",
    };
    Drive {
        by,
        why: why.to_owned(),
    }
}

/// Who drives an agent whose run does not say it: as the configuration does, or as is
/// proven. What only a terminal can do is not taken from somebody who asked for it.
fn usual_drive(
    adapter: &dyn Adapter,
    configured: Option<Controller>,
    signals: Option<Transport>,
    args: &[String],
    path: &str,
) -> Drive {
    let usual = Drive::of(adapter, configured, path);
    if configured.is_some() || usual.by == Controller::Terminal {
        return usual;
    }
    let offer = adapter.structured();
    // A program beside the CLI does not know the options of the CLI.
    let is_beside = offer.is_some_and(|offer| offer.program != adapter.program());
    let why = if signals == Some(Transport::Marker) {
        "it reports by markers, which stand in a terminal"
    } else if is_beside && !args.is_empty() {
        "it was given arguments, which its terminal alone takes"
    } else {
        return usual;
    };
    Drive {
        by: Controller::Terminal,
        why: why.to_owned(),
    }
}

/// The program and what of the arguments is left for it.
pub(super) fn program(
    adapter: &dyn Adapter,
    controller: Controller,
    mut args: Vec<String>,
    path: &str,
    cwd: &Path,
) -> Result<(PathBuf, Vec<String>), ExecutionError> {
    let structured = offer_for(adapter, Some(controller))?;
    let name = match adapter.source() {
        ProgramSource::OwnBinary => {
            let own = missiond_os::programs::own_program();
            let own = own.map_err(|error| ExecutionError::Invalid(error.to_string()))?;
            return Ok((own, args));
        }
        ProgramSource::Installed => structured
            .map_or(adapter.program(), |offer| offer.program)
            .to_owned(),
        ProgramSource::FirstArgument => {
            if args.is_empty() {
                return Err(ExecutionError::Invalid(unknown_engine(&adapter.engine())));
            }
            args.remove(0)
        }
    };
    // A path is meant from where the program is to run.
    let wanted = if name.contains('/') {
        cwd.join(&name).display().to_string()
    } else {
        name.clone()
    };
    let found = find_program(&wanted, path).ok_or_else(|| DetectError::Missing {
        engine: adapter.engine(),
        program: name,
    })?;
    Ok((found, args))
}

/// An engine nobody knows and no program to run it with: most often a name that was
/// mistyped.
fn unknown_engine(engine: &CliEngine) -> String {
    let known = known_engines();
    let names = known.iter().map(CliEngine::name).chain(["rehearsal"]);
    let meant = match nearest_name(engine.name(), names) {
        Some(nearest) => format!("did you mean `{nearest}`? Otherwise say"),
        None => "say".to_owned(),
    };
    format!("there is no adapter for {engine}: {meant} which program to run, after `--`")
}

/// The variables that hold a path. A secret is none and stays out.
pub(super) fn places(
    mut environment: BTreeMap<String, String>,
    added: &BTreeMap<String, String>,
) -> String {
    environment.extend(added.clone());
    environment.retain(|_, value| value.starts_with('/'));
    serde_json::json!(environment).to_string()
}

/// A run for a task belongs to it, another one to the repository it is in.
fn owner(owner: Owner, cwd: &Path) -> OwnerRef {
    if let Owner::Task(task) = owner {
        return OwnerRef {
            entity: OwnerEntity::Task,
            id: Text::new(task.to_string()).expect("an id is short"),
        };
    }
    let root = cwd.ancestors().find(|place| place.join(".git").exists());
    let root = root
        .and_then(Path::to_str)
        .and_then(|root| Text::new(root).ok());
    match root {
        Some(id) => OwnerRef {
            entity: OwnerEntity::Repository,
            id,
        },
        None => OwnerRef {
            entity: OwnerEntity::System,
            id: Text::new("mission").expect("it is short"),
        },
    }
}

fn first_prompt(text: String, from: Sender) -> Result<NewMessage, ExecutionError> {
    let text = Text::new(text)
        .map_err(|error| ExecutionError::Invalid(format!("the prompt is not possible: {error}")))?;
    Ok(NewMessage {
        key: MessageKey::new("prompt:first").expect("it is short"),
        from,
        content: MessageContent::Prompt(Prompt::new(text)),
    })
}
