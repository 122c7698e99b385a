//! Whatever is changed in the files after the fact is found.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use missiond_core::ExecutionId;

use crate::file::FileStore;
use crate::frame::{Head, Line, Sequence, encode_line};
use crate::inspect::{Finding, verify};
use crate::journal::{Journal, JournalError};
use crate::policy::Policy;
use crate::replay::ReplayError;
use crate::store::StoreError;
use crate::suite::create;
use crate::suite::history::History;

struct Victim {
    _folder: tempfile::TempDir,
    store: FileStore,
    execution: ExecutionId,
    path: PathBuf,
    original: Vec<u8>,
}

impl Victim {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::open(folder.path()).unwrap();
        let journal = create(Arc::new(store.clone()));
        let mut history = History::new(13);
        for _ in 0..8 {
            history.step(&journal).unwrap();
        }
        let execution = journal.execution();
        drop(journal);
        let path = store.path(execution);
        let original = fs::read(&path).unwrap();
        Self {
            _folder: folder,
            store,
            execution,
            path,
            original,
        }
    }

    fn lines(&self) -> Vec<&[u8]> {
        self.original
            .split_inclusive(|&byte| byte == b'\n')
            .collect()
    }

    fn findings_with(&self, bytes: &[u8]) -> Vec<Finding> {
        fs::write(&self.path, bytes).unwrap();
        verify(&self.store, self.execution).unwrap().findings
    }

    fn open_with(&self, bytes: &[u8]) -> Result<(), JournalError> {
        fs::write(&self.path, bytes).unwrap();
        let store = Arc::new(self.store.clone());
        Journal::open(store, Arc::new(Policy::standard()), self.execution).map(drop)
    }
}

#[test]
fn any_flipped_bit_is_found() {
    let victim = Victim::new();
    assert_eq!(victim.findings_with(&victim.original), []);
    let mut tampered = victim.original.clone();
    for at in 0..tampered.len() {
        let bit = 1 << (at % 8);
        tampered[at] ^= bit;
        assert_ne!(victim.findings_with(&tampered), [], "byte {at}");
        tampered[at] ^= bit;
    }
}

#[test]
fn a_changed_record_with_a_right_checksum_is_found_by_its_hash() {
    let victim = Victim::new();
    let mut lines: Vec<Vec<u8>> = victim.lines().into_iter().map(<[u8]>::to_vec).collect();
    let line = String::from_utf8(lines[3].clone()).unwrap();
    let changed = line
        .replacen("\"verdict\":\"", "\"verdict\": \"", 1)
        .replacen("\"at\":\"2026", "\"at\":\"2027", 1);
    let body = &changed[..changed.rfind(",\"crc\"").unwrap()];
    let crc = crc32fast::hash(body.as_bytes());
    lines[3] = format!("{body},\"crc\":\"{crc:08x}\"}}\n").into_bytes();
    let findings = victim.findings_with(&lines.concat());
    assert_eq!(
        findings[0],
        Finding::BadHash {
            sequence: Sequence(4)
        }
    );
}

#[test]
fn a_removed_record_is_found_and_named() {
    let victim = Victim::new();
    let lines = victim.lines();
    for removed in 1..lines.len() - 1 {
        let mut left = lines.clone();
        left.remove(removed);
        let gone = Sequence(removed as u64 + 1);
        let findings = victim.findings_with(&left.concat());
        assert!(
            findings.contains(&Finding::Missing {
                from: gone,
                to: gone
            }),
            "{findings:?}"
        );
        assert!(victim.open_with(&left.concat()).is_err());
    }
}

#[test]
fn a_reordered_pair_is_found() {
    let victim = Victim::new();
    for first in 0..victim.lines().len() - 1 {
        let mut lines = victim.lines();
        lines.swap(first, first + 1);
        assert_ne!(victim.findings_with(&lines.concat()), [], "pair {first}");
        assert!(victim.open_with(&lines.concat()).is_err(), "pair {first}");
    }
}

#[test]
fn a_missing_beginning_is_found() {
    let victim = Victim::new();
    let lines = victim.lines();
    for cut in 1..lines.len() - 1 {
        let findings = victim.findings_with(&lines[cut..].concat());
        assert!(findings.contains(&Finding::NoBeginning), "{findings:?}");
        assert!(victim.open_with(&lines[cut..].concat()).is_err());
    }
}

#[test]
fn a_missing_end_is_found_and_the_journal_is_not_opened_shorter() {
    let victim = Victim::new();
    let lines = victim.lines();
    let expected = Sequence(lines.len() as u64);
    for kept in 1..lines.len() {
        let found = Sequence(kept as u64);
        let left = lines[..kept].concat();
        let findings = victim.findings_with(&left);
        assert!(
            findings.contains(&Finding::EndMissing { expected, found }),
            "{findings:?}"
        );
        let error = victim.open_with(&left).unwrap_err();
        assert!(
            matches!(error, JournalError::Store(StoreError::EndMissing { .. })),
            "{error}"
        );
        let replayed = crate::replay(&victim.store, victim.execution).unwrap_err();
        assert!(matches!(
            replayed,
            ReplayError::Store(StoreError::EndMissing { .. })
        ));
        assert_eq!(
            fs::read(&victim.path).unwrap(),
            left,
            "it was left as it is"
        );
    }
    assert!(
        !victim
            .findings_with(&victim.original[..victim.original.len() - 1])
            .is_empty()
    );
    assert!(!victim.findings_with(b"").is_empty());
}

#[test]
fn a_missing_head_is_found_and_the_journal_is_not_opened() {
    let victim = Victim::new();
    fs::remove_file(victim.path.with_extension("").with_extension("head")).unwrap();
    assert_eq!(victim.findings_with(&victim.original), [Finding::NoAnchor]);
    let error = victim.open_with(&victim.original).unwrap_err();
    assert!(
        matches!(error, JournalError::Store(StoreError::AnchorMissing { .. })),
        "{error}"
    );
}

/// Somebody who writes the lines anew with a right chain is found out by the
/// head alone.
#[test]
fn a_chain_written_anew_does_not_fit_the_head() {
    let victim = Victim::new();
    let mut forged = Vec::new();
    let mut head = Head::EMPTY;
    for raw in victim.lines() {
        let line = Line::parse(raw.strip_suffix(b"\n").unwrap()).unwrap();
        let record = line.record().unwrap();
        let hash = encode_line(
            head,
            record.sequence,
            (line.index as usize, line.size as usize),
            crate::suite::at(99_999),
            &record.body,
            &mut forged,
        )
        .unwrap();
        head = Head {
            sequence: record.sequence,
            hash,
            records: head.records + 1,
        };
    }
    let sequence = head.sequence;
    assert_eq!(
        victim.findings_with(&forged),
        [Finding::AnotherEnd { sequence }]
    );
    assert!(victim.open_with(&forged).is_err());
}
