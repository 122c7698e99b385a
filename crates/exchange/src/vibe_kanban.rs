//! The tasks of vibe-kanban, from its SQLite file. The tables differ between its
//! versions: what a file does not have is passed over, and only the tasks
//! themselves are needed.

use std::path::Path;

use missiond_core::{TaskDraft, Timestamp};
use rusqlite::{Connection, OpenFlags, Row};

use crate::{Card, ImportError, Standing, check_capacity, check_graph};

/// Reads the tasks. The file is opened as SQLite opens any: give this a copy.
pub fn read(file: &Path) -> Result<Vec<Card>, ImportError> {
    let refused = |error: rusqlite::Error| {
        ImportError::File(format!("this is not a database of vibe-kanban: {error}"))
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(refused)?;
    // What its schema may have been made to call is nothing to run here.
    connection
        .pragma_update(None, "trusted_schema", false)
        .map_err(refused)?;
    let schema = SchemaVariant::of(&connection).map_err(refused)?;
    if !schema.has_tasks {
        let message = "this is not a database of vibe-kanban: it has no tasks";
        return Err(ImportError::File(message.to_owned()));
    }
    let mut statement = connection.prepare(&schema.query()).map_err(refused)?;
    let mut rows = statement.query([]).map_err(refused)?;
    let mut cards = Vec::new();
    while let Some(row) = rows.next().map_err(refused)? {
        let line = cards.len() + 1;
        check_capacity(&cards, line)?;
        cards.push(card(row, line)?);
    }
    check_graph(cards)
}

/// What this file has.
struct SchemaVariant {
    has_tasks: bool,
    /// The path of the repository, on the project or beside it.
    repository: &'static str,
    /// The task whose attempt a task came from.
    parent: &'static str,
}

impl SchemaVariant {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let has = |table: &str, column: &str| -> rusqlite::Result<bool> {
            let sql = "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2";
            let count: i64 = connection.query_row(sql, [table, column], |row| row.get(0))?;
            Ok(count > 0)
        };
        let repository = if has("projects", "git_repo_path")? {
            "project.git_repo_path"
        } else if has("project_repos", "repo_id")? && has("repos", "path")? {
            "(SELECT repos.path FROM project_repos JOIN repos ON repos.id = repo_id \
              WHERE project_repos.project_id = project.id ORDER BY repos.path LIMIT 1)"
        } else {
            "NULL"
        };
        let parent = if has("tasks", "parent_workspace_id")? && has("workspaces", "task_id")? {
            "(SELECT hex(task_id) FROM workspaces WHERE workspaces.id = task.parent_workspace_id)"
        } else if has("tasks", "parent_task_attempt")? && has("task_attempts", "task_id")? {
            "(SELECT hex(task_id) FROM task_attempts \
              WHERE task_attempts.id = task.parent_task_attempt)"
        } else {
            "NULL"
        };
        Ok(Self {
            has_tasks: has("tasks", "title")? && has("projects", "name")?,
            repository,
            parent,
        })
    }

    fn query(&self) -> String {
        format!(
            "SELECT hex(task.id), task.title, task.description, task.status, project.name, {}, \
                 {}, task.created_at, task.updated_at \
             FROM tasks task LEFT JOIN projects project ON project.id = task.project_id \
             ORDER BY task.created_at, task.id",
            self.repository, self.parent
        )
    }
}

fn card(row: &Row<'_>, line: usize) -> Result<Card, ImportError> {
    let refused = |error: rusqlite::Error| ImportError::at(line, error.to_string());
    let text = |index: usize| row.get::<_, Option<String>>(index).map_err(refused);
    let updated = text(8)?.as_deref().and_then(parse_timestamp);
    let status = text(3)?.unwrap_or_default();
    let standing = match status.as_str() {
        "todo" | "inprogress" | "inreview" => Standing::Open,
        "done" => Standing::Done,
        "cancelled" => Standing::Failed {
            reason: "it was cancelled in vibe-kanban".to_owned(),
        },
        other => {
            let message = format!("`{other}` is not a status of vibe-kanban");
            return Err(ImportError::at(line, message));
        }
    };
    let repository = text(5)?.filter(|path| !path.is_empty());
    Ok(Card {
        key: text(0)?.unwrap_or_default(),
        draft: TaskDraft {
            title: text(1)?,
            description: text(2)?.filter(|text| !text.is_empty()),
            labels: text(4)?.map(|project| vec![project]),
            repository: repository.map(Into::into),
            ..TaskDraft::default()
        },
        parent: text(6)?,
        depends_on: Vec::new(),
        finished_at: updated.filter(|_| standing != Standing::Open),
        standing,
        created_at: text(7)?.as_deref().and_then(parse_timestamp),
        notes: Vec::new(),
        line,
    })
}

