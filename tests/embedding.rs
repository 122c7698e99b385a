//! An embedding provider that comes, goes and lies, and what is found by meaning
//! meanwhile.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::json;

use crate::harness::{TestHome, wait_for};
use crate::ollama::{KEY, Ollama};
use crate::shared_database::SharedDatabase;

fn serving(home: &TestHome) -> String {
    home.json(&["kb", "stats"])["embedding"]["serving"]
        .as_str()
        .unwrap_or("")
        .to_owned()
}

#[test]
fn meaning_is_compared_once_a_provider_is_there() {
    let ollama = Ollama::serve(64, usize::MAX, Duration::ZERO);
    let home = TestHome::with_config(&ollama.config());
    home.start();
    home.json(&["kb", "remember", "the car is red", "--key", "vehicle"]);
    home.json(&["kb", "remember", "bread needs flour", "--key", "bread"]);
    wait_for("the entries are embedded", || {
        serving(&home).starts_with("ollama:m@")
    });
    let found = home.json(&["kb", "search", "auto", "--explain"]);
    assert_eq!(found["vectors_used"], true, "{found}");
    assert_eq!(found["hits"][0]["key"], "vehicle", "{found}");
    assert!(found["hits"][0]["scores"]["vector"].as_f64().unwrap() > 0.1);
}

