//! What the log promises, on real files.

use std::ops::ControlFlow;

use missiond_core::{AuditRecord, SystemClock};

use super::*;
use crate::read;
use crate::verify::{Finding, Remembered, Verification, Verifier};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn audit(&self) -> PathBuf {
        self.0.path().join("audit")
    }

    fn identity(&self) -> PathBuf {
        self.0.path().join("identity")
    }

    fn open(&self) -> (AuditLog, Opened) {
        AuditLog::open(&self.audit(), &self.identity(), Arc::new(SystemClock)).unwrap()
    }

    fn verify(&self, remembered: Vec<Remembered>) -> Verification {
        let mut verifier = Verifier::new(remembered);
        let there = read::lines(&self.audit(), |line| {
            verifier.line(line);
            ControlFlow::Continue(())
        });
        assert!(there.unwrap());
        let mut found = verifier.finish();
        found.check_identity(Identity::public_of(&self.identity()).unwrap().unwrap());
        found
    }

    fn found(&self) -> Vec<&'static str> {
        let found = self.verify(Vec::new()).findings;
        found.iter().map(Finding::name).collect()
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(read::file(&self.audit())).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn put(&self, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(read::file(&self.audit()), text).unwrap();
    }

    fn records(&self) -> Vec<AuditRecord> {
        let filter = read::Filter::default();
        let (mut records, more) = read::newest(&self.audit(), &filter, 1000).unwrap();
        assert!(!more);
        records.reverse();
        records
    }
}

fn entry(number: usize) -> Entry {
    Entry::new(
        AuditKind::Call,
        &Principal::Person,
        &format!("call_{number}"),
    )
    .exact(number.to_string().as_bytes())
}

/// A log of ten records, each with a head of its own.
async fn ten(home: &Home) {
    let (log, _) = home.open();
    for number in 2..=10 {
        assert_eq!(log.record(entry(number)).await, Ok(Position(number as u64)));
    }
    log.close().await;
    assert!(matches!(
        log.record(entry(0)).await,
        Err(AuditError::Closed(_))
    ));
}

#[tokio::test]
async fn what_is_acknowledged_is_there_and_goes_on_after_opening() {
    let home = Home::new();
    ten(&home).await;
    let (log, opened) = home.open();
    assert_eq!(opened.head.unwrap().records, 10);
    assert_eq!((opened.torn, opened.problems), (None, Vec::new()));
    let together = (11..=200).map(|number| log.record(entry(number)));
    let places = futures::future::join_all(together).await;
    assert!(places.iter().all(Result::is_ok));
    log.close().await;
    let found = home.verify(Vec::new());
    assert_eq!((found.records, found.findings), (200, Vec::new()));
    assert!(found.heads < 100, "a flush for many: {}", found.heads);
    let records = home.records();
    let seqs: Vec<u64> = records.iter().map(|record| record.seq).collect();
    assert_eq!(seqs, (1..=200).collect::<Vec<u64>>());
    let (record, line) = read::find(&home.audit(), 57).unwrap().unwrap();
    assert_eq!(record, records[56]);
    assert!(line.starts_with("{\"seq\":57,"), "{line}");
    assert_eq!(read::find(&home.audit(), 201).unwrap(), None);
}

#[tokio::test]
async fn what_a_crash_left_is_moved_aside() {
    let home = Home::new();
    ten(&home).await;
    let lines = home.lines();
    for end in [1, 40, lines[lines.len() - 1].len()] {
        let text = fs::read(read::file(&home.audit())).unwrap();
        fs::write(read::file(&home.audit()), &text[..text.len() - end]).unwrap();
        let (log, opened) = home.open();
        assert_eq!(opened.head.unwrap().records, 9);
        let aside = opened.torn.unwrap();
        assert!(!fs::read(aside).unwrap().is_empty());
        log.close().await;
        assert_eq!(home.found(), Vec::<&str>::new());
        fs::write(read::file(&home.audit()), &text).unwrap();
    }
}

