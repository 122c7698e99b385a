//! A terminal without a window: bytes in, a screen and answers out.
//!
//! Wraps the emulator with what it leaves out: control strings it drops (program
//! status, progress, version queries), synchronized updates that time out on the
//! caller's clock, a screen that is re-read only where it changed, and answers
//! to queries with a limit on how many a program can provoke. Nothing here reads
//! a clock: equal bytes at equal times give equal screens and equal answers,
//! however the bytes are split.

use std::time::Duration;

use alacritty_terminal::Term;
use alacritty_terminal::event::{Event, WindowSize};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, TermDamage, TermMode};
use alacritty_terminal::vte::ansi::{CursorStyle, Processor};
use missiond_semantic::{Cursor, Emphasis, Modes, Row, Screen, Size};

use crate::control_scanner::{ControlScanner, ScanEvent, ScannedControl};
use crate::emulator::{Events, Grid, SyncClock, paint_of, style_of};
use crate::marks::{MAX_MARKS, Marks};
use crate::repaint::repaint;
use crate::reply::{Replies, Theme};
use crate::screenshot::{Picture, PictureError};
use crate::signal::{TerminalSignal, signal_of};

/// Rows kept above the screen, for a terminal that becomes taller. Older output
/// is in the recording.
pub const HISTORY_ROWS: usize = 200;
/// How long an unfinished synchronized update may hide what follows it.
const SYNC_LIMIT: Duration = Duration::from_millis(150);
/// Bytes an unfinished synchronized update may hold back.
const SYNC_BYTES: usize = 1 << 20;
/// The emulator is fed at most this much at once, well under `SYNC_BYTES`, so
/// that an over-long update is cut at the same byte for every split.
const SLICE: usize = 64 << 10;
const MAX_TITLE: usize = 512;
/// Signals nobody collected are dropped beyond this, oldest first.
const MAX_SIGNALS: usize = 64;

pub const MIN_SIZE: Size = Size {
    columns: 2,
    rows: 1,
};
pub const MAX_SIZE: Size = Size {
    columns: 1000,
    rows: 1000,
};

pub struct Terminal {
    term: Term<Events>,
    parser: Processor<SyncClock>,
    events: Events,
    controls: ControlScanner,
    found: Vec<ScanEvent>,
    partial: Vec<u8>,
    sync: Option<Sync>,
    screen: Screen,
    replies: Replies,
    signals: Vec<TerminalSignal>,
    output_filter: OutputFilter,
    marks: Marks,
    /// Rows of history when spare ones were last let go.
    trimmed_at: usize,
    offset: u64,
    bells: u64,
    dirty: bool,
}

/// What of a program's output is taken in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputFilter {
    #[default]
    All,
    /// Titles, progress and status are passed over, as on a terminal that drops
    /// them: shows how far the picture alone carries.
    ScreenOnly,
}

#[derive(Debug, Clone, Copy)]
struct Sync {
    deadline: Duration,
    generation: u64,
}

impl Terminal {
    #[must_use]
    pub fn new(size: Size) -> Self {
        let size = clamp(size);
        let events = Events::default();
        let config = Config {
            scrolling_history: HISTORY_ROWS,
            kitty_keyboard: true,
            ..Config::default()
        };
        let term = Term::new(config, &Grid(size), events.clone());
        Self {
            term,
            parser: Processor::new(),
            events,
            controls: ControlScanner::default(),
            found: Vec::new(),
            partial: Vec::new(),
            sync: None,
            screen: Screen {
                cursor: Cursor {
                    visible: true,
                    ..Cursor::default()
                },
                ..Screen::new(size)
            },
            replies: Replies::new(Theme::default()),
            signals: Vec::new(),
            output_filter: OutputFilter::All,
            marks: Marks::default(),
            trimmed_at: 0,
            offset: 0,
            bells: 0,
            dirty: true,
        }
    }

    /// The same terminal, taking in less.
    #[must_use]
    pub fn with_output_filter(self, filter: OutputFilter) -> Self {
        Self {
            output_filter: filter,
            ..self
        }
    }

