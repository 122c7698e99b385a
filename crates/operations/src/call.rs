//! The one way in: a call of an operation by its name.
//!
//! [`Operations::call`] parses the parameters into their type, bounds the time,
//! turns a panic into an error and an incident, and counts and tells the outcome.
//! No presentation does any of that for itself.

use crate::allowance::{Allowances, Caller};
use crate::authority::{self, Refusals, Started};
use crate::call_log::{CallLine, CallLog};
use crate::state::Daemon;
use futures::FutureExt;
use futures::future::BoxFuture;
use missiond_api::{ApiError, CATALOGUE, Operation, OperationSpec};
use missiond_audit::{AuditError, AuditedCall};
use missiond_core::{
    ErrorCode, Event, KINDS, Principal, SlotId, Text, TraceContext, kind_spec, nearest_name,
};
use missiond_executions::Sender;
use missiond_slots::TurnedAway;
use missiond_store::StoreError;
use missiond_timeline::TimelineError;
use missiond_timeline::metrics::Outcome;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;

/// A client as the log names it: the way it came in, the number of its connection or of
/// its access, and what it calls itself. Nothing of it is secret, and nothing decides by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientId(Arc<str>);

/// What a client calls itself is as long as it likes.
const CLIENT_NAME: usize = 64;

impl ClientId {
    /// `way` is `ipc`, `http`, `mcp` or `agent`; `number` tells clients of one way apart.
    #[must_use]
    pub fn new(way: &str, number: impl std::fmt::Display, name: &str) -> Self {
        let name = name.chars().filter(|c| !c.is_control());
        let name: String = name.take(CLIENT_NAME).collect();
        let id = match name.as_str() {
            "" => format!("{way}-{number}"),
            name => format!("{way}-{number} {name}"),
        };
        Self(id.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ClientId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a handler is given beside its parameters.
#[derive(Debug, Clone)]
pub struct Call {
    pub daemon: Daemon,
    /// Who asks, as the connection shows.
    pub principal: Principal,
    /// What the call causes belongs to this chain.
    pub trace: TraceContext,
    /// Where it may tell how far it has come.
    pub reporter: Reporter,
    pub(crate) started: Arc<Started>,
}

impl Call {
    /// The slot of the agent that asks, or of the first of those that started each other;
    /// none where it is no agent.
    pub(crate) fn agent(&self) -> Option<SlotId> {
        let slot = self.principal.slot()?;
        Some(self.started.above(slot, |slot| {
            let execution = self.daemon.executions.in_slot(slot);
            execution.map(|(execution, _)| execution)
        }))
    }

    /// Who asks, as the journals of runs name them: a program by the name of its token.
    pub(crate) async fn sender(&self) -> Sender {
        match self.principal {
            Principal::Person => Sender::Operator,
            Principal::Program { access, .. } => {
                let name = self.daemon.http_access.name_of(access).await;
                let name = name.ok().flatten().and_then(|name| Text::new(name).ok());
                let id = || Text::new(access.to_string()).expect("an id is short");
                Sender::Program(name.unwrap_or_else(id))
            }
            Principal::Commander => Sender::Commander,
            Principal::Agent {
                execution: Some(execution),
                ..
            } => Sender::Execution(execution),
            Principal::Agent { slot, .. } => Sender::Slot(slot),
            Principal::Daemon { .. } => Sender::Daemon,
            Principal::ToolServer | Principal::Untold => Sender::Unknown,
        }
    }

    /// What somebody looks at who has been let in already.
    pub(crate) fn looking(daemon: Daemon) -> Self {
        Self {
            daemon,
            principal: Principal::Daemon {
                component: "viewer",
            },
            trace: TraceContext::root(),
            reporter: Reporter::default(),
            started: Arc::default(),
        }
    }
}

type Handler = Box<
    dyn Fn(Call, Option<Box<RawValue>>) -> BoxFuture<'static, Result<Box<RawValue>, ApiError>>
        + Send
        + Sync,
>;

/// An operation as the catalogue has it, and what carries it out.
struct Declared {
    spec: OperationSpec,
    handler: Handler,
}

/// Every operation with its handler.
pub struct Operations {
    daemon: Daemon,
    handlers: HashMap<&'static str, Declared>,
    log: CallLog,
    started: Arc<Started>,
    refusals: Refusals,
    allowances: Allowances,
}

impl std::fmt::Debug for Operations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operations")
            .field("count", &self.handlers.len())
            .finish_non_exhaustive()
    }
}

impl Operations {
    pub(crate) fn without_handlers(daemon: Daemon) -> Self {
        Self {
            daemon,
            handlers: HashMap::with_capacity(CATALOGUE.len()),
            log: CallLog::default(),
            started: Arc::default(),
            refusals: Refusals::default(),
            allowances: Allowances::default(),
        }
    }

