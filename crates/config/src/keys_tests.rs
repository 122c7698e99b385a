//! What is declared of a key is what holds: its range, its default and its reload.

use std::path::Path;

use toml::Value;

use crate::{Config, KEYS, KeySpec, Range, Reload, Values};

/// A file that gives one key a number, in the form its type has.
fn file_with(spec: &KeySpec, default: &Value, number: f64) -> String {
    let value = match default {
        Value::Integer(_) => format!("{number}"),
        Value::Float(_) => format!("{number:?}"),
        Value::Array(numbers) if numbers.is_empty() => format!("[\n\"debug={number}\"\n]"),
        Value::Array(numbers) => format!("{:?}", vec![number; numbers.len()]),
        other => panic!("`{}` is no number: {other}", spec.key),
    };
    format!("# Read by nobody\n\n{} = {value}\n", spec.key)
}

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(Path::new("c"), text).map_err(|error| error.to_string())
}

fn ranges() -> impl Iterator<Item = (&'static KeySpec, Range)> {
    KEYS.iter().filter_map(|spec| Some((spec, spec.range?)))
}

#[test]
fn a_number_outside_its_range_is_refused_with_key_line_and_range() {
    let defaults = Values::of(&Config::default());
    for (spec, range) in ranges() {
        let default = defaults.get(spec.key).unwrap();
        let step = match default {
            Value::Float(_) => 0.001,
            Value::Array(numbers) if !numbers.is_empty() => 0.001,
            _ => 1.0,
        };
        for inside in [range.min, range.max] {
            let parsed = parse(&file_with(spec, default, inside));
            assert!(parsed.is_ok(), "{parsed:?}");
        }
        for outside in [range.min - step, range.max + step] {
            let expected = format!(
                "c, line 3: `{}` must be between {} and {}, but is {outside}",
                spec.key, range.min, range.max
            );
            let refused = parse(&file_with(spec, default, outside));
            assert_eq!(refused.unwrap_err(), expected);
        }
    }
    assert!(ranges().count() > 60);
}

#[test]
fn a_number_is_compared_however_it_is_written() {
    for (value, but_is) in [
        ("0x2711", "0x2711"),
        ("10_001", "10001"),
        ("-5", "-5"),
        ("99999999999999999999", "99999999999999999999"),
        ("0.5", "0.5"),
        ("nan", "nan"),
        ("inf", "inf"),
    ] {
        let error = parse(&format!("ipc.max_connections = {value}\n")).unwrap_err();
        let range = "c, line 1: `ipc.max_connections` must be between 1 and 10000, but is ";
        assert_eq!(error, format!("{range}{but_is}"));
    }
    assert!(parse("ipc.max_connections = 0x2710\n").is_ok());
    let error = parse("ipc.max_connections = 1.5\n").unwrap_err();
    assert!(
        error.contains("must be a whole number, but is 1.5"),
        "{error}"
    );
}

#[test]
fn a_default_is_in_its_range() {
    let defaults = Values::of(&Config::default());
    for (spec, range) in ranges() {
        let numbers = match defaults.get(spec.key).unwrap() {
            Value::Array(values) => values.clone(),
            value => vec![value.clone()],
        };
        for number in numbers {
            let number = number.as_float().or(number.as_integer().map(|n| n as f64));
            let inside = (range.min..=range.max).contains(&number.unwrap());
            assert!(inside, "{}: {number:?} is not {range}", spec.key);
        }
    }
}

/// Budgets and times after which something ends, where 0 means never, have no end.
#[test]
fn every_number_but_three_has_a_range() {
    let defaults = Values::of(&Config::default());
    let is_number = |spec: &&KeySpec| {
        let default = defaults.get(spec.key).unwrap();
        default.is_integer() || default.is_float()
    };
    let endless = KEYS
        .iter()
        .filter(is_number)
        .filter(|spec| spec.range.is_none());
    let endless: Vec<_> = endless.map(|spec| spec.key).collect();
    let expected = [
        "slot_idle_secs",
        "autopilot.tokens_per_day",
        "autopilot.engine_tokens_per_day",
    ];
    assert_eq!(endless, expected);
}

#[test]
fn a_reload_takes_over_a_changed_value_exactly_if_its_key_is_live() {
    let old = Config::default();
    let defaults = Values::of(&old);
    let mut changed = 0;
    for spec in KEYS.iter() {
        let default = defaults.get(spec.key).unwrap();
        let text = match (default, spec.range) {
            (Value::Boolean(on), _) => format!("{} = {}\n", spec.key, !on),
            (_, Some(range)) => {
                let is_max = |number: Option<f64>| number == Some(range.max);
                let number = default.as_float();
                let number = number.or(default.as_integer().map(|number| number as f64));
                let other = if is_max(number) { range.min } else { range.max };
                file_with(spec, default, other)
            }
            _ => continue,
        };
        let new = parse(&text).unwrap();
        let keys: Vec<_> = old.changed_keys(&new).iter().map(|spec| spec.key).collect();
        assert_eq!(keys, [spec.key]);
        let expected = match spec.reload {
            Reload::Live => &new,
            Reload::Restart => &old,
        };
        assert_eq!(&old.after_reload(&new), expected, "{}", spec.key);
        changed += 1;
    }
    assert!(changed > 70, "{changed}");
}

#[test]
fn a_description_ends_with_the_range() {
    let of = |key: &str| {
        KEYS.iter()
            .find(|spec| spec.key == key)
            .unwrap()
            .description()
    };
    assert_eq!(
        of("ipc.max_connections"),
        "Connections at once; one more is told to come back. From 1 to 10000."
    );
    assert!(of("knowledge.search.k1").ends_with(" matter. From 0.1 to 10."));
    assert!(of("log.level").ends_with("debug or trace."));
    for spec in KEYS.iter() {
        let whole = spec.sentence.ends_with('.') && !spec.sentence.contains("  ");
        assert!(whole, "{}: {}", spec.key, spec.sentence);
    }
}

#[test]
fn the_words_of_a_choice_are_those_its_type_takes() {
    let choices = KEYS.iter().filter(|spec| !spec.choices.is_empty());
    let mut known = 0;
    for spec in choices {
        for word in spec.choices {
            let parsed = parse(&format!("{} = \"{word}\"\n", spec.key));
            let needs_more = |error: &String| !error.contains("must be one of");
            assert!(parsed.as_ref().err().is_none_or(needs_more), "{parsed:?}");
        }
        let another = format!("{} = \"another\"\n", spec.key);
        let error = toml::from_str::<Config>(&another).unwrap_err().to_string();
        // Serde lists what the type takes.
        let (_, listed) = error.split_once("expected ").unwrap();
        assert_eq!(
            listed.matches('`').count() / 2,
            spec.choices.len(),
            "{error}"
        );
        known += 1;
    }
    assert_eq!(known, 12);
}
