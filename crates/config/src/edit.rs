//! Changing one key in the text of a configuration file.
//!
//! A key that is there has its value replaced, or its line cut out, byte for byte;
//! one that is not is put at the end of its section. Comments and the order of what a
//! person wrote stay. What comes out is read as the file would be, so a value is
//! refused with the sentence that the file would be refused with.

use std::ops::Range;
use std::path::Path;

use serde_json::Value as Json;
use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use crate::meant::meant_key;
use crate::{Config, ConfigError, KEYS};

/// Why a change is not made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file was wrong before: nothing is changed in what cannot be read.
    #[error("{0}; mend the file first")]
    Unreadable(ConfigError),
    /// The sentence of the parser.
    #[error("{0}")]
    Refused(String),
}

/// The text with another value for a key, or without the key; `file` is for the
/// messages.
pub fn set(file: &Path, text: &str, key: &str, value: Option<&Json>) -> Result<String, EditError> {
    let path: Vec<_> = key.split('.').collect();
    let old = value_at(text, &path);
    match (KEYS.iter().find(|spec| spec.key == key), value, &old) {
        (Some(spec), Some(new), Some(old)) if *new == spec.public(old) && new != old => {
            let message = format!("`{key}` is only shown so; give its whole value");
            return Err(EditError::Refused(message));
        }
        (Some(_), ..) => {}
        // A key that does not exist can be taken out of the file it was written into.
        (None, None, Some(_)) if !is_section(key) => {}
        (None, ..) => return Err(EditError::Refused(unknown(key))),
    }
    let wrong_before = Config::parse(file, text).err();
    let changed = change(text, &path, value).map_err(|why| match &wrong_before {
        Some(error) => EditError::Unreadable(error.clone()),
        None => EditError::Refused(format!("`{key}` {why}")),
    })?;
    // A change that mends the file is made.
    match (Config::parse(file, &changed), wrong_before) {
        (Ok(_), _) => Ok(changed),
        (Err(error), Some(before)) if error.key() != Some(key) => {
            Err(EditError::Unreadable(before))
        }
        (Err(error), _) => Err(EditError::Refused(error.sentence().to_owned())),
    }
}

/// The text with another value at a path, or without it; what is wrong goes on where
/// the name of the key ends. Nobody has checked what the value means.
pub fn change(text: &str, path: &[&str], value: Option<&Json>) -> Result<String, String> {
    match value {
        Some(value) => put(text, path, to_toml(value)?),
        None => Ok(cut(text, path)),
    }
}

/// What stands at a path; nothing when the text is none that can be read.
#[must_use]
pub fn value_at(text: &str, path: &[&str]) -> Option<Json> {
    let table: toml::Table = text.parse().ok()?;
    let whole = toml::Value::Table(table);
    let found = path
        .iter()
        .try_fold(&whole, |value, part| value.get(part))?;
    serde_json::to_value(found).ok()
}

/// A value as people are shown it: as it would stand in the file, without what is
/// secret of it. What stands at a key that there is not may be anything.
#[must_use]
pub fn shown(key: &str, value: &Json) -> String {
    let spec = KEYS.iter().find(|spec| spec.key == key);
    spec.map_or_else(|| "…".to_owned(), |spec| written(&spec.public(value)))
}

/// A value as it would stand in the file, on one line.
pub(crate) fn written(value: &Json) -> String {
    toml::Value::try_from(value).map_or_else(|_| value.to_string(), |value| value.to_string())
}

fn unknown(key: &str) -> String {
    let given: String = key.chars().take(80).collect();
    if is_section(key) {
        return format!("`{given}` is a section, not a value");
    }
    match meant_key(&given) {
        Some(name) => format!("unknown key `{given}`; did you mean `{name}`?"),
        None => format!("unknown key `{given}`; `mission config keys` lists those that exist"),
    }
}

fn is_section(name: &str) -> bool {
    let section = format!("{name}.");
    KEYS.iter().any(|spec| spec.key.starts_with(&section))
}

/// Where a key and its value stand in a text; none when it is not there, or when it
/// is a list of tables, which have places of their own.
struct Place {
    key: Range<usize>,
    value: Range<usize>,
    /// Inside of braces, where a line is not one key's alone.
    inline: bool,
}

