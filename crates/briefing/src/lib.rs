//! What an agent is told beside its first prompt.
//!
//! Asked when an execution is given its first prompt, this gathers what the
//! sources know, within a deadline, has it chosen and quoted by
//! `missiond-context`, and keeps a snapshot of all of it. The text stands behind
//! the prompt, in the same message: it is typed for the person as data, is in the
//! journal as everything that is typed, and never reaches a system prompt. A
//! source that is slow or broken costs its own part and says so.

mod environment;
mod error;
mod files;
mod gather;
mod history;
mod skills;
mod view;
mod working_directory;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_adapters::adapter;
use missiond_config::Config;
use missiond_context::{Request, assemble};
use missiond_core::{
    BoardTask, BoardTaskId, CliEngine, Clock, ContextItem, ContextOutcome, ContextSource, EntryId,
    ExecutionId, SlotId, Timestamp,
};
use missiond_executions::{Executions, MAX_PROMPT, Preamble, append_preamble};
use missiond_knowledge::utility::Use;
use missiond_memory::code::CodeMaps;
use missiond_memory::conversations::Conversations;
use missiond_memory::knowledge::{Knowledge, record_uses};
use missiond_slots::Slots;
use missiond_store::prompt_snapshots::{self, SnapshotRow};
use missiond_store::{MissionDb, StoreError, Tx};
use tokio::sync::watch;

pub use error::BriefingError;
pub use skills::{ListedSkill, RefusedSkill, SkillFile, SkillListing};

/// What the context of a prompt is gathered from.
#[derive(Debug, Clone)]
pub struct ContextPipeline {
    parts: Parts,
}

#[derive(Debug, Clone)]
pub struct Parts {
    pub db: MissionDb,
    pub clock: Arc<dyn Clock>,
    pub config: watch::Receiver<Arc<Config>>,
    pub knowledge: Knowledge,
    pub conversations: Conversations,
    pub code: Arc<CodeMaps>,
    pub slots: Arc<Slots>,
    pub executions: Arc<Executions>,
}

/// For whom a context is wanted.
#[derive(Debug, Clone)]
pub struct BriefingRequest {
    pub engine: CliEngine,
    pub cwd: PathBuf,
    /// What the agent is asked to do.
    pub prompt: String,
    pub task: Option<BoardTask>,
    /// The name of the slot, where it is known.
    pub slot: Option<String>,
    /// The conversation that goes on.
    pub conversation: Option<String>,
    /// The budget, when it is not that of the configuration.
    pub tokens: Option<u32>,
}

/// What an agent is told, and what it was chosen from.
#[derive(Debug, Clone, PartialEq)]
pub struct Briefing {
    pub engine: CliEngine,
    pub cwd: PathBuf,
    pub task: Option<BoardTaskId>,
    pub at: Timestamp,
    /// Tokens that may be used, and that are; estimated on the safe side.
    pub budget: u32,
    pub used: u32,
    /// Secrets that were taken out.
    pub masked: u32,
    /// Why nothing is given, whatever was found.
    pub withheld: Option<String>,
    /// Every candidate in the order of its source and relevance.
    pub items: Vec<ContextItem>,
    pub sources: Vec<ContextSource>,
    /// As it is typed behind the prompt; empty when nothing is given.
    pub text: String,
}

/// A briefing that nobody has been given yet.
#[derive(Debug, Clone)]
pub struct NewBriefing {
    pub briefing: Briefing,
    /// Older snapshots are forgotten when this one is kept.
    keep_since: Timestamp,
}

/// What an execution is told, as it is kept.
#[derive(Debug, Clone)]
struct Snapshot {
    row: SnapshotRow,
    /// Entries of the knowledge base that are told.
    entries: Vec<EntryId>,
    keep_since: Timestamp,
}

impl Snapshot {
    /// Keeps it, with the use that this is to its entries, and forgets those whose
    /// time is over.
    async fn keep(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        if prompt_snapshots::keep(tx, &self.row, self.keep_since).await? {
            record_uses(tx, &self.entries, Use::Told, self.row.at).await?;
        }
        Ok(())
    }
}

