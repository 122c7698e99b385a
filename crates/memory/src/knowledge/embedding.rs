//! Which model embeds, and giving every entry its vector. A model is opened
//! when it is first needed. While the vectors of a new one are made, the index
//! of the old one is searched; what was made is in the store at once, so a
//! daemon that dies goes on where it was.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use missiond_config::{EmbeddingProvider, KnowledgeConfig};
use missiond_core::EntryId;
use missiond_embedding::install::{self, choose, folder_of};
use missiond_embedding::remote::{Interface, RemoteModel, RemoteSettings, is_on_this_machine};
use missiond_embedding::{EmbeddedModel, ModelSpec};
use missiond_knowledge::{Calibration, EmbedError, Embedder, ModelName, Purpose};
use missiond_runtime::blocking;
use missiond_store::knowledge::{self, vectors};
use parking_lot::Mutex;

use super::index::{Serving, searched_text};
use super::{Knowledge, KnowledgeError};

/// The models this daemon can use.
#[derive(Debug)]
pub(super) struct Models {
    folder: PathBuf,
    config: KnowledgeConfig,
    opening: Mutex<()>,
    opened: Mutex<Opened>,
}

#[derive(Debug, Default)]
struct Opened {
    /// The configured model.
    current: Option<Arc<dyn Embedder>>,
    /// The model of an index that is still searched.
    previous: Previous,
    /// Why there is no current one.
    problem: Option<String>,
}

#[derive(Debug, Default)]
enum Previous {
    #[default]
    Unknown,
    Open(Arc<dyn Embedder>),
    /// It could not be opened then.
    Missing(Instant),
}

/// Entries that are embedded and stored together.
const BATCH: u32 = 16;

/// How soon a provider that was not there is looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// How long a search waits for a model that it is the first to need again.
const REOPENED_WITHIN: Duration = Duration::from_secs(5);

/// Vectors that a model is calibrated with.
const SAMPLE: usize = 2000;

impl Models {
    pub(super) fn new(folder: PathBuf, config: KnowledgeConfig) -> Self {
        Self {
            folder,
            config,
            opening: Mutex::default(),
            opened: Mutex::default(),
        }
    }

    /// The configured model, opened on the first call and, when that failed,
    /// on the next. Blocks.
    pub(super) fn current(&self) -> Result<Arc<dyn Embedder>, String> {
        // Two locks: whoever asks how things are does not wait for a model
        // that is being opened.
        let _opening = self.opening.lock();
        if let Some(current) = self.lock().current.clone() {
            return Ok(current);
        }
        let result = self.open();
        let mut opened = self.lock();
        opened.problem = result.as_ref().err().cloned();
        opened.current = result.as_ref().ok().cloned();
        result
    }

    /// The model that is searched with, when it can still be had. Blocks, but not
    /// for one that was just found missing: the worker tries again.
    pub(super) fn serving(&self, serving: &Serving) -> Option<Arc<dyn Embedder>> {
        if self.config.embedding == EmbeddingProvider::Off {
            return None;
        }
        let is_it = |model: &Arc<dyn Embedder>| model.name().to_string() == serving.name;
        let known_missing = self.lock().problem.is_some();
        if !known_missing && let Some(current) = self.current().ok().filter(is_it) {
            return Some(current);
        }
        let _opening = self.opening.lock();
        match &self.lock().previous {
            Previous::Open(model) if is_it(model) => return Some(Arc::clone(model)),
            Previous::Missing(since) if since.elapsed() < LOOK_AGAIN => return None,
            Previous::Unknown | Previous::Open(_) | Previous::Missing(_) => {}
        }
        let model = self.reopen(serving).filter(is_it);
        self.lock().previous = match &model {
            Some(model) => Previous::Open(Arc::clone(model)),
            None => Previous::Missing(Instant::now()),
        };
        model
    }

    /// Opens a model that need not be the configured one any more.
    fn reopen(&self, serving: &Serving) -> Option<Arc<dyn Embedder>> {
        let name = ModelName::parse(&serving.name)?;
        let interface = match name.provider.as_str() {
            "ollama" => Interface::Ollama,
            "openai" => Interface::OpenAi,
            _ => {
                let spec = missiond_embedding::MODELS.iter().find(|spec| {
                    spec.name == name.model
                        && spec.revision() == name.revision
                        && install::is_installed(&self.folder, spec)
                })?;
                return Some(Arc::new(self.load(spec).ok()?));
            }
        };
        // What is remembered leaves this machine for the endpoint that is configured,
        // with its key, and for no other.
        let url = serving.endpoint.clone()?;
        let key = if url == self.url(interface) {
            self.key().ok()?
        } else if is_on_this_machine(&url) {
            None
        } else {
            return None;
        };
        let opened = RemoteModel::open(RemoteSettings {
            interface,
            url,
            model: name.model,
            key,
            timeout: REOPENED_WITHIN,
        });
        Some(Arc::new(opened.ok()?))
    }

