//! The knowledge base through the real daemon: remembering, finding, setting
//! right and letting go.

use serde_json::{Value, json};

use crate::fault_fs::{FaultyHome, Read};
use crate::harness::{TestHome, text, wait_for};

#[test]
fn what_is_remembered_is_found_and_words_alone_are_admitted() {
    let home = TestHome::started();
    let added = home.json(&[
        "kb",
        "remember",
        "Deploys go through make ship",
        "--key",
        "deploy",
        "--category",
        "ops",
    ]);
    assert_eq!(added["change"], "added");
    home.json(&["kb", "remember", "The weather in Berlin is grey"]);
    let found = home.json(&["kb", "search", "how do we deploy"]);
    assert_eq!(found["hits"][0]["key"], "deploy");
    assert_eq!(found["vectors_used"], false);
    let notice = found["notice"].as_str().unwrap();
    assert!(notice.contains("mission model install"), "{notice}");
    let hit = &found["hits"][0];
    let (start, end) = (
        hit["highlights"][0][0].as_u64().unwrap(),
        hit["highlights"][0][1].as_u64().unwrap(),
    );
    assert_eq!(
        &hit["snippet"].as_str().unwrap()[start as usize..end as usize],
        "Deploys"
    );
    let stats = home.json(&["kb", "stats"]);
    assert_eq!(stats["entries"], 2);
    assert!(home.kinds().contains(&"kb_batch_mutated".to_owned()));
}

#[test]
fn a_key_is_revised_with_its_history_and_survives_a_restart() {
    let home = TestHome::started();
    home.json(&[
        "kb",
        "remember",
        "Deploys go through make ship",
        "--key",
        "deploy",
    ]);
    assert_eq!(
        home.json(&[
            "kb",
            "remember",
            "Deploys go through make ship",
            "--key",
            "deploy"
        ])["change"],
        "unchanged"
    );
    assert_eq!(
        home.json(&["kb", "edit", "deploy", "Deploys go through make release"])["change"],
        "revised"
    );
    home.kill();
    home.start();
    let view = home.json(&["kb", "get", "deploy"]);
    assert_eq!(view["entry"]["summary"], "Deploys go through make release");
    assert_eq!(
        view["history"][0]["summary"],
        "Deploys go through make ship"
    );
    assert!(
        view["entry"]["utility"].as_f64().unwrap() > 0.3,
        "being read counts as use"
    );
    assert_eq!(
        home.json(&["kb", "search", "ship"])["hits"],
        json!([]),
        "what it said before is history"
    );
    assert_eq!(
        home.json(&["kb", "search", "release"])["hits"][0]["key"],
        "deploy"
    );
}

#[test]
fn contradictions_are_told_with_their_reason() {
    let home = TestHome::started();
    let old = home.json(&[
        "kb",
        "remember",
        "The queue holds 64 jobs at once",
        "--tier",
        "agent",
    ]);
    let new = home.json(&[
        "kb",
        "remember",
        "The queue holds 32 jobs at once",
        "--tier",
        "agent",
    ]);
    assert_eq!(new["edges"][0]["kind"], "contradicts");
    assert_eq!(new["edges"][0]["to"], old["entry"]["id"]);
    let conflicts = home.json(&["kb", "conflicts"]);
    let reason = conflicts["conflicts"][0]["edge"]["reason"]
        .as_str()
        .unwrap();
    assert!(reason.contains("32 where the older says 64"), "{reason}");
    let id = old["entry"]["id"].as_str().unwrap();
    let view = home.json(&["kb", "get", id]);
    assert!(view["entry"]["confidence"].as_f64().unwrap() < 0.8);
    assert!(home.kinds().contains(&"kb_conflict_detected".to_owned()));
}

