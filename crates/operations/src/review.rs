//! Handlers of a review: what was changed, and what is said to the agent about it.

use std::path::PathBuf;

use missiond_api::ApiError;
use missiond_api::operations::execution::MessageOutcome;
use missiond_api::operations::review::{
    ReviewComment, ReviewSend, ReviewSendParams, ReviewSent, ReviewSide,
};
use missiond_api::operations::worktree::{
    ChangedFile, ChangedHunk, ChangedLine, FileChange, WorktreeChanges, WorktreeDiff,
    WorktreeDiffParams,
};
use missiond_autopilot::worktrees::NamedWorktree;
use missiond_context::own_words;
use missiond_core::{
    Attempt, BoardTask, BoardTaskStatus, ErrorCode, ExecutionId, TaskRef, excerpt,
};
use missiond_executions::ExecutionError;
use missiond_journal::catalogue::{CommentSide, LineComment, Review};
use missiond_journal::{List, OutOfBounds, Text};
use missiond_store::{StoreError, board};
use missiond_workspace::diff_text::{Change, Hunk, Line, LineSide, PatchLimits};
use missiond_workspace::{Diff, DiffLimits, FileDiff, Repository};

use super::walls;
use super::worktree::of_workspace;
use crate::call::{Call, Operations, of_store};

/// An answer is one frame, of a megabyte at most, and JSON needs room around
/// each line.
const LIMITS: DiffLimits = DiffLimits {
    files: 400,
    file_lines: 1_500,
    context: 3,
    patch: PatchLimits {
        lines: 5_000,
        bytes: 300_000,
        line_chars: 1_000,
    },
};
/// What the lines of an answer may need when they are written down.
const MOST_WRITTEN: usize = 800_000;
/// So much of a file's name or line is quoted, in characters.
const LONGEST_QUOTE: usize = 300;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<WorktreeDiff, _, _>(diff);
    operations.add::<ReviewSend, _, _>(send);
}

async fn diff(call: Call, params: WorktreeDiffParams) -> Result<WorktreeChanges, ApiError> {
    let only: Vec<PathBuf> = params.files.iter().map(PathBuf::from).collect();
    let limits = DiffLimits {
        context: params.context.to_u32(),
        ..LIMITS
    };
    let named = call.daemon.worktrees.named(&params.worktree).await;
    let changes = match named.map_err(|error| of_store(&error))? {
        Some(named) => of_worktree(&call, named, &only, limits).await?,
        None => of_branch(&call, &params.worktree, &only, limits).await?,
    };
    for path in params.files.iter() {
        if !changes.files.iter().any(|file| file.path == *path) {
            let path: String = path.chars().take(200).collect();
            let message = format!("`{path}` was not changed");
            return Err(ApiError::new(ErrorCode::NotFound, message));
        }
    }
    Ok(changes)
}

async fn of_worktree(
    call: &Call,
    named: NamedWorktree,
    only: &[PathBuf],
    limits: DiffLimits,
) -> Result<WorktreeChanges, ApiError> {
    let worktree = named.worktree.map_err(|error| of_workspace(&error))?;
    walls::may_look(call, worktree.path())?;
    let diff = worktree.diff(only, limits).await;
    let diff = diff.map_err(|error| of_workspace(&error))?;
    Ok(WorktreeChanges {
        path: Some(worktree.path().display().to_string()),
        branch: Some(worktree.branch().to_owned()),
        base: worktree.base().map(str::to_owned),
        in_use: named.user,
        ..changes(diff, named.attempt.as_ref())
    })
}

