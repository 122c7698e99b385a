//! Units of work through everything that can go wrong: random failures, panics, work that
//! never ends, daemons that are gone between any two steps, bursts, streams and pauses.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these are tests: what is not as expected panics, and a life says that it is ready"
)]

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::time::Duration;

use common::{Daemon, database_of_life, effects, leave_effect, life, prepare_effects, until};
use futures::future::BoxFuture;
use missiond_cognition::{
    BackgroundWorker, Budget, Scope, SwitchChange, Trigger, Unit, WorkError, Worked, WorkerSpec,
};
use missiond_core::{
    ControlNode, Event, Seq, TraceContext, WorkerDomain, WorkerKind, WorkerSwitch,
};
use missiond_store::DbUrl;
use missiond_store::worker_units::{UnitFilter, UnitOutcome};

const LEASE: Duration = Duration::from_secs(60);

/// Leaves an effect for each subject; how it gets there is the test's.
struct Tester {
    spec: WorkerSpec,
    way: fn(&Unit) -> Way,
}

impl std::fmt::Debug for Tester {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tester")
    }
}

/// How a unit goes.
enum Way {
    Well,
    Slowly(Duration),
    Fails,
    Panics,
    FailsForGood,
    /// Its effect cannot be committed.
    EffectFails,
}

impl Tester {
    fn new(way: fn(&Unit) -> Way) -> Self {
        let budget = Budget {
            at_once: 8,
            attempts: 4,
            longest: Duration::from_secs(30),
            first_pause: Duration::from_millis(1),
            waiting: 1_000_000,
        };
        Self {
            spec: WorkerSpec {
                name: "tester",
                kind: WorkerKind::Local,
                domain: WorkerDomain::Knowledge,
                trigger: Trigger::Events {
                    cursor: "tester",
                    quiet: Duration::ZERO,
                    longest: Duration::ZERO,
                    scope: Scope::Database,
                },
                budget,
                description: "is a test",
            },
            way,
        }
    }

    fn debounced(mut self, quiet: Duration, longest: Duration) -> Self {
        self.spec.trigger = Trigger::Events {
            cursor: "tester",
            quiet,
            longest,
            scope: Scope::Database,
        };
        self
    }
}

impl BackgroundWorker for Tester {
    fn spec(&self) -> &WorkerSpec {
        &self.spec
    }

    fn subject(&self, event: &Event) -> Option<String> {
        match event {
            Event::NoteAdded { text, .. } => Some(text.clone()),
            _ => None,
        }
    }

    fn work(&self, unit: Unit) -> BoxFuture<'_, Result<Worked, WorkError>> {
        Box::pin(async move {
            let way = (self.way)(&unit);
            let subject = unit.subject;
            let fails = match way {
                Way::Well => false,
                Way::Slowly(pause) => {
                    tokio::time::sleep(pause).await;
                    false
                }
                Way::Fails => return Err(WorkError::passing(format!("{subject} did not work"))),
                Way::Panics => panic!("{subject} is upside down"),
                Way::FailsForGood => return Err(WorkError::lasting("it never will")),
                Way::EffectFails => true,
            };
            Ok(Worked::did("an effect").with_effect(move |tx| {
                Box::pin(async move {
                    leave_effect(tx, &subject).await?;
                    if fails {
                        tx.execute("INSERT INTO nowhere (a) VALUES (1)", &[])
                            .await?;
                    }
                    Ok(())
                })
            }))
        })
    }
}

fn database(folder: &tempfile::TempDir) -> DbUrl {
    DbUrl::sqlite(folder.path().join("mission.db"))
}

/// The same for the same unit and attempt, and without a pattern.
fn dice(unit: &Unit, salt: u32) -> u32 {
    let bytes = unit.subject.bytes().chain(unit.attempt.to_le_bytes());
    let hash = bytes.fold(2_166_136_261_u32 ^ salt, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(16_777_619)
    });
    (hash ^ (hash >> 15)).wrapping_mul(0x2c1b_3c6d) >> 16
}

