//! `mission task propose`

use missiond_api::Client;
use missiond_api::operations::proposal::{
    BoardAddSteps, BoardAddStepsParams, BoardProposal, BoardPropose, BoardProposeParams, StepsAdded,
};
use missiond_core::{ErrorCode, Parts, Text};

use super::super::slot::text_or_stdin;
use super::draft;
use crate::args::ProposeArgs;
use crate::failure::{Failure, parameter};
use crate::output::Output;
use crate::term::printable;

pub(super) fn propose(
    args: ProposeArgs,
    client: &mut Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let repository = draft::repository(args.repository, None)?;
    let repository = match repository {
        Some(path) => {
            let path = Text::new(path.display().to_string());
            Some(parameter("the repository", path)?)
        }
        None => None,
    };
    let proposal = client.call::<BoardPropose>(&BoardProposeParams {
        text: parameter("the plan", Text::new(text_or_stdin(args.text)?))?,
        repository,
        template: args.template,
    })?;
    if args.add && proposal.steps.is_empty() {
        let message = "the text has no steps, so nothing was added";
        return Err(Failure::new(ErrorCode::InvalidParams, message)
            .hint("write one step a line, or a list"));
    }
    if args.add {
        let steps = parameter("the plan", Parts::new(proposal.steps))?;
        let added = client.call::<BoardAddSteps>(&BoardAddStepsParams { steps })?;
        output.result(&added, show_added);
    } else {
        output.result(&proposal, show);
    }
    Ok(())
}

fn show(output: &mut Output, proposal: &BoardProposal) {
    let rows: Vec<_> = proposal
        .steps
        .iter()
        .map(|step| {
            let checks = step.task.checks.iter().flatten();
            let checks: Vec<_> = checks.map(|check| check.run.join(" ")).collect();
            vec![
                step.key.clone(),
                step.depends_on.join(", "),
                printable(step.task.title.as_deref().unwrap_or_default()),
                printable(&checks.join("; ")),
            ]
        })
        .collect();
    if rows.is_empty() {
        output.line("The text has no steps.");
        return;
    }
    output.table(&["STEP", "AFTER", "TITLE", "CHECKS"], &rows);
    for note in &proposal.notes {
        output.line(printable(note));
    }
    output.line("Nothing was added; --add puts them on the board.");
}

fn show_added(output: &mut Output, added: &StepsAdded) {
    for task in &added.tasks {
        output.line(format!("{}  {}", task.number, printable(&task.title)));
    }
}
