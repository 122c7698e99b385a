//! `mission-bench writer`: the program in a slot that is measured. It draws what
//! an agent draws, at a set rate, and notes when it showed a change.

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::streams::{Marks, Shown, agent_frame, log_line};
use crate::args::WriterMode;

/// A measurement that was killed leaves no program behind for longer.
const LIFE: Duration = Duration::from_secs(600);
/// How long a redrawing agent stays in a state.
const STATE_LASTS: Duration = Duration::from_secs(1);

pub(crate) fn write_output(mode: &WriterMode) -> io::Result<()> {
    let end = Instant::now() + LIFE;
    let mut terminal = io::stdout().lock();
    match mode {
        WriterMode::Wait => {
            terminal.write_all(agent_frame(Shown::Waiting, 0, Marks::Synchronized).as_bytes())?;
        }
        WriterMode::Fill { bytes } => {
            let mut left = *bytes;
            for turn in 0.. {
                let line = log_line(turn);
                terminal.write_all(line.as_bytes())?;
                left = left.saturating_sub(line.len() as u64);
                if left == 0 {
                    break;
                }
            }
        }
        WriterMode::Redraw {
            bytes_per_second,
            unmarked,
            changes,
        } => {
            let marks = if *unmarked {
                Marks::None
            } else {
                Marks::Synchronized
            };
            redraw(&mut terminal, *bytes_per_second, marks, changes, end)?;
        }
    }
    terminal.flush()?;
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
    Ok(())
}

/// Microseconds since 1970, which two processes agree on.
pub(super) fn unix_micros() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn redraw(
    terminal: &mut impl Write,
    bytes_per_second: u32,
    marks: Marks,
    changes: &Path,
    end: Instant,
) -> io::Result<()> {
    let pid = std::process::id();
    let mut noted = std::fs::File::create(changes.join(pid.to_string()))?;
    // Programs change state when they please, not all at once.
    let mut change = Instant::now() + STATE_LASTS * (pid % 50) / 50;
    let mut due = Instant::now();
    let mut shown = Shown::Answering;
    let mut changed = false;
    for turn in 0.. {
        let now = Instant::now();
        if now >= end {
            break;
        }
        if now >= change {
            change += STATE_LASTS;
            shown = match shown {
                Shown::RunningTool => Shown::Answering,
                Shown::Answering | Shown::Waiting => Shown::RunningTool,
            };
            changed = shown == Shown::RunningTool;
        }
        let frame = agent_frame(shown, turn, marks);
        let at = unix_micros();
        terminal.write_all(frame.as_bytes())?;
        terminal.flush()?;
        // Afterwards: a file may have to wait for the disk.
        if std::mem::take(&mut changed) {
            writeln!(noted, "{at}")?;
        }
        due += Duration::from_secs_f64(frame.len() as f64 / f64::from(bytes_per_second.max(1)));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(())
}
