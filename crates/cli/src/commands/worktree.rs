//! `mission worktree …`

use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::worktree::{
    FinishResult, WorktreeClean, WorktreeCleanParams, WorktreeFinish, WorktreeFinishParams,
    WorktreeFinished, WorktreeList, WorktreeStanding, WorktreeSummary, WorktreesCleaned,
};
use missiond_core::Finish;

use crate::args::WorktreeCommand;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, printable};

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
            yes,
        } => {
            let params = WorktreeFinishParams {
                worktree,
                how,
                into,
                confirmed: yes,
            };
            let finished = client.call::<WorktreeFinish>(&params)?;
            output.result(&finished, show_finished);
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
        WorktreeStanding::InUse => Style::Green,
        WorktreeStanding::HoldsWork => Style::Yellow,
        WorktreeStanding::Removable => Style::Dim,
        WorktreeStanding::Unreadable => Style::Red,
    };
    let name = match (&worktree.task, &worktree.title) {
        (Some(task), Some(title)) => format!("{task} {}", printable(title)),
        _ => "of no task".to_owned(),
    };
    let name = output.paint.apply(style, &name);
    output.line(format!("{name}: {}", printable(&worktree.reason)));
    output.line(format!("    {}", printable(&worktree.path)));
    if let (Some(branch), Some(repository)) = (&worktree.branch, &worktree.repository) {
        let since = match &worktree.base {
            Some(base) => format!(" from {}", printable(base)),
            None => String::new(),
        };
        output.line(format!(
            "    {}{since}, {} of {}",
            printable(branch),
            commits(worktree.commits),
            printable(repository)
        ));
    }
}

fn show_finished(output: &mut Output, finished: &WorktreeFinished) {
    let branch = finished.worktree.branch.as_deref().unwrap_or_default();
    let (branch, into) = (printable(branch), printable(&finished.into));
    let line = match &finished.result {
        FinishResult::WouldBring { commits: n } => match finished.how {
            Finish::Merge => format!("Would merge {} of {branch} into {into}.", commits(*n)),
            Finish::Rebase => format!("Would put {} of {branch} on top of {into}.", commits(*n)),
            Finish::Branch => format!("Would leave {} on {branch}.", commits(*n)),
            Finish::Patch => format!("Would write {} of {branch} to a file.", commits(*n)),
        },
        FinishResult::Merged { commit } => format!("{into} has the work of {branch}: {commit}"),
        FinishResult::AlreadyThere => format!("{into} already has the work of {branch}."),
        FinishResult::NothingToBring => format!("Nothing was committed on {branch}."),
        FinishResult::Branch { name } => format!("The work is on {}.", printable(name)),
        FinishResult::Patch { path } => format!("The work is in {}", printable(path)),
    };
    output.line(line);
    match (finished.completes, finished.done) {
        (Some(task), true) => output.line(format!("{task} is done.")),
        (Some(task), false) => output.line(format!("{task} would be done with it.")),
        (None, _) => {}
    }
    if !finished.done && finished.result != FinishResult::NothingToBring {
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
    match count {
        1 => "1 commit".to_owned(),
        count => format!("{count} commits"),
    }
}
