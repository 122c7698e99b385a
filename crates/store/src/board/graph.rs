//! What depends on what. The graph stays free of cycles: every change of it is
//! made under one lock and looked through before it is kept.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use missiond_core::{BoardTask, BoardTaskId, BoardTaskStatus, Event, TaskNumber};

use super::rows::{self, placeholders};
use super::{Act, lock, updated};
use crate::{StoreError, Tx, Value};

/// A task another depends on, in few words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    pub id: BoardTaskId,
    pub number: TaskNumber,
    pub title: String,
    pub status: BoardTaskStatus,
}

/// An edge: the first depends on the second.
pub(super) type Edge = (BoardTaskId, BoardTaskId);

/// A database takes so many parameters without complaint.
const CHUNK: usize = 500;

/// Lets `task` wait for each of `on` as well.
pub async fn depend(
    tx: &mut Tx<'_>,
    task: BoardTaskId,
    on: &[BoardTaskId],
    act: &Act,
) -> Result<BoardTask, StoreError> {
    lock(tx, "graph").await?;
    let edges: Vec<_> = on.iter().map(|on| (task, *on)).collect();
    let added = connect(tx, &edges, &HashMap::new()).await?;
    let mut changed = rows::get_for_update(tx, task).await?;
    if added > 0 {
        if !matches!(
            changed.status,
            BoardTaskStatus::Open | BoardTaskStatus::Blocked
        ) {
            return Err(StoreError::conflict(format!(
                "{} is {}: only a task that has not begun can be made to wait",
                changed.number, changed.status
            )));
        }
        changed.updated_at = act.now;
        rows::store_status(tx, &changed).await?;
        act.record(tx, vec![updated(&changed)]).await?;
    }
    Ok(changed)
}

/// Lets `task` wait for none of `on` any longer.
pub async fn undepend(
    tx: &mut Tx<'_>,
    task: BoardTaskId,
    on: &[BoardTaskId],
    act: &Act,
) -> Result<BoardTask, StoreError> {
    lock(tx, "graph").await?;
    let status = lock_tasks(tx, on.iter().copied()).await?;
    let mut changed = rows::get_for_update(tx, task).await?;
    let (mut removed, mut open) = (0, 0);
    for on in on {
        let sql = "DELETE FROM board_dependencies WHERE task = $1 AND depends_on = $2";
        let params = [Value::written(task), Value::written(on)];
        if tx.execute(sql, &params).await? == 1 {
            removed += 1;
            open += i64::from(status.get(on) != Some(&BoardTaskStatus::Done));
        }
    }
    if removed > 0 {
        let sql = "UPDATE board_tasks SET open_dependencies = open_dependencies - $2 WHERE id = $1";
        tx.execute(sql, &[Value::written(task), open.into()])
            .await?;
        changed.updated_at = act.now;
        rows::store_status(tx, &changed).await?;
        act.record(tx, vec![updated(&changed)]).await?;
    }
    Ok(changed)
}

/// What a task depends on, by number.
pub async fn dependencies(
    tx: &mut Tx<'_>,
    task: BoardTaskId,
) -> Result<Vec<Dependency>, StoreError> {
    let sql = "SELECT other.id, other.number, other.title, other.status FROM board_dependencies \
         JOIN board_tasks other ON other.id = depends_on WHERE task = $1 ORDER BY other.number";
    described(tx, sql, task).await
}

/// What depends on a task, by number.
pub async fn dependents(tx: &mut Tx<'_>, task: BoardTaskId) -> Result<Vec<Dependency>, StoreError> {
    let sql = "SELECT other.id, other.number, other.title, other.status FROM board_dependencies \
         JOIN board_tasks other ON other.id = task WHERE depends_on = $1 ORDER BY other.number";
    described(tx, sql, task).await
}

