//! The workers there are, each in a file of its own.

mod code_reader;
mod code_sync;
mod conversation_logger;
mod conversation_retention;
mod embedding;
mod harvester;
mod knowledge_upkeep;

use std::sync::Arc;

use missiond_core::{Clock, Timestamp};
use missiond_memory::code::CodeMaps;
use missiond_memory::conversations::Conversations;
use missiond_memory::knowledge::{Knowledge, Tended};
use missiond_store::MissionDb;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::worker::BackgroundWorker;

/// What the workers work with.
#[derive(Debug)]
pub struct Memory {
    pub db: MissionDb,
    pub clock: Arc<dyn Clock>,
    pub knowledge: Knowledge,
    pub conversations: Conversations,
    pub code: Arc<CodeMaps>,
}

/// How the knowledge base stood when it was looked after last, for whoever asks.
#[derive(Debug, Clone, Default)]
pub struct LastUpkeep(Arc<Mutex<Option<Upkeep>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upkeep {
    pub at: Timestamp,
    pub tended: Tended,
}

impl LastUpkeep {
    #[must_use]
    pub fn get(&self) -> Option<Upkeep> {
        *self.0.lock()
    }

    fn set(&self, upkeep: Upkeep) {
        *self.0.lock() = Some(upkeep);
    }
}

/// Every worker there is.
#[must_use]
pub fn all(memory: Memory, upkeep: LastUpkeep) -> Vec<Arc<dyn BackgroundWorker>> {
    let Memory {
        db,
        clock,
        knowledge,
        conversations,
        code,
    } = memory;
    // What was just taken into the inbox may be accepted by a rule.
    let harvested = Arc::new(Notify::new());
    vec![
        Arc::new(conversation_logger::ConversationLogger::new(
            conversations.clone(),
        )),
        Arc::new(conversation_retention::ConversationRetention::new(
            conversations,
        )),
        Arc::new(harvester::ExperienceHarvester::new(
            db.clone(),
            knowledge.clone(),
            Arc::clone(&harvested),
        )),
        Arc::new(knowledge_upkeep::KnowledgeUpkeep::new(
            knowledge.clone(),
            Arc::clone(&clock),
            upkeep,
            harvested,
        )),
        Arc::new(embedding::Embedding::new(knowledge)),
        Arc::new(code_sync::CodeSync::new(db, Arc::clone(&code))),
        Arc::new(code_reader::CodeReader::new(code)),
    ]
}
