//! What the code map costs and how well it answers: two repositories read through
//! a daemon, one changed file, searches, and questions with known answers.
//!
//! First with words alone, so that no model works beside what is timed. Then, if
//! the caller has a model installed, the questions once more when it has read the
//! repository, which is how a user has them answered.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use missiond_api::operations::code::{
    CodeIndex, CodeIndexParams, CodeMap, CodeMapParams, CodeSearch, CodeSearchParams,
    CodeStatusResult, Freshness,
};
use missiond_api::{Client, Home};
use missiond_console::failure::{Failure, parameter};
use missiond_console::output::{Output, Progress};
use missiond_core::{AbsolutePath, ErrorCode, Limit};
use missiond_embedding::ModelSpec;
use missiond_embedding::install::is_installed;
use serde::Deserialize;

use crate::temporary::{Mission, TemporaryDaemon};
use crate::{Report, millis, percentile};

/// Where the questions are in a checkout of missiond.
const QUESTIONS: &str = "crates/codemap/bench/where_is.jsonl";
/// How often one file is changed, and how often a map is drawn.
const ROUNDS: u32 = 10;
const HITS: Limit<50, 10> = Limit::of::<10>();

/// A question and the places that answer it: `path:name`, or `path` for the file.
#[derive(Debug, Deserialize)]
struct Question {
    question: String,
    expected: Vec<String>,
}

pub(super) struct CodeBenchOptions<'a> {
    pub(super) files: u32,
    pub(super) path: &'a Path,
    pub(super) questions: Option<&'a Path>,
    /// How long a model may read.
    pub(super) reading: Duration,
}

pub(super) fn run(
    options: &CodeBenchOptions<'_>,
    mission: &Mission,
    output: &Output,
) -> Result<Report, Failure> {
    let &CodeBenchOptions {
        files,
        path,
        questions,
        reading,
    } = options;
    let _progress = Progress::start(output, "reading repositories");
    let mut report = Report::new("code");
    let path = path.canonicalize()?;
    let questions =
        read_questions(&questions.map_or_else(|| path.join(QUESTIONS), Path::to_owned))?;
    let daemon = TemporaryDaemon::new(mission)?;
    configure(&daemon, "[knowledge]\ncode = false\n")?;
    daemon.run(&["daemon", "start"])?;
    let mut client = Client::connect(&daemon.home())?;

    let (this, took) = read(&mut client, &path, true)?;
    add_metrics(&mut report, "this", &this, took);
    ask(&mut client, &path, &questions, "", &mut report)?;
    let mut drawn = Vec::new();
    for _ in 0..ROUNDS {
        drawn.push(draw(&mut client, &path)?);
    }
    report.metric("this_map_p50_ms", millis(percentile(&mut drawn, 0.5)));

    let generated = tempfile::Builder::new()
        .prefix("mission-bench-code-")
        .tempdir()?;
    generate(generated.path(), files)?;
    let (large, took) = read(&mut client, generated.path(), true)?;
    add_metrics(&mut report, "generated", &large, took);
    let (mut unchanged, mut changed) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let (_, took) = read(&mut client, generated.path(), false)?;
        unchanged.push(took);
        let file = generated.path().join(path_of(round * (files / ROUNDS)));
        let mut file = std::fs::OpenOptions::new().append(true).open(file)?;
        file.write_all(format!("\n/// New.\npub fn added_{round}() {{}}\n").as_bytes())?;
        drop(file);
        let (status, took) = read(&mut client, generated.path(), false)?;
        let seen = status.last_pass.is_some_and(|pass| pass.changed == 1);
        if !seen {
            return Err(Failure::new(
                ErrorCode::Internal,
                "the changed file was not seen",
            ));
        }
        changed.push(took);
    }
    report.metric(
        "generated_pass_unchanged_p50_ms",
        millis(percentile(&mut unchanged, 0.5)),
    );
    report.metric(
        "generated_pass_one_change_p50_ms",
        millis(percentile(&mut changed, 0.5)),
    );
    let mut searches = Vec::new();
    for number in 0..ROUNDS {
        let query = format!(
            "where is shipment {} reconciled with its ledger",
            number * 7
        );
        searches.push(search(&mut client, generated.path(), &query)?.1);
    }
    report.metric(
        "generated_search_p50_ms",
        millis(percentile(&mut searches, 0.5)),
    );
    report.metric(
        "generated_map_ms",
        millis(draw(&mut client, generated.path())?),
    );
    drop(client);
    with_meaning(&daemon, &path, &questions, reading, &mut report)?;
    report.condition("repository", path.display().to_string());
    report.condition("generated_files", files);
    report.condition("questions", questions.len());
    Ok(report)
}

