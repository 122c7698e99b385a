//! The issues beads keeps in `.beads/issues.jsonl`: one issue a line. Fields we
//! have no use for are passed over, because beads has many and adds more.
//!
//! What blocks an issue comes before it; an epic comes after its parts. Priority
//! 4 becomes low, the kind of issue a label, design, acceptance criteria and
//! notes a part of the description, comments notes.

use std::collections::{HashMap, HashSet};

use missiond_core::{Priority, TaskDraft, Timestamp};
use serde::Deserialize;

use crate::jsonl::describe_error;
use crate::{Card, ImportError, Standing, check_capacity, check_graph};

#[derive(Debug, Deserialize)]
struct Issue {
    id: String,
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    design: String,
    #[serde(default)]
    acceptance_criteria: String,
    #[serde(default)]
    notes: String,
    #[serde(default)]
    status: String,
    priority: Option<i64>,
    #[serde(default)]
    issue_type: String,
    #[serde(default)]
    labels: Option<Vec<String>>,
    #[serde(default)]
    dependencies: Option<Vec<Dependency>>,
    #[serde(default)]
    comments: Option<Vec<Comment>>,
    created_at: Option<Timestamp>,
    closed_at: Option<Timestamp>,
    close_reason: Option<String>,
    due_at: Option<Timestamp>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    depends_on_id: String,
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Debug, Deserialize)]
struct Comment {
    #[serde(default)]
    author: String,
    #[serde(default)]
    text: String,
}

/// Reads a file of issues.
pub fn read(text: &str) -> Result<Vec<Card>, ImportError> {
    let mut cards = Vec::new();
    let mut gone = HashSet::new();
    let mut epics = HashSet::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.trim().is_empty() {
            continue;
        }
        check_capacity(&cards, number)?;
        let issue: Issue = serde_json::from_str(line)
            .map_err(|error| ImportError::at(number, describe_error(&error)))?;
        if issue.status == "tombstone" {
            gone.insert(issue.id);
            continue;
        }
        if issue.issue_type == "epic" {
            epics.insert(issue.id.clone());
        }
        cards.push(card(issue, number)?);
    }
    // Nothing waits for what was deleted.
    for card in &mut cards {
        card.depends_on.retain(|on| !gone.contains(on));
        card.parent.take_if(|parent| gone.contains(parent));
    }
    after_their_parts(&mut cards, &epics);
    check_graph(cards)
}

fn card(issue: Issue, line: usize) -> Result<Card, ImportError> {
    let (mut depends_on, mut parent) = (Vec::new(), None);
    for dependency in issue.dependencies.unwrap_or_default() {
        match dependency.kind.as_str() {
            "blocks" | "conditional-blocks" | "waits-for" | "" => {
                depends_on.push(dependency.depends_on_id);
            }
            "parent-child" => parent = Some(dependency.depends_on_id),
            _ => {}
        }
    }
    let standing = match issue.status.as_str() {
        "" | "open" | "in_progress" | "hooked" | "pinned" => Standing::Open,
        // It follows from what blocks it.
        "blocked" if !depends_on.is_empty() => Standing::Open,
        "blocked" => Standing::Blocked {
            reason: "it was blocked in beads".to_owned(),
        },
        "deferred" => Standing::Blocked {
            reason: "it was deferred in beads".to_owned(),
        },
        "closed" => Standing::Done,
        other => {
            let message = format!("`{other}` is not a status of beads this missiond knows");
            return Err(ImportError::at(line, message));
        }
    };
    let priority = match issue.priority {
        None | Some(2) => None,
        Some(0) => Some(Priority::Urgent),
        Some(1) => Some(Priority::High),
        Some(3 | 4) => Some(Priority::Low),
        Some(other) => {
            let message = format!("the priority is {other}, and goes from 0 to 4");
            return Err(ImportError::at(line, message));
        }
    };
    let mut labels = issue.labels.unwrap_or_default();
    if !matches!(issue.issue_type.as_str(), "" | "task") {
        labels.push(issue.issue_type);
    }
    let mut description = issue.description;
    let parts = [
        ("Design", issue.design),
        ("Acceptance criteria", issue.acceptance_criteria),
        ("Notes", issue.notes),
    ];
    for (heading, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        let gap = if description.is_empty() { "" } else { "\n\n" };
        description = format!("{description}{gap}{heading}:\n{part}");
    }
    let mut notes: Vec<_> = issue
        .comments
        .unwrap_or_default()
        .into_iter()
        .filter(|comment| !comment.text.is_empty())
        .map(|comment| (comment.author, comment.text))
        .collect();
    if let Some(reason) = issue.close_reason.filter(|reason| !reason.is_empty()) {
        notes.push(("beads".to_owned(), format!("Closed: {reason}")));
    }
    Ok(Card {
        key: issue.id,
        draft: TaskDraft {
            title: Some(issue.title),
            description: Some(description).filter(|text| !text.is_empty()),
            priority,
            labels: Some(labels).filter(|labels| !labels.is_empty()),
            due: issue.due_at,
            ..TaskDraft::default()
        },
        parent,
        depends_on,
        standing,
        created_at: issue.created_at,
        finished_at: issue.closed_at,
        notes,
        line,
    })
}

