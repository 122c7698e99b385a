//! Following the transcript an agent's program keeps. The place that was read
//! is stored after what was read is in the journal, so a crash in between reads
//! it again and counts it once.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use missiond_adapters::{TranscriptFact, TranscriptSearch, TranscriptTail, adapter};
use missiond_core::CliEngine;
use missiond_store::executions::{self, ExecutionRow};
use serde::{Deserialize, Serialize};

use super::run::{Run, Seen};
use super::{Context, ExecutionError, facts};

/// Where a transcript is and how far it was read, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    conversation: String,
    tail: TranscriptTail,
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
}

/// What one look at the file gave.
struct Read {
    place: Place,
    /// The facts of each line, with its index and text.
    lines: Vec<(String, Vec<TranscriptFact>)>,
    offset: u64,
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
            place.map(|place| read(&engine, place)).transpose()
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
        for seen in self.seen(&read) {
            run.observe(seen).await?;
        }
        self.store(context, run, read.place).await?;
        Ok(read.more)
    }

    fn seen(&mut self, read: &Read) -> Vec<Seen> {
        let mut all = Vec::new();
        for (index, (text, said)) in read.lines.iter().enumerate() {
            let line = facts::Line {
                conversation: &read.place.conversation,
                offset: read.offset,
                index,
                text,
            };
            for (index, fact) in said.iter().enumerate() {
                let tool = match fact {
                    TranscriptFact::ToolStarted { call, tool } => {
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
        let Ok(written) = serde_json::to_string(&place) else {
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
        tail: TranscriptTail::new(&found.path),
    })
}

fn read(engine: &CliEngine, mut place: Place) -> Result<Read, missiond_adapters::TailError> {
    let adapter = adapter(engine);
    let before = place.tail.offset();
    let tailed = place.tail.advance()?;
    // A file that was cut or replaced is read from its beginning.
    let offset = if place.tail.offset() < before {
        0
    } else {
        before
    };
    let lines = tailed.lines.into_iter().map(|line| {
        let facts = adapter.transcript_facts(&line);
        (line, facts)
    });
    Ok(Read {
        lines: lines.collect(),
        offset,
        more: tailed.more,
        place,
    })
}
