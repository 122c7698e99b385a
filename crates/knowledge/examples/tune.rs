//! Chooses the parameters of the default profile by cross-validation:
//!
//! `cargo run --release -p missiond-knowledge --example tune -- SET.json=SET.vectors …`
//!
//! Every set counts the same. The questions are cut into five parts; for each part
//! the parameters that do best on the other four are looked for, one parameter after
//! the other, from the middle of what is tried, and measured on it. What is printed
//! last are the parameters chosen for each part, and the recall of the profile in use
//! on the same parts. The vectors are those `mission bench kb` leaves in its cache.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::collections::HashMap;
use std::error::Error;
use std::fs;

use missiond_knowledge::evaluation::{Dataset, SetVectors, Variant, corpora, each, mean};
use missiond_knowledge::{Context, Corpus, Fusion, Paths, Profile, Reads};

const FOLDS: usize = 5;

/// What is tried of each parameter.
const KEYWORD: [f32; 5] = [0.1, 0.2, 0.3, 0.4, 0.5];
const KEYWORD_OF_TURNS: [f32; 5] = [0.5, 0.55, 0.6, 0.65, 0.7];
const CONVERSATION: [f32; 5] = [0.0, 0.15, 0.3, 0.45, 0.6];
const FEEDBACK: [f32; 5] = [0.0, 0.15, 0.25, 0.4, 0.55];
const FEEDBACK_HITS: [usize; 5] = [2, 3, 4, 6, 8];

/// A place in each of these lists.
type Choice = [usize; 5];

/// Where the search begins: not at the profile in use, which is to be validated.
const MIDDLE: Choice = [2, 2, 2, 2, 2];

/// The recall of one choice: of each set on each part.
type Recalls = Vec<[f64; FOLDS]>;

struct Set {
    name: String,
    dataset: Dataset,
    vectors: SetVectors,
    /// The part each question belongs to.
    parts: Vec<usize>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let sets = std::env::args()
        .skip(1)
        .map(|argument| read(&argument))
        .collect::<Result<Vec<_>, _>>()?;
    let mut bench = Bench::new(&sets);
    let mut left_out = vec![0.0; sets.len()];
    for part in 0..FOLDS {
        let (chosen, on_others) = descend(&mut bench, part);
        let recalls = bench.recalls(chosen);
        for (sum, of_set) in left_out.iter_mut().zip(&recalls) {
            *sum += of_set[part] / FOLDS as f64;
        }
        println!(
            "part {part}: {} ({on_others:.4} on the others)",
            named(chosen)
        );
    }
    let in_use = bench.measured(&Profile::best());
    println!("recall@10 on the parts left out, and of the profile in use on the same:");
    for ((set, recall), of_set) in sets.iter().zip(left_out).zip(in_use) {
        let in_use = of_set.iter().sum::<f64>() / FOLDS as f64;
        println!("  {} {recall:.4} {in_use:.4}", set.name);
    }
    println!("{} choices were measured", bench.known.len());
    Ok(())
}

/// The best choice for all parts but one, and what it comes to on them.
fn descend(bench: &mut Bench<'_>, part: usize) -> (Choice, f64) {
    let mut on_others = |choice: Choice| -> f64 {
        let of_set = |parts: &[f64; FOLDS]| -> f64 {
            let others = (0..FOLDS).filter(|n| *n != part).map(|n| parts[n]);
            others.sum::<f64>() / (FOLDS - 1) as f64
        };
        let recalls = bench.recalls(choice);
        recalls.iter().map(of_set).sum::<f64>() / recalls.len() as f64
    };
    let tried = [
        KEYWORD.len(),
        KEYWORD_OF_TURNS.len(),
        CONVERSATION.len(),
        FEEDBACK.len(),
        FEEDBACK_HITS.len(),
    ];
    let mut best = (MIDDLE, on_others(MIDDLE));
    loop {
        let before = best.0;
        for (parameter, count) in tried.into_iter().enumerate() {
            for value in 0..count {
                let mut choice = best.0;
                choice[parameter] = value;
                let recall = on_others(choice);
                if recall > best.1 {
                    best = (choice, recall);
                }
            }
        }
        if best.0 == before {
            return best;
        }
    }
}

