//! Units of background workers and the switches that pause them.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use missiond_core::{
    ControlNode, FencingToken, Seq, Timestamp, TraceContext, WorkerDomain, WorkerSwitch,
};

use super::fixtures::{minutes_later, noon, open};
use crate::worker_switches::{self, SwitchRow};
use crate::worker_units::{self, Claimant, NewUnit, UnitCounts, UnitFilter, UnitOutcome, UnitRow};
use crate::{DbUrl, MissionDb, StoreError, watermarks};

const WORKER: &str = "harvester";
const LEASE: Duration = Duration::from_secs(60);
const QUIET: Duration = Duration::from_secs(3);
const LONGEST: Duration = Duration::from_secs(30);

fn unit(subject: &str, now: Timestamp) -> NewUnit {
    NewUnit {
        worker: WORKER,
        home: String::new(),
        subject: subject.to_owned(),
        causes: 1,
        trace: TraceContext::root(),
        now,
        quiet: QUIET,
        longest: LONGEST,
    }
}

fn seconds(after_noon: u64) -> Timestamp {
    noon().plus(Duration::from_secs(after_noon))
}

async fn enqueue(db: &MissionDb, unit: NewUnit) {
    db.write(move |tx| Box::pin(async move { worker_units::enqueue(tx, &unit).await }))
        .await
        .unwrap();
}

async fn claim_of(db: &MissionDb, home: &str, now: Timestamp, limit: u32) -> Vec<UnitRow> {
    let by = Claimant {
        home: home.to_owned(),
        holder: home.to_owned(),
        now,
        lease: LEASE,
    };
    db.write(move |tx| Box::pin(async move { worker_units::claim(tx, WORKER, &by, limit).await }))
        .await
        .unwrap()
}

async fn claim(db: &MissionDb, now: Timestamp) -> Vec<UnitRow> {
    claim_of(db, "here", now, 100).await
}

async fn complete(db: &MissionDb, unit: &UnitRow, now: Timestamp) -> Result<(), StoreError> {
    let (id, token) = (unit.id.clone(), unit.token);
    db.write(move |tx| {
        Box::pin(async move { worker_units::complete(tx, &id, token, "done", now).await })
    })
    .await
}

async fn list(db: &MissionDb, filter: UnitFilter) -> Vec<UnitRow> {
    db.read(move |tx| Box::pin(worker_units::list(tx, WORKER, "here", filter, 1000)))
        .await
        .unwrap()
}

async fn counts(db: &MissionDb, now: Timestamp) -> UnitCounts {
    let counts = db
        .read(move |tx| Box::pin(worker_units::counts(tx, "here", now)))
        .await
        .unwrap();
    let of = counts.into_iter().find(|(worker, _)| worker == WORKER);
    of.map_or_else(UnitCounts::default, |(_, counts)| counts)
}

pub async fn units_of_a_subject_are_one_until_they_begin(url: DbUrl) {
    let db = open(&url).await;
    let first = unit("a", noon());
    let last = NewUnit {
        causes: 7,
        ..unit("a", seconds(1))
    };
    let cause = last.trace;
    for new in [first, unit("b", noon()), last] {
        enqueue(&db, new).await;
    }
    let open = list(&db, UnitFilter::Open).await;
    let shown: Vec<_> = open
        .iter()
        .map(|unit| (unit.subject.as_str(), unit.causes, unit.due_at))
        .collect();
    assert_eq!(shown, [("b", 1, seconds(3)), ("a", 8, seconds(4))]);
    assert_eq!(
        (open[1].cause.trace_id, open[1].cause.span_id),
        (cause.trace_id, cause.span_id),
        "the newest cause"
    );
    // What comes when it has begun is another unit, and the one that ended is none.
    let begun = claim(&db, seconds(4)).await;
    assert_eq!(begun.len(), 2);
    enqueue(&db, unit("a", seconds(5))).await;
    assert_eq!(list(&db, UnitFilter::Open).await.len(), 3);
    for unit in &begun {
        complete(&db, unit, seconds(6)).await.unwrap();
    }
    enqueue(&db, unit("b", seconds(7))).await;
    let open = list(&db, UnitFilter::Open).await;
    let subjects: Vec<_> = open.iter().map(|unit| unit.subject.as_str()).collect();
    assert_eq!(subjects, ["a", "b"]);
    assert!(open.iter().all(|unit| unit.causes == 1));
}

