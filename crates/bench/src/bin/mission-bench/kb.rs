//! `mission bench kb`: how well knowledge is found and how fast.
//!
//! With a set of questions: recall, nDCG and reciprocal rank of the whole
//! pipeline, of each path, of the source document's parameters, with each stage
//! left out, and with each that is off by default. The vectors of a set are kept in the home, so that a second
//! run only searches. With sizes: times over made-up entries.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use missiond_api::Home;
use missiond_bench::evaluation::{Dataset, SetVectors, Variant, idle_stages, measure};
use missiond_bench::identifiers;
use missiond_bench::latency::World;
use missiond_console::failure::Failure;
use missiond_console::output::{Output, Progress};
use missiond_core::ErrorCode;
use missiond_embedding::EmbeddedModel;
use missiond_embedding::install::{choose, folder_of, is_installed};
use missiond_knowledge::{Embedder, Purpose};
use missiond_os::processes::resident_bytes;

use crate::Report;
use crate::args::KbBenchArgs;

/// Searches of one size's measurement.
const SEARCHES: usize = 500;

/// Questions that are embedded: alone, and again before a search of each size.
const EMBEDDED: usize = 200;

/// Identifiers that are planted and looked for.
const IDENTIFIERS: usize = 100;

pub(super) fn run(args: &KbBenchArgs, output: &mut Output) -> Result<Report, Failure> {
    let mut report = Report::new("kb");
    let home = Home::from_env()?;
    let model = if args.without_vectors {
        None
    } else {
        load(&home, args, &mut report)?
    };
    if let Some(model) = &model {
        measure_embedding(model, &mut report)?;
    }
    if !args.entries.is_empty() {
        measure_sizes(&args.entries, model.as_ref(), output, &mut report)?;
    }
    if let Some(file) = &args.dataset {
        quality(file, &home, model.as_ref(), output, &mut report)?;
    }
    Ok(report)
}

fn measure_sizes(
    sizes: &[usize],
    model: Option<&EmbeddedModel>,
    output: &Output,
    report: &mut Report,
) -> Result<(), Failure> {
    report.condition(
        "entries_N_memory_mb",
        "what texts and indexes say they take, added up",
    );
    report.condition(
        "entries_N_resident_mb",
        "what the process grew by while they were built (VmRSS); memory that was freed before \
         and is used again is not in it, so one size a run is the truest",
    );
    let world = World::made_up();
    for &entries in sizes {
        let _progress = Progress::start(output, &format!("{entries} entries"));
        let before = resident_mb();
        let indexed = world.index(entries.max(10));
        let grown = resident_mb()
            .zip(before)
            .map(|(after, before)| after - before);
        let name = |metric: &str| format!("entries_{entries}_{metric}");
        report.metric(name("build_s"), indexed.build.as_secs_f64());
        report.metric(name("memory_mb"), indexed.bytes() as f64 / 1e6);
        if let Some(grown) = grown {
            report.metric(name("resident_mb"), grown);
        }
        report.times(&name(""), &mut indexed.search(SEARCHES));
        if let Some(model) = model {
            let mut times = indexed
                .embed_and_search(&questions(), model)
                .map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))?;
            report.times(&name("with_embedding_"), &mut times);
        }
        report.metric(name("vector_recall_at_10"), indexed.recall_at_10());
    }
    Ok(())
}

fn resident_mb() -> Option<f64> {
    resident_bytes().map(|bytes| bytes as f64 / 1e6)
}

fn load(
    home: &Home,
    args: &KbBenchArgs,
    report: &mut Report,
) -> Result<Option<EmbeddedModel>, Failure> {
    let models = home.models_dir();
    let spec = choose(args.model.as_deref())
        .map_err(|error| Failure::new(ErrorCode::NotFound, error.to_string()))?;
    if !is_installed(&models, spec) {
        report.condition(
            "vectors",
            format!(
                "none: {} is not installed (mission model install)",
                spec.name
            ),
        );
        return Ok(None);
    }
    let model = EmbeddedModel::load(&folder_of(&models, spec), spec)
        .map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))?;
    report.condition("vectors", model.name().to_string());
    Ok(Some(model))
}

