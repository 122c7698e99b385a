//! A write that comes too late is refused and put on the timeline.
#![allow(
    clippy::unwrap_used,
    reason = "these are tests: what is not as expected panics"
)]

use std::sync::Arc;
use std::time::Duration;

use missiond_api::Home;
use missiond_autopilot::board::{Board, TaskRequest};
use missiond_config::TimelineConfig;
use missiond_core::{
    Clock, DaemonId, ErrorCode, Event, Isolation, ManualClock, Outcome, TaskDraft, TraceContext,
};
use missiond_store::board::{Claimant, ReadyLimits};
use missiond_store::timeline::TimelineFilter;
use missiond_store::{DbUrl, MissionDb};
use missiond_timeline::Timeline;
use missiond_timeline::metrics::Metrics;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_result_is_refused_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::under(folder.path());
    let db = MissionDb::open(&DbUrl::sqlite(folder.path().join("mission.db")))
        .await
        .unwrap();
    let clock = Arc::new(ManualClock::starting_at(
        "2026-01-04T12:00:00Z".parse().unwrap(),
    ));
    let daemon = DaemonId::generate();
    let told: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
    let timeline = Timeline::start(
        db.clone(),
        daemon,
        Arc::clone(&told),
        Arc::new(Metrics::default()),
        &TimelineConfig::default(),
        &missiond_runtime::Supervisor::standalone(),
    )
    .await
    .unwrap();
    let (_, config) = tokio::sync::watch::channel(Arc::default());
    let board = Board::new(&home, daemon, db.clone(), timeline, told, config);
    let trace = TraceContext::root();
    let request = TaskRequest {
        draft: TaskDraft {
            title: Some("slow".into()),
            isolation: Some(Isolation::None),
            ..TaskDraft::default()
        },
        ..TaskRequest::default()
    };
    let limits = ReadyLimits::default();
    board.add(request, limits, trace).await.unwrap();
    let claimant = Claimant {
        holder: "worker".into(),
        ttl: Duration::from_secs(60),
        execution: None,
        slot: None,
    };
    let claimed = board.claim_next(claimant, ReadyLimits::default(), trace);
    let old = claimed.await.unwrap().unwrap().attempt;
    clock.advance(Duration::from_secs(30));
    board
        .heartbeat(&old, Duration::from_secs(60), trace)
        .await
        .unwrap();
    clock.advance(Duration::from_secs(60));
    assert_eq!(board.expire(trace).await.unwrap().len(), 1);
    let late = board.finish(&old, Outcome::Verified, None, trace).await;
    assert_eq!(late.unwrap_err().code(), ErrorCode::StaleLease);

    let refused = TimelineFilter {
        kinds: vec!["stale_write_refused".into()],
        ..TimelineFilter::default()
    };
    let page = db
        .read(move |tx| {
            Box::pin(async move { missiond_store::timeline::query(tx, &refused).await })
        })
        .await
        .unwrap();
    let events: Vec<_> = page.events.into_iter().map(|event| event.event).collect();
    let expected = Event::StaleWriteRefused {
        resource: missiond_store::board::resource(old.task),
        holder: "worker".into(),
        token: old.token,
    };
    assert_eq!(events, [expected]);
}
