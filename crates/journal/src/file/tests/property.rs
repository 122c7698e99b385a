//! Random lives, random places to stop.

use std::sync::Arc;

use proptest::prelude::*;

use crate::file::FileStore;
use crate::inspect::verify;
use crate::replay::{replay, replay_until};
use crate::suite::create;
use crate::suite::history::History;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn replay_never_disagrees_with_what_was_live(seed: u64, steps in 1usize..70, compact_at in 0usize..70) {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::open(folder.path()).unwrap();
        let journal = create(Arc::new(store.clone()));
        let execution = journal.execution();
        let mut history = History::new(seed);
        let mut live = vec![journal.state().unwrap()];
        for _ in 0..steps {
            history.step(&journal).unwrap();
            live.push(journal.state().unwrap());
        }
        for state in &live {
            prop_assert_eq!(&replay_until(&store, execution, state.head).unwrap().state, state);
        }
        let before = journal.state().unwrap();
        journal.compact().unwrap();
        prop_assert_eq!(&replay(&store, execution).unwrap().state, &before);
        // What follows a compaction is told like what follows none.
        for step in 0..steps {
            history.step(&journal).unwrap();
            if step == compact_at {
                journal.compact().unwrap();
            }
            prop_assert_eq!(&replay(&store, execution).unwrap().state, &journal.state().unwrap());
        }
        prop_assert_eq!(verify(&store, execution).unwrap().findings, vec![]);
    }
}