/// How many tasks that are not over depend on this one, also by way of others.
pub async fn waiting_for(tx: &mut Tx<'_>, task: BoardTaskId) -> Result<u32, StoreError> {
    let sql = "WITH RECURSIVE waiting (task) AS ( \
         SELECT task FROM board_dependencies WHERE depends_on = $1 \
         UNION SELECT d.task FROM board_dependencies d JOIN waiting w ON d.depends_on = w.task) \
         SELECT count(*) FROM waiting w JOIN board_tasks t ON t.id = w.task \
         WHERE t.status NOT IN ('done', 'failed')";
    let row = tx.query_one(sql, &[Value::written(task)]).await?;
    let count: i64 = row.map_or(Ok(0), |row| row.get(0))?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

async fn described(
    tx: &mut Tx<'_>,
    sql: &str,
    task: BoardTaskId,
) -> Result<Vec<Dependency>, StoreError> {
    let found = tx.query(sql, &[Value::written(task)]).await?;
    let describe = |row: &crate::Row| {
        Ok(Dependency {
            id: row.parse(0)?,
            number: TaskNumber(row.get(1)?),
            title: row.get(2)?,
            status: row.parse(3)?,
        })
    };
    found.iter().map(describe).collect()
}

/// Which of these tasks depends on which others, each with all it depends on.
pub async fn edges_among(
    tx: &mut Tx<'_>,
    tasks: &[BoardTaskId],
) -> Result<BTreeMap<BoardTaskId, Vec<BoardTaskId>>, StoreError> {
    let mut found = BTreeMap::new();
    for (task, on) in edges_from(tx, tasks.iter().copied()).await? {
        found.entry(task).or_insert_with(Vec::new).push(on);
    }
    Ok(found)
}

/// Adds edges that make no cycle, keeping the counts. What is depended on must
/// exist. Names are those of tasks that the person does not know by number yet.
/// Says how many were new.
pub(super) async fn connect(
    tx: &mut Tx<'_>,
    edges: &[Edge],
    names: &HashMap<BoardTaskId, String>,
) -> Result<usize, StoreError> {
    if edges.is_empty() {
        return Ok(0);
    }
    let wanted = edges.iter().map(|(_, on)| *on);
    let status = lock_tasks(tx, wanted).await?;
    refuse_cycle(tx, edges, names).await?;
    let mut open: BTreeMap<BoardTaskId, i64> = BTreeMap::new();
    let mut added = 0;
    for (task, on) in edges {
        let Some(on_status) = status.get(on) else {
            return Err(StoreError::not_found("task", on));
        };
        let sql = "INSERT INTO board_dependencies (task, depends_on) VALUES ($1, $2) \
             ON CONFLICT DO NOTHING";
        let params = [Value::written(task), Value::written(on)];
        if tx.execute(sql, &params).await? == 1 {
            added += 1;
            *open.entry(*task).or_default() += i64::from(*on_status != BoardTaskStatus::Done);
        }
    }
    for (task, count) in open.into_iter().filter(|(_, count)| *count > 0) {
        let sql = "UPDATE board_tasks SET open_dependencies = open_dependencies + $2 WHERE id = $1";
        tx.execute(sql, &[Value::written(task), count.into()])
            .await?;
    }
    Ok(added)
}

/// A task is done: those that waited for it wait for one less.
pub(super) async fn release_dependents(
    tx: &mut Tx<'_>,
    task: BoardTaskId,
) -> Result<(), StoreError> {
    // In one order, or two tasks that end together could wait for each other.
    let sql = format!(
        "SELECT id FROM board_tasks WHERE id IN \
             (SELECT task FROM board_dependencies WHERE depends_on = $1) ORDER BY id{}",
        tx.for_update()
    );
    tx.query(&sql, &[Value::written(task)]).await?;
    let sql = "UPDATE board_tasks SET open_dependencies = open_dependencies - 1 WHERE id IN \
         (SELECT task FROM board_dependencies WHERE depends_on = $1)";
    tx.execute(sql, &[Value::written(task)]).await.map(drop)
}

/// What waits for the first task waits for the second from now on, neither of which
/// is done. A task that the second waits for itself waits for neither. What is to be
/// recorded of it, for the caller.
pub(super) async fn move_dependents(
    tx: &mut Tx<'_>,
    from: BoardTaskId,
    to: BoardTaskId,
    act: &Act,
) -> Result<Vec<Event>, StoreError> {
    let sql = format!(
        "SELECT {} FROM board_tasks WHERE id IN \
             (SELECT task FROM board_dependencies WHERE depends_on = $1) ORDER BY id{}",
        rows::TASK,
        tx.for_update()
    );
    let dependents = rows::tasks(&tx.query(&sql, &[Value::written(from)]).await?)?;
    if dependents.is_empty() {
        return Ok(Vec::new());
    }
    let before = waited_for(tx, to).await?;
    let mut events = Vec::with_capacity(dependents.len());
    for mut task in dependents {
        let sql = "DELETE FROM board_dependencies WHERE task = $1 AND depends_on = $2";
        tx.execute(sql, &[Value::written(task.id), Value::written(from)])
            .await?;
        let moved = if before.contains(&task.id) {
            0
        } else {
            let sql = "INSERT INTO board_dependencies (task, depends_on) VALUES ($1, $2) \
                 ON CONFLICT DO NOTHING";
            tx.execute(sql, &[Value::written(task.id), Value::written(to)])
                .await?
        };
        if moved == 0 {
            let sql =
                "UPDATE board_tasks SET open_dependencies = open_dependencies - 1 WHERE id = $1";
            tx.execute(sql, &[Value::written(task.id)]).await?;
        }
        task.updated_at = act.now;
        rows::store_status(tx, &task).await?;
        events.push(updated(&task));
    }
    Ok(events)
}

/// A task, and all it waits for, also by way of others.
async fn waited_for(
    tx: &mut Tx<'_>,
    task: BoardTaskId,
) -> Result<HashSet<BoardTaskId>, StoreError> {
    let sql = "WITH RECURSIVE waited (task) AS ( \
         SELECT id FROM board_tasks WHERE id = $1 \
         UNION SELECT d.depends_on FROM board_dependencies d JOIN waited w ON d.task = w.task) \
         SELECT task FROM waited";
    let found = tx.query(sql, &[Value::written(task)]).await?;
    found.iter().map(|row| row.parse(0)).collect()
}

/// Locks the tasks in one order and says how each stands; one that does not
/// exist is not in the answer.
async fn lock_tasks(
    tx: &mut Tx<'_>,
    tasks: impl Iterator<Item = BoardTaskId>,
) -> Result<HashMap<BoardTaskId, BoardTaskStatus>, StoreError> {
    let ids: Vec<_> = tasks.collect::<BTreeSet<_>>().into_iter().collect();
    let mut status = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        let sql = format!(
            "SELECT id, status FROM board_tasks WHERE id IN ({}) ORDER BY id{}",
            placeholders(1, chunk.len()),
            tx.for_update()
        );
        let params: Vec<_> = chunk.iter().map(Value::written).collect();
        for row in tx.query(&sql, &params).await? {
            status.insert(row.parse(0)?, row.parse(1)?);
        }
    }
    Ok(status)
}

