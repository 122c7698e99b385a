//! Cursors, slots, incidents, runs and activity.

use missiond_core::{
    CliEngine, DaemonId, DaemonRun, ErrorCode, Incident, IncidentId, IncidentState, RunEnd, Seq,
    Severity,
};

use super::fixtures::{minutes_later, noon, open, slot};
use crate::activity::{self, Activity};
use crate::daemon_state::CrashMark;
use crate::incidents::{self, IncidentFilter, Report};
use crate::slots::{self, SlotFilter};
use crate::{DbUrl, daemon_state, watermarks};

pub async fn a_cursor_never_goes_back(url: DbUrl) {
    let db = open(&url).await;
    let advance = |to| {
        let db = db.clone();
        async move {
            db.write(move |tx| Box::pin(watermarks::advance(tx, "digest", Seq(to))))
                .await
        }
    };
    let at = || async {
        db.read(|tx| Box::pin(watermarks::get(tx, "digest")))
            .await
            .unwrap()
    };
    assert_eq!(at().await, None);
    advance(5).await.unwrap();
    advance(5).await.unwrap();
    advance(9).await.unwrap();
    let back = advance(8).await.unwrap_err();
    assert_eq!(
        back.to_string(),
        "the cursor of digest is at 9 and cannot go back to 8"
    );
    assert_eq!(back.code(), ErrorCode::Conflict);
    assert_eq!(at().await, Some(Seq(9)));
}

pub async fn a_slot_name_is_free_again_after_closing(url: DbUrl) {
    let db = open(&url).await;
    let first = slot("builder", CliEngine::Claude);
    let second = slot("builder", CliEngine::Codex);
    let register = |slot: missiond_core::Slot| {
        let db = db.clone();
        async move {
            db.write(move |tx| Box::pin(async move { slots::register(tx, &slot).await }))
                .await
        }
    };
    let list = |filter| {
        let db = db.clone();
        async move {
            db.read(move |tx| Box::pin(slots::list(tx, filter)))
                .await
                .unwrap()
        }
    };
    let close = |id| {
        let db = db.clone();
        async move {
            db.write(move |tx| Box::pin(slots::close(tx, id, minutes_later(1))))
                .await
        }
    };
    register(first.clone()).await.unwrap();
    let taken = register(second.clone()).await.unwrap_err();
    assert_eq!(taken.to_string(), "a slot named builder is already open");
    close(first.id).await.unwrap();
    assert_eq!(
        close(first.id).await.unwrap_err().code(),
        ErrorCode::Conflict
    );
    assert_eq!(
        close(second.id).await.unwrap_err().code(),
        ErrorCode::NotFound
    );
    register(second.clone()).await.unwrap();

    let closed = missiond_core::Slot {
        closed_at: Some(minutes_later(1)),
        ..first.clone()
    };
    let found = db
        .read(|tx| Box::pin(slots::find(tx, "builder")))
        .await
        .unwrap();
    assert_eq!(found.as_ref(), Some(&second));
    let gotten = db
        .read(move |tx| Box::pin(slots::get(tx, first.id)))
        .await
        .unwrap();
    assert_eq!(gotten.as_ref(), Some(&closed));
    assert_eq!(list(SlotFilter::Open).await, std::slice::from_ref(&second));
    assert_eq!(list(SlotFilter::All).await, [closed, second]);
}

