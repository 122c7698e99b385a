//! Finding what was said, and what tools were told: words in memory, texts from the store for what was
//! found.

use std::collections::HashSet;
use std::sync::Arc;

use missiond_core::{AbsolutePath, BoardTaskId, CliEngine, ConversationId, SaidBy, Timestamp};
use missiond_knowledge::Profile;
use missiond_knowledge::snippet::{SNIPPET_TOKENS, Snippet, snippet};
use missiond_knowledge::tokens::{exact_parts, plain, tokens};
use missiond_runtime::blocking;
use missiond_store::conversations::items::{self, CallRow, MessageRow};
use missiond_store::conversations::{self, ConversationRow};

use super::index::About;
use super::input_text::input_text;
use super::show::{project_named, role_of};
use super::{ConversationError, Conversations};

/// Candidates whose texts are compared with what the query quotes.
const CANDIDATES: usize = 100;

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words, names, or a phrase in quotes.
    pub query: String,
    pub engine: Option<CliEngine>,
    /// A folder of the project.
    pub project: Option<AbsolutePath>,
    pub task: Option<BoardTaskId>,
    /// Said at or after this moment.
    pub since: Option<Timestamp>,
    /// Said before this moment.
    pub until: Option<Timestamp>,
    pub limit: usize,
    /// Hits to pass over, for the next page.
    pub offset: usize,
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct SearchAnswer {
    pub hits: Vec<ConversationHit>,
    /// There is a next page.
    pub more: bool,
    /// How many messages and tool calls were looked at.
    pub searched: u64,
    /// What was said before this moment was not; none when everything was.
    pub searched_since: Option<Timestamp>,
}

/// Something that was said, or told to a tool.
#[derive(Debug, Clone)]
pub struct ConversationHit {
    pub conversation: ConversationRow,
    pub place: i64,
    pub turn: i64,
    pub role: SaidBy,
    /// The tool this was said to; it is the input of a call then.
    pub tool: Option<String>,
    pub at: Timestamp,
    pub snippet: Snippet,
    pub score: f32,
}

/// Where to look.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) engine: Option<CliEngine>,
    pub(super) project: Option<String>,
    pub(super) task: Option<BoardTaskId>,
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    /// Also what tools were told.
    pub(super) tools: bool,
}

/// What was found, as the store has it.
#[derive(Debug, Clone)]
pub(super) struct StoredHit {
    pub(super) conversation: ConversationRow,
    pub(super) place: i64,
    pub(super) turn: i64,
    pub(super) role: SaidBy,
    /// The tool it was said to.
    pub(super) tool: Option<String>,
    pub(super) text: String,
    pub(super) at: Timestamp,
    pub(super) score: f32,
}

impl StoredHit {
    fn of_message(conversation: ConversationRow, row: &MessageRow, score: f32) -> Self {
        let speech = About::of(&conversation).speech(&row.role, &row.text);
        let speech = speech.into_owned();
        Self {
            conversation,
            place: row.place,
            turn: row.turn,
            role: role_of(&row.role),
            tool: None,
            text: speech,
            at: row.at,
            score,
        }
    }

    fn of_call(conversation: ConversationRow, row: CallRow, score: f32) -> Self {
        Self {
            conversation,
            place: row.place,
            turn: row.turn,
            role: SaidBy::Agent,
            tool: Some(row.tool),
            text: input_text(&row.input),
            at: row.at,
            score,
        }
    }
}

pub(super) fn check_query(query: &str) -> Result<(), ConversationError> {
    if query.trim().is_empty() {
        return Err(ConversationError::Invalid("`query` is empty".to_owned()));
    }
    Ok(())
}

