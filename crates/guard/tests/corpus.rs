//! Our own tables of commands: hostile ones, of which none is let through, and ordinary
//! ones, of which nearly none needs a question and none is denied.

use missiond_core::Timestamp;
use missiond_guard::batch::{Answer, answer};
use serde_json::{Value, json};

const HOSTILE: &str = include_str!("corpus/hostile.txt");
const ORDINARY: &str = include_str!("corpus/ordinary.txt");
const BY_CLASS: [(&str, &str); 6] = [
    ("builtins", include_str!("corpus/builtins.txt")),
    ("git", include_str!("corpus/git.txt")),
    ("launchers", include_str!("corpus/launchers.txt")),
    ("paths", include_str!("corpus/paths.txt")),
    ("rules", include_str!("corpus/rules.txt")),
    ("starter", include_str!("corpus/starter.txt")),
];
const UNDER_RULES: &str = include_str!("corpus/ordinary_rules.txt");

/// One line of a table with the rules it stands under.
struct Case<'t> {
    rules: Value,
    /// Whether it has to be denied, and not only not allowed.
    denied: bool,
    line: &'t str,
}

fn cases(table: &str) -> Vec<Case<'_>> {
    let mut all = Vec::new();
    let mut rules = json!([]);
    let mut denied = false;
    for line in table.lines() {
        match line {
            "" => {}
            "deny" | "stop" | "allow" => denied = line == "deny",
            _ if line.starts_with("# ") && !line.contains('⏎') => {}
            _ => match line.strip_prefix("rules: ") {
                Some("starter") => rules = json!("starter"),
                Some(written) => rules = json!(written.split("; ").collect::<Vec<_>>()),
                None => all.push(Case {
                    rules: rules.clone(),
                    denied,
                    line,
                }),
            },
        }
    }
    all
}

/// A command, or `@Tool argument`.
fn decided(rules: &Value, line: &str) -> Answer {
    let spelled = spelled_out(line);
    let (tool, argument) = match spelled.strip_prefix('@') {
        None => ("Bash", json!(spelled)),
        Some(call) => {
            let (tool, argument) = call.split_once(' ').expect("a tool and its argument");
            let argument = serde_json::from_str(argument).unwrap_or_else(|_| json!(argument));
            (tool, argument)
        }
    };
    let line = json!({
        "id": line, "rules": rules, "tool": tool, "argument": argument,
        "cwd": "/home/u/project", "home": "/home/u",
    });
    let now: Timestamp = "2026-01-04T12:00:00Z".parse().expect("a time");
    let answer = answer(line.to_string().as_bytes(), now);
    assert!(answer.understood, "{line}: {}", answer.reason);
    answer
}

fn spelled_out(line: &str) -> String {
    line.replace('⏎', "\n")
        .replace('␍', "\r")
        .replace('␣', "\u{a0}")
}

/// How many lines there are, and those that are let through.
fn let_through(table: &str) -> (usize, Vec<String>) {
    let cases = cases(table);
    let count = cases.len();
    let wrong = cases.into_iter().filter_map(|case| {
        let answer = decided(&case.rules, case.line);
        let verdict = answer.verdict.as_str();
        (verdict == "allow" || (case.denied && verdict != "deny"))
            .then(|| format!("{verdict}  {}   ({})", case.line, answer.reason))
    });
    (count, wrong.collect())
}

#[test]
fn no_hostile_command_is_let_through() {
    let (count, wrong) = let_through(HOSTILE);
    assert!(count >= 500, "{count}");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn no_hostile_command_of_any_class_is_let_through() {
    for (class, table) in BY_CLASS {
        let (count, wrong) = let_through(table);
        assert!(count >= 250, "{class}: {count}");
        assert!(
            wrong.is_empty(),
            "{class}: {} of {count}:\n{}",
            wrong.len(),
            wrong.join("\n")
        );
    }
}

/// Lines that are not allowed, and whether one of them is denied.
fn asked(cases: &[Case<'_>]) -> (Vec<String>, bool) {
    let mut denied = false;
    let asked = cases.iter().filter_map(|case| {
        let answer = decided(&case.rules, case.line);
        let verdict = answer.verdict.as_str();
        denied |= verdict == "deny";
        (verdict != "allow").then(|| format!("{verdict}  {}   ({})", case.line, answer.reason))
    });
    (asked.collect(), denied)
}

#[test]
fn ordinary_commands_need_no_question_under_the_starter_policy() {
    let starter = format!("rules: starter\n{ORDINARY}");
    for (table, least) in [(starter.as_str(), 200), (UNDER_RULES, 800)] {
        let cases = cases(table);
        assert!(cases.len() >= least, "{}", cases.len());
        let (asked, denied) = asked(&cases);
        println!("{} of {} asked: {asked:#?}", asked.len(), cases.len());
        assert!(
            asked.len() <= cases.len() / 20 && !denied,
            "{} of {}:\n{}",
            asked.len(),
            cases.len(),
            asked.join("\n")
        );
    }
}

#[test]
fn no_hostile_command_is_let_through_by_the_starter_policy() {
    let mut allowed = Vec::new();
    for case in cases(HOSTILE) {
        // What rules that deny are about may be harmless elsewhere.
        let about_deny = case.rules.to_string().contains("deny rm");
        if !about_deny && decided(&json!("starter"), case.line).verdict.as_str() == "allow" {
            allowed.push(case.line);
        }
    }
    assert!(allowed.is_empty(), "{}", allowed.join("\n"));
}
