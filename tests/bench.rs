//! `mission bench`: that it measures what it says, on a small scale, and leaves
//! nothing behind. What it measures is for people to judge.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{TestHome, binary, text, wait_for};

/// The bench, with its temporary homes where the test can look for them.
fn quick_bench(home: &TestHome) -> Command {
    let mut command = home.command(&["bench", "terminal", "--quick", "--json"]);
    command.env("TMPDIR", home.path());
    command
}

#[test]
fn the_bench_of_terminals_prints_every_metric_and_leaves_nothing_running() {
    let home = TestHome::new();
    let output = quick_bench(&home).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["bench"], "terminal");
    for metric in [
        "ratio_redraw",
        "ratio_log",
        "ratio_unicode",
        "session_log_mb_per_s",
        "emulator_log_mb_per_s",
        "rss_per_slot_mb",
        "rss_per_slot_full_mb",
        "busy_50_cpu_pct",
        "byte_to_reading_p50_ms",
        "byte_to_reading_p99_ms",
        "byte_to_reading_unmarked_p50_ms",
        "byte_to_news_p50_ms",
    ] {
        let value = report["metrics"][metric].as_f64();
        assert!(value.is_some_and(|value| value > 0.0), "{metric}: {report}");
    }
    assert!(report["metrics"]["idle_100_cpu_pct"].is_number());
    assert_eq!(report["metrics"]["changes_missed"], 0.0);
    let left = programs_in(home.path());
    assert!(left.is_empty(), "still running: {left:?}");
}

#[test]
fn the_bench_of_control_compares_protocol_and_terminal_and_leaves_nothing_running() {
    let home = TestHome::new();
    let mut bench = home.command(&["bench", "control", "--quick", "--json"]);
    let output = bench.env("TMPDIR", home.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["bench"], "control");
    let metric = |name: &str| report["metrics"][name].as_f64();
    for name in ["turn_p50_ms", "turn_bare_p50_ms"] {
        assert!(
            metric(name).is_some_and(|value| value > 0.0),
            "{name}: {report}"
        );
    }
    // Of so few turns and agents the figures are chance.
    for name in [
        "turn_added_p50_ms",
        "rss_per_agent_mb",
        "rss_per_agent_terminal_mb",
        "agents_2_cpu_pct",
    ] {
        assert!(metric(name).is_some(), "{name}: {report}");
    }
    assert_eq!(report["conditions"]["idle_agents"], 2);
    let left = programs_in(home.path());
    assert!(left.is_empty(), "still running: {left:?}");
}

#[test]
fn the_bench_of_models_asks_directly_and_through_the_gateway() {
    let home = TestHome::new();
    let report = home.json(&["bench", "llm", "--requests", "10", "--streams", "8"]);
    assert_eq!(report["bench"], "llm");
    for metric in [
        "direct_p50_ms",
        "gateway_p50_ms",
        "gateway_p99_ms",
        "streams_per_s",
        "rss_mb",
    ] {
        let value = report["metrics"][metric].as_f64();
        assert!(value.is_some_and(|value| value > 0.0), "{metric}: {report}");
    }
    for metric in ["added_p50_ms", "added_p99_ms"] {
        assert!(report["metrics"][metric].is_number(), "{metric}: {report}");
    }
}

#[test]
fn the_bench_of_uptime_kills_the_daemon_and_finds_it_again() {
    let home = TestHome::new();
    let report = home.json(&["bench", "uptime", "--kills", "2", "--every-ms", "300"]);
    assert_eq!(report["bench"], "uptime");
    assert_eq!(report["conditions"]["aim_percent"], 99.9);
    let metric = |name: &str| report["metrics"][name].as_f64().unwrap();
    assert!(metric("unanswered") >= 2.0, "{report}");
    assert!(metric("requests") > metric("unanswered"), "{report}");
    for name in ["answered_percent", "available_percent"] {
        assert!(
            metric(name) > 0.0 && metric(name) < 100.0,
            "{name}: {report}"
        );
    }
    assert!(metric("outage_p50_ms") > 0.0, "{report}");
}

