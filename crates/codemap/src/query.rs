//! What a person typed, and what it was found to mean.
//!
//! A name written as code names itself comes first, whatever the words around it
//! score: one that is spelled exactly so, then one that differs in case only.
//! Everything else is found by its words.

use crate::error::CodeError;
use crate::index::NodeRef;
use crate::language::Language;
use crate::words::{parts, words};

/// Longer queries are refused.
pub const MAX_QUERY: usize = 1_000;

/// How a hit was found; later ones come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// By what it is about, without a word of the query.
    Meaning,
    /// By the words of its name, comment, path and body.
    Words,
    /// Its name, but for upper and lower case.
    NameInAnyCase,
    /// Its very name, or the path of the file.
    Name,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub node: NodeRef,
    pub matched: Match,
    /// Comparable within one answer only.
    pub score: f32,
}

/// A query, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Query {
    /// Names that are written as code writes them, without their qualifier.
    pub(crate) names: Vec<Name>,
    /// Endings of paths, each maybe with a line.
    pub(crate) paths: Vec<(String, Option<u32>)>,
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) name: String,
    /// What must stand before it, its parts joined by `::`; often empty.
    pub(crate) qualifier: String,
}

impl Query {
    pub(crate) fn parse(text: &str) -> Result<Self, CodeError> {
        let given = text.chars().count();
        if given > MAX_QUERY {
            return Err(CodeError::QueryTooLong {
                given,
                limit: MAX_QUERY,
            });
        }
        let tokens: Vec<_> = text.split_whitespace().collect();
        let mut query = Self {
            names: Vec::new(),
            paths: Vec::new(),
            words: Vec::new(),
        };
        for token in &tokens {
            let quoted = token.contains('`') || token.contains("()");
            let token = token.trim_matches(|c: char| "`'\"?!,;()[]{}<>".contains(c));
            let token = token.trim_end_matches(['.', ':', '(', ')']);
            if let Some(path) = path_and_line(token) {
                query.paths.push(path);
            } else if quoted || tokens.len() == 1 || is_written_as_code(token) {
                query.names.extend(name(token));
            }
        }
        words(text, |word| {
            if !query.words.iter().any(|known| known == word) {
                query.words.push(word.to_owned());
            }
        });
        let telling: Vec<_> = query
            .words
            .iter()
            .filter(|word| !FRAME.contains(&word.as_str()))
            .cloned()
            .collect();
        // A query of frame words alone means them.
        if !telling.is_empty() {
            query.words = telling;
        }
        if query.words.is_empty() && query.names.is_empty() && query.paths.is_empty() {
            return Err(CodeError::EmptyQuery);
        }
        Ok(query)
    }
}

/// Words that questions are made of and code is not about, as [`words`] cuts them.
const FRAME: &[&str] = &[
    "wher", "is", "the", "an", "of", "in", "on", "to", "it", "its", "that", "which", "what", "how",
    "do", "doe", "we", "our", "you", "and", "or", "by", "be", "are", "was", "with", "for", "from",
    "as", "at", "this", "who", "when", "cod",
];

pub(crate) fn name(token: &str) -> Option<Name> {
    let pieces: Vec<_> = token
        .split(['.', '#', ':'])
        .filter(|piece| !piece.is_empty())
        .collect();
    let (last, before) = pieces.split_last()?;
    let is_name = last
        .chars()
        .all(|c| c.is_alphanumeric() || "_$~!?=".contains(c));
    is_name.then(|| Name {
        name: (*last).to_owned(),
        qualifier: before.join("::"),
    })
}

fn is_written_as_code(token: &str) -> bool {
    let inner = token.trim_matches('_');
    if !inner.is_ascii() || !inner.bytes().any(|b| b.is_ascii_alphabetic()) {
        return false;
    }
    token.contains("::")
        || inner.contains('_')
        || (inner.contains('.') && inner.split('.').all(|part| part.len() > 1))
        // Two capitals apart: `MissionDb`, not `Where` and not `HTTP`.
        || (parts(inner).count() > 1
            && inner.bytes().any(|b| b.is_ascii_lowercase())
            && inner.bytes().skip(1).any(|b| b.is_ascii_uppercase()))
}

fn path_and_line(token: &str) -> Option<(String, Option<u32>)> {
    let (path, line) = match token.rsplit_once(':') {
        Some((path, line)) if line.bytes().all(|b| b.is_ascii_digit()) && !line.is_empty() => {
            (path, line.parse().ok())
        }
        _ => (token, None),
    };
    let path = path.trim_start_matches("./");
    let is_path = Language::of_path(path).is_some() && !path.contains("::");
    is_path.then(|| (path.to_owned(), line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let query = Query::parse(text).unwrap();
        let written = |name: Name| format!("{}|{}", name.qualifier, name.name);
        query.names.into_iter().map(written).collect()
    }

    #[test]
    fn names_are_known_by_how_they_are_written() {
        assert_eq!(
            names("where is MissionDb::write defined"),
            ["MissionDb|write"]
        );
        assert_eq!(names("what calls `open`?"), ["|open"]);
        assert_eq!(names("open() of the store"), ["|open"]);
        assert_eq!(names("parse_frame"), ["|parse_frame"]);
        assert_eq!(names("where is the HTTP server"), Vec::<String>::new());
        assert_eq!(names("index"), ["|index"]);
        assert_eq!(names("Client.connect"), ["Client|connect"]);
    }

    #[test]
    fn paths_may_have_a_line() {
        let query = Query::parse("store/src/db.rs:12 and x.py").unwrap();
        let expected = [
            ("store/src/db.rs".to_owned(), Some(12)),
            ("x.py".to_owned(), None),
        ];
        assert_eq!(query.paths, expected);
    }

    #[test]
    fn a_query_is_bounded_and_says_something() {
        assert!(matches!(Query::parse(" ?! "), Err(CodeError::EmptyQuery)));
        let long = "a".repeat(100_000);
        assert!(matches!(
            Query::parse(&long),
            Err(CodeError::QueryTooLong { .. })
        ));
        assert_eq!(
            Query::parse("where is it").unwrap().words,
            ["wher", "is", "it"]
        );
        assert_eq!(
            Query::parse("where is the lease renewed").unwrap().words,
            ["leas", "renew"]
        );
    }
}
