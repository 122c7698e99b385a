//! What can be worked on now, and why the rest cannot.
//!
//! Whether a task is ready is never stored. An index holds the open tasks
//! whose dependencies are done, in the order they are wanted; what else may be
//! in the way (the backoff, paths a running task touches, limits) is looked at
//! for those few that are asked for.
//!
//! Why a task waits is decided here and nowhere else: by `waits_of` for one task, and
//! by `Running::obstacles` for those whose dependencies are done. The claim
//! (`attempts.rs`) asks the same function as whoever explains. Limits come from the
//! caller in [`ReadyLimits`]; the autopilot makes them in `limits_in_force.rs`.

use std::collections::BTreeMap;

use missiond_core::{
    BoardTask, BoardTaskId, BoardTaskStatus, BudgetScope, CliEngine, TaskNumber, Timestamp, Wait,
    touches_overlap,
};

use super::graph;
use super::rows::{self, TASK};
use crate::{Row, StoreError, Tx, Value};

/// What the one who asks knows of limits. The default has none but the number
/// of answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadyLimits {
    /// At most so many tasks.
    pub limit: u32,
    /// The engine of tasks that name none.
    pub default_engine: Option<CliEngine>,
    /// Engines whose vendor's limit is reached, and until when.
    pub quotas: BTreeMap<CliEngine, Option<Timestamp>>,
    /// How many tasks may run at once.
    pub capacity: Option<u32>,
    /// How many tasks of an engine may run at once.
    pub per_engine: BTreeMap<CliEngine, u32>,
    /// Engines whose budget is used up, and until when.
    pub spent: BTreeMap<CliEngine, Option<Timestamp>>,
    /// What holds every task back.
    pub all_wait: Vec<Wait>,
}

impl Default for ReadyLimits {
    fn default() -> Self {
        Self {
            limit: 100,
            default_engine: None,
            quotas: BTreeMap::new(),
            capacity: None,
            per_engine: BTreeMap::new(),
            spent: BTreeMap::new(),
            all_wait: Vec::new(),
        }
    }
}

/// A task that cannot be worked on now, and everything it waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    pub task: BoardTask,
    pub waits: Vec<Wait>,
}

/// How many rows are looked at in one go.
const PAGE: u32 = 200;

/// The tasks that can be claimed now, the most wanted first. Each fits beside
/// what is running; two of them may still exclude each other.
pub async fn ready(
    tx: &mut Tx<'_>,
    now: Timestamp,
    limits: &ReadyLimits,
) -> Result<Vec<BoardTask>, StoreError> {
    let mut running = Running::read(tx, limits).await?;
    let mut found = Vec::new();
    let mut after = SortKey::start();
    while found.len() < limits.limit as usize && running.has_room(limits) {
        let page = candidates(tx, &after, PAGE, "").await?;
        let Some(last) = page.last() else { break };
        after = SortKey::of(last);
        for task in page {
            if found.len() == limits.limit as usize {
                break;
            }
            if running.obstacles(&task, now, limits).is_empty() {
                running.count(&task, limits);
                found.push(task);
            }
        }
    }
    Ok(found)
}

