//! What a model makes of the symbols of a repository, so that a question finds
//! what it means and not only what it says.
//!
//! Made in the background after a pass, one repository at a time, and kept in
//! the store under the text that was read: a worktree of a known repository, or
//! code that moved, costs nothing. Questions never wait for it; they are answered
//! by words and by as much meaning as there is, and say so.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use missiond_codemap::{ContentHash, Description, NodeRef};
use missiond_core::{Event, TraceContext};
use missiond_knowledge::{Embedder, ModelName, Purpose};
use missiond_runtime::blocking;
use missiond_store::code_vectors;
use parking_lot::RwLock;
use tokio::sync::OnceCell;

use super::{CodeMapError, Repository};

/// Symbols of a repository whose meaning is compared. What the rest leans on
/// comes first, so what is left out is leaned on least.
const MOST: usize = 20_000;
/// Texts a model reads at once; what was made is kept after each batch.
const BATCH: usize = 16;
/// Vectors looked up in the store at once.
const LOOKED_UP: usize = 1_000;
/// Vectors in the store, of all repositories and models: about 80 MB.
const KEPT: u32 = 200_000;

/// The vectors of one repository.
#[derive(Debug, Default)]
pub(super) struct Meanings {
    state: RwLock<MeaningState>,
}

#[derive(Debug, Default)]
struct MeaningState {
    model: Option<Arc<dyn Embedder>>,
    rows: HashMap<ContentHash, Coded>,
    /// Texts that should have one.
    wanted: usize,
    /// Why there are none, or no more.
    problem: Option<String>,
}

/// A vector in a quarter of its size: whole numbers of a unit of its own.
#[derive(Debug, Clone, PartialEq)]
struct Coded {
    unit: f32,
    values: Box<[i8]>,
}

/// How far the vectors of a repository are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MeaningStatus {
    pub made: u32,
    pub wanted: u32,
    pub problem: Option<String>,
}

/// A question as a model reads it, with the vectors it is compared with.
#[derive(Debug)]
pub struct Meant {
    repository: Arc<Repository>,
    vector: Arc<[f32]>,
}

impl Coded {
    fn of(vector: &[f32]) -> Option<Self> {
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        let largest = vector
            .iter()
            .fold(0.0_f32, |most, value| most.max(value.abs()));
        if !length.is_finite() || largest <= 0.0 {
            return None;
        }
        let unit = largest / 127.0;
        Some(Self {
            unit: unit / length,
            values: vector
                .iter()
                .map(|value| (value / unit).round() as i8)
                .collect(),
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let values = self.values.iter().map(|value| value.to_le_bytes()[0]);
        self.unit.to_le_bytes().into_iter().chain(values).collect()
    }

    fn read(bytes: &[u8], dimension: usize) -> Option<Self> {
        let (unit, values) = bytes.split_first_chunk::<4>()?;
        (values.len() == dimension).then(|| Self {
            unit: f32::from_le_bytes(*unit),
            values: values
                .iter()
                .map(|byte| i8::from_le_bytes([*byte]))
                .collect(),
        })
    }

    fn likeness(&self, query: &[f32]) -> f32 {
        let products = self.values.iter().zip(query);
        self.unit
            * products
                .map(|(value, other)| f32::from(*value) * other)
                .sum::<f32>()
    }
}

impl Meant {
    /// How alike a symbol and the question are. The vectors are held while it is
    /// asked, so that every symbol is compared with the same ones.
    pub fn with<T>(&self, ask: impl FnOnce(&dyn Fn(&NodeRef) -> Option<f32>) -> T) -> T {
        let known = self.repository.meanings.read();
        ask(&|node: &NodeRef| {
            let coded = known.rows.get(&node.described)?;
            (coded.values.len() == self.vector.len()).then(|| coded.likeness(&self.vector))
        })
    }
}

/// A question, which is read once however many repositories it is put to.
#[derive(Debug)]
pub struct Question {
    text: String,
    /// By the model of the repository that was first to need it.
    read: OnceCell<(ModelName, ReadResult)>,
}

/// The vector of a question, or what keeps the model from reading it.
type ReadResult = Result<Option<Arc<[f32]>>, String>;

impl Question {
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            read: OnceCell::new(),
        }
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    async fn read_with(&self, model: &Arc<dyn Embedder>) -> ReadResult {
        let first = || async { (model.name().clone(), self.embed(model).await) };
        let (by, read) = self.read.get_or_init(first).await;
        if by == model.name() {
            return read.clone();
        }
        // Read with another model than the others: its vectors are not alike.
        self.embed(model).await
    }

    async fn embed(&self, model: &Arc<dyn Embedder>) -> ReadResult {
        let (reader, asked) = (Arc::clone(model), self.text.clone());
        let made = blocking(move || reader.embed(&[asked.as_str()], Purpose::Query)).await;
        let vector = made.map_err(|error| error.to_string())?.pop();
        Ok(vector.map(Into::into))
    }
}

impl Meanings {
    fn read(&self) -> parking_lot::RwLockReadGuard<'_, MeaningState> {
        self.state.read()
    }

