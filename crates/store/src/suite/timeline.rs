//! The event log's promises.

use futures::future::join_all;
use missiond_core::{Category, Event, PtyState, Seq, SlotId, TaskId, TimelineEvent, TraceContext};

use super::fixtures::{PATIENCE, minutes_later, noon, note, open, text_of};
use crate::timeline::{self, Page, SortOrder, TimelineFilter};
use crate::{DbUrl, Engine, MissionDb, NewEvent, StoreError};

pub async fn appends_by_64_producers_are_gapless_and_in_order(url: DbUrl) {
    const PRODUCERS: i64 = 64;
    const EACH: i64 = 10;
    let db = open(&url).await;
    let producers = (0..PRODUCERS).map(|producer| {
        let db = db.clone();
        tokio::spawn(async move {
            let mut places = Vec::new();
            for number in 0..EACH {
                let text = format!("{producer}/{number}");
                let given = db.append(&[note(&text)]).await.unwrap();
                places.push((given[0], text));
            }
            places
        })
    });
    let mut acknowledged = Vec::new();
    for places in join_all(producers).await {
        let places = places.unwrap();
        assert!(places.is_sorted(), "a producer's events are out of order");
        acknowledged.extend(places);
    }
    acknowledged.sort();
    let expected: Vec<_> = (1..=PRODUCERS * EACH).map(Seq).collect();
    let given: Vec<_> = acknowledged.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(given, expected);

    let stored = read_all(&db).await;
    let stored: Vec<_> = stored
        .iter()
        .map(|event| (event.seq.unwrap(), text_of(&event.event).to_owned()))
        .collect();
    assert_eq!(stored, acknowledged);
}

pub async fn a_reader_never_misses_an_event_of_two_daemons(url: DbUrl) {
    const WRITERS: usize = 4;
    const EACH: usize = 25;
    let daemons = [open(&url).await, open(&url).await];
    let reader = open(&url).await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let db = daemons[writer % 2].clone();
            tokio::spawn(async move {
                for number in 0..EACH {
                    // The fast path and the transaction path, in turns.
                    if number % 2 == 0 {
                        db.append(&[note("fast"), note("fast")]).await.unwrap();
                    } else {
                        let events = vec![note("slow"), note("slow")];
                        db.write(move |tx| {
                            Box::pin(async move { timeline::append(tx, &events).await })
                        })
                        .await
                        .unwrap();
                    }
                }
            })
        })
        .collect();
    let total = (WRITERS * EACH * 2) as i64;
    let mut cursor = Seq(0);
    while cursor.0 < total {
        let page = page_after(&reader, cursor, 7).await;
        for event in &page.events {
            assert_eq!(
                event.seq,
                Some(Seq(cursor.0 + 1)),
                "an event was passed over"
            );
            cursor.0 += 1;
        }
        assert_eq!(page.reached.unwrap_or(cursor), cursor);
        assert!(
            cursor.0 == total
                || !writers.iter().all(|writer| writer.is_finished())
                || page.reached.is_some()
                || page_after(&reader, cursor, 1).await.reached.is_some(),
            "all writers are done and {} events never came",
            total - cursor.0
        );
    }
    for written in join_all(writers).await {
        written.unwrap();
    }
}

pub async fn a_batch_stays_together(url: DbUrl) {
    let db = open(&url).await;
    let batches = (0..20).map(|batch| {
        let db = db.clone();
        async move {
            let events: Vec<_> = (0..batch).map(|_| note(batch.to_string())).collect();
            db.append(&events).await.unwrap()
        }
    });
    for (batch, places) in join_all(batches).await.into_iter().enumerate() {
        assert_eq!(places.len(), batch);
        assert!(places.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1));
    }
}

pub async fn an_event_reads_back_as_it_was_written(url: DbUrl) {
    let db = open(&url).await;
    let root = TraceContext::root();
    let new = NewEvent {
        trace: root.child(),
        event: Event::PtyStateChanged {
            slot: SlotId::generate(),
            from: PtyState::Starting,
            to: PtyState::Idle,
            confidence: 0.75,
            reason: "„bereit“ 准备好了 🚀".into(),
        },
        ..note("")
    };
    let places = db.append(std::slice::from_ref(&new)).await.unwrap();
    let expected = TimelineEvent {
        seq: Some(places[0]),
        at: new.at,
        daemon: new.daemon,
        trace: new.trace,
        event: new.event,
    };
    assert_eq!(read_all(&db).await, [expected]);
}

