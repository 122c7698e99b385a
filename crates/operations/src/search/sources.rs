//! The sources of the one search, each asked in its own way.

use std::path::Path;

use futures::StreamExt;
use missiond_api::ApiError;
use missiond_api::operations::conversation::ConversationSearchParams;
use missiond_api::operations::knowledge::{KbHitLimit, KbSearchParams};
use missiond_api::operations::search::{SearchHit, SearchKind};
use missiond_core::{AbsolutePath, ErrorCode, TaskRef, Text, excerpt, one_line};
use missiond_journal::ExecutionState;
use missiond_memory::code::Question;
use missiond_store::board::{self, TaskFilter};
use missiond_store::executions::{self, ExecutionFilter};
use missiond_store::overview;
use missiond_store::questions::QuestionFilter;
use missiond_workspace::Repository;

use super::rank::Words;
use crate::board::of_board;
use crate::call::{Call, of_store};
use crate::{code as code_map, conversation, knowledge as entries, repository, walls};

/// What a source gives at most.
const MOST: usize = 20;
/// How many of the newest runs and questions are looked through.
const NEWEST: u32 = 500;
/// Repositories whose code and commits are looked through.
const MOST_REPOSITORIES: usize = 20;
/// What a hit says beside its title.
const LONGEST_DETAIL: usize = 200;

pub(super) async fn tasks(call: &Call, words: &Words) -> Result<Vec<SearchHit>, ApiError> {
    let board = &call.daemon.board;
    let mut found = Vec::new();
    if let Ok(named) = words.whole().to_uppercase().parse::<TaskRef>() {
        found.extend(board.find(named).await.ok());
    }
    let filter = TaskFilter {
        search: Some(words.longest().to_owned()),
        limit: NEWEST,
        ..TaskFilter::default()
    };
    let (listed, _) = board
        .list(filter, None)
        .await
        .map_err(|error| of_board(&error))?;
    for task in listed {
        let fits = words.all_in(&[&task.title, &task.description]);
        if fits && !found.iter().any(|each| each.id == task.id) {
            found.push(task);
        }
    }
    let hit = |task: missiond_core::BoardTask| SearchHit {
        kind: SearchKind::Task,
        id: task.number.to_string(),
        link: format!("/board/{}", task.number),
        detail: shortened(&around(&task.description, words)),
        repository: task.repository.map(|path| path.display().to_string()),
        at: Some(task.updated_at),
        title: task.title,
        score: 0.0,
    };
    Ok(found.into_iter().take(MOST).map(hit).collect())
}

/// A run is found by its task, its agent, its folder, what it was asked, and while it
/// runs by what it last said. No journal is read.
pub(super) async fn runs(call: &Call, words: &Words) -> Result<Vec<SearchHit>, ApiError> {
    let read = call.daemon.db.read(|tx| {
        Box::pin(async move {
            let newest = ExecutionFilter::Newest { limit: NEWEST };
            let rows = executions::list(tx, newest).await?;
            let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
            let tasks = board::tasks_of_executions(tx, &ids).await?;
            Ok((rows, tasks, overview::titles_of(tx, &ids).await?))
        })
    });
    let (rows, tasks, titles) = read.await.map_err(|error| of_store(&error))?;
    let last_words = |state: &ExecutionState| state.last_known.last_words.clone();
    let mut found = Vec::new();
    for row in rows {
        let task = tasks.get(&row.id);
        let running = call.daemon.executions.peek(row.id, last_words);
        let said = running.flatten().map(|(said, _)| said);
        let said = said.or_else(|| titles.get(&row.id).cloned());
        let said = said.unwrap_or_default();
        let engine = row.engine.to_string();
        let title = match &task {
            Some(task) => format!("{} on {}: {}", engine, task.number, task.title),
            None => format!("{engine} in {}", row.cwd.display()),
        };
        let id = row.id.to_string();
        if !words.all_in(&[&title, &said, &id]) {
            continue;
        }
        found.push(SearchHit {
            kind: SearchKind::Run,
            link: format!("/executions/{id}"),
            id,
            title,
            detail: shortened(&around(&said, words)),
            repository: task
                .and_then(|task| task.repository.as_ref())
                .map(|path| path.display().to_string()),
            at: Some(row.started_at),
            score: 0.0,
        });
        if found.len() == MOST {
            break;
        }
    }
    Ok(found)
}