    fn write(&self) -> parking_lot::RwLockWriteGuard<'_, MeaningState> {
        self.state.write()
    }

    pub(super) fn status(&self) -> MeaningStatus {
        let known = self.read();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        MeaningStatus {
            made: count(known.rows.len().min(known.wanted)),
            wanted: count(known.wanted),
            problem: known.problem.clone(),
        }
    }
}

impl Repository {
    /// Reads a question with the model the symbols were read with; none when
    /// there is none, or nothing was read with it yet.
    pub async fn meant(self: &Arc<Self>, question: &Question) -> Option<Meant> {
        let model = {
            let known = self.meanings.read();
            let model = known.model.clone().filter(|_| !known.rows.is_empty())?;
            Arc::clone(&model)
        };
        let vector = match question.read_with(&model).await {
            Ok(vector) => vector?,
            Err(problem) => {
                self.meanings.write().problem = Some(problem);
                return None;
            }
        };
        Some(Meant {
            repository: Arc::clone(self),
            vector,
        })
    }

    /// Gives what a pass found its vectors, as far as they are not there.
    pub(super) async fn understand(self: &Arc<Self>) -> Result<(), CodeMapError> {
        let Some(knowledge) = &self.shared.knowledge else {
            return Ok(());
        };
        let _one = self.shared.understanding.acquire().await;
        let model = match knowledge.model().await {
            Ok(model) => model,
            Err(problem) => {
                self.meanings.write().problem = Some(problem);
                return Ok(());
            }
        };
        let this = Arc::clone(self);
        let described = blocking(move || this.index().descriptions(MOST)).await;
        let missing = self.begin_understanding(&model, described);
        let missing = self.load_stored(&model, missing).await?;
        for batch in missing.chunks(BATCH) {
            if self.is_stopped() {
                return Ok(());
            }
            self.read_batch(&model, batch).await?;
        }
        if !missing.is_empty() {
            let prune = self
                .shared
                .db
                .write(|tx| Box::pin(code_vectors::prune(tx, KEPT)));
            prune.await?;
        }
        Ok(())
    }

    /// What has no vector of this model. Vectors of another model, and of code
    /// that is gone, are let go.
    fn begin_understanding(
        &self,
        model: &Arc<dyn Embedder>,
        described: Vec<Description>,
    ) -> Vec<Description> {
        let mut known = self.meanings.write();
        let same = known
            .model
            .as_ref()
            .is_some_and(|known| known.name() == model.name());
        if !same {
            known.rows.clear();
        }
        let wanted: HashSet<ContentHash> = described.iter().map(|found| found.hash).collect();
        known.rows.retain(|hash, _| wanted.contains(hash));
        known.model = Some(Arc::clone(model));
        known.wanted = described.len();
        known.problem = None;
        let is_missing = |found: &Description| !known.rows.contains_key(&found.hash);
        described.into_iter().filter(is_missing).collect()
    }

    /// Takes what the store has, and returns the rest.
    async fn load_stored(
        &self,
        model: &Arc<dyn Embedder>,
        mut missing: Vec<Description>,
    ) -> Result<Vec<Description>, CodeMapError> {
        let dimension = model.name().dimension as usize;
        let names: Vec<String> = missing.iter().map(|found| found.hash.to_string()).collect();
        for names in names.chunks(LOOKED_UP) {
            let (names, name) = (names.to_vec(), model.name().to_string());
            let found = self.shared.db.read(move |tx| {
                Box::pin(async move { code_vectors::get(tx, &name, &names).await })
            });
            let found = found.await?;
            let mut known = self.meanings.write();
            for (hash, bytes) in found {
                if let (Ok(hash), Some(coded)) = (hash.parse(), Coded::read(&bytes, dimension)) {
                    known.rows.insert(hash, coded);
                }
            }
        }
        let known = self.meanings.read();
        missing.retain(|found| !known.rows.contains_key(&found.hash));
        Ok(missing)
    }

