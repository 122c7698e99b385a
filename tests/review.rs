//! Looking at an agent's work and saying something about it, and looking at the
//! daemon over time.

use std::time::Duration;

use missiond_core::{BoardTaskId, CliEngine, Clock, ExecutionId, SystemClock};
use missiond_store::token_usage::{self, Account, Budgets, Tokens};
use missiond_store::{DbUrl, MissionDb};
use serde_json::{Value, json};

use crate::executions::{Stage, journal, of_kind};
use crate::harness::{TestHome, wait_for};

fn refused(home: &TestHome, operation: &str, params: &Value) -> (i32, String) {
    home.failure(&["call", operation, &params.to_string()])
}

const TURNS: &str = "  - uses: always\n    steps:\n      - say: Understood.\n";

#[test]
fn a_review_reaches_the_agent_as_one_message_and_once() {
    let stage = Stage::new();
    let started = stage.start(TURNS, &["--wait", "--signals", "none"], "do it");
    let id = started["execution"].as_str().unwrap().to_owned();
    let review = json!({
        "to": id,
        "remark": "Nearly there.",
        "commit": "4f2a9c1",
        "key": "review-1",
        "comments": [
            { "file": "src/lib.rs", "line": 12, "quote": "let x = 1;", "text": "Name it." },
            { "file": "src/old.rs", "side": "old", "line": 3, "text": "Why is this gone?\nKeep it." },
        ],
    });
    let sent = stage.home.call("review_send", &review);
    assert_eq!(sent["outcome"], "accepted");
    let again = stage.home.call("review_send", &review);
    assert_eq!(again["outcome"], "duplicate");
    assert_eq!(again["message"], sent["message"]);

    let details = stage.wait(&started, "the review to be given", |details| {
        let messages = details["messages"].as_array().unwrap();
        messages.len() == 2 && messages.iter().all(|one| one["status"] == "delivered")
    });
    // The agent's own transcript has it whole, as one prompt.
    wait_for("the agent to have it", || {
        stage.prompts(&details).len() == 2
    });
    let prompt = stage.prompts(&details).pop().unwrap();
    for part in [
        "Nearly there.",
        "at commit 4f2a9c1",
        "1. src/lib.rs, line 12:",
        "> let x = 1;",
        "Name it.",
        "2. src/old.rs, line 3 as it was before your change:",
        "Keep it.",
    ] {
        assert!(prompt.contains(part), "{part:?} is not in {prompt:?}");
    }
    // The journal has what it was made of, and pages of it show that.
    let records = journal(&details);
    let messages = of_kind(&records, "message.accepted");
    assert_eq!(messages.len(), 2);
    let content = &messages[1]["content"];
    assert_eq!(content["type"], "review");
    assert_eq!(content["payload"]["comments"][1]["side"], "old");
    let page = stage.home.call(
        "execution_journal",
        &json!({ "execution": id, "kinds": ["message.accepted"], "data": true }),
    );
    assert_eq!(page["records"][1]["data"]["content"], *content);

    let (code, said) = refused(&stage.home, "review_send", &json!({ "to": id }));
    assert_eq!(code, 2);
    assert!(said.contains("the review says nothing"), "{said}");
    stage
        .home
        .call("execution_cancel", &json!({ "execution": id }));
    let late = json!({ "to": id, "remark": "One more." });
    let (code, said) = refused(&stage.home, "review_send", &late);
    assert_eq!(code, 5);
    assert!(said.contains("write it as a note on the task"), "{said}");
}

