//! From the lines of a transcript to rows: read and made fit on a thread, then
//! committed together with the cursor behind them.

mod adding;
mod item;

use std::hash::{Hash, Hasher};
use std::path::PathBuf;

use missiond_adapters::{RecordMemory, TailError, TranscriptTail, records};
use missiond_core::{CliEngine, DaemonId, Event, Timestamp, TraceContext};
use missiond_knowledge::conversation::{LONGEST_MESSAGE, Turn, sanitize};
use missiond_runtime::blocking;
use missiond_store::conversations::cursors::{self, CursorMove, CursorRow};
use missiond_store::conversations::{self, ConversationRow, Links, turns};
use missiond_store::{NewEvent, StoreError, Tx, timeline};
use serde::{Deserialize, Serialize};

use self::adding::{ConversationWriter, of_row};
use self::item::{Item, fit};
use super::{ConversationError, Conversations};

/// What ended longer ago is taken in and is no news.
const NEWS_SECS: u64 = 24 * 60 * 60;
/// A clock that is further ahead is wrong.
const AHEAD_SECS: u64 = 24 * 60 * 60;

/// A transcript and what is known of its conversation.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) engine: CliEngine,
    /// The CLI's own name of the conversation.
    pub(super) session: String,
    /// From its beginning.
    pub(super) tail: TranscriptTail,
    pub(super) cwd: PathBuf,
    pub(super) project: String,
    pub(super) links: Links,
}

impl Source {
    /// A conversation goes on in other executions; the newest one counts.
    fn link(&self, conversation: &mut ConversationRow) {
        let links = self.links;
        if links.execution >= conversation.execution && links.execution.is_some() {
            conversation.execution = links.execution;
            conversation.slot = links.slot;
            conversation.task = links.task.or(conversation.task);
            conversation.project = sanitize(&self.project, LONGEST_MESSAGE);
        }
    }
}

/// How far a transcript was read, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    tail: TranscriptTail,
    #[serde(default)]
    memory: RecordMemory,
}

/// What one look at a transcript gave.
#[derive(Debug, Default)]
struct Batch {
    items: Vec<Item>,
    skipped: i64,
    diagnostic: Option<String>,
    more: bool,
}

impl Batch {
    /// A number for what is in it; 0 for nothing.
    fn digest(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        for item in &self.items {
            item.key.hash(&mut hasher);
            std::mem::discriminant(&item.what).hash(&mut hasher);
        }
        if self.items.is_empty() {
            0
        } else {
            hasher.finish().max(1)
        }
    }
}

/// What became of taking in a batch.
#[derive(Debug, PartialEq, Eq)]
enum Ingested {
    Done,
    /// Another daemon has read on from there.
    Elsewhere(String),
}

impl Conversations {
    /// Takes in what has come since; whether there is more to read at once.
    pub(super) async fn advance(&self, source: &Source) -> Result<bool, ConversationError> {
        let name = source.tail.source();
        let before = self.cursor_of(&name).await?;
        let cursor = before
            .as_deref()
            .and_then(|stored| serde_json::from_str::<Cursor>(stored).ok())
            .unwrap_or_else(|| Cursor {
                tail: source.tail.clone(),
                memory: RecordMemory::default(),
            });
        let known = cursor.clone();
        let engine = source.engine.clone();
        let read = blocking(move || read(&engine, cursor)).await;
        let (cursor, batch) = match read {
            Ok(read) => read,
            Err(error) => {
                tracing::debug!(source = name, %error, "transcript unavailable");
                return Ok(false);
            }
        };
        // A database is read again from the moment of its last change: what was
        // there before is no news, but something may have come in that moment.
        let digest = (cursor == known).then(|| batch.digest());
        if digest.is_some_and(|digest| {
            digest == 0 || self.inner.last_digests().insert(name.clone(), digest) == Some(digest)
        }) {
            return Ok(false);
        }
        let written = serde_json::to_string(&cursor)
            .map_err(|error| ConversationError::Invalid(error.to_string()))?;
        let more = batch.more;
        let ingestion = Ingestion {
            host: self.inner.host.clone(),
            daemon: self.inner.daemon,
            now: self.inner.now(),
            from: before,
            to: CursorRow {
                source: name.clone(),
                conversation: conversations::id_of(&source.engine, &source.session),
                place: written.clone(),
            },
            source: source.clone(),
            batch,
        };
        let taken = self
            .inner
            .db
            .write(move |tx| Box::pin(async move { ingestion.store(tx).await }))
            .await?;
        match taken {
            Ingested::Done => {
                self.inner.cursors().insert(name, written);
                Ok(more)
            }
            Ingested::Elsewhere(cursor) => {
                self.inner.cursors().insert(name, cursor);
                Ok(true)
            }
        }
    }

