//! `mission docs`: the documentation, which is in this program. No daemon is asked,
//! unless the page is opened in a browser.

use std::process::ExitCode;

use missiond_api::operations::docs::{
    DocFormat, DocsFound, DocsPages, DocsReadParams, DocsSearchParams,
};
use missiond_core::{DocKind, DocSummary, Text};
use missiond_docs::{Colours, render_terminal};
use missiond_operations::docs;

use crate::args::{DocsArgs, DocsCommand, OpenArgs};
use crate::connect::Reach;
use crate::failure::{Failure, parameter};
use crate::output::Output;
use crate::term::{Style, columns, counted, printable};

/// How wide a page is that goes into a file or a pipe.
const COLUMNS: usize = 80;

pub(super) fn run(args: DocsArgs, output: &mut Output) -> Result<ExitCode, Failure> {
    if let Some(DocsCommand::Search { words, limit }) = args.command {
        let query = parameter("what is looked for", Text::new(words.join(" ")))?;
        let found = docs::found(&DocsSearchParams { query, limit });
        output.result(&found, show_hits);
    } else if args.page.is_empty() {
        let mut list = docs::list();
        list.pages
            .retain(|page| args.kind.is_none_or(|kind| page.kind == kind));
        output.result(&list, |output, list| match args.kind {
            Some(_) => show_rows(output, &list.pages),
            None => show_kinds(output, list),
        });
    } else {
        let page = docs::read(&DocsReadParams {
            page: parameter("the page", Text::new(args.page.join(" ")))?,
            format: DocFormat::Markdown,
        })?;
        output.result(&page, |output, read| {
            let colours = if output.paint.is_on() {
                Colours::On
            } else {
                Colours::Off
            };
            if let Some(page) = missiond_docs::page(&read.path) {
                let width = columns().unwrap_or(COLUMNS);
                output.line(render_terminal(page, width, colours).trim_end());
            }
        });
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens a page, or the list of them, in a browser.
pub(super) fn open(
    args: &DocsArgs,
    reach: &Reach,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let path = if args.page.is_empty() {
        "/docs".to_owned()
    } else {
        let page = docs::read(&DocsReadParams {
            page: parameter("the page", Text::new(args.page.join(" ")))?,
            format: DocFormat::Markdown,
        })?;
        format!("/docs/{}", page.path)
    };
    super::web::open_at(Some(&path), &OpenArgs { print: false }, reach, output)
}

fn show_kinds(output: &mut Output, list: &DocsPages) {
    for kind in DocKind::ALL {
        let pages = list.pages.iter().filter(|page| page.kind == kind);
        let pages: Vec<_> = pages.cloned().collect();
        let heading = output.paint.apply(Style::Bold, heading(kind));
        output.line(heading);
        match kind {
            // There are too many of them to be looked through.
            DocKind::Operation | DocKind::Key => {
                let count = counted(pages.len() as u64, "page", "pages");
                let name = kind.name();
                output.line(format!(
                    "  {count}; `mission docs --kind {name}` lists them, `mission docs NAME` shows one"
                ));
            }
            _ => show_rows(output, &pages),
        }
        output.line("");
    }
    output.line("Read one with `mission docs PAGE`, find one with `mission docs search WORDS`.");
}

fn show_rows(output: &mut Output, pages: &[DocSummary]) {
    let widest = pages.iter().map(|page| page.path.len()).max().unwrap_or(0);
    for page in pages {
        // The name of an operation or a key is its path already.
        let about = match page.kind {
            DocKind::Operation | DocKind::Key => page.summary.clone(),
            _ if page.title.contains(&page.summary) => page.title.clone(),
            _ => format!("{}: {}", page.title, page.summary),
        };
        output.line(format!("  {:<widest$}  {about}", page.path));
    }
}

fn heading(kind: DocKind) -> &'static str {
    match kind {
        DocKind::Start => "To begin with",
        DocKind::Guide => "To do something",
        DocKind::Reference => "To look something up",
        DocKind::How => "To understand how it works",
        DocKind::Operation => "Operations",
        DocKind::Key => "Keys of the configuration",
        DocKind::Other => "Other pages",
    }
}

fn show_hits(output: &mut Output, found: &DocsFound) {
    if found.hits.is_empty() {
        output.line("Nothing was found.");
    }
    for hit in &found.hits {
        let place = if hit.anchor.is_empty() {
            hit.path.clone()
        } else {
            format!("{}#{}", hit.path, hit.anchor)
        };
        let heading = if hit.heading == hit.title {
            hit.title.clone()
        } else {
            format!("{}: {}", hit.title, hit.heading)
        };
        let place = output.paint.apply(Style::Bold, &place);
        output.line(format!("{place}  {heading}"));
        output.line(format!("    {}", printable(&hit.excerpt)));
    }
}
