//! `mission code …`

use std::path::Path;
use std::process::ExitCode;

use missiond_api::Client;
use missiond_api::operations::code::{
    Beacon, BeaconList, BeaconListParams, BeaconRemove, BeaconRemoveParams, BeaconSet,
    BeaconSetParams, BeaconStanding, CodeIndex, CodeIndexParams, CodeMap, CodeMapParams,
    CodeSearch, CodeSearchParams, CodeShow, CodeShowParams, CodeStatus, CodeStatusParams,
    CodeStatusResult, CodeSymbol, Freshness,
};
use missiond_core::{AbsolutePath, List, Text};

use crate::args::{BeaconCommand, CodeArgs, CodeCommand};
use crate::connect::Reach;
use crate::failure::{Failure, parameter};
use crate::folder;
use crate::output::{Output, Progress};
use crate::term::{Style, counted, printable};

pub(super) fn run(args: CodeArgs, reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    let folder = match &args.command {
        CodeCommand::Index { folder, .. } => folder.as_deref().or(args.path.as_deref()),
        _ => args.path.as_deref(),
    };
    let path = folder::real(folder.unwrap_or(Path::new(".")))?;
    let mut client = reach.client(output)?;
    match args.command {
        CodeCommand::Index {
            rebuild, no_wait, ..
        } => {
            let status = index(&mut client, path, rebuild, !no_wait, output)?;
            output.result(&status, describe);
        }
        CodeCommand::Status => {
            let status = client.call::<CodeStatus>(&CodeStatusParams { path })?;
            output.result(&status, describe);
        }
        CodeCommand::Search { query, kind, limit } => {
            let params = CodeSearchParams {
                path,
                query: parameter("the query", Text::new(query.join(" ")))?,
                kind,
                limit,
            };
            let found = {
                let _progress = Progress::start(output, "reading the repository");
                client.call::<CodeSearch>(&params)?
            };
            output.result(&found, |output, found| {
                print_freshness(output, &found.freshness);
                for beacon in &found.beacons {
                    describe_beacon(output, beacon);
                }
                for name in &found.unknown_names {
                    let similar = match found.hits.len() {
                        0 => "",
                        _ => " These are similar:",
                    };
                    output.line(format!(
                        "No symbol of that name: `{}`.{similar}",
                        printable(name)
                    ));
                }
                for hit in &found.hits {
                    describe_symbol(output, &hit.symbol);
                }
                if found.hits.is_empty() && found.beacons.is_empty() {
                    output.line("Nothing found.");
                }
            });
        }
        CodeCommand::Show { symbol } => {
            let shown = client.call::<CodeShow>(&CodeShowParams { path, symbol })?;
            output.result(&shown, |output, shown| {
                print_freshness(output, &shown.freshness);
                for one in &shown.found {
                    let heading = symbol_heading(&one.symbol);
                    let heading = output.paint.apply(Style::Bold, &heading);
                    output.line(heading);
                    for line in one.source.lines() {
                        output.line(printable(&line.replace('\t', "    ")));
                    }
                    if one.cut {
                        output.notice("The source is longer and was cut.");
                    }
                }
                let left = shown.count as usize - shown.found.len();
                if left > 0 {
                    output.notice(&format!("{left} more have this name."));
                }
            });
        }
        CodeCommand::Map { tokens, focus } => {
            let params = CodeMapParams {
                path,
                tokens,
                focus,
            };
            let map = {
                let _progress = Progress::start(output, "reading the repository");
                client.call::<CodeMap>(&params)?
            };
            output.result(&map, |output, map| {
                print_freshness(output, &map.freshness);
                map.text
                    .lines()
                    .for_each(|line| output.line(printable(line)));
                for focus in &map.unknown_focus {
                    output.notice(&format!("No file fits `{}`.", printable(focus)));
                }
                output.notice_on_terminal(&format!(
                    "{} of {} symbols in {} of {} files, about {} tokens.",
                    map.symbols_shown, map.symbols, map.files_shown, map.files, map.tokens
                ));
            });
        }
        CodeCommand::Beacon(command) => beacon(command, path, &mut client, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn beacon(
    command: BeaconCommand,
    path: AbsolutePath,
    client: &mut Client,
    output: &mut Output,
) -> Result<(), Failure> {
    match command {
        BeaconCommand::Set {
            name,
            symbols,
            note,
        } => {
            let params = BeaconSetParams {
                path,
                name,
                symbols: parameter("the symbols", List::new(symbols))?,
                note,
            };
            let set = client.call::<BeaconSet>(&params)?;
            output.result(&set, describe_beacon);
        }
        BeaconCommand::List => {
            let listed = client.call::<BeaconList>(&BeaconListParams { path })?;
            output.result(&listed, |output, listed| {
                print_freshness(output, &listed.freshness);
                if listed.beacons.is_empty() {
                    output.line("No beacons: `mission code beacon set` sets one.");
                }
                for beacon in &listed.beacons {
                    describe_beacon(output, beacon);
                }
            });
        }
        BeaconCommand::Remove { name } => {
            let removed = client.call::<BeaconRemove>(&BeaconRemoveParams { path, name })?;
            output.result(&removed, |output, removed| {
                output.line(format!("Removed {}.", printable(&removed.removed)));
            });
        }
    }
    Ok(())
}

/// Has the repository read; with `wait`, for as long as that takes.
fn index(
    client: &mut Client,
    path: AbsolutePath,
    rebuild: bool,
    wait: bool,
    output: &Output,
) -> Result<CodeStatusResult, Failure> {
    let _progress = wait.then(|| Progress::start(output, "reading the repository"));
    let mut params = CodeIndexParams {
        path,
        wait,
        rebuild,
    };
    loop {
        let status = client.call::<CodeIndex>(&params)?;
        // A request may not take as long as a first pass.
        if !wait || !matches!(status.freshness, Freshness::Updating { .. }) {
            return Ok(status);
        }
        params.rebuild = false;
    }
}

fn describe(output: &mut Output, status: &CodeStatusResult) {
    output.line(format!(
        "{}: {} in {}, {}",
        printable(&status.root),
        counted(status.symbols.into(), "symbol", "symbols"),
        counted(status.files.into(), "file", "files"),
        counted(status.lines, "line", "lines")
    ));
    print_freshness(output, &status.freshness);
    let languages: Vec<_> = status
        .languages
        .iter()
        .map(|(language, files)| format!("{language} {files}"))
        .collect();
    if !languages.is_empty() {
        output.line(format!("  {}", languages.join(", ")));
    }
    if let Some(pass) = &status.last_pass {
        output.line(format!(
            "  last pass: {} changed, {} gone, {} ms",
            pass.changed, pass.gone, pass.millis
        ));
    }
    if status.beyond_limit > 0 {
        output.line(format!(
            "  left out beyond the limit: {}",
            counted(status.beyond_limit.into(), "file", "files")
        ));
    }
    if status.skipped_count > 0 {
        let skipped = counted(status.skipped_count.into(), "file", "files");
        output.line(format!("  skipped {skipped}:"));
        for file in &status.skipped {
            output.line(format!("    {}: {}", printable(&file.path), file.reason));
        }
    }
}

fn print_freshness(output: &mut Output, freshness: &Freshness) {
    match freshness {
        Freshness::Current | Freshness::Unchecked => {}
        Freshness::Updating { read, to_read } => output.notice(&format!(
            "The repository is still being read ({read} of {to_read} files); this is what is known so far."
        )),
        Freshness::Failed { reason } => {
            output.notice(&format!("The last pass failed: {}", printable(reason)));
        }
    }
}

/// `src/lib.rs:12 function parse`
fn symbol_heading(symbol: &CodeSymbol) -> String {
    let (path, name) = (printable(&symbol.path), printable(&symbol.name));
    format!("{path}:{} {} {name}", symbol.first_line, symbol.kind)
}

fn describe_symbol(output: &mut Output, symbol: &CodeSymbol) {
    let heading = output.paint.apply(Style::Bold, &symbol_heading(symbol));
    output.line(heading);
    if symbol.signature != symbol.path {
        output.line(format!("    {}", printable(&symbol.signature)));
    }
    if let Some(first) = symbol.doc.lines().next() {
        let first = output.paint.apply(Style::Dim, &printable(first));
        output.line(format!("    {first}"));
    }
}

fn describe_beacon(output: &mut Output, beacon: &Beacon) {
    let name = output.paint.apply(Style::Cyan, &printable(&beacon.name));
    let note = match beacon.note.as_str() {
        "" => String::new(),
        note => format!(": {}", printable(note)),
    };
    output.line(format!("◆ {name}{note}"));
    for piece in &beacon.pieces {
        let place = format!(
            "{}:{} {} {}",
            printable(&piece.path),
            piece.line,
            piece.kind,
            printable(&piece.name)
        );
        let from = piece.moved_from.as_deref().unwrap_or_default();
        let how = match piece.standing {
            BeaconStanding::Unchanged | BeaconStanding::Edited => String::new(),
            BeaconStanding::Moved => format!(" (moved from {})", printable(from)),
            BeaconStanding::Renamed => format!(" (renamed from {})", printable(from)),
            BeaconStanding::Alike => {
                format!(" (moved and changed, was {})", printable(from))
            }
            BeaconStanding::Lost => output.paint.apply(Style::Red, " LOST, last seen here"),
        };
        output.line(format!("    {place}{how}"));
        for suggestion in &piece.suggestions {
            output.line(format!("      perhaps {}", printable(suggestion)));
        }
    }
}