    /// Takes what the program wrote at `at`. Times never run backwards; an
    /// earlier one counts as the latest seen.
    pub fn feed(&mut self, bytes: &[u8], at: Duration) {
        self.advance_to(at);
        self.offset += bytes.len() as u64;
        if self.partial.is_empty() {
            let whole = complete_utf8(bytes);
            self.feed_whole(&bytes[..whole], at);
            self.partial.extend_from_slice(&bytes[whole..]);
            return;
        }
        let mut joined = std::mem::take(&mut self.partial);
        joined.extend_from_slice(bytes);
        let whole = complete_utf8(&joined);
        self.feed_whole(&joined[..whole], at);
        joined.drain(..whole);
        self.partial = joined;
    }

    /// Lets time pass without output: an update left unfinished is shown.
    pub fn advance_to(&mut self, at: Duration) {
        if self.sync.is_some_and(|sync| sync.deadline <= at) {
            self.end_sync(at);
        }
    }

    /// When [`Terminal::advance_to`] would change the screen by itself.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.sync.map(|sync| sync.deadline)
    }

    pub fn resize(&mut self, size: Size, at: Duration) {
        self.end_sync(at);
        let size = clamp(size);
        if size == self.screen.size {
            return;
        }
        self.term.resize(Grid(size));
        self.screen.size = size;
        self.screen.rows.resize(size.rows.into(), Row::default());
        self.dirty = true;
    }

    /// The program has ended: nothing more will complete an open update.
    pub fn finish(&mut self, at: Duration) {
        self.end_sync(at);
    }

    /// The screen as of the last complete frame. Only rows that changed since
    /// the last call are read from the emulator.
    pub fn screen(&mut self) -> &Screen {
        if self.dirty {
            self.dirty = false;
            self.refresh();
        }
        &self.screen
    }

    /// The screen with all its colours, as of the last complete frame.
    pub fn picture(&self) -> Result<Picture, PictureError> {
        Picture::of(&self.term, self.replies.theme())
    }

    /// Something was fed since [`Terminal::screen`] was last called.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// What draws the same on a new terminal of this size: rows with their
    /// history, cursor, modes, title and status. Nothing in the middle of an
    /// update, whose rest could not be told from the beginning of another.
    pub fn repaint(&mut self) -> Option<String> {
        if self.sync.is_some() || !self.partial.is_empty() {
            return None;
        }
        self.screen();
        Some(repaint(&self.term, &self.screen))
    }

    /// Synchronized updates that were ended by the program: after each the screen
    /// is one it meant to be seen.
    #[must_use]
    pub fn updates_ended(&self) -> u64 {
        self.controls.updates_ended()
    }

    /// Bytes fed since the beginning.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Answers to the program's queries, to be written to its input.
    pub fn take_replies(&mut self) -> Vec<u8> {
        self.replies.drain()
    }

    /// Notifications, bells and the like since the last call.
    pub fn take_signals(&mut self) -> Vec<TerminalSignal> {
        std::mem::take(&mut self.signals)
    }

    /// What to tell the program when its window gains or loses focus, if it
    /// asked to be told.
    #[must_use]
    pub fn focus_report(&self, focus: Focus) -> Option<&'static [u8]> {
        let wanted = self.term.mode().contains(TermMode::FOCUS_IN_OUT);
        wanted.then_some(match focus {
            Focus::Gained => b"\x1b[I".as_slice(),
            Focus::Lost => b"\x1b[O".as_slice(),
        })
    }

    /// Whether pasted text must be bracketed.
    #[must_use]
    pub fn bracketed_paste(&self) -> bool {
        self.term.mode().contains(TermMode::BRACKETED_PASTE)
    }

    #[must_use]
    pub fn size(&self) -> Size {
        self.screen.size
    }

    pub(crate) fn cells(&self) -> &alacritty_terminal::grid::Grid<Cell> {
        self.term.grid()
    }

    pub(crate) fn mode(&self) -> TermMode {
        *self.term.mode()
    }

    pub(crate) fn cursor_style(&self) -> CursorStyle {
        self.term.cursor_style()
    }

    pub(crate) fn shows_cursor(&self) -> bool {
        self.term.mode().contains(TermMode::SHOW_CURSOR)
    }

    pub(crate) fn title(&self) -> &str {
        &self.screen.title
    }

    /// How often the bell has rung.
    pub(crate) fn bells(&self) -> u64 {
        self.bells
    }

    /// What the program asked for that changes how keys are sent.
    #[must_use]
    pub fn input_modes(&self) -> Modes {
        Modes {
            bracketed_paste: self.bracketed_paste(),
            application_cursor: self.term.mode().contains(TermMode::APP_CURSOR),
        }
    }

    fn feed_whole(&mut self, bytes: &[u8], at: Duration) {
        if bytes.is_empty() {
            return;
        }
        self.dirty = true;
        let mut found = std::mem::take(&mut self.found);
        self.controls.scan(bytes, &mut found);
        let mut fed = 0;
        // The emulator reads up to each control first, so that answers leave in
        // the order in which they were asked for.
        for found in found.drain(..) {
            match found {
                ScanEvent::Control(ScannedControl { end, control }) => {
                    self.feed_emulator(&bytes[fed..end], at);
                    fed = end;
                    if let Some(signal) = signal_of(&control) {
                        self.apply(signal);
                    }
                    self.replies.answer_control(&control, at);
                }
                ScanEvent::Surplus(range) => {
                    self.feed_emulator(&bytes[fed..range.start], at);
                    fed = range.end;
                }
            }
        }
        self.found = found;
        self.feed_emulator(&bytes[fed..], at);
    }

    fn feed_emulator(&mut self, bytes: &[u8], at: Duration) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let mut take = rest.len().min(SLICE);
            if self.sync.is_some() {
                let room = SYNC_BYTES.saturating_sub(self.parser.sync_bytes_count());
                if room == 0 {
                    self.end_sync(at);
                } else {
                    take = take.min(room);
                }
            }
            let (now, later) = rest.split_at(take);
            self.parser.advance(&mut self.term, now);
            self.follow_sync(at);
            self.collect_events(at);
            self.marks.bound(&mut self.term, now);
            rest = later;
        }
    }

    fn follow_sync(&mut self, at: Duration) {
        let clock = self.parser.sync_timeout();
        self.sync = match (clock.armed, self.sync) {
            (false, _) => None,
            (true, Some(sync)) if sync.generation == clock.generation => Some(sync),
            (true, _) => Some(Sync {
                deadline: at + SYNC_LIMIT,
                generation: clock.generation,
            }),
        };
    }

    fn end_sync(&mut self, at: Duration) {
        if self.sync.take().is_some() {
            self.parser.stop_sync(&mut self.term);
            self.follow_sync(at);
            self.collect_events(at);
            self.dirty = true;
        }
    }

    fn collect_events(&mut self, at: Duration) {
        for event in self.events.drain() {
            match event {
                Event::Title(_) if self.output_filter == OutputFilter::ScreenOnly => {}
                Event::Title(title) => {
                    self.screen.title = title.chars().take(MAX_TITLE).collect();
                }
                Event::ResetTitle => self.screen.title.clear(),
                Event::Bell => {
                    self.bells += 1;
                    self.apply(TerminalSignal::Bell);
                }
                Event::PtyWrite(text) => self.replies.push(text.as_bytes(), at),
                Event::ColorRequest(index, format) => {
                    if let Some(colour) = self.replies.theme().colour(index) {
                        self.replies.push(format(colour).as_bytes(), at);
                    }
                }
                Event::TextAreaSizeRequest(format) => {
                    let size = self.screen.size;
                    let window = WindowSize {
                        num_lines: size.rows,
                        num_cols: size.columns,
                        cell_width: 8,
                        cell_height: 16,
                    };
                    self.replies.push(format(window).as_bytes(), at);
                }
                // The clipboard belongs to the person, not to the program.
                Event::ClipboardStore(..) | Event::ClipboardLoad(..) => {}
                Event::MouseCursorDirty
                | Event::CursorBlinkingChange
                | Event::Wakeup
                | Event::Exit
                | Event::ChildExit(_) => {}
            }
        }
    }

    fn apply(&mut self, signal: TerminalSignal) {
        match signal {
            _ if self.output_filter == OutputFilter::ScreenOnly => {}
            TerminalSignal::Progress(progress) => self.screen.progress = Some(progress),
            TerminalSignal::Status(status) => self.screen.status = Some(status),
            other => {
                if self.signals.len() >= MAX_SIGNALS {
                    self.signals.remove(0);
                }
                self.signals.push(other);
            }
        }
    }

    fn refresh(&mut self) {
        self.release_spare_rows();
        let lines = usize::from(self.screen.size.rows);
        let damaged: Option<Vec<usize>> = match self.term.damage() {
            TermDamage::Full => None,
            TermDamage::Partial(bounds) => Some(bounds.map(|line| line.line).collect()),
        };
        self.term.reset_damage();
        match damaged {
            None => (0..lines).for_each(|line| self.refresh_row(line)),
            Some(lines) => lines.into_iter().for_each(|line| self.refresh_row(line)),
        }
        let point = self.term.grid().cursor.point;
        self.screen.cursor = Cursor {
            row: usize::try_from(point.line.0).unwrap_or(0),
            column: point.column.0,
            visible: self.term.mode().contains(TermMode::SHOW_CURSOR),
        };
        self.screen.alternate = self.term.mode().contains(TermMode::ALT_SCREEN);
        self.screen.paste = self.bracketed_paste();
    }

    /// The emulator makes a thousand rows when it needs one, whatever the limit
    /// of the history is; those it does not use cost three megabytes.
    fn release_spare_rows(&mut self) {
        let kept = self.term.grid().history_size();
        if kept > self.trimmed_at {
            self.term.grid_mut().truncate();
        }
        self.trimmed_at = kept;
    }

    fn refresh_row(&mut self, line: usize) {
        let Some(row) = self.screen.rows.get_mut(line) else {
            return;
        };
        let Ok(index) = i32::try_from(line) else {
            return;
        };
        let cells = &self.term.grid()[Line(index)];
        let columns = self.term.columns();
        row.text.clear();
        row.emphasis.clear();
        let mut position = 0;
        let mut run: Option<Emphasis> = None;
        for column in 0..columns {
            let cell = &cells[Column(column)];
            if cell
                .flags
                .intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER)
            {
                continue;
            }
            let visible = if cell.flags.contains(Flags::HIDDEN) {
                ' '
            } else {
                cell.c
            };
            let visible = if visible == '\t' { ' ' } else { visible };
            row.text.push(visible);
            let (style, paint) = (style_of(cell), paint_of(cell));
            run = match run {
                Some(open) if (open.style, open.paint) == (style, paint) => Some(Emphasis {
                    end: position + 1,
                    ..open
                }),
                other => {
                    row.emphasis
                        .extend(other.filter(|open| !open.style.is_plain()));
                    Some(Emphasis {
                        start: position,
                        end: position + 1,
                        style,
                        paint,
                    })
                }
            };
            position += 1;
            for &mark in cell.zerowidth().into_iter().flatten().take(MAX_MARKS) {
                row.text.push(mark);
                position += 1;
            }
        }
        row.emphasis
            .extend(run.filter(|open| !open.style.is_plain()));
        row.wrapped = cells[Column(columns - 1)].flags.contains(Flags::WRAPLINE);
        row.text.truncate(row.text.trim_end_matches(' ').len());
    }
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal")
            .field("size", &self.screen.size)
            .field("offset", &self.offset)
            .field("title", &self.screen.title)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    Gained,
    Lost,
}

pub(crate) fn clamp(size: Size) -> Size {
    Size {
        columns: size.columns.clamp(MIN_SIZE.columns, MAX_SIZE.columns),
        rows: size.rows.clamp(MIN_SIZE.rows, MAX_SIZE.rows),
    }
}

/// Length of the longest prefix that does not end inside a character.
fn complete_utf8(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    for start in (tail..bytes.len()).rev() {
        let expected = match bytes[start] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return bytes.len(),
        };
        return if bytes.len() - start < expected {
            start
        } else {
            bytes.len()
        };
    }
    bytes.len()
}
