//! Handlers of what agents are told beside their first prompt.

mod convert;

use missiond_api::ApiError;
use missiond_api::operations::context::{
    ContextPreview, ContextPreviewParams, ContextShow, ContextShowParams, ContextView, SkillList,
    SkillListParams, SkillListResult,
};
use missiond_briefing::BriefingRequest;
use missiond_core::{CliEngine, ErrorCode};

use crate::call::{Call, Operations};

pub(super) fn register(operations: &mut Operations) {
    operations.add::<ContextPreview, _, _>(preview);
    operations.add::<ContextShow, _, _>(show);
    operations.add::<SkillList, _, _>(skills);
}

async fn preview(call: Call, params: ContextPreviewParams) -> Result<ContextView, ApiError> {
    let task = match params.task {
        Some(named) => {
            let found = call.daemon.board.find(named).await;
            Some(found.map_err(|error| ApiError::new(error.code(), error.to_string()))?)
        }
        None => None,
    };
    let repository = task.as_ref().and_then(|task| task.repository.clone());
    let cwd = match (params.cwd, repository) {
        (Some(cwd), _) => cwd.into(),
        (None, Some(repository)) => repository,
        (None, None) => {
            let message = "say in which folder the agent would work: `cwd`";
            return Err(ApiError::invalid_params(message));
        }
    };
    let prompt = match (params.prompt, &task) {
        (Some(prompt), _) => prompt.into_string(),
        (None, Some(task)) => format!("{}\n\n{}", task.title, task.description),
        (None, None) => {
            let message = "say what the agent would be asked: `prompt` or `task`";
            return Err(ApiError::invalid_params(message));
        }
    };
    let of_task = task.as_ref().and_then(|task| task.engine.clone());
    let engine = match (params.engine, of_task, &task) {
        (Some(engine), ..) | (None, Some(engine), _) => engine,
        (None, None, Some(_)) => call.daemon.config().autopilot.engine.clone(),
        (None, None, None) => CliEngine::Claude,
    };
    let made = call.daemon.context.make(BriefingRequest {
        engine,
        cwd,
        prompt,
        task,
        slot: None,
        conversation: None,
        tokens: params.tokens.map(|tokens| tokens.to_u32()),
    });
    Ok(convert::view(made.await.briefing, None))
}

async fn show(call: Call, params: ContextShowParams) -> Result<ContextView, ApiError> {
    let found = call.daemon.executions.find(&params.execution).await;
    let row = found.map_err(|error| ApiError::new(error.code(), error.to_string()))?;
    let shown = call.daemon.context.show(row.id).await;
    let shown = shown.map_err(|error| convert::error(&error))?;
    let briefing = shown.ok_or_else(|| {
        let message = format!(
            "no context was made for {}: it has had no first prompt, `context.enabled` was off, \
             or its snapshot is older than `context.keep_days`",
            row.id
        );
        ApiError::new(ErrorCode::NotFound, message)
    })?;
    Ok(convert::view(briefing, Some(row.id)))
}

async fn skills(call: Call, params: SkillListParams) -> Result<SkillListResult, ApiError> {
    let listing = call.daemon.context.skills(params.cwd.into()).await;
    listing
        .map(convert::skill_list)
        .map_err(|error| convert::error(&error))
}