pub(super) async fn questions(call: &Call, words: &Words) -> Result<Vec<SearchHit>, ApiError> {
    let questions = &call.daemon.questions;
    let listed = questions
        .list(QuestionFilter::Newest { limit: NEWEST })
        .await
        .map_err(|error| ApiError::new(error.code(), error.to_string()))?;
    let fits = |question: &missiond_core::Question| {
        let id = question.number.to_string();
        let answer = question.answer.as_deref().unwrap_or_default();
        words.all_in(&[&id, &question.question, answer])
    };
    let hit = |question: missiond_core::Question| {
        let id = question.number.to_string();
        let answered = question.answer.map(|answer| format!("Answered: {answer}"));
        SearchHit {
            kind: SearchKind::Question,
            // What is answered stands in Attention no more; its task does.
            link: match (question.closed_at, question.task) {
                (Some(_), Some(task)) => format!("/board/{task}"),
                _ => format!("/attention?at={id}"),
            },
            id,
            title: question.question,
            detail: shortened(&answered.or(question.reason).unwrap_or_default()),
            repository: None,
            at: Some(question.asked_at),
            score: 0.0,
        }
    };
    Ok(listed
        .into_iter()
        .filter(fits)
        .take(MOST)
        .map(hit)
        .collect())
}

pub(super) async fn knowledge(call: &Call, query: &str) -> Result<Vec<SearchHit>, ApiError> {
    let params = KbSearchParams {
        query: Text::excerpt(query).unwrap_or_default(),
        limit: KbHitLimit::new(10_i64).ok(),
        ..KbSearchParams::default()
    };
    let found = entries::search(call.clone(), params).await?;
    let hit = |hit: missiond_api::operations::knowledge::KbHit| SearchHit {
        kind: SearchKind::Knowledge,
        link: format!("/knowledge/entry/{}", hit.id),
        id: hit.key,
        title: hit.summary,
        detail: shortened(&hit.snippet),
        repository: None,
        at: Some(hit.verified_at),
        score: 0.0,
    };
    Ok(found.hits.into_iter().map(hit).collect())
}

pub(super) async fn code(call: &Call, query: &str) -> Result<Vec<SearchHit>, ApiError> {
    let known = call.daemon.code.repositories().await;
    let known = known.map_err(|error| ApiError::internal(error.to_string()))?;
    let roots = known
        .into_iter()
        .filter(|known| known.exists && walls::may_look(call, Path::new(&known.root)).is_ok());
    let question = &Question::new(query);
    let searched = roots.take(MOST_REPOSITORIES).map(|known| async move {
        let path = AbsolutePath::new(known.root);
        let path = path.map_err(|error| ApiError::invalid_params(error.to_string()))?;
        code_map::search_one(call, &path, question, None, 10).await
    });
    let searched: Vec<_> = futures::stream::iter(searched).buffered(4).collect().await;
    let mut hits = Vec::new();
    for found in searched {
        let found = match found {
            Ok(found) => found,
            // Its folder went away since it was mapped.
            Err(error) if error.code == ErrorCode::NotFound => continue,
            Err(error) => return Err(error),
        };
        let root = found.root;
        hits.extend(found.hits.into_iter().map(|hit| SearchHit {
            kind: SearchKind::Code,
            id: format!("{}:{}", hit.symbol.path, hit.symbol.first_line),
            link: format!(
                "/code/symbol?repo={}&symbol={}",
                encoded(&root),
                encoded(&format!("{}:{}", hit.symbol.path, hit.symbol.first_line))
            ),
            title: hit.symbol.name,
            detail: shortened(&hit.symbol.signature),
            repository: Some(root.clone()),
            at: None,
            score: hit.score,
        }));
    }
    hits.sort_by(|one, other| other.score.total_cmp(&one.score));
    hits.truncate(MOST);
    Ok(hits)
}

