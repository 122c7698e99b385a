//! How fast text is scanned and streams are masked: `cargo run --release -p missiond-secrets
//! --example speed`. Times are those of the processor, on Linux.

#![allow(clippy::print_stdout)]

use std::hint::black_box;

use missiond_secrets::corpus::{Sort, text};
use missiond_secrets::{Detector, StreamMask};

/// Seconds this thread has had a processor, so that others on the machine count less.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = stat
        .split(' ')
        .next()
        .and_then(|ns| ns.parse().ok())
        .unwrap_or(0.0);
    nanoseconds / 1e9
}

fn best(mut run: impl FnMut()) -> f64 {
    (0..7)
        .map(|_| {
            let begin = processor();
            run();
            processor() - begin
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let detector = Detector::current();
    for sort in [Sort::Source, Sort::Logs, Sort::Terminal] {
        let one = text(sort, 4 << 20);
        let two = text(sort, 8 << 20);
        let once = best(|| {
            black_box(detector.scan(&one));
        });
        let twice = best(|| {
            black_box(detector.scan(&two));
        });
        let masked = best(|| {
            let mut mask = StreamMask::new(detector.clone()).with_columns(120);
            let mut out = Vec::with_capacity(one.len());
            for chunk in one.chunks(16 * 1024) {
                out.clear();
                mask.feed(chunk, &mut out);
            }
            mask.finish(&mut out);
            black_box(out);
        });
        let megabytes = one.len() as f64 / 1e6;
        println!(
            "{sort:?}: scan {:.0} MB/s, twice the input {:.2} times the time, stream {:.0} MB/s",
            megabytes / once,
            twice / once,
            megabytes / masked,
        );
    }
    for (name, unit) in [
        ("password=", "password="),
        ("://", "://a:"),
        ("eyJ", "eyJ"),
        ("quote", "token=\"a "),
    ] {
        let one: Vec<u8> = unit.bytes().cycle().take(1 << 20).collect();
        let two = [one.clone(), one.clone()].concat();
        let once = best(|| {
            black_box(detector.scan(&one));
        });
        let twice = best(|| {
            black_box(detector.scan(&two));
        });
        println!(
            "only {name}: {:.1} MB/s, twice {:.2}",
            one.len() as f64 / 1e6 / once,
            twice / once
        );
    }
}
