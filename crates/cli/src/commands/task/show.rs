//! How tasks are shown to people.

use missiond_api::operations::board::{
    AlternativeSummary, ReadyReport, TaskDetails, TaskLink, TaskPage, TaskSummary,
};
use missiond_core::{
    Attempt, BoardTask, BoardTaskStatus, Check, Clock, Controller, Evidence, Finish, Isolation,
    ReviewGate, SystemClock, Timestamp, Wait,
};
use missiond_os::programs::find_program;

use super::super::usage::cost;
use crate::output::Output;
use crate::term::{Paint, Style, counted, duration, printable};

pub(super) fn list(output: &mut Output, page: &TaskPage) {
    if page.tasks.is_empty() {
        output.line("There are no such tasks. Add one with: mission task add \"what to do\"");
        return;
    }
    let status = |task: &TaskSummary| match &task.pull_request {
        Some(opened) if task.status == BoardTaskStatus::Review => {
            format!("{} #{}", task.status, opened.number)
        }
        _ => task.status.as_str().to_owned(),
    };
    let row = |task: &TaskSummary| {
        vec![
            task.number.to_string(),
            status(task),
            task.priority.as_str().to_owned(),
            task.phase.as_str().to_owned(),
            task.engine
                .as_ref()
                .map_or_else(|| "any".to_owned(), ToString::to_string),
            title(task),
            printable(&task.labels.join(", ")),
        ]
    };
    let rows: Vec<_> = page.tasks.iter().map(row).collect();
    let header = [
        "TASK", "STATUS", "PRIORITY", "PHASE", "ENGINE", "TITLE", "LABELS",
    ];
    output.table(&header, &rows);
    let more = page.total.saturating_sub(page.tasks.len() as u64);
    if more > 0 {
        output.line(format!("… and {more} more; --limit shows more of them"));
    }
}

/// Alternatives have the same words; which is which, their engines say.
fn title(task: &TaskSummary) -> String {
    let title = printable(&task.title);
    match task.one_of {
        Some(count) => format!("{title} (one of {count} alternatives)"),
        None => title,
    }
}

pub(super) fn line(task: &TaskSummary) -> String {
    format!("{}  {}", task.number, printable(&task.title))
}

pub(super) fn ready(output: &mut Output, report: &ReadyReport) {
    if report.open_total == 0 {
        output.line("Nothing is open. Add a task with: mission task add \"what to do\"");
        return;
    }
    let heading = format!("Ready ({})", report.ready_total);
    let heading = output.paint.apply(Style::Bold, &heading);
    output.line(heading);
    for task in &report.ready {
        output.line(format!("  {}", line(task)));
    }
    let more = report.ready_total.saturating_sub(report.ready.len() as u64);
    if more > 0 {
        output.line(format!("  … and {more} more"));
    }
    if report.waiting.is_empty() {
        return;
    }
    let waiting = report.open_total.saturating_sub(report.ready_total);
    let heading = format!("Waiting ({waiting})");
    let heading = output.paint.apply(Style::Bold, &heading);
    output.line(heading);
    for waiting in &report.waiting {
        output.line(format!("  {}", line(&waiting.task)));
        for wait in &waiting.waits {
            let text = output.paint.apply(Style::Dim, &printable(&wait.sentence));
            output.line(format!("      {text}"));
        }
    }
    let more = waiting.saturating_sub(report.waiting.len() as u64);
    if more > 0 {
        output.line(format!("  … and {more} more"));
    }
}

/// How often it was tried. Failed checks are part of an attempt, and no failed attempt.
fn attempts(details: &TaskDetails) -> String {
    let task = &details.task;
    let most = task.max_attempts;
    match (details.attempts.len(), task.tries) {
        (0, _) => format!("none yet; at most {most} may fail"),
        (all, 0) => format!("{all} so far; at most {most} may fail"),
        (all, failed) => format!("{all} so far, {failed} failed; at most {most} may fail"),
    }
}

