//! What a terminal shows at one moment, as plain data.
//!
//! The emulator fills a [`Screen`]; rules read it. Rows hold visible text with
//! trailing blanks removed, and where emphasis matters the runs that carry it.
//! The out-of-band signals a program can send beside its picture (window title,
//! progress, program status) are part of the screen, because they describe the
//! same moment.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Screen {
    pub size: Size,
    pub rows: Vec<Row>,
    pub cursor: Cursor,
    /// Window title (OSC 0 or 2); empty when none was set or it was reset.
    pub title: String,
    /// Taskbar progress (OSC 9;4), once the program has sent any.
    pub progress: Option<Progress>,
    /// Program status protocol (OSC 7501), once the program has sent any.
    pub status: Option<ProgramStatus>,
    pub alternate: bool,
    /// The program asks for pastes in brackets, as one that reads a line does.
    pub paste: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub row: usize,
    pub column: usize,
    pub visible: bool,
}

/// One row of cells as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    pub text: String,
    /// The row continues in the next one: a soft wrap, not a line break.
    pub wrapped: bool,
    /// Runs of emphasis in character positions of `text`, in order.
    pub emphasis: Vec<Emphasis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emphasis {
    pub start: usize,
    pub end: usize,
    pub style: Style,
    /// Tells two colourings apart; what the colours are is not said.
    pub paint: u64,
}

/// The attributes rules may ask for. Colours themselves are not among them:
/// they change with every theme.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style(u8);

impl Style {
    pub const BOLD: Self = Self(1);
    pub const DIM: Self = Self(2);
    pub const INVERSE: Self = Self(4);
    /// A foreground other than the terminal's own.
    pub const COLOURED: Self = Self(8);
    /// A background other than the terminal's own.
    pub const FILLED: Self = Self(16);

    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub const fn is_plain(self) -> bool {
        self.0 == 0
    }
}

/// OSC 9;4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    None,
    Percent(u8),
    Error,
    Busy,
    Paused,
}

impl Progress {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Percent(_) => "percent",
            Self::Error => "error",
            Self::Busy => "busy",
            Self::Paused => "paused",
        }
    }
}

/// OSC 7501: what the program says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramStatus {
    pub state: String,
    pub kind: Option<String>,
    pub app: Option<String>,
}

impl ProgramStatus {
    /// The form rules match against: `blocked kind=permission app=codex`.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut text = self.state.clone();
        for (name, value) in [("kind", &self.kind), ("app", &self.app)] {
            if let Some(value) = value {
                text.push_str(&format!(" {name}={value}"));
            }
        }
        text
    }
}

impl Screen {
    #[must_use]
    pub fn new(size: Size) -> Self {
        Self {
            size,
            rows: vec![Row::default(); size.rows.into()],
            ..Self::default()
        }
    }

    /// A screen holding these lines from the top, for fixtures.
    #[must_use]
    pub fn from_lines<'a>(size: Size, lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut screen = Self::new(size);
        for (row, line) in screen.rows.iter_mut().zip(lines) {
            row.text = line.trim_end().to_owned();
        }
        screen
    }

    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.rows.iter().all(Row::is_blank)
    }

    /// Index of the lowest row that holds anything.
    #[must_use]
    pub fn last_used_row(&self) -> Option<usize> {
        self.rows.iter().rposition(|row| !row.is_blank())
    }
}

impl Row {
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }

    /// Whether any character of the row carries all of `style`.
    #[must_use]
    pub fn has(&self, style: Style) -> bool {
        self.emphasis.iter().any(|run| run.style.contains(style))
    }
}
