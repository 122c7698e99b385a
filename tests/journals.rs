//! `mission journal …` on real journals: what it tells of them, and what it
//! finds when somebody has been at them.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use missiond_core::{ExecutionId, ExecutionLifecycle};
use missiond_journal::catalogue::{CompletedClaim, NeedsInput, Process, Progress};
use missiond_journal::suite::{at, create};
use missiond_journal::{
    Confidence, FileStore, Journal, NewObservation, ObservationKey, Observed, Source, Text, replay,
};
use serde_json::{Value, json};

use crate::harness::{TestHome, text};

/// A home with the journal of one execution that has asked a question.
struct JournalFixture {
    home: TestHome,
    store: FileStore,
    execution: ExecutionId,
}

impl JournalFixture {
    fn new() -> Self {
        let home = TestHome::new();
        let store = FileStore::open(&home.home().journals_dir()).unwrap();
        let journal = create(Arc::new(store.clone()));
        let execution = journal.execution();
        record_history(&journal);
        drop(journal);
        Self {
            home,
            store,
            execution,
        }
    }

    fn id(&self) -> String {
        self.execution.to_string()
    }

    fn file(&self) -> PathBuf {
        self.store.path(self.execution)
    }

    fn lines(&self) -> Vec<String> {
        let lines = fs::read_to_string(self.file()).unwrap();
        lines.lines().map(|line| format!("{line}\n")).collect()
    }

    /// Verifies the journal as if these were its lines: whether it is intact,
    /// the names of the findings, and what a person reads.
    fn verify(&self, lines: &[String]) -> (bool, Vec<String>, String) {
        let kept = fs::read(self.file()).unwrap();
        fs::write(self.file(), lines.concat()).unwrap();
        let human = self.home.mission(&["journal", "verify", &self.id()]);
        let json = self
            .home
            .mission(&["--json", "journal", "verify", &self.id()]);
        fs::write(self.file(), kept).unwrap();
        assert_eq!(human.status.code(), json.status.code());
        let report: Value = serde_json::from_slice(&json.stdout).unwrap();
        let intact = report["intact"].as_bool().unwrap();
        assert_eq!(human.status.success(), intact, "{report}");
        let findings = report["findings"].as_array().unwrap();
        let name = |finding: &Value| finding["finding"].as_str().unwrap().to_owned();
        (
            intact,
            findings.iter().map(name).collect(),
            text(&human.stdout),
        )
    }
}

fn record_history(journal: &Journal) {
    let observe = |number: i64, source: Source, observed: Observed| {
        let observation = NewObservation {
            execution: journal.execution(),
            key: ObservationKey::new(format!("test:{number}")).unwrap(),
            source,
            confidence: source.ceiling(),
            observed_at: at(number),
            observed,
        };
        journal.observe(at(number), observation).unwrap();
    };
    let started = Process::Started { pid: 4711 };
    observe(1, Source::Process, Observed::Fact(started.into()));
    let progress = Progress {
        summary: "the tests run".try_into().unwrap(),
        detail: None,
        percent: None,
        artifacts: Default::default(),
    };
    observe(2, Source::McpTool, Observed::Signal(progress.into()));
    let question = NeedsInput {
        question: "Which port?".try_into().unwrap(),
        choices: Default::default(),
    };
    observe(3, Source::McpTool, Observed::Signal(question.into()));
    let claim = CompletedClaim {
        summary: "all is done | <b>".try_into().unwrap(),
        artifacts: Default::default(),
    };
    observe(4, Source::McpTool, Observed::Signal(claim.into()));
}

#[test]
fn an_intact_journal_is_said_to_be_so_without_a_daemon() {
    let fixture = JournalFixture::new();
    let (intact, findings, said) = fixture.verify(&fixture.lines());
    assert!(intact, "{findings:?}");
    assert!(
        said.starts_with(&format!("intact {}", fixture.id())),
        "{said}"
    );
    let file = fixture.file();
    let by_path = fixture
        .home
        .json(&["journal", "verify", file.to_str().unwrap()]);
    assert_eq!(by_path["records"], fixture.lines().len());
    assert!(
        !missiond_daemon::Instance::is_held(&fixture.home.home()).unwrap(),
        "no daemon was started"
    );
}

