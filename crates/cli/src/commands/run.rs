//! `mission run`: starts an agent, and with `--wait` shows what it does until it
//! has done its turn, needs somebody or is gone.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use missiond_adapters::install_command;
use missiond_api::Client;
use missiond_api::operations::attention::{QuestionList, QuestionListParams};
use missiond_api::operations::communication::{
    Order, PageLimit, TimelineQuery, TimelineQueryParams, TimelineWait, TimelineWaitParams, WaitMs,
};
use missiond_api::operations::execution::{
    ExecutionDetails, ExecutionParams, ExecutionShow, ExecutionStart, ExecutionStartParams,
    ExecutionSummary, Happening,
};
use missiond_api::operations::overview::{Overview, OverviewParams};
use missiond_core::{
    CliEngine, ErrorCode, Event, ExecutionActivity, ExecutionAttention, ExecutionId,
    ExecutionLifecycle, PtyState, Question, Seq, Text, one_line,
};
use serde::Serialize;

use super::execution::happening;
use super::slot::{text_or_stdin, variables};
use crate::args::RunArgs;
use crate::connect::Reach;
use crate::failure::{Failure, NEEDS_INPUT, parameter};
use crate::folder;
use crate::output::Output;
use crate::term::printable;

const WATCHED: [&str; 5] = [
    "execution_state_changed",
    "execution_signal",
    "input_requested",
    "message_delivery",
    "execution_ended",
];
/// The daemon answers a wait within this time, with or without an event.
const LONGEST_WAIT: Duration = Duration::from_secs(50);
/// An error that stands so long is the end of the turn: some programs try again by
/// themselves.
const ERROR_STANDS: Duration = Duration::from_secs(5);
/// Who took the prompt and rests so long has done its turn, too fast to be seen.
const REST_STANDS: Duration = Duration::from_secs(10);
/// How long what is seen on a screen takes to be known as words or as a question, at most.
const KNOWN_WITHIN: Duration = Duration::from_secs(3);
/// How often is looked for what no event tells.
const LOOK: Duration = Duration::from_millis(500);

pub(super) fn run(args: RunArgs, reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    let cwd = folder::or_this(args.cwd.as_deref())?;
    let params = ExecutionStartParams {
        engine: args.engine,
        cwd,
        prompt: Some(parameter(
            "the prompt",
            Text::new(text_or_stdin(args.prompt)?),
        )?),
        args: args.args,
        model: args.model,
        permission: args.permission.into(),
        name: args.name,
        env: variables(&args.env)?,
        resume: args.resume,
        control: args.control.map(Into::into),
        signals: args.signals.map(Into::into),
        trust_folder: args.trust,
        context: !args.no_context,
    };
    let head = head(&mut client)?;
    let started_run = client.call::<ExecutionStart>(&params);
    let summary = started_run.map_err(|error| with_hint(error.into(), &params.engine))?;
    if !args.wait {
        output.result(&summary, started);
        return Ok(ExitCode::SUCCESS);
    }
    if !output.is_json() {
        started(output, &summary);
    }
    let until = args
        .timeout
        .map(|seconds| Instant::now() + Duration::from_secs(seconds));
    wait(&mut client, summary.execution, head, until, output)
}

/// What to do when the agent's program is not there.
fn with_hint(failure: Failure, engine: &CliEngine) -> Failure {
    if failure.code != ErrorCode::NotFound {
        return failure;
    }
    match install_command(engine) {
        Some(install) => failure.hint(format!(
            "`{install}` installs it; without an agent: \
             `mission run \"say hello\" --engine rehearsal -- hello`"
        )),
        None => failure,
    }
}

fn started(output: &mut Output, summary: &ExecutionSummary) {
    let slot = summary.slot_name.as_deref().unwrap_or_default();
    output.line(format!("{} runs in the slot {slot}.", summary.execution));
    output.line(format!("Watch it with: mission slot attach {slot}"));
}

/// How waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    TurnEnded,
    NeedsInput,
    NotDelivered,
    /// The turn ended with an error.
    Error,
    Completed,
    Ended,
}

