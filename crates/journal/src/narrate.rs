//! Records in words, for people: one line each, and a whole journal as a
//! Markdown page. Nothing is decided here and nothing is left out silently: what
//! is cut short ends with `…`.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::ControlFlow;

use missiond_core::{AgentStepStatus, ExecutionId};
use serde::Serialize;

use crate::catalogue::{Control, Fact, MessageContent, PlanStep, Process, RateLimits, Signal};
use crate::frame::Sequence;
use crate::inspect::ExportError;
use crate::observation::{Observation, Observed};
use crate::record::{
    ActivityUpdated, CurrentTarget, EffectStatus, Record, RecordBody, RequestChange, Sender,
    StateChanged,
};
use crate::replay::ReplayError;
use crate::store::JournalStore;

/// What a record says, in one line.
#[must_use]
pub fn sentence(body: &RecordBody) -> String {
    match body {
        RecordBody::Header(header) => format!(
            "{} runs {} in {} for {}, signals by {}",
            header.execution,
            header.engine,
            header.working_directory,
            header.owner,
            word(&header.transport)
        ),
        RecordBody::MessageAccepted(message) => format!(
            "{} from {}{}",
            message.content.kind().name(),
            sender(&message.from),
            quoted(message_text(&message.content))
        ),
        RecordBody::MessageDelivery(delivery) => format!(
            "{} is {}{}",
            delivery.message,
            word(&delivery.status),
            quoted(
                delivery
                    .reason
                    .as_ref()
                    .map_or("", |reason| reason.as_str())
            )
        ),
        RecordBody::Observation(observation) => of_observation(observation),
        RecordBody::Decision(decision) => {
            let verdict = spaced(&word(&decision.verdict));
            let reason = decision.reason.sentence();
            let first = |text: &str| text.split([':', ';', ',', ' ']).next().map(str::to_owned);
            // Most reasons begin with the verdict.
            if first(&verdict) == first(reason) {
                reason.to_owned()
            } else {
                format!("{verdict}: {reason}")
            }
        }
        RecordBody::StateChanged(change) => of_change(change),
        RecordBody::ActivityUpdated(update) => of_update(update),
        RecordBody::OwnerEffect(effect) => {
            let status = match &effect.status {
                EffectStatus::Due => "is due".to_owned(),
                EffectStatus::Applied => "was applied".to_owned(),
                EffectStatus::Refused { reason } => format!("was refused{}", quoted(reason)),
            };
            let kind = spaced(&word(&effect.kind));
            format!("{kind} for {} {status}", effect.owner)
        }
        RecordBody::Projection(item) => {
            let text = item.text.as_ref().map_or("", |text| text.as_str());
            format!("{}{}", item.title, quoted(text))
        }
    }
}

/// Writes the journal as a Markdown page and returns the number of records.
pub fn markdown(
    store: &dyn JournalStore,
    execution: ExecutionId,
    out: &mut dyn Write,
) -> Result<u64, ExportError> {
    writeln!(out, "# Journal of `{execution}`\n")?;
    let mut page = Page {
        out,
        last: Sequence::START,
        count: 0,
    };
    let mut outcome = Ok(());
    let scanned = store.scan(execution, Sequence::START, &mut |scanned| {
        let step = scanned
            .line
            .and_then(|line| line.record())
            .map_err(|reason| {
                let after = page.last;
                ExportError::from(ReplayError::Line { after, reason })
            })
            .and_then(|record| Ok(page.add(&record)?));
        match step {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        }
    });
    scanned.map_err(ReplayError::from)?;
    outcome?;
    Ok(page.count)
}

struct Page<'a> {
    out: &'a mut dyn Write,
    last: Sequence,
    count: u64,
}

impl Page<'_> {
    fn add(&mut self, record: &Record) -> io::Result<()> {
        if self.count == 0 {
            writeln!(self.out, "| record | at | type | what |")?;
            writeln!(self.out, "|---:|---|---|---|")?;
        }
        let said = cell(&sentence(&record.body));
        let kind = record.body.kind();
        writeln!(
            self.out,
            "| {} | {} | `{kind}` | {said} |",
            record.sequence, record.at
        )?;
        self.last = record.sequence;
        self.count += 1;
        Ok(())
    }
}

