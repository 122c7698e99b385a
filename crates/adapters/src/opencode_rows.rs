//! Following a conversation of OpenCode, which keeps it in a database: parts of
//! messages that change while they are made. A part is handed out when it is
//! whole, as a line of JSON with what its message says of it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::tail::{TailBatch, TailError, TailedLine};

/// Parts that are read in one go.
const MOST_PARTS: u32 = 500;
/// A part that is larger holds a file, not words.
const LONGEST_PART: u32 = 1 << 20;
/// The database belongs to the CLI, which must not be kept waiting.
const BUSY: Duration = Duration::from_millis(200);

/// A place in a conversation of OpenCode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowTail {
    database: PathBuf,
    session: String,
    /// When the last part that was seen had changed, by the CLI's clock. Others
    /// may have changed in the same millisecond, so it is read again.
    changed: i64,
}

impl RowTail {
    pub(crate) fn new(database: &Path, session: &str) -> Self {
        Self {
            database: database.to_owned(),
            session: session.to_owned(),
            changed: 0,
        }
    }

    pub(crate) fn database(&self) -> &Path {
        &self.database
    }

    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    pub(crate) fn advance(&mut self) -> Result<TailBatch, TailError> {
        self.read().map_err(|error| self.failed(error))
    }

    pub(crate) fn skip_to_end(&mut self) -> Result<(), TailError> {
        let newest = open(&self.database).and_then(|database| {
            let sql = "SELECT max(time_updated) FROM part WHERE session_id = ?1";
            database.query_row(sql, [&self.session], |row| row.get::<_, Option<i64>>(0))
        });
        let newest = newest.map_err(|error| self.failed(error))?;
        self.changed = newest.map_or(0, |newest| newest + 1);
        Ok(())
    }

    fn read(&mut self) -> rusqlite::Result<TailBatch> {
        if !self.database.exists() {
            return Ok(TailBatch::default());
        }
        let database = open(&self.database)?;
        let mut parts = database.prepare(
            "SELECT part.id, part.time_updated,
                    CASE WHEN length(part.data) <= ?3 THEN part.data END, message.data
             FROM part JOIN message ON message.id = part.message_id
             WHERE part.session_id = ?1 AND part.time_updated >= ?2
             ORDER BY part.time_updated, part.id LIMIT ?4",
        )?;
        let mut rows = parts.query(params![
            self.session,
            self.changed,
            LONGEST_PART,
            MOST_PARTS
        ])?;
        let mut batch = TailBatch::default();
        let mut seen = 0;
        while let Some(row) = rows.next()? {
            let (id, changed): (String, i64) = (row.get(0)?, row.get(1)?);
            let (part, message): (Option<String>, String) = (row.get(2)?, row.get(3)?);
            let is_new = changed > self.changed;
            batch.more = is_new;
            self.changed = self.changed.max(changed);
            seen += 1;
            match part.map(|part| line(&id, &part, &message)) {
                Some(Some(text)) => batch.lines.push(TailedLine { position: id, text }),
                Some(None) => {}
                None => batch.skipped += u64::from(is_new),
            }
        }
        batch.more &= seen == MOST_PARTS;
        Ok(batch)
    }

    fn failed(&self, error: rusqlite::Error) -> TailError {
        TailError {
            path: self.database.clone(),
            source: io::Error::other(error),
        }
    }
}

/// The newest conversation of a person with an agent in this folder that began
/// after this moment.
pub(crate) fn newest_session(database: &Path, cwd: &Path, since: SystemTime) -> Option<String> {
    let since = since.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let since = i64::try_from(since.as_millis()).ok()?;
    if !database.exists() {
        return None;
    }
    // Conversations with a parent are those of subagents.
    let sql = "SELECT id FROM session
               WHERE directory = ?1 AND time_created >= ?2 AND parent_id IS NULL
               ORDER BY time_created DESC LIMIT 1";
    let found = open(database).and_then(|database| {
        database
            .query_row(sql, params![cwd.to_str(), since], |row| row.get(0))
            .optional()
    });
    found.ok().flatten()
}

