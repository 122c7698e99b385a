//! Beacons: set on code, followed after each pass, never moved without a word.
//!
//! The passes of the checkout a beacon was set in say where its code is now;
//! what they find is kept and told on the timeline. Another checkout of the same
//! repository looks for itself, and keeps nothing.

use std::sync::Arc;

use missiond_codemap::{Anchor, CodeIndex, FollowOutcome, MatchKind, follow};
use missiond_core::{Event, Timestamp, TraceContext};
use missiond_runtime::blocking;
use missiond_store::beacons::{self, BeaconNodeRow, BeaconRow};

use super::CodeMapError;
use super::repository::Repository;

/// A beacon as one checkout sees it.
#[derive(Debug)]
pub struct LocatedBeacon {
    pub row: BeaconRow,
    /// For each piece.
    pub followed: Vec<FollowOutcome>,
}

/// All beacons of the repository, looked for in this checkout.
pub async fn locate_all(repository: &Arc<Repository>) -> Result<Vec<LocatedBeacon>, CodeMapError> {
    let family = repository.family;
    let rows = repository
        .shared
        .db
        .read(move |tx| Box::pin(beacons::list(tx, family)))
        .await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let repository = Arc::clone(repository);
    let seen = blocking(move || {
        let index = repository.index();
        let located = |row: BeaconRow| LocatedBeacon {
            followed: row.nodes.iter().map(|node| locate(node, &index)).collect(),
            row,
        };
        rows.into_iter().map(located).collect()
    });
    Ok(seen.await)
}

/// Sets a beacon in this checkout.
pub async fn set(
    repository: &Arc<Repository>,
    name: &str,
    note: &str,
    anchors: &[Anchor],
) -> Result<(), CodeMapError> {
    let now = repository.shared.clock.now();
    let row = BeaconRow {
        name: name.to_owned(),
        note: note.to_owned(),
        repository: repository.id,
        created_at: now,
        nodes: anchors
            .iter()
            .map(|anchor| to_row(anchor, "unchanged", now))
            .collect(),
    };
    let family = repository.family;
    let set = repository
        .shared
        .db
        .write(move |tx| Box::pin(async move { beacons::set(tx, family, &row).await }));
    Ok(set.await?)
}

/// Removes a beacon; whether there was one.
pub async fn remove(repository: &Arc<Repository>, name: &str) -> Result<bool, CodeMapError> {
    let (family, name) = (repository.family, name.to_owned());
    let remove = repository
        .shared
        .db
        .write(move |tx| Box::pin(async move { beacons::remove(tx, family, &name).await }));
    Ok(remove.await?)
}

/// Keeps and tells what became of the beacons that were set in this checkout.
pub(super) async fn follow_all(repository: &Arc<Repository>) -> Result<(), CodeMapError> {
    for seen in locate_all(repository).await? {
        if seen.row.repository != repository.id {
            continue;
        }
        for ((before, followed), place) in seen.row.nodes.iter().zip(seen.followed).zip(0_i64..) {
            let now = repository.shared.clock.now();
            let Some((after, event)) = became(repository, &seen.row.name, before, followed, now)
            else {
                continue;
            };
            let (family, name) = (repository.family, seen.row.name.clone());
            let kept = repository
                .shared
                .db
                .write(move |tx| {
                    Box::pin(async move { beacons::follow(tx, family, &name, place, &after).await })
                })
                .await?;
            if let (true, Some(event)) = (kept, event) {
                let told = repository
                    .shared
                    .timeline
                    .record(event, TraceContext::root());
                if let Err(error) = told.await {
                    tracing::warn!(%error, "beacon change not recorded on timeline");
                }
            }
        }
    }
    Ok(())
}

/// What to keep of a piece, and what to tell; nothing when it is as it was.
fn became(
    repository: &Repository,
    beacon: &str,
    before: &BeaconNodeRow,
    followed: FollowOutcome,
    now: Timestamp,
) -> Option<(BeaconNodeRow, Option<Event>)> {
    let from = described(before);
    match followed {
        FollowOutcome::Lost(_) if before.lost_at.is_some() => None,
        FollowOutcome::Lost(_) => {
            let lost = BeaconNodeRow {
                lost_at: Some(now),
                followed_at: now,
                ..before.clone()
            };
            let event = Event::BeaconLost {
                root: repository.root(),
                beacon: beacon.to_owned(),
                from,
            };
            Some((lost, Some(event)))
        }
        FollowOutcome::Found(found) => {
            let anchor = Anchor::of(&found.node);
            let trail = word_for(found.kind);
            let mut after = to_row(&anchor, trail, now);
            let elsewhere = described(&after) != from;
            after.moved_from = if elsewhere {
                Some(from.clone())
            } else {
                before.moved_from.clone()
            };
            // How it got where it is stays known while it stays there.
            if !elsewhere && (trail == "unchanged" || before.moved_from.is_some()) {
                after.trail = before.trail.clone();
            }
            let event = (elsewhere || before.lost_at.is_some()).then(|| Event::BeaconMoved {
                root: repository.root(),
                beacon: beacon.to_owned(),
                from,
                to: described(&after),
                trail: trail.to_owned(),
            });
            let same = BeaconNodeRow {
                followed_at: before.followed_at,
                ..after.clone()
            };
            (same != *before).then_some((after, event))
        }
    }
}

fn locate(row: &BeaconNodeRow, index: &CodeIndex) -> FollowOutcome {
    anchor_of(row).map_or(FollowOutcome::Lost(Vec::new()), |anchor| {
        follow(&anchor, index)
    })
}

fn anchor_of(row: &BeaconNodeRow) -> Option<Anchor> {
    Some(Anchor {
        path: row.path.clone(),
        kind: row.kind.parse().ok()?,
        container: row.container.clone(),
        name: row.name.clone(),
        signature: row.signature.clone(),
        words: row.words.clone(),
        hash: row.hash.parse().ok()?,
        nameless: row.nameless.parse().ok()?,
        line: row.line,
    })
}

fn to_row(anchor: &Anchor, trail: &str, now: Timestamp) -> BeaconNodeRow {
    BeaconNodeRow {
        path: anchor.path.clone(),
        kind: anchor.kind.to_string(),
        container: anchor.container.clone(),
        name: anchor.name.clone(),
        signature: anchor.signature.clone(),
        words: anchor.words.clone(),
        hash: anchor.hash.to_string(),
        nameless: anchor.nameless.to_string(),
        line: anchor.line,
        trail: trail.to_owned(),
        moved_from: None,
        lost_at: None,
        followed_at: now,
    }
}

/// Where a piece is: its path and, for what is in a file, its name.
pub fn described(row: &BeaconNodeRow) -> String {
    if row.kind == "module" && row.signature == row.path {
        return row.path.clone();
    }
    match row.container.as_str() {
        "" => format!("{}:{}", row.path, row.name),
        container => format!("{}:{container}.{}", row.path, row.name),
    }
}

pub fn word_for(trail: MatchKind) -> &'static str {
    match trail {
        MatchKind::Unchanged => "unchanged",
        MatchKind::Edited => "edited",
        MatchKind::Moved => "moved",
        MatchKind::Renamed => "renamed",
        MatchKind::Alike(_) => "alike",
    }
}