#[test]
fn a_contradiction_ends_when_one_side_says_something_else_or_goes() {
    let home = TestHome::started();
    let remember = |text: &str, key: &str| {
        let said = ["kb", "remember", text, "--key", key, "--tier", "agent"];
        home.json(&said)["entry"]["id"].as_str().unwrap().to_owned()
    };
    let conflicts = || {
        let listed = home.json(&["kb", "conflicts"]);
        listed["conflicts"].as_array().unwrap().len()
    };
    let confidence = |id: &str| {
        let view = home.json(&["kb", "get", id]);
        let entry = &view["entry"];
        assert_eq!(entry["trust"], 0.8, "who said it stays who said it");
        entry["confidence"].as_f64().unwrap()
    };
    let old = remember("The queue holds 64 jobs at once", "old");
    let new = remember("The queue holds 32 jobs at once", "new");
    assert_eq!(conflicts(), 1);
    assert!(confidence(&old) < 0.8 && confidence(&new) < 0.8);
    remember("Bread is baked at six in the morning", "new");
    assert_eq!(conflicts(), 0);
    assert!((confidence(&old) - 0.8).abs() < 1e-9);
    assert!((confidence(&new) - 0.8).abs() < 1e-9);
    let view = home.json(&["kb", "get", &old]);
    assert_eq!(view["edges"][0]["kind"], "contradicts");
    assert!(view["edges"][0]["ended_at"].is_string(), "{view}");
    let third = remember("The queue holds 16 jobs at once", "third");
    assert_eq!(conflicts(), 1);
    home.json(&["kb", "forget", &third]);
    assert_eq!(conflicts(), 0);
    assert!((confidence(&old) - 0.8).abs() < 1e-9);
    let hit = &home.json(&["kb", "search", "queue jobs"])["hits"][0];
    assert_eq!(hit["confidence"], 0.8, "the search knows it too");
}

#[test]
fn what_is_superseded_is_found_with_what_holds_instead() {
    let home = TestHome::started();
    let old = [
        "kb",
        "remember",
        "The queue holds 64 jobs at once",
        "--tier",
        "agent",
    ];
    let old = home.json(&old);
    let new = home.json(&["kb", "remember", "The queue now holds 32 jobs at once"]);
    assert_eq!(new["edges"][0]["kind"], "supersedes", "{new}");
    let superseded_by = || {
        let found = home.json(&["kb", "search", "how many jobs does the queue hold"]);
        let hits = found["hits"].as_array().unwrap();
        let hit = hits.iter().find(|hit| hit["id"] == old["entry"]["id"]);
        hit.expect("it is found all the same")["superseded_by"].clone()
    };
    assert_eq!(superseded_by(), new["entry"]["id"]);
    home.kill();
    home.start();
    assert_eq!(superseded_by(), new["entry"]["id"]);
    let asked = ["context", "preview", "mend the queue of 64 jobs"];
    let preview = home.json(&asked);
    let text = preview["text"].as_str().unwrap();
    assert!(text.contains("now holds 32"), "{text}");
    assert!(!text.contains("holds 64"), "{text}");
    // Of several it is the newest, whether it is seen or read at a start.
    let newest = home.json(&["kb", "remember", "The queue now holds 16 jobs at once"]);
    assert_eq!(superseded_by(), newest["entry"]["id"]);
    home.kill();
    home.start();
    assert_eq!(superseded_by(), newest["entry"]["id"]);
    for one in [&new, &newest] {
        home.json(&["kb", "forget", one["entry"]["id"].as_str().unwrap()]);
    }
    assert_eq!(superseded_by(), Value::Null);
}

#[test]
fn what_an_agent_said_is_a_persons_word_when_a_person_says_it() {
    let home = TestHome::started();
    let text = "The queue holds 64 jobs at once";
    let said = ["kb", "remember", text, "--key", "queue", "--tier", "agent"];
    assert_eq!(home.json(&said)["entry"]["trust"], 0.8);
    assert_eq!(home.json(&said)["change"], "unchanged");
    let again = home.json(&["kb", "edit", "queue", text]);
    assert_eq!(again["change"], "revised");
    assert_eq!(again["entry"]["trust"], 1.0);
    let less = home.json(&said);
    assert_eq!(
        (&less["change"], &less["entry"]["trust"]),
        (&json!("unchanged"), &json!(1.0))
    );
}

