//! `docs/reference/schema.md` is written by hand, because what a column means stands nowhere
//! else. That it has every table and column there is, each once, none that is not there, and
//! since when, is held against a database that the migrations made.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

use std::collections::BTreeMap;
use std::path::Path;

use missiond_store::{DbUrl, MissionDb};
use rusqlite::Connection;

const PAGE: &str = include_str!("../../../docs/reference/schema.md");

/// What the page says of a table.
struct Section {
    since: Option<u32>,
    module: String,
    /// The columns of each row, and what is said of them.
    rows: Vec<(Vec<String>, String)>,
}

/// The words in backticks.
fn words(text: &str) -> Vec<String> {
    let inside = text.split('`').skip(1).step_by(2);
    inside.map(str::to_owned).collect()
}

fn sections() -> BTreeMap<String, Section> {
    let mut all = BTreeMap::new();
    for section in PAGE.split("\n### ").skip(1) {
        let (heading, body) = section.split_once('\n').unwrap();
        let body = body.split("\n## ").next().unwrap();
        let (table, facts) = heading.split_once(" (").unwrap_or((heading, ""));
        let mut parts = facts.trim_end_matches(')').split(", ");
        let since = parts.find_map(|part| part.strip_prefix("since "));
        let rows = body.lines().filter(|line| line.starts_with("| `"));
        let rows = rows.map(|row| {
            let (columns, meaning) = row[1..].split_once('|').unwrap();
            (words(columns), meaning.to_owned())
        });
        let section = Section {
            since: since.map(|version| version.parse().unwrap()),
            module: words(heading).pop().unwrap_or_else(|| table.to_owned()),
            rows: rows.collect(),
        };
        let before = all.insert(table.to_owned(), section);
        assert!(before.is_none(), "{table} is there twice");
    }
    all
}

/// The number and text of each migration.
fn migrations() -> Vec<(u32, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let files = std::fs::read_dir(folder).unwrap().map(|file| {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let number = name.split('_').next().unwrap().parse().unwrap();
        (number, std::fs::read_to_string(&path).unwrap())
    });
    files.collect()
}

/// In which migration these words stand, if in one.
fn version_of(words: &str) -> Option<u32> {
    let migrations = migrations();
    let mut found = migrations.iter().filter(|(_, sql)| {
        let mut parts = sql.split(words).skip(1);
        parts.any(|rest| rest.starts_with([' ', '\n', '(']))
    });
    found.next().map(|(number, _)| *number)
}

#[tokio::test]
async fn the_page_of_the_schema_has_every_table_and_column_once_and_since_when() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mission.db");
    let db = MissionDb::open(&DbUrl::sqlite(&file)).await.unwrap();
    db.close().await.unwrap();
    let db = Connection::open(&file).unwrap();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let mut sections = sections();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    for table in names(tables) {
        let section = sections.remove(&table);
        let section = section.unwrap_or_else(|| panic!("{table} has no section"));
        // The record of the migrations is older than any.
        let since = version_of(&format!("CREATE TABLE {table}"));
        assert_eq!(section.since, since, "{table}");
        let module = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src")
            .join(section.module);
        assert!(
            module.is_dir() || module.with_extension("rs").is_file(),
            "{table}: there is no module {}",
            module.display()
        );
        let mut named: Vec<_> = section.rows.iter().flat_map(|(names, _)| names).collect();
        named.sort();
        let columns = names(&format!(
            "SELECT name FROM pragma_table_info('{table}') ORDER BY name"
        ));
        assert_eq!(named, columns.iter().collect::<Vec<_>>(), "{table}");
        for (columns, meaning) in &section.rows {
            for column in columns {
                let added = version_of(&format!("ALTER TABLE {table} ADD COLUMN {column}"));
                if let Some(added) = added {
                    let says = meaning.contains(&format!("(since {added}"));
                    assert!(says, "{table}.{column} is there since {added}: {meaning}");
                }
            }
        }
    }
    let left: Vec<_> = sections.into_keys().collect();
    assert!(left.is_empty(), "there are no such tables: {left:?}");
}