#[test]
fn the_bench_of_signs_of_life_says_what_asking_often_costs() {
    let home = TestHome::new();
    let report = home.json(&["bench", "health", "--servers", "3", "--seconds", "4"]);
    assert_eq!(report["bench"], "health");
    assert_eq!(report["conditions"]["health_check_secs"], 1);
    assert_eq!(report["conditions"]["against_health_check_secs"], 3600);
    let metric = |name: &str| report["metrics"][name].as_f64().unwrap();
    // A daemon that is late asks less often, and none asks more often than it should.
    let checks = metric("checks");
    assert!((1.0..=15.0).contains(&checks), "{report}");
    assert_eq!(metric("checks_against"), 0.0, "{report}");
    assert!(metric("cpu_percent") > 0.0, "{report}");
    // On a busy machine the difference of so short a time is chance.
    for name in [
        "added_cpu_percent",
        "added_cpu_us_per_check",
        "checks_per_s",
    ] {
        assert!(metric(name).is_finite(), "{name}: {report}");
    }
}

#[test]
fn the_bench_of_the_guard_says_how_well_and_how_fast() {
    let home = TestHome::new();
    let size = ["--megabytes", "1", "--secrets", "200", "--decisions", "50"];
    let rounds = ["--starts", "3", "--builds", "1"];
    let report = home.json(&[&["bench", "guard"][..], &size, &rounds].concat());
    assert_eq!(report["bench"], "guard");
    let metric = |name: &str| report["metrics"][name].as_f64().unwrap();
    for name in ["recall", "precision"] {
        assert!(metric(name) >= 0.98, "{name}: {report}");
    }
    for name in [
        "scan_mb_per_s",
        "scan_ratio_double",
        "decide_p50_us",
        "sandbox_start_ms",
        "build_ratio",
        "injection_recall",
        "audit_records_per_s",
        "ratio_masked",
    ] {
        assert!(metric(name) > 0.0, "{name}: {report}");
    }
    // None at all is as it should be.
    assert!(metric("injection_false_alarms") >= 0.0, "{report}");
}

#[test]
fn the_bench_of_memory_says_where_it_begins_ends_and_leads() {
    let home = TestHome::new();
    let report = home.json(&["bench", "soak", "--seconds", "2"]);
    assert_eq!(report["bench"], "soak");
    for name in [
        "rss_start_mb",
        "rss_end_mb",
        "rss_most_mb",
        "requests_per_s",
    ] {
        let value = report["metrics"][name].as_f64().unwrap();
        assert!(value > 0.0, "{name}: {report}");
    }
    assert!(report["metrics"]["slope_mb_per_hour"].is_number());
}

#[test]
fn the_bench_of_context_tells_less_and_more_of_it_related_with_the_bar() {
    let home = TestHome::new();
    let report = home.json(&["bench", "context", "--conversations", "120"]);
    assert_eq!(report["bench"], "context");
    assert_eq!(report["conditions"]["tasks"], 30);
    let metric = |name: &str| report["metrics"][name].as_f64().unwrap();
    assert!(metric("tokens") > 0.0, "{report}");
    assert!(metric("tokens") < metric("tokens_without_bar"), "{report}");
    let share = metric("related_share");
    assert!(share > metric("related_share_without_bar"), "{report}");
    for name in ["own_words_told", "own_words_told_without_bar"] {
        assert!(metric(name).abs() < f64::EPSILON, "{report}");
    }
    for name in ["context_tokens", "recall_at_8", "silent_share"] {
        assert!(metric(name) >= 0.0, "{report}");
    }
}

#[test]
fn the_bench_of_the_board_claims_nothing_twice() {
    let home = TestHome::new();
    let args = ["bench", "board", "--quick", "--claims", "128"];
    let report = home.json(&args);
    assert_eq!(report["bench"], "board");
    assert_eq!(report["metrics"]["duplicate_claims"], 0.0);
    let positive = |metric: &str| {
        let value = report["metrics"][metric].as_f64();
        assert!(value.is_some_and(|value| value > 0.0), "{metric}: {report}");
    };
    positive("ready_1k_ms");
    positive("ready_100k_ms");
    let measured = report["conditions"]["postgres"].is_null();
    for claimers in [1, 8, 64] {
        positive(&format!("claims_per_s_sqlite_{claimers}"));
        if measured {
            positive(&format!("claims_per_s_postgres_{claimers}"));
        }
    }
}

