//! How well a profile finds what it should, on a set of questions with known
//! answers: `mission bench kb` prints these figures. A question is searched
//! among the documents of its own group.

use std::collections::{BTreeMap, HashMap};

use missiond_core::{EntryCategory, Timestamp};
use missiond_knowledge::profile::LARGEST_PAGE;
use missiond_knowledge::tokens::exact_parts;
use missiond_knowledge::{
    Context, Corpus, Document, Mode, Paths, Profile, Reads, Request, TurnPosition,
};
use serde::{Deserialize, Serialize};

/// Documents, questions and which documents answer them.
#[derive(Debug, Clone, Deserialize)]
pub struct Dataset {
    pub docs: Vec<Doc>,
    pub queries: Vec<Question>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Doc {
    #[serde(deserialize_with = "text_or_number")]
    pub id: String,
    pub text: String,
    #[serde(default)]
    pub group: String,
    /// Documents of one date and group, in order, are the turns of one
    /// conversation.
    #[serde(default)]
    pub date: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Question {
    #[serde(deserialize_with = "text_or_number")]
    pub id: String,
    pub text: String,
    #[serde(default)]
    pub group: String,
    /// How relevant each document that answers it is.
    pub gold: HashMap<String, f64>,
}

/// The vectors of a set, in its order.
#[derive(Debug, Clone)]
pub struct SetVectors {
    pub dimension: usize,
    pub reads: Reads,
    pub docs: Vec<Vec<f32>>,
    pub queries: Vec<Vec<f32>>,
}

impl SetVectors {
    /// The vectors as bytes: the dimension, those of the documents, those of
    /// the questions.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = (self.dimension as u32).to_le_bytes().to_vec();
        for vector in self.docs.iter().chain(&self.queries) {
            bytes.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
        }
        bytes
    }

    /// Reads back what [`SetVectors::to_bytes`] wrote, when it is of this set.
    #[must_use]
    pub fn read(bytes: &[u8], dataset: &Dataset, reads: Reads) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let dimension = u32::from_le_bytes(*head) as usize;
        let (numbers, odd) = rest.as_chunks::<4>();
        let count = dataset.docs.len() + dataset.queries.len();
        if dimension == 0 || !odd.is_empty() || numbers.len() != count * dimension {
            return None;
        }
        let mut vectors = numbers
            .chunks_exact(dimension)
            .map(|row| row.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect());
        let docs = vectors.by_ref().take(dataset.docs.len()).collect();
        Some(Self {
            dimension,
            reads,
            docs,
            queries: vectors.collect(),
        })
    }
}

/// Means over all questions that have an answer in the set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Quality {
    pub recall_at_5: f64,
    pub recall_at_10: f64,
    pub ndcg_at_10: f64,
    pub mrr: f64,
}

/// One of the ways a set is searched.
#[derive(Debug, Clone)]
pub struct Variant {
    /// What its figures are called; empty for the whole pipeline.
    pub prefix: &'static str,
    pub profile: Profile,
    pub paths: Paths,
    pub mode: Mode,
}

impl Variant {
    /// The whole pipeline, each path, fusion alone, the source document's
    /// parameters, the pipeline with one stage left out, and with each of the
    /// two that are off by default.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let best = Profile::best;
        let of = |prefix, profile, paths| Self {
            prefix,
            profile,
            paths,
            mode: Mode::Relevance,
        };
        let without_context = Profile {
            context: None,
            ..best()
        };
        let without_conversation = Profile {
            context: best().context.map(|context| Context {
                conversation: 0.0,
                ..context
            }),
            ..best()
        };
        let without_exact = Profile {
            exact_first: false,
            ..best()
        };
        let without_feedback = Profile {
            feedback: 0.0,
            ..best()
        };
        let without_decay = Profile {
            decay: false,
            ..best()
        };
        let with_drop_off = Profile {
            drop_off: Profile::seed().drop_off,
            ..best()
        };
        let fused = Profile {
            feedback: 0.0,
            exact_first: false,
            decay: false,
            drop_off: 0.0,
            ..without_conversation
        };
        vec![
            of("", best(), Paths::Both),
            of("keyword_", fused.clone(), Paths::Keyword),
            of("vector_", fused.clone(), Paths::Vector),
            of("fused_", fused, Paths::Both),
            of("seed_", Profile::seed(), Paths::Both),
            of("without_neighbours_", without_context, Paths::Both),
            of("without_conversation_", without_conversation, Paths::Both),
            of("without_feedback_", without_feedback, Paths::Both),
            of("without_exact_", without_exact, Paths::Both),
            of("without_decay_", without_decay, Paths::Both),
            of("with_drop_off_", with_drop_off, Paths::Both),
            Self {
                mode: Mode::Explore,
                ..of("explore_", best(), Paths::Both)
            },
        ]
    }
}

/// Searches a set one way.
#[must_use]
pub fn measure(dataset: &Dataset, vectors: Option<&SetVectors>, variant: &Variant) -> Quality {
    let corpora = corpora(dataset, vectors, &variant.profile);
    let figures = each(dataset, vectors, variant, &corpora);
    mean(figures.into_iter().flatten())
}

