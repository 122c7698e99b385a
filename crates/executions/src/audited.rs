//! What the audit has of executions: the tools their agents use, and where their journals
//! end. A journal that is removed, cut or exchanged for an older copy of itself is consistent
//! in itself; the audit is what knows better.

use std::collections::HashMap;
use std::ops::ControlFlow;

use missiond_audit::Entry;
use missiond_audit::verify::{Finding, Remembered, Verification};
use missiond_core::{AuditKind, AuditedJournal, ExecutionId, Principal, TraceContext};
use missiond_journal::catalogue::{Edge, Fact};
use missiond_journal::record::{JournalHeader, RecordBody};
use missiond_journal::store::StoreError;
use missiond_journal::{JournalStore, Observed, Sequence};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Where the audit has each journal that this daemon writes.
#[derive(Debug, Default)]
pub(crate) struct AuditedJournals {
    pub(super) known: Mutex<HashMap<ExecutionId, Sequence>>,
    /// One has ended.
    pub(super) ended: Notify,
}

impl AuditedJournals {
    /// A journal that is written from now on.
    pub(crate) fn began(&self, execution: ExecutionId) {
        self.known.lock().insert(execution, Sequence::START);
    }

    /// A journal that is written no more.
    pub(crate) fn ended(&self) {
        self.ended.notify_one();
    }
}

/// The record of a tool that an agent begins to use.
pub(crate) fn tool_use(
    agent: &Principal,
    trace: TraceContext,
    observed: &Observed,
) -> Option<Entry> {
    let Observed::Fact(Fact::ToolUse(used)) = observed else {
        return None;
    };
    if used.edge != Edge::Began {
        return None;
    }
    let entry = Entry::new(AuditKind::Tool, agent, used.tool.as_str()).outcome("begun");
    let entry = match &used.target {
        Some(target) => entry.about(target.label.as_str()),
        None => entry,
    };
    let entry = match &used.input_digest {
        Some(digest) => entry.digest(digest.as_str()),
        None => entry,
    };
    Some(entry.trace(trace))
}

/// What the journals remember of the audit, each from when it was made.
pub fn remembered_by_journals(store: &dyn JournalStore) -> Result<Vec<Remembered>, StoreError> {
    let mut found = Vec::new();
    for execution in store.list()? {
        if let Some(audit) = header(store, execution)?.and_then(|header| header.audit) {
            found.push(Remembered {
                place: format!("the journal of {execution}"),
                records: audit.records,
                hash: audit.hash.to_string(),
            });
        }
    }
    Ok(found)
}

fn header(
    store: &dyn JournalStore,
    execution: ExecutionId,
) -> Result<Option<JournalHeader>, StoreError> {
    let mut header = None;
    store.scan(execution, Sequence::START, &mut |scanned| {
        if let Ok(line) = scanned.line
            && let Ok(record) = line.record()
            && let RecordBody::Header(found) = record.body
        {
            header = Some(found);
        }
        ControlFlow::Break(())
    })?;
    Ok(header)
}

/// Holds the journals against what the audit has of them.
pub fn check_journals(store: &dyn JournalStore, verification: &mut Verification) {
    let known: Vec<AuditedJournal> = verification.journals.values().cloned().collect();
    for journal in known {
        if let Some(finding) = check(store, &journal) {
            verification.report(finding);
        }
    }
}

fn check(store: &dyn JournalStore, known: &AuditedJournal) -> Option<Finding> {
    let AuditedJournal {
        execution,
        sequence,
        ref hash,
    } = *known;
    let gone = Finding::JournalGone {
        execution,
        sequence,
    };
    // The record is looked for, and the last one that is there.
    let (mut there, mut last, mut compacted) = (None, 0, 0);
    let scanned = store.scan(execution, Sequence::START, &mut |scanned| {
        let Ok(line) = scanned.line else {
            return ControlFlow::Continue(());
        };
        last = last.max(line.sequence.0);
        if last == 1
            && let Ok(record) = line.record()
            && let RecordBody::Header(header) = record.body
        {
            compacted = header.compacted.map_or(0, |before| before.head.0);
        }
        if line.sequence.0 == sequence {
            there = line.stated_hash().map(|hash| hash.to_string());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    match scanned {
        Err(StoreError::NotFound { .. }) => return Some(gone),
        Err(error) => {
            return Some(Finding::JournalUnreadable {
                execution,
                why: error.to_string(),
            });
        }
        Ok(()) => {}
    }
    match there {
        Some(there) if there == *hash => None,
        // What was compacted since is chained anew.
        _ if compacted >= sequence => None,
        Some(_) => Some(Finding::JournalChanged {
            execution,
            sequence,
        }),
        None if last == 0 => Some(gone),
        None => Some(Finding::JournalCut {
            execution,
            sequence,
            found: last,
        }),
    }
}