/// The entries of the knowledge base among the items of a snapshot that were told.
pub fn entries_told(items: &[ContextItem]) -> Vec<EntryId> {
    let told = items
        .iter()
        .filter(|item| !matches!(item.outcome, ContextOutcome::Cut { .. }));
    told.filter_map(|item| item.entry).collect()
}

/// As it is kept.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct KeptSources {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    withheld: Option<String>,
    sources: Vec<ContextSource>,
}

impl ContextPipeline {
    pub fn new(parts: Parts) -> Self {
        Self { parts }
    }

    fn config(&self) -> Arc<Config> {
        Arc::clone(&self.parts.config.borrow())
    }

    /// Whether agents are told anything at all.
    pub fn is_on(&self) -> bool {
        self.config().context.enabled
    }

    /// Makes the context of a prompt. Takes no longer than the deadline of the
    /// sources and the moment it takes to choose.
    pub async fn make(&self, wanted: BriefingRequest) -> NewBriefing {
        let config = self.config();
        let budget = wanted.tokens.unwrap_or(config.context.tokens);
        let now = self.parts.clock.now();
        let withheld = withheld(&wanted);
        let gathered = Box::pin(gather::gather(&self.parts, &config.context, &wanted)).await;
        let mut candidates = gathered.candidates;
        let mut masked = 0;
        for candidate in &mut candidates {
            masked += view::mask(candidate);
            view::screen(candidate);
        }
        if let Some(conversation) = &wanted.conversation {
            self.mark_already_told(conversation, &mut candidates).await;
        }
        let request = Request {
            budget: match withheld {
                Some(_) => 0,
                None => budget as usize,
            },
            now,
            least_relevance: config.context.relevance as f32 / 100.0,
        };
        let chosen = tokio::task::spawn_blocking(move || assemble(candidates, request)).await;
        let assembly = match chosen {
            Ok(assembly) => assembly,
            Err(error) => {
                tracing::error!(%error, "briefing failed");
                missiond_context::Assembly {
                    text: String::new(),
                    tokens: 0,
                    items: Vec::new(),
                }
            }
        };
        for source in &gathered.sources {
            if let (true, Some(notice)) = (view::is_trouble(source.state), &source.notice) {
                tracing::warn!(source = source.source, notice, "briefing source missing");
            }
        }
        let briefing = Briefing {
            engine: wanted.engine,
            cwd: wanted.cwd,
            task: wanted.task.map(|task| task.id),
            at: now,
            budget,
            used: view::count(assembly.tokens),
            masked,
            items: assembly
                .items
                .into_iter()
                .map(|item| view::item(item, withheld.as_deref()))
                .collect(),
            withheld,
            sources: gathered.sources,
            text: assembly.text,
        };
        let kept = Duration::from_secs(u64::from(config.context.keep_days) * 86_400);
        NewBriefing {
            briefing: briefing.within_a_message(&wanted.prompt),
            keep_since: now.minus(kept),
        }
    }

    /// What this conversation was told before need not be told again.
    async fn mark_already_told(
        &self,
        conversation: &str,
        candidates: &mut [missiond_context::Candidate],
    ) {
        const LOOKED_BACK: u32 = 5;
        let id = conversation.to_owned();
        let before = self
            .parts
            .db
            .read(move |tx| {
                Box::pin(
                    async move { prompt_snapshots::of_conversation(tx, &id, LOOKED_BACK).await },
                )
            })
            .await;
        let before = match before {
            Ok(before) => before,
            Err(error) => {
                tracing::warn!(%error, "earlier briefings of conversation not read");
                return;
            }
        };
        for candidate in candidates {
            let quoted = view::quoted(&candidate.text);
            let told = |row: &SnapshotRow| !quoted.is_empty() && row.context.contains(&quoted);
            if candidate.known.is_none() && before.iter().any(told) {
                candidate.known = Some("this conversation was told it before".to_owned());
            }
        }
    }

