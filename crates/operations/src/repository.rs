//! Handlers of the operations on repositories: which are known, and what fits a
//! task in each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures::StreamExt;
use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::compute::SlotListParams;
use missiond_api::operations::overview::RepositoryName;
use missiond_api::operations::repository::{
    ProposedCheck, RepositoryList, RepositoryPage, RepositoryShow, RepositoryShowParams,
    RepositorySummary,
};
use missiond_autopilot::board::{fitting_checks, template_names};
use missiond_core::ErrorCode;
use missiond_os::expand_home;
use missiond_runtime::blocking;
use missiond_workspace::{Repository, WorkspaceError};

use crate::board::of_board;
use crate::call::{Call, Operations};
use crate::compute;
use crate::run_facts::repository_name;

/// An answer holds so many.
const MOST: usize = 200;
/// How many git looks at together.
const AT_ONCE: usize = 4;

pub(super) fn register(operations: &mut Operations) {
    operations.add::<RepositoryList, _, _>(list);
    operations.add::<RepositoryShow, _, _>(show);
}

async fn list(call: Call, _: NoParams) -> Result<RepositoryPage, ApiError> {
    let mut known: Vec<_> = known_paths(&call).await?.into_iter().collect();
    known.sort_by_cached_key(|(path, open)| {
        let name = repository_name(path).name.to_lowercase();
        (*open == 0, name, path.clone())
    });
    let left_out = known.len().saturating_sub(MOST) as u64;
    let repositories: Vec<RepositorySummary> = futures::stream::iter(known)
        .take(MOST)
        .map(|(path, open)| describe(&call, path, open))
        .buffered(AT_ONCE)
        .collect()
        .await;
    Ok(RepositoryPage {
        repositories,
        left_out,
    })
}

async fn show(call: Call, params: RepositoryShowParams) -> Result<RepositorySummary, ApiError> {
    let path = expand_home(Path::new(params.path.trim()));
    if !path.is_absolute() {
        let message = format!(
            "{} is not a whole path: begin it with `/` or `~/`",
            path.display()
        );
        return Err(ApiError::invalid_params(message));
    }
    let looked = path.clone();
    match blocking(move || std::fs::metadata(&looked)).await {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            let message = format!("{} is a file: name the folder it is in", path.display());
            return Err(ApiError::new(ErrorCode::NotFound, message));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let message = format!("there is no folder {}", path.display());
            return Err(ApiError::new(ErrorCode::NotFound, message));
        }
        Err(error) => {
            let message = format!("{} cannot be read: {error}", path.display());
            return Err(ApiError::new(ErrorCode::Forbidden, message));
        }
    }
    // From anywhere in a repository its top is meant.
    let top = match Repository::open(&path).await {
        Ok(repository) => repository.path().to_owned(),
        Err(_) => path,
    };
    let known = known_paths(&call).await?;
    let open = known.get(&top).copied().unwrap_or(0);
    Ok(describe(&call, top, open).await)
}

/// Every repository that a task or a code map names, with its open tasks: what can be
/// said without running git.
pub(super) async fn named_paths(call: &Call) -> Result<BTreeMap<PathBuf, u64>, ApiError> {
    let named = written_paths(call).await?;
    Ok(blocking(move || real_paths(named)).await)
}

/// Those, as they are written down: two paths may be of one folder.
async fn written_paths(call: &Call) -> Result<BTreeMap<PathBuf, u64>, ApiError> {
    let daemon = &call.daemon;
    let mut named: BTreeMap<PathBuf, u64> = BTreeMap::new();
    let tasks = daemon.board.repositories().await;
    for repository in tasks.map_err(|error| of_board(&error))? {
        named.insert(repository.path, repository.open);
    }
    // One source that cannot be read does not hide the others.
    if let Ok(mapped) = daemon.code.repositories().await {
        for repository in mapped.into_iter().filter(|known| known.exists) {
            named.entry(PathBuf::from(repository.root)).or_default();
        }
    }
    Ok(named)
}

/// The same, and where a worktree is and a slot runs. Worktrees and folders within count
/// for the repository they belong to.
async fn known_paths(call: &Call) -> Result<BTreeMap<PathBuf, u64>, ApiError> {
    let mut known = written_paths(call).await?;
    for repository in call.daemon.worktrees.repositories().await {
        known.entry(repository).or_default();
    }
    let slots = compute::list(call.clone(), SlotListParams { all: false }).await?;
    for program in slots.slots.into_iter().filter_map(|slot| slot.program) {
        let folder = PathBuf::from(program.cwd);
        // Where a slot runs need not be a repository at all.
        if let Ok(repository) = Repository::open(&folder).await {
            known.entry(repository.main_path().to_owned()).or_default();
        }
    }
    Ok(blocking(move || real_paths(known)).await)
}

fn real_paths(named: BTreeMap<PathBuf, u64>) -> BTreeMap<PathBuf, u64> {
    let mut real: BTreeMap<PathBuf, u64> = BTreeMap::new();
    for (path, open) in named {
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        *real.entry(path).or_default() += open;
    }
    real
}

async fn describe(call: &Call, path: PathBuf, open_tasks: u64) -> RepositorySummary {
    let (branch, problem) = match Repository::open(&path).await {
        Ok(repository) => {
            let branch = repository.current_branch().await.ok().flatten();
            let problem = repository.can_start_from(None).await.err();
            (branch, problem.map(|error| error.to_string()))
        }
        Err(WorkspaceError::NotARepository(_)) => {
            let problem = "it is not a git repository: run `git init` in it and commit, or work \
                           without isolation";
            (None, Some(problem.to_owned()))
        }
        Err(_) if !path.is_dir() => (None, Some("the folder is gone".to_owned())),
        Err(error) => (None, Some(error.to_string())),
    };
    let (templates, folder) = (call.daemon.home.templates_dir(), path.clone());
    let (checks, templates) = blocking(move || {
        let names = template_names(&templates, Some(&folder));
        (fitting_checks(&folder), names)
    })
    .await;
    let RepositoryName { name, path } = repository_name(&path);
    RepositorySummary {
        name,
        path,
        branch,
        problem,
        open_tasks,
        checks: checks
            .into_iter()
            .map(|check| ProposedCheck {
                run: check.run,
                because: check.because,
            })
            .collect(),
        templates,
    }
}
