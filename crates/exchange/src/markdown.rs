//! Checklists in Markdown.
//!
//! ```text
//! - [ ] Write the parser
//!   What to know about it, indented.
//!   - [x] Write the lexer
//! - [ ] Write the docs <!-- mission {"depends_on": ["Write the parser"]} -->
//! ```
//!
//! An item is a task, `[x]` is done and `[-]` given up. An item below another
//! is a part of it, and what has parts comes after them. The comment may hold
//! whatever a line of our JSONL may; a task without a key goes by its title.
//! Everything else in the file is skipped; which lines that were is known.

use serde_json::{Map, Value};

use crate::jsonl::{self, assemble, beside};
use crate::{Card, ImportError, Standing, check_capacity, check_graph};

const COMMENT: &str = "<!-- mission ";

/// What is being read: an item and how far it is indented.
struct Item {
    indent: usize,
    index: usize,
    description: Vec<String>,
}

/// Reads the checklists of a file.
pub fn read(text: &str) -> Result<Vec<Card>, ImportError> {
    read_with_skipped(text).map(|(cards, _)| cards)
}

/// The same, with the lines that belong to no task. Blank lines and headings are
/// none of them.
pub fn read_with_skipped(text: &str) -> Result<(Vec<Card>, Vec<usize>), ImportError> {
    let mut cards: Vec<Card> = Vec::new();
    let mut skipped = Vec::new();
    // From the outermost item to the one being read.
    let mut open: Vec<Item> = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let indent = line.len() - line.trim_start_matches(' ').len();
        let fence = line.trim_start().starts_with("```");
        match checkbox(line).filter(|_| !fenced && !fence) {
            Some((mark, title)) => {
                check_capacity(&cards, number)?;
                while open.last().is_some_and(|item| item.indent >= indent) {
                    close(&mut open, &mut cards);
                }
                let mut card = item(mark, title, number)?;
                let by_comment = card.parent.is_some();
                if let Some(above) = open.last().filter(|_| !by_comment) {
                    card.parent = Some(cards[above.index].key.clone());
                    let key = card.key.clone();
                    let before = &mut cards[above.index].depends_on;
                    if !before.contains(&key) {
                        before.push(key);
                    }
                }
                open.push(Item {
                    indent,
                    index: cards.len(),
                    description: Vec::new(),
                });
                cards.push(card);
            }
            None => {
                fenced ^= fence;
                let blank = line.trim().is_empty();
                // Text that is not indented belongs to no item.
                while !blank && open.last().is_some_and(|item| item.indent >= indent) {
                    close(&mut open, &mut cards);
                }
                if let Some(item) = open.last_mut() {
                    let text = line
                        .get((item.indent + 2).min(indent)..)
                        .unwrap_or_default();
                    item.description.push(text.to_owned());
                } else if !blank && !line.starts_with('#') {
                    skipped.push(number);
                }
            }
        }
    }
    while !open.is_empty() {
        close(&mut open, &mut cards);
    }
    if cards.is_empty() {
        let message = "there is no checklist in it: write tasks as `- [ ] what to do`";
        return Err(ImportError::File(message.to_owned()));
    }
    Ok((check_graph(cards)?, skipped))
}

