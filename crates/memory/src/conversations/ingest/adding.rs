//! A conversation that grows: each item gets its place and its turn.

use missiond_core::{ConversationId, Timestamp, ToolOutcome};
use missiond_knowledge::conversation::{Ending, Step, Turn, next_turn, title};
use missiond_store::conversations::ConversationRow;
use missiond_store::conversations::items::{
    self, CallEnd, CallRow, EventRow, MessageRow, UsageRow,
};
use missiond_store::conversations::turns::{self, TurnRow};
use missiond_store::conversations::usage;
use missiond_store::{StoreError, Tx};

use super::item::{Item, ItemContent};

/// What one conversation may hold; what comes after is counted and left out.
const MOST_PLACES: i64 = 100_000;
/// A conversation that is being added to, held until the transaction ends.
pub(super) struct ConversationWriter {
    pub(super) id: ConversationId,
    pub(super) conversation: ConversationRow,
    pub(super) current: Option<Turn>,
    /// Turns that ended in this batch.
    pub(super) closed: Vec<Turn>,
    pub(super) latest: Timestamp,
}

impl ConversationWriter {
    pub(super) async fn add(&mut self, tx: &mut Tx<'_>, item: &Item) -> Result<(), StoreError> {
        let at = item
            .at
            .unwrap_or(self.conversation.last_at)
            .min(self.latest);
        let place = self.conversation.next_place;
        match &item.what {
            ItemContent::Usage(usage) => {
                let usage = UsageRow {
                    at,
                    ..usage.clone()
                };
                return items::put_usage(tx, self.id, &usage).await;
            }
            ItemContent::Cost(cost) => {
                return usage::put_cost(tx, self.id, &item.key, *cost, at).await;
            }
            ItemContent::Result {
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
            ItemContent::Message { noise: Some(_), .. } => Step::Noise,
            ItemContent::Message { role, text, .. } if *role == "person" => Step::Prompt(text),
            ItemContent::Message { text, .. } => Step::Answer(text),
            ItemContent::Call { .. } => Step::ToolBegan,
            ItemContent::Event(_, step) => *step,
            ItemContent::Result { .. } | ItemContent::Usage(_) | ItemContent::Cost(_) => {
                Step::Other
            }
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
            ItemContent::Message {
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
            ItemContent::Call { tool, input } => {
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
            ItemContent::Event(kind, _) => {
                let row = EventRow {
                    place,
                    key,
                    turn,
                    kind: (*kind).to_owned(),
                    at,
                };
                items::add_event(tx, self.id, &row).await
            }
            ItemContent::Result { .. } | ItemContent::Usage(_) | ItemContent::Cost(_) => Ok(false),
        }
    }

    /// A call of some turn has ended.
    async fn ended(
        &mut self,
        tx: &mut Tx<'_>,
        turn: i64,
        outcome: ToolOutcome,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.conversation.last_at = self.conversation.last_at.max(at);
        let current = self.current.as_ref().filter(|now| now.number == turn);
        let failed = outcome != ToolOutcome::Succeeded;
        match current {
            Some(now) => {
                let step = if failed {
                    Step::ToolFailed
                } else {
                    Step::Other
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

fn outcome_name(outcome: ToolOutcome) -> &'static str {
    match outcome {
        ToolOutcome::Succeeded => "succeeded",
        ToolOutcome::Failed => "failed",
        ToolOutcome::Denied => "denied",
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

pub(super) fn of_row(row: TurnRow) -> Turn {
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
