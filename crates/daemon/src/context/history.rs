//! What was said in earlier conversations about the project: the turns a prompt
//! is about, and the newest ones.

use missiond_context::{Candidate, Length, Source, one_line, request_of};

use super::place::Place;
use super::{Parts, Wanted};
use crate::conversations::PastTurn;

/// Turns that have to do with the prompt, and the newest ones beside them.
const ABOUT: usize = 6;
const NEWEST: usize = 3;
/// So much of a request names a turn.
const LONGEST_TITLE: usize = 60;

pub(super) async fn history(
    parts: &Parts,
    wanted: &Wanted,
    place: &Place,
    query: &str,
) -> Result<Vec<Candidate>, String> {
    let conversations = &parts.conversations;
    let mut turns = match query.trim().is_empty() {
        true => Vec::new(),
        false => conversations
            .turns_about(&place.cwd, query, ABOUT)
            .await
            .map_err(|error| error.to_string())?,
    };
    let newest = conversations.recent_turns(&place.cwd, NEWEST).await;
    for turn in newest.map_err(|error| error.to_string())? {
        let same = |other: &PastTurn| {
            (other.conversation, other.number) == (turn.conversation, turn.number)
        };
        if !turns.iter().any(same) {
            turns.push(turn);
        }
    }
    // What goes on knows itself.
    if let Some(own) = &wanted.conversation {
        let short: String = own.chars().take(8).collect();
        let own = format!("conversation {short},");
        turns.retain(|turn| !turn.source.contains(&own));
    }
    let count = turns.len().max(1) as f32;
    let candidates = turns.iter().enumerate().map(|(at, turn)| Candidate {
        source: Source::History,
        title: title(turn),
        origin: turn.source.clone(),
        at: Some(turn.at),
        relevance: 1.0 - at as f32 / count,
        text: said(turn),
        length: Length::MayBeShortened,
        known: None,
    });
    Ok(candidates.collect())
}

fn title(turn: &PastTurn) -> String {
    let request = one_line(request_of(&turn.prompt));
    match request.chars().count() > LONGEST_TITLE {
        true => request.chars().take(LONGEST_TITLE).chain(['…']).collect(),
        false => request,
    }
}

/// A turn without what its agent was told beside the request.
fn said(turn: &PastTurn) -> String {
    let request = request_of(&turn.prompt).trim();
    let mut text = format!("Asked: {request}\nAnswered: {}\n", turn.answer.trim());
    if turn.failed > 0 {
        text.push_str(&format!(
            "{} of {} tool calls failed or were denied.\n",
            turn.failed, turn.tool_calls
        ));
    }
    text
}
