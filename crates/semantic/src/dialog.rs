//! Reads the question an agent asks and the options it offers.
//!
//! Options are found by their marked line and their numbers or common indent,
//! never by position: lists differ between versions, defaults flip, and a
//! marker may stand anywhere. An answer must be computed from the result, so an
//! option is only reported when its row is certain.

use std::ops::Range;

use regex::Regex;
use serde::Serialize;

use crate::region::{RegionId, Regions, flowing_text, is_frame, unframed};
use crate::request::{PermissionRule, ToolRequest, find_request};
use crate::screen::{Row, Screen, Style};

/// More than any dialog offers; a longer list is a menu.
const MAX_OPTIONS: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dialog {
    /// First line of the dialog.
    pub title: String,
    /// The sentence right above the options.
    pub question: String,
    /// All that stands above the options, on one line.
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    pub options: Vec<DialogOption>,
    /// Index of the marked option.
    pub selected: Option<usize>,
    pub layout: DialogLayout,
    /// What permission is asked for, where that can be read with certainty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<ToolRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DialogOption {
    pub label: String,
    /// The number drawn before it, which most programs accept as a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    pub row: usize,
}

/// Which arrow keys move the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DialogLayout {
    List,
    Buttons,
    /// Named by letters in the question's own line: typed, and then Enter.
    Letters,
}

