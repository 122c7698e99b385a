//! What a structured agent says its tools change in files: which file, how many lines, and
//! a digest of what it shows. The text stays in the recording.

use missiond_control::{
    Clipped, ContentChange, FileOperation, ToolCall, ToolCallId, ToolCallUpdate, ToolContent,
};
use missiond_journal::catalogue::FileChange;
use missiond_journal::{Digest, Text};

use super::facts;

/// Calls whose end is waited for, and files of one call; of more the oldest and the last
/// are left out.
const MOST_CALLS: usize = 256;
const MOST_FILES: usize = 100;

/// Pairs of lines that are compared to count a change; of a larger one the lines between
/// what is the same at both ends are counted as all new.
const MOST_PAIRS: usize = 250_000;

/// The changes of calls that have not ended.
#[derive(Debug, Default)]
pub(super) struct FileChanges(Vec<(ToolCallId, Vec<FileChange>)>);

impl FileChanges {
    pub(super) fn announce(&mut self, call: &ToolCall) {
        self.show(&call.id, &call.content, Shown::Whole);
    }

    pub(super) fn update(&mut self, update: &ToolCallUpdate) {
        match &update.content {
            Some(ContentChange::Replaced(content)) => {
                self.show(&update.id, content, Shown::Whole);
            }
            Some(ContentChange::Appended(content)) => {
                self.show(&update.id, content, Shown::More);
            }
            None => {}
        }
    }

