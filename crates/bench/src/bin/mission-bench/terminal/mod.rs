//! What terminals cost: bytes per second through emulator and parser beside the
//! emulator alone, and a fleet of slots with a daemon of its own, first idle,
//! then busy.

mod emulation;
mod fleet;
mod streams;
mod usage;
mod watch;
mod writer;

use std::time::Duration;

use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};
use missiond_core::PtyState;

use crate::args::WriterMode;
use crate::{Mission, Report, median, millis, percentile};
use streams::{Marks, Stream};

pub(crate) use fleet::{Change, Fleet};
pub(crate) use usage::Usage;
pub(crate) use watch::Watch;
pub(crate) use writer::write_output;

/// How much is measured.
struct Extent {
    /// Output per round and stream.
    bytes: usize,
    rounds: u32,
    idle_slots: u32,
    busy_slots: u32,
    /// Before a measurement, so that what a start leaves to do is done.
    settle: Duration,
    /// Longer than the time between two heartbeats of the daemon.
    idle_window: Duration,
    busy_window: Duration,
}

const FULL: Extent = Extent {
    bytes: 4 << 20,
    rounds: 25,
    idle_slots: 100,
    busy_slots: 50,
    settle: Duration::from_secs(4),
    idle_window: Duration::from_secs(31),
    busy_window: Duration::from_secs(15),
};

/// Enough to see that everything is measured.
const QUICK: Extent = Extent {
    bytes: 256 << 10,
    rounds: 1,
    idle_slots: 2,
    busy_slots: 2,
    settle: Duration::from_millis(200),
    idle_window: Duration::from_millis(200),
    // Longer than the time between two changes of a program.
    busy_window: Duration::from_secs(6),
};

/// Of each busy program.
const BUSY_BYTES_PER_SECOND: u32 = 100_000;
/// More than a terminal and a host keep.
const FILLING_BYTES: u64 = 2 << 20;

/// How much of the whole is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Full,
    Quick,
}

impl Scale {
    pub(crate) fn of(quick: bool) -> Self {
        if quick { Self::Quick } else { Self::Full }
    }
}

pub(super) fn run(scale: Scale, mission: &Mission, output: &Output) -> Result<Report, Failure> {
    let extent = match scale {
        Scale::Full => FULL,
        Scale::Quick => QUICK,
    };
    let mut report = Report::new("terminal");
    {
        let _progress = Progress::start(output, "drawing on terminals");
        throughput(&extent, &mut report)?;
    }
    let watch = Watch::start(mission)?;
    {
        let _progress = Progress::start(output, "looking at idle slots");
        idle(&extent, &watch, &mut report)?;
    }
    {
        let _progress = Progress::start(output, "filling slots");
        filled(&extent, &watch, &mut report)?;
    }
    let _progress = Progress::start(output, "keeping slots busy");
    for marks in [Marks::Synchronized, Marks::None] {
        busy(&extent, marks, &watch, &mut report)?;
    }
    Ok(report)
}