pub(super) fn details(output: &mut Output, details: &TaskDetails) {
    let task = &details.task;
    let title = format!("{}  {}", task.number, printable(&task.title));
    let title = output.paint.apply(Style::Bold, &title);
    output.line(title);
    let now = SystemClock.now();
    let mut field = |name: &str, value: &str| {
        output.line(format!("  {name:<11} {}", printable(value)));
    };
    field("id", &task.id.to_string());
    let mut others = details.alternatives.iter();
    let status = if !task.was_cancelled() {
        task.status.as_str()
    } else if others.any(|other| other.status == BoardTaskStatus::Done) {
        "not kept"
    } else {
        "cancelled"
    };
    let status = match &task.blocked {
        Some(reason) => format!("{status}: {reason}"),
        None => status.to_owned(),
    };
    field("status", &status);
    for wait in &details.waits {
        // The status has said so.
        if !matches!(wait.wait, Wait::Blocked { .. }) {
            field("", &wait.sentence);
        }
    }
    field("priority", task.priority.as_str());
    let phases: Vec<_> = task.phases.iter().map(|phase| phase.as_str()).collect();
    match phases.as_slice() {
        [only] => field("phase", only),
        _ => field("phase", &format!("{} of {}", task.phase, phases.join(", "))),
    }
    if let Some(due) = task.due {
        field("due", &due.to_string());
    }
    if !task.labels.is_empty() {
        field("labels", &task.labels.join(", "));
    }
    if let Some(repository) = &task.repository {
        field("repository", &repository.display().to_string());
    }
    let base = task.base.as_deref();
    let base = base.map_or_else(String::new, |base| format!(" from {base}"));
    match task.isolation {
        Isolation::None => field("works in", "no repository"),
        Isolation::Worktree | Isolation::Shared => {
            let place = format!("{}{base}, then {}", task.isolation, brought_back(task));
            field("works in", &place);
        }
    }
    if task.finish == Finish::PullRequest && task.pull_request.is_none() && !has_github() {
        field(
            "",
            "GitHub's command line `gh`, which opens it, is not installed",
        );
    }
    if let Some(opened) = &task.pull_request {
        field("handed over", &format!("{opened}: {}", opened.url));
    }
    if let Some(engine) = &task.engine {
        let model = task
            .model
            .as_deref()
            .map_or_else(String::new, |model| format!(", {model}"));
        field("engine", &format!("{engine}{model}"));
    }
    match task.control {
        Some(Controller::Structured) => field("driven by", "its protocol"),
        Some(Controller::Terminal) => field("driven by", "its terminal"),
        None => {}
    }
    if !task.args.is_empty() {
        field("arguments", &task.args.join(" "));
    }
    if !task.touches.is_empty() {
        field("touches", &task.touches.join(", "));
    }
    let commands = [
        ("setup", &task.setup),
        ("check", &task.checks),
        ("teardown", &task.teardown),
    ];
    for (name, commands) in commands {
        for command in commands {
            field(name, &check(command));
        }
    }
    field("attempts", &attempts(details));
    field("added", &ago(task.created_at, now));
    let links = details.parent.iter().map(|link| ("part of", link));
    let links = links.chain(details.depends_on.iter().map(|link| ("after", link)));
    let links = links.chain(details.dependents.iter().map(|link| ("before", link)));
    let links = links.chain(details.children.iter().map(|link| ("has part", link)));
    for (name, link) in links {
        field(name, &link_text(link));
    }
    for other in &details.alternatives {
        let which = if other.number == task.number {
            "this one"
        } else {
            "or"
        };
        field(which, &alternative_text(other));
    }
    if !task.description.is_empty() {
        output.line("");
        for line in task.description.lines() {
            output.line(format!("  {}", printable(line)));
        }
    }
    for note in &details.notes {
        output.line("");
        let head = format!("{}, {}:", note.author, ago(note.at, now));
        output.line(format!(
            "  {}",
            output.paint.apply(Style::Dim, &printable(&head))
        ));
        for line in note.text.lines() {
            output.line(format!("  {}", printable(line)));
        }
    }
    for attempt in &details.attempts {
        output.line("");
        let lines = attempt_lines(attempt, now);
        for line in lines {
            output.line(format!("  {line}"));
        }
        let mine = details
            .evidence
            .iter()
            .filter(|said| said.attempt == attempt.id);
        for said in mine {
            let lines = evidence_lines(said, output.paint);
            for line in lines {
                output.line(format!("    {line}"));
            }
        }
    }
}

/// What becomes of the work, and who looks at it first.
fn brought_back(task: &BoardTask) -> String {
    match (task.review, task.finish) {
        (ReviewGate::AfterApproval, finish) => format!("{finish}, after a review"),
        (ReviewGate::MergeAtOnce, Finish::PullRequest) => {
            "pull_request, without a review before it".to_owned()
        }
        (ReviewGate::MergeAtOnce, finish @ (Finish::Branch | Finish::Patch)) => {
            format!("{finish}, for a review")
        }
        (ReviewGate::MergeAtOnce, finish) => finish.to_string(),
    }
}

