//! Decisions about permissions on record: before anything follows from one, whoever made it.

use missiond_audit::{AuditError, Entry};
use missiond_core::{AuditKind, AuditedDecision, PermissionAsked, Principal, TraceContext};

use super::Permissions;

/// A decision about one permission.
#[derive(Debug, Clone)]
pub struct Decided<'d> {
    /// Whose permission it is.
    pub who: Principal,
    /// What is asked for, as far as it was read.
    pub asked: &'d PermissionAsked,
    /// The exact bytes the decision is about, where there are any: the input of a hook or a
    /// protocol. Otherwise what was read is taken.
    pub exact: Option<&'d [u8]>,
    /// `allow`, `deny` or `ask`.
    pub effect: &'d str,
    /// The rules that decided, or what else did.
    pub by: &'d str,
    pub trace: TraceContext,
    /// Its row in the database, where it has one.
    pub row: Option<AuditedDecision>,
}

impl Permissions {
    /// Puts a decision on record; returns when it is on disk.
    pub async fn put_on_record(&self, decided: Decided<'_>) -> Result<(), AuditError> {
        let asked = decided.asked;
        let tool = asked.tool.as_deref().unwrap_or("unknown tool");
        let words = [&asked.command, &asked.argument, &asked.path];
        let words = words.into_iter().flatten().next();
        let entry = Entry::new(AuditKind::Decision, &decided.who, tool)
            .outcome(decided.effect)
            .trace(decided.trace);
        let entry = match words {
            Some(words) => entry.about(words),
            None => entry,
        };
        let entry = match decided.by {
            "" => entry,
            by => entry.rule(by),
        };
        let entry = match decided.exact {
            Some(exact) => entry.exact(exact),
            None => entry.exact(&serde_json::to_vec(asked).unwrap_or_default()),
        };
        let entry = match decided.row {
            Some(row) => entry.decision(row),
            None => entry,
        };
        self.audit.record(entry).await.map(drop)
    }
}
