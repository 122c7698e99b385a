//! The schema's versions and how a database gets to the newest one.
//!
//! A migration is a numbered file in `migrations/`, written once in the words
//! both engines share; [`for_sqlite`] says what SQLite calls them. An applied
//! migration never changes: its text is recorded by checksum, and a database
//! made from other text, or by a newer missiond, is refused untouched.

use sha2::{Digest, Sha256};

use crate::{Row, StoreError, Value};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    sql: &'static str,
}

macro_rules! migrations {
    ($($version:literal $name:literal,)*) => {
        &[$(Migration {
            version: $version,
            name: $name,
            sql: include_str!(concat!("../migrations/", $name, ".sql")),
        }),*]
    };
}

/// Every version, oldest first.
pub(crate) const MIGRATIONS: &[Migration] = migrations! {
    1 "0001_base",
    2 "0002_activity",
    3 "0003_journals",
    4 "0004_executions",
    5 "0005_board",
    6 "0006_questions",
    7 "0007_autopilot",
    8 "0008_told_effects",
    9 "0009_http_access",
    10 "0010_codemap",
    11 "0011_knowledge",
    12 "0012_conversations",
    13 "0013_context",
    14 "0014_stats",
    15 "0015_code_vectors",
    16 "0016_told_costs",
    17 "0017_trust",
    18 "0018_review",
    19 "0019_overview",
    20 "0020_hour_long_cache_writes",
    21 "0021_pull_requests",
    22 "0022_alternatives",
    23 "0023_how_runs_ended",
    24 "0024_control_of_tasks",
    25 "0025_llm",
    26 "0026_surfaces_and_trust",
    27 "0027_audit",
};

/// Where the record of applied migrations is kept.
pub(crate) const RECORD: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version bigint PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at bigint NOT NULL
);";

pub(crate) const APPLIED: &str =
    "SELECT version, name, checksum FROM schema_migrations ORDER BY version";

pub(crate) const RECORD_ONE: &str = "INSERT INTO schema_migrations \
     (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)";

impl Migration {
    pub(crate) fn for_postgres(&self) -> &'static str {
        self.sql
    }

    pub(crate) fn for_sqlite(&self) -> String {
        for_sqlite(self.sql)
    }

    pub(crate) fn record(&self, now: missiond_core::Timestamp) -> [Value; 4] {
        [
            self.version.into(),
            self.name.into(),
            self.checksum().into(),
            now.into(),
        ]
    }

    fn checksum(&self) -> String {
        missiond_os::hex::encode(&Sha256::digest(self.sql.as_bytes()))
    }
}

/// Which of `known` a database still needs, given what it says was applied.
pub(crate) fn pending<'m>(
    applied: &[Row],
    known: &'m [Migration],
) -> Result<&'m [Migration], StoreError> {
    for (index, row) in applied.iter().enumerate() {
        let version: i64 = row.get(0)?;
        let Some(migration) = known.get(index).filter(|known| known.version == version) else {
            return Err(StoreError::Newer {
                found: applied.last().map_or(Ok(version), |last| last.get(0))?,
                known: known.last().map_or(0, |newest| newest.version),
            });
        };
        if row.text(2)? != migration.checksum() {
            return Err(StoreError::ChecksumMismatch {
                version,
                name: row.get(1)?,
            });
        }
    }
    Ok(&known[applied.len()..])
}

/// Refuses a database that is not at the newest version, for whoever may not
/// bring it there.
pub(crate) fn nothing_pending(applied: &[Row], known: &[Migration]) -> Result<(), StoreError> {
    match pending(applied, known)?.first() {
        None => Ok(()),
        Some(next) => Err(StoreError::Older {
            missing: next.name.to_owned(),
        }),
    }
}

/// The shared words in SQLite's terms. STRICT tables know four types by their
/// own names, and are what makes SQLite hold a column to its type at all.
pub(crate) fn for_sqlite(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 64);
    let mut in_table = false;
    for line in sql
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"))
    {
        in_table |= line.starts_with("CREATE TABLE");
        let line = line
            .replace(" bigint", " INTEGER")
            .replace(" double precision", " REAL")
            .replace(" bytea", " BLOB");
        if in_table && line == ");" {
            in_table = false;
            out.push_str(") STRICT;");
        } else {
            out.push_str(&line);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(migrations: &[Migration]) -> Vec<Row> {
        let row = |m: &Migration| Row(vec![m.version.into(), m.name.into(), m.checksum().into()]);
        migrations.iter().map(row).collect()
    }

    #[test]
    fn versions_are_the_numbers_of_the_files_without_gaps() {
        for (index, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(migration.version, index as i64 + 1);
            assert!(
                migration
                    .name
                    .starts_with(&format!("{:04}_", migration.version))
            );
        }
    }

    #[test]
    fn every_prefix_is_continued_where_it_ends() {
        for done in 0..=MIGRATIONS.len() {
            let rest = pending(&applied(&MIGRATIONS[..done]), MIGRATIONS).unwrap();
            assert_eq!(rest.len(), MIGRATIONS.len() - done);
        }
    }

    #[test]
    fn a_newer_database_is_refused_with_both_versions() {
        let all = applied(MIGRATIONS);
        let error = pending(&all, &MIGRATIONS[..1]).unwrap_err();
        assert_eq!(
            error,
            StoreError::Newer {
                found: MIGRATIONS.len() as i64,
                known: 1
            }
        );
    }

    #[test]
    fn the_shared_words_become_strict_tables() {
        assert_eq!(
            for_sqlite("-- why\nCREATE TABLE t (\n    a bigint NOT NULL,\n    b bytea\n);\n"),
            "CREATE TABLE t (\n    a INTEGER NOT NULL,\n    b BLOB\n) STRICT;\n"
        );
        for migration in MIGRATIONS {
            let sql = migration.for_sqlite();
            assert_eq!(
                sql.matches("CREATE TABLE").count(),
                sql.matches(") STRICT;").count()
            );
        }
    }
}
