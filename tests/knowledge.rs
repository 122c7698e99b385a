//! The knowledge base through the real daemon: remembering, finding, setting
//! right, letting go, and an embedding provider that comes, goes and lies.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{TestHome, wait_for};
use crate::shared_database::SharedDatabase;

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
    home.mission(&["down"]);
    home.wait_until_gone();
    let stored = std::fs::read(home.home().database()).unwrap();
    for secret in [secret, "hunter22"] {
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
    let home = TestHome::started();
    let notes = home.path().join("notes.md");
    let points: String = (0..400)
        .map(|n| format!("- fact{n} about subject{n}\n"))
        .collect();
    std::fs::write(&notes, format!("# Facts\n{points}")).unwrap();
    home.json(&["kb", "import", notes.to_str().unwrap()]);
    for _ in 0..3 {
        home.kill();
        // The daemon answers before its index is built.
        home.start();
    }
    for subject in ["subject0", "subject199", "subject399"] {
        let found = home.json(&["kb", "search", subject]);
        let hits = found["hits"].as_array().unwrap();
        let summary = hits[0]["summary"].as_str().unwrap();
        assert!(summary.ends_with(subject), "{found}");
    }
    assert_eq!(home.json(&["kb", "stats"])["entries"], 400);
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
        (json!({"query": "a", "profile": "x"}), "no profile"),
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

/// An Ollama of the test's own: vectors that depend on the words of a text.
pub(crate) struct Ollama {
    url: String,
    asked: Arc<AtomicUsize>,
    /// Texts that vectors were made of.
    embedded: Arc<AtomicUsize>,
}

impl Ollama {
    /// Answers with vectors of this many dimensions; after `lies_after`
    /// requests with one more than it said.
    pub(crate) fn serve(dimension: usize, lies_after: usize, pause: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self::serve_on(listener, dimension, lies_after, pause)
    }

    pub(crate) fn serve_on(
        listener: TcpListener,
        dimension: usize,
        lies_after: usize,
        pause: Duration,
    ) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let embedded = Arc::new(AtomicUsize::new(0));
        let (count, texts) = (Arc::clone(&asked), Arc::clone(&embedded));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let nth = count.fetch_add(1, Ordering::SeqCst);
                let dimension = dimension + usize::from(nth >= lies_after);
                let texts = Arc::clone(&texts);
                std::thread::spawn(move || answer(stream, dimension, pause, &texts));
            }
        });
        Self {
            url,
            asked,
            embedded,
        }
    }

    pub(crate) fn embedded(&self) -> usize {
        self.embedded.load(Ordering::SeqCst)
    }

    pub(crate) fn config(&self) -> String {
        Self::config_of(&self.url)
    }

    /// What a home is told that is to find one there.
    pub(crate) fn config_of(url: &str) -> String {
        format!("[knowledge]\nembedding = \"ollama\"\nmodel = \"m\"\nurl = \"{url}\"\n")
    }
}

fn answer(mut stream: TcpStream, dimension: usize, pause: Duration, embedded: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line).unwrap();
    let wants_tags = line.contains("/api/tags");
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let value = if wants_tags {
        json!({"models": [{"name": "m:latest", "digest": format!("sha256:{dimension:012}")}]})
    } else {
        std::thread::sleep(pause);
        let texts = body["input"].as_array().unwrap();
        embedded.fetch_add(texts.len(), Ordering::SeqCst);
        json!({"embeddings": texts.iter().map(|text| vector(text.as_str().unwrap(), dimension)).collect::<Vec<_>>()})
    };
    let text = value.to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", text.len());
    let _ = stream.write_all(format!("{head}{text}").as_bytes());
}

/// "auto" and "car" mean the same here, and nothing else does.
fn vector(text: &str, dimension: usize) -> Vec<f64> {
    let mut vector = vec![0.1; dimension];
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let word = if word == "auto" { "car" } else { word };
        let place = word
            .bytes()
            .fold(0_usize, |sum, byte| sum * 31 + usize::from(byte))
            % dimension;
        vector[place] += 1.0;
    }
    vector
}

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

fn call(home: &TestHome, operation: &str, params: &Value) -> Value {
    home.json(&["call", operation, &params.to_string()])
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
        let page = call(&home, "kb_list", &params);
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

#[test]
fn entries_that_are_alike_lie_near_each_other_on_the_map() {
    let home = TestHome::started();
    let empty = call(&home, "kb_map", &json!({}));
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
        let map = call(&home, "kb_map", &json!({"limit": 3000}));
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
        call(&home, "kb_map", &json!({"limit": 2}))["points"]
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
        wait_for("some were embedded", || {
            ollama.asked.load(Ordering::SeqCst) > seen
        });
        home.kill();
        home.start();
    }
    wait_for("all were embedded", || {
        serving(&home).starts_with("ollama:")
    });
    assert_eq!(home.json(&["kb", "stats"])["embedding"]["embedded"], 160);
    // At most the batch that was under way is made again by each kill, beside
    // the text each start learns the dimension by.
    let made = ollama.embedded.load(Ordering::SeqCst);
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
    let points: String = (0..96)
        .map(|n| format!("- fact{n} about subject{n}\n"))
        .collect();
    std::fs::write(&notes, format!("# Facts\n{points}")).unwrap();
    home.json(&["kb", "import", notes.to_str().unwrap()]);
    wait_for("the first model serves", || {
        let stats = home.json(&["kb", "stats"]);
        serving(&home).ends_with("/64") && stats["embedding"]["embedded"] == 96
    });
    home.mission(&["down"]);
    home.wait_until_gone();
    let second = Ollama::serve(96, usize::MAX, Duration::from_millis(150));
    home.write_config(&second.config());
    home.start();
    for seen in [20, 52] {
        wait_for("the second model has begun", || second.embedded() > seen);
        assert!(serving(&home).ends_with("/64"), "the old index is searched");
        home.kill();
        home.start();
    }
    wait_for("the second model serves", || {
        serving(&home).ends_with("/96")
    });
    assert_eq!(home.json(&["kb", "stats"])["embedding"]["embedded"], 96);
    assert_eq!(home.json(&["kb", "stats"])["entries"], 96);
    // A batch under way when the daemon died is made again, and nothing else.
    let made = second.embedded();
    assert!(made <= 96 + 2 * 16 + 3, "{made}");
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
fn a_provider_that_is_down_or_lies_is_said_and_words_still_work() {
    let liar = Ollama::serve(64, 2, Duration::ZERO);
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let down = Ollama {
        url: format!("http://{closed}"),
        asked: Arc::default(),
        embedded: Arc::default(),
    };
    for provider in [liar, down] {
        let home = TestHome::with_config(&provider.config());
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
    assert!(come.embedded.load(Ordering::SeqCst) > 0);
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
            let answers = [&sqlite, &postgres].map(|home| {
                let asked = ["kb", "search", query, "-n", "50", "--profile", profile];
                let found = home.json(&asked);
                assert_eq!(found["vectors_used"], true, "{found}");
                // Equal scores are ordered by age, which may be the same instant.
                let hits = found["hits"].as_array().unwrap().iter().map(|hit| {
                    let told = [&hit["snippet"], &hit["scores"]].map(Value::to_string);
                    (hit["key"].as_str().unwrap().to_owned(), told)
                });
                hits.collect::<BTreeMap<_, _>>()
            });
            assert!(!answers[0].is_empty(), "{query} {profile}");
            assert_eq!(answers[0], answers[1], "{query} {profile}");
        }
    }
}
