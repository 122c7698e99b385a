//! What the overview reads at once.

use super::*;
use crate::overview;

pub async fn board_the_overview_reads_every_task_with_its_last_attempt(url: DbUrl) {
    let db = open(&url).await;
    let (done, runs, blocked) = (
        titled(&db, "done", &[]).await,
        titled(&db, "runs", &[]).await,
        titled(&db, "blocked", &[]).await,
    );
    titled(&db, "waits", &[runs]).await;
    let first = claim(&db, done, noon()).await;
    let round = |number: u32, passed: bool| {
        let attempt = first.attempt.id;
        let evidence = Evidence {
            attempt,
            round: number,
            check: "test".into(),
            exit: Some(i32::from(!passed)),
            signal: None,
            timed_out: false,
            passed,
            tail: String::new(),
            commit: None,
            at: noon(),
            millis: 1,
            note: None,
        };
        let token = first.attempt.token;
        write(&db, move |tx| {
            Box::pin(async move {
                board::record_evidence(tx, attempt, token, number, &[evidence], &act(noon())).await
            })
        })
    };
    round(1, false).await;
    round(2, true).await;
    finish(&db, &first, Outcome::Verified, minutes_later(1)).await;
    let second = claim(&db, runs, minutes_later(2)).await;
    let third = claim(&db, blocked, minutes_later(2)).await;
    finish(&db, &third, Outcome::NeedsPerson, minutes_later(3)).await;
    let read = |since| {
        let db = &db;
        async move {
            db.read(move |tx| {
                Box::pin(async move {
                    let standing = board::standing(tx, minutes_later(4)).await?;
                    let (finished, count) = board::finished_after(tx, since, None, 1).await?;
                    let elsewhere = board::finished_after(tx, since, Some("/elsewhere"), 1);
                    assert_eq!(elsewhere.await?, (Vec::new(), 0));
                    let ids: Vec<_> = standing.iter().chain(&finished).map(|one| one.id).collect();
                    let attempts = board::last_attempts(tx, &ids).await?;
                    let of: Vec<_> = attempts.iter().map(|one| one.id).collect();
                    let rounds = board::last_rounds(tx, &of).await?;
                    let open = board::open_tasks(tx, minutes_later(4)).await?;
                    assert_eq!(board::tasks_with(tx, &ids).await?.len(), ids.len());
                    Ok((standing, finished, count, attempts, rounds, open))
                })
            })
            .await
            .unwrap()
        }
    };
    let (standing, finished, count, attempts, rounds, tasks) = read(noon()).await;
    let titles: Vec<_> = standing.iter().map(|task| task.title.as_str()).collect();
    assert_eq!(titles, ["runs", "blocked"]);
    assert_eq!((finished[0].title.as_str(), count), ("done", 1));
    assert_eq!(attempts.len(), 3);
    assert!(attempts.iter().any(|one| one.id == second.attempt.id));
    assert_eq!(
        rounds,
        [board::LastRound {
            attempt: first.attempt.id,
            round: 2,
            passed: 1,
            failed: 0
        }]
    );
    assert_eq!((tasks.ready, tasks.waiting), (0, 1));
    let (_, finished, count, ..) = read(minutes_later(1)).await;
    assert_eq!((finished.len(), count), (0, 0));
}

pub async fn what_was_seen_moves_forwards_only(url: DbUrl) {
    let db = open(&url).await;
    let mark = |until| {
        let db = &db;
        async move { write(db, move |tx| Box::pin(overview::set_seen(tx, until))).await }
    };
    let seen = db.read(|tx| Box::pin(overview::seen(tx))).await.unwrap();
    assert_eq!(seen, None);
    assert_eq!(mark(minutes_later(5)).await, minutes_later(5));
    assert_eq!(mark(minutes_later(2)).await, minutes_later(5));
    assert_eq!(mark(minutes_later(6)).await, minutes_later(6));
}
