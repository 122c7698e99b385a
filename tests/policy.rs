//! The policy through the real daemon: what its files say is what is decided, from the next
//! decision on, and what is wrong with them is said.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{TestHome, wait_for};

struct Stage {
    home: TestHome,
    file: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let home = TestHome::started();
        let said = home.json(&["policy", "check"]);
        let file = said["files"][0]["file"].as_str().unwrap().into();
        Self { home, file }
    }

    fn write(&self, text: &str) {
        fs::create_dir_all(self.file.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&self.file);
        fs::write(&self.file, text).unwrap();
        fs::set_permissions(&self.file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn test(&self, argument: &str) -> Value {
        let params = json!({"tool": "Bash", "argument": argument});
        self.home.call("permission_test", &params)
    }

    fn effect(&self, argument: &str) -> String {
        self.test(argument)["effect"].as_str().unwrap().to_owned()
    }

    fn events(&self, kind: &str) -> Vec<Value> {
        let events = self.home.events().into_iter();
        events
            .filter(|event| event["event"]["type"] == kind)
            .collect()
    }
}

#[test]
fn a_policy_decides_from_the_next_decision_on_and_its_change_is_told() {
    let stage = Stage::new();
    assert_eq!(stage.effect("just test"), "ask");
    stage.write("[[shell]]\nallow = \"just *\"\n\n[[network]]\ndeny = \"evil.test\"\n");
    let allowed = stage.test("just test");
    assert_eq!(
        (&allowed["effect"], &allowed["reason"], &allowed["layer"]),
        (
            &json!("allow"),
            &json!("policy.toml:2: allow `just *`"),
            &json!("shell")
        )
    );
    let denied = stage.test("just test && curl https://evil.test/x");
    assert_eq!(denied["effect"], "deny");
    assert_eq!(denied["layer"], "network");
    wait_for("the change on the timeline", || {
        !stage.events("policy_changed").is_empty()
    });
    // A slip leaves in force what was read, and is told with its line.
    stage.write("[[shell]]\nalow = \"just *\"\n");
    assert_eq!(stage.effect("just test"), "allow");
    wait_for("the refusal on the timeline", || {
        let told = stage.events("policy_rejected");
        told.iter().any(|event| {
            let error = event["event"]["error"].as_str().unwrap_or_default();
            error.contains("line 2: `alow` is no key of [[shell]]: did you mean `allow`?")
        })
    });
    fs::remove_file(&stage.file).unwrap();
    assert_eq!(stage.effect("just test"), "ask");
}

#[test]
fn the_command_line_writes_checks_shows_and_explains_a_policy() {
    let stage = Stage::new();
    stage.home.json(&["policy", "init"]);
    let mode = fs::metadata(&stage.file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(stage.effect("git status"), "allow");
    assert_eq!(stage.effect("sudo ls"), "deny");
    let shown = stage.home.json(&["policy", "show", "--layer", "network"]);
    let rules = shown["rules"].as_array().unwrap();
    assert!(
        rules.iter().all(|rule| rule["layer"] == "network"),
        "{shown}"
    );
    assert!(!rules.is_empty());
    let explained = stage.home.json(&["policy", "explain", "terraform apply"]);
    assert_eq!(explained["effect"], "ask");
    assert!(explained["change"].as_str().is_some(), "{explained}");
    let explained = stage
        .home
        .json(&["policy", "explain", "--url", "http://169.254.169.254/"]);
    assert_eq!(explained["effect"], "deny");
    let explained = stage
        .home
        .json(&["policy", "explain", "--url", "https://api.anthropic.com"]);
    assert_eq!(explained["effect"], "allow");
    let again = stage.home.mission(&["policy", "init"]);
    assert!(!again.status.success());
    stage.write("starter = 1\n");
    let checked = stage.home.mission(&["policy", "check"]);
    assert!(!checked.status.success());
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(
        text.contains("policy.toml, line 1: `starter` is true or false"),
        "{text}"
    );
}

/// An agent that asks for a command and leaves a file that says what it was told.
fn ask_for(stage: &Stage, folder: &std::path::Path, name: &str, command: &str) {
    let script = format!(
        r#"rehearsal: 1
startup: 0.1
turns:
  - steps:
      - ask:
          tool: Bash
          args: {}
          question: Do you want to let it run this command?
          allow: [{{write: {{file: {name}-allowed, text: x}}}}]
          always: [{{write: {{file: {name}-always, text: x}}}}]
          deny: [{{write: {{file: {name}-denied, text: x}}}}]
"#,
        json!(command)
    );
    let file = format!("{name}.yaml");
    fs::write(folder.join(&file), script).unwrap();
    let mission = crate::harness::binary();
    let mut args = vec!["slot", "spawn", "--name", name, "--engine", "rehearsal"];
    args.extend(["--cwd", folder.to_str().unwrap(), "--"]);
    args.extend([
        mission.to_str().unwrap(),
        "rehearse",
        &file,
        "go",
        "--speed",
        "50",
    ]);
    stage.home.json(&args);
}

#[test]
fn a_dialog_is_denied_by_the_host_that_its_command_names() {
    let stage = Stage::new();
    stage.write("[[shell]]\nallow = \"curl *\"\n\n[[network]]\ndeny = \"*.evil.test\"\n");
    let folder = tempfile::tempdir().unwrap();
    ask_for(&stage, folder.path(), "net", "curl https://a.evil.test/x");
    let denied = folder.path().join("net-denied");
    wait_for("the denial", || denied.exists());
    let page = stage
        .home
        .json(&["permission", "list", "--decisions", "10"]);
    let decision = &page["decisions"][0];
    assert_eq!(decision["decided_by"], "policy.toml:5");
    assert_eq!(
        decision["reason"],
        "policy.toml:5: deny reaching *.evil.test"
    );
}

#[test]
fn a_repository_narrows_what_a_dialog_is_allowed() {
    let stage = Stage::new();
    stage.write("[[shell]]\nallow = \"git *\"\n");
    // A rehearsal asks on its screen alone.
    let allow = ["permission", "add", "allow", "--tool", "Bash"];
    let what = ["--argument", "git *", "--by-sight"];
    stage.home.json(&[&allow[..], &what[..]].concat());
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".git")).unwrap();
    fs::create_dir_all(folder.path().join(".mission")).unwrap();
    let own = folder.path().join(".mission/policy.toml");
    fs::write(
        own,
        "[[shell]]\ndeny = \"git show*\"\nbecause = \"as a test\"\n",
    )
    .unwrap();
    ask_for(&stage, folder.path(), "log", "git log -1");
    wait_for("the permission", || {
        folder.path().join("log-allowed").exists()
    });
    ask_for(&stage, folder.path(), "show", "git show HEAD");
    wait_for("the denial", || folder.path().join("show-denied").exists());
    let page = stage.home.json(&["permission", "list", "--decisions", "1"]);
    assert_eq!(page["decisions"][0]["decided_by"], ".mission/policy.toml:2");
}

