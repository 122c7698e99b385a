//! One connection to a SQLite file: how it is opened, what is checked before
//! it is trusted, and how the neutral values go in and out.

use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags};

use crate::error::{from_sqlite, is_fatal_to_connection};
use crate::{Row, StoreError, Value};

/// Statements kept prepared. The crate has about fifty.
const PREPARED: usize = 128;

/// Up to this size the whole file is checked at every start: it takes less
/// than a tenth of a second. Larger ones are checked after an unclean end.
const ALWAYS_CHECKED_BYTES: u64 = 32 << 20;

const HEADER: &[u8; 16] = b"SQLite format 3\0";

pub(crate) struct SqliteConnection {
    connection: Connection,
    path: PathBuf,
    lost: bool,
    last_error: Option<StoreError>,
}

impl SqliteConnection {
    /// Opens the file for writing, creating it (for its owner alone) when there
    /// is none, and refuses one that is not a database or is damaged.
    pub(crate) fn open_writer(path: &Path) -> Result<Self, StoreError> {
        prepare_file(path)?;
        let unclean = nonempty(&with_suffix(path, "-wal"));
        let size = fs::metadata(path).map_or(0, |file| file.len());
        let mut this = Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        if this.connection.is_readonly("main").unwrap_or(false) {
            return Err(StoreError::ReadOnly {
                path: path.display().to_string(),
            });
        }
        // The order matters: the mode is stored in the file, so a file that
        // cannot be written says so here and not at the first commit.
        this.setting("PRAGMA journal_mode = WAL")?;
        this.setting("PRAGMA synchronous = FULL")?;
        this.setting("PRAGMA wal_autocheckpoint = 1000")?;
        this.setting("PRAGMA journal_size_limit = 67108864")?;
        if unclean || size <= ALWAYS_CHECKED_BYTES {
            this.verify()?;
        }
        if unclean {
            this.fold_log()?;
        }
        Ok(this)
    }

    /// Opens the file for reading alone. The writer must have opened it before.
    pub(crate) fn open_reader(path: &Path) -> Result<Self, StoreError> {
        let mut this = Self::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        this.setting("PRAGMA query_only = ON")?;
        Ok(this)
    }

    fn open(path: &Path, access: OpenFlags) -> Result<Self, StoreError> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let connection =
            Connection::open_with_flags(path, flags).map_err(|error| from_sqlite(&error, path))?;
        connection.set_prepared_statement_cache_capacity(PREPARED);
        let mut this = Self {
            connection,
            path: path.to_owned(),
            lost: false,
            last_error: None,
        };
        this.setting("PRAGMA busy_timeout = 5000")?;
        this.setting("PRAGMA foreign_keys = ON")?;
        this.setting("PRAGMA temp_store = MEMORY")?;
        Ok(this)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether an error was seen after which this connection must be reopened.
    pub(crate) const fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether a transaction is open. SQLite ends it by itself after some
    /// errors, a full disk among them.
    pub(crate) fn in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// The most recent failure of a statement, once.
    pub(crate) const fn take_last_error(&mut self) -> Option<StoreError> {
        self.last_error.take()
    }

    /// Reads the structure of the whole file.
    pub(crate) fn verify(&mut self) -> Result<(), StoreError> {
        let said = self.query("PRAGMA quick_check(1)", &[])?;
        match said.first().map(|row| row.text(0)) {
            Some(Ok("ok")) => Ok(()),
            other => {
                self.lost = true;
                Err(StoreError::Corrupt {
                    path: self.path.display().to_string(),
                    detail: match other {
                        Some(Ok(text)) => text.replace('\n', ", "),
                        _ => "its structure cannot be read".into(),
                    },
                })
            }
        }
    }

    /// Moves what an earlier connection left in the write-ahead log into the
    /// file, and begins the log anew. The earlier one may have ended because a
    /// sync failed: then the system still shows a commit that the disk does not
    /// have and never will, and whatever is appended behind it is lost with it
    /// when the power goes.
    fn fold_log(&mut self) -> Result<(), StoreError> {
        let said = self.query("PRAGMA wal_checkpoint(TRUNCATE)", &[])?;
        match said.first().map(|row| row.get::<i64>(0)) {
            Some(Ok(0)) => Ok(()),
            _ => Err(StoreError::Busy {
                detail: format!("{} is being read", self.path.display()),
            }),
        }
    }

    /// Moves everything from the write-ahead log into the file.
    pub(crate) fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.setting("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Statements without parameters or results, several if need be.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        let result = self.connection.execute_batch(sql);
        self.meaning(result)
    }

