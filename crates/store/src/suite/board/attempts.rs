//! Who may work on a task, until when, and what becomes of the attempt.

use missiond_core::{ExecutionId, ObservationId, PullRequest, QuestionOrigin};

use super::*;
use crate::questions::{self, NewQuestion};

pub async fn board_a_late_result_is_refused(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "slow", &[]).await;
    let old = claim(&db, id, noon()).await;
    let (attempt, token) = (old.attempt.id, old.attempt.token);
    let beat = |now| {
        let db = &db;
        async move {
            db.write(move |tx| {
                Box::pin(async move {
                    board::heartbeat(tx, attempt, token, Duration::from_secs(600), &act(now)).await
                })
            })
            .await
        }
    };
    let lease = beat(minutes_later(5)).await.unwrap();
    assert_eq!(lease.expires_at, minutes_later(15));
    let expire = |now| {
        let db = &db;
        async move {
            write(db, move |tx| {
                Box::pin(async move { board::expire(tx, &act(now)).await })
            })
            .await
        }
    };
    assert_eq!(expire(minutes_later(14)).await, []);
    let late = try_finish(&db, attempt, token, Outcome::Verified, minutes_later(15)).await;
    assert_eq!(late.unwrap_err().code(), ErrorCode::StaleLease);
    let expired = expire(minutes_later(15)).await;
    assert_eq!(expired.len(), 1);
    assert_eq!(expired[0].attempt.outcome, Some(Outcome::Expired));
    assert_eq!(expired[0].task.status, BoardTaskStatus::Open);
    assert_eq!(expire(minutes_later(15)).await, [], "each is told once");
    assert_eq!(
        events_of_kind(&db, "lease_expired").await,
        [Event::LeaseExpired {
            resource: board::resource(id),
            holder: "worker".into(),
            token,
        }]
    );

    let new = claim(&db, id, minutes_later(16)).await;
    assert!(new.attempt.token > token);
    assert_eq!(new.attempt.number, 2);
    let late = try_finish(&db, attempt, token, Outcome::Verified, minutes_later(17)).await;
    assert_eq!(late.unwrap_err().code(), ErrorCode::StaleLease);
    assert!(beat(minutes_later(17)).await.is_err());
    assert_eq!(get(&db, id).await.status, BoardTaskStatus::Running);
    let done = finish(&db, &new, Outcome::Verified, minutes_later(18)).await;
    assert_eq!(done.status, BoardTaskStatus::Done);
    let twice = try_finish(
        &db,
        new.attempt.id,
        new.attempt.token,
        Outcome::Verified,
        minutes_later(18),
    );
    assert_eq!(twice.await.unwrap_err().code(), ErrorCode::StaleLease);
}

pub async fn board_attempts_back_off_and_end_at_the_cap(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "flaky", &[]).await;
    let mut now = noon();
    for wait in [10, 20] {
        let claimed = claim(&db, id, now).await;
        let task = finish(&db, &claimed, Outcome::AgentLost, now).await;
        let until = now.plus(Duration::from_secs(wait));
        assert_eq!(task.status, BoardTaskStatus::Open);
        assert_eq!(task.not_before, Some(until));
        assert_eq!(ready(&db, now).await, [""; 0]);
        let refused = try_claim(&db, id, "w", now).await.unwrap_err().to_string();
        assert!(
            refused.starts_with("T-1 will be tried again at "),
            "{refused}"
        );
        now = until;
        assert_eq!(ready(&db, now).await, ["flaky"]);
    }
    let claimed = claim(&db, id, now).await;
    let task = finish(&db, &claimed, Outcome::Stalled, now).await;
    assert_eq!(task.status, BoardTaskStatus::Failed);
    assert_eq!(
        task.blocked.as_deref(),
        Some("it was tried 3 times; at last: so it was")
    );
    let retried = write(&db, move |tx| {
        Box::pin(async move { board::retry(tx, id, LAST, &act(now)).await })
    })
    .await;
    assert_eq!((retried.status, retried.tries), (BoardTaskStatus::Open, 0));
    let claimed = claim(&db, id, now).await;
    assert_eq!(claimed.attempt.number, 4, "the history stays");
    let given_back = finish(&db, &claimed, Outcome::Superseded, now).await;
    assert_eq!((given_back.tries, given_back.not_before), (0, None));
}

const LAST: board::RetryFrom = board::RetryFrom::LastAttempt;

