//! Who drives an agent, and the way from one to the other: a person who types into a
//! structured conversation is given the agent's own terminal, and when they have left
//! it the protocol goes on. It is the same conversation, by its id, in the same slot;
//! what each program may say to this daemon ends with it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use missiond_adapters::{
    Adapter, Conversation, Equipment, Launch, LaunchPlan, PermissionMode, PlannedFile,
    StartupDialog, StartupQuestion, adapter,
};
use missiond_api::AccessFile;
use missiond_core::{Controller, ExecutionId};
use missiond_journal::Transport;
use missiond_os::files;
use missiond_runtime::blocking;
use missiond_slots::{HandoffError, NextProgram, OpenSlot, SlotCommand};
use missiond_store::{capabilities, executions};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::run::Run;
use super::{access, start, transcript};
use crate::context::Context;
use crate::error::ExecutionError;

const FILE: &str = "launch.json";

/// Before a handoff that failed is tried again.
const AGAIN: Duration = Duration::from_secs(30);

/// What a launch was asked for, kept for the next program of the same run. Nothing
/// secret: the environment stays with the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LaunchChoices {
    /// Who drives the agent while no person types.
    pub(super) controller: Controller,
    /// Why it is that, for a person.
    #[serde(default)]
    pub(super) why: Option<String>,
    pub(super) args: Vec<String>,
    pub(super) model: Option<String>,
    pub(super) permission: PermissionMode,
    pub(super) trust_folder: bool,
}

impl LaunchChoices {
    /// None where nothing says how the agent was launched: an earlier version did.
    pub(super) async fn read(folder: &Path) -> Option<Self> {
        let text = tokio::fs::read_to_string(folder.join(FILE)).await.ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(super) fn planned(&self, folder: &Path) -> PlannedFile {
        PlannedFile {
            path: folder.join(FILE),
            contents: serde_json::to_string(self).unwrap_or_default(),
        }
    }

    /// What the agent's program may ask first and the person has answered by the launch.
    pub(super) fn answered_dialogs(&self, adapter: &dyn Adapter) -> Vec<StartupDialog> {
        let may = |dialog: &&StartupDialog| match dialog.question {
            StartupQuestion::TrustFolder => self.trust_folder,
            StartupQuestion::BypassPermissions => self.permission == PermissionMode::Bypass,
            StartupQuestion::KeyFromEnvironment => false,
        };
        let dialogs = adapter.startup_dialogs().iter().filter(may);
        dialogs.copied().collect()
    }
}

/// Who drives a run now, and whether that is to change.
#[derive(Debug)]
pub(super) struct Handoffs {
    /// None where nothing says how the agent was launched.
    choices: Option<LaunchChoices>,
    /// The program that is followed, by its number in the slot.
    pub(super) generation: u32,
    under_way: Option<UnderWay>,
    /// Since when another controller is wanted.
    wanted_since: Option<Instant>,
    not_before: Option<Instant>,
}

#[derive(Debug)]
struct UnderWay {
    to: Controller,
    outcome: oneshot::Receiver<Result<u32, HandoffError>>,
}

impl Handoffs {
    pub(super) async fn new(context: &Context, run: &Run, open: Option<&OpenSlot>) -> Self {
        Self {
            choices: LaunchChoices::read(&context.launch_folder(run.id)).await,
            generation: open.map_or(1, |open| open.record.generation),
            under_way: None,
            wanted_since: None,
            not_before: None,
        }
    }

    /// Whether there is anything to look after: most agents are driven in one way.
    fn may_change(&self) -> bool {
        let choices = self.choices.as_ref();
        choices.is_some_and(|choices| choices.controller == Controller::Structured)
    }

