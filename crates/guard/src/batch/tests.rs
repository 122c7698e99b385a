//! Lines in, answers out.

use serde_json::json;

use super::*;

fn noon() -> Timestamp {
    "2026-01-04T12:00:00Z".parse().unwrap()
}

fn verdict(rules: &Value, tool: &str, argument: &Value) -> (Effect, String) {
    let line = json!({
        "id": "a", "rules": rules, "tool": tool, "argument": argument,
        "cwd": "/home/dev/app", "home": "/home/dev",
    });
    let answer = answer(line.to_string().as_bytes(), noon());
    assert_eq!(answer.id, json!("a"));
    (answer.verdict, answer.reason)
}

#[test]
fn a_rule_is_read_however_a_person_writes_it() {
    for rules in [
        json!(["allow git status*", "deny rm *"]),
        json!(["allow Bash git status*", "deny: rm *"]),
        json!(["allow Bash(git status:*)", "deny Bash(rm *)"]),
        json!(["Bash(git status:*)", "deny rm *"]),
        json!({"allow": ["Bash(git status:*)"], "deny": ["rm *"]}),
        json!([
            {"effect": "allow", "tool": "Bash", "argument": "git status*"},
            {"behavior": "deny", "pattern": "rm *"},
        ]),
        json!([
            {"toolName": "Bash", "ruleContent": "git status:*", "behavior": "allow"},
            {"verdict": "deny", "tool": "bash", "command": "rm *"},
        ]),
    ] {
        for (command, expected) in [
            ("git status --short", Effect::Allow),
            ("git push", Effect::Ask),
            ("git status; rm x", Effect::Deny),
        ] {
            let (effect, reason) = verdict(&rules, "Bash", &json!(command));
            assert_eq!(effect, expected, "{rules} {command}: {reason}");
            let raw = json!({"command": command, "timeout": 5});
            assert_eq!(
                verdict(&rules, "shell", &raw).0,
                expected,
                "{rules} {command}"
            );
        }
    }
}

#[test]
fn a_file_is_judged_by_rules_on_tools_and_on_paths() {
    let rules = json!(["allow Read *", "deny ~/.ssh/**", "allow Edit(src/**)"]);
    for (tool, argument, expected) in [
        ("Read", json!("src/main.rs"), Effect::Allow),
        (
            "read_file",
            json!({"file_path": "src/main.rs"}),
            Effect::Allow,
        ),
        ("Read", json!("~/.ssh/id_ed25519"), Effect::Deny),
        (
            "Read",
            json!({"file_path": "/home/dev/app/../.ssh/config"}),
            Effect::Deny,
        ),
        (
            "Edit",
            json!({"file_path": "src/a.rs", "old_string": "a"}),
            Effect::Allow,
        ),
        ("Edit", json!({"file_path": "Makefile"}), Effect::Ask),
        ("Write", json!("src/a.rs"), Effect::Ask),
        ("Bash", json!("cat ~/.ssh/config"), Effect::Deny),
        (
            "Bash",
            json!(["cat", "/home/dev/.ssh/config"]),
            Effect::Deny,
        ),
        (
            "mcp__files__read",
            json!({"path": "~/.ssh/config"}),
            Effect::Deny,
        ),
    ] {
        let (effect, reason) = verdict(&rules, tool, &argument);
        assert_eq!(effect, expected, "{tool} {argument}: {reason}");
    }
}

#[test]
fn a_rule_that_does_not_do_what_its_examples_say_is_not_read() {
    let with = |field: &str, example: &str| json!([{"effect": "allow", "argument": "git log*", field: [example]}]);
    for (field, example, expected) in [
        ("match", "git log -1", Effect::Allow),
        ("match", "git logout", Effect::Ask),
        ("match", "git log --output=x", Effect::Ask),
        ("not_match", "git push", Effect::Allow),
        ("not_match", "git log -1", Effect::Ask),
    ] {
        let (effect, reason) = verdict(&with(field, example), "Bash", &json!("git log -2"));
        assert_eq!(effect, expected, "{field} {example}: {reason}");
    }
}

#[test]
fn the_starter_policy_is_there_by_its_name() {
    let starter = json!("starter");
    assert_eq!(
        verdict(&starter, "Bash", &json!("cargo test")).0,
        Effect::Allow
    );
    assert_eq!(
        verdict(&starter, "Read", &json!("src/a.rs")).0,
        Effect::Allow
    );
    assert_eq!(
        verdict(&starter, "Read", &json!("/etc/passwd")).0,
        Effect::Ask
    );
    assert_eq!(verdict(&starter, "Bash", &json!("sudo ls")).0, Effect::Deny);
}