pub async fn the_same_incident_is_counted_not_repeated(url: DbUrl) {
    let db = open(&url).await;
    let report = |subject: &str, severity, summary: &str, minute| {
        let db = db.clone();
        let report = Report {
            kind: "disk_full".into(),
            subject: subject.into(),
            severity,
            summary: summary.into(),
        };
        async move {
            db.write(move |tx| {
                Box::pin(async move { incidents::report(tx, &report, minutes_later(minute)).await })
            })
            .await
            .unwrap()
        }
    };
    let first = report("/data", Severity::Warning, "nearly full", 0).await;
    let again = report("/data", Severity::Error, "full", 1).await;
    let expected = Incident {
        severity: Severity::Error,
        summary: "full".into(),
        occurrences: 2,
        last_seen_at: minutes_later(1),
        ..first.clone()
    };
    assert_eq!(again, expected);
    let other = report("/home", Severity::Info, "elsewhere", 2).await;
    assert_eq!(other.occurrences, 1);

    let resolve = |id| {
        let db = db.clone();
        async move {
            db.write(move |tx| Box::pin(incidents::resolve(tx, id, minutes_later(3))))
                .await
        }
    };
    let resolved = resolve(first.id).await.unwrap();
    assert_eq!(resolved.state, IncidentState::Resolved);
    assert_eq!(
        resolve(first.id).await.unwrap_err().code(),
        ErrorCode::Conflict
    );
    let unknown = resolve(IncidentId::generate()).await.unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::NotFound);
    let anew = report("/data", Severity::Error, "full again", 4).await;
    assert_ne!(anew.id, first.id);
    assert_eq!(anew.occurrences, 1);

    let list = |state| {
        let db = db.clone();
        let filter = IncidentFilter { state, limit: 9 };
        async move {
            db.read(move |tx| Box::pin(async move { incidents::list(tx, &filter).await }))
                .await
                .unwrap()
        }
    };
    assert_eq!(
        list(Some(IncidentState::Open)).await,
        [anew.clone(), other.clone()]
    );
    assert_eq!(
        list(Some(IncidentState::Resolved)).await,
        std::slice::from_ref(&resolved)
    );
    assert_eq!(list(None).await, [anew, other, resolved.clone()]);
    let gotten = db
        .read(move |tx| Box::pin(incidents::get(tx, resolved.id)))
        .await
        .unwrap();
    assert_eq!(gotten, Some(resolved));

    let kinds = |subject: &'static str| {
        let db = db.clone();
        async move {
            db.read(move |tx| Box::pin(incidents::open_kinds(tx, subject)))
                .await
                .unwrap()
        }
    };
    let over = |subject: &'static str| {
        let db = db.clone();
        async move {
            db.write(move |tx| {
                Box::pin(incidents::resolve_open(
                    tx,
                    "disk_full",
                    subject,
                    minutes_later(5),
                ))
            })
            .await
            .unwrap()
        }
    };
    assert_eq!(kinds("/home").await, ["disk_full"]);
    let ended = over("/home").await.unwrap();
    assert_eq!(ended.resolved_at, Some(minutes_later(5)));
    assert_eq!(over("/home").await, None);
    assert_eq!(kinds("/home").await, Vec::<String>::new());
    assert_eq!(kinds("/data").await, ["disk_full"]);
}

