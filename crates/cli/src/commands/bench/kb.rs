//! `mission bench kb`: how well knowledge is found and how fast.
//!
//! With a set of questions: recall, nDCG and reciprocal rank of the whole
//! pipeline, of each path, of the source document's parameters, and with each
//! stage left out. The vectors of a set are kept in the home, so that a second
//! run only searches. With sizes: times over made-up entries.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use missiond_api::Home;
use missiond_core::ErrorCode;
use missiond_embedding::EmbeddedModel;
use missiond_embedding::install::{choose, folder_of, is_installed};
use missiond_knowledge::evaluation::{Dataset, SetVectors, Variant, measure};
use missiond_knowledge::{Embedder, Purpose, identifiers, latency};

use super::{Report, median, millis};
use crate::args::KbBenchArgs;
use crate::failure::Failure;
use crate::output::{Output, Progress};

/// Questions of one size's measurement.
const QUESTIONS: usize = 500;

/// Identifiers that are planted and looked for.
const IDENTIFIERS: usize = 100;

pub(super) fn run(args: &KbBenchArgs, output: &mut Output) -> Result<Report, Failure> {
    let mut report = Report::new("kb");
    for &entries in &args.entries {
        let _progress = Progress::start(output, &format!("{entries} entries"));
        let measured = latency::measure(entries.max(10), QUESTIONS);
        report.metric(format!("entries_{entries}_p50_ms"), millis(measured.p50));
        report.metric(format!("entries_{entries}_p99_ms"), millis(measured.p99));
        report.metric(
            format!("entries_{entries}_build_s"),
            measured.build.as_secs_f64(),
        );
        report.metric(
            format!("entries_{entries}_memory_mb"),
            measured.bytes as f64 / 1e6,
        );
        report.metric(
            format!("entries_{entries}_vector_recall_at_10"),
            measured.recall_at_10,
        );
    }
    let home = Home::from_env()?;
    let model = if args.without_vectors {
        None
    } else {
        load(&home, args, &mut report)?
    };
    if let Some(model) = &model {
        measure_embedding(model, &mut report)?;
    }
    if let Some(file) = &args.dataset {
        quality(file, &home, model.as_ref(), output, &mut report)?;
    }
    Ok(report)
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

/// One short question at a time, as a search embeds it.
fn measure_embedding(model: &EmbeddedModel, report: &mut Report) -> Result<(), Failure> {
    let mut times = Vec::new();
    for round in 0..20 {
        let text = format!("why did the deployment of service {round} fail last night");
        let began = Instant::now();
        embed(model, &[text.as_str()], Purpose::Query)?;
        times.push(millis(began.elapsed()));
    }
    report.metric("embed_query_p50_ms", median(&mut times));
    Ok(())
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
