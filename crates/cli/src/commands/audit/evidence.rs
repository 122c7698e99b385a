//! `mission audit verify`: everything that remembers something of the audit, brought together
//! and opened for looking only.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use missiond_api::Home;
use missiond_audit::Identity;
use missiond_audit::anchors::{Anchors, Memory, home_name};
use missiond_audit::timeline;
use missiond_audit::verify::{Finding, Verification, Verifier};
use missiond_audit::{decisions, read};
use missiond_config::Config;
use missiond_core::{ErrorCode, SystemClock};
use missiond_executions::audited::{check_journals, remembered_by_journals};
use missiond_executions::database_journal::{DatabaseJournals, Holder};
use missiond_executions::journals::HomeJournals;
use missiond_journal::{FileStore, JournalStore};
use missiond_store::MissionDb;
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, counted, printable};

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    intact: bool,
    records: u64,
    /// Signed heads.
    heads: u64,
    /// The name of the key that signs at the end.
    key: Option<String>,
    /// How many records were known to be anchored elsewhere.
    anchored: u64,
    /// Journals that the audit knows.
    journals: usize,
    /// Events of the timeline that the audit knows.
    events: u64,
    /// Decisions about permissions that the audit knows.
    decisions: usize,
    findings: Vec<ReportedFinding>,
}

#[derive(Serialize)]
struct ReportedFinding {
    finding: &'static str,
    what: String,
}

pub(super) fn verify(home: &Home, output: &mut Output) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let evidence = Evidence::open(home, &runtime)?;
    let mut found = evidence.verify(home, &runtime)?;
    if let [Finding::Unsigned { .. } | Finding::Form { .. }] = found.findings[..] {
        // A daemon may have been in the middle of a write.
        std::thread::sleep(Duration::from_millis(50));
        found = evidence.verify(home, &runtime)?;
    }
    let reported = |finding: &Finding| ReportedFinding {
        finding: finding.name(),
        what: finding.to_string(),
    };
    let report = Report {
        intact: found.is_sound(),
        records: found.records,
        heads: found.heads,
        key: found.key.map(|key| key.name()),
        anchored: found.anchored,
        journals: found.journals.len(),
        events: found.events_known(),
        decisions: found.decisions.len(),
        findings: found.findings.iter().map(reported).collect(),
    };
    output.result(&report, print);
    Ok(ExitCode::from(u8::from(!report.intact)))
}

fn print(output: &mut Output, report: &Report) {
    let records = counted(report.records, "record", "records");
    if report.intact {
        let journals = counted(report.journals as u64, "journal", "journals");
        let events = counted(report.events, "event", "events");
        let decisions = counted(report.decisions as u64, "decision", "decisions");
        let line = format!(
            "{}: {records}, signed by the key {}, and {journals}, {events} of the timeline and \
             {decisions} about permissions as the audit has them",
            output.paint.apply(Style::Green, "intact"),
            report.key.as_deref().unwrap_or("of nobody")
        );
        output.line(line);
        return;
    }
    let line = format!(
        "{}: {records}",
        output.paint.apply(Style::Red, "NOT INTACT")
    );
    output.line(line);
    for reported in &report.findings {
        output.line(format!("  {}", printable(&reported.what)));
    }
}

/// What remembers something of the audit.
struct Evidence {
    /// None when there is no database.
    database: Option<(Anchors, HomeJournals)>,
    files: FileStore,
}

impl Evidence {
    fn open(home: &Home, runtime: &Runtime) -> Result<Self, Failure> {
        let config = Config::load(&home.config_file())
            .map_err(|error| Failure::new(ErrorCode::InvalidConfig, error.to_string()))?;
        let files = FileStore::open_read_only(&FileStore::folder_below(&home.journals_dir()));
        let url = missiond_daemon::database_url(&config, home)?;
        if url.file().is_some_and(|file| !file.exists()) {
            return Ok(Self {
                database: None,
                files,
            });
        }
        let db = runtime.block_on(MissionDb::open_read_only(&url))?;
        let name = home_name(&url, &missiond_os::host_name(), home.data_dir());
        let anchors = Anchors::new(db.clone(), name, &home.audit_dir());
        let journals = DatabaseJournals::new(
            db,
            runtime.handle().clone(),
            Arc::new(SystemClock),
            Holder::new("nobody", "looking"),
        );
        let keeping = config.journal.store;
        let journals = HomeJournals::new(files.clone(), journals, keeping, url.to_string());
        Ok(Self {
            database: Some((anchors, journals)),
            files,
        })
    }

    fn memory(&self, home: &Home, runtime: &Runtime) -> Result<Memory, Failure> {
        match &self.database {
            Some((anchors, _)) => Ok(runtime.block_on(anchors.memory())?),
            None => Ok(Memory::without_database(&home.audit_dir())),
        }
    }

    fn journals(&self) -> &dyn JournalStore {
        match &self.database {
            Some((_, journals)) => journals,
            None => &self.files,
        }
    }

    fn verify(&self, home: &Home, runtime: &Runtime) -> Result<Verification, Failure> {
        let unreadable = |error: &dyn std::fmt::Display| {
            Failure::new(ErrorCode::StorageUnavailable, error.to_string())
        };
        // What remembers is read before the log, which is never behind it.
        let mut remembered: Vec<_> = self.memory(home, runtime)?.all().collect();
        let of_journals = match remembered_by_journals(self.journals()) {
            Ok(found) => found,
            // A home without agents has no folder of journals.
            Err(_) if !self.files.is_there() => Vec::new(),
            Err(error) => return Err(unreadable(&error)),
        };
        remembered.extend(of_journals);
        let mut verifier = Verifier::new(remembered);
        read::lines(&home.audit_dir(), |line| {
            verifier.line(line);
            if verifier.is_full() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        let mut found = verifier.finish();
        match Identity::public_of(&home.identity_dir()) {
            Ok(Some(key)) => found.check_identity(key),
            Ok(None) => {}
            Err(error) => return Err(unreadable(&error)),
        }
        // And read again behind it: what the log says of it was so by then.
        for (place, newest) in self.memory(home, runtime)?.newest() {
            found.check_place(place, newest);
        }
        check_journals(self.journals(), &mut found);
        if let Some((anchors, _)) = &self.database {
            runtime.block_on(timeline::check(anchors.db(), &mut found))?;
            runtime.block_on(decisions::check(anchors.db(), &mut found))?;
        }
        Ok(found)
    }
}
