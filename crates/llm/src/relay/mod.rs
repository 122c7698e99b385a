//! Requests of agents, passed on to the provider with its key.
//!
//! What an agent sends and what comes back passes unchanged and unbuffered, but for the
//! key, the headers of the connection, and the name of a model that the configuration
//! maps. Beside the bytes goes an observer, which reads what they say: what the agent is
//! doing, what was used, how it ended. It can fail without anybody who speaks noticing.

mod face;
mod observer;
mod refused;

use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_core::{BoardTaskId, ExecutionId};
use missiond_net::http::{Bytes, HeaderMap, Method, StatusCode, header};
use missiond_runtime::OnPanic;

use crate::Llm;
use crate::error::LlmError;
use crate::formats::{FailureKind, read_failure};
use crate::gate::Class;
use crate::ledger::{Asker, Planned};
use crate::price;
use crate::registry::Provider;

pub use face::Face;
pub use observer::RelayBody;
pub use refused::Refused;

use face::{Endpoint, Sketch};
use observer::Observer;

/// How long a request may wait for its turn; the CLI waits for less than for its answer.
const TURN: Duration = Duration::from_secs(120);

const MAX_ERROR: usize = 1 << 20;

/// An agent that has shown its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentOfToken {
    execution: ExecutionId,
    task: Option<BoardTaskId>,
}

/// A request as an agent sent it.
#[derive(Debug)]
pub struct Incoming {
    pub face: Face,
    pub method: Method,
    /// Behind the face: `/v1/messages`.
    pub path: String,
    pub query: Option<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
}

pub use missiond_semantic::arbiter::ModelActivity as Activity;

/// Who hears what agents are doing. It must not block.
pub trait Watch: std::fmt::Debug + Send + Sync {
    fn saw(&self, execution: ExecutionId, activity: Activity);
}

/// The head of an answer, and its body as it comes.
#[derive(Debug)]
pub struct Relayed {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: RelayBody,
}