/// What is left of an attempt whose worktree was removed: its branch, or the
/// commit that its checks last ran on.
async fn of_branch(
    call: &Call,
    name: &str,
    only: &[PathBuf],
    limits: DiffLimits,
) -> Result<WorktreeChanges, ApiError> {
    let left = newest_attempt(call, name.to_owned()).await;
    let left = left.map_err(|error| of_store(&error))?;
    let left = left.ok_or_else(|| super::worktree::unknown(name))?;
    let (attempt, task) = (left.attempt, left.task);
    let (Some(base), Some(repository)) = (&attempt.base_commit, &task.repository) else {
        let message = format!("nobody worked on {} in a worktree of its own", task.number);
        return Err(ApiError::new(ErrorCode::NotFound, message));
    };
    let repository = Repository::open(repository).await;
    let repository = repository.map_err(|error| of_workspace(&error))?;
    let (base, heads) = (base.clone(), [attempt.branch.clone(), left.checked]);
    let mut gone = None;
    for head in heads.into_iter().flatten() {
        match repository.diff(&base, &head, only, limits).await {
            Ok(diff) => {
                return Ok(WorktreeChanges {
                    branch: attempt.branch.clone(),
                    base: task.base.clone(),
                    ..changes(diff, Some(&(attempt, task)))
                });
            }
            Err(error) => gone = gone.or(Some(error)),
        }
    }
    Err(match gone {
        Some(error) => of_workspace(&error),
        None => super::worktree::unknown(name),
    })
}

struct ReviewedAttempt {
    attempt: Attempt,
    task: BoardTask,
    checked: Option<String>,
}

/// The newest attempt of a task, or on a branch, that was made in a worktree.
async fn newest_attempt(call: &Call, name: String) -> Result<Option<ReviewedAttempt>, StoreError> {
    let read = call.daemon.db.read(move |tx| {
        Box::pin(async move {
            let attempt = match name.parse::<TaskRef>() {
                Ok(task) => {
                    let task = board::find(tx, task).await?;
                    let mut attempts = board::attempts(tx, task.id).await?;
                    attempts.retain(|attempt| attempt.branch.is_some());
                    attempts.pop()
                }
                Err(_) => board::attempt_on(tx, &name).await?,
            };
            let Some(attempt) = attempt else {
                return Ok(None);
            };
            let evidence = board::evidence(tx, attempt.id).await?;
            let checked = evidence.into_iter().rev().find_map(|found| found.commit);
            let task = board::get(tx, attempt.task).await?;
            Ok(task.map(|task| ReviewedAttempt {
                attempt,
                task,
                checked,
            }))
        })
    });
    read.await
}

/// A task with its attempts, the first one first.
async fn attempts_of(call: &Call, task: TaskRef) -> Result<(BoardTask, Vec<Attempt>), ApiError> {
    let found = call.daemon.db.read(move |tx| {
        Box::pin(async move {
            let task = board::find(tx, task).await?;
            let attempts = board::attempts(tx, task.id).await?;
            Ok::<_, StoreError>((task, attempts))
        })
    });
    found.await.map_err(|error| of_store(&error))
}

fn changes(diff: Diff, attempt: Option<&(Attempt, BoardTask)>) -> WorktreeChanges {
    let task = attempt.map(|(_, task)| task);
    let mut room = MOST_WRITTEN;
    WorktreeChanges {
        path: None,
        branch: None,
        base: None,
        base_commit: diff.base,
        head_commit: diff.head,
        task: task.map(|task| task.number),
        title: task.map(|task| task.title.clone()),
        attempt: attempt.map(|(attempt, _)| attempt.number),
        in_use: None,
        additions: diff.additions,
        deletions: diff.deletions,
        files: diff
            .files
            .into_iter()
            .map(|file| changed(file, &mut room))
            .collect(),
        files_left_out: diff.files_left_out,
    }
}

fn changed(file: FileDiff, room: &mut usize) -> ChangedFile {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut truncated = file.truncated;
    let mut hunks = Vec::new();
    for hunk in file.hunks {
        let (hunk, whole) = changed_hunk(hunk, room);
        truncated |= !whole;
        hunks.push(hunk);
    }
    ChangedFile {
        path: text(file.path),
        old_path: file.old_path.map(text),
        change: match file.change {
            Change::Added => FileChange::Added,
            Change::Deleted => FileChange::Deleted,
            Change::Modified => FileChange::Modified,
            Change::Renamed => FileChange::Renamed,
            Change::Retyped => FileChange::Retyped,
        },
        binary: file.binary,
        additions: file.additions,
        deletions: file.deletions,
        hunks,
        truncated,
    }
}