#[tokio::test]
async fn every_kind_of_tampering_is_found() {
    let home = Home::new();
    ten(&home).await;
    assert_eq!(home.found(), Vec::<&str>::new());
    let lines = home.lines();
    // Record and head by turns, from the first record on.
    assert_eq!(lines.len(), 20);
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut changed = lines.clone();
        change(&mut changed);
        home.put(&changed);
        home.found()
    };
    let has = |found: Vec<&str>, name: &str| assert!(found.contains(&name), "{name}: {found:?}");
    has(
        with(&|l| l[8] = l[8].replace("call_5", "call_6")),
        "changed",
    );
    has(with(&|l| drop(l.remove(8))), "missing");
    has(with(&|l| drop(l.drain(8..10))), "missing");
    has(with(&|l| l.swap(8, 10)), "missing");
    has(with(&|l| l.insert(10, l[8].clone())), "out_of_place");
    has(with(&|l| drop(l.remove(9))), "broken");
    has(with(&|l| drop(l.drain(..2))), "beginning_missing");
    has(with(&|l| drop(l.pop())), "unsigned");
    has(with(&|l| l[3] = "{}".to_owned()), "form");
    has(
        with(&|l| {
            l[5] = l[5]
                .replace("\"sig\":\"", "\"sig\":\"00")
                .replace("00\"}", "\"}");
        }),
        "form",
    );

    // Another history with its own key, and the same with the right key in the folder.
    let other = Home::new();
    ten(&other).await;
    let foreign = other.lines();
    assert_eq!(with(&|l| l.clone_from(&foreign)), ["another_identity"]);
    has(
        with(&|l| l.splice(18.., foreign[18..].iter().cloned()).for_each(drop)),
        "another_key",
    );

    // The end, which only somebody else can know.
    let last = Head::parse(&lines[19]).unwrap();
    let remembered = |head: &Head| Remembered {
        place: "the database".to_owned(),
        records: head.records,
        hash: head.hash(),
    };
    home.put(&lines[..10]);
    assert_eq!(
        home.found(),
        Vec::<&str>::new(),
        "in itself it is consistent"
    );
    let found = home.verify(vec![remembered(&last)]).findings;
    assert!(
        matches!(
            found[..],
            [Finding::EndMissing {
                known: 10,
                found: 5,
                ..
            }]
        ),
        "{found:?}"
    );
    home.put(&lines);
    assert!(home.verify(vec![remembered(&last)]).is_sound());
    let (log, _) = other.open();
    log.close().await;
    let theirs = Head::parse(&foreign[19]).unwrap();
    let found = home.verify(vec![remembered(&theirs)]).findings;
    assert!(
        matches!(found[..], [Finding::AnotherHistory { known: 10, .. }]),
        "{found:?}"
    );
}

#[tokio::test]
async fn a_place_that_is_set_back_is_found_by_what_the_log_says_of_it() {
    let home = Home::new();
    let (log, _) = home.open();
    log.record(entry(2)).await.unwrap();
    log.anchored(2).await;
    log.close().await;
    let mut found = home.verify(Vec::new());
    assert_eq!(found.anchored, 2);
    found.check_place("the database", Some(2));
    assert!(found.is_sound());
    found.check_place("the database", Some(1));
    found.check_place("the file", None);
    assert_eq!(found.findings.len(), 2, "{:?}", found.findings);
}

#[tokio::test]
async fn another_key_takes_over_with_both_signatures() {
    let home = Home::new();
    ten(&home).await;
    let first = Identity::public_of(&home.identity()).unwrap().unwrap();
    let (log, _) = home.open();
    assert_eq!(log.rotate_key(&Principal::Person).await, Ok(Position(11)));
    log.record(entry(12)).await.unwrap();
    log.close().await;
    let found = home.verify(Vec::new());
    assert_eq!(found.findings, Vec::new());
    assert_ne!(found.key, Some(first));
    let records = home.records();
    let change = records[10].key.as_ref().unwrap();
    assert_eq!(change.before, Some(first.to_string()));
    let lines = home.lines();
    let forged = lines
        .iter()
        .map(|line| match line.find("\"signature_before\":\"") {
            Some(at) => format!("{}0000{}", &line[..at + 20], &line[at + 24..]),
            None => line.clone(),
        });
    home.put(&forged.collect::<Vec<_>>());
    assert!(
        home.found().contains(&"bad_key_change"),
        "{:?}",
        home.found()
    );
    home.put(&lines);
    assert!(home.verify(Vec::new()).is_sound());
}