    /// A transaction-control statement, kept prepared.
    pub(crate) fn control(&mut self, sql: &'static str) -> Result<(), StoreError> {
        self.execute(sql, &[]).map(drop)
    }

    fn setting(&mut self, pragma: &str) -> Result<(), StoreError> {
        self.query(pragma, &[]).map(drop)
    }

    pub(crate) fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, StoreError> {
        let result = (|| {
            let mut statement = self.connection.prepare_cached(sql)?;
            bind(&mut statement, params)?;
            statement.raw_execute()
        })();
        self.meaning(result).map(|changed| changed as u64)
    }

    pub(crate) fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, StoreError> {
        let result = (|| {
            let mut statement = self.connection.prepare_cached(sql)?;
            bind(&mut statement, params)?;
            let width = statement.column_count();
            let mut found = Vec::new();
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                let columns = (0..width).map(|index| Ok(read(row.get_ref(index)?)?));
                found.push(Row(columns.collect::<Result<_, rusqlite::Error>>()?));
            }
            Ok(found)
        })();
        self.meaning(result)
    }

    /// Runs `insert` once per row without going through [`Value`].
    pub(crate) fn insert_each<R>(
        &mut self,
        sql: &str,
        rows: impl Iterator<Item = R>,
        mut insert: impl FnMut(&mut CachedStatement<'_>, R) -> rusqlite::Result<usize>,
    ) -> Result<(), StoreError> {
        let result = (|| {
            let mut statement = self.connection.prepare_cached(sql)?;
            for row in rows {
                insert(&mut statement, row)?;
            }
            Ok(())
        })();
        self.meaning(result)
    }

    fn meaning<T>(&mut self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| {
            self.lost |= is_fatal_to_connection(&error);
            let meaning = from_sqlite(&error, &self.path);
            self.last_error = Some(meaning.clone());
            meaning
        })
    }
}

/// `$3` is a *name* to SQLite, numbered by first appearance; the number in the
/// name is what says which parameter is meant.
fn bind(statement: &mut CachedStatement<'_>, params: &[Value]) -> rusqlite::Result<()> {
    let mut highest = 0;
    for index in 1..=statement.parameter_count() {
        let number = statement
            .parameter_name(index)
            .and_then(|name| name.strip_prefix('$'))
            .and_then(|digits| digits.parse::<usize>().ok());
        let Some((number, value)) =
            number.and_then(|n| params.get(n.checked_sub(1)?).map(|value| (n, value)))
        else {
            return Err(rusqlite::Error::InvalidParameterCount(params.len(), index));
        };
        highest = highest.max(number);
        statement.raw_bind_parameter(index, value)?;
    }
    // PostgreSQL counts them too; a leftover is a mistake on both.
    if highest != params.len() {
        return Err(rusqlite::Error::InvalidParameterCount(
            params.len(),
            highest,
        ));
    }
    Ok(())
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(n) => ValueRef::Integer(*n),
            Self::Real(n) => ValueRef::Real(*n),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn read(value: ValueRef<'_>) -> Result<Value, rusqlite::types::FromSqlError> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) => Value::Int(n),
        ValueRef::Real(n) => Value::Real(n),
        text @ ValueRef::Text(_) => Value::Text(text.as_str()?.to_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    })
}

/// Creates the file for its owner alone, or looks at the one that is there.
/// SQLite gives the `-wal` and `-shm` files the mode of this one.
fn prepare_file(path: &Path) -> Result<(), StoreError> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !parent.is_dir() {
        return Err(StoreError::MissingDirectory {
            path: parent.display().to_string(),
        });
    }
    let shown = || path.display().to_string();
    let refused = |error: std::io::Error| match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly { path: shown() }
        }
        ErrorKind::IsADirectory => StoreError::NotADatabase { path: shown() },
        ErrorKind::StorageFull => StoreError::Full { place: shown() },
        _ => StoreError::Unavailable {
            detail: format!("{}: {error}", shown()),
        },
    };
    let mut file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(refused)?;
    // A umask can only take away; an older file may have been made by hand.
    file.set_permissions(fs::Permissions::from_mode(0o600))
        .map_err(refused)?;
    let mut start = Vec::new();
    file.by_ref()
        .take(HEADER.len() as u64)
        .read_to_end(&mut start)
        .map_err(refused)?;
    if start.is_empty() || start == HEADER {
        Ok(())
    } else {
        Err(StoreError::NotADatabase { path: shown() })
    }
}

fn nonempty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
