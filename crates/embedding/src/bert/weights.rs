//! Which tensors of an ONNX file are the weights of an [`Encoder`]. Everything that
//! has a name in the network keeps it in the file, but the matrices its MatMul
//! nodes multiply by were turned round when it was exported, and lost theirs: those are
//! found by the names of the nodes.

use std::io::{Read, Seek};

use super::{Architecture, Encoder, Layer, LayerNorm, Linear};
use crate::matrix::{PANEL, Panels, Rows};
use crate::onnx::{OnnxError, OnnxFile};

/// Why a file is not the network it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WeightsError {
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    #[error("{what} is {width} numbers wide, which is no multiple of {PANEL}")]
    Width { what: &'static str, width: usize },
}

impl Encoder {
    /// Reads the weights of a network.
    pub(crate) fn load<R: Read + Seek>(
        file: &mut OnnxFile<R>,
        architecture: Architecture,
    ) -> Result<Self, WeightsError> {
        let Architecture {
            hidden,
            layers,
            heads,
        } = architecture;
        require_whole_panels("a head of the network", hidden / heads)?;
        let rows = |name: &str, file: &mut OnnxFile<R>| {
            let rows = file.shape_of(name)?.first().copied().unwrap_or(0);
            file.read(name, &[rows, hidden])
        };
        let word_embeddings = rows("embeddings.word_embeddings.weight", file)?;
        let mut position_embeddings = rows("embeddings.position_embeddings.weight", file)?;
        let token_types = rows("embeddings.token_type_embeddings.weight", file)?;
        for row in position_embeddings.chunks_exact_mut(hidden) {
            for (value, token_type) in row.iter_mut().zip(&token_types) {
                *value += token_type;
            }
        }
        let norm = LayerNorm::load(file, "embeddings.LayerNorm", hidden)?;
        let layers = (0..layers).map(|number| Layer::load(file, number, architecture));
        Ok(Self {
            architecture,
            word_embeddings,
            position_embeddings,
            norm,
            layers: layers.collect::<Result<_, _>>()?,
        })
    }
}

impl Layer {
    fn load<R: Read + Seek>(
        file: &mut OnnxFile<R>,
        number: usize,
        architecture: Architecture,
    ) -> Result<Self, WeightsError> {
        let Architecture { hidden, heads, .. } = architecture;
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let intermediate_bias = name("intermediate.dense.bias");
        let intermediate = file
            .shape_of(&intermediate_bias)?
            .first()
            .copied()
            .unwrap_or(0);
        require_whole_panels("the intermediate layer of the network", intermediate)?;

        let mut projections = Linear::empty(hidden);
        let root = ((hidden / heads) as f32).sqrt();
        projections.push(file, &name("attention.self.query"), hidden, root)?;
        projections.push(file, &name("attention.self.key"), hidden, 1.0)?;
        projections.push(file, &name("attention.self.value"), hidden, 1.0)?;
        Ok(Self {
            projections,
            attention_output: Linear::load(file, &name("attention.output.dense"), hidden, hidden)?,
            attention_norm: LayerNorm::load(file, &name("attention.output.LayerNorm"), hidden)?,
            intermediate: Linear::load(file, &name("intermediate.dense"), hidden, intermediate)?,
            output: Linear::load(file, &name("output.dense"), intermediate, hidden)?,
            output_norm: LayerNorm::load(file, &name("output.LayerNorm"), hidden)?,
        })
    }
}

impl Linear {
    fn empty(inputs: usize) -> Self {
        Self {
            weights: Panels::with_rows(inputs),
            bias: Vec::new(),
        }
    }

    fn load<R: Read + Seek>(
        file: &mut OnnxFile<R>,
        name: &str,
        inputs: usize,
        outputs: usize,
    ) -> Result<Self, WeightsError> {
        let mut linear = Self::empty(inputs);
        linear.push(file, name, outputs, 1.0)?;
        Ok(linear)
    }

    /// Adds the outputs of a layer of the file, all of them divided by the same.
    fn push<R: Read + Seek>(
        &mut self,
        file: &mut OnnxFile<R>,
        name: &str,
        outputs: usize,
        divisor: f32,
    ) -> Result<(), WeightsError> {
        let node = matmul_node(name);
        let matrix = file.matmul_weight(&node)?.to_owned();
        let mut weights = file.read(&matrix, &[self.weights.rows(), outputs])?;
        let mut bias = file.read(&format!("{name}.bias"), &[outputs])?;
        for value in weights.iter_mut().chain(&mut bias) {
            *value /= divisor;
        }
        self.weights.push(&Rows::new(&weights, outputs));
        self.bias.extend(bias);
        Ok(())
    }
}

impl LayerNorm {
    fn load<R: Read + Seek>(
        file: &mut OnnxFile<R>,
        name: &str,
        width: usize,
    ) -> Result<Self, WeightsError> {
        Ok(Self {
            scale: file.read(&format!("{name}.weight"), &[width])?,
            shift: file.read(&format!("{name}.bias"), &[width])?,
        })
    }
}

/// The node that multiplies by the matrix of a layer: `encoder.layer.0.output.dense` is
/// `/encoder/layer.0/output/dense/MatMul`.
fn matmul_node(layer: &str) -> String {
    let path = layer.replace('.', "/").replace("layer/", "layer.");
    format!("/{path}/MatMul")
}

fn require_whole_panels(what: &'static str, width: usize) -> Result<(), WeightsError> {
    if width > 0 && width.is_multiple_of(PANEL) {
        Ok(())
    } else {
        Err(WeightsError::Width { what, width })
    }
}