/// The questions once more, with the model the caller has.
fn with_meaning(
    daemon: &TemporaryDaemon,
    path: &Path,
    questions: &[Question],
    reading: Duration,
    report: &mut Report,
) -> Result<(), Failure> {
    let models = Home::from_env()?.models_dir();
    let spec = ModelSpec::default_model();
    let why = if !is_installed(&models, spec) {
        Some(format!(
            "none: {} is not installed (mission model install)",
            spec.name
        ))
    } else if reading.is_zero() {
        Some("none: no time was given to read with".to_owned())
    } else {
        None
    };
    if let Some(why) = why {
        report.condition("meaning", why);
        return Ok(());
    }
    daemon.run(&["daemon", "stop"])?;
    lend(&models, &daemon.home().models_dir())?;
    configure(daemon, "")?;
    daemon.run(&["daemon", "start"])?;
    let mut client = Client::connect(&daemon.home())?;
    let began = Instant::now();
    let status = loop {
        let (status, _) = read(&mut client, path, false)?;
        let all = status.to_embed > 0 && status.embedded >= status.to_embed;
        if all || began.elapsed() >= reading {
            break status;
        }
        std::thread::sleep(Duration::from_secs(1));
    };
    report.condition("meaning", spec.name);
    report.metric("this_embedded", status.embedded.into());
    report.metric("this_to_embed", status.to_embed.into());
    report.metric("this_embedding_s", began.elapsed().as_secs_f64());
    ask(&mut client, path, questions, "meaning_", report)
}

fn configure(daemon: &TemporaryDaemon, config: &str) -> Result<(), Failure> {
    let file = daemon.home().config_file();
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(std::fs::write(file, config)?)
}

/// Lets a daemon of its own use the models of another home.
fn lend(models: &Path, to: &Path) -> Result<(), Failure> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(std::os::unix::fs::symlink(models, to)?)
}

fn read(
    client: &mut Client,
    path: &Path,
    rebuild: bool,
) -> Result<(CodeStatusResult, Duration), Failure> {
    let mut params = CodeIndexParams {
        path: absolute(path)?,
        wait: true,
        rebuild,
    };
    let began = Instant::now();
    loop {
        let status = client.call::<CodeIndex>(&params)?;
        params.rebuild = false;
        match &status.freshness {
            // It outlasts a request.
            Freshness::Updating { .. } => {}
            Freshness::Failed { reason } => {
                return Err(Failure::new(ErrorCode::Internal, reason.clone()));
            }
            _ => return Ok((status, began.elapsed())),
        }
    }
}

fn add_metrics(report: &mut Report, name: &str, status: &CodeStatusResult, took: Duration) {
    report.metric(format!("{name}_files"), status.files.into());
    report.metric(format!("{name}_symbols"), status.symbols.into());
    report.metric(format!("{name}_lines"), status.lines as f64);
    report.metric(format!("{name}_skipped"), status.skipped_count.into());
    report.metric(format!("{name}_first_pass_s"), took.as_secs_f64());
    report.metric(
        format!("{name}_symbols_per_s"),
        f64::from(status.symbols) / took.as_secs_f64(),
    );
}

fn read_questions(file: &Path) -> Result<Vec<Question>, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        let message = format!("there are no questions in {}: {error}", file.display());
        Failure::new(ErrorCode::NotFound, message)
            .hint("run it in a checkout of missiond, or name one with --path")
    })?;
    let parse = |line: &str| {
        serde_json::from_str(line).map_err(|error| {
            let message = format!("{}: {error}: {line}", file.display());
            Failure::new(ErrorCode::InvalidParams, message)
        })
    };
    text.lines().map(parse).collect()
}

