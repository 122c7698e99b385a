//! Tasks whose work is judged in a pull request.

use missiond_core::machines::Machine;
use missiond_core::{
    Attempt, BoardTask, BoardTaskId, BoardTaskStatus, Finish, PullRequest, ReviewGate,
};

use super::rows::{self, TASK};
use super::{Act, standing, updated};
use crate::{StoreError, Tx, Value};

/// The tasks in review that have a pull request, or get one without a person, each with
/// its last attempt.
pub async fn with_pull_requests(tx: &mut Tx<'_>) -> Result<Vec<(BoardTask, Attempt)>, StoreError> {
    let sql = format!(
        "SELECT {TASK} FROM board_tasks WHERE status = 'review' AND (pull_request IS NOT NULL \
             OR (finish = $1 AND review = $2)) ORDER BY number"
    );
    let by_itself = [
        Finish::PullRequest.as_str().into(),
        ReviewGate::MergeAtOnce.as_str().into(),
    ];
    let tasks = rows::tasks(&tx.query(&sql, &by_itself).await?)?;
    standing::with_last_attempts(tx, tasks).await
}

/// Keeps the pull request that the work of a task was handed over with. The task waits
/// for it in review; one that is done, or worked on again meanwhile, stays so.
pub async fn hand_over(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    opened: &PullRequest,
    act: &Act,
) -> Result<BoardTask, StoreError> {
    let mut task = rows::get_for_update(tx, id).await?;
    match task.status {
        BoardTaskStatus::Running | BoardTaskStatus::Review | BoardTaskStatus::Done => {}
        status => {
            task.status = status.transition(BoardTaskStatus::Review)?;
            task.blocked = None;
            task.not_before = None;
            task.finished_at = None;
            rows::store_status(tx, &task).await?;
        }
    }
    task.pull_request = Some(opened.clone());
    task.updated_at = act.now;
    let sql = "UPDATE board_tasks SET pull_request = $2, updated_at = $3 WHERE id = $1";
    let params = [
        Value::written(id),
        rows::json(opened)?,
        task.updated_at.into(),
    ];
    tx.execute(sql, &params).await?;
    act.record(tx, vec![updated(&task)]).await?;
    Ok(task)
}