#[test]
fn entries_that_are_alike_lie_near_each_other_on_the_map() {
    let home = TestHome::started();
    let empty = home.call("kb_map", &json!({}));
    assert_eq!(
        empty["notice"], "nothing has been remembered yet",
        "{empty}"
    );
    drop(home);

    let ollama = Ollama::serve(64, usize::MAX, Duration::ZERO);
    let home = TestHome::with_config(&ollama.config());
    home.start();
    for n in 0..6 {
        let topic = [
            "bread dough flour oven yeast",
            "engine wheel brake clutch car",
        ][n % 2];
        let said = format!("{topic} note{n}");
        home.json(&["kb", "remember", &said, "--key", &format!("k{n}")]);
    }
    let mapped = || {
        let map = home.call("kb_map", &json!({"limit": 3000}));
        let points = map["points"].as_array().unwrap().iter().map(|point| {
            let title = point["title"].as_str().unwrap().to_owned();
            let place = [&point["x"], &point["y"]].map(|at| at.as_f64().unwrap());
            (title, place)
        });
        points.collect::<Vec<_>>()
    };
    wait_for("every entry is on the map", || mapped().len() == 6);
    let points = mapped();
    let apart = |a: &[f64; 2], b: &[f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
    let (mut within, mut between) = (0.0_f64, f64::INFINITY);
    for (one, here) in &points {
        for (other, there) in &points {
            if one[..5] == other[..5] {
                within = within.max(apart(here, there));
            } else {
                between = between.min(apart(here, there));
            }
        }
    }
    assert!(within < between, "{points:?}");
    assert_eq!(
        home.call("kb_map", &json!({"limit": 2}))["points"]
            .as_array()
            .unwrap()
            .len(),
        2
    );

    // What changed is on the next one.
    home.json(&["kb", "forget", "k0"]);
    assert_eq!(mapped().len(), 5);
}

#[test]
fn a_kill_while_embedding_loses_nothing_and_repeats_little() {
    let ollama = Ollama::serve(64, usize::MAX, Duration::from_millis(40));
    let home = TestHome::started();
    let notes = home.path().join("notes.md");
    let points: String = (0..160)
        .map(|n| format!("- fact{n} about subject{n}\n"))
        .collect();
    std::fs::write(&notes, format!("# Facts\n{points}")).unwrap();
    home.json(&["kb", "import", notes.to_str().unwrap()]);
    home.mission(&["down"]);
    home.wait_until_gone();
    home.write_config(&ollama.config());
    home.start();
    // Ten batches of sixteen; killed somewhere in the middle, twice.
    for seen in [4, 7] {
        wait_for("some were embedded", || ollama.asked() > seen);
        home.kill();
        home.start();
    }
    wait_for("all were embedded", || {
        serving(&home).starts_with("ollama:")
    });
    assert_eq!(home.json(&["kb", "stats"])["embedding"]["embedded"], 160);
    // At most the batch that was under way is made again by each kill, beside
    // the text each start learns the dimension by.
    let made = ollama.embedded();
    assert!(made <= 160 + 2 * 16 + 3, "{made}");
    let found = home.json(&["kb", "search", "subject77"]);
    assert_eq!(found["vectors_used"], true);
    assert_eq!(found["hits"][0]["summary"], "fact77 about subject77");
}

#[test]
fn a_kill_while_another_model_embeds_leaves_the_old_one_in_use() {
    let first = Ollama::serve(64, usize::MAX, Duration::ZERO);
    let home = TestHome::with_config(&first.config());
    home.start();
    let notes = home.path().join("notes.md");
    let points: String = (0..160)
        .map(|n| format!("- fact{n} about subject{n}\n"))
        .collect();
    std::fs::write(&notes, format!("# Facts\n{points}")).unwrap();
    home.json(&["kb", "import", notes.to_str().unwrap()]);
    wait_for("the first model serves", || {
        let stats = home.json(&["kb", "stats"]);
        serving(&home).ends_with("/64") && stats["embedding"]["embedded"] == 160
    });
    home.mission(&["down"]);
    home.wait_until_gone();
    let second = Ollama::serve(96, usize::MAX, Duration::from_millis(300));
    home.write_config(&second.config());
    home.start();
    for seen in [20, 52] {
        wait_for("the second model has begun", || second.embedded() > seen);
        let found = home.json(&["kb", "search", "subject77"]);
        assert!(serving(&home).ends_with("/64"), "the old index is searched");
        assert_eq!(found["vectors_used"], true, "{found}");
        assert_eq!(found["hits"][0]["summary"], "fact77 about subject77");
        home.kill();
        home.start();
    }
    wait_for("the second model serves", || {
        serving(&home).ends_with("/96")
    });
    assert_eq!(home.json(&["kb", "stats"])["embedding"]["embedded"], 160);
    assert_eq!(home.json(&["kb", "stats"])["entries"], 160);
    // A batch under way when the daemon died is made again, and nothing else.
    let made = second.embedded();
    assert!(made <= 160 + 2 * 16 + 3, "{made}");
    let found = home.json(&["kb", "search", "subject77"]);
    assert_eq!(found["vectors_used"], true);
    assert_eq!(found["hits"][0]["summary"], "fact77 about subject77");
}

#[test]
fn another_model_replaces_the_old_one_and_they_never_mix() {
    let first = Ollama::serve(64, usize::MAX, Duration::ZERO);
    let home = TestHome::with_config(&first.config());
    home.start();
    home.json(&["kb", "remember", "the car is red", "--key", "vehicle"]);
    wait_for("the first model serves", || serving(&home).ends_with("/64"));
    home.mission(&["down"]);
    home.wait_until_gone();
    let second = Ollama::serve(96, usize::MAX, Duration::ZERO);
    home.write_config(&second.config());
    home.start();
    wait_for("the second model serves", || {
        serving(&home).ends_with("/96")
    });
    let found = home.json(&["kb", "search", "auto"]);
    assert_eq!(
        (&found["vectors_used"], &found["hits"][0]["key"]),
        (&json!(true), &json!("vehicle"))
    );
}

#[test]
fn an_endpoint_that_is_no_ollama_is_asked_with_its_key() {
    let endpoint = Ollama::serve(64, usize::MAX, Duration::ZERO);
    let home = TestHome::new();
    let key = home.path().join("key");
    std::fs::write(&key, format!("{KEY}\n")).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    home.write_config(&endpoint.openai_config(&key));
    home.start();
    let notes = home.path().join("notes.md");
    let points = "- the car is red\n- bread is baked at six\n- the cellar is damp\n";
    std::fs::write(&notes, format!("# Facts\n{points}")).unwrap();
    home.json(&["kb", "import", notes.to_str().unwrap()]);
    wait_for("its vectors are in use", || {
        serving(&home) == "openai:m@/64"
            && home.json(&["kb", "stats"])["embedding"]["embedded"] == 3
    });
    let found = home.json(&["kb", "search", "auto"]);
    assert_eq!(found["vectors_used"], true, "{found}");
    assert_eq!(found["hits"][0]["summary"], "the car is red");
    home.mission(&["down"]);
    home.wait_until_gone();
    std::fs::write(&key, "sk-wrong\n").unwrap();
    home.start();
    let found = home.json(&["kb", "search", "car"]);
    assert_eq!(found["hits"][0]["summary"], "the car is red");
    let notice = found["notice"].as_str().unwrap();
    assert!(notice.contains("this key is not known"), "{notice}");
    assert!(!notice.contains("sk-wrong"), "{notice}");
}

#[test]
fn a_provider_that_is_down_or_lies_is_said_and_words_still_work() {
    let liar = Ollama::serve(64, 2, Duration::ZERO);
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let down = Ollama::config_of(&format!("http://{closed}"));
    for config in [liar.config(), down] {
        let home = TestHome::with_config(&config);
        home.start();
        home.json(&["kb", "remember", "the car is red"]);
        let found = home.json(&["kb", "search", "car"]);
        assert_eq!(found["hits"].as_array().unwrap().len(), 1);
        assert_eq!(found["vectors_used"], false);
        assert!(
            found["notice"]
                .as_str()
                .unwrap()
                .starts_with("words alone were compared"),
            "{found}"
        );
    }
}

#[test]
fn a_provider_that_has_come_is_found_when_asked_for() {
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let config = Ollama::config_of(&format!("http://{address}"));
    let home = TestHome::with_config(&config);
    home.start();
    home.json(&["kb", "remember", "the car is red", "--key", "vehicle"]);
    wait_for("the provider is found missing", || {
        home.json(&["kb", "stats"])["embedding"]["notice"].is_string()
    });
    let listener = TcpListener::bind(address).unwrap();
    let come = Ollama::serve_on(listener, 64, usize::MAX, Duration::ZERO);
    home.json(&["kb", "reembed"]);
    wait_for("its vectors are in use", || serving(&home).ends_with("/64"));
    assert!(come.embedded() > 0);
    let found = home.json(&["kb", "search", "auto"]);
    assert_eq!(found["hits"][0]["key"], "vehicle");
}

#[test]
fn a_slow_provider_is_waited_for_no_longer_than_said() {
    let slow = Ollama::serve(64, usize::MAX, Duration::from_secs(3));
    let config = slow.config() + "timeout_secs = 1\n";
    let home = TestHome::with_config(&config);
    home.start();
    home.json(&["kb", "remember", "the car is red"]);
    wait_for("the provider is found too slow", || {
        let stats = home.json(&["kb", "stats"]);
        stats["embedding"]["notice"]
            .as_str()
            .is_some_and(|notice| notice.contains("did not answer within 1 s"))
    });
    let found = home.json(&["kb", "search", "car"]);
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    let notice = found["notice"].as_str().unwrap();
    assert!(notice.contains("did not answer within 1 s"), "{notice}");
}

#[test]
fn both_databases_give_the_same_answers() {
    let Some(database) = SharedDatabase::new() else {
        return;
    };
    let ollama = Ollama::serve(64, usize::MAX, Duration::ZERO);
    let sqlite = TestHome::with_config(&ollama.config());
    sqlite.start();
    let postgres = TestHome::with_config(&(ollama.config() + &database.config()));
    postgres.start();
    let notes = sqlite.path().join("notes.jsonl");
    let mut lines = String::new();
    for n in 0..48 {
        // What ages would give other scores a moment later.
        let category = ["note", "policy", "preference", "architecture"][n % 4];
        let line = json!({
            "summary": format!("the worker number{n} retries after E{} in src/part{n}.rs", 4000 + n % 7),
            "detail": format!("auto car bread 部署 number{}", n % 11),
            "category": category,
            "labels": [format!("label{}", n % 5)],
            "conversation": format!("talk{}", n / 10),
            "turn": n,
        });
        lines.push_str(&format!("{line}\n"));
    }
    std::fs::write(&notes, lines).unwrap();
    for home in [&sqlite, &postgres] {
        home.json(&["kb", "import", notes.to_str().unwrap()]);
        wait_for("the entries are embedded", || {
            home.json(&["kb", "stats"])["embedding"]["embedded"] == 48
                && serving(home).starts_with("ollama:")
        });
        // An index from the store alone.
        home.kill();
        home.start();
    }
    for query in [
        "which worker retries",
        "E4003",
        "src/part17.rs",
        "\"bread 部署\"",
        "vehicle auto label3",
        "部署",
    ] {
        for profile in ["default", "seed"] {
            let [first, second] = [&sqlite, &postgres].map(|home| {
                let asked = ["kb", "search", query, "-n", "50", "--profile", profile];
                let found = home.json(&asked);
                assert_eq!(found["vectors_used"], true, "{found}");
                let hits = found["hits"].as_array().unwrap().iter().map(|hit| {
                    let scores = hit["scores"].to_string();
                    (scores, hit["key"].to_string(), hit["snippet"].to_string())
                });
                let mut hits: Vec<_> = hits.collect();
                // Those of equal scores are ordered by their ids, which differ.
                for alike in hits.chunk_by_mut(|a, b| a.0 == b.0) {
                    alike.sort();
                }
                hits
            });
            assert!(!first.is_empty(), "{query} {profile}");
            assert_eq!(first, second, "{query} {profile}");
        }
    }
}
