//! `mission kb …`

use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::knowledge::{
    KbConflicts, KbConflictsParams, KbDecide, KbDecideParams, KbDecision, KbDraft, KbForget,
    KbForgetParams, KbGc, KbGcAction, KbGcParams, KbGet, KbGetParams, KbInbox, KbLink,
    KbLinkParams, KbList, KbListParams, KbPropose, KbReembed, KbRemember, KbSearch, KbSearchParams,
    KbStats,
};
use missiond_api::{Client, EXECUTION_VARIABLE};
use missiond_core::{AuthorTier, ErrorCode};

use super::{kb_show, kb_transfer};
use crate::args::{KbCommand, RememberArgs, SearchArgs};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::printable;

pub(super) fn run(
    command: KbCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    match command {
        KbCommand::Search(args) => return search(args, &mut client, output),
        KbCommand::List {
            category,
            archived,
            limit,
            offset,
        } => {
            let params = KbListParams {
                category,
                archived,
                limit,
                offset,
            };
            let page = client.call::<KbList>(&params)?;
            let show = if archived {
                kb_show::archived
            } else {
                kb_show::list
            };
            output.result(&page, show);
        }
        KbCommand::Get { entry, scope } => {
            let view = client.call::<KbGet>(&KbGetParams { entry, scope })?;
            output.result(&view, kb_show::entry);
        }
        KbCommand::Remember(args) => remember(args, &mut client, output)?,
        KbCommand::Edit {
            entry,
            summary,
            detail,
            scope,
        } => {
            let draft = revised(&KbGetParams { entry, scope }, summary, detail, &mut client)?;
            let result = client.call::<KbRemember>(&draft)?;
            output.result(&result, kb_show::remembered);
        }
        KbCommand::Link {
            from,
            kind,
            to,
            reason,
        } => {
            let edge = client.call::<KbLink>(&KbLinkParams {
                from,
                to,
                kind,
                reason,
            })?;
            output.result(&edge, |output, edge| {
                output.line(format!("{} {} {}.", edge.from, edge.kind, edge.to));
            });
        }
        KbCommand::Conflicts { limit } => {
            let list = client.call::<KbConflicts>(&KbConflictsParams { limit })?;
            output.result(&list, kb_show::conflicts);
        }
        KbCommand::Inbox => {
            let page = client.call::<KbInbox>(&NoParams {})?;
            output.result(&page, kb_show::inbox);
        }
        KbCommand::Accept { proposal, reject } => {
            let decision = if reject {
                KbDecision::Reject
            } else {
                KbDecision::Accept
            };
            let decided = client.call::<KbDecide>(&KbDecideParams { proposal, decision })?;
            output.result(&decided, |output, decided| match &decided.remembered {
                Some(result) => kb_show::remembered(output, result),
                None => output.line(format!("{} is rejected.", decided.proposal)),
            });
        }
        KbCommand::Forget { entry, scope } => {
            let gone = client.call::<KbForget>(&KbForgetParams { entry, scope })?;
            output.result(&gone, |output, gone| {
                output.line(format!(
                    "{} is archived: {}",
                    gone.id,
                    printable(&gone.summary)
                ));
            });
        }
        KbCommand::Gc {
            archive,
            undo,
            in_days,
        } => {
            let action = match (archive, undo) {
                (true, _) => KbGcAction::Archive,
                (_, true) => KbGcAction::Undo,
                _ => KbGcAction::Preview,
            };
            let report = client.call::<KbGc>(&KbGcParams { action, in_days })?;
            output.result(&report, kb_show::unused);
        }
        KbCommand::Import { paths, scope } => {
            return kb_transfer::import(&paths, scope.as_deref(), &mut client, output);
        }
        KbCommand::Export { format } => return kb_transfer::export(format, &mut client, output),
        KbCommand::Stats => {
            let report = client.call::<KbStats>(&NoParams {})?;
            output.result(&report, kb_show::stats);
        }
        KbCommand::Reembed => {
            let report = client.call::<KbReembed>(&NoParams {})?;
            output.result(&report, kb_show::stats);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn search(args: SearchArgs, client: &mut Client, output: &mut Output) -> Result<ExitCode, Failure> {
    let explain = args.explain;
    let params = KbSearchParams {
        query: args.query,
        scope: args.scope,
        categories: args.categories,
        explore: args.explore,
        profile: Some(args.profile.into()),
        limit: Some(args.limit),
        offset: args.offset,
    };
    let result = client.call::<KbSearch>(&params)?;
    if let Some(notice) = &result.notice {
        output.notice(notice);
    }
    output.result(&result, |output, result| {
        if result.hits.is_empty() {
            output.line("Nothing was found.");
        }
        for hit in &result.hits {
            kb_show::hit(output, hit);
            if explain {
                kb_show::scores(output, hit);
            }
        }
        if explain {
            let passed = &result.passed;
            output.line(format!(
                "Candidates: {} by words, {} by meaning, {} more to the letter; {} dropped for \
                 being far below the best.",
                passed.by_words, passed.by_meaning, passed.by_letter, passed.dropped
            ));
        }
        if result.more {
            output.line("There is more: --offset passes over what was shown.");
        }
    });
    Ok(ExitCode::SUCCESS)
}

fn remember(args: RememberArgs, client: &mut Client, output: &mut Output) -> Result<(), Failure> {
    let propose = args.propose;
    let draft = draft(args)?;
    if propose {
        let proposal = client.call::<KbPropose>(&draft)?;
        output.result(&proposal, |output, proposal| {
            output.line(match proposal.entry {
                Some(entry) => format!("{entry} was accepted by rule."),
                None => format!("{} waits in the inbox.", proposal.id),
            });
        });
    } else {
        let result = client.call::<KbRemember>(&draft)?;
        output.result(&result, kb_show::remembered);
    }
    Ok(())
}

/// An entry in other words; what is not given stays as it is.
fn revised(
    entry: &KbGetParams,
    summary: String,
    detail: Option<String>,
    client: &mut Client,
) -> Result<KbDraft, Failure> {
    let old = client.call::<KbGet>(entry)?.entry;
    Ok(KbDraft {
        summary,
        detail: detail.unwrap_or(old.detail),
        key: Some(old.key),
        category: Some(old.category),
        labels: old.labels,
        scope: old.scope,
        source: Some(old.source),
        tier: Some(most_believed()),
        ..KbDraft::default()
    })
}

/// What is said at this place is believed no more than this. Agents are known by
/// the execution they run in.
pub(super) fn most_believed() -> AuthorTier {
    match std::env::var_os(EXECUTION_VARIABLE) {
        Some(_) => AuthorTier::Agent,
        None => AuthorTier::Person,
    }
}

fn draft(args: RememberArgs) -> Result<KbDraft, Failure> {
    let most = most_believed();
    let tier = args.tier.unwrap_or(most);
    if tier > most {
        let message = "an agent cannot speak as a person: leave --tier out";
        return Err(Failure::new(ErrorCode::Forbidden, message));
    }
    Ok(KbDraft {
        summary: args.summary,
        detail: args.detail,
        key: args.key,
        category: args.category,
        labels: args.labels,
        scope: args.scope,
        source: args.source,
        tier: Some(tier),
        ..KbDraft::default()
    })
}
