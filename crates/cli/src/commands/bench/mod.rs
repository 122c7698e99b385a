//! `mission bench …`: each prints one JSON object with its conditions and its
//! numbers. What is compared is measured in the same run, in turns, because a
//! shared machine is never the same twice.

mod board;
mod code;
#[cfg(unix)]
mod dispatch;
mod ipc;
mod journal;
mod kb;
#[cfg(unix)]
mod mcp;
mod start;
mod temporary;
#[cfg(unix)]
mod terminal;
mod timeline;
#[cfg(unix)]
mod tokens;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::args::BenchCommand;
use crate::failure::Failure;
use crate::output::Output;

#[cfg(unix)]
pub(super) use terminal::write_output;

pub(super) fn run(command: &BenchCommand, output: &mut Output) -> Result<ExitCode, Failure> {
    let report = match *command {
        BenchCommand::Timeline {
            events,
            ref postgres,
        } => timeline::run(events, postgres.as_deref(), output)?,
        BenchCommand::Board {
            claims,
            ref postgres,
            quick,
        } => {
            let scale = if quick {
                board::Scale::Quick
            } else {
                board::Scale::Full
            };
            board::run(claims, scale, postgres.as_deref(), output)?
        }
        BenchCommand::Code {
            files,
            ref path,
            ref questions,
            embed_minutes,
        } => {
            let wanted = code::Wanted {
                files,
                path,
                questions: questions.as_deref(),
                reading: Duration::from_secs(embed_minutes * 60),
            };
            code::run(&wanted, output)?
        }
        BenchCommand::Ipc { calls } => ipc::run(calls, output)?,
        BenchCommand::Journal { records, quick } => {
            let size = if quick {
                journal::QUICK
            } else {
                journal::full(records)
            };
            journal::run(size, output)?
        }
        BenchCommand::Kb(ref args) => kb::run(args, output)?,
        BenchCommand::Start { rounds } => start::run(rounds, output)?,
        #[cfg(unix)]
        BenchCommand::Mcp {
            calls,
            rounds,
            ref command,
        } => mcp::run(calls, rounds, command, output)?,
        #[cfg(unix)]
        BenchCommand::Terminal { quick } => {
            let scale = if quick {
                terminal::Scale::Quick
            } else {
                terminal::Scale::Full
            };
            terminal::run(scale, output)?
        }
    };
    output.result(&report, |output, report| {
        for (name, value) in &report.conditions {
            output.line(format!("# {name}: {value}"));
        }
        for (name, value) in &report.metrics {
            output.line(format!("{name:<34}{value}"));
        }
    });
    Ok(ExitCode::SUCCESS)
}

/// What every benchmark prints.
#[derive(Debug, Serialize)]
struct Report {
    bench: &'static str,
    conditions: BTreeMap<String, Value>,
    metrics: BTreeMap<String, f64>,
}

impl Report {
    fn new(bench: &'static str) -> Self {
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load
            .split(' ')
            .next()
            .and_then(|load| load.parse::<f64>().ok());
        let build = if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        };
        let conditions = [
            ("version", json!(missiond_daemon::VERSION)),
            ("build", json!(build)),
            ("cores", json!(cores)),
            ("load_average_before", json!(load)),
        ];
        let conditions = conditions.map(|(name, value)| (name.to_owned(), value));
        Self {
            bench,
            conditions: BTreeMap::from(conditions),
            metrics: BTreeMap::new(),
        }
    }

    fn condition(&mut self, name: impl Into<String>, value: impl Serialize) {
        self.conditions.insert(name.into(), json!(value));
    }

    /// Rounded to four digits that mean something.
    fn metric(&mut self, name: impl Into<String>, value: f64) {
        let scale = 10f64.powi(3 - value.abs().max(1e-9).log10().floor() as i32);
        self.metrics
            .insert(name.into(), (value * scale).round() / scale);
    }

    /// Median and 99th percentile.
    fn times(&mut self, prefix: &str, durations: &mut [Duration]) {
        for (name, share) in [("p50", 0.50), ("p99", 0.99)] {
            let duration = percentile(durations, share);
            self.metric(format!("{prefix}{name}_ms"), millis(duration));
        }
    }
}

/// The value below which this share of the durations lies.
fn percentile(durations: &mut [Duration], share: f64) -> Duration {
    durations.sort_unstable();
    let place = (durations.len() as f64 * share).ceil() as usize;
    durations
        .get(place.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
