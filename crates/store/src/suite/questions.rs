//! Questions: raised once, answered once, told to people once.

use std::time::Duration;

use missiond_core::{
    BoardTaskId, ExecutionId, ObservationId, QuestionNumber, QuestionOrigin, QuestionRef,
    QuestionStatus, SlotId,
};

use super::fixtures::{minutes_later, noon, open};
use crate::questions::{self, Closing, NewQuestion, QuestionFilter, RaisedQuestion};
use crate::{DbUrl, MissionDb, StoreError};

fn dialog(slot: SlotId, hash: &str) -> NewQuestion {
    NewQuestion {
        origin: QuestionOrigin::Dialog {
            slot,
            slot_name: "fix".into(),
            execution: None,
            dialog: hash.into(),
            permission: None,
            allows: Some("Yes".into()),
            denies: None,
        },
        question: "Do you want to proceed?".into(),
        context: Some("rm -rf build".into()),
        options: vec!["Yes".into(), "No".into()],
        blocks: 1,
    }
}

fn input(execution: ExecutionId) -> NewQuestion {
    NewQuestion {
        origin: QuestionOrigin::NeedsInput {
            execution,
            slot: SlotId::generate(),
            request: ObservationId::generate(),
        },
        question: "Which database?".into(),
        context: None,
        options: Vec::new(),
        blocks: 1,
    }
}

async fn raise(db: &MissionDb, new: &NewQuestion, minute: u64) -> RaisedQuestion {
    let new = new.clone();
    db.write(move |tx| {
        Box::pin(async move { questions::raise(tx, &new, minutes_later(minute)).await })
    })
    .await
    .unwrap()
}

async fn answer(db: &MissionDb, raised: &RaisedQuestion, text: &str) -> Result<(), StoreError> {
    let id = raised.question().id;
    let closing = Closing::Answered {
        answer: text.into(),
    };
    db.write(move |tx| {
        Box::pin(async move {
            let closed = questions::close(tx, id, &closing, "person", minutes_later(5)).await?;
            assert_eq!(closed.status, QuestionStatus::Answered);
            Ok(())
        })
    })
    .await
}

async fn list(db: &MissionDb, filter: QuestionFilter) -> Vec<i64> {
    let listed = db
        .read(move |tx| Box::pin(questions::list(tx, filter)))
        .await
        .unwrap();
    listed.iter().map(|question| question.number.0).collect()
}

pub async fn a_question_is_asked_once_and_answered_once(url: DbUrl) {
    let db = open(&url).await;
    let slot = SlotId::generate();
    let first = raise(&db, &dialog(slot, "a"), 0).await;
    assert!(matches!(first, RaisedQuestion::New(_)));
    let again = NewQuestion {
        blocks: 4,
        ..dialog(slot, "a")
    };
    let RaisedQuestion::Existing(known) = raise(&db, &again, 1).await else {
        panic!("it was asked twice");
    };
    assert_eq!((known.number, known.blocks), (QuestionNumber(1), 4));
    assert_eq!(
        known.asked_at,
        noon(),
        "it has waited since it was first asked"
    );
    let other = raise(&db, &dialog(slot, "b"), 1).await;
    assert_eq!(other.question().number, QuestionNumber(2));
    assert_eq!(list(&db, QuestionFilter::OpenInSlot(slot)).await, [1, 2]);

    answer(&db, &first, "No").await.unwrap();
    let twice = answer(&db, &first, "Yes").await.unwrap_err();
    assert_eq!(
        twice,
        StoreError::conflict("Q-1 was already answered by person: No")
    );
    let found = db
        .read(|tx| Box::pin(questions::find(tx, QuestionRef::Number(QuestionNumber(1)))))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.answer.as_deref(), Some("No"));
    assert_eq!(found.closed_at, Some(minutes_later(5)));
    assert_eq!(list(&db, QuestionFilter::Open).await, [2]);
    assert_eq!(list(&db, QuestionFilter::Newest { limit: 9 }).await, [2, 1]);
}

pub async fn what_was_answered_about_a_task_is_found(url: DbUrl) {
    let db = open(&url).await;
    let (task, agent) = (BoardTaskId::generate(), ExecutionId::generate());
    let of_task = |key: &str| NewQuestion {
        origin: QuestionOrigin::Task {
            task,
            key: key.into(),
        },
        ..input(agent)
    };
    let first = raise(&db, &input(agent), 0).await;
    let second = raise(&db, &of_task("a"), 1).await;
    raise(&db, &of_task("b"), 2).await;
    let foreign = raise(&db, &input(ExecutionId::generate()), 3).await;
    for one in [&second, &first, &foreign] {
        answer(&db, one, "SQLite").await.unwrap();
    }
    let found = db
        .read(move |tx| {
            Box::pin(async move { questions::answered_about(tx, task, &[agent]).await })
        })
        .await
        .unwrap();
    let numbers: Vec<_> = found.iter().map(|question| question.number.0).collect();
    assert_eq!(numbers, [1, 2], "as they were asked, and no others");
}

