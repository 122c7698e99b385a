//! What the board keeps of pull requests.

use missiond_core::{BoardTask, BoardTaskId, PullRequest, TraceContext};
use missiond_store::board as store;

use super::{Board, BoardError};

impl Board {
    /// The work of a task is in this pull request: the task waits for it.
    pub(crate) async fn hand_over(
        &self,
        task: BoardTaskId,
        opened: PullRequest,
        trace: TraceContext,
    ) -> Result<BoardTask, BoardError> {
        let act = self.act(trace);
        let kept = self.db.write(move |tx| {
            Box::pin(async move { store::hand_over(tx, task, &opened, &act).await })
        });
        Ok(kept.await?)
    }
}
