//! `mission inbox --watch` on a real terminal.

use serde_json::{Value, json};

use crate::harness::{TestHome, wait_for};
use crate::person::Person;
use crate::status::{ASKS, Studio};

fn watches(home: &TestHome, size: (u16, u16), variables: &[(&str, &str)]) -> Person {
    Person::runs(home, size, &["inbox", "--watch"], variables)
}

fn asked(studio: &Studio) {
    studio.agent("Add square roots", ASKS);
    wait_for("a question", || {
        let page = studio.home.json(&["inbox"]);
        !page["questions"].as_array().unwrap().is_empty()
    });
}

#[test]
fn a_key_allows_what_is_shown_and_another_denies_it() {
    for (key, done, not) in [("a", "allowed", "denied"), ("d", "denied", "allowed")] {
        let studio = Studio::new();
        asked(&studio);
        let mut person = watches(&studio.home, (80, 24), &[]);
        person.waits_for("One question waits for you.");
        person.waits_for("› Q-1");
        person.waits_for("command   pip install numpy");
        person.types("?");
        person.waits_for("allow this very thing for an hour");
        // Whatever closes the help answers nothing.
        person.types(key);
        person.waits_for("command   pip install numpy");
        assert!(!studio.file(done).exists());
        person.types(key);
        wait_for(done, || studio.file(done).exists());
        person.waits_for("Nobody waits for you.");
        assert!(!studio.file(not).exists());
        // Nothing is marked any more: no key answers anything.
        person.types("a");
        person.waits_for("Nothing is marked");
        person.types("q");
        person.left_as_it_was(0);
    }
}

#[test]
fn an_hour_makes_a_rule_and_words_answer_a_tool_that_asks() {
    let studio = Studio::new();
    asked(&studio);
    let mut person = watches(&studio.home, (80, 24), &[]);
    person.waits_for("› Q-1");
    person.types("h");
    person.waits_for("allows it again for an hour");
    let rules = studio.home.call("permission_list", &json!({}))["rules"].clone();
    let added: Vec<&Value> = rules
        .as_array()
        .unwrap()
        .iter()
        .filter(|rule| rule["source"] == "added")
        .collect();
    assert_eq!(added[0]["argument"], "re:pip install numpy", "{added:?}");
    assert!(added[0]["expires_at"].is_string(), "{added:?}");
    person.types("\x03");
    person.left_as_it_was(0);
}

#[test]
fn it_is_readable_when_narrow_and_without_colours() {
    let studio = Studio::new();
    asked(&studio);
    let person = watches(&studio.home, (30, 12), &[("NO_COLOR", "1")]);
    person.waits_for("› Q-1");
    person.waits_for("pip install numpy");
    let mut terminal = person.terminal.lock().unwrap();
    let rows = terminal.screen().rows.iter();
    let coloured = rows
        .flat_map(|row| &row.emphasis)
        .any(|run| run.style.contains(missiond_semantic::Style::COLOURED));
    assert!(!coloured);
}

#[test]
fn what_is_dismissed_is_gone_and_who_asked_waits_on() {
    let studio = Studio::new();
    asked(&studio);
    let mut person = watches(&studio.home, (80, 24), &[]);
    person.waits_for("› Q-1");
    person.types("x");
    person.waits_for("Nobody waits for you.");
    let page = studio.home.json(&["inbox", "--all"]);
    assert_eq!(page["questions"][0]["status"], "dismissed", "{page}");
    assert!(!studio.file("allowed").exists() && !studio.file("denied").exists());
}
