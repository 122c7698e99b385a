//! `mission kb …`

use std::process::ExitCode;

use missiond_api::EXECUTION_VARIABLE;
use missiond_api::operations::NoParams;
use missiond_api::operations::knowledge::{
    KbChange, KbConflicts, KbConflictsParams, KbDecide, KbDecideParams, KbDecision, KbDraft,
    KbForget, KbForgetParams, KbGc, KbGcAction, KbGcParams, KbGet, KbGetParams, KbHit, KbInbox,
    KbLink, KbLinkParams, KbPropose, KbReembed, KbRemember, KbRemembered, KbSearch, KbSearchParams,
    KbStats, KbStatsReport,
};
use missiond_core::{AuthorTier, ErrorCode};

use super::kb_transfer;
use crate::args::{KbCommand, RememberArgs, SearchArgs};
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, printable};

pub(super) fn run(
    command: KbCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    match command {
        KbCommand::Search(args) => return search(args, &mut client, output),
        KbCommand::Get { entry, scope } => {
            let view = client.call::<KbGet>(&KbGetParams { entry, scope })?;
            output.result(&view, |output, view| {
                let entry = &view.entry;
                output.line(format!(
                    "{}  {}  {}",
                    entry.id,
                    entry.category,
                    printable(&entry.key)
                ));
                output.line(printable(&entry.summary));
                for line in entry.detail.lines() {
                    output.line(format!("    {}", printable(line)));
                }
                let scope = entry.scope.as_deref().unwrap_or("all projects");
                output.line(format!(
                    "from {}, {} ({}), verified {}, trust {:.2}, confidence {:.2}, utility {:.2}, {}",
                    printable(&entry.source),
                    printable(&entry.author),
                    entry.tier.name(),
                    entry.verified_at,
                    entry.trust,
                    entry.confidence,
                    entry.utility,
                    printable(scope)
                ));
                for edge in &view.edges {
                    let (word, other) = if edge.from == entry.id {
                        ("", edge.to)
                    } else {
                        ("is what another ", edge.from)
                    };
                    let reason = printable(&edge.reason);
                    let until = edge
                        .ended_at
                        .map_or(String::new(), |at| format!(" until {at}"));
                    output.line(format!("{word}{} {other}{until}: {reason}", edge.kind));
                }
                for old in view.history.iter().rev().skip(1) {
                    let said = printable(&old.summary);
                    output.line(format!("revision {} of {}: {said}", old.revision, old.at));
                }
            });
        }
        KbCommand::Remember(args) => {
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
                output.result(&result, remembered);
            }
        }
        KbCommand::Edit {
            entry,
            summary,
            detail,
            scope,
        } => {
            let params = KbGetParams { entry, scope };
            let old = client.call::<KbGet>(&params)?.entry;
            let draft = KbDraft {
                summary,
                detail: detail.unwrap_or(old.detail),
                key: Some(old.key),
                category: Some(old.category),
                labels: old.labels,
                scope: old.scope,
                source: Some(old.source),
                tier: Some(most_believed()),
                ..KbDraft::default()
            };
            let result = client.call::<KbRemember>(&draft)?;
            output.result(&result, remembered);
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
            output.result(&list, |output, list| {
                if list.conflicts.is_empty() {
                    output.line("No entries contradict each other.");
                }
                for conflict in &list.conflicts {
                    let edge = &conflict.edge;
                    output.line(format!("{}  {}", edge.from, printable(&conflict.newer)));
                    output.line(format!("{}  {}", edge.to, printable(&conflict.older)));
                    output.line(format!("    {}", printable(&edge.reason)));
                }
                if !list.conflicts.is_empty() {
                    output.line(
                        "`mission kb edit ID TEXT` says one of two anew, `mission kb forget ID` \
                         takes it out of use.",
                    );
                }
            });
        }
        KbCommand::Inbox => {
            let page = client.call::<KbInbox>(&NoParams {})?;
            output.result(&page, |output, page| {
                if page.proposals.is_empty() {
                    output.line("The inbox is empty.");
                }
                for proposal in &page.proposals {
                    let summary = printable(&proposal.draft.summary);
                    let source = printable(&proposal.source);
                    output.line(format!("{}  {summary}  (from {source})", proposal.id));
                }
                if !page.proposals.is_empty() {
                    output.line(
                        "`mission kb accept ID` makes one an entry, with --reject it is dropped.",
                    );
                }
            });
        }
        KbCommand::Accept { proposal, reject } => {
            let decision = if reject {
                KbDecision::Reject
            } else {
                KbDecision::Accept
            };
            let decided = client.call::<KbDecide>(&KbDecideParams { proposal, decision })?;
            output.result(&decided, |output, decided| match &decided.remembered {
                Some(result) => remembered(output, result),
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
            output.result(&report, |output, report| {
                for entry in &report.entries {
                    let summary = printable(&entry.summary);
                    output.line(format!("{}  {summary}", entry.id));
                    output.line(format!("    {}", entry.why));
                }
                let count = report.entries.len();
                output.line(match report.action {
                    KbGcAction::Preview => {
                        format!("{count} could go; `mission kb gc --archive` archives them.")
                    }
                    KbGcAction::Archive => {
                        format!("{count} archived; `mission kb gc --undo` brings them back.")
                    }
                    KbGcAction::Undo => format!("{count} brought back."),
                });
            });
        }
        KbCommand::Import { paths, scope } => {
            return kb_transfer::import(&paths, scope.as_deref(), &mut client, output);
        }
        KbCommand::Export { format } => return kb_transfer::export(format, &mut client, output),
        KbCommand::Stats => {
            let report = client.call::<KbStats>(&NoParams {})?;
            output.result(&report, stats);
        }
        KbCommand::Reembed => {
            let report = client.call::<KbReembed>(&NoParams {})?;
            output.result(&report, stats);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn search(
    args: SearchArgs,
    client: &mut missiond_api::Client,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
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
            show_hit(output, hit);
            if explain {
                explain_hit(output, hit);
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

fn show_hit(output: &mut Output, hit: &KbHit) {
    // What stands in lines of its own in an entry is told apart in one line, too.
    let line = |text: &str| printable(&text.replace('\n', " · "));
    let key = output.paint.apply(Style::Bold, &printable(&hit.key));
    output.line(format!("{key}  {}  {}", hit.category, hit.id));
    let mut shown = String::new();
    let mut at = 0;
    for &(start, end) in &hit.highlights {
        if let (Some(before), Some(found)) =
            (hit.snippet.get(at..start), hit.snippet.get(start..end))
        {
            shown.push_str(&line(before));
            shown.push_str(&output.paint.apply(Style::Yellow, &line(found)));
            at = end;
        }
    }
    shown.push_str(&line(hit.snippet.get(at..).unwrap_or("")));
    output.line(format!("    {shown}"));
    if let Some(other) = hit.superseded_by {
        output.line(format!("    {other} holds instead of it"));
    }
}

fn explain_hit(output: &mut Output, hit: &KbHit) {
    let scores = &hit.scores;
    let rank = |rank: Option<u32>| rank.map_or("-".to_owned(), |rank| format!("{}", rank + 1));
    let vector = scores
        .vector
        .map_or("-".to_owned(), |vector| format!("{vector:.3}"));
    let likeness = scores.likeness.map_or(String::new(), |like| {
        format!(", like a hit before {like:.3}")
    });
    let first = scores.first_fused.map_or(String::new(), |first| {
        format!(" ({first:.3} before the query moved)")
    });
    let lent = match scores.lent {
        0.0 => String::new(),
        lent => format!(", of it {lent:+.3} by its conversation"),
    };
    output.line(format!(
        "    keyword {:.3} (place {}), vector {vector} (place {})",
        // Nothing times less than nothing is written as -0.000 otherwise.
        scores.keyword + 0.0,
        rank(scores.keyword_rank),
        rank(scores.vector_rank),
    ));
    output.line(format!(
        "    fused {:.3}{first}{lent}, freshness {:.3}, exact {:.2}, relevance {:.3}{likeness}",
        scores.fused, scores.freshness, scores.exact, scores.relevance,
    ));
}

fn remembered(output: &mut Output, result: &KbRemembered) {
    let entry = &result.entry;
    let word = match result.change {
        KbChange::Added => "remembered",
        KbChange::Revised => "revised",
        KbChange::Unchanged => "known already",
    };
    output.line(format!("{}  {}  {word}", entry.id, printable(&entry.key)));
    if result.masked > 0 {
        output.line(match result.masked {
            1 => "    a secret was taken out".to_owned(),
            count => format!("    {count} secrets were taken out"),
        });
    }
    for edge in &result.edges {
        output.line(format!(
            "    {} {}: {}",
            edge.kind,
            edge.to,
            printable(&edge.reason)
        ));
    }
}

fn stats(output: &mut Output, report: &KbStatsReport) {
    let entries = match report.entries {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    output.line(format!(
        "{entries}, {} archived, {} in the inbox, {:.1} MB of index",
        report.archived,
        report.proposals,
        report.index_bytes as f64 / 1e6
    ));
    for count in &report.categories {
        output.line(format!("    {:<14}{}", count.category, count.entries));
    }
    if report.building {
        output.line("the index is being built; a search waits for it");
    }
    let embedding = &report.embedding;
    match (&embedding.serving, &embedding.notice) {
        (Some(model), _) => output.line(format!("vectors of {model}")),
        (None, Some(notice)) => output.line(format!("words alone are compared: {notice}")),
        (None, None) => output.line("no vectors yet"),
    }
    if let Some(model) = &embedding.provider
        && embedding.serving.as_ref() != Some(model)
    {
        output.line(format!(
            "{} of {} embedded with {model}",
            embedding.embedded, report.entries
        ));
    }
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
