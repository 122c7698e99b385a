#![no_main]
//! A line for a shell, judged: no text makes the reading fail or take long, and what is
//! denied alone is denied beside anything.

use libfuzzer_sys::fuzz_target;
use missiond_core::Timestamp;
use missiond_guard::batch::answer;

fuzz_target!(|text: &str| {
    let now: Timestamp = "2026-01-04T12:00:00Z".parse().expect("a time");
    let decide = |rules: &[&str], command: &str| {
        let line = serde_json::json!({
            "rules": rules, "tool": "Bash", "argument": command,
            "cwd": "/home/u/project", "home": "/home/u",
        });
        answer(line.to_string().as_bytes(), now).verdict.as_str()
    };
    decide(&["allow git *", "deny ~/.ssh/**"], text);
    // One more rule that denies never lets more through.
    let wide = decide(&["allow Bash"], text);
    let narrow = decide(&["allow Bash", "deny rm *"], text);
    assert!(wide != "ask" || narrow != "allow", "{text:?}");
    // A denied command is found behind whatever stands before it on a line of its own.
    if decide(&["allow Bash", "deny rm *"], text) == "allow" {
        let after = format!("{text}\nrm x");
        assert_ne!(decide(&["allow Bash", "deny rm *"], &after), "allow", "{text:?}");
    }
});
