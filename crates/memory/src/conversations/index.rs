//! What was said and what tools were told, by its words, in memory. The index holds numbers, not texts:
//! about 8 bytes a distinct word of a message. When it grows beyond what the
//! configuration allows, the oldest third goes, and a search says from when on
//! it has looked.
//!
//! It follows the store by what was taken in since, so it has what other daemons
//! on the database took in as well, a moment later.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use missiond_core::{BoardTaskId, CliEngine, ConversationId, Timestamp};
use missiond_knowledge::keyword::{DocNo, KeywordIndex, TermWeights};
use missiond_knowledge::tokens::tokens;
use missiond_runtime::blocking;
use missiond_store::conversations::items::{self, CallRow, MessageRow, Window};
use missiond_store::conversations::{self, ConversationRow};

use super::input_text::input_text;
use super::own_words::speech_about_task;
use super::{ConversationError, Conversations, Inner};

/// Rows read from the store at once.
const PAGE: u32 = 200;
/// Commits come later than the moment they bear, and other hosts have clocks of
/// their own: so far back is looked again.
const MARGIN: Duration = Duration::from_secs(300);

/// What is searched.
#[derive(Debug, Default)]
pub(super) struct Index {
    words: KeywordIndex,
    items: Vec<IndexedItem>,
    conversations: Vec<IndexedConversation>,
    numbers: HashMap<ConversationId, u32>,
    /// The store was followed to here.
    followed: Option<Timestamp>,
    /// What was said before is not in it.
    pub(super) since: Option<Timestamp>,
}

/// What a tool was told counts less than what people and agents said.
const OF_A_TOOL: f32 = 0.5;

/// A message, or the input of a tool, that can be found.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexedItem {
    pub(super) conversation: u32,
    /// It was said to a tool.
    pub(super) to_tool: bool,
    pub(super) place: i64,
    pub(super) at: Timestamp,
}

/// What stands at one place of a conversation, ready for the index.
#[derive(Debug)]
struct Prepared {
    place: i64,
    at: Timestamp,
    to_tool: bool,
    /// None if it is noise.
    terms: Option<TermWeights>,
}

/// A conversation of which something is in the index.
#[derive(Debug, Clone)]
pub(super) struct IndexedConversation {
    pub(super) id: ConversationId,
    pub(super) engine: CliEngine,
    pub(super) project: String,
    pub(super) task: Option<BoardTaskId>,
    /// Its messages up to this place were looked at.
    place: i64,
}

impl Index {
    pub(super) fn words(&self) -> &KeywordIndex {
        &self.words
    }

    pub(super) fn item(&self, doc: DocNo) -> Option<(&IndexedItem, &IndexedConversation)> {
        let item = self.items.get(doc as usize)?;
        let conversation = self.conversations.get(item.conversation as usize)?;
        Some((item, conversation))
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Bytes, roughly.
    fn bytes(&self) -> usize {
        self.words.bytes() + self.items.capacity() * size_of::<IndexedItem>()
    }

    /// Notes a conversation as it is now; the place behind what was looked at.
    fn insert_conversation(&mut self, row: &ConversationRow) -> i64 {
        let next = self.conversations.len() as u32;
        let number = *self.numbers.entry(row.id).or_insert(next);
        if number == next {
            self.conversations.push(IndexedConversation {
                id: row.id,
                engine: row.engine.clone(),
                project: row.project.clone(),
                task: row.task,
                place: 0,
            });
        }
        let known = &mut self.conversations[number as usize];
        known.project.clone_from(&row.project);
        known.task = row.task;
        known.place
    }

    fn place_of(&self, id: ConversationId) -> i64 {
        let number = self.numbers.get(&id).copied();
        number.map_or(0, |number| self.conversations[number as usize].place)
    }

    fn add(&mut self, id: ConversationId, prepared: Vec<Prepared>) {
        let Some(&conversation) = self.numbers.get(&id) else {
            return;
        };
        for one in prepared {
            let known = &mut self.conversations[conversation as usize];
            if one.place <= known.place {
                continue;
            }
            known.place = one.place;
            let old = self.since.is_some_and(|since| one.at < since);
            let Some(terms) = one.terms.filter(|_| !old) else {
                continue;
            };
            self.words.add(terms);
            self.items.push(IndexedItem {
                conversation,
                to_tool: one.to_tool,
                place: one.place,
                at: one.at,
            });
        }
    }

    /// The same without what was said first, to be filled from the store again.
    fn emptied(&self) -> Self {
        let mut times: Vec<Timestamp> = self.items.iter().map(|item| item.at).collect();
        times.sort_unstable();
        let third = times.get(times.len() / 3);
        Self {
            // Behind that moment, so that something goes however much was said in it.
            since: third.map(|at| at.plus(Duration::from_micros(1))),
            ..Self::default()
        }
    }
}

impl Conversations {
    /// Brings the index up to what is in the store.
    pub(super) async fn follow_store(&self) -> Result<(), ConversationError> {
        let _alone = self.inner.following.lock().await;
        let allowed = self.inner.config.borrow().conversations.index_mb;
        let allowed = (allowed as usize) << 20;
        loop {
            self.fill().await?;
            let replacement = {
                let index = self.inner.read_index();
                (index.bytes() > allowed && index.items.len() > 1).then(|| index.emptied())
            };
            let Some(replacement) = replacement else {
                return Ok(());
            };
            tracing::info!(since = ?replacement.since, "conversation index shortened");
            *self.inner.write_index() = replacement;
        }
    }

