//! What was changed since the work began, committed or not.
//!
//! The files on disk are compared, not only the commits, and new files count too.
//! For that they have to be in an index: in a copy of it that is thrown away, so
//! that the agent's own index stays as it is. What is too much is left out and
//! said; which files hold it can be asked for one by one.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::diff_text::{Change, Entry, Hunk, PatchLimits, parse_list, parse_patch};
use crate::error::WorkspaceError;
use crate::git::GitCall;
use crate::repository::Repository;
use crate::status::WorktreeStatus;
use crate::worktree::Worktree;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The commit it is compared with.
    pub base: String,
    /// The last commit of the work.
    pub head: String,
    pub files: Vec<FileDiff>,
    /// Files that are not listed because there are too many.
    pub files_left_out: u64,
    /// Of all files, those left out too.
    pub additions: u64,
    pub deletions: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    pub path: PathBuf,
    pub old_path: Option<PathBuf>,
    pub change: Change,
    pub binary: bool,
    pub additions: u64,
    pub deletions: u64,
    pub hunks: Vec<Hunk>,
    /// There is more of it than its hunks say.
    pub truncated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLimits {
    /// How many files are listed.
    pub files: usize,
    /// A file with more changed lines is shown only if it is asked for.
    pub file_lines: u64,
    /// How many unchanged lines are shown before and behind each change.
    pub context: u32,
    pub patch: PatchLimits,
}

/// How much was changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiffSize {
    pub files: u64,
    pub additions: u64,
    pub deletions: u64,
}

/// Counts everything and reads nothing.
const COUNTED: DiffLimits = DiffLimits {
    files: 0,
    file_lines: 0,
    context: 0,
    patch: PatchLimits {
        lines: 0,
        bytes: 0,
        line_chars: 0,
    },
};

impl From<Diff> for DiffSize {
    fn from(diff: Diff) -> Self {
        Self {
            files: diff.files.len() as u64 + diff.files_left_out,
            additions: diff.additions,
            deletions: diff.deletions,
        }
    }
}

/// New files beyond these are not looked at: nobody reads them one by one.
const UNTRACKED: usize = 5_000;
/// Names of files on one command line.
const NAMES_BYTES: usize = 256 << 10;

/// Whatever the person has set, a difference looks the same.
const PLAIN: [&str; 10] = [
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    "--diff-algorithm=histogram",
    "--inter-hunk-context=0",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    "-O/dev/null",
];

impl Worktree {
    /// What is different in the worktree from where its branch left its base, or
    /// only in the files named. Once everything is in the base, from where the
    /// work began.
    pub async fn diff(&self, only: &[PathBuf], limits: DiffLimits) -> Result<Diff, WorkspaceError> {
        let changes = self.changes().await?;
        let head = changes.head;
        let head = head.ok_or_else(|| WorkspaceError::NoCommits(self.path().to_owned()))?;
        let tip = match self.base() {
            Some(base) => self.repository().branch_tip(base).await?,
            None => None,
        };
        let base = self.merge_base(&head, tip.as_deref()).await?;
        let index = IndexCopy::of(self, changes.untracked).await?;
        self.diff_by(index, base, head, only, limits).await
    }

    /// How much that is, for a status that was just read.
    pub async fn size_of(&self, status: &WorktreeStatus) -> Result<DiffSize, WorkspaceError> {
        let base = self.merge_base(&status.head, status.base_tip.as_deref());
        let base = base.await?;
        let index = IndexCopy::of(self, status.untracked.clone()).await?;
        let counted = self.diff_by(index, base, status.head.clone(), &[], COUNTED);
        Ok(counted.await?.into())
    }

    async fn diff_by(
        &self,
        index: IndexCopy,
        base: String,
        head: String,
        only: &[PathBuf],
        limits: DiffLimits,
    ) -> Result<Diff, WorkspaceError> {
        let call = |doing: &str| {
            let command = self.call(doing).variable("GIT_INDEX_FILE", &index.path);
            command.arg("diff").args(PLAIN).arg(&base)
        };
        let mut diff = compare(call, only, limits).await?;
        diff.files_left_out += index.left_out;
        Ok(Diff { base, head, ..diff })
    }

