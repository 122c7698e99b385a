//! Has the embedding model read what passes over repositories found, a piece at a time.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_core::{WorkerDomain, WorkerKind};
use missiond_memory::code::CodeMaps;

use crate::worker::{BackgroundWorker, Budget, Trigger, Unit, WorkError, Worked, WorkerSpec};

const SPEC: WorkerSpec = WorkerSpec {
    name: "code_reader",
    kind: WorkerKind::Local,
    domain: WorkerDomain::Code,
    trigger: Trigger::Looks {
        every: Duration::from_secs(60),
    },
    budget: Budget {
        longest: Duration::from_secs(1800),
        ..Budget::SMALL
    },
    description: "gives symbols of a repository their vectors, so that code is found by meaning",
};

#[derive(Debug)]
pub(super) struct CodeReader {
    code: Arc<CodeMaps>,
}

impl CodeReader {
    pub(super) const fn new(code: Arc<CodeMaps>) -> Self {
        Self { code }
    }
}

impl BackgroundWorker for CodeReader {
    fn spec(&self) -> &WorkerSpec {
        &SPEC
    }

    fn woken(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.code.reading_wanted())
    }

    fn work(&self, _: Unit) -> BoxFuture<'_, Result<Worked, WorkError>> {
        Box::pin(async {
            let read = self.code.read_some().await.map_err(WorkError::passing)?;
            Ok(match read {
                None => Worked::nothing(),
                Some(root) => Worked::did(format!("read of {root}")).with_more(true),
            })
        })
    }
}
