//! The files in which Gemini CLI keeps its conversations. A program that takes a
//! conversation up first begins a file of the minute for it, and goes on in the old one.
//! The new one stays without a word, and the next program that starts in that project
//! takes it for broken and removes every file of the conversation, the one with the words
//! too. So what has no words is set aside before a conversation is taken up.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use missiond_core::{Clock, SystemClock};
use serde_json::Value;

use crate::plan::SetAside;
use crate::recent_files::recent_files;
use crate::transcript::text_of;

/// How the entry begins that the CLI puts before every conversation.
pub(crate) const PREAMBLE: &str = "<session_context>";
/// How texts of a person's begin that the CLI goes on without: its own additions, its
/// commands and its help.
const NO_WORDS: [&str; 4] = [PREAMBLE, "<hook_context>", "/", "?"];

/// The head of a conversation is short; a file is looked through no further than this.
const LONGEST_HEAD: u64 = 4 << 20;
/// Put behind the name of a file that is set aside: the CLI lists no such names.
const ASIDE: &str = ".wordless";

/// The files of one conversation, those that changed last first.
#[derive(Debug)]
pub(crate) struct Chats {
    files: Vec<PathBuf>,
}

impl Chats {
    /// Below the folder of the CLI, in whichever project.
    pub(crate) fn of(folder: &Path, id: &str) -> Option<Self> {
        let short = id.get(..8)?;
        let is_chat = |name: &str| {
            let stem = name.strip_suffix(".jsonl").or(name.strip_suffix(".json"));
            stem.is_some_and(|stem| stem.starts_with("session-") && stem.contains(short))
        };
        let files = recent_files(&folder.join("tmp"), 2, is_chat).into_iter();
        let files = files.map(|file| file.path);
        Some(Self {
            files: files
                .filter(|path| chat_id(path).as_deref() == Some(id))
                .collect(),
        })
    }

    /// The one with the conversation in it: of those with words the newest.
    pub(crate) fn newest(self) -> Option<PathBuf> {
        let mut files = self.files;
        let worded = files.iter().position(|file| has_words(file));
        (!files.is_empty()).then(|| files.swap_remove(worded.unwrap_or(0)))
    }

    /// Those without a word, where another has some; and what stays.
    pub(crate) fn without_words(self) -> (Vec<SetAside>, Self) {
        let (worded, wordless): (Vec<_>, Vec<_>) =
            self.files.into_iter().partition(|file| has_words(file));
        if worded.is_empty() {
            return (Vec::new(), Self { files: wordless });
        }
        let aside = |path: PathBuf| {
            let mut to = path.clone().into_os_string();
            to.push(ASIDE);
            let to = PathBuf::from(to);
            SetAside { path, to }
        };
        let aside = wordless.into_iter().map(aside).collect();
        (aside, Self { files: worded })
    }

    /// Whether one of them has this minute in its name. A program that takes it up begins
    /// a file of that name too, and nothing is left of the conversation.
    pub(crate) fn began_this_minute(&self) -> bool {
        let now = SystemClock.now().to_string().replace(':', "-");
        let Some(minute) = now.get(..16) else {
            return false;
        };
        let beginning = format!("session-{minute}-");
        let names = self.files.iter().filter_map(|file| file.file_name());
        names
            .filter_map(|name| name.to_str())
            .any(|name| name.starts_with(&beginning))
    }
}

/// The conversation a file is of.
pub(crate) fn chat_id(path: &Path) -> Option<String> {
    let mut line = String::new();
    let file = File::open(path).ok()?;
    BufReader::new(file.take(LONGEST_HEAD))
        .read_line(&mut line)
        .ok()?;
    let head: Value = serde_json::from_str(&line).ok()?;
    head["sessionId"].as_str().map(str::to_owned)
}

