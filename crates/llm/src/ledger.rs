//! The record of requests: who asked, what may be spent, what was. What was sent is on the
//! audit too, by its digest.

use missiond_audit::{AuditLog, Entry as AuditEntry, digest_of};
use missiond_config::{Config, KeptTexts};
use missiond_core::{
    AuditKind, AuditWho, BoardTaskId, Clock, DaemonId, ExecutionId, Principal, PrincipalKind,
    Timestamp, TraceId,
};
use missiond_runtime::{OnPanic, Supervisor};
use missiond_store::llm::{Budget, NewRequest, Purse, RequestEnd, Spent, UsedTokens};
use missiond_store::token_usage::begin_of_day;
use missiond_store::{MissionDb, llm};
use std::sync::Arc;

use crate::error::LlmError;
use crate::items::{Answer, Stop, Usage};
use crate::price;
use crate::registry::{Provider, microdollars};

#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    pub(crate) db: MissionDb,
    pub(crate) daemon: DaemonId,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) audit: AuditLog,
}

/// Whose request it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    pub who: AuditWho,
    /// What it is for, in a word.
    pub purpose: String,
    pub trace_id: Option<TraceId>,
    pub execution: Option<ExecutionId>,
    pub task: Option<BoardTaskId>,
}

impl Asker {
    /// Somebody who asks for themselves.
    #[must_use]
    pub fn new(who: &Principal, purpose: &str) -> Self {
        Self {
            who: who.into(),
            purpose: purpose.to_owned(),
            trace_id: None,
            execution: None,
            task: None,
        }
    }

    /// An agent, by its program.
    pub(crate) fn agent(execution: ExecutionId, task: Option<BoardTaskId>, purpose: &str) -> Self {
        let who = AuditWho {
            kind: PrincipalKind::Agent,
            id: None,
            execution: Some(execution),
        };
        Self {
            who,
            purpose: purpose.to_owned(),
            trace_id: None,
            execution: Some(execution),
            task,
        }
    }

    /// As the record of requests names them.
    fn name(&self) -> String {
        match self.execution {
            Some(execution) => format!("agent {execution}"),
            None => format!("{:?}", self.who.kind).to_lowercase(),
        }
    }
}

/// What is about to be sent, as far as it counts for the budget.
#[derive(Debug)]
pub(crate) struct Planned<'a> {
    pub(crate) provider: &'a Provider,
    pub(crate) format: &'static str,
    pub(crate) model: &'a str,
    /// The exact bytes.
    pub(crate) body: &'a [u8],
    pub(crate) max_output: Option<u64>,
    pub(crate) prompt: Option<String>,
}

/// A request on record that has not ended.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) id: String,
    price: Option<missiond_config::PriceConfig>,
    free: bool,
    keeps_texts: bool,
    audited: AuditEntry,
}

/// What is written before a request is sent.
pub(crate) struct Reservation {
    request: NewRequest,
    budgets: Vec<Budget>,
    pub(crate) entry: Entry,
}

/// A request whose asker may go away: then it ends as given up, and counts for what it
/// may have cost.
pub(crate) struct Unsettled {
    ledger: Ledger,
    supervisor: Supervisor,
    entry: Option<Entry>,
}

impl Unsettled {
    /// Whoever holds the request now sees to its end.
    pub(crate) fn release(mut self) {
        self.entry = None;
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        let Some(entry) = self.entry.take() else {
            return;
        };
        let ledger = self.ledger.clone();
        let settle = async move {
            let end = RequestEnd::new("given_up", ledger.clock.now());
            ledger.settle(&entry, end, &Usage::default()).await;
        };
        self.supervisor
            .spawn("model request", None, OnPanic::Report, settle);
    }
}

impl Reservation {
    /// Whether it can be refused; what cannot be need not be waited for.
    pub(crate) fn is_bound(&self) -> bool {
        !self.budgets.is_empty()
    }
}

impl Ledger {
    /// What a request reserves, or why it is not even tried.
    pub(crate) fn plan(
        &self,
        config: &Config,
        asker: &Asker,
        planned: Planned<'_>,
    ) -> Result<Reservation, LlmError> {
        // What cannot be put on record afterwards is not sent.
        self.audit.check()?;
        let now = self.clock.now();
        let (provider, model) = (planned.provider, planned.model);
        let price = price::price_of(&config.usage, model);
        let budgets = budgets(config, asker, provider, now);
        let bound = !budgets.is_empty() || config.llm.request_usd > 0.0;
        let reserved = match &price {
            _ if provider.free => 0,
            Some(price) => price::at_most(price, planned.body.len(), planned.max_output),
            None if bound => {
                return Err(LlmError::Unpriced {
                    provider: provider.name.clone(),
                    model: model.to_owned(),
                });
            }
            None => 0,
        };
        let most = microdollars(config.llm.request_usd);
        if most > 0 && reserved > most {
            return Err(LlmError::Spent {
                key: "`llm.request_usd`",
                what: "for a request".to_owned(),
                most,
                spent: 0,
                needed: reserved,
            });
        }
        let keeps_texts = config.llm.keep == KeptTexts::Masked;
        let id = format!("llm_{}", uuid::Uuid::now_v7().simple());
        let action = format!("{} {model}", provider.name);
        let audited = AuditEntry::by(AuditKind::Model, asker.who.clone(), &action)
            .about(&format!("{} {id}", asker.purpose))
            .digest(&digest_of(planned.body));
        let audited = match asker.trace_id {
            Some(trace) => audited.trace_id(trace),
            None => audited,
        };
        Ok(Reservation {
            request: NewRequest {
                id: id.clone(),
                daemon: self.daemon,
                provider: provider.name.clone(),
                format: planned.format.to_owned(),
                model: model.to_owned(),
                purpose: asker.purpose.clone(),
                principal: asker.name(),
                trace_id: asker.trace_id.map(|trace| trace.to_string()),
                execution: asker.execution,
                task: asker.task,
                started_at: now,
                reserved,
                prompt: planned.prompt.filter(|_| keeps_texts),
            },
            budgets,
            entry: Entry {
                id,
                price,
                free: provider.free,
                keeps_texts,
                audited,
            },
        })
    }

