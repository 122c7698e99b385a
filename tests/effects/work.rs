//! The board, the code that is worked on, and the places it is worked in.

use serde_json::{Value, json};

use crate::code::Shop;
use crate::commander::Agent;
use crate::harness::TestHome;
use crate::worktrees::{Workshop, commit, git};

fn task(title: &str) -> Value {
    json!({ "title": title, "isolation": "none" })
}

#[test]
fn the_board_by_mcp_is_the_board_of_the_command_line() {
    let home = TestHome::new();
    let mut agent = Agent::start(&home, &["--toolset", "board"]);
    let show = |number: &str| home.call("board_show", &json!({ "task": number }));
    let added = agent.done("board_add", json!({ "task": task("First") }));
    let first = added["task"]["number"].as_str().unwrap().to_owned();
    assert_eq!(show(&first)["task"]["title"], "First");
    home.call(
        "board_add",
        &json!({ "task": task("Second"), "depends_on": [first] }),
    );
    let listed = agent.done("board_list", json!({ "search": "Second" }));
    let second = listed["tasks"][0]["number"].as_str().unwrap().to_owned();
    let shown = agent.done("board_show", json!({ "task": second }));
    assert_eq!(shown["depends_on"][0]["number"], json!(first));
    let ready = agent.done("board_ready", json!({}));
    assert_eq!(ready["ready"][0]["number"], json!(first));
    assert_eq!(ready["waiting"][0]["task"]["number"], json!(second));
    let graph = agent.done("board_graph", json!({}));
    assert_eq!(graph["nodes"][1]["depends_on"], json!([first]));
    agent.done(
        "board_edit",
        json!({ "task": first, "set": { "title": "Edited" } }),
    );
    assert_eq!(show(&first)["task"]["title"], "Edited");
    agent.done(
        "board_note",
        json!({ "task": first, "text": "seen", "author": "me" }),
    );
    assert_eq!(show(&first)["notes"][0]["text"], "seen");
    let steps = json!([{ "key": "a", "task": task("Step") }]);
    agent.done("board_decompose", json!({ "task": second, "steps": steps }));
    assert_eq!(show(&second)["children"][0]["title"], "Step");
    let before = show(&first)["task"]["status"].clone();
    agent.done("board_cancel", json!({ "task": first, "reason": "no" }));
    assert_ne!(show(&first)["task"]["status"], before);
    agent.done("board_retry", json!({ "task": first }));
    assert_eq!(show(&first)["task"]["status"], before);
    let checklist = json!({ "format": "markdown", "text": "- [ ] Imported\n",
                            "defaults": { "isolation": "none" } });
    agent.done("board_import", checklist);
    let all = home.call("board_list", &json!({ "search": "Imported" }));
    assert_eq!(all["total"], 1);
    let exported = agent.done("board_export", json!({ "format": "markdown" }));
    let file = std::fs::read_to_string(exported["file"].as_str().unwrap()).unwrap();
    assert!(file.contains("Imported"), "{file}");
}

#[test]
fn one_more_engine_by_mcp_is_one_more_task() {
    let shop = Workshop::new();
    let home = &shop.home;
    home.start();
    let mut agent = Agent::start(home, &["--toolset", "board"]);
    let divide = json!({ "title": "Divide", "repository": shop.repository });
    let added = agent.done("board_add", json!({ "task": divide }));
    let first = &added["task"]["number"];
    let params = json!({ "task": first, "engine": "codex", "model": "small" });
    let second = agent.done("board_alternative", params);
    assert_eq!(second["task"]["model"], "small");
    let shown = home.call("board_show", &json!({ "task": first }));
    let both = shown["alternatives"].as_array().unwrap();
    let numbers: Vec<_> = both.iter().map(|one| &one["number"]).collect();
    assert_eq!(numbers, [first, &second["task"]["number"]]);
    assert_eq!(shown["task"]["review"], "after_approval");
}

