//! The same things in the words of others: secrets out of candidates, outcomes
//! as they are kept, a snapshot as it was made.

use missiond_context::{Candidate, Item, Outcome, QUOTE, Source, clean};
use missiond_core::{ContextItem, ContextOutcome, SourceState};
use missiond_guard::injection::{Verdict, inspect};
use missiond_store::prompt_snapshots::SnapshotRow;

use super::error::BriefingError;
use super::{Briefing, KeptSources};

/// Takes the secrets out of a candidate; how many there were.
pub(super) fn mask(candidate: &mut Candidate) -> u32 {
    let mut found = 0;
    let parts = [
        &mut candidate.text,
        &mut candidate.title,
        &mut candidate.origin,
    ];
    for part in parts {
        let masked = missiond_secrets::mask(part.as_str());
        found += masked.secrets();
        if masked.secrets() > 0 {
            *part = masked.into_string();
        }
    }
    count(found)
}

/// Keeps from the agent what tries to command it, with the reason where the candidate is
/// listed, and warns where it only looks a little like it. The text itself stays as it is.
pub(super) fn screen(candidate: &mut Candidate) {
    // Made here, of names and numbers.
    if matches!(candidate.source, Source::Environment | Source::Map) {
        return;
    }
    let seen = inspect(&format!("{}\n{}", candidate.title, candidate.text));
    let held = match (candidate.source, seen.verdict()) {
        (_, Verdict::Plain) => return,
        // Instructions are orders to agents, by people who may give them: only what holds
        // much of it at once is worth a warning.
        (Source::Instructions, Verdict::Marked) => return,
        (Source::Instructions, Verdict::Held) | (_, Verdict::Marked) => false,
        (_, Verdict::Held) => true,
    };
    let reasons = seen.reasons();
    if held {
        tracing::warn!(
            source = candidate.source.name(),
            score = seen.score,
            reasons,
            "briefing candidate kept back"
        );
        candidate.known = Some(format!(
            "it reads like orders to the agent, {} percent sure: it {reasons}",
            seen.score
        ));
        // Nothing else that says the same passes for known because of it.
        candidate.text = String::from("kept back");
        return;
    }
    candidate.origin = format!("caution, it {reasons}; {}", candidate.origin);
}

pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

pub(super) fn is_trouble(state: SourceState) -> bool {
    matches!(state, SourceState::Late | SourceState::Failed)
}

/// A text as it stands in a context.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for line in clean(text).lines() {
        let line = format!("{QUOTE}{line}");
        quoted.push_str(line.trim_end());
        quoted.push('\n');
    }
    quoted
}

pub(super) fn item(item: Item, withheld: Option<&str>) -> ContextItem {
    let Item { candidate, outcome } = item;
    let mut item = ContextItem {
        source: candidate.source.name().to_owned(),
        entry: candidate.id.and_then(|id| id.parse().ok()),
        title: candidate.title,
        origin: candidate.origin,
        at: candidate.at,
        relevance: candidate.relevance,
        outcome: match outcome {
            Outcome::Given { tokens } => ContextOutcome::Given {
                tokens: count(tokens),
            },
            Outcome::Shortened { tokens, of } => ContextOutcome::Shortened {
                tokens: count(tokens),
                of: count(of),
            },
            Outcome::Cut(reason) => ContextOutcome::Cut {
                reason: reason.to_string(),
            },
        },
    };
    if let Some(why) = withheld {
        withhold(&mut item, why);
    }
    item
}

pub(super) fn withhold(item: &mut ContextItem, why: &str) {
    item.outcome = ContextOutcome::Cut {
        reason: why.to_owned(),
    };
}

pub(super) fn of_row(row: SnapshotRow) -> Result<Briefing, BriefingError> {
    let execution = row.execution;
    let unreadable = |source| BriefingError::Unreadable { execution, source };
    let kept: KeptSources = serde_json::from_str(&row.sources).map_err(unreadable)?;
    Ok(Briefing {
        task: row.task,
        engine: row.engine,
        cwd: row.cwd,
        at: row.at,
        budget: row.budget,
        used: row.used,
        masked: row.masked,
        withheld: kept.withheld,
        items: serde_json::from_str(&row.items).map_err(unreadable)?,
        sources: kept.sources,
        text: row.context,
    })
}