pub(super) async fn conversations(call: &Call, query: &str) -> Result<Vec<SearchHit>, ApiError> {
    let params = ConversationSearchParams {
        query: Text::excerpt(query).unwrap_or_default(),
        ..ConversationSearchParams::default()
    };
    let found = conversation::search(call.clone(), params).await?;
    let mut hits: Vec<SearchHit> = Vec::new();
    for hit in found.hits {
        let id = hit.conversation.to_string();
        // The same conversation once, by what fits best.
        if hits.iter().any(|known| known.id == id) {
            continue;
        }
        hits.push(SearchHit {
            kind: SearchKind::Conversation,
            link: format!("/conversations/{id}?at={}", hit.place),
            id,
            title: hit.title,
            detail: shortened(&hit.snippet),
            repository: Some(hit.project),
            at: Some(hit.at),
            score: 0.0,
        });
    }
    Ok(hits)
}

pub(super) async fn commits(call: &Call, words: &Words) -> Result<Vec<SearchHit>, ApiError> {
    let known = repository::named_paths(call).await?;
    let searched = known.into_keys().take(MOST_REPOSITORIES).map(|path| async {
        // A folder that is no repository, or none any more, has no commits.
        let opened = Repository::open(&path).await.ok()?;
        let found = opened.commits_about(&words.each(), 10).await;
        Some((path, found))
    });
    let searched: Vec<_> = futures::stream::iter(searched).buffered(4).collect().await;
    let mut hits = Vec::new();
    for (path, found) in searched.into_iter().flatten() {
        let found = found.map_err(|error| ApiError::internal(error.to_string()))?;
        let name = Path::new(&path).file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        hits.extend(found.into_iter().map(|commit| SearchHit {
            kind: SearchKind::Commit,
            link: commit_link(&commit.subject, &path),
            detail: format!("{name}, by {}", commit.author),
            title: commit.subject,
            repository: Some(path.display().to_string()),
            at: commit.at,
            id: commit.id.chars().take(12).collect(),
            score: 0.0,
        }));
    }
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.at));
    hits.truncate(MOST);
    Ok(hits)
}

/// A merge of the autopilot begins with its task (`T-3: `), whose review has the
/// difference; of another commit the page has the repository.
fn commit_link(subject: &str, repository: &Path) -> String {
    let task = subject.split_once(": ").map(|(task, _)| task);
    let task = task.filter(|task| task.starts_with("T-"));
    match task.map(str::parse::<TaskRef>) {
        Some(Ok(TaskRef::Number(number))) => format!("/review/{number}"),
        _ => format!(
            "/code/repository?repo={}",
            encoded(&repository.display().to_string())
        ),
    }
}

/// The line of a text that has the first of the words, or its first line.
fn around(text: &str, words: &Words) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().next().unwrap_or_default();
    let has = |line: &&str| {
        let line = line.to_lowercase();
        words.each().iter().any(|word| line.contains(word))
    };
    lines.find(has).unwrap_or(first).to_owned()
}

fn shortened(text: &str) -> String {
    excerpt(&one_line(text), LONGEST_DETAIL)
}

/// For a part of a query in an address.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/:".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_commit_of_a_task_leads_to_its_review() {
        let link = |subject: &str| commit_link(subject, Path::new("/src/calc"));
        assert_eq!(link("T-3: Square roots"), "/review/T-3");
        for other in [
            "3 small fixes",
            "3: more",
            "T-3 is half done",
            "t-3: by hand",
            "Revert \"T-3: Square roots\"",
        ] {
            assert_eq!(link(other), "/code/repository?repo=/src/calc", "{other}");
        }
    }
}
