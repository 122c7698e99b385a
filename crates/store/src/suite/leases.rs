//! Leases and their fencing tokens.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use missiond_core::{FencingToken, Lease, Timestamp};

use super::fixtures::{TTL, minutes_later, noon, open};
use crate::leases::{self, Claim};
use crate::{DbUrl, MissionDb, StoreError};

const TEN_MINUTES: Duration = Duration::from_secs(600);

pub async fn a_lease_lives_and_its_token_only_grows(url: DbUrl) {
    let db = open(&url).await;
    let first = granted(claim(&db, "board", "ann", noon(), TEN_MINUTES).await);
    assert_eq!(
        first,
        Lease {
            resource: "board".into(),
            holder: "ann".into(),
            token: FencingToken(1),
            expires_at: minutes_later(10),
        }
    );
    let refused = claim(&db, "board", "bob", minutes_later(9), TEN_MINUTES).await;
    assert_eq!(refused, Claim::Held(first.clone()));

    let renewed = renew(&db, first.token, minutes_later(9)).await.unwrap();
    assert_eq!(
        (renewed.token, renewed.expires_at),
        (first.token, minutes_later(19))
    );
    assert_eq!(check(&db, first.token, minutes_later(18)).await, Ok(()));
    assert_eq!(
        check(&db, first.token, minutes_later(19)).await,
        Err(stale(1))
    );
    assert_eq!(
        renew(&db, first.token, minutes_later(19)).await,
        Err(stale(1))
    );

    // Expired and never collected: anyone may claim it.
    let second = granted(claim(&db, "board", "bob", minutes_later(20), TEN_MINUTES).await);
    assert_eq!(second.token, FencingToken(2));
    assert_eq!(
        check(&db, first.token, minutes_later(21)).await,
        Err(stale(1))
    );
    assert_eq!(release(&db, first.token).await, Err(stale(1)));
    let held = std::slice::from_ref(&second);
    assert_eq!(live(&db, minutes_later(21)).await, held);

    release(&db, second.token).await.unwrap();
    assert_eq!(release(&db, second.token).await, Err(stale(2)));
    assert_eq!(
        check(&db, second.token, minutes_later(21)).await,
        Err(stale(2))
    );
    assert_eq!(live(&db, minutes_later(21)).await, []);

    let third = granted(claim(&db, "board", "ann", minutes_later(21), TEN_MINUTES).await);
    assert_eq!(
        third.token,
        FencingToken(3),
        "the token grows after a release too"
    );
    assert_eq!(
        check(&db, FencingToken(4), minutes_later(22)).await,
        Err(stale(4))
    );
}

pub async fn of_many_claimers_exactly_one_wins(url: DbUrl) {
    const RESOURCES: usize = 8;
    const CLAIMERS: usize = 12;
    let daemons = [open(&url).await, open(&url).await];
    let mut earlier = BTreeSet::new();
    for round in 1..=3 {
        let now = minutes_later(round * 100);
        let claims = (0..RESOURCES * CLAIMERS).map(|number| {
            let db = daemons[number % 2].clone();
            tokio::spawn(async move {
                let resource = format!("r{}", number % RESOURCES);
                let holder = format!("h{number}");
                claim(&db, &resource, &holder, now, TEN_MINUTES).await
            })
        });
        let claims: Vec<_> = join_all(claims)
            .await
            .into_iter()
            .map(Result::unwrap)
            .collect();
        let won = claims.iter().filter_map(|claim| match claim {
            Claim::Granted(lease) => Some(lease.clone()),
            Claim::Held(_) => None,
        });
        let mut won: Vec<_> = won.collect();
        won.sort_by(|a, b| a.resource.cmp(&b.resource));
        assert_eq!(won.len(), RESOURCES, "round {round}");
        for claim in &claims {
            if let Claim::Held(by) = claim {
                assert!(won.contains(by), "{by:?} is held by nobody who won");
            }
        }
        for lease in &won {
            assert_eq!(lease.token, FencingToken(round as i64));
            assert!(earlier.insert((lease.resource.clone(), lease.token)));
        }
    }
}

pub async fn expired_leases_are_collected_once(url: DbUrl) {
    let db = open(&url).await;
    let short = granted(claim(&db, "short", "ann", noon(), TEN_MINUTES).await);
    let long = granted(claim(&db, "long", "ann", noon(), TTL).await);
    let collect = |now| {
        let db = db.clone();
        async move {
            db.write(move |tx| Box::pin(leases::expire(tx, now)))
                .await
                .unwrap()
        }
    };
    assert_eq!(collect(minutes_later(9)).await, []);
    assert_eq!(collect(minutes_later(10)).await, [short]);
    assert_eq!(collect(minutes_later(11)).await, []);
    assert_eq!(
        live(&db, minutes_later(11)).await,
        std::slice::from_ref(&long)
    );
    let again = granted(claim(&db, "short", "bob", minutes_later(12), TEN_MINUTES).await);
    assert_eq!(again.token, FencingToken(2));
    let both = collect(minutes_later(100)).await;
    assert_eq!(both, [again, long], "the first to expire comes first");
}

pub async fn the_last_holder_of_a_lease_is_known_after_its_end(url: DbUrl) {
    let db = open(&url).await;
    let last = || db.read(|tx| Box::pin(leases::last_holder(tx, "board")));
    assert_eq!(last().await.unwrap(), None);
    granted(claim(&db, "board", "ann", noon(), TEN_MINUTES).await);
    assert_eq!(last().await.unwrap().as_deref(), Some("ann"));
    db.write(|tx| Box::pin(leases::expire(tx, minutes_later(11))))
        .await
        .unwrap();
    assert_eq!(last().await.unwrap().as_deref(), Some("ann"));
    granted(claim(&db, "board", "bob", minutes_later(12), TEN_MINUTES).await);
    assert_eq!(last().await.unwrap().as_deref(), Some("bob"));
}

async fn claim(
    db: &MissionDb,
    resource: &str,
    holder: &str,
    now: Timestamp,
    ttl: Duration,
) -> Claim {
    let (resource, holder) = (resource.to_owned(), holder.to_owned());
    db.write(move |tx| {
        Box::pin(async move { leases::claim(tx, &resource, &holder, now, ttl).await })
    })
    .await
    .unwrap()
}

async fn renew(db: &MissionDb, token: FencingToken, now: Timestamp) -> Result<Lease, StoreError> {
    db.write(move |tx| Box::pin(leases::renew(tx, "board", token, now, TEN_MINUTES)))
        .await
}

async fn release(db: &MissionDb, token: FencingToken) -> Result<(), StoreError> {
    db.write(move |tx| Box::pin(leases::release(tx, "board", token, minutes_later(21))))
        .await
}

async fn check(db: &MissionDb, token: FencingToken, now: Timestamp) -> Result<(), StoreError> {
    let writing = db.write(move |tx| Box::pin(leases::check(tx, "board", token, now)));
    let reading = db.read(move |tx| Box::pin(leases::check(tx, "board", token, now)));
    let (writing, reading) = (writing.await, reading.await);
    assert_eq!(writing, reading);
    writing
}

async fn live(db: &MissionDb, now: Timestamp) -> Vec<Lease> {
    db.read(move |tx| Box::pin(leases::list(tx, now)))
        .await
        .unwrap()
}

fn granted(claim: Claim) -> Lease {
    match claim {
        Claim::Granted(lease) => lease,
        Claim::Held(lease) => panic!("held: {lease:?}"),
    }
}

fn stale(token: i64) -> StoreError {
    leases::stale("board", FencingToken(token))
}
