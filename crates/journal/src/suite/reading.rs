//! Cases about what is told: windows, replay, compaction, inspection.

use super::history::History;
use super::{StoreOpener, at, create, observation, reopen};
use crate::catalogue::{Message, Signal};
use crate::frame::Sequence;
use crate::inspect::{Difference, ExportForm, Side, diff, export, verify};
use crate::observation::{Observed, Source};
use crate::record::{Record, RecordBody, RecordKind};
use crate::replay::{replay, replay_until};
use crate::state::ExecutionState;
use crate::store::{ReadLimit, window};

fn lived(open_store: StoreOpener<'_>, seed: u64, steps: usize) -> crate::Journal {
    let journal = create(open_store());
    let mut history = History::new(seed);
    for _ in 0..steps {
        history.step(&journal).unwrap();
    }
    journal
}

fn all_records(journal: &crate::Journal) -> Vec<Record> {
    let everything = ReadLimit {
        records: usize::MAX,
        bytes: usize::MAX,
    };
    let window = journal.window(Sequence::START, everything).unwrap();
    assert!(!window.more);
    window.records
}

pub fn windows_cover_every_record_once(open_store: StoreOpener<'_>) {
    let journal = lived(open_store, 11, 60);
    let all = all_records(&journal);
    assert_eq!(all.last().unwrap().sequence, journal.state().unwrap().head);
    for records in [1, 7, 1000] {
        let limit = ReadLimit {
            records,
            bytes: usize::MAX,
        };
        let (mut read, mut after) = (Vec::new(), Sequence::START);
        loop {
            let window = journal.window(after, limit).unwrap();
            assert!(window.records.len() <= records);
            read.extend(window.records);
            after = window.next;
            if !window.more {
                break;
            }
        }
        assert_eq!(read, all);
        let beyond = journal.window(after, limit).unwrap();
        assert_eq!((beyond.records.len(), beyond.next), (0, after));
    }
}

pub fn a_window_is_bounded_by_bytes_and_never_empty(open_store: StoreOpener<'_>) {
    let journal = create(open_store());
    let execution = journal.execution();
    for number in 0..4 {
        let text = "x".repeat(4000);
        let said = Observed::Signal(Signal::Message(Message {
            text: text.as_str().try_into().unwrap(),
        }));
        let key = format!("signal:{number}");
        journal
            .observe(at(1), observation(execution, &key, Source::McpTool, said))
            .unwrap();
    }
    let read = |bytes| {
        let limit = ReadLimit {
            records: 100,
            bytes,
        };
        window(&*open_store(), execution, Sequence(1), limit).unwrap()
    };
    assert_eq!(read(1).records.len(), 1);
    assert!(read(1).more);
    // The observations with 4000 characters and the small decisions between them.
    assert_eq!(read(10_000).records.len(), 4);
}

pub fn every_prefix_replays_to_the_state_at_that_point(open_store: StoreOpener<'_>) {
    let journal = create(open_store());
    let execution = journal.execution();
    let mut history = History::new(8);
    let mut live: Vec<ExecutionState> = vec![journal.state().unwrap()];
    for _ in 0..80 {
        history.step(&journal).unwrap();
        let state = journal.state().unwrap();
        if state.head > live.last().unwrap().head {
            live.push(state);
        }
    }
    assert!(live.len() > 40, "{} groups", live.len());
    let store = open_store();
    for (state, next) in live.iter().zip(live.iter().skip(1).map(Some).chain([None])) {
        assert_eq!(
            &replay_until(&*store, execution, state.head).unwrap().state,
            state
        );
        // In the middle of a group nothing of it counts.
        if let Some(next) = next
            && next.head.0 - state.head.0 > 1
        {
            let within = Sequence(next.head.0 - 1);
            assert_eq!(
                &replay_until(&*store, execution, within).unwrap().state,
                state
            );
        }
    }
}