#[test]
fn the_bench_of_journals_prints_every_metric_and_leaves_no_journal() {
    let home = TestHome::new();
    let report = home.json(&["bench", "journal", "--quick"]);
    assert_eq!(report["bench"], "journal");
    for metric in [
        "appends_per_s_single",
        "appends_per_s_grouped",
        "raw_single",
        "raw_grouped",
        "replay_records_per_s",
        "open_100mb_ms",
    ] {
        let value = report["metrics"][metric].as_f64();
        assert!(value.is_some_and(|value| value > 0.0), "{metric}: {report}");
    }
    let left = std::fs::read_dir(home.home().data_dir()).unwrap();
    assert_eq!(left.count(), 0, "nothing is left of it");
}

#[test]
fn the_bench_of_code_reads_changes_and_answers() {
    let home = TestHome::new();
    let root = home.path().join("repository");
    std::fs::create_dir_all(root.join(".git")).unwrap();
    let code = "/// Ends the leases nobody renewed.\npub fn expire() {}\npub fn other() {}\n";
    std::fs::write(root.join("lease.rs"), code).unwrap();
    let questions = home.path().join("questions.jsonl");
    let question = |text: &str, place: &str| {
        format!("{{\"question\": \"{text}\", \"expected\": [\"{place}\"]}}\n")
    };
    let asked = question("where do leases end?", "lease.rs:expire")
        + &question("where is the zebra?", "lease.rs:zebra");
    std::fs::write(&questions, asked).unwrap();
    let report = home.json(&[
        "bench",
        "code",
        "--files",
        "50",
        "--path",
        root.to_str().unwrap(),
        "--questions",
        questions.to_str().unwrap(),
    ]);
    assert_eq!(report["metrics"]["where_is_recall_at_5"], 0.5, "{report}");
    assert_eq!(report["metrics"]["generated_files"], 50.0);
    assert_eq!(
        report["conditions"]["not_among_the_first_five"][0],
        "where is the zebra?"
    );
    // Whoever has no model is told so instead of figures.
    let meaning = report["conditions"]["meaning"].as_str().unwrap();
    assert!(meaning.contains("mission model install"), "{meaning}");
    for metric in [
        "generated_pass_one_change_p50_ms",
        "generated_symbols_per_s",
    ] {
        let value = report["metrics"][metric].as_f64();
        assert!(value.is_some_and(|value| value > 0.0), "{metric}: {report}");
    }
}

#[test]
fn the_bench_of_knowledge_prints_every_metric_that_needs_no_model() {
    let home = TestHome::new();
    let file = home.path().join("set.json");
    let file_name = file.to_str().unwrap();
    let set = json!({
        "docs": [
            {"id": 1, "text": "Leases that nobody renewed end after a minute, with E0417."},
            {"id": 2, "text": "The journal is cut by `cut_at_mark` when it is full."},
            {"id": 3, "text": "Ports below 1024 need a permission of the system."},
            {"id": 4, "text": "crates/store/src/lease.rs keeps who holds what."},
        ],
        "queries": [
            {"id": 1, "text": "when do leases end?", "gold": {"1": 1}},
            {"id": 2, "text": "what does cut_at_mark do?", "gold": {"2": 1}},
        ],
    });
    std::fs::write(&file, set.to_string()).unwrap();
    let report = home.json(&["bench", "kb", "--dataset", file_name, "--entries", "200"]);
    assert_eq!(report["bench"], "kb");
    let metric = |name: &str| {
        let value = report["metrics"][name].as_f64();
        value.unwrap_or_else(|| panic!("{name}: {report}"))
    };
    for prefix in [
        "",
        "keyword_",
        "fused_",
        "seed_",
        "without_neighbours_",
        "without_conversation_",
        "without_feedback_",
        "without_exact_",
        "without_decay_",
        "with_drop_off_",
        "explore_",
    ] {
        for name in ["recall_at_5", "recall_at_10", "ndcg_at_10", "mrr"] {
            let value = metric(&format!("{prefix}{name}"));
            assert!((0.0..=1.0).contains(&value), "{prefix}{name}: {report}");
        }
    }
    for name in ["recall_at_5", "recall_at_10", "identifiers_in_top_3"] {
        assert_eq!(report["metrics"][name], 1.0, "{name}: {report}");
    }
    for name in ["build_s", "memory_mb", "p50_ms", "p99_ms"] {
        let value = metric(&format!("entries_200_{name}"));
        assert!(value > 0.0, "{name}: {report}");
    }
    // So small an index may find room in memory that is there already.
    assert!(metric("entries_200_resident_mb").is_finite());
    // Whoever has no model is told so instead of figures.
    let vectors = report["conditions"]["vectors"].as_str().unwrap();
    assert!(vectors.contains("mission model install"), "{vectors}");
    for name in ["vector_recall_at_10", "embed_query_p50_ms"] {
        assert!(report["metrics"][name].is_null(), "{name}: {report}");
    }
    let idle = &report["conditions"]["stages_without_effect"];
    assert_eq!(idle["diversity"], "there are no vectors");
    assert!(idle["exact"].is_null(), "{idle}");

    std::fs::write(&file, "[]").unwrap();
    let (_, sentence) = home.failure(&["bench", "kb", "--dataset", file_name]);
    let expected = format!("{file_name} is no set of questions: ");
    assert!(sentence.contains(&expected), "{sentence}");
}