#[test]
fn every_kind_of_tampering_is_found_and_explained() {
    let fixture = JournalFixture::new();
    let whole = fixture.lines();
    let record = whole.len() / 2;
    let found = |lines: &[String], finding: &str, said: &str| {
        let (intact, findings, human) = fixture.verify(lines);
        assert!(!intact, "{finding}");
        assert!(findings.contains(&finding.to_owned()), "{findings:?}");
        assert!(human.contains("NOT INTACT"), "{human}");
        assert!(human.contains(said), "{finding}: {human}");
    };

    let mut flipped = whole.clone();
    flipped[record] = flipped[record].replacen("test:", "tesu:", 1);
    if flipped[record] == whole[record] {
        flipped[record] = flipped[record].replacen("20", "21", 1);
    }
    assert_ne!(flipped, whole);
    let place = format!("line {} (after record {record})", record + 1);
    found(&flipped, "bad_line", &place);

    let mut removed = whole.clone();
    removed.remove(record);
    let gone = record + 1;
    found(
        &removed,
        "missing",
        &format!("records {gone} to {gone} are missing"),
    );

    let mut exchanged = whole.clone();
    exchanged.swap(record, record + 1);
    found(&exchanged, "missing", "another order");

    found(&whole[2..], "no_beginning", "the beginning is missing");

    let kept = whole.len() - 1;
    let end = format!(
        "record {} was acknowledged, but the journal ends at {kept}",
        kept + 1
    );
    found(&whole[..kept], "end_missing", &end);

    let (intact, ..) = fixture.verify(&whole);
    assert!(intact, "it was put back");
}

#[test]
fn all_journals_are_checked_and_one_bad_one_is_enough() {
    let fixture = JournalFixture::new();
    let home = &fixture.home;
    record_history(&create(Arc::new(fixture.store.clone())));
    let all = home.mission(&["journal", "verify", "--all"]);
    assert!(all.status.success());
    assert!(text(&all.stdout).ends_with("all 2 journals are intact"));

    let lines = fixture.lines();
    fs::write(fixture.file(), lines[..lines.len() - 3].concat()).unwrap();
    let all = home.mission(&["journal", "verify", "--all"]);
    assert_eq!(all.status.code(), Some(1));
    assert!(text(&all.stdout).ends_with("1 of 2 journals are not intact"));

    let empty = TestHome::new();
    let none = empty.mission(&["journal", "verify", "--all"]);
    assert!(none.status.success());
    assert_eq!(text(&none.stderr), "there are no journals yet");
}

#[test]
fn what_does_not_exist_is_said_to_be_missing() {
    let home = TestHome::new();
    let id = ExecutionId::generate().to_string();
    let (code, said) = home.failure(&["journal", "show", &id]);
    assert_eq!(code, 4);
    assert!(
        said.contains(&format!("there is no journal of {id}")),
        "{said}"
    );
    let (code, said) = home.failure(&["journal", "show", "notes.txt"]);
    assert_eq!(code, 2);
    assert!(said.contains("`notes.txt` names no journal"), "{said}");
    let (code, said) = home.failure(&["journal", "show", &id, "--kind", "gossip"]);
    assert_eq!(code, 2);
    assert!(said.contains("decision.recorded"), "{said}");
}

#[test]
fn records_are_shown_in_words_and_in_pieces() {
    let fixture = JournalFixture::new();
    let shown = fixture.home.mission(&["journal", "show", &fixture.id()]);
    let shown = text(&shown.stdout);
    assert_eq!(shown.lines().count(), fixture.lines().len());
    assert!(
        shown.contains("needs_input: Which port? (by mcp tool, high)"),
        "{shown}"
    );
    assert!(shown.contains("process 4711 started"), "{shown}");

    let id = fixture.id();
    let args = [
        "--json", "journal", "show", &id, "--after", "2", "--limit", "3",
    ];
    let some = text(&fixture.home.mission(&args).stdout);
    let places: Vec<u64> = some
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["sequence"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(places, [3, 4, 5]);

    let args = [
        "journal",
        "show",
        &id,
        "--kind",
        "journal.header,owner-effect.recorded",
    ];
    let only = text(&fixture.home.mission(&args).stdout);
    // Behind its number, day and time.
    let kinds: Vec<_> = only
        .lines()
        .map(|line| line.split_whitespace().nth(3).unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "journal.header",
            "owner-effect.recorded",
            "owner-effect.recorded"
        ]
    );
}

#[test]
fn what_comes_before_damage_is_shown() {
    let fixture = JournalFixture::new();
    let mut lines = fixture.lines();
    lines[5] = lines[5].replacen("20", "21", 1);
    fs::write(fixture.file(), lines.concat()).unwrap();
    let shown = fixture.home.mission(&["journal", "show", &fixture.id()]);
    assert_eq!(shown.status.code(), Some(8));
    assert_eq!(text(&shown.stdout).lines().count(), 5);
    assert!(text(&shown.stderr).contains("after record 5 is damaged"));
}

