//! Following the transcript an agent's program keeps. The place that was read
//! is stored after what was read is in the journal, so a crash in between reads
//! it again and counts it once.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use missiond_adapters::{
    TailedLine, TranscriptFact, TranscriptMemory, TranscriptSearch, TranscriptTail, adapter,
};
use missiond_core::CliEngine;
use missiond_store::executions::{self, ExecutionRow};
use serde::{Deserialize, Serialize};

use super::circles::Circles;
use super::run::{Run, Seen};
use super::{Context, ExecutionError, facts};

/// Where a transcript is and how far it was read, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    conversation: String,
    tail: TranscriptTail,
}

impl Place {
    /// Behind what an earlier execution has read of a conversation that goes on.
    pub(super) fn behind(
        engine: &CliEngine,
        cwd: &Path,
        conversation: &str,
        environment: &BTreeMap<String, String>,
    ) -> Option<Self> {
        let environment = |name: &str| environment.get(name).cloned();
        let search = TranscriptSearch {
            conversation: Some(conversation),
            cwd,
            started_at: SystemTime::UNIX_EPOCH,
            environment: &environment,
        };
        let mut found = adapter(engine).transcript(&search)?;
        found.tail.skip_to_end().ok()?;
        Some(Self {
            conversation: found.conversation,
            tail: found.tail,
        })
    }

    pub(super) fn written(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

#[derive(Debug)]
pub(super) struct Transcript {
    engine: CliEngine,
    cwd: PathBuf,
    started_at: SystemTime,
    conversation: Option<String>,
    place: Option<Place>,
    /// Calls under way: the end of one names the call, not the tool.
    calls: HashMap<String, String>,
    memory: TranscriptMemory,
}

/// What one look at the file gave.
struct Read {
    place: Place,
    lines: Vec<TailedLine>,
    more: bool,
}

impl Transcript {
    pub(super) fn new(row: &ExecutionRow) -> Self {
        let micros = u64::try_from(row.started_at.as_micros()).unwrap_or(0);
        Self {
            engine: row.engine.clone(),
            cwd: row.cwd.clone(),
            started_at: SystemTime::UNIX_EPOCH + Duration::from_micros(micros),
            conversation: row.conversation.clone(),
            place: row
                .transcript
                .as_deref()
                .and_then(|place| serde_json::from_str(place).ok()),
            calls: HashMap::new(),
            memory: TranscriptMemory::default(),
        }
    }

    /// Takes in what has come since; whether there is more.
    pub(super) async fn advance(
        &mut self,
        context: &Context,
        run: &Arc<Run>,
    ) -> Result<bool, ExecutionError> {
        let known = self.place.clone();
        let (engine, cwd, started_at) = (self.engine.clone(), self.cwd.clone(), self.started_at);
        let conversation = self.conversation.clone();
        let places = context.places_file(run.id);
        let read = tokio::task::spawn_blocking(move || {
            let place = known.or_else(|| {
                let conversation = conversation.as_deref();
                find(&engine, &cwd, started_at, conversation, &places)
            });
            place.map(read).transpose()
        })
        .await?;
        let read = match read {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(false),
            Err(error) => {
                tracing::debug!(execution = %run.id, %error, "no transcript");
                return Ok(false);
            }
        };
        if self.place.as_ref() == Some(&read.place) {
            return Ok(false);
        }
        if self.place.is_none() {
            let path = read.place.tail.path().to_str();
            run.observe(facts::of_conversation(&read.place.conversation, path))
                .await?;
        }
        for seen in self.seen(&read, &run.circles) {
            run.observe(seen).await?;
        }
        self.store(context, run, read.place).await?;
        Ok(read.more)
    }

    fn seen(&mut self, read: &Read, circles: &Circles) -> Vec<Seen> {
        let mut all = Vec::new();
        let adapter = adapter(&self.engine);
        for line in &read.lines {
            let said = adapter.transcript_facts(&line.text, &mut self.memory);
            let line = facts::Line {
                conversation: &read.place.conversation,
                place: &line.place,
                text: &line.text,
            };
            for (index, fact) in said.iter().enumerate() {
                circles.note(fact);
                let tool = match fact {
                    TranscriptFact::ToolStarted { call, tool, .. } => {
                        self.calls.insert(call.clone(), tool.clone());
                        None
                    }
                    TranscriptFact::ToolEnded { call, .. } => self.calls.remove(call),
                    _ => None,
                };
                all.extend(facts::of_transcript(line, index, fact, tool.as_deref()));
            }
        }
        all
    }

    async fn store(
        &mut self,
        context: &Context,
        run: &Run,
        place: Place,
    ) -> Result<(), ExecutionError> {
        let id = run.id;
        let conversation = place.conversation.clone();
        let new = self.conversation.as_ref() != Some(&conversation);
        let Some(written) = place.written() else {
            return Ok(());
        };
        context
            .db
            .write(move |tx| {
                Box::pin(async move {
                    if new {
                        executions::set_conversation(tx, id, &conversation).await?;
                    }
                    executions::set_transcript(tx, id, &written).await
                })
            })
            .await?;
        self.conversation = Some(place.conversation.clone());
        self.place = Some(place);
        Ok(())
    }
}

fn find(
    engine: &CliEngine,
    cwd: &Path,
    started_at: SystemTime,
    conversation: Option<&str>,
    places: &Path,
) -> Option<Place> {
    let places = std::fs::read_to_string(places).ok()?;
    let variables: BTreeMap<String, String> = serde_json::from_str(&places).ok()?;
    let environment = |name: &str| variables.get(name).cloned();
    let search = TranscriptSearch {
        conversation,
        cwd,
        started_at,
        environment: &environment,
    };
    let found = adapter(engine).transcript(&search)?;
    Some(Place {
        conversation: found.conversation,
        tail: found.tail,
    })
}

fn read(mut place: Place) -> Result<Read, missiond_adapters::TailError> {
    let tailed = place.tail.advance()?;
    Ok(Read {
        lines: tailed.lines,
        more: tailed.more,
        place,
    })
}