    pub(crate) fn add<O, F, Fut>(&mut self, handler: F)
    where
        O: Operation,
        F: Fn(Call, O::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O::Result, ApiError>> + Send + 'static,
    {
        let name = O::SPEC.name;
        let typed: Handler = Box::new(move |call, params| {
            let text = params.as_deref().map_or("{}", RawValue::get);
            match O::parse(text) {
                Ok(params) => {
                    let work = handler(call, params);
                    Box::pin(
                        async move { O::encode(&work.await?).map_err(|error| not_encoded(&error)) },
                    )
                }
                Err(error) => Box::pin(std::future::ready(Err(error))),
            }
        });
        let declared = Declared {
            spec: O::SPEC,
            handler: typed,
        };
        let before = self.handlers.insert(name, declared);
        debug_assert!(before.is_none(), "{name} has two handlers");
    }

    /// Refuses what this caller may not, and tells of it.
    async fn check(
        &self,
        spec: &OperationSpec,
        principal: Principal,
        params: Option<&RawValue>,
    ) -> Result<(), ApiError> {
        let decided = authority::decide(&self.daemon, &self.started, spec, &principal, params);
        let Err(refusal) = decided.await else {
            return Ok(());
        };
        let refusals = &self.refusals;
        let refused = refusals.refuse(&self.daemon, spec.name, principal, params, refusal);
        Err(refused.await)
    }

    /// Whose allowance a call uses up.
    fn allowed_to(&self, principal: Principal) -> Caller {
        match principal {
            Principal::Agent { slot, .. } => Caller::Agent(self.started.above(slot, |slot| {
                let execution = self.daemon.executions.in_slot(slot);
                execution.map(|(execution, _)| execution)
            })),
            Principal::Untold => Caller::Untold,
            _ => Caller::Free,
        }
    }

    /// Refuses whoever may not call this operation, for what does the same without
    /// calling it.
    pub async fn authorize<O: Operation>(
        &self,
        principal: Principal,
        params: Option<&RawValue>,
    ) -> Result<(), ApiError> {
        self.check(&O::SPEC, principal, params).await
    }

    /// Puts on record who is turned away at the terminals of slots, as long as there are any.
    pub async fn record_turned_away(self: Arc<Self>, mut told: mpsc::Receiver<TurnedAway>) {
        while let Some(turned_away) = told.recv().await {
            self.refusals.turned_away(&self.daemon, &turned_away).await;
        }
    }

    /// Refuses what a token has no scope for, where a model speaks that came in by it.
    pub async fn check_token(
        &self,
        name: &str,
        token: Principal,
        params: Option<&RawValue>,
    ) -> Result<(), ApiError> {
        match self.handlers.get(name) {
            Some(Declared { spec, .. }) => self.check(spec, token, params).await,
            None => Err(unknown(name)),
        }
    }

    /// Carries out an operation.
    pub async fn call(
        &self,
        name: &str,
        params: Option<Box<RawValue>>,
        principal: Principal,
        client: &ClientId,
    ) -> Result<Box<RawValue>, ApiError> {
        self.call_reporting(name, params, principal, client, Reporter::default())
            .await
    }

    /// Carries out an operation for a caller who wants to hear how far it is.
    pub async fn call_reporting(
        &self,
        name: &str,
        params: Option<Box<RawValue>>,
        principal: Principal,
        client: &ClientId,
        reporter: Reporter,
    ) -> Result<Box<RawValue>, ApiError> {
        let Some(Declared { spec, handler }) = self.handlers.get(name) else {
            return Err(unknown(name));
        };
        let name = spec.name;
        self.check(spec, principal, params.as_deref()).await?;
        let started = Instant::now();
        let config = self.daemon.config();
        let bytes = params.as_deref().map_or(0, |params| params.get().len());
        let allowances = &self.allowances;
        let caller = self.allowed_to(principal);
        allowances.take(&config.ipc, caller, spec, bytes, started)?;
        let trace = TraceContext::root();
        let audit = &self.daemon.audit;
        let text = params.as_deref().map_or("{}", RawValue::get);
        let audited = AuditedCall::begin(audit, spec, &principal, text, trace);
        let audited = audited.map_err(|error| of_audit(&error))?;
        let call = Call {
            daemon: Arc::clone(&self.daemon),
            principal,
            trace,
            reporter,
            started: Arc::clone(&self.started),
        };
        let limit = config.ipc.request_timeout();
        let metrics = Arc::clone(&self.daemon.metrics);
        metrics.requests_in_flight.up();
        // Counted down also when the caller goes away and this future is dropped.
        let _in_flight = Defer(|| metrics.requests_in_flight.down());
        let mut ending = Ending {
            daemon: &self.daemon,
            log: &self.log,
            line: self.log.begin(spec, params.as_deref(), client),
            operation: name,
            trace,
            started,
            error: Some(ErrorCode::Cancelled),
        };

        let work = AssertUnwindSafe(handler(call, params)).catch_unwind();
        let result = match tokio::time::timeout(limit, work).await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => {
                let supervisor = &self.daemon.supervisor;
                supervisor.report("operation", Some(name.to_owned()), panic.as_ref());
                Err(ApiError::internal(format!(
                    "`{name}` failed: this is a defect of missiond"
                )))
            }
            Err(_) => {
                let message = format!("`{name}` took longer than {} s", limit.as_secs());
                Err(ApiError::new(ErrorCode::Timeout, message))
            }
        };

        ending.error = result.as_ref().err().map(|error| error.code);
        if let Some(audited) = audited {
            let failure = result.as_ref().err().map(|error| error.message.as_str());
            let recorded = audited.finish(failure).await;
            recorded.map_err(|error| of_audit(&error))?;
        }
        result
    }
}

/// Counts a call, logs it and tells the timeline of it when it is over, also when its
/// caller went away first.
struct Ending<'a> {
    daemon: &'a Daemon,
    log: &'a CallLog,
    line: Option<CallLine>,
    operation: &'static str,
    trace: TraceContext,
    started: Instant,
    error: Option<ErrorCode>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        let outcome = match self.error {
            None => Outcome::Succeeded,
            Some(_) => Outcome::Failed,
        };
        self.daemon.metrics.request_finished(outcome, took);
        if let Some(line) = self.line.take() {
            self.log.write(&line, took, self.error);
        }
        let finished = Event::OperationFinished {
            operation: self.operation.to_owned(),
            micros: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            error: self.error,
        };
        self.daemon.timeline.publish(finished, self.trace.child());
    }
}

