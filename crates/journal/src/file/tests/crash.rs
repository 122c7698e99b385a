//! Crashes: at every byte of a group, and before every step that changes what is
//! on disk. Afterwards everything acknowledged is there once, and what was not
//! acknowledged is there whole or not at all.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use missiond_core::ExecutionId;

use crate::catalogue::{CompletedClaim, Fact, Process};
use crate::file::FileStore;
use crate::file::gate::{Gate, Step};
use crate::frame::Sequence;
use crate::inspect::verify;
use crate::journal::{Journal, JournalError};
use crate::observation::{Observed, Source};
use crate::policy::{Outcome, Policy};
use crate::store::{Recovery, StoreError};
use crate::suite::history::History;
use crate::suite::{at, create, header, observation};
use missiond_core::List;

fn open(store: &FileStore, execution: ExecutionId) -> Result<(Journal, Recovery), JournalError> {
    Journal::open(
        Arc::new(store.clone()),
        Arc::new(Policy::standard()),
        execution,
    )
}

/// The files of a journal at one moment.
#[derive(Clone)]
struct Moment {
    lines: Vec<u8>,
    head: Vec<u8>,
}

impl Moment {
    fn of(path: &Path) -> Self {
        Self {
            lines: fs::read(path).unwrap(),
            head: fs::read(head_path(path)).unwrap(),
        }
    }
}

fn head_path(path: &Path) -> std::path::PathBuf {
    path.with_extension("").with_extension("head")
}

#[test]
fn a_write_cut_at_any_byte_leaves_the_group_whole_or_absent() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let journal = create(Arc::new(store.clone()));
    let execution = journal.execution();
    let path = store.path(execution);
    let mut history = History::new(17);
    for _ in 0..6 {
        history.step(&journal).unwrap();
    }
    let (mut before, mut state) = (Moment::of(&path), journal.state().unwrap());
    let mut groups = 0;
    while groups < 3 {
        history.step(&journal).unwrap();
        let (after, next) = (Moment::of(&path), journal.state().unwrap());
        if next.head.0 - state.head.0 < 2 {
            (before, state) = (after, next);
            continue;
        }
        groups += 1;
        // Elsewhere, because the journal itself goes on.
        let wreck = tempfile::tempdir().unwrap();
        let wrecked = FileStore::open(wreck.path()).unwrap();
        let wrecked_path = wrecked.path(execution);
        for cut in before.lines.len()..=after.lines.len() {
            fs::write(&wrecked_path, &after.lines[..cut]).unwrap();
            fs::write(head_path(&wrecked_path), &before.head).unwrap();
            let (reopened, recovery) = open(&wrecked, execution).unwrap();
            let whole = cut == after.lines.len();
            assert_eq!(
                reopened.state().unwrap(),
                if whole { next.clone() } else { state.clone() }
            );
            let torn = (cut - before.lines.len()) as u64;
            match recovery.torn {
                Some(found) => {
                    assert!(!whole);
                    assert_eq!((found.after, found.bytes), (state.head, torn));
                    let kept = fs::read(found.kept_in.unwrap()).unwrap();
                    assert_eq!(kept, after.lines[before.lines.len()..cut]);
                }
                None => assert!(whole || torn == 0),
            }
            assert_eq!(
                recovery.beyond_anchor,
                if whole { next.head.0 - state.head.0 } else { 0 }
            );
            drop(reopened);
            assert!(verify(&wrecked, execution).unwrap().is_sound());

            // Once acknowledged, the same cut is a loss, and is not papered over.
            fs::write(&wrecked_path, &after.lines[..cut]).unwrap();
            fs::write(head_path(&wrecked_path), &after.head).unwrap();
            assert_eq!(open(&wrecked, execution).is_ok(), whole, "cut at {cut}");
        }
        (before, state) = (after, next);
    }
}