pub async fn a_burst_waits_for_its_end_and_a_stream_for_its_longest(url: DbUrl) {
    let db = open(&url).await;
    // A thousand events within a second: one unit, three seconds after the last.
    for at in 0..1000_u64 {
        enqueue(&db, unit("burst", noon().plus(Duration::from_millis(at)))).await;
    }
    let last = noon().plus(Duration::from_millis(999));
    assert_eq!(
        claim(&db, last.plus(QUIET).minus(Duration::from_micros(1))).await,
        []
    );
    let begun = claim(&db, last.plus(QUIET)).await;
    assert_eq!(begun.len(), 1);
    assert_eq!(begun[0].causes, 1000, "none is lost");
    complete(&db, &begun[0], seconds(5)).await.unwrap();
    // An event a second, for ever: each unit waits for thirty, and no longer.
    let (mut served, mut causes) = (Vec::new(), 0);
    for at in 100..200 {
        enqueue(&db, unit("stream", seconds(at))).await;
        for unit in claim(&db, seconds(at)).await {
            causes += unit.causes;
            served.push(at);
            complete(&db, &unit, seconds(at)).await.unwrap();
        }
    }
    assert_eq!(served, [130, 161, 192]);
    causes += claim(&db, seconds(300)).await[0].causes;
    assert_eq!(causes, 100);
}

pub async fn units_of_a_subject_are_done_one_after_the_other(url: DbUrl) {
    let db = open(&url).await;
    enqueue(&db, unit("a", noon())).await;
    let first = claim(&db, seconds(10)).await.remove(0);
    enqueue(&db, unit("a", seconds(11))).await;
    assert_eq!(claim(&db, seconds(20)).await, [], "the first is at work");
    // It failed: it is tried again before the second begins.
    let (id, token) = (first.id.clone(), first.token);
    db.write(move |tx| {
        Box::pin(async move { worker_units::retry(tx, &id, token, "no", seconds(30)).await })
    })
    .await
    .unwrap();
    assert_eq!(claim(&db, seconds(29)).await, []);
    let again = claim(&db, seconds(30)).await;
    assert_eq!(again.len(), 1);
    assert_eq!((&again[0].id, again[0].attempts), (&first.id, 2));
    complete(&db, &again[0], seconds(31)).await.unwrap();
    let second = claim(&db, seconds(31)).await;
    assert_eq!(second.len(), 1);
    assert_ne!(second[0].id, first.id);
}

pub async fn many_claimers_claim_every_unit_once(url: DbUrl) {
    const UNITS: usize = 200;
    let daemons = [open(&url).await, open(&url).await];
    for number in 0..UNITS {
        enqueue(&daemons[0], unit(&format!("s{number}"), noon())).await;
    }
    let claimers = (0..16).map(|number| {
        let db = daemons[number % 2].clone();
        tokio::spawn(async move {
            let mut all = Vec::new();
            // Units that another is claiming are passed over: what is left is asked for
            // until none is.
            for _ in 0..200 {
                let home = format!("home{}", number % 2);
                all.extend(claim_of(&db, &home, seconds(10), 5).await);
            }
            all
        })
    });
    let claimed: Vec<_> = join_all(claimers)
        .await
        .into_iter()
        .flat_map(Result::unwrap)
        .collect();
    let ids: BTreeSet<_> = claimed.iter().map(|unit| unit.id.as_str()).collect();
    assert_eq!((claimed.len(), ids.len()), (UNITS, UNITS));
    assert!(claimed.iter().all(|unit| unit.token == FencingToken(1)));
}

/// Where a daemon dies while it does a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    BeforeQueueing,
    Queued,
    Claimed,
    /// The end and the effect are on their way, and are not committed.
    Ending,
    /// They are committed, and nobody was told.
    Ended,
}

pub async fn a_unit_has_its_effect_once_wherever_its_daemon_dies(url: DbUrl) {
    let deaths = [
        Death::BeforeQueueing,
        Death::Queued,
        Death::Claimed,
        Death::Ending,
        Death::Ended,
    ];
    for (round, death) in deaths.into_iter().enumerate() {
        let subject = format!("unit {round}");
        let start = minutes_later(round as u64 * 100);
        // A daemon's connections go with it.
        let db = open(&url).await;
        live_until(&db, &subject, round as i64, start, death).await;
        db.close().await.unwrap();
        // The next ones do what there is, after the lease of the dead one, and late words
        // of the dead one change nothing.
        for later in [2, 4] {
            let db = open(&url).await;
            let now = start.plus(Duration::from_secs(later * 60));
            queue_once(&db, &subject, round as i64, now).await;
            for unit in claim(&db, now.plus(QUIET)).await {
                let stale = UnitRow {
                    token: FencingToken(unit.token.0 - 1),
                    ..unit.clone()
                };
                let late = end_with_effect(&db, &stale, now).await;
                assert!(
                    matches!(late, Err(StoreError::StaleLease { .. })),
                    "{late:?}"
                );
                end_with_effect(&db, &unit, now).await.unwrap();
            }
            db.close().await.unwrap();
        }
        let db = open(&url).await;
        assert_eq!(effects(&db, &subject).await, Seq(1), "{death:?}");
        let ended = list(&db, UnitFilter::Ended).await;
        let ours: Vec<_> = ended
            .iter()
            .filter(|unit| unit.subject == subject)
            .collect();
        assert_eq!(ours.len(), 1, "{death:?}");
        assert_eq!(list(&db, UnitFilter::Open).await, [], "{death:?}");
        db.close().await.unwrap();
    }
}