pub async fn a_large_event_reads_back(url: DbUrl) {
    let db = open(&url).await;
    let text = "mission ".repeat(128 * 1024);
    db.append(&[note(text.clone()), note("small")])
        .await
        .unwrap();
    let stored = read_all(&db).await;
    assert_eq!(stored.len(), 2);
    assert!(
        text_of(&stored[0].event) == text,
        "a megabyte came back changed"
    );
}

pub async fn events_are_found_by_kind_category_trace_time_and_place(url: DbUrl) {
    let db = open(&url).await;
    let chain = TraceContext::root();
    let task = TaskId::generate();
    let events = vec![
        note("1"),
        NewEvent {
            trace: chain,
            event: Event::TaskCreated { task },
            at: minutes_later(1),
            ..note("2")
        },
        NewEvent {
            trace: chain.child(),
            event: Event::TaskCompleted { task, slot: None },
            at: minutes_later(2),
            ..note("3")
        },
        NewEvent {
            at: minutes_later(3),
            ..note("4")
        },
    ];
    db.append(&events).await.unwrap();
    let all = TimelineFilter::default;
    let kinds = |kinds: &[&str]| {
        kinds
            .iter()
            .map(|&kind| kind.to_owned())
            .collect::<Vec<_>>()
    };
    let cases: Vec<(&str, TimelineFilter, &[i64])> = vec![
        ("all", all(), &[1, 2, 3, 4]),
        (
            "one kind",
            TimelineFilter {
                kinds: kinds(&["task_created"]),
                ..all()
            },
            &[2],
        ),
        (
            "kinds of two categories",
            TimelineFilter {
                kinds: kinds(&["task_created", "note_added"]),
                ..all()
            },
            &[1, 2, 4],
        ),
        (
            "a kind nobody knows",
            TimelineFilter {
                kinds: kinds(&["no_such_kind", "task_created"]),
                ..all()
            },
            &[2],
        ),
        (
            "a category",
            TimelineFilter {
                categories: vec![Category::Task],
                ..all()
            },
            &[2, 3],
        ),
        (
            "a trace",
            TimelineFilter {
                trace_id: Some(chain.trace_id),
                ..all()
            },
            &[2, 3],
        ),
        (
            "a span of time, its end not included",
            TimelineFilter {
                since: Some(minutes_later(1)),
                until: Some(minutes_later(3)),
                ..all()
            },
            &[2, 3],
        ),
        (
            "between two places",
            TimelineFilter {
                after: Some(Seq(1)),
                before: Some(Seq(4)),
                ..all()
            },
            &[2, 3],
        ),
        (
            "the newest two",
            TimelineFilter {
                limit: 2,
                order: SortOrder::NewestFirst,
                ..all()
            },
            &[4, 3],
        ),
        (
            "everything at once",
            TimelineFilter {
                kinds: kinds(&["task_completed"]),
                categories: vec![Category::Task],
                trace_id: Some(chain.trace_id),
                since: Some(noon()),
                until: Some(minutes_later(9)),
                after: Some(Seq(1)),
                before: Some(Seq(9)),
                limit: 5,
                order: SortOrder::NewestFirst,
            },
            &[3],
        ),
    ];
    for (name, filter, expected) in cases {
        let page = db
            .read(move |tx| Box::pin(async move { timeline::query(tx, &filter).await }))
            .await
            .unwrap();
        assert_eq!(seqs_of(&page.events), expected, "{name}");
    }
    let traced = db
        .read(move |tx| Box::pin(timeline::trace(tx, chain.trace_id)))
        .await
        .unwrap();
    assert_eq!(seqs_of(&traced), [2, 3]);
}