fn find(text: &str, path: &[&str]) -> Option<Place> {
    let document = Document::parse(text).ok()?;
    let (name, section) = path.split_last()?;
    let mut table: &dyn TableLike = document.as_table();
    let mut inline = false;
    for part in section {
        let item = table.get(part)?;
        inline |= item.is_inline_table();
        table = item.as_table_like()?;
    }
    let (written, item) = table.get_key_value(name)?;
    item.as_value()?;
    Some(Place {
        key: written.span()?,
        value: item.span()?,
        inline,
    })
}

fn put(text: &str, path: &[&str], value: Value) -> Result<String, String> {
    if let Some(place) = find(text, path) {
        let mut changed = text.to_owned();
        changed.replace_range(place.value, value.to_string().trim());
        return Ok(changed);
    }
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| format!("cannot be set: {}", error.message()))?;
    let (name, section) = path.split_last().ok_or("is no key")?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for part in section {
        let made = table.entry(part).or_insert_with(|| {
            let mut made = Table::new();
            made.set_implicit(true);
            Item::Table(made)
        });
        let inner = made.as_table_like_mut();
        table = inner.ok_or_else(|| format!("cannot be set: `{part}` is not a section"))?;
    }
    table.insert(name, Item::Value(value));
    Ok(document.to_string())
}

fn cut(text: &str, path: &[&str]) -> String {
    match find(text, path) {
        Some(place) if !place.inline => {
            let start = text[..place.key.start]
                .rfind('\n')
                .map_or(0, |newline| newline + 1);
            let rest = &text[place.value.end..];
            let end = rest
                .find('\n')
                .map_or(text.len(), |newline| place.value.end + newline + 1);
            let mut changed = text.to_owned();
            changed.replace_range(start..end, "");
            changed
        }
        // A list of tables, or a key between braces: it is taken out with what
        // surrounds it.
        _ => remove(text, path).unwrap_or_else(|| text.to_owned()),
    }
}

fn remove(text: &str, path: &[&str]) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let (name, section) = path.split_last()?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for part in section {
        table = table.get_mut(part)?.as_table_like_mut()?;
    }
    table.remove(name)?;
    Some(document.to_string())
}