    async fn fill(&self) -> Result<(), ConversationError> {
        let began = self.inner.now();
        let from = self.inner.read_index().followed;
        let from = from.map_or(Timestamp::from_micros(0), |at| at.minus(MARGIN));
        let mut after = (from, None);
        loop {
            let page = self
                .inner
                .db
                .read(move |tx| Box::pin(conversations::ingested_since(tx, after.0, after.1, PAGE)))
                .await?;
            let Some(last) = page.last() else {
                break;
            };
            after = (last.taken_at, Some(last.id));
            let full = page.len() as u32 == PAGE;
            for row in &page {
                let known = self.inner.write_index().insert_conversation(row);
                if known + 1 < row.next_place {
                    self.fill_from(row.id, About::of(row)).await?;
                }
            }
            if !full {
                break;
            }
        }
        self.inner.write_index().followed = Some(began);
        Ok(())
    }

    async fn fill_from(&self, id: ConversationId, about: About) -> Result<(), ConversationError> {
        loop {
            let window = Window {
                after: self.inner.read_index().place_of(id),
                turn: None,
                limit: PAGE,
            };
            let (messages, calls) = self
                .inner
                .db
                .read(move |tx| {
                    Box::pin(async move {
                        let messages = items::messages(tx, id, window).await?;
                        Ok((messages, items::calls(tx, id, window).await?))
                    })
                })
                .await?;
            if messages.is_empty() && calls.is_empty() {
                return Ok(());
            }
            let full = messages.len().max(calls.len()) as u32 == PAGE;
            let prepared = blocking(move || in_order(messages, calls, about)).await;
            self.inner.write_index().add(id, prepared);
            if !full {
                return Ok(());
            }
        }
    }
}

/// Whether missiond may have spoken in a conversation for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Task,
    Other,
}

impl About {
    pub(super) fn of(row: &ConversationRow) -> Self {
        match row.task {
            Some(_) => Self::Task,
            None => Self::Other,
        }
    }

    /// What somebody said in a message that is stored.
    pub(super) fn speech<'t>(self, role: &str, text: &'t str) -> Cow<'t, str> {
        match (self, role) {
            (Self::Task, "person") => speech_about_task(text),
            _ => Cow::Borrowed(text),
        }
    }
}

/// Messages and calls by their places, as far as both were read.
fn in_order(messages: Vec<MessageRow>, calls: Vec<CallRow>, about: About) -> Vec<Prepared> {
    let end = |count: usize, last: Option<i64>| match last {
        Some(last) if count as u32 == PAGE => last,
        _ => i64::MAX,
    };
    let last = end(messages.len(), messages.last().map(|row| row.place))
        .min(end(calls.len(), calls.last().map(|row| row.place)));
    let terms = |text: &str, weight: f32| {
        let mut terms = TermWeights::default();
        terms.add(&tokens(text), weight);
        terms
    };
    let said = messages.into_iter().map(|row| Prepared {
        place: row.place,
        at: row.at,
        to_tool: false,
        terms: Some(about.speech(&row.role, &row.text))
            .filter(|speech| row.noise.is_none() && !speech.is_empty())
            .map(|speech| terms(&speech, 1.0)),
    });
    let told = calls.into_iter().map(|row| Prepared {
        place: row.place,
        at: row.at,
        to_tool: true,
        terms: Some(input_text(&row.input))
            .filter(|text| !text.is_empty())
            .map(|text| terms(&text, OF_A_TOOL)),
    });
    let mut all: Vec<Prepared> = said.chain(told).filter(|one| one.place <= last).collect();
    all.sort_by_key(|one| one.place);
    all
}