    /// Where the configuration has an endpoint.
    fn url(&self, interface: Interface) -> String {
        match (self.config.url.as_str(), interface) {
            ("", Interface::Ollama) => "http://127.0.0.1:11434".to_owned(),
            (url, _) => url.to_owned(),
        }
    }

    /// What is wrong with the provider, as far as is known.
    pub(super) fn problem(&self) -> Option<String> {
        match self.config.embedding {
            EmbeddingProvider::Off => Some(OFF.to_owned()),
            _ => self.lock().problem.clone(),
        }
    }

    /// The name of the configured model, when it has been opened.
    pub(super) fn current_name(&self) -> Option<String> {
        self.lock()
            .current
            .as_ref()
            .map(|model| model.name().to_string())
    }

    /// The model of an older index is not needed any more.
    fn unload(&self) {
        self.lock().previous = Previous::Unknown;
    }

    fn open(&self) -> Result<Arc<dyn Embedder>, String> {
        let interface = match self.config.embedding {
            EmbeddingProvider::Off => return Err(OFF.to_owned()),
            EmbeddingProvider::Embedded => {
                let model = Some(self.config.model.as_str()).filter(|name| !name.is_empty());
                let spec = choose(model).map_err(|error| error.to_string())?;
                if !install::is_installed(&self.folder, spec) {
                    return Err(format!(
                        "the embedding model {} is not installed: `mission model install` does it",
                        spec.name
                    ));
                }
                return Ok(Arc::new(
                    self.load(spec).map_err(|error| error.to_string())?,
                ));
            }
            EmbeddingProvider::Ollama => Interface::Ollama,
            EmbeddingProvider::Openai => Interface::OpenAi,
        };
        let model = match (self.config.model.as_str(), interface) {
            ("", Interface::Ollama) => "qwen3-embedding".to_owned(),
            (model, _) => model.to_owned(),
        };
        let settings = RemoteSettings {
            interface,
            url: self.url(interface),
            model,
            key: self.key()?,
            timeout: Duration::from_secs(self.config.timeout_secs),
        };
        let opened = RemoteModel::open(settings).map_err(|error| error.to_string())?;
        Ok(Arc::new(opened))
    }

    /// The key of the endpoint: out of a variable or a file, never the configuration.
    fn key(&self) -> Result<Option<String>, String> {
        let KnowledgeConfig {
            api_key_env,
            api_key_file,
            ..
        } = &self.config;
        let key = match (api_key_env.as_str(), api_key_file.as_str()) {
            ("", "") => return Ok(None),
            ("", file) => read_key(Path::new(file)).map_err(|error| {
                format!("the key in {file} of `knowledge.api_key_file` cannot be used: {error}")
            })?,
            (name, _) => std::env::var(name).map_err(|_| {
                format!("the variable {name} of `knowledge.api_key_env` is not set for the daemon")
            })?,
        };
        let key = key.trim();
        if key.is_empty() || key.contains(|c: char| c.is_control() || c.is_whitespace()) {
            return Err("the key of the embedding endpoint is not one word".to_owned());
        }
        Ok(Some(key.to_owned()))
    }