pub async fn board_only_what_was_tried_and_rests_is_tried_again(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "once", &[]).await;
    let retry = |from| {
        db.write(move |tx| Box::pin(async move { board::retry(tx, id, from, &act(noon())).await }))
    };
    let refused = retry(LAST).await.unwrap_err().to_string();
    assert!(refused.starts_with("T-1 was not tried yet"), "{refused}");
    let claimed = claim(&db, id, noon()).await;
    let refused = retry(LAST).await.unwrap_err().to_string();
    assert!(refused.starts_with("T-1 is being worked on"), "{refused}");
    assert_eq!(get(&db, id).await.status, BoardTaskStatus::Running);
    finish(&db, &claimed, Outcome::ChecksFailed, noon()).await;
    assert_eq!(retry(LAST).await.unwrap().status, BoardTaskStatus::Open);
    let abandoned = || async {
        let attempts = db.read(move |tx| Box::pin(board::attempts(tx, id))).await;
        let attempts = attempts.unwrap();
        attempts
            .iter()
            .map(|attempt| attempt.abandoned)
            .collect::<Vec<_>>()
    };
    assert_eq!(abandoned().await, [false]);
    retry(board::RetryFrom::Scratch).await.unwrap();
    assert_eq!(abandoned().await, [true]);
    claim(&db, id, noon()).await;
    assert_eq!(abandoned().await, [true, false]);
}

pub async fn board_work_in_a_pull_request_waits_for_it_in_review(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "judged elsewhere", &[]).await;
    let hand_over = |number| {
        db.write(move |tx| {
            Box::pin(async move {
                let opened = PullRequest {
                    number,
                    url: format!("https://example.org/pull/{number}"),
                    into: "main".into(),
                    attempt: 1,
                };
                board::hand_over(tx, id, &opened, &act(minutes_later(1))).await
            })
        })
    };
    let claimed = claim(&db, id, noon()).await;
    // What was opened while it is worked on again is not forgotten.
    let runs = hand_over(6).await.unwrap();
    assert_eq!(runs.status, BoardTaskStatus::Running);
    assert_eq!(runs.pull_request.map(|opened| opened.number), Some(6));
    finish(&db, &claimed, Outcome::ChecksFailed, noon()).await;
    // By a person, although it is blocked.
    let waits = hand_over(7).await.unwrap();
    let opened = waits.pull_request.clone();
    assert_eq!(waits.status, BoardTaskStatus::Review);
    assert_eq!(opened.as_ref().map(|opened| opened.number), Some(7));
    assert_eq!(get(&db, id).await, waits);
    let edit = board::TaskEdit {
        set: draft("renamed"),
        clear: Vec::new(),
    };
    let edited = write(&db, move |tx| {
        Box::pin(async move { board::edit(tx, id, edit, &act(noon())).await })
    })
    .await;
    assert_eq!(edited.pull_request, opened, "an edit leaves it");
    let blocked = write(&db, move |tx| {
        Box::pin(async move { board::block(tx, id, "it was closed", &act(noon())).await })
    })
    .await;
    assert_eq!(blocked.status, BoardTaskStatus::Blocked);
    assert_eq!(
        hand_over(8).await.unwrap().status,
        BoardTaskStatus::Review,
        "another one is opened"
    );
    let done = write(&db, move |tx| {
        Box::pin(async move { board::complete(tx, id, "autopilot", "merged", &act(noon())).await })
    })
    .await;
    assert_eq!(done.status, BoardTaskStatus::Done);
    assert_eq!(done.pull_request.map(|opened| opened.number), Some(8));
    assert_eq!(hand_over(9).await.unwrap().status, BoardTaskStatus::Done);
}

pub async fn board_work_in_review_waits_for_a_person_and_holds_back_what_needs_it(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "first", &[]).await;
    titled(&db, "second", &[id]).await;
    let submit = async || {
        let claimed = claim(&db, id, noon()).await;
        let (attempt, token) = (claimed.attempt.id, claimed.attempt.token);
        write(&db, move |tx| {
            Box::pin(async move { board::submit(tx, attempt, token, &act(noon())).await })
        })
        .await
    };
    let submitted = submit().await;
    assert_eq!(submitted.task.status, BoardTaskStatus::Review);
    assert_eq!(submitted.attempt.outcome, Some(Outcome::Verified));
    assert_eq!(ready(&db, noon()).await, [""; 0]);
    let limits = board::ReadyLimits::default();
    let waiting =
        db.read(move |tx| Box::pin(async move { board::waiting(tx, noon(), &limits).await }));
    let waiting = waiting.await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(
        waiting[0].waits[0].to_string(),
        "waits for T-1, which waits for your review"
    );

    // Sent back, it is worked on again; merged, it is done and lets the next begin.
    write(&db, move |tx| {
        Box::pin(async move { board::retry(tx, id, LAST, &act(noon())).await })
    })
    .await;
    submit().await;
    let done = write(&db, move |tx| {
        Box::pin(async move { board::complete(tx, id, "a person", "merged", &act(noon())).await })
    })
    .await;
    assert_eq!(done.status, BoardTaskStatus::Done);
    assert_eq!(ready(&db, noon()).await, ["second"]);
}

