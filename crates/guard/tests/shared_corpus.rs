//! Commands that others published as ways round the rules of agent CLIs, where the
//! collection stands beside the repository. It is not part of it.

use std::path::Path;

use missiond_core::Timestamp;
use missiond_guard::batch::answer;
use serde_json::{Value, json};

const PROFILE: &str = "echo cat ls grep rg find sort sed man xargs head tail wc history jq date awk tee \
    less fd column base64";

/// What depends on the repository and cannot be seen in the command, or is harmless as
/// it stands: a group of allowed commands.
const NOT_IN_THE_COMMAND: [&str; 3] = ["G071", "G072", "G079"];

#[test]
fn nothing_of_the_shared_corpus_is_let_through() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench/guard_commands.jsonl");
    let Ok(text) = std::fs::read_to_string(file) else {
        return;
    };
    let now: Timestamp = "2026-01-04T12:00:00Z"
        .parse()
        .expect("as the collection has it");
    let mut rules: Vec<String> = PROFILE
        .split_whitespace()
        .map(|name| format!("allow {name}*"))
        .collect();
    rules.extend(
        [
            "status",
            "log",
            "diff",
            "show",
            "ls-remote",
            "branch",
            "rev-parse",
        ]
        .map(|sub| format!("allow git {sub}*")),
    );
    rules.extend(["rm *", "curl*", "git clean*", "~/.ssh/**"].map(|rule| format!("deny {rule}")));
    let mut wrong = Vec::new();
    let mut asked = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("as the collection has it");
        let id = case["id"].as_str().expect("as the collection has it");
        if NOT_IN_THE_COMMAND.contains(&id) {
            continue;
        }
        let line = json!({
            "id": id, "rules": rules, "tool": "Bash", "argument": case["command"],
            "cwd": "/home/u/project", "home": "/home/u",
        });
        let answer = answer(line.to_string().as_bytes(), now);
        let fits = match case["expected"].as_str().expect("as the collection has it") {
            "not_allow" => answer.verdict.as_str() != "allow",
            "allow" => {
                asked += u32::from(answer.verdict.as_str() != "allow");
                true
            }
            expected => answer.verdict.as_str() == expected,
        };
        if !fits || (case["expected"] == "allow" && answer.verdict.as_str() != "allow") {
            wrong.push(format!(
                "{id} {} {}: {}",
                case["command"],
                answer.verdict.as_str(),
                answer.reason
            ));
        }
    }
    assert!(wrong.is_empty() && asked == 0, "{}", wrong.join("\n"));
}
