//! Readings of real and of written recordings against their labels.
//!
//! The recordings of real programs are not part of the repository; where they
//! lie beside it the scores must hold. The written ones among the fixtures of
//! `missiond-pty` are always read.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use missiond_bench::score::{Score, ScoreRule, ScoreSummary};
use missiond_pty::{CastReader, OutputFilter, replay};
use missiond_semantic::Catalogue;

/// What each engine and version must reach: share of right and of exact
/// readings. Nothing may be read as idle that is not. What keeps the numbers
/// from one is in `docs/how/detection.md`, recording by recording.
const TARGETS: &[(&str, &str, f64, f64)] = &[
    ("claude", "2.1.325", 0.991, 0.964),
    ("claude", "2.0.77", 0.966, 0.870),
    ("claude", "1.0.128", 0.989, 0.887),
    ("codex", "0.166.0", 0.997, 0.994),
    ("copilot", "1.0.102", 0.964, 0.954),
    ("gemini", "0.61.0", 0.9905, 0.987),
    ("opencode", "1.18.33", 0.994, 0.988),
];

#[test]
#[cfg_attr(not(recordings), ignore = "no recordings beside the repository")]
fn recordings_of_real_programs_are_read_as_well_as_promised() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    let scores = score(&folder);
    let mut short = Vec::new();
    for &(engine, version, right, exact) in TARGETS {
        let Some(score) = scores.get(&(engine.to_owned(), version.to_owned())) else {
            short.push(format!("{engine} {version}: no recordings"));
            continue;
        };
        let enough = score.right >= right
            && score.exact >= exact
            && score.false_idle_s == 0.0
            && score.confirming_missed == 0;
        if !enough {
            short.push(format!("{engine} {version}: {score:?}"));
        }
    }
    assert!(short.is_empty(), "{}", short.join("\n"));
}

/// What the generic manifest must reach on programs it was not written for:
/// share of right readings, and seconds read as idle that were not.
const GENERIC_TARGETS: &[(&str, f64, f64)] = &[
    ("claude", 0.71, 0.6),
    ("codex", 0.94, 1.0),
    ("copilot", 0.8, 0.0),
    ("gemini", 0.82, 0.6),
    ("opencode", 0.82, 0.0),
];

#[test]
#[cfg_attr(not(recordings), ignore = "no recordings beside the repository")]
fn the_generic_manifest_is_never_confidently_wrong() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    let catalogue = Catalogue::shipped().unwrap();
    for &(engine, right, false_idle) in GENERIC_TARGETS {
        let mut score = Score::default();
        for file in casts(&folder.join(engine)) {
            let cast = CastReader::new(BufReader::new(File::open(&file).unwrap())).unwrap();
            let scenario = cast.header().mission.clone().and_then(|m| m.scenario);
            let manifest = catalogue.for_engine(Some("nobody-knows-it")).unwrap();
            let rule = ScoreRule::new(engine, &scenario.unwrap_or_default());
            score.add(
                &replay(cast, manifest.clone(), OutputFilter::All).unwrap(),
                rule,
            );
        }
        let score = score.summary();
        assert_eq!(
            (score.confidently_wrong_s, score.confirming_missed),
            (0.0, 0),
            "{engine}"
        );
        assert!(
            score.right >= right && score.false_idle_s <= false_idle,
            "{engine}: {score:?}"
        );
    }
}

#[test]
fn written_recordings_are_read_exactly() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pty/tests/fixtures");
    let scores = score(&folder);
    assert!(scores.len() >= 3, "{scores:?}");
    for ((engine, version), score) in scores {
        assert_eq!(
            (
                score.right,
                score.exact,
                score.false_idle_s,
                score.confirming_missed
            ),
            (1.0, 1.0, 0.0, 0),
            "{engine} {version}"
        );
    }
}

fn score(folder: &Path) -> BTreeMap<(String, String), ScoreSummary> {
    let catalogue = Catalogue::shipped().unwrap();
    let mut scores: BTreeMap<(String, String), Score> = BTreeMap::new();
    for file in casts(folder) {
        let cast = CastReader::new(BufReader::new(File::open(&file).unwrap())).unwrap();
        let source = cast.header().mission.clone().unwrap_or_default();
        let name = source.engine.unwrap_or_default();
        let manifest = catalogue.for_engine(Some(&name)).unwrap().clone();
        let rule = ScoreRule::new(&name, &source.scenario.unwrap_or_default());
        let replayed = replay(cast, manifest, OutputFilter::All).unwrap();
        let key = (name, source.cli_version.unwrap_or_default());
        scores.entry(key).or_default().add(&replayed, rule);
    }
    scores
        .into_iter()
        .map(|(key, score)| (key, score.summary()))
        .collect()
}

fn casts(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "cast")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
