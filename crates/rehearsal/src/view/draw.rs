//! From the model to rows of text. The manifest `rehearsal` reads what is drawn
//! here, so a sign changed in one place must be changed in the other.

use std::time::{Duration, Instant};

use super::wrap::{columns, cut, wrap};
use super::{Activity, Block, Busy, Outcome, Panel, Permission, ToolBlock, View};

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_STEP: Duration = Duration::from_millis(100);
/// Rows of a draft that are shown at once.
const MAX_DRAFT_ROWS: usize = 8;
const MAX_QUEUED_ROWS: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) style: LineStyle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineStyle {
    Plain,
    Dim,
    Bold,
    Good,
    Bad,
    Accent,
}

/// The part of the screen that is drawn anew each time.
#[derive(Debug, Default)]
pub(super) struct Bottom {
    pub(super) lines: Vec<Line>,
    /// Row and column of the cursor; hidden when there is none.
    pub(super) cursor: Option<(usize, usize)>,
}

fn line(style: LineStyle, text: impl Into<String>) -> Line {
    Line {
        text: text.into(),
        style,
    }
}

pub(super) fn header(view: &View, width: usize) -> Vec<Line> {
    let mut lines = boxed("", &view.header, width);
    lines
        .iter_mut()
        .for_each(|line| line.style = LineStyle::Bold);
    lines.push(line(LineStyle::Plain, ""));
    lines
}

/// The rows of one piece of the transcript, with an empty one after it.
pub(super) fn block(block: &Block, width: usize) -> Vec<Line> {
    let marked = |mark: &str, text: &str, style| {
        let rows = wrap(text, width.saturating_sub(2));
        let rows = rows.into_iter().enumerate();
        rows.map(|(index, row)| match index {
            0 => line(style, format!("{mark} {row}")),
            _ => line(style, format!("  {row}")),
        })
        .collect::<Vec<_>>()
    };
    let mut lines = match block {
        Block::Prompt(text) => marked("▸", text, LineStyle::Accent),
        Block::Said { text, .. } => marked("◆", text, LineStyle::Plain),
        Block::Notice(text) => marked("■", text, LineStyle::Dim),
        Block::Failure(text) => marked("✗", text, LineStyle::Bad),
        Block::Tool(tool) => tool_lines(tool, width),
        Block::Lines(lines) => {
            return lines
                .iter()
                .map(|text| line(LineStyle::Plain, cut(&format!("  {text}"), width)))
                .collect();
        }
    };
    lines.push(line(LineStyle::Plain, ""));
    lines
}

fn tool_lines(tool: &ToolBlock, width: usize) -> Vec<Line> {
    let called = format!("{}({})", tool.name, tool.args.replace('\n', " "));
    let (head, style, result) = match &tool.outcome {
        None => (format!("◇ {called} …"), LineStyle::Accent, None),
        Some(Outcome::Done(result)) => (format!("◈ {called}"), LineStyle::Good, Some(result)),
        Some(Outcome::Failed(result)) => (format!("◈ {called}"), LineStyle::Bad, Some(result)),
    };
    let mut lines = vec![line(style, cut(&head, width))];
    let tail = tool.tail.iter();
    lines.extend(tail.map(|row| line(LineStyle::Dim, cut(&format!("  │ {row}"), width))));
    if let Some(result) = result.filter(|result| !result.is_empty()) {
        lines.push(line(style, cut(&format!("  └ {result}"), width)));
    }
    lines
}

pub(super) fn bottom(view: &View, now: Instant, width: usize) -> Bottom {
    let mut bottom = Bottom::default();
    if let Some(busy) = view.activity
        && !matches!(view.panel, Panel::Permission(_) | Panel::Question(_))
    {
        bottom.lines.push(spinner(busy, now));
    }
    for queued in view.queued.iter().take(MAX_QUEUED_ROWS) {
        let text = format!("  queued: {}", queued.replace('\n', " "));
        bottom.lines.push(line(LineStyle::Dim, cut(&text, width)));
    }
    match &view.panel {
        Panel::Starting => bottom.lines.push(line(LineStyle::Dim, "  starting …")),
        Panel::Prompt => prompt_box(view, width, &mut bottom),
        Panel::Permission(permission) => {
            bottom.lines.extend(permission_box(permission, width));
            let keys = "  ↑/↓ to choose · enter to confirm · esc to deny";
            bottom.lines.push(line(LineStyle::Dim, cut(keys, width)));
        }
        Panel::Question(question) => {
            let rows = wrap(question, width.saturating_sub(4));
            bottom.lines.extend(boxed("Question", &rows, width));
            prompt_box(view, width, &mut bottom);
        }
    }
    bottom
}

