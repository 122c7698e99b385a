//! Text and identifiers cut into the words a search compares.
//!
//! `parseHTTPRequest`, `parse_http_request` and "parsing HTTP requests" come to
//! the same words. Endings of English are cut off roughly, the same way on both
//! sides; runs of Chinese, Japanese and Korean become overlapping pairs.

/// Words longer than this are cut: nobody searches for a hash by typing it whole.
const LONGEST: usize = 40;

/// Calls `each` with every word of `text`, small and without its ending. An
/// identifier of several parts is also one word as a whole.
pub(crate) fn words(text: &str, mut each: impl FnMut(&str)) {
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric()) {
        rest = &rest[start..];
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        let run = run.trim_end_matches('_');
        if run.is_ascii() {
            identifier(run, &mut each);
        } else {
            other_script(run, &mut each);
        }
    }
}

/// All words in a list.
#[cfg(test)]
fn list(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    words(text, |word| found.push(word.to_owned()));
    found
}

/// The parts of an identifier as they stand in it: `HTTPServer2` is `HTTP`,
/// `Server`, `2`.
pub(crate) fn parts(identifier: &str) -> impl Iterator<Item = &str> {
    identifier.split('_').flat_map(camel_parts)
}

fn camel_parts(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut start = 0;
    std::iter::from_fn(move || {
        if start >= bytes.len() {
            return None;
        }
        let mut end = start + 1;
        while end < bytes.len() && !begins_part(bytes, end) {
            end += 1;
        }
        let part = &text[start..end];
        start = end;
        Some(part)
    })
}

fn begins_part(bytes: &[u8], at: usize) -> bool {
    let (before, here) = (bytes[at - 1], bytes[at]);
    let next_is_small = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    if here.is_ascii_uppercase() {
        !before.is_ascii_uppercase() || next_is_small
    } else {
        here.is_ascii_digit() != before.is_ascii_digit() && !before.is_ascii_uppercase()
    }
}

fn identifier(run: &str, each: &mut impl FnMut(&str)) {
    let mut count = 0;
    for part in parts(run) {
        count += 1;
        if part.len() > 1 || part.as_bytes()[0].is_ascii_digit() {
            let mut part = part[..part.len().min(LONGEST)].to_ascii_lowercase();
            cut_ending(&mut part);
            each(&part);
        }
    }
    if count > 1 && run.len() <= LONGEST {
        let whole: String = run.chars().filter(|c| *c != '_').collect();
        each(&whole.to_ascii_lowercase());
    }
}

fn other_script(run: &str, each: &mut impl FnMut(&str)) {
    let mut spelled = String::new();
    let mut before: Option<char> = None;
    let flush = |spelled: &mut String, each: &mut dyn FnMut(&str)| {
        if spelled.chars().nth(1).is_some() {
            each(spelled);
        }
        spelled.clear();
    };
    for letter in run.chars() {
        if is_ideographic(letter) {
            flush(&mut spelled, each);
            if let Some(before) = before {
                each(&String::from_iter([before, letter]));
            }
            before = Some(letter);
        } else {
            before = None;
            if letter == '_' {
                flush(&mut spelled, each);
            } else if spelled.len() < LONGEST {
                spelled.extend(letter.to_lowercase());
            }
        }
    }
    flush(&mut spelled, each);
}

fn is_ideographic(letter: char) -> bool {
    matches!(u32::from(letter),
        0x2E80..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// Takes English endings off. Rough on purpose: what matters is that the forms of
/// a word come to the same, not that the rest is a word.
fn cut_ending(word: &mut String) {
    cut_plural(word);
    for ending in ["ing", "ed"] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 3
            && has_vowel(stem)
        {
            let length = stem.len() - usize::from(ends_doubled(stem));
            word.truncate(length);
            break;
        }
    }
    for (ending, keep) in [
        ("ation", 2),
        ("ion", 0),
        ("ment", 0),
        ("er", 0),
        ("or", 0),
        ("ly", 0),
    ] {
        if word.ends_with(ending) && word.len() - ending.len() >= 4 {
            let length = word.len() - ending.len() + keep;
            word.truncate(length);
            break;
        }
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
}

fn cut_plural(word: &mut String) {
    if word.len() < 4 || !word.ends_with('s') {
        return;
    }
    let cut = match word.as_str() {
        w if w.ends_with("ies") => {
            word.truncate(word.len() - 3);
            word.push('y');
            return;
        }
        w if w.ends_with("sses")
            || w.ends_with("xes")
            || w.ends_with("ches")
            || w.ends_with("shes") =>
        {
            2
        }
        w if w.ends_with("ss") || w.ends_with("us") || w.ends_with("is") => 0,
        _ => 1,
    };
    word.truncate(word.len() - cut);
}

fn has_vowel(text: &str) -> bool {
    text.bytes().any(|b| b"aeiouy".contains(&b))
}

fn ends_doubled(text: &str) -> bool {
    match text.as_bytes() {
        [.., one, other] => one == other && !b"lsz".contains(one),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_of_an_identifier_have_the_same_words() {
        let expected = ["pars", "http", "request", "parsehttprequest"];
        for spelling in ["parseHTTPRequest", "parse_http_request", "ParseHttpRequest"] {
            assert_eq!(list(spelling), expected, "{spelling}");
        }
        assert_eq!(list("parsing HTTP requests"), ["pars", "http", "request"]);
    }

    #[test]
    fn forms_of_a_word_come_to_the_same() {
        for forms in [
            &["parse", "parses", "parsed", "parsing", "parser"][..],
            &["query", "queries"],
            &["validate", "validation", "validating"],
            &["match", "matches", "matching", "matched"],
            &["stop", "stopped", "stopping"],
            &["merge", "merging", "merged"],
        ] {
            let stems: Vec<_> = forms.iter().map(|form| list(form)).collect();
            assert!(
                stems.iter().all(|stem| *stem == stems[0]),
                "{forms:?}: {stems:?}"
            );
        }
    }

    #[test]
    fn paths_and_other_scripts_are_cut_too() {
        assert_eq!(
            list("crates/store/src/db.rs"),
            ["crat", "stor", "src", "db", "rs"]
        );
        assert_eq!(list("读取文件 file"), ["读取", "取文", "文件", "fil"]);
        assert_eq!(list("Größe"), ["größe"]);
        assert_eq!(list("sha256"), ["sha", "256", "sha256"]);
    }

    proptest! {
        #[test]
        fn any_text_is_cut_without_end(text in "\\PC{0,200}") {
            words(&text, |word| assert!(!word.is_empty() && !word.contains(' ')));
        }
    }
}