/// How many tasks could be claimed if there were no limits but the backoff.
pub async fn count_ready(tx: &mut Tx<'_>, now: Timestamp) -> Result<u64, StoreError> {
    let sql = "SELECT count(*) FROM board_tasks WHERE status = 'open' AND open_dependencies = 0 \
         AND (not_before IS NULL OR not_before <= $1)";
    let row = tx.query_one(sql, &[now.into()]).await?;
    let count: i64 = row.map_or(Ok(0), |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Tasks that wait, the most wanted first, each with everything in its way; at
/// most `limits.limit`. Among tasks whose dependencies are done only the first
/// thousand are looked at.
pub async fn waiting(
    tx: &mut Tx<'_>,
    now: Timestamp,
    limits: &ReadyLimits,
) -> Result<Vec<Waiting>, StoreError> {
    let running = Running::read(tx, limits).await?;
    let mut open = running.clone();
    let mut found = Vec::new();
    let mut after = SortKey::start();
    for _ in 0..5 {
        let page = candidates(tx, &after, PAGE, "").await?;
        let Some(last) = page.last() else { break };
        after = SortKey::of(last);
        for task in page {
            let waits = open.obstacles(&task, now, limits);
            if waits.is_empty() {
                open.count(&task, limits);
            } else {
                found.push(Waiting { task, waits });
            }
        }
    }
    // One after the other: together no index would give them in order.
    for which in [
        "status = 'blocked'",
        "status = 'open' AND open_dependencies > 0",
    ] {
        let sql = format!(
            "SELECT {TASK} FROM board_tasks WHERE {which} ORDER BY priority, rank, number LIMIT $1"
        );
        for task in rows::tasks(&tx.query(&sql, &[limits.limit.into()]).await?)? {
            let waits = all_waits(tx, &task, &running, now, limits).await?;
            found.push(Waiting { task, waits });
        }
    }
    found.sort_by(|one, other| {
        sort_key(&one.task)
            .partial_cmp(&sort_key(&other.task))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    found.truncate(limits.limit as usize);
    Ok(found)
}

/// Everything one task waits for; nothing when it can be claimed, runs or has
/// ended.
pub async fn waits_of(
    tx: &mut Tx<'_>,
    task: &BoardTask,
    now: Timestamp,
    limits: &ReadyLimits,
) -> Result<Vec<Wait>, StoreError> {
    let running = Running::read(tx, limits).await?;
    all_waits(tx, task, &running, now, limits).await
}

async fn all_waits(
    tx: &mut Tx<'_>,
    task: &BoardTask,
    running: &Running,
    now: Timestamp,
    limits: &ReadyLimits,
) -> Result<Vec<Wait>, StoreError> {
    let mut waits = Vec::new();
    match task.status {
        BoardTaskStatus::Open => {}
        BoardTaskStatus::Blocked => waits.push(Wait::Blocked {
            reason: task
                .blocked
                .clone()
                .unwrap_or_else(|| "nobody said why".to_owned()),
        }),
        _ => return Ok(waits),
    }
    for on in graph::dependencies(tx, task.id).await? {
        if on.status != BoardTaskStatus::Done {
            waits.push(Wait::Dependency {
                task: on.number,
                status: on.status,
            });
        }
    }
    waits.extend(running.obstacles(task, now, limits));
    Ok(waits)
}

fn sort_key(task: &BoardTask) -> (i64, f64, i64) {
    (task.priority.level(), task.rank, task.number.0)
}

/// A place in the order in which tasks are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct SortKey(i64, f64, i64);

impl SortKey {
    pub(super) const fn start() -> Self {
        Self(-1, 0.0, 0)
    }

    pub(super) fn of(task: &BoardTask) -> Self {
        let (priority, rank, number) = sort_key(task);
        Self(priority, rank, number)
    }
}

/// Open tasks whose dependencies are done, those after a place.
pub(super) async fn candidates(
    tx: &mut Tx<'_>,
    after: &SortKey,
    limit: u32,
    lock: &str,
) -> Result<Vec<BoardTask>, StoreError> {
    let sql = format!(
        "SELECT {TASK} FROM board_tasks WHERE status = 'open' AND open_dependencies = 0 \
         AND (priority, rank, number) > ($1, $2, $3) \
         ORDER BY priority, rank, number LIMIT $4{lock}"
    );
    let params = [after.0.into(), after.1.into(), after.2.into(), limit.into()];
    rows::tasks(&tx.query(&sql, &params).await?)
}

/// What runs now, as far as it matters to what does not.
#[derive(Debug, Clone)]
pub(super) struct Running {
    tasks: Vec<RunningTask>,
    count: u32,
    engines: BTreeMap<CliEngine, u32>,
    /// Running tasks that name no engine.
    unnamed: u32,
}

#[derive(Debug, Clone)]
struct RunningTask {
    /// Alternatives may touch the same: only one of them is kept.
    group: BoardTaskId,
    number: TaskNumber,
    repository: Option<String>,
    touches: Vec<String>,
}

impl Running {
    /// All that matters to any task.
    async fn read(tx: &mut Tx<'_>, limits: &ReadyLimits) -> Result<Self, StoreError> {
        let mut running = Self::counted(tx, limits).await?;
        running.tasks = tasks_with_touches(tx).await?;
        Ok(running)
    }

    /// What matters to this task.
    pub(super) async fn relevant_to(
        tx: &mut Tx<'_>,
        task: &BoardTask,
        limits: &ReadyLimits,
    ) -> Result<Self, StoreError> {
        let mut running = Self::counted(tx, limits).await?;
        if !task.touches.is_empty() {
            running.tasks = tasks_with_touches(tx).await?;
        }
        Ok(running)
    }

    /// Counted only when there is a limit to be held to.
    async fn counted(tx: &mut Tx<'_>, limits: &ReadyLimits) -> Result<Self, StoreError> {
        let mut running = Self {
            tasks: Vec::new(),
            count: 0,
            engines: BTreeMap::new(),
            unnamed: 0,
        };
        if limits.capacity.is_none() && limits.per_engine.is_empty() {
            return Ok(running);
        }
        let sql = "SELECT engine, count(*) FROM board_tasks WHERE status = 'running' \
             GROUP BY engine";
        for row in tx.query(sql, &[]).await? {
            let count: u32 = row.get(1)?;
            running.count += count;
            match row.parse_optional::<CliEngine>(0)? {
                Some(engine) => *running.engines.entry(engine).or_default() += count,
                None => running.unnamed += count,
            }
        }
        Ok(running)
    }

    /// Whether any task could begin: when none can, none need be looked at.
    fn has_room(&self, limits: &ReadyLimits) -> bool {
        limits.all_wait.is_empty() && limits.capacity.is_none_or(|limit| self.count < limit)
    }

    /// What is in the way of a task whose dependencies are done.
    pub(super) fn obstacles(
        &self,
        task: &BoardTask,
        now: Timestamp,
        limits: &ReadyLimits,
    ) -> Vec<Wait> {
        let mut waits = Vec::new();
        if let Some(until) = task.not_before.filter(|until| *until > now) {
            waits.push(Wait::Backoff { until });
        }
        waits.extend(self.touched_by(task));
        let engine = task.engine.as_ref().or(limits.default_engine.as_ref());
        if let Some(engine) = engine {
            if let Some(until) = limits.quotas.get(engine)
                && until.is_none_or(|until| until > now)
            {
                waits.push(Wait::Quota {
                    engine: engine.clone(),
                    until: *until,
                });
            }
            if let Some(&until) = limits.spent.get(engine) {
                let engine = engine.clone();
                let scope = BudgetScope::Engine { engine };
                waits.push(Wait::Budget { scope, until });
            }
            let unnamed = if limits.default_engine.as_ref() == Some(engine) {
                self.unnamed
            } else {
                0
            };
            let used = self.engines.get(engine).copied().unwrap_or(0) + unnamed;
            if let Some(&limit) = limits.per_engine.get(engine)
                && used >= limit
            {
                waits.push(Wait::Capacity {
                    engine: Some(engine.clone()),
                    limit,
                });
            }
        }
        if let Some(limit) = limits.capacity
            && self.count >= limit
        {
            waits.push(Wait::Capacity {
                engine: None,
                limit,
            });
        }
        waits.extend(limits.all_wait.iter().cloned());
        waits
    }

    /// The running tasks that touch what this one would.
    pub(super) fn touched_by(&self, task: &BoardTask) -> impl Iterator<Item = Wait> {
        let repository = task.repository.as_ref().and_then(|path| path.to_str());
        self.tasks
            .iter()
            .filter(move |other| {
                other.group != task.group()
                    && other.repository.as_deref() == repository
                    && any_overlap(&other.touches, &task.touches)
            })
            .map(|other| Wait::Touches { task: other.number })
    }

    /// As if this one ran as well: it takes a place.
    fn count(&mut self, task: &BoardTask, limits: &ReadyLimits) {
        self.count += 1;
        match task.engine.as_ref().or(limits.default_engine.as_ref()) {
            Some(engine) => *self.engines.entry(engine.clone()).or_default() += 1,
            None => self.unnamed += 1,
        }
    }
}

/// The running tasks that touch paths.
async fn tasks_with_touches(tx: &mut Tx<'_>) -> Result<Vec<RunningTask>, StoreError> {
    let sql = "SELECT coalesce(alternative_of, id), number, repository, touches FROM board_tasks \
         WHERE status = 'running' AND touches <> '[]' ORDER BY number";
    let one = |row: &Row| {
        let touches = serde_json::from_str(row.text(3)?)
            .map_err(|error| StoreError::internal(format!("touches: {error}")))?;
        Ok(RunningTask {
            group: row.parse(0)?,
            number: TaskNumber(row.get(1)?),
            repository: row.get(2)?,
            touches,
        })
    };
    tx.query(sql, &[]).await?.iter().map(one).collect()
}

fn any_overlap(these: &[String], those: &[String]) -> bool {
    let all = these
        .iter()
        .flat_map(|one| those.iter().map(move |other| (one, other)));
    all.into_iter()
        .any(|(one, other)| touches_overlap(one, other))
}

/// Whether everything a task depends on is done.
pub(super) async fn dependencies_done(
    tx: &mut Tx<'_>,
    task: BoardTaskId,
) -> Result<bool, StoreError> {
    let sql = "SELECT open_dependencies FROM board_tasks WHERE id = $1";
    let row = tx.query_one(sql, &[Value::written(task)]).await?;
    Ok(row.map_or(Ok(0_i64), |row| row.get(0))? == 0)
}
