//! Rules on what agents reach through the daemon's proxy: made of a person's answer, decided
//! by where no policy does. They are rules like others, on the tool `Network`, so they are
//! listed, expire and are removed as others are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_core::{PermissionAsked, Question, SendWhen, TraceContext};
use missiond_executions::Sender;
use missiond_guard::permissions::{
    Effect, PathPattern, Pattern, Request, Rule, Verdict, decide, exact_text,
};
use missiond_store::board;

use super::Permissions;
use crate::questions::{QuestionError, ReachFor, reach_asked, reach_for};

/// The tool of these rules.
pub(crate) const REACH: &str = "Network";

const ONCE: &str = "Allow once";
const FOR_TASK: &str = "Allow for the task";
const FOR_REPOSITORY: &str = "Allow for the repository";
const DENY: &str = "Deny";

/// An answer for one try is used soon or not at all.
const ONCE_FOR: Duration = Duration::from_secs(3600);

/// A rule that is used up between its decision and its record is decided without; more
/// often than this that is no accident.
const TRIES: usize = 3;

/// What a person may answer; no rule names a repository with wildcards in its path.
/// What is used up by being used is counted for agents alone.
pub(crate) fn reach_options(of_agent: bool, of_task: bool, repository: &Path) -> Vec<String> {
    let of_repository = is_nameable(repository);
    let options = [
        of_agent.then_some(ONCE),
        of_task.then_some(FOR_TASK),
        of_repository.then_some(FOR_REPOSITORY),
        Some(DENY),
    ];
    options.into_iter().flatten().map(str::to_owned).collect()
}

fn is_nameable(repository: &Path) -> bool {
    let path = repository.display().to_string();
    !path.contains(['*', '?']) && path.parse::<PathPattern>().is_ok()
}

impl Permissions {
    /// What answers of people say to a request for the network. A decision by one is on
    /// record when this returns.
    pub(crate) async fn decide_reach(
        &self,
        request: &Request,
        asked: PermissionAsked,
    ) -> Result<Verdict, QuestionError> {
        for _ in 0..TRIES {
            // A rule on every tool is one on files and commands, and nobody who wrote it
            // thought of hosts.
            let known = self.rules().await?.into_iter().map(|known| known.rule);
            let rules: Vec<Rule> = known
                .filter(|rule| rule.tool.to_string() == REACH)
                .collect();
            let verdict = decide(&rules, request, self.clock.now());
            let (Some(slot), Effect::Allow | Effect::Deny) = (request.slot, verdict.effect) else {
                return Ok(verdict);
            };
            let recorded = self
                .record_decision(slot, request.execution, asked.clone(), &verdict)
                .await?;
            if let Some(decision) = recorded {
                let outcome = match verdict.effect {
                    Effect::Allow => "allowed",
                    Effect::Ask | Effect::Deny => "refused",
                };
                self.settle(decision, outcome).await?;
                return Ok(verdict);
            }
        }
        Ok(Verdict {
            effect: Effect::Ask,
            rules: Vec::new(),
            reason: "the rules on it changed while it was decided".to_owned(),
        })
    }

    /// Makes the rule of an answer to a question about what is reached, and tells the agent
    /// that it may try again; nothing for other questions.
    pub async fn grant_reach(
        &self,
        question: &Question,
        by: &str,
        trace: TraceContext,
    ) -> Result<Option<i64>, QuestionError> {
        let (Some(access), Some(answer)) =
            (reach_asked(&question.origin), question.answer.as_deref())
        else {
            return Ok(None);
        };
        let Some(whom) = reach_for(&question.origin) else {
            return Ok(None);
        };
        let invalid = |why: &str| QuestionError::Invalid(why.to_owned());
        let (task, folder) = match whom {
            ReachFor::Agent(execution) => {
                let worker = self.executions.worker(execution);
                let worker = worker.ok_or_else(|| invalid("its agent has ended"))?;
                (worker.task, Some(worker.folder))
            }
            ReachFor::Task(task) => {
                let found = self.db.read(move |tx| Box::pin(board::get(tx, task)));
                let found = found.await?.ok_or_else(|| invalid("its task is gone"))?;
                (Some(task), found.repository)
            }
        };
        let network = REACH.parse();
        let network = network.map_err(|_| invalid("the network is no tool"))?;
        let mut rule = Rule::new("grant", Effect::Allow, network);
        rule.argument = Some(named(access).ok_or_else(|| invalid("what is asked is no text"))?);
        match answer {
            ONCE => {
                rule.scope.execution = question.origin.execution();
                rule.uses_left = Some(1);
                rule.expires_at = Some(self.clock.now().plus(ONCE_FOR));
            }
            FOR_TASK => rule.scope.task = task,
            FOR_REPOSITORY => {
                let folder = folder.ok_or_else(|| invalid("its task has no repository"))?;
                let repository = self.work_of(&folder);
                let path = repository.display().to_string().parse();
                let path = path.ok().filter(|_| is_nameable(&repository));
                rule.path = Some(path.ok_or_else(|| invalid("its path cannot be a rule"))?);
            }
            _ => {
                rule.effect = Effect::Deny;
                match whom {
                    ReachFor::Agent(execution) => rule.scope.execution = Some(execution),
                    ReachFor::Task(task) => rule.scope.task = Some(task),
                }
            }
        }
        let allowed = rule.effect == Effect::Allow;
        let number = self.add(&rule, Some(question.id), by, trace).await?;
        if allowed && let ReachFor::Agent(execution) = whom {
            let text = format!(
                "You were refused the network: {access}. A person has allowed it now ({answer}). \
                 If you still need it, try again."
            );
            let key = Some(format!("reach/{}", question.id));
            let told = self
                .executions
                .message(
                    execution,
                    text,
                    Vec::new(),
                    key,
                    Sender::Daemon,
                    SendWhen::Idle,
                )
                .await;
            if let Err(error) = told {
                tracing::warn!(%execution, %error, "agent not told that it may try again");
            }
        }
        Ok(Some(number))
    }

    /// What a rule on a repository names for whoever works in a folder: the checkout, under
    /// its own name, else the folder.
    pub(crate) fn work_of(&self, folder: &Path) -> PathBuf {
        let work = self.policies.repository(folder);
        let work = work.unwrap_or_else(|| folder.to_owned());
        work.canonicalize().unwrap_or(work)
    }
}

/// A pattern for this very access, as people would write it where that is possible.
fn named(access: &str) -> Option<Pattern> {
    if access.contains(['*', '?']) {
        return exact_text(access);
    }
    access.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_for_one_access_alone() {
        let host = named("a.example:443").unwrap();
        assert_eq!(host.to_string(), "a.example:443");
        assert!(host.matches("a.example:443") && !host.matches("axexample:443"));
        let request = named("GET a.example:80/*").unwrap();
        assert!(request.matches("GET a.example:80/*"));
        assert!(!request.matches("GET a.example:80/other"));
    }

    #[test]
    fn what_is_offered_is_what_a_rule_can_say() {
        let offered = |agent, task, path| reach_options(agent, task, Path::new(path)).join(", ");
        let all = "Allow once, Allow for the task, Allow for the repository, Deny";
        assert_eq!(offered(true, true, "/work/re po"), all);
        assert_eq!(offered(true, false, "/work/re*"), "Allow once, Deny");
        assert_eq!(
            offered(false, true, "/work/re*"),
            "Allow for the task, Deny"
        );
    }
}
