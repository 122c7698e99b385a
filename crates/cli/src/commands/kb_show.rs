//! What `mission kb` prints.

use missiond_api::operations::knowledge::{
    KbChange, KbConflictList, KbEntryView, KbGcAction, KbGcReport, KbHit, KbInboxPage, KbListPage,
    KbListed, KbRemembered, KbStatsReport,
};

use missiond_core::one_line;

use crate::output::Output;
use crate::term::{Style, counted, moment, printable};

pub(super) fn entry(output: &mut Output, view: &KbEntryView) {
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
        moment(entry.verified_at),
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
            .map_or(String::new(), |at| format!(" until {}", moment(at)));
        output.line(format!("{word}{} {other}{until}: {reason}", edge.kind));
    }
    for old in view.history.iter().rev().skip(1) {
        let said = printable(&old.summary);
        output.line(format!("revision {} of {}: {said}", old.revision, old.at));
    }
}

pub(super) fn hit(output: &mut Output, hit: &KbHit) {
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

/// Why it is a hit: each number of its score.
pub(super) fn scores(output: &mut Output, hit: &KbHit) {
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

pub(super) fn remembered(output: &mut Output, result: &KbRemembered) {
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

pub(super) fn list(output: &mut Output, page: &KbListPage) {
    let none = "Nothing is known yet. `mission kb remember` remembers something.";
    entries(output, page, none);
}

pub(super) fn archived(output: &mut Output, page: &KbListPage) {
    let none = "Nothing is archived. `mission kb forget` archives an entry.";
    entries(output, page, none);
}

fn entries(output: &mut Output, page: &KbListPage, none: &str) {
    if page.entries.is_empty() {
        output.line(none);
        return;
    }
    let row = |entry: &KbListed| {
        vec![
            printable(&entry.key),
            entry.category.to_string(),
            printable(&one_line(&entry.summary)),
            entry.scope.as_deref().map(printable).unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = page.entries.iter().map(row).collect();
    output.table(&["key", "category", "what", "project"], &rows);
    if page.more {
        output.notice("There are more: --offset goes on.");
    }
}

pub(super) fn conflicts(output: &mut Output, list: &KbConflictList) {
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
            "`mission kb edit ID TEXT` revises one of the two, `mission kb forget ID` \
             takes it out of use.",
        );
    }
}

pub(super) fn inbox(output: &mut Output, page: &KbInboxPage) {
    if page.proposals.is_empty() {
        output.line("The inbox is empty.");
    }
    for proposal in &page.proposals {
        let summary = printable(&proposal.draft.summary);
        let source = printable(&proposal.source);
        output.line(format!("{}  {summary}  (from {source})", proposal.id));
    }
    if !page.proposals.is_empty() {
        output.line("`mission kb accept ID` makes one an entry, with --reject it is dropped.");
    }
}

/// What `gc` would archive, has archived or brought back.
pub(super) fn unused(output: &mut Output, report: &KbGcReport) {
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
}

pub(super) fn stats(output: &mut Output, report: &KbStatsReport) {
    let entries = u64::try_from(report.entries).unwrap_or_default();
    let entries = counted(entries, "entry", "entries");
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
