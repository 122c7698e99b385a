//! The transcripts of a person's own conversations, in the home folders of the
//! agent CLIs. Looking for them opens no file; what a transcript is about is
//! read from its beginning when somebody asks.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::recent_files::newest_files;
use crate::tail::{FileTail, TranscriptTail};

/// The newest of so many transcripts of an engine are looked at.
pub(crate) const MAX_TRANSCRIPTS: u32 = 10_000;
/// What a transcript is about stands in so much of its beginning.
const HEAD: u64 = 512 << 10;
/// The longest name of a conversation.
const LONGEST_SESSION: usize = 128;

/// A transcript from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonalTranscript {
    pub tail: TranscriptTail,
    /// Unchanged means that there is nothing new.
    pub stamp: Stamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: i128,
}

impl Stamp {
    /// Of a transcript that says itself when it changed, in whatever unit.
    pub(crate) fn at(changed: i64) -> Self {
        Self {
            size: 0,
            modified: changed.into(),
        }
    }

    /// How large the file is; 0 where there is no file of its own.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }
}

/// Which conversation a transcript is of, and where it was led.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptOrigin {
    pub conversation: String,
    pub cwd: PathBuf,
}

impl TranscriptOrigin {
    /// Names that are no names of conversations, and folders that are none, come
    /// from files that are something else.
    pub(crate) fn new(conversation: &str, cwd: PathBuf) -> Option<Self> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let named = (1..=LONGEST_SESSION).contains(&conversation.len())
            && conversation.chars().all(allowed);
        (named && cwd.is_absolute()).then(|| Self {
            conversation: conversation.to_owned(),
            cwd,
        })
    }
}

/// The newest transcripts below a folder.
pub(crate) fn files(
    folder: &Path,
    depth: usize,
    wanted: impl Fn(&str) -> bool,
) -> Vec<PersonalTranscript> {
    let since = |time: SystemTime| match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => after.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    };
    newest_files(folder, depth, MAX_TRANSCRIPTS as usize, wanted)
        .into_iter()
        .map(|file| PersonalTranscript {
            stamp: Stamp {
                size: file.size,
                modified: since(file.modified),
            },
            tail: TranscriptTail::File(FileTail::new(&file.path)),
        })
        .collect()
}

/// The complete lines of the beginning of a file that are text.
pub(crate) fn first_lines(path: &Path) -> Vec<String> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    let mut lines = BufReader::new(file.take(HEAD)).lines();
    let mut found = Vec::new();
    while let Some(Ok(line)) = lines.next() {
        found.push(line);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter;
    use missiond_core::CliEngine;

    fn own(engine: &CliEngine, home: &Path) -> Vec<(PersonalTranscript, Option<TranscriptOrigin>)> {
        let home = home.display().to_string();
        let environment = |name: &str| (name == "HOME").then(|| home.clone());
        let adapter = adapter(engine);
        let found = adapter.personal_transcripts(&environment);
        let about = |own: PersonalTranscript| {
            let about = adapter.origin(&own.tail);
            (own, about)
        };
        found.into_iter().map(about).collect()
    }

    fn write(home: &Path, name: &str, text: &str) {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn transcripts_are_found_with_what_they_are_about() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path();
        write(
            home,
            ".claude/projects/-src-app/c1.jsonl",
            "{\"type\":\"mode\"}\n{\"type\":\"user\",\"cwd\":\"/src/app\"}\n",
        );
        // Of a subagent, deeper down.
        write(
            home,
            ".claude/projects/-src-app/c1/subagents/a.jsonl",
            "{}\n",
        );
        write(
            home,
            ".codex/sessions/2026/11/15/rollout-x.jsonl",
            "{\"payload\":{\"id\":\"x1\",\"cwd\":\"/src/app\",\"thread_source\":\"user\"}}\n",
        );
        write(
            home,
            ".codex/sessions/2026/11/15/rollout-y.jsonl",
            "{\"payload\":{\"id\":\"y1\",\"cwd\":\"/src/app\",\"thread_source\":\"title\"}}\n",
        );
        write(home, ".gemini/tmp/app/.project_root", "/src/app\n");
        write(
            home,
            ".gemini/tmp/app/chats/session-g.jsonl",
            "{\"sessionId\":\"g1\"}\n",
        );
        let expected = |conversation: &str| {
            Some(TranscriptOrigin {
                conversation: conversation.to_owned(),
                cwd: "/src/app".into(),
            })
        };
        let about = |engine| -> Vec<_> {
            let mut found: Vec<_> = own(&engine, home).into_iter().map(|own| own.1).collect();
            found.sort_by_key(Option::is_none);
            found
        };
        assert_eq!(about(CliEngine::Claude), [expected("c1")]);
        assert_eq!(about(CliEngine::Codex), [expected("x1"), None]);
        assert_eq!(about(CliEngine::Gemini), [expected("g1")]);
        assert_eq!(about(CliEngine::OpenCode), []);
    }

    #[test]
    fn what_grew_has_another_stamp() {
        let place = tempfile::tempdir().unwrap();
        let name = ".claude/projects/p/c1.jsonl";
        write(place.path(), name, "{}\n");
        let before = own(&CliEngine::Claude, place.path());
        write(place.path(), name, "{}\n{}\n");
        let after = own(&CliEngine::Claude, place.path());
        assert_ne!(before[0].0.stamp, after[0].0.stamp);
        assert_eq!(before[0].0.tail, after[0].0.tail);
    }

    #[test]
    fn names_that_are_none_are_refused() {
        for name in ["", "../x", "a b", "x\n", &"x".repeat(129)] {
            assert_eq!(TranscriptOrigin::new(name, "/src".into()), None, "{name:?}");
        }
        assert_eq!(TranscriptOrigin::new("x", "relative".into()), None);
    }
}
