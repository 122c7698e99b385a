//! The model that runs in this process: a BERT network whose vectors are brought to
//! length 1.

use std::fs::File;
use std::path::Path;

use missiond_knowledge::vectors::normalised;
use missiond_knowledge::{EmbedError, Embedder, ModelName, Purpose, Reads};

use crate::bert::{Architecture, Encoder, WeightsError};
use crate::catalogue::{ModelSpec, NETWORK, VOCABULARY};
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
    /// Loads an installed model from its folder.
    pub fn load(folder: &Path, spec: &'static ModelSpec) -> Result<Self, EmbedError> {
        let problem = |file: &str, error: &dyn std::fmt::Display| {
            EmbedError::Model(format!("{}: {error}", folder.join(file).display()))
        };
        let vocabulary = std::fs::read_to_string(folder.join(VOCABULARY))
            .map_err(|e| problem(VOCABULARY, &e))?;
        let tokenizer =
            WordPiece::from_vocabulary(&vocabulary).map_err(|e| problem(VOCABULARY, &e))?;
        let network =
            load_network(&folder.join(NETWORK), spec).map_err(|e| problem(NETWORK, &e))?;
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

fn load_network(file: &Path, spec: &ModelSpec) -> Result<Encoder, WeightsError> {
    let file = File::open(file).map_err(crate::onnx::OnnxError::Io)?;
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