fn has_github() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_program("gh", path).is_some()
}

/// One of several tasks for the same work, to be compared with the others.
fn alternative_text(one: &AlternativeSummary) -> String {
    let engine = match &one.model {
        Some(model) => format!("{}, {model}", one.engine),
        None => one.engine.to_string(),
    };
    let mut parts = vec![engine, one.status.to_string()];
    parts.extend(one.checks.as_ref().map(|checks| match checks.red() {
        Some(red) => format!("checks fail: {red}"),
        None if checks.passed == 0 => "no checks".to_owned(),
        None => "checks passed".to_owned(),
    }));
    parts.extend(one.size.map(|size| {
        let files = counted(size.files, "file", "files");
        format!("{files} +{} −{}", size.additions, size.deletions)
    }));
    if let Some(usage) = &one.usage {
        parts.push(format!("{} tokens", usage.tokens.counted));
        parts.push(cost(&usage.cost));
    }
    format!("{}  {}", one.number, parts.join("; "))
}

fn link_text(link: &TaskLink) -> String {
    match link.status {
        BoardTaskStatus::Open => format!("{}  {}", link.number, link.title),
        status => format!("{}  {} ({status})", link.number, link.title),
    }
}

fn check(check: &Check) -> String {
    let mut text = check.label();
    if check.name.is_some() {
        text = format!("{text}: {}", check.command_line());
    }
    if check.expected_exit != 0 {
        text = format!("{text} (exit {})", check.expected_exit);
    }
    format!("{text}, {} s", check.timeout_secs)
}

fn attempt_lines(attempt: &Attempt, now: Timestamp) -> Vec<String> {
    let outcome = match attempt.outcome {
        Some(outcome) => outcome.as_str().replace('_', " "),
        None => "running".to_owned(),
    };
    let reason = attempt
        .reason
        .as_deref()
        .map_or_else(String::new, |why| format!(": {why}"));
    let head = format!(
        "Attempt {}, {}: {outcome}{reason}",
        attempt.number,
        ago(attempt.started_at, now)
    );
    let mut lines = vec![printable(&head)];
    if let Some(claim) = &attempt.claim {
        let kind = claim.kind.as_str().replace('_', " ");
        lines.push(printable(&format!(
            "  the agent said {kind}: {}",
            claim.text
        )));
    }
    if let Some(execution) = attempt.execution {
        lines.push(format!("  execution {execution}"));
    }
    if let Some(worktree) = &attempt.worktree {
        let branch = attempt.branch.as_deref().unwrap_or("no branch");
        lines.push(printable(&format!("  {} on {branch}", worktree.display())));
    }
    lines
}

fn evidence_lines(said: &Evidence, paint: Paint) -> Vec<String> {
    let ran = said.timed_out || said.exit.is_some() || said.signal.is_some();
    if said.passed && !ran {
        let mut lines = vec![format!("round {}: {}", said.round, printable(&said.tail))];
        lines.extend(
            said.note
                .iter()
                .map(|note| format!("  {}", printable(note))),
        );
        return lines;
    }
    let how = match (said.timed_out, said.exit, said.signal) {
        (true, ..) => "took too long".to_owned(),
        (_, Some(exit), _) => format!("exit {exit}"),
        (_, None, Some(signal)) => format!("signal {signal}"),
        (_, None, None) => "did not run".to_owned(),
    };
    let (style, word) = if said.passed {
        (Style::Green, "passed")
    } else {
        (Style::Red, "failed")
    };
    let head = format!(
        "round {}: {} {} ({how}, {} ms)",
        said.round,
        printable(&said.check),
        paint.apply(style, word),
        said.millis
    );
    let mut lines = vec![head];
    lines.extend(
        said.note
            .iter()
            .map(|note| format!("  {}", printable(note))),
    );
    if !said.passed {
        let tail: Vec<_> = said.tail.lines().collect();
        let shown = tail.len().saturating_sub(8);
        lines.extend(
            tail[shown..]
                .iter()
                .map(|line| format!("  {}", printable(line))),
        );
    }
    lines
}

fn ago(at: Timestamp, now: Timestamp) -> String {
    format!("{} ago", duration(now.since(at).as_secs()))
}
