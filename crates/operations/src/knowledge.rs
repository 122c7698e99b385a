//! Knowledge: remembering, finding, setting right, letting go.

mod convert;

pub use self::convert::wire_draft;

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::knowledge::{
    KbConflictList, KbConflicts, KbConflictsParams, KbDecide, KbDecideParams, KbDecided,
    KbDecision, KbDraft, KbEdge, KbEntryView, KbExport, KbExportPage, KbExportParams, KbForget,
    KbForgetParams, KbForgotten, KbGc, KbGcAction, KbGcParams, KbGcReport, KbGet, KbGetParams,
    KbInbox, KbInboxPage, KbLink, KbLinkParams, KbList, KbListPage, KbListParams, KbMap,
    KbMapParams, KbMapResult, KbProposal, KbPropose, KbReembed, KbRemember, KbRemembered, KbSearch,
    KbSearchParams, KbSearchResult, KbStats, KbStatsReport,
};
use missiond_core::{AuthorTier, ErrorCode, PrincipalKind};
use missiond_memory::knowledge::NewEdge;
use missiond_store::knowledge::EntryFilter;

use crate::call::{Call, Operations};

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

pub(super) async fn search(call: Call, params: KbSearchParams) -> Result<KbSearchResult, ApiError> {
    let found = call.daemon.knowledge.search(convert::query(params)).await;
    found
        .map(convert::search_result)
        .map_err(|error| convert::error(&error))
}

async fn get(call: Call, params: KbGetParams) -> Result<KbEntryView, ApiError> {
    let scope = params.scope.unwrap_or_default();
    let found = call.daemon.knowledge.get(&params.entry, &scope).await;
    found
        .map(convert::entry_view)
        .map_err(|error| convert::error(&error))
}

async fn remember(call: Call, draft: KbDraft) -> Result<KbRemembered, ApiError> {
    check_tier(&call, &draft)?;
    let draft = convert::draft(draft);
    let remembered = call.daemon.knowledge.remember(draft, call.trace).await;
    remembered
        .map(convert::remembered)
        .map_err(|error| convert::error(&error))
}

/// What a person says is believed most, so nothing else may say it for them.
fn check_tier(call: &Call, draft: &KbDraft) -> Result<(), ApiError> {
    if !call.principal.is_person() && draft.tier == Some(AuthorTier::Person) {
        let who = match call.principal.kind() {
            PrincipalKind::Program => "a program with a token",
            PrincipalKind::Commander | PrincipalKind::Agent => "an agent",
            _ => "whoever is no person",
        };
        let message = format!(
            "{who} cannot speak as a person: leave `tier` out, and a person can say it again with \
             `mission kb edit`"
        );
        return Err(ApiError::new(ErrorCode::Forbidden, message));
    }
    Ok(())
}

async fn link(call: Call, params: KbLinkParams) -> Result<KbEdge, ApiError> {
    let tier = if call.principal.is_person() {
        AuthorTier::Person
    } else {
        AuthorTier::Agent
    };
    let new = NewEdge {
        from: params.from,
        to: params.to,
        kind: params.kind,
        reason: params.reason.into_string(),
    };
    let edge = call.daemon.knowledge.link(new, tier).await;
    edge.map_err(|error| convert::error(&error))
}

async fn conflicts(call: Call, params: KbConflictsParams) -> Result<KbConflictList, ApiError> {
    let limit = params.limit.to_u32();
    let found = call.daemon.knowledge.conflicts(limit).await;
    let found = found.map_err(|error| convert::error(&error))?;
    Ok(KbConflictList {
        conflicts: found.into_iter().map(convert::conflict).collect(),
    })
}

async fn propose(call: Call, draft: KbDraft) -> Result<KbProposal, ApiError> {
    check_tier(&call, &draft)?;
    let draft = convert::draft(draft);
    let proposed = call.daemon.knowledge.propose(draft, call.trace).await;
    proposed
        .map(convert::proposal)
        .map_err(|error| convert::error(&error))
}

async fn inbox(call: Call, _: NoParams) -> Result<KbInboxPage, ApiError> {
    let page = call.daemon.knowledge.inbox().await;
    let page = page.map_err(|error| convert::error(&error))?;
    Ok(KbInboxPage {
        proposals: page.items.into_iter().map(convert::proposal).collect(),
        more: page.more,
    })
}

async fn decide(call: Call, params: KbDecideParams) -> Result<KbDecided, ApiError> {
    let KbDecideParams { proposal, decision } = params;
    let knowledge = &call.daemon.knowledge;
    let remembered = match decision {
        KbDecision::Accept => {
            let accepted = knowledge.accept(proposal, call.trace).await;
            Some(accepted.map_err(|error| convert::error(&error))?)
        }
        KbDecision::Reject => {
            let rejected = knowledge.reject(proposal).await;
            rejected.map_err(|error| convert::error(&error))?;
            None
        }
    };
    Ok(KbDecided {
        proposal,
        remembered: remembered.map(convert::remembered),
    })
}

async fn forget(call: Call, params: KbForgetParams) -> Result<KbForgotten, ApiError> {
    let scope = params.scope.unwrap_or_default();
    let knowledge = &call.daemon.knowledge;
    let forgotten = knowledge.forget(params.entry, scope, call.trace).await;
    let forgotten = forgotten.map_err(|error| convert::error(&error))?;
    Ok(KbForgotten {
        id: forgotten.id,
        summary: forgotten.summary,
    })
}

async fn collect(call: Call, params: KbGcParams) -> Result<KbGcReport, ApiError> {
    let KbGcParams { action, in_days } = params;
    let (knowledge, in_days) = (&call.daemon.knowledge, in_days.get());
    let entries = match action {
        KbGcAction::Preview => knowledge.preview_collection(in_days).await,
        KbGcAction::Archive => knowledge.collect(in_days, call.trace).await,
        KbGcAction::Undo => knowledge.undo_collection(call.trace).await,
    };
    let entries = entries.map_err(|error| convert::error(&error))?;
    Ok(KbGcReport {
        action,
        entries: entries.into_iter().map(convert::collected).collect(),
    })
}

async fn list(call: Call, params: KbListParams) -> Result<KbListPage, ApiError> {
    let which = if params.archived {
        EntryFilter::Archived
    } else {
        EntryFilter::InUse
    };
    let (limit, offset) = (params.limit.to_u32(), params.offset.to_u32());
    let knowledge = &call.daemon.knowledge;
    let page = knowledge.list(params.category, which, limit, offset).await;
    let page = page.map_err(|error| convert::error(&error))?;
    Ok(KbListPage {
        entries: page.items.into_iter().map(convert::listed).collect(),
        more: page.more,
    })
}

async fn map(call: Call, params: KbMapParams) -> Result<KbMapResult, ApiError> {
    let map = call.daemon.knowledge.map(params.limit).await;
    map.map(convert::map_result)
        .map_err(|error| convert::error(&error))
}

async fn export(call: Call, params: KbExportParams) -> Result<KbExportPage, ApiError> {
    let page = call.daemon.knowledge.export(params.after).await;
    let page = page.map_err(|error| convert::error(&error))?;
    Ok(KbExportPage {
        entries: page.items,
        more: page.more,
    })
}

async fn stats(call: Call, _: NoParams) -> Result<KbStatsReport, ApiError> {
    let stats = call.daemon.knowledge.stats().await;
    stats
        .map(convert::stats_report)
        .map_err(|error| convert::error(&error))
}

async fn reembed(call: Call, params: NoParams) -> Result<KbStatsReport, ApiError> {
    call.daemon.knowledge.retry_provider();
    stats(call, params).await
}