impl Dialog {
    /// Whether it is the same dialog, wherever its mark and its rows are.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        // A clock or a turning sign beside it makes no other dialog.
        let letters = |dialog: &Self| -> String {
            let letters = dialog.text.chars().filter(|c| c.is_alphabetic());
            letters.collect()
        };
        let offered = |dialog: &Self| -> Vec<_> {
            let options = dialog.options.iter();
            options.map(|o| (o.number, o.label.clone())).collect()
        };
        (&self.question, &self.tool, &self.arguments, self.layout)
            == (&other.question, &other.tool, &other.arguments, other.layout)
            && self.request == other.request
            && letters(self) == letters(other)
            && offered(self) == offered(other)
    }

    /// What makes it another dialog, or the same with another mark.
    pub(crate) fn identity(&self) -> (&str, &str, Vec<&str>, Option<usize>) {
        let labels = self
            .options
            .iter()
            .map(|option| option.label.as_str())
            .collect();
        (&self.title, &self.question, labels, self.selected)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct DialogRule {
    pub(crate) region: RegionId,
    /// Glyphs that mark the chosen option.
    pub(crate) cursor: String,
    /// Patterns with groups `name` and `args`, tried in order on each row.
    pub(crate) tool: Vec<Regex>,
    /// A row of buttons, in group `buttons`, where the marked one is drawn
    /// differently from the rest.
    pub(crate) buttons: Option<Regex>,
    /// A line that asks for a letter, as `Go on? (Y)es/(N)o [Yes]:`, with the groups
    /// `letters` and `default`, which is what an empty line means.
    pub(crate) letters: Option<Regex>,
}

/// What a dialog offers.
struct Offered {
    options: Vec<DialogOption>,
    selected: Option<usize>,
    layout: DialogLayout,
    /// The question, where it stands on the row of the options.
    question: Option<String>,
}

pub(crate) fn find_dialog(
    rule: &DialogRule,
    permission: Option<&PermissionRule>,
    screen: &Screen,
    regions: &Regions,
) -> Option<Dialog> {
    let rows = regions.rows(rule.region)?;
    let Offered {
        options,
        selected,
        layout,
        question: beside,
    } = offered(rule, screen, rows.clone())?;
    let first = options.first()?.row;
    let above = rows.start..first;
    let tool = tool_of(rule, screen, rows);
    let question = question_rows(screen, above.clone());
    let arguments = tool.as_ref().and_then(|tool| {
        let body = tool.row + 1..question.start.max(tool.row + 1);
        let shown = || flowing_text(&screen.rows[body.clone()]);
        tool.arguments
            .clone()
            .or_else(|| tool.name.as_ref().map(|_| shown()))
    });
    let mut text = flowing_text(&screen.rows[above.clone()]);
    if let Some(question) = &beside {
        text = format!("{text} {question}").trim_start().to_owned();
    }
    let request =
        permission.and_then(|rule| find_request(rule, screen, regions, &options, &question));
    Some(Dialog {
        title: screen.rows[above]
            .iter()
            .map(|row| unframed(&row.text))
            .find(|text| !text.is_empty())
            .or(beside.as_deref())
            .unwrap_or_default()
            .to_owned(),
        question: beside.unwrap_or_else(|| flowing_text(&screen.rows[question])),
        text,
        tool: tool.and_then(|tool| tool.name),
        arguments: arguments.filter(|text| !text.is_empty()),
        options,
        selected,
        layout,
        request,
    })
}

fn offered(rule: &DialogRule, screen: &Screen, rows: Range<usize>) -> Option<Offered> {
    if let Some(offered) = letters(rule, screen, rows.clone()) {
        return Some(offered);
    }
    let (options, selected, layout) = match buttons(rule, screen, rows.clone()) {
        Some((options, selected)) => (options, selected, DialogLayout::Buttons),
        None => {
            let (options, selected) = list(&rule.cursor, screen, rows)?;
            (options, Some(selected), DialogLayout::List)
        }
    };
    Some(Offered {
        options,
        selected,
        layout,
        question: None,
    })
}

/// The last row alone is asked in: what stands above it was answered, or is a quotation.
fn letters(rule: &DialogRule, screen: &Screen, rows: Range<usize>) -> Option<Offered> {
    let pattern = rule.letters.as_ref()?;
    let row = rows
        .rev()
        .find(|row| !unframed(&screen.rows[*row].text).is_empty())?;
    let text = &screen.rows[row].text;
    let captures = pattern.captures(text)?;
    let group = captures.name("letters")?;
    let mut options = Vec::new();
    for piece in group.as_str().split('/') {
        let (letter, rest) = piece.strip_prefix('(')?.split_once(')')?;
        options.push(DialogOption {
            label: format!("{letter}{rest}"),
            number: None,
            row,
        });
    }
    let default = captures.name("default").map(|name| name.as_str());
    let selected = options
        .iter()
        .position(|option| Some(option.label.as_str()) == default);
    (2..=MAX_OPTIONS).contains(&options.len()).then(|| Offered {
        options,
        selected,
        layout: DialogLayout::Letters,
        question: Some(unframed(&text[..group.start()]).trim().to_owned()),
    })
}

/// Emphasis and colouring of one place.
type TextStyle = (Style, u64);

/// A row that may be an option: where its label begins and what precedes it.
struct Entry {
    row: usize,
    marked: bool,
    number: Option<u32>,
    label: String,
    column: usize,
}

fn list(cursor: &str, screen: &Screen, rows: Range<usize>) -> Option<(Vec<DialogOption>, usize)> {
    let entries: Vec<Entry> = rows
        .filter(|&row| !unframed(&screen.rows[row].text).is_empty())
        .map(|row| entry(cursor, row, &screen.rows[row].text))
        .collect();
    let marked = entries
        .iter()
        .rposition(|entry| entry.marked && !entry.label.is_empty())
        .or_else(|| marked_by_style(screen, &entries))?;
    let chosen = match entries[marked].number {
        Some(number) => numbered(&entries, marked, number),
        None => aligned(screen, &entries, marked),
    };
    let selected = chosen.iter().position(|&index| index == marked)?;
    if chosen.len() < 2 || chosen.len() > MAX_OPTIONS {
        return None;
    }
    let options = chosen
        .into_iter()
        .map(|index| DialogOption {
            label: entries[index].label.clone(),
            number: entries[index].number,
            row: entries[index].row,
        })
        .collect();
    Some((options, selected))
}

/// In a numbered list without a mark, the one entry drawn differently.
fn marked_by_style(screen: &Screen, entries: &[Entry]) -> Option<usize> {
    let first = entries.iter().rposition(|entry| entry.number == Some(1))?;
    let chosen = numbered(entries, first, 1);
    let style = |index: &usize| style_at(&screen.rows[entries[*index].row], entries[*index].column);
    let odd = |index: &usize| chosen.iter().filter(|o| style(o) == style(index)).count() == 1;
    let mut odd_ones = chosen.iter().filter(|index| odd(index));
    // Of two there is no odd one out.
    odd_ones
        .next()
        .copied()
        .filter(|_| chosen.len() > 2 && odd_ones.next().is_none())
}

fn entry(cursor: &str, row: usize, text: &str) -> Entry {
    let mut column = 0;
    let mut marked = false;
    let mut rest = text;
    // A frame on the left, blanks, at most one mark, blanks.
    while let Some(c) = rest.chars().next() {
        let mark = !marked && cursor.contains(c);
        if !(c.is_whitespace() || is_frame(c) || mark) {
            break;
        }
        marked |= mark;
        column += 1;
        rest = &rest[c.len_utf8()..];
    }
    let rest = rest.trim_end_matches(|c: char| c.is_whitespace() || is_frame(c));
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = &rest[digits..];
    let number = (1..=2).contains(&digits) && (after.starts_with(". ") || after.starts_with(") "));
    let (number, label): (_, &str) = if number {
        (rest[..digits].parse().ok(), after[2..].trim_start())
    } else {
        (None, rest)
    };
    Entry {
        row,
        marked,
        number,
        // A description in a second column is not part of the label.
        label: label.split("  ").next().unwrap_or_default().to_owned(),
        column,
    }
}

/// The run 1, 2, 3 … that contains the marked entry; lines between two numbers
/// describe the option above them.
fn numbered(entries: &[Entry], marked: usize, number: u32) -> Vec<usize> {
    let mut chosen = vec![marked];
    let mut wanted = number;
    for index in (0..marked).rev() {
        if wanted == 1 {
            break;
        }
        if entries[index].number == Some(wanted - 1) {
            chosen.insert(0, index);
            wanted -= 1;
        }
    }
    let mut wanted = number + 1;
    for (index, entry) in entries.iter().enumerate().skip(marked + 1) {
        match entry.number {
            Some(found) if found == wanted => {
                chosen.push(index);
                wanted += 1;
            }
            Some(_) => break,
            None => {}
        }
    }
    chosen
}

/// Unnumbered options: neighbours on adjacent rows whose labels begin in the
/// same column.
fn aligned(screen: &Screen, entries: &[Entry], marked: usize) -> Vec<usize> {
    let column = entries[marked].column;
    let belongs = |index: usize, next: usize| {
        let gap = entries[index].row.abs_diff(entries[next].row);
        gap == 1 && entries[next].column == column && !screen.rows[entries[next].row].is_blank()
    };
    let mut first = marked;
    while first > 0 && belongs(first, first - 1) {
        first -= 1;
    }
    let mut last = marked;
    while last + 1 < entries.len() && belongs(last, last + 1) {
        last += 1;
    }
    (first..=last).collect()
}

fn buttons(
    rule: &DialogRule,
    screen: &Screen,
    rows: Range<usize>,
) -> Option<(Vec<DialogOption>, Option<usize>)> {
    let pattern = rule.buttons.as_ref()?;
    let (row, text) = rows.rev().find_map(|row| {
        let captures = pattern.captures(&screen.rows[row].text)?;
        captures.name("buttons").map(|group| (row, group))
    })?;
    let mut options = Vec::new();
    let mut styles = Vec::new();
    let base = screen.rows[row].text[..text.start()].chars().count();
    for (start, label) in spaced(text.as_str()) {
        styles.push(style_at(&screen.rows[row], base + start));
        options.push(DialogOption {
            label: label.to_owned(),
            number: None,
            row,
        });
    }
    let odd = |style: &TextStyle| styles.iter().filter(|other| *other == style).count() == 1;
    let selected = match styles.len() {
        // Of two different ones, the filled or inverse one is marked.
        2 => styles.iter().position(|style| {
            odd(style) && (style.0.contains(Style::FILLED) || style.0.contains(Style::INVERSE))
        }),
        _ => styles.iter().position(odd),
    };
    (options.len() >= 2).then_some((options, selected))
}

/// Pieces separated by two or more blanks, with their character positions.
fn spaced(text: &str) -> Vec<(usize, &str)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for piece in text.split("  ") {
        let label = piece.trim();
        if !label.is_empty() {
            let lead = piece.chars().take_while(|c| c.is_whitespace()).count();
            pieces.push((at + lead, label));
        }
        at += piece.chars().count() + 2;
    }
    pieces
}

