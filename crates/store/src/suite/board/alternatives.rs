//! Alternatives: several tasks for the same work, of which one is kept.

use missiond_core::{Alternative, ReviewGate};

use super::*;

fn worked_on(title: &str) -> TaskDraft {
    TaskDraft {
        title: Some(title.into()),
        repository: Some("/src/app".into()),
        touches: Some(vec!["src/**".into()]),
        engine: Some(CliEngine::Claude),
        ..TaskDraft::default()
    }
}

async fn try_alternative(
    db: &MissionDb,
    of: BoardTaskId,
    engine: &str,
) -> Result<BoardTask, StoreError> {
    let alternative: Alternative = engine.parse().unwrap();
    db.write(move |tx| {
        Box::pin(async move { board::add_alternative(tx, of, alternative, &act(noon())).await })
    })
    .await
}

async fn alternative(db: &MissionDb, of: BoardTaskId, engine: &str) -> BoardTask {
    try_alternative(db, of, engine).await.unwrap()
}

async fn keep(db: &MissionDb, id: BoardTaskId) -> Result<BoardTask, StoreError> {
    db.write(move |tx| {
        Box::pin(async move { board::complete(tx, id, "person", "merged", &act(noon())).await })
    })
    .await
}

async fn cancel(db: &MissionDb, id: BoardTaskId) -> BoardTask {
    write(db, move |tx| {
        Box::pin(async move { board::cancel(tx, id, "not needed", &act(noon())).await })
    })
    .await
}

async fn submit(db: &MissionDb, claimed: &Claimed) {
    let (id, token) = (claimed.attempt.id, claimed.attempt.token);
    write(db, move |tx| {
        Box::pin(async move { board::submit(tx, id, token, &act(noon())).await })
    })
    .await;
}

async fn after(db: &MissionDb, id: BoardTaskId) -> Vec<String> {
    let found = db
        .read(move |tx| Box::pin(board::dependencies(tx, id)))
        .await
        .unwrap();
    found.iter().map(|on| on.number.to_string()).collect()
}

pub async fn board_of_alternatives_one_is_kept_and_the_others_are_given_up(url: DbUrl) {
    let db = open(&url).await;
    let before = titled(&db, "before", &[]).await;
    let wanted = TaskDraft {
        control: Some(Controller::Structured),
        ..worked_on("divide")
    };
    let head = add(&db, wanted, &[before]).await;
    let other = alternative(&db, head.id, "codex:gpt-5").await;
    let third = alternative(&db, other.id, "claude:haiku").await;
    assert_eq!(third.alternative_of, Some(head.id), "the head is named");
    assert_eq!(after(&db, other.id).await, ["T-1"], "it waits for the same");
    let like_head = BoardTask {
        id: other.id,
        number: other.number,
        engine: other.engine.clone(),
        model: other.model.clone(),
        control: None,
        alternative_of: Some(head.id),
        review: ReviewGate::AfterApproval,
        ..head.clone()
    };
    assert_eq!(other, like_head, "all else is the same");
    assert_eq!(get(&db, head.id).await.review, ReviewGate::AfterApproval);

    let dependent = titled(&db, "dependent", &[head.id]).await;
    let both = titled(&db, "both", &[head.id, other.id]).await;
    let claimed = claim(&db, before, noon()).await;
    finish(&db, &claimed, Outcome::Verified, noon()).await;
    // The same paths are no obstacle: only one of them is kept.
    let of_head = claim(&db, head.id, noon()).await;
    let of_other = claim(&db, other.id, noon()).await;
    submit(&db, &of_other).await;

    let running = keep(&db, head.id).await.unwrap_err();
    assert_eq!(running.code(), ErrorCode::Conflict, "it is worked on");
    assert_eq!(get(&db, other.id).await.status, BoardTaskStatus::Review);
    let kept = keep(&db, other.id).await.unwrap();
    assert_eq!(kept.status, BoardTaskStatus::Done);
    for id in [head.id, third.id] {
        let given_up = get(&db, id).await;
        assert_eq!(given_up.status, BoardTaskStatus::Failed);
        assert_eq!(given_up.blocked.as_deref(), Some("T-3 was kept instead"));
    }
    assert_eq!(after(&db, dependent).await, ["T-3"]);
    assert_eq!(after(&db, both).await, ["T-3"], "one edge, not two");
    assert_eq!(ready(&db, noon()).await, ["dependent", "both"]);
    let (id, token) = (of_head.attempt.id, of_head.attempt.token);
    let late = try_finish(&db, id, token, Outcome::Verified, noon()).await;
    assert!(
        matches!(late, Err(StoreError::StaleLease { .. })),
        "{late:?}"
    );
    let told = events_of_kind(&db, "board_alternative_kept").await;
    let [Event::BoardAlternativeKept { task, instead_of }] = told.as_slice() else {
        panic!("{told:?}");
    };
    let instead_of: BTreeSet<_> = instead_of.iter().copied().collect();
    assert_eq!(*task, other.id);
    assert_eq!(instead_of, BTreeSet::from([head.id, third.id]));
}

