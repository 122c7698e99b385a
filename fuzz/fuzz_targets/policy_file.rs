#![no_main]
//! A policy file, read: no text makes the reading fail or take long, that of a repository
//! never allows anything, and what is read once is read the same again.

use libfuzzer_sys::fuzz_target;
use missiond_guard::permissions::Effect;
use missiond_guard::policy::{PolicySource, read};

fuzz_target!(|text: &str| {
    let person = read(PolicySource::Person, text);
    assert_eq!(person, read(PolicySource::Person, text));
    match read(PolicySource::Repository, text) {
        Ok(policy) => {
            assert!(!policy.starter && policy.opaque.is_empty());
            assert!(policy.rules.iter().all(|rule| rule.effect != Effect::Allow));
        }
        Err(problems) => assert!(!problems.is_empty()),
    }
});