    /// Gives the conversation to whoever is to have it, and takes back what is no longer
    /// wanted.
    pub(super) async fn advance(&mut self, context: &Context, run: &Arc<Run>, open: &OpenSlot) {
        if !self.may_change() {
            return;
        }
        // What a person has quit they do not want back.
        let typist = open.typist.borrow().is_some() && !open.was_left;
        let wanted = if typist {
            Controller::Terminal
        } else {
            Controller::Structured
        };
        if let Some(under_way) = &mut self.under_way {
            match under_way.outcome.try_recv() {
                Ok(Ok(_)) | Err(oneshot::error::TryRecvError::Closed) => self.under_way = None,
                Ok(Err(error)) => {
                    tracing::warn!(execution = %run.id, %error, "conversation not handed over");
                    self.under_way = None;
                    self.not_before = Some(Instant::now() + AGAIN);
                }
                // Whoever drops it no longer wants it; once begun it is carried out.
                Err(oneshot::error::TryRecvError::Empty) if under_way.to != wanted => {
                    self.under_way = None;
                }
                Err(oneshot::error::TryRecvError::Empty) => return,
            }
        }
        if open.controller() == wanted {
            (self.wanted_since, self.not_before) = (None, None);
            return;
        }
        let since = *self.wanted_since.get_or_insert_with(Instant::now);
        let away = Duration::from_secs(context.config.borrow().engines.return_secs);
        let is_early = !typist && since.elapsed() < away;
        let is_put_off = self.not_before.is_some_and(|at| Instant::now() < at);
        if !open.was_left && (is_early || is_put_off) {
            return;
        }
        match self.begin(context, run, open, wanted).await {
            Ok(outcome) => {
                let to = wanted;
                self.under_way = Some(UnderWay { to, outcome });
            }
            Err(error) => {
                self.not_before = Some(Instant::now() + AGAIN);
                tracing::warn!(execution = %run.id, %error, "conversation not handed over");
                let why = format!("It stays with its protocol: {error}");
                let _ = open.commands.send(SlotCommand::Notice(why)).await;
            }
        }
    }

    async fn begin(
        &self,
        context: &Context,
        run: &Arc<Run>,
        open: &OpenSlot,
        to: Controller,
    ) -> Result<oneshot::Receiver<Result<u32, HandoffError>>, ExecutionError> {
        let Some(choices) = &self.choices else {
            return Err(ExecutionError::NotRunning { execution: run.id });
        };
        let generation = open.record.generation + 1;
        let plan = context.plan_next(run, choices, to, generation).await?;
        let (done, outcome) = oneshot::channel();
        let next = Box::new(NextProgram {
            argv: plan.argv,
            env: plan.environment,
            control: plan.control,
        });
        let order = SlotCommand::HandOff { next, done };
        // A slot that has just closed takes no order; its end is told elsewhere.
        let _ = open.commands.send(order).await;
        Ok(outcome)
    }

    /// Another program is followed from now on: what the one before was granted is taken
    /// back, and what this one may ask first is answered as its launch says.
    pub(super) async fn switch(
        &mut self,
        context: &Context,
        run: &Run,
        generation: u32,
    ) -> Result<(), ExecutionError> {
        self.generation = generation;
        self.wanted_since = None;
        context.fence_access(run.id, generation).await?;
        let folder = context.generation_folder(run.id, generation);
        let from = folder.join(start::PLACES);
        if let Ok(places) = tokio::fs::read(&from).await {
            let file = context.places_file(run.id);
            let kept = blocking(move || files::replace_private_unsynced(&file, &places)).await;
            kept.map_err(|error| ExecutionError::Invalid(error.to_string()))?;
        }
        if let Some(choices) = &self.choices {
            let dialogs = choices.answered_dialogs(&*adapter(&run.engine));
            run.startup.expect(dialogs);
            context.keep_startup(run.id, &run.startup).await;
        }
        Ok(())
    }
}

impl Context {
    /// The files of a later program of a run are in a folder of their own.
    fn generation_folder(&self, execution: ExecutionId, generation: u32) -> PathBuf {
        let folder = self.launch_folder(execution);
        match generation {
            0 | 1 => folder,
            later => folder.join(format!("program-{later}")),
        }
    }