fn throughput(extent: &Extent, report: &mut Report) -> Result<(), Failure> {
    report.condition("stream_bytes", extent.bytes);
    report.condition("rounds", extent.rounds);
    report.condition("chunk_bytes", emulation::CHUNK);
    report.condition("size", "120x40");
    report.condition("manifest", emulation::ENGINE);
    report.condition(
        "ratio",
        "bytes per second of processor time through a session (emulator, control strings, reader), \
         to the emulator crate alone; median of rounds in turns",
    );
    let manifest = emulation::manifest()?;
    for stream in Stream::ALL {
        let bytes = stream.bytes(extent.bytes);
        let (mut alone, mut session, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..extent.rounds {
            let emulator = emulation::emulator_alone(&bytes);
            let whole = emulation::session(&bytes, &manifest);
            alone.push(emulator);
            session.push(whole);
            ratios.push(whole / emulator);
        }
        let name = stream.name();
        report.metric(format!("ratio_{name}"), median(&mut ratios));
        report.metric(format!("emulator_{name}_mb_per_s"), median(&mut alone));
        report.metric(format!("session_{name}_mb_per_s"), median(&mut session));
    }
    Ok(())
}

/// Slots that show a screen and wait.
fn idle(extent: &Extent, watch: &Watch, report: &mut Report) -> Result<(), Failure> {
    let mut fleet = Fleet::start(watch)?;
    std::thread::sleep(extent.settle);
    let before = Usage::of(&fleet.processes()?)?;
    fleet.spawn(extent.idle_slots, &WriterMode::Wait)?;
    fleet.wait_until_all_read(&[PtyState::Idle])?;
    std::thread::sleep(extent.settle);
    let processes = fleet.processes()?;
    let begin = Usage::of(&processes)?;
    std::thread::sleep(extent.idle_window);
    let end = Usage::of(&processes)?;
    report.condition("idle_slots", extent.idle_slots);
    report.condition("idle_window_s", extent.idle_window.as_secs_f64());
    report.condition(
        "rss_per_slot_mb",
        "proportional set size (the program's own pages are shared) of daemon and hosts, less \
         that of the daemon without slots, per slot; `_full` after 2 MB of output in each",
    );
    report.condition(
        "cpu_pct",
        "daemon and hosts, per cent of one core; the programs in the slots not counted",
    );
    let slots = f64::from(extent.idle_slots);
    report.metric("rss_per_slot_mb", begin.megabytes_since(&before) / slots);
    report.metric(
        format!("idle_{}_cpu_pct", FULL.idle_slots),
        end.cpu_percent_since(&begin),
    );
    Ok(())
}

/// Slots whose programs have written more than is kept in memory.
fn filled(extent: &Extent, watch: &Watch, report: &mut Report) -> Result<(), Failure> {
    let slots = extent.idle_slots.min(10);
    let mut fleet = Fleet::start(watch)?;
    std::thread::sleep(extent.settle);
    let before = Usage::of(&fleet.processes()?)?;
    fleet.spawn(
        slots,
        &WriterMode::Fill {
            bytes: FILLING_BYTES,
        },
    )?;
    fleet.wait_until_all_wrote(FILLING_BYTES)?;
    std::thread::sleep(extent.settle);
    let after = Usage::of(&fleet.processes()?)?;
    report.condition("full_slots", slots);
    report.metric(
        "rss_per_slot_full_mb",
        after.megabytes_since(&before) / f64::from(slots),
    );
    Ok(())
}

/// Slots that redraw all the time, and how long a change takes to be known.
fn busy(extent: &Extent, marks: Marks, watch: &Watch, report: &mut Report) -> Result<(), Failure> {
    report.condition("busy_slots", extent.busy_slots);
    report.condition("busy_window_s", extent.busy_window.as_secs_f64());
    report.condition("busy_bytes_per_s", BUSY_BYTES_PER_SECOND);
    report.condition(
        "byte_to_reading",
        "from before the program writes a frame that shows another state until the daemon has \
         the reading; `byte_to_news`: until a subscriber of the timeline has it, after its \
         commit; frames are marked (synchronized updates), in `_unmarked` they are not",
    );
    let mut fleet = Fleet::start(watch)?;
    let changes = fleet.follow_states()?;
    let redraw = WriterMode::Redraw {
        bytes_per_second: BUSY_BYTES_PER_SECOND,
        unmarked: marks == Marks::None,
        changes: fleet.notes().to_owned(),
    };
    fleet.spawn(extent.busy_slots, &redraw)?;
    fleet.wait_until_all_read(&[PtyState::Responding, PtyState::ToolRunning])?;
    std::thread::sleep(extent.settle);
    let processes = fleet.processes()?;
    let from = writer::unix_micros();
    let begin = Usage::of(&processes)?;
    std::thread::sleep(extent.busy_window);
    let end = Usage::of(&processes)?;
    let mut found = fleet.delays(&changes, from)?;
    let suffix = match marks {
        Marks::Synchronized => "",
        Marks::None => "_unmarked",
    };
    report.metric(
        format!("busy_{}_cpu_pct{suffix}", FULL.busy_slots),
        end.cpu_percent_since(&begin),
    );
    report.metric(format!("changes{suffix}"), found.read.len() as f64);
    report.metric(format!("changes_missed{suffix}"), found.missed as f64);
    for (name, share) in [("p50", 0.50), ("p99", 0.99)] {
        let read = millis(percentile(&mut found.read, share));
        report.metric(format!("byte_to_reading{suffix}_{name}_ms"), read);
        let heard = millis(percentile(&mut found.heard, share));
        report.metric(format!("byte_to_news{suffix}_{name}_ms"), heard);
    }
    Ok(())
}