/// Asks every question and reports how often an answer is among the first.
fn ask(
    client: &mut Client,
    path: &Path,
    questions: &[Question],
    prefix: &str,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut took = Vec::new();
    let (mut first, mut of_five, mut of_ten, mut reciprocal) = (0.0, 0.0, 0.0, 0.0);
    let mut missed = Vec::new();
    for question in questions {
        let (places, time) = search(client, path, &question.question)?;
        took.push(time);
        let rank = places
            .iter()
            .position(|place| question.expected.contains(place));
        if let Some(rank) = rank {
            first += f64::from(u8::from(rank == 0));
            of_five += f64::from(u8::from(rank < 5));
            of_ten += 1.0;
            reciprocal += 1.0 / (rank as f64 + 1.0);
        }
        if rank.is_none_or(|rank| rank >= 5) {
            missed.push(question.question.as_str());
        }
    }
    let count = questions.len().max(1) as f64;
    for (name, value) in [
        ("recall_at_1", first / count),
        ("recall_at_5", of_five / count),
        ("recall_at_10", of_ten / count),
        ("mrr_at_10", reciprocal / count),
        ("search_p50_ms", millis(percentile(&mut took, 0.5))),
        ("search_p99_ms", millis(percentile(&mut took, 0.99))),
    ] {
        report.metric(format!("{prefix}where_is_{name}"), value);
    }
    report.condition(format!("{prefix}not_among_the_first_five"), missed);
    Ok(())
}

/// The places a search finds, as the expectations are written: with the bare
/// name, and a file by its path alone.
fn search(
    client: &mut Client,
    path: &Path,
    query: &str,
) -> Result<(Vec<String>, Duration), Failure> {
    let params = CodeSearchParams {
        path: absolute(path)?,
        query: parameter("query", query.parse())?,
        kind: None,
        limit: HITS,
    };
    let began = Instant::now();
    let found = client.call::<CodeSearch>(&params)?;
    let took = began.elapsed();
    let place = |hit: &missiond_api::operations::code::CodeHit| {
        let symbol = &hit.symbol;
        if symbol.signature == symbol.path {
            return symbol.path.clone();
        }
        let name = symbol.name.rsplit("::").next().unwrap_or(&symbol.name);
        format!("{}:{name}", symbol.path)
    };
    Ok((found.hits.iter().map(place).collect(), took))
}

fn draw(client: &mut Client, path: &Path) -> Result<Duration, Failure> {
    let params = CodeMapParams {
        path: absolute(path)?,
        tokens: Limit::of::<4_000>(),
        focus: Vec::new(),
    };
    let began = Instant::now();
    client.call::<CodeMap>(&params)?;
    Ok(began.elapsed())
}

fn absolute(path: &Path) -> Result<AbsolutePath, Failure> {
    parameter("path", AbsolutePath::new(path.display().to_string()))
}

fn path_of(number: u32) -> PathBuf {
    PathBuf::from(format!(
        "area_{}/part_{}/unit_{number}.rs",
        number / 500,
        number / 50
    ))
}

/// A repository of Rust files of about a hundred lines that use each other.
fn generate(root: &Path, files: u32) -> Result<(), Failure> {
    std::fs::create_dir(root.join(".git"))?;
    let topics = [
        "ledger", "invoice", "shipment", "session", "packet", "schedule", "tenant",
    ];
    let acts = [
        "open",
        "merge",
        "reconcile",
        "expire",
        "verify",
        "encode",
        "replay",
    ];
    for number in 0..files {
        let path = root.join(path_of(number));
        let folder = path.parent().unwrap_or(root);
        std::fs::create_dir_all(folder)?;
        let mut text = format!(
            "//! Keeps each {} of unit {number}.\n\n",
            topics[number as usize % 7]
        );
        let topic = topics[number as usize % 7];
        let mut capital = topic.to_owned();
        capital[..1].make_ascii_uppercase();
        text.push_str(&format!(
            "/// A {topic} and when it was last seen.\npub struct {capital}{number} {{\n    id: u64,\n    seen: u64,\n}}\n\n"
        ));
        for (place, act) in acts.iter().enumerate() {
            let other = (number * 31 + place as u32 * 17 + 1) % files;
            text.push_str(&format!(
                "/// Tries to {act} the {topic} with what unit {other} knows of it.\n\
                 pub fn {act}_{topic}_{number}(given: &{capital}{number}, limit: u64) -> Result<u64, Fault> {{\n    \
                 let mut total = given.id;\n    \
                 for round in 0..limit {{\n        \
                 if round > given.seen {{\n            return Err(Fault::Late);\n        }}\n        \
                 total += {act}_{}_{other}(&load(round)?, limit - round)?;\n    }}\n    Ok(total)\n}}\n\n",
                topics[other as usize % 7]
            ));
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}
