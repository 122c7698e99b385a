//! Gives entries of the knowledge base their vectors, a batch at a time.

use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{WorkerDomain, WorkerKind};
use missiond_memory::knowledge::{EmbeddedEntries, Knowledge};

use crate::worker::{BackgroundWorker, Budget, Trigger, Unit, WorkError, Worked, WorkerSpec};

const SPEC: WorkerSpec = WorkerSpec {
    name: "embedding",
    kind: WorkerKind::Local,
    domain: WorkerDomain::Knowledge,
    // Also where nothing has come: a provider that was not there may be back.
    trigger: Trigger::Looks {
        every: Duration::from_secs(60),
    },
    budget: Budget {
        // A model that is being fetched or read for the first time takes its time.
        longest: Duration::from_secs(1800),
        ..Budget::SMALL
    },
    description: "gives a batch of entries their vectors, so that they are found by meaning",
};

#[derive(Debug)]
pub(super) struct Embedding {
    knowledge: Knowledge,
}

impl Embedding {
    pub(super) const fn new(knowledge: Knowledge) -> Self {
        Self { knowledge }
    }
}

impl BackgroundWorker for Embedding {
    fn spec(&self) -> &WorkerSpec {
        &SPEC
    }

    fn woken(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.knowledge.embedding_wanted())
    }

    fn work(&self, _: Unit) -> BoxFuture<'_, Result<Worked, WorkError>> {
        Box::pin(async {
            match self.knowledge.embed_batch().await {
                Ok(EmbeddedEntries::All) => Ok(Worked::nothing()),
                Ok(EmbeddedEntries::Batch(count)) => {
                    let said = format!("{count} entries have vectors");
                    Ok(Worked::did(said).with_more(true))
                }
                Err(problem) => Err(WorkError::passing(problem)),
            }
        })
    }
}
