//! What the daemon counts about itself.
//!
//! Counting is a handful of atomics on the hot path. [`Metrics::samples`] is
//! the one list from which the Prometheus text and the OTLP export are made.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Upper bounds of the response-time histogram, in microseconds.
const BUCKETS_US: [u64; 12] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000, 10_000_000,
];

#[derive(Debug)]
pub struct Metrics {
    started: Instant,
    pub connections_active: Gauge,
    pub connections_refused: Counter,
    pub requests_in_flight: Gauge,
    /// External MCP servers with a connection, and those that are well.
    pub servers_connected: Gauge,
    pub servers_healthy: Gauge,
    pub events_stored: Counter,
    pub events_ephemeral: Counter,
    pub events_coalesced: Counter,
    succeeded: Counter,
    failed: Counter,
    response_us_total: Counter,
    response_buckets: [Counter; BUCKETS_US.len()],
}

#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Goes up while something is held, and down when it is let go.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What was counted up to a moment, and what is so at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsSnapshot {
    pub uptime: Duration,
    pub requests_succeeded: u64,
    pub requests_failed: u64,
    /// What all of them took together.
    pub response_time: Duration,
    pub requests_in_flight: u64,
    pub connections_active: u64,
    pub connections_refused: u64,
    pub servers_connected: u64,
    pub servers_healthy: u64,
    pub events_stored: u64,
    pub events_ephemeral: u64,
    pub events_coalesced: u64,
    /// Memory of this process that is in RAM; 0 where the system does not tell.
    pub resident_bytes: u64,
}

impl MetricsSnapshot {
    pub const fn requests(&self) -> u64 {
        self.requests_succeeded + self.requests_failed
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    Failed,
}

/// One number with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub name: &'static str,
    pub help: &'static str,
    pub kind: SampleKind,
    pub value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleKind {
    Counter,
    Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            connections_active: Gauge::default(),
            connections_refused: Counter::default(),
            requests_in_flight: Gauge::default(),
            servers_connected: Gauge::default(),
            servers_healthy: Gauge::default(),
            events_stored: Counter::default(),
            events_ephemeral: Counter::default(),
            events_coalesced: Counter::default(),
            succeeded: Counter::default(),
            failed: Counter::default(),
            response_us_total: Counter::default(),
            response_buckets: Default::default(),
        }
    }
}

impl Metrics {
    pub fn request_finished(&self, outcome: Outcome, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        match outcome {
            Outcome::Succeeded => self.succeeded.add(1),
            Outcome::Failed => self.failed.add(1),
        }
        self.response_us_total.add(micros);
        if let Some(place) = BUCKETS_US.iter().position(|&bound| micros <= bound) {
            self.response_buckets[place].add(1);
        }
    }

    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    pub fn snapshot(&self) -> MetricsSnapshot {
        MetricsSnapshot {
            uptime: self.uptime(),
            requests_succeeded: self.succeeded.get(),
            requests_failed: self.failed.get(),
            response_time: Duration::from_micros(self.response_us_total.get()),
            requests_in_flight: self.requests_in_flight.get(),
            connections_active: self.connections_active.get(),
            connections_refused: self.connections_refused.get(),
            servers_connected: self.servers_connected.get(),
            servers_healthy: self.servers_healthy.get(),
            events_stored: self.events_stored.get(),
            events_ephemeral: self.events_ephemeral.get(),
            events_coalesced: self.events_coalesced.get(),
            resident_bytes: missiond_os::processes::resident_bytes().unwrap_or(0),
        }
    }

    /// Everything that is a plain number.
    pub fn samples(&self) -> Vec<Sample> {
        use SampleKind::{Counter, Gauge};
        let now = self.snapshot();
        let sample = |name, help, kind, value| Sample {
            name,
            help,
            kind,
            value,
        };
        vec![
            sample(
                "missiond_uptime_seconds",
                "Seconds since the daemon started.",
                Gauge,
                now.uptime.as_secs_f64(),
            ),
            sample(
                "missiond_requests_succeeded_total",
                "Requests answered with a result.",
                Counter,
                now.requests_succeeded as f64,
            ),
            sample(
                "missiond_requests_failed_total",
                "Requests answered with an error.",
                Counter,
                now.requests_failed as f64,
            ),
            sample(
                "missiond_requests_in_flight",
                "Requests being worked on.",
                Gauge,
                now.requests_in_flight as f64,
            ),
            sample(
                "missiond_connections_active",
                "Open connections.",
                Gauge,
                now.connections_active as f64,
            ),
            sample(
                "missiond_connections_refused_total",
                "Connections turned away.",
                Counter,
                now.connections_refused as f64,
            ),
            sample(
                "missiond_mcp_servers_connected",
                "External MCP servers with a live connection.",
                Gauge,
                now.servers_connected as f64,
            ),
            sample(
                "missiond_mcp_servers_healthy",
                "External MCP servers that answer.",
                Gauge,
                now.servers_healthy as f64,
            ),
            sample(
                "missiond_events_stored_total",
                "Events of the timeline stored by this daemon.",
                Counter,
                now.events_stored as f64,
            ),
            sample(
                "missiond_events_ephemeral_total",
                "Events told but not stored.",
                Counter,
                now.events_ephemeral as f64,
            ),
            sample(
                "missiond_events_coalesced_total",
                "Ephemeral events folded into a newer one.",
                Counter,
                now.events_coalesced as f64,
            ),
            sample(
                "missiond_memory_bytes",
                "Resident memory.",
                Gauge,
                now.resident_bytes as f64,
            ),
        ]
    }

    /// The text format Prometheus scrapes.
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        for sample in self.samples() {
            let kind = match sample.kind {
                SampleKind::Counter => "counter",
                SampleKind::Gauge => "gauge",
            };
            let Sample {
                name, help, value, ..
            } = sample;
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}"
            );
        }
        let name = "missiond_response_seconds";
        let _ = writeln!(
            text,
            "# HELP {name} Time to answer a request.\n# TYPE {name} histogram"
        );
        let mut below = 0;
        for (bound, count) in BUCKETS_US.iter().zip(&self.response_buckets) {
            below += count.get();
            let seconds = *bound as f64 / 1e6;
            let _ = writeln!(text, "{name}_bucket{{le=\"{seconds}\"}} {below}");
        }
        let total = self.succeeded.get() + self.failed.get();
        let sum = self.response_us_total.get() as f64 / 1e6;
        let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {total}");
        let _ = writeln!(text, "{name}_sum {sum}\n{name}_count {total}");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_buckets_follow_the_requests() {
        let metrics = Metrics::default();
        metrics.request_finished(Outcome::Succeeded, Duration::from_micros(40));
        metrics.request_finished(Outcome::Failed, Duration::from_micros(2_000));
        let now = metrics.snapshot();
        assert_eq!((now.requests(), now.requests_failed), (2, 1));
        assert_eq!(now.response_time, Duration::from_micros(2_040));
        let text = metrics.prometheus();
        assert!(
            text.contains("missiond_response_seconds_bucket{le=\"0.00005\"} 1\n"),
            "{text}"
        );
        assert!(text.contains("missiond_response_seconds_bucket{le=\"0.0025\"} 2\n"));
        assert!(text.contains("missiond_response_seconds_count 2\n"));
        assert!(text.contains("missiond_requests_failed_total 1\n"));
    }
}