fn often_fails(unit: &Unit) -> Way {
    match dice(unit, 0) % 10 {
        0..3 => Way::Fails,
        3 => Way::Panics,
        4 => Way::EffectFails,
        5 if unit.subject.ends_with('7') => Way::FailsForGood,
        _ => Way::Well,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_thousand_units_that_fail_at_random_are_done_once_or_given_up_with_the_reason() {
    const UNITS: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let url = database(&folder);
    prepare_effects(&url).await;
    let mut tester = Tester::new(often_fails);
    // Many at once share a flush of the disk.
    tester.spec.budget.at_once = 64;
    let daemon = Daemon::start(&url, "here", LEASE, |_| vec![Arc::new(tester)]).await;
    daemon
        .tell((0..UNITS).map(|number| format!("unit {number}")))
        .await;
    until("all have ended", async || {
        let status = daemon.cognition.find("tester").await.unwrap();
        let units = status.units.unwrap();
        units.done + units.dead == UNITS as u64
    })
    .await;
    let cognition = &daemon.cognition;
    let ended = cognition
        .units("tester", UnitFilter::Ended, 20_000)
        .await
        .unwrap();
    assert_eq!(
        cognition
            .units("tester", UnitFilter::Open, 1)
            .await
            .unwrap(),
        []
    );
    let done: BTreeMap<_, _> = ended
        .iter()
        .filter(|unit| unit.outcome == Some(UnitOutcome::Done))
        .map(|unit| (unit.subject.clone(), unit))
        .collect();
    // One effect of each that is done, and none of any that was given up.
    assert_eq!(
        effects(&daemon.db).await,
        done.keys().cloned().collect::<Vec<_>>()
    );
    let dead = ended
        .iter()
        .filter(|unit| unit.outcome == Some(UnitOutcome::Dead));
    let mut given_up = 0;
    for unit in dead {
        given_up += 1;
        let said = unit.said.as_deref().unwrap();
        let known = ["did not work", "upside down", "it never will", "nowhere"];
        assert!(known.iter().any(|reason| said.contains(reason)), "{said}");
        assert!(unit.attempts == 4 || said == "it never will", "{unit:?}");
    }
    assert!(
        given_up > 100 && done.len() > 9_000,
        "{given_up} {}",
        done.len()
    );
    // Each that was given up is an event that says why.
    let told = daemon.db.read(|tx| {
        let filter = missiond_store::timeline::TimelineFilter {
            kinds: vec!["worker_unit_failed".to_owned()],
            limit: 10_000,
            ..Default::default()
        };
        Box::pin(async move { missiond_store::timeline::query(tx, &filter).await })
    });
    assert_eq!(told.await.unwrap().events.len(), given_up);
    daemon.stop().await;
}

fn takes_a_moment(unit: &Unit) -> Way {
    Way::Slowly(Duration::from_micros(u64::from(dice(unit, 1)) % 2_000))
}

/// A daemon that works until it is killed, as a process of the test below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the test of killed daemons starts it"]
async fn life_of_a_daemon() {
    let Some(url) = database_of_life() else {
        return;
    };
    let mut tester = Tester::new(takes_a_moment);
    // A unit may be under way each time.
    tester.spec.budget.attempts = 1_000;
    let daemon = Daemon::start(&url, "here", LEASE, |_| vec![Arc::new(tester)]).await;
    println!("\nready");
    until("it is killed", async || false).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn daemons_that_are_killed_at_any_moment_leave_each_effect_once() {
    const UNITS: usize = 400;
    let folder = tempfile::tempdir().unwrap();
    let url = database(&folder);
    prepare_effects(&url).await;
    let idle = Daemon::start(&url, "teller", LEASE, |_| Vec::new()).await;
    let names = || (0..UNITS).map(|number| format!("unit {number}"));
    idle.tell(names()).await;
    let (mut lives, mut before) = (0_u32, 0);
    let mut cut_short = 0;
    while before < UNITS {
        lives += 1;
        assert!(lives < 2_000, "{before} of {UNITS} are done");
        let mut life = life("life_of_a_daemon", &url, folder.path())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(life.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"));
        std::thread::sleep(Duration::from_micros(u64::from(lives) * 7_919 % 60_000));
        life.kill().unwrap();
        life.wait().unwrap();
        let now = effects(&idle.db).await.len();
        cut_short += u32::from(before < now && now < UNITS);
        before = now;
    }
    assert!(cut_short > 0, "none was killed at work");
    let mut expected: Vec<_> = names().collect();
    expected.sort();
    assert_eq!(effects(&idle.db).await, expected);
    // What was killed just before it could know that it was done is begun again.
    let mut tester = Tester::new(|_| Way::Well);
    tester.spec.budget.attempts = 1_000;
    let last = Daemon::start(&url, "here", LEASE, |_| vec![Arc::new(tester)]).await;
    until("nothing is left", async || {
        last.cognition
            .units("tester", UnitFilter::Open, 9)
            .await
            .unwrap()
            .is_empty()
    })
    .await;
    assert_eq!(effects(&last.db).await, expected);
    last.stop().await;
    idle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_daemons_on_one_database_share_the_units_and_one_takes_over_from_the_other() {
    const UNITS: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let url = database(&folder);
    prepare_effects(&url).await;
    let short = Duration::from_millis(500);
    let slowly: fn(&Unit) -> Way = |_| Way::Slowly(Duration::from_millis(2));
    // One whose work never ends dies with what it holds.
    let stuck: fn(&Unit) -> Way = |_| Way::Slowly(Duration::from_secs(25));
    let first_url = url.clone();
    let first = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let daemon = Daemon::start(&first_url, "one", short, |_| {
                vec![Arc::new(Tester::new(stuck))]
            })
            .await;
            daemon
                .tell((0..UNITS).map(|number| format!("unit {number}")))
                .await;
            until("it has units at hand", async || {
                daemon.cognition.find("tester").await.unwrap().at_hand == 8
            })
            .await;
        });
        runtime.shutdown_background();
    });
    first.await.unwrap();
    let second = Daemon::start(&url, "two", short, |_| vec![Arc::new(Tester::new(slowly))]).await;
    until("all are done", async || {
        effects(&second.db).await.len() >= UNITS
    })
    .await;
    let mut expected: Vec<_> = (0..UNITS).map(|number| format!("unit {number}")).collect();
    expected.sort();
    assert_eq!(effects(&second.db).await, expected);
    let ended = second
        .cognition
        .units("tester", UnitFilter::Ended, 1_000)
        .await
        .unwrap();
    let again = ended.iter().filter(|unit| unit.attempts == 2).count();
    assert_eq!(again, 8, "those that the dead one held");
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_burst_is_one_run_after_it_and_a_stream_is_served_before_it_ends() {
    const BURST: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let url = database(&folder);
    prepare_effects(&url).await;
    let tester =
        Tester::new(|_| Way::Well).debounced(Duration::from_secs(4), Duration::from_secs(600));
    let daemon = Daemon::start(&url, "here", LEASE, |_| vec![Arc::new(tester)]).await;
    daemon.tell((0..BURST).map(|_| "burst".to_owned())).await;
    until("the burst was served", async || {
        !effects(&daemon.db).await.is_empty()
    })
    .await;
    let ended = daemon
        .cognition
        .units("tester", UnitFilter::Ended, 10)
        .await
        .unwrap();
    let causes: Vec<_> = ended.iter().map(|unit| unit.causes).collect();
    assert_eq!(causes, [10_000]);
    daemon.stop().await;

    // Something every few milliseconds, which never leaves two seconds of quiet.
    let tester =
        Tester::new(|_| Way::Well).debounced(Duration::from_secs(2), Duration::from_millis(300));
    let daemon = Daemon::start(&url, "here", LEASE, |_| vec![Arc::new(tester)]).await;
    let (mut told, mut last): (u32, Seq) = (0, Seq(0));
    until("the stream was served twice while it went on", async || {
        last = daemon.tell(["stream".to_owned()]).await;
        told += 1;
        effects(&daemon.db)
            .await
            .iter()
            .filter(|effect| *effect == "stream")
            .count()
            >= 2
    })
    .await;
    // Before that nothing may be open though the last word is yet to be queued.
    daemon.queued("tester", last).await;
    until("what was left is served", async || {
        daemon
            .cognition
            .units("tester", UnitFilter::Open, 10)
            .await
            .unwrap()
            .is_empty()
    })
    .await;
    let ended = daemon
        .cognition
        .units("tester", UnitFilter::Ended, 1_000)
        .await
        .unwrap();
    let heard: u32 = ended
        .iter()
        .filter(|unit| unit.subject == "stream")
        .map(|unit| unit.causes)
        .sum();
    assert_eq!(heard, told, "none is lost");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_paused_begins_nothing_loses_nothing_and_catches_up() {
    let folder = tempfile::tempdir().unwrap();
    let url = database(&folder);
    prepare_effects(&url).await;
    let slowly: fn(&Unit) -> Way = |_| Way::Slowly(Duration::from_millis(20));
    let worker = || Tester::new(slowly);
    let daemon = Daemon::start(&url, "here", LEASE, |_| vec![Arc::new(worker())]).await;
    let change = |node, switch| {
        vec![SwitchChange {
            node,
            switch,
            reason: "a test".to_owned(),
            by: "a person".to_owned(),
        }]
    };
    daemon
        .tell((0..50).map(|number| format!("before {number}")))
        .await;
    let control = daemon.cognition.control().clone();
    let all = change(ControlNode::All, Some(WorkerSwitch::Paused));
    control.change(all, TraceContext::root()).await.unwrap();
    // What was at hand is finished, and from then on nothing happens.
    daemon.cognition.rested(&ControlNode::All).await;
    let rested = effects(&daemon.db).await.len();
    daemon
        .tell((0..50).map(|number| format!("while {number}")))
        .await;
    until("all of it waits", async || {
        let open = daemon
            .cognition
            .units("tester", UnitFilter::Open, 1_000)
            .await;
        open.unwrap().len() == 100 - rested
    })
    .await;
    assert_eq!(effects(&daemon.db).await.len(), rested);
    let refused = daemon.cognition.run_now("tester").await.unwrap_err();
    assert!(refused.to_string().contains("paused (all)"), "{refused}");
    daemon.stop().await;
    // So it is for the next daemon, until one worker is let work in spite of that.
    let daemon = Daemon::start(&url, "here", LEASE, |_| vec![Arc::new(worker())]).await;
    let status = daemon.cognition.find("tester").await.unwrap();
    assert_eq!((status.switch, status.at_hand), (WorkerSwitch::Paused, 0));
    assert_eq!(status.because.unwrap().reason, "a test");
    let one = ControlNode::Worker("tester".to_owned());
    let force = change(one, Some(WorkerSwitch::Running));
    let control = daemon.cognition.control().clone();
    control.change(force, TraceContext::root()).await.unwrap();
    until("it has caught up", async || {
        effects(&daemon.db).await.len() == 100
    })
    .await;
    assert_eq!(
        daemon
            .cognition
            .units("tester", UnitFilter::Open, 9)
            .await
            .unwrap(),
        []
    );
    daemon.stop().await;
}
