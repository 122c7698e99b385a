//! The handle of it all, and what it is made of.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use missiond_audit::{AuditLog, Entry};
use missiond_config::{Config, ProviderFormat};
use missiond_core::{AuditKind, Clock, DaemonId, ExecutionId, Timestamp};
use missiond_net::http::{
    Bytes, Connections, HttpClient, Limits as HttpLimits, Method, StatusCode,
};
use missiond_runtime::{Component, OnPanic, StartError, Supervisor, Tasks};
use missiond_store::{MissionDb, StoreError, llm};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use crate::error::LlmError;
use crate::formats::{Failure, read_failure};
use crate::gate::{Gate, GateState, Limits, Parking};
use crate::keys::{KeySource, Keys};
use crate::ledger::Ledger;
use crate::registry::{self, Provider};
use crate::router::{ModelName, Need, Route, route};

/// Where an Ollama listens that nobody configured.
const OLLAMA: &str = "http://127.0.0.1:11434";

/// It is looked for again after this time.
const LOOKED: Duration = Duration::from_secs(30);

/// A list of models is small and comes soon, or there is none.
const LIST: HttpLimits = HttpLimits {
    total: Duration::from_secs(10),
    body: 8 << 20,
};
const PROBE: HttpLimits = HttpLimits {
    total: Duration::from_millis(500),
    body: 8 << 20,
};

/// What it is made of.
#[derive(Debug)]
pub struct Parts {
    pub daemon: DaemonId,
    pub db: MissionDb,
    pub clock: Arc<dyn Clock>,
    pub config: watch::Receiver<Arc<Config>>,
    pub supervisor: Supervisor,
    pub audit: AuditLog,
}

/// The models of this daemon.
#[derive(Debug)]
pub struct Llm {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) http: HttpClient,
    pub(crate) keys: Keys,
    pub(crate) ledger: Ledger,
    pub(crate) supervisor: Supervisor,
    /// Requests of agents under way.
    pub(crate) turns: Mutex<HashMap<ExecutionId, i32>>,
    config: watch::Receiver<Arc<Config>>,
    state: Mutex<State>,
    tasks: Tasks,
}

#[derive(Debug, Default)]
struct State {
    /// Those of this configuration.
    providers: Vec<Provider>,
    of: Option<Arc<Config>>,
    ollama: Option<Vec<String>>,
    looked_at: Option<Instant>,
    /// Where agents reach the daemon.
    address: Option<SocketAddr>,
}

/// How a provider is configured and how it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderState {
    pub provider: Provider,
    pub gate: GateState,
    /// What is wrong with its key, without the key.
    pub key: Result<(), String>,
}

