//! What stands in the prompt of a program.
//!
//! A prompt is found by its region and the mark before its text. What a program
//! shows in an empty prompt is no text of anybody: it is drawn dim, or the
//! manifest knows its words.

use regex::Regex;

use crate::region::{RegionId, Regions, is_frame, unframed};
use crate::screen::{Row, Screen, Style};

/// A row of a prompt that is this long is not there by chance.
const TELLING: usize = 16;

#[derive(Debug, Clone)]
pub(crate) struct PromptRule {
    pub(crate) region: RegionId,
    /// What stands before the text in its first row.
    pub(crate) mark: Regex,
    /// It stands before the text in each row.
    pub(crate) repeated: bool,
    /// What an empty prompt says.
    pub(crate) placeholder: Option<Regex>,
}

/// The text in the prompt, row by row; none when it is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    pub rows: Vec<String>,
}

impl Prompt {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text with one line per row.
    #[must_use]
    pub fn text(&self) -> String {
        self.rows.join("\n")
    }

    /// Whether this text stands in it, all of it or as much as there is room for.
    pub(super) fn shows(&self, text: &str) -> bool {
        let wanted = essence(text);
        let shown = essence(&self.text());
        shown.contains(&wanted)
            || self.rows.iter().any(|row| {
                let row = essence(row);
                row.chars().count() >= TELLING && wanted.contains(&row)
            })
    }
}

pub(crate) fn find_prompt(
    rules: &[PromptRule],
    screen: &Screen,
    regions: &Regions,
) -> Option<Prompt> {
    rules.iter().find_map(|rule| {
        let rows = regions.rows(rule.region)?;
        let mark = |row: &usize| Some(rule.mark.find(&screen.rows[*row].text)?.end());
        // A box may have an empty row above its text.
        let holds = |row: &usize| {
            mark(row).is_some_and(|end| !unframed(&screen.rows[*row].text[end..]).is_empty())
        };
        let marked = |row: &usize| mark(row).is_some();
        let first = rows
            .clone()
            .find(holds)
            .or_else(|| rows.clone().find(marked))?;
        let rest = &screen.rows[first + 1..rows.end];
        Some(prompt(rule, &screen.rows[first], mark(&first)?, rest))
    })
}

fn prompt(rule: &PromptRule, first: &Row, mark: usize, rest: &[Row]) -> Prompt {
    let (head, text) = first.text.split_at(mark);
    let text = unframed(text);
    let says = |pattern: &Regex| pattern.is_match(text);
    if is_dim(first, head.chars().count()) || rule.placeholder.as_ref().is_some_and(says) {
        return Prompt::default();
    }
    let rest = rest.iter().map(|row| match rule.mark.find(&row.text) {
        Some(mark) if rule.repeated => unframed(&row.text[mark.end()..]),
        _ => unframed(&row.text),
    });
    let rows = std::iter::once(text).chain(rest);
    Prompt {
        rows: rows
            .filter(|row| !row.is_empty())
            .map(str::to_owned)
            .collect(),
    }
}

/// Whether all that follows is drawn dim. The block cursor of the program may
/// stand on the first character.
fn is_dim(row: &Row, from: usize) -> bool {
    let text: Vec<_> = row.text.chars().enumerate().skip(from + 1).collect();
    let dim = |at: usize| {
        row.emphasis
            .iter()
            .any(|run| (run.start..run.end).contains(&at) && run.style.contains(Style::DIM))
    };
    let mut letters = text.iter().filter(|(_, c)| !c.is_whitespace()).peekable();
    letters.peek().is_some() && letters.all(|(at, _)| dim(*at))
}

/// What of a text survives being wrapped and framed.
pub(super) fn essence(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && !is_frame(*c))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::RegionRule;
    use crate::screen::{Emphasis, Size};

    fn find(screen: &Screen) -> Option<Prompt> {
        let rule = PromptRule {
            region: RegionId::SCREEN,
            mark: Regex::new("^[❯>] ?").unwrap(),
            repeated: false,
            placeholder: Some(Regex::new("^Try \"").unwrap()),
        };
        find_prompt(
            &[rule],
            screen,
            &Regions::find(&[RegionRule::whole_screen()], screen),
        )
    }

    fn screen(lines: &[&str]) -> Screen {
        let size = Size {
            columns: 30,
            rows: 8,
        };
        Screen::from_lines(size, lines.iter().copied())
    }

    #[test]
    fn a_draft_is_found_without_its_mark_and_its_frame() {
        let prompt = find(&screen(&["──────", "❯ fix the", "", "  tests │", "──────"])).unwrap();
        assert_eq!(prompt.rows, ["fix the", "tests"]);
        assert_eq!(find(&screen(&["──────", "no mark"])), None);
    }

    #[test]
    fn what_an_empty_prompt_says_is_no_draft() {
        assert!(find(&screen(&["❯"])).unwrap().is_empty());
        assert!(find(&screen(&["❯ Try \"fix it\""])).unwrap().is_empty());
        let mut dim = screen(&["❯ Ask anything"]);
        assert!(!find(&dim).unwrap().is_empty());
        dim.rows[0].emphasis = vec![Emphasis {
            start: 3,
            end: 14,
            style: Style::DIM,
            paint: 0,
        }];
        assert!(find(&dim).unwrap().is_empty());
    }

    #[test]
    fn a_text_is_seen_however_it_is_wrapped_or_cut() {
        let prompt = Prompt {
            rows: vec![
                "one long line that is wra".to_owned(),
                "pped here".to_owned(),
            ],
        };
        assert!(prompt.shows("one long line that is wrapped here"));
        assert!(prompt.shows("before it\none long line that is wrapped here, and more"));
        assert!(!prompt.shows("something else"));
    }
}
