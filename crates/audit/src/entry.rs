//! What is to be put on record, before it has its place in the chain.

use missiond_core::{
    AuditKind, AuditRecord, AuditWho, AuditedDecision, AuditedEvents, AuditedJournal, AuditedKey,
    Principal, Timestamp, TraceContext, TraceId,
};
use missiond_os::hex;
use missiond_secrets::mask;
use sha2::{Digest, Sha256};

/// The longest action, in characters.
const ACTION: usize = 120;
/// The longest of what else is said in words.
const WORDS: usize = 400;
/// Journals in one record; whoever has more makes more records.
pub(crate) const JOURNALS: usize = 100;

/// Something to be put on record. Every text in it is masked and cut to size here, so
/// nothing that was said to an agent can make a record large or tell a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    kind: AuditKind,
    who: AuditWho,
    action: String,
    about: Option<String>,
    digest: Option<String>,
    rule: Option<String>,
    outcome: String,
    trace: Option<TraceId>,
    journals: Vec<AuditedJournal>,
    events: Option<AuditedEvents>,
    decision: Option<AuditedDecision>,
    key: Option<AuditedKey>,
}

impl Entry {
    /// Something this principal did, or that was decided about it.
    #[must_use]
    pub fn new(kind: AuditKind, who: &Principal, action: &str) -> Self {
        Self::by(kind, who.into(), action)
    }

    /// The same of somebody who is not at the other end of a connection.
    #[must_use]
    pub fn by(kind: AuditKind, who: AuditWho, action: &str) -> Self {
        Self {
            kind,
            who,
            action: words(action, ACTION),
            about: None,
            digest: None,
            rule: None,
            outcome: "done".to_owned(),
            trace: None,
            journals: Vec::new(),
            events: None,
            decision: None,
            key: None,
        }
    }

    /// A call that was refused because its caller may not; it was not the first attempt,
    /// perhaps.
    #[must_use]
    pub fn refused(who: &Principal, operation: &str, params: &str, attempt: u64) -> Self {
        Self::new(AuditKind::Refusal, who, operation)
            .about(&format!("attempt {attempt}"))
            .exact(params.as_bytes())
            .rule("authority")
            .outcome("forbidden")
    }

    /// Something a part of the daemon did by itself.
    #[must_use]
    pub fn of_daemon(kind: AuditKind, component: &'static str, action: &str) -> Self {
        Self::new(kind, &Principal::Daemon { component }, action)
    }

    /// What it is about, in a few words.
    #[must_use]
    pub fn about(mut self, text: &str) -> Self {
        self.about = Some(words(text, WORDS));
        self
    }

    /// The exact bytes it is about; of them only the digest is kept.
    #[must_use]
    pub fn exact(mut self, bytes: &[u8]) -> Self {
        self.digest = Some(digest_of(bytes));
        self
    }

    /// The digest of what it is about, where somebody else took it.
    #[must_use]
    pub fn digest(mut self, digest: &str) -> Self {
        self.digest = Some(words(digest, ACTION));
        self
    }

    /// What decided: the names of rules, or who.
    #[must_use]
    pub fn rule(mut self, rule: &str) -> Self {
        self.rule = Some(words(rule, WORDS));
        self
    }

    /// What came of it; `done` where nothing is said.
    #[must_use]
    pub fn outcome(mut self, outcome: &str) -> Self {
        self.outcome = words(outcome, WORDS);
        self
    }

    #[must_use]
    pub fn trace(self, trace: TraceContext) -> Self {
        self.trace_id(trace.trace_id)
    }

    #[must_use]
    pub fn trace_id(mut self, trace: TraceId) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Where these journals ended; at most a hundred.
    #[must_use]
    pub fn journals(mut self, mut journals: Vec<AuditedJournal>) -> Self {
        journals.truncate(JOURNALS);
        self.journals = journals;
        self
    }

    /// What stands in the timeline.
    pub(crate) fn events(mut self, events: AuditedEvents) -> Self {
        self.events = Some(events);
        self
    }

    /// The decision as the database has it.
    #[must_use]
    pub fn decision(mut self, decision: AuditedDecision) -> Self {
        self.decision = Some(decision);
        self
    }

    pub(crate) fn key(mut self, key: AuditedKey) -> Self {
        self.key = Some(key);
        self
    }

    pub(crate) fn record(self, seq: u64, at: Timestamp) -> AuditRecord {
        AuditRecord {
            seq,
            at,
            kind: self.kind,
            who: self.who,
            action: self.action,
            about: self.about,
            digest: self.digest,
            rule: self.rule,
            outcome: self.outcome,
            trace: self.trace,
            journals: self.journals,
            events: self.events,
            decision: self.decision,
            key: self.key,
        }
    }
}

/// SHA-256 in hexadecimal digits.
#[must_use]
pub fn digest_of(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes))
}

/// One line without secrets, cut after masking so that no half of one is left unseen.
fn words(text: &str, limit: usize) -> String {
    // What is longer is not looked at: nothing of it would stay.
    let near: String = text.chars().take(limit * 8).collect();
    let masked = mask(near).into_string();
    let line = masked.chars().map(|c| if c.is_control() { ' ' } else { c });
    line.take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_masked_before_they_are_cut() {
        let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
        let text = format!("{} {token} after", "x".repeat(WORDS - 10));
        let entry = Entry::new(AuditKind::Call, &Principal::Person, "permission_add").about(&text);
        let about = entry.about.unwrap();
        assert!(!about.contains("ghp_a1B2"), "{about}");
        assert_eq!(about.chars().count(), WORDS);
    }

    #[test]
    fn a_record_is_one_line() {
        let entry = Entry::new(AuditKind::Tool, &Principal::ToolServer, "a\nb").outcome("c\u{1b}d");
        assert_eq!(
            (entry.action.as_str(), entry.outcome.as_str()),
            ("a b", "c d")
        );
    }
}