/// Where the progress of a call is reported; nobody need be listening.
#[derive(Clone, Default)]
pub struct Reporter(Option<Arc<ProgressListener>>);

/// Progress, the total where it is known, and a word about it.
type ProgressListener = dyn Fn(f64, Option<f64>, Option<&str>) + Send + Sync;

impl std::fmt::Debug for Reporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reporter").field(&self.0.is_some()).finish()
    }
}

impl Reporter {
    pub fn new(listener: impl Fn(f64, Option<f64>, Option<&str>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub fn report(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if let Some(listener) = &self.0 {
            listener(progress, total, message);
        }
    }
}

struct Defer<F: FnMut()>(F);

impl<F: FnMut()> Drop for Defer<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn unknown(name: &str) -> ApiError {
    let shown: String = name.chars().take(64).collect();
    let hint = match nearest_name(&shown, CATALOGUE.iter().map(|spec| spec.name)) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`mission call --list` lists those that exist".to_owned(),
    };
    ApiError::new(
        ErrorCode::UnknownOperation,
        format!("no operation `{shown}`; {hint}"),
    )
}

/// Refuses kinds of event that do not exist: who asks for one made a mistake,
/// and would wait for ever.
pub fn check_kinds(kinds: &[String]) -> Result<(), ApiError> {
    match kinds.iter().find(|kind| kind_spec(kind).is_none()) {
        Some(kind) => {
            let kind: String = kind.chars().take(64).collect();
            let names: Vec<_> = KINDS.iter().map(|spec| spec.kind).collect();
            let hint = match nearest_name(&kind, names.iter().copied()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("there are {}", names.join(", ")),
            };
            Err(ApiError::invalid_params(format!(
                "no kind of event is called `{kind}`; {hint}"
            )))
        }
        None => Ok(()),
    }
}

fn not_encoded(error: &serde_json::Error) -> ApiError {
    ApiError::internal(error.to_string())
}

pub(crate) fn of_store(error: &StoreError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}

pub(crate) fn of_audit(error: &AuditError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}

pub(crate) fn of_timeline(error: &TimelineError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}