/// SQLite writes `2026-01-04 10:00:00.123`, in UTC.
fn parse_timestamp(text: &str) -> Option<Timestamp> {
    text.parse()
        .or_else(|_| format!("{}Z", text.replacen(' ', "T", 1)).parse())
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(sql: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("db.sqlite");
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        (folder, file)
    }

    #[test]
    fn tasks_of_both_shapes_are_read() {
        let tasks = |parent: &str| {
            format!(
                "CREATE TABLE tasks (id BLOB PRIMARY KEY, project_id BLOB NOT NULL, title TEXT NOT \
                     NULL, description TEXT, status TEXT NOT NULL, {parent} BLOB, created_at TEXT, \
                     updated_at TEXT);
                 INSERT INTO tasks VALUES (X'01', X'AA', 'First', NULL, 'done', NULL, \
                     '2026-01-04 10:00:00.123', '2026-01-04 11:00:00.000');
                 INSERT INTO tasks VALUES (X'02', X'AA', 'It''s \"odd\"', 'more', 'inreview', \
                     X'77', '2026-01-04 10:00:01.000', '2026-01-04 10:00:01.000');"
            )
        };
        let old = format!(
            "CREATE TABLE projects (id BLOB PRIMARY KEY, name TEXT NOT NULL, git_repo_path TEXT);
             INSERT INTO projects VALUES (X'AA', 'app', '/src/app');
             CREATE TABLE task_attempts (id BLOB PRIMARY KEY, task_id BLOB);
             INSERT INTO task_attempts VALUES (X'77', X'01'); {}",
            tasks("parent_task_attempt")
        );
        let new = format!(
            "CREATE TABLE projects (id BLOB PRIMARY KEY, name TEXT NOT NULL);
             INSERT INTO projects VALUES (X'AA', 'app');
             CREATE TABLE repos (id BLOB PRIMARY KEY, path TEXT NOT NULL);
             INSERT INTO repos VALUES (X'BB', '/src/app');
             CREATE TABLE project_repos (id BLOB, project_id BLOB, repo_id BLOB);
             INSERT INTO project_repos VALUES (X'CC', X'AA', X'BB');
             CREATE TABLE workspaces (id BLOB PRIMARY KEY, task_id BLOB);
             INSERT INTO workspaces VALUES (X'77', X'01'); {}",
            tasks("parent_workspace_id")
        );
        for sql in [old, new] {
            let (_folder, file) = file_of(&sql);
            let cards = read(&file).unwrap();
            assert_eq!(cards[0].standing, Standing::Done);
            assert_eq!(
                cards[0].created_at,
                Some("2026-01-04T10:00:00.123Z".parse().unwrap())
            );
            assert_eq!(cards[1].parent.as_deref(), Some("01"));
            assert_eq!(cards[1].draft.title.as_deref(), Some("It's \"odd\""));
            assert_eq!(
                cards[1].draft.repository.as_deref(),
                Some("/src/app".as_ref())
            );
            assert_eq!(cards[1].draft.labels, Some(vec!["app".to_owned()]));
        }
    }

    #[test]
    fn another_database_is_refused() {
        let (_folder, file) = file_of("CREATE TABLE notes (id INTEGER);");
        assert!(read(&file).is_err());
        std::fs::write(&file, "not a database, and long enough to be looked at").unwrap();
        assert!(read(&file).unwrap_err().to_string().contains("vibe-kanban"));
    }
}