#[test]
fn what_was_allowed_by_hand_twice_is_proposed() {
    let stage = Stage::new();
    let folder = tempfile::tempdir().unwrap();
    for (name, command) in [
        ("one", "git show HEAD"),
        ("two", "git show -s"),
        ("three", "python3 a.py"),
        ("four", "python3 a.py"),
    ] {
        ask_for(&stage, folder.path(), name, command);
        let mut number = String::new();
        wait_for("the question", || {
            let inbox = stage.home.json(&["inbox"]);
            let Some(first) = inbox["questions"].as_array().unwrap().first() else {
                return false;
            };
            number = format!("Q-{}", first["number"]);
            true
        });
        stage.home.json(&["answer", &number, "1"]);
        wait_for("the answer", || {
            folder.path().join(format!("{name}-allowed")).exists()
        });
    }
    let mut proposed = Value::Null;
    wait_for("both answers to be on record", || {
        proposed = stage.home.json(&["policy", "suggest"]);
        proposed["decisions"] == 4
    });
    let all = proposed["suggestions"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{proposed}");
    assert_eq!(
        (&all[0]["pattern"], &all[0]["times"]),
        (&json!("git show*"), &json!(2))
    );
    stage.write(all[0]["toml"].as_str().unwrap());
    assert_eq!(stage.effect("git show HEAD"), "allow");
}
