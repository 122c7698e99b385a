//! The change from one program to another, and back.
//!
//! ```text
//! stop ─▶ copy database ─▶ keep old program ─▶ new in its place ─▶ start ─▶ it answers
//!                                                                    │ it does not
//!          start ◀─ old program back ◀─ database back, if migrated ◀─┘
//! ```
//!
//! No other daemon can start from the stop to the rename, nor while something is taken
//! back. Whatever this process dies at, a whole program is in its place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use missiond_api::operations::NoParams;
use missiond_api::operations::system::Health;
use missiond_api::{Client, Home};
use missiond_config::Config;
use missiond_core::ErrorCode;
use missiond_os::files;
use missiond_store::backup;
use semver::Version;

use super::candidate::Candidate;
use crate::commands::service::Service;
use crate::failure::Failure;
use crate::process::{self, Force, Overdue, Started, Stopped};

/// A migration of a large database is in it.
const START_LIMIT: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Installed {
    /// The program that was there.
    pub(super) before: PathBuf,
    /// What became of the database; none where there is no SQLite database.
    pub(super) database: Option<Migration>,
    pub(super) daemon: Daemon,
}

/// A database and what the new version did with it.
#[derive(Debug)]
pub(super) struct Migration {
    /// The database as it was.
    pub(super) before: PathBuf,
    /// Its schema before and now; a daemon that was not started has changed nothing yet.
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Migration {
    pub(super) fn has_changed(&self) -> bool {
        self.from != self.to
    }
}

/// What becomes of the database before the new version may change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backup {
    /// A file of ours, which is copied.
    Copied,
    /// There is none yet.
    Nothing,
    /// It is on a server, and its keeper's to back up.
    NotOurs,
}

impl Backup {
    pub(super) fn of(home: &Home, config: &Config) -> Result<Self, Failure> {
        let url = missiond_daemon::database_url(config, home)?;
        Ok(match url.file() {
            None => Self::NotOurs,
            Some(file) if file.exists() => Self::Copied,
            Some(_) => Self::Nothing,
        })
    }
}

#[derive(Debug)]
pub(super) enum Daemon {
    Restarted {
        pid: u32,
        /// Programs in slots, which went on.
        agents: u64,
    },
    WasNotRunning,
}

/// Puts the new program in place of the old one and restarts the daemon. When the new
/// one does not come up, everything is as it was.
pub(super) fn install(
    home: &Home,
    config: &Config,
    program: &Path,
    candidate: Candidate,
) -> Result<Installed, Failure> {
    let version = candidate.version.clone();
    let service = Service::installed().filter(|service| {
        Client::connect(home).is_ok_and(|client| service.runs(client.welcome().pid))
    });
    let (stopped, standstill) = process::stop_and_hold(home, Force::Ask)?;
    let changed = Changed::make(home, config, program, candidate);
    drop(standstill);
    let Stopped::Now { slots_running } = stopped else {
        return Ok(changed?.kept(Daemon::WasNotRunning));
    };
    let changed = match changed {
        Ok(changed) => changed,
        Err(failure) => return Err(after(failure, start(home, program, service.as_ref()))),
    };
    match start(home, program, service.as_ref()).and_then(|pid| answers(home, &version, pid)) {
        Ok(pid) => Ok(changed.kept(Daemon::Restarted {
            pid,
            agents: slots_running,
        })),
        Err(failure) => Err(changed.take_back(home, &failure, service.as_ref())),
    }
}

/// The daemon of this program, by whoever started the last one.
fn start(home: &Home, program: &Path, service: Option<&Service>) -> Result<u32, Failure> {
    if let Some(service) = service
        && service.start()
    {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            match Client::connect(home) {
                Ok(client) => return Ok(client.welcome().pid),
                Err(error) if Instant::now() > deadline => return Err(error.into()),
                Err(_) => std::thread::sleep(POLL),
            }
        }
    }
    match process::start_program(home, program, START_LIMIT, Overdue::Kill)? {
        Started::Now { pid } | Started::Already { pid } => Ok(pid),
    }
}

/// Whether what runs now is the new version, and works.
fn answers(home: &Home, version: &Version, pid: u32) -> Result<u32, Failure> {
    let mut client = Client::connect(home)?;
    let runs = client.welcome().version.clone();
    if !Version::parse(&runs).is_ok_and(|runs| runs == *version) {
        let message = format!("version {runs} runs instead of {version}");
        return Err(Failure::new(ErrorCode::VersionMismatch, message));
    }
    client.call::<Health>(&NoParams {})?;
    Ok(pid)
}

/// What happened, with what became of the daemon after it.
fn after(failure: Failure, started: Result<u32, Failure>) -> Failure {
    match started {
        Ok(_) => failure,
        Err(error) => Failure {
            message: format!(
                "{}; and the daemon did not start again: {error}",
                failure.message
            ),
            hint: error.hint.or(failure.hint),
            code: failure.code,
        },
    }
}

/// A new program is in place, with all that is needed to take it back.
#[derive(Debug)]
struct Changed {
    /// The new one.
    version: Version,
    program: PathBuf,
    before: PathBuf,
    backup: Backup,
    database: Option<DatabaseCopy>,
}