pub fn compaction_changes_nothing_that_is_told(open_store: StoreOpener<'_>) {
    for seed in [1, 4, 9] {
        let journal = lived(open_store, seed, 120);
        let execution = journal.execution();
        let before = journal.state().unwrap();
        let records = all_records(&journal);
        let compacted = journal.compact().unwrap();
        assert!(compacted.removed > 0, "seed {seed} has nothing to compact");
        assert_eq!(journal.state().unwrap(), before);
        assert_eq!(replay(&*open_store(), execution).unwrap().state, before);
        let kept = all_records(&journal);
        assert_eq!(kept.len() as u64 + compacted.removed, records.len() as u64);
        let essential = |records: &[Record]| -> Vec<Record> {
            let essential = |record: &&Record| {
                !matches!(
                    record.body.kind(),
                    RecordKind::ActivityUpdated | RecordKind::Header
                )
            };
            records.iter().filter(essential).cloned().collect()
        };
        assert_eq!(essential(&kept), essential(&records));
        assert!(verify(&*open_store(), execution).unwrap().is_sound());
    }
}

pub fn a_compacted_journal_goes_on(open_store: StoreOpener<'_>) {
    let journal = create(open_store());
    let execution = journal.execution();
    let mut history = History::new(5);
    for round in 1..=3 {
        for _ in 0..40 {
            history.step(&journal).unwrap();
        }
        assert_eq!(journal.compact().unwrap().segment, round);
    }
    history.step(&journal).unwrap();
    let before = journal.state().unwrap();
    drop(journal);
    let (journal, _) = reopen(open_store, execution);
    assert_eq!(journal.state().unwrap(), before);
    history.step(&journal).unwrap();
    let verification = verify(&*open_store(), execution).unwrap();
    assert_eq!(verification.findings, []);
    assert_eq!(verification.segment, 3);
}

pub fn a_written_journal_verifies(open_store: StoreOpener<'_>) {
    let journal = lived(open_store, 21, 50);
    let verification = verify(&*open_store(), journal.execution()).unwrap();
    assert_eq!(verification.findings, []);
    assert_eq!(verification.head.sequence, journal.state().unwrap().head);
    assert_eq!(verification.records, verification.head.sequence.0);
}

pub fn an_export_is_complete(open_store: StoreOpener<'_>) {
    let journal = lived(open_store, 22, 30);
    let all = all_records(&journal);
    let mut out = Vec::new();
    let count = export(
        &*open_store(),
        journal.execution(),
        ExportForm::Records,
        &mut out,
    )
    .unwrap();
    let read: Vec<Record> = out
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(read, all);
    assert_eq!(count, all.len() as u64);
    let mut lines = Vec::new();
    export(
        &*open_store(),
        journal.execution(),
        ExportForm::Lines,
        &mut lines,
    )
    .unwrap();
    let lines = lines
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    for (line, record) in lines.zip(&all) {
        assert_eq!(
            &crate::frame::Line::parse(line).unwrap().record().unwrap(),
            record
        );
    }
}

pub fn a_diff_names_what_differs(open_store: StoreOpener<'_>) {
    let journal = lived(open_store, 30, 60);
    let other = create(open_store());
    let store = open_store();
    let side = |journal: &crate::Journal| Side {
        store: &*store,
        execution: journal.execution(),
    };
    assert_eq!(diff(side(&journal), side(&journal), 10).unwrap(), []);
    let differences = diff(side(&journal), side(&other), usize::MAX).unwrap();
    let records = all_records(&journal);
    assert_eq!(differences.len(), records.len());
    assert!(matches!(
        &differences[0],
        Difference::Changed { left, .. } if matches!(left.body, RecordBody::Header(_))
    ));
    let only_left: Vec<_> = differences[1..]
        .iter()
        .map(|difference| match difference {
            Difference::OnlyLeft { record } => (**record).clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(only_left, records[1..]);
    assert_eq!(diff(side(&journal), side(&other), 3).unwrap().len(), 3);
}