    /// The call is over: what it has changed, where it has.
    pub(super) fn end(&mut self, call: &ToolCallId) -> Vec<FileChange> {
        let known = self.0.iter().position(|(known, _)| known == call);
        known.map_or_else(Vec::new, |at| self.0.remove(at).1)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn show(&mut self, call: &ToolCallId, content: &[ToolContent], shown: Shown) {
        let changes: Vec<_> = content.iter().flat_map(of_content).collect();
        let known = self.0.iter().position(|(known, _)| known == call);
        let Some(at) = known else {
            if !changes.is_empty() {
                self.0.push((call.clone(), changes));
                let too_many = self.0.len().saturating_sub(MOST_CALLS);
                self.0.drain(..too_many);
            }
            return;
        };
        let (_, before) = &mut self.0[at];
        match shown {
            // A result in words does not take the change back.
            Shown::Whole if changes.is_empty() => {}
            Shown::Whole => *before = changes,
            Shown::More => before.extend(changes),
        }
        before.truncate(MOST_FILES);
    }
}

/// Whether what a call shows is all that it shows.
#[derive(Clone, Copy)]
enum Shown {
    Whole,
    More,
}

fn of_content(content: &ToolContent) -> Vec<FileChange> {
    match content {
        ToolContent::Diff { path, old, new } => {
            let old_text = old.as_ref().map_or("", |old| old.text.as_str());
            let is_whole = new.is_whole() && old.as_ref().is_none_or(Clipped::is_whole);
            let counted = is_whole.then(|| counted(old_text, &new.text));
            vec![change(path, counted, &[old_text, new.text.as_str()])]
        }
        ToolContent::Patch { changes, patch } => {
            let text = patch.as_ref().map_or("", |patch| patch.text.as_str());
            let is_whole = patch.as_ref().is_some_and(Clipped::is_whole);
            let of_one = match changes.as_slice() {
                [one] if is_whole => Some(counted_in_patch(&one.operation, text)),
                _ => None,
            };
            let changes = changes.iter().take(MOST_FILES);
            changes
                .map(|one| change(&one.path, of_one, &[text]))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn change(path: &Clipped, counted: Option<(u32, u32)>, texts: &[&str]) -> FileChange {
    let digest = Digest::of(texts.join("\0").as_bytes()).to_string();
    FileChange {
        path: facts::some_text(&path.text),
        added: counted.map(|(added, _)| added),
        removed: counted.map(|(_, removed)| removed),
        digest: Text::excerpt(&digest),
    }
}

/// Lines added and removed.
fn counted(old: &str, new: &str) -> (u32, u32) {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let same = |(one, other): &(&&str, &&str)| one == other;
    let head = old.iter().zip(&new).take_while(same).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(same);
    let tail = tail.count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let kept = if old.len().saturating_mul(new.len()) <= MOST_PAIRS {
        in_common(old, new)
    } else {
        0
    };
    (count(new.len() - kept), count(old.len() - kept))
}

/// How many lines stand in both in the same order.
fn in_common(old: &[&str], new: &[&str]) -> usize {
    let mut row = vec![0; new.len() + 1];
    for line in old {
        let mut diagonal = 0;
        for (at, other) in new.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if line == other {
                diagonal + 1
            } else {
                above.max(row[at])
            };
            diagonal = above;
        }
    }
    row[new.len()]
}

/// A file that is new or gone is told as its text, without the marks of a patch.
fn counted_in_patch(operation: &FileOperation, patch: &str) -> (u32, u32) {
    let begins = |mark: char, head: &str| {
        let lines = patch.lines();
        let lines = lines.filter(|line| line.starts_with(mark) && !line.starts_with(head));
        count(lines.count())
    };
    let is_marked = patch.lines().any(|line| line.starts_with("@@"));
    match operation {
        FileOperation::Add if !is_marked => (count(patch.lines().count()), 0),
        FileOperation::Delete if !is_marked => (0, count(patch.lines().count())),
        _ => (begins('+', "+++ "), begins('-', "--- ")),
    }
}

fn count(lines: usize) -> u32 {
    u32::try_from(lines).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(path: &str, old: Option<&str>, new: &str) -> ToolContent {
        let text = |text: &str| Clipped::new(text, 1000);
        ToolContent::Diff {
            path: text(path),
            old: old.map(text),
            new: text(new),
        }
    }

    fn lines(change: &FileChange) -> (Option<u32>, Option<u32>) {
        (change.added, change.removed)
    }

    #[test]
    fn lines_are_counted_as_a_comparison_shows_them() {
        assert_eq!(counted("", "a\nb\n"), (2, 0));
        assert_eq!(counted("a\nb\nc\n", "a\nx\nc\n"), (1, 1));
        assert_eq!(counted("a\nb\nc\nd\n", "b\na\nc\nd\ne\n"), (2, 1));
        assert_eq!(counted("same\n", "same\n"), (0, 0));
        let patch = "--- a\n+++ b\n@@ -1 +1,2 @@\n-one\n+two\n+three\n four\n";
        let counted = |operation| counted_in_patch(&operation, patch);
        assert_eq!(counted(FileOperation::Modify), (2, 1));
        assert_eq!(
            counted_in_patch(&FileOperation::Add, "one\ntwo\n"),
            (2, 0),
            "a new file is told as its text"
        );
    }

    #[test]
    fn what_a_call_showed_last_is_what_it_changed() {
        let call = ToolCallId("t".to_owned());
        let mut changes = FileChanges::default();
        changes.show(&call, &[diff("/w/a", Some("one\n"), "two\n")], Shown::Whole);
        changes.show(&call, &[diff("/w/a", None, "two\nthree\n")], Shown::Whole);
        changes.show(&call, &[], Shown::Whole);
        changes.show(&call, &[diff("/w/b", Some("x\n"), "")], Shown::More);
        let ended = changes.end(&call);
        let paths: Vec<_> = ended.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["/w/a", "/w/b"]);
        assert_eq!(lines(&ended[0]), (Some(2), Some(0)));
        assert_eq!(lines(&ended[1]), (Some(0), Some(1)));
        assert_ne!(ended[0].digest, ended[1].digest);
        assert_eq!(changes.end(&call), []);
    }

    #[test]
    fn what_was_cut_is_not_counted() {
        let cut = ToolContent::Diff {
            path: Clipped::new("/w/a", 100),
            old: None,
            new: Clipped::new("one\ntwo\n", 4),
        };
        let told = of_content(&cut);
        assert_eq!(lines(&told[0]), (None, None));
    }
}
