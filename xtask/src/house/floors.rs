//! What `docs/ARCHITECTURE.md` says of the sources: which crate stands on which
//! floor, which may be large, with the reason, and in which files things are decided.

use std::collections::{BTreeMap, BTreeSet};

/// The heading of the first column of the table of exceptions.
const EXCEPTIONS: &str = "crate over 10,000 lines";

/// What the document says about the crates.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The floor of each crate.
    pub(crate) floors: BTreeMap<String, u32>,
    /// Crates that may be large, and why.
    pub(crate) may_be_large: BTreeMap<String, String>,
    /// The files it names, below `crates/`.
    pub(crate) files: BTreeSet<String>,
}

impl Plan {
    /// Reads the rows `| floor | crate (folder), … | …` and, under the heading
    /// `crate over 10,000 lines`, the rows `| crate | reason |`. A file is whatever
    /// stands in backticks as `crate/src/….rs`.
    pub(crate) fn read(document: &str) -> Self {
        let mut plan = Self {
            files: document.split('`').filter_map(source_file).collect(),
            ..Self::default()
        };
        let mut exceptions = false;
        for line in document.lines() {
            let Some(row) = line.trim().strip_prefix('|') else {
                exceptions = false;
                continue;
            };
            let cells: Vec<_> = row.split('|').map(str::trim).collect();
            let [first, second, ..] = cells.as_slice() else {
                continue;
            };
            if *first == EXCEPTIONS {
                exceptions = true;
            } else if exceptions {
                for name in crates_in(first) {
                    plan.may_be_large.insert(name, (*second).to_owned());
                }
            } else if let Ok(floor) = first.parse() {
                for name in crates_in(second) {
                    plan.floors.insert(name, floor);
                }
            }
        }
        plan
    }
}

fn source_file(text: &str) -> Option<String> {
    let (crate_folder, file) = text.split_once("/src/")?;
    let is_path = |part: &str| !part.contains(char::is_whitespace) && !part.contains('<');
    let is_file = is_path(crate_folder) && is_path(file) && file.ends_with(".rs");
    is_file.then(|| text.to_owned())
}

/// The names in backticks, without the folders in parentheses behind them.
fn crates_in(cell: &str) -> Vec<String> {
    let mut outside = String::new();
    let mut depth = 0;
    for letter in cell.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 => outside.push(letter),
            _ => {}
        }
    }
    let parts = outside.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_and_exceptions_are_read_from_their_tables() {
        let document = "\
| floor | crate (folder) | what lives here |
|---|---|---|
| 2 | `mission` (`crates/cli`), `bench` | the `binaries` |
| 0 | `core` (`crates/core`) | words |

| crate over 10,000 lines | reason |
|---|---|
| `store` | two databases, see `store/src/db.rs` and `api/src/<domain>.rs` |

| other | table |
|---|---|
| `x` | y |
";
        let expected = Plan {
            floors: BTreeMap::from([
                ("mission".to_owned(), 2),
                ("bench".to_owned(), 2),
                ("core".to_owned(), 0),
            ]),
            may_be_large: BTreeMap::from([(
                "store".to_owned(),
                "two databases, see `store/src/db.rs` and `api/src/<domain>.rs`".to_owned(),
            )]),
            files: BTreeSet::from(["store/src/db.rs".to_owned()]),
        };
        assert_eq!(Plan::read(document), expected);
    }
}
