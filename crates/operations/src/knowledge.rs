//! Knowledge: remembering, finding, setting right, letting go.

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::knowledge::{
    KbConflictList, KbConflicts, KbConflictsParams, KbDecide, KbDecideParams, KbDecided, KbDraft,
    KbEdge, KbEntryView, KbExport, KbExportPage, KbExportParams, KbForget, KbForgetParams,
    KbForgotten, KbGc, KbGcParams, KbGcReport, KbGet, KbGetParams, KbInbox, KbInboxPage, KbLink,
    KbLinkParams, KbList, KbListPage, KbListParams, KbMap, KbMapParams, KbMapResult, KbProposal,
    KbPropose, KbReembed, KbRemember, KbRemembered, KbSearch, KbSearchParams, KbSearchResult,
    KbStats, KbStatsReport,
};
use missiond_core::{AuthorTier, ErrorCode};

use crate::call::{Asker, Call, Operations};

pub(super) fn register(operations: &mut Operations) {
    operations.add::<KbSearch, _, _>(search);
    operations.add::<KbGet, _, _>(get);
    operations.add::<KbRemember, _, _>(remember);
    operations.add::<KbLink, _, _>(link);
    operations.add::<KbConflicts, _, _>(conflicts);
    operations.add::<KbPropose, _, _>(propose);
    operations.add::<KbInbox, _, _>(inbox);
    operations.add::<KbDecide, _, _>(decide);
    operations.add::<KbForget, _, _>(forget);
    operations.add::<KbGc, _, _>(collect);
    operations.add::<KbList, _, _>(list);
    operations.add::<KbMap, _, _>(map);
    operations.add::<KbExport, _, _>(export);
    operations.add::<KbStats, _, _>(stats);
    operations.add::<KbReembed, _, _>(reembed);
}

async fn search(call: Call, params: KbSearchParams) -> Result<KbSearchResult, ApiError> {
    Ok(call.daemon.knowledge.search(params).await?)
}

async fn get(call: Call, params: KbGetParams) -> Result<KbEntryView, ApiError> {
    let scope = params.scope.unwrap_or_default();
    Ok(call.daemon.knowledge.get(&params.entry, &scope).await?)
}

async fn remember(call: Call, draft: KbDraft) -> Result<KbRemembered, ApiError> {
    check_tier(&call, &draft)?;
    Ok(call.daemon.knowledge.remember(draft, call.trace).await?)
}

/// What a person says is believed most, so nothing else may say it for them.
fn check_tier(call: &Call, draft: &KbDraft) -> Result<(), ApiError> {
    let who = match call.asker {
        Asker::Person => return Ok(()),
        Asker::Program => "a program with a token",
        Asker::Agent => "an agent",
    };
    if draft.tier == Some(AuthorTier::Person) {
        let message = format!(
            "{who} cannot speak as a person: leave `tier` out, and a person can say it again with \
             `mission kb edit`"
        );
        return Err(ApiError::new(ErrorCode::Forbidden, message));
    }
    Ok(())
}

async fn link(call: Call, params: KbLinkParams) -> Result<KbEdge, ApiError> {
    let tier = match call.asker {
        Asker::Person => AuthorTier::Person,
        Asker::Program | Asker::Agent => AuthorTier::Agent,
    };
    Ok(call.daemon.knowledge.link(params, tier).await?)
}

async fn conflicts(call: Call, params: KbConflictsParams) -> Result<KbConflictList, ApiError> {
    let limit = params.limit.to_u32();
    Ok(call.daemon.knowledge.conflicts(limit).await?)
}

async fn propose(call: Call, draft: KbDraft) -> Result<KbProposal, ApiError> {
    check_tier(&call, &draft)?;
    Ok(call.daemon.knowledge.propose(draft, call.trace).await?)
}

async fn inbox(call: Call, _: NoParams) -> Result<KbInboxPage, ApiError> {
    Ok(call.daemon.knowledge.inbox().await?)
}

async fn decide(call: Call, params: KbDecideParams) -> Result<KbDecided, ApiError> {
    let KbDecideParams { proposal, decision } = params;
    Ok(call
        .daemon
        .knowledge
        .decide(proposal, decision, call.trace)
        .await?)
}

async fn forget(call: Call, params: KbForgetParams) -> Result<KbForgotten, ApiError> {
    let scope = params.scope.unwrap_or_default();
    Ok(call
        .daemon
        .knowledge
        .forget(params.entry, scope, call.trace)
        .await?)
}

async fn collect(call: Call, params: KbGcParams) -> Result<KbGcReport, ApiError> {
    Ok(call.daemon.knowledge.collect(params, call.trace).await?)
}

async fn list(call: Call, params: KbListParams) -> Result<KbListPage, ApiError> {
    Ok(call.daemon.knowledge.list(params).await?)
}

async fn map(call: Call, params: KbMapParams) -> Result<KbMapResult, ApiError> {
    Ok(call.daemon.knowledge.map(params).await?)
}

async fn export(call: Call, params: KbExportParams) -> Result<KbExportPage, ApiError> {
    Ok(call.daemon.knowledge.export(params.after).await?)
}

async fn stats(call: Call, _: NoParams) -> Result<KbStatsReport, ApiError> {
    Ok(call.daemon.knowledge.stats().await?)
}

async fn reembed(call: Call, _: NoParams) -> Result<KbStatsReport, ApiError> {
    call.daemon.knowledge.look_again();
    Ok(call.daemon.knowledge.stats().await?)
}
