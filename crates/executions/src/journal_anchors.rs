//! Tells the audit where the journals of this daemon are, while they are written and when
//! they end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use missiond_audit::Entry;
use missiond_core::{AuditKind, AuditedJournal, ExecutionId};
use missiond_journal::record::AuditedAt;
use missiond_journal::{Digest, Head, JournalStore};
use missiond_runtime::blocking;

use crate::context::Context;

/// So much of a journal at most is not yet known to the audit while a daemon runs.
const EVERY: Duration = Duration::from_secs(5);

/// Journals in one record of the audit.
const TOGETHER: usize = 100;

/// Puts on record where journals are, again and again.
pub(crate) async fn run(context: Arc<Context>) {
    loop {
        let _ = tokio::time::timeout(EVERY, context.audited.ended.notified()).await;
        record(&context).await;
    }
}

/// Puts on record where the journals are that have grown since.
pub(crate) async fn record(context: &Arc<Context>) {
    let running: Vec<ExecutionId> = context.runs().keys().copied().collect();
    // Also those that ended since they were looked at.
    let before = context.audited.known.lock().clone();
    let looked_at: Vec<ExecutionId> = before.keys().copied().collect();
    let journals = Arc::clone(&context.journals);
    let heads = blocking(move || {
        let heads = looked_at.into_iter().map(|id| (id, journals.anchor(id)));
        heads.collect::<Vec<_>>()
    })
    .await;
    let mut grown = Vec::new();
    let mut now = HashMap::new();
    for (id, head) in heads {
        match head {
            Ok(Some(head)) if before.get(&id) != Some(&head.sequence) => {
                now.insert(id, head.sequence);
                grown.push(audited(id, head));
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(execution = %id, %error, "journal not audited"),
        }
    }
    {
        let mut known = context.audited.known.lock();
        known.extend(now);
        known.retain(|id, _| running.contains(id) || !before.contains_key(id));
    }
    for some in grown.chunks(TOGETHER) {
        let entry = Entry::of_daemon(AuditKind::Journals, "executions", "journals");
        let about = match some.len() {
            1 => "1 journal".to_owned(),
            count => format!("{count} journals"),
        };
        let entry = entry.about(&about).outcome("anchored");
        context
            .audit
            .record_soon(entry.journals(some.to_vec()))
            .await;
    }
}

fn audited(execution: ExecutionId, head: Head) -> AuditedJournal {
    AuditedJournal {
        execution,
        sequence: head.sequence.0,
        hash: head.hash.to_string(),
    }
}

impl Context {
    /// Where the audit is now, for the header of a journal.
    pub(crate) fn audited_at(&self) -> Option<AuditedAt> {
        let head = self.audit.head()?;
        Some(AuditedAt {
            records: head.records,
            hash: Digest(head.digest()),
        })
    }
}
