//! The audit of a running daemon: opened before anything can be decided, anchored while it
//! runs, closed after everything else has ended.

use std::sync::Arc;

use missiond_api::Home;
use missiond_audit::anchors::Anchors;
use missiond_audit::timeline::AuditedTimeline;
use missiond_audit::{AuditLog, Entry};
use missiond_core::{AuditKind, Clock, Severity};
use missiond_operations::VERSION;
use missiond_runtime::Supervisor;
use missiond_store::MissionDb;
use missiond_store::incidents::{self, Report};

use crate::bootstrap::StartError;

/// Opens the audit and says what is not as it was left: in the audit, where it stays, and to
/// whoever looks after incidents.
pub(crate) async fn start(
    home: &Home,
    clock: &Arc<dyn Clock>,
    places: Anchors,
    db: &MissionDb,
    supervisor: &Supervisor,
) -> Result<(AuditLog, AuditedTimeline), StartError> {
    let (folder, identity) = (home.audit_dir(), home.identity_dir());
    // Some milliseconds of a small file; nothing else runs yet.
    let opened = AuditLog::open(&folder, &identity, Arc::clone(clock));
    let (audit, opened) = opened.map_err(StartError::Audit)?;
    let on_record =
        |error: missiond_audit::AuditError| StartError::Audit(std::io::Error::other(error));
    for problem in places.problems(&opened).await? {
        tracing::error!(problem, "audit not as it was left");
        let entry = Entry::of_daemon(AuditKind::Integrity, "audit", "open").about(&problem);
        audit
            .record(entry.outcome("not as it was left"))
            .await
            .map_err(on_record)?;
        let report = Report {
            kind: "audit_not_as_left".to_owned(),
            subject: "audit".to_owned(),
            severity: Severity::Critical,
            summary: format!(
                "The audit is not as it was left: {problem}. `mission audit verify` says more."
            ),
        };
        let now = clock.now();
        db.write(move |tx| Box::pin(async move { incidents::report(tx, &report, now).await }))
            .await?;
    }
    if let Some(torn) = &opened.torn {
        tracing::warn!(file = %torn.display(), "unfinished end of audit moved aside");
    }
    let config = std::fs::read(home.config_file()).unwrap_or_default();
    let entry = Entry::of_daemon(AuditKind::Daemon, "daemon", "start");
    let entry = entry.about(&format!("version {VERSION}, with this configuration"));
    audit
        .record(entry.exact(&config))
        .await
        .map_err(on_record)?;
    let of_timeline = AuditedTimeline::new(db.clone(), folder, audit.clone());
    let task = of_timeline.clone();
    supervisor.spawn_restarting("audit of the timeline", move || task.clone().run());
    let log = audit.clone();
    supervisor.spawn_restarting("audit anchors", move || places.clone().run(log.clone()));
    Ok((audit, of_timeline))
}

/// Puts the rest of the timeline and the end on record, and anchors that.
pub(crate) async fn stop(
    audit: &AuditLog,
    of_timeline: &AuditedTimeline,
    places: &Anchors,
    reason: &str,
) {
    of_timeline.finish().await;
    let entry = Entry::of_daemon(AuditKind::Daemon, "daemon", "stop").about(reason);
    if let Err(error) = audit.record(entry).await {
        tracing::error!(%error, "end not on record");
    }
    places.finish(audit).await;
    audit.close().await;
}
