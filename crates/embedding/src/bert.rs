//! The encoder of BERT: tokens in, one vector for each text out.
//!
//! The tokens of all texts are rows of one matrix, so nothing is padded; only
//! attention looks at the rows of each text on their own. Rows are worked on in
//! chunks ([`Workers`]). Where the weights come from is in [`weights`].

#[cfg(test)]
mod tests;
mod weights;
mod workers;

use std::ops::Range;

use rten_simd::{SimdOp, SimdUnaryOp};
use rten_vecmath::{Gelu, Normalize, NormalizeOptions, Softmax, Sum, SumSquareSub};

use crate::matrix::{PANEL, Panels, Rows, Sums, add_product};
pub(crate) use weights::WeightsError;
use workers::Workers;

/// What is known of a network beside its weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Architecture {
    /// Numbers of a token's state.
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
}

/// A network that is ready to run.
#[derive(Debug)]
pub(crate) struct Encoder {
    architecture: Architecture,
    /// A row for each token of the vocabulary.
    word_embeddings: Vec<f32>,
    /// A row for each position, with the one that every first sentence gets added to
    /// it: there are no second ones.
    position_embeddings: Vec<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    /// Queries, keys and values beside each other; the queries already divided by
    /// the root of a head's width.
    projections: Linear,
    attention_output: Linear,
    attention_norm: LayerNorm,
    intermediate: Linear,
    output: Linear,
    output_norm: LayerNorm,
}

#[derive(Debug)]
struct Linear {
    weights: Panels,
    bias: Vec<f32>,
}

#[derive(Debug)]
struct LayerNorm {
    scale: Vec<f32>,
    shift: Vec<f32>,
}

/// Added to a variance, so that nothing is divided by zero: in all BERT models the
/// same.
const LAYER_NORM_EPSILON: f32 = 1e-12;

/// What a worker computes in, kept from one chunk to the next.
#[derive(Debug, Default)]
struct Scratch {
    interleaved: Vec<f32>,
    keys: Panels,
    values: Panels,
    scores: Vec<f32>,
    context: Vec<f32>,
    intermediate: Vec<f32>,
}

impl Encoder {
    /// Tokens it knows, from 0 on.
    pub(crate) fn vocabulary_size(&self) -> usize {
        self.word_embeddings.len() / self.architecture.hidden
    }

    /// Tokens a text may have.
    pub(crate) fn max_tokens(&self) -> usize {
        self.position_embeddings.len() / self.architecture.hidden
    }

    /// The mean of the last states of each text's tokens, none of which is unknown
    /// ([`Self::vocabulary_size`]), in texts of at most [`Self::max_tokens`].
    pub(crate) fn encode(&self, texts: &[&[i32]]) -> Vec<Vec<f32>> {
        let hidden = self.architecture.hidden;
        let spans = spans_of(texts);
        let mut states = self.embeddings(texts);
        let mut projected = vec![0.0; states.len() * 3];
        let mut workers: Workers<Scratch> = Workers::new(states.len() / hidden);
        for layer in &self.layers {
            workers.run(&mut projected, 3 * hidden, |first, projected, scratch| {
                let states = &states[first * hidden..][..projected.len() / 3];
                let states = Rows::new(states, hidden);
                layer.projections.set(&states, projected, scratch);
            });
            workers.run(&mut states, hidden, |first, states, scratch| {
                let rows = first..first + states.len() / hidden;
                self.attend(&spans, &projected, rows, scratch);
                layer.transform(states, scratch);
            });
        }
        let means = spans.iter().map(|span| {
            let rows = &states[span.start * hidden..span.end * hidden];
            mean(rows, hidden)
        });
        means.collect()
    }

    fn embeddings(&self, texts: &[&[i32]]) -> Vec<f32> {
        let hidden = self.architecture.hidden;
        let mut states = Vec::with_capacity(texts.iter().map(|text| text.len() * hidden).sum());
        for text in texts {
            for (&token, position) in text
                .iter()
                .zip(self.position_embeddings.chunks_exact(hidden))
            {
                let word = &self.word_embeddings[token as usize * hidden..][..hidden];
                states.extend(word.iter().zip(position).map(|(word, place)| word + place));
            }
        }
        self.norm.apply(&mut states);
        states
    }

