//! From the lines of a transcript to rows: read and made fit on a thread, then
//! committed together with the place behind them.

use std::hash::{Hash, Hasher};
use std::path::PathBuf;

use missiond_adapters::{
    CallOutcome, Record, RecordMemory, Recorded, Role, TailError, TranscriptTail, Written, records,
};
use missiond_context::request_of;
use missiond_core::{CliEngine, ConversationId, DaemonId, Event, Timestamp, TraceContext};
use missiond_knowledge::conversation::{
    Ending, LONGEST_INPUT, LONGEST_MESSAGE, LONGEST_OUTPUT, Noise, Step, Turn, kept, masked_json,
    next_turn, noise_of_message, noise_of_result, title,
};
use missiond_store::conversations::cursors::{self, CursorRow, Moved};
use missiond_store::conversations::items::{
    self, CallEnd, CallRow, EventRow, MessageRow, UsageRow,
};
use missiond_store::conversations::turns::{self, TurnRow};
use missiond_store::conversations::usage;
use missiond_store::conversations::{self, ConversationRow, Links};
use missiond_store::{NewEvent, StoreError, Tx, timeline};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{ConversationError, Conversations, on_thread};

/// What one conversation may hold; what comes after is counted and left out.
const MOST_PLACES: i64 = 100_000;
/// The longest text of a message that is noise.
const LONGEST_NOISE: usize = 2 << 10;
/// The longest name of a tool or a model.
const LONGEST_NAME: usize = 120;
/// The longest key as it is; longer ones are kept as a digest.
const LONGEST_KEY: usize = 120;
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
            conversation.project = kept(&self.project, LONGEST_MESSAGE);
        }
    }
}

/// How far a transcript was read, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
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
        match self.items.is_empty() {
            true => 0,
            false => hasher.finish().max(1),
        }
    }
}

/// A record as it is kept: masked, cut, bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    key: String,
    at: Option<Timestamp>,
    what: Kept,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kept {
    Message {
        role: &'static str,
        text: String,
        model: Option<String>,
        noise: Option<Noise>,
        bytes: i64,
    },
    Call {
        tool: String,
        input: String,
    },
    Result {
        outcome: CallOutcome,
        output: String,
        noise: Option<Noise>,
        bytes: i64,
    },
    Usage(UsageRow),
    /// In millionths of a US dollar.
    Cost(i64),
    Event(&'static str, Step<'static>),
}

/// What became of taking in a batch.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Done,
    /// Another daemon has read on from there.
    Elsewhere(String),
}

