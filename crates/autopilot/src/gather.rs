//! Gathering what is known of the attempts of this daemon: rows of the board,
//! states of journals, and what was seen of the agents since.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use missiond_core::machines::Machine;
use missiond_core::{
    Attempt, BoardTask, DeliveryStatus, Evidence, ExecutionActivity, ExecutionAttention,
    ExecutionId, ExecutionLifecycle, Timestamp, one_line,
};
use missiond_executions::ExecutionLookup;
use missiond_journal::{ExecutionState, LastKnown, MessageKey, ProgramEnd, StatedClaim};
use missiond_store::autopilot::{self, Conflicts, ParkedRow};
use missiond_store::token_usage::Tokens;
use missiond_store::{StoreError, board};

use super::view::{Agent, Busy, Ending, Limit, Mode, Rest, Round, Sent, Stuck, View, Watched};
use super::watch::Watches;
use super::{prompts, usage, vendor_limits};
use crate::shared::Shared;

/// How long a look at the screen of a resting agent is good for.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(500);

/// Characters of a notice of a limit.
const LONGEST_NOTICE: usize = 200;

/// The rows an answer to "what now?" needs.
#[derive(Debug)]
pub(super) struct Rows {
    pub mode: Mode,
    pub attempts: Vec<AttemptRows>,
    pub parked: Vec<ParkedRow>,
}

#[derive(Debug)]
pub(super) struct AttemptRows {
    pub task: BoardTask,
    pub attempt: Attempt,
    pub evidence: Vec<Evidence>,
    pub conflicts: Option<Conflicts>,
}

/// Reads the attempts that this holder has under way.
pub(super) async fn rows(shared: &Shared, holder: &str) -> Result<Rows, StoreError> {
    let holder = holder.to_owned();
    shared
        .db
        .read(move |tx| {
            Box::pin(async move {
                let mode = autopilot::mode(tx).await?.mode;
                let live = board::live_attempts(tx).await?;
                let mut attempts = Vec::new();
                for attempt in live.into_iter().filter(|attempt| attempt.holder == holder) {
                    let Some(task) = board::get(tx, attempt.task).await? else {
                        continue;
                    };
                    attempts.push(AttemptRows {
                        evidence: board::evidence(tx, attempt.id).await?,
                        conflicts: autopilot::conflicts(tx, attempt.id).await?,
                        task,
                        attempt,
                    });
                }
                Ok(Rows {
                    // A mode that a later version knows is none to act on.
                    mode: Mode::named(&mode).unwrap_or(Mode::Paused),
                    attempts,
                    parked: autopilot::parked(tx).await?,
                })
            })
        })
        .await
}

/// One attempt as it stands, and what its agent claims that is news.
pub(super) async fn view(
    shared: &Shared,
    watches: &mut Watches,
    endings: &mut HashMap<ExecutionId, Ending>,
    rows: AttemptRows,
    parked: &[ParkedRow],
    busy: Busy,
) -> Result<(View, Option<StatedClaim>), StoreError> {
    let AttemptRows {
        task,
        attempt,
        evidence,
        conflicts,
    } = rows;
    let mut round = last_round(&attempt, &evidence);
    let red = evidence
        .iter()
        .filter(|said| said.round == attempt.check_rounds && !said.passed);
    let failed_checks: Vec<_> = red.map(|said| one_line(&said.check)).collect();
    let mut claim = None;
    let mut spent = None;
    let agent = match attempt.execution {
        None => Agent::NotStarted,
        Some(execution) => {
            let keys = Keys::of(&task, &attempt, round);
            match shared
                .executions
                .peek(execution, |state| execution_facts(state, &keys))
            {
                Some(facts) if !facts.lifecycle.is_final() => {
                    if let Some(round) = &mut round {
                        round.told = facts.round_told;
                    }
                    claim = facts.claim.clone().filter(|claim| {
                        attempt
                            .claim
                            .as_ref()
                            .is_none_or(|known| known.at < claim.at)
                    });
                    spent = usage::settle(shared, watches, &task, &attempt, &facts).await?;
                    Agent::Running(watched(shared, watches, &attempt, facts).await)
                }
                Some(facts) => Agent::Ended(facts.ending()),
                None => ended(shared, endings, execution, &keys).await,
            }
        }
    };
    let view = View {
        resumes: parked
            .iter()
            .find(|parked| parked.task == task.id)
            .map_or(0, |parked| parked.resumes + 1),
        conflicts: conflicts.as_ref().map_or(0, |conflicts| conflicts.times),
        conflict_round: conflicts.as_ref().map(|conflicts| conflicts.round),
        conflict_files: conflicts.map_or_else(String::new, |conflicts| conflicts.files),
        failed_checks: failed_checks.join("\n"),
        task,
        attempt,
        busy,
        agent,
        round,
        spent,
    };
    Ok((view, claim))
}