    fn load(&self, spec: &'static ModelSpec) -> Result<EmbeddedModel, EmbedError> {
        EmbeddedModel::load(&folder_of(&self.folder, spec), spec)
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Opened> {
        self.opened.lock()
    }
}

/// No key is longer.
const LONGEST_KEY: u64 = 16 * 1024;

/// A key that others on this machine can read is refused.
fn read_key(file: &Path) -> std::io::Result<String> {
    let opened = std::fs::File::open(file)?;
    {
        use std::os::unix::fs::MetadataExt;
        let mode = opened.metadata()?.mode();
        if mode & 0o077 != 0 {
            return Err(std::io::Error::other(
                "others can read it: `chmod 600` makes it yours alone",
            ));
        }
    }
    std::io::read_to_string(opened.take(LONGEST_KEY))
}

const OFF: &str = "embedding is switched off (`knowledge.embedding`)";

impl Knowledge {
    /// Builds the index, then gives every entry its vector, for ever.
    pub(super) async fn work(&self) {
        while let Err(error) = self.build().await {
            tracing::error!(%error, "knowledge index build failed, retrying");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let mut known = None;
        loop {
            let problem = self.embed_all().await.err();
            if let Some(problem) = problem
                .as_ref()
                .filter(|problem| known.as_ref() != Some(*problem))
            {
                tracing::warn!(problem, "entry embedding failed");
            }
            known = problem;
            tokio::select! {
                () = self.inner.wake.notified() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// The configured model, or why there is none.
    pub async fn model(&self) -> Result<Arc<dyn Embedder>, String> {
        let inner = Arc::clone(&self.inner);
        blocking(move || inner.models.current()).await
    }

    /// Has the provider looked for again.
    pub fn retry_provider(&self) {
        self.inner.wake.notify_one();
    }

    /// Gives every entry a vector of the configured model. Nothing is opened
    /// as long as there is nothing to embed.
    async fn embed_all(&self) -> Result<(), String> {
        let told = |error: KnowledgeError| error.to_string();
        if self.inner.read_index().corpus.is_empty() {
            return Ok(());
        }
        let model = self.model().await?;
        let name = model.name().to_string();
        let dimension = i64::from(model.name().dimension);
        let (ensured, endpoint) = (name.clone(), model.endpoint().map(str::to_owned));
        self.inner
            .db
            .write(move |tx| {
                Box::pin(async move {
                    vectors::ensure_model(tx, &ensured, dimension, endpoint.as_deref()).await
                })
            })
            .await
            .map_err(|error| error.to_string())?;
        while self.embed_some(&model, &name).await.map_err(told)? {}
        self.complete(&name).await.map_err(told)
    }

    /// Embeds and stores one batch. Whether there was one is returned.
    async fn embed_some(
        &self,
        model: &Arc<dyn Embedder>,
        name: &str,
    ) -> Result<bool, KnowledgeError> {
        let wanted = name.to_owned();
        let rows = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let mut rows = Vec::new();
                    for id in vectors::missing(tx, &wanted, BATCH).await? {
                        rows.extend(knowledge::get(tx, id).await?);
                    }
                    Ok(rows)
                })
            })
            .await?;
        if rows.is_empty() {
            return Ok(false);
        }
        let texts: Vec<String> = rows
            .iter()
            .map(|row| searched_text(&row.key, &row.summary, &row.detail, &row.labels))
            .collect();
        let model = Arc::clone(model);
        let made = blocking(move || {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            model.embed(&texts, Purpose::Entry)
        })
        .await
        .map_err(|error| KnowledgeError::Invalid(error.to_string()))?;
        let made: Vec<(EntryId, i64, Vec<f32>)> = rows
            .iter()
            .zip(made)
            .map(|(row, vector)| (row.id, row.revision, vector))
            .collect();
        let _changing = self.inner.changing.lock().await;
        let stored = name.to_owned();
        let kept = self
            .inner
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let mut kept = Vec::with_capacity(made.len());
                    for (id, revision, vector) in made {
                        if vectors::put(tx, &stored, id, revision, &vector).await? {
                            kept.push((id, vector));
                        }
                    }
                    Ok(kept)
                })
            })
            .await?;
        let mut index = self.inner.write_index();
        if index.model() == Some(name) {
            for (id, vector) in kept {
                index.corpus.set_vector(&id.to_string(), vector);
            }
        }
        Ok(true)
    }

    /// Notes that a model's vectors are complete, and searches them from now
    /// on. Those of other models are deleted: they can be made again.
    async fn complete(&self, name: &str) -> Result<(), KnowledgeError> {
        if self.inner.read_index().model() == Some(name) {
            return Ok(());
        }
        let now = self.inner.clock.now();
        let model = name.to_owned();
        let row = self
            .inner
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let sample = vectors::page(tx, &model, None, SAMPLE as u32).await?;
                    let sample: Vec<Vec<f32>> = sample.into_iter().map(|(_, v)| v).collect();
                    let calibration = Calibration::of(&sample)
                        .and_then(|calibration| serde_json::to_string(&calibration).ok());
                    vectors::complete_model(tx, &model, calibration.as_deref(), now).await?;
                    let models = vectors::models(tx).await?;
                    Ok(models.into_iter().find(|row| row.name == model))
                })
            })
            .await?;
        {
            let _changing = self.inner.changing.lock().await;
            let index = self.read_index(row).await?;
            *self.inner.write_index() = index;
        }
        self.inner.models.unload();
        let model = name.to_owned();
        self.inner
            .db
            .write(move |tx| {
                Box::pin(async move {
                    for other in vectors::models(tx).await? {
                        if other.name != model {
                            vectors::remove_model(tx, &other.name).await?;
                        }
                    }
                    Ok(())
                })
            })
            .await?;
        tracing::info!(model = name, "entry embedding completed");
        // An entry may have been written while the index was read.
        self.inner.wake.notify_one();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_a_file_that_is_nobody_elses() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "sk-secret\n").unwrap();
        let models = Models::new(
            folder.path().to_owned(),
            KnowledgeConfig {
                api_key_file: file.display().to_string(),
                ..KnowledgeConfig::default()
            },
        );
        let may = |mode: u32| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            models.key()
        };
        assert_eq!(may(0o600), Ok(Some("sk-secret".to_owned())));
        let refused = may(0o640).unwrap_err();
        assert!(refused.contains("chmod 600"), "{refused}");
        assert!(!refused.contains("sk-secret"));
        std::fs::write(&file, "two words").unwrap();
        assert!(may(0o600).unwrap_err().contains("not one word"));
        std::fs::remove_file(&file).unwrap();
        assert!(models.key().is_err());
    }
}
