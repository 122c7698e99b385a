//! What a journal costs: durable appends beside bare writes of the same bytes,
//! replay, opening.

use std::path::Path;

use missiond_bench::journal::{BenchReport, BenchSize, measure};
use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};
use missiond_core::ErrorCode;

use crate::{Report, scratch};

/// Enough to see that everything is measured.
pub(super) const QUICK: BenchSize = BenchSize {
    single: 10,
    grouped: 64,
    callers: 4,
    replayed: 1_000,
    opened: 100_000,
};

pub(super) fn full(records: u64) -> BenchSize {
    BenchSize {
        replayed: records,
        ..BenchSize::default()
    }
}

pub(super) fn run(size: BenchSize, output: &Output) -> Result<Report, Failure> {
    let folder = scratch::folder()?;
    let mut report = Report::new("journal");
    report.condition(
        "store",
        "files, SHA-256 chain, fdatasync before each acknowledgement",
    );
    report.condition(
        "append",
        "one observation, its decision and its effect: a group of 3 records",
    );
    report.condition("appends_single", size.single);
    report.condition("appends_grouped", size.grouped);
    report.condition("callers_grouped", size.callers);
    report.condition(
        "raw",
        "the same bytes in the same number of writes, each with fdatasync",
    );
    if let Some(kind) = file_system(folder.path()) {
        report.condition("file_system", kind);
    }
    let measured = {
        let _progress = Progress::start(output, "measuring journals");
        measure(folder.path(), size)
            .map_err(|error| Failure::new(ErrorCode::StorageUnavailable, error.to_string()))?
    };
    let BenchReport {
        appends_per_s_single,
        appends_per_s_grouped,
        raw_single,
        raw_grouped,
        replay_records_per_s,
        replayed_records,
        open_100mb_ms,
        opened_bytes,
    } = measured;
    report.condition("replayed_records", replayed_records);
    report.condition("opened_bytes", opened_bytes);
    report.metric("appends_per_s_single", appends_per_s_single);
    report.metric("appends_per_s_grouped", appends_per_s_grouped);
    report.metric("raw_single", raw_single);
    report.metric("raw_grouped", raw_grouped);
    report.metric("replay_records_per_s", replay_records_per_s);
    report.metric("open_100mb_ms", open_100mb_ms);
    Ok(report)
}

/// Of the mount the folder is on: the longest mount point that holds it.
fn file_system(folder: &Path) -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let holds = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let point = Path::new(fields.next()?);
        folder.starts_with(point).then(|| {
            let kind = fields.next().unwrap_or_default().to_owned();
            (point.components().count(), kind)
        })
    });
    holds.max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind)
}
