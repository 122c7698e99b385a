//! Asking the sources, all at once and for no longer than a start may wait.

use std::future::Future;
use std::time::{Duration, Instant};

use missiond_adapters::adapter;
use missiond_codemap::MapRequest;
use missiond_config::ContextConfig;
use missiond_context::{Candidate, Length, Source, estimated_tokens};
use missiond_core::{ContextSource, HitLimit, SourceState};
use missiond_memory::code::{Fresh, Unindexed};
use missiond_memory::knowledge::{EntryHit, SearchQuery};

use super::view::count;
use super::working_directory::WorkingDirectory;
use super::{BriefingRequest, Parts, environment, files, history, skills};

/// Of a long prompt this much is looked for.
const LONGEST_QUERY: usize = 4000;
/// Entries that are looked at.
const MOST_ENTRIES: i64 = 20;
/// How much of a budget a map is drawn for, in percent, and its smallest size.
const MAP_SHARE: u32 = 35;
const SMALLEST_MAP: usize = 150;

/// What the sources had, and how each fared.
#[derive(Debug)]
pub(super) struct Gathered {
    pub candidates: Vec<Candidate>,
    pub sources: Vec<ContextSource>,
}

/// What a source answered: its candidates, and what is to be said about them.
type Answer = Result<(Vec<Candidate>, Option<String>), String>;

pub(super) async fn gather(
    parts: &Parts,
    config: &ContextConfig,
    wanted: &BriefingRequest,
) -> Gathered {
    let deadline = Duration::from_millis(config.deadline_ms);
    let began = Instant::now();
    let cwd = wanted.cwd.clone();
    let directory = on_worker_thread(move || WorkingDirectory::of(&cwd));
    let directory = match tokio::time::timeout(deadline, directory).await {
        Ok(directory) => directory.and_then(|directory| directory),
        Err(_) => Err(format!(
            "{} did not answer within {} ms",
            wanted.cwd.display(),
            deadline.as_millis()
        )),
    };
    let left = deadline.saturating_sub(began.elapsed());
    let directory = directory.as_ref();
    let now = parts.clock.now();
    let query: String = query(wanted).chars().take(LONGEST_QUERY).collect();
    let query = query.as_str();
    let budget = wanted.tokens.unwrap_or(config.tokens);
    let environment = async {
        let found = environment::environment(parts, wanted, directory?, now).await?;
        Ok::<_, String>((found, None))
    };
    let skills = async {
        let (directory, engine, query) =
            (directory?.clone(), wanted.engine.clone(), query.to_owned());
        on_worker_thread(move || skills::candidates(&engine, &directory, &query, now)).await
    };
    let entries = async {
        let project = directory.ok().and_then(WorkingDirectory::project);
        entries(parts, query, project).await
    };
    let history = async {
        let found = history::history(parts, wanted, directory?, query).await?;
        Ok::<_, String>((found, None))
    };
    let map = async { map(parts, directory?, budget, wanted).await };
    let instructions = async {
        let (directory, engine) = (directory?.clone(), wanted.engine.clone());
        let own = adapter(&engine).native_context();
        let found =
            on_worker_thread(move || files::instructions(&engine, &own, &directory)).await?;
        let (candidates, troubles) = found;
        Ok::<_, String>((
            candidates,
            (!troubles.is_empty()).then(|| troubles.join("; ")),
        ))
    };
    let asked = |source: Source| (source, config.asks(source), left);
    let answered = tokio::join!(
        ask(asked(Source::Environment), environment),
        ask(asked(Source::Skills), skills),
        ask(asked(Source::Entries), entries),
        ask(asked(Source::History), history),
        ask(asked(Source::Map), map),
        ask(asked(Source::Instructions), instructions),
    );
    let answered: [(Vec<Candidate>, ContextSource); 6] = answered.into();
    let (mut candidates, mut sources) = (Vec::new(), Vec::new());
    for (found, source) in answered {
        candidates.extend(found);
        sources.push(source);
    }
    Gathered {
        candidates,
        sources,
    }
}

/// What a prompt is about.
fn query(wanted: &BriefingRequest) -> String {
    match &wanted.task {
        // What surrounds a task in its prompt is the same for all of them.
        Some(task) => format!("{}\n{}", task.title, task.description),
        None => wanted.prompt.clone(),
    }
}

/// Asks one source; what it does not say in time is not waited for.
async fn ask(
    (source, wanted, left): (Source, bool, Duration),
    work: impl Future<Output = Answer>,
) -> (Vec<Candidate>, ContextSource) {
    let began = Instant::now();
    let report = |state, found: usize, notice| ContextSource {
        source: source.name().to_owned(),
        state,
        found: count(found),
        millis: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        notice,
    };
    if !wanted {
        return (Vec::new(), report(SourceState::Off, 0, None));
    }
    match tokio::time::timeout(left, work).await {
        Ok(Ok((found, notice))) => {
            let report = report(SourceState::Answered, found.len(), notice);
            (found, report)
        }
        Ok(Err(why)) => {
            let report = report(SourceState::Failed, 0, Some(why));
            (Vec::new(), report)
        }
        Err(_) => {
            let notice = format!("it did not answer within {} ms", left.as_millis());
            (Vec::new(), report(SourceState::Late, 0, Some(notice)))
        }
    }
}

