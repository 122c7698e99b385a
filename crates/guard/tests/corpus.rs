//! Our own tables of commands: hostile ones, of which none is let through, and ordinary
//! ones, of which nearly none needs a question under the starter policy.

use missiond_core::Timestamp;
use missiond_guard::batch::{Answer, answer};
use serde_json::json;

const HOSTILE: &str = include_str!("corpus/hostile.txt");
const ORDINARY: &str = include_str!("corpus/ordinary.txt");

/// Lines of the hostile table that the starter policy allows with reason: it allows
/// reading, and what it runs there is harmless.
const HARMLESS_THERE: [&str; 0] = [];

fn decided(rules: &[&str], command: &str) -> Answer {
    let line = json!({
        "id": command, "rules": rules, "tool": "Bash", "argument": command,
        "cwd": "/home/u/project", "home": "/home/u",
    });
    let now: Timestamp = "2026-01-04T12:00:00Z".parse().expect("a time");
    let answer = answer(line.to_string().as_bytes(), now);
    assert!(answer.understood, "{command}: {}", answer.reason);
    answer
}

fn spelled_out(line: &str) -> String {
    line.replace('⏎', "\n")
        .replace('␍', "\r")
        .replace('␣', "\u{a0}")
}

#[test]
fn no_hostile_command_is_let_through() {
    let mut rules: Vec<&str> = Vec::new();
    let mut deny = false;
    let (mut count, mut wrong) = (0, Vec::new());
    for line in HOSTILE.lines() {
        match line {
            "" => continue,
            "deny" | "stop" => {
                deny = line == "deny";
                continue;
            }
            _ if line.starts_with("# ") => continue,
            _ => {}
        }
        if let Some(written) = line.strip_prefix("rules: ") {
            rules = written.split("; ").collect();
            continue;
        }
        count += 1;
        let answer = decided(&rules, &spelled_out(line));
        let verdict = answer.verdict.as_str();
        if verdict == "allow" || (deny && verdict != "deny") {
            wrong.push(format!("{verdict}  {line}   ({})", answer.reason));
        }
    }
    assert!(count >= 500, "{count}");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn ordinary_commands_need_no_question_under_the_starter_policy() {
    let rules = missiond_guard::batch::starter_rules();
    let (mut count, mut asked) = (0_u32, Vec::new());
    for line in ORDINARY.lines().filter(|line| !line.is_empty()) {
        count += 1;
        let answer = decided(&rules, &spelled_out(line));
        if answer.verdict.as_str() != "allow" {
            asked.push(format!(
                "{}  {line}   ({})",
                answer.verdict.as_str(),
                answer.reason
            ));
        }
    }
    assert!(count >= 200, "{count}");
    println!("{} of {count} asked: {asked:#?}", asked.len());
    let most = usize::try_from(count / 20).expect("small");
    assert!(
        asked.len() <= most,
        "{} of {count}:\n{}",
        asked.len(),
        asked.join("\n")
    );
}

#[test]
fn no_hostile_command_is_let_through_by_the_starter_policy() {
    let rules = missiond_guard::batch::starter_rules();
    let mut allowed = Vec::new();
    let mut skip = false;
    for line in HOSTILE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
    {
        if line.starts_with("rules: ") {
            // What rules that deny are about may be harmless elsewhere.
            skip = line.contains("deny rm");
            continue;
        }
        if skip || matches!(line, "deny" | "stop") || HARMLESS_THERE.contains(&line) {
            continue;
        }
        if decided(&rules, &spelled_out(line)).verdict.as_str() == "allow" {
            allowed.push(line);
        }
    }
    assert!(allowed.is_empty(), "{}", allowed.join("\n"));
}