    /// The first prompt of an execution that runs already, with its context. Asked
    /// again for the same execution it is the same text.
    pub async fn first_prompt(
        &self,
        execution: ExecutionId,
        slot: SlotId,
        wanted: BriefingRequest,
    ) -> String {
        let prompt = wanted.prompt.clone();
        if !self.is_on() {
            return prompt;
        }
        let context = match self.kept(execution).await {
            Ok(Some(row)) => row.context,
            Ok(None) => {
                let snapshot = self.make(wanted).await.snapshot(execution, slot);
                let context = snapshot.row.context.clone();
                match self.keep(snapshot).await {
                    Ok(()) => context,
                    Err(error) => return without(&prompt, execution, &error),
                }
            }
            Err(error) => return without(&prompt, execution, &error),
        };
        append_preamble(prompt, &context)
    }

    async fn keep(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        self.parts
            .db
            .write(move |tx| Box::pin(async move { snapshot.keep(tx).await }))
            .await
    }

    async fn kept(&self, execution: ExecutionId) -> Result<Option<SnapshotRow>, StoreError> {
        self.parts
            .db
            .read(move |tx| Box::pin(prompt_snapshots::get(tx, execution)))
            .await
    }

    /// What an execution was told; nothing when no context was made for it.
    pub async fn show(&self, execution: ExecutionId) -> Result<Option<Briefing>, BriefingError> {
        let row = self.kept(execution).await?;
        row.map(view::of_row).transpose()
    }

    /// The skills that can be seen from a folder.
    pub async fn skills(&self, cwd: PathBuf) -> Result<SkillListing, BriefingError> {
        skills::list(cwd).await
    }
}

fn without(prompt: &str, execution: ExecutionId, error: &StoreError) -> String {
    // Better an agent that knows less than one that does not begin.
    tracing::warn!(%execution, %error, "briefing unavailable, starting without it");
    prompt.to_owned()
}

/// Why this agent is told nothing, if that does not depend on what there is.
fn withheld(wanted: &BriefingRequest) -> Option<String> {
    if !adapter(&wanted.engine).accepts_long_prompts() {
        return Some(format!(
            "there is no adapter for {}: a text of many lines may not reach it whole",
            wanted.engine
        ));
    }
    // Behind a command of the CLI it would be the command's argument.
    if wanted.prompt.trim_start().starts_with(['/', '!']) {
        return Some("the prompt is a command of the agent's CLI".to_owned());
    }
    None
}

impl Preamble for NewBriefing {
    fn text(&self) -> &str {
        &self.briefing.text
    }

    fn record<'a>(
        &'a self,
        tx: &'a mut Tx<'_>,
        execution: ExecutionId,
        slot: SlotId,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.snapshot(execution, slot).keep(tx).await })
    }
}

impl NewBriefing {
    /// The snapshot of an execution that is told this.
    fn snapshot(&self, execution: ExecutionId, slot: SlotId) -> Snapshot {
        Snapshot {
            row: self.briefing.row(execution, slot),
            entries: entries_told(&self.briefing.items),
            keep_since: self.keep_since,
        }
    }
}

impl Briefing {
    /// Nothing is given that would not fit into the message of this prompt.
    fn within_a_message(mut self, prompt: &str) -> Self {
        let length = prompt.chars().count() + self.text.chars().count() + 2;
        if !self.text.is_empty() && length > MAX_PROMPT {
            let why = format!("with it the prompt would be longer than {MAX_PROMPT} characters");
            for item in &mut self.items {
                view::withhold(item, &why);
            }
            (self.text, self.used, self.withheld) = (String::new(), 0, Some(why));
        }
        self
    }

    fn row(&self, execution: ExecutionId, slot: SlotId) -> SnapshotRow {
        let kept = KeptSources {
            withheld: self.withheld.clone(),
            sources: self.sources.clone(),
        };
        SnapshotRow {
            execution,
            slot,
            task: self.task,
            engine: self.engine.clone(),
            cwd: self.cwd.clone(),
            at: self.at,
            budget: self.budget,
            used: self.used,
            masked: self.masked,
            context: self.text.clone(),
            items: serde_json::json!(self.items).to_string(),
            sources: serde_json::json!(kept).to_string(),
        }
    }
}
