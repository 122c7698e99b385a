//! Listing conversations and looking into one.

use std::fmt;
use std::str::FromStr;

use missiond_config::UsageConfig;
use missiond_core::{
    AbsolutePath, BoardTaskId, CliEngine, Conversation, ConversationId, ConversationItem,
    ConversationTurn, ExecutionId, SaidBy, Timestamp, TokenCounts, ToolOutcome,
};
use missiond_runtime::blocking;
use missiond_store::conversations::items::{self, CallRow, EventRow, MessageRow, Window};
use missiond_store::conversations::turns::{self, TurnRow};
use missiond_store::conversations::usage::{self, ByModel};
use missiond_store::conversations::{self, ConversationFilter, ConversationRow, Counts};
use missiond_store::token_usage::Used;
use missiond_store::{StoreError, Tx};

use super::project::project_of;
use super::{ConversationError, Conversations};
use crate::cost;

/// Texts of one answer, together: an answer is one line on the wire.
const MOST_BYTES: usize = 400 << 10;
/// The shortest beginning of a name by which a conversation is looked for.
const SHORTEST_NAME: usize = 4;

/// Which conversations a list has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    pub engine: Option<CliEngine>,
    /// A folder of the project.
    pub project: Option<AbsolutePath>,
    pub task: Option<BoardTaskId>,
    pub execution: Option<ExecutionId>,
    /// Something was said at or after this moment.
    pub since: Option<Timestamp>,
    /// It began before this moment.
    pub until: Option<Timestamp>,
    pub limit: u32,
    /// `next` of an earlier page.
    pub after: Option<ConversationCursor>,
}

/// A part of a list of conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationPage {
    pub conversations: Vec<Conversation>,
    /// Where the rest of the list begins.
    pub next: Option<ConversationCursor>,
}

/// How far a list of conversations was read: up to this one, in which something was
/// said last at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConversationCursor {
    last_at: Timestamp,
    id: ConversationId,
}

impl fmt::Display for ConversationCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.last_at.as_micros(), self.id)
    }
}

impl FromStr for ConversationCursor {
    type Err = ConversationError;

    fn from_str(text: &str) -> Result<Self, ConversationError> {
        let parsed = text.split_once('.').and_then(|(at, id)| {
            Some(Self {
                last_at: Timestamp::from_micros(at.parse().ok()?),
                id: id.parse().ok()?,
            })
        });
        parsed.ok_or_else(|| {
            let message = "`after` must be what `next` of an earlier answer says";
            ConversationError::Invalid(message.into())
        })
    }
}

/// Which items of a conversation are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemWindow {
    pub from: WindowStart,
    /// Of this turn alone.
    pub turn: Option<i64>,
    pub limit: u32,
}

/// Where a window begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowStart {
    First,
    /// Behind this place.
    After(i64),
    /// So that it has the last items.
    Newest,
}

/// Part of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationView {
    pub conversation: Conversation,
    /// The turns the items belong to.
    pub turns: Vec<ConversationTurn>,
    pub items: Vec<ConversationItem>,
    /// The place to go on behind; none at the end.
    pub next: Option<i64>,
}