#[test]
fn the_order_of_hits_is_explained() {
    let home = TestHome::started();
    for text in ["The queue holds 64 jobs", "The queue is in src/queue.rs"] {
        home.json(&["kb", "remember", text, "--detail", "it was measured"]);
    }
    let output = home.mission(&["kb", "search", "queue src/queue.rs", "--explain"]);
    let shown = text(&output.stdout);
    for part in [
        "keyword ",
        "vector - (place -)",
        "fused ",
        "freshness 1.000",
        "exact 1.00",
        "relevance ",
        "Candidates: 2 by words, 0 by meaning, 0 more to the letter; 0 dropped",
        "src/queue.rs · it was measured",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn secrets_are_not_stored() {
    let home = TestHome::started();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let added = home.json(&[
        "kb",
        "remember",
        &format!("push with {secret}"),
        "--detail",
        "password = hunter22",
    ]);
    assert_eq!(added["masked"], 2);
    let hidden = |nth: usize| format!("ghp_{nth}123456789abcdefghijABCDEFGHIJ01234{nth}");
    let everywhere = json!({
        "summary": "where secrets hide",
        "key": hidden(1),
        "labels": [hidden(2)],
        "scope": hidden(3),
        "source": hidden(4),
        "author": hidden(5),
        "conversation": hidden(6),
        "turn": 1,
    });
    let other = home.json(&["call", "kb_remember", &everywhere.to_string()]);
    assert_eq!(other["masked"], 6);
    let reason = hidden(7);
    let [from, to] = [&added, &other].map(|one| one["entry"]["id"].as_str().unwrap());
    home.json(&["kb", "link", from, "prerequisite", to, "--reason", &reason]);
    home.mission(&["down"]);
    home.wait_until_gone();
    let stored = std::fs::read(home.home().database()).unwrap();
    let mut secrets: Vec<String> = (1..=7).map(hidden).collect();
    secrets.extend([secret.to_owned(), "hunter22".to_owned()]);
    for secret in &secrets {
        assert!(
            !stored
                .windows(secret.len())
                .any(|bytes| bytes == secret.as_bytes()),
            "{secret}"
        );
    }
}

#[test]
fn proposals_wait_for_a_decision() {
    let home = TestHome::started();
    let first = home.json(&[
        "kb",
        "remember",
        "Tests need a database",
        "--propose",
        "--source",
        "session 7",
    ]);
    let second = home.json(&["kb", "remember", "The moon is made of cheese", "--propose"]);
    assert_eq!(home.json(&["kb", "search", "database"])["hits"], json!([]));
    assert_eq!(
        home.json(&["kb", "inbox"])["proposals"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    let id = first["id"].as_str().unwrap();
    let accepted = home.json(&["kb", "accept", id]);
    assert_eq!(accepted["remembered"]["entry"]["source"], "session 7");
    home.json(&["kb", "accept", "--reject", second["id"].as_str().unwrap()]);
    assert_eq!(home.json(&["kb", "inbox"])["proposals"], json!([]));
    assert_eq!(
        home.json(&["kb", "search", "database"])["hits"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let (_, said) = home.failure(&["kb", "accept", id]);
    assert!(said.contains("accepted already"), "{said}");
}

#[test]
fn a_rule_accepts_what_its_source_proposes_unless_it_contradicts() {
    let home = TestHome::with_config("[knowledge]\naccept_from = [\"session *\"]\n");
    home.start();
    let propose = |text: &str, source: &str| {
        let proposed = ["kb", "remember", text, "--propose", "--source", source];
        home.json(&proposed)["entry"].is_string()
    };
    assert!(propose("The queue holds 64 jobs at once", "session 7"));
    assert!(!propose("The moon is made of cheese", "a web page"));
    assert!(!propose("The queue holds 32 jobs at once", "session 8"));
    let waiting = home.json(&["kb", "inbox"]);
    let waiting: Vec<&str> = waiting["proposals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|proposal| proposal["draft"]["summary"].as_str().unwrap())
        .collect();
    assert_eq!(
        waiting,
        [
            "The moon is made of cheese",
            "The queue holds 32 jobs at once"
        ]
    );
    let found = home.json(&["kb", "search", "jobs in the queue"]);
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    assert_eq!(found["hits"][0]["source"], "session 7");
}

#[test]
fn what_aged_is_shown_archived_and_brought_back() {
    let home = TestHome::started();
    let keep = |text: &str, key: &str, category: &str| {
        home.json(&["kb", "remember", text, "--key", key, "--category", category]);
    };
    keep("The flaky test waits for port 8080", "flaky", "debug");
    keep("Never push to main", "main", "policy");
    let keys = |args: &[&str]| -> Vec<String> {
        let report = home.json(&[&["kb", "gc"], args].concat());
        let entries = report["entries"].as_array().unwrap();
        let key = |entry: &Value| entry["key"].as_str().unwrap().to_owned();
        entries.iter().map(key).collect()
    };
    let none: [&str; 0] = [];
    assert_eq!(keys(&[]), none, "nothing has aged");
    assert_eq!(keys(&["--in-days", "60"]), ["flaky"]);
    let hits = || home.json(&["kb", "search", "flaky test"])["hits"].clone();
    assert_eq!(
        hits().as_array().unwrap().len(),
        1,
        "a look changes nothing"
    );
    assert_eq!(keys(&["--in-days", "60", "--archive"]), ["flaky"]);
    assert_eq!(hits(), json!([]));
    home.kill();
    home.start();
    assert_eq!(hits(), json!([]));
    assert_eq!(keys(&["--undo"]), ["flaky"]);
    assert_eq!(hits().as_array().unwrap().len(), 1);
    assert_eq!(keys(&["--undo"]), none, "there is nothing more to undo");
}

#[test]
fn a_kill_while_the_index_is_built_loses_nothing() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    home.start();
    let long = "a line that makes the entry long\n".repeat(300);
    let lines: String = (0..100)
        .map(|n| json!({"summary": format!("fact{n} about subject{n}"), "detail": long}))
        .map(|line| format!("{line}\n"))
        .collect();
    let notes = home.path().join("notes.jsonl");
    std::fs::write(&notes, lines).unwrap();
    home.json(&["kb", "import", notes.to_str().unwrap()]);
    for _ in 0..3 {
        home.kill();
        disk.drop_cached(&home.home().database());
        disk.set_read(Read::Slow);
        home.start();
        let building = home.json(&["kb", "stats"])["building"] == true;
        assert!(building, "the daemon answers before its index is built");
        home.kill();
        disk.set_read(Read::Succeeds);
        home.start();
    }
    for subject in ["subject0", "subject49", "subject99"] {
        let found = home.json(&["kb", "search", subject]);
        let hits = found["hits"].as_array().unwrap();
        let summary = hits[0]["summary"].as_str().unwrap();
        assert!(summary.ends_with(subject), "{found}");
    }
    let stats = home.json(&["kb", "stats"]);
    assert_eq!(
        (&stats["entries"], &stats["building"]),
        (&json!(100), &json!(false))
    );
}

#[test]
fn a_search_reads_nothing_but_memory() {
    let Some(faulty) = FaultyHome::new() else {
        return;
    };
    let (home, disk) = (&faulty.home, &faulty.disk);
    home.start();
    let long = "a line that makes the entry long\n".repeat(300);
    for n in 0..20 {
        let text = format!("the part number {n} is in src/part{n}.rs");
        let key = format!("part{n}");
        home.json(&["kb", "remember", &text, "--key", &key, "--detail", &long]);
    }
    home.kill();
    home.start();
    home.json(&["kb", "search", "part"]);
    disk.set_read(Read::Fails);
    disk.drop_cached(&home.home().database());
    let found = home.json(&["kb", "search", "src/part7.rs", "-n", "20"]);
    assert_eq!(found["hits"][0]["key"], "part7");
    assert_eq!(found["hits"].as_array().unwrap().len(), 20);
    assert!(
        found["hits"][0]["detail"]
            .as_str()
            .unwrap()
            .starts_with("a line")
    );
    let (_, message) = home.failure(&["call", "kb_export", "{}"]);
    assert!(message.contains("disk"), "{message}");
    disk.set_read(Read::Succeeds);
}

#[test]
fn forgetting_linking_and_collecting_can_be_taken_back() {
    let home = TestHome::started();
    let a = home.json(&["kb", "remember", "Build with cargo", "--key", "build"]);
    let b = home.json(&[
        "kb",
        "remember",
        "Install a compiler first",
        "--key",
        "compiler",
    ]);
    let (from, to) = (
        a["entry"]["id"].as_str().unwrap(),
        b["entry"]["id"].as_str().unwrap(),
    );
    home.json(&[
        "kb",
        "link",
        from,
        "prerequisite",
        to,
        "--reason",
        "it compiles",
    ]);
    let view = home.json(&["kb", "get", "build"]);
    assert_eq!(view["edges"][0]["reason"], "it compiles");
    let other = json!({"id": to, "summary": "Install a compiler first", "archived": false});
    assert_eq!(view["others"], json!([other]));
    home.json(&["kb", "forget", "compiler"]);
    assert_eq!(
        home.json(&["kb", "get", "build"])["others"][0]["archived"],
        true
    );
    assert_eq!(home.json(&["kb", "search", "compiler"])["hits"], json!([]));
    home.json(&[
        "kb",
        "remember",
        "Install a compiler first",
        "--key",
        "compiler",
    ]);
    assert_eq!(
        home.json(&["kb", "search", "compiler"])["hits"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        home.json(&["kb", "gc"])["entries"],
        json!([]),
        "nothing has aged"
    );
    let (_, said) = home.failure(&["kb", "forget", "nothing"]);
    assert!(said.contains("no entry `nothing`"), "{said}");
}

#[test]
fn an_export_imported_elsewhere_is_the_same_and_twice_adds_nothing() {
    let home = TestHome::started();
    home.json(&[
        "kb",
        "remember",
        "Never push to main",
        "--category",
        "policy",
        "--detail",
        "ask\nfirst",
        "--label",
        "git",
    ]);
    home.json(&["kb", "remember", "部署需要先连接VPN", "--scope", "app"]);
    let exported = home.mission(&["kb", "export"]);
    let file = home.path().join("backup.jsonl");
    std::fs::write(&file, &exported.stdout).unwrap();
    let other = TestHome::started();
    let file = file.to_str().unwrap();
    assert_eq!(other.json(&["kb", "import", file])["added"], 2);
    assert_eq!(other.json(&["kb", "import", file])["unchanged"], 2);
    assert_eq!(other.mission(&["kb", "export"]).stdout, exported.stdout);
    assert_eq!(
        other.json(&["kb", "search", "部署要VPN吗"])["hits"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_folder_of_notes_is_imported_and_an_interrupted_import_is_finished() {
    let home = TestHome::started();
    let notes = home.path().join("memory");
    std::fs::create_dir(&notes).unwrap();
    let points: String = (0..300)
        .map(|n| format!("- rule number {n} about topic{n}\n"))
        .collect();
    std::fs::write(notes.join("CLAUDE.md"), format!("# Rules\n{points}")).unwrap();
    let folder = notes.to_str().unwrap();
    let mut importing = home.command(&["kb", "import", folder]).spawn().unwrap();
    let entries = || home.json(&["kb", "stats"])["entries"].as_i64().unwrap();
    wait_for("the import has begun", || entries() > 10);
    home.kill();
    let _ = importing.wait();
    home.start();
    let kept = entries();
    assert!(kept > 10);
    let finished = home.json(&["kb", "import", folder]);
    assert_eq!(finished["unchanged"].as_i64().unwrap(), kept);
    assert_eq!(entries(), 300);
}

#[test]
fn bad_input_is_refused_in_a_sentence() {
    let home = TestHome::started();
    let mut connection = home.greeted();
    let long = "x".repeat(300 * 1024);
    for (params, expected) in [
        (json!({"summary": ""}), "needs a summary"),
        (json!({"summary": "a", "detail": long}), "at most 262144"),
        (json!({"summary": "x".repeat(5000)}), "at most 4096"),
        (json!({"summary": "a\u{0}b"}), "NUL"),
        (json!({"summary": "a", "category": "nonsense"}), "nonsense"),
    ] {
        let answer = connection.ask(1, "kb_remember", &params);
        let message = answer["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        assert!(message.contains(expected), "{message}");
    }
    for (params, expected) in [
        (json!({"query": "  "}), "empty"),
        (json!({"query": "a", "limit": 51}), "1 to 50"),
        (json!({"query": "a", "profile": "x"}), "unknown variant `x`"),
    ] {
        let answer = connection.ask(2, "kb_search", &params);
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains(expected),
            "{answer}"
        );
    }
    home.json(&["kb", "remember", "the needle"]);
    let queries = [
        "needle ".repeat(14_286),
        "\"needle AND (NEAR* ^: {".to_owned(),
        "needle' OR 1=1 --".to_owned(),
    ];
    for query in queries {
        let answer = connection.ask(3, "kb_search", &json!({"query": query}));
        assert_eq!(
            answer["result"]["hits"].as_array().unwrap().len(),
            1,
            "{}",
            &query[..20]
        );
    }
    // Half of a surrogate pair is no text; the connection goes on.
    connection.send_bytes(
        b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"kb_remember\",\"params\":{\"summary\":\"\\ud800\"}}\n",
    );
    let answer = connection.receive();
    assert!(answer["error"]["message"].is_string(), "{answer}");
    let answer = connection.ask(5, "kb_search", &json!({"query": "needle"}));
    assert_eq!(answer["result"]["hits"].as_array().unwrap().len(), 1);
    let large = home.path().join("large.md");
    std::fs::write(
        &large,
        format!("# Log\n{}", "line of a log\n".repeat(750_000)),
    )
    .unwrap();
    let (_, said) = home.failure(&["kb", "import", large.to_str().unwrap()]);
    assert!(said.contains("at most 262144 are kept"), "{said}");
    let (_, said) = home.failure(&["kb", "remember", &"x".repeat(100_000)]);
    assert!(said.contains("at most 4096 are kept"), "{said}");
    assert_eq!(home.json(&["kb", "stats"])["entries"], 1);
    let binary = home.path().join("binary.md");
    std::fs::write(&binary, [0xff, 0xfe, 0x00]).unwrap();
    let (_, said) = home.failure(&["kb", "import", binary.to_str().unwrap()]);
    assert!(said.contains("not text in UTF-8"), "{said}");
}

#[test]
fn entries_are_listed_with_the_newest_knowledge_first() {
    let home = TestHome::started();
    for (key, category) in [("one", "ops"), ("two", "policy"), ("three", "ops")] {
        let said = format!("the {key} thing to know");
        home.json(&[
            "kb",
            "remember",
            &said,
            "--key",
            key,
            "--category",
            category,
        ]);
    }
    let keys = |params: Value| {
        let page = home.call("kb_list", &params);
        let entries = page["entries"].as_array().unwrap();
        let keys: Vec<_> = entries.iter().map(|entry| entry["key"].clone()).collect();
        (Value::from(keys), page["more"].clone())
    };
    assert_eq!(
        keys(json!({})),
        (json!(["three", "two", "one"]), json!(false))
    );
    assert_eq!(
        keys(json!({"category": "ops"})),
        (json!(["three", "one"]), json!(false))
    );
    assert_eq!(
        keys(json!({"limit": 1, "offset": 1})),
        (json!(["two"]), json!(true))
    );
    home.json(&["kb", "remember", "the one thing, said anew", "--key", "one"]);
    home.json(&["kb", "forget", "two"]);
    assert_eq!(keys(json!({})), (json!(["one", "three"]), json!(false)));
    assert_eq!(
        keys(json!({"archived": true})),
        (json!(["two"]), json!(false))
    );
    let (_, said) = home.failure(&["call", "kb_list", "{\"limit\": 101}"]);
    assert!(said.contains("1 to 100"), "{said}");
}