impl Conversations {
    /// Takes in what has come since; whether there is more to read at once.
    pub(super) async fn advance(&self, source: &Source) -> Result<bool, ConversationError> {
        let name = source.tail.source();
        let before = self.place_of(&name).await?;
        let place = before
            .as_deref()
            .and_then(|place| serde_json::from_str::<Place>(place).ok())
            .unwrap_or_else(|| Place {
                tail: source.tail.clone(),
                memory: RecordMemory::default(),
            });
        let known = place.clone();
        let engine = source.engine.clone();
        let read = on_thread(move || read(&engine, place)).await?;
        let (place, batch) = match read {
            Ok(read) => read,
            Err(error) => {
                tracing::debug!(source = name, %error, "no transcript");
                return Ok(false);
            }
        };
        // A database is read again from the moment of its last change: what was
        // there before is no news, but something may have come in that moment.
        let seen = (place == known).then(|| batch.digest());
        if seen.is_some_and(|seen| {
            seen == 0 || self.inner.seen().insert(name.clone(), seen) == Some(seen)
        }) {
            return Ok(false);
        }
        let written = serde_json::to_string(&place)
            .map_err(|error| ConversationError::Invalid(error.to_string()))?;
        let more = batch.more;
        let taking = Taking {
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
            .write(move |tx| Box::pin(async move { taking.take(tx).await }))
            .await?;
        match taken {
            Taken::Done => {
                self.inner.places().insert(name, written);
                Ok(more)
            }
            Taken::Elsewhere(place) => {
                self.inner.places().insert(name, place);
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
    async fn place_of(&self, source: &str) -> Result<Option<String>, ConversationError> {
        if let Some(place) = self.inner.places().get(source) {
            return Ok(Some(place.clone()));
        }
        let (host, named) = (self.inner.host.clone(), source.to_owned());
        let stored = self
            .inner
            .db
            .read(move |tx| Box::pin(async move { cursors::get(tx, &host, &named).await }))
            .await?;
        let place = stored.map(|cursor| cursor.place);
        if let Some(place) = &place {
            self.inner.places().insert(source.to_owned(), place.clone());
        }
        Ok(place)
    }
}

/// Reads on from a place. Blocks.
fn read(engine: &CliEngine, mut place: Place) -> Result<(Place, Batch), TailError> {
    let tailed = place.tail.advance()?;
    if tailed.restarted {
        place.memory = RecordMemory::default();
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
        match records(engine, &line.text, &mut place.memory) {
            Ok(records) => batch.items.extend(records.into_iter().filter_map(fit)),
            Err(error) => {
                batch.skipped += 1;
                let problem = format!("the line at {}: {error}", line.place);
                batch.diagnostic = Some(kept(&problem, 300));
            }
        }
    }
    Ok((place, batch))
}

/// A record as it is kept; none when it cannot be told from others.
fn fit(record: Record) -> Option<Item> {
    if record.key.is_empty() {
        return None;
    }
    let name = |text: &str| kept(text, LONGEST_NAME);
    let bytes = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let key = short_key(&record.key);
    let what = match record.what {
        Recorded::Message {
            role,
            text,
            model,
            written,
        } => {
            // What an agent is told behind a request was not said by the person.
            let text = match role {
                Role::Person => request_of(&text).to_owned(),
                Role::Agent => text,
            };
            let noise = match written {
                Written::Said => noise_of_message(&text),
                Written::ByProgram => noise_of_message(&text).or(Some(Noise::Program)),
                Written::Summary => Some(Noise::Summary),
                Written::Failure => Some(Noise::Failure),
            };
            let most = match noise {
                None => LONGEST_MESSAGE,
                Some(_) => LONGEST_NOISE,
            };
            Kept::Message {
                role: match role {
                    Role::Person => "person",
                    Role::Agent => "agent",
                },
                bytes: bytes(&text),
                text: kept(&text, most),
                model: model.as_deref().map(name),
                noise,
            }
        }
        Recorded::ToolStarted { tool, input } => Kept::Call {
            tool: name(&tool),
            input: match masked_json(&input) {
                serde_json::Value::Null => String::new(),
                serde_json::Value::String(text) => kept(&text, LONGEST_INPUT),
                other => kept(&other.to_string(), LONGEST_INPUT),
            },
        },
        Recorded::ToolEnded { outcome, output } => {
            let noise = noise_of_result(&output);
            let most = match noise {
                Some(Noise::Binary) => LONGEST_NAME,
                _ => LONGEST_OUTPUT,
            };
            Kept::Result {
                outcome,
                bytes: bytes(&output),
                output: kept(&output, most),
                noise,
            }
        }
        Recorded::Used(usage) => {
            let count = |tokens: u64| i64::try_from(tokens).unwrap_or(0).min(MOST_TOKENS);
            Kept::Usage(UsageRow {
                request: key.clone(),
                model: usage.model.as_deref().map(name),
                input: count(usage.input),
                output: count(usage.output),
                cache_read: count(usage.cache_read),
                cache_write: count(usage.cache_write),
                at: Timestamp::from_micros(0),
            })
        }
        Recorded::Cost(microdollars) => {
            Kept::Cost(i64::try_from(microdollars).unwrap_or(0).min(MOST_COST))
        }
        Recorded::TurnEnded => Kept::Event("turn_ended", Step::Ended),
        Recorded::Interrupted => Kept::Event("interrupted", Step::Interrupted),
        Recorded::Compacted => Kept::Event("compacted", Step::Other),
    };
    Some(Item {
        key,
        at: record.at,
        what,
    })
}

/// No request to a model costs more; sums of what transcripts claim stay sums.
const MOST_TOKENS: i64 = 1_000_000_000;
const MOST_COST: i64 = 1_000_000_000_000;

fn short_key(key: &str) -> String {
    if key.len() <= LONGEST_KEY && key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return key.to_owned();
    }
    let digest = Sha256::digest(key.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// One batch on its way into the store.
struct Taking {
    host: String,
    daemon: DaemonId,
    now: Timestamp,
    from: Option<String>,
    to: CursorRow,
    source: Source,
    batch: Batch,
}

impl Taking {
    async fn take(self, tx: &mut Tx<'_>) -> Result<Taken, StoreError> {
        let moved = cursors::advance(tx, &self.host, self.from.as_deref(), &self.to, self.now);
        if let Moved::Elsewhere(place) = moved.await? {
            return Ok(Taken::Elsewhere(place));
        }
        // A transcript with nothing in it yet is no conversation.
        if self.batch.items.is_empty() && self.batch.skipped == 0 {
            return Ok(Taken::Done);
        }
        let id = self.to.conversation;
        let conversation = conversations::hold(tx, &self.new_row()).await?;
        let mut adding = Adding {
            id,
            current: turns::last(tx, id).await?.map(of_row),
            closed: Vec::new(),
            latest: self.now.plus(std::time::Duration::from_secs(AHEAD_SECS)),
            conversation,
        };
        for item in &self.batch.items {
            adding.add(tx, item).await?;
        }
        let Adding {
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
        self.tell(tx, &closed).await?;
        Ok(Taken::Done)
    }

    fn new_row(&self) -> ConversationRow {
        let first = self.batch.items.iter().find_map(|item| item.at);
        let began = first.unwrap_or(self.now).min(self.now);
        ConversationRow {
            id: self.to.conversation,
            engine: self.source.engine.clone(),
            session: self.source.session.clone(),
            host: self.host.clone(),
            project: kept(&self.source.project, LONGEST_MESSAGE),
            cwd: kept(&self.source.cwd.display().to_string(), LONGEST_MESSAGE),
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
    async fn tell(&self, tx: &mut Tx<'_>, closed: &[Turn]) -> Result<(), StoreError> {
        let since = self.now.minus(std::time::Duration::from_secs(NEWS_SECS));
        let events: Vec<NewEvent> = closed
            .iter()
            .filter(|turn| turn.last_at >= since)
            .map(|turn| NewEvent {
                at: self.now,
                daemon: self.daemon,
                trace: TraceContext::root(),
                event: Event::TurnExtracted {
                    conversation: self.to.conversation,
                    turn: turns::id_of(self.to.conversation, turn.number),
                },
            })
            .collect();
        timeline::append(tx, &events).await?;
        Ok(())
    }
}

/// A conversation that is being added to, held until the transaction ends.
struct Adding {
    id: ConversationId,
    conversation: ConversationRow,
    current: Option<Turn>,
    /// Turns that ended in this batch.
    closed: Vec<Turn>,
    latest: Timestamp,
}

impl Adding {
    async fn add(&mut self, tx: &mut Tx<'_>, item: &Item) -> Result<(), StoreError> {
        let at = item
            .at
            .unwrap_or(self.conversation.last_at)
            .min(self.latest);
        let place = self.conversation.next_place;
        match &item.what {
            Kept::Usage(usage) => {
                let usage = UsageRow {
                    at,
                    ..usage.clone()
                };
                return items::put_usage(tx, self.id, &usage).await;
            }
            Kept::Cost(cost) => return usage::put_cost(tx, self.id, &item.key, *cost, at).await,
            Kept::Result {
                outcome,
                output,
                noise,
                bytes,
            } => {
                let end = CallEnd {
                    call: item.key.clone(),
                    outcome: outcome_name(*outcome).to_owned(),
                    output: output.clone(),
                    noise: noise.map(|noise| noise.name().to_owned()),
                    bytes: *bytes,
                    at,
                };
                let Some(turn) = items::end_call(tx, self.id, &end).await? else {
                    return Ok(());
                };
                return self.ended(tx, turn, *outcome, at).await;
            }
            _ if place > MOST_PLACES => {
                self.conversation.skipped += 1;
                self.conversation.diagnostic =
                    Some(format!("what comes after {MOST_PLACES} places is left out"));
                return Ok(());
            }
            _ => {}
        }
        let step = match &item.what {
            Kept::Message { noise: Some(_), .. } => Step::Noise,
            Kept::Message { role, text, .. } if *role == "person" => Step::Prompt(text),
            Kept::Message { text, .. } => Step::Answer(text),
            Kept::Call { .. } => Step::ToolBegan,
            Kept::Event(_, step) => *step,
            Kept::Result { .. } | Kept::Usage(_) | Kept::Cost(_) => Step::Other,
        };
        let turn = next_turn(self.current.as_ref(), step, place, at);
        if !self.insert(tx, item, place, turn.number, at).await? {
            return Ok(());
        }
        if let Step::Prompt(text) = step
            && self.conversation.title.is_empty()
        {
            self.conversation.title = title(text);
        }
        self.conversation.next_place = place + 1;
        self.conversation.started_at = self.conversation.started_at.min(at);
        self.conversation.last_at = self.conversation.last_at.max(at);
        self.turn_is(tx, turn).await
    }

    async fn insert(
        &self,
        tx: &mut Tx<'_>,
        item: &Item,
        place: i64,
        turn: i64,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let key = item.key.clone();
        match &item.what {
            Kept::Message {
                role,
                text,
                model,
                noise,
                bytes,
            } => {
                let row = MessageRow {
                    place,
                    key,
                    turn,
                    role: (*role).to_owned(),
                    text: text.clone(),
                    model: model.clone(),
                    noise: noise.map(|noise| noise.name().to_owned()),
                    bytes: *bytes,
                    at,
                };
                items::add_message(tx, self.id, &row).await
            }
            Kept::Call { tool, input } => {
                let row = CallRow {
                    place,
                    call: key,
                    turn,
                    tool: tool.clone(),
                    input: input.clone(),
                    outcome: None,
                    output: String::new(),
                    noise: None,
                    bytes: 0,
                    at,
                    ended_at: None,
                };
                items::add_call(tx, self.id, &row).await
            }
            Kept::Event(kind, _) => {
                let row = EventRow {
                    place,
                    key,
                    turn,
                    kind: (*kind).to_owned(),
                    at,
                };
                items::add_event(tx, self.id, &row).await
            }
            Kept::Result { .. } | Kept::Usage(_) | Kept::Cost(_) => Ok(false),
        }
    }

    /// A call of some turn has ended.
    async fn ended(
        &mut self,
        tx: &mut Tx<'_>,
        turn: i64,
        outcome: CallOutcome,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.conversation.last_at = self.conversation.last_at.max(at);
        let current = self.current.as_ref().filter(|now| now.number == turn);
        let failed = outcome != CallOutcome::Succeeded;
        match current {
            Some(now) => {
                let step = match failed {
                    true => Step::ToolFailed,
                    false => Step::Other,
                };
                let now = next_turn(Some(now), step, now.last_place, at);
                self.turn_is(tx, now).await
            }
            None if failed => turns::count_failure(tx, self.id, turn).await,
            None => Ok(()),
        }
    }

    async fn turn_is(&mut self, tx: &mut Tx<'_>, turn: Turn) -> Result<(), StoreError> {
        turns::put(tx, self.id, &to_row(&turn)).await?;
        let before = self.current.replace(turn.clone());
        match before {
            // Nothing said that it was over, but another has begun.
            Some(before) if before.number != turn.number => {
                if before.ending.is_none() {
                    self.closed.push(before);
                }
                if turn.ending.is_some() {
                    self.closed.push(turn);
                }
            }
            before => {
                let was_over = before.is_some_and(|before| before.ending.is_some());
                if turn.ending.is_some() && !was_over {
                    self.closed.push(turn);
                }
            }
        }
        Ok(())
    }
}

fn outcome_name(outcome: CallOutcome) -> &'static str {
    match outcome {
        CallOutcome::Succeeded => "succeeded",
        CallOutcome::Failed => "failed",
        CallOutcome::Denied => "denied",
    }
}

fn to_row(turn: &Turn) -> TurnRow {
    TurnRow {
        number: turn.number,
        first_place: turn.first_place,
        last_place: turn.last_place,
        prompt: turn.prompt.clone(),
        answer: turn.answer.clone(),
        messages: turn.messages,
        tools: turn.tools,
        failed: turn.failed,
        ending: turn.ending.map(|ending| ending.name().to_owned()),
        began_at: turn.began_at,
        last_at: turn.last_at,
    }
}

fn of_row(row: TurnRow) -> Turn {
    Turn {
        number: row.number,
        first_place: row.first_place,
        last_place: row.last_place,
        prompt: row.prompt,
        answer: row.answer,
        messages: row.messages,
        tools: row.tools,
        failed: row.failed,
        ending: row.ending.as_deref().and_then(Ending::parse),
        began_at: row.began_at,
        last_at: row.last_at,
    }
}

#[cfg(test)]
mod tests;
