//! The worktrees of this home: found on the disk, by their path, and put together
//! with what the board knows of them. One that somebody may be working in, by the
//! board or by a program that runs there, is in use and left alone.

use std::collections::{BTreeSet, HashMap};
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
use missiond_workspace::{
    DiffSize, FinishPlan, FinishPreview, Landed, Removal, Repository, WorkspaceError, Worktree,
};

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
        let found = paths.into_iter().map(|path| {
            let attempt = attempts.remove(&path);
            (path, attempt)
        });
        let mut looked = self.inspect_all(found.collect()).await?;
        looked.extend(self.branches_left(gone).await?);
        looked.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(looked)
    }

    /// What somebody means by its path, its branch or its task; of a task with several,
    /// that of its last attempt. Only what is meant is looked into.
    pub async fn called(&self, name: &str) -> Result<Vec<WorktreeEntry>, StoreError> {
        let paths = on_disk(&self.root).await;
        let found = self.locate(name, &paths).await?;
        if !found.is_empty() {
            return self.inspect_all(found).await;
        }
        let mut gone = self.gone_in_review(&paths).await?;
        gone.retain(|(attempt, task)| {
            let path = attempt.worktree.as_deref();
            path == Some(Path::new(name)) || is_called(name, attempt, task)
        });
        self.branches_left(gone).await
    }

    /// The repositories that worktrees of this home belong to.
    pub async fn repositories(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        for path in on_disk(&self.root).await {
            if let Ok(worktree) = Worktree::open(&path).await {
                found.insert(worktree.repository().main_path().to_owned());
            }
        }
        found
    }

    async fn inspect_all(&self, found: Vec<Located>) -> Result<Vec<WorktreeEntry>, StoreError> {
        let known = found.iter().filter_map(|(_, attempt)| attempt.as_ref());
        let mut verdicts = self
            .verdicts(known.map(|(attempt, _)| attempt.id).collect())
            .await?;
        let looking = futures::stream::iter(found).map(|(path, attempt)| {
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
        });
        Ok(looking.buffer_unordered(AT_ONCE).collect().await)
    }

    /// What is left of these, whose worktrees are gone. One whose branch is gone too
    /// has nothing to merge.
    async fn branches_left(
        &self,
        gone: Vec<(Attempt, BoardTask)>,
    ) -> Result<Vec<WorktreeEntry>, StoreError> {
        let known = gone.iter().map(|(attempt, _)| attempt.id);
        let mut verdicts = self.verdicts(known.collect()).await?;
        let mut left = Vec::new();
        for (attempt, task) in gone {
            let Some(path) = attempt.worktree.clone() else {
                continue;
            };
            if let Some(size) = branch_size(&attempt, &task).await {
                left.push(WorktreeEntry {
                    seen: Err(WorkspaceError::Missing(path.clone())),
                    path,
                    checks: verdicts.remove(&attempt.id),
                    attempt: Some((attempt, task)),
                    user: None,
                    branch_left: Some(size),
                });
            }
        }
        Ok(left)
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
                let tasks = board::list(tx, &filter).await?;
                board::with_last_attempts(tx, tasks).await
            })
        });
        let found = found.await?.into_iter();
        let mut found: Vec<_> = found.map(|(task, attempt)| (attempt, task)).collect();
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
        let Some((path, attempt)) = self.locate(name, &paths).await?.pop() else {
            return Ok(None);
        };
        Ok(Some(NamedWorktree {
            user: self.user(&path, attempt.as_ref()),
            attempt,
            worktree: Worktree::open(&path).await,
        }))
    }

    /// Those of these worktrees that somebody means. Several only when the board knows
    /// none of them, and their branches have the same name.
    async fn locate(&self, name: &str, paths: &[PathBuf]) -> Result<Vec<Located>, StoreError> {
        let mut attempts = self.attempts(paths.to_vec()).await?;
        let asked = Path::new(name).canonicalize().ok();
        let is_meant = |path: &&PathBuf| {
            asked.as_ref() == Some(*path)
                || attempts
                    .get(*path)
                    .is_some_and(|(attempt, task)| is_called(name, attempt, task))
        };
        let meant = paths.iter().filter(is_meant);
        let last =
            meant.max_by_key(|path| attempts.get(*path).map(|(attempt, _)| attempt.started_at));
        if let Some(path) = last {
            return Ok(vec![(path.clone(), attempts.remove(path))]);
        }
        // One whose branch the board does not know.
        let mut found = Vec::new();
        for path in paths {
            let known = attempts.get(path);
            let branch = known.and_then(|(attempt, _)| attempt.branch.as_ref());
            if branch.is_none()
                && let Ok(worktree) = Worktree::open(path).await
                && worktree.branch() == name
            {
                found.push((path.clone(), attempts.remove(path)));
            }
        }
        Ok(found)
    }

    /// How much the attempt has changed, committed or not; nothing when neither its
    /// worktree nor its branch is left.
    pub async fn size_of(&self, attempt: &Attempt, task: &BoardTask) -> Option<DiffSize> {
        match Worktree::open(attempt.worktree.as_ref()?).await {
            Ok(worktree) => {
                let status = worktree.status().await.ok()?;
                worktree.size_of(&status).await.ok()
            }
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

/// A worktree, and the last attempt that was made in it.
type Located = (PathBuf, Option<(Attempt, BoardTask)>);

/// Whether somebody means the work of this attempt: by its branch or its task.
fn is_called(name: &str, attempt: &Attempt, task: &BoardTask) -> bool {
    attempt.branch.as_deref() == Some(name)
        || task.number.to_string() == name
        || task.id.to_string() == name
}

async fn inspect(path: &Path) -> Result<WorktreeState, WorkspaceError> {
    let worktree = Worktree::open(path).await?;
    let status = worktree.status().await?;
    let removal = worktree.removal_of(&status).await?;
    let landed = worktree.landed(&status)?;
    let size = worktree.size_of(&status).await?;
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

/// What was left of an attempt whose worktree is gone: enough to say what its finish
/// would do, without making the worktree again.
#[derive(Debug)]
pub struct LeftBranch {
    pub repository: Repository,
    branch: String,
    base_commit: String,
    /// The branch it goes back to.
    pub base: Option<String>,
}

impl LeftBranch {
    pub async fn find(attempt: &Attempt, task: &BoardTask) -> Result<Self, WorkspaceError> {
        let path = attempt.worktree.as_deref().unwrap_or(Path::new(""));
        let missing = || WorkspaceError::Missing(path.to_owned());
        let repository = task.repository.as_ref().ok_or_else(missing)?;
        let repository = Repository::open(repository).await?;
        Ok(Self {
            branch: attempt.branch.clone().ok_or_else(missing)?,
            base_commit: attempt.base_commit.clone().ok_or_else(missing)?,
            base: repository.base_branch(task.base.as_deref()).await?,
            repository,
        })
    }

    pub async fn preview_finish(&self, plan: &FinishPlan) -> Result<FinishPreview, WorkspaceError> {
        let (branch, base_commit) = (&self.branch, &self.base_commit);
        self.repository
            .preview_finish(branch, base_commit, plan)
            .await
    }
}

/// Makes the worktree of an attempt again, from the branch it left.
pub async fn reattach(attempt: &Attempt, task: &BoardTask) -> Result<Worktree, WorkspaceError> {
    let path = attempt.worktree.as_deref().unwrap_or(Path::new(""));
    let left = LeftBranch::find(attempt, task).await?;
    let base = task.base.as_deref();
    left.repository
        .reattach(path, &left.branch, base, &left.base_commit)
        .await
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
