//! Chooses the parameters of the default profile by cross-validation:
//!
//! `cargo run --release -p missiond-bench --example tune -- SET.json=SET.vectors …`
//!
//! Every set counts the same. The questions are cut into five parts; for each part
//! the parameters that do best on the other four are looked for, one parameter after
//! the other, from the middle of what is tried, and measured on it. Best is the mean
//! of recall@10 and nDCG@10: recall alone chooses more feedback, which finds a little
//! more and puts it in a worse order. What is printed are the parameters chosen for
//! each part, and the figures of the profile in use on the same parts. The vectors
//! are those `mission bench kb` leaves in its cache.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::collections::HashMap;
use std::error::Error;
use std::fs;

use missiond_bench::evaluation::{Dataset, SetVectors, Variant, corpora, each, mean};
use missiond_knowledge::keyword::Bm25;
use missiond_knowledge::{Context, Corpus, Fusion, Mode, Paths, Profile, Reads};

const FOLDS: usize = 5;

/// What is tried of each parameter.
const KEYWORD: [f32; 5] = [0.1, 0.2, 0.3, 0.4, 0.5];
const KEYWORD_OF_TURNS: [f32; 5] = [0.5, 0.55, 0.6, 0.65, 0.7];
const CONVERSATION: [f32; 5] = [0.0, 0.15, 0.3, 0.45, 0.6];
const FEEDBACK: [f32; 5] = [0.0, 0.15, 0.25, 0.4, 0.55];
const FEEDBACK_HITS: [usize; 5] = [2, 3, 4, 6, 8];
const CHARACTER: [f32; 5] = [0.0, 0.2, 0.5, 0.7, 1.0];

/// A place in each of these lists.
type Choice = [usize; 6];

/// Where the search begins, whatever the profile in use is.
const MIDDLE: Choice = [2; 6];

/// The parameters that bear on the turns of conversations, and those that bear on
/// documents: the others need not be tried on a set.
const OF_TURNS: [usize; 2] = [1, 2];
const OF_DOCUMENTS: [usize; 4] = [0, 3, 4, 5];

/// What a choice comes to on each part of a set.
type Scores = [Score; FOLDS];

#[derive(Debug, Clone, Copy, Default)]
struct Score {
    recall: f64,
    ndcg: f64,
}

impl Score {
    fn both(self) -> f64 {
        f64::midpoint(self.recall, self.ndcg)
    }

    /// The mean of all parts.
    fn whole(parts: &Scores) -> Self {
        let mean = |of: fn(&Self) -> f64| parts.iter().map(of).sum::<f64>() / FOLDS as f64;
        Self {
            recall: mean(|score| score.recall),
            ndcg: mean(|score| score.ndcg),
        }
    }
}

struct Set {
    name: String,
    dataset: Dataset,
    vectors: SetVectors,
    /// The part each question belongs to.
    parts: Vec<usize>,
    /// The parameters that bear on it.
    bear: &'static [usize],
}

fn main() -> Result<(), Box<dyn Error>> {
    let sets = std::env::args()
        .skip(1)
        .map(|argument| read(&argument))
        .collect::<Result<Vec<_>, _>>()?;
    let mut bench = Bench::new(&sets);
    let mut left_out = vec![Scores::default(); sets.len()];
    for part in 0..FOLDS {
        let (chosen, on_others) = descend(&mut bench, part);
        for (set, scores) in left_out.iter_mut().enumerate() {
            scores[part] = bench.scores(set, chosen)[part];
        }
        let chosen = named(chosen);
        println!("part {part}: {chosen} ({on_others:.4} on the others)");
    }
    println!("recall@10 and nDCG@10 on the parts left out, and of the profile in use:");
    for (at, set) in sets.iter().enumerate() {
        let chosen = Score::whole(&left_out[at]);
        let in_use = Score::whole(&bench.measured(at, &Profile::best()));
        println!(
            "  {} {:.4} {:.4}, {:.4} {:.4}",
            set.name, chosen.recall, chosen.ndcg, in_use.recall, in_use.ndcg
        );
    }
    println!("{} choices were measured on a set", bench.known.len());
    Ok(())
}