impl Conversations {
    pub async fn search(&self, asked: SearchQuery) -> Result<SearchAnswer, ConversationError> {
        let query = asked.query;
        check_query(&query)?;
        let scope = Scope {
            engine: asked.engine,
            project: project_named(asked.project).await,
            task: asked.task,
            since: asked.since,
            until: asked.until,
            tools: true,
        };
        self.follow_store().await?;
        let wanted = asked.offset + asked.limit;
        let mut found = self.find(&query, scope, wanted + 1).await?;
        let more = found.len() > wanted;
        found.truncate(wanted);
        let words = tokens(&query);
        let hits = found
            .into_iter()
            .skip(asked.offset)
            .map(|found| ConversationHit {
                snippet: snippet(&found.text, &words, SNIPPET_TOKENS),
                conversation: found.conversation,
                place: found.place,
                turn: found.turn,
                role: found.role,
                tool: found.tool,
                at: found.at,
                score: found.score,
            })
            .collect();
        let index = self.inner.read_index();
        Ok(SearchAnswer {
            hits,
            more,
            searched: index.len() as u64,
            searched_since: index.since,
        })
    }

    /// The best, the best first; of equal ones the newer.
    pub(super) async fn find(
        &self,
        query: &str,
        scope: Scope,
        limit: usize,
    ) -> Result<Vec<StoredHit>, ConversationError> {
        let asked = tokens(query);
        let inner = Arc::clone(&self.inner);
        let candidates = limit.max(CANDIDATES);
        let mut best = blocking(move || {
            let index = inner.read_index();
            let fits = |doc| {
                index.item(doc).is_some_and(|(item, conversation)| {
                    scope
                        .engine
                        .as_ref()
                        .is_none_or(|engine| *engine == conversation.engine)
                        && scope
                            .project
                            .as_ref()
                            .is_none_or(|project| *project == conversation.project)
                        && scope
                            .task
                            .is_none_or(|task| conversation.task == Some(task))
                        && (scope.tools || !item.to_tool)
                        && scope.since.is_none_or(|since| item.at >= since)
                        && scope.until.is_none_or(|until| item.at < until)
                })
            };
            let query = index.words().query(&asked, Profile::best().bm25);
            let best = query.best(candidates, &fits);
            let place = |hit: missiond_knowledge::keyword::Scored| {
                let (item, conversation) = index.item(hit.doc)?;
                Some((hit.score, item.at, conversation.id, item.place))
            };
            best.into_iter().filter_map(place).collect::<Vec<_>>()
        })
        .await;
        best.sort_by(|one, other| {
            let by_score = other.0.total_cmp(&one.0);
            by_score
                .then(other.1.cmp(&one.1))
                .then((one.2, one.3).cmp(&(other.2, other.3)))
        });
        let exact = exact_parts(query);
        let mut places = best
            .into_iter()
            .map(|(score, _, conversation, place)| (score, conversation, place));
        let mut found = Vec::new();
        let mut shown = HashSet::new();
        loop {
            // Texts are read only as far as they are shown, unless they decide.
            let missing = match exact.phrases.len() {
                0 => limit.saturating_sub(found.len()),
                _ => usize::MAX,
            };
            let next: Vec<_> = places.by_ref().take(missing).collect();
            if next.is_empty() {
                break;
            }
            // An edit that many attempts made, word for word, is one answer.
            let texts = self.texts(next).await?.into_iter();
            found.extend(texts.filter(|hit| shown.insert((hit.tool.clone(), hit.text.clone()))));
        }
        if !exact.phrases.is_empty() {
            let has = |found: &StoredHit| {
                let text = plain(&found.text);
                exact.phrases.iter().all(|phrase| text.contains(phrase))
            };
            // A stable sort: what has every phrase comes first, as it was.
            found.sort_by_cached_key(|found| !has(found));
            found.truncate(limit);
        }
        Ok(found)
    }

    async fn texts(
        &self,
        places: Vec<(f32, ConversationId, i64)>,
    ) -> Result<Vec<StoredHit>, ConversationError> {
        let found = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let mut found = Vec::with_capacity(places.len());
                    for (score, id, place) in places {
                        // What was forgotten meanwhile is not there any more.
                        let Some(conversation) = conversations::get(tx, id).await? else {
                            continue;
                        };
                        if let Some(row) = items::message(tx, id, place).await? {
                            found.push(StoredHit::of_message(conversation, &row, score));
                        } else if let Some(row) = items::call(tx, id, place).await? {
                            found.push(StoredHit::of_call(conversation, row, score));
                        }
                    }
                    Ok(found)
                })
            })
            .await?;
        Ok(found)
    }
}
