//! Bytes through a terminal in this process, with and without what is ours.

use std::time::Instant;

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::term::Config;
use alacritty_terminal::vte::ansi::Processor;
use missiond_core::ErrorCode;
use missiond_pty::{HISTORY_ROWS, Session};
use missiond_semantic::{Catalogue, Size};

use crate::failure::Failure;

pub(super) const ENGINE: &str = "claude";
/// What one read of a terminal yields at most.
pub(super) const CHUNK: usize = 4096;

const SIZE: Size = Size {
    columns: 120,
    rows: 40,
};

/// Megabytes per second through the emulator crate.
pub(super) fn emulator_alone(bytes: &[u8]) -> f64 {
    let config = Config {
        scrolling_history: HISTORY_ROWS,
        ..Config::default()
    };
    let mut term = Term::new(config, &Screen, VoidListener);
    let mut parser: Processor = Processor::new();
    let began = Instant::now();
    for chunk in bytes.chunks(CHUNK) {
        parser.advance(&mut term, chunk);
    }
    rate(bytes, began)
}

/// Megabytes per second through a whole session.
pub(super) fn session(bytes: &[u8]) -> Result<f64, Failure> {
    let catalogue = Catalogue::shipped()
        .map_err(|error| Failure::new(ErrorCode::InvalidConfig, error.to_string()))?;
    let manifest = catalogue
        .get(ENGINE)
        .ok_or_else(|| Failure::new(ErrorCode::NotFound, format!("no manifest for {ENGINE}")))?;
    let mut session = Session::new(SIZE, manifest.clone());
    let mut changes = Vec::new();
    let began = Instant::now();
    for chunk in bytes.chunks(CHUNK) {
        session.feed(chunk, began.elapsed(), &mut changes);
        changes.clear();
    }
    session.finish(&mut changes);
    Ok(rate(bytes, began))
}

fn rate(bytes: &[u8], began: Instant) -> f64 {
    bytes.len() as f64 / 1e6 / began.elapsed().as_secs_f64()
}

struct Screen;

impl Dimensions for Screen {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        SIZE.rows.into()
    }

    fn columns(&self) -> usize {
        SIZE.columns.into()
    }
}
