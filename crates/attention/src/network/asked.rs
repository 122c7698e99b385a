//! What no policy decides about a host, and the program that wants it runs for an agent or
//! for a task: a person is asked, once, and what they answer becomes a rule on what is
//! reached, by which the next try is decided. The program is refused meanwhile, because it
//! would wait for a person with a time limit of its own.

use std::path::PathBuf;
use std::sync::Arc;

use missiond_core::{BoardTaskId, PermissionAsked, QuestionNumber, QuestionRef, TraceContext};
use missiond_egress::{Caller, CallerKind, Ruling, Target};
use missiond_executions::{Executions, Worker};
use missiond_guard::permissions::{Argument, Effect, Request, Shown};
use missiond_guard::policy::Layer;
use missiond_store::questions::QuestionFilter;

use crate::permissions::{Permissions, REACH, path_base, reach_options};
use crate::questions::{
    NewQuestion, QuestionError, Questions, ReachFor, reach_asked, reach_for, reach_origin,
};

/// Of one agent or task at once. One that tries every host there is does not fill the inbox.
const MOST_OPEN: usize = 20;

/// Who can be asked, and what they have answered.
#[derive(Debug)]
pub(super) struct People {
    pub(super) permissions: Arc<Permissions>,
    pub(super) questions: Arc<Questions>,
    pub(super) executions: Arc<Executions>,
    /// Held while it is looked whether something is asked already.
    pub(super) asking: tokio::sync::Mutex<()>,
}

/// What is wanted, for whom, and what calls itself so.
struct Wanted<'w> {
    whom: ReachFor,
    /// Of an agent.
    worker: Option<Worker>,
    task: Option<BoardTaskId>,
    /// As a person calls it.
    name: String,
    access: String,
    repository: PathBuf,
    caller: &'w Caller,
    client: Option<&'w str>,
}

impl People {
    /// What holds instead of a ruling that nobody has made.
    pub(super) async fn decide(
        &self,
        caller: &Caller,
        target: &Target,
        client: Option<&str>,
        layer: Layer,
        ruling: Ruling,
    ) -> Result<Ruling, QuestionError> {
        let access = access(target, layer);
        let Some(wanted) = self.wanted(caller, access, client) else {
            return Ok(ruling);
        };
        let Some(request) = request(&wanted) else {
            return Ok(ruling);
        };
        let asked = PermissionAsked {
            tool: Some(REACH.to_owned()),
            argument: Some(wanted.access.clone()),
            ..PermissionAsked::default()
        };
        let decided = self.permissions.decide_reach(&request, asked).await?;
        if decided.effect != Effect::Ask {
            return Ok(Ruling {
                effect: decided.effect,
                rules: decided.rules,
                reason: decided.reason,
                change: (decided.effect == Effect::Deny)
                    .then(|| "`mission permission remove` takes the rule away".to_owned()),
            });
        }
        let change = match self.ask(&wanted, &ruling).await? {
            Some(number) => format!("a person is asked ({number}); when it is allowed, try again"),
            None => format!("{MOST_OPEN} such questions wait for a person already"),
        };
        Ok(Ruling {
            change: Some(change),
            ..ruling
        })
    }

