//! What was said in a project lately, for whoever tells an agent what went
//! before: the newest turns, and those that a question is about. Both are
//! bounded, and each says where it is from and how old it is.

use std::path::Path;
use std::time::Duration;

use missiond_core::{CliEngine, ConversationId, Timestamp, TurnLimit};
use missiond_knowledge::telling::TellingTerms;
use missiond_knowledge::tokens::tokens;
use missiond_runtime::blocking;
use missiond_store::conversations::turns::{self, TurnRow};
use missiond_store::conversations::{self, ConversationRow};

use super::index::About;
use super::project::project_of;
use super::search::{Scope, check_query};
use super::{ConversationError, Conversations};

/// A turn of a conversation: masked, and cut to at most 2 KB a text.
#[derive(Debug, Clone, PartialEq)]
pub struct PastTurn {
    pub conversation: ConversationId,
    pub engine: CliEngine,
    pub number: i64,
    /// What was asked; empty when the agent began.
    pub prompt: String,
    /// What the agent said last.
    pub answer: String,
    pub tool_calls: i64,
    /// Of those, the ones that failed or were denied.
    pub failed: i64,
    pub at: Timestamp,
    pub age: Duration,
    /// How much it has to do with what was asked for, 0 to 1.
    pub relevance: f32,
    /// Where it is from, in words: `claude conversation 1f2e3d4c, turn 3`.
    pub source: String,
}

/// The project that a folder belongs to.
async fn project(folder: &Path) -> String {
    let folder = folder.to_owned();
    blocking(move || project_of(&folder)).await
}

impl Conversations {
    /// The newest turns in the project that `folder` belongs to, newest first.
    pub async fn recent_turns(
        &self,
        folder: &Path,
        limit: TurnLimit,
    ) -> Result<Vec<PastTurn>, ConversationError> {
        let limit = limit.to_u32();
        let project = project(folder).await;
        let found = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let mut found = Vec::new();
                    for (id, turn) in turns::recent(tx, &project, limit).await? {
                        if let Some(row) = conversations::get(tx, id).await? {
                            found.push((row, turn));
                        }
                    }
                    Ok(found)
                })
            })
            .await?;
        Ok(found.into_iter().map(|found| self.past(found)).collect())
    }

    /// The turns in the project that `folder` belongs to in which something was
    /// said about `query`, the best first.
    pub async fn turns_about(
        &self,
        folder: &Path,
        query: &str,
        limit: TurnLimit,
    ) -> Result<Vec<PastTurn>, ConversationError> {
        check_query(query)?;
        let limit = limit.to_usize();
        let scope = Scope {
            project: Some(project(folder).await),
            ..Scope::default()
        };
        self.follow_store().await?;
        // Several messages of one turn may be found.
        let found = self.find(query, scope, limit * 3).await?;
        let mut wanted: Vec<(ConversationId, i64)> = Vec::new();
        for hit in found {
            let turn = (hit.conversation.id, hit.turn);
            if !wanted.contains(&turn) && wanted.len() < limit {
                wanted.push(turn);
            }
        }
        let telling = TellingTerms::of(&tokens(query), self.inner.read_index().words());
        let found = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let mut found = Vec::new();
                    for (id, number) in wanted {
                        let turn = turns::of_conversation(tx, id, number - 1, 1).await?;
                        let row = conversations::get(tx, id).await?;
                        found.extend(row.zip(turn.into_iter().next()));
                    }
                    Ok(found)
                })
            })
            .await?;
        let turns = found.into_iter().map(|found| {
            let turn = self.past(found);
            let told = format!("{}\n{}", turn.prompt, turn.answer);
            PastTurn {
                relevance: telling.share_in(&told),
                ..turn
            }
        });
        Ok(turns.collect())
    }

    fn past(&self, (row, turn): (ConversationRow, TurnRow)) -> PastTurn {
        let prompt = About::of(&row).speech("person", &turn.prompt).into_owned();
        let short: String = row.session.chars().take(8).collect();
        PastTurn {
            source: format!("{} conversation {short}, turn {}", row.engine, turn.number),
            conversation: row.id,
            engine: row.engine,
            number: turn.number,
            prompt,
            answer: turn.answer,
            tool_calls: turn.tools,
            failed: turn.failed,
            at: turn.last_at,
            age: self.inner.now().since(turn.last_at),
            relevance: 1.0,
        }
    }
}