#[test]
fn an_interrupted_bench_ends_what_it_started() {
    let home = TestHome::new();
    let mut bench = quick_bench(&home)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("a measured program", || {
        !programs_in(home.path()).is_empty()
    });
    let pid = rustix::process::Pid::from_child(&bench);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(bench.wait().unwrap().code(), Some(130));
    let left = programs_in(home.path());
    assert!(left.is_empty(), "still running: {left:?}");
    let folders: Vec<_> = std::fs::read_dir(home.path()).unwrap().collect();
    assert!(folders.is_empty(), "left behind: {folders:?}");
}

#[test]
fn what_a_bench_is_asked_goes_to_the_program_that_measures() {
    let home = TestHome::new();
    let help = home.mission(&["bench", "--help"]);
    assert!(help.status.success(), "{}", text(&help.stderr));
    let help = text(&help.stdout);
    assert!(help.contains("Usage: mission bench "), "{help}");
    for bench in [
        "timeline", "board", "code", "ipc", "journal", "llm", "start", "mcp", "uptime", "health",
        "soak", "kb", "terminal",
    ] {
        assert!(help.contains(&format!("\n  {bench} ")), "{bench}: {help}");
    }
    let help = text(&home.mission(&["semantic", "score", "--help"]).stdout);
    assert!(help.contains("Usage: mission semantic score "), "{help}");
    let (code, sentence) = home.failure(&["bench", "board", "--claims", "1"]);
    assert_eq!(code, 2, "{sentence}");
    assert!(sentence.contains("1 is not in 64.."), "{sentence}");
    let (code, sentence) = home.failure(&["semantic", "score", "/nowhere"]);
    assert_eq!(code, 4, "{sentence}");
}

#[test]
fn without_the_program_that_measures_a_bench_says_how_to_get_it() {
    let home = TestHome::new();
    // In a folder of its own, which must be where a link to the program may be.
    let folder = tempfile::tempdir_in(binary().parent().unwrap()).unwrap();
    let alone = folder.path().join("mission");
    std::fs::hard_link(binary(), &alone).unwrap();
    for args in [&["bench", "ipc"][..], &["semantic", "score", "."][..]] {
        let failed = Command::new(&alone)
            .args(args)
            .env("MISSION_HOME", home.path())
            .env("PATH", folder.path())
            .output()
            .unwrap();
        assert_eq!(failed.status.code(), Some(4));
        let sentence = text(&failed.stderr);
        let how = "`cargo build --release --package missiond-bench` builds it";
        assert!(sentence.contains(how), "{sentence}");
    }
}

/// Processes that run in a folder below this one.
fn programs_in(folder: &Path) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| {
            let inside = std::fs::read_link(entry.path().join("cwd"));
            inside.is_ok_and(|inside| inside.starts_with(folder))
        })
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok())
        .collect()
}