impl Inner {
    pub(super) fn read_index(&self) -> parking_lot::RwLockReadGuard<'_, Index> {
        self.index.read()
    }

    fn write_index(&self) -> parking_lot::RwLockWriteGuard<'_, Index> {
        self.index.write()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn message(place: i64, noise: Option<&str>) -> MessageRow {
        let text = format!("word{place}");
        MessageRow {
            place,
            key: text.clone(),
            turn: 1,
            role: "person".into(),
            bytes: 5,
            text,
            model: None,
            noise: noise.map(str::to_owned),
            at: at(place),
        }
    }

    fn call(place: i64) -> CallRow {
        CallRow {
            place,
            call: format!("call{place}"),
            turn: 1,
            tool: "Bash".into(),
            input: format!("word{place}"),
            outcome: None,
            output: String::new(),
            noise: None,
            bytes: 0,
            at: at(place),
            ended_at: None,
        }
    }

    fn conversation() -> ConversationRow {
        let engine = CliEngine::Claude;
        ConversationRow {
            id: conversations::id_of(&engine, "s"),
            engine,
            session: "s".into(),
            host: "here".into(),
            project: "/src".into(),
            cwd: "/src".into(),
            title: String::new(),
            execution: None,
            task: None,
            slot: None,
            started_at: at(0),
            last_at: at(9),
            taken_at: at(9),
            next_place: 10,
            skipped: 0,
            diagnostic: None,
        }
    }

    fn filled(mut index: Index) -> Index {
        let row = conversation();
        index.insert_conversation(&row);
        let noise = |place| (place == 9).then_some("command");
        let messages = (1..10).map(|place| message(place, noise(place))).collect();
        index.add(row.id, in_order(messages, Vec::new(), About::Other));
        index
    }

    #[test]
    fn messages_and_calls_are_taken_as_far_as_both_were_read() {
        let page = i64::from(PAGE);
        let messages: Vec<_> = (0..page).map(|n| message(2 * n + 1, None)).collect();
        let calls = (1..=page).map(|n| call(4 * n)).collect();
        let last = messages.last().map(|row| row.place);
        let taken = in_order(messages, calls, About::Other);
        let places: Vec<i64> = taken.iter().map(|one| one.place).collect();
        assert!(places.is_sorted());
        // The calls behind the last message may have messages before them.
        assert_eq!(places.last().copied(), last);
        assert_eq!(
            taken.iter().filter(|one| one.to_tool).count() as i64,
            page / 2 - 1
        );
    }

    #[test]
    fn what_was_added_once_or_is_noise_is_not_added() {
        let index = filled(filled(Index::default()));
        assert_eq!(index.len(), 8);
        assert_eq!(index.since, None);
        let places: Vec<_> = index.items.iter().map(|item| item.place).collect();
        assert_eq!(places, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn what_missiond_said_is_not_found_also_where_it_was_stored_as_speech() {
        let told = "An earlier attempt left its work in this folder: look at it first, then go on.";
        let asked = |place: i64, text: String| MessageRow {
            text,
            ..message(place, None)
        };
        let messages = vec![
            asked(1, format!("T-7: Say goodbye\n\n{told}")),
            asked(2, "T-7: the next step.".to_owned()),
            asked(3, "look again at the door".to_owned()),
        ];
        let found = |about: About, word: &str| {
            let row = conversation();
            let mut index = Index::default();
            index.insert_conversation(&row);
            index.add(row.id, in_order(messages.clone(), Vec::new(), about));
            let query = tokens(word);
            let query = index
                .words()
                .query(&query, missiond_knowledge::Profile::best().bm25);
            let mut places: Vec<i64> = query
                .best(10, &|_| true)
                .into_iter()
                .filter_map(|hit| Some(index.item(hit.doc)?.0.place))
                .collect();
            places.sort_unstable();
            places
        };
        assert_eq!(found(About::Other, "look"), [1, 3]);
        assert_eq!(found(About::Task, "look"), [3]);
        assert_eq!(found(About::Task, "goodbye"), [1]);
        assert_eq!(found(About::Task, "step"), [0_i64; 0]);
    }

    #[test]
    fn what_was_said_first_goes_first() {
        let index = filled(Index::default());
        let shorter = filled(index.emptied());
        let places: Vec<_> = shorter.items.iter().map(|item| item.place).collect();
        assert_eq!(places, [4, 5, 6, 7, 8]);
        assert_eq!(shorter.since, Some(Timestamp::from_micros(3_000_001)));
    }
}