fn last_round(attempt: &Attempt, evidence: &[Evidence]) -> Option<Round> {
    let number = attempt.check_rounds;
    let of = |round| evidence.iter().filter(move |said| said.round == round);
    let last = of(number).next_back()?;
    let commit = |round| of(round).find_map(|said| said.commit.clone());
    let here = commit(number);
    let same = |round: &u32| here.is_some() && commit(*round) == here;
    let unchanged = (1..number).rev().take_while(same).count();
    Some(Round {
        number,
        failed: u32::try_from(of(number).filter(|said| !said.passed).count()).unwrap_or(u32::MAX),
        unchanged: u32::try_from(unchanged).unwrap_or(u32::MAX),
        at: last.at,
        told: Sent::No,
    })
}

/// The keys of what the agent may have been told.
struct Keys {
    prompt: Option<MessageKey>,
    round: Vec<MessageKey>,
}

impl Keys {
    fn of(task: &BoardTask, attempt: &Attempt, round: Option<Round>) -> Self {
        let round = round.map(|round| {
            [
                prompts::checks_key(attempt, round.number),
                prompts::conflict_key(attempt, round.number),
            ]
        });
        let keys = round.into_iter().flatten();
        Self {
            prompt: MessageKey::new(prompts::phase_key(attempt, task.phase)).ok(),
            round: keys.filter_map(|key| MessageKey::new(key).ok()).collect(),
        }
    }
}

/// What a journal says that matters here.
#[derive(Debug, Clone)]
pub(super) struct ExecutionFacts {
    lifecycle: ExecutionLifecycle,
    attention: ExecutionAttention,
    pub(super) activity: ExecutionActivity,
    requests: usize,
    undelivered: usize,
    prompted: Sent,
    round_told: Sent,
    heard_at: Timestamp,
    claim: Option<StatedClaim>,
    /// Why the last message never reached it.
    unreachable: Option<String>,
    why: Option<String>,
    /// What the transcript or the stream said last, and when.
    last_words: Option<(String, Timestamp)>,
    /// The limit that ended its last turn, in its own words, and when that was.
    limit: Option<(String, Timestamp)>,
    /// When the limits that are used up are open again, as it told itself.
    limit_resets_at: Option<Timestamp>,
    pub(super) model_requests: u64,
    pub(super) tokens: Tokens,
}

impl ExecutionFacts {
    fn ending(&self) -> Ending {
        Ending {
            lifecycle: self.lifecycle,
            prompted: self.prompted,
            why: self.why.clone(),
        }
    }
}

fn execution_facts(state: &ExecutionState, keys: &Keys) -> ExecutionFacts {
    let told = |key: &MessageKey| state.message_of(key).is_some();
    ExecutionFacts {
        lifecycle: state.lifecycle,
        attention: state.attention,
        activity: state.activity,
        requests: state.requests.len(),
        undelivered: state.undelivered().count(),
        prompted: Sent::from(keys.prompt.as_ref().is_some_and(told)),
        round_told: Sent::from(keys.round.iter().any(told)),
        heard_at: state.updated_at,
        claim: state.last_known.claim.clone(),
        unreachable: state
            .messages
            .values()
            .next_back()
            .filter(|message| message.status == DeliveryStatus::Failed)
            .map(|message| message.reason.clone().unwrap_or_default()),
        why: how_it_ended(&state.last_known),
        last_words: state.last_known.last_words.clone(),
        limit: state.last_known.limit.clone(),
        limit_resets_at: state.last_known.limit_resets_at,
        model_requests: state.telemetry.requests,
        tokens: Tokens {
            input: state.telemetry.input_tokens,
            output: state.telemetry.output_tokens,
            cache_read: state.telemetry.cache_read_tokens,
            cache_write: state.telemetry.cache_write_tokens,
            cache_write_1h: 0,
        },
    }
}

/// Why a program is gone, as far as it was seen.
fn how_it_ended(last_known: &LastKnown) -> Option<String> {
    let end = match last_known.end.as_ref()? {
        ProgramEnd::Exited { code: Some(0), .. } => None,
        ProgramEnd::Exited {
            code: Some(code), ..
        } => Some(format!("exit code {code}")),
        ProgramEnd::Exited {
            signal: Some(signal),
            ..
        } => Some(format!("signal {signal}")),
        ProgramEnd::Exited { .. } => None,
        ProgramEnd::Lost { reason } => Some(reason.clone()),
    };
    match (end, &last_known.trouble) {
        (Some(end), Some(trouble)) => Some(format!("{end}; it said at its end: {trouble}")),
        (Some(end), None) => Some(end),
        (None, trouble) => trouble.clone(),
    }
}

