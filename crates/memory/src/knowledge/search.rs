//! Searching: the query's vector and the six stages, all in memory; and what
//! contradicts what.

use std::sync::Arc;

use missiond_api::operations::knowledge::{
    KbConflict, KbConflictList, KbPassed, KbSearchParams, KbSearchResult,
};
use missiond_core::EdgeKind;
use missiond_knowledge::{Mode, Paths, Profile, Purpose, Reads, Request};
use missiond_store::knowledge::{self, edges};

use super::entries::wire_edge;
use super::{Inner, Knowledge, KnowledgeError, on_worker_thread};

impl Knowledge {
    pub async fn search(&self, params: KbSearchParams) -> Result<KbSearchResult, KnowledgeError> {
        let invalid = |message: String| KnowledgeError::Invalid(message);
        if params.query.trim().is_empty() {
            return Err(invalid("`query` is empty".into()));
        }
        let page = self.inner.config.search.page;
        let limit = params.limit.map_or(page, |limit| limit.to_u32()) as usize;
        let offset = params.offset.to_usize();
        let name = params.profile.as_deref().unwrap_or("default");
        let profile = match name {
            "default" => self.inner.profile.clone(),
            "seed" => Profile::seed(),
            _ => {
                let message = format!("`{name}` is no profile: one of default, seed");
                return Err(invalid(message));
            }
        };
        self.built().await;
        let inner = Arc::clone(&self.inner);
        on_worker_thread(move || run(&inner, &params, &profile, limit, offset)).await
    }

    /// Entries that contradict each other.
    pub async fn conflicts(&self, limit: u32) -> Result<KbConflictList, KnowledgeError> {
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
        let conflicts = found
            .into_iter()
            .map(|(edge, newer, older)| {
                Ok(KbConflict {
                    edge: wire_edge(&edge)?,
                    newer,
                    older,
                })
            })
            .collect::<Result<_, KnowledgeError>>()?;
        Ok(KbConflictList { conflicts })
    }
}

/// Embeds the query and searches. Blocks.
fn run(
    inner: &Inner,
    params: &KbSearchParams,
    profile: &Profile,
    limit: usize,
    offset: usize,
) -> KbSearchResult {
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
                .embed(&[params.query.as_str()], Purpose::Query)
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
    let answer = index.corpus.search(&Request {
        query: &params.query,
        vector: vector.as_ref().map(|(_, vector)| vector.as_slice()),
        model_reads: vector
            .as_ref()
            .map_or(Reads::Everything, |(reads, _)| *reads),
        profile,
        paths: Paths::Both,
        mode: if params.explore {
            Mode::Explore
        } else {
            Mode::Relevance
        },
        now: inner.clock.now(),
        scope: params.scope.as_deref(),
        categories: &params.categories,
        limit,
        offset,
    });
    let vectors_used = answer.vectors_used;
    KbSearchResult {
        hits: answer
            .hits
            .into_iter()
            .filter_map(|hit| index.told(hit, profile))
            .collect(),
        more: answer.more,
        vectors_used,
        passed: KbPassed {
            by_words: answer.counts.by_words as u32,
            by_meaning: answer.counts.by_meaning as u32,
            by_letter: answer.counts.by_letter as u32,
            dropped: answer.counts.dropped as u32,
        },
        notice: problem
            .filter(|_| !vectors_used)
            .map(|problem| format!("words alone were compared: {problem}")),
    }
}
