//! Text to terms. Words are lower-cased and stemmed, runs of Chinese, Japanese
//! and Korean become overlapping pairs of characters and, counting less, each
//! character, because there are words of one; and what looks like an identifier is
//! kept whole beside the words it is made of. The same function reads entries and
//! queries, so what was written one way is found that way.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

/// What a term stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TermKind {
    /// A stemmed word or a pair of characters.
    Word,
    /// One character of a run of Chinese, Japanese or Korean.
    Character,
    /// A word so frequent that it says little.
    Filler,
    /// Something written as one: a path, a name with underscores, a code.
    Identifier,
}

/// One term and the bytes of the text it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub term: String,
    pub kind: TermKind,
    pub start: usize,
    pub end: usize,
}

/// What a piece of a text becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Word,
    Character,
    Identifier,
}

/// A piece of a text that becomes a term. It is not stemmed yet: who looks for few
/// terms need not stem most words.
#[derive(Debug)]
pub(crate) struct Piece<'t> {
    /// In lower case.
    pub(crate) lower: Cow<'t, str>,
    pub(crate) form: Form,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl<'t> Piece<'t> {
    /// The term, which begins with the same byte as the piece.
    pub(crate) fn into_term(self) -> Cow<'t, str> {
        match self.form {
            Form::Word => stem(self.lower),
            Form::Character | Form::Identifier => self.lower,
        }
    }

    fn into_token(self) -> Token {
        let kind = match self.form {
            Form::Identifier => TermKind::Identifier,
            Form::Character => TermKind::Character,
            Form::Word if is_filler(&self.lower) => TermKind::Filler,
            Form::Word => TermKind::Word,
        };
        let (start, end) = (self.start, self.end);
        Token {
            term: self.into_term().into_owned(),
            kind,
            start,
            end,
        }
    }
}

/// Every term of a text, in order. Identifiers come before their parts.
#[must_use]
pub fn tokens(text: &str) -> Vec<Token> {
    pieces(text).into_iter().map(Piece::into_token).collect()
}

/// The same before they are stemmed.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::with_capacity(text.len() / 5);
    for (start, atom) in atoms(text) {
        read_atom(atom, start, &mut found);
    }
    found
}

/// What a query names exactly: identifiers as written, and phrases, lower-cased
/// with single spaces. A phrase stands in double quotes or backticks, is called
/// like a function, or is a word that is all of the query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExactParts {
    pub identifiers: Vec<String>,
    pub phrases: Vec<String>,
}

/// The identifiers and phrases of a query.
#[must_use]
pub fn exact_parts(query: &str) -> ExactParts {
    let mut exact = ExactParts::default();
    let mut phrases = Vec::new();
    let mut last = None;
    let mut count = 0;
    for (start, atom) in atoms(query) {
        count += 1;
        if is_identifier(atom) {
            let lower = atom.to_lowercase();
            if !exact.identifiers.contains(&lower) {
                exact.identifiers.push(lower);
            }
            continue;
        }
        let called = query[start + atom.len()..].starts_with("()");
        if called && atom.len() > 1 {
            phrases.push(plain(atom));
        }
        last = Some(atom);
    }
    if let Some(word) = last.filter(|word| count == 1 && word.len() > 2 && !word.contains(is_cjk)) {
        phrases.push(plain(word));
    }
    for mark in ['"', '`'] {
        let mut quoted = query.split(mark).skip(1);
        while let (Some(phrase), Some(_)) = (quoted.next(), quoted.next()) {
            phrases.push(plain(phrase));
        }
    }
    for phrase in phrases {
        let known = exact.phrases.contains(&phrase) || exact.identifiers.contains(&phrase);
        if !phrase.is_empty() && !known {
            exact.phrases.push(phrase);
        }
    }
    exact
}

/// Lower case, with every run of white space as one space: the form in which a
/// phrase is compared with a text.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
    out
}

/// The longest identifier that is kept whole; longer ones are data.
const LONGEST_IDENTIFIER: usize = 256;

/// The longest word; what goes beyond is not language.
const LONGEST_WORD: usize = 64;

/// Pieces between white space and brackets, without the punctuation around them.
fn atoms(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    let mut offset = 0;
    std::iter::from_fn(move || {
        loop {
            let begin = rest.find(in_atom)?;
            let tail = &rest[begin..];
            // Most atoms are nothing but this, and need no closer look.
            let lower = lower_case(tail);
            let end = tail[lower..].find(|c: char| !in_atom(c));
            let end = end.map_or(tail.len(), |more| lower + more);
            let atom = &tail[..end];
            let start = offset + begin;
            offset = start + end;
            rest = &tail[end..];
            if end == lower {
                return Some((start, atom));
            }
            let trimmed =
                atom.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '_');
            let start = start + (atom.len() - trimmed.len());
            let trimmed = trimmed.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
            if trimmed.chars().any(char::is_alphanumeric) {
                return Some((start, trimmed));
            }
        }
    })
}