#[test]
fn what_others_obey_is_asked_whatever_is_allowed_and_a_tool_expands_as_a_shell_does() {
    let rules = json!([
        "allow Write *",
        "allow Edit *",
        "allow Read *",
        "allow Grep *",
        "allow Glob *",
        "deny ~/.ssh/**"
    ]);
    for (tool, path, expected) in [
        ("Write", "src/a.rs", Effect::Allow),
        ("Write", ".git/hooks/pre-commit", Effect::Ask),
        ("Edit", "src/../.git/config", Effect::Ask),
        ("Write", "/home/dev/.bashrc", Effect::Ask),
        ("Edit", ".claude/settings.json", Effect::Ask),
        ("Write", ".github/workflows/ci.yml", Effect::Ask),
        ("Write", "/proc/self/cwd/.mcp.json", Effect::Ask),
        ("Edit", "package.json", Effect::Ask),
        ("Read", "/etc/shadow", Effect::Ask),
        ("Read", "/proc/self/environ", Effect::Ask),
        ("Read", "$HOME/.ssh/id_rsa", Effect::Deny),
        ("Read", "~dev/.ssh/id_rsa", Effect::Deny),
        ("Read", "file:///home/dev/.ssh/id_rsa", Effect::Deny),
        ("Read", "/proc/self/root/home/dev/.ssh/id_rsa", Effect::Deny),
        ("Glob", "/home/dev/.s*h/*", Effect::Deny),
        ("Glob", "src/**/*.rs", Effect::Allow),
        ("Grep", "/home/dev", Effect::Ask),
        ("Grep", "src", Effect::Allow),
    ] {
        let (effect, reason) = verdict(&rules, tool, &json!(path));
        assert_eq!(effect, expected, "{tool} {path}: {reason}");
    }
}

#[test]
fn a_tool_of_a_server_is_named_as_agents_name_it() {
    let rules = json!(["allow mcp__docs__search", "deny mcp__mail"]);
    let call = |tool: &str| verdict(&rules, tool, &json!({"q": "x"})).0;
    assert_eq!(call("mcp__docs__search"), Effect::Allow);
    assert_eq!(call("mcp__docs__write"), Effect::Ask);
    assert_eq!(call("mcp__mail__send"), Effect::Deny);
}

#[test]
fn what_cannot_be_read_is_asked_with_the_reason_and_denied_if_another_rule_denies() {
    for (rules, expected) in [
        (
            json!(["permit git *"]),
            "rule 1 cannot be read: `permit git *` does not begin with allow",
        ),
        (
            json!(["allow git *", 7]),
            "rule 2 cannot be read: it is neither a text nor an object",
        ),
        (
            json!([{"effect": "allow"}]),
            "rule 1 cannot be read: it does not say what it is about",
        ),
        (
            json!([{"effect": "allow", "tol": "Bash"}]),
            "rule 1 cannot be read: `tol` is not a field",
        ),
        (
            json!(["allow re:("]),
            "rule 1 cannot be read: `(` is not a regular expression",
        ),
        (
            json!(["allow Bash(*)", "deny ~other/x"]),
            "rule 2 cannot be read: `~other/x` is not a path",
        ),
    ] {
        let (effect, reason) = verdict(&rules, "Bash", &json!("git status"));
        assert_eq!(effect, Effect::Ask);
        assert!(reason.starts_with(expected), "{reason}");
    }
    let rules = json!(["deny rm *", "permit git *"]);
    assert_eq!(verdict(&rules, "Bash", &json!("rm x")).0, Effect::Deny);
    for (line, expected) in [
        (&b"{"[..], "the line is not JSON: "),
        (&b"\xff"[..], "the line is not UTF-8"),
        (&b"[]"[..], "the line is not an object"),
        (&b"{\"tool\": 3}"[..], "the line is not understood: "),
        (&b"{\"argument\": \"ls\"}"[..], "the line names no `tool`"),
        (&b"{\"tool\": \"Bash\"}"[..], "the `argument` is no command"),
        (
            &b"{\"tool\": \"Read\", \"argument\": {}}"[..],
            "the `argument` names no file",
        ),
    ] {
        let answer = answer(line, noon());
        assert_eq!((answer.verdict, answer.understood), (Effect::Ask, false));
        assert!(answer.reason.starts_with(expected), "{}", answer.reason);
    }
    let long = json!({"tool": "Bash", "argument": "a".repeat(200_000), "rules": ["allow Bash"]});
    assert_eq!(
        answer(long.to_string().as_bytes(), noon()).verdict,
        Effect::Ask
    );
    assert_eq!(
        answer(&vec![b' '; MAX_LINE_BYTES + 1], noon()).verdict,
        Effect::Ask
    );
}
