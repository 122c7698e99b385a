//! What agents are told, between its own words and those of the catalogue.

use missiond_api::ApiError;
use missiond_api::operations::context::{ContextView, RefusedSkill, SkillListResult, SkillSummary};
use missiond_briefing::{Briefing, BriefingError, ListedSkill, SkillListing};
use missiond_core::ExecutionId;

pub(super) fn error(error: &BriefingError) -> ApiError {
    ApiError::new(error.code(), error.to_string())
}

/// Of a preview there is no execution.
pub(super) fn view(briefing: Briefing, execution: Option<ExecutionId>) -> ContextView {
    ContextView {
        execution,
        task: briefing.task,
        engine: briefing.engine,
        cwd: briefing.cwd.display().to_string(),
        at: briefing.at,
        budget: briefing.budget,
        used: briefing.used,
        masked: briefing.masked,
        withheld: briefing.withheld,
        items: briefing.items,
        sources: briefing.sources,
        text: briefing.text,
    }
}

pub(super) fn skill_list(listing: SkillListing) -> SkillListResult {
    let refused = |refused: missiond_briefing::RefusedSkill| RefusedSkill {
        path: refused.path.display().to_string(),
        reason: refused.reason,
    };
    SkillListResult {
        skills: listing.skills.into_iter().map(summary).collect(),
        refused: listing.refused.into_iter().map(refused).collect(),
        more: listing.more,
    }
}

fn summary(listed: ListedSkill) -> SkillSummary {
    let ListedSkill { file, read_by } = listed;
    SkillSummary {
        name: file.skill.name,
        description: file.skill.description,
        path: file.path.display().to_string(),
        tokens: u32::try_from(file.tokens).unwrap_or(u32::MAX),
        changed_at: file.changed_at,
        read_by,
    }
}
