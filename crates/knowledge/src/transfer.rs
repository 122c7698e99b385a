//! Entries in and out of files: one JSON value a line, or Markdown as people
//! and agents keep it (`CLAUDE.md` and folders of notes). Reading an export
//! gives what was written; reading the same file twice adds nothing, because
//! what has no key gets one from its text.

use missiond_core::{AuthorTier, EntryCategory};
use serde::{Deserialize, Serialize};

/// The limits of an entry, in characters.
pub const LONGEST_KEY: usize = 200;
pub const LONGEST_SUMMARY: usize = 4 * 1024;
pub const LONGEST_DETAIL: usize = 256 * 1024;
pub const MOST_LABELS: usize = 32;

/// What is to be remembered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(default)]
    pub category: EntryCategory,
    pub summary: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The project; empty for all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scope: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    #[serde(default)]
    pub tier: AuthorTier,
}

/// What is wrong with an entry or a file of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    #[error("line {line} is no entry: {problem}")]
    Line { line: usize, problem: String },
    #[error("the {field} has {length} characters; at most {most} are kept")]
    TooLong {
        field: &'static str,
        length: usize,
        most: usize,
    },
    #[error("it has {0} labels; at most {MOST_LABELS} are kept")]
    TooManyLabels(usize),
    #[error("an entry needs a summary")]
    Empty,
    #[error("the {field} holds a character that is no text: NUL")]
    NotText { field: &'static str },
}

impl Draft {
    /// Brings a draft into the form that is stored, or says what is wrong.
    pub fn checked(mut self) -> Result<Self, DraftError> {
        self.summary = self.summary.trim().to_owned();
        if self.summary.is_empty() {
            return Err(DraftError::Empty);
        }
        let fields = [
            ("key", self.key.as_deref().unwrap_or(""), LONGEST_KEY),
            ("summary", &self.summary, LONGEST_SUMMARY),
            ("detail", &self.detail, LONGEST_DETAIL),
            ("scope", &self.scope, LONGEST_KEY),
            ("source", self.source.as_deref().unwrap_or(""), LONGEST_KEY),
            (
                "conversation",
                self.conversation.as_deref().unwrap_or(""),
                LONGEST_KEY,
            ),
            ("author", self.author.as_deref().unwrap_or(""), LONGEST_KEY),
        ];
        let labels = self
            .labels
            .iter()
            .map(|label| ("label", label.as_str(), LONGEST_KEY));
        for (field, text, most) in fields.into_iter().chain(labels) {
            let length = text.chars().count();
            if length > most {
                return Err(DraftError::TooLong {
                    field,
                    length,
                    most,
                });
            }
            if text.contains('\0') {
                return Err(DraftError::NotText { field });
            }
        }
        if self.labels.len() > MOST_LABELS {
            return Err(DraftError::TooManyLabels(self.labels.len()));
        }
        self.key = self
            .key
            .filter(|key| !key.trim().is_empty())
            .map(|key| key.trim().to_owned());
        Ok(self)
    }

    /// The key of an entry that was given none: the same for the same text.
    #[must_use]
    pub fn derived_key(&self) -> String {
        derived_key(&self.summary, &self.detail)
    }
}

/// The key of an entry that says this and was given none.
#[must_use]
pub fn derived_key(summary: &str, detail: &str) -> String {
    let words: Vec<&str> = summary.split_whitespace().take(6).collect();
    let slug: String = words
        .join("-")
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == '-')
        .flat_map(char::to_lowercase)
        .take(48)
        .collect();
    // FNV-1a: stable across versions of the compiler, unlike the standard hasher.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in summary.bytes().chain([0]).chain(detail.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{slug}-{:08x}", hash as u32)
}

/// Reads one JSON value a line; empty lines are passed over.
pub fn read_jsonl(text: &str) -> Result<Vec<Draft>, DraftError> {
    let mut drafts = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let problem = |problem: String| DraftError::Line {
            line: at + 1,
            problem,
        };
        let draft: Draft =
            serde_json::from_str(line).map_err(|error| problem(error.to_string()))?;
        drafts.push(
            draft
                .checked()
                .map_err(|error| problem(error.to_string()))?,
        );
    }
    Ok(drafts)
}

/// One line a draft.
#[must_use]
pub fn write_jsonl(drafts: &[Draft]) -> String {
    let lines = drafts
        .iter()
        .filter_map(|draft| serde_json::to_string(draft).ok());
    lines.fold(String::new(), |text, line| text + &line + "\n")
}

/// Reads notes: each section under a heading is an entry, its heading the
/// summary and its text the detail. Points of a section that has nothing else
/// are entries of their own, with the heading as their label. What stands
/// before the first heading belongs to the file's name.
pub fn read_markdown(name: &str, text: &str) -> Result<Vec<Draft>, DraftError> {
    let mut drafts = Vec::new();
    let mut title = name.to_owned();
    let mut body = String::new();
    let mut fenced = false;
    let text = without_front_matter(text);
    for line in text.lines().chain(["# "]) {
        fenced ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if !fenced && heading.len() < line.len() && heading.starts_with(' ') {
            section(&title, &body, name, &mut drafts)?;
            heading.trim().clone_into(&mut title);
            body.clear();
        } else {
            body.push_str(line);
            body.push('\n');
        }
    }
    if fenced {
        section(&title, &body, name, &mut drafts)?;
    }
    Ok(drafts)
}

