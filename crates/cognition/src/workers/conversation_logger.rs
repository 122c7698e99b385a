//! Takes what agents and people said from the transcripts of agent CLIs.

use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{WorkerDomain, WorkerKind};
use missiond_memory::conversations::{Conversations, FollowedTranscripts};
use tokio::sync::Mutex;

use crate::worker::{BackgroundWorker, Budget, Trigger, Unit, WorkError, Worked, WorkerSpec};

const SPEC: WorkerSpec = WorkerSpec {
    name: "conversation_logger",
    kind: WorkerKind::Local,
    domain: WorkerDomain::Conversations,
    trigger: Trigger::Looks {
        every: Duration::from_secs(1),
    },
    budget: Budget {
        longest: Duration::from_secs(1800),
        ..Budget::SMALL
    },
    description: "takes what was said from the transcripts of agents, and tells of turns that \
                  are over",
};

#[derive(Debug)]
pub(super) struct ConversationLogger {
    conversations: Conversations,
    /// Held while it looks: there is one look at a time.
    followed: Mutex<FollowedTranscripts>,
}

impl ConversationLogger {
    pub(super) fn new(conversations: Conversations) -> Self {
        Self {
            conversations,
            followed: Mutex::default(),
        }
    }
}

impl BackgroundWorker for ConversationLogger {
    fn spec(&self) -> &WorkerSpec {
        &SPEC
    }

    fn work(&self, _: Unit) -> BoxFuture<'_, Result<Worked, WorkError>> {
        Box::pin(async {
            let mut followed = self.followed.lock().await;
            let looked = self.conversations.ingest_transcripts(&mut followed).await;
            let looked = looked.map_err(WorkError::passing)?;
            let worked = match looked.pieces {
                0 => Worked::nothing(),
                1 => Worked::did("1 piece of a transcript taken in"),
                pieces => Worked::did(format!("{pieces} pieces of transcripts taken in")),
            };
            Ok(worked.with_more(looked.more))
        })
    }
}
