//! Whether what is written to the letter is found to the letter. Identifiers
//! of the kinds people look for are put into documents of a set, one each, and
//! asked for with vectors that point somewhere else.

use missiond_core::Timestamp;
use missiond_knowledge::{Corpus, Mode, Paths, Profile, Reads, Request};

use crate::evaluation::{Dataset, SetVectors, corpora};

/// How many of `count` planted identifiers are among the first three hits.
#[must_use]
pub fn found_in_top_3(dataset: &Dataset, vectors: Option<&SetVectors>, count: usize) -> usize {
    let mut planted = dataset.clone();
    let stride = (planted.docs.len() / count.max(1)).max(1);
    let places: Vec<usize> = (0..planted.docs.len())
        .step_by(stride)
        .take(count)
        .collect();
    for (number, &at) in places.iter().enumerate() {
        planted.docs[at]
            .text
            .push_str(&format!(" See {} there.", identifier(number)));
    }
    let profile = Profile::best();
    let corpora = corpora(&planted, vectors, &profile);
    let mut found = 0;
    for (number, &at) in places.iter().enumerate() {
        let doc = &planted.docs[at];
        let Some(corpus) = corpora.get(doc.group.as_str()) else {
            continue;
        };
        let elsewhere = (at + planted.docs.len() / 2) % planted.docs.len();
        let misleading = vectors
            .and_then(|vectors| vectors.docs.get(elsewhere))
            .map(Vec::as_slice);
        found += usize::from(is_found(
            corpus,
            &identifier(number),
            &doc.id,
            misleading,
            &profile,
        ));
    }
    found
}

fn is_found(
    corpus: &Corpus,
    identifier: &str,
    id: &str,
    vector: Option<&[f32]>,
    profile: &Profile,
) -> bool {
    let answer = corpus.search(&Request {
        query: &format!("where did we see {identifier} and what was it about"),
        vector,
        model_reads: Reads::Everything,
        profile,
        paths: Paths::Both,
        mode: Mode::Relevance,
        now: Timestamp::from_micros(0),
        scope: None,
        categories: &[],
        limit: 3,
        offset: 0,
    });
    answer.hits.iter().any(|hit| hit.id == id)
}

/// Error codes, functions, types, paths, hashes, versions, addresses, flags.
fn identifier(number: usize) -> String {
    let hash = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match number % 8 {
        0 => format!("E{:04}", 500 + number),
        1 => format!("parse_frame_{number}"),
        2 => format!("MissionQueue{number}"),
        3 => format!("crates/store/src/part{number}.rs"),
        4 => format!("{hash:016x}"),
        5 => format!("v{number}.2.{}", number % 7),
        6 => format!("ERR-{}", 1000 + number),
        _ => format!("store::Reader{number}::open"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many_texts(count: usize) -> Dataset {
        let docs = (0..count).map(|n| {
            format!("{{\"id\": {n}, \"text\": \"we saw what it was about, where we did see number {n}\"}}")
        });
        let docs = docs.collect::<Vec<_>>().join(",");
        let text = format!("{{\"docs\": [{docs}], \"queries\": []}}");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn every_identifier_is_found_among_many_texts() {
        assert_eq!(found_in_top_3(&many_texts(400), None, 100), 100);
    }

    #[test]
    fn every_identifier_is_found_when_all_vectors_point_elsewhere() {
        // Every fourth document has an identifier, and the one half of the set
        // further, whose vector the question gets, never: 201 is odd.
        let dataset = many_texts(402);
        let (asked, away) = (vec![0.6, 0.8, 0.0], vec![-0.6, -0.8, 0.0]);
        let vector = |at: usize| if at.is_multiple_of(4) { &away } else { &asked };
        let vectors = SetVectors {
            dimension: 3,
            reads: Reads::Everything,
            docs: (0..402).map(|at| vector(at).clone()).collect(),
            queries: Vec::new(),
        };
        assert_eq!(found_in_top_3(&dataset, Some(&vectors), 100), 100);
    }
}
