//! The picture of the live view: rows of text from an overview, for a size. Nothing
//! here knows a terminal.

use missiond_api::operations::overview::{OverviewLine, OverviewReport};
use missiond_core::{Timestamp, one_line};
use missiond_semantic::Size;
use unicode_width::UnicodeWidthStr;

use super::lines::{self, Shown};
use crate::output::fitted;
use crate::term::{Paint, Style, printable};

/// Below this many columns an agent takes two rows.
const WIDE: usize = 76;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    List,
    Details,
    Help,
}

/// What is shown.
pub(super) struct View<'a> {
    pub(super) overview: Option<&'a OverviewReport>,
    /// What is said of the daemon when there is no overview.
    pub(super) trouble: &'a str,
    pub(super) now: Timestamp,
    /// Counted through all groups; none when what was selected is gone.
    pub(super) selected: Option<usize>,
    pub(super) mode: Mode,
    /// The last thing to be said, in place of the keys.
    pub(super) notice: Option<&'a str>,
}

/// Every line of an overview, in the order they are shown.
pub(super) fn all(overview: &OverviewReport) -> impl Iterator<Item = &OverviewLine> {
    let groups = lines::groups(overview);
    groups.into_iter().flat_map(|group| group.lines)
}

const HELP: [&str; 11] = [
    "j k, arrows   move",
    "1 to 9        answer the question that is selected",
    "Enter         open the agent's terminal; Ctrl-] comes back",
    "d             details",
    "o             open the board in your browser",
    "g G           first, last",
    "q             quit; what is finished counts as seen",
    "Ctrl-C        quit; what is finished stays",
    "?             this",
    "",
    "Any of these keys closes it again.",
];

const KEYS: &str = "j/k move · 1-9 answer · Enter terminal · d details · o board · q quit · ? help";

/// One row of the picture.
struct Row {
    /// The line it belongs to.
    item: Option<usize>,
    text: String,
    style: Option<Style>,
}

impl Row {
    fn plain(text: impl Into<String>) -> Self {
        Self {
            item: None,
            text: text.into(),
            style: None,
        }
    }

    fn styled(style: Style, text: impl Into<String>) -> Self {
        Self {
            style: Some(style),
            ..Self::plain(text)
        }
    }
}

/// The picture: exactly as many rows as there is room for, none wider than the room.
pub(super) fn draw(view: &View<'_>, size: Size, paint: Paint) -> Vec<String> {
    let (columns, rows) = (usize::from(size.columns), usize::from(size.rows));
    let body = rows.saturating_sub(2);
    let header = match view.overview {
        Some(overview) => {
            let spent = lines::spent(&overview.tokens_today, &overview.cost_today);
            let spent = spent.map_or_else(String::new, |spent| format!(" Today: {spent}."));
            format!("{}{spent}", lines::autopilot(overview))
        }
        None => view.trouble.to_owned(),
    };
    let content = match (view.mode, view.overview) {
        (Mode::Help, _) => Vec::from(HELP.map(Row::plain)),
        (_, None) => vec![],
        (Mode::Details, Some(overview)) => details(overview, view, columns),
        (Mode::List, Some(overview)) => list(overview, view, columns),
    };
    let scrolled = match view.mode {
        Mode::List => scroll(&content, view.selected, body),
        Mode::Details | Mode::Help => 0,
    };
    let mut picture = Vec::with_capacity(rows);
    picture.push(paint.apply(Style::Bold, &fitted(&header, columns)));
    for row in content.iter().skip(scrolled).take(body) {
        let text = fitted(&row.text, columns);
        picture.push(match row.style {
            Some(style) => paint.apply(style, &text),
            None => text,
        });
    }
    picture.resize(rows.saturating_sub(1).max(1), String::new());
    if rows > 1 {
        let footer = fitted(view.notice.unwrap_or(KEYS), columns);
        let style = if view.notice.is_some() {
            Style::Yellow
        } else {
            Style::Dim
        };
        picture.push(paint.apply(style, &footer));
    }
    picture.truncate(rows);
    picture
}