async fn entries(parts: &Parts, query: &str, project: Option<String>) -> Answer {
    if query.trim().is_empty() {
        return Ok((Vec::new(), None));
    }
    let asked = SearchQuery {
        query: query.to_owned(),
        scope: project,
        limit: Some(HitLimit::of::<MOST_ENTRIES>()),
        ..SearchQuery::default()
    };
    let found = parts.knowledge.search(asked).await;
    let found = found.map_err(|error| error.to_string())?;
    let (hits, superseded): (Vec<_>, Vec<_>) = found
        .hits
        .into_iter()
        .partition(|hit| hit.superseded_by.is_none());
    let left_out = (!superseded.is_empty()).then(|| {
        let count = superseded.len();
        format!("{count} of the entries found are left out: others hold instead of them")
    });
    let candidates = hits.into_iter().map(|hit| Candidate {
        id: Some(hit.id.to_string()),
        relevance: relevance(&hit),
        source: Source::Entries,
        title: hit.key,
        origin: hit.source,
        at: Some(hit.verified_at),
        text: match hit.detail {
            Some(detail) => format!("{}\n{detail}", hit.summary),
            None => hit.summary,
        },
        length: Length::MayBeShortened,
        known: None,
    });
    let notices: Vec<String> = found.notice.into_iter().chain(left_out).collect();
    let notice = (!notices.is_empty()).then(|| notices.join("; "));
    Ok((candidates.collect(), notice))
}

/// A hit that shares nothing with the request but words such as `the` is none,
/// though it may be the best there is.
fn relevance(hit: &EntryHit) -> f32 {
    let scores = &hit.scores;
    if scores.vector.is_some() || scores.exact > 0.0 || hit.snippet.has_content_match() {
        scores.relevance
    } else {
        0.0
    }
}

/// The map of the repository: of a worktree, that of the repository it was made
/// from, so that not each attempt has its repository read anew.
async fn map(
    parts: &Parts,
    directory: &WorkingDirectory,
    budget: u32,
    wanted: &BriefingRequest,
) -> Answer {
    if !directory.git {
        return Ok((Vec::new(), None));
    }
    let opened = parts
        .code
        .repository(&directory.main, Unindexed::AcceptCheckouts);
    let repository = opened.await.map_err(|error| error.to_string())?;
    let tokens = (budget as usize * MAP_SHARE as usize / 100).max(SMALLEST_MAP);
    let below = directory.cwd.strip_prefix(&directory.root).ok();
    let focus = below.filter(|below| !below.as_os_str().is_empty());
    let mut focus: Vec<String> = focus
        .iter()
        .map(|below| below.display().to_string())
        .collect();
    if let Some(task) = &wanted.task {
        let plain = task.touches.iter().filter(|glob| !glob.contains('*'));
        focus.extend(plain.cloned());
    }
    let request = MapRequest {
        tokens,
        count: estimated_tokens,
        focus,
    };
    // The pass goes on when this is given up, and serves the next who asks.
    let asked = parts
        .code
        .ask(&repository, move |index| index.map(&request));
    let (fresh, drawn) = asked.await.map_err(|error| error.to_string())?;
    let notice = match fresh {
        Fresh::Updating { read, to_read } => Some(format!(
            "the repository is still being read, {read} of {to_read} files so far"
        )),
        Fresh::Failed(why) => return Err(why),
        Fresh::Current | Fresh::Unchecked => None,
    };
    let candidates = (!drawn.text.trim().is_empty()).then(|| Candidate {
        id: None,
        source: Source::Map,
        title: "what this repository defines".to_owned(),
        origin: format!(
            "{}, {} of {} files",
            directory.main.display(),
            drawn.files_shown,
            drawn.files
        ),
        at: repository.status().checked_at,
        relevance: 1.0,
        text: drawn.text,
        length: Length::MayBeShortened,
        known: None,
    });
    Ok((candidates.into_iter().collect(), notice))
}

async fn on_worker_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_source_that_is_slow_or_broken_says_so_and_holds_nobody_up() {
        let moment = Duration::from_millis(5);
        let asked = |source| (source, true, moment);
        let (found, late) = ask(asked(Source::Map), std::future::pending()).await;
        assert!(found.is_empty());
        assert_eq!(late.state, SourceState::Late);
        assert_eq!(
            late.notice.as_deref(),
            Some("it did not answer within 5 ms")
        );
        let broken = std::future::ready(Err("the disk is gone".to_owned()));
        let (_, failed) = ask(asked(Source::Skills), broken).await;
        assert_eq!(failed.state, SourceState::Failed);
        assert_eq!(failed.notice.as_deref(), Some("the disk is gone"));
        let never = std::future::pending();
        let (_, off) = ask((Source::Entries, false, moment), never).await;
        assert_eq!((off.state, off.notice), (SourceState::Off, None));
    }
}
