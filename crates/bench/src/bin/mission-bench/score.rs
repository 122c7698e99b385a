//! `mission semantic score`: how well the readings of recordings agree with their
//! labels, per engine and version.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use missiond_bench::score::{Mistake, MistakeKind, Score, ScoreRule, ScoreSummary};
use missiond_console::failure::Failure;
use missiond_console::output::Output;
use missiond_console::recordings;
use missiond_core::ErrorCode;
use missiond_pty::{OutputFilter, replay};
use missiond_semantic::GENERIC;
use serde::Serialize;

use crate::args::ScoreArgs;

/// What `mission semantic score --json` prints.
#[derive(Serialize)]
struct ScoreReport {
    recordings: usize,
    engines: BTreeMap<String, EngineReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mistakes: Vec<MistakeReport>,
}

#[derive(Serialize)]
struct EngineReport {
    #[serde(flatten)]
    all: ScoreSummary,
    versions: BTreeMap<String, ScoreSummary>,
}

#[derive(Serialize)]
struct MistakeReport {
    recording: String,
    from: f64,
    to: f64,
    label: &'static str,
    read: &'static str,
    /// The class is wrong, not only the state within it.
    class_wrong: bool,
}

pub(super) fn run(args: &ScoreArgs, output: &mut Output) -> Result<(), Failure> {
    let path = args.path.as_path();
    let asked = args.engine.as_deref();
    let catalogue = recordings::catalogue(args.manifests.as_deref(), asked, output)?;
    let filter = if args.screen_only {
        OutputFilter::ScreenOnly
    } else {
        OutputFilter::All
    };
    let files = recordings_under(path)?;
    if files.is_empty() {
        let message = format!("there is no recording (*.cast) under {}", path.display());
        return Err(Failure::new(ErrorCode::NotFound, message));
    }
    let mut scores: BTreeMap<String, BTreeMap<String, Score>> = BTreeMap::new();
    let mut mistakes = Vec::new();
    for file in &files {
        let cast = recordings::open(file)?;
        let header = cast.header().clone();
        let engine = header.engine().unwrap_or(GENERIC).to_owned();
        let version = header.cli_version().unwrap_or("unknown").to_owned();
        let scenario = header
            .mission
            .as_ref()
            .and_then(|m| m.scenario.clone())
            .unwrap_or_default();
        let manifest = recordings::manifest_for(&catalogue, asked, &header)?;
        let replayed =
            replay(cast, manifest, filter).map_err(|error| recordings::broken(file, &error))?;
        let score = scores
            .entry(engine.clone())
            .or_default()
            .entry(version)
            .or_default();
        let found = score.add(&replayed, ScoreRule::new(&engine, &scenario));
        if args.mistakes {
            let name = file
                .strip_prefix(path)
                .unwrap_or(file)
                .display()
                .to_string();
            mistakes.extend(found.into_iter().map(|mistake| report(&name, &mistake)));
        }
    }
    let engines = scores.iter().map(|(engine, versions)| {
        let mut all = Score::default();
        versions.values().for_each(|score| all.merge(score));
        let versions = versions
            .iter()
            .map(|(v, score)| (v.clone(), score.summary()))
            .collect();
        (
            engine.clone(),
            EngineReport {
                all: all.summary(),
                versions,
            },
        )
    });
    let report = ScoreReport {
        recordings: files.len(),
        engines: engines.collect(),
        mistakes,
    };
    output.result(&report, print_scores);
    Ok(())
}

fn print_scores(output: &mut Output, report: &ScoreReport) {
    let row = |name: String, summary: &ScoreSummary| {
        // Without labels there is nothing to be right about.
        let share = |share: f64| {
            if summary.seconds > 0.0 {
                format!("{:.2} %", share * 100.0)
            } else {
                "–".to_owned()
            }
        };
        vec![
            name,
            summary.recordings.to_string(),
            format!("{:.0} s", summary.seconds),
            share(summary.right),
            share(summary.exact),
            format!("{:.2} s", summary.false_idle_s),
            format!("{} of {}", summary.confirming_missed, summary.confirming),
            format!(
                "{:.2} / {:.2} s",
                summary.delay_median_s, summary.delay_p99_s
            ),
        ]
    };
    let mut rows = Vec::new();
    for (engine, scored) in &report.engines {
        rows.push(row(engine.clone(), &scored.all));
        if scored.versions.len() > 1 {
            for (version, summary) in &scored.versions {
                rows.push(row(format!("  {version}"), summary));
            }
        }
    }
    let header = [
        "ENGINE",
        "CASTS",
        "TIME",
        "RIGHT",
        "EXACT",
        "FALSE IDLE",
        "MISSED",
        "DELAY 50/99 %",
    ];
    output.table(&header, &rows);
    if report.mistakes.is_empty() {
        return;
    }
    output.line("");
    let rows: Vec<_> = report
        .mistakes
        .iter()
        .map(|mistake| {
            vec![
                mistake.recording.clone(),
                format!("{:.2}", mistake.from),
                format!("{:.2}", mistake.to),
                mistake.label.to_owned(),
                mistake.read.to_owned(),
                if mistake.class_wrong {
                    "class"
                } else {
                    "state"
                }
                .to_owned(),
            ]
        })
        .collect();
    output.table(
        &["RECORDING", "FROM", "TO", "LABEL", "READ", "WRONG"],
        &rows,
    );
}

fn report(recording: &str, mistake: &Mistake) -> MistakeReport {
    MistakeReport {
        recording: recording.to_owned(),
        from: mistake.from.as_secs_f64(),
        to: mistake.to.as_secs_f64(),
        label: mistake.label.as_str(),
        read: mistake.reading.as_str(),
        class_wrong: mistake.kind == MistakeKind::WrongClass,
    }
}

/// The file itself, or every recording below a folder, in a fixed order.
fn recordings_under(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| {
            let message = format!("{} could not be read: {error}", folder.display());
            Failure::new(ErrorCode::NotFound, message)
        })?;
        for entry in entries {
            let entry = entry?.path();
            // A link could lead in a circle.
            if entry.is_dir() && !entry.is_symlink() {
                folders.push(entry);
            } else if entry
                .extension()
                .is_some_and(|extension| extension == "cast")
            {
                files.push(entry);
            }
        }
    }
    files.sort();
    Ok(files)
}