    /// Fills `scratch.context` with what each of these rows takes from the rows of
    /// its text.
    fn attend(
        &self,
        texts: &[Range<usize>],
        projected: &[f32],
        rows: Range<usize>,
        scratch: &mut Scratch,
    ) {
        let Architecture { hidden, heads, .. } = self.architecture;
        let width = hidden / heads;
        let stride = 3 * hidden;
        let all = |rows: Range<usize>| &projected[rows.start * stride..rows.end * stride];
        let Scratch {
            interleaved,
            keys,
            values,
            scores,
            context,
            ..
        } = scratch;
        context.clear();
        context.resize(rows.len() * hidden, 0.0);
        for text in texts {
            let asking = text.start.max(rows.start)..text.end.min(rows.end);
            if asking.is_empty() {
                continue;
            }
            let context = &mut context[(asking.start - rows.start) * hidden..];
            let context = &mut context[..asking.len() * hidden];
            let scores_stride = text.len().next_multiple_of(PANEL);
            for head in 0..heads {
                let of = |part: usize, rows: Range<usize>| {
                    let from = part * hidden + head * width;
                    Rows::with_columns(all(rows), stride, from..from + width)
                };
                keys.clear(width);
                keys.push_transposed(&of(1, text.clone()));
                values.clear(text.len());
                values.push(&of(2, text.clone()));
                scores.clear();
                scores.resize(asking.len() * scores_stride, 0.0);
                let sums = Sums {
                    values: scores,
                    stride: scores_stride,
                    column: 0,
                };
                add_product(&of(0, asking.clone()), keys, sums, interleaved);
                for row in scores.chunks_exact_mut(scores_stride) {
                    Softmax::new_mut(&mut row[..text.len()]).dispatch();
                }
                let scores = Rows::with_columns(scores, scores_stride, 0..text.len());
                let sums = Sums {
                    values: context,
                    stride: hidden,
                    column: head * width,
                };
                add_product(&scores, values, sums, interleaved);
            }
        }
    }
}

impl Layer {
    /// From the states of rows and what they attended to, their next states.
    fn transform(&self, states: &mut [f32], scratch: &mut Scratch) {
        let hidden = self.attention_output.outputs();
        let context = std::mem::take(&mut scratch.context);
        self.attention_output
            .add(&Rows::new(&context, hidden), states, scratch);
        scratch.context = context;
        self.attention_norm.apply(states);

        let mut intermediate = std::mem::take(&mut scratch.intermediate);
        let width = self.intermediate.outputs();
        intermediate.resize(states.len() / hidden * width, 0.0);
        self.intermediate
            .set(&Rows::new(states, hidden), &mut intermediate, scratch);
        Gelu {}.map_mut(&mut intermediate);
        self.output
            .add(&Rows::new(&intermediate, width), states, scratch);
        scratch.intermediate = intermediate;
        self.output_norm.apply(states);
    }
}

impl Linear {
    fn outputs(&self) -> usize {
        self.bias.len()
    }

    fn set(&self, input: &Rows<'_>, out: &mut [f32], scratch: &mut Scratch) {
        for row in out.chunks_exact_mut(self.outputs()) {
            row.copy_from_slice(&self.bias);
        }
        self.multiply(input, out, scratch);
    }

    fn add(&self, input: &Rows<'_>, out: &mut [f32], scratch: &mut Scratch) {
        for row in out.chunks_exact_mut(self.outputs()) {
            for (value, bias) in row.iter_mut().zip(&self.bias) {
                *value += bias;
            }
        }
        self.multiply(input, out, scratch);
    }

    fn multiply(&self, input: &Rows<'_>, out: &mut [f32], scratch: &mut Scratch) {
        let sums = Sums {
            values: out,
            stride: self.outputs(),
            column: 0,
        };
        add_product(input, &self.weights, sums, &mut scratch.interleaved);
    }
}

impl LayerNorm {
    fn apply(&self, states: &mut [f32]) {
        let width = self.scale.len();
        for row in states.chunks_exact_mut(width) {
            let mean = Sum::new(row).dispatch() / width as f32;
            let variance = SumSquareSub::new(row, mean).dispatch() / width as f32;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: (variance + LAYER_NORM_EPSILON).sqrt().recip(),
                element_scale: Some(&self.scale),
                element_bias: Some(&self.shift),
                ..NormalizeOptions::default()
            };
            Normalize::new_mut(row, options).dispatch();
        }
    }
}

/// Which rows the tokens of each text are.
fn spans_of(texts: &[&[i32]]) -> Vec<Range<usize>> {
    let mut end = 0;
    let spans = texts.iter().map(|text| {
        let start = end;
        end += text.len();
        start..end
    });
    spans.collect()
}

fn mean(rows: &[f32], width: usize) -> Vec<f32> {
    let mut mean = vec![0.0; width];
    for row in rows.chunks_exact(width) {
        for (sum, value) in mean.iter_mut().zip(row) {
            *sum += value;
        }
    }
    let count = (rows.len() / width).max(1) as f32;
    mean.iter_mut().for_each(|sum| *sum /= count);
    mean
}