pub async fn board_64_claimers_claim_every_task_once(url: DbUrl) {
    const TASKS: usize = 200;
    let daemons = [open(&url).await, open(&url).await];
    let new: Vec<_> = (0..TASKS)
        .map(|number| NewBoardTask::open(draft(&format!("task {number}"))))
        .collect();
    let mut claims: BTreeMap<_, _> = new.iter().map(|new| (new.id, 0)).collect();
    write(&daemons[0], move |tx| {
        Box::pin(async move { board::add_graph(tx, new, &[], &act(noon())).await })
    })
    .await;
    let workers = (0..64).map(|worker| {
        let db = daemons[worker % 2].clone();
        tokio::spawn(async move {
            let mut mine = Vec::new();
            loop {
                let claimant = claimant(&format!("worker {worker}"));
                let claimed = write(&db, move |tx| {
                    Box::pin(async move {
                        let limits = ReadyLimits::default();
                        board::claim_next(tx, &claimant, &limits, &act(noon())).await
                    })
                })
                .await;
                match claimed {
                    Some(claimed) => mine.push(claimed.task.id),
                    None => return mine,
                }
            }
        })
    });
    for mine in join_all(workers).await {
        for id in mine.unwrap() {
            *claims.get_mut(&id).unwrap() += 1;
        }
    }
    assert!(claims.values().all(|&times| times == 1), "{claims:?}");
    assert_eq!(
        events_of_kind(&daemons[1], "board_task_claimed")
            .await
            .len(),
        TASKS
    );
}

pub async fn board_an_attempt_is_taken_over_under_a_new_token(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "left behind", &[]).await;
    let old = claim(&db, id, noon()).await;
    let attempt = old.attempt.id;
    let adopted = write(&db, move |tx| {
        Box::pin(
            async move { board::adopt(tx, attempt, "heir", TTL, &act(minutes_later(30))).await },
        )
    })
    .await;
    assert_eq!(
        adopted.attempt.execution, old.attempt.execution,
        "the agent is the same"
    );
    assert_eq!(adopted.attempt.number, 1);
    assert!(adopted.attempt.token > old.attempt.token);
    let late = try_finish(
        &db,
        attempt,
        old.attempt.token,
        Outcome::Error,
        minutes_later(31),
    );
    assert_eq!(late.await.unwrap_err().code(), ErrorCode::StaleLease);
    let found = db
        .read(|tx| Box::pin(board::live_attempts(tx)))
        .await
        .unwrap();
    assert_eq!(found, std::slice::from_ref(&adopted.attempt));
    let execution = old.attempt.execution.unwrap();
    let of_execution = db
        .read(move |tx| Box::pin(board::attempt_of_execution(tx, execution)))
        .await
        .unwrap();
    assert_eq!(of_execution, Some(adopted.attempt.clone()));
    let runs = [execution, ExecutionId::from_uuid(Default::default())];
    let of_runs = db
        .read(move |tx| Box::pin(async move { board::tasks_of_executions(tx, &runs).await }))
        .await
        .unwrap();
    let of_runs: Vec<_> = of_runs
        .into_iter()
        .map(|(run, task)| (run, task.id))
        .collect();
    assert_eq!(of_runs, [(execution, adopted.attempt.task)]);
    finish(&db, &adopted, Outcome::Verified, minutes_later(32)).await;
    let over = db
        .write(move |tx| {
            Box::pin(async move { board::adopt(tx, attempt, "x", TTL, &act(noon())).await })
        })
        .await;
    assert_eq!(over.unwrap_err().code(), ErrorCode::Conflict);
}