#[test]
fn a_journal_is_read_in_windows_from_both_ends() {
    let stage = Stage::new();
    let started = stage.start(TURNS, &["--wait", "--signals", "none"], "do it");
    let id = started["execution"].as_str().unwrap().to_owned();
    stage
        .home
        .call("execution_cancel", &json!({ "execution": id }));
    let read = |more: Value| {
        let mut params = json!({ "execution": id, "limit": 5 });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        stage.home.call("execution_journal", &params)
    };
    let numbers = |page: &Value| -> Vec<u64> {
        let records = page["records"].as_array().unwrap().iter();
        records
            .map(|record| record["sequence"].as_u64().unwrap())
            .collect()
    };
    let mut forth = Vec::new();
    let mut after = 0;
    loop {
        let page = read(json!({ "after": after }));
        forth.extend(numbers(&page));
        after = page["next"].as_u64().unwrap();
        if page["more"] == false {
            assert_eq!(page["head"], json!(after));
            break;
        }
    }
    let details = stage.show(&started);
    let written: Vec<u64> = journal(&details)
        .iter()
        .map(|record| record["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(forth, written);
    let last = read(json!({}));
    assert_eq!(numbers(&last), forth[forth.len() - 5..]);
    let before = read(json!({ "before": last["next"] }));
    assert_eq!(numbers(&before), forth[forth.len() - 10..forth.len() - 5]);

    let decisions = read(json!({ "after": 0, "kinds": ["decision.recorded"] }));
    let records = decisions["records"].as_array().unwrap();
    assert!(!records.is_empty());
    assert!(
        records
            .iter()
            .all(|record| record["kind"] == "decision.recorded")
    );
    assert!(records[0].get("data").is_none() && !records[0]["text"].as_str().unwrap().is_empty());
    let params = json!({ "execution": id, "kinds": ["nonsense"] });
    let (code, said) = refused(&stage.home, "execution_journal", &params);
    assert_eq!(code, 2);
    assert!(said.contains("unknown variant `nonsense`"), "{said}");
}

#[test]
fn the_log_is_read_by_level_and_words_and_onwards() {
    let home = TestHome::started();
    // Written by a thread of its own, soon after the daemon says that it is ready.
    wait_for("the log to say ready", || {
        let page = home.call("daemon_logs", &json!({ "text": "READY" }));
        page["lines"]
            .as_array()
            .unwrap()
            .iter()
            .any(|line| line["message"] == "daemon ready")
    });
    let page = home.call("daemon_logs", &json!({ "limit": 1 }));
    assert_eq!(page["lines"].as_array().unwrap().len(), 1);
    let place = page["newer"].clone();
    home.write_config("[nonsense]\nx = 1\n");
    let (_, _) = refused(
        &home,
        "daemon_control",
        &json!({ "action": "reload_config" }),
    );
    home.write_config("[log]\nlevel = \"debug\"\n");
    home.json(&["daemon", "reload"]);
    wait_for("a new line", || {
        let more = home.call("daemon_logs", &json!({ "after": place }));
        !more["lines"].as_array().unwrap().is_empty()
    });
    let errors = home.call("daemon_logs", &json!({ "level": "error" }));
    let lines = errors["lines"].as_array().unwrap();
    assert!(
        lines.iter().all(|line| line["level"] == "error"),
        "{errors}"
    );
    let (code, said) = refused(&home, "daemon_logs", &json!({ "before": "x" }));
    assert_eq!(code, 2);
    assert!(said.contains("is no position in the log"), "{said}");
}

#[test]
fn numbers_are_kept_over_time_and_over_a_restart() {
    let home = TestHome::with_config("[daemon]\nsample_secs = 1\n");
    home.start();
    home.call(
        "board_add",
        &json!({ "task": { "title": "counted", "isolation": "none" } }),
    );
    let history = || home.call("stats_history", &json!({}));
    let values = |report: &Value, name: &str| -> Vec<Option<f64>> {
        let mut series = report["series"].as_array().unwrap().iter();
        let Some(found) = series.find(|series| series["name"] == name) else {
            return Vec::new();
        };
        let values = found["values"].as_array().unwrap().iter();
        values.map(Value::as_f64).collect()
    };
    wait_for("the task and a call to be in the numbers", || {
        let report = history();
        let tasks = values(&report, "tasks.open");
        let calls = values(&report, "calls");
        tasks.last() == Some(&Some(1.0)) && calls.iter().flatten().any(|rate| *rate > 0.0)
    });
    let report = history();
    assert!(
        values(&report, "memory_mb")
            .iter()
            .flatten()
            .all(|mb| *mb > 1.0)
    );
    assert!(
        values(&report, "database_mb")
            .iter()
            .flatten()
            .all(|mb| *mb > 0.0)
    );
    let first = report["at"][0].clone();
    home.json(&["down"]);
    home.start();
    assert_eq!(history()["at"][0], first);
    let params = json!({ "names": ["slots"], "points": 2 });
    let few = home.call("stats_history", &params);
    assert_eq!(few["series"].as_array().unwrap().len(), 1);
    assert!(few["at"].as_array().unwrap().len() <= 2);
}

#[test]
fn what_agents_used_is_summed_with_its_budgets() {
    let home = TestHome::with_config(
        "[autopilot]\ntokens_per_day = 1000\n[[slots]]\nname = \"a\"\nengine = \"claude\"\n\
         tokens_per_day = 500\n",
    );
    home.start();
    let added = home.call(
        "board_add",
        &json!({ "task": { "title": "costly", "isolation": "none" } }),
    );
    let task: BoardTaskId = added["task"]["id"].as_str().unwrap().parse().unwrap();
    home.json(&["down"]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let url = DbUrl::sqlite(home.home().database());
        let db = MissionDb::open(&url).await.unwrap();
        let now = SystemClock.now();
        let yesterday = now.minus(Duration::from_secs(24 * 3600));
        for (slot, input, at) in [("a", 300, now), ("b", 50, now), ("a", 7, yesterday)] {
            let account = Account {
                execution: ExecutionId::generate(),
                task,
                slot_name: slot.to_owned(),
                engine: CliEngine::Claude,
            };
            let tokens = Tokens {
                input,
                cache_read: 9,
                ..Tokens::default()
            };
            db.write(move |tx| {
                Box::pin(async move {
                    token_usage::record(tx, &account, tokens, &Budgets::default(), at).await
                })
            })
            .await
            .unwrap();
        }
        db.close().await.unwrap();
    });
    home.start();
    let report = home.call("usage_report", &json!({ "days": 2 }));
    assert_eq!(report["total"]["counted"], 357);
    assert_eq!(report["total"]["cache_read"], 27);
    assert_eq!(report["days"].as_array().unwrap().len(), 2);
    assert_eq!(report["tasks"][0]["title"], "costly");
    assert_eq!(report["slots"][0]["slot"], "a");
    assert_eq!(report["slots"][0]["tokens"]["counted"], 307);
    assert_eq!(
        report["budgets"],
        json!([
            { "of": { "kind": "day" }, "used": 350, "limit": 1000 },
            { "of": { "kind": "slot", "name": "a" }, "used": 300, "limit": 500 },
        ])
    );
    let today = home.call("usage_report", &json!({ "days": 1 }));
    assert_eq!(today["total"]["counted"], 350);
}
