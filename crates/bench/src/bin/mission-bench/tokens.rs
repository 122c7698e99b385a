//! What a list of tools costs a model's context.
//!
//! Vendors count differently and none gives its tokenizer away with every
//! language, so this counts as they all do at heart: a word, a number of up to
//! three digits or a run of signs is a piece, and a long one is several. It is
//! meant to be no less than the real count; a test compares it with one.

use missiond_api::{CATALOGUE, Toolsets};
use missiond_mcp::tools::{call_operation, entry};
use serde_json::{Value, json};

/// Letters of one piece: longer words are usually cut.
const WORD: usize = 9;
/// Signs of one piece: `":{"` is one, as is `",`.
const SIGNS: usize = 4;

/// The tools that a client is shown that asks for nothing else.
pub(super) fn shown_by_default() -> Vec<Value> {
    let find = CATALOGUE
        .iter()
        .filter(|spec| spec.name == "operation_find");
    let toolsets = Toolsets::default();
    let shown = toolsets.operations().chain(find);
    shown
        .map(|spec| entry(spec).clone())
        .chain([call_operation()])
        .collect()
}

pub(super) fn all() -> Vec<Value> {
    CATALOGUE.iter().map(|spec| entry(spec).clone()).collect()
}

/// What of a tool is put before a model.
pub(super) fn read_by_a_model(tools: &[Value]) -> String {
    let read = |tool: &Value| {
        json!({
            "name": tool["name"],
            "description": tool["description"],
            "input_schema": tool["inputSchema"],
        })
    };
    Value::from_iter(tools.iter().map(read)).to_string()
}

pub(super) fn count(text: &str) -> usize {
    #[derive(PartialEq, Clone, Copy)]
    enum Kind {
        Word,
        Digits,
        Signs,
        Other,
    }
    let kind = |c: char| match c {
        c if c.is_ascii_alphabetic() => Kind::Word,
        c if c.is_ascii_digit() => Kind::Digits,
        ' ' => Kind::Word,
        c if c.is_ascii() => Kind::Signs,
        _ => Kind::Other,
    };
    let pieces = |kind: Kind, length: usize| match kind {
        Kind::Word => length.div_ceil(WORD),
        Kind::Digits => length.div_ceil(3),
        Kind::Signs => length.div_ceil(SIGNS),
        Kind::Other => length,
    };
    let mut total = 0;
    let mut run: Option<(Kind, usize)> = None;
    for c in text.chars() {
        let now = kind(c);
        run = match run {
            // A blank begins a word and ends the one before it.
            Some((kind, length)) if kind == now && c != ' ' => Some((kind, length + 1)),
            Some((kind, length)) => {
                total += pieces(kind, length);
                Some((now, usize::from(c != ' ')))
            }
            None => Some((now, 1)),
        };
    }
    total + run.map_or(0, |(kind, length)| pieces(kind, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_counted() {
        for (text, expected) in [
            ("", 0),
            ("board", 1),
            ("the board list", 3),
            ("internationalization", 3),
            ("{\"type\":\"object\"}", 5),
            ("1234", 2),
            ("é", 1),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
    }

    #[test]
    fn the_default_list_is_within_its_budget() {
        let shown = shown_by_default();
        assert!(shown.len() <= 13, "{}", shown.len());
        let tokens = count(&read_by_a_model(&shown));
        assert!(tokens < 2500, "{tokens}");
    }
}