impl Llm {
    /// Passes a request on. What is refused is refused in the words of the format, so
    /// that the CLI shows the sentence.
    pub async fn relay(
        self: &Arc<Self>,
        agent: AgentOfToken,
        incoming: Incoming,
        watch: Arc<dyn Watch>,
    ) -> Result<Relayed, Refused> {
        let face = incoming.face;
        let refuse = |status, message: String| Refused::new(face, status, message);
        let AgentOfToken { execution, task } = agent;
        let Some(endpoint) = Endpoint::of(face, &incoming.method, &incoming.path) else {
            let message = format!("{} {} is not passed on", incoming.method, incoming.path);
            return Err(refuse(StatusCode::NOT_FOUND, message));
        };
        let sketch = Sketch::of(&incoming.body);
        let asked = endpoint
            .model
            .clone()
            .or(sketch.model.clone())
            .unwrap_or_default();
        let provider = self.provider_for(&endpoint, &asked).ok_or_else(|| {
            let message = format!(
                "no provider in `llm.providers` speaks the format `{}`, in which this agent asks",
                endpoint.format.name()
            );
            refuse(StatusCode::BAD_REQUEST, message)
        })?;
        let model = provider.model(&asked).to_owned();
        let (path, body) = face::mapped(&endpoint, &incoming, &asked, &model);
        let purpose = if sketch.has_tools() {
            "agent"
        } else {
            "helper"
        };
        let asker = Asker::agent(execution, task, purpose);
        if !endpoint.generates {
            return self.pass_plain(&provider, &incoming, &path, body).await;
        }
        let config = self.config();
        let planned = Planned {
            provider: &provider,
            format: endpoint.format.name(),
            model: &model,
            body: &body,
            max_output: sketch.max_output(),
            prompt: sketch.last_words(),
        };
        let of_error = |error: LlmError| Refused::of(face, &error, self.clock.now());
        let reservation = self
            .ledger
            .plan(&config, &asker, planned)
            .map_err(of_error)?;
        let entry = reservation.entry.clone();
        let deadline = Instant::now() + TURN;
        let tokens = price::likely_tokens(body.len());
        let now = self.clock.now();
        let passed = self
            .gate
            .pass(&provider.name, Class::Agent, tokens, now, deadline);
        let passed = passed.await.map_err(|closed| of_error(closed.into()))?;
        // What no budget can refuse is written while the request is on its way.
        let recorded = if reservation.is_bound() {
            let reserved = self.ledger.reserve(reservation, &self.supervisor).await;
            // The observer settles it from here on.
            reserved.map_err(of_error)?.release();
            None
        } else {
            let (ledger, supervisor) = (self.ledger.clone(), self.supervisor.clone());
            let write = async move {
                match ledger.reserve(reservation, &supervisor).await {
                    Ok(unsettled) => unsettled.release(),
                    Err(error) => tracing::error!(%error, "model request not recorded"),
                }
            };
            let task = self
                .supervisor
                .spawn("model request", None, OnPanic::Report, write);
            Some(task)
        };
        let is_turn = sketch.has_tools();
        let mut observer = Observer::new(
            Arc::clone(self),
            endpoint.format,
            entry,
            passed,
            recorded,
            is_turn.then_some((execution, watch)),
        );
        let silence = Duration::from_secs(config.llm.silence_secs);
        let sent = self.forward(&provider, &incoming, &path, body);
        let response = match tokio::time::timeout(silence, sent).await {
            Ok(Ok(response)) => response,
            Ok(Err(failure)) => {
                let status = match failure.kind {
                    FailureKind::Key => StatusCode::UNAUTHORIZED,
                    _ => StatusCode::BAD_GATEWAY,
                };
                observer.failed(&failure.message, failure.kind.is_of_provider());
                let message = format!("{}: {}", provider.name, failure.message);
                return Err(refuse(status, message));
            }
            Err(_) => {
                observer.failed("nothing came", true);
                let message = format!("{} said nothing for {} s", provider.name, silence.as_secs());
                return Err(refuse(StatusCode::GATEWAY_TIMEOUT, message));
            }
        };
        self.gate.heed(&provider.name, response.headers());
        let (head, body) = response.into_parts();
        let headers = passed_on(&head.headers);
        if !head.status.is_success() {
            let told = tokio::time::timeout(silence, body.read_to_end(MAX_ERROR)).await;
            let told = told.map(Result::unwrap_or_default).unwrap_or_default();
            let now = self.clock.now();
            let failure = read_failure(endpoint.format, head.status, &head.headers, &told, now);
            let failure = self.without_key(&provider, failure).await;
            if failure.kind == FailureKind::Quota {
                let hour = Duration::from_secs(3600);
                let until = failure.resets_at.unwrap_or_else(|| now.plus(hour));
                self.park(&provider.name, until, &failure.message).await;
            } else if let (FailureKind::RateLimit, Some(wait)) = (failure.kind, failure.retry_after)
            {
                self.gate
                    .pause(&provider.name, wait.min(Duration::from_secs(60)));
            }
            observer.failed(&failure.message, failure.kind.is_of_provider());
            // Its own words, so that the CLI reacts as it would without us; but a
            // provider that repeats the key is not repeated.
            let body = match self.keys.key(&provider.name, &provider.key).await {
                Ok(Some(key)) => Bytes::from(key.taken_out_of(&String::from_utf8_lossy(&told))),
                _ => Bytes::from(told),
            };
            return Ok(Relayed {
                status: head.status,
                headers,
                body: RelayBody::whole(body),
            });
        }
        let streams = crate::formats::is_stream(&head.headers);
        observer.answers(streams);
        let limit = Instant::now() + Duration::from_secs(config.llm.answer_secs);
        Ok(Relayed {
            status: head.status,
            headers,
            body: RelayBody::new(body, observer, silence, limit),
        })
    }

