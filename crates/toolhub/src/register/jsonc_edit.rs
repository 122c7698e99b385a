//! One member of a JSON file as editors keep it, set or removed in place:
//! comments, order, indentation and everything else stay as they are.

use serde::Serialize;
use serde_json::Value;

/// The text with `section.name` set to this value.
pub(super) fn set(text: &str, section: &str, name: &str, value: &Value) -> Result<String, String> {
    let text = if text.trim_start_matches('\u{feff}').trim().is_empty() {
        "{}\n"
    } else {
        text
    };
    let style = Style::of(text);
    let root = object_at(text, start(text))?;
    let Some(known) = root.member(section) else {
        let value = serde_json::json!({ name: value });
        return Ok(add(text, &root, section, &value, &style));
    };
    let servers = object_at(text, known.value).map_err(|_| format!("`{section}` is no object"))?;
    match servers.member(name) {
        Some(member) => {
            let indent = indent_at(text, member.key);
            let mut changed = text.to_owned();
            let written = style.written(value, indent);
            changed.replace_range(member.value..member.end, &written);
            Ok(changed)
        }
        None => Ok(add(text, &servers, name, value, &style)),
    }
}

/// The text without `section.name`.
pub(super) fn remove(text: &str, section: &str, name: &str) -> Result<String, String> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(text.to_owned());
    }
    let root = object_at(text, start(text))?;
    let Some(known) = root.member(section) else {
        return Ok(text.to_owned());
    };
    let Ok(servers) = object_at(text, known.value) else {
        return Ok(text.to_owned());
    };
    let Some(place) = servers
        .members
        .iter()
        .position(|member| member.name == name)
    else {
        return Ok(text.to_owned());
    };
    let member = &servers.members[place];
    let mut changed = text.to_owned();
    let begin = text[..member.key]
        .trim_end_matches([' ', '\t', '\r', '\n'])
        .len();
    match member.comma {
        // Others follow, or a comma may stand there anyway.
        Some(comma) => changed.replace_range(begin..=comma, ""),
        None => {
            changed.replace_range(begin..member.end, "");
            let before = place.checked_sub(1).map(|place| &servers.members[place]);
            if let Some(comma) = before.and_then(|before| before.comma) {
                changed.replace_range(comma..=comma, "");
            }
        }
    }
    Ok(changed)
}

struct Object {
    open: usize,
    close: usize,
    members: Vec<Member>,
}

struct Member {
    name: String,
    /// Where its name begins.
    key: usize,
    value: usize,
    /// Behind its value.
    end: usize,
    comma: Option<usize>,
}

impl Object {
    fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }
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

fn add(text: &str, object: &Object, name: &str, value: &Value, style: &Style) -> String {
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
            None => changed.insert_str(last.end, &format!(", {compact}")),
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
            changed.insert_str(rest_of_line(text, last.end), &member);
            changed.insert(last.end, ',');
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

fn start(text: &str) -> usize {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    blanks(text, mark)
}

/// The next place that is neither blank nor comment.
fn blanks(text: &str, mut place: usize) -> usize {
    loop {
        let rest = &text[place..];
        let trimmed = rest.trim_start();
        place += rest.len() - trimmed.len();
        let skipped = if trimmed.starts_with("//") {
            trimmed.find('\n').unwrap_or(trimmed.len())
        } else if trimmed.starts_with("/*") {
            trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
        } else {
            return place;
        };
        place += skipped;
    }
}

fn object_at(text: &str, open: usize) -> Result<Object, String> {
    let bytes = text.as_bytes();
    if bytes.get(open) != Some(&b'{') {
        return Err("it does not begin with `{`".to_owned());
    }
    let mut members: Vec<Member> = Vec::new();
    let mut place = blanks(text, open + 1);
    loop {
        match bytes.get(place) {
            Some(b'}') => {
                return Ok(Object {
                    open,
                    close: place,
                    members,
                });
            }
            Some(b'"') => {}
            _ => return Err(format!("a name is missing at byte {place}")),
        }
        let key = place;
        let after_key = string_end(text, key)?;
        let name: String =
            serde_json::from_str(&text[key..after_key]).map_err(|error| error.to_string())?;
        place = blanks(text, after_key);
        if bytes.get(place) != Some(&b':') {
            return Err(format!("a `:` is missing at byte {place}"));
        }
        let value = blanks(text, place + 1);
        let end = value_end(text, value)?;
        place = blanks(text, end);
        let comma = (bytes.get(place) == Some(&b',')).then_some(place);
        members.push(Member {
            name,
            key,
            value,
            end,
            comma,
        });
        match comma {
            Some(comma) => place = blanks(text, comma + 1),
            None if bytes.get(place) == Some(&b'}') => {}
            None => return Err(format!("a `,` is missing at byte {place}")),
        }
    }
}

fn string_end(text: &str, open: usize) -> Result<usize, String> {
    let bytes = text.as_bytes();
    let mut place = open + 1;
    while let Some(byte) = bytes.get(place) {
        match byte {
            b'\\' => place += 2,
            b'"' => return Ok(place + 1),
            _ => place += 1,
        }
    }
    Err("a text is not closed".to_owned())
}

fn value_end(text: &str, value: usize) -> Result<usize, String> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut place = value;
    loop {
        place = if depth > 0 {
            blanks(text, place)
        } else {
            place
        };
        match bytes.get(place) {
            None => return Err("it ends too early".to_owned()),
            Some(b'"') => place = string_end(text, place)?,
            Some(b'{' | b'[') => {
                depth += 1;
                place += 1;
            }
            Some(b'}' | b']') if depth > 0 => {
                depth -= 1;
                place += 1;
            }
            Some(b',' | b':') if depth > 0 => place += 1,
            Some(_) => {
                let word = text[place..]
                    .find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
                    .unwrap_or(text.len() - place);
                if word == 0 {
                    return Err(format!("a value is missing at byte {place}"));
                }
                place += word;
            }
        }
        if depth == 0 {
            return Ok(place);
        }
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
                serde_json::from_str(&crate::jsonc::plain(text)).unwrap()
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
