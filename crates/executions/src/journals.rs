//! The journals of a home, in whichever of the two places each is kept. New ones
//! go where `journal.store` says; those that are there stay where they are, so a
//! changed setting loses nothing and asks for no move.

use missiond_config::JournalKeeping;
use missiond_core::ExecutionId;
use missiond_journal::store::{Batch, OpenedJournal, StoreError, Visitor};
use missiond_journal::{FileStore, Head, JournalStore, JournalWriter, Sequence};

use crate::database_journal::DatabaseJournals;

/// Both places, and which of them takes what is new.
#[derive(Debug)]
pub struct HomeJournals {
    files: FileStore,
    database: DatabaseJournals,
    keeping: JournalKeeping,
    /// What a person calls the database.
    database_name: String,
}

impl HomeJournals {
    pub const fn new(
        files: FileStore,
        database: DatabaseJournals,
        keeping: JournalKeeping,
        database_name: String,
    ) -> Self {
        Self {
            files,
            database,
            keeping,
            database_name,
        }
    }

    /// Whether there is a journal of this execution.
    pub fn has(&self, execution: ExecutionId) -> Result<bool, StoreError> {
        Ok(self.in_files(execution) || self.database.anchor(execution)?.is_some())
    }

    /// Whether this home writes it; on a shared database there are others'.
    pub fn is_ours(&self, execution: ExecutionId) -> Result<bool, StoreError> {
        Ok(self.in_files(execution) || self.database.is_ours(execution)?)
    }

    /// Where it is, for a person.
    pub fn location(&self, execution: ExecutionId) -> String {
        if self.in_files(execution) {
            self.files.path(execution).display().to_string()
        } else {
            self.database_name.clone()
        }
    }

    fn in_files(&self, execution: ExecutionId) -> bool {
        self.files.path(execution).exists()
    }

    fn store_of(&self, execution: ExecutionId) -> &dyn JournalStore {
        if self.in_files(execution) {
            &self.files
        } else {
            &self.database
        }
    }
}

impl JournalStore for HomeJournals {
    fn create(
        &self,
        execution: ExecutionId,
        first: Batch<'_>,
    ) -> Result<Box<dyn JournalWriter>, StoreError> {
        if self.has(execution)? {
            return Err(StoreError::Exists { execution });
        }
        match self.keeping {
            JournalKeeping::Files => self.files.create(execution, first),
            JournalKeeping::Database => self.database.create(execution, first),
        }
    }

    fn open(&self, execution: ExecutionId) -> Result<OpenedJournal, StoreError> {
        self.store_of(execution).open(execution)
    }

    fn list(&self) -> Result<Vec<ExecutionId>, StoreError> {
        let mut found = self.files.list()?;
        found.extend(self.database.list()?);
        found.sort_unstable();
        Ok(found)
    }

    fn scan(
        &self,
        execution: ExecutionId,
        after: Sequence,
        visit: &mut Visitor<'_>,
    ) -> Result<(), StoreError> {
        self.store_of(execution).scan(execution, after, visit)
    }

    fn unfinished(&self, execution: ExecutionId) -> Result<u64, StoreError> {
        self.store_of(execution).unfinished(execution)
    }

    fn anchor(&self, execution: ExecutionId) -> Result<Option<Head>, StoreError> {
        self.store_of(execution).anchor(execution)
    }
}