/// How many bytes a text begins with that are small letters of English.
fn lower_case(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_lowercase).count()
}

fn in_atom(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(
            c,
            '_' | '.' | '/' | ':' | '-' | '#' | '@' | '\\' | '+' | '~' | '$' | '\'' | '’'
        )
}

fn read_atom<'t>(atom: &'t str, start: usize, found: &mut Vec<Piece<'t>>) {
    if lower_case(atom) == atom.len() {
        return push_word(Cow::Borrowed(atom), start, start + atom.len(), found);
    }
    if atom.len() <= LONGEST_IDENTIFIER && atom.contains(|c: char| !c.is_alphanumeric()) {
        push_identifier(atom, start, found);
        // A file is asked for by its name, a function by its last segment.
        if atom.contains(['/', ':', '\\']) {
            for (at, piece) in split_at(atom, |c| matches!(c, '/' | ':' | '\\')) {
                if piece.len() < atom.len() && piece.contains(|c: char| !c.is_alphanumeric()) {
                    push_identifier(piece, start + at, found);
                }
            }
        }
    }
    for (at, word) in split_at(atom, |c| !c.is_alphanumeric() && !matches!(c, '\'' | '’')) {
        read_word(word, start + at, found);
    }
}

fn push_identifier(atom: &str, start: usize, found: &mut Vec<Piece<'_>>) {
    let name = atom.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '/');
    if name.contains(['\'', '’']) || name.is_empty() {
        return;
    }
    found.push(Piece {
        lower: Cow::Owned(name.to_lowercase()),
        form: Form::Identifier,
        start,
        end: start + atom.len(),
    });
}

/// The non-empty pieces between characters that `cut` accepts, with their places.
fn split_at(text: &str, cut: impl Fn(char) -> bool) -> impl Iterator<Item = (usize, &str)> {
    let base = text.as_ptr() as usize;
    text.split(cut)
        .filter(|piece| !piece.is_empty())
        .map(move |piece| (piece.as_ptr() as usize - base, piece))
}

fn read_word<'t>(word: &'t str, start: usize, found: &mut Vec<Piece<'t>>) {
    let mut run_start = 0;
    let mut run_is_cjk = None;
    for (at, c) in word.char_indices() {
        let cjk = is_cjk(c);
        if run_is_cjk.is_some_and(|before| before != cjk) {
            read_run(&word[run_start..at], start + run_start, !cjk, found);
            run_start = at;
        }
        run_is_cjk = Some(cjk);
    }
    if let Some(cjk) = run_is_cjk {
        read_run(&word[run_start..], start + run_start, cjk, found);
    }
}

fn read_run<'t>(run: &'t str, start: usize, cjk: bool, found: &mut Vec<Piece<'t>>) {
    if cjk {
        return read_pairs(run, start, found);
    }
    let run_end = start + run.len();
    // Nothing to take off, split or lower.
    if lower_case(run) == run.len() {
        return push_word(Cow::Borrowed(run), start, run_end, found);
    }
    let run = run
        .strip_suffix("'s")
        .or_else(|| run.strip_suffix("’s"))
        .unwrap_or(run);
    let word: String = run.chars().filter(|c| !matches!(c, '\'' | '’')).collect();
    if word.is_empty() {
        return;
    }
    let parts = case_parts(&word);
    if parts.len() > 1 {
        found.push(Piece {
            lower: Cow::Owned(word.to_lowercase()),
            form: Form::Identifier,
            start,
            end: run_end,
        });
        for part in parts {
            push_word(Cow::Owned(part.to_lowercase()), start, run_end, found);
        }
    } else {
        push_word(Cow::Owned(word.to_lowercase()), start, run_end, found);
    }
}

fn push_word<'t>(lower: Cow<'t, str>, start: usize, end: usize, found: &mut Vec<Piece<'t>>) {
    let most = lower.floor_char_boundary(LONGEST_WORD);
    let lower = match lower {
        Cow::Borrowed(word) => Cow::Borrowed(&word[..most]),
        Cow::Owned(mut word) => {
            word.truncate(most);
            Cow::Owned(word)
        }
    };
    found.push(Piece {
        lower,
        form: Form::Word,
        start,
        end,
    });
}

