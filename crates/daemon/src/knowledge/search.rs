//! Searching: the query's vector, the six stages in memory, and the entries
//! that were found as the store has them.

use std::sync::Arc;

use missiond_api::operations::knowledge::{
    KbConflict, KbConflictList, KbHit, KbScores, KbSearchParams, KbSearchResult, MAX_HITS,
};
use missiond_core::{EdgeKind, EntryId};
use missiond_knowledge::profile::DEFAULT_PAGE;
use missiond_knowledge::{
    Answer, Hit, Mode, Paths, Profile, Purpose, Reads, Request, Scores, shown_detail,
};
use missiond_store::knowledge::{self, EntryRow, edges};

use super::entries::wire_edge;
use super::{Inner, Knowledge, KnowledgeError, on_thread};

impl Knowledge {
    pub(crate) async fn search(
        &self,
        params: KbSearchParams,
    ) -> Result<KbSearchResult, KnowledgeError> {
        let invalid = |message: String| KnowledgeError::Invalid(message);
        if params.query.trim().is_empty() {
            return Err(invalid("`query` is empty".into()));
        }
        let limit = params.limit.map_or(DEFAULT_PAGE, |limit| limit as usize);
        if !(1..=MAX_HITS as usize).contains(&limit) {
            return Err(invalid(format!("`limit` must be 1 to {MAX_HITS}")));
        }
        let offset = params.offset.unwrap_or(0) as usize;
        if offset > 1000 {
            return Err(invalid("`offset` must be 0 to 1000".into()));
        }
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
        let (answer, problem) =
            on_thread(move || run(&inner, &params, &profile, limit, offset)).await?;
        self.told(answer, problem).await
    }

    /// Entries that contradict each other.
    pub(crate) async fn conflicts(&self, limit: u32) -> Result<KbConflictList, KnowledgeError> {
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

    async fn told(
        &self,
        answer: Answer,
        notice: Option<String>,
    ) -> Result<KbSearchResult, KnowledgeError> {
        let ids: Vec<EntryId> = answer
            .hits
            .iter()
            .filter_map(|hit| hit.id.parse().ok())
            .collect();
        let rows = self
            .inner
            .db
            .read(move |tx| {
                Box::pin(async move {
                    let mut rows = Vec::with_capacity(ids.len());
                    for id in ids {
                        rows.push(knowledge::get(tx, id).await?);
                    }
                    Ok(rows)
                })
            })
            .await?;
        let hits = answer
            .hits
            .into_iter()
            .zip(rows)
            .filter_map(|(hit, row)| Some(wire_hit(hit, &row?)))
            .collect();
        Ok(KbSearchResult {
            hits,
            more: answer.more,
            vectors_used: answer.vectors_used,
            notice: notice.filter(|_| !answer.vectors_used),
        })
    }
}

/// Embeds the query and searches. Blocks.
fn run(
    inner: &Inner,
    params: &KbSearchParams,
    profile: &Profile,
    limit: usize,
    offset: usize,
) -> (Answer, Option<String>) {
    let serving = inner.read_index().model.clone();
    let embedded = match serving {
        None => Err(inner
            .models
            .problem()
            .unwrap_or_else(|| "no entry has a vector yet".to_owned())),
        Some(name) => match inner.models.named(&name) {
            None => Err(inner.models.problem().unwrap_or_else(|| {
                format!("entries are being embedded again, and {name} cannot be reached any more")
            })),
            Some(model) => model
                .embed(&[params.query.as_str()], Purpose::Query)
                .map(|mut made| (name, model.reads(), made.pop()))
                .map_err(|error| error.to_string()),
        },
    };
    let index = inner.read_index();
    let (vector, problem) = match embedded {
        // The index may have been replaced while the query was embedded.
        Ok((name, reads, vector)) if index.model.as_ref() == Some(&name) => {
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
    (
        answer,
        problem.map(|problem| format!("words alone were compared: {problem}")),
    )
}

fn wire_hit(hit: Hit, row: &EntryRow) -> KbHit {
    let category = row.category.parse().unwrap_or_default();
    KbHit {
        id: row.id,
        key: row.key.clone(),
        category,
        summary: row.summary.clone(),
        snippet: hit.snippet.text,
        highlights: hit.snippet.highlights,
        detail: shown_detail(category, &row.detail),
        confidence: row.confidence,
        source: row.source.clone(),
        verified_at: row.verified_at,
        scores: wire_scores(&hit.scores),
    }
}

fn wire_scores(scores: &Scores) -> KbScores {
    let rank = |rank: Option<usize>| rank.and_then(|rank| u32::try_from(rank).ok());
    KbScores {
        keyword: scores.keyword,
        keyword_rank: rank(scores.keyword_rank),
        vector: scores.vector,
        vector_rank: rank(scores.vector_rank),
        fused: scores.fused,
        freshness: scores.freshness,
        exact: scores.exact,
        relevance: scores.relevance,
        likeness: scores.likeness,
    }
}
