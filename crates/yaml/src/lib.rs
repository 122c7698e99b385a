//! Reads YAML that people write: manifests and rehearsal scripts.
//!
//! A file is checked from its first to its last line, and every problem is
//! reported with its line and, for a misspelt word, with the nearest one known.
//! What the keys mean is the business of whoever reads the [`Node`]s.

mod node;

use std::fmt;

use saphyr::{LoadableYamlNode, MarkedYaml};

use node::Problems;
pub use node::{Fields, Node, Value, unknown};

/// Something that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// 1 is the first line.
    pub line: usize,
    pub message: String,
}

/// All problems of one file, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    pub problems: Vec<Problem>,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "line {}: {}", problem.line, problem.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}

/// Reads a file of at most `max_bytes` that holds one document. `read` goes on
/// after a problem, so that all of them are returned, in the order of the file.
pub fn read_document<T>(
    text: &str,
    what: &str,
    max_bytes: usize,
    read: impl FnOnce(Node<'_>) -> Option<T>,
) -> Result<T, Invalid> {
    let one = |line, message: String| Invalid {
        problems: vec![Problem { line, message }],
    };
    if text.len() > max_bytes {
        return Err(one(1, format!("{what} has at most {max_bytes} bytes")));
    }
    // The parser places what is missing at the end on the line after the last.
    let last_line = 1 + text.chars().filter(|c| matches!(c, '\n' | '\r')).count();
    let documents = MarkedYaml::load_from_str(text).map_err(|error| {
        let line = error.marker().line().min(last_line);
        one(line, format!("not YAML: {}", error.info()))
    })?;
    let [document] = &documents[..] else {
        return Err(one(
            1,
            format!("expected one YAML document, found {}", documents.len()),
        ));
    };
    let problems = Problems::default();
    let value = read(Node::new(document, &problems));
    let mut problems = problems.into_sorted();
    problems
        .iter_mut()
        .for_each(|problem| problem.line = problem.line.min(last_line));
    match value {
        Some(value) if problems.is_empty() => Ok(value),
        _ => Err(Invalid { problems }),
    }
}