/// An agent's words must not become structure of the page that quotes them.
fn cell(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

fn of_observation(observation: &Observation) -> String {
    let source = word(&observation.source);
    let said = match &observation.observed {
        Observed::Signal(signal) => {
            format!("{}{}", signal.kind().name(), quoted(signal_text(signal)))
        }
        Observed::Fact(fact) => of_fact(fact),
    };
    format!(
        "{said} (by {}, {})",
        spaced(&source),
        word(&observation.confidence)
    )
}

fn of_fact(fact: &Fact) -> String {
    match fact {
        Fact::Reading(reading) => format!("screen reads {}", word(&reading.state)),
        Fact::Turn(turn) => format!("turn {}", word(&turn.edge)),
        Fact::ToolUse(tool) => {
            let mut said = format!("tool {} {}", tool.tool, word(&tool.edge));
            if let Some(target) = &tool.target {
                let _ = write!(said, " on {}", target.label);
            }
            if let Some(outcome) = &tool.outcome {
                let _ = write!(said, ", {}", word(outcome));
            }
            said
        }
        Fact::Dialog(dialog) => {
            let question = dialog.question.as_ref().map_or("", |text| text.as_str());
            format!("dialog {}{}", word(&dialog.edge), quoted(question))
        }
        Fact::Speech(said) => format!("{} said{}", word(&said.by), quoted(&said.text)),
        Fact::Thinking(thinking) => format!("thinking {}", word(&thinking.edge)),
        Fact::Usage(usage) => format!(
            "one request took {} tokens in, {} out, {} read from and {} written to the cache",
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens
        ),
        Fact::SessionCost(cost) => format!(
            "the conversation has cost {} {} so far",
            cost.amount, cost.currency
        ),
        Fact::RateLimits(limits) => of_limits(limits),
        Fact::Plan(plan) => {
            let done = |step: &&PlanStep| step.status == AgentStepStatus::Done;
            let done = plan.steps.iter().filter(done).count();
            let running = |step: &&PlanStep| step.status == AgentStepStatus::Running;
            let running = plan.steps.iter().find(running);
            format!(
                "plan of {} steps, {done} done{}",
                plan.steps.len(),
                quoted(running.map_or("", |step| &step.text))
            )
        }
        Fact::Setting(setting) => format!("{} is {}", word(&setting.of), setting.value),
        Fact::Session(session) => format!("the conversation is {}", session.id),
        Fact::Process(Process::Started { pid }) => format!("process {pid} started"),
        Fact::Process(Process::Exited {
            code: Some(code), ..
        }) => format!("process ended with code {code}"),
        Fact::Process(Process::Exited {
            signal: Some(signal),
            ..
        }) => format!("process ended by signal {signal}"),
        Fact::Process(Process::Exited { .. }) => "process ended".to_owned(),
        Fact::Process(Process::Lost { reason }) => format!("process lost{}", quoted(reason)),
        Fact::Control(control) => match control {
            Control::Paused => "paused".to_owned(),
            Control::Resumed => "resumed".to_owned(),
            Control::Cancelled { reason } => format!("cancelled{}", quoted(reason)),
            Control::Terminated { reason } => format!("terminated{}", quoted(reason)),
            Control::Finished { reason } => format!("finished{}", quoted(reason)),
            Control::Withdrew { request } => format!("question {request} withdrawn"),
        },
        Fact::Diagnostic(diagnostic) => {
            let code = spaced(&word(&diagnostic.code));
            format!("diagnostic {code}{}", quoted(&diagnostic.detail))
        }
    }
}

fn of_limits(limits: &RateLimits) -> String {
    let windows = limits.windows.iter().map(|window| {
        let mut said = format!("{} window", window.name);
        if let Some(used) = window.used_percent {
            let _ = write!(said, " {used} % used");
        }
        if let Some(at) = window.resets_at {
            let _ = write!(said, ", resets at {at}");
        }
        said
    });
    let windows = windows.collect::<Vec<_>>().join("; ");
    match &limits.reached {
        Some(reached) if windows.is_empty() => format!("limit reached{}", quoted(reached)),
        Some(reached) => format!("limit reached{} ({windows})", quoted(reached)),
        None => format!("limits{}", quoted(&windows)),
    }
}

fn of_change(change: &StateChanged) -> String {
    let mut parts = Vec::new();
    if let Some(to) = &change.lifecycle {
        parts.push(format!("lifecycle becomes {}", word(to)));
    }
    if let Some(to) = &change.attention {
        parts.push(format!("attention becomes {}", word(to)));
    }
    if let Some(session) = &change.session {
        parts.push(format!("conversation becomes {}", session.id));
    }
    for request in &change.requests {
        parts.push(match request {
            RequestChange::Opened(request) => {
                format!(
                    "question {} opened{}",
                    request.id,
                    quoted(&request.question)
                )
            }
            RequestChange::Answered { request, message } => {
                format!("question {request} answered by {message}")
            }
            RequestChange::Withdrawn { request } => format!("question {request} withdrawn"),
        });
    }
    parts.join("; ")
}

fn of_update(update: &ActivityUpdated) -> String {
    let mut parts = Vec::new();
    if let Some(to) = &update.activity {
        parts.push(format!("activity becomes {}", word(to)));
    }
    if let Some(progress) = &update.progress {
        let percent = progress
            .percent
            .map_or(String::new(), |percent| format!(" {} %", percent.get()));
        parts.push(format!("progress{percent}{}", quoted(&progress.summary)));
    }
    if let Some(totals) = &update.telemetry {
        parts.push(format!(
            "{} requests so far, {} tokens in, {} out",
            totals.requests, totals.input_tokens, totals.output_tokens
        ));
    }
    if update.capabilities.is_some() {
        parts.push("capabilities changed".to_owned());
    }
    if let Some(target) = &update.target {
        parts.push(match target {
            CurrentTarget::Nothing => "on nothing in particular".to_owned(),
            CurrentTarget::On(target) => format!("on {} {}", word(&target.kind), target.label),
        });
    }
    parts.join("; ")
}

fn signal_text(signal: &Signal) -> &str {
    match signal {
        Signal::Progress(progress) => &progress.summary,
        Signal::NeedsInput(asked) => &asked.question,
        Signal::Blocked(blocked) => &blocked.reason,
        Signal::ReadyForVerification(ready) => &ready.summary,
        Signal::CompletedClaim(claim) => &claim.summary,
        Signal::FailedClaim(claim) => &claim.reason,
        Signal::Message(message) => &message.text,
    }
}

fn message_text(content: &MessageContent) -> &str {
    match content {
        MessageContent::Prompt(prompt) => &prompt.text,
        MessageContent::Answer(answer) => &answer.text,
        MessageContent::Nudge(nudge) => &nudge.text,
        MessageContent::Review(review) => &review.text,
        MessageContent::Checkpoint(checkpoint) => &checkpoint.text,
        MessageContent::Interrupt(_) => "",
    }
}

fn sender(sender: &Sender) -> String {
    match sender {
        Sender::Execution(execution) => execution.to_string(),
        Sender::Slot(slot) => slot.to_string(),
        Sender::Program(name) => format!("program {name}"),
        Sender::Commander => "an agent of the operator".to_owned(),
        Sender::Unknown => "an unknown process".to_owned(),
        other @ (Sender::Operator | Sender::Daemon | Sender::System | Sender::Owner) => word(other),
    }
}

const SHOWN_CHARS: usize = 300;

/// `: text`, on one line and not too long; nothing when there is no text.
fn quoted(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut shown = String::from(": ");
    let mut words = text.split_whitespace().flat_map(|word| [" ", word]);
    words.next();
    shown.extend(words);
    if let Some((cut, _)) = shown.char_indices().nth(SHOWN_CHARS) {
        shown.truncate(cut);
        shown.push('…');
    }
    shown
}

/// The name a unit variant has in the journal.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

fn spaced(word: &str) -> String {
    word.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_an_agent_stay_words_on_the_page() {
        assert_eq!(cell("a | b\n<script>`x`"), "a \\| b \\<script\\>\\`x\\`");
    }

    #[test]
    fn limits_and_plans_are_told_in_a_line() {
        let told = |name: &str, payload: &str| {
            of_fact(&Fact::parse(name.parse().unwrap(), payload).unwrap())
        };
        let windows =
            r#"{"name": "primary", "used_percent": 91, "resets_at": "2026-11-19T13:00:00Z"}"#;
        assert_eq!(
            told("rate_limits", &format!(r#"{{"windows": [{windows}]}}"#)),
            "limits: primary window 91 % used, resets at 2026-11-19T13:00:00.000000Z"
        );
        assert_eq!(
            told(
                "rate_limits",
                r#"{"reached": "Try later.", "ended_turn": true}"#
            ),
            "limit reached: Try later."
        );
        let steps =
            r#"[{"text": "look", "status": "done"}, {"text": "write", "status": "running"}]"#;
        assert_eq!(
            told("plan", &format!(r#"{{"steps": {steps}}}"#)),
            "plan of 2 steps, 1 done: write"
        );
        assert_eq!(
            told("cost", r#"{"amount": "0.25", "currency": "USD"}"#),
            "the conversation has cost 0.25 USD so far"
        );
        assert_eq!(
            told("setting", r#"{"of": "mode", "value": "code"}"#),
            "mode is code"
        );
    }

    #[test]
    fn a_long_text_is_one_line_and_says_that_it_was_cut() {
        assert_eq!(quoted(""), "");
        assert_eq!(quoted(" two\n  lines "), ": two lines");
        let long = quoted(&"é".repeat(1_000));
        assert_eq!(long.chars().count(), SHOWN_CHARS + 1);
        assert!(long.ends_with('…'));
    }
}
