//! What an attempt does to what it is judged by, and to what the daemon runs for it: the
//! configuration and the hooks of git, and the files that define a check.

use serde_json::{Value, json};

use super::{Field, QUICK, outcome};
use crate::harness::TestHome;

/// A turn that runs these lines in a shell and claims to be done.
fn does(lines: &str) -> String {
    format!(
        "  - uses: always\n    steps:\n      - run: {{argv: [sh, -ec, {}], exit: 0}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
        json!(lines)
    )
}

fn notes(details: &Value) -> String {
    let evidence = details["evidence"].as_array().unwrap();
    let notes = evidence.iter().filter_map(|one| one["note"].as_str());
    notes.collect::<Vec<_>>().join(" ")
}

/// Sets a filter, a merge driver, an ssh command and hooks, each of which would leave a
/// file with its environment, and uses them.
fn plants(field: &Field) -> String {
    let ran = field.file("ran");
    let ran = ran.display();
    format!(
        "git config filter.evil.clean 'env > \"{ran}-clean\"; cat'\n\
         git config filter.evil.smudge 'env > \"{ran}-smudge\"; cat'\n\
         git config merge.evil.driver 'env > \"{ran}-merge\"; exit 0'\n\
         git config core.sshCommand 'env > \"{ran}-ssh\"'\n\
         git config core.fsmonitor 'env > \"{ran}-fsmonitor\"'\n\
         git config diff.evil.textconv 'env > \"{ran}-textconv\"; cat'\n\
         hook=$(git rev-parse --git-common-dir)/hooks/post-commit\n\
         mkdir -p \"${{hook%/*}}\"\n\
         printf '#!/bin/sh\\nenv > \"{ran}-hook\"\\n' > \"$hook\"; chmod +x \"$hook\"\n\
         echo '*.txt filter=evil merge=evil diff=evil' > .gitattributes\n\
         echo two >> list.txt; echo new > new.txt\n"
    )
}

fn ran(field: &Field) -> Vec<String> {
    let folder = std::fs::read_dir(field.folder.path()).unwrap();
    let names = folder.filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let mut ran: Vec<_> = names.filter(|name| name.starts_with("ran-")).collect();
    ran.sort();
    ran
}

/// Begins work with a secret in the daemon's environment.
fn start(field: &Field) {
    let mut start = field.home.command(&["daemon", "start"]);
    start.env("SOME_API_KEY", "a secret of the daemon");
    assert!(start.output().unwrap().status.success());
    field.resume();
}

#[test]
fn no_git_of_the_daemon_runs_what_an_agent_wrote_into_the_configuration() {
    let field = Field::quiet(TestHome::with_config(QUICK));
    start(&field);
    let checks = json!([{ "run": ["test", "-s", "new.txt"] }]);
    let plants = does(&plants(&field));
    let task = field.task("plants", &plants, json!({ "checks": checks }));
    let details = field.wait_status(&task, "done");
    assert_eq!(outcome(&details, 0), "verified");
    assert_eq!(field.on_main("new.txt"), "new");
    assert_eq!(field.on_main("list.txt"), "one\ntwo");
    field.wait_for_quiet();
    assert_eq!(ran(&field), Vec::<String>::new());
    // It is told, by name.
    let notes = notes(&details);
    for name in [
        "filter.evil.clean",
        "core.sshcommand",
        "the hook post-commit",
    ] {
        assert!(notes.contains(name), "{notes}");
    }
    // Neither does it for the next, which finds it there.
    let next = does("echo three >> list.txt");
    let checks = json!([{ "run": ["grep", "-q", "three", "list.txt"] }]);
    let next = field.task("next", &next, json!({ "checks": checks }));
    field.wait_status(&next, "done");
    field.wait_for_quiet();
    assert_eq!(ran(&field), Vec::<String>::new());
}

#[test]
fn a_trusted_repository_has_its_filters_run_without_the_daemons_environment() {
    let field = Field::quiet(TestHome::new());
    let trusted = json!([field.repository()]);
    let config = format!("{QUICK}trusted_repositories = {trusted}\n");
    field.home.write_config(&config);
    start(&field);
    let ran_clean = field.file("ran-clean");
    let clean = format!("env > \"{}\"; tr a-z A-Z", ran_clean.display());
    field.git(&["config", "filter.own.clean", &clean]);
    let turns = does("echo '*.txt filter=own' > .gitattributes; echo new > new.txt");
    let task = field.task("filters", &turns, json!({}));
    field.wait_status(&task, "done");
    assert_eq!(field.on_main("new.txt"), "NEW");
    let environment = std::fs::read_to_string(ran_clean).unwrap();
    assert!(environment.contains("PATH="), "{environment}");
    assert!(!environment.contains("SOME_API_KEY"), "{environment}");
}

#[test]
fn a_check_that_the_work_has_changed_is_for_a_person_to_judge() {
    let field = Field::new();
    let write = |name: &str, text: &str| {
        std::fs::write(field.repository().join(name), text).unwrap();
    };
    std::fs::create_dir(field.repository().join("rules")).unwrap();
    write("Makefile", "test:\n\ttest -f feature.txt\n");
    write("rules/strict", "all\n");
    write("check.sh", "grep -q all rules/strict\n");
    field.git(&["add", "--all"]);
    field.git(&["commit", "--quiet", "-m", "Say what is checked"]);
    let make = json!([{ "run": ["make", "test"] }]);
    let cheats = does("printf 'test:\\n\\ttrue\\n' > Makefile");
    let task = field.task("cheats", &cheats, json!({ "checks": make }));
    let details = field.wait_status(&task, "review");
    let main = field.on_main("Makefile");
    assert!(main.contains("feature.txt"), "nothing was merged");
    let told = notes(&details);
    assert!(told.contains("was checked by: Makefile"), "{told}");

    // The same by a script that the check names, and by a file somebody said to protect.
    let script = json!([{ "run": ["sh", "check.sh"] }]);
    let by_script = does("echo true > check.sh");
    let by_script = field.task("by script", &by_script, json!({ "checks": script }));
    let protect = json!([{ "run": ["sh", "check.sh"], "protect": ["rules/*"] }]);
    let by_rule = does("echo but this >> rules/strict");
    let by_rule = field.task("by rule", &by_rule, json!({ "checks": protect }));
    for (task, file) in [(&by_script, "check.sh"), (&by_rule, "rules/strict")] {
        let told = notes(&field.wait_status(task, "review"));
        assert!(told.contains(&format!("checked by: {file}")), "{told}");
    }

    // Who leaves it alone is merged, and a person may take the other.
    let honest = does("echo done > feature.txt");
    let honest = field.task("honest", &honest, json!({ "checks": make }));
    field.wait_status(&honest, "done");
    field.home.json(&["worktree", "finish", &task, "--yes"]);
    assert_eq!(field.show(&task)["task"]["status"], "done");
    assert!(field.on_main("Makefile").contains("true"));
}
