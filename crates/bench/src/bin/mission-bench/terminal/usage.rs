//! What processes take, as the system counts it.

use std::time::{Duration, Instant};

use missiond_console::failure::Failure;
use missiond_core::ErrorCode;

/// Processor time and memory of some processes at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    at: Instant,
    cpu: Duration,
    /// Each shared page divided among the processes that share it.
    proportional: u64,
}

impl Usage {
    pub(crate) fn of(processes: &[u32]) -> Result<Self, Failure> {
        let mut usage = Self {
            at: Instant::now(),
            cpu: Duration::ZERO,
            proportional: 0,
        };
        for &process in processes {
            usage.cpu += cpu_time(process)?;
        }
        // Reading it takes a walk over every page: after the clocks.
        for &process in processes {
            usage.proportional += proportional(process)?;
        }
        Ok(usage)
    }

    pub(crate) fn cpu_since(&self, before: &Self) -> Duration {
        self.cpu.saturating_sub(before.cpu)
    }

    pub(crate) fn cpu_percent_since(&self, before: &Self) -> f64 {
        let spent = self.cpu_since(before).as_secs_f64();
        100.0 * spent / self.at.duration_since(before.at).as_secs_f64()
    }

    pub(crate) fn megabytes_since(&self, before: &Self) -> f64 {
        (self.proportional as f64 - before.proportional as f64) / f64::from(1 << 20)
    }
}

/// Time on a processor, of all threads, in nanoseconds.
fn cpu_time(process: u32) -> Result<Duration, Failure> {
    let mut spent = 0;
    let threads = std::fs::read_dir(format!("/proc/{process}/task"))
        .map_err(|error| unreadable(process, &error))?;
    for thread in threads.flatten() {
        // A thread may have ended since it was listed.
        let Ok(text) = std::fs::read_to_string(thread.path().join("schedstat")) else {
            continue;
        };
        let nanos = text.split(' ').next().and_then(|field| field.parse().ok());
        spent += nanos.unwrap_or(0);
    }
    Ok(Duration::from_nanos(spent))
}

fn proportional(process: u32) -> Result<u64, Failure> {
    let rollup = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup"))
        .map_err(|error| unreadable(process, &error))?;
    let kilobytes = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Pss:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    Ok(kilobytes.unwrap_or(0) << 10)
}

fn unreadable(process: u32, error: &std::io::Error) -> Failure {
    Failure::new(
        ErrorCode::Internal,
        format!("what process {process} takes cannot be read from /proc: {error}"),
    )
}