impl Llm {
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let llm = Self {
            gate: Arc::default(),
            http: HttpClient::new(Connections::Kept),
            keys: Keys::default(),
            ledger: Ledger {
                db: parts.db,
                daemon: parts.daemon,
                clock: Arc::clone(&parts.clock),
                audit: parts.audit,
            },
            clock: parts.clock,
            config: parts.config,
            turns: Mutex::default(),
            state: Mutex::default(),
            tasks: Tasks::new(parts.supervisor.clone()),
            supervisor: parts.supervisor,
        };
        llm.refresh();
        llm
    }

    /// The configuration in force; what changed of its providers is taken up.
    pub(crate) fn config(&self) -> Arc<Config> {
        self.refresh()
    }

    fn refresh(&self) -> Arc<Config> {
        let config = Arc::clone(&self.config.borrow());
        let mut state = self.state.lock();
        if state
            .of
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, &config))
        {
            return config;
        }
        if state
            .of
            .as_ref()
            .is_none_or(|known| known.llm != config.llm)
        {
            state.providers = registry::providers(&config.llm);
            if state.ollama.is_some() {
                state.providers.push(Provider::found_ollama(OLLAMA));
            }
            self.keys.forget_all();
            self.gate.configure(&limits(&state.providers));
        }
        state.of = Some(Arc::clone(&config));
        config
    }

    pub(crate) fn provider(&self, name: &str) -> Option<Provider> {
        self.refresh();
        let state = self.state.lock();
        state.providers.iter().find(|one| one.name == name).cloned()
    }

    pub(crate) fn providers(&self) -> Vec<Provider> {
        self.refresh();
        self.state.lock().providers.clone()
    }

    /// Agents reach the daemon here.
    pub fn serve_at(&self, address: SocketAddr) {
        self.state.lock().address = Some(address);
    }

    /// The port at which agents reach the daemon.
    pub fn port(&self) -> Option<u16> {
        self.address().map(|address| address.port())
    }

    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.state.lock().address
    }

    /// Every provider with how it stands.
    pub async fn standing(&self) -> Vec<ProviderState> {
        self.look_for_ollama().await;
        let now = self.clock.now();
        let mut all = Vec::new();
        for provider in self.providers() {
            let key = self.keys.key(&provider.name, &provider.key).await;
            if let Some(gate) = self.gate.state(&provider.name, now) {
                all.push(ProviderState {
                    gate,
                    key: key.map(|_| ()),
                    provider,
                });
            }
        }
        all
    }

    /// The models a provider says it has.
    pub async fn models_of(&self, name: &str) -> Result<Vec<String>, LlmError> {
        let provider = self
            .provider(name)
            .ok_or_else(|| LlmError::NoProvider(name.to_owned()))?;
        let listed = self.list(&provider, LIST).await;
        listed.map_err(|failure| LlmError::Failed {
            provider: provider.name.clone(),
            model: "its list of models".to_owned(),
            failure: Box::new(failure),
        })
    }

    async fn list(&self, provider: &Provider, within: HttpLimits) -> Result<Vec<String>, Failure> {
        let format = provider.format;
        let exchange = async {
            let path = format.models_path();
            let sent = self.send(provider, Method::GET, path, format.headers(), Bytes::new());
            let (head, body) = sent.await?.into_parts();
            let body = body.read_to_end(within.body).await;
            let body = body.map_err(|error| crate::ask::of_http(&error))?;
            if head.status != StatusCode::OK {
                let now = self.clock.now();
                let failure = read_failure(format, head.status, &head.headers, &body, now);
                return Err(self.without_key(provider, failure).await);
            }
            let list: Value = serde_json::from_slice(&body).unwrap_or_default();
            Ok(format.model_names(&list))
        };
        let late = || {
            let message = format!("no answer within {} s", within.total.as_secs_f32());
            crate::ask::local(crate::formats::FailureKind::Timeout, message)
        };
        let listed = tokio::time::timeout(within.total, exchange).await;
        listed.unwrap_or_else(|_| Err(late()))
    }

    /// Finds an Ollama on this machine, unless one is configured or it is not wanted.
    async fn look_for_ollama(&self) {
        let config = self.config();
        let is_ollama = |format: ProviderFormat| format == ProviderFormat::Ollama;
        let configured = config
            .llm
            .providers
            .iter()
            .any(|one| is_ollama(one.format) || one.name == missiond_config::FOUND_OLLAMA);
        let now = Instant::now();
        {
            let mut state = self.state.lock();
            let fresh = |at: Instant| now.duration_since(at) < LOOKED;
            if state.looked_at.is_some_and(fresh) {
                return;
            }
            state.looked_at = Some(now);
        }
        let found = if config.llm.find_ollama && !configured {
            let provider = Provider::found_ollama(OLLAMA);
            self.list(&provider, PROBE).await.ok()
        } else {
            None
        };
        let mut state = self.state.lock();
        state.ollama = found;
        state.providers.retain(|provider| !provider.found);
        if state.ollama.is_some() {
            state.providers.push(Provider::found_ollama(OLLAMA));
        }
        self.gate.configure(&limits(&state.providers));
    }

    /// Which models are asked for a need, and why.
    pub async fn route(&self, need: &Need) -> Result<Route, LlmError> {
        let config = self.config();
        let llm = &config.llm;
        if [&llm.fast, &llm.default, &llm.premium]
            .iter()
            .all(|one| one.is_empty())
        {
            self.look_for_ollama().await;
        }
        let found: Vec<ModelName> = {
            let state = self.state.lock();
            let models = state.ollama.iter().flatten().map(|model| ModelName {
                provider: missiond_config::FOUND_OLLAMA.to_owned(),
                model: model.clone(),
            });
            models.take(1).collect()
        };
        route(llm, &found, need)
    }

    /// Asks a parked provider again from now on.
    pub async fn unpark(&self, provider: &str) -> Result<bool, StoreError> {
        self.gate.unpark(provider);
        let name = provider.to_owned();
        self.ledger
            .db
            .write(move |tx| Box::pin(async move { llm::unpark(tx, &name).await }))
            .await
    }

    pub async fn usage(&self, since: Timestamp) -> Result<Vec<llm::ModelUsage>, StoreError> {
        self.ledger
            .db
            .read(move |tx| Box::pin(llm::usage(tx, since)))
            .await
    }

    pub async fn requests(
        &self,
        filter: llm::RequestFilter,
        limit: u32,
    ) -> Result<Vec<llm::StoredRequest>, StoreError> {
        self.ledger
            .db
            .read(move |tx| Box::pin(async move { llm::list(tx, &filter, limit).await }))
            .await
    }

    /// Takes up what earlier daemons left.
    async fn recover(&self) -> Result<(), StoreError> {
        let (daemon, now) = (self.ledger.daemon, self.clock.now());
        let (lost, parked) = self
            .ledger
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let lost = llm::end_lost(tx, daemon, now).await?;
                    Ok((lost, llm::parked(tx, now).await?))
                })
            })
            .await?;
        if lost > 0 {
            let entry = Entry::of_daemon(AuditKind::Model, "models", "end requests");
            let outcome = format!("{lost} were under way when their daemon ended");
            self.ledger.audit.record_soon(entry.outcome(&outcome)).await;
        }
        for one in parked {
            let parking = Parking {
                until: one.until,
                why: one.reason,
            };
            self.gate.park(&one.provider, parking);
        }
        Ok(())
    }

    async fn forget_texts(self: Arc<Self>) {
        const HOUR: Duration = Duration::from_secs(3600);
        loop {
            let days = u64::from(self.config().llm.keep_days);
            let before = self
                .clock
                .now()
                .minus(Duration::from_secs(days * 24 * 3600));
            let forgotten = self
                .ledger
                .db
                .write(move |tx| Box::pin(llm::forget_texts(tx, before)));
            if let Err(error) = forgotten.await {
                tracing::warn!(%error, "old prompts and answers not forgotten");
            }
            tokio::time::sleep(HOUR).await;
        }
    }
}

impl Component for Llm {
    fn name(&self) -> &'static str {
        "models"
    }

    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<(), StartError>> {
        Box::pin(async move {
            let recovered = self.recover().await;
            recovered.map_err(|error| StartError::new(error.code(), error))?;
            let this = Arc::clone(&self);
            self.tasks
                .spawn("kept prompts", None, OnPanic::Report, this.forget_texts());
            Ok(())
        })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.tasks.stop())
    }
}

fn limits(providers: &[Provider]) -> BTreeMap<String, Limits> {
    let of = |provider: &Provider| (provider.name.clone(), provider.limits);
    providers.iter().map(of).collect()
}

impl KeySource {
    /// How the key is kept, in a word.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::File(_) => "file",
            Self::Command(_) => "command",
            Self::Variable(_) => "variable",
        }
    }
}
