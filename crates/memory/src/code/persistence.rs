//! What the code map says, as rows of the store, and back.

use missiond_codemap::{FileChange, FileFacts, FileRecord, Span, Stamp, Symbol};
use missiond_store::code::{self, CodeFileRow, NodeRow, StampRow};
use missiond_store::{StoreError, Tx};

/// A change of the store's tables.
#[derive(Debug)]
pub(super) enum Change {
    Put(Box<CodeFileRow>),
    Touch { path: String, stamp: StampRow },
    Remove { path: String },
}

impl Change {
    pub(super) async fn store(&self, tx: &mut Tx<'_>, repository: i64) -> Result<(), StoreError> {
        match self {
            Self::Put(file) => code::put(tx, repository, file).await,
            Self::Touch { path, stamp } => code::touch(tx, repository, path, *stamp).await,
            Self::Remove { path } => code::remove(tx, repository, path).await,
        }
    }
}

pub(super) fn change(news: &FileChange) -> Change {
    match news {
        FileChange::Changed(file) => Change::Put(Box::new(to_row(file))),
        FileChange::Touched { path, stamp } => Change::Touch {
            path: path.clone(),
            stamp: stamp_row(*stamp),
        },
        FileChange::Gone { path } => Change::Remove { path: path.clone() },
    }
}

fn stamp_row(stamp: Stamp) -> StampRow {
    StampRow {
        size: i64::try_from(stamp.size).unwrap_or(i64::MAX),
        modified_ns: stamp.modified_ns,
        changed_ns: stamp.changed_ns,
    }
}

fn to_row(file: &FileRecord) -> CodeFileRow {
    let mut row = CodeFileRow {
        path: file.path.clone(),
        stamp: stamp_row(file.stamp),
        language: None,
        hash: None,
        lines: 0,
        skipped: None,
        identifiers: String::new(),
        nodes: Vec::new(),
    };
    match &file.facts {
        FileFacts::Skipped(skip) => row.skipped = Some(skip.to_string()),
        FileFacts::Read {
            language,
            hash,
            lines,
            symbols,
            references,
        } => {
            row.language = Some(language.to_string());
            row.hash = Some(hash.to_string());
            row.lines = *lines;
            let identifiers: Vec<_> = references
                .iter()
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            row.identifiers = identifiers.join("\n");
            row.nodes = symbols.iter().map(node_row).collect();
        }
    }
    row
}

fn node_row(symbol: &Symbol) -> NodeRow {
    NodeRow {
        kind: symbol.kind.to_string(),
        name: symbol.name.clone(),
        container: symbol.container.clone(),
        signature: symbol.signature.clone(),
        doc: symbol.doc.clone(),
        words: symbol.words.clone(),
        first_line: symbol.span.first_line,
        last_line: symbol.span.last_line,
        start_byte: symbol.span.start,
        end_byte: symbol.span.end,
        hash: symbol.hash.to_string(),
        nameless: symbol.nameless.to_string(),
    }
}

/// The file a row tells of; none when the row is not one of ours.
pub(super) fn from_row(row: CodeFileRow) -> Option<FileRecord> {
    let stamp = Stamp {
        size: u64::try_from(row.stamp.size).ok()?,
        modified_ns: row.stamp.modified_ns,
        changed_ns: row.stamp.changed_ns,
    };
    let facts = match row.skipped {
        Some(skipped) => FileFacts::Skipped(skipped.parse().ok()?),
        None => {
            let reference = |line: &str| {
                let (name, count) = line.rsplit_once(' ')?;
                Some((name.to_owned(), count.parse().ok()?))
            };
            let symbols: Option<Vec<_>> = row.nodes.into_iter().map(symbol).collect();
            FileFacts::Read {
                language: row.language?.parse().ok()?,
                hash: row.hash?.parse().ok()?,
                lines: row.lines,
                symbols: symbols?,
                references: row.identifiers.lines().filter_map(reference).collect(),
            }
        }
    };
    Some(FileRecord {
        path: row.path,
        stamp,
        facts,
    })
}

fn symbol(row: NodeRow) -> Option<Symbol> {
    Some(Symbol {
        kind: row.kind.parse().ok()?,
        name: row.name,
        container: row.container,
        signature: row.signature,
        doc: row.doc,
        words: row.words,
        span: Span {
            first_line: row.first_line,
            last_line: row.last_line,
            start: row.start_byte,
            end: row.end_byte,
        },
        hash: row.hash.parse().ok()?,
        nameless: row.nameless.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use missiond_codemap::{Language, Limits, Skip, extract};

    use super::*;

    #[test]
    fn what_is_kept_reads_back() {
        let text = "//! About.\n/// One.\nfn one() { two(three) }\n";
        let found = extract("a.rs", text, Language::Rust, &Limits::default()).unwrap();
        let read = FileFacts::Read {
            language: Language::Rust,
            hash: found.symbols[0].hash,
            lines: found.lines,
            symbols: found.symbols,
            references: found.references,
        };
        for facts in [read, FileFacts::Skipped(Skip::TooLarge)] {
            let file = FileRecord {
                path: "a.rs".into(),
                stamp: Stamp::UNKNOWN,
                facts,
            };
            assert_eq!(from_row(to_row(&file)), Some(file));
        }
    }
}
