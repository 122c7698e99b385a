//! `mission trust …`

use std::process::ExitCode;

use missiond_api::operations::NoParams;
use missiond_api::operations::trust::{
    TrustExplain, TrustExplanation, TrustLine, TrustList, TrustPage, TrustReset, TrustResetParams,
    TrustStanding, TrustSubjectParams,
};

use crate::args::TrustCommand;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, moment, printable};

pub(super) fn run(
    command: TrustCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    match command {
        TrustCommand::List => {
            let page = client.call::<TrustList>(&NoParams {})?;
            output.result(&page, list);
        }
        TrustCommand::Explain { subject } => {
            let explained = client.call::<TrustExplain>(&TrustSubjectParams { subject })?;
            output.result(&explained, explain);
        }
        TrustCommand::Reset { subject } => {
            let explained = client.call::<TrustReset>(&TrustResetParams { subject })?;
            output.result(&explained, |output, explained| {
                line(output, &explained.line);
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(output: &mut Output, page: &TrustPage) {
    if page.subjects.is_empty() {
        output.line("Nothing is on record about anyone; everyone has 500.");
    }
    for subject in &page.subjects {
        line(output, subject);
    }
}

fn line(output: &mut Output, line: &TrustLine) {
    let (said, style) = match line.standing {
        TrustStanding::Trusted => ("", Style::Dim),
        TrustStanding::Ask => ("  what it takes part in is asked", Style::Yellow),
        TrustStanding::Deny => ("  what it takes part in is denied", Style::Red),
    };
    let said = output.paint.apply(style, said);
    output.line(format!(
        "{:>4}  {}{said}",
        line.score,
        printable(&line.subject)
    ));
}

fn explain(output: &mut Output, explained: &TrustExplanation) {
    line(output, &explained.line);
    output.line("");
    output.line(format!(
        "{:>6}  what everyone begins with",
        explained.begins_with
    ));
    for part in &explained.parts {
        let times = match part.count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        output.line(format!(
            "{:>+6}  {} {times}",
            part.points,
            printable(&part.kind)
        ));
    }
    output.line("");
    for fact in &explained.facts {
        let count = match fact.count {
            1 => String::new(),
            count => format!(" ({count})"),
        };
        let note = fact.note.as_deref().map(printable).unwrap_or_default();
        let kind = printable(&fact.kind);
        let row = format!("{}  {kind}{count}  {note}", moment(fact.at));
        let row = output.paint.apply(Style::Dim, row.trim_end());
        output.line(row);
    }
}
