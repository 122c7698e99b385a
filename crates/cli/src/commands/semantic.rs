//! `mission semantic …`: how screens are read, on recordings and manifests.
//! Works on files alone; no daemon is asked or started.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use missiond_console::recordings;
use missiond_core::ErrorCode;
use missiond_pty::screenshot::{
    self, AnimationError, AnimationOptions, PictureError, of_recording,
};
use missiond_pty::{OutputFilter, TimedReading, load_manifest, replay, replay_until};
use missiond_semantic::{Evidence, Explanation, PendingChange, Reading, Screen};
use serde::Serialize;

use super::bench;
use super::picture::{self, EncodedPicture};
use crate::args::{AnimateArgs, PictureArgs, ReadingArgs, SemanticCommand};
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, printable};

pub(super) fn run(command: &SemanticCommand, output: &mut Output) -> Result<ExitCode, Failure> {
    match command {
        SemanticCommand::Replay { file, reading } => show_replay(file, reading, output)?,
        SemanticCommand::Score(args) => return bench::score(args, output),
        SemanticCommand::Explain { file, at, reading } => explain(file, *at, reading, output)?,
        SemanticCommand::Screenshot { file, at, picture } => {
            return take_picture(file, *at, picture, output);
        }
        SemanticCommand::Animate(args) => return animate(args, output),
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
    let engine = args.engine.as_deref();
    let catalogue = recordings::catalogue(args.manifests.as_deref(), engine, output)?;
    let cast = recordings::open(file)?;
    let manifest = recordings::manifest_for(&catalogue, engine, cast.header())?;
    let replayed = replay(cast, manifest, output_filter(args))
        .map_err(|error| recordings::broken(file, &error))?;
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
    let engine = args.engine.as_deref();
    let catalogue = recordings::catalogue(args.manifests.as_deref(), engine, output)?;
    let cast = recordings::open(file)?;
    let manifest = recordings::manifest_for(&catalogue, engine, cast.header())?;
    let engine = manifest.engine().to_owned();
    let (mut session, _) = replay_until(cast, manifest, output_filter(args), at)
        .map_err(|error| recordings::broken(file, &error))?;
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

fn take_picture(
    file: &Path,
    at: Option<Duration>,
    args: &PictureArgs,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let format = picture::format_of(args, output)?;
    let picture = of_recording(recordings::open(file)?, at).map_err(|error| match error {
        PictureError::Recording(error) => recordings::broken(file, &error),
        other => picture::picture_failure(&other),
    })?;
    let drawn = EncodedPicture {
        format,
        columns: picture.size.columns,
        rows: picture.size.rows,
        content: picture
            .render(picture::rendered_as(format))
            .map_err(|error| picture::picture_failure(&error))?,
    };
    picture::deliver(args, &drawn, output)
}

fn animate(args: &AnimateArgs, output: &mut Output) -> Result<ExitCode, Failure> {
    let options = AnimationOptions {
        speed: args.speed,
        longest_pause: args.longest_pause,
        theme: args.theme.into(),
    };
    let cast = recordings::open(&args.file)?;
    let animation = screenshot::animate(cast, &options).map_err(|error| match error {
        AnimationError::Recording(error) => recordings::broken(&args.file, &error),
        other => Failure::new(ErrorCode::TooLarge, other.to_string()),
    })?;
    picture::deliver_animation(args.output.as_deref(), &animation, output)
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

fn output_filter(args: &ReadingArgs) -> OutputFilter {
    if args.screen_only {
        OutputFilter::ScreenOnly
    } else {
        OutputFilter::All
    }
}

fn brief(evidence: &Evidence) -> String {
    let text: String = printable(&evidence.text).chars().take(70).collect();
    match evidence.row {
        Some(row) => format!("{} row {row}: {text}", evidence.source),
        None => format!("{}: {text}", evidence.source),
    }
}