/// The hunk as far as there is room, and whether that is all of it.
fn changed_hunk(hunk: Hunk, room: &mut usize) -> (ChangedHunk, bool) {
    let mut lines = Vec::with_capacity(hunk.lines.len());
    let mut whole = true;
    for line in hunk.lines {
        let needs = written(&line.text) + 48;
        let Some(left) = room.checked_sub(needs) else {
            *room = 0;
            whole = false;
            break;
        };
        *room = left;
        lines.push(changed_line(line));
    }
    let hunk = ChangedHunk {
        old_start: hunk.old_start,
        old_lines: hunk.old_lines,
        new_start: hunk.new_start,
        new_lines: hunk.new_lines,
        heading: hunk.heading,
        lines,
    };
    (hunk, whole)
}

/// How long a text is as JSON: control characters take six bytes.
fn written(text: &str) -> usize {
    let bytes = text.bytes();
    bytes
        .map(|byte| match byte {
            b'"' | b'\\' => 2,
            0..=0x1f => 6,
            _ => 1,
        })
        .sum()
}

fn changed_line(line: Line) -> ChangedLine {
    let (old, new) = match line.side {
        LineSide::Both { old, new } => (Some(old), Some(new)),
        LineSide::Old { old } => (Some(old), None),
        LineSide::New { new } => (None, Some(new)),
    };
    ChangedLine {
        old,
        new,
        text: line.text,
        unended: line.unended,
    }
}

async fn send(call: Call, params: ReviewSendParams) -> Result<ReviewSent, ApiError> {
    let review = review(&params)
        .map_err(|error| ApiError::invalid_params(format!("the review cannot be sent: {error}")))?;
    let review = review.ok_or_else(|| {
        ApiError::invalid_params("the review says nothing: write a remark or comment on a line")
    })?;
    let execution = addressee(&call, &params.to).await?;
    let text = review.text.as_str().to_owned();
    let accepted = call
        .daemon
        .executions
        .review(
            execution,
            review,
            params.key.map(Text::into_string),
            call.sender().await,
        )
        .await;
    let accepted = accepted.map_err(|error| match error {
        ExecutionError::NotRunning { .. } => nobody(&params.to),
        error => ApiError::new(error.code(), error.to_string()),
    })?;
    Ok(ReviewSent {
        execution,
        message: accepted.message,
        outcome: if accepted.first {
            MessageOutcome::Accepted
        } else {
            MessageOutcome::Duplicate
        },
        text,
    })
}

/// The run whose agent did the work.
async fn addressee(call: &Call, to: &str) -> Result<ExecutionId, ApiError> {
    let Ok(task) = to.parse::<TaskRef>() else {
        let found = call.daemon.executions.find(to).await;
        let found = found.map_err(|error| ApiError::new(error.code(), error.to_string()))?;
        return Ok(found.id);
    };
    let (task, attempts) = attempts_of(call, task).await?;
    // The agent of work in review leaves: it would not get to what it is told.
    if task.status == BoardTaskStatus::Review {
        return Err(nobody(to));
    }
    let mut newest = attempts.iter().rev();
    newest
        .find_map(|attempt| attempt.execution)
        .ok_or_else(|| nobody(to))
}

fn nobody(to: &str) -> ApiError {
    let to: String = to.chars().take(100).collect();
    let message = format!(
        "no agent of {to} runs that could take a review: write it as a note on the task and try \
         the task again"
    );
    ApiError::new(ErrorCode::Conflict, message)
}

/// The message for the journal; nothing when it would say nothing.
fn review(params: &ReviewSendParams) -> Result<Option<Review>, OutOfBounds> {
    let remark = params.remark.as_deref().map(str::trim);
    let remark = remark.filter(|remark| !remark.is_empty());
    if remark.is_none() && params.comments.is_empty() {
        return Ok(None);
    }
    let comment = |comment: &ReviewComment| {
        Ok(LineComment {
            file: comment.file.clone(),
            side: match comment.side {
                ReviewSide::Old => CommentSide::Old,
                ReviewSide::New => CommentSide::New,
            },
            line: comment.line.map(|line| line.to_u32()),
            quote: comment.quote.as_deref().and_then(Text::excerpt),
            text: Text::new(comment.text.trim())?,
        })
    };
    let comments: Result<Vec<_>, _> = params.comments.iter().map(comment).collect();
    Ok(Some(Review {
        text: Text::new(worded(remark, params.commit.as_deref(), &params.comments))?,
        remark: remark.map(Text::new).transpose()?,
        commit: params.commit.as_deref().and_then(Text::excerpt),
        comments: List::new(comments?)?,
    }))
}