async fn watched(
    shared: &Shared,
    watches: &mut Watches,
    attempt: &Attempt,
    facts: ExecutionFacts,
) -> Watched {
    let now = shared.clock.now();
    let execution = attempt.execution.unwrap_or_else(ExecutionId::generate);
    let watch = watches.of(execution, attempt.slot, facts.activity, now);
    let limit = match watch.rest {
        Rest::Working => None,
        Rest::Resting { .. } => match &watch.looked {
            Some((at, limit)) if now.since(*at) < LOOK_AGAIN => limit.clone(),
            _ => {
                let limit = shown_limit(shared, attempt, now).await;
                watch.looked = Some((now, limit.clone()));
                limit
            }
        },
    };
    // A conversation that goes on shows what was said before.
    let limit = match watch.spoken_to_at {
        None => {
            watch.old_limit = limit.map(|limit| limit.said);
            None
        }
        Some(_) => limit.filter(|limit| watch.old_limit.as_ref() != Some(&limit.said)),
    };
    let limit = limit.or_else(|| match (&watch.rest, watch.spoken_to_at) {
        (Rest::Resting { .. }, Some(since)) => limit_in_words(&facts, since),
        _ => None,
    });
    let limit = match watch.rest {
        Rest::Resting { .. } => own_limit(&facts, watch.spoken_to_at).or(limit),
        Rest::Working => None,
    };
    let limit = limit.map(|limit| Limit {
        resets_at: own_reset(&facts, now).or(limit.resets_at),
        ..limit
    });
    let circling = shared.executions.repeated(execution);
    let circling = circling.filter(|(_, times)| *times >= usage::IDENTICAL_CALLS);
    let stuck = match (circling, &watch.stuck) {
        (Some((call, times)), _) => Some(Stuck::Circling(format!("{call}, {times} times"))),
        (None, Some(why)) => Some(Stuck::Still(why.clone())),
        (None, None) => None,
    };
    Watched {
        attention: facts.attention,
        requests: facts.requests,
        prompted: facts.prompted,
        undelivered: facts.undelivered,
        unreachable: facts.unreachable,
        rest: watch.rest.clone(),
        spoken_to_at: watch.spoken_to_at,
        heard_at: facts.heard_at,
        limit,
        stuck,
    }
}

/// The vendor's limit that the screen of a resting agent speaks of.
async fn shown_limit(shared: &Shared, attempt: &Attempt, now: Timestamp) -> Option<Limit> {
    let open = shared.slots.find(&attempt.slot?.to_string())?;
    let look = open.inspect().await?;
    let rows = look.screen.rows.iter().map(|row| row.text.as_str());
    vendor_limits::in_lines(rows, now, &TimeZone::system())
}

/// The limit that ended the last turn, by the agent's own word: nothing is guessed but
/// when it resets, where that stands in words alone. What it was told since begins the
/// next turn.
fn own_limit(facts: &ExecutionFacts, spoken_to_at: Option<Timestamp>) -> Option<Limit> {
    let (said, at) = facts.limit.as_ref()?;
    let is_last = spoken_to_at.is_none_or(|spoken_to_at| *at > spoken_to_at);
    is_last.then(|| Limit {
        resets_at: vendor_limits::reset(said, *at, &TimeZone::system()),
        said: said.chars().take(LONGEST_NOTICE).collect(),
    })
}

/// The reset that the agent told of what is used up, unless that has passed.
fn own_reset(facts: &ExecutionFacts, now: Timestamp) -> Option<Timestamp> {
    facts.limit_resets_at.filter(|at| *at > now)
}

/// The limit that an agent's transcript or stream spoke of last, if it was not
/// spoken to since. A notice is short: an agent that writes about limits at length
/// has none.
fn limit_in_words(facts: &ExecutionFacts, since: Timestamp) -> Option<Limit> {
    let (words, at) = facts.last_words.as_ref()?;
    let notice = *at > since && words.chars().count() <= LONGEST_NOTICE;
    let found = notice.then(|| vendor_limits::in_lines(words.lines(), *at, &TimeZone::system()));
    found.flatten()
}

/// What the journal of an agent that is gone says of its end.
async fn ended(
    shared: &Shared,
    endings: &mut HashMap<ExecutionId, Ending>,
    execution: ExecutionId,
    keys: &Keys,
) -> Agent {
    if let Some(ending) = endings.get(&execution) {
        return Agent::Ended(ending.clone());
    }
    let unknown = |why: String| Ending {
        lifecycle: ExecutionLifecycle::Terminated,
        prompted: Sent::No,
        why: Some(why),
    };
    let ending = match shared.executions.lookup(execution).await {
        Ok(ExecutionLookup::Never) => return Agent::NotStarted,
        // It came up between the two questions: the next pass sees it.
        Ok(ExecutionLookup::Running(_)) => {
            return Agent::Ended(unknown("it is starting".to_owned()));
        }
        Ok(ExecutionLookup::Ended) => match shared.executions.ended(execution).await {
            Ok(state) => execution_facts(&state, keys).ending(),
            Err(error) => unknown(error.to_string()),
        },
        Err(error) => unknown(error.to_string()),
    };
    // One that is being started has a journal already, and not yet an end.
    if ending.lifecycle.is_final() {
        endings.insert(execution, ending.clone());
    }
    Agent::Ended(ending)
}
