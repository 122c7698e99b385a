//! `mission timeline …`: events as lines, and a causal chain as a tree.

use std::collections::HashMap;
use std::process::ExitCode;

use missiond_api::operations::board::{BoardShow, BoardTaskParams};
use missiond_api::operations::communication::{
    Order, TimelineActivity, TimelineActivityParams, TimelineNote, TimelineNoteParams,
    TimelinePage, TimelineQuery, TimelineQueryParams, TimelineTrace, TimelineTraceParams,
    TimelineWait, TimelineWaitParams, WaitMs,
};
use missiond_api::{Client, ClientError, SubscribeParams};
use missiond_core::{ErrorCode, SpanId, TaskRef, TimelineEvent, TraceContext};
use serde_json::Value;

use crate::args::{TimelineCommand, TraceOf};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Paint, Style, moment_with_seconds, printable};

pub(super) fn run(
    command: TimelineCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let client = reach.client(output)?;
    match command {
        TimelineCommand::Tail { after, all, filter } => {
            let stored_only = !all && filter.kinds.is_empty();
            let params = SubscribeParams {
                after,
                kinds: filter.kinds,
                categories: filter.categories,
            };
            tail(client, &params, stored_only, output)
        }
        TimelineCommand::Query {
            filter,
            trace,
            since,
            until,
            after,
            before,
            oldest_first,
            limit,
        } => {
            let params = TimelineQueryParams {
                kinds: filter.kinds,
                categories: filter.categories,
                trace_id: trace,
                since,
                until,
                after,
                before,
                order: Some(if oldest_first {
                    Order::OldestFirst
                } else {
                    Order::NewestFirst
                }),
                limit,
            };
            query(client, &params, output)
        }
        TimelineCommand::Trace { of } => show_trace(client, of, output),
        TimelineCommand::Wait {
            kinds,
            after,
            timeout,
        } => {
            let params = TimelineWaitParams {
                kinds,
                after,
                timeout_ms: WaitMs::clamped(timeout.get() * 1000),
            };
            wait(client, &params, output)
        }
        TimelineCommand::Note { text, trace } => {
            let params = TimelineNoteParams {
                text,
                author: None,
                trace_id: trace,
                parent_span_id: None,
            };
            add_note(client, &params, output)
        }
        TimelineCommand::Activity { since } => {
            activity(client, &TimelineActivityParams { since }, output)
        }
    }
}

/// Unless asked for all or for a kind by name, only what is stored: the rest
/// says that somebody asked the daemon something, again and again.
fn tail(
    client: Client,
    params: &SubscribeParams,
    stored_only: bool,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut subscription = client.subscribe(params)?;
    output.exit_when_reader_closes();
    let head = subscription.head();
    if let Some(after) = params.after.filter(|after| *after > head) {
        let message = format!("{after} is beyond the newest event, which is {head}");
        return Err(Failure::new(ErrorCode::InvalidParams, message));
    }
    output.notice_on_terminal(&format!(
        "Watching from event {} on; Ctrl-C ends.",
        params.after.unwrap_or(head)
    ));
    let mut last = params.after.unwrap_or(head);
    loop {
        let event = match subscription.next_event() {
            Ok(event) => event,
            Err(ClientError::Closed) => {
                let go_on = format!("`mission timeline tail --after {last}` goes on from here");
                return Err(
                    Failure::new(ErrorCode::Unreachable, "the daemon has stopped").hint(go_on),
                );
            }
            Err(error) => return Err(error.into()),
        };
        last = event.seq.unwrap_or(last);
        if event.seq.is_some() || !stored_only {
            output.result(&event, |output, event| {
                output.line(line(event, output.paint));
            });
        }
    }
}

fn query(
    mut client: Client,
    params: &TimelineQueryParams,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let page = client.call::<TimelineQuery>(params)?;
    output.result(&page, |output, page| {
        print_page(output, page);
        if page.more {
            output.notice("There are more: raise --limit, or go on with --before or --after.");
        }
    });
    Ok(ExitCode::SUCCESS)
}

fn print_page(output: &mut Output, page: &TimelinePage) {
    if page.events.is_empty() {
        output.notice("No stored event fits.");
    }
    for event in &page.events {
        let line = line(event, output.paint);
        output.line(line);
    }
}

fn wait(
    mut client: Client,
    params: &TimelineWaitParams,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let page = client.call::<TimelineWait>(params)?;
    if page.events.is_empty() {
        let message = format!("no such event within {} s", params.timeout_ms.get() / 1000);
        return Err(Failure::new(ErrorCode::Timeout, message));
    }
    output.result(&page, print_page);
    Ok(ExitCode::SUCCESS)
}

fn add_note(
    mut client: Client,
    params: &TimelineNoteParams,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let result = client.call::<TimelineNote>(params)?;
    output.result(&result, |output, result| {
        let line = line(&result.event, output.paint);
        output.line(line);
    });
    Ok(ExitCode::SUCCESS)
}

fn activity(
    mut client: Client,
    params: &TimelineActivityParams,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let report = client.call::<TimelineActivity>(params)?;
    output.result(&report, |output, report| {
        let rows: Vec<_> = report
            .hours
            .iter()
            .map(|row| {
                vec![
                    row.hour.to_string(),
                    printable(&row.kind),
                    row.count.to_string(),
                ]
            })
            .collect();
        output.table(&["hour", "kind", "events"], &rows);
        output.notice(&format!("Counted up to event {}.", report.counted_to));
    });
    Ok(ExitCode::SUCCESS)
}

