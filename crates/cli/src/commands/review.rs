//! `mission review`: what agents changed, before it is merged.

use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::worktree::{
    ChangedFile, ChangedLine, FileChange, WorktreeChanges, WorktreeDiff, WorktreeDiffParams,
    WorktreeList, WorktreePage, WorktreeStanding,
};
use missiond_core::List;

use super::worktree::standing;
use crate::args::ReviewArgs;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, counted, printable};

pub(super) fn run(
    args: &ReviewArgs,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    let Some(worktree) = &args.task else {
        let mut page = client.call::<WorktreeList>(&NoParams {})?;
        page.worktrees
            .retain(|one| one.standing != WorktreeStanding::Removable);
        output.result(&page, list);
        return Ok(ExitCode::SUCCESS);
    };
    let params = WorktreeDiffParams {
        worktree: worktree.clone(),
        files: List::default(),
        context: Default::default(),
    };
    let changes = client.call::<WorktreeDiff>(&params)?;
    output.result(&changes, |output, changes| {
        summary(output, changes);
        if !args.stat {
            for file in &changes.files {
                diff(output, file);
            }
        }
    });
    Ok(ExitCode::SUCCESS)
}

fn list(output: &mut Output, page: &WorktreePage) {
    if page.worktrees.is_empty() {
        output.line("No task holds work that is not merged.");
        return;
    }
    for worktree in &page.worktrees {
        let name = match (&worktree.task, &worktree.title) {
            (Some(task), Some(title)) => format!("{task} {}", printable(title)),
            _ => printable(&worktree.path),
        };
        let name = output.paint.apply(Style::Bold, &name);
        output.line(format!("{name}: {}", standing(worktree)));
    }
    output.line("");
    output.line("`mission review T-12` shows the changes of one.");
}

fn summary(output: &mut Output, changes: &WorktreeChanges) {
    let name = match (&changes.task, &changes.title) {
        (Some(task), Some(title)) => format!("{task} {}", printable(title)),
        _ => printable(changes.branch.as_deref().unwrap_or("the work")),
    };
    let name = output.paint.apply(Style::Bold, &name);
    let files = changes.files.len() as u64 + changes.files_left_out;
    let files = counted(files, "file", "files");
    output.line(format!(
        "{name}: {files}, +{} −{}",
        changes.additions, changes.deletions
    ));
    if let Some(who) = &changes.in_use {
        output.line(format!("It may still change: {}.", printable(who)));
    }
    for file in &changes.files {
        let lines = if file.binary {
            "binary".to_owned()
        } else {
            format!("+{} −{}", file.additions, file.deletions)
        };
        output.line(format!("  {:<9}{}  {lines}", change(file), path(file)));
    }
    if changes.files_left_out > 0 {
        output.line(format!("  … and {} more", changes.files_left_out));
    }
}

fn change(file: &ChangedFile) -> &'static str {
    match file.change {
        FileChange::Added => "added",
        FileChange::Deleted => "deleted",
        FileChange::Modified => "changed",
        FileChange::Renamed => "renamed",
        FileChange::Retyped => "retyped",
    }
}

fn path(file: &ChangedFile) -> String {
    match &file.old_path {
        Some(old) => format!("{} → {}", printable(old), printable(&file.path)),
        None => printable(&file.path),
    }
}

fn diff(output: &mut Output, file: &ChangedFile) {
    output.line("");
    let heading = output.paint.apply(Style::Bold, &path(file));
    output.line(heading);
    for hunk in &file.hunks {
        let place = format!(
            "@@ -{},{} +{},{} @@ {}",
            hunk.old_start,
            hunk.old_lines,
            hunk.new_start,
            hunk.new_lines,
            printable(&hunk.heading)
        );
        let place = output.paint.apply(Style::Cyan, place.trim_end());
        output.line(place);
        for line in &hunk.lines {
            let line = shown(output, line);
            output.line(line);
        }
    }
    if file.truncated {
        output.line("… the rest of this file is not shown; `mission open` shows it.");
    }
}

fn shown(output: &Output, line: &ChangedLine) -> String {
    // Tabs are part of many files, and safe.
    let text: Vec<_> = line.text.split('\t').map(printable).collect();
    let text = text.join("\t");
    match (line.old, line.new) {
        (None, _) => output.paint.apply(Style::Green, &format!("+{text}")),
        (Some(_), None) => output.paint.apply(Style::Red, &format!("-{text}")),
        (Some(_), Some(_)) => format!(" {text}"),
    }
}
