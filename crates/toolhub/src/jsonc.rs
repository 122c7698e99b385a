//! JSON as editors keep it: with comments and commas before a closing bracket.

/// The same text as plain JSON. Comments become blanks, so a place named in an
/// error message is still the place in the file.
#[must_use]
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    // Where in `out` a comma stands that only blanks have followed.
    let mut comma: Option<usize> = None;
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('"', _) => {
                comma = None;
                out.push('"');
                while let Some(c) = chars.next() {
                    out.push(c);
                    match c {
                        '\\' => out.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            ('/', Some('*')) => {
                chars.next();
                let mut star = false;
                for c in chars.by_ref() {
                    if star && c == '/' {
                        break;
                    }
                    star = c == '*';
                    if c == '\n' {
                        out.push('\n');
                    }
                }
                out.push(' ');
            }
            (',', _) => {
                comma = Some(out.len());
                out.push(',');
            }
            ('}' | ']', _) => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..=at, " ");
                }
                out.push(c);
            }
            (c, _) => {
                if !c.is_whitespace() {
                    comma = None;
                }
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_go_and_strings_stay() {
        let text =
            "{ // one\n \"a\": [1, 2, /* three\n */ ],\n \"b\": \"// no, /* no */ ,]\\\"\",\n}";
        let value: serde_json::Value = serde_json::from_str(&plain(text)).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"a": [1, 2], "b": "// no, /* no */ ,]\""})
        );
        assert_eq!(plain(text).lines().count(), text.lines().count());
        assert_eq!(plain("\"open"), "\"open");
    }
}