#[test]
fn code_read_by_mcp_is_the_code_on_the_disk() {
    let Shop { home, root } = Shop::new();
    let mut agent = Agent::start(&home, &["--toolset", "code"]);
    let path = root.to_str().unwrap();
    let by_hand = |args: &[&str]| home.json(&[&["code", "--path", path], args].concat());
    agent.done("code_index", json!({ "path": path, "wait": true }));
    let status = by_hand(&["status"]);
    assert_eq!(status["files"], 2, "{status}");
    let known = agent.done("code_list", json!({}));
    let here = std::fs::canonicalize(path).unwrap();
    assert_eq!(known["repositories"][0]["root"], here.to_str().unwrap());
    let read = agent.done("code_status", json!({ "path": path }));
    assert_eq!(read["symbols"], status["symbols"]);
    let found = agent.done(
        "code_search",
        json!({ "path": path, "query": "check_token" }),
    );
    let hit = &found["hits"][0];
    assert_eq!(hit["path"], "src/auth.rs", "{found}");
    let shown = agent.done(
        "code_show",
        json!({ "path": path, "symbol": "check_token" }),
    );
    let source = shown["found"][0]["source"].as_str().unwrap();
    let file = std::fs::read_to_string(root.join("src/auth.rs")).unwrap();
    assert!(file.contains(source.trim()), "{source}");
    let map = agent.done("code_map", json!({ "path": path }));
    assert_eq!(map["text"], by_hand(&["map"])["text"]);

    agent.done(
        "beacon_set",
        json!({ "path": path, "name": "the door", "symbols": ["check_token"], "note": "who comes in" }),
    );
    let listed = by_hand(&["beacon", "list"]);
    assert_eq!(listed["beacons"][0]["name"], "the door", "{listed}");
    let by_mcp = agent.done("beacon_list", json!({ "path": path }));
    assert_eq!(by_mcp["beacons"], listed["beacons"]);
    agent.done("beacon_remove", json!({ "path": path, "name": "the door" }));
    assert_eq!(by_hand(&["beacon", "list"])["beacons"], json!([]));
}

#[test]
fn worktrees_by_mcp_are_those_of_git() {
    let shop = Workshop::new();
    let (held, free) = (shop.worktree("held"), shop.worktree("free"));
    commit(held.path(), "new", "n\n");
    let home = &shop.home;
    home.start();
    let mut agent = Agent::start(home, &["--toolset", "board"]);
    let listed = agent.done("worktree_list", json!({}));
    let known = git(&shop.repository, &["worktree", "list"]);
    for worktree in listed["worktrees"].as_array().unwrap() {
        assert!(
            known.contains(worktree["path"].as_str().unwrap()),
            "{known}"
        );
    }
    assert_eq!(listed["worktrees"].as_array().unwrap().len(), 2);
    std::fs::write(held.path().join("loose"), "l\n").unwrap();
    let shown = agent.left_to(
        home,
        "worktree_discard",
        &json!({ "worktree": "mission/held" }),
    );
    assert_eq!(
        (&shown["done"], &shown["removed"]),
        (&json!(false), &json!(["loose"]))
    );
    assert!(held.path().join("loose").exists());
    let discard = json!({ "worktree": "mission/held", "confirmed": true });
    agent.left_to(home, "worktree_discard", &discard);
    assert!(!held.path().join("loose").exists());
    agent.left_to(
        home,
        "worktree_finish",
        &json!({ "worktree": "mission/held", "confirmed": true }),
    );
    assert_eq!(
        git(&shop.repository, &["show", "main:new"]),
        "n",
        "the work is on the branch it came from"
    );
    agent.left_to(
        home,
        "worktree_clean",
        &json!({ "worktrees": ["mission/free"], "confirmed": true }),
    );
    assert!(!free.path().exists() && held.path().exists());
}

#[test]
fn the_overview_by_mcp_is_that_of_the_command_line() {
    let home = TestHome::started();
    let mut agent = Agent::start(&home, &["--toolset", "all"]);
    let asked = json!({ "argv": ["sh", "-c", "echo here; exec sleep 600"], "name": "one" });
    agent.done("slot_spawn", asked);
    let by_mcp = agent.done("overview", json!({}));
    let by_hand = home.json(&["status"]);
    assert_eq!(by_mcp["terminals"][0]["slot"], "one");
    assert_eq!(by_hand["terminals"][0]["slot"], "one");
    let until = by_mcp["at"].clone();
    let seen = agent.left_to(&home, "overview_seen", &json!({ "until": until }));
    assert_eq!(home.json(&["status"])["seen_at"], seen["seen_at"]);
    let engines = agent.done("engine_list", json!({}));
    let names: Vec<_> = engines["engines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["engine"].as_str().unwrap())
        .collect();
    let known = [
        "claude", "codex", "gemini", "opencode", "copilot", "qwen", "aider",
    ];
    assert_eq!(names, known);
    assert!(
        engines["engines"][0]["install"]
            .as_str()
            .unwrap()
            .contains("npm install")
    );
}
