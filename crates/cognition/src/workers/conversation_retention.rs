//! Deletes conversations that are older than they are to be kept.

use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{WorkerDomain, WorkerKind};
use missiond_memory::conversations::Conversations;

use crate::worker::{BackgroundWorker, Budget, Trigger, Unit, WorkError, Worked, WorkerSpec};

const SPEC: WorkerSpec = WorkerSpec {
    name: "conversation_retention",
    kind: WorkerKind::Local,
    domain: WorkerDomain::Conversations,
    trigger: Trigger::Looks {
        every: Duration::from_secs(3600),
    },
    budget: Budget::SMALL,
    description: "deletes some conversations that are older than `conversations.keep_days`",
};

#[derive(Debug)]
pub(super) struct ConversationRetention {
    conversations: Conversations,
}

impl ConversationRetention {
    pub(super) const fn new(conversations: Conversations) -> Self {
        Self { conversations }
    }
}

impl BackgroundWorker for ConversationRetention {
    fn spec(&self) -> &WorkerSpec {
        &SPEC
    }

    fn work(&self, _: Unit) -> BoxFuture<'_, Result<Worked, WorkError>> {
        Box::pin(async {
            let gone = self.conversations.forget_some_old().await;
            match gone.map_err(WorkError::passing)? {
                0 => Ok(Worked::nothing()),
                gone => {
                    Ok(Worked::did(format!("{gone} old conversations deleted")).with_more(true))
                }
            }
        })
    }
}