pub async fn board_claim_evidence_and_outcome_are_three_facts(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "checked", &[]).await;
    let claimed = claim(&db, id, noon()).await;
    let (attempt, token) = (claimed.attempt.id, claimed.attempt.token);
    let said = Claim {
        kind: ClaimKind::Completed,
        text: "all \"done\"".into(),
        at: minutes_later(1),
    };
    let evidence = |round, passed| Evidence {
        attempt,
        round,
        check: "cargo test".into(),
        exit: Some(if passed { 0 } else { 101 }),
        signal: None,
        timed_out: false,
        passed,
        tail: "…".into(),
        commit: Some("abc".into()),
        at: minutes_later(2),
        millis: 12,
        note: Some("left out a.pyc".into()),
    };
    let place = board::AttemptLocation {
        worktree: Some("/trees/a b".into()),
        branch: Some("mission/T-1".into()),
        ..board::AttemptLocation::default()
    };
    let (first, second) = (evidence(1, false), evidence(2, true));
    let rounds = [first.clone(), second.clone()];
    let kept = said.clone();
    let recorded = write(&db, move |tx| {
        Box::pin(async move {
            let act = act(minutes_later(2));
            board::record_location(tx, attempt, token, &place, &act).await?;
            board::record_claim(tx, attempt, token, kept, &act).await?;
            for (round, said) in (1..).zip([&first, &second]) {
                let one = std::slice::from_ref(said);
                board::record_evidence(tx, attempt, token, round, one, &act).await?;
                board::record_evidence(tx, attempt, token, round, one, &act).await?;
            }
            Ok(())
        })
    });
    recorded.await;
    let found = db
        .read(move |tx| Box::pin(board::evidence(tx, attempt)))
        .await
        .unwrap();
    assert_eq!(found, rounds, "a round is kept once");
    assert_eq!(events_of_kind(&db, "checks_finished").await.len(), 2);
    let blocked = finish(&db, &claimed, Outcome::ChecksFailed, minutes_later(3)).await;
    assert_eq!(blocked.status, BoardTaskStatus::Blocked);
    assert_eq!(
        waits(&db, minutes_later(3), ReadyLimits::default()).await["checked"],
        ["is blocked: so it was"]
    );
    let attempts = db
        .read(move |tx| Box::pin(board::attempts(tx, id)))
        .await
        .unwrap();
    assert_eq!(attempts[0].claim, Some(said));
    assert_eq!(attempts[0].outcome, Some(Outcome::ChecksFailed));
    assert_eq!(attempts[0].check_rounds, 2);
    assert_eq!(attempts[0].worktree.as_deref(), Some("/trees/a b".as_ref()));
    let there = db.read(|tx| {
        Box::pin(async move {
            let folders = ["/trees/a b".into(), "/trees/elsewhere".into()];
            board::attempts_in(tx, &folders).await
        })
    });
    assert_eq!(there.await.unwrap(), attempts);
}

pub async fn board_a_cancelled_task_fences_out_its_holder(url: DbUrl) {
    let db = open(&url).await;
    let id = titled(&db, "unwanted", &[]).await;
    let claimed = claim(&db, id, noon()).await;
    let cancelled = write(&db, move |tx| {
        Box::pin(async move { board::cancel(tx, id, "no longer wanted", &act(noon())).await })
    })
    .await;
    assert_eq!(cancelled.status, BoardTaskStatus::Failed);
    let (attempt, token) = (claimed.attempt.id, claimed.attempt.token);
    let late = try_finish(&db, attempt, token, Outcome::Verified, noon()).await;
    assert_eq!(late.unwrap_err().code(), ErrorCode::StaleLease);
    let kept = db
        .read(move |tx| Box::pin(board::attempt(tx, attempt)))
        .await
        .unwrap();
    assert_eq!(kept.unwrap().outcome, Some(Outcome::Cancelled));
}

pub async fn board_a_question_names_the_task_that_waits_for_it(url: DbUrl) {
    let db = open(&url).await;
    titled(&db, "another", &[]).await;
    let id = titled(&db, "asks", &[]).await;
    let attempt = claim(&db, id, noon()).await.attempt;
    let raise = |origin: QuestionOrigin| {
        let new = NewQuestion {
            origin,
            question: "Which database?".into(),
            context: None,
            options: Vec::new(),
            blocks: 1,
        };
        write(&db, move |tx| {
            Box::pin(async move { questions::raise(tx, &new, noon()).await })
        })
    };
    let of_agent = |execution| QuestionOrigin::NeedsInput {
        execution,
        slot: SlotId::generate(),
        request: ObservationId::generate(),
    };
    let asked = raise(of_agent(attempt.execution.unwrap())).await;
    assert_eq!(asked.question().task, Some(TaskNumber(2)));
    let about = QuestionOrigin::Task {
        task: id,
        key: "blocked".into(),
    };
    assert_eq!(raise(about).await.question().task, Some(TaskNumber(2)));
    let nobodys = raise(of_agent(ExecutionId::generate())).await;
    assert_eq!(nobodys.question().task, None);
}
