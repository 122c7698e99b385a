//! Worktrees of attempts: what is in them, bringing it back, removing them.

use missiond_core::{
    BoardTaskStatus, BoundedOr, CheckVerdict, CliEngine, Finish, List, PullRequest,
    PullRequestState, TaskNumber, Text, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NoParams, operations};

operations! {
    Compute;

    WorktreeList = "worktree_list" (ReadOnly, "board"; Process):
        NoParams => WorktreePage,
        "List the worktrees of attempts: whose each is, what its work and its checks came to, and \
         whether it is ready for review.";

    WorktreeDiff = "worktree_diff" (ReadOnly, "review"; Process):
        WorktreeDiffParams => WorktreeChanges,
        "Show what the agent of a task changed, committed or not, as files, hunks and lines; for a \
         review before its work is merged.";

    WorktreeFinish = "worktree_finish" (Destructive, "board", People; Process):
        WorktreeFinishParams => WorktreeFinished,
        "Bring the work of a worktree back: by merge, squash, rebase, branch, patch or pull request; \
         that of a task in review is merged unless said otherwise. Says what it would do unless \
         confirmed.";

    WorktreeDiscard = "worktree_discard" (Destructive, "board", People; Process):
        WorktreeDiscardParams => WorktreeDiscarded,
        "Throw away what is not committed in a worktree; files that git ignores stay. Says which \
         files unless confirmed.";

    WorktreeClean = "worktree_clean" (Destructive, "board", Programs; Process):
        WorktreeCleanParams => WorktreesCleaned,
        "Remove worktrees that hold nothing of their own. Says which unless confirmed; work that \
         is nowhere else is never removed.";
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreePage {
    pub worktrees: Vec<WorktreeSummary>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeSummary {
    pub path: String,
    /// The repository it belongs to; absent when the worktree cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The branch it started from, where its work goes unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Commits since the base.
    pub commits: u64,
    /// The task of the attempt that was last made in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNumber>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Where that task stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<BoardTaskStatus>,
    /// Which agent CLI did the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    /// Files and lines that are different from the base, committed or not.
    pub files: u64,
    pub additions: u64,
    pub deletions: u64,
    /// What the last round of checks came to; absent when none ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckVerdict>,
    /// When something was last done in it, as far as the board knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Where the work of its task is judged, once that was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequest>,
    pub standing: WorktreeStanding,
    /// Where its work is, when nothing would be lost with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed: Option<WorktreeLanding>,
    /// What it holds, who uses it, or why it cannot be read.
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeStanding {
    /// Its work is verified and waits for a person.
    ReadyForReview,
    /// An attempt is being made in it, or a program runs in it.
    InUse,
    /// It has changes or commits that are nowhere else.
    HoldsWork,
    /// Nothing would be lost with it.
    Removable,
    Unreadable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeLanding {
    /// Nothing was committed in it.
    NoChanges,
    /// The branch it started from has its work.
    Merged,
    /// Its work is left on its branch.
    Branch,
    /// Its work is in a patch file.
    Patch,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorktreeDiffParams {
    /// Its path, its branch, or its task (`T-12`). Of a task whose worktree is
    /// gone, the branch is shown.
    pub worktree: String,
    /// Only these files, each by its path from the top of the repository; they are
    /// shown as far as an answer goes. All when left out.
    #[serde(default)]
    pub files: List<String, 0, 50>,
    /// How many unchanged lines are shown before and behind each change.
    #[serde(default)]
    pub context: BoundedOr<0, 5000, 3>,
}

/// What was changed since the work left its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeChanges {
    /// Where it works; absent when only the branch is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The branch the work started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The commit it is compared with.
    pub base_commit: String,
    /// The last commit of the work; what is not committed is shown too.
    pub head_commit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskNumber>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Who may be changing it at this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use: Option<String>,
    /// Lines of all files, also those that are not shown.
    pub additions: u64,
    pub deletions: u64,
    pub files: Vec<ChangedFile>,
    /// Files that are not even listed because there are too many.
    pub files_left_out: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    pub change: FileChange,
    pub binary: bool,
    pub additions: u64,
    pub deletions: u64,
    pub hunks: Vec<ChangedHunk>,
    /// There is more of it than stands here: ask for this file alone.
    pub truncated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    Added,
    Deleted,
    Modified,
    Renamed,
    /// A file became a link, or a link a file.
    Retyped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedHunk {
    pub old_start: u32,
    pub old_lines: u32,
    pub new_start: u32,
    pub new_lines: u32,
    /// What it is in: a function, a heading.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heading: String,
    pub lines: Vec<ChangedLine>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedLine {
    /// Its number before; absent when it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<u32>,
    /// Its number now; absent when it was taken out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<u32>,
    pub text: String,
    /// The file ends here without the end of a line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unended: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorktreeFinishParams {
    /// Its path, its branch, or its task (`T-12`).
    pub worktree: String,
    /// As the task says when left out, else by merge. Work in review that was left on
    /// its branch is merged; `branch` says that it is done without. Work whose pull
    /// request is open is asked about again.
    #[serde(default)]
    pub how: Option<Finish>,
    /// The branch the work goes into; the one it started from when left out.
    #[serde(default)]
    pub into: Option<String>,
    /// Of the commit that a merge or a squash makes; the task's number and title when
    /// left out.
    #[serde(default)]
    pub message: Option<Text<16384>>,
    /// Do it although the last checks failed. Without this such work is refused.
    #[serde(default)]
    pub despite_failed_checks: bool,
    /// Do it. Without this nothing is changed and the answer says what would be.
    #[serde(default)]
    pub confirmed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeFinished {
    /// Whether it is done, or only said what would be.
    pub done: bool,
    pub worktree: WorktreeSummary,
    pub how: Finish,
    pub into: String,
    /// Where a pull request pushes the branch to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    pub result: FinishResult,
    /// What the last round of checks of the work came to; absent when none ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckVerdict>,
    /// The task that is done with this, or would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completes: Option<TaskNumber>,
    /// The alternatives of that task that are given up with this, or would be: it is
    /// the one that is kept. Their work stays on its branch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gives_up: Vec<TaskNumber>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FinishResult {
    /// Not done: it would bring this many commits.
    WouldBring { commits: u64 },
    /// The target has the work at this commit.
    Merged { commit: String },
    /// The target had the work already.
    AlreadyThere,
    /// Nothing was committed since the base.
    NothingToBring,
    /// The work is left on this branch.
    Branch { name: String },
    /// The work is in this file.
    Patch { path: String },
    /// The work is in this pull request, which stands so now.
    PullRequest {
        number: u64,
        url: String,
        state: PullRequestState,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorktreeDiscardParams {
    /// Its path, its branch, or its task (`T-12`).
    pub worktree: String,
    /// Do it. Without this nothing is changed and the answer says what would be.
    #[serde(default)]
    pub confirmed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeDiscarded {
    /// Whether it is done, or only said what would be.
    pub done: bool,
    pub worktree: WorktreeSummary,
    /// Tracked files that are put back to the last commit.
    pub restored: Vec<String>,
    /// New files that are deleted.
    pub removed: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorktreeCleanParams {
    /// Only these, each by its path, its branch or its task; all when empty.
    #[serde(default)]
    pub worktrees: Vec<String>,
    /// Do it. Without this nothing is changed and the answer says what would be.
    #[serde(default)]
    pub confirmed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreesCleaned {
    /// Whether they are removed, or only would be.
    pub done: bool,
    pub removed: Vec<WorktreeSummary>,
    pub kept: Vec<WorktreeSummary>,
}
