//! Is the chain as it was written? Reads lines one after another and says what is not right,
//! then holds what other places remember of it against it. Nothing here does I/O.

use std::collections::{BTreeMap, HashMap};

use missiond_core::{
    AuditKind, AuditRecord, AuditedDecision, AuditedEvents, AuditedJournal, AuditedKey,
    ExecutionId, Seq,
};
use missiond_os::hex;

use crate::chain::{BEGINNING, Chain, Hash, Head, Line, hash_is_right};
use crate::keys::{FOR_KEY, PublicKey};

/// How many findings are listed; damage in one place can spoil every line after.
const FINDINGS: usize = 100;

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    #[error("line {line}, after record {after}: it does not have the form of a line of the audit")]
    Form { line: u64, after: u64 },
    #[error("line {line}, after record {after}: it was changed, its hash is that of other words")]
    Changed { line: u64, after: u64 },
    #[error("the first record is {first}, and not 1: the beginning is missing")]
    BeginningMissing { first: u64 },
    #[error("records {from} to {to} are missing")]
    Missing { from: u64, to: u64 },
    #[error("record {seq} stands after record {after}: it was moved, or put in")]
    OutOfPlace { seq: u64, after: u64 },
    #[error("line {line}, after record {after}: it does not follow the line before it")]
    Broken { line: u64, after: u64 },
    #[error("the head at record {records} is signed by the key {key}, which may not sign here")]
    AnotherKey { records: u64, key: String },
    #[error("the signature of the head at record {records} is not right")]
    BadSignature { records: u64 },
    #[error("the head at record {records} counts {said} records")]
    WrongCount { records: u64, said: u64 },
    #[error("record {seq} changes the key without the signatures of both keys")]
    BadKeyChange { seq: u64 },
    #[error("no key was made known at the beginning")]
    NoKey,
    #[error("{records} records at the end are not signed")]
    Unsigned { records: u64 },
    #[error("the key in the identity folder is {found}, and the log ends with {expected}")]
    AnotherIdentity { expected: String, found: String },
    #[error("{place} knows of {known} records, and the log ends at {found}: its end is missing")]
    EndMissing {
        place: String,
        known: u64,
        found: u64,
    },
    #[error("{place} knows another history up to record {known}: the log was exchanged")]
    AnotherHistory { place: String, known: u64 },
    #[error("{place} knows of {known} records, and {stated} were known there: it was set back")]
    SetBack {
        place: String,
        known: u64,
        stated: u64,
    },
    #[error("record {seq}, of {at}: {what}")]
    FoundOnOpening { seq: u64, at: String, what: String },
    #[error("the journal of {execution} is gone: it had {sequence} records")]
    JournalGone {
        execution: ExecutionId,
        sequence: u64,
    },
    #[error("the journal of {execution} ends at record {found}, and had {sequence}: it was cut")]
    JournalCut {
        execution: ExecutionId,
        sequence: u64,
        found: u64,
    },
    #[error("record {sequence} of the journal of {execution} is not the one that was there")]
    JournalChanged {
        execution: ExecutionId,
        sequence: u64,
    },
    #[error("the journal of {execution} cannot be read: {why}")]
    JournalUnreadable { execution: ExecutionId, why: String },
    #[error("of the events {first} to {last} of the timeline {missing} are gone")]
    EventsGone { first: Seq, last: Seq, missing: u64 },
    #[error("the events {first} to {last} of the timeline are not those that were there")]
    EventsChanged { first: Seq, last: Seq },
    #[error("the events {first} to {last} of the timeline cannot be read")]
    EventsUnreadable { first: Seq, last: Seq },
    #[error("decision {number} about a permission is gone from the database")]
    DecisionGone { number: i64 },
    #[error("decision {number} about a permission is not the one that was there")]
    DecisionChanged { number: i64 },
}