    /// None of whom nobody is asked for: servers, and who has ended.
    fn wanted<'w>(
        &self,
        caller: &'w Caller,
        access: String,
        client: Option<&'w str>,
    ) -> Option<Wanted<'w>> {
        let (whom, worker, name) = match caller.kind {
            CallerKind::Execution => {
                let execution = caller.name.parse().ok()?;
                let worker = self.executions.worker(execution)?;
                let name = worker.slot_name.clone();
                (ReachFor::Agent(execution), Some(worker), name)
            }
            CallerKind::Check => {
                let (check, _) = caller.name.rsplit_once(" in ")?;
                (
                    ReachFor::Task(caller.task?),
                    None,
                    format!("the check {check}"),
                )
            }
            CallerKind::ToolServer => return None,
        };
        Some(Wanted {
            whom,
            task: worker.as_ref().map_or(caller.task, |worker| worker.task),
            worker,
            name,
            access,
            repository: self.permissions.work_of(&caller.folder),
            caller,
            client,
        })
    }

    /// The number of the question, the one that is open or a new one; none where too many
    /// are.
    async fn ask(
        &self,
        wanted: &Wanted<'_>,
        ruling: &Ruling,
    ) -> Result<Option<QuestionNumber>, QuestionError> {
        let _asking = self.asking.lock().await;
        let Wanted {
            whom,
            task,
            name,
            access,
            repository,
            caller,
            client,
            ..
        } = wanted;
        let of_same = match whom {
            ReachFor::Agent(execution) => QuestionFilter::OpenOfExecution(*execution),
            ReachFor::Task(_) => QuestionFilter::Open,
        };
        let mut open = self.questions.list(of_same).await?;
        open.retain(|one| reach_for(&one.origin) == Some(*whom));
        let same = open
            .iter()
            .find(|one| reach_asked(&one.origin) == Some(access.as_str()));
        if let Some(same) = same {
            return Ok(Some(same.number));
        }
        if open.len() >= MOST_OPEN {
            return Ok(None);
        }
        let program = client.map_or_else(
            || "a program that does not say what it is".to_owned(),
            |client| format!("a program that calls itself {client}"),
        );
        let of_agent = matches!(whom, ReachFor::Agent(_));
        let new = NewQuestion {
            origin: reach_origin(*whom, access),
            question: format!("May {name} reach {access}?"),
            context: Some(format!(
                "Refused for now: {}.\nWanted by {program}, at work in {}.\nWhat is allowed \
                 for the repository is allowed for every agent and check in {}.",
                ruling.reason,
                caller.folder.display(),
                repository.display()
            )),
            options: reach_options(of_agent, task.is_some(), repository),
            blocks: self.questions.waiting_for(*task).await?,
        };
        let trace = match whom {
            ReachFor::Agent(execution) => self.executions.trace(*execution),
            ReachFor::Task(task) => Some(TraceContext::of(*task)),
        };
        let trace = trace.unwrap_or_else(TraceContext::root);
        let raised = self.questions.raise(new, trace).await?;
        let question = self.questions.find(QuestionRef::Id(raised)).await?;
        Ok(Some(question.number))
    }
}

fn request(wanted: &Wanted<'_>) -> Option<Request> {
    let worker = wanted.worker.as_ref();
    let execution = match wanted.whom {
        ReachFor::Agent(execution) => Some(execution),
        ReachFor::Task(_) => None,
    };
    let engine = match worker {
        Some(worker) => worker.engine.clone(),
        // No rule on an engine is one on a check.
        None => "check".parse().ok()?,
    };
    Some(Request {
        tool: Some(REACH.to_owned()),
        argument: Some(Argument::Text(wanted.access.clone())),
        paths: vec![wanted.repository.display().to_string()],
        shown: Shown::Exact,
        base: path_base(&wanted.caller.folder),
        slot: worker.map(|worker| worker.slot),
        slot_name: worker.map(|worker| worker.slot_name.clone()),
        execution,
        task: wanted.task,
        ..Request::from_engine(engine)
    })
}

/// What a rule would have to name: the host with its port, or, where there are rules on
/// requests to it, the request.
fn access(target: &Target, layer: Layer) -> String {
    let Target { host, port, .. } = target;
    match (&target.request, target.path(), layer) {
        (Some((method, _)), Some(path), Layer::Rest) => format!("{method} {host}:{port}{path}"),
        _ => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_asked_about_whole_unless_there_are_rules_on_its_requests() {
        let target = Target {
            host: "a.example".parse().unwrap(),
            port: 80,
            request: Some(("POST".to_owned(), "/x?key=secret".to_owned())),
        };
        assert_eq!(access(&target, Layer::Network), "a.example:80");
        assert_eq!(access(&target, Layer::Rest), "POST a.example:80/x");
        let tunnel = Target {
            request: None,
            port: 443,
            ..target
        };
        assert_eq!(access(&tunnel, Layer::Rest), "a.example:443");
    }
}
