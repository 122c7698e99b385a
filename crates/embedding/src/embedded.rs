//! The model that runs in this process: a BERT network whose vectors are brought to
//! length 1.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use missiond_knowledge::vectors::normalised;
use missiond_knowledge::{EmbedError, Embedder, ModelName, Purpose, Reads};

use crate::bert::{Architecture, Encoder, WeightsError};
use crate::catalogue::{ModelSpec, NETWORK, VOCABULARY};
use crate::install::open_checked;
use crate::onnx::OnnxFile;
use crate::wordpiece::WordPiece;

/// Tokens that go through the network together, unless one text has more. More is
/// no faster, and takes more memory.
const BATCH_TOKENS: usize = 1024;

pub struct EmbeddedModel {
    spec: &'static ModelSpec,
    name: ModelName,
    network: Encoder,
    tokenizer: WordPiece,
}

impl std::fmt::Debug for EmbeddedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedModel")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl EmbeddedModel {
    /// Loads an installed model from its folder, if its files are those of the catalogue: a
    /// network that somebody else has put there would say what is near to what.
    pub fn load(folder: &Path, spec: &'static ModelSpec) -> Result<Self, EmbedError> {
        let problem = |file: &str, error: &dyn std::fmt::Display| {
            EmbedError::Model(format!("{}: {error}", folder.join(file).display()))
        };
        let mut vocabulary = String::new();
        open_listed(folder, spec, VOCABULARY)?
            .read_to_string(&mut vocabulary)
            .map_err(|e| problem(VOCABULARY, &e))?;
        let tokenizer =
            WordPiece::from_vocabulary(&vocabulary).map_err(|e| problem(VOCABULARY, &e))?;
        let network = open_listed(folder, spec, NETWORK)?;
        let network = load_network(network, spec).map_err(|e| problem(NETWORK, &e))?;
        if tokenizer.vocabulary_size() > network.vocabulary_size() {
            let error = format!(
                "it has {} pieces, and the network knows {}",
                tokenizer.vocabulary_size(),
                network.vocabulary_size()
            );
            return Err(problem(VOCABULARY, &error));
        }
        if spec.most_tokens > network.max_tokens() {
            let error = format!("its texts have at most {} tokens", network.max_tokens());
            return Err(problem(NETWORK, &error));
        }
        Ok(Self {
            spec,
            name: ModelName {
                provider: "embedded".into(),
                model: spec.name.into(),
                revision: spec.revision(),
                dimension: spec.dimension,
            },
            network,
            tokenizer,
        })
    }
}

/// A file of the model, as the catalogue lists it.
fn open_listed(folder: &Path, spec: &ModelSpec, name: &str) -> Result<File, EmbedError> {
    let listed = spec.files.iter().find(|file| file.name == name);
    let listed = listed.ok_or_else(|| EmbedError::Model(format!("{name} is not listed")))?;
    open_checked(folder, spec, listed).map_err(|error| EmbedError::Model(error.to_string()))
}

fn load_network(file: File, spec: &ModelSpec) -> Result<Encoder, WeightsError> {
    let architecture = Architecture {
        hidden: spec.dimension as usize,
        layers: spec.layers,
        heads: spec.heads,
    };
    Encoder::load(&mut OnnxFile::open(file)?, architecture)
}

impl Embedder for EmbeddedModel {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn reads(&self) -> Reads {
        self.spec.reads
    }

    fn embed(&self, texts: &[&str], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let tokens: Vec<Vec<i32>> = texts
            .iter()
            .map(|text| self.tokenizer.encode(text, self.spec.most_tokens))
            .collect();
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = tokens.as_slice();
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(batch_size(rest));
            let batch: Vec<&[i32]> = batch.iter().map(Vec::as_slice).collect();
            let means = self.network.encode(&batch).into_iter();
            vectors.extend(means.map(|mean| normalised(&mean).unwrap_or(mean)));
            rest = after;
        }
        Ok(vectors)
    }
}

/// How many of these texts go through the network together: one at least.
fn batch_size(texts: &[Vec<i32>]) -> usize {
    let mut tokens = 0;
    let fitting = texts.iter().take_while(|text| {
        tokens += text.len();
        tokens <= BATCH_TOKENS
    });
    fitting.count().max(1)
}
