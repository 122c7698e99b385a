//! JSON without its secrets, leaf by leaf: what was masked stays JSON of the same form.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::detector::Detector;
use crate::masked::{mask, replace_within};

/// Takes the secrets out of every text of a value. With `Names::Tell` a member's name says
/// what its text is, as in `{"password": "…"}`.
pub fn mask_json(value: &mut Value, names: Names) -> usize {
    match value {
        Value::String(text) => mask_leaf(text, None),
        Value::Array(items) => items.iter_mut().map(|item| mask_json(item, names)).sum(),
        Value::Object(members) => {
            let mut secrets = 0;
            for (name, value) in members.iter_mut() {
                secrets += match value {
                    Value::String(text) if names == Names::Tell => mask_leaf(text, Some(name)),
                    other if FREE.contains(&name.as_str()) => mask_json(other, Names::Tell),
                    other => mask_json(other, names),
                };
            }
            let telling: Vec<String> = members
                .keys()
                .filter(|name| {
                    names == Names::Tell && !Detector::current().scan(name.as_bytes()).is_empty()
                })
                .cloned()
                .collect();
            for name in telling {
                if let Some(value) = members.remove(&name) {
                    members.insert(mask(name).into_string(), value);
                    secrets += 1;
                }
            }
            secrets
        }
        _ => 0,
    }
}

/// Members of our own formats in which others put what they like.
const FREE: [&str; 10] = [
    "input",
    "arguments",
    "params",
    "parameters",
    "env",
    "environment",
    "headers",
    "tool_input",
    "output",
    "result",
];

/// Whether the names of members belong to the text, or to a format whose names say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    Tell,
    Format,
}

/// Masks one text; it never becomes longer, because what it is stored in has its bounds.
fn mask_leaf(text: &mut String, name: Option<&str>) -> usize {
    let detector = Detector::current();
    let mut findings = detector.scan(text.as_bytes());
    if let Some(name) = name.filter(|name| name.len() <= 64) {
        let before = format!("{name}=\"");
        let assigned =
            detector.scan(format!("{before}{}\"", text.replace(['"', '\n'], "'")).as_bytes());
        let whole = assigned
            .iter()
            .any(|found| found.start == before.len() && found.end == before.len() + text.len());
        if whole && findings.len() < 2 {
            findings = assigned;
            for found in &mut findings {
                found.start = found.start.saturating_sub(before.len());
                found.end = found.end.saturating_sub(before.len()).min(text.len());
            }
            findings.retain(|found| found.start < found.end);
        }
    }
    if findings.is_empty() {
        return 0;
    }
    *text = replace_within(text, &findings);
    findings.len()
}

/// Takes the secrets out of JSON as it is written, such as a record of a journal: what comes
/// back has the same form. What is no JSON is masked as text. `None` when there is nothing to
/// take out, which is found without parsing it.
#[must_use]
pub fn mask_written(json: &[u8]) -> Option<Vec<u8>> {
    if Detector::current().scan(json).is_empty() {
        return None;
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(json) else {
        let text = String::from_utf8_lossy(json);
        return Some(mask(text).into_string().into_bytes());
    };
    if mask_json(&mut value, Names::Format) == 0 {
        return None;
    }
    serde_json::to_vec(&value).ok()
}

/// A value without its secrets; an error when it does not fit its type any more.
pub fn mask_value<T: Serialize + DeserializeOwned>(value: T) -> Result<T, serde_json::Error> {
    match mask_written(&serde_json::to_vec(&value)?) {
        Some(masked) => serde_json::from_slice(&masked),
        None => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_tell_where_they_are_of_the_text() {
        let made = || json!({"password": "k3Xq9Lw2Rt", "a": ["x", {"note": "token=k3Xq9Lw2Rt7V"}], "n": 3});
        let mut told = made();
        assert_eq!(mask_json(&mut told, Names::Tell), 2);
        assert_eq!(
            told,
            json!({"password": "[masked]", "a": ["x", {"note": "token=[masked]"}], "n": 3})
        );
        let mut format = made();
        assert_eq!(mask_json(&mut format, Names::Format), 1);
        assert_eq!(format["password"], "k3Xq9Lw2Rt");
        let mut record = json!({"key": "a", "input": {"password": "k3Xq9Lw2Rt"}});
        assert_eq!(mask_json(&mut record, Names::Format), 1);
    }

    #[test]
    fn what_is_written_keeps_its_form() {
        let written =
            br#"{"n":1,"text":"say \"token\": \"k3Xq9Lw2Rt7V\" and\nDB_PASSWORD=k3Xq9Lw2Rt"}"#;
        let masked = mask_written(written).unwrap();
        let masked: Value = serde_json::from_slice(&masked).unwrap();
        assert_eq!(
            masked,
            json!({"n": 1, "text": "say \"token\": \"[masked]\" and\nDB_PASSWORD=[masked]"})
        );
        assert_eq!(mask_written(br#"{"n":1,"text":"nothing"}"#), None);
    }

    #[test]
    fn what_is_no_json_is_masked_as_text() {
        let cut = br#"{"text":"DB_PASSWORD=k3Xq9Lw2Rt"#;
        let masked = String::from_utf8(mask_written(cut).unwrap()).unwrap();
        assert!(!masked.contains("k3Xq9Lw2Rt"), "{masked}");
        assert!(masked.starts_with(r#"{"text":"DB_PASSWORD="#), "{masked}");
    }

    #[test]
    fn no_text_becomes_longer() {
        let mut value = json!("pwd='a1b2c3'");
        assert_eq!(mask_json(&mut value, Names::Tell), 1);
        assert_eq!(value, json!("pwd='******'"));
    }
}