    /// Links a conversation to its execution, also when another source has taken
    /// in all of it; whether there is one by now.
    pub(super) async fn link(&self, source: &Source) -> Result<bool, ConversationError> {
        let id = conversations::id_of(&source.engine, &source.session);
        let known = self
            .inner
            .db
            .read(move |tx| Box::pin(conversations::get(tx, id)))
            .await?;
        let Some(known) = known else {
            return Ok(false);
        };
        if known.execution >= source.links.execution {
            return Ok(true);
        }
        let source = source.clone();
        let now = self.inner.now();
        self.inner
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let mut row = conversations::hold(tx, &known).await?;
                    source.link(&mut row);
                    row.taken_at = now;
                    conversations::update(tx, &row).await
                })
            })
            .await?;
        Ok(true)
    }

    /// Where a transcript was read to, as it is stored.
    async fn cursor_of(&self, source: &str) -> Result<Option<String>, ConversationError> {
        if let Some(cursor) = self.inner.cursors().get(source) {
            return Ok(Some(cursor.clone()));
        }
        let (host, named) = (self.inner.host.clone(), source.to_owned());
        let stored = self
            .inner
            .db
            .read(move |tx| Box::pin(async move { cursors::get(tx, &host, &named).await }))
            .await?;
        let cursor = stored.map(|row| row.place);
        if let Some(cursor) = &cursor {
            self.inner
                .cursors()
                .insert(source.to_owned(), cursor.clone());
        }
        Ok(cursor)
    }
}

/// Reads on from a cursor. Blocks.
fn read(engine: &CliEngine, mut cursor: Cursor) -> Result<(Cursor, Batch), TailError> {
    let tailed = cursor.tail.advance()?;
    if tailed.restarted {
        cursor.memory = RecordMemory::default();
    }
    let mut batch = Batch {
        skipped: i64::try_from(tailed.skipped).unwrap_or(i64::MAX),
        more: tailed.more,
        ..Batch::default()
    };
    if batch.skipped > 0 {
        batch.diagnostic = Some("a line was too long or no text".to_owned());
    }
    for line in &tailed.lines {
        match records(engine, &line.text, &mut cursor.memory) {
            Ok(records) => batch.items.extend(records.into_iter().filter_map(fit)),
            Err(error) => {
                batch.skipped += 1;
                let problem = format!("the line at {}: {error}", line.position);
                batch.diagnostic = Some(sanitize(&problem, 300));
            }
        }
    }
    Ok((cursor, batch))
}

/// One batch on its way into the store.
struct Ingestion {
    host: String,
    daemon: DaemonId,
    now: Timestamp,
    from: Option<String>,
    to: CursorRow,
    source: Source,
    batch: Batch,
}

impl Ingestion {
    async fn store(self, tx: &mut Tx<'_>) -> Result<Ingested, StoreError> {
        let moved = cursors::advance(tx, &self.host, self.from.as_deref(), &self.to, self.now);
        if let CursorMove::Elsewhere(cursor) = moved.await? {
            return Ok(Ingested::Elsewhere(cursor));
        }
        // A transcript with nothing in it yet is no conversation.
        if self.batch.items.is_empty() && self.batch.skipped == 0 {
            return Ok(Ingested::Done);
        }
        let id = self.to.conversation;
        let conversation = conversations::hold(tx, &self.new_row()).await?;
        let mut adding = ConversationWriter {
            id,
            current: turns::last(tx, id).await?.map(of_row),
            closed: Vec::new(),
            latest: self.now.plus(std::time::Duration::from_secs(AHEAD_SECS)),
            conversation,
        };
        for item in &self.batch.items {
            adding.add(tx, item).await?;
        }
        let ConversationWriter {
            mut conversation,
            closed,
            ..
        } = adding;
        conversation.skipped = conversation.skipped.saturating_add(self.batch.skipped);
        if let Some(diagnostic) = &self.batch.diagnostic {
            conversation.diagnostic = Some(diagnostic.clone());
        }
        self.source.link(&mut conversation);
        conversation.taken_at = self.now;
        conversations::update(tx, &conversation).await?;
        self.publish(tx, &closed).await?;
        Ok(Ingested::Done)
    }

    fn new_row(&self) -> ConversationRow {
        let first = self.batch.items.iter().find_map(|item| item.at);
        let began = first.unwrap_or(self.now).min(self.now);
        ConversationRow {
            id: self.to.conversation,
            engine: self.source.engine.clone(),
            session: self.source.session.clone(),
            host: self.host.clone(),
            project: sanitize(&self.source.project, LONGEST_MESSAGE),
            cwd: sanitize(&self.source.cwd.display().to_string(), LONGEST_MESSAGE),
            title: String::new(),
            execution: None,
            task: None,
            slot: None,
            started_at: began,
            last_at: began,
            taken_at: self.now,
            next_place: 1,
            skipped: 0,
            diagnostic: None,
        }
    }

    /// Tells the timeline of the turns that are over, as far as that is news.
    async fn publish(&self, tx: &mut Tx<'_>, closed: &[Turn]) -> Result<(), StoreError> {
        let since = self.now.minus(std::time::Duration::from_secs(NEWS_SECS));
        let events: Vec<NewEvent> = closed
            .iter()
            .filter(|turn| turn.last_at >= since)
            .map(|turn| {
                let extracted = Event::TurnExtracted {
                    conversation: self.to.conversation,
                    turn: turns::id_of(self.to.conversation, turn.number),
                };
                NewEvent::new(self.now, self.daemon, TraceContext::root(), extracted)
            })
            .collect::<Result<_, _>>()?;
        timeline::append(tx, &events).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
