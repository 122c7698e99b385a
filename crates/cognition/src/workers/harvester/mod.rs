//! Puts what was learned into the inbox of the knowledge base, by rules: of a task that is
//! over what its checks and its questions taught, of a turn what a person said holds from
//! now on. A candidate is there once, because it is committed with the end of its unit.

mod finished;
mod orders;
mod tasks;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{BoardTaskId, ConversationId, Event, TurnId, WorkerDomain, WorkerKind};
use missiond_memory::knowledge::{Knowledge, TaskLessons};
use missiond_store::MissionDb;
use tokio::sync::Notify;

use crate::worker::{
    BackgroundWorker, Budget, Scope, Trigger, Unit, WorkError, Worked, WorkerSpec,
};

const SPEC: WorkerSpec = WorkerSpec {
    name: "experience_harvester",
    kind: WorkerKind::Local,
    domain: WorkerDomain::Knowledge,
    trigger: Trigger::Events {
        // As it was called when the autopilot did this: nothing is proposed again.
        cursor: "autopilot/extraction",
        quiet: Duration::ZERO,
        longest: Duration::ZERO,
        scope: Scope::Database,
    },
    budget: Budget {
        at_once: 4,
        ..Budget::SMALL
    },
    description: "puts what a finished task taught, and what a person said holds from now on, \
                  into the inbox of the knowledge base",
};

#[derive(Debug)]
pub(super) struct ExperienceHarvester {
    db: MissionDb,
    knowledge: Knowledge,
    harvested: Arc<Notify>,
}

/// What one unit is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Task(BoardTaskId),
    Turn(ConversationId, TurnId),
}

impl Subject {
    fn of(event: &Event) -> Option<Self> {
        match event {
            Event::BoardTaskUpdated { task, status } if status.is_over() => Some(Self::Task(*task)),
            Event::TurnExtracted { conversation, turn } => Some(Self::Turn(*conversation, *turn)),
            _ => None,
        }
    }

    fn written(self) -> String {
        match self {
            Self::Task(task) => task.to_string(),
            Self::Turn(conversation, turn) => format!("{conversation}/{turn}"),
        }
    }

    fn read(text: &str) -> Option<Self> {
        match text.split_once('/') {
            None => text.parse().ok().map(Self::Task),
            Some((conversation, turn)) => {
                Some(Self::Turn(conversation.parse().ok()?, turn.parse().ok()?))
            }
        }
    }
}

impl ExperienceHarvester {
    pub(super) const fn new(db: MissionDb, knowledge: Knowledge, harvested: Arc<Notify>) -> Self {
        Self {
            db,
            knowledge,
            harvested,
        }
    }

    async fn learn(&self, subject: Subject) -> Result<TaskLessons, WorkError> {
        let learnt = match subject {
            Subject::Task(task) => {
                let read = self
                    .db
                    .read(move |tx| Box::pin(finished::lessons(tx, task)));
                read.await
            }
            Subject::Turn(conversation, turn) => {
                let read = self
                    .db
                    .read(move |tx| Box::pin(turns::lessons(tx, conversation, turn)));
                read.await
            }
        };
        learnt.map_err(WorkError::passing)
    }
}

impl BackgroundWorker for ExperienceHarvester {
    fn spec(&self) -> &WorkerSpec {
        &SPEC
    }

    fn subject(&self, event: &Event) -> Option<String> {
        Subject::of(event).map(Subject::written)
    }

    fn work(&self, unit: Unit) -> BoxFuture<'_, Result<Worked, WorkError>> {
        Box::pin(async move {
            let subject = Subject::read(&unit.subject)
                .ok_or_else(|| WorkError::lasting("it is about nothing that is known"))?;
            let learnt = self.learn(subject).await?;
            // What cannot be kept now cannot be kept another time.
            let prepared = self.knowledge.prepare(learnt).map_err(WorkError::lasting)?;
            let said = match prepared.candidates() {
                0 => String::new(),
                1 => "1 candidate in the inbox".to_owned(),
                count => format!("{count} candidates in the inbox"),
            };
            Ok(Worked::did(said).with_effect(move |tx| Box::pin(prepared.store(tx))))
        })
    }

    fn committed(&self) {
        self.harvested.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_reads_back() {
        let turn = Subject::Turn(ConversationId::generate(), TurnId::generate());
        for subject in [Subject::Task(BoardTaskId::generate()), turn] {
            assert_eq!(Subject::read(&subject.written()), Some(subject));
        }
        assert_eq!(Subject::read("nothing"), None);
        assert_eq!(Subject::read("a/b"), None);
    }
}
