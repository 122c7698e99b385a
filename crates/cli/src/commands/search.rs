//! `mission search`

use std::process::ExitCode;

use missiond_api::operations::search::{Search, SearchParams, SearchResult};
use missiond_core::Text;

use crate::args::FindArgs;
use crate::connect::Reach;
use crate::failure::{Failure, parameter};
use crate::output::Output;
use crate::term::printable;

pub(super) fn run(args: FindArgs, reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let mut client = reach.client(output)?;
    let found = client.call::<Search>(&SearchParams {
        query: parameter("what is looked for", Text::new(args.words.join(" ")))?,
        kinds: args.kinds,
        limit: args.limit,
    })?;
    output.result(&found, show);
    Ok(ExitCode::SUCCESS)
}

fn show(output: &mut Output, found: &SearchResult) {
    if found.hits.is_empty() {
        output.line("Nothing was found.");
    } else {
        let rows: Vec<_> = found
            .hits
            .iter()
            .map(|hit| {
                vec![
                    hit.kind.name().to_owned(),
                    printable(&hit.id),
                    printable(&hit.title),
                    printable(&hit.detail),
                ]
            })
            .collect();
        output.table(&["KIND", "ID", "TITLE", "DETAIL"], &rows);
    }
    for failure in &found.failed {
        output.line(format!(
            "Not searched: {} ({}).",
            failure.kind.name(),
            printable(&failure.reason)
        ));
    }
}