/// One question at a time, as a search embeds it.
fn measure_embedding(model: &EmbeddedModel, report: &mut Report) -> Result<(), Failure> {
    let mut times = Vec::new();
    for question in questions() {
        let began = Instant::now();
        embed(model, &[question.as_str()], Purpose::Query)?;
        times.push(began.elapsed());
    }
    report.condition("embedded_questions", times.len());
    report.times("embed_query_", &mut times);
    Ok(())
}

/// What somebody may ask, short and long.
fn questions() -> Vec<String> {
    let asked = (0..EMBEDDED).map(|number| match number % 5 {
        0 => format!("release {number} checklist"),
        1 => format!("why did the deployment of service {number} fail last night"),
        2 => format!("how do we rotate the key of customer {number}?"),
        3 => format!("what did we decide about the retries of queue {number}, and who wanted it"),
        _ => format!(
            "the build of branch {number} ends with a linker error after the update of the \
             compiler; has anybody seen this before, and what helped then?"
        ),
    });
    asked.collect()
}

fn quality(
    file: &Path,
    home: &Home,
    model: Option<&EmbeddedModel>,
    output: &Output,
    report: &mut Report,
) -> Result<(), Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        let message = format!("{} is no set of questions: {error}", file.display());
        Failure::new(ErrorCode::InvalidParams, message)
    };
    let bytes = fs::read(file).map_err(|error| unreadable(&error))?;
    let dataset: Dataset = serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
    report.condition("documents", dataset.docs.len());
    report.condition("questions", dataset.queries.len());
    let vectors = match model {
        Some(model) => Some(vectors_of(&dataset, file, home, model, output)?),
        None => None,
    };
    let idle = idle_stages(&dataset, vectors.as_ref());
    report.condition("stages_without_effect", idle);
    for variant in Variant::all() {
        if vectors.is_none() && variant.prefix == "vector_" {
            continue;
        }
        let quality = measure(&dataset, vectors.as_ref(), &variant);
        let prefix = variant.prefix;
        report.metric(format!("{prefix}recall_at_5"), quality.recall_at_5);
        report.metric(format!("{prefix}recall_at_10"), quality.recall_at_10);
        report.metric(format!("{prefix}ndcg_at_10"), quality.ndcg_at_10);
        report.metric(format!("{prefix}mrr"), quality.mrr);
    }
    let found = identifiers::found_in_top_3(&dataset, vectors.as_ref(), IDENTIFIERS);
    let planted = IDENTIFIERS.min(dataset.docs.len());
    report.metric("identifiers_in_top_3", found as f64 / planted.max(1) as f64);
    Ok(())
}

/// The vectors of a set, from the cache or made now.
fn vectors_of(
    dataset: &Dataset,
    file: &Path,
    home: &Home,
    model: &EmbeddedModel,
    output: &Output,
) -> Result<SetVectors, Failure> {
    let cache = cache_file(file, home, model);
    if let Some(vectors) = fs::read(&cache)
        .ok()
        .and_then(|bytes| SetVectors::read(&bytes, dataset, model.reads()))
    {
        return Ok(vectors);
    }
    let total = dataset.docs.len() + dataset.queries.len();
    let _progress = Progress::start(output, &format!("embedding {total} texts"));
    let docs: Vec<&str> = dataset.docs.iter().map(|doc| doc.text.as_str()).collect();
    let queries: Vec<&str> = dataset
        .queries
        .iter()
        .map(|query| query.text.as_str())
        .collect();
    let vectors = SetVectors {
        dimension: model.name().dimension as usize,
        reads: model.reads(),
        docs: embed(model, &docs, Purpose::Entry)?,
        queries: embed(model, &queries, Purpose::Query)?,
    };
    if let Some(folder) = cache.parent()
        && fs::create_dir_all(folder).is_ok()
    {
        // Without the cache the next run is slower, and nothing else.
        let _ = fs::write(&cache, vectors.to_bytes());
    }
    Ok(vectors)
}

fn cache_file(file: &Path, home: &Home, model: &EmbeddedModel) -> PathBuf {
    let stem = file
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let size = fs::metadata(file).map_or(0, |metadata| metadata.len());
    let name = model.name();
    let name = format!("{stem}-{size}-{}-{}.vectors", name.model, name.revision);
    home.data_dir().join("bench").join(name)
}

fn embed(
    model: &EmbeddedModel,
    texts: &[&str],
    purpose: Purpose,
) -> Result<Vec<Vec<f32>>, Failure> {
    model
        .embed(texts, purpose)
        .map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))
}
