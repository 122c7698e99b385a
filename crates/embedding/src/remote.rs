//! Models behind an HTTP endpoint: Ollama, and whatever speaks the embeddings
//! call of the OpenAI interface. Both are asked for one vector when they are
//! opened, which tells the dimension; an answer of another one later is an
//! error, never a vector.

use std::time::Duration;

use missiond_knowledge::vectors::normalised;
use missiond_knowledge::{EmbedError, Embedder, ModelName, Purpose, Reads};
use missiond_net::http::Method;
use serde_json::{Value, json};

use crate::http::{self, Endpoint};

/// Whether what is sent to an address stays on this machine.
#[must_use]
pub fn is_on_this_machine(url: &str) -> bool {
    http::is_on_this_machine(url)
}

/// Which interface an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    Ollama,
    OpenAi,
}

/// Where a model is and how to reach it.
#[derive(Clone)]
pub struct RemoteSettings {
    pub interface: Interface,
    /// `http://127.0.0.1:11434` for Ollama; for others what stands before
    /// `/embeddings`.
    pub url: String,
    pub model: String,
    pub key: Option<String>,
    /// For one request.
    pub timeout: Duration,
}

impl std::fmt::Debug for RemoteSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            interface,
            url,
            model,
            timeout,
            ..
        } = self;
        write!(f, "RemoteSettings({interface:?} {url} {model} {timeout:?})")
    }
}

/// A model that answered.
#[derive(Debug)]
pub struct RemoteModel {
    settings: RemoteSettings,
    endpoint: Endpoint,
    name: ModelName,
}

/// How long somebody who waits for one vector waits at most.
const ONE: Duration = Duration::from_secs(5);

/// Texts of one request.
const TOGETHER: usize = 32;

impl RemoteModel {
    /// Reaches the endpoint and learns the model's dimension.
    pub fn open(settings: RemoteSettings) -> Result<Self, EmbedError> {
        let endpoint = Endpoint::parse(&settings.url)?;
        let revision = match settings.interface {
            Interface::Ollama => ollama_digest(&endpoint, &settings)?,
            Interface::OpenAi => String::new(),
        };
        let provider = match settings.interface {
            Interface::Ollama => "ollama",
            Interface::OpenAi => "openai",
        };
        let mut opened = Self {
            name: ModelName {
                provider: provider.into(),
                model: settings.model.clone(),
                revision,
                dimension: 0,
            },
            settings,
            endpoint,
        };
        let probe = opened.ask(&["dimension"])?;
        let dimension = probe.first().map_or(0, Vec::len);
        if !(2..=16_384).contains(&dimension) {
            return Err(EmbedError::Refused(format!(
                "a vector of {dimension} dimensions was given"
            )));
        }
        opened.name.dimension = dimension as u32;
        Ok(opened)
    }

    fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let RemoteSettings {
            interface,
            model,
            key,
            timeout,
            ..
        } = &self.settings;
        let (path, body) = match interface {
            Interface::Ollama => (
                "/api/embed",
                json!({"model": model, "input": texts, "truncate": true}),
            ),
            Interface::OpenAi => ("/embeddings", json!({"model": model, "input": texts})),
        };
        let limit = if texts.len() == 1 {
            (*timeout).min(ONE)
        } else {
            *timeout
        };
        let answer = self
            .endpoint
            .ask(Method::POST, path, key.as_deref(), Some(&body), limit)?;
        let vectors = match interface {
            Interface::Ollama => numbers_of(answer.get("embeddings"), None),
            Interface::OpenAi => numbers_of(answer.get("data"), Some("embedding")),
        };
        let vectors = vectors.ok_or_else(|| self.wrong("an answer without vectors".into()))?;
        if vectors.len() != texts.len() {
            return Err(self.wrong(format!(
                "{} vectors for {} texts",
                vectors.len(),
                texts.len()
            )));
        }
        Ok(vectors)
    }

    fn wrong(&self, found: String) -> EmbedError {
        EmbedError::WrongShape {
            expected: self.name.dimension,
            found,
        }
    }
}

impl Embedder for RemoteModel {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn reads(&self) -> Reads {
        Reads::Everything
    }

    fn endpoint(&self) -> Option<&str> {
        Some(&self.settings.url)
    }

    fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(TOGETHER) {
            for vector in self.ask(batch)? {
                if vector.len() != self.name.dimension as usize {
                    return Err(self.wrong(format!("{} dimensions", vector.len())));
                }
                let vector = normalised(&vector)
                    .ok_or_else(|| self.wrong("a vector without a direction".into()))?;
                vectors.push(vector);
            }
        }
        Ok(vectors)
    }
}

/// A list of vectors, each the whole of its place or under a name there. One that
/// says which text it is of is put there.
fn numbers_of(list: Option<&Value>, name: Option<&str>) -> Option<Vec<Vec<f32>>> {
    let numbers = |one: &Value| -> Option<Vec<f32>> {
        let vector = match name {
            Some(name) => one.get(name)?,
            None => one,
        };
        let values = vector.as_array()?.iter();
        values.map(|n| n.as_f64().map(|n| n as f32)).collect()
    };
    let mut list: Vec<&Value> = list?.as_array()?.iter().collect();
    list.sort_by_key(|one| one.get("index").and_then(Value::as_u64));
    list.into_iter().map(numbers).collect()
}

/// What Ollama says the weights are, so that a pulled update counts as another
/// model.
fn ollama_digest(endpoint: &Endpoint, settings: &RemoteSettings) -> Result<String, EmbedError> {
    let tags = endpoint.ask(Method::GET, "/api/tags", None, None, settings.timeout)?;
    let models = tags
        .get("models")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let is_it = |one: &&Value| {
        let name = one.get("name").and_then(Value::as_str).unwrap_or("");
        name == settings.model || name.strip_suffix(":latest") == Some(&settings.model)
    };
    let Some(found) = models.iter().find(is_it) else {
        let model = &settings.model;
        return Err(EmbedError::Refused(format!(
            "Ollama has no model `{model}`: `ollama pull {model}` fetches it"
        )));
    };
    let digest = found.get("digest").and_then(Value::as_str).unwrap_or("");
    Ok(digest
        .trim_start_matches("sha256:")
        .chars()
        .take(12)
        .collect())
}
