//! `mission execution …`

use std::path::Path;
use std::process::ExitCode;

use missiond_api::operations::execution::{
    ExecutionAnswer, ExecutionAnswerParams, ExecutionCancel, ExecutionCancelParams,
    ExecutionDetails, ExecutionInterrupt, ExecutionList, ExecutionListParams, ExecutionMessage,
    ExecutionMessageParams, ExecutionParams, ExecutionShow, ExecutionSummary, Happening,
    MessageOutcome, MessageResult,
};
use missiond_api::{Client, EXECUTION_VARIABLE};
use missiond_core::{
    AbsolutePath, AgentLimit, AgentStepStatus, AgentTold, Clock, ExecutionAttention, ExecutionId,
    Limit, SendWhen, SystemClock, Text, Timestamp, one_line,
};

use super::engine::way;
use super::slot::text_or_stdin;
use crate::args::ExecutionCommand;
use crate::connect::Reach;
use crate::failure::{Failure, parameter};
use crate::output::Output;
use crate::term::{Style, counted, duration, moment, moment_with_seconds, printable};

/// What happened last is shown with so many lines.
const SHOWN: usize = 15;

pub(super) fn run(
    command: ExecutionCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    match command {
        // Served before the daemon is asked for.
        ExecutionCommand::Mcp(_) => {}
        ExecutionCommand::List { all, limit } => list(all, limit, &mut client, output)?,
        ExecutionCommand::Show { execution } => {
            let details = client.call::<ExecutionShow>(&ExecutionParams { execution })?;
            output.result(&details, show);
        }
        ExecutionCommand::Message {
            execution,
            text,
            key,
            now,
            files,
        } => {
            let text = parameter("the text", Text::new(text_or_stdin(text)?))?;
            let params = ExecutionMessageParams {
                execution,
                text,
                key,
                from: own_execution(),
                files: files
                    .iter()
                    .map(|file| absolute(file))
                    .collect::<Result<_, _>>()?,
                when: if now { SendWhen::Now } else { SendWhen::Idle },
            };
            let result = client.call::<ExecutionMessage>(&params)?;
            output.result(&result, accepted);
        }
        ExecutionCommand::Answer {
            execution,
            text,
            request,
        } => {
            let params = ExecutionAnswerParams {
                execution,
                request,
                text: parameter("the answer", Text::new(text_or_stdin(text)?))?,
                key: None,
            };
            let result = client.call::<ExecutionAnswer>(&params)?;
            output.result(&result, accepted);
        }
        ExecutionCommand::Interrupt { execution } => {
            let result = client.call::<ExecutionInterrupt>(&ExecutionParams { execution })?;
            output.result(&result, accepted);
        }
        ExecutionCommand::Cancel { execution, reason } => {
            let params = ExecutionCancelParams { execution, reason };
            let summary = client.call::<ExecutionCancel>(&params)?;
            output.result(&summary, |output, summary| {
                output.line(format!("{} is cancelled.", summary.execution));
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The execution this command runs in, when an agent runs it.
fn own_execution() -> Option<ExecutionId> {
    std::env::var(EXECUTION_VARIABLE).ok()?.parse().ok()
}

fn list(
    all: bool,
    limit: Limit<1000, 50>,
    client: &mut Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let page = client.call::<ExecutionList>(&ExecutionListParams { all, limit })?;
    output.result(&page, |output, page| {
        if page.executions.is_empty() {
            output.line("No agent runs. Start one with: mission run \"what to do\"");
            return;
        }
        let now = SystemClock.now();
        let row = |summary: &ExecutionSummary| {
            let task = summary.task.map(|task| task.to_string());
            let does = summary.progress.as_deref().or(summary.title.as_deref());
            vec![
                summary.execution.to_string(),
                task.unwrap_or_else(|| "-".to_owned()),
                summary.slot_name.clone().unwrap_or_else(|| "-".to_owned()),
                summary.engine.to_string(),
                state(summary),
                age(summary, now),
                printable(&one_line(does.unwrap_or_default())),
            ]
        };
        let rows: Vec<_> = page.executions.iter().map(row).collect();
        let header = [
            "EXECUTION",
            "TASK",
            "SLOT",
            "ENGINE",
            "STATE",
            "FOR",
            "DOES",
        ];
        output.table(&header, &rows);
        for summary in &page.executions {
            if let Some(trouble) = &summary.trouble {
                output.line(format!("{}: {}", summary.execution, printable(trouble)));
            }
        }
    });
    Ok(())
}

/// The state in as few words as say it.
pub(super) fn state(summary: &ExecutionSummary) -> String {
    if summary.ended_at.is_some() || summary.attention == ExecutionAttention::None {
        return summary.lifecycle.as_str().to_owned();
    }
    match summary.attention {
        ExecutionAttention::AwaitingOperator => "needs you".to_owned(),
        ExecutionAttention::Blocked => "blocked".to_owned(),
        _ => summary.activity.as_str().to_owned(),
    }
}

fn age(summary: &ExecutionSummary, now: Timestamp) -> String {
    let until = summary.ended_at.unwrap_or(now);
    let micros = until.as_micros() - summary.started_at.as_micros();
    duration(u64::try_from(micros / 1_000_000).unwrap_or(0))
}

pub(super) fn show(output: &mut Output, details: &ExecutionDetails) {
    let summary = &details.summary;
    let title = format!("{} ({})", summary.execution, summary.engine);
    let title = output.paint.apply(Style::Bold, &title);
    output.line(title);
    let slot = match &summary.slot_name {
        Some(name) => name.clone(),
        None => format!("{}, closed", summary.slot),
    };
    let mut field = |name: &str, value: &str| {
        output.line(format!("  {name:<13} {}", printable(value)));
    };
    field("state", &state(summary));
    field("slot", &slot);
    field("folder", &summary.cwd);
    // What it is and its name, which is a path for a repository.
    let owner = match summary.task {
        Some(task) => format!("task {task}"),
        None => details.owner.replacen('/', " ", 1),
    };
    field("owner", &owner);
    field("reports by", &details.signals.replace('_', " "));
    if let Some(control) = &details.control {
        let why = control.why.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        field("driven by", &format!("{}{why}", way(control.by)));
    }
    if let Some(conversation) = &summary.conversation {
        field("conversation", conversation);
    }
    if let Some(progress) = &summary.progress {
        field("progress", progress);
    }
    if let Some(told) = &details.agent {
        told_lines(told, &mut field);
    }
    let tokens = details.summary.tokens;
    if tokens.requests > 0 {
        let text = format!(
            "{} in, {} out, {} from cache, in {}",
            tokens.input,
            tokens.output,
            tokens.cache_read,
            counted(tokens.requests, "request", "requests")
        );
        field("tokens", &text);
    }
    let records = counted(details.records, "record", "records");
    field("journal", &format!("{} ({records})", details.journal));
    for message in &details.messages {
        if let Some(reason) = &message.reason {
            let text = format!("{} {}: {reason}", message.message, message.status.as_str());
            field("message", &text);
        }
    }
    for question in &details.questions {
        let text = format!("{} {}", question.request, printable(&question.question));
        let text = output.paint.apply(Style::Yellow, &text);
        output.line(format!("  question      {text}"));
        for choice in &question.choices {
            output.line(format!("                - {}", printable(choice)));
        }
    }
    let skipped = details.timeline.len().saturating_sub(SHOWN);
    for item in &details.timeline[skipped..] {
        output.line(happening(item));
    }
}

/// What the agent tells of itself.
fn told_lines(told: &AgentTold, field: &mut impl FnMut(&str, &str)) {
    if let Some(agent) = &told.agent {
        field("driven as", agent);
    }
    for setting in &told.settings {
        let others = setting.choices.iter();
        let others: Vec<_> = others
            .filter(|choice| **choice != setting.current)
            .map(String::as_str)
            .collect();
        let value = if others.is_empty() {
            setting.current.clone()
        } else {
            format!("{} (or {})", setting.current, others.join(", "))
        };
        field(&setting.name.to_lowercase(), &value);
    }
    if let Some(cost) = &told.cost {
        field("cost so far", cost);
    }
    for limit in &told.limits {
        field("limit", &limit_text(limit));
    }
    if let Some(reached) = &told.limit_reached {
        field("limit reached", reached);
    }
    if !told.commands.is_empty() {
        let names = told.commands.iter().map(|one| format!("/{}", one.name));
        field("commands", &names.collect::<Vec<_>>().join(" "));
    }
    for (place, step) in told.plan.iter().enumerate() {
        let mark = match step.status {
            AgentStepStatus::Done => "[x]",
            AgentStepStatus::Running => "[>]",
            AgentStepStatus::Cancelled => "[-]",
            AgentStepStatus::Pending => "[ ]",
        };
        let name = if place == 0 { "plan" } else { "" };
        field(name, &format!("{mark} {}", step.text));
    }
    for one in &told.sub_agents {
        let does = if one.is_working { "works" } else { "is done" };
        let words = one.last_words.as_ref();
        let words = words.map_or_else(String::new, |words| format!(": {words}"));
        field("sub-agent", &format!("{} {does}{words}", one.name));
    }
}

fn limit_text(limit: &AgentLimit) -> String {
    let mut parts = vec![limit.name.clone()];
    let seconds = limit.minutes.map(|minutes| minutes.saturating_mul(60));
    parts.extend(seconds.map(|seconds| format!("of {}", duration(seconds))));
    parts.extend(limit.used_percent.map(|used| format!("{used} % used")));
    parts.extend(limit.resets_at.map(|at| format!("resets {}", moment(at))));
    parts.join(", ")
}

/// One thing that happened, as a line.
pub(super) fn happening(item: &Happening) -> String {
    let clock = moment_with_seconds(item.at);
    let text = one_line(&item.text);
    format!("{clock}  {}  {}", item.title, printable(&text))
        .trim_end()
        .to_owned()
}

/// A file as the daemon, which has another working folder, is to find it.
fn absolute(file: &Path) -> Result<AbsolutePath, Failure> {
    let path = std::path::absolute(file)?;
    parameter("--file", AbsolutePath::new(path.display().to_string()))
}

fn accepted(output: &mut Output, result: &MessageResult) {
    output.line(match result.outcome {
        MessageOutcome::Accepted => format!("{} is queued.", result.message),
        MessageOutcome::Duplicate => format!(
            "{} was accepted before under this key; it is not sent again.",
            result.message
        ),
    });
}