/// The glyph at this moment of a turn, also shown in the title.
pub(super) fn glyph(busy: Busy, now: Instant) -> char {
    let elapsed = now.saturating_duration_since(busy.since);
    let step = elapsed.as_millis() / SPINNER_STEP.as_millis();
    SPINNER[usize::try_from(step).unwrap_or(0) % SPINNER.len()]
}

fn spinner(busy: Busy, now: Instant) -> Line {
    let seconds = now.saturating_duration_since(busy.since).as_secs();
    let word = match busy.with {
        Activity::Thinking => "Thinking",
        Activity::Responding => "Responding",
        Activity::Tool => "Running a tool",
    };
    let glyph = glyph(busy, now);
    line(
        LineStyle::Accent,
        format!("{glyph} {word}… ({seconds}s · esc to interrupt)"),
    )
}

fn prompt_box(view: &View, width: usize, bottom: &mut Bottom) {
    let rule = "━".repeat(width);
    bottom.lines.push(line(LineStyle::Dim, rule.as_str()));
    let top = bottom.lines.len();
    let (rows, cursor) = draft_rows(view, width);
    bottom.cursor = Some((top + cursor.0, cursor.1));
    bottom
        .lines
        .extend(rows.into_iter().map(|row| line(LineStyle::Plain, row)));
    bottom.lines.push(line(LineStyle::Dim, rule));
    let menu = view.menu();
    for (index, command) in menu.iter().enumerate() {
        let mark = if index == view.menu_mark { '›' } else { ' ' };
        let text = format!("{mark} {:<8} {}", command.name, command.about);
        bottom.lines.push(line(LineStyle::Plain, cut(&text, width)));
    }
    let hint = match &view.panel {
        _ if view.exit_armed => "  press ctrl-c again to exit",
        Panel::Question(_) => "  enter to answer · esc to leave it",
        _ if !menu.is_empty() => "  enter to take it · esc to close",
        _ if view.activity.is_some() => "  rehearsal · enter to queue a prompt",
        _ => "  rehearsal · / for commands",
    };
    bottom.lines.push(line(LineStyle::Dim, cut(hint, width)));
}

/// The rows of the draft around the cursor, and where the cursor is.
fn draft_rows(view: &View, width: usize) -> (Vec<String>, (usize, usize)) {
    let inner = width.saturating_sub(3).max(1);
    let text = view.draft.text();
    let before = wrap(&text[..view.draft.cursor()], inner);
    let cursor_row = before.len() - 1;
    let cursor_column = 2 + columns(before.last().map_or("", String::as_str));
    // Wrapped apart, so that the cursor is where its text ends.
    let mut rows = before;
    let mut after = wrap(&text[view.draft.cursor()..], inner).into_iter();
    if let (Some(row), Some(rest)) = (rows.last_mut(), after.next()) {
        if columns(row) + columns(&rest) <= inner {
            row.push_str(&rest);
        } else {
            rows.push(rest);
        }
    }
    rows.extend(after);
    let first = (cursor_row + 1).saturating_sub(MAX_DRAFT_ROWS);
    // The mark stays in sight: it says that this is the prompt.
    let shown = rows
        .into_iter()
        .skip(first)
        .take(MAX_DRAFT_ROWS)
        .enumerate();
    let shown = shown.map(|(index, row)| match index {
        0 => format!("❯ {row}"),
        _ => format!("  {row}"),
    });
    (shown.collect(), (cursor_row - first, cursor_column))
}

fn permission_box(permission: &Permission, width: usize) -> Vec<Line> {
    let inner = width.saturating_sub(4);
    let mut rows = vec![format!("Tool: {}", permission.tool)];
    for row in wrap(&permission.args, inner.saturating_sub(2)) {
        rows.push(format!("  {row}"));
    }
    rows.push(String::new());
    rows.extend(wrap(&permission.question, inner));
    for (index, (label, _)) in Permission::OPTIONS.iter().enumerate() {
        let mark = if index == permission.mark { '❯' } else { ' ' };
        rows.push(format!("{mark} {}. {label}", index + 1));
    }
    boxed(Permission::TITLE, &rows, width)
}

/// Rows in a frame, the title in its upper edge.
fn boxed(title: &str, rows: &[String], width: usize) -> Vec<Line> {
    let inner = width.saturating_sub(4);
    let title = if title.is_empty() {
        String::new()
    } else {
        format!("─ {} ", cut(title, inner.saturating_sub(2)))
    };
    let edge = |used: usize| "─".repeat((inner + 2).saturating_sub(used));
    let mut lines = vec![line(
        LineStyle::Plain,
        format!("╭{title}{}╮", edge(columns(&title))),
    )];
    for row in rows {
        let row = cut(row, inner);
        let blanks = " ".repeat(inner.saturating_sub(columns(&row)));
        lines.push(line(LineStyle::Plain, format!("│ {row}{blanks} │")));
    }
    lines.push(line(LineStyle::Plain, format!("╰{}╯", edge(0))));
    lines
}
