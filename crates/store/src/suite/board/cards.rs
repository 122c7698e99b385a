//! What is written on tasks, and what people are told about them.

use super::*;

pub async fn board_tasks_are_edited_noted_and_found(url: DbUrl) {
    let db = open(&url).await;
    let wanted = TaskDraft {
        labels: Some(vec!["it's 100% \"odd\"".into(), "b".into()]),
        priority: Some(Priority::Urgent),
        due: Some(minutes_later(60)),
        engine: Some(CliEngine::Codex),
        control: Some(Controller::Structured),
        ..draft("Fix the LEXER")
    };
    let odd = add(&db, wanted, &[]).await;
    titled(&db, "write docs", &[]).await;
    let list = |filter: TaskFilter| {
        let db = &db;
        async move {
            let limit = 10;
            let filter = TaskFilter { limit, ..filter };
            db.read(move |tx| {
                Box::pin(async move {
                    let found = board::list(tx, &filter).await?;
                    assert_eq!(board::count(tx, &filter).await?, found.len() as u64);
                    Ok(found
                        .into_iter()
                        .map(|task| task.number.0)
                        .collect::<Vec<_>>())
                })
            })
            .await
            .unwrap()
        }
    };
    assert_eq!(list(TaskFilter::default()).await, [1, 2]);
    let by_label = |label: &str| TaskFilter {
        label: Some(label.into()),
        ..TaskFilter::default()
    };
    assert_eq!(list(by_label("it's 100% \"odd\"")).await, [1]);
    assert_eq!(
        list(by_label("it")).await,
        [0; 0],
        "a label is matched whole"
    );
    let search = TaskFilter {
        search: Some("lexer".into()),
        ..TaskFilter::default()
    };
    assert_eq!(list(search).await, [1]);
    let done = TaskFilter {
        status: vec![BoardTaskStatus::Done, BoardTaskStatus::Failed],
        ..TaskFilter::default()
    };
    assert_eq!(list(done).await, [0; 0]);

    let id = odd.id;
    let change = TaskEdit {
        set: TaskDraft {
            title: Some("Fix the parser".into()),
            control: Some(Controller::Terminal),
            ..TaskDraft::default()
        },
        clear: vec![Clearable::Due, Clearable::Engine],
    };
    let edited = write(&db, move |tx| {
        Box::pin(async move {
            board::add_note(tx, id, "ann", "look at 'a b'", &act(noon())).await?;
            board::edit(tx, id, change, &act(minutes_later(1))).await
        })
    })
    .await;
    let expected = BoardTask {
        title: "Fix the parser".into(),
        due: None,
        engine: None,
        control: Some(Controller::Terminal),
        updated_at: minutes_later(1),
        ..odd
    };
    assert_eq!(edited, expected);
    assert_eq!(get(&db, id).await, expected);
    let freed = TaskEdit {
        clear: vec![Clearable::Control],
        ..TaskEdit::default()
    };
    let freed = write(&db, move |tx| {
        Box::pin(async move { board::edit(tx, id, freed, &act(minutes_later(2))).await })
    })
    .await;
    assert_eq!(freed.control, None);
    assert_eq!(get(&db, id).await, freed);
    let notes = db
        .read(move |tx| Box::pin(board::notes(tx, id)))
        .await
        .unwrap();
    assert_eq!(notes[0].text, "look at 'a b'");

    let mut brought = NewBoardTask::open(draft("from elsewhere"));
    brought.history.status = Some(ImportedStatus::Done);
    let brought = write(&db, move |tx| {
        Box::pin(async move { board::add(tx, brought, &act(noon())).await })
    })
    .await;
    assert_eq!(brought.finished_at, Some(noon()));
    titled(&db, "after it", &[brought.id]).await;
    assert!(ready(&db, noon()).await.contains(&"after it".to_owned()));
}

pub async fn board_every_limit_explains_itself(url: DbUrl) {
    let db = open(&url).await;
    let of = |title: &str, engine: CliEngine| TaskDraft {
        engine: Some(engine),
        ..draft(title)
    };
    add(&db, of("codex 1", CliEngine::Codex), &[]).await;
    add(&db, of("codex 2", CliEngine::Codex), &[]).await;
    add(&db, of("claude", CliEngine::Claude), &[]).await;
    add(&db, draft("any"), &[]).await;
    let limits = ReadyLimits {
        per_engine: BTreeMap::from([(CliEngine::Codex, 1)]),
        quotas: BTreeMap::from([(CliEngine::Claude, Some(minutes_later(180)))]),
        ..ReadyLimits::default()
    };
    assert_eq!(
        ready_within(&db, noon(), limits.clone()).await,
        ["codex 1", "any"]
    );
    let said = waits(&db, noon(), limits.clone()).await;
    assert_eq!(
        said["codex 2"],
        ["waits for a place: 1 of codex may run at once"]
    );
    let reset = minutes_later(180).in_utc();
    assert_eq!(
        said["claude"],
        [format!(
            "the usage limit of claude is reached until {reset}"
        )]
    );
    let later = ready_within(&db, minutes_later(180), limits).await;
    assert!(later.contains(&"claude".to_owned()), "{later:?}");
    let held = ReadyLimits {
        spent: BTreeMap::from([(CliEngine::Claude, Some(minutes_later(180)))]),
        capacity: Some(2),
        ..ReadyLimits::default()
    };
    assert_eq!(
        ready_within(&db, noon(), held.clone()).await,
        ["codex 1", "codex 2"]
    );
    let said = waits(&db, noon(), held).await;
    assert_eq!(said["any"], ["waits for a place: 2 agents may run at once"]);
    assert_eq!(
        said["claude"],
        [
            format!("the budget of claude is used up until {reset}"),
            "waits for a place: 2 agents may run at once".to_owned(),
        ]
    );
    let quiet = ReadyLimits {
        all_wait: vec![Wait::QuietHours {
            hours: "22:00-06:30".into(),
        }],
        ..ReadyLimits::default()
    };
    assert_eq!(ready_within(&db, noon(), quiet.clone()).await, [""; 0]);
    let said = waits(&db, noon(), quiet).await;
    assert_eq!(said.len(), 4);
    assert_eq!(
        said["any"],
        ["waits for the end of the quiet hours (22:00-06:30)"]
    );
}

pub async fn board_work_taken_by_a_person_completes_its_task(url: DbUrl) {
    let db = open(&url).await;
    let first = titled(&db, "first", &[]).await;
    titled(&db, "second", &[first]).await;
    let complete = |db: MissionDb| async move {
        db.write(move |tx| {
            Box::pin(
                async move { board::complete(tx, first, "person", "by hand", &act(noon())).await },
            )
        })
        .await
    };
    let claimed = claim(&db, first, noon()).await;
    let refused = complete(db.clone()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Conflict, "it is running");
    let (id, token) = (claimed.attempt.id, claimed.attempt.token);
    write(&db, move |tx| {
        Box::pin(async move {
            board::finish(
                tx,
                id,
                token,
                Outcome::ChecksFailed,
                Some("red"),
                &act(noon()),
            )
            .await
        })
    })
    .await;
    let done = complete(db.clone()).await.unwrap();
    assert_eq!((done.status, done.blocked), (BoardTaskStatus::Done, None));
    assert_eq!(ready(&db, noon()).await, ["second"]);
    let notes = db
        .read(move |tx| Box::pin(board::notes(tx, first)))
        .await
        .unwrap();
    assert_eq!(notes[0].text, "by hand");
    let again = complete(db.clone()).await.unwrap_err();
    assert!(matches!(again, StoreError::IllegalMove(_)), "{again}");
}
