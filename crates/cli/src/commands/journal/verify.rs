//! Is it all there, and as it was written?

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use missiond_core::ExecutionId;
use missiond_journal::Sequence;
use missiond_journal::inspect::{self, Finding, Verification};
use serde::Serialize;

use super::{JournalLocation, store_failure};
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, counted, printable};

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
    findings: Vec<ReportedFinding>,
}

#[derive(Serialize)]
struct ReportedFinding {
    finding: &'static str,
    what: String,
    meaning: &'static str,
}

pub(super) fn verify(
    names: &[String],
    all: bool,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let locations = if all {
        JournalLocation::every(output)?
    } else {
        named(names)?
    };
    if locations.is_empty() {
        output.notice("there are no journals yet");
    }
    let mut damaged = 0;
    for location in &locations {
        let report = inspect_location(location)?;
        damaged += usize::from(!report.intact);
        output.result(&report, print_report);
    }
    let missing = if all {
        JournalLocation::missing(&locations)?
    } else {
        Vec::new()
    };
    for execution in &missing {
        output.result(&missing_report(*execution), print_report);
    }
    damaged += missing.len();
    let known = locations.len() + missing.len();
    if all && known > 0 && !output.is_json() {
        output.line(match damaged {
            0 if known == 1 => "the journal is intact".to_owned(),
            0 => format!("all {known} journals are intact"),
            damaged => format!("{damaged} of {known} journals are not intact"),
        });
    }
    Ok(ExitCode::from(u8::from(damaged > 0)))
}

fn named(names: &[String]) -> Result<Vec<JournalLocation>, Failure> {
    names.iter().map(|name| JournalLocation::of(name)).collect()
}

fn inspect_location(location: &JournalLocation) -> Result<Report, Failure> {
    let verify = || {
        inspect::verify(location.store(), location.execution).map_err(|error| store_failure(&error))
    };
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
    let reported = |finding: &Finding| ReportedFinding {
        finding: finding.name(),
        what: finding.to_string(),
        meaning: finding.meaning(),
    };
    Ok(Report {
        execution: location.execution,
        file: location.file(),
        kept_in: location.name(),
        intact: found.is_sound(),
        records,
        groups,
        last: head.sequence,
        compactions: segment,
        findings: findings.iter().map(reported).collect(),
    })
}

/// Of a journal that is not there.
fn missing_report(execution: ExecutionId) -> Report {
    Report {
        execution,
        file: None,
        kept_in: "nowhere".to_owned(),
        intact: false,
        records: 0,
        groups: 0,
        last: Sequence::START,
        compactions: 0,
        findings: vec![ReportedFinding {
            finding: "journal_gone",
            what: "the database knows this run, and there is no journal of it".to_owned(),
            meaning: "the journal was removed: `mission audit verify` says how long it was",
        }],
    }
}

fn print_report(output: &mut Output, report: &Report) {
    let paint = output.paint;
    if report.intact {
        let compacted = match report.compactions {
            0 => String::new(),
            times => format!(", compacted {times} times (what that left out cannot be verified)"),
        };
        output.line(format!(
            "{} {}: {} in {}, up to record {}{compacted}",
            paint.apply(Style::Green, "intact"),
            report.execution,
            counted(report.records, "record", "records"),
            counted(report.groups, "group", "groups"),
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
    for reported in &report.findings {
        output.line(format!("  {}", printable(&reported.what)));
        output.line(format!("    {}", paint.apply(Style::Dim, reported.meaning)));
    }
}
