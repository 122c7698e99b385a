//! What was said in earlier conversations in the project about what the agent is
//! asked.

use missiond_context::{Candidate, Length, Source, one_line, request_of};
use missiond_core::TurnLimit;
use missiond_memory::conversations::PastTurn;

use super::working_directory::WorkingDirectory;
use super::{BriefingRequest, Parts};

/// Turns that are looked at.
const MOST_TURNS: TurnLimit = TurnLimit::of::<8>();
/// So much of a request names a turn.
const LONGEST_TITLE: usize = 60;

pub(super) async fn history(
    parts: &Parts,
    wanted: &BriefingRequest,
    directory: &WorkingDirectory,
    query: &str,
) -> Result<Vec<Candidate>, String> {
    if query.trim().is_empty() {
        return Ok(Vec::new());
    }
    let found = parts
        .conversations
        .turns_about(&directory.cwd, query, MOST_TURNS);
    let mut turns = found.await.map_err(|error| error.to_string())?;
    // What goes on knows itself.
    if let Some(own) = &wanted.conversation {
        let short: String = own.chars().take(8).collect();
        let own = format!("conversation {short},");
        turns.retain(|turn| !turn.source.contains(&own));
    }
    let count = turns.len().max(1) as f32;
    let candidates = turns.iter().enumerate().map(|(at, turn)| Candidate {
        id: None,
        source: Source::History,
        title: title(turn),
        origin: turn.source.clone(),
        at: Some(turn.at),
        relevance: 1.0 - at as f32 / (2.0 * count),
        text: turn_text(turn),
        length: Length::MayBeShortened,
        known: None,
    });
    Ok(candidates.collect())
}

fn title(turn: &PastTurn) -> String {
    let request = one_line(request_of(&turn.prompt));
    if request.chars().count() > LONGEST_TITLE {
        request.chars().take(LONGEST_TITLE).chain(['…']).collect()
    } else {
        request
    }
}

/// A turn without what its agent was told beside the request.
fn turn_text(turn: &PastTurn) -> String {
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