#[derive(Debug)]
struct DatabaseCopy {
    database: PathBuf,
    copy: PathBuf,
    schema: i64,
}

impl Changed {
    fn make(
        home: &Home,
        config: &Config,
        program: &Path,
        candidate: Candidate,
    ) -> Result<Self, Failure> {
        let backup = Backup::of(home, config)?;
        let database = DatabaseCopy::make(home, config)?;
        let mut name = program.file_name().unwrap_or_default().to_owned();
        name.push(".before");
        let before = program.with_file_name(name);
        let version = candidate.version.clone();
        keep(program, &before)
            .and_then(|()| candidate.put_in_place(program))
            .map_err(|error| {
                let message = format!("not installed: {}: {error}", program.display());
                Failure::new(ErrorCode::StorageUnavailable, message)
            })?;
        Ok(Self {
            version,
            program: program.to_owned(),
            before,
            backup,
            database,
        })
    }

    fn kept(self, daemon: Daemon) -> Installed {
        Installed {
            before: self.before,
            database: self.database.map(DatabaseCopy::compared),
            daemon,
        }
    }

    /// Undoes the change; the failure that is told of it.
    fn take_back(self, home: &Home, why: &Failure, service: Option<&Service>) -> Failure {
        let undone = self.undo(home);
        let old = env!("CARGO_PKG_VERSION");
        let new = &self.version;
        let what = format!("not upgraded from {old} to {new}: {new} did not come up: {why}");
        let failure = match undone {
            Ok(Database::Untouched) => {
                format!("{what}. Version {old} is back in its place; the database was not changed")
            }
            Ok(Database::NotOurs) => format!(
                "{what}. Version {old} is back in its place; the PostgreSQL database is as {new} \
                 left it, and if that changed its schema, your backup must be restored before \
                 {old} can use it"
            ),
            Ok(Database::Restored) => format!(
                "{what}. Version {old} is back in its place, and the database is as it was before \
                 the upgrade"
            ),
            Err(error) => {
                let message = format!("{what}. Version {old} could not be put back: {error}");
                return Failure::new(ErrorCode::Internal, message).hint(format!(
                    "agents kept running; by hand: `mission down`, move {} to {}, {} over the \
                     database if it was migrated, then `mission up`",
                    self.before.display(),
                    self.program.display(),
                    home.database_before().display()
                ));
            }
        };
        let failure = Failure::new(ErrorCode::Upstream, failure).hint(format!(
            "agents kept running, and nothing has to be done; `mission logs` shows what {new} said"
        ));
        after(failure, start(home, &self.program, service))
    }

    fn undo(&self, home: &Home) -> Result<Database, Failure> {
        let (_, _standstill) = process::stop_and_hold(home, Force::Kill)?;
        let database = match (&self.database, self.backup) {
            (Some(database), _) => database.restore_if_migrated()?,
            (None, Backup::NotOurs) => Database::NotOurs,
            (None, Backup::Copied | Backup::Nothing) => Database::Untouched,
        };
        fs::rename(&self.before, &self.program)?;
        if let Some(folder) = self.program.parent() {
            files::sync_dir(folder)?;
        }
        Ok(database)
    }
}

#[derive(Debug)]
enum Database {
    Untouched,
    NotOurs,
    Restored,
}

impl DatabaseCopy {
    /// A copy of the database, where it is a file of ours that exists. What is in
    /// PostgreSQL is its keeper's to back up.
    fn make(home: &Home, config: &Config) -> Result<Option<Self>, Failure> {
        let url = missiond_daemon::database_url(config, home)?;
        let Some(database) = url.file().filter(|file| file.exists()) else {
            return Ok(None);
        };
        let copy = home.database_before();
        backup::save(database, &copy)?;
        Ok(Some(Self {
            schema: backup::schema_version(database)?,
            database: database.to_owned(),
            copy,
        }))
    }

    /// With what its schema is now; one that cannot be asked is taken to be as it was.
    fn compared(self) -> Migration {
        Migration {
            to: backup::schema_version(&self.database).unwrap_or(self.schema),
            from: self.schema,
            before: self.copy,
        }
    }

    /// A daemon that came up far enough to migrate left what the old one cannot read;
    /// what one wrote that did not is worth keeping.
    fn restore_if_migrated(&self) -> Result<Database, Failure> {
        let outcome = match backup::schema_version(&self.database) {
            Ok(schema) if schema == self.schema => Database::Untouched,
            Ok(_) | Err(_) => {
                backup::restore(&self.copy, &self.database)?;
                Database::Restored
            }
        };
        fs::remove_file(&self.copy)?;
        Ok(outcome)
    }
}

/// Gives the program a second name, without a moment at which it has none. What runs
/// from it goes on.
fn keep(program: &Path, before: &Path) -> io::Result<()> {
    match fs::remove_file(before) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match fs::hard_link(program, before) {
        Ok(()) => Ok(()),
        // Not every file system has second names.
        Err(_) => fs::copy(program, before).map(drop),
    }
}
