//! Permission rules and what was decided by them.

use missiond_core::{PermissionAsked, SlotId};

use super::fixtures::{minutes_later, noon, open};
use crate::permissions::{self, DecisionRow, NewDecision, NewRule, RuleRow};
use crate::{DbUrl, MissionDb, StoreError};

fn rule(uses_left: Option<u32>) -> NewRule {
    NewRule {
        effect: "allow".into(),
        tool: "Bash".into(),
        argument: Some("git status*".into()),
        path: None,
        server: None,
        scope: "{}".into(),
        expires_at: Some(minutes_later(60)),
        uses_left,
        question: None,
        created_by: "person".into(),
    }
}

async fn add(db: &MissionDb, rule: &NewRule) -> i64 {
    let rule = rule.clone();
    db.write(move |tx| Box::pin(async move { permissions::add(tx, &rule, noon()).await }))
        .await
        .unwrap()
}

fn decision(minute: u64) -> NewDecision {
    NewDecision {
        slot: SlotId::generate(),
        execution: None,
        asked: PermissionAsked {
            tool: Some("Bash".into()),
            command: Some("git status".into()),
            ..PermissionAsked::default()
        },
        effect: "allow".into(),
        decided_by: "P-1".into(),
        reason: "P-1: allow Bash".into(),
        decided_at: minutes_later(minute),
    }
}

/// Whether a decision may rest on these rules.
async fn decide_by(db: &MissionDb, rules: &'static [i64], minute: u64) -> bool {
    let new = decision(minute);
    let decided = db
        .write(move |tx| Box::pin(async move { permissions::decide_by(tx, &new, rules).await }))
        .await;
    match decided {
        Ok(_) => true,
        Err(StoreError::Conflict { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

pub async fn a_permission_rule_is_used_as_often_as_it_says(url: DbUrl) {
    let db = open(&url).await;
    let (twice, always) = (add(&db, &rule(Some(2))).await, add(&db, &rule(None)).await);
    assert_eq!((twice, always), (1, 2));
    // Eight at once: two are let through.
    let uses = (0..8).map(|_| decide_by(&db, &[1], 0));
    let allowed = futures::future::join_all(uses).await;
    assert_eq!(allowed.iter().filter(|allowed| **allowed).count(), 2);
    assert!(!decide_by(&db, &[2, 1], 0).await, "one of them is used up");
    assert!(decide_by(&db, &[2], 59).await);
    assert!(!decide_by(&db, &[2], 60).await, "it has expired");

    let remove = |number| db.write(move |tx| Box::pin(permissions::remove(tx, number, noon())));
    let listed = db.read(|tx| Box::pin(permissions::list(tx))).await.unwrap();
    let expected = RuleRow {
        number: 1,
        rule: rule(Some(0)),
        created_at: noon(),
    };
    assert_eq!(listed[0], expected);
    let removed = remove(always).await.unwrap().unwrap();
    assert_eq!((removed.number, removed.rule), (always, rule(None)));
    assert_eq!(remove(always).await.unwrap(), None, "it was removed once");
    assert!(!decide_by(&db, &[2], 0).await, "it was removed");
    let listed = db.read(|tx| Box::pin(permissions::list(tx))).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        add(&db, &rule(None)).await,
        3,
        "a number is never used again"
    );
}

pub async fn a_permission_decision_is_kept_with_what_became_of_it(url: DbUrl) {
    let db = open(&url).await;
    let decision = decision(0);
    let new = decision.clone();
    let id = db
        .write(move |tx| {
            Box::pin(async move {
                permissions::decide_by(tx, &new, &[]).await?;
                permissions::decide_by(tx, &new, &[]).await
            })
        })
        .await
        .unwrap();
    db.write(move |tx| {
        Box::pin(permissions::settle_decision(
            tx,
            id,
            "taken",
            minutes_later(1),
        ))
    })
    .await
    .unwrap();
    let newest = db
        .read(|tx| Box::pin(permissions::decisions(tx, 1)))
        .await
        .unwrap();
    let expected = DecisionRow {
        id,
        decision,
        outcome: Some("taken".into()),
        outcome_at: Some(minutes_later(1)),
    };
    assert_eq!(newest, [expected]);
    let unknown = db
        .write(|tx| Box::pin(permissions::settle_decision(tx, 99, "taken", noon())))
        .await;
    assert!(
        matches!(unknown, Err(StoreError::NotFound { .. })),
        "{unknown:?}"
    );
}
