//! Permissions: dialogs that ask for one are decided by rules where rules
//! decide, and become questions where they do not.
//!
//! A decision is recorded before a key is pressed, with the name of the rule,
//! and answers its dialog once: with the option that allows this one use or the
//! one that denies it, never with one that allows more. Rules come from the
//! configuration, from people, and from the program itself, which keeps agents
//! away from its own records.

mod grant;
mod policy;
mod request;
mod rules;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use missiond_api::Home;
use missiond_config::Config;
use missiond_config::policy_files::PolicyFiles;
use missiond_core::Clock;
use missiond_executions::Executions;
use missiond_guard::permissions::{Request, Verdict};
use missiond_guard::policy::{Decision, InForce};
use missiond_runtime::{Component, StartError, Supervisor, Tasks, blocking};
use missiond_slots::Slots;
use missiond_store::MissionDb;
use missiond_timeline::Timeline;
use tokio::sync::watch as channel;

use crate::questions::{QuestionError, Questions};

pub use grant::{Grant, GrantFor};
pub use request::path_base;
pub use rules::{KnownRule, RuleSource};

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
    policies: Arc<PolicyFiles>,
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
    pub policies: Arc<PolicyFiles>,
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
            let this = Arc::clone(&self);
            self.tasks
                .spawn_restarting("policy watch", move || policy::watch(Arc::clone(&this)));
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
            policies,
            supervisor,
        } = parts;
        Self {
            policies,
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

    /// What the rules and the policies say to a request.
    pub async fn decide(&self, request: &Request) -> Result<Verdict, QuestionError> {
        self.decision(request).await.map(Decision::verdict)
    }

    /// The same with its layer, and with what would have to change.
    pub async fn decision(&self, request: &Request) -> Result<Decision, QuestionError> {
        let folder = PathBuf::from(&request.base.folder);
        Ok(self.in_force(&folder).await?.decide(request))
    }

    /// The rules and policies as they are now for whoever works in a folder, for several
    /// requests.
    pub async fn in_force(&self, folder: &Path) -> Result<InForce, QuestionError> {
        let (files, place) = (Arc::clone(&self.policies), folder.to_owned());
        let policies = blocking(move || files.of(&place)).await;
        let known = self.rules().await?.into_iter();
        let rules = known.map(|known| known.rule).collect();
        Ok(InForce::new(rules, policies, self.clock.now()))
    }

    /// The files of policies.
    #[must_use]
    pub fn policy_files(&self) -> &Arc<PolicyFiles> {
        &self.policies
    }
}
