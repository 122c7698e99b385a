//! What a transaction promises, whatever is in it.

use futures::future::join_all;
use missiond_core::Seq;

use super::fixtures::{note, open};
use crate::{DbUrl, MissionDb, StoreError, Tx, Value, timeline, watermarks};

pub async fn a_failing_job_takes_back_only_itself(url: DbUrl) {
    let db = open(&url).await;
    let jobs = (0..60).map(|number| {
        let db = db.clone();
        async move {
            db.write(move |tx| {
                Box::pin(async move {
                    watermarks::advance(tx, &format!("c{number:02}"), Seq(number)).await?;
                    match number % 3 {
                        0 => Err(StoreError::conflict(format!("job {number} fails"))),
                        _ => Ok(number),
                    }
                })
            })
            .await
        }
    });
    for (number, outcome) in join_all(jobs).await.into_iter().enumerate() {
        let number = number as i64;
        match number % 3 {
            0 => assert_eq!(
                outcome,
                Err(StoreError::conflict(format!("job {number} fails")))
            ),
            _ => assert_eq!(outcome, Ok(number)),
        }
    }
    let kept: Vec<_> = cursors(&db)
        .await
        .into_iter()
        .map(|(_, seq)| seq.0)
        .collect();
    let expected: Vec<_> = (0..60).filter(|number| number % 3 != 0).collect();
    assert_eq!(kept, expected);
}