    /// Puts it on record, if the budgets have what it may cost. Whoever gets the answer
    /// settles it; whoever goes away before, also while this is being written, has given
    /// it up.
    pub(crate) async fn reserve(
        &self,
        reservation: Reservation,
        supervisor: &Supervisor,
    ) -> Result<Unsettled, LlmError> {
        let Reservation {
            mut request,
            budgets,
            entry,
        } = reservation;
        let unsettled = Unsettled {
            ledger: self.clone(),
            supervisor: supervisor.clone(),
            entry: Some(entry.clone()),
        };
        // It may have waited for its turn.
        request.started_at = self.clock.now();
        let needed = request.reserved;
        let reserved = self
            .db
            .write(move |tx| Box::pin(async move { llm::reserve(tx, &request, &budgets).await }))
            .await;
        let Spent { budget, spent } = match reserved {
            Ok(Ok(())) => return Ok(unsettled),
            Ok(Err(spent)) => spent,
            Err(error) => {
                unsettled.release();
                return Err(error.into());
            }
        };
        unsettled.release();
        let refused = entry.audited.outcome("refused: its budget is spent");
        self.audit.record_soon(refused).await;
        let (key, what) = match budget.purse {
            Purse::Execution(_) => ("`llm.execution_usd`", "for this run".to_owned()),
            Purse::Task(task) => ("`llm.task_usd`", format!("for {task}")),
            Purse::Provider(provider, _) => ("`day_usd`", format!("a day for {provider}")),
            Purse::Everything(_) => ("`llm.day_usd`", "a day".to_owned()),
        };
        Err(LlmError::Spent {
            key,
            what,
            most: budget.most,
            spent,
            needed,
        })
    }

    /// Writes how it ended.
    pub(crate) async fn settle(&self, entry: &Entry, mut end: RequestEnd, used: &Usage) {
        end.tokens = UsedTokens {
            input: used.input,
            cache_read: used.cache_read,
            cache_write: used.cache_write,
            cache_write_1h: used.cache_write_1h,
            output: used.output,
            reasoning: used.reasoning,
        };
        end.cost = end.cost.or_else(|| match &entry.price {
            _ if entry.free => Some(0),
            Some(price) => price::cost(price, used),
            None => None,
        });
        if !entry.keeps_texts {
            end.answer = None;
        }
        let outcome = match &end.failure {
            Some(why) => format!("{}: {why}", end.outcome),
            None => end.outcome.to_owned(),
        };
        let audited = entry.audited.clone().outcome(&outcome);
        self.audit.record_soon(audited).await;
        let id = entry.id.clone();
        let settled = self
            .db
            .write(move |tx| Box::pin(async move { llm::settle(tx, &id, &end).await }));
        if let Err(error) = settled.await {
            tracing::error!(request = entry.id, %error, "end of model request not recorded");
        }
    }

    /// What an answer cost, if that can be said.
    pub(crate) fn cost(entry: &Entry, used: &Usage) -> Option<u64> {
        match &entry.price {
            _ if entry.free => Some(0),
            Some(price) => price::cost(price, used),
            None => None,
        }
    }

    /// The end of a request that was answered.
    pub(crate) fn end_of(
        &self,
        answer: &Answer,
        first_piece_at: Option<Timestamp>,
        text: impl FnOnce(&Answer) -> String,
    ) -> RequestEnd {
        let outcome = if answer.stop == Stop::Cut {
            "cut"
        } else {
            "answered"
        };
        RequestEnd {
            answered_by: Some(answer.model.clone()).filter(|model| !model.is_empty()),
            first_piece_at,
            failure: answer.error.clone(),
            stop: Some(answer.stop.name()),
            answer: Some(text(answer)),
            ..RequestEnd::new(outcome, self.clock.now())
        }
    }

    /// The end of a request whose failure cost nothing.
    pub(crate) fn end_failed(&self, failure: &str) -> RequestEnd {
        RequestEnd {
            failure: Some(failure.to_owned()),
            cost: Some(0),
            ..RequestEnd::new("failed", self.clock.now())
        }
    }
}

fn budgets(config: &Config, asker: &Asker, provider: &Provider, now: Timestamp) -> Vec<Budget> {
    let llm = &config.llm;
    let today = begin_of_day(now);
    let limited = |usd: f64| (usd > 0.0).then(|| microdollars(usd));
    let purses = [
        (
            asker.execution.map(Purse::Execution),
            limited(llm.execution_usd),
        ),
        (asker.task.map(Purse::Task), limited(llm.task_usd)),
        (
            Some(Purse::Provider(provider.name.clone(), today)),
            provider.day,
        ),
        (Some(Purse::Everything(today)), limited(llm.day_usd)),
    ];
    let budgets = purses.into_iter().filter_map(|(purse, most)| {
        Some(Budget {
            purse: purse?,
            most: most?,
        })
    });
    budgets.collect()
}
