//! What a permission dialog asks for, field by field.
//!
//! A dialog quotes what a model wrote, and a model can write what looks like
//! another dialog. So a request is read only from where the program itself
//! draws: its title by its place or because it is the only one, its question
//! right above the options. The rows between are taken in such a way that they
//! may hold too much, never too little; what holds too much fits no rule that
//! allows. A dialog no pattern knows for certain asks for nothing.

use std::ops::Range;

use missiond_core::PermissionAsked;
use regex::{Captures, Regex};
use serde::Serialize;

use crate::dialog::DialogOption;
use crate::region::{RegionId, Regions, flowing_text, unframed};
use crate::screen::Screen;

/// A use of a tool that is asked for, and which options answer it for this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolRequest {
    #[serde(flatten)]
    pub asked: PermissionAsked,
    /// Index of the option that allows it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<usize>,
    /// Index of the option that denies it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny: Option<usize>,
}

/// How the permission dialogs of an engine are read.
#[derive(Debug, Clone)]
pub(crate) struct PermissionRule {
    pub(crate) allow: Regex,
    pub(crate) deny: Regex,
    pub(crate) requests: Vec<RequestRule>,
}

#[derive(Debug, Clone)]
pub(crate) struct RequestRule {
    pub(crate) region: RegionId,
    pub(crate) title: Title,
    /// The next row that is not empty.
    pub(crate) second: Option<Regex>,
    /// The sentence right above the options.
    pub(crate) question: Option<Regex>,
    /// The tool, where no pattern has a group for it.
    pub(crate) tool: Option<String>,
    pub(crate) body: Option<BodyRule>,
}

#[derive(Debug, Clone)]
pub(crate) enum Title {
    /// The first row of the region that is not empty.
    First(Regex),
    /// The only row of the region that fits.
    Only(Regex),
}

