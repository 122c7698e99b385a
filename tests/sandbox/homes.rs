//! What a guarded agent sees of its engine's folder in the home, and what becomes of what it
//! writes there: nothing that is run or read where no wall is.

use std::path::Path;

use super::stage::Stage;
use super::{give_to, users};

/// An engine that does what an agent could have it do, instead of working.
const ENGINE: &str = r#"#!/bin/sh
case "$1" in --version) echo "2.1.0 (Claude Code)"; exit ;; esac
exec 2> errors
[ -e ~/.claude/settings.json ] && echo settings
echo '{"hooks":{}}' > ~/.claude/settings.json
mkdir -p ~/.claude/hooks ~/.claude/plugins && echo run > ~/.claude/hooks/start.sh
echo more >> ~/.claude/CLAUDE.md && echo instructions
cat ~/.claude/CLAUDE.md > seen
cat ~/.claude/projects/-other/theirs.jsonl >> seen && echo others
ls ~/.claude/projects >> seen
cp ~/.claude.json copy && echo changed > ~/.claude.json.new && mv ~/.claude.json.new ~/.claude.json
cat ~/.claude.json > changed
echo renewed > ~/.claude/.credentials.json
echo said > ~/.claude/projects/$(pwd | tr -c 'A-Za-z0-9\n' -)/mine.jsonl
touch tried
sleep 1000
"#;

#[test]
fn an_agent_changes_nothing_of_its_engine_that_others_run_or_read() {
    for user in users() {
        let stage = Stage::new(user, "", "");
        let person = stage.person();
        let write = |name: &str, contents: &str| {
            let file = person.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, contents).unwrap();
        };
        write(".claude.json", "{\"mcpServers\":{}}");
        write(".claude/CLAUDE.md", "be kind\n");
        write(".claude/.credentials.json", "old");
        write(".claude/projects/-other/theirs.jsonl", "a secret\n");
        write(".local/bin/claude", ENGINE);
        let program = person.join(".local/bin/claude");
        let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(program, runs).unwrap();
        give_to(&person, user);
        let folder = stage.work.path().to_str().unwrap();
        stage.json(&["run", "try", "--engine", "claude", "--cwd", folder]);
        stage.wait_for("tried");

        let is = |name: &str| std::fs::read_to_string(person.join(name)).unwrap();
        let errors = stage.read("errors");
        for absent in ["settings.json", "hooks", "plugins"] {
            let made = person.join(".claude").join(absent);
            assert!(!made.exists(), "{absent} as user {user}: {errors}");
        }
        assert_eq!(is(".claude/CLAUDE.md"), "be kind\n");
        assert_eq!(is(".claude.json"), "{\"mcpServers\":{}}");
        assert_eq!(stage.read("copy"), "{\"mcpServers\":{}}");
        assert_eq!(stage.read("changed"), "changed\n", "for itself: {errors}");
        assert_eq!(is(".claude/.credentials.json"), "renewed\n", "{errors}");
        let hyphened = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let work = stage.work.path().canonicalize().unwrap();
        let project: String = work.to_str().unwrap().chars().map(hyphened).collect();
        let seen = stage.read("seen");
        assert_eq!(seen, format!("be kind\n{project}\n"), "{errors}");
        let mine = Path::new(".claude/projects")
            .join(&project)
            .join("mine.jsonl");
        assert_eq!(is(mine.to_str().unwrap()), "said\n");
    }
}
