//! A copy of a SQLite database that nobody uses, and the way back to it.
//!
//! Whoever copies holds the lock of the daemon (`Instance`), so nothing is written
//! meanwhile. Files are copied, not rows: a database that is put back is the same to
//! the byte, row numbers included, and a file system that can shares the blocks.

use std::fs;
use std::io;
use std::path::Path;

use missiond_os::files;

use super::connection::{SqliteConnection, with_suffix};
use crate::StoreError;

/// Which migration was applied last; 0 for a file without any.
pub fn schema_version(database: &Path) -> Result<i64, StoreError> {
    let mut connection = SqliteConnection::open_writer(database)?;
    let found = connection.query("SELECT MAX(version) FROM schema_migrations", &[])?;
    let version: Option<i64> = found.first().map_or(Ok(None), |row| row.get(0))?;
    Ok(version.unwrap_or(0))
}

/// Copies the database; an older copy of that name is replaced.
pub fn save(database: &Path, copy: &Path) -> Result<(), StoreError> {
    // Everything committed is in the file itself before it is copied.
    let mut connection = SqliteConnection::open_writer(database)?;
    connection.checkpoint()?;
    drop(connection);
    put(database, copy)
}

/// Makes the database what it was when it was copied.
pub fn restore(copy: &Path, database: &Path) -> Result<(), StoreError> {
    // A log that stayed would be taken for one of the file that is put back.
    for suffix in ["-wal", "-shm"] {
        let log = with_suffix(database, suffix);
        match fs::remove_file(&log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&log, &error));
            }
            _ => {}
        }
    }
    put(copy, database)
}

/// A whole copy or none.
fn put(from: &Path, to: &Path) -> Result<(), StoreError> {
    let unfinished = with_suffix(to, ".part");
    let copied = fs::copy(from, &unfinished)
        .and_then(|_| fs::File::open(&unfinished)?.sync_all())
        .and_then(|()| fs::rename(&unfinished, to))
        .and_then(|()| to.parent().map_or(Ok(()), files::sync_dir));
    copied.map_err(|error| {
        let _ = fs::remove_file(&unfinished);
        failed(to, &error)
    })
}

fn failed(path: &Path, error: &io::Error) -> StoreError {
    let place = path.display().to_string();
    if error.kind() == io::ErrorKind::StorageFull {
        return StoreError::Full { place };
    }
    StoreError::Unavailable {
        detail: format!("{place}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(database: &Path) -> Vec<String> {
        let mut connection = SqliteConnection::open_writer(database).unwrap();
        let rows = connection.query("SELECT note FROM notes", &[]).unwrap();
        rows.iter()
            .map(|row| row.text(0).unwrap().to_owned())
            .collect()
    }

    #[test]
    fn what_was_written_after_the_copy_is_gone_when_it_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let (database, copy) = (folder.path().join("m.db"), folder.path().join("m.before"));
        let mut connection = SqliteConnection::open_writer(&database).unwrap();
        let table = "CREATE TABLE schema_migrations (version bigint); \
                     INSERT INTO schema_migrations VALUES (7); \
                     CREATE TABLE notes (note text); INSERT INTO notes VALUES ('before')";
        connection.batch(table).unwrap();
        drop(connection);
        save(&database, &copy).unwrap();
        let bytes = fs::read(&copy).unwrap();
        let mut connection = SqliteConnection::open_writer(&database).unwrap();
        connection
            .batch("INSERT INTO schema_migrations VALUES (8); INSERT INTO notes VALUES ('after')")
            .unwrap();
        // As a daemon that was killed: its log stays.
        std::mem::forget(connection);
        assert_eq!(schema_version(&copy).unwrap(), 7);
        restore(&copy, &database).unwrap();
        assert_eq!(fs::read(&database).unwrap(), bytes);
        assert_eq!(notes(&database), ["before"]);
        assert_eq!(schema_version(&database).unwrap(), 7);
    }
}
