//! `mission inbox`, `answer` and `dismiss`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use missiond_api::Client;
use missiond_api::operations::attention::{
    GrantParams, QuestionAnswer, QuestionAnswerParams, QuestionDismiss, QuestionDismissParams,
    QuestionList, QuestionListParams, QuestionPage,
};
use missiond_api::operations::board::{BoardShow, BoardTaskParams};
use missiond_api::operations::communication::{TimelineWait, TimelineWaitParams, WaitMs};
use missiond_core::{
    Clock, Limit, Question, QuestionOrigin, QuestionStatus, SystemClock, TaskNumber, TaskRef, Text,
    Timestamp, one_line,
};

use super::seconds::seconds;
use super::slot::text_or_stdin;
use crate::args::{AnswerArgs, DismissArgs, InboxArgs};
use crate::connect::Reach;
use crate::failure::{Failure, parameter};
use crate::output::Output;
use crate::term::{Style, duration, printable};

/// The daemon answers a wait within this time, with or without an event.
const LONGEST_WAIT: WaitMs = WaitMs::of::<50_000>();
const WATCHED: [&str; 3] = [
    "question_created",
    "question_answered",
    "question_dismissed",
];
/// More of a context than this is for `--json`.
const CONTEXT_SHOWN: usize = 400;

pub(super) fn inbox(
    args: &InboxArgs,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    if args.watch && super::live::fits(output) {
        return super::inbox::watch(reach, output);
    }
    let mut client = reach.client(output)?;
    if args.watch {
        return watch(&mut client, output);
    }
    let page = list(&mut client, args.all, args.limit)?;
    let tasks = tasks_of(&mut client, &page);
    output.result(&page, |output, page| show(output, page, &tasks));
    Ok(ExitCode::SUCCESS)
}

fn list(client: &mut Client, all: bool, limit: Limit<1000, 50>) -> Result<QuestionPage, Failure> {
    Ok(client.call::<QuestionList>(&QuestionListParams { all, limit })?)
}

fn watch(client: &mut Client, output: &mut Output) -> Result<ExitCode, Failure> {
    output.exit_when_reader_closes();
    let mut after = None;
    loop {
        let page = list(client, false, Limit::of::<1000>())?;
        let tasks = tasks_of(client, &page);
        output.result(&page, |output, page| show(output, page, &tasks));
        // Until something changes; a wait that ended empty begins again.
        loop {
            let params = TimelineWaitParams {
                kinds: WATCHED.map(str::to_owned).to_vec(),
                after,
                timeout_ms: LONGEST_WAIT,
            };
            let waited = client.call::<TimelineWait>(&params)?;
            match waited.events.last() {
                Some(event) => {
                    after = event.seq;
                    break;
                }
                None => after = after.or(Some(waited.head)),
            }
        }
        if !output.is_json() {
            output.line("");
        }
    }
}

/// The titles of the tasks that are asked about.
type Tasks = BTreeMap<TaskNumber, String>;

fn tasks_of(client: &mut Client, page: &QuestionPage) -> Tasks {
    let numbers: BTreeSet<_> = page.questions.iter().filter_map(|q| q.task).collect();
    let titled = numbers.into_iter().filter_map(|number| {
        let task = TaskRef::Number(number);
        let shown = client.call::<BoardShow>(&BoardTaskParams { task }).ok()?;
        Some((number, shown.task.title))
    });
    titled.collect()
}

fn show(output: &mut Output, page: &QuestionPage, tasks: &Tasks) {
    if page.questions.is_empty() {
        output.line("Nobody waits for you.");
    }
    let now = SystemClock.now();
    for question in &page.questions {
        show_one(output, question, tasks, now);
    }
    let pending = |one: &&Question| one.status == QuestionStatus::Pending;
    let waiting: Vec<_> = page.questions.iter().filter(pending).collect();
    if let Some(first) = waiting.first() {
        output.line("");
        how_to_answer(output, first, &waiting);
    }
}

/// Said once, whatever is asked.
fn how_to_answer(output: &mut Output, first: &Question, waiting: &[&Question]) {
    let answer = match first.options.len() {
        0 => "\"…\"",
        _ => "1",
    };
    let number = first.number;
    output.line(format!("Answer with `mission answer {number} {answer}`."));
    let blocked = |one: &&&Question| matches!(one.origin, QuestionOrigin::Task { .. });
    if let Some(task) = waiting.iter().find(blocked).and_then(|one| one.task) {
        output.line(
            "A task that cannot go on takes what its agent should know, `try again` or `give up`;",
        );
        output.line(format!(
            "`mission task edit {task}` changes it, `mission worktree finish {task}` says what of \
             its work can be taken as it is, and how."
        ));
    }
}

