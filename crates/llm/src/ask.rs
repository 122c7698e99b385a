//! Asking a model: through the gate, within the budget, again or elsewhere when it
//! fails, and each request on record.

use std::time::{Duration, Instant};

use missiond_core::Timestamp;
use missiond_net::http::{Bytes, HttpError, Method, Response, StatusCode, Uri, header, request};
use serde_json::Value;

use crate::Llm;
use crate::error::LlmError;
use crate::formats::{Failure, FailureKind, Reader, is_stream, read_failure};
use crate::gate::{Attempts, Class, Health, Next, Parking, after_failure};
use crate::items::{Answer, Item, Piece, Request, Stop, Usage};
use crate::ledger::{Asker, Ledger, Planned};
use crate::price;
use crate::registry::Provider;
use crate::router::ModelName;

/// An error is no longer; more of it is not read.
const MAX_ERROR: usize = 64 << 10;

/// A question to a model.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Its `model` is not looked at.
    pub request: Request,
    /// Who is asked, the first first.
    pub models: Vec<ModelName>,
    pub class: Class,
    pub asker: Asker,
    /// All of it, with waiting and other providers.
    pub within: Duration,
}

/// An answer and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The request on record.
    pub id: String,
    pub by: ModelName,
    pub answer: Answer,
    /// In millionths of a dollar; none when nobody can say.
    pub cost: Option<u64>,
    pub first_piece: Option<Duration>,
    /// What was tried before, with what became of it.
    pub before: Vec<String>,
}

/// Why one request did not come to an answer.
enum Trouble {
    /// To be decided upon.
    Failed { failure: Failure, delivered: bool },
    /// Nothing that another try would change.
    Final(LlmError),
    /// This provider cannot be asked now.
    NotNow(LlmError),
}

impl Llm {
    /// Asks the models in order until one has answered. `pieces` hears the answer as it
    /// comes; of a request that failed it has heard nothing.
    pub async fn ask(
        &self,
        ask: &Ask,
        pieces: &mut (dyn FnMut(&Piece) + Send),
    ) -> Result<Answered, LlmError> {
        let deadline = Instant::now() + ask.within;
        let mut before = Vec::new();
        let mut last = LlmError::NoModels;
        for (place, name) in ask.models.iter().enumerate() {
            let has_fallback = place + 1 < ask.models.len();
            let outcome = self
                .ask_one(ask, name, has_fallback, deadline, pieces, &mut before)
                .await;
            match outcome {
                Ok(mut answered) => {
                    answered.before = before;
                    return Ok(answered);
                }
                Err((error, Next::Fallback | Next::Park { .. })) if has_fallback => last = error,
                Err((error, _)) => return Err(error),
            }
            before.push(format!("{name}: {last}"));
        }
        Err(last)
    }

    async fn ask_one(
        &self,
        ask: &Ask,
        name: &ModelName,
        has_fallback: bool,
        deadline: Instant,
        pieces: &mut (dyn FnMut(&Piece) + Send),
        before: &mut Vec<String>,
    ) -> Result<Answered, (LlmError, Next)> {
        let provider = self
            .provider(&name.provider)
            .ok_or_else(|| (LlmError::NoProvider(name.provider.clone()), Next::Fallback))?;
        let mut sent = 0;
        loop {
            sent += 1;
            let (failure, delivered) =
                match self.attempt(ask, &provider, name, deadline, pieces).await {
                    Ok(answered) => return Ok(answered),
                    Err(Trouble::Final(error)) => return Err((error, Next::Fail)),
                    Err(Trouble::NotNow(error)) => return Err((error, Next::Fallback)),
                    Err(Trouble::Failed { failure, delivered }) => (failure, delivered),
                };
            let tried = Attempts {
                sent,
                delivered,
                left: deadline.saturating_duration_since(Instant::now()),
                has_fallback,
                jitter: rand::random(),
            };
            let next = after_failure(&failure, tried, self.clock.now());
            let error = LlmError::Failed {
                provider: name.provider.clone(),
                model: name.model.clone(),
                failure: Box::new(failure.clone()),
            };
            match next {
                Next::Retry { after } => {
                    before.push(format!("{name}: {error}"));
                    if failure.kind == FailureKind::RateLimit {
                        self.gate.pause(&name.provider, after);
                    } else {
                        tokio::time::sleep(after).await;
                    }
                }
                Next::Park { until } => {
                    self.park(&name.provider, until, &failure.message).await;
                    return Err((error, Next::Park { until }));
                }
                next => return Err((error, next)),
            }
        }
    }

