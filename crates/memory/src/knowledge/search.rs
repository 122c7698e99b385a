//! Searching: the query's vector and the six stages, all in memory; and what
//! contradicts what.

use std::sync::Arc;

use missiond_core::{EdgeKind, EntryCategory, EntryEdge, HitLimit};
use missiond_knowledge::{Mode, Paths, Profile, Purpose, Reads, Request, StageCounts};
use missiond_runtime::blocking;
use missiond_store::knowledge::{self, edges};

use super::entries::edge;
use super::index::EntryHit;
use super::{Inner, Knowledge, KnowledgeError};

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words, an identifier, or a phrase in double quotes.
    pub query: String,
    /// Only this project's entries and those of all projects.
    pub scope: Option<String>,
    /// Only these categories; empty means all.
    pub categories: Vec<EntryCategory>,
    pub mode: Mode,
    pub profile: SearchProfile,
    /// What the configuration says when left out.
    pub limit: Option<HitLimit>,
    /// Hits to pass over, for the next page.
    pub offset: usize,
}

/// Which numbers a search goes by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchProfile {
    #[default]
    Configured,
    /// As the source documents have them.
    Seed,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAnswer {
    pub hits: Vec<EntryHit>,
    /// There is a next page.
    pub more: bool,
    /// Whether meaning was compared, or words alone.
    pub vectors_used: bool,
    pub counts: StageCounts,
    /// Why meaning was not compared, when it was not.
    pub notice: Option<String>,
}

/// Two entries that contradict each other, with what they say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub edge: EntryEdge,
    pub newer: String,
    pub older: String,
}

impl Knowledge {
    pub async fn search(&self, query: SearchQuery) -> Result<SearchAnswer, KnowledgeError> {
        if query.query.trim().is_empty() {
            return Err(KnowledgeError::Invalid("`query` is empty".into()));
        }
        let profile = match query.profile {
            SearchProfile::Configured => self.inner.profile.clone(),
            SearchProfile::Seed => Profile::seed(),
        };
        self.built().await;
        let inner = Arc::clone(&self.inner);
        Ok(blocking(move || run(&inner, &query, &profile)).await)
    }

    /// Entries that contradict each other.
    pub async fn conflicts(&self, limit: u32) -> Result<Vec<Conflict>, KnowledgeError> {
        let kind = EdgeKind::Contradicts.name();
        let found = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let mut found = Vec::new();
                    for edge in edges::of_kind(tx, kind, limit).await? {
                        let newer = knowledge::get(tx, edge.from).await?;
                        let older = knowledge::get(tx, edge.to).await?;
                        if let (Some(newer), Some(older)) = (newer, older) {
                            found.push((edge, newer.summary, older.summary));
                        }
                    }
                    Ok(found)
                })
            })
            .await?;
        let conflict = |(row, newer, older)| {
            let edge = edge(&row)?;
            Ok(Conflict { edge, newer, older })
        };
        found.into_iter().map(conflict).collect()
    }
}

/// Embeds the query and searches. Blocks.
fn run(inner: &Inner, query: &SearchQuery, profile: &Profile) -> SearchAnswer {
    let serving = inner.read_index().serving.clone();
    let embedded = match serving {
        None => Err(inner
            .models
            .problem()
            .unwrap_or_else(|| "no entry has a vector yet".to_owned())),
        Some(serving) => match inner.models.serving(&serving) {
            None => Err(inner.models.problem().unwrap_or_else(|| {
                format!(
                    "entries are being embedded again, and {} cannot be reached any more",
                    serving.name
                )
            })),
            Some(model) => model
                .embed(&[query.query.as_str()], Purpose::Query)
                .map(|mut made| (serving.name, model.reads(), made.pop()))
                .map_err(|error| error.to_string()),
        },
    };
    let index = inner.read_index();
    let (vector, problem) = match embedded {
        // The index may have been replaced while the query was embedded.
        Ok((name, reads, vector)) if index.model() == Some(&name) => {
            (vector.map(|vector| (reads, vector)), None)
        }
        Ok(_) => (
            None,
            Some("the embedding model has just been changed: ask again".to_owned()),
        ),
        Err(problem) => (None, Some(problem)),
    };
    let limit = query.limit.map(HitLimit::to_u32);
    let answer = index.corpus.search(&Request {
        query: &query.query,
        vector: vector.as_ref().map(|(_, vector)| vector.as_slice()),
        model_reads: vector
            .as_ref()
            .map_or(Reads::Everything, |(reads, _)| *reads),
        profile,
        paths: Paths::Both,
        mode: query.mode,
        now: inner.clock.now(),
        scope: query.scope.as_deref(),
        categories: &query.categories,
        limit: limit.unwrap_or(inner.config.search.page) as usize,
        offset: query.offset,
    });
    let vectors_used = answer.vectors_used;
    SearchAnswer {
        hits: answer
            .hits
            .into_iter()
            .filter_map(|hit| index.entry_hit(hit, profile))
            .collect(),
        more: answer.more,
        vectors_used,
        counts: answer.counts,
        notice: problem
            .filter(|_| !vectors_used)
            .map(|problem| format!("words alone were compared: {problem}")),
    }
}