pub async fn an_unknown_kind_is_passed_over_and_counted(url: DbUrl) {
    let db = open(&url).await;
    db.append(&[note("before"), note("from the future"), note("after")])
        .await
        .unwrap();
    // What a newer daemon on the same database would have written.
    db.write(|tx| {
        Box::pin(async move {
            let payload = r#"{"type":"warp_engaged","factor":9}"#;
            let sql = "UPDATE system_timeline SET kind = $1, payload = $2 WHERE seq = 2";
            tx.execute(sql, &["warp_engaged".into(), payload.into()])
                .await
        })
    })
    .await
    .unwrap();

    let page = page_after(&db, Seq(0), 10).await;
    assert_eq!(seqs_of(&page.events), [1, 3]);
    assert_eq!((page.unreadable, page.reached), (1, Some(Seq(3))));
    let only_unknown = page_after(&db, Seq(1), 1).await;
    let expected = Page {
        events: vec![],
        unreadable: 1,
        reached: Some(Seq(2)),
    };
    assert_eq!(only_unknown, expected, "the cursor must be able to pass it");
    assert_eq!(page_after(&db, Seq(3), 10).await.reached, None);
}

pub async fn an_ephemeral_event_is_not_stored(url: DbUrl) {
    let db = open(&url).await;
    let ephemeral = NewEvent {
        event: Event::PtyOutput {
            slot: SlotId::generate(),
            offset: 0,
            bytes: 1,
        },
        ..note("")
    };
    let refused = db.append(&[note("kept?"), ephemeral]).await.unwrap_err();
    assert!(
        matches!(refused, StoreError::InvalidValue { .. }),
        "{refused}"
    );
    assert_eq!(read_all(&db).await, []);
}

pub async fn an_event_and_its_change_are_kept_or_lost_together(url: DbUrl) {
    let db = open(&url).await;
    let lost = db
        .write(|tx| {
            Box::pin(async move {
                timeline::append(tx, &[note("lost")]).await?;
                Err::<(), _>(StoreError::conflict("changed my mind"))
            })
        })
        .await;
    assert!(lost.is_err());
    let kept = db
        .write(|tx| {
            Box::pin(async move { timeline::append(tx, &[note("kept"), note("also")]).await })
        })
        .await
        .unwrap();
    assert_eq!(kept, [Seq(1), Seq(2)], "a lost event leaves no hole");
    assert_eq!(db.append(&[note("next")]).await.unwrap(), [Seq(3)]);
    let texts: Vec<_> = read_all(&db).await;
    let texts: Vec<_> = texts.iter().map(|event| text_of(&event.event)).collect();
    assert_eq!(texts, ["kept", "also", "next"]);
}

pub async fn word_of_new_events_arrives(url: DbUrl) {
    let (here, there) = (open(&url).await, open(&url).await);
    let mut hints = match here.engine() {
        // On SQLite a handle hears of its own commits.
        Engine::Sqlite => here.head_hints(),
        Engine::Postgres => there.head_hints(),
    };
    assert_eq!(*hints.borrow(), Seq(0));
    here.append(&[note("fast"), note("fast")]).await.unwrap();
    wait_for_head(&mut hints, Seq(2)).await;
    here.write(|tx| Box::pin(async move { timeline::append(tx, &[note("slow")]).await }))
        .await
        .unwrap();
    wait_for_head(&mut hints, Seq(3)).await;
    let later = open(&url).await;
    assert_eq!(*later.head_hints().borrow(), Seq(3), "known from the start");
}

async fn wait_for_head(hints: &mut tokio::sync::watch::Receiver<Seq>, head: Seq) {
    let heard = tokio::time::timeout(PATIENCE, hints.wait_for(|&known| known >= head)).await;
    heard
        .unwrap_or_else(|_| panic!("no word of event {head} came"))
        .unwrap();
}

async fn page_after(db: &MissionDb, after: Seq, limit: u32) -> Page {
    db.read(move |tx| Box::pin(timeline::read_after(tx, after, limit)))
        .await
        .unwrap()
}

async fn read_all(db: &MissionDb) -> Vec<TimelineEvent> {
    let page = page_after(db, Seq(0), 100_000).await;
    assert_eq!(page.unreadable, 0);
    page.events
}

fn seqs_of(events: &[TimelineEvent]) -> Vec<i64> {
    events.iter().map(|event| event.seq.unwrap().0).collect()
}
