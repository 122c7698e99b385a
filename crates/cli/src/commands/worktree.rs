//! `mission worktree …`

use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::worktree::{
    FinishResult, WorktreeClean, WorktreeCleanParams, WorktreeDiscard, WorktreeDiscardParams,
    WorktreeDiscarded, WorktreeFinish, WorktreeFinishParams, WorktreeFinished, WorktreeList,
    WorktreeStanding, WorktreeSummary, WorktreesCleaned,
};
use missiond_core::{BoardTaskStatus, CheckVerdict, Finish, PullRequestState};

use crate::args::WorktreeCommand;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, counted, printable};

pub(super) fn run(
    command: WorktreeCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    match command {
        WorktreeCommand::List => {
            let page = client.call::<WorktreeList>(&NoParams {})?;
            output.result(&page, |output, page| {
                if page.worktrees.is_empty() {
                    output.line("No worktrees: attempts of tasks make them.");
                }
                for worktree in &page.worktrees {
                    describe(output, worktree);
                }
            });
        }
        WorktreeCommand::Finish {
            worktree,
            how,
            into,
            message,
            despite_failed_checks,
            yes,
        } => {
            let params = WorktreeFinishParams {
                worktree,
                how,
                into,
                message,
                despite_failed_checks,
                confirmed: yes,
            };
            let finished = client.call::<WorktreeFinish>(&params)?;
            output.result(&finished, show_finished);
        }
        WorktreeCommand::Discard { worktree, yes } => {
            let params = WorktreeDiscardParams {
                worktree,
                confirmed: yes,
            };
            let discarded = client.call::<WorktreeDiscard>(&params)?;
            output.result(&discarded, show_discarded);
        }
        WorktreeCommand::Clean { worktrees, yes } => {
            let params = WorktreeCleanParams {
                worktrees,
                confirmed: yes,
            };
            let cleaned = client.call::<WorktreeClean>(&params)?;
            output.result(&cleaned, show_cleaned);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn describe(output: &mut Output, worktree: &WorktreeSummary) {
    let style = match worktree.standing {
        WorktreeStanding::ReadyForReview => Style::Bold,
        WorktreeStanding::InUse => Style::Green,
        WorktreeStanding::HoldsWork => Style::Yellow,
        WorktreeStanding::Removable => Style::Dim,
        WorktreeStanding::Unreadable => Style::Red,
    };
    let name = match (&worktree.task, &worktree.title) {
        (Some(task), Some(title)) => format!("{task} {}", printable(title)),
        _ => "No task".to_owned(),
    };
    let name = output.paint.apply(style, &name);
    output.line(format!("{name}: {}", standing(worktree)));
    output.line(format!("    {}", printable(&worktree.path)));
    if let (Some(branch), Some(repository)) = (&worktree.branch, &worktree.repository) {
        let since = match &worktree.base {
            Some(base) => format!(" from {}", printable(base)),
            None => String::new(),
        };
        output.line(format!(
            "    {} on {}{since}, in {}",
            commits(worktree.commits),
            printable(branch),
            printable(repository)
        ));
    }
    if worktree.files > 0 {
        let files = counted(worktree.files, "file", "files");
        let (more, less) = (worktree.additions, worktree.deletions);
        output.line(format!("    {files}, +{more} −{less}"));
    }
    if let Some(opened) = &worktree.pull_request {
        let (number, url) = (opened.number, printable(&opened.url));
        output.line(format!("    Pull request #{number}: {url}"));
    }
    if let Some(checks) = &worktree.checks {
        let line = verdict(output, checks);
        output.line(format!("    {line}"));
    }
}

/// How it stands, after the name and a colon.
pub(super) fn standing(worktree: &WorktreeSummary) -> String {
    let reason = &worktree.reason;
    printable(reason.strip_prefix("is ").unwrap_or(reason))
}

/// What the last checks came to, red when they failed.
fn verdict(output: &Output, checks: &CheckVerdict) -> String {
    match checks.red() {
        Some(red) => {
            let line = format!("Checks fail: {red} (round {}).", checks.round);
            output.paint.apply(Style::Red, &printable(&line))
        }
        None if checks.passed == 0 => "No checks: the agent's word was taken.".to_owned(),
        None => format!("Checks passed (round {}).", checks.round),
    }
}

fn show_finished(output: &mut Output, finished: &WorktreeFinished) {
    let branch = finished.worktree.branch.as_deref().unwrap_or_default();
    let (branch, into) = (printable(branch), printable(&finished.into));
    let red = finished.checks.as_ref().filter(|checks| checks.failed > 0);
    if let Some(checks) = &finished.checks {
        let line = verdict(output, checks);
        output.line(line);
    }
    let line = match &finished.result {
        FinishResult::WouldBring { commits: n } => match finished.how {
            Finish::Merge => format!("Would merge {} of {branch} into {into}.", commits(*n)),
            Finish::Squash => format!(
                "Would put {} of {branch} into {into} as one commit.",
                commits(*n)
            ),
            Finish::Rebase => format!("Would put {} of {branch} on top of {into}.", commits(*n)),
            Finish::Branch => format!("Would leave {} on {branch}.", commits(*n)),
            Finish::Patch => format!("Would write {} of {branch} to a file.", commits(*n)),
            Finish::PullRequest => {
                let remote = printable(finished.remote.as_deref().unwrap_or_default());
                let next = match &finished.worktree.pull_request {
                    Some(opened) => format!("ask how pull request #{} stands", opened.number),
                    None => format!("open a pull request into {into}"),
                };
                format!(
                    "Would push {} of {branch} to {remote} and {next}.",
                    commits(*n)
                )
            }
        },
        FinishResult::Merged { commit } => format!("{into} has the work of {branch}: {commit}"),
        FinishResult::AlreadyThere => format!("{into} already has the work of {branch}."),
        FinishResult::NothingToBring => format!("Nothing was committed on {branch}."),
        FinishResult::Branch { name } => format!("The work is on {}.", printable(name)),
        FinishResult::Patch { path } => format!("The work is in {}", printable(path)),
        FinishResult::PullRequest { number, url, state } => {
            let state = match state {
                PullRequestState::Open => "is open",
                PullRequestState::Merged => "is merged",
                PullRequestState::Closed => "was closed without a merge",
            };
            format!("Pull request #{number} {state}: {}", printable(url))
        }
    };
    output.line(line);
    match (finished.completes, finished.done) {
        (Some(task), true) => output.line(format!("{task} is done.")),
        (Some(task), false) => output.line(format!("{task} would be done with it.")),
        (None, _) => {}
    }
    for other in &finished.gives_up {
        output.line(if finished.done {
            format!("{other} is given up; its work stays on its branch.")
        } else {
            format!("{other} would be given up; its work stays on its branch.")
        });
    }
    let over = match finished.result {
        FinishResult::NothingToBring => true,
        FinishResult::AlreadyThere => finished.completes.is_none(),
        _ => false,
    };
    let task = finished.worktree.task.zip(finished.worktree.status);
    if let (true, Some((task, BoardTaskStatus::Done))) = (over, task) {
        output.line(format!("{task} is done: there is nothing left to do."));
    }
    if !finished.done && !over {
        output.line(match red {
            Some(_) => "Nothing was done: --yes --despite-failed-checks does it.",
            None => "Nothing was done: --yes does it.",
        });
    }
}

fn show_discarded(output: &mut Output, discarded: &WorktreeDiscarded) {
    let verb = |done: &'static str, would: &'static str| if discarded.done { done } else { would };
    for file in &discarded.restored {
        let verb = verb("Restored", "Would restore");
        output.line(format!("{verb} {}", printable(file)));
    }
    for file in &discarded.removed {
        let verb = verb("Deleted", "Would delete");
        output.line(format!("{verb} {}", printable(file)));
    }
    if discarded.restored.is_empty() && discarded.removed.is_empty() {
        output.line("Everything in it is committed.");
    } else if !discarded.done {
        output.line("Nothing was done: --yes does it.");
    }
}

fn show_cleaned(output: &mut Output, cleaned: &WorktreesCleaned) {
    let verb = if cleaned.done {
        "Removed"
    } else {
        "Would remove"
    };
    for worktree in &cleaned.removed {
        output.line(format!("{verb} {}", printable(&worktree.path)));
    }
    for worktree in &cleaned.kept {
        output.line(format!(
            "Kept {}: {}",
            printable(&worktree.path),
            printable(&worktree.reason)
        ));
    }
    if cleaned.removed.is_empty() {
        output.line("Nothing to remove.");
    } else if !cleaned.done {
        output.line("Nothing was done: --yes does it.");
    }
}

fn commits(count: u64) -> String {
    counted(count, "commit", "commits")
}