/// The stages that cannot change what is found in this set, and why: with them
/// and without them the figures are the same.
#[must_use]
pub fn idle_stages(
    dataset: &Dataset,
    vectors: Option<&SetVectors>,
) -> BTreeMap<&'static str, &'static str> {
    let mut idle = BTreeMap::from([("decay", "every document is a note, and of one time")]);
    let docs = &dataset.docs;
    if docs.iter().all(|doc| doc.date.is_none()) {
        idle.insert("neighbours", "no document is a turn of a conversation");
        idle.insert("conversation", "no document is a turn of a conversation");
    }
    let to_the_letter = |question: &Question| {
        let exact = exact_parts(&question.text);
        !exact.identifiers.is_empty() || !exact.phrases.is_empty()
    };
    if !dataset.queries.iter().any(to_the_letter) {
        idle.insert("exact", "no question names anything to the letter");
    }
    if vectors.is_none() {
        idle.insert("diversity", "there are no vectors");
    }
    let is_unread = |reads: Reads| move |question: &Question| reads.share_of(&question.text) <= 0.5;
    let feedback = match vectors {
        None => Some("there are no vectors"),
        Some(_) if docs.iter().all(|doc| doc.date.is_some()) => {
            Some("every document is a turn of a conversation")
        }
        Some(vectors) if dataset.queries.iter().all(is_unread(vectors.reads)) => {
            Some("the model reads none of the questions")
        }
        Some(_) => None,
    };
    idle.extend(feedback.map(|why| ("feedback", why)));
    idle
}

/// The mean of the figures of several questions.
#[must_use]
pub fn mean(figures: impl Iterator<Item = Quality>) -> Quality {
    let mut sum = Quality::default();
    let mut count = 0_u32;
    for one in figures {
        sum.recall_at_5 += one.recall_at_5;
        sum.recall_at_10 += one.recall_at_10;
        sum.ndcg_at_10 += one.ndcg_at_10;
        sum.mrr += one.mrr;
        count += 1;
    }
    let count = f64::from(count.max(1));
    Quality {
        recall_at_5: sum.recall_at_5 / count,
        recall_at_10: sum.recall_at_10 / count,
        ndcg_at_10: sum.ndcg_at_10 / count,
        mrr: sum.mrr / count,
    }
}

/// The figures of each question, none for one without an answer in the set.
/// The corpora are those of the set and of the variant's context.
#[must_use]
pub fn each(
    dataset: &Dataset,
    vectors: Option<&SetVectors>,
    variant: &Variant,
    corpora: &HashMap<&str, Corpus>,
) -> Vec<Option<Quality>> {
    let figures = dataset.queries.iter().enumerate().map(|(at, question)| {
        let corpus = corpora.get(question.group.as_str())?;
        let gold: HashMap<&str, f64> = question
            .gold
            .iter()
            .filter(|(id, relevance)| **relevance > 0.0 && corpus.get(id).is_some())
            .map(|(id, relevance)| (id.as_str(), *relevance))
            .collect();
        if gold.is_empty() {
            return None;
        }
        let answer = corpus.search(&Request {
            query: &question.text,
            vector: vectors
                .and_then(|vectors| vectors.queries.get(at))
                .map(Vec::as_slice),
            model_reads: vectors.map_or(Reads::Everything, |vectors| vectors.reads),
            profile: &variant.profile,
            paths: variant.paths,
            mode: variant.mode,
            now: Timestamp::from_micros(0),
            scope: None,
            categories: &[],
            limit: LARGEST_PAGE,
            offset: 0,
        });
        let found: Vec<f64> = answer
            .hits
            .iter()
            .map(|hit| gold.get(hit.id.as_str()).copied().unwrap_or(0.0))
            .collect();
        Some(quality(&found, &gold.values().copied().collect::<Vec<_>>()))
    });
    figures.collect()
}

/// A document with its vector, when there is one.
type Embedded = (Document, Option<Vec<f32>>);

/// The corpus of each group.
#[must_use]
pub fn corpora<'d>(
    dataset: &'d Dataset,
    vectors: Option<&SetVectors>,
    profile: &Profile,
) -> HashMap<&'d str, Corpus> {
    let mut groups: HashMap<&str, Vec<Embedded>> = HashMap::new();
    for (at, doc) in dataset.docs.iter().enumerate() {
        let position = doc.date.as_ref().map(|date| TurnPosition {
            conversation: format!("{}/{date}", doc.group),
            turn: at as i64,
        });
        let document = Document {
            id: doc.id.clone(),
            text: doc.text.clone(),
            category: EntryCategory::Note,
            scope: None,
            at: Timestamp::from_micros(0),
            position,
            spoken_day: doc.date.clone(),
        };
        let vector = vectors.and_then(|vectors| vectors.docs.get(at).cloned());
        groups
            .entry(&doc.group)
            .or_default()
            .push((document, vector));
    }
    let dimension = vectors.map(|vectors| vectors.dimension);
    groups
        .into_iter()
        .map(|(group, documents)| (group, Corpus::of(documents, profile.context, dimension)))
        .collect()
}

