//! Where journals may be kept, and who may read them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::file::FileStore;
use crate::frame::Sequence;
use crate::store::{ReadLimit, StoreError, window};
use crate::suite::create;
use crate::suite::history::History;

#[test]
fn files_and_folder_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let journal = create(std::sync::Arc::new(store.clone()));
    let path = store.path(journal.execution());
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let mut files = 0;
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
        files += 1;
    }
    assert_eq!(files, 3, "the lines, the head and the lock");
}

#[test]
fn a_place_within_a_worktree_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(".git"), "gitdir: elsewhere").unwrap();
    let error = FileStore::open(&folder.path().join("state/missiond")).unwrap_err();
    assert!(matches!(error, StoreError::BadPlace { .. }));
    assert!(error.to_string().contains("worktree"), "{error}");
}

#[test]
fn a_folder_others_may_enter_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let journals = folder.path().join("agent-journals");
    fs::create_dir(&journals).unwrap();
    fs::set_permissions(&journals, fs::Permissions::from_mode(0o755)).unwrap();
    let error = FileStore::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("chmod 700"), "{error}");
}

#[test]
fn a_window_is_found_anywhere_in_a_long_journal() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let journal = create(std::sync::Arc::new(store.clone()));
    let mut history = History::new(2);
    // Beyond the piece that is read without searching.
    while fs::metadata(store.path(journal.execution())).unwrap().len() < 600 * 1024 {
        history.step(&journal).unwrap();
    }
    let head = journal.state().unwrap().head;
    let limit = ReadLimit {
        records: 3,
        bytes: usize::MAX,
    };
    for after in (0..head.0).step_by(97) {
        let window = window(&store, journal.execution(), Sequence(after), limit).unwrap();
        assert_eq!(window.records[0].sequence, Sequence(after + 1));
    }
}

#[test]
fn a_reader_sees_whole_groups_while_a_writer_writes() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let journal = create(std::sync::Arc::new(store.clone()));
    let execution = journal.execution();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut history = History::new(6);
            for _ in 0..300 {
                history.step(&journal).unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Release);
        });
        let mut reads = 0;
        while !done.load(std::sync::atomic::Ordering::Acquire) || reads == 0 {
            crate::replay(&store, execution).unwrap();
            reads += 1;
        }
    });
}