    /// One request.
    async fn attempt(
        &self,
        ask: &Ask,
        provider: &Provider,
        name: &ModelName,
        deadline: Instant,
        pieces: &mut (dyn FnMut(&Piece) + Send),
    ) -> Result<Answered, Trouble> {
        let config = self.config();
        let model = provider.model(&name.model).to_owned();
        let request = Request {
            model: model.clone(),
            ..ask.request.clone()
        };
        let written = provider.format.write(&request);
        let body = Bytes::from(written.body.to_string());
        let planned = Planned {
            provider,
            format: provider.format.name(),
            model: &model,
            body: &body,
            max_output: request.max_output.map(u64::from),
            prompt: last_words(&request),
        };
        let reservation = self
            .ledger
            .plan(&config, &ask.asker, planned)
            .map_err(Trouble::Final)?;
        let entry = reservation.entry.clone();
        let now = self.clock.now();
        let passed = self
            .gate
            .pass(
                &provider.name,
                ask.class,
                price::likely_tokens(body.len()),
                now,
                deadline,
            )
            .await
            .map_err(|closed| Trouble::NotNow(closed.into()))?;
        // After the gate: what waits reserves nothing.
        let reserved = self.ledger.reserve(reservation, &self.supervisor).await;
        let unsettled = reserved.map_err(Trouble::Final)?;
        let sent_at = self.clock.now();
        let mut run = Run {
            llm: self,
            provider,
            silence: Duration::from_secs(config.llm.silence_secs),
            deadline,
            began: Instant::now(),
            first_piece: None,
        };
        let outcome = run.exchange(&written.path, body, pieces).await;
        unsettled.release();
        let first_at = run.first_piece.map(|after| sent_at.plus(after));
        match outcome {
            Ok(answer) => {
                passed.tell(if answer.stop == Stop::Cut {
                    Health::Failed
                } else {
                    Health::Well
                });
                let end = self.ledger.end_of(&answer, first_at, Answer::text);
                self.ledger.settle(&entry, end, &answer.usage).await;
                if answer.stop == Stop::Cut {
                    let why = answer
                        .error
                        .clone()
                        .unwrap_or_else(|| "it has no end".to_owned());
                    let delivered = run.first_piece.is_some();
                    let failure = Failure {
                        kind: FailureKind::Broken,
                        message: format!("the answer broke off: {why}"),
                        code: String::new(),
                        retry_after: None,
                        resets_at: None,
                    };
                    return Err(Trouble::Failed { failure, delivered });
                }
                Ok(Answered {
                    id: entry.id.clone(),
                    by: name.clone(),
                    cost: Ledger::cost(&entry, &answer.usage),
                    answer,
                    first_piece: run.first_piece,
                    before: Vec::new(),
                })
            }
            Err(trouble) => {
                let (message, health, is_free) = match &trouble {
                    Trouble::Failed { failure, delivered } => (
                        failure.message.clone(),
                        if failure.kind.is_of_provider() {
                            Health::Failed
                        } else {
                            Health::Neither
                        },
                        // What was refused or never sent cost nothing; of what broke
                        // nobody knows.
                        !delivered
                            && !matches!(failure.kind, FailureKind::Broken | FailureKind::Timeout),
                    ),
                    Trouble::Final(error) | Trouble::NotNow(error) => {
                        (error.to_string(), Health::Neither, true)
                    }
                };
                passed.tell(health);
                let mut end = self.ledger.end_failed(&message);
                end.first_piece_at = first_at;
                if !is_free {
                    end.cost = None;
                }
                self.ledger.settle(&entry, end, &Usage::default()).await;
                Err(trouble)
            }
        }
    }

