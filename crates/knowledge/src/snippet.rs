//! The part of a text that shows why it was found: some words around the most of
//! the query's terms, with those marked.

use crate::tokens::{Form, Piece, TermKind, Token, is_filler, pieces};

/// Words of a snippet unless told otherwise.
pub const SNIPPET_TOKENS: usize = 40;

/// Longer texts are looked through only to here.
const READ: usize = 64 * 1024;

/// A piece of a text and the byte ranges in it that answer the query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    pub text: String,
    pub highlights: Vec<(usize, usize)>,
}

impl Snippet {
    /// Whether anything but words such as `the` answers the query.
    #[must_use]
    pub fn has_content_match(&self) -> bool {
        let words = self.highlights.iter();
        let mut words = words.filter_map(|&(start, end)| self.text.get(start..end));
        words.any(|word| !is_filler(&word.to_lowercase()))
    }
}

/// The snippet of `text` for the terms of a query, so many words of it.
#[must_use]
pub fn snippet(text: &str, query: &[Token], length: usize) -> Snippet {
    let text = &text[..text.floor_char_boundary(READ)];
    let query_terms = QueryTerms::of(query);
    let found: Vec<MatchedPiece> = pieces(text)
        .into_iter()
        .map(|p| query_terms.match_piece(p))
        .collect();
    // Identifiers lie over the words they are made of: a word is counted once.
    let words: Vec<&MatchedPiece> = found.iter().filter(|s| s.form == Form::Word).collect();
    let Some(window) = best_window(&words, length) else {
        return Snippet::default();
    };
    let (first, last) = (words[window.start], words[window.end - 1]);
    let (start, end) = (first.start, last.end);
    let mut out = String::new();
    if window.start > 0 {
        out.push('…');
    }
    let shift = out.len();
    out.push_str(&text[start..end]);
    if window.end < words.len() {
        out.push('…');
    }
    let mut marked: Vec<(usize, usize)> = found
        .iter()
        .filter(|piece| piece.start >= start && piece.end <= end && piece.term.is_some())
        .map(|piece| (piece.start - start + shift, piece.end - start + shift))
        .collect();
    marked.sort_unstable();
    Snippet {
        text: out,
        highlights: merge_ranges(&marked),
    }
}

/// The terms of a query that are marked, each once.
struct QueryTerms<'q> {
    /// In order.
    terms: Vec<(Form, &'q str)>,
    /// The bytes that a term begins with. A word that begins with none of them is
    /// no term, and most are not: those need not be stemmed.
    begins: [bool; 256],
}

/// A piece of the text, and which of the terms it is.
struct MatchedPiece {
    form: Form,
    start: usize,
    end: usize,
    term: Option<usize>,
}

impl<'q> QueryTerms<'q> {
    fn of(query: &'q [Token]) -> Self {
        let mut begins = [false; 256];
        let mut terms = Vec::with_capacity(query.len());
        for token in query {
            let form = match token.kind {
                TermKind::Filler | TermKind::Character => continue,
                TermKind::Word => Form::Word,
                TermKind::Identifier => Form::Identifier,
            };
            terms.push((form, token.term.as_str()));
            if let Some(byte) = token.term.bytes().next() {
                begins[usize::from(byte)] = true;
            }
        }
        terms.sort_unstable();
        terms.dedup();
        Self { terms, begins }
    }

    fn match_piece(&self, piece: Piece<'_>) -> MatchedPiece {
        let (form, start, end) = (piece.form, piece.start, piece.end);
        let begins = piece.lower.bytes().next();
        let term = begins
            .filter(|byte| self.begins[usize::from(*byte)])
            .and_then(|_| {
                let term = piece.into_term();
                self.terms.binary_search(&(form, &*term)).ok()
            });
        MatchedPiece {
            form,
            start,
            end,
            term,
        }
    }
}

/// Where the most different terms of the query stand together; the earliest of
/// equals, a little before its first hit.
fn best_window(words: &[&MatchedPiece], length: usize) -> Option<std::ops::Range<usize>> {
    if words.is_empty() {
        return None;
    }
    let hits = words.iter().enumerate();
    let hits: Vec<(usize, usize)> = hits
        .filter_map(|(at, word)| Some((at, word.term?)))
        .collect();
    let mut best = (0, 0);
    for (n, &(at, _)) in hits.iter().enumerate() {
        let inside = hits[n..]
            .iter()
            .take_while(|(other, _)| *other < at + length);
        let mut different: Vec<usize> = inside.map(|(_, term)| *term).collect();
        different.sort_unstable();
        different.dedup();
        if different.len() > best.0 {
            best = (different.len(), at);
        }
    }
    let start = if best.1 + length > words.len() {
        words.len().saturating_sub(length)
    } else {
        best.1.saturating_sub(4)
    };
    Some(start..(start + length).min(words.len()))
}

fn merge_ranges(ranges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::with_capacity(ranges.len());
    for &(start, end) in ranges {
        match out.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => out.push((start, end)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::tokens;

    fn marked(text: &str, query: &str) -> (String, Vec<String>) {
        let snippet = snippet(text, &tokens(query), SNIPPET_TOKENS);
        let words = snippet
            .highlights
            .iter()
            .map(|&(a, b)| snippet.text[a..b].to_owned())
            .collect();
        (snippet.text, words)
    }

    #[test]
    fn the_part_with_the_most_terms_is_shown_and_marked() {
        let text = format!(
            "{} the deployment failed on Friday {}",
            "filler ".repeat(100),
            "more ".repeat(100)
        );
        let (shown, words) = marked(&text, "deploy failure friday fail");
        assert_eq!(words, ["deployment", "failed", "Friday"]);
        assert!(shown.starts_with('…') && shown.ends_with('…'));
        assert_eq!(tokens(&shown).len(), SNIPPET_TOKENS);
    }

    #[test]
    fn an_identifier_is_marked_whole() {
        let (shown, words) = marked("see open_knowing() in db.rs", "open_knowing");
        assert_eq!(words, ["open_knowing"]);
        assert_eq!(shown, "see open_knowing() in db.rs");
    }

    #[test]
    fn chinese_is_marked_without_spaces() {
        let (_, words) = marked("黑豹队的防守只丢了分", "防守丢分");
        assert_eq!(words, ["防守"]);
    }

    #[test]
    fn a_text_without_words_has_no_snippet() {
        assert_eq!(snippet("…!?", &tokens("x"), 40), Snippet::default());
    }
}
