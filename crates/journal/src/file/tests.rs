//! The promises of a journal store on files, and those only files make.

mod access;
mod crash;
mod property;
mod tamper;

use std::sync::Arc;

use crate::file::FileStore;
use crate::store::JournalStore;
use crate::suite;

macro_rules! cases {
    ($($case:ident),* $(,)?) => {$(
        #[test]
        fn $case() {
            let folder = tempfile::tempdir().unwrap();
            suite::$case(&|| -> Arc<dyn JournalStore> {
                Arc::new(FileStore::open(folder.path()).unwrap())
            });
        }
    )*};
}

crate::for_each_journal_case!(cases);
