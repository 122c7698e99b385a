//! Where a link of a page leads.

use crate::pages::{Page, pages};

/// What a link names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Somewhere else on the net.
    Address(String),
    /// A file of the repository, by its path in it, and a place in that file.
    File {
        file: String,
        anchor: Option<String>,
    },
    /// Nothing that may be followed.
    Nowhere,
}

/// Reads a link that stands in `file`.
pub(crate) fn resolve(file: &str, link: &str) -> Target {
    let scheme = link.split_once(':').map(|(scheme, _)| scheme);
    match scheme {
        Some("https" | "http" | "mailto") => return Target::Address(link.to_owned()),
        Some(scheme) if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
            return Target::Nowhere;
        }
        _ => {}
    }
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (link, None),
    };
    if path.is_empty() {
        let file = file.to_owned();
        return Target::File { file, anchor };
    }
    let mut parts: Vec<_> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.pop().is_none() => return Target::Nowhere,
            ".." => {}
            part => parts.push(part),
        }
    }
    let file = parts.join("/");
    Target::File { file, anchor }
}

/// The page of a file.
pub(crate) fn page_of(file: &str) -> Option<&'static Page> {
    pages().iter().find(|page| page.file == file)
}

/// Where a page is on the web board.
pub(crate) fn address(page: &Page, anchor: Option<&str>) -> String {
    match anchor {
        Some(anchor) => format!("/docs/{}#{anchor}", page.path),
        None => format!("/docs/{}", page.path),
    }
}

/// The page of an operation or a key that stands in backticks. Names of one plain word
/// may mean something else there, so they lead nowhere.
pub(crate) fn named(code: &str) -> Option<&'static Page> {
    if !code.contains(['_', '.']) {
        return None;
    }
    pages().iter().find(|page| page.name == Some(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_from_the_file_it_stands_in() {
        let file = |file: &str, anchor: Option<&str>| Target::File {
            file: file.to_owned(),
            anchor: anchor.map(str::to_owned),
        };
        for (link, expected) in [
            (
                "board.md#plans",
                file("docs/guides/board.md", Some("plans")),
            ),
            ("../how/board.md", file("docs/how/board.md", None)),
            ("../../CHANGELOG.md", file("CHANGELOG.md", None)),
            ("#here", file("docs/guides/page.md", Some("here"))),
            ("../../../etc/passwd", Target::Nowhere),
            ("javascript:alert(1)", Target::Nowhere),
            (
                "https://a.example/#b",
                Target::Address("https://a.example/#b".to_owned()),
            ),
        ] {
            assert_eq!(resolve("docs/guides/page.md", link), expected, "{link}");
        }
    }
}
