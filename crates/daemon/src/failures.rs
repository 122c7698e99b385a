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
    use std::pin::Pin;
    use std::sync::Arc;

    use missiond_config::TimelineConfig;
    use missiond_core::{DaemonId, SystemClock, TimelineEvent};
    use missiond_runtime::{OnPanic, Shutdown, Supervisor};
    use missiond_store::incidents::{self, IncidentFilter};
    use missiond_store::{DbUrl, MissionDb, StoreError, Tx};
    use missiond_timeline::incidents::IncidentRecorder;
    use missiond_timeline::metrics::Metrics;
    use missiond_timeline::{Consumer, Consumers, Pace};

    use super::*;

    /// A timeline in a database of its own, and what is supervised beside it.
    async fn timeline_in(
        folder: &std::path::Path,
    ) -> (MissionDb, Timeline, Supervisor, mpsc::Receiver<Failure>) {
        let db = MissionDb::open(&DbUrl::sqlite(folder.join("mission.db"))).await;
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
        (db, timeline, supervisor, failures)
    }

    /// It wants to be told of notes, and can do nothing with them.
    #[derive(Debug)]
    struct NeverApplies;

    impl Consumer for NeverApplies {
        fn name(&self) -> &'static str {
            "never"
        }

        fn wants(&self, event: &Event) -> bool {
            matches!(event, Event::NoteAdded { .. })
        }

        fn pace(&self) -> Pace {
            Pace {
                quiet: std::time::Duration::ZERO,
                count: 1,
                longest: std::time::Duration::ZERO,
            }
        }

        fn apply<'t>(
            &self,
            _: &'t mut Tx<'_>,
            _: Arc<[Arc<TimelineEvent>]>,
        ) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 't>> {
            let detail = "notes are beyond it".to_owned();
            Box::pin(async move { Err(StoreError::InvalidValue { detail }) })
        }
    }

    #[tokio::test]
    async fn a_consumer_that_keeps_failing_is_told_of_and_becomes_an_incident() {
        let folder = tempfile::tempdir().unwrap();
        let (_db, timeline, supervisor, _failures) = timeline_in(folder.path()).await;
        let consumers = vec![
            Arc::new(NeverApplies) as Arc<dyn Consumer>,
            Arc::new(IncidentRecorder),
        ];
        let _consumers = Consumers::start(&timeline, consumers, &supervisor)
            .await
            .unwrap();
        let mut told = timeline.follow();
        let note = Event::NoteAdded {
            text: "here".into(),
            author: "test".into(),
        };
        timeline.record(note, TraceContext::root()).await.unwrap();
        let failed = loop {
            let event = told.next().await.unwrap();
            if let Event::ConsumerFailed { .. } = event.event {
                break event;
            }
        };
        let Event::ConsumerFailed {
            consumer, error, ..
        } = &failed.event
        else {
            panic!("{failed:?}");
        };
        assert_eq!(consumer, "never");
        assert!(error.contains("notes are beyond it"), "{error}");
        let opened = loop {
            let event = told.next().await.unwrap();
            if let Event::IncidentOpened { .. } = event.event {
                break event;
            }
        };
        assert_eq!(opened.trace.trace_id, failed.trace.trace_id);
        assert_eq!(opened.trace.parent_span_id, Some(failed.trace.span_id));
    }

    #[tokio::test]
    async fn a_panic_becomes_an_incident_that_says_what_broke_and_what_follows() {
        let folder = tempfile::tempdir().unwrap();
        let (db, timeline, supervisor, failures) = timeline_in(folder.path()).await;
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
