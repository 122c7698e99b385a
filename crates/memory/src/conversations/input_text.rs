//! What a tool was told, as people read it: the texts of its input without the marks
//! and the names of JSON. An input that was cut is no JSON any more, so it is read by
//! its quotation marks.

/// The texts of an input, a line each; the input itself when it is no JSON.
pub(super) fn input_text(input: &str) -> String {
    if !input.trim_start().starts_with(['{', '[']) {
        return input.to_owned();
    }
    let mut texts: Vec<String> = Vec::new();
    let mut rest = input;
    while let Some(open) = rest.find('"') {
        let (text, behind) = unquoted(&rest[open + 1..]);
        // A string before a colon is a name.
        let is_name = behind.trim_start().starts_with(':');
        if !is_name && !text.trim().is_empty() {
            texts.push(text);
        }
        rest = behind;
    }
    texts.join("\n")
}

/// A string up to its closing mark, or to the end of a text that was cut, and what
/// stands behind it.
fn unquoted(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (out, &text[at + 1..]),
            '\\' => match chars.next().map(|(_, escaped)| escaped) {
                Some('n' | 'r') => out.push('\n'),
                Some('t') => out.push(' '),
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    out.push(code.and_then(char::from_u32).unwrap_or(' '));
                }
                Some(escaped) => out.push(escaped),
                None => {}
            },
            c => out.push(c),
        }
    }
    (out, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_its_texts_also_when_it_was_cut() {
        let cases = [
            (
                r#"{"type":"completed_claim","payload":{"summary":"It \"works\".\nAll of it."}}"#,
                "completed_claim\nIt \"works\".\nAll of it.",
            ),
            (r#"{"list":["a","b\u00e4"],"n":3,"empty":""}"#, "a\nbä"),
            (r#"{"file":"src/a.rs","text":"fn main"#, "src/a.rs\nfn main"),
            ("git status", "git status"),
            ("{}", ""),
        ];
        for (input, text) in cases {
            assert_eq!(input_text(input), text, "{input}");
        }
    }
}