#[test]
fn a_head_cut_at_any_byte_leaves_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let journal = create(Arc::new(store.clone()));
    let execution = journal.execution();
    let path = store.path(execution);
    let mut history = History::new(19);
    for _ in 0..5 {
        history.step(&journal).unwrap();
    }
    let before = Moment::of(&path);
    let head = journal.state().unwrap().head;
    while journal.state().unwrap().head == head {
        history.step(&journal).unwrap();
    }
    let (after, state) = (Moment::of(&path), journal.state().unwrap());
    drop(journal);
    for cut in 0..=after.head.len() {
        let torn_head = [
            &after.head[..cut],
            &before.head[cut.min(before.head.len())..],
        ]
        .concat();
        fs::write(&path, &after.lines).unwrap();
        fs::write(head_path(&path), torn_head).unwrap();
        let (reopened, recovery) = open(&store, execution).unwrap();
        assert_eq!(reopened.state().unwrap(), state);
        assert_eq!(recovery.torn, None);
    }
}

/// A script of observations whose effects would show if they were lost or done
/// twice, with a compaction in the middle.
struct Script {
    execution: ExecutionId,
    acknowledged: Vec<usize>,
}

const CLAIMS: usize = 6;

impl Script {
    fn claim(&self, journal: &Journal, number: usize) -> Result<Outcome, JournalError> {
        let claim = CompletedClaim {
            summary: format!("claim {number}").as_str().try_into().unwrap(),
            artifacts: List::default(),
        };
        let observed = Observed::Signal(claim.into());
        let key = format!("signal:{number}");
        let observation = observation(self.execution, &key, Source::McpTool, observed);
        Ok(journal.observe(at(number as i64), observation)?.outcome)
    }

    /// Runs until it is done or the disk is gone.
    fn run(&mut self, store: &FileStore) -> Result<(), JournalError> {
        let policy = Arc::new(Policy::standard());
        let made = header(self.execution);
        let journal = Journal::create(Arc::new(store.clone()), policy, at(0), made)?;
        let started = Observed::Fact(Fact::Process(Process::Started { pid: 1 }));
        let started = observation(self.execution, "process:1", Source::Process, started);
        journal.observe(at(1), started)?;
        for number in 0..CLAIMS {
            self.claim(&journal, number)?;
            self.acknowledged.push(number);
            if number == CLAIMS / 2 {
                let update = crate::record::ActivityUpdated {
                    activity: Some(missiond_core::ExecutionActivity::Testing),
                    ..Default::default()
                };
                journal.update_activity(at(2), update.clone())?;
                journal.update_activity(at(3), update)?;
                assert_eq!(journal.compact()?.removed, 1);
            }
        }
        Ok(())
    }
}

#[test]
fn a_crash_before_any_step_loses_nothing_acknowledged_and_repeats_nothing() {
    let mut steps_seen = std::collections::HashSet::new();
    for fatal in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let passed = Arc::new(AtomicUsize::new(0));
        let died_at = Arc::new(parking_lot::Mutex::new(None));
        let gate = Gate::guarded({
            let (passed, died_at) = (passed.clone(), died_at.clone());
            move |step: Step| {
                if passed.fetch_add(1, Ordering::SeqCst) < fatal {
                    return Ok(());
                }
                died_at.lock().get_or_insert(step);
                Err(StoreError::Io {
                    what: format!("{step:?}"),
                    detail: "the machine stopped".into(),
                })
            }
        });
        let mut script = Script {
            execution: ExecutionId::generate(),
            acknowledged: Vec::new(),
        };
        let dying = FileStore::with_gate(folder.path(), gate).unwrap();
        let ran = script.run(&dying);
        let died_at = *died_at.lock();
        let Some(step) = died_at else {
            assert_eq!(ran, Ok(()));
            assert!(fatal > 20, "the script has {fatal} steps");
            break;
        };
        steps_seen.insert(step);

        let store = FileStore::open(folder.path()).unwrap();
        let journal = match open(&store, script.execution) {
            Ok((journal, _)) => journal,
            Err(JournalError::Store(StoreError::NotFound { .. })) => {
                assert!(script.acknowledged.is_empty());
                // Creating it again takes over what the crash left.
                let policy = Arc::new(Policy::standard());
                Journal::create(
                    Arc::new(store.clone()),
                    policy,
                    at(0),
                    header(script.execution),
                )
                .unwrap()
            }
            Err(error) => panic!("after a crash before {step:?} ({fatal}): {error}"),
        };
        let state = journal.state().unwrap();
        assert_eq!(
            crate::replay(&store, script.execution).unwrap().state,
            state
        );
        for number in 0..CLAIMS {
            let outcome = script.claim(&journal, number).unwrap();
            if script.acknowledged.contains(&number) {
                assert!(
                    matches!(outcome, Outcome::Duplicate { .. }),
                    "claim {number} was lost by a crash before {step:?}: {outcome:?}"
                );
            }
        }
        let state = journal.state().unwrap();
        assert_eq!(state.due.len(), CLAIMS, "each effect is due once");
        drop(journal);
        assert!(verify(&store, script.execution).unwrap().is_sound());
    }
    for step in [
        Step::WriteLines,
        Step::SyncLines,
        Step::WriteHead,
        Step::SyncHead,
        Step::Rename,
        Step::SyncFolder,
    ] {
        assert!(steps_seen.contains(&step), "{step:?} was never reached");
    }
}

