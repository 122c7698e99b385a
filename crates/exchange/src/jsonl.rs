//! Our own format: one task a line, its fields as `mission task add --help`
//! knows them, and beside them `key`, `parent`, `depends_on`, `status`,
//! `reason`, `created_at`, `finished_at` and `notes`. Nothing is lost on the way
//! out and in.

use missiond_core::{TaskDraft, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Card, ImportError, Standing, check_capacity, check_graph};

/// What stands beside the fields of the task itself.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Beside {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) depends_on: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<NoteLine>,
}

const BESIDE: [&str; 8] = [
    "key",
    "parent",
    "depends_on",
    "status",
    "reason",
    "created_at",
    "finished_at",
    "notes",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Open,
    /// Work under way elsewhere starts anew here.
    Running,
    Done,
    Failed,
    Blocked,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteLine {
    author: String,
    text: String,
}

/// Reads a file; blank lines are passed over.
pub fn read(text: &str) -> Result<Vec<Card>, ImportError> {
    let mut cards = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        check_capacity(&cards, index + 1)?;
        let fields: Map<String, Value> = serde_json::from_str(line)
            .map_err(|error| ImportError::at(index + 1, describe_error(&error)))?;
        cards.push(card(fields, index + 1)?);
    }
    check_graph(cards)
}

/// One line, without its end.
#[must_use]
pub fn write_card(card: &Card) -> String {
    let mut fields = match serde_json::to_value(beside(card)) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    if let Ok(Value::Object(task)) = serde_json::to_value(&card.draft) {
        fields.extend(task);
    }
    Value::Object(fields).to_string()
}

pub(crate) fn beside(card: &Card) -> Beside {
    let (status, reason) = match &card.standing {
        Standing::Open => (None, None),
        Standing::Done => (Some(Status::Done), None),
        Standing::Failed { reason } => (Some(Status::Failed), Some(reason.clone())),
        Standing::Blocked { reason } => (Some(Status::Blocked), Some(reason.clone())),
    };
    let note = |(author, text): &(String, String)| NoteLine {
        author: author.clone(),
        text: text.clone(),
    };
    Beside {
        key: Some(card.key.clone()),
        parent: card.parent.clone(),
        depends_on: card.depends_on.clone(),
        status,
        reason,
        created_at: card.created_at,
        finished_at: card.finished_at,
        notes: card.notes.iter().map(note).collect(),
    }
}

/// A card of the fields of one line.
pub(crate) fn card(mut fields: Map<String, Value>, line: usize) -> Result<Card, ImportError> {
    let mut own = Map::new();
    for name in BESIDE {
        if let Some(value) = fields.remove(name) {
            own.insert(name.to_owned(), value);
        }
    }
    let refused = |error: serde_json::Error| ImportError::at(line, error.to_string());
    let draft: TaskDraft = serde_json::from_value(Value::Object(fields)).map_err(refused)?;
    let beside: Beside = serde_json::from_value(Value::Object(own)).map_err(refused)?;
    Ok(assemble(draft, beside, line))
}

pub(crate) fn assemble(draft: TaskDraft, beside: Beside, line: usize) -> Card {
    let reason = |usual: &str| beside.reason.clone().unwrap_or_else(|| usual.to_owned());
    Card {
        key: beside.key.unwrap_or_else(|| format!("line {line}")),
        draft,
        parent: beside.parent,
        depends_on: beside.depends_on,
        standing: match beside.status {
            None | Some(Status::Open | Status::Running) => Standing::Open,
            Some(Status::Done) => Standing::Done,
            Some(Status::Failed) => Standing::Failed {
                reason: reason("it had failed before it was brought here"),
            },
            Some(Status::Blocked) => Standing::Blocked {
                reason: reason("it was blocked before it was brought here"),
            },
        },
        created_at: beside.created_at,
        finished_at: beside.finished_at,
        notes: beside
            .notes
            .into_iter()
            .map(|note| (note.author, note.text))
            .collect(),
        line,
    }
}

/// The parser counts lines of its own, and there is only one.
pub(crate) fn describe_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = match text.split_once(" at line ") {
        Some((what, _)) => format!("{what} (column {})", error.column()),
        None => text,
    };
    // An object that lacks something is one all the same.
    if error.is_data() && !what.contains("expected a map") {
        return what;
    }
    format!("{what}: it is no object of JSON; write each task as {{\"title\": \"…\"}} on one line")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use missiond_core::Check;
    use serde::de::DeserializeOwned;

    use super::*;

    const PAGE: &str = include_str!("../../../docs/reference/tasks.md");

    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.split('`').skip(1).step_by(2)
    }

    /// The names of all fields of what refuses others: it names them when it refuses.
    fn fields<T: DeserializeOwned>() -> BTreeSet<String> {
        let Err(error) = serde_json::from_str::<T>(r#"{"no such field": 1}"#) else {
            panic!("it takes any field");
        };
        let error = error.to_string();
        let (_, expected) = error.split_once("expected ").unwrap();
        words(expected).map(str::to_owned).collect()
    }

    #[test]
    fn the_page_of_tasks_has_every_field_there_is_and_no_other() {
        let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
        let (_, section) = PAGE.split_once("\n## Fields\n").unwrap();
        let section = section.split("\n#").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let cells = rows.flat_map(|row| words(row.split('|').nth(1).unwrap()));
        let shown: BTreeSet<String> = owned(cells.collect());
        // What a task hangs on is no field of the task itself, but may be said with it.
        let links = ["parent", "depends_on"].map(str::to_owned);
        let declared = fields::<TaskDraft>();
        assert_eq!(shown, declared.into_iter().chain(links).collect());

        let row = section.lines().find(|line| line.starts_with("| `checks`"));
        let (_, braces) = row.unwrap().split_once("`{").unwrap();
        let shown = braces.split('}').next().unwrap().split(", ");
        assert_eq!(owned(shown.collect()), fields::<Check>());

        let (_, list) = PAGE.split_once("the fields above and").unwrap();
        let shown = words(list.split(". ").next().unwrap());
        let beside: BTreeSet<_> = BESIDE.map(str::to_owned).into();
        assert_eq!(owned(shown.collect()), beside);
        assert_eq!(fields::<Beside>(), beside);
    }

    #[test]
    fn a_line_needs_only_a_title() {
        let cards = read("\n{\"title\": \"a \\\"b\\\" 'c'\"}\n").unwrap();
        assert_eq!(cards.len(), 1);
        assert_eq!(cards[0].line, 2);
        assert_eq!(cards[0].draft.title.as_deref(), Some("a \"b\" 'c'"));
    }

    #[test]
    fn the_bad_line_is_named() {
        let cases = [
            (
                "{\"title\": \"a\"}\n{\"title\": }",
                "line 2: expected value (column 11): it is no object of JSON; write each task as",
            ),
            ("{\"titel\": \"a\"}", "line 1: unknown field `titel`"),
            (
                "{\"key\": \"a\", \"title\": \"x\"}\n{\"key\": \"a\", \"title\": \"y\"}",
                "line 2: the key `a` is taken by line 1",
            ),
            (
                "{\"title\": \"x\", \"depends_on\": [\"T-9\"]}",
                "line 1: it depends on `T-9`, which is not in this file",
            ),
            (
                "{\"key\":\"a\",\"title\":\"x\",\"depends_on\":[\"b\"]}\n\
                 {\"key\":\"b\",\"title\":\"y\",\"depends_on\":[\"a\"]}",
                "line 1: these tasks wait for each other: a → b → a",
            ),
        ];
        for (text, expected) in cases {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