/// The best choice for all parts but one, and what it comes to on them.
fn descend(bench: &mut Bench<'_>, part: usize) -> (Choice, f64) {
    let sets = bench.sets.len();
    let mut on_others = |choice: Choice| -> f64 {
        let of_set = |set| -> f64 {
            let scores = bench.scores(set, choice);
            let others = (0..FOLDS).filter(|n| *n != part);
            others.map(|n| scores[n].both()).sum::<f64>() / (FOLDS - 1) as f64
        };
        (0..sets).map(of_set).sum::<f64>() / sets as f64
    };
    let tried = [
        KEYWORD.len(),
        KEYWORD_OF_TURNS.len(),
        CONVERSATION.len(),
        FEEDBACK.len(),
        FEEDBACK_HITS.len(),
        CHARACTER.len(),
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
        bear: if dataset.docs.iter().any(|doc| doc.date.is_some()) {
            &OF_TURNS
        } else {
            &OF_DOCUMENTS
        },
        dataset,
        vectors,
    })
}

/// The corpora of one set for one context, by group.
type Corpora<'s> = HashMap<&'s str, Corpus>;

/// Measures each choice once.
struct Bench<'s> {
    sets: &'s [Set],
    /// Corpora depend on the context alone, so profiles that share one share them.
    corpora: Vec<(usize, Option<Context>, Corpora<'s>)>,
    known: HashMap<(usize, Choice), Scores>,
}

impl<'s> Bench<'s> {
    fn new(sets: &'s [Set]) -> Self {
        Self {
            sets,
            corpora: Vec::new(),
            known: HashMap::new(),
        }
    }

    fn scores(&mut self, set: usize, choice: Choice) -> Scores {
        let mut bears = MIDDLE;
        for &parameter in self.sets[set].bear {
            bears[parameter] = choice[parameter];
        }
        if let Some(known) = self.known.get(&(set, bears)) {
            return *known;
        }
        let scores = self.measured(set, &profile(bears));
        self.known.insert((set, bears), scores);
        scores
    }

    fn measured(&mut self, set: usize, profile: &Profile) -> Scores {
        let at = self.built(set, profile);
        let variant = Variant {
            prefix: "",
            profile: profile.clone(),
            paths: Paths::Both,
            mode: Mode::Relevance,
        };
        let (set, corpora) = (&self.sets[set], &self.corpora[at].2);
        let figures = each(&set.dataset, Some(&set.vectors), &variant, corpora);
        std::array::from_fn(|part| {
            let of_part = figures.iter().zip(&set.parts);
            let of_part = of_part.filter(|(_, own)| **own == part);
            let mean = mean(of_part.filter_map(|(figure, _)| *figure));
            Score {
                recall: mean.recall_at_10,
                ndcg: mean.ndcg_at_10,
            }
        })
    }

    fn built(&mut self, set: usize, profile: &Profile) -> usize {
        let mut known = self.corpora.iter();
        let known = known.position(|(of, context, _)| (*of, *context) == (set, profile.context));
        known.unwrap_or_else(|| {
            let of = &self.sets[set];
            let made = corpora(&of.dataset, Some(&of.vectors), profile);
            self.corpora.push((set, profile.context, made));
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
        bm25: Bm25 {
            character: CHARACTER[choice[5]],
            ..best.bm25
        },
        ..best
    }
}

fn named(choice: Choice) -> String {
    format!(
        "keyword {}, of turns {}, conversation {}, feedback {} of {}, character {}",
        KEYWORD[choice[0]],
        KEYWORD_OF_TURNS[choice[1]],
        CONVERSATION[choice[2]],
        FEEDBACK[choice[3]],
        FEEDBACK_HITS[choice[4]],
        CHARACTER[choice[5]],
    )
}