fn list(overview: &OverviewReport, view: &View<'_>, columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut item = 0;
    for group in lines::groups(overview) {
        if group.is_empty() {
            continue;
        }
        let all = group.lines.len() + group.incidents.len();
        rows.push(Row::plain(""));
        rows.push(Row::styled(
            group.style,
            format!("{} ({all})", group.heading),
        ));
        for line in group.lines {
            let selected = Some(item) == view.selected;
            let shown = lines::line(line, view.now);
            for text in of_line(&shown, selected, columns) {
                rows.push(Row {
                    item: Some(item),
                    style: selected.then_some(Style::Bold),
                    text,
                });
            }
            // What a key answers needs no command.
            if let Some(how) = lines::next_steps(line).into_iter().next() {
                let style = match line.question {
                    Some(_) => Style::Yellow,
                    None => Style::Dim,
                };
                rows.push(Row {
                    item: Some(item),
                    ..Row::styled(style, format!("    {how}"))
                });
            }
            item += 1;
        }
        for incident in group.incidents {
            rows.push(Row::plain(format!("  {}", lines::incident(incident))));
        }
    }
    if lines::is_quiet(overview) {
        rows.push(Row::plain(""));
        rows.push(Row::plain(lines::idle(overview)));
    }
    if overview.left_out > 0 {
        rows.push(Row::styled(
            Style::Dim,
            format!("  … and {} more", overview.left_out),
        ));
    }
    rows
}

/// One row where there is room, else two.
fn of_line(shown: &Shown, selected: bool, columns: usize) -> Vec<String> {
    let mark = if selected { "› " } else { "  " };
    let numbers = shown.numbers.join(" · ");
    let activity = match &shown.last_line {
        Some(last) => format!("{} · {last}", shown.activity),
        None => shown.activity.clone(),
    };
    if columns < WIDE {
        let under = format!("    {numbers} · {activity}");
        return vec![format!("{mark}{}", shown.name()), under];
    }
    let name_room = columns * 2 / 5 - 2;
    let numbers = fitted(&numbers, columns / 3);
    let rest = columns - 2 - name_room - 2 - 2 - numbers.width();
    let name = padded(&shown.name(), name_room);
    let activity = padded(&activity, rest);
    vec![format!("{mark}{name}  {activity}  {numbers}")]
}

fn padded(text: &str, width: usize) -> String {
    let mut text = fitted(text, width);
    let blank = width.saturating_sub(text.width());
    text.extend(std::iter::repeat_n(' ', blank));
    text
}

/// How many rows are passed over so that the selected line is seen whole, with its
/// heading where that fits.
fn scroll(rows: &[Row], selected: Option<usize>, room: usize) -> usize {
    let of_selected = |row: &Row| selected.is_some() && row.item == selected;
    let Some(last) = rows.iter().rposition(of_selected) else {
        return 0;
    };
    (last + 1).saturating_sub(room)
}

fn details(overview: &OverviewReport, view: &View<'_>, columns: usize) -> Vec<Row> {
    let Some(line) = view.selected.and_then(|row| all(overview).nth(row)) else {
        return vec![Row::plain("Nothing is selected.")];
    };
    let mut rows = vec![Row::plain("")];
    let title = match line.task {
        Some(task) => format!("{task} {}", line.title),
        None => line.title.clone(),
    };
    for text in wrapped(&one_line(&title), columns) {
        rows.push(Row::styled(Style::Bold, text));
    }
    rows.push(Row::plain(""));
    let shown = lines::line(line, view.now);
    let field = |name: &str, value: Option<String>| {
        value.map(|value| format!("{name:<12}{}", printable(&one_line(&value))))
    };
    let agent = match (&line.engine, &line.model) {
        (Some(engine), Some(model)) => Some(format!("{engine}, {model}")),
        (engine, model) => engine.as_ref().map(ToString::to_string).or(model.clone()),
    };
    let fields = [
        field("now", Some(shown.activity.clone())),
        field("last line", line.last_line.clone()),
        field("time, used", Some(shown.numbers.join(" · "))),
        field(
            "repository",
            line.repository.as_ref().map(|of| of.path.clone()),
        ),
        field("agent", agent),
        field("terminal", line.slot.clone()),
        field("run", line.execution.map(|run| run.to_string())),
    ];
    for text in fields.into_iter().flatten() {
        rows.extend(wrapped(&text, columns).into_iter().map(Row::plain));
    }
    if line.question.is_none() {
        let steps = lines::next_steps(line).into_iter();
        rows.extend(steps.map(|step| Row::styled(Style::Dim, format!("{:<12}{step}", "next"))));
    }
    if let Some(question) = &line.question {
        rows.push(Row::plain(""));
        let asked = format!("{}: {}", question.number, question.question);
        for text in wrapped(&one_line(&asked), columns) {
            rows.push(Row::styled(Style::Yellow, text));
        }
        for (at, option) in question.options.iter().enumerate() {
            rows.push(Row::plain(format!(
                "  {} {}",
                at + 1,
                printable(&one_line(option))
            )));
        }
    }
    rows
}

/// A text cut at its blanks into rows of so many columns.
pub(in crate::commands) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let text = printable(text);
    let mut rows = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let last = rows.len() - 1;
        let together = rows[last].width() + word.trim_end().width();
        if !rows[last].is_empty() && together > columns {
            rows.push(word.to_owned());
        } else {
            rows[last].push_str(word);
        }
    }
    rows
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