    /// The last commit that this worktree and its base, which is at `tip`, have in
    /// common.
    async fn merge_base(&self, head: &str, tip: Option<&str>) -> Result<String, WorkspaceError> {
        let began = self.base_commit().to_owned();
        let Some(tip) = tip else {
            return Ok(began);
        };
        let command = self.call("find where the work left its base");
        let answer = command.args(["merge-base", tip, head]).run().await?;
        let common = String::from_utf8_lossy(&answer.output).trim().to_owned();
        match answer.code {
            Some(0) if common != head => Ok(common),
            _ => Ok(began),
        }
    }
}

impl Repository {
    /// How much is different between two commits.
    pub async fn size(&self, base: &str, head: &str) -> Result<DiffSize, WorkspaceError> {
        Ok(self.diff(base, head, &[], COUNTED).await?.into())
    }

    /// What is different between two commits, for work whose worktree is gone.
    pub async fn diff(
        &self,
        base: &str,
        head: &str,
        only: &[PathBuf],
        limits: DiffLimits,
    ) -> Result<Diff, WorkspaceError> {
        let missing = |name: &str| WorkspaceError::NoSuchBase {
            repository: self.path().to_owned(),
            base: name.to_owned(),
        };
        let base = self.commit(base).await?.ok_or_else(|| missing(base))?;
        let head = self.commit(head).await?.ok_or_else(|| missing(head))?;
        let call = |doing: &str| {
            let command = self.call(doing).arg("diff").args(PLAIN);
            command.args([&base, &head])
        };
        let diff = compare(call, only, limits).await?;
        Ok(Diff { base, head, ..diff })
    }
}

/// Lists what changed, then reads as much of it as the limits allow.
async fn compare(
    call: impl Fn(&str) -> GitCall,
    only: &[PathBuf],
    limits: DiffLimits,
) -> Result<Diff, WorkspaceError> {
    let command = call("list what was changed").args(["--raw", "--numstat", "-z"]);
    let mut entries = parse_list(&command.output().await?);
    if !only.is_empty() {
        let is_named = |entry: &Entry| only.iter().any(|path| bytes(path) == entry.path);
        entries.retain(is_named);
    }
    let sum = |count: fn(&Entry) -> u64| entries.iter().map(count).sum();
    let (additions, deletions) = (sum(|entry| entry.additions), sum(|entry| entry.deletions));
    let files_left_out = entries.len().saturating_sub(limits.files) as u64;
    entries.truncate(limits.files);

    let read = select_files(&entries, !only.is_empty(), limits);
    let mut files: Vec<_> = entries.into_iter().map(FileDiff::of).collect();
    for (file, read) in files.iter_mut().zip(&read) {
        file.truncated = !read && !file.binary && file.additions + file.deletions > 0;
    }
    let names: Vec<_> = std::iter::zip(&files, read)
        .filter(|(_, read)| *read)
        .flat_map(|(file, _)| std::iter::once(&file.path).chain(&file.old_path))
        .map(|path| literal(path))
        .collect();
    if !names.is_empty() {
        let context = format!("--unified={}", limits.context);
        let command = call("show what was changed").args(["--patch", &context, "--"]);
        let command = command.args(names).at_most(patch_bytes(limits));
        attach_hunks(&mut files, &command.output().await?, limits.patch);
    }
    Ok(Diff {
        base: String::new(),
        head: String::new(),
        files,
        files_left_out,
        additions,
        deletions,
    })
}

/// Which files are read: in their order, those that fit. One that was asked for
/// by name is read as far as it goes.
fn select_files(entries: &[Entry], by_name: bool, limits: DiffLimits) -> Vec<bool> {
    let mut lines = limits.patch.lines as u64;
    let mut names = NAMES_BYTES;
    let mut read = |entry: &Entry| {
        let changed = entry.additions + entry.deletions;
        let length = entry.path.len() + entry.old_path.as_ref().map_or(0, Vec::len) + 64;
        let fits = by_name || (changed <= limits.file_lines && changed <= lines);
        if entry.binary || !fits || length > names {
            return false;
        }
        lines = lines.saturating_sub(changed);
        names -= length;
        true
    };
    entries.iter().map(&mut read).collect()
}

