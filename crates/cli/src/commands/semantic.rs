//! `mission semantic …`: how screens are read, on recordings and manifests.
//! Works on files alone; no daemon is asked or started.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use missiond_core::ErrorCode;
use missiond_pty::screenshot::{PictureError, of_recording};
use missiond_pty::{
    CastError, CastHeader, CastReader, ManifestFileError, Mistake, MistakeKind, Score, ScoreRule,
    ScoreSummary, Senses, TimedReading, load_catalogue, load_manifest, replay, replay_until,
};
use missiond_semantic::{
    Catalogue, Evidence, Explanation, GENERIC, Manifest, PendingChange, Reading, Screen,
};
use serde::Serialize;

use super::picture::{self, Drawn};
use crate::args::{PictureArgs, ReadingArgs, SemanticCommand};
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, printable};

pub(super) fn run(command: &SemanticCommand, output: &mut Output) -> Result<ExitCode, Failure> {
    match command {
        SemanticCommand::Replay { file, reading } => show_replay(file, reading, output)?,
        SemanticCommand::Score {
            path,
            reading,
            mistakes,
        } => {
            let listing = if *mistakes {
                Listing::Mistakes
            } else {
                Listing::Scores
            };
            show_scores(path, reading, listing, output)?;
        }
        SemanticCommand::Explain { file, at, reading } => explain(file, *at, reading, output)?,
        SemanticCommand::Screenshot { file, at, picture } => {
            return screenshot(file, *at, picture, output);
        }
        SemanticCommand::CheckManifest { file } => check_manifest(file, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// One line of `mission semantic replay --json`.
#[derive(Serialize)]
struct ReplayLine<'a> {
    t: f64,
    #[serde(flatten)]
    reading: &'a Reading,
}

fn show_replay(file: &Path, args: &ReadingArgs, output: &mut Output) -> Result<(), Failure> {
    let catalogue = catalogue(args, output)?;
    let cast = open(file)?;
    let manifest = manifest_for(&catalogue, cast.header(), args)?;
    let replayed = replay(cast, manifest, senses(args)).map_err(|error| broken(file, &error))?;
    if output.is_json() {
        for TimedReading { at, reading, .. } in &replayed.readings {
            output.json_line(&ReplayLine {
                t: at.as_secs_f64(),
                reading,
            });
        }
        return Ok(());
    }
    let rows: Vec<_> = replayed
        .readings
        .iter()
        .map(|TimedReading { at, reading, .. }| {
            vec![
                format!("{:9.3}", at.as_secs_f64()),
                reading.state.as_str().to_owned(),
                format!("{:.2}", reading.confidence),
                reading.authority.name().to_owned(),
                reading
                    .evidence
                    .first()
                    .map(|e| e.rule.clone())
                    .unwrap_or_default(),
                reading
                    .evidence
                    .iter()
                    .map(brief)
                    .collect::<Vec<_>>()
                    .join("; "),
            ]
        })
        .collect();
    output.table(
        &["SECONDS", "STATE", "SURE", "BY", "RULE", "EVIDENCE"],
        &rows,
    );
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Listing {
    Scores,
    Mistakes,
}

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

fn show_scores(
    path: &Path,
    args: &ReadingArgs,
    listing: Listing,
    output: &mut Output,
) -> Result<(), Failure> {
    let catalogue = catalogue(args, output)?;
    let files = recordings_under(path)?;
    if files.is_empty() {
        let message = format!("there is no recording (*.cast) under {}", path.display());
        return Err(Failure::new(ErrorCode::NotFound, message));
    }
    let mut scores: BTreeMap<String, BTreeMap<String, Score>> = BTreeMap::new();
    let mut mistakes = Vec::new();
    for file in &files {
        let cast = open(file)?;
        let header = cast.header().clone();
        let engine = header.engine().unwrap_or(GENERIC).to_owned();
        let version = header.cli_version().unwrap_or("unknown").to_owned();
        let scenario = header
            .mission
            .as_ref()
            .and_then(|m| m.scenario.clone())
            .unwrap_or_default();
        let manifest = manifest_for(&catalogue, &header, args)?;
        let replayed =
            replay(cast, manifest, senses(args)).map_err(|error| broken(file, &error))?;
        let score = scores
            .entry(engine.clone())
            .or_default()
            .entry(version)
            .or_default();
        let found = score.add(&replayed, ScoreRule::new(&engine, &scenario));
        if listing == Listing::Mistakes {
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
        let share = |share: f64| match summary.seconds > 0.0 {
            true => format!("{:.2} %", share * 100.0),
            false => "–".to_owned(),
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

/// What `mission semantic explain --json` prints.
#[derive(Serialize)]
struct ExplainReport<'a> {
    engine: &'a str,
    at: f64,
    title: &'a str,
    screen: Vec<&'a str>,
    #[serde(flatten)]
    explanation: &'a Explanation,
}

fn explain(
    file: &Path,
    at: Duration,
    args: &ReadingArgs,
    output: &mut Output,
) -> Result<(), Failure> {
    let catalogue = catalogue(args, output)?;
    let cast = open(file)?;
    let manifest = manifest_for(&catalogue, cast.header(), args)?;
    let engine = manifest.engine().to_owned();
    let (mut session, _) =
        replay_until(cast, manifest, senses(args), at).map_err(|error| broken(file, &error))?;
    let explanation = session.explain(at);
    let screen = session.screen();
    let report = ExplainReport {
        engine: &engine,
        at: at.as_secs_f64(),
        title: &screen.title,
        screen: screen.rows.iter().map(|row| row.text.as_str()).collect(),
        explanation: &explanation,
    };
    output.result(&report, |output, report| {
        print_explanation(output, report, screen);
    });
    Ok(())
}

fn print_explanation(output: &mut Output, report: &ExplainReport<'_>, screen: &Screen) {
    let explanation = report.explanation;
    let reading = &explanation.reading;
    let state = output.paint.apply(Style::Bold, reading.state.as_str());
    output.line(format!(
        "{state} since {:.3} s: {} (sure {:.2}, by {})",
        reading.since.as_secs_f64(),
        reading.reason,
        reading.confidence,
        reading.authority.name(),
    ));
    if let Some(PendingChange { state, due }) = explanation.pending {
        let due = due.as_secs_f64();
        output.line(format!(
            "seen but not yet believed: {} (from {due:.3} s on)",
            state.as_str()
        ));
    }
    match &explanation.decided {
        Some(verdict) => {
            output.line(format!(
                "this screen is decided by rule {} ({}.yaml line {}, priority {}): {}",
                verdict.rule,
                report.engine,
                verdict.line,
                verdict.priority,
                verdict.state.as_str(),
            ));
            for evidence in &verdict.evidence {
                output.line(format!("    {}", brief(evidence)));
            }
        }
        None => output.line("no rule matches this screen"),
    }
    for verdict in &explanation.also {
        let state = verdict.state.as_str();
        output.line(format!(
            "also holds, with less priority: {} ({state})",
            verdict.rule
        ));
    }
    for miss in &explanation.near {
        let state = miss.state.as_str();
        output.line(format!(
            "nearly: {} ({state}) — missing: {}",
            miss.rule, miss.missing
        ));
    }
    if let Some(dialog) = &explanation.dialog {
        output.line(format!("dialog: {}", printable(&dialog.question)));
        for (index, option) in dialog.options.iter().enumerate() {
            let mark = if dialog.selected == Some(index) {
                '>'
            } else {
                ' '
            };
            output.line(format!(
                "  {mark} {} (row {})",
                printable(&option.label),
                option.row
            ));
        }
    }
    if let Some(tool) = &explanation.tool {
        let arguments = printable(&tool.arguments);
        output.line(format!(
            "tool line: {} {arguments} ({:?})",
            tool.name, tool.phase
        ));
    }
    print_regions(output, explanation);
    print_screen(output, explanation, screen);
}

fn print_regions(output: &mut Output, explanation: &Explanation) {
    let rows: Vec<_> = explanation
        .regions
        .iter()
        .map(|region| {
            let rows = region
                .rows
                .as_ref()
                .map(|rows| format!("{}..{}", rows.start, rows.end - 1));
            let fingerprint = region.fingerprint.map(|hash| hash.to_string());
            vec![
                region.name.clone(),
                rows.unwrap_or_else(|| "not there".to_owned()),
                fingerprint.unwrap_or_default(),
                region.known_as.clone().unwrap_or_default(),
            ]
        })
        .collect();
    output.line("");
    output.table(&["REGION", "ROWS", "FINGERPRINT", "KNOWN AS"], &rows);
}

/// The screen, with a mark before each row that was evidence.
fn print_screen(output: &mut Output, explanation: &Explanation, screen: &Screen) {
    let evidence = explanation
        .decided
        .iter()
        .flat_map(|verdict| &verdict.evidence);
    let marked: Vec<usize> = evidence.filter_map(|evidence| evidence.row).collect();
    output.line("");
    output.line(format!("title: {}", printable(&screen.title)));
    for (index, row) in screen
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| !row.is_blank())
    {
        let mark = if marked.contains(&index) { '>' } else { ' ' };
        output.line(format!("{mark}{index:3} {}", printable(&row.text)));
    }
}

fn screenshot(
    file: &Path,
    at: Option<Duration>,
    args: &PictureArgs,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let format = picture::format_of(args, output)?;
    let picture = of_recording(open(file)?, at).map_err(|error| match error {
        PictureError::Recording(error) => broken(file, &error),
        other => other.into(),
    })?;
    let drawn = Drawn {
        format,
        columns: picture.size.columns,
        rows: picture.size.rows,
        content: picture.render(picture::rendered_as(format))?,
    };
    picture::deliver(args, &drawn, output)
}

fn check_manifest(file: &Path, output: &mut Output) -> Result<(), Failure> {
    let manifest = load_manifest(file)?;
    let report = serde_json::json!({
        "file": file, "valid": true, "engine": manifest.engine(), "versions": manifest.versions(),
    });
    output.result(&report, |output, _| {
        output.line(format!(
            "{} is valid: engine {}",
            file.display(),
            manifest.engine()
        ));
    });
    Ok(())
}

fn senses(args: &ReadingArgs) -> Senses {
    if args.screen_only {
        Senses::ScreenOnly
    } else {
        Senses::All
    }
}

fn catalogue(args: &ReadingArgs, output: &mut Output) -> Result<Catalogue, Failure> {
    let catalogue = load_catalogue(args.manifests.as_deref())?;
    if let Some(asked) = &args.engine
        && catalogue.get(asked).is_none()
    {
        let known: Vec<_> = catalogue.engines().collect();
        output.notice(&format!(
            "No manifest for `{asked}`, so the generic one reads it. There are: {}.",
            known.join(", ")
        ));
    }
    Ok(catalogue)
}

fn manifest_for(
    catalogue: &Catalogue,
    header: &CastHeader,
    args: &ReadingArgs,
) -> Result<Arc<Manifest>, Failure> {
    let engine = args.engine.as_deref().or(header.engine());
    let found = catalogue.for_engine(engine).cloned();
    found.ok_or_else(|| {
        Failure::new(
            ErrorCode::InvalidConfig,
            "there is no manifest for this engine",
        )
    })
}

fn open(file: &Path) -> Result<CastReader<BufReader<File>>, Failure> {
    let opened = File::open(file).map_err(|error| {
        let message = format!("{} could not be opened: {error}", file.display());
        Failure::new(ErrorCode::NotFound, message)
    })?;
    CastReader::new(BufReader::new(opened)).map_err(|error| broken(file, &error))
}

fn broken(file: &Path, error: &CastError) -> Failure {
    Failure::new(
        ErrorCode::InvalidRequest,
        format!("{}: {error}", file.display()),
    )
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

fn brief(evidence: &Evidence) -> String {
    let text: String = printable(&evidence.text).chars().take(70).collect();
    match evidence.row {
        Some(row) => format!("{} row {row}: {text}", evidence.source),
        None => format!("{}: {text}", evidence.source),
    }
}

impl From<ManifestFileError> for Failure {
    fn from(error: ManifestFileError) -> Self {
        let code = match error {
            ManifestFileError::Unreadable { .. } => ErrorCode::NotFound,
            ManifestFileError::TooLarge { .. } | ManifestFileError::Invalid { .. } => {
                ErrorCode::InvalidConfig
            }
        };
        Self::new(code, error.to_string())
    }
}