/// Whether something was said in it. What cannot be read is not called wordless.
fn has_words(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return true;
    };
    let is_long = file.metadata().is_ok_and(|it| it.len() > LONGEST_HEAD);
    let mut lines = BufReader::new(file.take(LONGEST_HEAD)).lines();
    let worded = lines.any(|line| {
        let Ok(line) = line else {
            return true;
        };
        serde_json::from_str::<Value>(&line).is_ok_and(|entry| {
            let told = ["/messages", "/$set/messages"].map(|at| entry.pointer(at));
            let mut told = told.into_iter().flatten().filter_map(Value::as_array);
            says(&entry) || told.any(|entries| entries.iter().any(says))
        })
    });
    worded || is_long
}

/// Whether an entry is one that the CLI goes on with.
fn says(entry: &Value) -> bool {
    let said = text_of(&entry["content"]);
    let has = |list: &str| entry[list].as_array().is_some_and(|list| !list.is_empty());
    match entry["type"].as_str() {
        Some("user") => {
            said.is_some_and(|said| !NO_WORDS.iter().any(|begins| said.starts_with(begins)))
        }
        Some("gemini") => said.is_some() || has("toolCalls") || has("thoughts"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "5f0c1e2d-0000-4000-8000-000000000001";

    fn head() -> Value {
        json!({"sessionId": ID, "projectHash": "h", "startTime": "2026-01-01T10:00:00Z"})
    }

    fn entry(kind: &str, content: &str) -> Value {
        json!({"id": "e", "type": kind, "content": [{"text": content}]})
    }

    fn write(path: &Path, entries: &[Value]) {
        let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        std::fs::write(path, lines).unwrap();
    }

    #[test]
    fn only_what_the_cli_goes_on_with_is_a_word() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("session-2026-01-01T10-00-5f0c1e2d.jsonl");
        let wordless = [
            vec![],
            vec![entry("user", "<session_context>today")],
            vec![entry("user", "/help"), entry("info", "Request cancelled.")],
            vec![entry("gemini", " "), json!({"$set": {"lastUpdated": "x"}})],
            vec![json!({"$set": {"messages": []}})],
        ];
        for entries in wordless {
            write(&path, &[&[head()][..], entries.as_slice()].concat());
            assert!(!has_words(&path), "{entries:?}");
        }
        let worded = [
            entry("user", "name the first"),
            entry("gemini", "Red."),
            json!({"id": "e", "type": "gemini", "content": "", "toolCalls": [{}]}),
            json!({"$set": {"messages": [entry("user", "name the first")]}}),
        ];
        for entry in worded {
            write(&path, &[head(), entry.clone()]);
            assert!(has_words(&path), "{entry}");
        }
        assert!(has_words(&place.path().join("gone")));
    }

    #[test]
    fn what_has_words_wins_over_what_is_younger() {
        let place = tempfile::tempdir().unwrap();
        let chats = place.path().join("tmp/work/chats");
        std::fs::create_dir_all(&chats).unwrap();
        let file = |minute: &str| chats.join(format!("session-{minute}-5f0c1e2d.jsonl"));
        let (old, young) = (file("2026-01-01T10-00"), file("2026-01-01T10-05"));
        let other = file("2026-01-01T10-06");
        write(&young, &[head()]);
        let foreign = json!({"sessionId": "5f0c1e2d-another", "projectHash": "h"});
        write(&other, &[foreign]);
        let all = || Chats::of(place.path(), ID).unwrap();
        // Alone it is all there is of the conversation.
        let (aside, left) = all().without_words();
        assert_eq!((aside, left.files), (Vec::new(), vec![young.clone()]));

        write(&old, &[head(), entry("user", "name the first")]);
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
        File::options()
            .write(true)
            .open(&young)
            .unwrap()
            .set_modified(later)
            .unwrap();
        assert_eq!(all().newest(), Some(old.clone()));
        let (aside, left) = all().without_words();
        assert_eq!(left.files, [old]);
        let [SetAside { path, to }] = aside.as_slice() else {
            panic!("one is set aside: {aside:?}");
        };
        assert_eq!(path, &young);
        std::fs::rename(path, to).unwrap();
        assert_eq!(all().files.len(), 1, "it is listed no more");
    }
}
