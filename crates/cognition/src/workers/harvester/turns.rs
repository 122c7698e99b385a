//! What a turn taught: the orders of its person that hold from now on.

use std::path::Path;

use missiond_core::{AuthorTier, ConversationId, EntryCategory, TurnId};
use missiond_knowledge::transfer::{Draft, LONGEST_KEY};
use missiond_memory::knowledge::TaskLessons;
use missiond_store::conversations::items::{self, Window};
use missiond_store::conversations::{self, ConversationRow, turns};
use missiond_store::{StoreError, Tx};

use super::orders::orders;

/// Messages of a turn that are looked at.
const MESSAGES: u32 = 50;

/// The candidates of a turn. Of a task there are none: what its prompts say stands on the
/// board.
pub(super) async fn lessons(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    turn: TurnId,
) -> Result<TaskLessons, StoreError> {
    let Some(row) = conversations::get(tx, conversation).await? else {
        return Ok(TaskLessons::default());
    };
    let Some(turn) = turns::get(tx, conversation, turn).await? else {
        return Ok(TaskLessons::default());
    };
    if row.task.is_some() {
        return Ok(TaskLessons::default());
    }
    let window = Window {
        after: turn.first_place - 1,
        turn: Some(turn.number),
        limit: MESSAGES,
    };
    let messages = items::messages(tx, conversation, window).await?;
    let of_person = messages
        .iter()
        .filter(|message| message.role == "person" && message.noise.is_none());
    let said = of_person.flat_map(|message| orders(&message.text));
    let drafts = said.enumerate();
    Ok(TaskLessons {
        drafts: drafts
            .map(|(at, order)| draft(&row, turn.number, at, order))
            .collect(),
        ..TaskLessons::default()
    })
}

fn draft(row: &ConversationRow, turn: i64, at: usize, order: &str) -> Draft {
    let project = Path::new(&row.project).file_name();
    let scope = project.map(|name| {
        name.to_string_lossy()
            .chars()
            .take(LONGEST_KEY / 4)
            .collect()
    });
    Draft {
        key: Some(format!("order/{}/{turn}/{}", row.id, at + 1)),
        category: EntryCategory::Policy,
        summary: order.to_owned(),
        labels: vec!["order".to_owned()],
        scope: scope.unwrap_or_default(),
        source: Some("conversation".to_owned()),
        conversation: Some(row.session.clone()).filter(|name| name.len() <= LONGEST_KEY),
        turn: Some(turn),
        author: Some("experience_harvester".to_owned()),
        tier: AuthorTier::Machine,
        ..Draft::default()
    }
}