    async fn read_batch(
        &self,
        model: &Arc<dyn Embedder>,
        batch: &[Description],
    ) -> Result<(), CodeMapError> {
        let (reader, texts) = (Arc::clone(model), batch.to_vec());
        let made = blocking(move || {
            let texts: Vec<&str> = texts.iter().map(|found| found.text.as_str()).collect();
            reader.embed(&texts, Purpose::Entry)
        });
        let made = made.await.map_err(|error| {
            self.meanings.write().problem = Some(error.to_string());
            CodeMapError::Unread(error)
        })?;
        let coded: Vec<(ContentHash, Coded)> = batch
            .iter()
            .zip(&made)
            .filter_map(|(found, vector)| Some((found.hash, Coded::of(vector)?)))
            .collect();
        let kept: Vec<(String, Vec<u8>)> = coded
            .iter()
            .map(|(hash, coded)| (hash.to_string(), coded.to_bytes()))
            .collect();
        let (name, now) = (model.name().to_string(), self.shared.clock.now());
        let put = self.shared.db.write(move |tx| {
            let kept = kept.clone();
            let name = name.clone();
            Box::pin(async move { code_vectors::put(tx, &name, kept, now).await })
        });
        put.await?;
        let status = {
            let mut known = self.meanings.write();
            known.rows.extend(coded);
            drop(known);
            self.meanings.status()
        };
        self.shared.timeline.publish(
            Event::WorkerProgress {
                worker: format!("meaning of the code in {}", self.root()),
                done: status.made.into(),
                total: Some(status.wanted.into()),
            },
            TraceContext::root(),
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use missiond_knowledge::{EmbedError, Reads};

    use super::*;

    #[test]
    fn a_coded_vector_is_about_what_it_was() {
        let vector: Vec<f32> = (0..384_u16).map(|n| f32::from(n % 37) - 18.0).collect();
        let coded = Coded::of(&vector).unwrap();
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        let unit: Vec<f32> = vector.iter().map(|value| value / length).collect();
        assert!((coded.likeness(&unit) - 1.0).abs() < 0.01);
        assert_eq!(Coded::read(&coded.to_bytes(), 384), Some(coded.clone()));
        assert_eq!(Coded::read(&coded.to_bytes(), 383), None);
    }

    /// A model that counts what it is asked to read.
    #[derive(Debug)]
    struct Counting {
        name: ModelName,
        read: AtomicUsize,
    }

    impl Embedder for Counting {
        fn name(&self) -> &ModelName {
            &self.name
        }

        fn reads(&self) -> Reads {
            Reads::Everything
        }

        fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
            self.read.fetch_add(texts.len(), Ordering::Relaxed);
            if texts.contains(&"unreadable") {
                return Err(EmbedError::Model("it is not there".to_owned()));
            }
            Ok(texts.iter().map(|text| vec![text.len() as f32]).collect())
        }
    }

    #[tokio::test]
    async fn a_question_to_many_repositories_is_read_once() {
        let counting = Arc::new(Counting {
            name: ModelName {
                provider: "embedded".to_owned(),
                model: "m".to_owned(),
                revision: String::new(),
                dimension: 1,
            },
            read: AtomicUsize::new(0),
        });
        let model: Arc<dyn Embedder> = Arc::clone(&counting) as Arc<dyn Embedder>;
        let question = Question::new("divide");
        let same = (0..20).map(|_| question.read_with(&model));
        for vector in futures::future::join_all(same).await {
            assert_eq!(vector.unwrap().as_deref(), Some(&[6.0][..]));
        }
        assert_eq!(counting.read.load(Ordering::Relaxed), 1);
        // So is one that the model cannot read.
        let question = Question::new("unreadable");
        let same = (0..20).map(|_| question.read_with(&model));
        for vector in futures::future::join_all(same).await {
            assert!(vector.is_err());
        }
        assert_eq!(counting.read.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn what_has_no_direction_has_no_vector() {
        assert_eq!(Coded::of(&[0.0; 8]), None);
        assert_eq!(Coded::of(&[f32::NAN; 8]), None);
        assert_eq!(Coded::of(&[f32::INFINITY, 1.0]), None);
    }
}
