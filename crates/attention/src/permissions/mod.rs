//! Permissions: dialogs that ask for one are decided by rules where rules
//! decide, and become questions where they do not.
//!
//! A decision is recorded before a key is pressed, with the name of the rule,
//! and answers its dialog once: with the option that allows this one use or the
//! one that denies it, never with one that allows more. Where the agent's program asks
//! by a hook before it uses a tool, the decision is taken there. Rules come from the
//! configuration, from people, and from the program itself, which keeps agents
//! away from its own records.

mod audited;
mod decisions;
mod grant;
mod own_data;
mod policy;
mod reach;
mod request;
mod rules;
mod tool_use;
mod trust;
mod watch;
mod witness;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use missiond_api::Home;
use missiond_audit::AuditLog;
use missiond_config::Config;
use missiond_config::policy_files::PolicyFiles;
use missiond_core::Clock;
use missiond_executions::Executions;
use missiond_guard::permissions::{Effect, Request, Verdict};
use missiond_guard::policy::{Decision, InForce};
use missiond_runtime::{Component, StartError, Supervisor, Tasks, blocking};
use missiond_slots::Slots;
use missiond_store::{MissionDb, trust_facts};
use missiond_timeline::Timeline;
use tokio::sync::watch as channel;

use crate::questions::{QuestionError, Questions};

pub use audited::Decided;
pub use grant::{Grant, GrantFor};
pub(crate) use reach::{REACH, reach_options};
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
    audit: AuditLog,
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
    pub audit: AuditLog,
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
            audit,
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
            audit,
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
    pub async fn in_force(&self, folder: &Path) -> Result<RulesInForce, QuestionError> {
        let (files, place) = (Arc::clone(&self.policies), folder.to_owned());
        let policies = blocking(move || files.of(&place)).await;
        let known = self.rules().await?.into_iter();
        let rules: Vec<_> = known.map(|known| known.rule).collect();
        let (data, worktrees) = (self.home.data_dir(), self.home.worktrees_dir());
        let rules = match own_data::around(data, &worktrees, &folder.to_string_lossy()) {
            None => rules,
            Some(around) => own_data::narrowed(&rules, &around),
        };
        Ok(RulesInForce {
            all: InForce::new(rules, policies, self.clock.now()),
            trust: self.trust().await?,
        })
    }

    /// How far those are trusted that something is on record about.
    pub async fn trust(&self) -> Result<TrustScores, QuestionError> {
        let facts = self.db.read(|tx| Box::pin(trust_facts::all(tx))).await?;
        Ok(TrustScores::of(&facts, self.clock.now()))
    }

    /// The files of policies.
    #[must_use]
    pub fn policy_files(&self) -> &Arc<PolicyFiles> {
        &self.policies
    }
}

/// The rules and policies of one moment, for whoever works in one folder.
#[derive(Debug)]
pub struct RulesInForce {
    all: InForce,
    trust: TrustScores,
}

impl RulesInForce {
    /// The same before anybody's trust is asked.
    #[must_use]
    pub fn written(&self) -> &InForce {
        &self.all
    }

    /// What they say to a request, and as strictly as trust wants it.
    #[must_use]
    pub fn decide(&self, request: &Request) -> Decision {
        self.limited(self.all.decide(request), request)
    }

    /// The same for what a screen alone shows: nothing is allowed but by rules that say
    /// that this is enough for them.
    #[must_use]
    pub fn decide_by_sight(&self, request: &Request) -> Decision {
        let decision = self.limited(self.all.decide_by_sight(request), request);
        if decision.effect != Effect::Ask {
            return decision;
        }
        let known = self.decide(request);
        if known.effect != Effect::Allow {
            return decision;
        }
        let reason = format!(
            "{} would allow what the agent's program says itself, but this is read from its \
             screen alone; a rule with --by-sight allows that too",
            known.rules.join(", ")
        );
        Decision { reason, ..decision }
    }

    fn limited(&self, decision: Decision, request: &Request) -> Decision {
        let verdict = self.trust.limit(decision.clone().verdict(), request);
        Decision {
            effect: verdict.effect,
            rules: verdict.rules,
            reason: verdict.reason,
            ..decision
        }
    }
}
