//! Permissions: dialogs that ask for one are decided by rules where rules
//! decide, and become questions where they do not.
//!
//! A decision is recorded before a key is pressed, with the name of the rule,
//! and answers its dialog once: with the option that allows this one use or the
//! one that denies it, never with one that allows more. Rules come from the
//! configuration, from people, and from the program itself, which keeps agents
//! away from its own records.

mod grant;
mod request;
mod rules;
mod trust;
mod watch;

use std::sync::Arc;

use futures::future::BoxFuture;
use missiond_api::Home;
use missiond_config::Config;
use missiond_core::{Clock, Timestamp};
use missiond_executions::Executions;
use missiond_guard::permissions::{Request, Rule, Verdict, decide};
use missiond_runtime::{Component, StartError, Supervisor, Tasks};
use missiond_slots::Slots;
use missiond_store::{MissionDb, trust_facts};
use missiond_timeline::Timeline;
use tokio::sync::watch as channel;

use crate::questions::{QuestionError, Questions};

pub use grant::{Grant, GrantFor};
pub use request::path_base;
pub use rules::{KnownRule, RuleSource};
pub use trust::TrustScores;

#[derive(Debug)]
pub struct Permissions {
    home: Home,
    db: MissionDb,
    timeline: Timeline,
    clock: Arc<dyn Clock>,
    config: channel::Receiver<Arc<Config>>,
    slots: Arc<Slots>,
    executions: Arc<Executions>,
    questions: Arc<Questions>,
    tasks: Tasks,
}

/// What permissions are made of.
#[derive(Debug)]
pub struct Parts {
    pub home: Home,
    pub db: MissionDb,
    pub timeline: Timeline,
    pub clock: Arc<dyn Clock>,
    pub config: channel::Receiver<Arc<Config>>,
    pub slots: Arc<Slots>,
    pub executions: Arc<Executions>,
    pub questions: Arc<Questions>,
    pub supervisor: Supervisor,
}

impl Component for Permissions {
    fn name(&self) -> &'static str {
        "permissions"
    }

    /// Looks at the dialogs of all slots, and follows them from then on.
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        Box::pin(async move {
            let watched = watch::begin(&self).await;
            let watched = watched.map_err(|error| StartError::new(error.code(), error))?;
            let mut first = Some(watched);
            let this = Arc::clone(&self);
            self.tasks.spawn_restarting("dialog watch", move || {
                watch::run(Arc::clone(&this), first.take())
            });
            Ok(())
        })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.tasks.stop())
    }
}

impl Permissions {
    pub fn new(parts: Parts) -> Self {
        let Parts {
            home,
            db,
            timeline,
            clock,
            config,
            slots,
            executions,
            questions,
            supervisor,
        } = parts;
        Self {
            home,
            db,
            timeline,
            clock,
            config,
            slots,
            executions,
            questions,
            tasks: Tasks::new(supervisor),
        }
    }

    /// What the rules say to a request.
    pub async fn decide(&self, request: &Request) -> Result<Verdict, QuestionError> {
        Ok(self.in_force().await?.decide(request))
    }

    /// The rules as they are now, for several requests.
    pub async fn in_force(&self) -> Result<RulesInForce, QuestionError> {
        let known = self.rules().await?.into_iter();
        Ok(RulesInForce {
            rules: known.map(|known| known.rule).collect(),
            trust: self.trust().await?,
            now: self.clock.now(),
        })
    }

    /// How far those are trusted that something is on record about.
    pub async fn trust(&self) -> Result<TrustScores, QuestionError> {
        let facts = self.db.read(|tx| Box::pin(trust_facts::all(tx))).await?;
        Ok(TrustScores::of(&facts, self.clock.now()))
    }
}

/// The rules of one moment.
#[derive(Debug)]
pub struct RulesInForce {
    rules: Vec<Rule>,
    trust: TrustScores,
    now: Timestamp,
}

impl RulesInForce {
    /// What they say to a request, and as strictly as trust wants it.
    #[must_use]
    pub fn decide(&self, request: &Request) -> Verdict {
        self.trust
            .limit(decide(&self.rules, request, self.now), request)
    }
}
