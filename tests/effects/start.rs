//! Beginning: repositories, plans, the one search and the demo.

use std::path::Path;

use serde_json::{Value, json};

use crate::commander::Agent;
use crate::harness::TestHome;
use crate::worktrees::{Workshop, commit, git};

#[test]
fn a_plan_read_by_mcp_becomes_tasks_of_the_board() {
    let shop = Workshop::new();
    let home = &shop.home;
    commit(&shop.repository, "Makefile", "test:\n\ttrue\n");
    home.start();
    let mut agent = Agent::start(home, &["--toolset", "board"]);
    let path = std::fs::canonicalize(&shop.repository).unwrap();
    let path = path.to_str().unwrap();
    let shown = agent.done("repository_show", json!({ "path": path }));
    assert_eq!(
        shown["branch"],
        json!(git(&shop.repository, &["branch", "--show-current"]))
    );
    assert_eq!(shown["checks"][0]["run"], json!(["make", "test"]));

    let text = "add divide, then document it and release 1.2";
    let proposal = agent.done("board_propose", json!({ "text": text, "repository": path }));
    let steps = proposal["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 3, "{proposal}");
    assert_eq!(
        steps[0]["task"]["checks"][0]["run"],
        json!(["make", "test"])
    );
    let none = home.call("board_list", &json!({}));
    assert_eq!(none["total"], 0, "a proposal is kept nowhere");

    agent.done("board_add_steps", json!({ "steps": steps }));
    let shown = home.call("board_show", &json!({ "task": "T-3" }));
    assert_eq!(shown["task"]["title"], "Release 1.2");
    assert_eq!(shown["depends_on"][0]["number"], "T-1");
    let added = home.json(&[
        "task",
        "propose",
        "--add",
        "--repository",
        path,
        "- polish\n- rest",
    ]);
    assert_eq!(added["tasks"][1]["title"], "Rest", "{added}");
    let mut bad = steps.clone();
    bad[2]["depends_on"] = json!(["nobody"]);
    let refused = agent.call("board_add_steps", json!({ "steps": bad }));
    assert_eq!(refused["isError"], true, "{refused}");
    let listed = home.call("board_list", &json!({}));
    assert_eq!(listed["total"], 5, "all of them or none");

    let known = agent.done("repository_list", json!({}));
    assert_eq!(known["repositories"][0]["path"], path, "{known}");
    assert_eq!(known["repositories"][0]["open_tasks"], 5);
}

#[test]
fn the_one_search_finds_what_the_command_line_finds() {
    let shop = Workshop::new();
    let home = &shop.home;
    commit(&shop.repository, "divide.py", "def divide(a, b): ...\n");
    home.start();
    let mut agent = Agent::start(home, &["--toolset", "board"]);
    let task = json!({ "title": "Test divide", "repository": shop.repository });
    home.call("board_add", &json!({ "task": task }));
    home.call(
        "kb_remember",
        &json!({ "key": "divide", "category": "note", "summary": "Divide refuses zero." }),
    );
    let kinds = |found: &Value| -> Vec<String> {
        let hits = found["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    let found = agent.done("search", json!({ "query": "divide" }));
    for kind in ["task", "knowledge", "commit"] {
        assert!(kinds(&found).contains(&kind.to_owned()), "{kind}: {found}");
    }
    assert_eq!(found.get("failed"), None, "{found}");
    let by_hand = home.json(&["search", "divide"]);
    assert_eq!(kinds(&by_hand), kinds(&found));
    let named = agent.done("search", json!({ "query": "t-1", "kinds": ["task"] }));
    assert_eq!(named["hits"][0]["link"], "/board/T-1", "{named}");
    let nothing = agent.done(
        "search",
        json!({ "query": "zebra", "kinds": ["task", "commit"] }),
    );
    assert_eq!(nothing["hits"], json!([]));
}

#[test]
fn the_demo_begun_by_mcp_is_on_the_board_and_on_the_disk() {
    let home = TestHome::new();
    let mut agent = Agent::start(&home, &["--toolset", "board"]);
    let started = agent.done("demo_start", json!({}));
    assert_eq!(started["autopilot"], "paused", "nothing is switched on");
    let listed = home.call("board_list", &json!({ "label": "demo" }));
    assert_eq!(listed["total"], 5, "{listed}");
    let repository = Path::new(started["repository"].as_str().unwrap());
    assert_eq!(git(repository, &["log", "--format=%s"]), "Greet the world");
    let again = agent.done("demo_start", json!({}));
    assert_ne!(again["repository"], started["repository"]);
}

#[test]
fn the_demo_is_made_whatever_the_settings_of_git_are() {
    let home = TestHome::new();
    let person = tempfile::tempdir().unwrap();
    let settings = "[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = /bin/false\n";
    std::fs::write(person.path().join(".gitconfig"), settings).unwrap();
    let up = home
        .command(&["up"])
        .env("HOME", person.path())
        .env("GIT_DIR", person.path().join("elsewhere"))
        .env_remove("GIT_CONFIG_GLOBAL")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    assert!(up.status.success(), "{}", crate::harness::text(&up.stderr));
    let started = home.call("demo_start", &json!({}));
    let repository = Path::new(started["repository"].as_str().unwrap());
    assert_eq!(git(repository, &["log", "--format=%s"]), "Greet the world");
    assert!(!person.path().join("elsewhere").exists());
    for folder in repository.ancestors().take(3) {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(folder).unwrap().permissions(),
        );
        assert_eq!(mode & 0o077, 0, "{}", folder.display());
    }
}
