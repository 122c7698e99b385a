//! The model that runs in this process: BERT as ONNX, its token vectors
//! averaged and brought to length 1.

use std::path::Path;

use missiond_knowledge::vectors::normalised;
use missiond_knowledge::{EmbedError, Embedder, ModelName, Purpose, Reads};
use rten::{Model, NodeId, ValueOrView};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};

use crate::catalogue::{ModelSpec, NETWORK, VOCABULARY};
use crate::wordpiece::WordPiece;

/// Texts that go through the network together. More is no faster on a
/// processor, and takes more memory.
const TOGETHER: usize = 8;

pub struct EmbeddedModel {
    spec: &'static ModelSpec,
    name: ModelName,
    network: Model,
    inputs: Inputs,
    output: NodeId,
    tokenizer: WordPiece,
}

#[derive(Debug)]
struct Inputs {
    tokens: NodeId,
    mask: NodeId,
    kinds: Option<NodeId>,
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
        let problem = |error: &dyn std::fmt::Display| {
            EmbedError::Model(format!("{}: {error}", folder.display()))
        };
        let vocabulary =
            std::fs::read_to_string(folder.join(VOCABULARY)).map_err(|e| problem(&e))?;
        let tokenizer = WordPiece::from_vocabulary(&vocabulary).map_err(|e| problem(&e))?;
        let network = Model::load_file(folder.join(NETWORK)).map_err(|e| problem(&e))?;
        let inputs = Inputs {
            tokens: network.node_id("input_ids").map_err(|e| problem(&e))?,
            mask: network.node_id("attention_mask").map_err(|e| problem(&e))?,
            kinds: network.find_node("token_type_ids"),
        };
        let output = *network
            .output_ids()
            .first()
            .ok_or_else(|| EmbedError::Model("the network has no output".into()))?;
        Ok(Self {
            spec,
            name: ModelName {
                provider: "embedded".into(),
                model: spec.name.into(),
                revision: spec.revision(),
                dimension: spec.dimension,
            },
            network,
            inputs,
            output,
            tokenizer,
        })
    }

    fn run(&self, batch: &[&[i32]]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let width = batch.iter().map(|tokens| tokens.len()).max().unwrap_or(0);
        let at = |[row, column]: [usize; 2]| batch[row].get(column).copied();
        let shape = [batch.len(), width];
        let tokens = NdTensor::<i32, 2>::from_fn(shape, |place| at(place).unwrap_or(0));
        let mask = NdTensor::<i32, 2>::from_fn(shape, |place| i32::from(at(place).is_some()));
        let kinds = NdTensor::<i32, 2>::zeros(shape);
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> = vec![
            (self.inputs.tokens, tokens.into()),
            (self.inputs.mask, mask.into()),
        ];
        if let Some(node) = self.inputs.kinds {
            inputs.push((node, kinds.into()));
        }
        let failed = |error: &dyn std::fmt::Display| EmbedError::Model(error.to_string());
        let [states] = self
            .network
            .run_n(inputs, [self.output], None)
            .map_err(|e| failed(&e))?;
        let states: NdTensor<f32, 3> = states.try_into().map_err(|e| failed(&format!("{e:?}")))?;
        let dimension = self.spec.dimension as usize;
        if states.shape()[2] != dimension {
            return Err(EmbedError::WrongShape {
                expected: self.spec.dimension,
                found: format!("{} dimensions", states.shape()[2]),
            });
        }
        Ok(batch
            .iter()
            .enumerate()
            .map(|(row, tokens)| mean(&states.slice(row), tokens.len(), dimension))
            .collect())
    }
}

fn mean(states: &NdTensorView<'_, f32, 2>, tokens: usize, dimension: usize) -> Vec<f32> {
    let mut sum = vec![0.0; dimension];
    for token in 0..tokens {
        for (at, total) in sum.iter_mut().enumerate() {
            *total += states[[token, at]];
        }
    }
    normalised(&sum).unwrap_or(sum)
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
        // Texts of one length share a batch: padding is computed like text.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&at| tokens[at].len());
        let mut vectors = vec![Vec::new(); texts.len()];
        for places in order.chunks(TOGETHER) {
            let batch: Vec<&[i32]> = places.iter().map(|&at| tokens[at].as_slice()).collect();
            for (&at, vector) in places.iter().zip(self.run(&batch)?) {
                vectors[at] = vector;
            }
        }
        Ok(vectors)
    }
}
