//! What was read of repositories. A cache of what is on the disk: a row that is
//! missing costs a second reading and nothing else, so files are written in small
//! transactions, each file with its nodes.

use missiond_core::Timestamp;

use crate::{Row, StoreError, Tx, Value};

/// Nodes in one statement.
const AT_ONCE: usize = 50;
/// Files a page of [`files`] holds.
const PAGE: u32 = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFileRow {
    pub path: String,
    pub stamp: StampRow,
    /// As the code map spells it; none for a skipped file.
    pub language: Option<String>,
    pub hash: Option<String>,
    pub lines: u32,
    /// Why it was skipped.
    pub skipped: Option<String>,
    /// `name count` a line.
    pub identifiers: String,
    pub nodes: Vec<NodeRow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampRow {
    pub size: i64,
    pub modified_ns: i64,
    pub changed_ns: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRow {
    pub kind: String,
    pub name: String,
    pub container: String,
    pub signature: String,
    pub doc: String,
    pub words: String,
    pub first_line: u32,
    pub last_line: u32,
    pub start_byte: u32,
    pub end_byte: u32,
    pub hash: String,
    pub nameless: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeRepositoryRow {
    pub id: i64,
    pub root: String,
    /// When a whole pass last ended.
    pub checked_at: Option<Timestamp>,
}

/// Makes room for a repository. What another format wrote is forgotten.
pub async fn begin(
    tx: &mut Tx<'_>,
    id: i64,
    host: &str,
    root: &str,
    format: u32,
) -> Result<(), StoreError> {
    let sql = "SELECT format FROM code_repositories WHERE id = $1";
    let known = tx.query_one(sql, &[id.into()]).await?;
    match known.map(|row| row.get::<u32>(0)).transpose()? {
        Some(known) if known == format => return Ok(()),
        Some(_) => forget(tx, id).await?,
        None => {}
    }
    let sql = "INSERT INTO code_repositories (id, host, root, format) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (id) DO NOTHING";
    let params = [id.into(), host.into(), root.into(), format.into()];
    tx.execute(sql, &params).await?;
    Ok(())
}

/// A whole pass has ended.
pub async fn checked(tx: &mut Tx<'_>, id: i64, now: Timestamp) -> Result<(), StoreError> {
    let sql = "UPDATE code_repositories SET checked_at = $2 WHERE id = $1";
    tx.execute(sql, &[id.into(), now.into()]).await?;
    Ok(())
}

/// The repositories that were read on this host.
pub async fn repositories(
    tx: &mut Tx<'_>,
    host: &str,
) -> Result<Vec<CodeRepositoryRow>, StoreError> {
    let sql = "SELECT id, root, checked_at FROM code_repositories WHERE host = $1 ORDER BY root";
    let decode = |row: &Row| {
        Ok(CodeRepositoryRow {
            id: row.get(0)?,
            root: row.get(1)?,
            checked_at: row.get(2)?,
        })
    };
    let rows = tx.query(sql, &[host.into()]).await?;
    rows.iter().map(decode).collect()
}

/// How many files of each repository of this host were read.
pub async fn file_counts(tx: &mut Tx<'_>, host: &str) -> Result<Vec<(i64, u32)>, StoreError> {
    let sql = "SELECT r.id, COUNT(*) FROM code_repositories r \
         JOIN code_files f ON f.repository = r.id WHERE r.host = $1 GROUP BY r.id";
    let rows = tx.query(sql, &[host.into()]).await?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

/// Forgets everything that was read of a repository; beacons stay.
pub async fn forget(tx: &mut Tx<'_>, id: i64) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM ast_nodes WHERE repository = $1",
        "DELETE FROM code_files WHERE repository = $1",
        "DELETE FROM code_repositories WHERE id = $1",
    ] {
        tx.execute(sql, &[id.into()]).await?;
    }
    Ok(())
}

/// Keeps a file as it is now.
pub async fn put(tx: &mut Tx<'_>, id: i64, file: &CodeFileRow) -> Result<(), StoreError> {
    remove(tx, id, &file.path).await?;
    let sql = "INSERT INTO code_files (repository, path, size, modified_ns, changed_ns, language, \
         hash, lines, skipped, identifiers) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let params = [
        id.into(),
        (&file.path).into(),
        file.stamp.size.into(),
        file.stamp.modified_ns.into(),
        file.stamp.changed_ns.into(),
        file.language.as_deref().into(),
        file.hash.as_deref().into(),
        file.lines.into(),
        file.skipped.as_deref().into(),
        (&file.identifiers).into(),
    ];
    tx.execute(sql, &params).await?;
    let mut place: i64 = 0;
    for nodes in file.nodes.chunks(AT_ONCE) {
        let mut sql = "INSERT INTO ast_nodes (repository, path, place, kind, name, container, \
             signature, doc, words, first_line, last_line, start_byte, end_byte, hash, nameless) \
             VALUES "
            .to_owned();
        let mut params: Vec<Value> = vec![id.into(), (&file.path).into()];
        for (number, node) in nodes.iter().enumerate() {
            sql.push_str(if number == 0 { "($1, $2" } else { ", ($1, $2" });
            for column in 0..13 {
                sql.push_str(&format!(", ${}", 3 + number * 13 + column));
            }
            sql.push(')');
            params.push(place.into());
            params.extend(columns(node));
            place += 1;
        }
        tx.execute(&sql, &params).await?;
    }
    Ok(())
}

fn columns(node: &NodeRow) -> [Value; 12] {
    [
        (&node.kind).into(),
        (&node.name).into(),
        (&node.container).into(),
        (&node.signature).into(),
        (&node.doc).into(),
        (&node.words).into(),
        node.first_line.into(),
        node.last_line.into(),
        node.start_byte.into(),
        node.end_byte.into(),
        (&node.hash).into(),
        (&node.nameless).into(),
    ]
}

/// The same content under another stamp.
pub async fn touch(
    tx: &mut Tx<'_>,
    id: i64,
    path: &str,
    stamp: StampRow,
) -> Result<(), StoreError> {
    let sql = "UPDATE code_files SET size = $3, modified_ns = $4, changed_ns = $5 \
         WHERE repository = $1 AND path = $2";
    let params = [
        id.into(),
        path.into(),
        stamp.size.into(),
        stamp.modified_ns.into(),
        stamp.changed_ns.into(),
    ];
    tx.execute(sql, &params).await?;
    Ok(())
}

pub async fn remove(tx: &mut Tx<'_>, id: i64, path: &str) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM ast_nodes WHERE repository = $1 AND path = $2",
        "DELETE FROM code_files WHERE repository = $1 AND path = $2",
    ] {
        tx.execute(sql, &[id.into(), path.into()]).await?;
    }
    Ok(())
}

/// The files after this path with their nodes, by path; a page of them, empty at
/// the end.
pub async fn files(
    tx: &mut Tx<'_>,
    id: i64,
    after: Option<&str>,
) -> Result<Vec<CodeFileRow>, StoreError> {
    let after = after.unwrap_or_default();
    let sql = "SELECT path, size, modified_ns, changed_ns, language, hash, lines, skipped, \
         identifiers FROM code_files WHERE repository = $1 AND path > $2 ORDER BY path LIMIT $3";
    let params = [id.into(), after.into(), PAGE.into()];
    let rows = tx.query(sql, &params).await?;
    let mut files = rows.iter().map(file).collect::<Result<Vec<_>, _>>()?;
    let Some(last) = files.last().map(|file| file.path.clone()) else {
        return Ok(files);
    };
    let sql = "SELECT path, kind, name, container, signature, doc, words, first_line, last_line, \
         start_byte, end_byte, hash, nameless FROM ast_nodes \
         WHERE repository = $1 AND path > $2 AND path <= $3 ORDER BY path, place";
    let rows = tx
        .query(sql, &[id.into(), after.into(), last.into()])
        .await?;
    let mut files_left = files.iter_mut().peekable();
    for row in &rows {
        let path = row.text(0)?;
        // Both are sorted by path, by the same engine.
        while files_left.peek().is_some_and(|file| file.path != path) {
            files_left.next();
        }
        if let Some(file) = files_left.peek_mut() {
            file.nodes.push(node(row)?);
        }
    }
    Ok(files)
}

fn file(row: &Row) -> Result<CodeFileRow, StoreError> {
    Ok(CodeFileRow {
        path: row.get(0)?,
        stamp: StampRow {
            size: row.get(1)?,
            modified_ns: row.get(2)?,
            changed_ns: row.get(3)?,
        },
        language: row.get(4)?,
        hash: row.get(5)?,
        lines: row.get(6)?,
        skipped: row.get(7)?,
        identifiers: row.get(8)?,
        nodes: Vec::new(),
    })
}

fn node(row: &Row) -> Result<NodeRow, StoreError> {
    Ok(NodeRow {
        kind: row.get(1)?,
        name: row.get(2)?,
        container: row.get(3)?,
        signature: row.get(4)?,
        doc: row.get(5)?,
        words: row.get(6)?,
        first_line: row.get(7)?,
        last_line: row.get(8)?,
        start_byte: row.get(9)?,
        end_byte: row.get(10)?,
        hash: row.get(11)?,
        nameless: row.get(12)?,
    })
}