impl Outcome {
    fn exit_code(self) -> ExitCode {
        match self {
            Self::TurnEnded | Self::Completed => ExitCode::SUCCESS,
            Self::NeedsInput => ExitCode::from(NEEDS_INPUT),
            Self::NotDelivered | Self::Error | Self::Ended => ExitCode::FAILURE,
        }
    }
}

/// A turn, as the events tell it.
#[derive(Debug, Default)]
struct Turn {
    delivered: bool,
    /// Something was done after the prompt was typed. Until then an idle agent
    /// is one that has not begun.
    worked: bool,
    activity: Option<ExecutionActivity>,
}

impl Turn {
    /// Events alone do not tell whether it is over: its screen may show an error, and a
    /// short turn may have been seen by nobody.
    fn is_unclear(&self) -> bool {
        self.delivered && self.activity.is_none_or(rests)
    }

    fn handle_event(&mut self, event: &Event) -> Option<Outcome> {
        match event {
            Event::MessageDelivery { outcome, .. } => match outcome.as_str() {
                "delivering" => self.worked = false,
                "delivered" => self.delivered = true,
                "failed" => return Some(Outcome::NotDelivered),
                _ => {}
            },
            Event::ExecutionStateChanged {
                lifecycle,
                attention,
                activity,
                ..
            } => {
                match lifecycle {
                    ExecutionLifecycle::Completed => return Some(Outcome::Completed),
                    ExecutionLifecycle::Failed
                    | ExecutionLifecycle::Cancelled
                    | ExecutionLifecycle::Terminated => return Some(Outcome::Ended),
                    _ => {}
                }
                if *attention == ExecutionAttention::AwaitingOperator {
                    return Some(Outcome::NeedsInput);
                }
                self.worked |= !rests(*activity);
                self.activity = Some(*activity);
            }
            _ => {}
        }
        let idle = self.activity == Some(ExecutionActivity::Idle);
        (self.delivered && self.worked && idle).then_some(Outcome::TurnEnded)
    }
}

const fn rests(activity: ExecutionActivity) -> bool {
    matches!(
        activity,
        ExecutionActivity::Idle | ExecutionActivity::Unknown
    )
}

/// What a screen says of a turn when it stands, and how long it must.
const fn standing(screen: Option<PtyState>) -> Option<(Outcome, Duration)> {
    match screen {
        Some(PtyState::Error) => Some((Outcome::Error, ERROR_STANDS)),
        Some(PtyState::Idle) => Some((Outcome::TurnEnded, REST_STANDS)),
        _ => None,
    }
}

fn wait(
    client: &mut Client,
    execution: ExecutionId,
    mut after: Seq,
    until: Option<Instant>,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut turn = Turn::default();
    let mut shown = 0;
    let mut heard = None;
    let mut stands: Option<(Outcome, Instant)> = None;
    loop {
        let left = until.map_or(LONGEST_WAIT, |until| {
            until.saturating_duration_since(Instant::now())
        });
        if left.is_zero() {
            let message = format!("{execution} is not done; it goes on");
            return Err(Failure::new(ErrorCode::Timeout, message)
                .hint(format!("`mission execution show {execution}` shows it")));
        }
        let longest = if turn.is_unclear() {
            LOOK
        } else {
            LONGEST_WAIT
        };
        let left = left.min(longest).as_millis();
        let page = client.call::<TimelineWait>(&TimelineWaitParams {
            kinds: WATCHED.map(str::to_owned).to_vec(),
            after: Some(after),
            timeout_ms: WaitMs::clamped(i64::try_from(left).unwrap_or(0).max(1)),
        })?;
        let mut outcome = None;
        for event in &page.events {
            after = event.seq.unwrap_or(after).max(after);
            if of(&event.event) == Some(execution) {
                outcome = outcome.or_else(|| turn.handle_event(&event.event));
            }
        }
        if page.events.is_empty() && !turn.is_unclear() {
            continue;
        }
        let details = client.call::<ExecutionShow>(&ExecutionParams {
            execution: execution.to_string(),
        })?;
        if !output.is_json() {
            let new = details.timeline.iter().filter(|item| item.sequence > shown);
            for item in new.filter(|item| !was_typed(item)) {
                output.line(happening(item));
                if item.title == "agent" {
                    heard = Some(item.text.clone());
                }
            }
        }
        shown = details.timeline.last().map_or(shown, |item| item.sequence);
        stands = match standing(details.screen).filter(|_| turn.is_unclear()) {
            None => None,
            Some((says, long)) => {
                let since = match stands {
                    Some((said, since)) if said == says => since,
                    _ => Instant::now(),
                };
                let settled = (since.elapsed() >= long).then_some(says);
                outcome = outcome.or(settled);
                Some((says, since))
            }
        };
        if let Some(outcome) = outcome {
            let question = match outcome {
                Outcome::NeedsInput => question_of(client, execution)?,
                _ => None,
            };
            let error = match outcome {
                Outcome::Error => error_of(client, execution)?,
                _ => None,
            };
            let mut details = match outcome {
                Outcome::TurnEnded | Outcome::NeedsInput => with_last_words(client, details)?,
                _ => details,
            };
            if !output.is_json() && heard == details.last_words {
                details.last_words = None;
            }
            finish(outcome, &details, question.as_ref(), error, output);
            return Ok(outcome.exit_code());
        }
    }
}

