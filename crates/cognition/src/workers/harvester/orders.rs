//! Sentences in which a person says what holds from now on: "from now on …", "always …",
//! "never …", "remember that …", in the languages below. Rules cannot tell every one, and
//! what they miss stays in the conversation, where it is found; what they take must be
//! worth a person's look, so they are narrow.

/// A sentence that is longer is no order.
const LONGEST: usize = 300;
/// One that is shorter says nothing to anybody who was not there.
const SHORTEST: usize = 12;
/// Orders of one prompt.
const MOST: usize = 5;

/// A sentence with one of these anywhere is an order.
const ANYWHERE: &[&str] = &[
    "from now on",
    "in the future",
    "in future",
    "going forward",
    "remember that",
    "remember to",
    "keep in mind that",
    "ab jetzt",
    "ab sofort",
    "in zukunft",
    "merk dir",
    "denk daran",
    "à partir de maintenant",
    "desormais",
    "désormais",
    "de ahora en adelante",
    "今后",
    "以后",
    "从现在开始",
    "记住",
];

/// One that begins with one of these is, also behind a word of courtesy.
const AT_THE_BEGINNING: &[&str] = &[
    "always",
    "never",
    "do not ever",
    "don't ever",
    "immer",
    "niemals",
    "nie",
    "toujours",
    "jamais",
    "siempre",
    "nunca",
    "总是",
    "永远不要",
    "不要再",
];

const COURTESY: &[&str] = &[
    "please",
    "and",
    "also",
    "but",
    "so",
    "note:",
    "important:",
    "bitte",
    "und",
    "aber",
    "por favor",
    "请",
];

/// What of a prompt is an order that holds.
pub(super) fn orders(prompt: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for sentence in sentences(prompt) {
        let length = sentence.chars().count();
        if (SHORTEST..=LONGEST).contains(&least(sentence, length))
            && is_order(sentence)
            && !found.contains(&sentence)
        {
            found.push(sentence);
        }
    }
    found.truncate(MOST);
    found
}

/// How long a sentence counts: one character of Chinese says what several letters do.
fn least(sentence: &str, length: usize) -> usize {
    let wide = sentence
        .chars()
        .filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c));
    length + 2 * wide.count()
}

fn is_order(sentence: &str) -> bool {
    // A question asks, and what is quoted was said by somebody else.
    if sentence.ends_with(['?', '？']) || sentence.starts_with(['>', '"', '`', '|', '«', '„', '“'])
    {
        return false;
    }
    let lower = sentence.to_lowercase();
    if ANYWHERE.iter().any(|words| has_words(&lower, words)) {
        return true;
    }
    let mut rest = lower.trim_start();
    while let Some(word) = COURTESY.iter().find(|word| begins_with(rest, word)) {
        rest = rest[word.len()..].trim_start_matches([' ', ',', ':', '，']);
    }
    AT_THE_BEGINNING.iter().any(|word| begins_with(rest, word))
}

/// Whether these words stand in a text as words of their own.
fn has_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(is_letter) && begins_with(&text[at..], words)
    })
}

fn begins_with(text: &str, word: &str) -> bool {
    let after = text.strip_prefix(word).map(|rest| rest.chars().next());
    after.is_some_and(|next| !word.chars().all(is_letter_or_space) || !next.is_some_and(is_letter))
}

/// Of a script that parts its words.
fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && c < '\u{2e80}'
}

fn is_letter_or_space(c: char) -> bool {
    is_letter(c) || matches!(c, ' ' | '\'')
}

/// The sentences of a prompt that are text, not code.
fn sentences(prompt: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let lines = prompt.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        // What is quoted was said by somebody else.
        !in_code && !fence && !line.trim_start().starts_with('>')
    });
    lines.flat_map(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '#', ' ']);
        cut(line).into_iter().map(str::trim)
    })
}

/// At the ends of sentences; a dot within a name ends none.
fn cut(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, c) in line.char_indices() {
        let end = at + c.len_utf8();
        let ends = match c {
            '.' | '!' | '?' | ';' => line[end..].starts_with(' ') || end == line.len(),
            '。' | '！' | '？' | '；' => true,
            _ => false,
        };
        if ends {
            parts.push(&line[from..end]);
            from = end;
        }
    }
    parts.push(&line[from..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_from_now_on_is_an_order() {
        for (prompt, expected) in [
            (
                "Fix the test. From now on, run `cargo fmt` before you commit.",
                "From now on, run `cargo fmt` before you commit.",
            ),
            ("Never push to main.", "Never push to main."),
            (
                "Please always write tests in tests/unit.rs; then go on",
                "Please always write tests in tests/unit.rs;",
            ),
            ("- never use unwrap in lib.rs", "never use unwrap in lib.rs"),
            (
                "Merk dir, dass die Datenbank auf Port 5433 läuft.",
                "Merk dir, dass die Datenbank auf Port 5433 läuft.",
            ),
            (
                "Bitte niemals direkt deployen!",
                "Bitte niemals direkt deployen!",
            ),
            (
                "以后提交前先跑测试。修一下这个错误。",
                "以后提交前先跑测试。",
            ),
            ("请不要再修改生成的文件", "请不要再修改生成的文件"),
            (
                "And remember that CI has no network",
                "And remember that CI has no network",
            ),
        ] {
            assert_eq!(orders(prompt), [expected], "{prompt}");
        }
    }

    #[test]
    fn what_tells_asks_quotes_or_is_code_is_none() {
        for prompt in [
            "The build always fails on Mondays, find out why.",
            "It never returns, does it?",
            "Should I always run the formatter?",
            "> Hello. Always use tabs, said the other agent",
            "```\nalways @(posedge clock)\nnever say never\n```",
            "Nevertheless the cache is stale.",
            "Never.",
            "Add a function remember_totals that counts",
            "Niedrige Werte sind besser als hohe.",
            "",
        ] {
            assert_eq!(orders(prompt), [""; 0], "{prompt}");
        }
        let long = format!("Never {}", "say this ".repeat(60));
        assert_eq!(orders(&long), [""; 0]);
    }

    #[test]
    fn one_prompt_gives_so_many_and_each_once() {
        let many: String = (0..20)
            .map(|n| format!("Never touch file number {}.\n", n / 2))
            .collect();
        let found = orders(&many);
        assert_eq!(found.len(), MOST);
        assert_eq!(found[1], "Never touch file number 1.");
    }
}