/// The rows between title and question.
#[derive(Debug, Clone)]
pub(crate) struct BodyRule {
    pub(crate) is: BodyIs,
    /// Begins with the first row that fits, without what fits.
    pub(crate) from: Option<Regex>,
    /// Begins below the first row that fits.
    pub(crate) after: Option<Regex>,
    /// Ends above the last row that fits.
    pub(crate) until: Option<Regex>,
    /// Only the first row that is not empty.
    pub(crate) first: bool,
    /// It holds more than what is asked for, and what is what cannot be told.
    pub(crate) mixed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyIs {
    Command,
    Argument,
    Path,
}

impl BodyIs {
    pub(crate) const NAMES: [(&'static str, Self); 3] = [
        ("command", Self::Command),
        ("argument", Self::Argument),
        ("path", Self::Path),
    ];
}

/// The request of the dialog whose options are these; `question` are the rows of
/// its question.
pub(crate) fn find_request(
    rule: &PermissionRule,
    screen: &Screen,
    regions: &Regions,
    options: &[DialogOption],
    question: &Range<usize>,
) -> Option<ToolRequest> {
    let first_option = options.first()?.row;
    let asked = rule.requests.iter().find_map(|request| {
        let region = regions.rows(request.region)?;
        let rows = region.start..region.end.min(first_option);
        match_rule(request, screen, rows, question)
    })?;
    Some(ToolRequest {
        asked,
        allow: only_option(options, &rule.allow),
        deny: only_option(options, &rule.deny),
    })
}

fn only_option(options: &[DialogOption], pattern: &Regex) -> Option<usize> {
    let mut fitting = options
        .iter()
        .enumerate()
        .filter(|(_, option)| pattern.is_match(&option.label));
    let (index, _) = fitting.next()?;
    fitting.next().is_none().then_some(index)
}

fn match_rule(
    rule: &RequestRule,
    screen: &Screen,
    rows: Range<usize>,
    question: &Range<usize>,
) -> Option<PermissionAsked> {
    let text = |row: usize| unframed(&screen.rows[row].text);
    let filled = |rows: Range<usize>| rows.filter(move |&row| !text(row).is_empty());
    let (title_row, title) = match &rule.title {
        Title::First(pattern) => {
            let row = filled(rows.clone()).next()?;
            (row, pattern.captures(text(row))?)
        }
        Title::Only(pattern) => {
            let mut fitting = rows.clone().filter(|&row| pattern.is_match(text(row)));
            let row = fitting.next()?;
            if fitting.next().is_some() {
                return None;
            }
            (row, pattern.captures(text(row))?)
        }
    };
    let mut request = RequestBuilder::default();
    request.add_captures(&title);
    let mut body_start = title_row + 1;
    if let Some(pattern) = &rule.second {
        let row = filled(body_start..rows.end).next()?;
        request.add_captures(&pattern.captures(text(row))?);
        body_start = row + 1;
    }
    if question.start <= title_row && rule.question.is_some() {
        return None;
    }
    let sentence = flowing_text(&screen.rows[question.clone()]);
    let mut shown_path = None;
    if let Some(pattern) = &rule.question {
        let captures = pattern.captures(&sentence)?;
        shown_path = captures.name("path").map(|path| path.as_str().to_owned());
        request.add_captures(&captures);
    }
    let body_end = match rule.question {
        Some(_) => question.start.max(body_start),
        None => rows.end.max(body_start),
    };
    if let Some(body) = &rule.body {
        let lines = body_lines(body, screen, body_start..body_end)?;
        request.add_body(body, &lines);
    }
    // A file that is named twice is the same both times; the question may leave
    // out its folders.
    if let (Some(path), Some(shown)) = (&request.asked.path, &shown_path)
        && path != shown
        && !path.ends_with(&format!("/{shown}"))
    {
        return None;
    }
    request.asked.tool = request.asked.tool.take().or_else(|| rule.tool.clone());
    request.finish()
}

fn body_lines(rule: &BodyRule, screen: &Screen, rows: Range<usize>) -> Option<Vec<String>> {
    let text = |row: usize| unframed(&screen.rows[row].text);
    // A row drawn of frame characters alone is told by them.
    let fits = |pattern: &Regex, row: usize| {
        pattern.is_match(screen.rows[row].text.trim()) || pattern.is_match(text(row))
    };
    let mut start = rows.start;
    let mut cut = 0;
    if let Some(pattern) = &rule.after {
        start = rows.clone().find(|&row| fits(pattern, row))? + 1;
    }
    if let Some(pattern) = &rule.from {
        start = (start..rows.end).find(|&row| pattern.is_match(text(row)))?;
        cut = pattern.find(text(start))?.end();
    }
    let end = match &rule.until {
        Some(pattern) => (start..rows.end).rev().find(|&row| fits(pattern, row))?,
        None => rows.end,
    };
    let lines = (start..end).filter_map(|row| {
        let line = if row == start {
            text(row).get(cut..).unwrap_or_default().trim()
        } else {
            text(row)
        };
        (!line.is_empty()).then(|| line.to_owned())
    });
    Some(if rule.first {
        lines.take(1).collect()
    } else {
        lines.collect()
    })
}

#[derive(Default)]
struct RequestBuilder {
    asked: PermissionAsked,
}

impl RequestBuilder {
    fn add_captures(&mut self, captures: &Captures<'_>) {
        let group = |name: &str| {
            let text = captures.name(name)?.as_str().trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let asked = &mut self.asked;
        // What was read first stands nearer to the title.
        asked.tool = asked.tool.take().or_else(|| group("tool"));
        asked.server = asked.server.take().or_else(|| group("server"));
        asked.command = asked.command.take().or_else(|| group("command"));
        asked.path = asked.path.take().or_else(|| group("path"));
    }

    fn add_body(&mut self, rule: &BodyRule, lines: &[String]) {
        let asked = &mut self.asked;
        asked.shown_in_part |= rule.mixed || lines.is_empty();
        match rule.is {
            BodyIs::Command => asked.command = Some(lines.join("\n")),
            BodyIs::Argument => asked.argument = Some(lines.join("\n")),
            BodyIs::Path => match lines {
                [one] => asked.path = Some(one.clone()),
                _ => asked.shown_in_part = true,
            },
        }
    }

    fn finish(mut self) -> Option<PermissionAsked> {
        let asked = &mut self.asked;
        let texts = [&asked.command, &asked.argument, &asked.path, &asked.tool];
        let is_cut = |text: &&String| {
            let lower = text.to_lowercase();
            text.contains('…') || lower.contains("lines hidden") || lower.contains("more lines")
        };
        asked.shown_in_part |= texts.into_iter().flatten().any(|text| is_cut(&text));
        asked.tool.is_some().then_some(self.asked)
    }
}
