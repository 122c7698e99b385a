//! What was said in earlier conversations in the project about what the agent is
//! asked.

use missiond_context::{Candidate, Length, Source, one_line};
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
    let best = turns.iter().map(|turn| turn.relevance).fold(0.0, f32::max);
    let candidates = turns.iter().map(|turn| Candidate {
        id: None,
        source: Source::History,
        title: title(turn),
        origin: turn.source.clone(),
        at: Some(turn.at),
        relevance: beside(turn.relevance, best),
        text: turn_text(turn),
        length: Length::MayBeShortened,
        known: None,
    });
    Ok(candidates.collect())
}

/// Where something is plainly about the request, what has less than half as much to do
/// with it is not.
fn beside(relevance: f32, best: f32) -> f32 {
    if relevance * 2.0 < best {
        0.0
    } else {
        relevance
    }
}

fn title(turn: &PastTurn) -> String {
    let request = one_line(&turn.prompt);
    if request.chars().count() > LONGEST_TITLE {
        request.chars().take(LONGEST_TITLE).chain(['…']).collect()
    } else {
        request
    }
}

fn turn_text(turn: &PastTurn) -> String {
    let request = turn.prompt.trim();
    let mut text = String::new();
    for (who, said) in [("Asked", request), ("Answered", turn.answer.trim())] {
        if !said.is_empty() {
            text.push_str(&format!("{who}: {said}\n"));
        }
    }
    if turn.failed > 0 {
        text.push_str(&format!(
            "{} of {} tool calls failed or were denied.\n",
            turn.failed, turn.tool_calls
        ));
    }
    text
}