/// Lines that are shown come with others around them, and long ones are cut.
fn patch_bytes(limits: DiffLimits) -> usize {
    limits.patch.bytes.saturating_mul(8).max(4 << 20)
}

/// Puts what the patch says to its files.
fn attach_hunks(files: &mut [FileDiff], patch: &[u8], limits: PatchLimits) {
    let mut in_patch = vec![false; files.len()];
    for section in parse_patch(patch, limits) {
        let Some(name) = section.new_path.as_ref().or(section.old_path.as_ref()) else {
            continue;
        };
        let index = files.iter().position(|file| bytes(&file.path) == *name);
        let Some(index) = index else { continue };
        in_patch[index] = true;
        // A file that became a link is two sections: one that ends, one that begins.
        files[index].hunks.extend(section.hunks);
        files[index].binary |= section.binary;
        files[index].truncated |= section.truncated;
    }
    // Of a file that the patch was cut off before, nothing stands here.
    for (file, in_patch) in files.iter_mut().zip(in_patch) {
        file.truncated |= !in_patch && !file.binary && file.additions + file.deletions > 0;
    }
}

impl FileDiff {
    fn of(entry: Entry) -> Self {
        let path = |name: Vec<u8>| PathBuf::from(OsString::from_vec(name));
        Self {
            path: path(entry.path),
            old_path: entry.old_path.map(path),
            change: entry.change,
            binary: entry.binary,
            additions: entry.additions,
            deletions: entry.deletions,
            hunks: Vec::new(),
            truncated: false,
        }
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn literal(path: &Path) -> OsString {
    let mut name = OsString::from(":(top,literal)");
    name.push(path);
    name
}

/// A copy of the index in which new files are noted, until it is dropped.
struct IndexCopy {
    path: PathBuf,
    /// New files that are not in it.
    left_out: u64,
}

impl IndexCopy {
    /// With these new files.
    async fn of(worktree: &Worktree, mut untracked: Vec<PathBuf>) -> Result<Self, WorkspaceError> {
        let name = format!("missiond-diff-{:016x}", rand::random::<u64>());
        let mut copy = Self {
            path: worktree.admin().join(name),
            left_out: 0,
        };
        let own = worktree.admin().join("index");
        copy_with_time(&own, &copy.path).map_err(WorkspaceError::io(&own))?;
        // A repository inside is listed as a folder; git would note only that it
        // is there.
        untracked.retain(|path| !bytes(path).ends_with(b"/"));
        copy.left_out = untracked.len().saturating_sub(UNTRACKED) as u64;
        untracked.truncate(UNTRACKED);
        if untracked.is_empty() {
            return Ok(copy);
        }
        let names = untracked.iter().map(|path| literal(path));
        let names: Vec<_> = names.map(OsString::into_vec).collect();
        let command = worktree.call("note the new files");
        let command = command.variable("GIT_INDEX_FILE", &copy.path);
        let command = command.args(["add", "--intent-to-add", "--ignore-errors"]);
        let command = command.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
        // One that is gone again, or that may not be read, is no reason to show
        // nothing.
        command.input(names.join(&0)).run().await?;
        Ok(copy)
    }
}

/// A copy as old as what it is of. Git looks into a file again that was changed at
/// the moment its index was written or later; by a newer index it would take such a
/// file for unchanged.
fn copy_with_time(from: &Path, to: &Path) -> std::io::Result<()> {
    let written = std::fs::metadata(from)?.modified()?;
    std::fs::copy(from, to)?;
    let copy = std::fs::File::options().write(true).open(to)?;
    copy.set_modified(written)
}

impl Drop for IndexCopy {
    fn drop(&mut self) {
        let lock = crate::record::sibling_path(&self.path, ".lock");
        for path in [self.path.as_path(), lock.as_path()] {
            let _ = std::fs::remove_file(path);
        }
    }
}