/// A heading for each draft, in a form [`read_markdown`] reads.
#[must_use]
pub fn write_markdown(drafts: &[Draft]) -> String {
    let mut text = String::new();
    for draft in drafts {
        text.push_str(&format!("# {}\n\n", draft.summary.replace('\n', " ")));
        if !draft.detail.is_empty() {
            text.push_str(draft.detail.trim_end());
            text.push_str("\n\n");
        }
    }
    text
}

fn section(title: &str, body: &str, file: &str, drafts: &mut Vec<Draft>) -> Result<(), DraftError> {
    let body = body.trim();
    if body.is_empty() {
        return Ok(());
    }
    let draft = |summary: &str, detail: &str, labels: Vec<String>| {
        Draft {
            summary: shortened(summary),
            detail: if detail.is_empty() && summary.len() > LONGEST_SUMMARY {
                summary.to_owned()
            } else {
                detail.to_owned()
            },
            labels,
            source: Some(shortened_to(file, LONGEST_KEY)),
            tier: AuthorTier::Machine,
            ..Draft::default()
        }
        .checked()
    };
    let points: Option<Vec<&str>> = body
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")))
        .collect();
    match points {
        Some(points) => {
            for point in points.into_iter().filter(|point| !point.trim().is_empty()) {
                drafts.push(draft(point, "", vec![shortened_to(title, LONGEST_KEY)])?);
            }
        }
        None => drafts.push(draft(
            if title.is_empty() { file } else { title },
            body,
            Vec::new(),
        )?),
    }
    Ok(())
}

fn shortened(text: &str) -> String {
    shortened_to(text, LONGEST_SUMMARY)
}

fn shortened_to(text: &str, most: usize) -> String {
    text[..text.floor_char_boundary(most)].to_owned()
}

fn without_front_matter(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("---\n") else {
        return text;
    };
    rest.split_once("\n---\n").map_or(text, |(_, after)| after)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn limits_count_characters_as_the_schema_does() {
        let draft = |summary: String| Draft {
            summary,
            ..Draft::default()
        };
        assert!(draft("漢".repeat(LONGEST_SUMMARY)).checked().is_ok());
        let long = draft("漢".repeat(LONGEST_SUMMARY + 1)).checked();
        let problem = long.unwrap_err().to_string();
        assert_eq!(
            problem,
            "the summary has 4097 characters; at most 4096 are kept"
        );
    }

    #[test]
    fn an_export_reads_back() {
        let drafts = vec![
            Draft {
                key: Some("deploy".into()),
                category: EntryCategory::Ops,
                summary: "Deploy with `make ship`\nfrom main".into(),
                detail: "需要 VPN".into(),
                labels: vec!["ci".into()],
                scope: "app".into(),
                turn: Some(3),
                tier: AuthorTier::Person,
                ..Draft::default()
            },
            Draft {
                summary: "second".into(),
                ..Draft::default()
            },
        ];
        assert_eq!(read_jsonl(&write_jsonl(&drafts)), Ok(drafts));
    }

    #[test]
    fn the_line_of_a_broken_entry_is_named() {
        let error = read_jsonl("{\"summary\": \"a\"}\n\n{\"summary\": 1}\n").unwrap_err();
        assert!(
            error.to_string().starts_with("line 3 is no entry"),
            "{error}"
        );
        let long = format!("{{\"summary\": \"{}\"}}", "x".repeat(LONGEST_SUMMARY + 1));
        assert!(
            read_jsonl(&long)
                .unwrap_err()
                .to_string()
                .contains("at most 4096")
        );
        assert!(
            read_jsonl("{\"summary\": \"\\ud800\"}").is_err(),
            "half of a pair is no text"
        );
    }

    #[test]
    fn notes_become_entries() {
        let text = "---\nname: x\n---\nintro\n# Rules\n- never push\n- run tests\n## Build\nUse make.\n\n```\n# not a heading\n```\n";
        let drafts = read_markdown("CLAUDE.md", text).unwrap();
        let summaries: Vec<&str> = drafts.iter().map(|draft| draft.summary.as_str()).collect();
        assert_eq!(summaries, ["CLAUDE.md", "never push", "run tests", "Build"]);
        assert_eq!(drafts[1].labels, ["Rules"]);
        assert!(drafts[3].detail.contains("# not a heading"));
    }

    #[test]
    fn keys_come_from_the_text() {
        let draft = Draft {
            summary: "Never push to main".into(),
            ..Draft::default()
        };
        assert_eq!(draft.derived_key(), "never-push-to-main-b1b95973");
        let other = Draft {
            detail: "x".into(),
            ..draft.clone()
        };
        assert_ne!(draft.derived_key(), other.derived_key());
    }

    proptest! {
        #[test]
        fn any_file_is_read_or_refused(text in any::<String>()) {
            let _ = read_jsonl(&text);
            for draft in read_markdown("notes.md", &text).unwrap_or_default() {
                prop_assert!(draft.clone().checked().is_ok());
                prop_assert!(draft.derived_key().len() <= LONGEST_KEY);
            }
        }
    }
}