pub async fn a_dialog_may_ask_again_and_an_input_request_may_not(url: DbUrl) {
    let db = open(&url).await;
    let asked = dialog(SlotId::generate(), "a");
    let slot = asked.origin.slot().unwrap();
    let first = raise(&db, &asked, 0).await;
    raise(&db, &dialog(slot, "b"), 0).await;
    answer(&db, &first, "Yes").await.unwrap();
    assert!(
        matches!(raise(&db, &asked, 6).await, RaisedQuestion::Existing(_)),
        "the dialog still stands there"
    );
    let key = asked.origin.key();
    let left = move |but: Option<String>| {
        let db = db.clone();
        async move {
            let left = db
                .write(move |tx| {
                    Box::pin(async move {
                        questions::dialogs_left(tx, slot, but.as_deref()).await?;
                        questions::orphaned(tx, slot).await
                    })
                })
                .await
                .unwrap();
            left.iter()
                .map(|question| question.number.0)
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(left(Some(key)).await, [2]);
    assert_eq!(left(None).await, [2], "the other one was answered");
    let db = open(&url).await;
    assert!(matches!(
        raise(&db, &asked, 6).await,
        RaisedQuestion::New(_)
    ));

    let execution = ExecutionId::generate();
    let asked = input(execution);
    let first = raise(&db, &asked, 0).await;
    let number = first.question().number.0;
    let filter = QuestionFilter::OpenOfExecution(execution);
    assert_eq!(list(&db, filter).await, [number]);
    answer(&db, &first, "SQLite").await.unwrap();
    let RaisedQuestion::Existing(known) = raise(&db, &asked, 6).await else {
        panic!("a timeline read again asks again");
    };
    assert_eq!(known.answer.as_deref(), Some("SQLite"));
}

pub async fn questions_raised_at_once_have_numbers_of_their_own(url: DbUrl) {
    let db = open(&url).await;
    let slot = SlotId::generate();
    // Each dialog is raised twice at the same time.
    let raising = (0..16).map(|n| {
        let db = db.clone();
        async move { raise(&db, &dialog(slot, &format!("{}", n / 2)), 0).await }
    });
    let raised = futures::future::join_all(raising).await;
    let new = raised
        .iter()
        .filter(|raised| matches!(raised, RaisedQuestion::New(_)));
    assert_eq!(new.count(), 8);
    let numbers = list(&db, QuestionFilter::Open).await;
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
}

pub async fn an_answer_on_its_way_keeps_others_away(url: DbUrl) {
    let db = open(&url).await;
    let slot = SlotId::generate();
    let id = raise(&db, &dialog(slot, "a"), 0).await.question().id;
    let begin = || db.write(move |tx| Box::pin(questions::begin_delivery(tx, id, noon())));
    begin().await.unwrap();
    assert_eq!(
        begin().await.unwrap_err(),
        StoreError::conflict("Q-1 is being answered by somebody else at this moment")
    );
    let given_up = db
        .write(move |tx| Box::pin(questions::give_up_all_in(tx, slot)))
        .await;
    assert_eq!(given_up.unwrap(), 1);
    begin().await.unwrap();
    let orphaned = db
        .write(move |tx| {
            Box::pin(async move {
                questions::dialogs_left(tx, slot, None).await?;
                questions::orphaned(tx, slot).await
            })
        })
        .await
        .unwrap();
    assert!(orphaned.is_empty(), "the answer may be why the dialog left");
    let gone = Closing::Dismissed {
        reason: Some("the dialog is gone".into()),
    };
    db.write(move |tx| {
        Box::pin(async move { questions::close(tx, id, &gone, "missiond", noon()).await })
    })
    .await
    .unwrap();
    assert_eq!(
        begin().await.unwrap_err(),
        StoreError::conflict("Q-1 is closed: the dialog is gone")
    );
}

pub async fn people_are_notified_once_and_not_too_often(url: DbUrl) {
    let db = open(&url).await;
    let slot = SlotId::generate();
    let first = raise(&db, &dialog(slot, "a"), 0).await.question().id;
    raise(&db, &dialog(slot, "b"), 1).await;
    raise(&db, &dialog(SlotId::generate(), "c"), 2).await;
    let due = |asked_before: u64, cooldown: u64| {
        let db = &db;
        async move {
            let (before, quiet) = (
                minutes_later(asked_before),
                minutes_later(asked_before).minus(Duration::from_secs(cooldown * 60)),
            );
            let due = db
                .read(move |tx| Box::pin(questions::unnotified(tx, before, quiet)))
                .await
                .unwrap();
            due.iter()
                .map(|question| question.number.0)
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(
        due(0, 0).await,
        [1],
        "the others have not waited long enough"
    );
    let mark =
        || db.write(move |tx| Box::pin(questions::mark_notified(tx, first, minutes_later(2))));
    assert!(mark().await.unwrap());
    assert!(!mark().await.unwrap(), "once");
    assert_eq!(
        due(3, 5).await,
        [3],
        "the slot of the second was told of a minute ago"
    );
    assert_eq!(due(8, 5).await, [2, 3]);
}
