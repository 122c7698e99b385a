//! The worktrees of this home: found on the disk, by their path, and put together
//! with what the board knows of them. One that somebody may be working in, by the
//! board or by a program that runs there, is in use and left alone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt;
use missiond_api::Home;
use missiond_core::{Attempt, AttemptId, BoardTask, BoardTaskId, BoardTaskStatus, CheckVerdict};
use missiond_runtime::blocking;
use missiond_slots::Slots;
use missiond_store::MissionDb;
use missiond_store::board::TaskFilter;
use missiond_store::{StoreError, board};
use missiond_workspace::{DiffSize, Landed, Removal, Repository, WorkspaceError, Worktree};

/// So many are looked into at once; each takes some processes of git.
const AT_ONCE: usize = 4;

/// So many tasks in review are looked through for worktrees that are gone.
const MOST_REVIEWS: u32 = 1000;

/// A worktree and what is known of it.
#[derive(Debug)]
pub struct WorktreeEntry {
    pub path: PathBuf,
    /// The last attempt that was made in it, with its task.
    pub attempt: Option<(Attempt, BoardTask)>,
    /// What the last checks of that attempt came to.
    pub checks: Option<CheckVerdict>,
    /// Who may be at work in it.
    pub user: Option<String>,
    pub seen: Result<WorktreeState, WorkspaceError>,
    /// Of work in review whose worktree is gone: what its branch holds.
    pub branch_left: Option<DiffSize>,
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
    pub size: DiffSize,
    pub removal: Removal,
    pub landed: Landed,
}

impl WorktreeEntry {
    /// Whether somebody means this one: by its path, its branch or its task.
    pub fn is_called(&self, name: &str) -> bool {
        let task = self.attempt.as_ref().map(|(_, task)| task);
        let branch = match (&self.seen, &self.attempt) {
            (Ok(seen), _) => Some(seen.worktree.branch()),
            (Err(_), Some((attempt, _))) => attempt.branch.as_deref(),
            (Err(_), None) => None,
        };
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

    /// Every worktree of this home, by path, and those of tasks in review that are
    /// gone.
    pub async fn all(&self) -> Result<Vec<WorktreeEntry>, StoreError> {
        let paths = on_disk(&self.root).await;
        let mut attempts = self.attempts(paths.clone()).await?;
        let gone = self.gone_in_review(&paths).await?;
        let known = attempts
            .values()
            .chain(&gone)
            .map(|(attempt, _)| attempt.id);
        let mut verdicts = self.verdicts(known.collect()).await?;
        let mut looked: Vec<WorktreeEntry> = futures::stream::iter(paths)
            .map(|path| {
                let attempt = attempts.remove(&path);
                let user = self.user(&path, attempt.as_ref());
                let id = attempt.as_ref().map(|(attempt, _)| attempt.id);
                let checks = id.and_then(|id| verdicts.remove(&id));
                async move {
                    let seen = inspect(&path).await;
                    WorktreeEntry {
                        path,
                        attempt,
                        checks,
                        user,
                        seen,
                        branch_left: None,
                    }
                }
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        for (attempt, task) in gone {
            let Some(path) = attempt.worktree.clone() else {
                continue;
            };
            // One whose branch is gone too has nothing to merge.
            if let Some(size) = branch_size(&attempt, &task).await {
                looked.push(WorktreeEntry {
                    seen: Err(WorkspaceError::Missing(path.clone())),
                    path,
                    checks: verdicts.remove(&attempt.id),
                    attempt: Some((attempt, task)),
                    user: None,
                    branch_left: Some(size),
                });
            }
        }
        looked.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(looked)
    }

    /// The last attempts of tasks in review that were made below this home, in places
    /// that are not among these.
    async fn gone_in_review(
        &self,
        paths: &[PathBuf],
    ) -> Result<Vec<(Attempt, BoardTask)>, StoreError> {
        let filter = TaskFilter {
            status: vec![BoardTaskStatus::Review],
            limit: MOST_REVIEWS,
            ..TaskFilter::default()
        };
        let found = self.db.read(move |tx| {
            Box::pin(async move {
                let mut found = Vec::new();
                for task in board::list(tx, &filter).await? {
                    let last = board::attempts(tx, task.id).await?.pop();
                    found.extend(last.map(|attempt| (attempt, task)));
                }
                Ok(found)
            })
        });
        let mut found = found.await?;
        let root = self.root.canonicalize();
        let root = root.as_deref().unwrap_or(&self.root);
        found.retain(|(attempt, _)| {
            let place = attempt.worktree.as_ref();
            place.is_some_and(|path| path.starts_with(root) && !paths.contains(path))
        });
        Ok(found)
    }

    /// What the last checks of these attempts came to, where any ran.
    async fn verdicts(
        &self,
        attempts: Vec<AttemptId>,
    ) -> Result<HashMap<AttemptId, CheckVerdict>, StoreError> {
        let found = self.db.read(move |tx| {
            Box::pin(async move {
                let mut found = HashMap::new();
                for id in attempts {
                    let verdict = CheckVerdict::of(&board::evidence(tx, id).await?);
                    found.extend(verdict.map(|verdict| (id, verdict)));
                }
                Ok(found)
            })
        });
        found.await
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

    /// How much the attempt has changed, committed or not; nothing when neither its
    /// worktree nor its branch is left.
    pub async fn size_of(&self, attempt: &Attempt, task: &BoardTask) -> Option<DiffSize> {
        match Worktree::open(attempt.worktree.as_ref()?).await {
            Ok(worktree) => worktree.size().await.ok(),
            Err(_) => branch_size(attempt, task).await,
        }
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
        // Whose work is in review is leaving.
        let leaves = |slot| {
            attempt.is_some_and(|(attempt, task)| {
                task.status == BoardTaskStatus::Review && attempt.slot == Some(slot)
            })
        };
        let open = self.slots.open();
        let inside = open
            .iter()
            .find(|open| open.record.cwd.starts_with(path) && !leaves(open.slot.id))?;
        Some(format!("the slot `{}` runs in it", inside.slot.name))
    }
}

async fn inspect(path: &Path) -> Result<WorktreeState, WorkspaceError> {
    let worktree = Worktree::open(path).await?;
    let status = worktree.status().await?;
    let removal = worktree.removal_of(&status).await?;
    let landed = worktree.landed(&status)?;
    let size = worktree.size().await?;
    Ok(WorktreeState {
        worktree,
        commits: status.commits_ahead,
        size,
        removal,
        landed,
    })
}

/// How much the branch of an attempt holds that the base has not; nothing when it is
/// gone.
async fn branch_size(attempt: &Attempt, task: &BoardTask) -> Option<DiffSize> {
    let repository = Repository::open(task.repository.as_ref()?).await.ok()?;
    let (base, branch) = (attempt.base_commit.as_ref()?, attempt.branch.as_ref()?);
    let branch = format!("refs/heads/{branch}");
    repository.size(base, &branch).await.ok()
}

/// Makes the worktree of an attempt again, from the branch it left.
pub async fn reattach(attempt: &Attempt, task: &BoardTask) -> Result<Worktree, WorkspaceError> {
    let path = attempt.worktree.as_deref().unwrap_or(Path::new(""));
    let missing = || WorkspaceError::Missing(path.to_owned());
    let repository = task.repository.as_ref().ok_or_else(missing)?;
    let branch = attempt.branch.as_ref().ok_or_else(missing)?;
    let began = attempt.base_commit.as_ref().ok_or_else(missing)?;
    let repository = Repository::open(repository).await?;
    let base = task.base.as_deref();
    repository.reattach(path, branch, base, began).await
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
