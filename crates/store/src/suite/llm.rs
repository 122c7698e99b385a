//! Requests to models and the money they may cost.

use missiond_core::{DaemonId, ExecutionId};

use super::fixtures::{minutes_later, noon, open};
use crate::llm::{
    self, Budget, ChatMessage, ChatSession, NewRequest, Parked, Purse, RequestEnd, RequestFilter,
    Spent, UsedTokens,
};
use crate::{DbUrl, MissionDb};

fn request(id: &str, daemon: DaemonId, reserved: u64) -> NewRequest {
    NewRequest {
        id: id.into(),
        daemon,
        provider: "p".into(),
        format: "chat".into(),
        model: "m".into(),
        purpose: "test".into(),
        principal: "person".into(),
        trace_id: None,
        execution: None,
        task: None,
        started_at: noon(),
        reserved,
        prompt: Some("the key is sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz".into()),
    }
}

fn day(most: u64) -> Vec<Budget> {
    let purse = Purse::Everything(noon());
    vec![Budget { purse, most }]
}

async fn reserve(db: &MissionDb, request: NewRequest, budgets: Vec<Budget>) -> Result<(), Spent> {
    db.write(move |tx| Box::pin(async move { llm::reserve(tx, &request, &budgets).await }))
        .await
        .unwrap()
}

async fn settle(db: &MissionDb, id: &'static str, cost: Option<u64>) -> bool {
    let end = RequestEnd {
        cost,
        tokens: UsedTokens {
            input: Some(7),
            ..UsedTokens::default()
        },
        ..RequestEnd::new("answered", minutes_later(1))
    };
    db.write(move |tx| Box::pin(async move { llm::settle(tx, id, &end).await }))
        .await
        .unwrap()
}

async fn spent(db: &MissionDb) -> u64 {
    db.read(|tx| Box::pin(async move { llm::spent(tx, &Purse::Everything(noon())).await }))
        .await
        .unwrap()
}

pub async fn money_is_reserved_before_a_request_and_settled_after_it_once(url: DbUrl) {
    let db = open(&url).await;
    let daemon = DaemonId::generate();
    reserve(&db, request("a", daemon, 60), day(100))
        .await
        .unwrap();
    let refused = reserve(&db, request("b", daemon, 60), day(100))
        .await
        .unwrap_err();
    assert_eq!((refused.spent, refused.budget.most), (60, 100));
    assert!(settle(&db, "a", Some(5)).await);
    assert!(!settle(&db, "a", Some(9)).await, "an end is written once");
    assert_eq!(spent(&db).await, 5);
    reserve(&db, request("b", daemon, 60), day(100))
        .await
        .unwrap();
    assert!(settle(&db, "b", None).await);
    assert_eq!(
        spent(&db).await,
        65,
        "what nobody knows counts as it was reserved"
    );

    let all = db
        .read(|tx| Box::pin(async move { llm::list(tx, &RequestFilter::default(), 10).await }))
        .await
        .unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!((all[1].cost, all[0].cost), (Some(5), None));
    assert_eq!((all[1].tokens.input, all[1].tokens.output), (Some(7), None));
    assert!(
        !all[0].prompt.as_deref().unwrap().contains("sk-ant"),
        "it is masked"
    );
    let usage = db
        .read(|tx| Box::pin(llm::usage(tx, noon())))
        .await
        .unwrap();
    let used = &usage[0];
    assert_eq!(
        (used.requests, used.cost, used.unpriced, used.reserved),
        (2, 5, 1, 60)
    );

    // What another daemon left, which is on record as running nowhere.
    reserve(&db, request("c", daemon, 10), Vec::new())
        .await
        .unwrap();
    let next = DaemonId::generate();
    let ended = db
        .write(move |tx| Box::pin(llm::end_lost(tx, next, minutes_later(2))))
        .await
        .unwrap();
    assert_eq!((ended, spent(&db).await), (1, 75));
    let forgotten = db
        .write(|tx| Box::pin(llm::forget_texts(tx, minutes_later(1))))
        .await
        .unwrap();
    assert_eq!(forgotten, 3);
}

pub async fn no_budget_is_exceeded_by_64_who_reserve_at_once(url: DbUrl) {
    let db = open(&url).await;
    let other = open(&url).await;
    let daemon = DaemonId::generate();
    let tasks: Vec<_> = (0..64)
        .map(|number| {
            let db = if number % 2 == 0 {
                db.clone()
            } else {
                other.clone()
            };
            let wanted = request(&format!("r{number}"), daemon, 7);
            tokio::spawn(async move { reserve(&db, wanted, day(100)).await.is_ok() })
        })
        .collect();
    let mut granted = 0;
    for task in tasks {
        granted += u64::from(task.await.unwrap());
    }
    assert_eq!((granted, spent(&db).await), (14, 98));
}

pub async fn a_parked_provider_and_a_chat_are_found_again(url: DbUrl) {
    let db = open(&url).await;
    let parked = Parked {
        provider: "p".into(),
        parked_at: noon(),
        until: minutes_later(10),
        reason: "no money".into(),
    };
    let stored = parked.clone();
    db.write(move |tx| Box::pin(async move { llm::park(tx, &stored).await }))
        .await
        .unwrap();
    let found = |minute| db.read(move |tx| Box::pin(llm::parked(tx, minutes_later(minute))));
    assert_eq!(found(9).await.unwrap(), [parked]);
    assert_eq!(found(10).await.unwrap(), []);

    let session = ChatSession {
        id: "s".into(),
        title: "hello".into(),
        started_at: noon(),
        used_at: minutes_later(1),
    };
    let message = |role: &str, content: &str| ChatMessage {
        role: role.into(),
        content: content.into(),
        request: None,
        at: noon(),
    };
    let messages = [message("user", "one"), message("assistant", "two")];
    let (kept, said) = (session.clone(), messages.clone());
    for _ in 0..2 {
        let (kept, said) = (kept.clone(), said.clone());
        db.write(move |tx| Box::pin(async move { llm::add_messages(tx, &kept, &said).await }))
            .await
            .unwrap();
    }
    let read = db
        .read(|tx| Box::pin(async move { llm::chat_messages(tx, "s", 3).await }))
        .await
        .unwrap();
    assert_eq!(
        read,
        [
            messages[1].clone(),
            messages[0].clone(),
            messages[1].clone()
        ]
    );
    let sessions = db
        .read(|tx| Box::pin(llm::chat_sessions(tx, 5)))
        .await
        .unwrap();
    assert_eq!(sessions, [session]);
}

pub async fn a_token_is_of_an_execution_that_runs(url: DbUrl) {
    let db = open(&url).await;
    let execution = ExecutionId::generate();
    db.write(move |tx| Box::pin(llm::grant_token(tx, "aa", execution, noon())))
        .await
        .unwrap();
    let found = db
        .read(|tx| Box::pin(llm::execution_of_token(tx, "aa")))
        .await
        .unwrap();
    assert_eq!(found, None, "it has not begun");
}