fn show_one(output: &mut Output, question: &Question, tasks: &Tasks, now: Timestamp) {
    let number = question.number.to_string();
    let number = output.paint.apply(Style::Bold, &number);
    let from = printable(&who_asks(question, tasks));
    let sentence = printable_line(&question.headline);
    let age = duration(now.since(question.asked_at).as_secs());
    let state = match (&question.status, &question.answer, &question.reason) {
        (QuestionStatus::Pending, _, _) => format!("waits {age}"),
        (_, Some(answer), _) => format!("answered “{}”", printable_line(answer)),
        (_, None, Some(reason)) => format!("closed: {}", printable_line(reason)),
        (_, None, None) => "dismissed".to_owned(),
    };
    let by = question.closed_by.as_deref().map(printable);
    let by = by.map_or_else(String::new, |by| format!(" by {by}"));
    output.line(format!("{number}  {from}  {state}{by}"));
    let sentence = output.paint.apply(Style::Yellow, &sentence);
    output.line(format!("    {sentence}"));
    if question.status != QuestionStatus::Pending {
        return;
    }
    if let QuestionOrigin::Dialog {
        permission: Some(asked),
        ..
    } = &question.origin
    {
        // What is decided on is seen whole.
        let parts = [&asked.command, &asked.argument, &asked.path].into_iter();
        let cut = |part: &&String| !question.headline.contains(part.as_str());
        for part in parts.flatten().filter(cut) {
            output.line(format!("    {}", printable_line(part)));
        }
    }
    if let Some(context) = &question.context {
        let context = printable_line(context);
        let shown: String = context.chars().take(CONTEXT_SHOWN).collect();
        let more = if shown.len() < context.len() {
            " …"
        } else {
            ""
        };
        let shown = output.paint.apply(Style::Dim, &format!("{shown}{more}"));
        output.line(format!("    {shown}"));
    }
    for (index, option) in question.options.iter().enumerate() {
        output.line(format!("      {}. {}", index + 1, printable_line(option)));
    }
}

fn who_asks(question: &Question, tasks: &Tasks) -> String {
    let task = question.task.map(|number| match tasks.get(&number) {
        Some(title) => format!("{number} {title}"),
        None => number.to_string(),
    });
    match &question.origin {
        QuestionOrigin::Dialog {
            slot_name,
            permission,
            ..
        } => {
            let asks = task.unwrap_or_else(|| slot_name.clone());
            match permission.as_ref().and_then(|asked| asked.tool.as_ref()) {
                Some(tool) => format!("{asks} wants {tool}"),
                None => asks,
            }
        }
        QuestionOrigin::Tool {
            execution: None,
            key,
        } => key.split(' ').next().unwrap_or_default().to_owned(),
        origin => match (task, origin.execution()) {
            (Some(task), _) => task,
            (None, Some(execution)) => execution.to_string(),
            (None, None) => origin.key(),
        },
    }
}

fn printable_line(text: &str) -> String {
    printable(&one_line(text))
}

pub(super) fn answer(
    args: AnswerArgs,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    let seconds = args.for_time.map(|time| seconds("--for", time));
    let seconds = seconds.transpose()?;
    let grant = (seconds.is_some() || args.scope.is_some()).then(|| GrantParams {
        seconds,
        scope: args.scope.map(Into::into).unwrap_or_default(),
        by_sight: args.by_sight,
    });
    let params = QuestionAnswerParams {
        question: args.question,
        answer: parameter("the answer", Text::new(text_or_stdin(args.answer)?))?,
        by: None,
        grant,
    };
    let result = client.call::<QuestionAnswer>(&params)?;
    output.result(&result, |output, result| {
        let question = &result.question;
        let answer = printable_line(question.answer.as_deref().unwrap_or_default());
        output.line(format!("{} is answered: {answer}", question.number));
        if let Some(rule) = &result.rule {
            output.line(format!(
                "{rule} decides from now on (`mission permission remove {rule}` takes it back)."
            ));
        }
        if let Some(held) = result.held() {
            output.line(held);
        }
    });
    Ok(ExitCode::SUCCESS)
}

pub(super) fn dismiss(
    args: DismissArgs,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    let params = QuestionDismissParams {
        question: args.question,
        reason: args.reason,
    };
    let result = client.call::<QuestionDismiss>(&params)?;
    output.result(&result, |output, result| {
        output.line(format!("{} is dismissed.", result.question.number));
    });
    Ok(ExitCode::SUCCESS)
}
