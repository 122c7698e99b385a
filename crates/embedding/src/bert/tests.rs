//! A small network, run as it is and as the formulas say, number by number.

use std::io::Cursor;

use super::*;
use crate::onnx::OnnxFile;
use crate::onnx::writer::OnnxWriter;

const ARCHITECTURE: Architecture = Architecture {
    hidden: 64,
    layers: 2,
    heads: 2,
};
const HIDDEN: usize = ARCHITECTURE.hidden;
const INNER: usize = 96;
const WORDS: usize = 20;
const POSITIONS: usize = 80;

/// Weights by the names the formulas use; matrices with a row for each input.
struct Weights(Vec<(String, Vec<usize>, Vec<f64>)>);

impl Weights {
    fn made_up() -> Self {
        let mut state = 1_u64;
        let mut made = Self(Vec::new());
        let mut add = |name: String, shape: &[usize], middle: f64, spread: f64| {
            let values = (0..shape.iter().product()).map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let unit = (state >> 40) as f64 / (1_u64 << 24) as f64;
                f64::from((middle + (unit - 0.5) * spread) as f32)
            });
            made.0.push((name, shape.to_vec(), values.collect()));
        };
        add(
            "embeddings.word_embeddings.weight".into(),
            &[WORDS, HIDDEN],
            0.0,
            2.0,
        );
        add(
            "embeddings.position_embeddings.weight".into(),
            &[POSITIONS, HIDDEN],
            0.0,
            1.0,
        );
        add(
            "embeddings.token_type_embeddings.weight".into(),
            &[2, HIDDEN],
            0.0,
            1.0,
        );
        let mut norms = vec!["embeddings.LayerNorm".to_owned()];
        for layer in 0..ARCHITECTURE.layers {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            for (part, inputs, outputs) in [
                ("attention.self.query", HIDDEN, HIDDEN),
                ("attention.self.key", HIDDEN, HIDDEN),
                ("attention.self.value", HIDDEN, HIDDEN),
                ("attention.output.dense", HIDDEN, HIDDEN),
                ("intermediate.dense", HIDDEN, INNER),
                ("output.dense", INNER, HIDDEN),
            ] {
                add(name(part), &[inputs, outputs], 0.0, 0.6);
                add(name(&format!("{part}.bias")), &[outputs], 0.0, 0.5);
            }
            norms.push(name("attention.output.LayerNorm"));
            norms.push(name("output.LayerNorm"));
        }
        for norm in norms {
            add(format!("{norm}.weight"), &[HIDDEN], 1.0, 0.5);
            add(format!("{norm}.bias"), &[HIDDEN], 0.0, 0.5);
        }
        made
    }

    fn get(&self, name: &str) -> &[f64] {
        let found = self.0.iter().find(|(of, ..)| of == name);
        &found.unwrap_or_else(|| panic!("no {name}")).2
    }

    /// As a file, in which matrices have no names of their own.
    fn file(&self, left_out: &str) -> Vec<u8> {
        let mut writer = OnnxWriter::default();
        for (number, (name, shape, values)) in self.0.iter().enumerate() {
            let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
            if name == left_out {
                continue;
            }
            if name.ends_with(".weight") || name.ends_with(".bias") {
                writer.tensor(name, shape, &values);
                continue;
            }
            let tensor = format!("onnx::MatMul_{number}");
            let path = name.replace('.', "/").replace("layer/", "layer.");
            writer.tensor(&tensor, shape, &values);
            writer.node("MatMul", &format!("/{path}/MatMul"), &["x", &tensor]);
        }
        writer.finish()
    }

    fn linear(&self, name: &str, input: &[f64]) -> Vec<f64> {
        let (weights, bias) = (self.get(name), self.get(&format!("{name}.bias")));
        let outputs = bias.len();
        let one = |output: usize| {
            let products = input.iter().enumerate();
            let sum: f64 = products
                .map(|(at, x)| x * weights[at * outputs + output])
                .sum();
            sum + bias[output]
        };
        (0..outputs).map(one).collect()
    }

    fn norm(&self, name: &str, input: &[f64]) -> Vec<f64> {
        let (scale, shift) = (
            self.get(&format!("{name}.weight")),
            self.get(&format!("{name}.bias")),
        );
        let count = input.len() as f64;
        let mean = input.iter().sum::<f64>() / count;
        let variance = input.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let one = |at: usize| (input[at] - mean) / variance.sqrt() * scale[at] + shift[at];
        (0..input.len()).map(one).collect()
    }

    fn encode(&self, text: &[i32]) -> Vec<f64> {
        let row = |name: &str, at: usize| self.get(name)[at * HIDDEN..][..HIDDEN].to_vec();
        let embedded = text.iter().enumerate().map(|(position, &token)| {
            let sum = sum(&[
                row("embeddings.word_embeddings.weight", token as usize),
                row("embeddings.token_type_embeddings.weight", 0),
                row("embeddings.position_embeddings.weight", position),
            ]);
            self.norm("embeddings.LayerNorm", &sum)
        });
        let mut states: Vec<Vec<f64>> = embedded.collect();
        for layer in 0..ARCHITECTURE.layers {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            let all = |part: &str| -> Vec<Vec<f64>> {
                let name = name(&format!("attention.self.{part}"));
                states
                    .iter()
                    .map(|state| self.linear(&name, state))
                    .collect()
            };
            let (queries, keys, values) = (all("query"), all("key"), all("value"));
            let next = states.iter().zip(&queries).map(|(state, query)| {
                let context = attention(query, &keys, &values);
                let attended = self.linear(&name("attention.output.dense"), &context);
                let attended = sum(&[attended, state.clone()]);
                let attended = self.norm(&name("attention.output.LayerNorm"), &attended);
                let inner = self.linear(&name("intermediate.dense"), &attended);
                let inner: Vec<f64> = inner.into_iter().map(gelu).collect();
                let output = self.linear(&name("output.dense"), &inner);
                self.norm(&name("output.LayerNorm"), &sum(&[output, attended]))
            });
            states = next.collect();
        }
        let mean = sum(&states);
        mean.iter().map(|sum| sum / states.len() as f64).collect()
    }
}

