//! From when on what a slot does is an incident.

use crate::keys::section;

section! {
    pub struct AnomaliesConfig: "anomalies." {
        /// Seconds without a byte from an agent that works before it counts as stuck.
        restart silent_secs: u64 = 600, in 1..=86_400;
        /// Seconds without a new word on the screen of an agent that works (a turning
        /// sign or a clock is no word) before it counts as stuck.
        restart still_secs: u64 = 1800, in 1..=86_400;
        /// Output per second that counts as a flood.
        restart flood_bytes_per_second: u64 = 1_000_000, in 1..=1_000_000_000;
        /// Seconds such output must last to be a flood.
        restart flood_secs: u64 = 10, in 1..=3600;
        /// Share of a screen's characters that are no text from which it counts as
        /// garbage, in percent.
        restart garbage_percent: u32 = 10, in 1..=100;
        /// Seconds a garbled screen must stay.
        restart garbage_secs: u64 = 5, in 1..=3600;
        /// Failures of the same program within the window that are a crash loop.
        restart crash_count: u32 = 3, in 2..=100;
        /// Seconds within which failures are counted.
        restart crash_window_secs: u64 = 600, in 1..=86_400;
    }
}