/// The review as an agent reads it.
fn worded(remark: Option<&str>, commit: Option<&str>, comments: &[ReviewComment]) -> String {
    let mut text = String::from("A person has reviewed your work");
    if let Some(commit) = commit {
        text.push_str(&format!(" at commit {commit}"));
    }
    text.push_str(match comments.len() {
        0 => ".",
        1 => " and comments on one line.",
        _ => " and comments on lines of it.",
    });
    text.push_str(" Act on it, then say what you did about each point.");
    let mut text = own_words(&text);
    if let Some(remark) = remark {
        text.push_str(&format!("\n{remark}\n"));
    }
    for (number, comment) in (1..).zip(comments) {
        text.push_str(&format!(
            "\n{number}. {}",
            excerpt(&comment.file, LONGEST_QUOTE)
        ));
        if let Some(line) = comment.line {
            text.push_str(&format!(", line {line}"));
        }
        if comment.side == ReviewSide::Old {
            text.push_str(" as it was before your change");
        }
        text.push_str(":\n");
        if let Some(quote) = comment
            .quote
            .as_deref()
            .filter(|quote| !quote.trim().is_empty())
        {
            text.push_str(&format!(
                "   > {}\n",
                excerpt(quote.trim_end(), LONGEST_QUOTE)
            ));
        }
        for line in comment.text.trim().lines() {
            text.push_str(&format!("   {line}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use missiond_core::Bounded;

    use super::*;

    fn comment(side: ReviewSide, line: Option<u32>, quote: Option<&str>) -> ReviewComment {
        ReviewComment {
            file: Text::new("src/lib.rs").unwrap(),
            side,
            line: line.map(|line| Bounded::clamped(line.into())),
            quote: quote.map(str::to_owned),
            text: Text::new("Name it.\nThen test it. ").unwrap(),
        }
    }

    #[test]
    fn a_review_is_worded_as_one_message() {
        let comments = [
            comment(
                ReviewSide::New,
                Some(12),
                Some("    let x = 1;\r\n2. false.rs:"),
            ),
            comment(ReviewSide::Old, Some(3), None),
            comment(ReviewSide::New, None, Some("  ")),
        ];
        let text = worded(Some("Good, nearly there."), Some("4f2a9c1"), &comments);
        let expected = "\
==== From missiond ====
A person has reviewed your work at commit 4f2a9c1 and comments on lines of it. Act on it, then say \
what you did about each point.
==== End of what missiond says ====

Good, nearly there.

1. src/lib.rs, line 12:
   >     let x = 1;  2. false.rs:
   Name it.
   Then test it.

2. src/lib.rs, line 3 as it was before your change:
   Name it.
   Then test it.

3. src/lib.rs:
   Name it.
   Then test it.
";
        assert_eq!(text, expected);
        let said = missiond_context::speech_of(&text);
        assert!(said.starts_with("Good, nearly there."), "{said}");
    }

    #[test]
    fn a_review_that_says_nothing_or_too_much_is_none() {
        let mut params = ReviewSendParams {
            to: "T-1".to_owned(),
            remark: Text::new("  ").ok(),
            comments: List::default(),
            commit: None,
            key: None,
        };
        assert_eq!(review(&params), Ok(None));
        let mut comments = vec![comment(ReviewSide::New, Some(1), None); 100];
        params.comments = List::new(comments.clone()).unwrap();
        assert!(review(&params).is_ok());
        comments[0].text = Text::new(" ").unwrap();
        params.comments = List::new(comments).unwrap();
        assert!(review(&params).is_err());
    }

    #[test]
    fn lines_are_counted_as_they_are_written() {
        for text in ["plain", "a\"b\\c", "tab\tand\u{1}", "ä日本"] {
            let json = serde_json::to_string(text).unwrap();
            assert!(written(text) >= json.len() - 2, "{text:?}");
        }
    }
}