async fn live_until(db: &MissionDb, subject: &str, event: i64, now: Timestamp, death: Death) {
    if death == Death::BeforeQueueing {
        return;
    }
    queue_once(db, subject, event, now).await;
    if death == Death::Queued {
        return;
    }
    let unit = claim(db, now.plus(QUIET)).await.remove(0);
    match death {
        Death::Ended => end_with_effect(db, &unit, now.plus(QUIET)).await.unwrap(),
        Death::Ending => {
            let lost = db.write(move |tx| {
                Box::pin(async move {
                    end(tx, &unit, now).await?;
                    Err::<(), _>(StoreError::Closed)
                })
            });
            assert_eq!(lost.await, Err(StoreError::Closed));
        }
        _ => {}
    }
}

/// The event is queued in the transaction that moves the cursor behind it.
async fn queue_once(db: &MissionDb, subject: &str, event: i64, now: Timestamp) {
    let new = unit(subject, now);
    db.write(move |tx| {
        Box::pin(async move {
            let (from, to) = (Seq(event), Seq(event + 1));
            let moved = watermarks::advance_from(tx, "queuer", from, to).await?;
            if moved == watermarks::Advance::Ours {
                worker_units::enqueue(tx, &new).await?;
            }
            Ok(())
        })
    })
    .await
    .unwrap();
}

async fn end(tx: &mut crate::Tx<'_>, unit: &UnitRow, now: Timestamp) -> Result<(), StoreError> {
    worker_units::complete(tx, &unit.id, unit.token, "done", now).await?;
    // The effect: it counts how often it was there.
    let counter = format!("effect of {}", unit.subject);
    let before = watermarks::get(tx, &counter).await?.unwrap_or_default();
    watermarks::advance(tx, &counter, Seq(before.0 + 1)).await
}

async fn end_with_effect(db: &MissionDb, unit: &UnitRow, now: Timestamp) -> Result<(), StoreError> {
    let unit = unit.clone();
    db.write(move |tx| Box::pin(async move { end(tx, &unit, now).await }))
        .await
}

async fn effects(db: &MissionDb, subject: &str) -> Seq {
    let counter = format!("effect of {subject}");
    db.read(move |tx| Box::pin(async move { watermarks::get(tx, &counter).await }))
        .await
        .unwrap()
        .unwrap_or_default()
}

pub async fn a_unit_is_retried_given_up_and_tried_again(url: DbUrl) {
    let db = open(&url).await;
    enqueue(&db, unit("a", noon())).await;
    let first = claim(&db, seconds(10)).await.remove(0);
    assert_eq!((first.attempts, first.token), (1, FencingToken(1)));
    assert_eq!(claim(&db, seconds(69)).await, [], "leased");
    let stats = counts(&db, seconds(69)).await;
    assert_eq!((stats.waiting, stats.running), (0, 1));
    // Its holder says that it goes on, and then no more.
    let (id, token) = (first.id.clone(), first.token);
    let until = seconds(120);
    db.write(move |tx| Box::pin(async move { worker_units::renew(tx, &id, token, until).await }))
        .await
        .unwrap();
    assert_eq!(claim(&db, seconds(119)).await, []);
    let second = claim(&db, seconds(120)).await.remove(0);
    assert_eq!((second.attempts, second.token), (2, FencingToken(2)));
    let late = complete(&db, &first, seconds(121)).await;
    assert!(
        matches!(late, Err(StoreError::StaleLease { .. })),
        "{late:?}"
    );
    // A daemon that stops gives it back, and nothing is held against it.
    let (id, token) = (second.id.clone(), second.token);
    db.write(move |tx| Box::pin(async move { worker_units::give_back(tx, &id, token).await }))
        .await
        .unwrap();
    let third = claim(&db, seconds(122)).await.remove(0);
    assert_eq!((third.attempts, third.token), (2, FencingToken(3)));
    let (id, token) = (third.id.clone(), third.token);
    db.write(move |tx| {
        Box::pin(async move {
            worker_units::give_up(tx, &id, token, "it is broken", seconds(123)).await
        })
    })
    .await
    .unwrap();
    let dead = list(&db, UnitFilter::Dead).await.remove(0);
    assert_eq!(
        (dead.outcome, dead.said.as_deref()),
        (Some(UnitOutcome::Dead), Some("it is broken"))
    );
    assert_eq!(counts(&db, seconds(124)).await.dead, 1);
    assert_eq!(claim(&db, minutes_later(100)).await, []);
    let revived = db
        .write(|tx| Box::pin(worker_units::revive(tx, WORKER, "here", minutes_later(101))))
        .await;
    assert_eq!(revived, Ok(1));
    let fourth = claim(&db, minutes_later(101)).await.remove(0);
    assert_eq!((fourth.attempts, fourth.token), (1, FencingToken(4)));
    // The daemon of this home died; the next one of the same home takes over at once.
    let released = db.write(|tx| Box::pin(worker_units::release_all(tx, "here")));
    assert_eq!(released.await, Ok(1));
    let fifth = claim(&db, minutes_later(101)).await.remove(0);
    complete(&db, &fifth, minutes_later(101)).await.unwrap();
    let forgotten = db
        .write(|tx| Box::pin(worker_units::forget(tx, minutes_later(102), noon())))
        .await;
    assert_eq!(forgotten, Ok(1));
}