/// What the person who waits has just said, or what was said with it, is no news.
fn was_typed(item: &Happening) -> bool {
    matches!(item.title.as_str(), "prompt" | "operator")
}

/// The run with what its agent said last: its screen shows that before its transcript
/// has it, so it is there when nothing more comes.
fn with_last_words(
    client: &mut Client,
    mut details: ExecutionDetails,
) -> Result<ExecutionDetails, Failure> {
    let until = Instant::now() + KNOWN_WITHIN;
    while Instant::now() < until {
        let before = details.last_words.take();
        std::thread::sleep(LOOK);
        details = client.call::<ExecutionShow>(&ExecutionParams {
            execution: details.summary.execution.to_string(),
        })?;
        if before.is_some() && details.last_words == before {
            break;
        }
    }
    Ok(details)
}

/// What the terminal of a run shows last.
fn error_of(client: &mut Client, execution: ExecutionId) -> Result<Option<String>, Failure> {
    let overview = client.call::<Overview>(&OverviewParams::default())?;
    let mut lines = overview
        .needs_you
        .into_iter()
        .chain(overview.working)
        .chain(overview.idle);
    let line = lines.find(|line| line.execution == Some(execution));
    Ok(line.and_then(|line| line.last_line))
}

/// What the agent asks, once it is known as a question.
fn question_of(client: &mut Client, execution: ExecutionId) -> Result<Option<Question>, Failure> {
    let until = Instant::now() + KNOWN_WITHIN;
    loop {
        let open = client.call::<QuestionList>(&QuestionListParams::default())?;
        let mut asked = open.questions.into_iter();
        let found = asked.find(|one| one.origin.execution() == Some(execution));
        if found.is_some() || Instant::now() >= until {
            return Ok(found);
        }
        std::thread::sleep(LOOK);
    }
}

#[derive(Serialize)]
struct WaitReport<'a> {
    outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<&'a Question>,
    #[serde(flatten)]
    details: &'a ExecutionDetails,
}

fn finish(
    outcome: Outcome,
    details: &ExecutionDetails,
    question: Option<&Question>,
    error: Option<String>,
    output: &mut Output,
) {
    let waited = WaitReport {
        outcome,
        question,
        details,
    };
    output.result(&waited, |output, _| {
        let summary = &details.summary;
        let slot = summary.slot_name.as_deref().unwrap_or_default();
        if let Some(words) = &details.last_words {
            output.line(format!("It said: {}", printable(&one_line(words))));
        }
        output.line(match outcome {
            Outcome::TurnEnded => "The turn has ended; the agent waits for the next.".to_owned(),
            Outcome::Completed => "The agent's program has ended.".to_owned(),
            Outcome::Ended => format!("The run is over: {}.", summary.lifecycle.as_str()),
            Outcome::NotDelivered => "The prompt did not reach the agent.".to_owned(),
            Outcome::Error => format!(
                "The turn ended with an error{}. See it with: mission slot attach {slot}",
                error.map_or_else(String::new, |error| format!(" ({})", printable(&error)))
            ),
            Outcome::NeedsInput => match question {
                Some(question) => asked(question),
                None => {
                    format!("Its program asks something. See it with: mission slot attach {slot}")
                }
            },
        });
    });
}