fn sum(rows: &[Vec<f64>]) -> Vec<f64> {
    let columns = 0..rows.first().map_or(0, Vec::len);
    columns
        .map(|at| rows.iter().map(|row| row[at]).sum())
        .collect()
}

fn attention(query: &[f64], keys: &[Vec<f64>], values: &[Vec<f64>]) -> Vec<f64> {
    let width = HIDDEN / ARCHITECTURE.heads;
    let one = |at: usize| {
        let head = at / width * width..at / width * width + width;
        let scores = keys.iter().map(|key| {
            let products = query[head.clone()].iter().zip(&key[head.clone()]);
            let product: f64 = products.map(|(q, k)| q * k).sum();
            (product / (width as f64).sqrt()).exp()
        });
        let scores: Vec<f64> = scores.collect();
        let weighted: f64 = scores
            .iter()
            .zip(values)
            .map(|(score, value)| score * value[at])
            .sum();
        weighted / scores.iter().sum::<f64>()
    };
    (0..HIDDEN).map(one).collect()
}

/// With the error function as its series, which converges for all that occurs here.
fn gelu(x: f64) -> f64 {
    let z = x / std::f64::consts::SQRT_2;
    let (mut term, mut sum) = (z, z);
    for n in 1..200 {
        let n = f64::from(n);
        term *= -z * z / n;
        sum += term / (2.0 * n + 1.0);
    }
    0.5 * x * (1.0 + sum * std::f64::consts::FRAC_2_SQRT_PI)
}

fn load(bytes: Vec<u8>) -> Result<Encoder, WeightsError> {
    Encoder::load(&mut OnnxFile::open(Cursor::new(bytes))?, ARCHITECTURE)
}

#[test]
fn texts_are_encoded_as_the_formulas_say() {
    let weights = Weights::made_up();
    let encoder = load(weights.file("")).unwrap();
    assert_eq!(
        (encoder.vocabulary_size(), encoder.max_tokens()),
        (WORDS, POSITIONS)
    );
    // Together enough for several chunks, which begin and end within texts.
    let texts: Vec<Vec<i32>> = [1, 2, 70, 33, 7, 80]
        .iter()
        .map(|&length| {
            (0..length)
                .map(|at| (at * 7 + length) % WORDS as i32)
                .collect()
        })
        .collect();
    let slices: Vec<&[i32]> = texts.iter().map(Vec::as_slice).collect();
    let together = encoder.encode(&slices);
    for (text, found) in slices.iter().zip(&together) {
        let expected = weights.encode(text);
        let far = found
            .iter()
            .zip(&expected)
            .map(|(x, y)| (f64::from(*x) - y).abs());
        let farthest = far.fold(0.0, f64::max);
        assert!(farthest < 1e-4, "{} tokens: {farthest}", text.len());
        let alone = &encoder.encode(&[text])[0];
        let far = found.iter().zip(alone).map(|(x, y)| (x - y).abs());
        assert!(
            far.fold(0.0, f32::max) < 1e-5,
            "{} tokens alone",
            text.len()
        );
    }
    assert_eq!(encoder.encode(&[]), Vec::<Vec<f32>>::new());
}

#[test]
fn a_file_without_one_of_the_weights_says_which() {
    let weights = Weights::made_up();
    for (left_out, said) in [
        (
            "encoder.layer.1.attention.self.value",
            "the ONNX file has no MatMul node `/encoder/layer.1/attention/self/value/MatMul`",
        ),
        (
            "encoder.layer.0.intermediate.dense.bias",
            "the ONNX file has no tensor `encoder.layer.0.intermediate.dense.bias`",
        ),
        (
            "embeddings.LayerNorm.weight",
            "the ONNX file has no tensor `embeddings.LayerNorm.weight`",
        ),
    ] {
        let error = load(weights.file(left_out)).unwrap_err();
        assert_eq!(error.to_string(), said);
    }
}

#[test]
fn a_network_of_another_size_is_refused() {
    let file = Weights::made_up().file("");
    let narrow = Architecture {
        heads: 4,
        ..ARCHITECTURE
    };
    let deep = Architecture {
        layers: 3,
        ..ARCHITECTURE
    };
    let wide = Architecture {
        hidden: 128,
        ..ARCHITECTURE
    };
    let errors = [narrow, deep, wide].map(|architecture| {
        let mut file = OnnxFile::open(Cursor::new(&file)).unwrap();
        Encoder::load(&mut file, architecture)
            .unwrap_err()
            .to_string()
    });
    assert_eq!(
        errors,
        [
            "a head of the network is 16 numbers wide, which is no multiple of 32",
            "the ONNX file has no tensor `encoder.layer.2.intermediate.dense.bias`",
            "the tensor `embeddings.word_embeddings.weight` has the shape [20, 64], not [20, 128]",
        ]
    );
}
