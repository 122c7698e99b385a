//! One member of a JSON file as editors keep it, set or removed in place:
//! comments, order, indentation and everything else stay as they are. Where a
//! member stands, the parser says; what is written between, this file decides,
//! because the parser's own editing puts an object on more lines than it had.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use serde::Serialize;
use serde_json::Value;

use crate::jsonc::{BYTE_ORDER_MARK, parse};

/// The text with `section.name` set to this value.
pub(super) fn set(text: &str, section: &str, name: &str, value: &Value) -> Result<String, String> {
    edit(text, |text| {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let style = Style::of(text);
        let (root, tokens) = parse_object(text)?;
        let root = Object::new(&root, &tokens);
        let Some(known) = root.member(section) else {
            let value = serde_json::json!({ name: value });
            return Ok(add(text, &root, section, &value, &style));
        };
        let servers = known.object(&tokens);
        let servers = servers.ok_or_else(|| format!("`{section}` is no object"))?;
        let Some(member) = servers.member(name) else {
            return Ok(add(text, &servers, name, value, &style));
        };
        let written = style.written(value, indent_at(text, member.key));
        let mut changed = text.to_owned();
        changed.replace_range(member.value.start()..member.value.end(), &written);
        Ok(changed)
    })
}

/// The text without `section.name`.
pub(super) fn remove(text: &str, section: &str, name: &str) -> Result<String, String> {
    edit(text, |text| {
        if text.trim().is_empty() {
            return Ok(text.to_owned());
        }
        let (root, tokens) = parse_object(text)?;
        let root = Object::new(&root, &tokens);
        let servers = root.member(section).and_then(|known| known.object(&tokens));
        let Some(servers) = servers else {
            return Ok(text.to_owned());
        };
        let named = |member: &Member<'_>| member.name == name;
        match servers.members.iter().position(named) {
            Some(place) => Ok(without(text, &servers.members, place)),
            None => Ok(text.to_owned()),
        }
    })
}

/// The change of a text that may begin with a byte order mark, which stays.
fn edit(text: &str, change: impl FnOnce(&str) -> Result<String, String>) -> Result<String, String> {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => Ok(format!("{BYTE_ORDER_MARK}{}", change(text)?)),
        None => change(text),
    }
}

fn parse_object(text: &str) -> Result<(ast::Object<'_>, Vec<TokenAndRange<'_>>), String> {
    match parse(text)? {
        (Some(ast::Value::Object(object)), tokens) => Ok((object, tokens)),
        _ => Err("it does not begin with `{`".to_owned()),
    }
}

struct Object<'a> {
    open: usize,
    close: usize,
    members: Vec<Member<'a>>,
}

struct Member<'a> {
    name: &'a str,
    /// Where its name begins.
    key: usize,
    value: &'a ast::Value<'a>,
    comma: Option<usize>,
}

impl<'a> Object<'a> {
    fn new(object: &'a ast::Object<'a>, tokens: &[TokenAndRange<'_>]) -> Self {
        let member = |property: &'a ast::ObjectProp<'a>| Member {
            name: property.name.as_str(),
            key: property.start(),
            value: &property.value,
            comma: comma_after(property.value.end(), tokens),
        };
        Self {
            open: object.start(),
            close: object.end() - 1,
            members: object.properties.iter().map(member).collect(),
        }
    }

    fn member(&self, name: &str) -> Option<&Member<'a>> {
        self.members.iter().find(|member| member.name == name)
    }
}