/// Writes cards as a checklist that reads back as them.
#[must_use]
pub fn write(cards: &[Card]) -> String {
    let mut out = String::new();
    for card in cards {
        let mark = match card.standing {
            Standing::Done => 'x',
            Standing::Failed { .. } => '-',
            Standing::Open | Standing::Blocked { .. } => ' ',
        };
        let title = card.draft.title.as_deref().unwrap_or_default();
        let mut fields = Map::new();
        let mut task = card.draft.clone();
        task.title = None;
        let description = task.description.take_if(|text| reads_back(text));
        let mut own = beside(card);
        // The mark says it already.
        own.status.take_if(|status| *status == jsonl::Status::Done);
        for value in [serde_json::to_value(own), serde_json::to_value(task)] {
            if let Ok(Value::Object(some)) = value {
                fields.extend(some);
            }
        }
        // Neither its end nor another beginning of a comment may be in it.
        let comment = Value::Object(fields).to_string();
        let comment = comment.replace('>', "\\u003e").replace('<', "\\u003c");
        out.push_str(&format!("- [{mark}] {title} {COMMENT}{comment} -->\n"));
        for line in description.iter().flat_map(|text| text.lines()) {
            let line = format!("  {line}");
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

/// Whether a description can stand as indented lines.
fn reads_back(text: &str) -> bool {
    let lines: Vec<_> = text.split('\n').collect();
    let plain = |line: &&str| {
        checkbox(line).is_none()
            && !line.trim_start().starts_with("```")
            && line.trim_end() == *line
            && !line.starts_with(' ')
            && !line.chars().any(char::is_control)
    };
    let ends = [lines.first(), lines.last()];
    lines.iter().all(plain) && ends.iter().flatten().all(|line| !line.is_empty())
}

/// The mark and the title of a line that is an item.
fn checkbox(line: &str) -> Option<(char, &str)> {
    let rest = line.trim_start_matches(' ');
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => rest.strip_prefix(['-', '*', '+'])?,
        digits => rest[digits..].strip_prefix(['.', ')'])?,
    };
    let rest = rest.trim_start_matches(' ').strip_prefix('[')?;
    let mut chars = rest.chars();
    let mark = chars.next()?;
    let title = chars.as_str().strip_prefix(']')?;
    matches!(mark, ' ' | 'x' | 'X' | '-').then(|| (mark, title.trim()))
}

fn item(mark: char, title: &str, line: usize) -> Result<Card, ImportError> {
    let (title, fields) = match comment(title) {
        Some((title, json)) => {
            let fields: Map<String, Value> = serde_json::from_str(json)
                .map_err(|error| ImportError::at(line, jsonl::describe_error(&error)))?;
            (title, fields)
        }
        None => (title, Map::new()),
    };
    let keyed = fields.contains_key("key");
    let mut card = if fields.is_empty() {
        assemble(Default::default(), Default::default(), line)
    } else {
        jsonl::card(fields, line)?
    };
    if !keyed {
        card.key = title.to_owned();
    }
    if title.is_empty() {
        return Err(ImportError::at(line, "the task has no title"));
    }
    card.draft.title = Some(title.to_owned());
    card.standing = match (mark, card.standing) {
        ('x' | 'X', _) => Standing::Done,
        ('-', Standing::Failed { reason }) => Standing::Failed { reason },
        ('-', _) => Standing::Failed {
            reason: "it was given up before it was brought here".to_owned(),
        },
        (_, Standing::Done | Standing::Failed { .. }) => Standing::Open,
        (_, standing) => standing,
    };
    Ok(card)
}

/// The title before our comment, and what is in the comment.
fn comment(title: &str) -> Option<(&str, &str)> {
    let inner = title.strip_suffix("-->")?;
    let start = inner.rfind(COMMENT)?;
    let json = inner[start + COMMENT.len()..].trim();
    Some((title[..start].trim(), json))
}

fn close(open: &mut Vec<Item>, cards: &mut [Card]) {
    let Some(mut item) = open.pop() else { return };
    while item
        .description
        .last()
        .is_some_and(|line| line.trim().is_empty())
    {
        item.description.pop();
    }
    let blank = item
        .description
        .iter()
        .take_while(|line| line.trim().is_empty());
    let text = item.description[blank.count()..].join("\n");
    let draft = &mut cards[item.index].draft;
    if draft.description.is_none() && !text.is_empty() {
        draft.description = Some(text);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_that_belong_to_no_task_are_known() {
        let text = "# Plan\n\nSome words.\n- [ ] A\n  about it\n- [?] B\n- C\n";
        let (cards, skipped) = read_with_skipped(text).unwrap();
        assert_eq!(cards.len(), 1);
        assert_eq!(skipped, [3, 6, 7]);
    }

    #[test]
    fn a_plain_checklist_is_read_with_its_parts() {
        let text = "# Plan\n\nSome words.\n\n- [ ] Write the parser\n  Mind the gap.\n\n  \
             And the other one.\n  - [x] Write the lexer\n  * [ ] Test it\n\n```\n- [ ] not a task\n\
             ```\n1. [-] Give up\n- not a task\n";
        let cards = read(text).unwrap();
        let outline: Vec<_> = cards
            .iter()
            .map(|card| (card.key.as_str(), card.line, card.parent.as_deref()))
            .collect();
        assert_eq!(
            outline,
            [
                ("Write the parser", 5, None),
                ("Write the lexer", 9, Some("Write the parser")),
                ("Test it", 10, Some("Write the parser")),
                ("Give up", 15, None),
            ]
        );
        assert_eq!(
            cards[0].draft.description.as_deref(),
            Some("Mind the gap.\n\nAnd the other one.")
        );
        assert_eq!(cards[0].depends_on, ["Write the lexer", "Test it"]);
        assert_eq!(cards[1].standing, Standing::Done);
        assert!(matches!(cards[3].standing, Standing::Failed { .. }));
    }

    #[test]
    fn the_comment_says_more_and_its_mistakes_have_a_line() {
        let text = "- [ ] One\n- [ ] Two <!-- mission {\"depends_on\": [\"One\"], \
             \"priority\": \"high\", \"checks\": [[\"cargo\", \"test\"]]} -->";
        let cards = read(text).unwrap();
        assert_eq!(cards[1].draft.title.as_deref(), Some("Two"));
        assert_eq!(cards[1].depends_on, ["One"]);
        assert!(cards[1].draft.checks.is_some());
        let error = read("- [ ] One\n- [ ] Two <!-- mission {\"prio\": 1} -->").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("line 2: unknown field `prio`"),
            "{error}"
        );
        let empty = read("nothing here").unwrap_err().to_string();
        assert!(empty.contains("- [ ]"), "{empty}");
    }

    fn cards() -> impl Strategy<Value = Vec<Card>> {
        let one = (
            "[a-z<>\"'!\\-äß] ?[ -~]{0,20}[a-z]",
            prop::option::of("[ -~\n]{0,60}"),
            prop::collection::vec("[a-z>\"]{1,8}", 0..3),
            0..4,
            prop::bool::ANY,
        );
        prop::collection::vec(one, 1..8).prop_map(|drafts| {
            let mut cards = Vec::new();
            for (index, (title, description, labels, standing, after)) in
                drafts.into_iter().enumerate()
            {
                let reason = "be>cause".to_owned();
                let mut card = Card {
                    key: format!("T-{index}"),
                    standing: match standing {
                        0 => Standing::Open,
                        1 => Standing::Done,
                        2 => Standing::Failed { reason },
                        _ => Standing::Blocked { reason },
                    },
                    ..Card::default()
                };
                card.draft.title = Some(title.trim().to_owned());
                card.draft.description = description.filter(|text| !text.is_empty());
                card.draft.labels = Some(labels).filter(|labels| !labels.is_empty());
                if after && index > 0 {
                    card.depends_on = vec![format!("T-{}", index - 1)];
                    card.parent = Some("T-0".to_owned());
                }
                cards.push(card);
            }
            cards
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(cards in cards()) {
            let mut markdown = read(&write(&cards)).unwrap();
            let lines: Vec<_> = cards.iter().map(jsonl::write_card).collect();
            let mut ours = jsonl::read(&lines.join("\n")).unwrap();
            for card in markdown.iter_mut().chain(&mut ours) {
                card.line = 0;
            }
            prop_assert_eq!(&ours, &cards);
            prop_assert_eq!(&markdown, &cards);
        }

        #[test]
        fn any_text_is_read_or_refused_with_a_line(text in ".{0,300}") {
            for refused in [read(&text).err(), jsonl::read(&text).err()].into_iter().flatten() {
                if let ImportError::Line { line, .. } = refused {
                    prop_assert!(line >= 1 && line <= text.lines().count());
                }
            }
        }
    }
}