pub async fn units_belong_to_their_home_or_to_all(url: DbUrl) {
    let db = open(&url).await;
    for home in ["", "here", "there"] {
        let new = NewUnit {
            home: home.to_owned(),
            ..unit("a", noon())
        };
        enqueue(&db, new).await;
    }
    let due = |db: MissionDb| async move {
        db.read(|tx| Box::pin(worker_units::next_due(tx, WORKER, "here")))
            .await
    };
    assert_eq!(due(db.clone()).await, Ok(Some(seconds(3))));
    let mut homes: Vec<_> = claim(&db, seconds(5))
        .await
        .into_iter()
        .map(|unit| unit.home)
        .collect();
    homes.sort();
    assert_eq!(homes, ["", "here"]);
    assert_eq!(
        due(db.clone()).await,
        Ok(Some(seconds(65))),
        "when their lease ends"
    );
    assert_eq!(claim_of(&db, "there", seconds(5), 9).await.len(), 1);
    let waiting = db
        .read(|tx| Box::pin(worker_units::open_count(tx, WORKER)))
        .await;
    assert_eq!(waiting, Ok(3));
    enqueue(&db, unit("b", seconds(6))).await;
    let hastened = db
        .write(|tx| Box::pin(worker_units::hasten(tx, WORKER, "here", seconds(7))))
        .await;
    assert_eq!(hastened, Ok(1));
    assert_eq!(claim(&db, seconds(7)).await.len(), 1);
}

pub async fn switches_of_workers_are_kept_with_their_reason(url: DbUrl) {
    let db = open(&url).await;
    let row = |node, switch, reason: &str| SwitchRow {
        node,
        switch,
        reason: reason.to_owned(),
        changed_by: "a person".to_owned(),
        changed_at: noon(),
    };
    let set = async |row: SwitchRow| {
        db.write(move |tx| Box::pin(async move { worker_switches::set(tx, &row).await }))
            .await
            .unwrap()
    };
    let code = || ControlNode::Domain(WorkerDomain::Code);
    assert!(set(row(ControlNode::All, WorkerSwitch::Paused, "battery")).await);
    assert!(!set(row(ControlNode::All, WorkerSwitch::Paused, "battery")).await);
    assert!(set(row(ControlNode::All, WorkerSwitch::Paused, "noise")).await);
    assert!(set(row(code(), WorkerSwitch::Paused, "why")).await);
    db.write(|tx| {
        Box::pin(async move {
            let sql = "INSERT INTO worker_switches (node, switch, reason, changed_by, \
                 changed_at) VALUES ('kind/newer', 'paused', 'why', 'a person', 1)";
            tx.execute(sql, &[]).await
        })
    })
    .await
    .unwrap();
    let kept = db.read(|tx| Box::pin(worker_switches::all(tx))).await;
    let expected = vec![
        row(ControlNode::All, WorkerSwitch::Paused, "noise"),
        row(code(), WorkerSwitch::Paused, "why"),
    ];
    assert_eq!(kept, Ok(expected), "what is not known is left out");
    let clear = db.write(|tx| {
        Box::pin(async move {
            let first = worker_switches::clear(tx, &ControlNode::All).await?;
            Ok((first, worker_switches::clear(tx, &ControlNode::All).await?))
        })
    });
    assert_eq!(clear.await, Ok((true, false)));
}
