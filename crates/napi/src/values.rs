//! What is handed to JavaScript. `index.d.ts` declares the same; a test compares
//! the two.

use std::time::Duration;

use missiond_pty::TimedReading;
use missiond_semantic as semantic;
use napi_derive::napi;

#[napi(object)]
#[derive(Debug)]
pub struct Reading {
    pub state: String,
    pub reason: String,
    pub waiting_for: Option<String>,
    pub confidence: f64,
    pub authority: String,
    pub evidence: Vec<Evidence>,
    /// Milliseconds, as all times here.
    pub since: f64,
    pub dialog: Option<Dialog>,
    pub tool: Option<Tool>,
    /// When it was made; only on a change.
    pub at: Option<f64>,
}

#[napi(object)]
#[derive(Debug)]
pub struct Evidence {
    pub rule: String,
    pub source: String,
    pub row: Option<u32>,
    pub text: String,
}

#[napi(object)]
#[derive(Debug)]
pub struct Dialog {
    pub title: String,
    pub question: String,
    pub tool: Option<String>,
    pub arguments: Option<String>,
    pub options: Vec<DialogOption>,
    pub selected: Option<u32>,
    pub layout: String,
}

#[napi(object)]
#[derive(Debug)]
pub struct DialogOption {
    pub label: String,
    pub number: Option<u32>,
    pub row: u32,
}

#[napi(object)]
#[derive(Debug)]
pub struct Tool {
    pub name: String,
    pub arguments: String,
    pub phase: String,
    pub row: u32,
}

#[napi(object)]
#[derive(Debug)]
pub struct Screen {
    pub columns: u32,
    pub rows: u32,
    pub lines: Vec<String>,
    pub title: String,
    pub cursor: Cursor,
    pub alternate: bool,
}

#[napi(object)]
#[derive(Debug)]
pub struct Cursor {
    pub row: u32,
    pub column: u32,
    pub visible: bool,
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    // Times are whole microseconds, which a double holds exactly.
    time.as_micros() as f64 / 1000.0
}

impl From<TimedReading> for Reading {
    fn from(change: TimedReading) -> Self {
        Self {
            at: Some(milliseconds(change.at)),
            ..Self::from(change.reading)
        }
    }
}

impl From<semantic::Reading> for Reading {
    fn from(reading: semantic::Reading) -> Self {
        Self {
            state: reading.state.as_str().to_owned(),
            reason: reading.reason,
            waiting_for: reading.waiting_for.map(|waiting| waiting.name().to_owned()),
            // As it is written in the manifest, not as a float of half the size
            // comes closest to it.
            confidence: (f64::from(reading.confidence) * 1e4).round() / 1e4,
            authority: reading.authority.name().to_owned(),
            evidence: reading.evidence.into_iter().map(Evidence::from).collect(),
            since: milliseconds(reading.since),
            dialog: reading.dialog.map(Dialog::from),
            tool: reading.tool.map(Tool::from),
            at: None,
        }
    }
}

impl From<semantic::Evidence> for Evidence {
    fn from(evidence: semantic::Evidence) -> Self {
        Self {
            rule: evidence.rule,
            source: evidence.source,
            row: evidence.row.map(cell_index),
            text: evidence.text,
        }
    }
}

impl From<semantic::Dialog> for Dialog {
    fn from(dialog: semantic::Dialog) -> Self {
        let options = dialog.options.into_iter().map(|option| DialogOption {
            label: option.label,
            number: option.number,
            row: cell_index(option.row),
        });
        Self {
            title: dialog.title,
            question: dialog.question,
            tool: dialog.tool,
            arguments: dialog.arguments,
            options: options.collect(),
            selected: dialog.selected.map(cell_index),
            layout: match dialog.layout {
                semantic::DialogLayout::List => "list",
                semantic::DialogLayout::Buttons => "buttons",
                semantic::DialogLayout::Letters => "letters",
            }
            .to_owned(),
        }
    }
}

impl From<semantic::ToolLine> for Tool {
    fn from(tool: semantic::ToolLine) -> Self {
        Self {
            name: tool.name,
            arguments: tool.arguments,
            phase: match tool.phase {
                semantic::ToolPhase::Running => "running",
                semantic::ToolPhase::Finished => "finished",
            }
            .to_owned(),
            row: cell_index(tool.row),
        }
    }
}

impl From<&semantic::Screen> for Screen {
    fn from(screen: &semantic::Screen) -> Self {
        Self {
            columns: screen.size.columns.into(),
            rows: screen.size.rows.into(),
            lines: screen.rows.iter().map(|row| row.text.clone()).collect(),
            title: screen.title.clone(),
            cursor: Cursor {
                row: cell_index(screen.cursor.row),
                column: cell_index(screen.cursor.column),
                visible: screen.cursor.visible,
            },
            alternate: screen.alternate,
        }
    }
}

/// A row, a column or an index: never more than a terminal has cells.
fn cell_index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