pub async fn a_run_without_an_end_is_found_by_the_next(url: DbUrl) {
    let db = open(&url).await;
    let run = |host: &str, minute| DaemonRun {
        id: DaemonId::generate(),
        host: host.into(),
        pid: 4_000_000_000,
        version: "0.1.0".into(),
        started_at: minutes_later(minute),
        ended_at: None,
        end: None,
    };
    let begin = |run: &DaemonRun| {
        let (db, run) = (db.clone(), run.clone());
        async move {
            db.write(move |tx| Box::pin(async move { daemon_state::begin_run(tx, &run).await }))
                .await
        }
    };
    let (crashed, elsewhere, clean, next) = (
        run("here", 0),
        run("there", 1),
        run("here", 2),
        run("here", 3),
    );
    let silent = |minute| {
        let db = db.clone();
        async move {
            let since = minutes_later(minute);
            db.read(move |tx| Box::pin(daemon_state::silent_since(tx, since)))
                .await
                .unwrap()
        }
    };
    for run in [&crashed, &elsewhere, &clean] {
        begin(run).await.unwrap();
    }
    assert_eq!(silent(0).await, []);
    assert_eq!(silent(2).await, [crashed.clone(), elsewhere.clone()]);
    let twice = begin(&clean).await.unwrap_err();
    assert_eq!(twice.code(), ErrorCode::Conflict);

    let (crashed_id, clean_id) = (crashed.id, clean.id);
    db.write(move |tx| {
        Box::pin(async move {
            daemon_state::heartbeat(tx, clean_id, minutes_later(5)).await?;
            daemon_state::end_run(tx, clean_id, minutes_later(6)).await?;
            let found = daemon_state::mark_crashed(tx, crashed_id, minutes_later(6)).await?;
            assert_eq!(found, CrashMark::New);
            let again = daemon_state::mark_crashed(tx, crashed_id, minutes_later(7)).await?;
            assert_eq!(again, CrashMark::AlreadyEnded);
            let clean = daemon_state::mark_crashed(tx, clean_id, minutes_later(7)).await?;
            assert_eq!(clean, CrashMark::AlreadyEnded);
            Ok(())
        })
    })
    .await
    .unwrap();
    begin(&next).await.unwrap();
    assert_eq!(silent(3).await, std::slice::from_ref(&elsewhere));
    let late = db
        .write(move |tx| Box::pin(daemon_state::heartbeat(tx, clean_id, minutes_later(7))))
        .await
        .unwrap_err();
    assert_eq!(late.code(), ErrorCode::Conflict);
    let beat = db
        .read(move |tx| Box::pin(daemon_state::last_heartbeat(tx, clean_id)))
        .await
        .unwrap();
    assert_eq!(beat, Some(minutes_later(5)));
    let ended = |run: DaemonRun, end| DaemonRun {
        ended_at: Some(minutes_later(6)),
        end: Some(end),
        ..run
    };
    let listed = db
        .read(|tx| Box::pin(daemon_state::list(tx, 9)))
        .await
        .unwrap();
    let expected = [
        next,
        ended(clean, RunEnd::Clean),
        elsewhere,
        ended(crashed, RunEnd::Crashed),
    ];
    assert_eq!(listed, expected);

    let seen = db
        .read(move |tx| {
            Box::pin(async move {
                let all = daemon_state::seen_since(tx, "here", minutes_later(0), 9).await?;
                let newest = daemon_state::seen_since(tx, "here", minutes_later(0), 1).await?;
                let late = daemon_state::seen_since(tx, "here", minutes_later(6), 9).await?;
                Ok([all, newest, late])
            })
        })
        .await
        .unwrap();
    let [all, newest, late] = seen.map(|runs| {
        let minute = |run: &daemon_state::SeenRun| run.last_seen.since(minutes_later(0));
        let minutes = runs.iter().map(|run| minute(run).as_secs() / 60);
        minutes.collect::<Vec<_>>()
    });
    assert_eq!((all, newest), (vec![0, 5, 3], vec![3]));
    assert_eq!(
        late,
        [0, 5],
        "both had ended by then, and the next was not heard of"
    );

    // It had only slept.
    db.write(move |tx| Box::pin(daemon_state::heartbeat(tx, crashed_id, minutes_later(8))))
        .await
        .unwrap();
    let awake = db
        .read(move |tx| Box::pin(daemon_state::get(tx, crashed_id)))
        .await
        .unwrap();
    assert_eq!(awake.and_then(|run| run.end), None);
}

pub async fn activity_is_counted_by_the_hour(url: DbUrl) {
    let db = open(&url).await;
    db.write(|tx| {
        Box::pin(async move {
            activity::add(tx, minutes_later(59), "note_added", 2).await?;
            activity::add(tx, noon(), "note_added", 3).await?;
            activity::add(tx, noon(), "task_created", 1).await?;
            activity::add(tx, minutes_later(60), "note_added", 7).await
        })
    })
    .await
    .unwrap();
    let since = |at| {
        let db = db.clone();
        async move {
            db.read(move |tx| Box::pin(activity::since(tx, at)))
                .await
                .unwrap()
        }
    };
    let row = |hour, kind: &str, count| Activity {
        hour,
        kind: kind.into(),
        count,
    };
    let next_hour = row(minutes_later(60), "note_added", 7);
    assert_eq!(
        since(minutes_later(30)).await,
        [
            row(noon(), "note_added", 5),
            row(noon(), "task_created", 1),
            next_hour.clone()
        ]
    );
    assert_eq!(since(minutes_later(61)).await, [next_hour]);
}
