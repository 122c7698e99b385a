//! What every bench prints: conditions, figures, and the sums behind them.

use std::collections::BTreeMap;
use std::time::Duration;

use missiond_console::output::Output;
use serde::Serialize;
use serde_json::{Value, json};

/// What every benchmark prints.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    bench: &'static str,
    conditions: BTreeMap<String, Value>,
    metrics: BTreeMap<String, f64>,
}

impl Report {
    pub(crate) fn new(bench: &'static str) -> Self {
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
            ("version", json!(env!("CARGO_PKG_VERSION"))),
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

    /// For programs the object, for people a line each.
    pub(crate) fn print(&self, output: &mut Output) {
        output.result(self, |output, report| {
            for (name, value) in &report.conditions {
                output.line(format!("# {name}: {value}"));
            }
            for (name, value) in &report.metrics {
                output.line(format!("{name:<34}{value}"));
            }
        });
    }

    pub(crate) fn condition(&mut self, name: impl Into<String>, value: impl Serialize) {
        self.conditions.insert(name.into(), json!(value));
    }

    /// Rounded to four digits that mean something.
    pub(crate) fn metric(&mut self, name: impl Into<String>, value: f64) {
        let scale = 10f64.powi(3 - value.abs().max(1e-9).log10().floor() as i32);
        self.metrics
            .insert(name.into(), (value * scale).round() / scale);
    }

    /// A percentage near 100, of which four digits would say nothing.
    pub(crate) fn exact(&mut self, name: impl Into<String>, value: f64) {
        self.metrics
            .insert(name.into(), (value * 10_000.0).round() / 10_000.0);
    }

    /// Median and 99th percentile.
    pub(crate) fn times(&mut self, prefix: &str, durations: &mut [Duration]) {
        for (name, share) in [("p50", 0.50), ("p99", 0.99)] {
            let duration = percentile(durations, share);
            self.metric(format!("{prefix}{name}_ms"), millis(duration));
        }
    }
}

/// The value below which this share of the durations lies.
pub(crate) fn percentile(durations: &mut [Duration], share: f64) -> Duration {
    durations.sort_unstable();
    let place = (durations.len() as f64 * share).ceil() as usize;
    durations
        .get(place.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