/// One event on one line: place, time, kind, what changed.
fn line(event: &TimelineEvent, paint: Paint) -> String {
    let place = event
        .seq
        .map_or_else(|| "–".to_owned(), |seq| seq.to_string());
    let time = paint.apply(Style::Dim, &moment_with_seconds(event.at));
    let kind = paint.apply(Style::Bold, event.event.kind());
    let trace = paint.apply(Style::Dim, &event.trace.trace_id.to_string());
    format!("{place:>6}  {time}  {kind}  {}  {trace}", details(event))
}

fn details(event: &TimelineEvent) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(&event.event) else {
        return String::new();
    };
    let fields: Vec<_> = fields
        .iter()
        .filter(|(name, value)| *name != "type" && !value.is_null())
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={}", printable(&joined_lines(text))),
            Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
                Some(fraction) => format!("{name}={fraction:.2}"),
                None => format!("{name}={number}"),
            },
            other => format!("{name}={other}"),
        })
        .collect();
    fields.join(" ")
}

/// A text of several lines on one. What else is in it stays, so that what moves a
/// cursor is seen.
fn joined_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    lines.join(" ")
}

fn show_trace(mut client: Client, of: TraceOf, output: &mut Output) -> Result<ExitCode, Failure> {
    let (trace_id, title) = match of {
        TraceOf::Trace(trace_id) => (trace_id, None),
        TraceOf::Task(number) => {
            let task = TaskRef::Number(number);
            let shown = client.call::<BoardShow>(&BoardTaskParams { task })?.task;
            let title = format!("{number} {}, ", printable(&shown.title));
            (TraceContext::of(shown.id).trace_id, Some(title))
        }
    };
    let page = client.call::<TimelineTrace>(&TimelineTraceParams { trace_id })?;
    output.result(&page, |output, page| {
        output.line(format!("{}trace {trace_id}", title.unwrap_or_default()));
        for line in tree(&page.events, output.paint) {
            output.line(line);
        }
    });
    Ok(ExitCode::SUCCESS)
}

/// Events under their causes. One whose cause is not stored stands at the top.
fn tree(events: &[TimelineEvent], paint: Paint) -> Vec<String> {
    let by_span: HashMap<SpanId, usize> = events
        .iter()
        .enumerate()
        .map(|(place, event)| (event.trace.span_id, place))
        .collect();
    let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (place, event) in events.iter().enumerate() {
        // A cause is stored before its effect; anything else would be a loop.
        let parent = event
            .trace
            .parent_span_id
            .and_then(|span| by_span.get(&span).copied())
            .filter(|&parent| parent < place);
        children.entry(parent).or_default().push(place);
    }
    let mut lines = Vec::new();
    let mut stack: Vec<(usize, String, bool, bool)> = Vec::new();
    let push = |stack: &mut Vec<_>, parent: Option<usize>, indent: &str, top: bool| {
        let below = children.get(&parent).map(Vec::as_slice).unwrap_or_default();
        for (nth, &place) in below.iter().enumerate().rev() {
            stack.push((place, indent.to_owned(), nth + 1 == below.len(), top));
        }
    };
    push(&mut stack, None, "", true);
    while let Some((place, indent, last, top)) = stack.pop() {
        let (branch, deeper) = match (top, last) {
            (true, _) => ("", String::new()),
            (false, true) => ("└─ ", format!("{indent}   ")),
            (false, false) => ("├─ ", format!("{indent}│  ")),
        };
        lines.push(format!(
            "{indent}{branch}{}",
            short_line(&events[place], paint)
        ));
        push(&mut stack, Some(place), &deeper, false);
    }
    lines
}

fn short_line(event: &TimelineEvent, paint: Paint) -> String {
    let place = event.seq.map_or_else(String::new, |seq| format!("#{seq} "));
    let kind = paint.apply(Style::Bold, event.event.kind());
    let time = paint.apply(Style::Dim, &moment_with_seconds(event.at));
    format!("{place}{kind}  {}  {time}", details(event))
}

#[cfg(test)]
mod tests {
    use missiond_core::{DaemonId, Event, Seq, Timestamp, TraceContext};

    use super::*;

    fn event(seq: i64, trace: TraceContext) -> TimelineEvent {
        TimelineEvent {
            seq: Some(Seq(seq)),
            at: Timestamp::from_micros(0),
            daemon: DaemonId::generate(),
            trace,
            event: Event::NoteAdded {
                text: format!("n{seq}"),
                author: "a".into(),
            },
        }
    }

    #[test]
    fn effects_stand_under_their_causes() {
        let root = TraceContext::root();
        let child = root.child();
        let events = [
            event(1, root),
            event(2, child),
            event(3, child.child()),
            event(4, root.child()),
            event(5, TraceContext::root().child()),
        ];
        // Redirected output has no colours, so the lines are plain here.
        let shapes: Vec<_> = tree(&events, Paint::plain())
            .into_iter()
            .map(|line| {
                line.split(" note_added")
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect();
        assert_eq!(shapes, ["#1", "├─ #2", "│  └─ #3", "└─ #4", "#5"]);
    }
}
