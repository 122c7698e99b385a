//! Is it all there, and as it was written?

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use missiond_core::ExecutionId;
use missiond_journal::Sequence;
use missiond_journal::inspect::{self, Finding, Verification};
use serde::Serialize;

use super::{Place, store_failure};
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, printable};

/// What `--json` prints of each journal.
#[derive(Serialize)]
struct Report {
    execution: ExecutionId,
    /// The file it is in; `null` for one in the database.
    file: Option<PathBuf>,
    kept_in: String,
    intact: bool,
    records: u64,
    groups: u64,
    last: Sequence,
    compactions: u32,
    findings: Vec<Told>,
}

#[derive(Serialize)]
struct Told {
    finding: &'static str,
    what: String,
    meaning: &'static str,
}

pub(super) fn verify(
    names: &[String],
    all: bool,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let places = if all {
        Place::every(output)?
    } else {
        named(names)?
    };
    if places.is_empty() {
        output.notice("there are no journals yet");
    }
    let mut damaged = 0;
    for place in &places {
        let report = inspect_place(place)?;
        damaged += usize::from(!report.intact);
        output.result(&report, print_report);
    }
    if all && !places.is_empty() && !output.is_json() {
        output.line(match damaged {
            0 => format!("all {} journals are intact", places.len()),
            damaged => format!("{damaged} of {} journals are not intact", places.len()),
        });
    }
    Ok(ExitCode::from(u8::from(damaged > 0)))
}

fn named(names: &[String]) -> Result<Vec<Place>, Failure> {
    names.iter().map(|name| Place::of(name)).collect()
}

fn inspect_place(place: &Place) -> Result<Report, Failure> {
    let verify =
        || inspect::verify(place.store(), place.execution).map_err(|error| store_failure(&error));
    let mut found = verify()?;
    if let [Finding::Unfinished { .. }] = found.findings[..] {
        // A daemon may have been in the middle of a write; a crash stays.
        std::thread::sleep(Duration::from_millis(50));
        found = verify()?;
    }
    let Verification {
        records,
        groups,
        head,
        segment,
        ref findings,
    } = found;
    let told = |finding: &Finding| Told {
        finding: finding.name(),
        what: finding.to_string(),
        meaning: finding.meaning(),
    };
    Ok(Report {
        execution: place.execution,
        file: place.file(),
        kept_in: place.name(),
        intact: found.is_sound(),
        records,
        groups,
        last: head.sequence,
        compactions: segment,
        findings: findings.iter().map(told).collect(),
    })
}

fn print_report(output: &mut Output, report: &Report) {
    let paint = output.paint;
    if report.intact {
        let compacted = match report.compactions {
            0 => String::new(),
            times => format!(", compacted {times} times (what that left out cannot be verified)"),
        };
        output.line(format!(
            "{} {}: {} records in {} groups, up to record {}{compacted}",
            paint.apply(Style::Green, "intact"),
            report.execution,
            report.records,
            report.groups,
            report.last
        ));
        return;
    }
    output.line(format!(
        "{} {}: {}",
        paint.apply(Style::Red, "NOT INTACT"),
        report.execution,
        report.kept_in
    ));
    for told in &report.findings {
        output.line(format!("  {}", printable(&told.what)));
        output.line(format!("    {}", paint.apply(Style::Dim, told.meaning)));
    }
}