fn read_pairs<'t>(run: &'t str, start: usize, found: &mut Vec<Piece<'t>>) {
    let places: Vec<usize> = run
        .char_indices()
        .map(|(at, _)| at)
        .chain([run.len()])
        .collect();
    let mut push = |first: usize, last: usize, form| {
        found.push(Piece {
            lower: Cow::Borrowed(&run[first..last]),
            form,
            start: start + first,
            end: start + last,
        });
    };
    if let [first, last] = places[..] {
        return push(first, last, Form::Word);
    }
    for (at, here) in places.windows(2).enumerate() {
        push(here[0], here[1], Form::Character);
        if let Some(end) = places.get(at + 2) {
            push(here[0], *end, Form::Word);
        }
    }
}

/// `parseHTTPHeader2` as `parse`, `HTTP`, `Header`, `2`.
fn case_parts(word: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    let mut cuts = vec![0];
    for i in 1..chars.len() {
        let (before, here) = (chars[i - 1].1, chars[i].1);
        let next_is_lower = chars.get(i + 1).is_some_and(|c| c.1.is_lowercase());
        let cut = (before.is_lowercase() && here.is_uppercase())
            || (before.is_uppercase() && here.is_uppercase() && next_is_lower && i > 1)
            || (before.is_numeric() != here.is_numeric());
        if cut {
            cuts.push(chars[i].0);
        }
    }
    cuts.push(word.len());
    cuts.windows(2).map(|cut| &word[cut[0]..cut[1]]).collect()
}

/// Whether somebody who writes this means it to the letter.
fn is_identifier(atom: &str) -> bool {
    if atom.len() < 3 || atom.len() > LONGEST_IDENTIFIER || atom.contains(['\'', '’']) {
        return false;
    }
    let inner = |wanted: char| {
        let mut around = atom
            .chars()
            .zip(atom.chars().skip(1))
            .zip(atom.chars().skip(2));
        around.any(|((a, b), c)| b == wanted && a.is_alphanumeric() && c.is_alphanumeric())
    };
    let words: Vec<&str> = atom
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let digits = atom.contains(|c: char| c.is_ascii_digit());
    let letters = atom.contains(|c: char| c.is_alphabetic());
    if inner('_') || atom.contains("::") || atom.starts_with('/') || atom.matches('/').count() > 1 {
        return true;
    }
    if words.iter().any(|word| is_mixed(word)) {
        return true;
    }
    if inner('.') {
        let all_long = words.iter().all(|word| word.chars().count() > 1);
        return (letters && all_long) || words.len() > 2 && digits;
    }
    (inner('-') || inner(':') || inner('/') || inner('#')) && digits && letters
}

/// Letters and digits in one word, or a capital after a small letter; not
/// `1990s`, `4th` or `10am`.
fn is_mixed(word: &str) -> bool {
    let mut changes_case = false;
    let mut before = ' ';
    for c in word.chars() {
        changes_case |= before.is_lowercase() && c.is_uppercase();
        before = c;
    }
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word
        .chars()
        .filter(|c| c.is_alphabetic() && !is_cjk(*c))
        .count();
    let quantity = word.starts_with(|c: char| c.is_ascii_digit())
        && letters <= 2
        && word.trim_start_matches(|c: char| c.is_ascii_digit()).len() == letters;
    changes_case || (digits > 0 && letters > 0 && !quantity)
}

fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{2fdf}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}')
}

/// Stems are looked up again and again; the stemmer allocates each time.
const REMEMBERED_STEMS: usize = 20_000;