impl Finding {
    /// For programs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Form { .. } => "form",
            Self::Changed { .. } => "changed",
            Self::BeginningMissing { .. } => "beginning_missing",
            Self::Missing { .. } => "missing",
            Self::OutOfPlace { .. } => "out_of_place",
            Self::Broken { .. } => "broken",
            Self::AnotherKey { .. } => "another_key",
            Self::BadSignature { .. } => "bad_signature",
            Self::WrongCount { .. } => "wrong_count",
            Self::BadKeyChange { .. } => "bad_key_change",
            Self::NoKey => "no_key",
            Self::Unsigned { .. } => "unsigned",
            Self::AnotherIdentity { .. } => "another_identity",
            Self::EndMissing { .. } => "end_missing",
            Self::AnotherHistory { .. } => "another_history",
            Self::SetBack { .. } => "set_back",
            Self::FoundOnOpening { .. } => "found_on_opening",
            Self::JournalGone { .. } => "journal_gone",
            Self::JournalCut { .. } => "journal_cut",
            Self::JournalChanged { .. } => "journal_changed",
            Self::JournalUnreadable { .. } => "journal_unreadable",
            Self::EventsGone { .. } => "events_gone",
            Self::EventsChanged { .. } => "events_changed",
            Self::EventsUnreadable { .. } => "events_unreadable",
            Self::DecisionGone { .. } => "decision_gone",
            Self::DecisionChanged { .. } => "decision_changed",
        }
    }
}

/// A moment of the chain that another place remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// Where, for a sentence.
    pub place: String,
    pub records: u64,
    /// The hash of the head, in hexadecimal digits.
    pub hash: String,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    pub records: u64,
    pub heads: u64,
    /// The key that signs at the end.
    pub key: Option<PublicKey>,
    /// How many records were anchored elsewhere, as the last head says.
    pub anchored: u64,
    /// Where each journal was last, as far as the records say.
    pub journals: BTreeMap<ExecutionId, AuditedJournal>,
    /// What stood in the timeline, oldest first.
    pub events: Vec<AuditedEvents>,
    /// The decisions about permissions, oldest first.
    pub decisions: Vec<AuditedDecision>,
    pub findings: Vec<Finding>,
}

impl Verification {
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// How many events of the timeline the log remembers.
    #[must_use]
    pub fn events_known(&self) -> u64 {
        let counts = self.events.iter().map(AuditedEvents::count);
        counts.sum()
    }

    pub fn report(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS {
            self.findings.push(finding);
        }
    }

    /// Holds the newest that a place remembers against how much it was known to remember.
    /// `None` is a place that remembers nothing.
    pub fn check_place(&mut self, place: &str, newest: Option<u64>) {
        let known = newest.unwrap_or(0);
        if known < self.anchored {
            self.report(Finding::SetBack {
                place: place.to_owned(),
                known,
                stated: self.anchored,
            });
        }
    }

    /// Whether the key in the identity folder is the one that signs.
    pub fn check_identity(&mut self, found: PublicKey) {
        if let Some(key) = self.key.filter(|key| *key != found) {
            self.report(Finding::AnotherIdentity {
                expected: key.name(),
                found: found.name(),
            });
        }
    }
}

/// Reads a chain line by line.
#[derive(Debug)]
pub struct Verifier {
    chain: Chain,
    line: u64,
    /// Records after the last head.
    unsigned: u64,
    remembered: HashMap<Hash, Vec<Remembered>>,
    found: Verification,
}

impl Verifier {
    /// Of a chain of which other places remember this.
    #[must_use]
    pub fn new(remembered: impl IntoIterator<Item = Remembered>) -> Self {
        let mut by_hash: HashMap<Hash, Vec<Remembered>> = HashMap::new();
        for one in remembered {
            let hash = hex::decode_array(&one.hash).unwrap_or(BEGINNING);
            by_hash.entry(hash).or_default().push(one);
        }
        Self {
            chain: Chain::EMPTY,
            line: 0,
            unsigned: 0,
            remembered: by_hash,
            found: Verification::default(),
        }
    }

