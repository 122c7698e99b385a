//! Following the transcript an agent's program keeps. The place that was read
//! is stored after what was read is in the journal, so a crash in between reads
//! it again and counts it once. With it is stored what later lines refer to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use missiond_adapters::{
    FoundTranscript, TailedLine, TranscriptFact, TranscriptMemory, TranscriptSearch,
    TranscriptTail, adapter,
};
use missiond_core::CliEngine;
use missiond_runtime::blocking;
use missiond_store::executions::{self, ExecutionRow};
use serde::{Deserialize, Serialize};

use super::facts;
use super::repeated_calls::RepeatedCalls;
use super::run::{ObservationDraft, Run};
use crate::context::Context;
use crate::error::ExecutionError;

/// Where a transcript is and how far it was read, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TranscriptCursor {
    conversation: String,
    tail: TranscriptTail,
    #[serde(default)]
    calls: Calls,
    #[serde(default)]
    memory: TranscriptMemory,
}

/// Calls under way: the end of one names the call, not the tool. Oldest first;
/// of those that never end the oldest are forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Calls(Vec<(String, String)>);

impl Calls {
    const MOST: usize = 64;

    fn begin(&mut self, call: &str, tool: &str) {
        self.0.push((call.to_owned(), tool.to_owned()));
        let too_many = self.0.len().saturating_sub(Self::MOST);
        self.0.drain(..too_many);
    }

    fn end(&mut self, call: &str) -> Option<String> {
        let index = self.0.iter().position(|(known, _)| known == call)?;
        Some(self.0.remove(index).1)
    }
}

impl TranscriptCursor {
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
        Some(Self::new(found))
    }

    fn new(found: FoundTranscript) -> Self {
        Self {
            conversation: found.conversation,
            tail: found.tail,
            calls: Calls::default(),
            memory: TranscriptMemory::default(),
        }
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
    place: Option<TranscriptCursor>,
}

/// What one look at the file gave.
struct Read {
    place: TranscriptCursor,
    lines: Vec<TailedLine>,
    more: bool,
}

