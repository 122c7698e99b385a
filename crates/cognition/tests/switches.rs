//! What was acknowledged of the control tree holds, whatever dies around it.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these are tests: what is not as expected panics, and a life says how far it is"
)]

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::time::Duration;

use common::{database_of_life, life};
use missiond_cognition::{Control, SwitchChange};
use missiond_core::{
    ControlNode, DaemonId, SystemClock, TraceContext, WorkerDomain, WorkerKind, WorkerSwitch,
};
use missiond_runtime::{Shutdown, Supervisor};
use missiond_store::{DbUrl, MissionDb, timeline};

type Said = BTreeMap<ControlNode, WorkerSwitch>;

/// What is said in the round with this number.
fn change(round: u32) -> SwitchChange {
    let number = round.wrapping_mul(2_654_435_761) >> 20;
    let node = match number % 5 {
        0 => ControlNode::All,
        1 => ControlNode::Kind(WorkerKind::ALL[number as usize / 5 % 4]),
        2 => ControlNode::Domain(WorkerDomain::ALL[number as usize / 5 % 3]),
        _ => ControlNode::Worker(format!("worker{}", number / 5 % 3)),
    };
    let switch = [
        None,
        Some(WorkerSwitch::Paused),
        Some(WorkerSwitch::Running),
    ];
    SwitchChange {
        node,
        switch: switch[number as usize / 15 % 3],
        reason: format!("round {round}"),
        by: "a person".to_owned(),
    }
}

fn apply(said: &mut Said, change: &SwitchChange) {
    match change.switch {
        Some(switch) => said.insert(change.node.clone(), switch),
        None => said.remove(&change.node),
    };
}

fn control(db: &MissionDb) -> Control {
    let (supervisor, _) = Supervisor::new(Shutdown::default());
    Control::new(
        db.clone(),
        Arc::new(SystemClock),
        DaemonId::generate(),
        supervisor,
    )
}

async fn said(control: &Control) -> Said {
    control.reload().await.unwrap();
    let tree = control.tree();
    let rows = tree.switches();
    rows.map(|row| (row.node.clone(), row.switch)).collect()
}

/// Changes one after the other until it is killed, as a process of the test below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the test of killed changes starts it"]
async fn life_of_changes() {
    let Some(url) = database_of_life() else {
        return;
    };
    let first: u32 = std::env::var("MISSION_TEST_ROUND")
        .unwrap()
        .parse()
        .unwrap();
    let db = MissionDb::open(&url).await.unwrap();
    let control = control(&db);
    control.reload().await.unwrap();
    println!("\nready");
    for round in first.. {
        let changed = control.change(vec![change(round)], TraceContext::root());
        let tree = changed.await.unwrap();
        assert_eq!(control.tree(), tree, "in force when it is acknowledged");
        println!("acknowledged {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn five_hundred_changes_with_kills_among_them_hold_what_was_acknowledged() {
    const CHANGES: u32 = 500;
    let folder = tempfile::tempdir().unwrap();
    let url = DbUrl::sqlite(folder.path().join("mission.db"));
    let db = MissionDb::open(&url).await.unwrap();
    let of_test = control(&db);
    let mut holds = Said::new();
    let (mut round, mut kills) = (0, 0_u32);
    while round < CHANGES {
        kills += 1;
        let mut command = life("life_of_changes", &url, folder.path());
        let mut life = command
            .env("MISSION_TEST_ROUND", round.to_string())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(life.stdout.take().unwrap()).lines();
        let mut next = move || lines.next().map(Result::unwrap);
        while next().is_some_and(|line| line != "ready") {}
        std::thread::sleep(Duration::from_micros(u64::from(kills) * 7_919 % 50_000));
        life.kill().unwrap();
        life.wait().unwrap();
        // What was said before it died was acknowledged.
        while let Some(line) = next() {
            if let Some(said) = line.strip_prefix("acknowledged ") {
                assert_eq!(said.parse(), Ok(round));
                apply(&mut holds, &change(round));
                round += 1;
            }
        }
        let after = said(&of_test).await;
        if after != holds {
            // The one that was under way: nobody was told, and it holds.
            apply(&mut holds, &change(round));
            assert_eq!(after, holds, "round {round}");
            round += 1;
        }
    }
    assert!(kills > 5, "{kills}");
    db.close().await.unwrap();
}

#[tokio::test]
async fn a_change_is_told_by_the_watch_and_the_timeline_and_all_of_it_or_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let url = DbUrl::sqlite(folder.path().join("mission.db"));
    let db = MissionDb::open(&url).await.unwrap();
    let control = control(&db);
    let mut watch = control.watch();
    watch.borrow_and_update();
    let paused = |node| SwitchChange {
        node,
        switch: Some(WorkerSwitch::Paused),
        reason: "a test".to_owned(),
        by: "a person".to_owned(),
    };
    let domains = WorkerDomain::ALL.iter().copied().map(ControlNode::Domain);
    let all: Vec<_> = domains.map(paused).collect();
    let trace = TraceContext::root();
    control.change(all.clone(), trace).await.unwrap();
    assert!(watch.has_changed().unwrap());
    assert_eq!(watch.borrow_and_update().switches().count(), 3);
    // The same again is no news.
    control.change(all, trace).await.unwrap();
    let events = db
        .read(|tx| {
            let filter = timeline::TimelineFilter {
                kinds: vec!["worker_switched".to_owned()],
                limit: 100,
                ..Default::default()
            };
            Box::pin(async move { timeline::query(tx, &filter).await })
        })
        .await
        .unwrap()
        .events;
    assert_eq!(events.len(), 3);
    assert!(
        events
            .iter()
            .all(|event| event.trace.trace_id == trace.trace_id)
    );
}
