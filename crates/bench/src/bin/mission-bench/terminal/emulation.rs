//! Bytes through a terminal in this process, with and without what is ours.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::term::Config;
use alacritty_terminal::vte::ansi::Processor;
use missiond_console::failure::Failure;
use missiond_core::ErrorCode;
use missiond_pty::{HISTORY_ROWS, Session};
use missiond_semantic::{Catalogue, Manifest, Size};
use rustix::time::{ClockId, clock_gettime};

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
    let began = processor_time();
    for chunk in bytes.chunks(CHUNK) {
        parser.advance(&mut term, chunk);
    }
    rate(bytes, began)
}

/// Megabytes per second through a whole session, read as often as a daemon reads
/// it.
pub(super) fn session(bytes: &[u8], manifest: &Arc<Manifest>) -> f64 {
    let mut session = Session::new(SIZE, Arc::clone(manifest));
    let mut changes = Vec::new();
    let clock = Instant::now();
    let began = processor_time();
    for chunk in bytes.chunks(CHUNK) {
        session.feed(chunk, clock.elapsed(), &mut changes);
        changes.clear();
    }
    session.finish(&mut changes);
    rate(bytes, began)
}

pub(super) fn manifest() -> Result<Arc<Manifest>, Failure> {
    let catalogue = Catalogue::shipped()
        .map_err(|error| Failure::new(ErrorCode::InvalidConfig, error.to_string()))?;
    let manifest = catalogue.get(ENGINE).cloned();
    manifest.ok_or_else(|| Failure::new(ErrorCode::NotFound, format!("no manifest for {ENGINE}")))
}

fn rate(bytes: &[u8], began: Duration) -> f64 {
    bytes.len() as f64 / 1e6 / (processor_time() - began).as_secs_f64()
}

/// What this thread has had of a processor: others on the machine do not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanos)
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