#[test]
fn a_replay_is_the_state_then_and_now() {
    let fixture = JournalFixture::new();
    let id = fixture.id();
    let now = fixture.home.json(&["journal", "replay", &id]);
    let state = replay(&fixture.store, fixture.execution).unwrap().state;
    assert_eq!(state.lifecycle, ExecutionLifecycle::Running);
    assert_eq!(now["lifecycle"], "running");
    assert_eq!(now["attention"], "awaiting_operator");
    assert_eq!(now["head"], state.head.0);
    assert_eq!(now["observations_processed"], 4);
    let then = fixture.home.json(&["journal", "replay", &id, "--at", "1"]);
    assert_eq!(
        (&then["lifecycle"], &then["head"]),
        (&json!("starting"), &json!(1))
    );

    let human = text(&fixture.home.mission(&["journal", "replay", &id]).stdout);
    assert!(human.contains("Which port?"), "{human}");
    let (code, _) = fixture
        .home
        .failure(&["journal", "replay", &id, "--at", "0"]);
    assert_eq!(code, 2);
}

#[test]
fn exports_are_complete_in_every_form() {
    let fixture = JournalFixture::new();
    let id = fixture.id();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(fixture.file().file_name().unwrap());
    let args = [
        "journal",
        "export",
        &id,
        "--format",
        "lines",
        "-o",
        copy.to_str().unwrap(),
    ];
    assert!(fixture.home.mission(&args).status.success());
    assert_eq!(fs::read(&copy).unwrap(), fs::read(fixture.file()).unwrap());

    let records = fixture.home.mission(&["journal", "export", &id]);
    let records = text(&records.stdout);
    assert_eq!(records.lines().count(), fixture.lines().len());
    let first: Value = serde_json::from_str(records.lines().next().unwrap()).unwrap();
    assert_eq!(first["type"], "journal.header");

    let page = fixture
        .home
        .mission(&["journal", "export", &id, "--format", "markdown"]);
    let page = text(&page.stdout);
    assert!(page.starts_with(&format!("# Journal of `{id}`")), "{page}");
    assert!(page.contains("all is done \\| \\<b\\>"), "{page}");
}

#[test]
fn two_journals_and_two_moments_are_compared() {
    let fixture = JournalFixture::new();
    let id = fixture.id();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(fixture.file().file_name().unwrap());
    let lines = fixture.lines();
    fs::write(&copy, lines[..lines.len() - 3].concat()).unwrap();
    let copy = copy.to_str().unwrap();

    let same = fixture
        .home
        .mission(&["journal", "diff", &id, fixture.file().to_str().unwrap()]);
    assert!(same.status.success());
    assert_eq!(text(&same.stdout), "every record is the same");
    let differs = fixture
        .home
        .mission(&["--json", "journal", "diff", &id, copy]);
    assert_eq!(differs.status.code(), Some(1));
    let differs = text(&differs.stdout);
    assert_eq!(differs.lines().count(), 3, "{differs}");
    assert!(
        differs
            .lines()
            .all(|line| line.starts_with(r#"{"only_left""#))
    );

    let moments = fixture
        .home
        .mission(&["--json", "journal", "diff", &id, "--from", "1"]);
    assert_eq!(moments.status.code(), Some(1));
    let moments: Value = serde_json::from_slice(&moments.stdout).unwrap();
    let changed = moments["changes"].as_array().unwrap();
    let lifecycle = json!({"path": "lifecycle", "before": "starting", "after": "running"});
    assert!(changed.contains(&lifecycle), "{moments}");
    let last = moments["to"].as_u64().unwrap().to_string();
    let none = fixture
        .home
        .mission(&["journal", "diff", &id, "--from", &last]);
    assert!(none.status.success());
    assert!(text(&none.stdout).ends_with("nothing changed"));
}

/// Whoever looks must not disturb the one who writes, nor be told of damage
/// that is only a write under way.
#[test]
fn a_journal_is_intact_while_it_is_written() {
    let home = TestHome::new();
    let store = FileStore::open(&home.home().journals_dir()).unwrap();
    let journal = create(Arc::new(store));
    let id = journal.execution().to_string();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (journal, done) = (&journal, &done);
        scope.spawn(move || {
            for number in 0.. {
                if done.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                let progress = Progress {
                    summary: Text::new(format!("step {number}")).unwrap(),
                    detail: None,
                    percent: None,
                    artifacts: Default::default(),
                };
                let observation = NewObservation {
                    execution: journal.execution(),
                    key: ObservationKey::new(format!("test:{number}")).unwrap(),
                    source: Source::McpTool,
                    confidence: Confidence::High,
                    observed_at: at(number),
                    observed: Observed::Signal(progress.into()),
                };
                journal.observe(at(number), observation).unwrap();
            }
        });
        for _ in 0..10 {
            let looked = home.mission(&["journal", "verify", &id]);
            if !looked.status.success() {
                done.store(true, std::sync::atomic::Ordering::Relaxed);
                panic!("{}", text(&looked.stdout));
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
