//! What was said and what agents are told; looking at work, and at the daemon over
//! time.

use serde_json::{Value, json};

use crate::commander::Agent;
use crate::executions::Stage;
use crate::harness::{TestHome, wait_for};
use crate::ollama::Ollama;
use crate::worktrees::{Workshop, commit};

const TALK: &str = "  - uses: always\n    steps:\n      - say: The pelican lives in birds.rs.\n";

#[test]
fn what_was_said_and_told_is_the_same_by_mcp() {
    let stage = Stage::new();
    let home = &stage.home;
    let skill = stage.file(".agents/skills/birds/SKILL.md");
    std::fs::create_dir_all(skill.parent().unwrap()).unwrap();
    std::fs::write(
        &skill,
        "---\nname: birds\ndescription: Finds any pelican.\n---\nLook in birds.rs.\n",
    )
    .unwrap();
    let ended = stage.start(
        TALK,
        &["--wait", "--signals", "none"],
        "where is the pelican",
    );
    wait_for("the conversation to be there", || {
        let listed = home.json(&["conversation", "list"]);
        listed["conversations"][0]["messages"] == 2
    });
    let mut agent = Agent::start(home, &["--toolset", "conversations,knowledge,context"]);
    let listed = agent.done("conversation_list", json!({}));
    let one = &listed["conversations"][0];
    assert_eq!(one["execution"], ended["execution"], "{listed}");
    let shown = agent.done("conversation_show", json!({ "conversation": one["id"] }));
    let by_hand = home.json(&["conversation", "show", one["id"].as_str().unwrap()]);
    assert_eq!(shown["items"], by_hand["items"]);
    let found = agent.done("conversation_search", json!({ "query": "pelican" }));
    let by_hand = home.json(&["conversation", "search", "pelican"]);
    assert_eq!(found["hits"], by_hand["hits"]);
    let project = &one["project"];
    let turns = agent.done("conversation_turns", json!({ "project": project }));
    assert_eq!(turns["turns"][0]["conversation"], one["id"], "{turns}");

    let folder = stage.file("").canonicalize().unwrap();
    let folder = folder.to_str().unwrap();
    let skills = agent.done("skill_list", json!({ "cwd": folder }));
    let by_hand = home.json(&["skill", "list", "--cwd", folder]);
    assert_eq!(skills, by_hand);
    let told = agent.done("context_show", json!({ "execution": ended["execution"] }));
    let prompt = stage.prompts(&ended).remove(0);
    let text = told["text"].as_str().unwrap().trim_end();
    assert!(prompt.contains(text), "{told}");
    let would = json!({ "prompt": "where is the pelican", "cwd": folder });
    let preview = agent.done("context_preview", would);
    let by_hand = home.json(&[
        "context",
        "preview",
        "where is the pelican",
        "--cwd",
        folder,
    ]);
    assert_eq!(preview["budget"], by_hand["budget"]);
    assert!(
        preview["text"].as_str().unwrap().contains("pelican"),
        "{preview}"
    );
}

#[test]
fn entries_are_listed_and_laid_out_by_mcp_as_they_were_written() {
    let ollama = Ollama::serve(64, usize::MAX, std::time::Duration::ZERO);
    let home = TestHome::with_config(&ollama.config());
    home.start();
    for said in ["bread dough flour oven", "engine wheel brake clutch"] {
        home.json(&["kb", "remember", said]);
    }
    let mut agent = Agent::start(&home, &["--toolset", "knowledge"]);
    let listed = agent.done("kb_list", json!({}));
    assert_eq!(listed["entries"][0]["summary"], "engine wheel brake clutch");
    let mut map = Value::Null;
    wait_for("both are on the map", || {
        map = agent.done("kb_map", json!({}));
        map["points"].as_array().unwrap().len() == 2
    });
}

#[test]
fn a_review_by_mcp_is_read_by_its_agent() {
    let shop = Workshop::new();
    let worktree = shop.worktree("a");
    commit(worktree.path(), "new", "n\n");
    shop.home.start();
    let mut agent = Agent::start(&shop.home, &["--toolset", "review"]);
    let diff = agent.done("worktree_diff", json!({ "worktree": "mission/a" }));
    let path = diff["files"][0]["path"].as_str().unwrap();
    let there = std::fs::read_to_string(worktree.path().join(path)).unwrap();
    assert_eq!(
        diff["files"][0]["hunks"][0]["lines"][0]["text"],
        there.trim_end()
    );

    let stage = Stage::new();
    let started = stage.start(TALK, &["--wait", "--signals", "none"], "do it");
    let mut agent = Agent::start(&stage.home, &["--toolset", "review"]);
    let comment = json!({ "file": "new", "line": 1, "text": "Name it." });
    let review = json!({ "to": started["execution"], "comments": [comment] });
    agent.left_to(&stage.home, "review_send", &review);
    wait_for("the agent to have it", || {
        let prompts = stage.prompts(&started);
        prompts
            .last()
            .is_some_and(|prompt| prompt.contains("Name it."))
    });
}

#[test]
fn the_daemon_over_time_is_seen_by_mcp() {
    let home = TestHome::with_config("[daemon]\nsample_secs = 1\n");
    home.start();
    let mut agent = Agent::start(&home, &["--toolset", "system"]);
    let page = agent.done("daemon_logs", json!({ "level": "info" }));
    let log = std::fs::read_to_string(page["file"].as_str().unwrap()).unwrap();
    let said = page["lines"][0]["message"].as_str().unwrap();
    assert!(log.contains(said), "{page}");
    let mut history = Value::Null;
    wait_for("samples", || {
        history = agent.done("stats_history", json!({}));
        history["at"]
            .as_array()
            .is_some_and(|times| times.len() > 1)
    });
    let by_hand = home.call("stats_history", &json!({}));
    assert_eq!(by_hand["host"], history["host"]);
    let usage = agent.done("usage_report", json!({}));
    let by_hand = home.call("usage_report", &json!({}));
    assert_eq!(usage["days"], by_hand["days"], "{usage}");
}