    /// The agent whose token these headers show, if its execution still goes on: asked
    /// before anything large of a request is read.
    pub async fn admit(&self, face: Face, headers: &HeaderMap) -> Result<AgentOfToken, Refused> {
        let owner = match shown_token(headers) {
            Some(token) => self.whose(token).await,
            None => Ok(None),
        };
        match owner {
            Ok(Some((execution, task))) => Ok(AgentOfToken { execution, task }),
            Ok(None) => Err(Refused::new(
                face,
                StatusCode::UNAUTHORIZED,
                "this token reaches no model: it is of no run of an agent that still goes on",
            )),
            Err(error) => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                Err(Refused::new(face, status, error.to_string()))
            }
        }
    }

    /// The provider that is asked in a format: one that maps the model, or the first.
    fn provider_for(&self, endpoint: &Endpoint, model: &str) -> Option<Provider> {
        let fitting = |provider: &Provider| provider.format == endpoint.format;
        let mut all: Vec<_> = self.providers().into_iter().filter(fitting).collect();
        let maps = all
            .iter()
            .position(|provider| provider.models.contains_key(model));
        let chosen = maps.unwrap_or(0);
        (chosen < all.len()).then(|| all.swap_remove(chosen))
    }

    /// What costs nothing: counting tokens, listing models.
    async fn pass_plain(
        &self,
        provider: &Provider,
        incoming: &Incoming,
        path: &str,
        body: Bytes,
    ) -> Result<Relayed, Refused> {
        let refuse = |message| Refused::new(incoming.face, StatusCode::BAD_GATEWAY, message);
        let limit = Duration::from_secs(60);
        let exchange = async {
            let response = self.forward(provider, incoming, path, body).await;
            let (head, body) = response.map_err(|failure| failure.message)?.into_parts();
            let body = body.read_to_end(8 << 20).await;
            Ok::<_, String>((head, body.map_err(|error| error.to_string())?))
        };
        let outcome = tokio::time::timeout(limit, exchange).await;
        let outcome = outcome.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        let (head, body) = outcome.map_err(refuse)?;
        Ok(Relayed {
            status: head.status,
            headers: passed_on(&head.headers),
            body: RelayBody::whole(body.into()),
        })
    }

    async fn forward(
        &self,
        provider: &Provider,
        incoming: &Incoming,
        path: &str,
        body: Bytes,
    ) -> Result<missiond_net::http::Response, crate::formats::Failure> {
        let headers: Vec<(&str, &str)> = incoming
            .headers
            .iter()
            .filter(|(name, _)| is_passed(name.as_str()) && *name != header::CONTENT_TYPE)
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        self.send(provider, incoming.method.clone(), path, &headers, body)
            .await
    }

    /// One more or one fewer request of an agent under way; how many are.
    pub(crate) fn count_turns(&self, execution: ExecutionId, change: i32) -> i32 {
        let mut turns = self.turns.lock();
        let count = turns.entry(execution).or_insert(0);
        *count += change;
        let left = *count;
        if left <= 0 {
            turns.remove(&execution);
        }
        left
    }
}

/// The token an agent shows, in whichever header its client has for a key.
fn shown_token(headers: &HeaderMap) -> Option<&str> {
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let bearer = header("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    bearer
        .or_else(|| header("x-api-key"))
        .or_else(|| header("x-goog-api-key"))
}

/// Headers that are of one connection, or show who somebody is.
const KEPT_BACK: [&str; 20] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "origin",
    "proxy-authenticate",
    "proxy-authorization",
    "referer",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-api-key",
];

fn is_passed(name: &str) -> bool {
    !KEPT_BACK.contains(&name) && name != "x-goog-api-key" && !name.starts_with("x-forwarded-")
}

fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let passed = headers.iter().filter(|(name, _)| is_passed(name.as_str()));
    passed
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
