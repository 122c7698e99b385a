//! How far the estimate of tokens is off. Reads what `calibration/count.mjs`
//! counted and prints, by kind of text, the estimate against each tokenizer, and
//! how often and how far it falls below the largest count.

#![allow(clippy::print_stdout, reason = "it is a command")]

use std::collections::BTreeMap;

use missiond_context::estimated_tokens;
use serde::Deserialize;

#[derive(Deserialize)]
struct Counted {
    kind: String,
    text: String,
    counts: [usize; 3],
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("name the file of counts")?;
    let counted: Vec<Counted> = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let mut kinds: BTreeMap<&str, Vec<&Counted>> = BTreeMap::new();
    for one in &counted {
        kinds.entry(&one.kind).or_default().push(one);
    }
    println!("| kind | texts | o200k | cl100k | Claude 2 | below the largest | worst | median |");
    println!("|---|---|---|---|---|---|---|---|");
    for (kind, texts) in kinds {
        let estimates: Vec<f64> = texts
            .iter()
            .map(|one| estimated_tokens(&one.text) as f64)
            .collect();
        let sum: f64 = estimates.iter().sum();
        let against = |which: usize| {
            let real: usize = texts.iter().map(|one| one.counts[which]).sum();
            (sum / real as f64 - 1.0) * 100.0
        };
        let mut off: Vec<f64> = estimates
            .iter()
            .zip(&texts)
            .map(|(estimate, one)| {
                let most = one.counts.iter().copied().max().unwrap_or(1).max(1);
                (estimate / most as f64 - 1.0) * 100.0
            })
            .collect();
        off.sort_by(f64::total_cmp);
        let below = off.iter().filter(|off| **off < 0.0).count() * 100 / off.len();
        println!(
            "| {kind} | {} | {:+.0} % | {:+.0} % | {:+.0} % | {below} % | {:+.0} % | {:+.0} % |",
            texts.len(),
            against(0),
            against(1),
            against(2),
            off[0],
            off[off.len() / 2],
        );
    }
    Ok(())
}