impl<'a> Member<'a> {
    fn object(&self, tokens: &[TokenAndRange<'_>]) -> Option<Object<'a>> {
        match self.value {
            ast::Value::Object(object) => Some(Object::new(object, tokens)),
            _ => None,
        }
    }
}

/// The comma that follows what ends at this place, with comments between at most.
fn comma_after(end: usize, tokens: &[TokenAndRange<'_>]) -> Option<usize> {
    let after = tokens.partition_point(|found| found.range.start < end);
    let mut following = tokens[after..]
        .iter()
        .filter(|found| !matches!(found.token, Token::CommentLine(_) | Token::CommentBlock(_)));
    let next = following.next()?;
    (next.token == Token::Comma).then_some(next.range.start)
}

/// The text without one of the members.
fn without(text: &str, members: &[Member<'_>], place: usize) -> String {
    let member = &members[place];
    let mut changed = text.to_owned();
    let begin = text[..member.key]
        .trim_end_matches([' ', '\t', '\r', '\n'])
        .len();
    match member.comma {
        // Others follow, or a comma may stand there anyway.
        Some(comma) => changed.replace_range(begin..=comma, ""),
        None => {
            changed.replace_range(begin..member.value.end(), "");
            let before = place.checked_sub(1).map(|place| &members[place]);
            if let Some(comma) = before.and_then(|before| before.comma) {
                changed.replace_range(comma..=comma, "");
            }
        }
    }
    changed
}

/// How a file is written.
struct Style {
    newline: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indented = text.lines().find_map(|line| {
            let indent: String = line
                .chars()
                .take_while(|c| matches!(c, ' ' | '\t'))
                .collect();
            let is_member = line[indent.len()..].starts_with('"');
            (!indent.is_empty() && is_member).then_some(indent)
        });
        Self {
            newline,
            unit: indented.unwrap_or_else(|| "  ".to_owned()),
        }
    }

    /// A value that begins behind `indent`.
    fn written(&self, value: &Value, indent: &str) -> String {
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut bytes = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        if value.serialize(&mut serializer).is_err() {
            return value.to_string();
        }
        let text = String::from_utf8_lossy(&bytes);
        text.replace('\n', &format!("{}{indent}", self.newline))
    }
}

fn add(text: &str, object: &Object<'_>, name: &str, value: &Value, style: &Style) -> String {
    let mut changed = text.to_owned();
    let newline = style.newline;
    let key = Value::from(name);
    let outer = indent_at(text, object.open).to_owned();
    let Some(last) = object.members.last() else {
        let indent = format!("{outer}{}", style.unit);
        let member = format!("{newline}{indent}{key}: {}", style.written(value, &indent));
        let inner = &text[object.open + 1..object.close];
        let kept = object.open + 1 + inner.trim_end().len();
        changed.replace_range(kept..object.close, &format!("{member}{newline}{outer}"));
        return changed;
    };
    if !text[object.open..object.close].contains('\n') {
        let compact = format!("{key}: {value}");
        match last.comma {
            Some(comma) => changed.insert_str(comma + 1, &format!(" {compact},")),
            None => changed.insert_str(last.value.end(), &format!(", {compact}")),
        }
        return changed;
    }
    let first = object.members[0].key;
    let own_line = text[..first]
        .rfind('\n')
        .is_some_and(|line| line > object.open);
    let indent = if own_line {
        indent_at(text, first).to_owned()
    } else {
        format!("{outer}{}", style.unit)
    };
    let member = format!("{newline}{indent}{key}: {}", style.written(value, &indent));
    match last.comma {
        Some(comma) => {
            changed.insert_str(rest_of_line(text, comma + 1), &format!("{member},"));
        }
        None => {
            changed.insert_str(rest_of_line(text, last.value.end()), &member);
            changed.insert(last.value.end(), ',');
        }
    }
    changed
}

/// The blanks at the beginning of the line of this place.
fn indent_at(text: &str, place: usize) -> &str {
    let line = text[..place].rfind('\n').map_or(0, |newline| newline + 1);
    let blanks = text[line..place]
        .find(|c| !matches!(c, ' ' | '\t'))
        .unwrap_or(place - line);
    &text[line..line + blanks]
}

/// Behind the blanks and comments that belong to what ends at this place.
fn rest_of_line(text: &str, place: usize) -> usize {
    let rest = &text[place..];
    let line = rest.find('\n').map_or(rest, |newline| &rest[..newline]);
    let trimmed = line.trim();
    let is_remark = trimmed.starts_with("//")
        || (trimmed.starts_with("/*")
            && trimmed.ends_with("*/")
            && trimmed.matches("*/").count() == 1);
    if is_remark {
        place + line.trim_end().len()
    } else {
        place
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set_in(text: &str) -> String {
        set(
            text,
            "mcpServers",
            "mission",
            &json!({ "command": "m", "args": [] }),
        )
        .unwrap()
    }

    #[test]
    fn the_new_member_looks_like_its_neighbours_and_nothing_else_moves() {
        for (text, expected) in [
            (
                "",
                "{\n  \"mcpServers\": {\n    \"mission\": {\n      \"args\": [],\n      \"command\": \"m\"\n    }\n  }\n}\n",
            ),
            (
                "{\n\t\"a\": 1, // one\n\t\"mcpServers\": {\n\t\t\"x\": {} // the first\n\t}\n}\n",
                "{\n\t\"a\": 1, // one\n\t\"mcpServers\": {\n\t\t\"x\": {}, // the first\n\t\t\"mission\": {\n\t\t\t\"args\": [],\n\t\t\t\"command\": \"m\"\n\t\t}\n\t}\n}\n",
            ),
            (
                "{\n    \"mcpServers\": {\n        \"x\": {},\n    },\n}",
                "{\n    \"mcpServers\": {\n        \"x\": {},\n        \"mission\": {\n            \"args\": [],\n            \"command\": \"m\"\n        },\n    },\n}",
            ),
            (
                "{\"mcpServers\": {\"x\": 1}, \"b\": 2}",
                "{\"mcpServers\": {\"x\": 1, \"mission\": {\"args\":[],\"command\":\"m\"}}, \"b\": 2}",
            ),
            (
                "{\r\n  \"a\": 1\r\n}\r\n",
                "{\r\n  \"a\": 1,\r\n  \"mcpServers\": {\r\n    \"mission\": {\r\n      \"args\": [],\r\n      \"command\": \"m\"\r\n    }\r\n  }\r\n}\r\n",
            ),
            (
                "{\n  // nothing yet\n}\n",
                "{\n  // nothing yet\n  \"mcpServers\": {\n    \"mission\": {\n      \"args\": [],\n      \"command\": \"m\"\n    }\n  }\n}\n",
            ),
        ] {
            assert_eq!(set_in(text), expected, "{text}");
        }
    }

    #[test]
    fn setting_twice_changes_nothing_and_a_new_value_takes_the_old_ones_place() {
        let once = set_in("{\n  \"mcpServers\": {\n    \"x\": 1\n  }\n}\n");
        assert_eq!(set_in(&once), once);
        let other = set(&once, "mcpServers", "mission", &json!("else")).unwrap();
        assert_eq!(
            other,
            "{\n  \"mcpServers\": {\n    \"x\": 1,\n    \"mission\": \"else\"\n  }\n}\n"
        );
        let without = remove(&other, "mcpServers", "mission").unwrap();
        assert_eq!(without, "{\n  \"mcpServers\": {\n    \"x\": 1\n  }\n}\n");
    }

    #[test]
    fn a_byte_order_mark_stays_where_it_is() {
        let text = "\u{feff}{\"mcpServers\": {\"x\": 1}}";
        let once = set_in(text);
        assert!(once.starts_with("\u{feff}{\"mcpServers\": {\"x\": 1, \"mission\""));
        assert_eq!(remove(&once, "mcpServers", "mission").unwrap(), text);
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        for text in [
            "[]",
            "{",
            "{\"a\"}",
            "{\"a\": }",
            "{\"a\": 1 \"b\": 2}",
            "x",
        ] {
            assert!(set(text, "s", "n", &json!(1)).is_err(), "{text}");
        }
        let error = set("{\"s\": []}", "s", "n", &json!(1)).unwrap_err();
        assert_eq!(error, "`s` is no object");
    }

    proptest::proptest! {
        /// Whatever is in a file: it then says the same and our member, and
        /// without our member the same as before.
        #[test]
        fn a_file_keeps_its_meaning(text in files()) {
            let read = |text: &str| -> Value {
                serde_json::from_str(&crate::jsonc::plain(text).unwrap()).unwrap()
            };
            let entry = json!({ "command": "m", "args": ["a"] });
            let changed = set(&text, "mcpServers", "mission", &entry).unwrap();
            let mut expected = read(&text);
            expected["mcpServers"]["mission"] = entry;
            proptest::prop_assert_eq!(read(&changed), expected.clone());
            let removed = remove(&changed, "mcpServers", "mission").unwrap();
            expected["mcpServers"].as_object_mut().unwrap().remove("mission");
            proptest::prop_assert_eq!(read(&removed), expected);
        }
    }

    /// Files of servers with comments, blanks and commas in all the usual places.
    fn files() -> impl proptest::strategy::Strategy<Value = String> {
        use proptest::prelude::*;
        let trivia = prop_oneof![
            Just(String::new()),
            Just(" ".to_owned()),
            Just("\n  ".to_owned()),
            Just(" // it's, {a} \"remark\"\n\t".to_owned()),
            Just("/* one, } */".to_owned()),
        ];
        let value = prop_oneof![
            Just("1".to_owned()),
            Just("\"a \\\" // b\"".to_owned()),
            Just("[1, {\"x\": null}, ]".to_owned()),
            Just("{ }".to_owned()),
            Just("{\"mission\": true}".to_owned()),
        ];
        let object = |values: BoxedStrategy<String>, trivia: BoxedStrategy<String>| {
            let member = (trivia.clone(), values, trivia.clone());
            (prop::collection::vec(member, 0..4), any::<bool>(), trivia).prop_map(
                |(members, last_comma, inner)| {
                    let count = members.len();
                    let mut text = "{".to_owned();
                    for (index, (before, value, after)) in members.into_iter().enumerate() {
                        let comma = index + 1 < count || last_comma;
                        let comma = if comma { "," } else { "" };
                        text += &format!("{before}\"k{index}\":{before}{value}{after}{comma}");
                    }
                    text + &inner + "}"
                },
            )
        };
        let servers = object(value.clone().boxed(), trivia.clone().boxed());
        let around = object(value.boxed(), trivia.clone().boxed());
        (servers, around, trivia, any::<bool>()).prop_map(|(servers, around, between, has)| {
            if has {
                format!("{{\"mcpServers\":{between}{servers}{between}, \"more\": {around}}}")
            } else {
                around
            }
        })
    }
}