fn stem(word: Cow<'_, str>) -> Cow<'_, str> {
    thread_local! {
        /// What was stemmed before; nothing where a word is its own stem.
        static STEMS: RefCell<(Stemmer, HashMap<String, Option<String>>)> =
            RefCell::new((Stemmer::create(Algorithm::English), HashMap::new()));
    }
    if !word.is_ascii() || word.len() < 3 {
        return word;
    }
    STEMS.with_borrow_mut(|(stemmer, known)| {
        if let Some(stem) = known.get(&*word) {
            return stem.clone().map_or(word, Cow::Owned);
        }
        if known.len() >= REMEMBERED_STEMS {
            known.clear();
        }
        let stem = stemmer.stem(&word).into_owned();
        known.insert(word.to_string(), (stem != word).then(|| stem.clone()));
        Cow::Owned(stem)
    })
}

pub(crate) fn is_filler(word: &str) -> bool {
    // By length first: most words are told from all of them by it.
    let fillers: &[&str] = match word.len() {
        1 => &["a", "i", "s", "t"],
        2 => &[
            "am", "an", "as", "at", "be", "by", "do", "he", "if", "in", "is", "it", "me", "my",
            "no", "of", "on", "or", "so", "to", "up", "us", "we",
        ],
        3 => &[
            "all", "and", "any", "are", "but", "can", "did", "few", "for", "had", "has", "her",
            "him", "his", "how", "its", "may", "nor", "not", "off", "our", "out", "own", "she",
            "the", "too", "was", "who", "why", "you",
        ],
        4 => &[
            "been", "both", "does", "down", "each", "from", "have", "here", "into", "just", "more",
            "most", "must", "once", "only", "over", "same", "some", "such", "than", "that", "them",
            "then", "they", "this", "very", "were", "what", "when", "whom", "will", "with", "your",
        ],
        5 => &[
            "about", "after", "again", "being", "could", "doing", "might", "other", "shall",
            "their", "there", "these", "those", "where", "which", "would",
        ],
        6 => &["before", "during", "having", "should"],
        7 => &["between", "further", "through"],
        _ => &[],
    };
    fillers.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terms(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.term).collect()
    }

    #[test]
    fn words_are_stemmed_and_possessives_stripped() {
        assert_eq!(
            terms("Caroline's deployments failed."),
            ["carolin", "deploy", "fail"]
        );
    }

    #[test]
    fn chinese_becomes_characters_and_overlapping_pairs() {
        assert_eq!(
            terms("黑豹队 NFL中"),
            ["黑", "黑豹", "豹", "豹队", "队", "nfl", "中"]
        );
        let kinds: Vec<TermKind> = tokens("河边 河").iter().map(|token| token.kind).collect();
        use TermKind::{Character, Word};
        assert_eq!(kinds, [Character, Word, Character, Word]);
    }

    #[test]
    fn identifiers_are_kept_whole_and_split() {
        assert_eq!(
            terms("store::MissionDb::open_knowing()"),
            [
                "store::missiondb::open_knowing",
                "open_knowing",
                "store",
                "missiondb",
                "mission",
                "db",
                "open",
                "know"
            ]
        );
        assert_eq!(
            terms("see crates/store/src/db.rs, line 4"),
            [
                "see",
                "crates/store/src/db.rs",
                "db.rs",
                "crate",
                "store",
                "src",
                "db",
                "rs",
                "line",
                "4"
            ]
        );
    }

    #[test]
    fn what_is_meant_to_the_letter_is_told_from_language() {
        let meant = [
            "E0502",
            "parse_frame",
            "parseFrame",
            "src/db.rs",
            "/etc/hosts",
            "a::b",
            "b494c94",
            "ERR-1042",
            "CVE-2021-44228",
            "10.0.0.1",
            "db.rs",
            "std.io",
            "v1.2.3",
            "sha256:ab12",
        ];
        for atom in meant {
            assert_eq!(
                exact_parts(atom).identifiers,
                [atom.to_lowercase()],
                "{atom}"
            );
        }
        for text in [
            "well-known",
            "1990s",
            "the 4th of May",
            "10am",
            "and/or",
            "U.S.",
            "3.5",
            "don't",
        ] {
            assert_eq!(exact_parts(text).identifiers, [""; 0], "{text}");
        }
    }

    #[test]
    fn phrases_need_both_quotes() {
        let exact = exact_parts(r#"why "Connection  Reset by" and "half"#);
        assert_eq!(exact.phrases, ["connection reset by"]);
    }

    #[test]
    fn what_is_quoted_called_or_alone_is_meant_to_the_letter() {
        let phrases = |query: &str| exact_parts(query).phrases;
        assert_eq!(phrases("why does `flush` wait"), ["flush"]);
        assert_eq!(phrases("who calls flush() first"), ["flush"]);
        assert_eq!(phrases("ENOENT"), ["enoent"]);
        assert_eq!(phrases("parse_frame"), [""; 0], "an identifier already");
        assert_eq!(phrases("two words"), [""; 0]);
        assert_eq!(phrases("黑豹队在哪里"), [""; 0]);
    }

    proptest! {
        /// Who looks for a term passes over words that begin otherwise.
        #[test]
        fn a_stem_begins_as_its_word_does(word in "[a-z0-9]{1,12}(s|ed|ing|ies|ly|ness)?") {
            let stem = stem(Cow::Borrowed(&word));
            prop_assert_eq!(stem.bytes().next(), word.bytes().next());
        }

        #[test]
        fn every_token_lies_in_the_text(text in any::<String>()) {
            for token in tokens(&text) {
                prop_assert!(token.start < token.end);
                prop_assert!(text.get(token.start..token.end).is_some());
                prop_assert!(!token.term.is_empty());
            }
            prop_assert!(exact_parts(&text).identifiers.iter().all(|name| !name.is_empty()));
        }
    }
}
