//! Panics of tasks, on the timeline, where they become incidents.

use missiond_core::{Event, TraceContext};
use missiond_runtime::Failure;
use missiond_timeline::Timeline;
use tokio::sync::mpsc;

/// Puts every panic of a task on the timeline.
pub(crate) async fn report(timeline: Timeline, mut failures: mpsc::Receiver<Failure>) {
    while let Some(failure) = failures.recv().await {
        let event = Event::TaskPanicked {
            task: failure.task.to_owned(),
            subject: failure.subject,
            error: failure.panic,
            then: failure.then.name().to_owned(),
        };
        if let Err(error) = timeline.record(event, TraceContext::root()).await {
            tracing::error!(%error, task = failure.task, "panic not recorded on timeline");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use missiond_config::TimelineConfig;
    use missiond_core::{DaemonId, SystemClock};
    use missiond_runtime::{OnPanic, Shutdown, Supervisor};
    use missiond_store::incidents::{self, IncidentFilter};
    use missiond_store::{DbUrl, MissionDb};
    use missiond_timeline::Consumers;
    use missiond_timeline::incidents::IncidentRecorder;
    use missiond_timeline::metrics::Metrics;

    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_an_incident_that_says_what_broke_and_what_follows() {
        let folder = tempfile::tempdir().unwrap();
        let db = MissionDb::open(&DbUrl::sqlite(folder.path().join("mission.db"))).await;
        let db = db.unwrap();
        let (supervisor, failures) = Supervisor::new(Shutdown::default());
        let (clock, metrics, config) = (
            Arc::new(SystemClock),
            Arc::new(Metrics::default()),
            TimelineConfig::default(),
        );
        let timeline = Timeline::start(
            db.clone(),
            DaemonId::generate(),
            clock,
            metrics,
            &config,
            &supervisor,
        );
        let timeline = timeline.await.unwrap();
        let recorder = vec![Arc::new(IncidentRecorder) as _];
        let mut consumers = Consumers::start(&timeline, recorder, &supervisor)
            .await
            .unwrap();
        supervisor.spawn(
            "failure reports",
            None,
            OnPanic::Report,
            report(timeline.clone(), failures),
        );

        let mut told = timeline.follow();
        let subject = Some("repo".to_owned());
        let task = supervisor.spawn("code map", subject, OnPanic::Report, async {
            panic!("an index out of bounds");
        });
        task.await.unwrap();
        while !matches!(told.next().await.unwrap().event, Event::TaskPanicked { .. }) {}
        // It hands over what it has before it stops.
        consumers.stop().await;

        let listed = db
            .read(|tx| {
                Box::pin(async move { incidents::list(tx, &IncidentFilter::default()).await })
            })
            .await
            .unwrap();
        let [incident] = listed.as_slice() else {
            panic!("{listed:?}");
        };
        assert_eq!(incident.kind, "task_panicked");
        assert_eq!(incident.subject, "repo");
        for words in [
            "code map",
            "an index out of bounds",
            "Everything else goes on",
        ] {
            assert!(incident.summary.contains(words), "{}", incident.summary);
        }
    }
}
