//! JSON as editors keep it: with comments and commas before a closing bracket, and
//! nothing else that a lenient reader might let pass, because the programs these
//! files belong to would not.

use jsonc_parser::ast::Value;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

/// Written by some editors before everything else; part of no value.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// The value of a text, and its tokens with the comments among them. The error
/// says what is wrong and where.
pub(crate) fn parse(text: &str) -> Result<(Option<Value<'_>>, Vec<TokenAndRange<'_>>), String> {
    let collected = CollectOptions {
        comments: CommentCollectionStrategy::AsTokens,
        tokens: true,
    };
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &collected, &options).map_err(|error| error.to_string())?;
    Ok((parsed.value, parsed.tokens.unwrap_or_default()))
}

/// The same text as plain JSON. Comments and last commas become blanks, so a
/// place named in an error message is still the place in the file.
pub(crate) fn plain(text: &str) -> Result<String, String> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let (_, tokens) = parse(text)?;
    let mut out = String::with_capacity(text.len());
    for (place, found) in tokens.iter().enumerate() {
        let (start, end) = (found.range.start, found.range.end);
        out.push_str(&text[out.len()..start]);
        let is_blanked = match found.token {
            Token::CommentLine(_) | Token::CommentBlock(_) => true,
            Token::Comma => is_last(&tokens[place + 1..]),
            _ => false,
        };
        if is_blanked {
            // A blank for each byte: what follows stays where it is.
            let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
            out.extend(text[start..end].bytes().map(blank));
        } else {
            out.push_str(&text[start..end]);
        }
    }
    out.push_str(&text[out.len()..]);
    Ok(out)
}

/// Whether nothing but comments stands between a comma and the closing bracket.
fn is_last(after: &[TokenAndRange<'_>]) -> bool {
    let is_comment = |found: &&TokenAndRange<'_>| {
        matches!(found.token, Token::CommentLine(_) | Token::CommentBlock(_))
    };
    let next = after.iter().find(|found| !is_comment(found));
    next.is_some_and(|next| matches!(next.token, Token::CloseBrace | Token::CloseBracket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_go_and_strings_stay() {
        let text = "\u{feff}{ // öne\n \"a\": [1, 2, /* three\n */ ],\n \"b\": \"// no, /* no */ ,]\\\"\",\n}";
        let plain = plain(text).unwrap();
        let value: serde_json::Value = serde_json::from_str(&plain).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"a": [1, 2], "b": "// no, /* no */ ,]\""})
        );
        assert_eq!(plain.len() + BYTE_ORDER_MARK.len_utf8(), text.len());
        assert_eq!(plain.lines().count(), text.lines().count());
    }

    #[test]
    fn what_no_such_program_reads_is_refused_with_its_place() {
        for text in [
            "\"open",
            "{a: 1}",
            "{'a': 1}",
            "{\"a\": 0x1}",
            "[1 2]",
            "[1,, 2]",
            "[NaN]",
            "[+1]",
            "{} {}",
        ] {
            let error = plain(text).unwrap_err();
            assert!(error.contains("on line 1"), "{text}: {error}");
        }
        assert!(plain(&"[".repeat(100_000)).is_err());
    }
}