fn asked(question: &Question) -> String {
    let mut text = format!("It asks: {}\n", printable(&question.headline));
    for (at, option) in question.options.iter().enumerate() {
        text.push_str(&format!("  {} {}\n", at + 1, printable(&one_line(option))));
    }
    let answer = match question.options.len() {
        0 => "\"…\"",
        _ => "1",
    };
    format!(
        "{text}Answer with: mission answer {} {answer}",
        question.number
    )
}

/// The execution an event is about.
fn of(event: &Event) -> Option<ExecutionId> {
    match event {
        Event::ExecutionStateChanged { execution, .. }
        | Event::ExecutionSignal { execution, .. }
        | Event::InputRequested { execution, .. }
        | Event::MessageDelivery { execution, .. }
        | Event::ExecutionEnded { execution, .. } => Some(*execution),
        _ => None,
    }
}

fn head(client: &mut Client) -> Result<Seq, Failure> {
    let params = TimelineQueryParams {
        order: Some(Order::NewestFirst),
        limit: PageLimit::of::<1>(),
        ..TimelineQueryParams::default()
    };
    let page = client.call::<TimelineQuery>(&params)?;
    let newest = page.events.first().and_then(|event| event.seq);
    Ok(newest.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use missiond_core::MessageId;

    use super::*;

    fn state(activity: ExecutionActivity) -> Event {
        Event::ExecutionStateChanged {
            execution: ExecutionId::generate(),
            lifecycle: ExecutionLifecycle::Running,
            attention: ExecutionAttention::Autonomous,
            activity,
        }
    }

    fn delivery(outcome: &str) -> Event {
        Event::MessageDelivery {
            execution: ExecutionId::generate(),
            message: MessageId::generate(),
            outcome: outcome.to_owned(),
            reason: None,
        }
    }

    #[test]
    fn who_took_a_prompt_and_is_not_seen_to_work_is_looked_at() {
        let mut turn = Turn::default();
        turn.handle_event(&state(ExecutionActivity::Unknown));
        assert!(!turn.is_unclear(), "nothing was said to it yet");
        turn.handle_event(&delivery("delivered"));
        assert!(turn.is_unclear());
        turn.handle_event(&state(ExecutionActivity::Idle));
        assert!(turn.is_unclear(), "its turn may be over, unseen");
        turn.handle_event(&state(ExecutionActivity::Reasoning));
        assert!(!turn.is_unclear());
    }

    #[test]
    fn an_idle_agent_that_has_not_begun_is_not_done() {
        let mut turn = Turn::default();
        let begun = [
            state(ExecutionActivity::Executing),
            state(ExecutionActivity::Idle),
            delivery("delivering"),
            delivery("delivered"),
            state(ExecutionActivity::Idle),
            state(ExecutionActivity::Reasoning),
        ];
        for event in &begun {
            assert_eq!(turn.handle_event(event), None, "{event:?}");
        }
        let ended = turn.handle_event(&state(ExecutionActivity::Idle));
        assert_eq!(ended, Some(Outcome::TurnEnded));
    }

    #[test]
    fn a_turn_that_ended_before_its_delivery_was_told_is_done() {
        let mut turn = Turn::default();
        for event in [
            delivery("delivering"),
            state(ExecutionActivity::Communicating),
            state(ExecutionActivity::Idle),
        ] {
            assert_eq!(turn.handle_event(&event), None);
        }
        let ended = turn.handle_event(&delivery("delivered"));
        assert_eq!(ended, Some(Outcome::TurnEnded));
    }
}