impl Read {
    /// What the lines say, one after the other.
    fn observations(
        &mut self,
        engine: &CliEngine,
        repeated_calls: &RepeatedCalls,
    ) -> Vec<ObservationDraft> {
        let mut all = Vec::new();
        let adapter = adapter(engine);
        let Self { place, lines, .. } = self;
        for line in lines {
            let said = adapter.transcript_facts(&line.text, &mut place.memory);
            let line = facts::Line {
                conversation: &place.conversation,
                position: &line.position,
                text: &line.text,
            };
            for (index, fact) in said.iter().enumerate() {
                repeated_calls.record(fact);
                let tool = match fact {
                    TranscriptFact::ToolStarted { call, tool, .. } => {
                        place.calls.begin(call, tool);
                        None
                    }
                    TranscriptFact::ToolEnded { call, .. } => place.calls.end(call),
                    _ => None,
                };
                all.extend(facts::of_transcript(line, index, fact, tool.as_deref()));
            }
        }
        all
    }
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
        }
    }

    /// Finds the transcript of a conversation that is followed by other means, so that
    /// whoever remembers conversations knows where it is.
    pub(super) async fn locate(
        &mut self,
        context: &Context,
        run: &Arc<Run>,
        conversation: &str,
    ) -> Result<(), ExecutionError> {
        if self.place.is_some() {
            return Ok(());
        }
        let (engine, cwd, started_at) = (self.engine.clone(), self.cwd.clone(), self.started_at);
        let (places, wanted) = (context.places_file(run.id), conversation.to_owned());
        let found = blocking(move || find(&engine, &cwd, started_at, Some(&wanted), &places)).await;
        match found {
            Some(place) => self.store(context, run, place).await,
            None => Ok(()),
        }
    }

    /// Where it is read on, once it was found.
    pub(super) fn tail(&self) -> Option<&TranscriptTail> {
        self.place.as_ref().map(|place| &place.tail)
    }

    /// What stands in it was told by other means: goes on behind it.
    pub(super) async fn skip_to_end(
        &mut self,
        context: &Context,
        run: &Arc<Run>,
    ) -> Result<(), ExecutionError> {
        let Some(mut place) = self.place.clone() else {
            return Ok(());
        };
        let skipped = blocking(move || place.tail.skip_to_end().map(|()| place)).await;
        match skipped {
            Ok(place) => self.store(context, run, place).await,
            Err(error) => {
                tracing::debug!(execution = %run.id, %error, "transcript unavailable");
                Ok(())
            }
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
        let read = blocking(move || {
            let place = known.or_else(|| {
                let conversation = conversation.as_deref();
                find(&engine, &cwd, started_at, conversation, &places)
            });
            place.map(read).transpose()
        })
        .await;
        let mut read = match read {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(false),
            Err(error) => {
                tracing::debug!(execution = %run.id, %error, "transcript unavailable");
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
        for seen in read.observations(&self.engine, &run.repeated_calls) {
            run.observe(seen).await?;
        }
        self.store(context, run, read.place).await?;
        Ok(read.more)
    }

    async fn store(
        &mut self,
        context: &Context,
        run: &Run,
        place: TranscriptCursor,
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
) -> Option<TranscriptCursor> {
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
    Some(TranscriptCursor::new(found))
}

/// Whether there is a transcript of the conversation to go on with.
pub(super) fn is_kept(engine: &CliEngine, cwd: &Path, conversation: &str, places: &Path) -> bool {
    let began = SystemTime::UNIX_EPOCH;
    find(engine, cwd, began, Some(conversation), places).is_some()
}

fn read(mut place: TranscriptCursor) -> Result<Read, missiond_adapters::TailError> {
    let tailed = place.tail.advance()?;
    Ok(Read {
        lines: tailed.lines,
        more: tailed.more,
        place,
    })
}

#[cfg(test)]
mod tests {
    use missiond_journal::Observed;
    use missiond_journal::catalogue::Fact;
    use serde_json::json;

    use super::*;

    fn line(content: &serde_json::Value) -> String {
        let role = if content[0]["type"] == "tool_use" {
            "assistant"
        } else {
            "user"
        };
        json!({"type": role, "message": {"role": role, "content": content}}).to_string() + "\n"
    }

    /// The tools a transcript names from a place on, and the place behind them.
    fn tools(place: Option<TranscriptCursor>, path: &Path) -> (Vec<String>, TranscriptCursor) {
        let place = place.unwrap_or_else(|| TranscriptCursor {
            conversation: "c1".to_owned(),
            tail: TranscriptTail::File(missiond_adapters::FileTail::new(path)),
            calls: Calls::default(),
            memory: TranscriptMemory::default(),
        });
        let mut read = read(place).unwrap();
        let seen = read.observations(&CliEngine::Claude, &RepeatedCalls::default());
        let named = seen.into_iter().filter_map(|seen| match seen.observed {
            Observed::Fact(Fact::ToolUse(used)) => Some(used.tool.as_str().to_owned()),
            _ => None,
        });
        (named.collect(), read.place)
    }

    #[test]
    fn a_call_that_ends_under_another_daemon_is_still_known_by_its_tool() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        let call = json!([{"type": "tool_use", "id": "t1", "name": "Write", "input": {}}]);
        std::fs::write(&path, line(&call)).unwrap();
        let (named, place) = tools(None, &path);
        assert_eq!(named, ["Write"]);

        let stored = place.written().unwrap();
        let found: TranscriptCursor = serde_json::from_str(&stored).unwrap();
        let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "done"}]);
        std::fs::write(&path, line(&call) + &line(&result)).unwrap();
        let (named, place) = tools(Some(found), &path);
        assert_eq!(named, ["Write"]);
        assert_eq!(place.calls, Calls::default(), "nothing is under way");

        // A place that an earlier version stored has none.
        let older = serde_json::to_value(&place).unwrap();
        let older = json!({"conversation": older["conversation"], "tail": older["tail"]});
        assert_eq!(
            serde_json::from_value::<TranscriptCursor>(older).unwrap(),
            place
        );
    }

    #[test]
    fn calls_that_never_end_are_forgotten() {
        let mut calls = Calls::default();
        for number in 0..=Calls::MOST {
            calls.begin(&format!("c{number}"), "Bash");
        }
        assert_eq!(calls.end("c0"), None);
        assert_eq!(calls.end("c1").as_deref(), Some("Bash"));
    }
}
