//! Handlers of plans: reading one as steps, and putting steps on the board.

use std::path::Path;

use missiond_api::ApiError;
use missiond_api::operations::board::Step;
use missiond_api::operations::proposal::{
    BoardAddSteps, BoardAddStepsParams, BoardProposal, BoardPropose, BoardProposeParams, StepsAdded,
};
use missiond_autopilot::board::Part;
use missiond_core::Text;
use missiond_os::expand_home;

use crate::board::of_board;
use crate::call::{Call, Operations};

pub(super) fn register(operations: &mut Operations) {
    operations.add::<BoardPropose, _, _>(propose);
    operations.add::<BoardAddSteps, _, _>(add_steps);
}

async fn propose(call: Call, params: BoardProposeParams) -> Result<BoardProposal, ApiError> {
    let repository = params
        .repository
        .map(|path| expand_home(Path::new(path.as_str())));
    let text = Text::into_string(params.text);
    let board = &call.daemon.board;
    let proposed = board.propose(text, repository, params.template).await;
    let proposed = proposed.map_err(|error| of_board(&error))?;
    let steps = proposed.steps.into_iter().map(|part| Step {
        key: part.key,
        task: part.draft,
        depends_on: part.depends_on,
    });
    Ok(BoardProposal {
        steps: steps.collect(),
        notes: proposed.notes,
    })
}

async fn add_steps(call: Call, params: BoardAddStepsParams) -> Result<StepsAdded, ApiError> {
    let parts = params.steps.map(|step| Part {
        key: step.key,
        draft: step.task,
        depends_on: step.depends_on,
    });
    let added = call.daemon.board.add_steps(parts, call.trace).await;
    let added = added.map_err(|error| of_board(&error))?;
    call.daemon.autopilot.wake();
    Ok(StepsAdded {
        tasks: added.iter().map(Into::into).collect(),
    })
}
