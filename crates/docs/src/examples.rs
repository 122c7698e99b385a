//! A call of each operation that can be typed as it is shown: written by hand, because no
//! schema says which title a task may have or which words name a task. Tests hold each
//! against its schema, and call it.

use std::sync::LazyLock;

use serde_json::{Map, Value};

static EXAMPLES: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    // A test reads it; a text that is none would show every call without parameters.
    serde_json::from_str(include_str!("examples.json")).unwrap_or_default()
});

/// The parameters of the example; none for an operation that needs none.
pub(crate) fn example(operation: &str) -> Value {
    let known = EXAMPLES.get(operation).cloned();
    known.unwrap_or_else(|| Value::Object(Map::new()))
}

#[cfg(test)]
mod tests {
    use missiond_api::CATALOGUE;

    use super::*;

    #[test]
    fn every_operation_that_needs_parameters_is_shown_with_them() {
        for name in EXAMPLES.keys() {
            let known = CATALOGUE.iter().any(|spec| spec.name == name);
            assert!(known, "there is no operation {name}");
        }
        for spec in CATALOGUE {
            let schema = spec.params_schema().to_value();
            let example = example(spec.name);
            let given = example.as_object().unwrap();
            let required = schema["required"].as_array().into_iter().flatten();
            for name in required.filter_map(Value::as_str) {
                assert!(given.contains_key(name), "{}: {name} is missing", spec.name);
            }
            for name in given.keys() {
                let declared = &schema["properties"][name];
                assert!(!declared.is_null(), "{} takes no {name}", spec.name);
            }
        }
    }
}
