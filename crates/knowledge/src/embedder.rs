//! What turns text into vectors, as the rest sees it. Vectors of two models
//! cannot be compared, so a model has a full name, and everything that stores
//! or searches vectors carries it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which model made a vector. Two that differ in anything are two models.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct ModelName {
    /// `embedded`, `ollama` or `openai`.
    pub provider: String,
    pub model: String,
    /// A digest of the weights where it is known.
    pub revision: String,
    pub dimension: u32,
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            provider,
            model,
            revision,
            dimension,
        } = self;
        write!(f, "{provider}:{model}@{revision}/{dimension}")
    }
}

impl ModelName {
    /// Reads a full name back.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, rest) = text.split_once(':')?;
        let (rest, dimension) = rest.rsplit_once('/')?;
        let (model, revision) = rest.rsplit_once('@')?;
        Some(Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            revision: revision.to_owned(),
            dimension: dimension.parse().ok()?,
        })
    }
}

/// What a text is for. Some models want to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Entry,
    Query,
}

/// Which writing a model was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Latin letters: an English model.
    Latin,
    Everything,
}

impl Reads {
    /// Which share of the letters of a text the model knows.
    #[must_use]
    pub fn share_of(self, text: &str) -> f32 {
        if self == Self::Everything {
            return 1.0;
        }
        let (mut all, mut known) = (0_u32, 0_u32);
        for c in text.chars().filter(|c| c.is_alphabetic()) {
            all += 1;
            known += u32::from(c < '\u{250}');
        }
        if all == 0 {
            1.0
        } else {
            known as f32 / all as f32
        }
    }
}

/// Why there is no vector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    #[error("the embedding provider cannot be reached: {0}")]
    Unreachable(String),
    #[error("the embedding provider did not answer within {seconds} s")]
    TooSlow { seconds: u64 },
    #[error("the embedding provider refused: {0}")]
    Refused(String),
    #[error("the embedding provider gave what is no vector of {expected} dimensions: {found}")]
    WrongShape { expected: u32, found: String },
    #[error("the model could not be run: {0}")]
    Model(String),
}

/// A model that is ready. Calls block; whoever calls has a thread for it.
pub trait Embedder: fmt::Debug + Send + Sync {
    fn name(&self) -> &ModelName;

    /// What it was made to read.
    fn reads(&self) -> Reads;

    /// Where it is reached, when it is not in this process.
    fn endpoint(&self) -> Option<&str> {
        None
    }

    /// One vector for each text, in order, each of the model's dimension.
    fn embed(&self, texts: &[&str], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// What two texts that have nothing to do with each other come to in a model:
/// thresholds mean something only against these.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    pub mean: f32,
    /// Half of all pairs of unlike texts are below this.
    pub median: f32,
    /// All but one in a hundred.
    pub p99: f32,
    /// All but one in a thousand.
    pub p999: f32,
}

impl Calibration {
    /// From vectors of length 1 of texts that were not chosen to be alike;
    /// `None` when there are too few to say anything.
    #[must_use]
    pub fn of(vectors: &[Vec<f32>]) -> Option<Self> {
        const FEWEST: usize = 32;
        const PAIRS: usize = 20_000;
        if vectors.len() < FEWEST {
            return None;
        }
        let mut similarities = Vec::with_capacity(PAIRS);
        // A stride that is odd and not near a divisor visits pairs evenly.
        let (mut a, mut b) = (0_usize, vectors.len() / 2);
        for _ in 0..PAIRS {
            if a != b {
                similarities.push(crate::simd::dot(&vectors[a], &vectors[b]));
            }
            a = (a + 7919) % vectors.len();
            b = (b + 104_729) % vectors.len();
        }
        similarities.sort_by(f32::total_cmp);
        let at = |share: f64| similarities[((similarities.len() - 1) as f64 * share) as usize];
        Some(Self {
            mean: similarities.iter().sum::<f32>() / similarities.len() as f32,
            median: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
        })
    }

    /// From here on two texts say about the same. Half of the way from what
    /// unlike texts come to, to being identical, and never below the pairs
    /// that one in a thousand reaches by accident.
    #[must_use]
    pub fn alike(&self) -> f32 {
        self.p999.max(f32::midpoint(self.median, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_names_read_back() {
        let name = ModelName {
            provider: "ollama".into(),
            model: "hf.co/org/qwen3-embedding:0.6b".into(),
            revision: String::new(),
            dimension: 1024,
        };
        assert_eq!(ModelName::parse(&name.to_string()), Some(name));
        let wrong = ["", "ollama", "ollama:m@r", "ollama:m/3", "ollama:m@r/x"];
        assert_eq!(wrong.map(ModelName::parse), [const { None }; 5]);
    }
}
