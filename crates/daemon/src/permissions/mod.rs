//! Permissions: dialogs that ask for one are decided by rules where rules
//! decide, and become questions where they do not.
//!
//! A decision is recorded before a key is pressed, with the name of the rule,
//! and answers its dialog once: with the option that allows this one use or the
//! one that denies it, never with one that allows more. Rules come from the
//! configuration, from people, and from the program itself, which keeps agents
//! away from its own records.

mod asked;
mod grant;
mod rules;
mod watch;

use std::sync::{Arc, Mutex, PoisonError};

use missiond_api::Home;
use missiond_core::Clock;
use missiond_guard::permissions::{Request, Rule, Verdict, decide};
use missiond_store::MissionDb;
use tokio::sync::watch as channel;
use tokio::task::JoinSet;

use crate::config::Config;
use crate::executions::Executions;
use crate::questions::{QuestionError, Questions};
use crate::slots::Slots;
use crate::timeline::Timeline;

pub(crate) use asked::place;
pub(crate) use grant::{Grant, GrantFor};
pub(crate) use rules::{KnownRule, RuleSource};

#[derive(Debug)]
pub(crate) struct Permissions {
    home: Home,
    db: MissionDb,
    timeline: Timeline,
    clock: Arc<dyn Clock>,
    config: channel::Receiver<Arc<Config>>,
    slots: Arc<Slots>,
    executions: Arc<Executions>,
    questions: Arc<Questions>,
    tasks: Mutex<JoinSet<()>>,
}

/// What permissions are made of.
#[derive(Debug)]
pub(crate) struct Parts {
    pub home: Home,
    pub db: MissionDb,
    pub timeline: Timeline,
    pub clock: Arc<dyn Clock>,
    pub config: channel::Receiver<Arc<Config>>,
    pub slots: Arc<Slots>,
    pub executions: Arc<Executions>,
    pub questions: Arc<Questions>,
}

impl Permissions {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            home,
            db,
            timeline,
            clock,
            config,
            slots,
            executions,
            questions,
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
            tasks: Mutex::default(),
        }
    }

    /// Looks at the dialogs of all slots, and follows them from then on.
    pub(crate) async fn start(self: &Arc<Self>) -> Result<(), QuestionError> {
        // Before the first look, so that no dialog in between is missed.
        let follower = self.timeline.follow();
        let watched = watch::begin(self).await?;
        let task = watch::follow(Arc::clone(self), follower, watched);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn(task);
        Ok(())
    }

    pub(crate) async fn let_go(&self) {
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
    }

    /// What the rules say to a request.
    pub(crate) async fn decide(&self, request: &Request) -> Result<Verdict, QuestionError> {
        let rules: Vec<Rule> = self
            .rules()
            .await?
            .into_iter()
            .map(|known| known.rule)
            .collect();
        Ok(decide(&rules, request, self.clock.now()))
    }
}