impl Conversations {
    pub async fn list(
        &self,
        query: ListQuery,
        prices: &UsageConfig,
    ) -> Result<ConversationPage, ConversationError> {
        let limit = query.limit;
        let filter = ConversationFilter {
            engine: query.engine,
            project: project_named(query.project).await,
            task: query.task,
            execution: query.execution,
            since: query.since,
            until: query.until,
            after: query.after.map(|cursor| (cursor.last_at, cursor.id)),
            limit: limit + 1,
        };
        let mut found = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let mut found = Vec::new();
                    for row in conversations::list(tx, &filter).await? {
                        let counts = conversations::counts(tx, row.id).await?;
                        let used = usage::of_conversation(tx, row.id).await?;
                        let told = usage::reported_cost(tx, row.id).await?;
                        found.push((row, counts, used, told));
                    }
                    Ok(found)
                })
            })
            .await?;
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let last = found.last().filter(|_| more);
        let next = last.map(|(row, ..)| ConversationCursor {
            last_at: row.last_at,
            id: row.id,
        });
        let conversations = found.into_iter().map(|one| conversation(one, prices));
        Ok(ConversationPage {
            conversations: conversations.collect(),
            next,
        })
    }

    pub async fn show(
        &self,
        name: &str,
        window: ItemWindow,
        prices: &UsageConfig,
    ) -> Result<ConversationView, ConversationError> {
        let row = self.named(name).await?;
        let id = row.id;
        let ItemWindow { from, turn, limit } = window;
        let window = Window {
            after: match from {
                WindowStart::First => 0,
                WindowStart::After(place) => place,
                WindowStart::Newest => row.next_place - 1 - i64::from(limit),
            },
            turn,
            limit,
        };
        let (counts, used, told, shown, turns) = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let counts = conversations::counts(tx, id).await?;
                    let used = usage::of_conversation(tx, id).await?;
                    let told = usage::reported_cost(tx, id).await?;
                    let shown = Shown::read(tx, id, window).await?;
                    let numbers = shown.items.iter().map(ConversationItem::turn);
                    let turns = match (numbers.clone().min(), numbers.max()) {
                        (Some(first), Some(last)) => {
                            let count = u32::try_from(last - first + 1).unwrap_or(1);
                            with_usage(tx, id, first - 1, count).await?
                        }
                        _ => Vec::new(),
                    };
                    Ok((counts, used, told, shown, turns))
                })
            })
            .await?;
        Ok(ConversationView {
            conversation: conversation((row, counts, used, told), prices),
            turns: turns
                .into_iter()
                .map(|one| conversation_turn(one, prices))
                .collect(),
            items: shown.items,
            next: shown.next,
        })
    }

    /// The conversation with this id or, as far as that is only one, whose CLI's
    /// own name begins so.
    pub(super) async fn named(&self, name: &str) -> Result<ConversationRow, ConversationError> {
        let shown: String = name.chars().take(128).collect();
        let unknown = || ConversationError::Unknown(shown.clone());
        if let Ok(id) = name.parse::<ConversationId>() {
            let found = self
                .inner
                .db
                .read(move |tx| Box::pin(conversations::get(tx, id)))
                .await?;
            return found.ok_or_else(unknown);
        }
        if name.len() < SHORTEST_NAME || name.len() > 128 || name.contains('\0') {
            return Err(unknown());
        }
        let beginning = name.to_owned();
        let found = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move { conversations::by_session(tx, &beginning).await })
            })
            .await?;
        match &found[..] {
            [] => Err(unknown()),
            [only] => Ok(only.clone()),
            [first, ..] if first.session == name => Ok(first.clone()),
            _ => Err(ConversationError::Several(shown)),
        }
    }
}

/// The project a person means by a folder.
pub(super) async fn project_named(folder: Option<AbsolutePath>) -> Option<String> {
    let folder = folder?;
    Some(blocking(move || project_of(folder.as_path())).await)
}

/// Part of a conversation, within what an answer may hold.
struct Shown {
    items: Vec<ConversationItem>,
    next: Option<i64>,
}

impl Shown {
    async fn read(tx: &mut Tx<'_>, id: ConversationId, window: Window) -> Result<Self, StoreError> {
        let one_more = Window {
            limit: window.limit + 1,
            ..window
        };
        let mut all: Vec<ConversationItem> = Vec::new();
        let messages = items::messages(tx, id, one_more).await?;
        all.extend(messages.into_iter().map(of_message));
        all.extend(
            items::calls(tx, id, one_more)
                .await?
                .into_iter()
                .map(of_call),
        );
        all.extend(
            items::events(tx, id, one_more)
                .await?
                .into_iter()
                .map(of_event),
        );
        all.sort_by_key(ConversationItem::sort_key);
        let mut bytes = 0;
        let mut shown = Vec::new();
        let mut next = None;
        for item in all {
            bytes += item.bytes();
            let full = shown.len() as u32 == window.limit;
            if full || (bytes > MOST_BYTES && !shown.is_empty()) {
                next = shown.last().map(ConversationItem::sort_key);
                break;
            }
            shown.push(item);
        }
        Ok(Self { items: shown, next })
    }
}

pub(super) fn role_of(role: &str) -> SaidBy {
    match role {
        "person" => SaidBy::Person,
        _ => SaidBy::Agent,
    }
}

fn of_message(row: MessageRow) -> ConversationItem {
    ConversationItem::Message {
        place: row.place,
        turn: row.turn,
        at: row.at,
        role: role_of(&row.role),
        cut: is_cut(row.bytes, &row.text),
        text: row.text,
        model: row.model,
        noise: row.noise,
    }
}

