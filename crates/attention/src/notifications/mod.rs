//! Telling people that somebody waits for them: on the desktop and by webhook.
//!
//! A question must have waited a while (*dwell*), and a slot that was told of is
//! not told of again for a while (*cooldown*). That a question was told of is on
//! record before it is told: a daemon that dies in between tells nobody, and
//! none tells twice.

mod desktop;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use missiond_config::{Config, NotificationsConfig};
use missiond_core::{Clock, Event, Question};
use missiond_runtime::{Component, OnPanic, StartError, Supervisor, Tasks};
use missiond_store::{MissionDb, StoreError, questions};
use missiond_timeline::{FollowError, Timeline};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Between two looks while a question waits to be told of.
const LOOK: Duration = Duration::from_millis(500);
/// Before the timeline or the database is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// More are not under way at once; a webhook that hangs holds up the others.
const UNDER_WAY: usize = 8;

#[derive(Debug)]
pub struct Notifications {
    db: MissionDb,
    timeline: Timeline,
    clock: Arc<dyn Clock>,
    config: watch::Receiver<Arc<Config>>,
    tasks: Tasks,
}

impl Component for Notifications {
    fn name(&self) -> &'static str {
        "notifications"
    }

    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        let this = Arc::clone(&self);
        self.tasks
            .spawn_restarting("notifications", move || run(Arc::clone(&this)));
        Box::pin(async { Ok(()) })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.tasks.stop())
    }
}

impl Notifications {
    pub fn new(
        db: MissionDb,
        timeline: Timeline,
        clock: Arc<dyn Clock>,
        config: watch::Receiver<Arc<Config>>,
        supervisor: Supervisor,
    ) -> Self {
        Self {
            db,
            timeline,
            clock,
            config,
            tasks: Tasks::new(supervisor),
        }
    }

    /// The next question that is to be told of now, marked as told.
    async fn claim_due(
        &self,
        config: &NotificationsConfig,
    ) -> Result<Option<Question>, StoreError> {
        let now = self.clock.now();
        let asked_before = now.minus(Duration::from_secs(config.dwell_secs));
        let quiet_since = now.minus(Duration::from_secs(config.cooldown_secs));
        self.db
            .write(move |tx| {
                Box::pin(async move {
                    for question in questions::unnotified(tx, asked_before, quiet_since).await? {
                        if questions::mark_notified(tx, question.id, now).await? {
                            return Ok(Some(question));
                        }
                    }
                    Ok(None)
                })
            })
            .await
    }

    /// Whether a question waits that nobody was told of.
    async fn somebody_waits(&self) -> Result<bool, StoreError> {
        let now = self.clock.now();
        let untold = self
            .db
            .read(move |tx| Box::pin(questions::unnotified(tx, now, now)))
            .await?;
        Ok(!untold.is_empty())
    }
}

async fn run(notifications: Arc<Notifications>) {
    let mut follower = notifications.timeline.follow();
    let mut config = notifications.config.clone();
    let mut under_way = JoinSet::new();
    loop {
        let wanted = config.borrow_and_update().notifications.clone();
        let waits = match notify_due(&notifications, &wanted, &mut under_way).await {
            Ok(waits) => waits,
            Err(error) => {
                tracing::error!(%error, "notifications unavailable, retrying");
                tokio::time::sleep(RETRY).await;
                continue;
            }
        };
        loop {
            tokio::select! {
                event = follower.next() => match event.map(|event| event.event.clone()) {
                    Ok(Event::QuestionCreated { .. }) => break,
                    Ok(_) => {}
                    Err(FollowError::Closed) => return,
                    Err(FollowError::Store(error)) => {
                        tracing::error!(%error, "timeline read failed, retrying");
                        tokio::time::sleep(RETRY).await;
                    }
                },
                Ok(()) = config.changed() => break,
                Some(_) = under_way.join_next() => {}
                () = tokio::time::sleep(LOOK), if waits => break,
            }
        }
    }
}

/// Tells of what is due; whether more will be due without another event is
/// returned.
async fn notify_due(
    notifications: &Notifications,
    config: &NotificationsConfig,
    under_way: &mut JoinSet<()>,
) -> Result<bool, StoreError> {
    if !config.desktop && config.webhook_url.is_empty() {
        return Ok(false);
    }
    while under_way.len() < UNDER_WAY {
        let Some(question) = notifications.claim_due(config).await? else {
            break;
        };
        tracing::info!(question = %question.number, "notification sent");
        let (config, at) = (config.clone(), notifications.clock.now());
        let subject = Some(question.number.to_string());
        let delivery = async move {
            if config.desktop
                && let Err(error) = desktop::show(&question).await
            {
                tracing::warn!(%error, "desktop notification failed");
            }
            if !config.webhook_url.is_empty()
                && let Err(error) = webhook::send(&config, &question, at).await
            {
                tracing::warn!(%error, question = %question.number, "webhook notification failed");
            }
        };
        let supervisor = notifications.tasks.supervisor();
        under_way.spawn(supervisor.watch("notification", subject, OnPanic::Report, delivery));
    }
    notifications.somebody_waits().await
}
