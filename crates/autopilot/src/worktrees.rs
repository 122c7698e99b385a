//! The worktrees of this home: found on the disk, by their path, and put together
//! with what the board knows of them. One that somebody may be working in, by the
//! board or by a program that runs there, is in use and left alone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt;
use missiond_api::Home;
use missiond_core::{Attempt, BoardTask, BoardTaskId};
use missiond_runtime::blocking;
use missiond_slots::Slots;
use missiond_store::MissionDb;
use missiond_store::{StoreError, board};
use missiond_workspace::{Removal, WorkspaceError, Worktree};

/// So many are looked into at once; each takes some processes of git.
const AT_ONCE: usize = 4;

/// A worktree and what is known of it.
#[derive(Debug)]
pub struct WorktreeEntry {
    pub path: PathBuf,
    /// The last attempt that was made in it, with its task.
    pub attempt: Option<(Attempt, BoardTask)>,
    /// Who may be at work in it.
    pub user: Option<String>,
    pub seen: Result<WorktreeState, WorkspaceError>,
}

/// A worktree that was asked for.
#[derive(Debug)]
pub struct NamedWorktree {
    pub attempt: Option<(Attempt, BoardTask)>,
    pub user: Option<String>,
    pub worktree: Result<Worktree, WorkspaceError>,
}

#[derive(Debug)]
pub struct WorktreeState {
    pub worktree: Worktree,
    pub commits: u64,
    pub removal: Removal,
}

impl WorktreeEntry {
    /// Whether somebody means this one: by its path, its branch or its task.
    pub fn is_called(&self, name: &str) -> bool {
        let task = self.attempt.as_ref().map(|(_, task)| task);
        let branch = self.seen.as_ref().ok().map(|seen| seen.worktree.branch());
        let path = Path::new(name).canonicalize();
        path.is_ok_and(|path| path == self.path)
            || branch == Some(name)
            || task
                .is_some_and(|task| task.number.to_string() == name || task.id.to_string() == name)
    }
}

/// The worktrees of this home, and who may be in them.
#[derive(Debug, Clone)]
pub struct Worktrees {
    root: PathBuf,
    db: MissionDb,
    slots: Arc<Slots>,
}

impl Worktrees {
    #[must_use]
    pub fn new(home: &Home, db: MissionDb, slots: Arc<Slots>) -> Self {
        Self {
            root: home.worktrees_dir(),
            db,
            slots,
        }
    }

    /// Every worktree of this home, by path.
    pub async fn all(&self) -> Result<Vec<WorktreeEntry>, StoreError> {
        let paths = on_disk(&self.root).await;
        let mut attempts = self.attempts(paths.clone()).await?;
        let mut looked: Vec<WorktreeEntry> = futures::stream::iter(paths)
            .map(|path| {
                let attempt = attempts.remove(&path);
                let user = self.user(&path, attempt.as_ref());
                async move {
                    let seen = inspect(&path).await;
                    WorktreeEntry {
                        path,
                        attempt,
                        user,
                        seen,
                    }
                }
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        looked.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(looked)
    }

    /// One worktree by its path, its branch or its task; of a task with several, that
    /// of its last attempt. Only the one that is meant is opened.
    pub async fn named(&self, name: &str) -> Result<Option<NamedWorktree>, StoreError> {
        let paths = on_disk(&self.root).await;
        let mut attempts = self.attempts(paths.clone()).await?;
        let asked = Path::new(name).canonicalize().ok();
        let mut called: Vec<_> = paths
            .iter()
            .filter(|path| {
                let known = attempts.get(*path);
                let branch = known.and_then(|(attempt, _)| attempt.branch.as_deref());
                let task = known.map(|(_, task)| task);
                asked.as_ref() == Some(*path)
                    || branch == Some(name)
                    || task.is_some_and(|task| {
                        task.number.to_string() == name || task.id.to_string() == name
                    })
            })
            .collect();
        called.sort_by_key(|path| attempts.get(*path).map(|(attempt, _)| attempt.started_at));
        if let Some(path) = called.pop().cloned() {
            let attempt = attempts.remove(&path);
            let user = self.user(&path, attempt.as_ref());
            let worktree = Worktree::open(&path).await;
            return Ok(Some(NamedWorktree {
                attempt,
                user,
                worktree,
            }));
        }
        // One whose branch the board does not know.
        for path in paths {
            let known = attempts.remove(&path);
            let branch = known
                .as_ref()
                .and_then(|(attempt, _)| attempt.branch.as_ref());
            if branch.is_some() {
                continue;
            }
            if let Ok(worktree) = Worktree::open(&path).await
                && worktree.branch() == name
            {
                return Ok(Some(NamedWorktree {
                    user: self.user(&path, known.as_ref()),
                    attempt: known,
                    worktree: Ok(worktree),
                }));
            }
        }
        Ok(None)
    }

    /// The last attempt of each folder, with its task.
    async fn attempts(
        &self,
        paths: Vec<PathBuf>,
    ) -> Result<HashMap<PathBuf, (Attempt, BoardTask)>, StoreError> {
        self.db
            .read(move |tx| {
                Box::pin(async move {
                    let mut tasks: HashMap<BoardTaskId, BoardTask> = HashMap::new();
                    let mut last = HashMap::new();
                    for attempt in board::attempts_in(tx, &paths).await? {
                        if !tasks.contains_key(&attempt.task)
                            && let Some(task) = board::get(tx, attempt.task).await?
                        {
                            tasks.insert(task.id, task);
                        }
                        if let (Some(path), Some(task)) =
                            (&attempt.worktree, tasks.get(&attempt.task))
                        {
                            last.insert(path.clone(), (attempt.clone(), task.clone()));
                        }
                    }
                    Ok(last)
                })
            })
            .await
    }

    fn user(&self, path: &Path, attempt: Option<&(Attempt, BoardTask)>) -> Option<String> {
        if let Some((attempt, task)) = attempt
            && attempt.ended_at.is_none()
        {
            return Some(format!("{} is being worked on in it", task.number));
        }
        let open = self.slots.open();
        let inside = open.iter().find(|open| open.record.cwd.starts_with(path))?;
        Some(format!("the slot `{}` runs in it", inside.slot.name))
    }
}

async fn inspect(path: &Path) -> Result<WorktreeState, WorkspaceError> {
    let worktree = Worktree::open(path).await?;
    let status = worktree.status().await?;
    let removal = worktree.removal_of(&status).await?;
    Ok(WorktreeState {
        worktree,
        commits: status.commits_ahead,
        removal,
    })
}

/// Folders two levels down: one level is by repository.
async fn on_disk(root: &Path) -> Vec<PathBuf> {
    let root = root.to_owned();
    blocking(move || {
        let folders = |folder: &Path| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let folders = entries.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir()));
            folders.map(|entry| entry.path()).collect()
        };
        // As the records name them: without links on the way.
        let repositories = folders(&root.canonicalize().unwrap_or(root));
        repositories
            .iter()
            .flat_map(|folder| folders(folder))
            .collect()
    })
    .await
}
