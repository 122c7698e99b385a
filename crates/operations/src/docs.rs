//! Handlers of the documentation. It is in the program, so the command line asks the
//! same functions without a daemon.

use missiond_api::ApiError;
use missiond_api::operations::NoParams;
use missiond_api::operations::docs::{
    DocFormat, DocsFound, DocsList, DocsPage, DocsPages, DocsRead, DocsReadParams, DocsSearch,
    DocsSearchParams,
};
use missiond_core::ErrorCode;
use missiond_docs::{Page, find, neighbours, pages, render_html, search};
use missiond_runtime::blocking;

use crate::call::Operations;

// The first call of each makes pages or an index of them, which takes a moment.
pub(super) fn register(operations: &mut Operations) {
    operations.add::<DocsList, _, _>(async |_, NoParams {}| Ok(blocking(list).await));
    operations.add::<DocsRead, _, _>(async |_, params| blocking(move || read(&params)).await);
    operations
        .add::<DocsSearch, _, _>(async |_, params| Ok(blocking(move || found(&params)).await));
}

/// Every page.
#[must_use]
pub fn list() -> DocsPages {
    DocsPages {
        pages: pages().iter().map(Page::summarized).collect(),
    }
}

/// One page, or the sentence that names those that may be meant.
pub fn read(params: &DocsReadParams) -> Result<DocsPage, ApiError> {
    let page = find(&params.page)
        .map_err(|unknown| ApiError::new(ErrorCode::NotFound, unknown.to_string()))?;
    let beside = neighbours(page);
    Ok(DocsPage {
        path: page.path.clone(),
        title: page.title.clone(),
        kind: page.kind,
        text: match params.format {
            DocFormat::Markdown => page.markdown.clone(),
            DocFormat::Html => render_html(page),
        },
        headings: page.headings(),
        previous: beside.previous,
        next: beside.next,
    })
}

/// The sections that answer.
#[must_use]
pub fn found(params: &DocsSearchParams) -> DocsFound {
    DocsFound {
        hits: search(&params.query, params.limit.to_usize()),
    }
}