pub async fn board_a_cancelled_alternative_hands_its_dependents_on(url: DbUrl) {
    let db = open(&url).await;
    let head = add(&db, worked_on("divide"), &[]).await.id;
    let second = alternative(&db, head, "codex").await.id;
    let third = alternative(&db, head, "gemini").await.id;
    let dependent = titled(&db, "dependent", &[head]).await;
    cancel(&db, second).await;
    assert_eq!(get(&db, head).await.status, BoardTaskStatus::Open);
    assert_eq!(
        after(&db, dependent).await,
        ["T-1"],
        "it waited for another"
    );
    cancel(&db, head).await;
    assert_eq!(after(&db, dependent).await, ["T-3"]);
    assert_eq!(get(&db, third).await.status, BoardTaskStatus::Open);
    cancel(&db, third).await;
    assert_eq!(after(&db, dependent).await, ["T-3"], "nobody is left");
    assert_eq!(ready(&db, noon()).await, Vec::<String>::new());
    // Tried again after all, and kept.
    write(&db, move |tx| {
        Box::pin(async move {
            let from = board::RetryFrom::default();
            board::retry(tx, head, from, &act(noon())).await
        })
    })
    .await;
    keep(&db, head).await.unwrap();
    assert_eq!(after(&db, dependent).await, ["T-1"]);
    assert_eq!(ready(&db, noon()).await, ["dependent"]);
}

pub async fn board_one_more_engine_is_refused_where_it_cannot_be(url: DbUrl) {
    let db = open(&url).await;
    let head = add(&db, worked_on("divide"), &[]).await.id;
    let nowhere = titled(&db, "thoughts", &[]).await;
    let refused = try_alternative(&db, nowhere, "codex").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "T-2 works in no worktree of its own: two engines would write into the same files"
    );
    let claimed = claim(&db, head, noon()).await;
    let refused = try_alternative(&db, head, "codex").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Conflict, "{refused}");
    submit(&db, &claimed).await;
    for engine in ["codex", "gemini", "claude"] {
        alternative(&db, head, engine).await;
    }
    let refused = try_alternative(&db, head, "opencode").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "T-1 is tried by 4 engines already, which is the most"
    );
    // None of them may be merged without a person.
    let change = TaskEdit {
        set: TaskDraft {
            review: Some(ReviewGate::MergeAtOnce),
            ..TaskDraft::default()
        },
        clear: Vec::new(),
    };
    let edited = db
        .write(move |tx| Box::pin(async move { board::edit(tx, head, change, &act(noon())).await }))
        .await;
    assert_eq!(edited.unwrap_err().code(), ErrorCode::Conflict);

    let task = get(&db, head).await;
    let alone = get(&db, nowhere).await;
    let counts = db
        .read(move |tx| {
            Box::pin(async move { board::alternative_counts(tx, &[task, alone]).await })
        })
        .await
        .unwrap();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(head, 4)]);
    keep(&db, head).await.unwrap();
    let refused = try_alternative(&db, head, "codex").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Conflict, "it is done");
}

pub async fn board_a_kept_alternative_makes_no_circle(url: DbUrl) {
    let db = open(&url).await;
    let head = add(&db, worked_on("divide"), &[]).await.id;
    let second = alternative(&db, head, "codex").await.id;
    let between = titled(&db, "between", &[head]).await;
    // The second is to wait for what waits for the first.
    write(&db, move |tx| {
        Box::pin(async move { board::depend(tx, second, &[between, head], &act(noon())).await })
    })
    .await;
    keep(&db, second).await.unwrap();
    assert_eq!(after(&db, second).await, ["T-3"], "not for itself");
    assert_eq!(after(&db, between).await, Vec::<String>::new());
    assert_eq!(ready(&db, noon()).await, ["between"]);
}
