//! Tasks whose work is judged in a pull request.

use missiond_core::machines::Machine;
use missiond_core::{BoardTask, BoardTaskId, BoardTaskStatus, PullRequest};

use super::{Act, rows, updated};
use crate::{StoreError, Tx, Value};

/// Keeps the pull request that the work of a task was handed over with. The task waits
/// for it in review; one that is done stays so.
pub async fn hand_over(
    tx: &mut Tx<'_>,
    id: BoardTaskId,
    opened: &PullRequest,
    act: &Act,
) -> Result<BoardTask, StoreError> {
    let mut task = rows::get_for_update(tx, id).await?;
    match task.status {
        BoardTaskStatus::Running => {
            return Err(StoreError::conflict(format!(
                "{} is running: its attempt must end first",
                task.number
            )));
        }
        BoardTaskStatus::Review | BoardTaskStatus::Done => {}
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
