//! Permissions: dialogs that ask for one are decided by rules where rules
//! decide, and become questions where they do not.
//!
//! A decision is recorded before a key is pressed, with the name of the rule,
//! and answers its dialog once: with the option that allows this one use or the
//! one that denies it, never with one that allows more. Where the agent's program asks
//! by a hook before it uses a tool, the decision is taken there. Rules come from the
//! configuration, from people, and from the program itself, which keeps agents
//! away from its own records.

mod decisions;
mod grant;
mod request;
mod rules;
mod tool_use;
mod watch;
mod witness;

use std::sync::Arc;

use futures::future::BoxFuture;
use missiond_api::Home;
use missiond_config::Config;
use missiond_core::{Clock, Timestamp};
use missiond_executions::Executions;
use missiond_guard::permissions::{Effect, Request, Rule, Verdict, decide};
use missiond_runtime::{Component, StartError, Supervisor, Tasks};
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
            now: self.clock.now(),
        })
    }
}

/// The rules of one moment.
#[derive(Debug)]
pub struct RulesInForce {
    rules: Vec<Rule>,
    now: Timestamp,
}

impl RulesInForce {
    /// What they say to a request.
    #[must_use]
    pub fn decide(&self, request: &Request) -> Verdict {
        decide(&self.rules, request, self.now)
    }

    /// The same for what a screen alone shows: nothing is allowed but by rules that say
    /// that this is enough for them.
    #[must_use]
    pub fn decide_by_sight(&self, request: &Request) -> Verdict {
        let by_sight = |rule: &&Rule| rule.effect != Effect::Allow || rule.scope.by_sight;
        let rules: Vec<Rule> = self.rules.iter().filter(by_sight).cloned().collect();
        let verdict = decide(&rules, request, self.now);
        if verdict.effect != Effect::Ask {
            return verdict;
        }
        let known = self.decide(request);
        if known.effect != Effect::Allow {
            return verdict;
        }
        let reason = format!(
            "{} would allow what the agent's program says itself, but this is read from its \
             screen alone; a rule with --by-sight allows that too",
            known.rules.join(", ")
        );
        Verdict { reason, ..verdict }
    }
}