fn style_at(row: &Row, position: usize) -> TextStyle {
    let run = row
        .emphasis
        .iter()
        .find(|run| (run.start..run.end).contains(&position));
    run.map(|run| (run.style, run.paint)).unwrap_or_default()
}

struct DialogTool {
    row: usize,
    name: Option<String>,
    arguments: Option<String>,
}

fn tool_of(rule: &DialogRule, screen: &Screen, rows: Range<usize>) -> Option<DialogTool> {
    rule.tool.iter().find_map(|pattern| {
        rows.clone().find_map(|row| {
            let captures = pattern.captures(unframed(&screen.rows[row].text))?;
            let group = |name| {
                let text = captures.name(name)?.as_str().trim();
                (!text.is_empty()).then(|| text.to_owned())
            };
            Some(DialogTool {
                row,
                name: group("name"),
                arguments: group("args"),
            })
        })
    })
}

/// The rows of the sentence that ends nearest above the options.
fn question_rows(screen: &Screen, rows: Range<usize>) -> Range<usize> {
    let blank = |row: &usize| unframed(&screen.rows[*row].text).is_empty();
    let Some(end) = rows.clone().rev().find(|row| !blank(row)) else {
        return rows.end..rows.end;
    };
    let start = (rows.start..end)
        .rev()
        .find(blank)
        .map_or(rows.start, |row| row + 1);
    start..end + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::RegionRule;
    use crate::screen::{Emphasis, Size};

    fn rule() -> DialogRule {
        DialogRule {
            region: RegionId::SCREEN,
            cursor: "❯›●".to_owned(),
            tool: vec![Regex::new(r"^(?P<name>Bash) command").unwrap()],
            buttons: Some(Regex::new(r"^┃ +(?P<buttons>Allow once.*Reject)").unwrap()),
            letters: Some(
                Regex::new(r"(?P<letters>\(\w\)[^:]*) \[(?P<default>\w+)\]: ?$").unwrap(),
            ),
        }
    }

    fn find(screen: &Screen) -> Option<Dialog> {
        find_dialog(
            &rule(),
            None,
            screen,
            &Regions::find(&[RegionRule::whole_screen()], screen),
        )
    }

    fn screen(lines: &[&str]) -> Screen {
        Screen::from_lines(
            Size {
                columns: 60,
                rows: 20,
            },
            lines.iter().copied(),
        )
    }

    #[test]
    fn numbered_options_with_descriptions_between() {
        let dialog = find(&screen(&[
            "╭─────────────────────────╮",
            "│ Bash command            │",
            "│   rm -rf build          │",
            "│                         │",
            "│ Do you want to          │",
            "│ proceed?                │",
            "│   1. Yes                │",
            "│      only this once     │",
            "│ ❯ 2. Yes, always        │",
            "│   3. No (esc)           │",
            "╰─────────────────────────╯",
        ]))
        .unwrap();
        assert_eq!(dialog.title, "Bash command");
        assert_eq!(dialog.question, "Do you want to proceed?");
        assert_eq!(dialog.tool.as_deref(), Some("Bash"));
        assert_eq!(dialog.arguments.as_deref(), Some("rm -rf build"));
        assert_eq!(dialog.selected, Some(1));
        let options: Vec<_> = dialog
            .options
            .iter()
            .map(|o| (o.number, o.label.as_str(), o.row))
            .collect();
        assert_eq!(
            options,
            [
                (Some(1), "Yes", 6),
                (Some(2), "Yes, always", 8),
                (Some(3), "No (esc)", 9)
            ]
        );
    }

    #[test]
    fn unnumbered_options_are_the_aligned_neighbours() {
        let dialog = find(&screen(&[
            "Is this a project you trust?",
            "",
            "❯ No, exit",
            "  Yes, I trust this folder",
            "",
            "  Enter to confirm",
        ]))
        .unwrap();
        let labels: Vec<_> = dialog.options.iter().map(|o| o.label.as_str()).collect();
        assert_eq!(labels, ["No, exit", "Yes, I trust this folder"]);
        assert_eq!(
            (dialog.selected, dialog.question.as_str()),
            (Some(0), "Is this a project you trust?")
        );
    }

    #[test]
    fn buttons_are_told_apart_by_how_they_are_drawn() {
        let mut screen = screen(&[
            "┃  △ Permission required",
            "┃   Allow once   Allow always   Reject   enter",
        ]);
        screen.rows[1].emphasis = vec![Emphasis {
            start: 17,
            end: 31,
            style: Style::FILLED,
            paint: 7,
        }];
        let dialog = find(&screen).unwrap();
        assert_eq!(dialog.layout, DialogLayout::Buttons);
        assert_eq!(dialog.selected, Some(1));
        assert_eq!(dialog.options[2].label, "Reject");
    }

    #[test]
    fn letters_are_offered_in_the_line_that_asks_and_in_no_line_above() {
        let asks = "Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: ";
        let dialog = find(&screen(&["rm -rf build", asks])).unwrap();
        assert_eq!(dialog.question, "Run shell command?");
        assert_eq!(dialog.text, "rm -rf build Run shell command?");
        assert_eq!(dialog.title, "rm -rf build");
        let labels: Vec<_> = dialog.options.iter().map(|o| o.label.as_str()).collect();
        assert_eq!(labels, ["Yes", "No", "Don't ask again"]);
        assert_eq!(
            (dialog.selected, dialog.layout),
            (Some(0), DialogLayout::Letters)
        );
        assert_eq!(find(&screen(&[asks, "> "])), None);
    }

    #[test]
    fn a_prompt_line_alone_is_no_dialog() {
        assert_eq!(
            find(&screen(&[
                "some text",
                "❯ fix the tests",
                "",
                "? for shortcuts"
            ])),
            None
        );
    }
}
