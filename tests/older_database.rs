//! Prepares a database for the tests of upgrades: `older_database FILE [older] [broken]`.
//! `older` gives it the schema of one migration before, with all it holds; a `broken` one
//! refuses that migration, or, where it is of a release with more of them to come, the second.

use std::path::{Path, PathBuf};

use missiond_store::DbUrl;
use missiond_store::suite::create_before_last_migration;
use rusqlite::{Connection, Result};

/// Whatever a migration does, it is recorded, in the same transaction.
fn refuse(connection: &Connection, first: i64) -> Result<()> {
    connection.execute_batch(&format!(
        "CREATE TRIGGER refuses BEFORE INSERT ON schema_migrations WHEN NEW.version >= {first} \
         BEGIN SELECT RAISE(ABORT, 'the migration fails'); END;"
    ))
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let database = PathBuf::from(arguments.first().ok_or("which database?")?);
    let wanted = |word: &str| arguments.iter().any(|argument| argument == word);
    if wanted("older") {
        make_older(&database)?;
    }
    if wanted("broken") {
        let connection = Connection::open(&database)?;
        let sql = "SELECT MAX(version) FROM schema_migrations";
        let newest: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        refuse(&connection, newest + if wanted("older") { 1 } else { 2 })?;
        in_one_file(&connection)?;
    }
    Ok(())
}

fn make_older(database: &Path) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let older = database.with_extension("older");
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(create_before_last_migration(&DbUrl::sqlite(older.clone())))?;
    let connection = Connection::open(&older)?;
    copy_all(&connection, database)?;
    in_one_file(&connection)?;
    drop(connection);
    for log in ["-wal", "-shm"] {
        let mut name = database.to_owned().into_os_string();
        name.push(log);
        let _ = std::fs::remove_file(name);
    }
    std::fs::rename(older, database)?;
    Ok(())
}

/// Without a log beside it.
fn in_one_file(connection: &Connection) -> Result<()> {
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE;")
}

/// Every table of the older schema, with its columns.
fn copy_all(older: &Connection, newer: &Path) -> Result<()> {
    older.execute("ATTACH ?1 AS newer", [newer.to_string_lossy()])?;
    older.execute_batch("PRAGMA foreign_keys = OFF; BEGIN")?;
    let tables = names(
        older,
        "SELECT name FROM main.sqlite_master WHERE type = 'table' \
         AND name NOT LIKE 'sqlite_%' AND name <> 'schema_migrations' AND ?1 = ?1",
        "",
    )?;
    for table in tables {
        let columns = names(older, "SELECT name FROM pragma_table_info(?1)", &table)?.join(", ");
        older.execute_batch(&format!(
            "DELETE FROM main.{table}; \
             INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newer.{table};"
        ))?;
    }
    older.execute_batch("COMMIT; DETACH newer")
}

fn names(connection: &Connection, sql: &str, of: &str) -> Result<Vec<String>> {
    let mut query = connection.prepare(sql)?;
    let found = query.query_map([of], |row| row.get(0))?;
    found.collect()
}