fn of_call(row: CallRow) -> ConversationItem {
    ConversationItem::ToolCall {
        place: row.place,
        turn: row.turn,
        at: row.at,
        tool: row.tool,
        input: row.input,
        outcome: row.outcome.as_deref().and_then(|outcome| match outcome {
            "succeeded" => Some(ToolOutcome::Succeeded),
            "failed" => Some(ToolOutcome::Failed),
            "denied" => Some(ToolOutcome::Denied),
            _ => None,
        }),
        cut: is_cut(row.bytes, &row.output),
        output: row.output,
        noise: row.noise,
        ended_at: row.ended_at,
    }
}

fn of_event(row: EventRow) -> ConversationItem {
    ConversationItem::Event {
        place: row.place,
        turn: row.turn,
        at: row.at,
        event: row.kind,
    }
}

/// Masking may have made it longer or shorter, but not by as much.
fn is_cut(bytes: i64, text: &str) -> bool {
    text.contains("\n[…]\n") && bytes > text.len() as i64 / 2
}

/// A turn with what each request to the model in it used.
type TurnUsed = (TurnRow, ByModel);

/// Some turns of a conversation. A request belongs to the turn in which it was
/// made: not before its prompt, and before the next one.
async fn with_usage(
    tx: &mut Tx<'_>,
    id: ConversationId,
    after: i64,
    count: u32,
) -> Result<Vec<TurnUsed>, StoreError> {
    let mut rows = turns::of_conversation(tx, id, after, count.saturating_add(1)).await?;
    let next = if rows.len() > count as usize {
        rows.pop().map(|next| next.began_at)
    } else {
        None
    };
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    // What was requested before anybody said something belongs to what came of it.
    let from = match first.number {
        1 => Timestamp::from_micros(0),
        _ => first.began_at,
    };
    let mut turns: Vec<TurnUsed> = rows.into_iter().map(|row| (row, Vec::new())).collect();
    for request in usage::requests(tx, id, from, next).await? {
        let (at, of) = request.of;
        let tokens = request.tokens;
        let begun = turns.partition_point(|(turn, _)| turn.began_at <= at);
        if let Some((_, used)) = turns.get_mut(begun.saturating_sub(1)) {
            used.push(Used { of, tokens });
        }
    }
    Ok(turns)
}

fn conversation(
    (row, counts, used, told): (ConversationRow, Counts, ByModel, Option<u64>),
    prices: &UsageConfig,
) -> Conversation {
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    Conversation {
        id: row.id,
        engine: row.engine,
        session: row.session,
        project: row.project,
        cwd: row.cwd,
        title: row.title,
        execution: row.execution,
        task: row.task,
        slot: row.slot,
        started_at: row.started_at,
        last_at: row.last_at,
        turns: count(counts.turns),
        messages: count(counts.messages),
        tool_calls: count(counts.tools),
        tokens: TokenCounts {
            input: count(counts.input),
            output: count(counts.output),
            cache_read: count(counts.cache_read),
            cache_write: count(counts.cache_write),
        },
        cost: cost::of(prices, &used, told),
        skipped: count(row.skipped),
        diagnostic: row.diagnostic,
    }
}

fn conversation_turn((row, used): TurnUsed, prices: &UsageConfig) -> ConversationTurn {
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    ConversationTurn {
        number: row.number,
        prompt: row.prompt,
        answer: row.answer,
        messages: count(row.messages),
        tool_calls: count(row.tools),
        failed: count(row.failed),
        ending: row.ending,
        tokens: sum(&used),
        // A transcript may tell only what all of it cost.
        cost: cost::of(prices, &used, None),
        began_at: row.began_at,
        last_at: row.last_at,
    }
}

fn sum(used: &[Used<Option<String>>]) -> TokenCounts {
    let mut sum = TokenCounts::default();
    for Used { tokens, .. } in used {
        sum.input += tokens.input;
        sum.output += tokens.output;
        sum.cache_read += tokens.cache_read;
        sum.cache_write += tokens.cache_write;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nothing_else_does() {
        let cursor = ConversationCursor {
            last_at: Timestamp::from_micros(1_700_000_000_000_001),
            id: ConversationId::generate(),
        };
        let read: ConversationCursor = cursor.to_string().parse().unwrap();
        assert_eq!(read, cursor);
        for text in ["", "1", "1.x", &format!("x.{}", cursor.id)] {
            let refused = text.parse::<ConversationCursor>().unwrap_err();
            assert!(
                refused.to_string().starts_with("`after` must be"),
                "{refused}"
            );
        }
    }
}