pub async fn a_panic_is_an_error_for_its_caller_alone(url: DbUrl) {
    let db = open(&url).await;
    let panicking = |when: &'static str| {
        let db = db.clone();
        async move {
            db.write::<(), _>(move |tx| {
                assert!(when != "at once", "a panic {when}");
                Box::pin(async move {
                    watermarks::advance(tx, "panicked", Seq(1)).await?;
                    panic!("a panic {when}");
                })
            })
            .await
        }
    };
    let fine = {
        let db = db.clone();
        async move { advance(&db, "fine", 1).await }
    };
    let (early, fine, late) = tokio::join!(panicking("at once"), fine, panicking("later"));
    for (outcome, said) in [(early, "a panic at once"), (late, "a panic later")] {
        match outcome {
            Err(StoreError::Internal { detail }) => assert!(detail.contains(said), "{detail}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(fine, Ok(()));
    let in_read = db
        .read::<(), _>(|_| Box::pin(async { panic!("in a reader") }))
        .await;
    assert!(
        matches!(in_read, Err(StoreError::Internal { .. })),
        "{in_read:?}"
    );
    assert_eq!(cursors(&db).await, [("fine".into(), Seq(1))]);
    advance(&db, "after", 2).await.unwrap();
}

pub async fn after_a_failed_statement_nothing_is_kept(url: DbUrl) {
    let db = open(&url).await;
    let outcome = db
        .write(|tx| {
            Box::pin(async move {
                watermarks::advance(tx, "before", Seq(1)).await?;
                let again = "INSERT INTO watermarks (consumer, seq) VALUES ($1, $2)";
                let failed = tx.execute(again, &["before".into(), Value::Int(2)]).await;
                assert!(
                    matches!(failed, Err(StoreError::Conflict { .. })),
                    "{failed:?}"
                );
                // What follows a failure must not pass unnoticed, even if the
                // failure itself was ignored.
                let ignored = tx.execute(again, &["after".into(), Value::Int(3)]).await;
                assert_eq!(ignored, failed);
                Ok(())
            })
        })
        .await;
    assert!(
        matches!(outcome, Err(StoreError::Conflict { .. })),
        "{outcome:?}"
    );
    assert_eq!(cursors(&db).await, []);
    advance(&db, "usable", 1).await.unwrap();
}

pub async fn a_database_opened_for_looking_is_read_and_never_written(url: DbUrl) {
    let db = open(&url).await;
    db.append(&[note("one")]).await.unwrap();
    let look = MissionDb::open_read_only(&url).await.unwrap();
    let head = |db: &MissionDb| {
        let db = db.clone();
        async move { db.read(|tx| Box::pin(timeline::head(tx))).await.unwrap() }
    };
    assert_eq!(head(&look).await, Seq(1));
    // Beside one that writes, it sees what is written.
    db.append(&[note("two")]).await.unwrap();
    assert_eq!(head(&look).await, Seq(2));
    let refused = look.append(&[note("three")]).await.unwrap_err();
    assert!(
        refused.to_string().contains("for looking only"),
        "{refused}"
    );
    let refused = look
        .write(|tx| Box::pin(async move { tx.execute("DELETE FROM system_timeline", &[]).await }))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("for looking only"),
        "{refused}"
    );
    look.close().await.unwrap();
    assert_eq!(head(&db).await, Seq(2));
    // And when nobody else has it open.
    db.close().await.unwrap();
    let look = MissionDb::open_read_only(&url).await.unwrap();
    assert_eq!(head(&look).await, Seq(2));
    look.close().await.unwrap();
}

pub async fn a_reader_cannot_write(url: DbUrl) {
    let db = open(&url).await;
    let outcome = db
        .read(|tx| Box::pin(watermarks::advance(tx, "sneaky", Seq(1))))
        .await;
    assert!(
        matches!(outcome, Err(StoreError::ReadOnly { .. })),
        "{outcome:?}"
    );
    assert_eq!(cursors(&db).await, []);
}

pub async fn a_reader_sees_one_moment(url: DbUrl) {
    let db = open(&url).await;
    advance(&db, "consumer", 1).await.unwrap();
    let (saw, told) = std::sync::mpsc::channel();
    let (proceed, wait) = std::sync::mpsc::channel::<()>();
    let reading = {
        let db = db.clone();
        tokio::spawn(async move {
            db.read(move |tx| {
                Box::pin(async move {
                    let first = watermarks::get(tx, "consumer").await?;
                    saw.send(()).unwrap();
                    tokio::task::block_in_place(|| wait.recv()).unwrap();
                    Ok((first, watermarks::get(tx, "consumer").await?))
                })
            })
            .await
        })
    };
    tokio::task::block_in_place(|| told.recv()).unwrap();
    advance(&db, "consumer", 2).await.unwrap();
    proceed.send(()).unwrap();
    let seen = reading.await.unwrap().unwrap();
    assert_eq!(seen, (Some(Seq(1)), Some(Seq(1))));
    assert_eq!(cursors(&db).await, [("consumer".into(), Seq(2))]);
}

pub async fn every_value_survives(url: DbUrl) {
    let db = open(&url).await;
    let rows = vec![
        [Value::Null, Value::Null, Value::Null, Value::Null],
        [
            Value::Int(i64::MIN),
            Value::Real(-0.1),
            Value::Text(String::new()),
            Value::Bytes(vec![]),
        ],
        [
            Value::Int(i64::MAX),
            Value::Real(f64::MAX),
            Value::Text("it's „$1“ — ?2 准备 🚀\r\n\t\\".into()),
            Value::Bytes((0..=255).collect()),
        ],
    ];
    let written = rows.clone();
    let read = db
        .write(move |tx| {
            Box::pin(async move {
                let table = "CREATE TABLE things (n bigint, a bigint, b double precision, \
                     c text, d bytea)";
                tx.execute(table, &[]).await?;
                for (number, [a, b, c, d]) in written.into_iter().enumerate() {
                    // The parameters stand out of order, as SQL allows.
                    let sql = "INSERT INTO things (d, c, b, a, n) VALUES ($5, $4, $3, $2, $1)";
                    let number = Value::Int(number as i64);
                    assert_eq!(tx.execute(sql, &[number, a, b, c, d]).await?, 1);
                }
                let sql = "SELECT a, b, c, d FROM things WHERE n < $2 AND n < $2 + $1 ORDER BY n";
                tx.query(sql, &[Value::Int(1), Value::Int(3)]).await
            })
        })
        .await
        .unwrap();
    let read: Vec<_> = read.into_iter().map(|row| row.0).collect();
    let rows: Vec<_> = rows.into_iter().map(Vec::from).collect();
    assert_eq!(read, rows);
}

pub async fn text_with_a_nul_is_refused(url: DbUrl) {
    let db = open(&url).await;
    let outcome = advance(&db, "nul\0nul", 1).await;
    assert!(
        matches!(outcome, Err(StoreError::InvalidValue { .. })),
        "{outcome:?}"
    );
    // In an event it is escaped, so an event may hold it.
    db.append(&[note("nul\0nul")]).await.unwrap();
    let page = db
        .read(|tx| Box::pin(timeline::read_after(tx, Seq(0), 10)))
        .await
        .unwrap();
    assert_eq!(super::fixtures::text_of(&page.events[0].event), "nul\0nul");
}

pub async fn a_closed_database_says_so_and_keeps_everything(url: DbUrl) {
    let db = open(&url).await;
    let clone = db.clone();
    let asked_before = (0..40).map(|_| {
        let db = db.clone();
        tokio::spawn(async move { db.append(&[note("before")]).await })
    });
    let mut kept = 0;
    let asked_before: Vec<_> = asked_before.collect();
    db.close().await.unwrap();
    for outcome in join_all(asked_before).await {
        match outcome.unwrap() {
            Ok(_) => kept += 1,
            Err(error) => assert_eq!(error, StoreError::Closed),
        }
    }
    assert_eq!(
        clone.append(&[note("after")]).await,
        Err(StoreError::Closed)
    );
    assert_eq!(advance(&clone, "after", 1).await, Err(StoreError::Closed));
    let read = clone.read(|tx| Box::pin(timeline::head(tx))).await;
    assert_eq!(read, Err(StoreError::Closed));
    assert_eq!(clone.close().await, Ok(()), "closing twice is fine");

    let reopened = open(&url).await;
    let head = reopened.read(|tx| Box::pin(timeline::head(tx))).await;
    assert_eq!(
        head,
        Ok(Seq(kept)),
        "exactly what was acknowledged is there"
    );
}

async fn advance(db: &MissionDb, consumer: &'static str, to: i64) -> Result<(), StoreError> {
    db.write(move |tx: &mut Tx<'_>| Box::pin(watermarks::advance(tx, consumer, Seq(to))))
        .await
}

async fn cursors(db: &MissionDb) -> Vec<(String, Seq)> {
    db.read(|tx| Box::pin(watermarks::list(tx))).await.unwrap()
}