    /// Leaves a provider alone, and writes that down: the next daemon does so too.
    pub(crate) async fn park(&self, provider: &str, until: Timestamp, why: &str) {
        tracing::warn!(provider, until = %until.in_utc(), why, "provider parked, its quota is spent");
        let parking = Parking {
            until,
            why: why.to_owned(),
        };
        self.gate.park(provider, parking);
        let parked = missiond_store::llm::Parked {
            provider: provider.to_owned(),
            parked_at: self.clock.now(),
            until,
            reason: why.to_owned(),
        };
        let written = self
            .ledger
            .db
            .write(move |tx| Box::pin(async move { missiond_store::llm::park(tx, &parked).await }));
        if let Err(error) = written.await {
            tracing::error!(provider, %error, "parking of provider not recorded");
        }
    }

    /// Sends a request with the provider's key.
    pub(crate) async fn send(
        &self,
        provider: &Provider,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Response, Failure> {
        let address: Uri = provider
            .address(path)
            .parse()
            .map_err(|_| local(FailureKind::Invalid, "its address is no URL".to_owned()))?;
        let key = self.keys.key(&provider.name, &provider.key).await;
        let key = key.map_err(|problem| {
            local(
                FailureKind::Key,
                format!("the key of {} {problem}", provider.name),
            )
        })?;
        let mut builder = request(method, address);
        if !body.is_empty() {
            builder = builder.header(header::CONTENT_TYPE, "application/json");
        }
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        if let Some(key) = &key {
            let (name, value) = provider.format.key_header(key.reveal());
            let mut value = header::HeaderValue::from_str(&value)
                .map_err(|_| local(FailureKind::Key, "the key is no header".to_owned()))?;
            value.set_sensitive(true);
            builder = builder.header(name, value);
        }
        let request = builder
            .body(body.into())
            .map_err(|error| local(FailureKind::Invalid, error.to_string()))?;
        self.http
            .send(request)
            .await
            .map_err(|error| of_http(&error))
    }
}

/// One exchange under way.
struct Run<'a> {
    llm: &'a Llm,
    provider: &'a Provider,
    silence: Duration,
    deadline: Instant,
    began: Instant,
    first_piece: Option<Duration>,
}

