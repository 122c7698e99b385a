use missiond_core::ManualClock;
use missiond_store::DbUrl;

use super::*;

struct Scene {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
    access: HttpAccess,
}

async fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let db = MissionDb::open(&DbUrl::sqlite(folder.path().join("m.db")))
        .await
        .unwrap();
    let noon = "2026-01-04T12:00:00Z".parse().unwrap();
    let clock = Arc::new(ManualClock::starting_at(noon));
    let home = Home::under(folder.path());
    let access = HttpAccess::new(&home, db, Arc::<ManualClock>::clone(&clock)).unwrap();
    Scene {
        folder,
        clock,
        access,
    }
}

#[tokio::test]
async fn a_code_logs_in_once_and_in_time() {
    let scene = scene().await;
    let access = &scene.access;
    let (code, _) = access.login_code().unwrap();
    let (_, session) = access.log_in(&code, "browser").await.unwrap().unwrap();
    assert_eq!(access.log_in(&code, "browser").await.unwrap(), None);
    let found = access.check(AccessKind::Session, &session).await.unwrap();
    assert_eq!(found.unwrap().name, "browser");
    assert_eq!(
        access.check(AccessKind::Token, &session).await.unwrap(),
        None
    );

    let (late, _) = access.login_code().unwrap();
    scene.clock.advance(CODE);
    assert_eq!(access.log_in(&late, "browser").await.unwrap(), None);
    scene.clock.advance(SESSION);
    let expired = access.check(AccessKind::Session, &session).await.unwrap();
    assert_eq!(expired, None);
}

#[tokio::test]
async fn a_secret_of_another_home_on_the_same_database_opens_nothing() {
    let scene = scene().await;
    let (_, token) = scene
        .access
        .create_token("ci", Scopes::EVERY, None)
        .await
        .unwrap();
    let other = Home::under(&scene.folder.path().join("other"));
    let clock = Arc::<ManualClock>::clone(&scene.clock);
    let other = HttpAccess::new(&other, scene.access.db.clone(), clock).unwrap();
    assert!(
        scene
            .access
            .check(AccessKind::Token, &token)
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(other.check(AccessKind::Token, &token).await.unwrap(), None);
    assert_eq!(other.list().await.unwrap(), []);
    assert!(matches!(
        other.revoke("ci").await,
        Err(AccessError::Unknown(_))
    ));
}

#[tokio::test]
async fn the_oldest_code_makes_way_for_the_seventeenth() {
    let scene = scene().await;
    let codes: Vec<_> = (0..17)
        .map(|_| scene.access.login_code().unwrap().0)
        .collect();
    assert_eq!(scene.access.log_in(&codes[0], "b").await.unwrap(), None);
    assert!(scene.access.log_in(&codes[1], "b").await.unwrap().is_some());
    assert!(
        scene
            .access
            .log_in(&codes[16], "b")
            .await
            .unwrap()
            .is_some()
    );
}
