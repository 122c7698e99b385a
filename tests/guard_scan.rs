//! `mission guard scan`: where secrets stand, without a daemon, and as a hook of git.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::harness::{TestHome, text};

fn token() -> String {
    ["ghp_", "k3Xq9Lw2Rt7VbNcQf5HjZp", "Gs1YuE8oDmKiAb"].concat()
}

fn git(folder: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.net"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
}

fn scan(home: &TestHome, folder: &Path, arguments: &[&str]) -> Output {
    let mut command = home.command(&["guard", "scan"]);
    command
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn findings(output: &Output) -> Vec<Value> {
    let lines = text(&output.stdout);
    assert!(!lines.contains("k3Xq9Lw2"), "the secret is never printed");
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_secret_is_told_by_its_place_and_kind_without_a_daemon() {
    let home = TestHome::new();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let content = format!(
        "name = \"x\"\ntoken = \"{}\"\nDB_PASSWORD=k3Xq9Lw2!\n",
        token()
    );
    std::fs::write(place.join("settings.toml"), content).unwrap();
    std::fs::write(place.join("clean.txt"), "nothing here\n").unwrap();
    std::fs::write(place.join("picture.bin"), format!("\0{}", token())).unwrap();

    let found = scan(&home, place, &["settings.toml", "--json"]);
    assert_eq!(found.status.code(), Some(1));
    assert_eq!(
        findings(&found),
        [
            json!({"file": "settings.toml", "line": 2, "start": 9, "end": 49, "kind": "github-token"}),
            json!({"file": "settings.toml", "line": 3, "start": 12, "end": 21, "kind": "password"}),
        ]
    );
    let all = scan(&home, place, &["--json"]);
    assert_eq!(
        findings(&all).len(),
        2,
        "files that are no text are passed over"
    );
    let clean = scan(&home, place, &["clean.txt"]);
    assert_eq!(
        (clean.status.code(), text(&clean.stdout).as_str()),
        (Some(0), "")
    );
    let people = scan(&home, place, &["settings.toml"]);
    assert_eq!(
        text(&people.stdout),
        "settings.toml:2:10: github-token\nsettings.toml:3:13: password"
    );
    assert_eq!(scan(&home, place, &["absent.txt"]).status.code(), Some(4));
    assert!(!home.home().socket().exists(), "no daemon was started");
}

#[test]
fn in_a_repository_what_git_ignores_is_passed_over_and_a_hook_sees_what_is_staged() {
    let home = TestHome::new();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    git(place, &["init", "-q"]);
    std::fs::write(place.join(".gitignore"), "private/\n").unwrap();
    std::fs::create_dir(place.join("private")).unwrap();
    std::fs::write(place.join("private/key.env"), format!("KEY={}\n", token())).unwrap();
    std::fs::write(place.join("old.env"), format!("A={}\n", token())).unwrap();
    assert_eq!(findings(&scan(&home, place, &["--json"])).len(), 1);
    git(place, &["add", "."]);
    let staged = findings(&scan(&home, place, &["--staged", "--json"]));
    assert_eq!(staged.len(), 1);
    assert_eq!(staged[0]["file"], "old.env");

    git(place, &["commit", "-q", "-m", "one"]);
    std::fs::write(place.join("old.env"), format!("A={}\nB=1\n", token())).unwrap();
    git(place, &["add", "."]);
    let unchanged = scan(&home, place, &["--staged"]);
    assert_eq!(
        unchanged.status.code(),
        Some(0),
        "the old line is not added by this commit"
    );
    let outside = tempfile::tempdir().unwrap();
    assert_eq!(
        scan(&home, outside.path(), &["--staged"]).status.code(),
        Some(4)
    );
}