/// An epic is not work of its own while it has open parts: it comes after them,
/// unless one of them comes after it.
fn after_their_parts(cards: &mut [Card], epics: &HashSet<String>) {
    let mut parts: HashMap<String, Vec<String>> = HashMap::new();
    for card in cards.iter() {
        if let Some(parent) = card
            .parent
            .as_ref()
            .filter(|parent| epics.contains(*parent))
        {
            parts
                .entry(parent.clone())
                .or_default()
                .push(card.key.clone());
        }
    }
    let before: HashMap<String, HashSet<String>> = cards
        .iter()
        .map(|card| (card.key.clone(), card.depends_on.iter().cloned().collect()))
        .collect();
    let comes_after = |part: &str, epic: &str| {
        let mut seen = HashSet::new();
        let mut open = vec![part];
        while let Some(key) = open.pop() {
            if key == epic {
                return true;
            }
            if seen.insert(key) {
                open.extend(before.get(key).into_iter().flatten().map(String::as_str));
            }
        }
        false
    };
    for card in cards.iter_mut() {
        for part in parts.remove(&card.key).unwrap_or_default() {
            if !comes_after(&part, &card.key) && !card.depends_on.contains(&part) {
                card.depends_on.push(part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_become_tasks() {
        let text = r#"{"id":"bd-1","title":"Epic","issue_type":"epic","status":"open","priority":1,"created_at":"2026-01-04T10:00:00Z","updated_at":"2026-01-04T10:00:00Z","assignee":"x"}
{"id":"bd-1.1","title":"Part","description":"do it","acceptance_criteria":"it works","status":"blocked","priority":4,"labels":["ui"],"dependencies":[{"issue_id":"bd-1.1","depends_on_id":"bd-1","type":"parent-child"},{"issue_id":"bd-1.1","depends_on_id":"bd-2","type":"blocks"},{"issue_id":"bd-1.1","depends_on_id":"bd-9","type":"related"},{"issue_id":"bd-1.1","depends_on_id":"bd-3","type":"blocks"}],"comments":[{"id":1,"author":"ann","text":"started"}]}
{"id":"bd-2","title":"First","status":"closed","closed_at":"2026-01-05T10:00:00Z","close_reason":"done","issue_type":"bug"}
{"id":"bd-3","title":"Deleted","status":"tombstone"}"#;
        let cards = read(text).unwrap();
        assert_eq!(cards.len(), 3);
        assert_eq!(cards[0].depends_on, ["bd-1.1"]);
        assert_eq!(cards[0].draft.priority, Some(Priority::High));
        assert_eq!(cards[1].parent.as_deref(), Some("bd-1"));
        assert_eq!(cards[1].depends_on, ["bd-2"]);
        assert_eq!(cards[1].standing, Standing::Open);
        assert_eq!(
            cards[1].draft.description.as_deref(),
            Some("do it\n\nAcceptance criteria:\nit works")
        );
        assert_eq!(cards[1].notes, [("ann".to_owned(), "started".to_owned())]);
        assert_eq!(cards[2].standing, Standing::Done);
        assert_eq!(cards[2].draft.labels, Some(vec!["bug".to_owned()]));
    }

    #[test]
    fn a_wrong_issue_is_named_by_its_line() {
        let error = read("{\"id\":\"a\",\"title\":\"x\"}\n{\"id\":\"b\"}").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("line 2: missing field `title`"),
            "{error}"
        );
        let error = read("{\"id\":\"a\",\"title\":\"x\",\"status\":\"lost\"}").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("line 1: `lost` is not a status"),
            "{error}"
        );
    }
}
