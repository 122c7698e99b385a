//! Chooses the parameters of the default profile by cross-validation:
//!
//! `cargo run --release -p missiond-knowledge --example tune -- SET.json=SET.vectors …`
//!
//! Every set counts the same. The questions are cut into five parts; for each
//! part the parameters that do best on the other four are measured on it. What
//! is printed last are the parameters chosen most and what they come to. The
//! vectors are those `mission bench kb` leaves in its cache.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;

use missiond_knowledge::evaluation::{Dataset, SetVectors, Variant, corpora, each, mean};
use missiond_knowledge::{Context, Fusion, Paths, Profile, Reads};

const FOLDS: usize = 5;

/// The recall of one profile on one part of one set.
type Recalls = Vec<Vec<[f64; FOLDS]>>;

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
    let grid = grid();
    let recalls = measured(&sets, &grid);
    for ((name, _), of_sets) in grid.iter().zip(&recalls) {
        let means: Vec<String> = of_sets
            .iter()
            .map(|parts| format!("{:.4}", parts.iter().sum::<f64>() / FOLDS as f64))
            .collect();
        println!("{} {name}", means.join(" "));
    }
    let mut chosen: BTreeMap<usize, usize> = BTreeMap::new();
    let mut left_out = vec![0.0; sets.len()];
    for part in 0..FOLDS {
        let on_others = |profile: usize| -> f64 {
            let of_set = |parts: &[f64; FOLDS]| -> f64 {
                (0..FOLDS).filter(|n| *n != part).map(|n| parts[n]).sum()
            };
            recalls[profile].iter().map(of_set).sum::<f64>()
        };
        let best = (0..grid.len())
            .max_by(|a, b| on_others(*a).total_cmp(&on_others(*b)))
            .unwrap_or(0);
        *chosen.entry(best).or_default() += 1;
        for (set, sum) in left_out.iter_mut().enumerate() {
            *sum += recalls[best][set][part] / FOLDS as f64;
        }
    }
    println!("recall@10 on the parts left out:");
    for (set, recall) in sets.iter().zip(left_out) {
        println!("  {} {recall:.4}", set.name);
    }
    for (profile, times) in chosen {
        println!("chosen {times} of {FOLDS}: {}", grid[profile].0);
    }
    Ok(())
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

/// Corpora depend on the context alone, so profiles that share one share them.
fn measured(sets: &[Set], grid: &[(String, Profile)]) -> Recalls {
    let mut recalls: Recalls = vec![Vec::new(); grid.len()];
    for set in sets {
        let mut built: Vec<(Option<Context>, _)> = Vec::new();
        for ((_, profile), of_sets) in grid.iter().zip(&mut recalls) {
            let known = built
                .iter()
                .position(|(context, _)| *context == profile.context);
            let at = known.unwrap_or_else(|| {
                let made = corpora(&set.dataset, Some(&set.vectors), profile);
                built.push((profile.context, made));
                built.len() - 1
            });
            let variant = Variant {
                prefix: "",
                profile: profile.clone(),
                paths: Paths::Both,
            };
            let figures = each(&set.dataset, Some(&set.vectors), &variant, &built[at].1);
            of_sets.push(std::array::from_fn(|part| {
                let of_part = figures.iter().zip(&set.parts);
                let of_part = of_part.filter(|(_, own)| **own == part);
                mean(of_part.filter_map(|(figure, _)| *figure)).recall_at_10
            }));
        }
    }
    recalls
}

fn grid() -> Vec<(String, Profile)> {
    let mut grid = Vec::new();
    for conversation in [0.15, 0.3] {
        for keyword in [0.1, 0.15, 0.2, 0.3] {
            for keyword_of_turns in [0.6, 0.65, 0.7] {
                let best = Profile::best();
                let profile = Profile {
                    fusion: Fusion::Scores {
                        keyword,
                        keyword_of_turns,
                    },
                    context: best.context.map(|context| Context {
                        conversation,
                        ..context
                    }),
                    ..best
                };
                let name = format!(
                    "keyword {keyword}, of turns {keyword_of_turns}, conversation {conversation}"
                );
                grid.push((name, profile));
            }
        }
    }
    grid
}
