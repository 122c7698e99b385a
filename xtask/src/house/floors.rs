//! The tables of `docs/ARCHITECTURE.md`: which crate stands on which floor, and
//! which may be large, with the reason.

use std::collections::BTreeMap;

/// The heading of the first column of the table of exceptions.
const EXCEPTIONS: &str = "crate over 10,000 lines";

/// What the document says about the crates.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The floor of each crate.
    pub(crate) floors: BTreeMap<String, u32>,
    /// Crates that may be large, and why.
    pub(crate) may_be_large: BTreeMap<String, String>,
}

impl Plan {
    /// Reads the rows `| floor | crate (folder), … | …` and, under the heading
    /// `crate over 10,000 lines`, the rows `| crate | reason |`.
    pub(crate) fn read(document: &str) -> Self {
        let mut plan = Self::default();
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
| `store` | two databases |

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
            may_be_large: BTreeMap::from([("store".to_owned(), "two databases".to_owned())]),
        };
        assert_eq!(Plan::read(document), expected);
    }
}
