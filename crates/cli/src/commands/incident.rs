//! `mission incident …`

use std::process::ExitCode;

use missiond_api::operations::system::{
    IncidentList, IncidentListParams, IncidentResolve, IncidentResolveParams,
};
use missiond_core::{IncidentState, Severity};

use crate::args::IncidentCommand;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Style, moment, printable};

pub(super) fn run(
    command: &IncidentCommand,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    match *command {
        IncidentCommand::List { all } => {
            let state = (!all).then_some(IncidentState::Open);
            let page = client.call::<IncidentList>(&IncidentListParams { state })?;
            output.result(&page, |output, page| {
                if page.incidents.is_empty() {
                    output.line("Nothing wants attention.");
                }
                for incident in &page.incidents {
                    let style = match incident.severity {
                        Severity::Info => Style::Dim,
                        Severity::Warning => Style::Yellow,
                        Severity::Error | Severity::Critical => Style::Red,
                    };
                    let kind = output.paint.apply(style, &printable(&incident.kind));
                    let times = match incident.occurrences {
                        1 => String::new(),
                        n => format!(", {n} times"),
                    };
                    let closed = match incident.state {
                        IncidentState::Open => "",
                        IncidentState::Resolved => ", resolved",
                    };
                    output.line(format!(
                        "{}  {kind}  last {}{times}{closed}",
                        incident.id,
                        moment(incident.last_seen_at)
                    ));
                    for line in incident.summary.lines() {
                        output.line(format!("    {}", printable(line)));
                    }
                }
            });
        }
        IncidentCommand::Resolve { incident } => {
            let params = IncidentResolveParams { incident };
            let result = client.call::<IncidentResolve>(&params)?;
            output.result(&result, |output, result| {
                output.line(format!("{} is resolved.", result.incident.id));
            });
        }
    }
    Ok(ExitCode::SUCCESS)
}