fn to_toml(value: &Json) -> Result<Value, String> {
    Ok(match value {
        Json::Null => return Err("has a null within, which the file cannot hold".to_owned()),
        Json::Bool(value) => Value::from(*value),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::from(whole),
            (None, Some(number)) if number.is_finite() => Value::from(number),
            _ => return Err(format!("cannot be {number}: the number is too large")),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(values) => {
            let values = values.iter().map(to_toml).collect::<Result<Vec<_>, _>>()?;
            let of_tables = values.iter().any(Value::is_inline_table);
            let mut array: Array = values.into_iter().collect();
            if of_tables {
                for value in array.iter_mut() {
                    value.decor_mut().set_prefix("\n    ");
                }
                array.set_trailing("\n");
                array.set_trailing_comma(true);
            }
            Value::Array(array)
        }
        Json::Object(fields) => {
            let mut table = InlineTable::new();
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                table.insert(name, to_toml(value)?);
            }
            Value::InlineTable(table)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const WRITTEN: &str = "# Mine.\nslot_idle_secs = 60 # a minute\n\n[autopilot]\n# Two at a \
         time.\nmax_agents   = 2   # not more\nengine = \"codex\"\n\n[log]\nlevel = 'debug'\n";

    fn changed(text: &str, key: &str, value: Json) -> Result<String, String> {
        let value = Some(value).filter(|value| !value.is_null());
        set(Path::new("c"), text, key, value.as_ref()).map_err(|error| error.to_string())
    }

    #[test]
    fn one_value_changes_and_every_other_byte_stays() {
        let set = changed(WRITTEN, "autopilot.max_agents", json!(7)).unwrap();
        assert_eq!(set, WRITTEN.replace("= 2 ", "= 7 "));
        let set = changed(WRITTEN, "log.level", json!("warn")).unwrap();
        assert_eq!(set, WRITTEN.replace("'debug'", "\"warn\""));
        let unset = changed(WRITTEN, "autopilot.max_agents", Json::Null).unwrap();
        assert_eq!(
            unset,
            WRITTEN.replace("max_agents   = 2   # not more\n", "")
        );
        let nothing = changed(WRITTEN, "http.hosts", Json::Null).unwrap();
        assert_eq!(nothing, WRITTEN);
    }

    #[test]
    fn a_new_key_is_put_into_its_section_and_a_new_section_behind_the_others() {
        let set = changed(WRITTEN, "autopilot.check_rounds", json!(5)).unwrap();
        assert_eq!(
            set,
            WRITTEN.replace("\"codex\"\n", "\"codex\"\ncheck_rounds = 5\n")
        );
        let set = changed(WRITTEN, "knowledge.search.page", json!(5)).unwrap();
        assert_eq!(set, format!("{WRITTEN}\n[knowledge.search]\npage = 5\n"));
        assert_eq!(
            changed("", "notifications.desktop", json!(true)).unwrap(),
            "[notifications]\ndesktop = true\n"
        );
        assert_eq!(
            changed("", "slot_idle_secs", json!(9)).unwrap(),
            "slot_idle_secs = 9\n"
        );
    }

    #[test]
    fn lists_of_tables_are_replaced_whole_however_they_were_written() {
        let price = json!([{"model": "m", "input": 1, "output": 2.5}]);
        let tables = "[[usage.prices]]\nmodel = \"a\"\ninput = 1\noutput = 1\n\n[log]\n";
        let set = changed(tables, "usage.prices", price.clone()).unwrap();
        let config = Config::parse(Path::new("c"), &set).unwrap();
        assert_eq!(config.usage.prices.len(), 1, "{set}");
        assert_eq!(config.usage.prices[0].model, "m");
        let again = changed(&set, "usage.prices", price).unwrap();
        assert_eq!(again, set);
        let unset = changed(tables, "usage.prices", Json::Null).unwrap();
        assert!(!unset.contains("prices"), "{unset}");
    }

    #[test]
    fn what_the_file_would_be_refused_for_is_refused_with_its_sentence() {
        for (key, value, expected) in [
            (
                "autopilot.max_agents",
                json!(0),
                "`autopilot.max_agents` must be between 1 and 1000, but is 0",
            ),
            (
                "autopilot.max_agent",
                json!(1),
                "unknown key `autopilot.max_agent`; did you mean `autopilot.max_agents`?",
            ),
            (
                "autopilot",
                json!(1),
                "`autopilot` is a section, not a value",
            ),
            (
                "notifications.webhook_url",
                json!("ftp://x"),
                "`notifications.webhook_url` must begin with https://, or with http:// and an \
                 address of this machine (127.0.0.1, [::1] or localhost)",
            ),
        ] {
            assert_eq!(changed(WRITTEN, key, value).unwrap_err(), expected);
        }
        let wrong = changed(WRITTEN, "log.level", json!("loud")).unwrap_err();
        assert!(
            wrong.starts_with("`log.level` must be one of `") && wrong.ends_with("but is `loud`"),
            "{wrong}"
        );
        let broken = changed("[log]\nlevel = \n", "log.level", json!("info")).unwrap_err();
        assert!(broken.contains("c, line 2"), "{broken}");
    }

    #[test]
    fn what_is_shown_of_a_secret_is_not_written_in_its_place() {
        for (key, secret) in [
            ("notifications.webhook_url", "https://hooks.example/s3cret"),
            (
                "notifications.webhook_url",
                "https://hooks.example?key=s3cret",
            ),
            ("database.url", "postgres://me:s3cret@localhost/m"),
        ] {
            let text = changed("", key, json!(secret)).unwrap();
            let spec = KEYS.iter().find(|spec| spec.key == key).unwrap();
            let public = spec.public(&json!(secret));
            assert!(!public.to_string().contains("s3cret"), "{public}");
            let refused = changed(&text, key, public).unwrap_err();
            assert!(refused.contains("only shown so"), "{refused}");
            assert_eq!(changed(&text, key, json!(secret)).unwrap(), text);
        }
        // A name before the host is refused, and yet not shown.
        let key = "notifications.webhook_url";
        let secret = json!("https://me:s3cret@hooks.example");
        assert!(changed("", key, secret.clone()).is_err());
        let spec = KEYS.iter().find(|spec| spec.key == key).unwrap();
        assert_eq!(spec.public(&secret), json!("https://hooks.example"));
    }

    #[test]
    fn keys_between_braces_and_dotted_keys_are_found() {
        let braces = "log = { level = \"info\", max_files = 2 } # one line\n";
        let set = changed(braces, "log.level", json!("warn")).unwrap();
        assert_eq!(set, braces.replace("info", "warn"));
        let unset = changed(braces, "log.level", Json::Null).unwrap();
        assert!(unset.contains("max_files = 2") && !unset.contains("level"));
        let dotted = "log.level = \"info\"\nlog.max_files = 3\n";
        let set = changed(dotted, "log.max_files", json!(4)).unwrap();
        assert_eq!(set, dotted.replace('3', "4"));
    }
}
