//! Where a journal is: a file of this home, a file anywhere, or the database.
//! Each is opened for looking only.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use missiond_api::Home;
use missiond_config::{Config, JournalKeeping};
use missiond_core::{ErrorCode, ExecutionId, SystemClock};
use missiond_executions::database_journal::{DatabaseJournals, Holder};
use missiond_journal::inspect::Side;
use missiond_journal::store::StoreError;
use missiond_journal::{FileStore, JournalStore};
use missiond_store::executions::{self, ExecutionFilter};
use missiond_store::{DbUrl, Engine, MissionDb};
use tokio::runtime::Runtime;

use super::store_failure;
use crate::failure::Failure;
use crate::output::Output;

/// Where one journal is.
pub(super) struct JournalLocation {
    backend: JournalBackend,
    pub(super) execution: ExecutionId,
}

enum JournalBackend {
    Files(FileStore),
    Database(Rc<Database>),
}

/// The journals in the database of this home.
struct Database {
    journals: DatabaseJournals,
    /// Without its password.
    name: String,
    db: MissionDb,
    runtime: Runtime,
}

impl JournalLocation {
    /// What a person calls it: an id of this home, or a file anywhere.
    pub(super) fn of(name: &str) -> Result<Self, Failure> {
        if let Ok(execution) = name.parse() {
            return Self::of_execution(execution);
        }
        let path = Path::new(name);
        let Some(execution) = FileStore::execution_of(path) else {
            let message = format!("`{name}` names no journal");
            return Err(Failure::new(ErrorCode::InvalidParams, message).hint(
                "give the id of an execution (exec_…) or a file named exec_….interaction.jsonl",
            ));
        };
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let files = FileStore::open_read_only(folder.unwrap_or(Path::new(".")));
        if files.path(execution).exists() {
            Ok(Self::in_files(files, execution))
        } else {
            Err(missing(execution).hint(format!("there is no file {name}")))
        }
    }

    fn of_execution(execution: ExecutionId) -> Result<Self, Failure> {
        let home = Home::from_env()?;
        let files = own_files(&home);
        if files.path(execution).exists() {
            return Ok(Self::in_files(files, execution));
        }
        if let Some(database) = Database::of(&home)?
            && database
                .journals
                .anchor(execution)
                .map_err(|error| store_failure(&error))?
                .is_some()
        {
            return Ok(Self {
                backend: JournalBackend::Database(Rc::new(database)),
                execution,
            });
        }
        let hint = "`mission journal verify --all` lists the journals of this home";
        Err(missing(execution).hint(hint))
    }

    /// Every journal of this home, those in files first. Files can be checked
    /// without a database that only may hold more.
    pub(super) fn every(output: &mut Output) -> Result<Vec<Self>, Failure> {
        let home = Home::from_env()?;
        let files = own_files(&home);
        let mut found = Vec::new();
        if files.is_there() {
            let location = |execution| Self::in_files(files.clone(), execution);
            found.extend(listed(&files)?.into_iter().map(location));
        }
        match Database::of(&home) {
            Ok(None) => {}
            Ok(Some(database)) => {
                let database = Rc::new(database);
                let location = |execution| Self {
                    backend: JournalBackend::Database(Rc::clone(&database)),
                    execution,
                };
                found.extend(listed(&database.journals)?.into_iter().map(location));
            }
            Err(failure) if keeping(&home) == JournalKeeping::Files => {
                let message = &failure.message;
                output.notice(&format!("only files were looked at: {message}"));
            }
            Err(failure) => return Err(failure),
        }
        Ok(found)
    }

    /// Executions that the database knows and of which there is no journal. On a shared
    /// database others' journals are not here, so nothing is said of it.
    pub(super) fn missing(found: &[Self]) -> Result<Vec<ExecutionId>, Failure> {
        let Some(database) = Database::of(&Home::from_env()?)? else {
            return Ok(Vec::new());
        };
        if database.db.engine() != Engine::Sqlite {
            return Ok(Vec::new());
        }
        let everything = ExecutionFilter::Newest { limit: u32::MAX };
        let read = database
            .db
            .read(move |tx| Box::pin(executions::list(tx, everything)));
        let known = database.runtime.block_on(read)?;
        let there: HashSet<_> = found.iter().map(|one| one.execution).collect();
        let missing = known.into_iter().map(|row| row.id);
        Ok(missing.filter(|id| !there.contains(id)).collect())
    }

    const fn in_files(files: FileStore, execution: ExecutionId) -> Self {
        Self {
            backend: JournalBackend::Files(files),
            execution,
        }
    }

    pub(super) fn store(&self) -> &dyn JournalStore {
        match &self.backend {
            JournalBackend::Files(files) => files,
            JournalBackend::Database(database) => &database.journals,
        }
    }

    pub(super) fn side(&self) -> Side<'_> {
        Side {
            store: self.store(),
            execution: self.execution,
        }
    }

    /// The file it is in, if it is in one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        match &self.backend {
            JournalBackend::Files(files) => Some(files.path(self.execution)),
            JournalBackend::Database(_) => None,
        }
    }

    /// The file or the database, for a person.
    pub(super) fn name(&self) -> String {
        match &self.backend {
            JournalBackend::Files(files) => files.path(self.execution).display().to_string(),
            JournalBackend::Database(database) => database.name.clone(),
        }
    }
}

impl Database {
    /// `None` when there is none yet.
    fn of(home: &Home) -> Result<Option<Self>, Failure> {
        let config = Config::load(&home.config_file())
            .map_err(|error| Failure::new(ErrorCode::InvalidConfig, error.to_string()))?;
        let url: DbUrl = missiond_daemon::database_url(&config, home)?;
        if url.file().is_some_and(|file| !file.exists()) {
            return Ok(None);
        }
        // Two threads: one waits for an answer, the other brings it.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))?;
        let db = runtime.block_on(MissionDb::open_read_only(&url))?;
        let holder = Holder::new("nobody", "looking");
        let clock = Arc::new(SystemClock);
        Ok(Some(Self {
            journals: DatabaseJournals::new(db.clone(), runtime.handle().clone(), clock, holder),
            name: url.to_string(),
            db,
            runtime,
        }))
    }
}

fn listed(store: &dyn JournalStore) -> Result<Vec<ExecutionId>, Failure> {
    store.list().map_err(|error| store_failure(&error))
}

fn own_files(home: &Home) -> FileStore {
    FileStore::open_read_only(&FileStore::folder_below(&home.journals_dir()))
}

fn keeping(home: &Home) -> JournalKeeping {
    let config = Config::load(&home.config_file());
    config.map_or_else(|_| JournalKeeping::Files, |config| config.journal.store)
}

fn missing(execution: ExecutionId) -> Failure {
    store_failure(&StoreError::NotFound { execution })
}