async fn edges_from(
    tx: &mut Tx<'_>,
    tasks: impl Iterator<Item = BoardTaskId>,
) -> Result<Vec<Edge>, StoreError> {
    let ids: Vec<_> = tasks.collect();
    let mut edges = Vec::new();
    for chunk in ids.chunks(CHUNK) {
        let sql = format!(
            "SELECT task, depends_on FROM board_dependencies WHERE task IN ({}) \
             ORDER BY task, depends_on",
            placeholders(1, chunk.len())
        );
        let params: Vec<_> = chunk.iter().map(Value::written).collect();
        for row in tx.query(&sql, &params).await? {
            edges.push((row.parse(0)?, row.parse(1)?));
        }
    }
    Ok(edges)
}

/// Looks whether the new edges close a cycle, and names it if they do. Only
/// what the new edges lead to is read.
async fn refuse_cycle(
    tx: &mut Tx<'_>,
    new: &[Edge],
    names: &HashMap<BoardTaskId, String>,
) -> Result<(), StoreError> {
    let mut follows: HashMap<BoardTaskId, Vec<BoardTaskId>> = HashMap::new();
    for (task, on) in new {
        follows.entry(*task).or_default().push(*on);
    }
    // Tasks that are new have no edges but the new ones.
    let mut seen: HashSet<BoardTaskId> = HashSet::new();
    let mut frontier: BTreeSet<_> = new.iter().map(|(_, on)| *on).collect();
    // Unless an edge leads from a task that was there, nothing can come back.
    let closes = new.iter().any(|(task, _)| !names.contains_key(task));
    while closes && !frontier.is_empty() {
        let known: Vec<_> = frontier
            .iter()
            .copied()
            .filter(|id| !names.contains_key(id))
            .collect();
        seen.extend(frontier.iter().copied());
        let found = edges_from(tx, known.into_iter()).await?;
        let further = frontier
            .iter()
            .filter_map(|id| follows.get(id))
            .flatten()
            .copied()
            .collect::<Vec<_>>();
        frontier = found.iter().map(|(_, on)| *on).chain(further).collect();
        frontier.retain(|id| !seen.contains(id));
        for (task, on) in found {
            follows.entry(task).or_default().push(on);
        }
    }
    match cycle(&follows) {
        None => Ok(()),
        Some(cycle) => {
            let mut shown = Vec::with_capacity(cycle.len());
            for id in &cycle {
                shown.push(match names.get(id) {
                    Some(name) => name.clone(),
                    None => number_of(tx, *id).await?,
                });
            }
            Err(StoreError::conflict(format!(
                "these tasks would wait for each other: {}",
                shown.join(" → ")
            )))
        }
    }
}

async fn number_of(tx: &mut Tx<'_>, id: BoardTaskId) -> Result<String, StoreError> {
    let sql = "SELECT number FROM board_tasks WHERE id = $1";
    match tx.query_one(sql, &[Value::written(id)]).await? {
        Some(row) => Ok(TaskNumber(row.get(0)?).to_string()),
        None => Ok(id.to_string()),
    }
}

/// A cycle, from a task back to itself. Without recursion: a chain may be as
/// long as the board.
fn cycle(follows: &HashMap<BoardTaskId, Vec<BoardTaskId>>) -> Option<Vec<BoardTaskId>> {
    let mut done: HashSet<BoardTaskId> = HashSet::new();
    let mut starts: Vec<_> = follows.keys().copied().collect();
    starts.sort_unstable();
    for start in starts {
        if done.contains(&start) {
            continue;
        }
        let mut path = vec![(start, 0_usize)];
        let mut on_path = HashSet::from([start]);
        while let Some((task, next)) = path.last_mut() {
            match follows.get(task).and_then(|on| on.get(*next)) {
                Some(&on) => {
                    *next += 1;
                    if on_path.contains(&on) {
                        let from = path.iter().position(|(id, _)| *id == on).unwrap_or(0);
                        let mut cycle: Vec<_> = path[from..].iter().map(|(id, _)| *id).collect();
                        cycle.push(on);
                        return Some(cycle);
                    }
                    if !done.contains(&on) {
                        path.push((on, 0));
                        on_path.insert(on);
                    }
                }
                None => {
                    let task = *task;
                    done.insert(task);
                    on_path.remove(&task);
                    path.pop();
                }
            }
        }
    }
    None
}