impl Run<'_> {
    async fn exchange(
        &mut self,
        path: &str,
        body: Bytes,
        pieces: &mut (dyn FnMut(&Piece) + Send),
    ) -> Result<Answer, Trouble> {
        let failed = |failure| Trouble::Failed {
            failure,
            delivered: false,
        };
        let format = self.provider.format;
        let send = self
            .llm
            .send(self.provider, Method::POST, path, format.headers(), body);
        let response = self.limited(send).await.map_err(failed)?.map_err(failed)?;
        self.llm.gate.heed(&self.provider.name, response.headers());
        let (head, mut body) = response.into_parts();
        if head.status != StatusCode::OK {
            let read = body.read_to_end(MAX_ERROR);
            let told = self
                .limited(read)
                .await
                .map_err(failed)?
                .unwrap_or_default();
            let now = self.llm.clock.now();
            let failure = read_failure(format, head.status, &head.headers, &told, now);
            return Err(failed(self.llm.without_key(self.provider, failure).await));
        }
        if !is_stream(&head.headers) && format != crate::formats::Format::Ollama {
            let read = body.read_to_end(crate::formats::MAX_ANSWER);
            let told = self.limited(read).await.map_err(failed)?;
            let told = told.map_err(|error| failed(of_http(&error)))?;
            let answer = Reader::whole(format, &told).map_err(|error| self.unreadable(error))?;
            self.first_piece = Some(self.began.elapsed());
            return Ok(answer);
        }
        let mut reader = Reader::new(format);
        loop {
            let chunk = match self.limited(body.chunk()).await {
                Ok(chunk) => chunk,
                Err(failure) => return Err(self.broken(failure)),
            };
            match chunk {
                None => return Ok(reader.finish()),
                Some(Err(error)) => return Err(self.broken(of_http(&error))),
                Some(Ok(bytes)) => {
                    let new = reader
                        .feed(&bytes)
                        .map_err(|error| self.unreadable(error))?;
                    if !new.is_empty() {
                        self.first_piece.get_or_insert_with(|| self.began.elapsed());
                    }
                    new.iter().for_each(&mut *pieces);
                    // Some servers keep the connection open behind their last word.
                    if reader.has_ended() && format == crate::formats::Format::Anthropic {
                        return Ok(reader.finish());
                    }
                }
            }
        }
    }

    fn broken(&self, failure: Failure) -> Trouble {
        Trouble::Failed {
            failure,
            delivered: self.first_piece.is_some(),
        }
    }

    fn unreadable(&self, error: crate::formats::ReadError) -> Trouble {
        Trouble::Final(LlmError::Unreadable {
            provider: self.provider.name.clone(),
            error,
        })
    }

    async fn limited<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let silent = Instant::now() + self.silence;
        let until = silent.min(self.deadline);
        tokio::time::timeout_at(until.into(), work)
            .await
            .map_err(|_| {
                let message = if silent < self.deadline {
                    format!("nothing came for {} s", self.silence.as_secs())
                } else {
                    "the answer did not come in time".to_owned()
                };
                local(FailureKind::Timeout, message)
            })
    }
}

impl Llm {
    /// A failure without the key, should the provider have repeated it; a key that was
    /// refused is read again for the next request.
    pub(crate) async fn without_key(&self, provider: &Provider, mut failure: Failure) -> Failure {
        if let Ok(Some(key)) = self.keys.key(&provider.name, &provider.key).await {
            failure.message = key.taken_out_of(&failure.message);
        }
        if failure.kind == FailureKind::Key {
            self.keys.forget(&provider.name);
            failure.message = format!(
                "the key of {} is refused: {}",
                provider.name, failure.message
            );
        }
        failure
    }
}

/// A failure that no provider told of.
pub(crate) fn local(kind: FailureKind, message: String) -> Failure {
    Failure {
        kind,
        message,
        code: String::new(),
        retry_after: None,
        resets_at: None,
    }
}

pub(crate) fn of_http(error: &HttpError) -> Failure {
    let kind = match error {
        HttpError::Unreachable(_) | HttpError::NoCertificates(_) => FailureKind::Unreachable,
        HttpError::Broken(_) => FailureKind::Broken,
        HttpError::Timeout(_) => FailureKind::Timeout,
        HttpError::TooLarge { .. } => FailureKind::Server,
    };
    local(kind, error.to_string())
}

/// The last thing that was said: what came before is in earlier requests.
fn last_words(request: &Request) -> Option<String> {
    let last = request.messages.last()?;
    let texts = last.items.iter().filter_map(|item| match item {
        Item::Text(text) => Some(text.as_str()),
        Item::Result(result) => Some(result.text.as_str()),
        _ => None,
    });
    Some(texts.collect::<Vec<_>>().join("\n"))
}

/// The JSON of an answer for which a schema was asked.
#[must_use]
pub fn structured(answer: &Answer) -> Option<Value> {
    let called = answer.items.iter().find_map(|item| match item {
        Item::Call(call) if crate::formats::is_answer_tool(&call.name) => {
            Some(call.arguments.value())
        }
        _ => None,
    });
    called.or_else(|| serde_json::from_str(answer.text().trim()).ok())
}
