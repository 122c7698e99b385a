//! Does what is due in the knowledge base: candidates that a rule accepts become entries,
//! what has aged is counted.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{Clock, WorkerDomain, WorkerKind};
use missiond_memory::knowledge::Knowledge;
use tokio::sync::Notify;

use super::{LastUpkeep, Upkeep};
use crate::worker::{BackgroundWorker, Budget, Trigger, Unit, WorkError, Worked, WorkerSpec};

const SPEC: WorkerSpec = WorkerSpec {
    name: "knowledge_upkeep",
    kind: WorkerKind::Local,
    domain: WorkerDomain::Knowledge,
    trigger: Trigger::Looks {
        every: Duration::from_secs(60),
    },
    budget: Budget::SMALL,
    description: "makes candidates entries that a rule accepts, and counts what has aged",
};

#[derive(Debug)]
pub(super) struct KnowledgeUpkeep {
    knowledge: Knowledge,
    clock: Arc<dyn Clock>,
    last: LastUpkeep,
    harvested: Arc<Notify>,
}

impl KnowledgeUpkeep {
    pub(super) const fn new(
        knowledge: Knowledge,
        clock: Arc<dyn Clock>,
        last: LastUpkeep,
        harvested: Arc<Notify>,
    ) -> Self {
        Self {
            knowledge,
            clock,
            last,
            harvested,
        }
    }
}

impl BackgroundWorker for KnowledgeUpkeep {
    fn spec(&self) -> &WorkerSpec {
        &SPEC
    }

    fn woken(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.harvested.notified())
    }

    fn work(&self, _: Unit) -> BoxFuture<'_, Result<Worked, WorkError>> {
        Box::pin(async {
            let tended = self.knowledge.tend().await.map_err(WorkError::passing)?;
            let at = self.clock.now();
            self.last.set(Upkeep { at, tended });
            Ok(match tended.accepted {
                0 => Worked::nothing(),
                1 => Worked::did("1 candidate became an entry"),
                count => Worked::did(format!("{count} candidates became entries")),
            })
        })
    }
}
