//! Who may reach a daemon over HTTP.

use missiond_core::{AccessId, AccessKind, Scope, Timestamp};

use super::fixtures::{minutes_later, noon, open};
use crate::http_access::{self, Access};
use crate::{DbUrl, MissionDb, StoreError};

fn access(kind: AccessKind, name: &str, hash: &str, expires_at: Option<Timestamp>) -> Access {
    Access {
        id: AccessId::generate(),
        home: "here".into(),
        kind,
        name: name.into(),
        secret_hash: hash.into(),
        scopes: [Scope::Read, Scope::Work].into_iter().collect(),
        created_at: noon(),
        expires_at,
        last_used_at: None,
        revoked_at: None,
    }
}

async fn grant(db: &MissionDb, access: &Access) -> Result<(), StoreError> {
    let access = access.clone();
    db.write(move |tx| Box::pin(async move { http_access::grant(tx, &access).await }))
        .await
}

async fn find(db: &MissionDb, home: &'static str, hash: &'static str) -> Option<Access> {
    db.read(move |tx| Box::pin(http_access::find(tx, home, hash)))
        .await
        .unwrap()
}

async fn listed(db: &MissionDb, home: &'static str, minute: u64) -> Vec<Access> {
    db.read(move |tx| Box::pin(http_access::list(tx, home, minutes_later(minute))))
        .await
        .unwrap()
}

async fn revoke(db: &MissionDb, home: &'static str, name: &str, minute: u64) -> Vec<Access> {
    let name = name.to_owned();
    db.write(move |tx| {
        Box::pin(async move { http_access::revoke(tx, home, &name, minutes_later(minute)).await })
    })
    .await
    .unwrap()
}

pub async fn http_access_is_known_by_its_hash_until_it_is_taken_back(url: DbUrl) {
    let db = open(&url).await;
    let session = access(
        AccessKind::Session,
        "browser",
        "aa",
        Some(minutes_later(60)),
    );
    let mut token = access(AccessKind::Token, "ci", "bb", None);
    grant(&db, &session).await.unwrap();
    grant(&db, &token).await.unwrap();
    assert_eq!(find(&db, "here", "aa").await, Some(session.clone()));
    assert_eq!(find(&db, "here", "cc").await, None);
    assert!(session.is_valid(minutes_later(59)) && !session.is_valid(minutes_later(60)));

    let twin = access(AccessKind::Token, "ci", "dd", None);
    let taken = grant(&db, &twin).await;
    assert!(
        matches!(taken, Err(StoreError::Conflict { .. })),
        "{taken:?}"
    );

    let id = token.id;
    db.write(move |tx| Box::pin(http_access::used(tx, id, minutes_later(1))))
        .await
        .unwrap();
    token.last_used_at = Some(minutes_later(1));
    assert_eq!(
        listed(&db, "here", 2).await,
        [session.clone(), token.clone()]
    );
    assert_eq!(
        listed(&db, "here", 60).await,
        std::slice::from_ref(&token),
        "what has expired is not listed"
    );

    token.revoked_at = Some(minutes_later(3));
    assert_eq!(
        revoke(&db, "here", "ci", 3).await,
        std::slice::from_ref(&token)
    );
    assert_eq!(revoke(&db, "here", "ci", 4).await, []);
    assert_eq!(find(&db, "here", "bb").await, Some(token.clone()));
    assert!(!token.is_valid(minutes_later(3)));
    grant(&db, &twin).await.unwrap();
    let by_id = revoke(&db, "here", &session.id.to_string(), 5).await;
    assert_eq!(by_id[0].id, session.id);
    assert_eq!(listed(&db, "here", 6).await, [twin]);

    let month = 31 * 24 * 60;
    let later = Access {
        created_at: minutes_later(month),
        ..access(AccessKind::Token, "later", "ee", None)
    };
    grant(&db, &later).await.unwrap();
    assert_eq!(find(&db, "here", "bb").await, None, "forgotten by then");
    assert!(find(&db, "here", "dd").await.is_some());
}

pub async fn http_access_of_another_home_is_neither_found_nor_listed(url: DbUrl) {
    let db = open(&url).await;
    let token = access(AccessKind::Token, "ci", "aa", None);
    grant(&db, &token).await.unwrap();
    let other = Access {
        home: "there".into(),
        ..access(AccessKind::Token, "ci", "bb", None)
    };
    grant(&db, &other).await.unwrap();
    assert_eq!(find(&db, "there", "aa").await, None);
    assert_eq!(listed(&db, "there", 0).await, std::slice::from_ref(&other));
    assert_eq!(revoke(&db, "there", &token.id.to_string(), 0).await, []);
    assert_eq!(listed(&db, "here", 0).await, [token]);
}
