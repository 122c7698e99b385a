//! Splits a command a person typed into words, as a shell does with quotes and
//! backslashes. Nothing is expanded: no variables, no globs, no pipes.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnevenWords {
    #[error("a quote {0} is opened and not closed")]
    Open(char),
    #[error("it ends with a backslash that stands before nothing")]
    Backslash,
}

pub(crate) fn split(text: &str) -> Result<Vec<String>, UnevenWords> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                // An empty pair of quotes is a word, too.
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = rest.next().ok_or(UnevenWords::Backslash)?;
                let word = word.get_or_insert_default();
                // Between double quotes a backslash is one, but for these two.
                if quote.is_some() && !matches!(next, '"' | '\\') {
                    word.push('\\');
                }
                word.push(next);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(UnevenWords::Open(open));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        let cases: [(&str, &[&str]); 7] = [
            ("cargo test", &["cargo", "test"]),
            ("  a   b ", &["a", "b"]),
            ("grep 'a b' \"c\\\"d\"", &["grep", "a b", "c\"d"]),
            ("x '' y", &["x", "", "y"]),
            ("a\\ b 'c\\d' \"e\\f\"", &["a b", "c\\d", "e\\f"]),
            (
                "echo $HOME; ls | wc *",
                &["echo", "$HOME;", "ls", "|", "wc", "*"],
            ),
            ("", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text).unwrap(), expected, "{text}");
        }
        assert_eq!(split("a 'b"), Err(UnevenWords::Open('\'')));
        assert_eq!(split("a\\"), Err(UnevenWords::Backslash));
    }
}