/// The figures of one question, from the relevance of each hit in order.
fn quality(found: &[f64], gold: &[f64]) -> Quality {
    let recall = |most: usize| {
        found.iter().take(most).filter(|gain| **gain > 0.0).count() as f64 / gold.len() as f64
    };
    let gain = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        gains
            .take(10)
            .enumerate()
            .map(|(at, gain)| gain / (at as f64 + 2.0).log2())
            .sum()
    };
    let mut ideal = gold.to_vec();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let first = found.iter().position(|gain| *gain > 0.0);
    Quality {
        recall_at_5: recall(5),
        recall_at_10: recall(10),
        ndcg_at_10: gain(&mut found.iter().copied()) / gain(&mut ideal.into_iter()),
        mrr: first.map_or(0.0, |at| 1.0 / (at as f64 + 1.0)),
    }
}

fn text_or_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Name {
        Text(String),
        Number(i64),
    }
    Ok(match Name::deserialize(deserializer)? {
        Name::Text(text) => text,
        Name::Number(number) => number.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_figures_are_those_of_a_hand_count() {
        let one = quality(&[0.0, 1.0, 0.0, 0.0, 0.0, 2.0], &[1.0, 2.0, 1.0]);
        assert!((one.recall_at_5 - 1.0 / 3.0).abs() < 1e-9);
        assert!((one.recall_at_10 - 2.0 / 3.0).abs() < 1e-9);
        assert!((one.mrr - 0.5).abs() < 1e-9);
        let ideal = 2.0 + 1.0 / 3f64.log2() + 0.5;
        let found = 1.0 / 3f64.log2() + 2.0 / 7f64.log2();
        assert!((one.ndcg_at_10 - found / ideal).abs() < 1e-9);
    }

    fn figures_of(dataset: &Dataset, vectors: Option<&SetVectors>, prefix: &str) -> Quality {
        let mut all = Variant::all().into_iter();
        let variant = all.find(|variant| variant.prefix == prefix).unwrap();
        measure(dataset, vectors, &variant)
    }

    /// Five documents that say the same, one that says something else of what is
    /// asked, one that has a word of it, many about nothing of it. The five are the answer.
    fn five_alike() -> (Dataset, SetVectors) {
        let doc = |at: usize| match at {
            0..5 => json!({"id": at, "text": "the lease ends"}),
            5 => json!({"id": at, "text": "the lease is renewed"}),
            6 => json!({"id": at, "text": "bread and butter end the day"}),
            _ => json!({"id": at, "text": "bread and butter"}),
        };
        let gold = json!({"0": 1, "1": 1, "2": 1, "3": 1, "4": 1});
        let dataset = json!({
            "docs": (0..100).map(doc).collect::<Vec<_>>(),
            "queries": [{"id": 1, "text": "when does the lease end", "gold": gold}],
        });
        let vector = |at: usize| match at {
            0..5 => vec![1.0, 0.0, 0.0],
            5 => vec![0.0, 1.0, 0.0],
            _ => vec![0.0, 0.0, 1.0],
        };
        let vectors = SetVectors {
            dimension: 3,
            reads: Reads::Everything,
            docs: (0..100).map(vector).collect(),
            queries: vec![vec![0.72, 0.69, 0.0]],
        };
        (serde_json::from_value(dataset).unwrap(), vectors)
    }

    #[test]
    fn diversity_puts_something_unlike_before_more_of_the_same() {
        let (dataset, vectors) = five_alike();
        let recall = |prefix| figures_of(&dataset, Some(&vectors), prefix).recall_at_5;
        assert!((recall("") - 1.0).abs() < 1e-9);
        assert!((recall("explore_") - 0.8).abs() < 1e-9);
    }

    #[test]
    fn drop_off_leaves_only_what_is_near_the_best() {
        let (mut dataset, vectors) = five_alike();
        dataset.queries[0].gold.insert("6".into(), 1.0);
        let found = |prefix| figures_of(&dataset, Some(&vectors), prefix).recall_at_10;
        assert!((found("") - 1.0).abs() < 1e-9);
        assert!((found("with_drop_off_") - 5.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn a_stage_that_is_idle_changes_no_figure() {
        let (dataset, vectors) = five_alike();
        let idle = |vectors| {
            idle_stages(&dataset, vectors)
                .into_keys()
                .collect::<Vec<_>>()
        };
        assert_eq!(
            idle(Some(&vectors)),
            ["conversation", "decay", "exact", "neighbours"]
        );
        assert_eq!(
            idle(None),
            [
                "conversation",
                "decay",
                "diversity",
                "exact",
                "feedback",
                "neighbours"
            ]
        );
        let whole = figures_of(&dataset, None, "");
        for prefix in [
            "without_conversation_",
            "explore_",
            "without_exact_",
            "without_feedback_",
            "without_neighbours_",
        ] {
            assert_eq!(figures_of(&dataset, None, prefix), whole, "{prefix}");
        }
    }
}