fn read(argument: &str) -> Result<Set, Box<dyn Error>> {
    let (file, vectors) = argument
        .split_once('=')
        .ok_or("give SET.json=SET.vectors")?;
    let dataset: Dataset = serde_json::from_slice(&fs::read(file)?)?;
    let vectors =
        SetVectors::read(&fs::read(vectors)?, &dataset, Reads::Latin).ok_or("other vectors")?;
    let part = |id: &str| {
        let hash = id.bytes().fold(7_usize, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(usize::from(byte))
        });
        hash % FOLDS
    };
    Ok(Set {
        name: file.to_owned(),
        parts: dataset.queries.iter().map(|q| part(&q.id)).collect(),
        dataset,
        vectors,
    })
}

/// The corpora of each set, by group.
type Corpora<'s> = Vec<HashMap<&'s str, Corpus>>;

/// Measures each choice once.
struct Bench<'s> {
    sets: &'s [Set],
    /// Corpora depend on the context alone, so profiles that share one share them.
    corpora: Vec<(Option<Context>, Corpora<'s>)>,
    known: HashMap<Choice, Recalls>,
}

impl<'s> Bench<'s> {
    fn new(sets: &'s [Set]) -> Self {
        Self {
            sets,
            corpora: Vec::new(),
            known: HashMap::new(),
        }
    }

    fn recalls(&mut self, choice: Choice) -> Recalls {
        if let Some(known) = self.known.get(&choice) {
            return known.clone();
        }
        let recalls = self.measured(&profile(choice));
        self.known.insert(choice, recalls.clone());
        recalls
    }

    fn measured(&mut self, profile: &Profile) -> Recalls {
        let at = self.built(profile);
        let variant = Variant {
            prefix: "",
            profile: profile.clone(),
            paths: Paths::Both,
        };
        let of_set = |(set, corpora): (&Set, &HashMap<&str, Corpus>)| {
            let figures = each(&set.dataset, Some(&set.vectors), &variant, corpora);
            std::array::from_fn(|part| {
                let of_part = figures.iter().zip(&set.parts);
                let of_part = of_part.filter(|(_, own)| **own == part);
                mean(of_part.filter_map(|(figure, _)| *figure)).recall_at_10
            })
        };
        self.sets
            .iter()
            .zip(&self.corpora[at].1)
            .map(of_set)
            .collect()
    }

    fn built(&mut self, profile: &Profile) -> usize {
        let known = self
            .corpora
            .iter()
            .position(|(context, _)| *context == profile.context);
        known.unwrap_or_else(|| {
            let of_set = |set: &'s Set| corpora(&set.dataset, Some(&set.vectors), profile);
            let made = self.sets.iter().map(of_set).collect();
            self.corpora.push((profile.context, made));
            self.corpora.len() - 1
        })
    }
}

fn profile(choice: Choice) -> Profile {
    let best = Profile::best();
    Profile {
        fusion: Fusion::Scores {
            keyword: KEYWORD[choice[0]],
            keyword_of_turns: KEYWORD_OF_TURNS[choice[1]],
        },
        context: best.context.map(|context| Context {
            conversation: CONVERSATION[choice[2]],
            ..context
        }),
        feedback: FEEDBACK[choice[3]],
        feedback_hits: FEEDBACK_HITS[choice[4]],
        ..best
    }
}

fn named(choice: Choice) -> String {
    format!(
        "keyword {}, of turns {}, conversation {}, feedback {} of {}",
        KEYWORD[choice[0]],
        KEYWORD_OF_TURNS[choice[1]],
        CONVERSATION[choice[2]],
        FEEDBACK[choice[3]],
        FEEDBACK_HITS[choice[4]],
    )
}