    /// Whether there is any use in going on.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.found.findings.len() >= FINDINGS
    }

    /// The next line, without its end.
    pub fn line(&mut self, text: &[u8]) {
        self.line += 1;
        let (line, after) = (self.line, self.chain.records);
        let Some(parsed) = Line::parse(text) else {
            self.found.report(Finding::Form { line, after });
            return;
        };
        let sound = hash_is_right(text, parsed.hash());
        if !sound {
            self.found.report(Finding::Changed { line, after });
        }
        let follows = *parsed.prev() == self.chain.hash;
        // Goes on from what the line says, so that one defect is one finding.
        self.chain.hash = *parsed.hash();
        match parsed {
            Line::Record { record, .. } => self.record(&record, follows),
            Line::Head(head) => {
                if !follows {
                    self.found.report(Finding::Broken { line, after });
                }
                self.head(&head, sound);
            }
        }
    }

    fn record(&mut self, record: &AuditRecord, follows: bool) {
        let after = self.chain.records;
        let seq = record.seq;
        if self.line == 1 && seq != 1 {
            self.found.report(Finding::BeginningMissing { first: seq });
        } else if seq > after + 1 {
            let (from, to) = (after + 1, seq - 1);
            self.found.report(Finding::Missing { from, to });
        } else if seq <= after {
            self.found.report(Finding::OutOfPlace { seq, after });
        } else if !follows {
            let line = self.line;
            self.found.report(Finding::Broken { line, after });
        }
        self.chain.records = after.max(seq);
        self.unsigned += 1;
        self.found.records += 1;
        for journal in &record.journals {
            let newest = self.found.journals.entry(journal.execution);
            let newest = newest.or_insert_with(|| journal.clone());
            if newest.sequence <= journal.sequence {
                newest.clone_from(journal);
            }
        }
        self.found.events.extend(record.events.clone());
        self.found.decisions.extend(record.decision.clone());
        if let Some(change) = &record.key {
            self.change_key(seq, change);
        }
        if record.kind == AuditKind::Integrity {
            self.found.report(Finding::FoundOnOpening {
                seq,
                at: record.at.in_utc(),
                what: record.about.clone().unwrap_or_default(),
            });
        }
    }

    fn change_key(&mut self, seq: u64, change: &AuditedKey) {
        match changed_key(change, self.found.key) {
            Some(key) => self.found.key = Some(key),
            None => self.found.report(Finding::BadKeyChange { seq }),
        }
    }

    fn head(&mut self, head: &Head, sound: bool) {
        self.found.heads += 1;
        self.unsigned = 0;
        let records = self.chain.records;
        if head.records != records {
            let said = head.records;
            self.found.report(Finding::WrongCount { records, said });
        }
        match self.found.key {
            None => self.found.report(Finding::NoKey),
            Some(key) if head.key != key.name() => self.found.report(Finding::AnotherKey {
                records,
                key: head.key.clone(),
            }),
            // One that was changed is named already.
            Some(key) if sound && !head.is_signed_by(&key) => {
                self.found.report(Finding::BadSignature { records });
            }
            Some(_) => {}
        }
        self.found.anchored = head.anchored;
        self.remembered.remove(&head.hash);
    }

    /// What was found, when there are no more lines.
    #[must_use]
    pub fn finish(mut self) -> Verification {
        if self.unsigned > 0 {
            let records = self.unsigned;
            self.found.report(Finding::Unsigned { records });
        }
        let found = self.chain.records;
        let mut left: Vec<Remembered> = self.remembered.into_values().flatten().collect();
        left.sort_by(|one, other| (one.records, &one.place).cmp(&(other.records, &other.place)));
        for Remembered { place, records, .. } in left {
            let known = records;
            self.found.report(if known > found {
                Finding::EndMissing {
                    place,
                    known,
                    found,
                }
            } else {
                Finding::AnotherHistory { place, known }
            });
        }
        self.found
    }
}

/// The key that signs after this change, if both keys wanted it.
pub(crate) fn changed_key(change: &AuditedKey, before: Option<PublicKey>) -> Option<PublicKey> {
    let key = PublicKey::from_hex(&change.key)?;
    let named = match &change.before {
        Some(named) => Some(PublicKey::from_hex(named)?),
        None => None,
    };
    if named != before {
        return None;
    }
    let message = key_change(named, key);
    let signed = |key: &PublicKey, signature: &str| {
        let signature = hex::decode(signature);
        signature.is_some_and(|signature| key.verifies(FOR_KEY, &message, &signature))
    };
    let by_before = match (&named, &change.signature_before) {
        (None, None) => true,
        (Some(before), Some(signature)) => signed(before, signature),
        (None, Some(_)) | (Some(_), None) => false,
    };
    (by_before && signed(&key, &change.signature)).then_some(key)
}

/// What both keys sign when one takes the place of the other.
pub(crate) fn key_change(before: Option<PublicKey>, key: PublicKey) -> Vec<u8> {
    let before = before.map_or([0; 32], |before| before.0);
    [before, key.0].concat()
}
