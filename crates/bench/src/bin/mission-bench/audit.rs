//! How many records of the audit are on disk within a second, with several who wait for each
//! of theirs, and with one.

use std::sync::Arc;
use std::time::Instant;

use missiond_audit::{AuditLog, Entry};
use missiond_console::failure::Failure;
use missiond_core::{AuditKind, ErrorCode, Principal, SystemClock};

use crate::{Report, scratch};

/// Who put something on record at the same time.
const CALLERS: usize = 64;
/// Records of each.
const RECORDS: usize = 200;
/// Records of one who is alone.
const ALONE: usize = 200;

/// Adds the figures to a report.
pub(super) fn measure(report: &mut Report) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    report.condition("audit_callers", CALLERS);
    report.condition(
        "audit",
        "masked, chained, signed (Ed25519) and flushed (fdatasync) before each is acknowledged",
    );
    report.metric("audit_records_per_s", rate(&runtime, CALLERS, RECORDS)?);
    report.metric("audit_records_per_s_single", rate(&runtime, 1, ALONE)?);
    Ok(())
}

fn rate(runtime: &tokio::runtime::Runtime, callers: usize, each: usize) -> Result<f64, Failure> {
    let folder = scratch::folder()?;
    let opened = AuditLog::open(
        &folder.path().join("audit"),
        &folder.path().join("identity"),
        Arc::new(SystemClock),
    );
    let (log, _) = opened?;
    let began = Instant::now();
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for caller in 0..callers {
            let log = log.clone();
            tasks.spawn(async move {
                for number in 0..each {
                    log.record(entry(caller, number)).await?;
                }
                Ok(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended
                .map_err(|error| failed(&error))?
                .map_err(|error: missiond_audit::AuditError| failed(&error))?;
        }
        Ok::<_, Failure>(())
    })?;
    let rate = (callers * each) as f64 / began.elapsed().as_secs_f64();
    runtime.block_on(log.close());
    Ok(rate)
}

fn entry(caller: usize, number: usize) -> Entry {
    let command = format!("cargo test --package part-{caller} -- case_{number}");
    Entry::new(AuditKind::Decision, &Principal::Person, "Bash")
        .about(&command)
        .exact(command.as_bytes())
        .rule("P-7")
        .outcome("allow")
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::StorageUnavailable, error.to_string())
}