/// The newest conversations of people with an agent, with when each last changed.
pub(crate) fn sessions(database: &Path, most: u32) -> Vec<(String, i64)> {
    let sql = "SELECT id, time_updated FROM session WHERE parent_id IS NULL
               ORDER BY time_updated DESC LIMIT ?1";
    let found = open(database).and_then(|database| {
        let mut statement = database.prepare(sql)?;
        let rows = statement.query_map([most], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<rusqlite::Result<Vec<_>>>()
    });
    found.unwrap_or_default()
}

/// Where a conversation was led.
pub(crate) fn directory(tail: &RowTail) -> Option<PathBuf> {
    let sql = "SELECT directory FROM session WHERE id = ?1";
    let found = open(&tail.database).and_then(|database| {
        database
            .query_row(sql, [&tail.session], |row| row.get::<_, String>(0))
            .optional()
    });
    found.ok().flatten().map(PathBuf::from)
}

fn open(database: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

/// A part that will not change any more.
fn line(id: &str, part: &str, message: &str) -> Option<String> {
    let part: Value = serde_json::from_str(part).ok()?;
    let message: Value = serde_json::from_str(message).ok()?;
    let whole = match part["type"].as_str()? {
        "text" => message["role"] == "user" || part["time"]["end"].is_number(),
        "tool" => matches!(
            part["state"]["status"].as_str(),
            Some("completed" | "error")
        ),
        "step-finish" | "compaction" => true,
        _ => false,
    };
    let line = json!({
        "id": id, "role": message["role"], "model": message["modelID"],
        "at": message["time"]["created"], "part": part,
    });
    whole.then(|| line.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(folder: &Path) -> (PathBuf, Connection) {
        let path = folder.join("opencode.db");
        let database = Connection::open(&path).unwrap();
        let tables = "
            CREATE TABLE session (id, parent_id, directory, time_created);
            CREATE TABLE message (id, session_id, data);
            CREATE TABLE part (id, message_id, session_id, time_updated, data);
            INSERT INTO session VALUES
                ('ses_old', NULL, '/work', 10), ('ses_1', NULL, '/work', 2000),
                ('ses_child', 'ses_1', '/work', 2001), ('ses_other', NULL, '/else', 2002);
            INSERT INTO message VALUES ('m1', 'ses_1', '{\"role\":\"user\"}'),
                ('m2', 'ses_1', '{\"role\":\"assistant\",\"modelID\":\"best\"}');";
        database.execute_batch(tables).unwrap();
        (path, database)
    }

    fn positions(batch: &TailBatch) -> Vec<&str> {
        batch
            .lines
            .iter()
            .map(|line| line.position.as_str())
            .collect()
    }

    #[test]
    fn parts_are_handed_out_when_they_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (path, database) = database(folder.path());
        let insert = "INSERT INTO part VALUES
            ('p1', 'm1', 'ses_1', 5, '{\"type\":\"text\",\"text\":\"hello\"}'),
            ('p2', 'm2', 'ses_1', 6, '{\"type\":\"text\",\"text\":\"hal\",\"time\":{\"start\":1}}')";
        database.execute(insert, []).unwrap();
        let mut tail = RowTail::new(&path, "ses_1");
        assert_eq!(positions(&tail.advance().unwrap()), ["p1"]);
        let finish = "UPDATE part SET time_updated = 7,
            data = '{\"type\":\"text\",\"text\":\"half\",\"time\":{\"start\":1,\"end\":2}}'
            WHERE id = 'p2'";
        database.execute(finish, []).unwrap();
        let mut late = tail.clone();
        assert_eq!(positions(&tail.advance().unwrap()), ["p2"]);
        late.skip_to_end().unwrap();
        assert_eq!(late.advance().unwrap(), TailBatch::default());
        let mut missing = RowTail::new(&folder.path().join("none.db"), "ses_1");
        assert_eq!(missing.advance().unwrap(), TailBatch::default());

        // One that is too large is counted once.
        let large = format!(
            "INSERT INTO part VALUES ('p3', 'm2', 'ses_1', 9, '{{\"type\":\"text\",\"text\":\"{}\"}}')",
            "x".repeat(LONGEST_PART as usize)
        );
        database.execute(&large, []).unwrap();
        assert_eq!(tail.advance().unwrap().skipped, 1);
        assert_eq!(tail.advance().unwrap().skipped, 0);
    }

    #[test]
    fn conversations_are_listed_with_where_they_were_led() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        let database = Connection::open(&path).unwrap();
        let tables = "
            CREATE TABLE session (id, parent_id, directory, time_updated);
            INSERT INTO session VALUES ('ses_1', NULL, '/work', 10), ('ses_2', NULL, '/else', 20),
                ('ses_child', 'ses_1', '/work', 30);";
        database.execute_batch(tables).unwrap();
        let found = sessions(&path, 10);
        assert_eq!(found, [("ses_2".to_owned(), 20), ("ses_1".to_owned(), 10)]);
        let place = directory(&RowTail::new(&path, "ses_1"));
        assert_eq!(place.as_deref(), Some(Path::new("/work")));
        assert_eq!(directory(&RowTail::new(&path, "none")), None);
        assert_eq!(sessions(&folder.path().join("none.db"), 10), []);
    }

    #[test]
    fn the_conversation_of_a_launch_is_told_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _database) = database(folder.path());
        let since = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let found = newest_session(&path, Path::new("/work"), since(1));
        assert_eq!(found.as_deref(), Some("ses_1"));
        assert_eq!(newest_session(&path, Path::new("/work"), since(9)), None);
    }
}
