//! What the database remembers of the audit.

use super::fixtures::{minutes_later, open};
use crate::audit::{self, Anchor};
use crate::{DbUrl, MissionDb};

async fn remember(db: &MissionDb, home: &str, opened: u64, records: u64) -> Anchor {
    let anchor = Anchor {
        home: home.to_owned(),
        opened_at: minutes_later(opened),
        records,
        head: format!("{{\"head\":{records}}}"),
        anchored_at: minutes_later(opened + 1),
    };
    let stored = anchor.clone();
    db.write(move |tx| Box::pin(async move { audit::anchor(tx, &stored).await }))
        .await
        .unwrap();
    anchor
}

pub async fn the_audit_is_remembered_once_for_each_opening(url: DbUrl) {
    let db = open(&url).await;
    remember(&db, "here", 0, 3).await;
    let first = remember(&db, "here", 0, 7).await;
    let second = remember(&db, "here", 10, 9).await;
    remember(&db, "there", 0, 100).await;
    let of_home = db.read(|tx| Box::pin(audit::anchors(tx, "here")));
    assert_eq!(of_home.await.unwrap(), [first, second]);
}