#[test]
fn a_crash_while_repairing_can_be_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let journal = create(Arc::new(store.clone()));
    let execution = journal.execution();
    let path = store.path(execution);
    let mut history = History::new(23);
    for _ in 0..5 {
        history.step(&journal).unwrap();
    }
    let state = journal.state().unwrap();
    drop(journal);
    let sound = Moment::of(&path);
    for fatal in 0.. {
        fs::write(&path, [&sound.lines[..], br#"{"seq":999,"gro"#].concat()).unwrap();
        fs::write(head_path(&path), &sound.head).unwrap();
        let passed = AtomicUsize::new(0);
        let gate = Gate::guarded(move |step| {
            if passed.fetch_add(1, Ordering::SeqCst) < fatal {
                Ok(())
            } else {
                Err(StoreError::Io {
                    what: format!("{step:?}"),
                    detail: "the machine stopped".into(),
                })
            }
        });
        let dying = FileStore::with_gate(folder.path(), gate).unwrap();
        let survived = open(&dying, execution).is_ok();
        let (journal, _) = open(&store, execution).unwrap();
        assert_eq!(journal.state().unwrap(), state);
        if survived {
            assert!(fatal >= 3, "repairing has {fatal} steps");
            break;
        }
    }
}

#[test]
fn after_a_failed_write_the_journal_refuses_until_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let journal = create(Arc::new(store.clone()));
    let execution = journal.execution();
    drop(journal);
    let armed = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let gate = Gate::guarded({
        let armed = armed.clone();
        move |step| {
            if step == Step::SyncLines && armed.swap(false, Ordering::SeqCst) {
                return Err(StoreError::Full);
            }
            Ok(())
        }
    });
    let failing = FileStore::with_gate(folder.path(), gate).unwrap();
    let (journal, _) = open(&failing, execution).unwrap();
    let said = |key: &str| {
        let started = Observed::Fact(Fact::Process(Process::Started { pid: 1 }));
        observation(execution, key, Source::Process, started)
    };
    armed.store(true, Ordering::SeqCst);
    assert_eq!(
        journal.observe(at(1), said("a")).unwrap_err(),
        JournalError::Store(StoreError::Full)
    );
    for _ in 0..2 {
        let error = journal.observe(at(1), said("b")).unwrap_err();
        assert!(matches!(error, JournalError::Broken { .. }), "{error}");
        assert!(journal.state().is_err());
    }
    drop(journal);
    // The lines reached the file without their sync: whole, so they count.
    let (journal, recovery) = open(&store, execution).unwrap();
    assert!(recovery.beyond_anchor > 0);
    assert!(matches!(
        journal.observe(at(2), said("a")).unwrap().outcome,
        Outcome::Duplicate {
            original: Sequence(2)
        }
    ));
}
