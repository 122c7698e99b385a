//! The key that somebody means by a name that is none.

use missiond_core::nearest_name;

use crate::KEYS;

/// What a key is called elsewhere.
const ALSO_CALLED: [(&str, &str); 12] = [
    ("http.port", "http.listen"),
    ("http.host", "http.listen"),
    ("http.address", "http.listen"),
    ("http.bind", "http.listen"),
    ("port", "http.listen"),
    ("log.dir", "log.directory"),
    ("log.path", "log.directory"),
    ("log.file", "log.directory"),
    ("database.path", "database.url"),
    ("ipc.socket", "ipc.socket_path"),
    ("autopilot.agents", "autopilot.max_agents"),
    ("autopilot.model", "autopilot.engine"),
];

/// The nearest key. Only the names within a section are compared: that two keys are of the
/// same section says nothing about which is meant.
pub(crate) fn meant_key(given: &str) -> Option<&'static str> {
    let known = ALSO_CALLED.iter().find(|(name, _)| *name == given);
    if let Some((_, key)) = known {
        return Some(key);
    }
    let all = || KEYS.iter().map(|spec| spec.key);
    let Some((section, name)) = given.rsplit_once('.') else {
        return nearest_name(given, all());
    };
    let of_section = || all().filter_map(|key| Some((key, key.rsplit_once('.')?)));
    let mut beside = of_section()
        .filter(|(_, (other, _))| *other == section)
        .peekable();
    if beside.peek().is_none() {
        // The section is the slip, or all of it is.
        return nearest_name(given, all());
    }
    let beside: Vec<_> = beside.collect();
    let nearest = nearest_name(name, beside.iter().map(|(_, (_, name))| *name));
    let in_section = beside.iter().find(|(_, (_, name))| Some(*name) == nearest);
    if let Some((key, _)) = in_section {
        return Some(key);
    }
    // Right by its name, if only one section has such a key.
    let mut elsewhere = of_section().filter(|(_, (_, other))| *other == name);
    match (elsewhere.next(), elsewhere.next()) {
        (Some((key, _)), None) => Some(key),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_another_name_and_another_section_are_understood_and_nothing_else_is() {
        for (given, meant) in [
            ("http.port", Some("http.listen")),
            ("http.lisen", Some("http.listen")),
            ("htpp.listen", Some("http.listen")),
            ("daemon.listen", Some("http.listen")),
            ("autopilot.max_agent", Some("autopilot.max_agents")),
            // Nothing in the section is like it, though all begin alike.
            ("http.certificate", None),
            ("http.gateway", None),
            ("weather", None),
        ] {
            assert_eq!(meant_key(given), meant, "{given}");
        }
        for (name, key) in ALSO_CALLED {
            assert!(KEYS.iter().any(|spec| spec.key == key), "{key}");
            assert!(!KEYS.iter().any(|spec| spec.key == name), "{name}");
        }
    }
}