    /// The same conversation by another program: planned, with its files written and
    /// leave to speak to this daemon.
    async fn plan_next(
        &self,
        run: &Run,
        choices: &LaunchChoices,
        to: Controller,
        generation: u32,
    ) -> Result<LaunchPlan, ExecutionError> {
        let id = run.id;
        let row = self.db.read(move |tx| Box::pin(executions::get(tx, id)));
        let Some(row) = row.await? else {
            return Err(ExecutionError::NotRunning { execution: id });
        };
        let (transport, owner) = run
            .journal()
            .peek(|state| (state.transport, state.owner.entity))?;
        let engines = self.config.borrow().engines.clone();
        let adapter = start::adapter_of(&run.engine, &engines);
        let places = self.places_file(id);
        let environment = read_places(&places).await?;
        let path = environment.get("PATH").map_or("", String::as_str);
        let args = choices.args.clone();
        let (program, extra) = start::program(&*adapter, to, args, path, &row.cwd)?;
        let folder = self.generation_folder(id, generation);
        let offered = start::offered(owner, &*adapter);
        let equipped = match transport {
            Transport::McpTool => Some(start::own_server(&access::file_in(&folder), &offered)?),
            Transport::Marker | Transport::None => None,
        };
        let known = row.conversation.clone();
        let (engine, cwd) = (run.engine.clone(), row.cwd.clone());
        let begun = blocking(move || {
            let id = known?;
            transcript::is_kept(&engine, &cwd, &id, &places).then_some(id)
        })
        .await;
        let launch = Launch {
            controller: to,
            program,
            cwd: row.cwd,
            environment,
            folder: folder.clone(),
            model: choices.model.clone(),
            permission: choices.permission,
            conversation: match begun {
                Some(id) => Conversation::Resume { id },
                // Nothing was said yet: there is nothing to go on with.
                None => Conversation::New {
                    id: id.uuid().to_string(),
                },
            },
            instructions: None,
            mcp: equipped.as_ref().map(|(server, _)| server.clone()),
            hooks: equipped.map(|(_, hooks)| hooks),
            trust_folder: choices.trust_folder,
            extra,
        };
        let mut plan = adapter.plan(&launch)?;
        plan.files.push(PlannedFile {
            path: folder.join(start::PLACES),
            contents: start::places(launch.environment, &plan.environment),
        });
        let (written, place) = (plan.clone(), folder.clone());
        blocking(move || {
            // What an earlier try left.
            Equipment::at(&place).remove()?;
            Equipment::write(&place, &written).map_err(io::Error::other)
        })
        .await
        .map_err(|error| ExecutionError::Invalid(error.to_string()))?;
        if transport == Transport::McpTool {
            access::grant(&self.db, &self.home, id, &folder, self.clock.now()).await?;
        }
        Ok(plan)
    }

    /// Only the program with this number may speak for the execution from now on.
    async fn fence_access(
        &self,
        execution: ExecutionId,
        generation: u32,
    ) -> Result<(), ExecutionError> {
        let file = access::file_in(&self.generation_folder(execution, generation));
        let Ok(granted) = blocking(move || AccessFile::read(&file)).await else {
            return Ok(());
        };
        let (kept, at) = (access::hash(&granted.token), self.clock.now());
        self.db
            .write(move |tx| {
                let kept = kept.clone();
                Box::pin(async move {
                    capabilities::revoke_others(tx, execution, &kept, at).await?;
                    Ok(())
                })
            })
            .await?;
        Ok(())
    }
}

pub(super) async fn read_places(file: &Path) -> Result<BTreeMap<String, String>, ExecutionError> {
    let text = tokio::fs::read_to_string(file).await;
    let read = text.and_then(|text| serde_json::from_str(&text).map_err(io::Error::from));
    read.map_err(|error| {
        ExecutionError::Invalid(format!("{} cannot be read: {error}", file.display()))
    })
}
