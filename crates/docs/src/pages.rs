//! All pages, in the order in which they are listed: by kind, and those of a kind as
//! `docs/README.md` lists them or as they are declared.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use missiond_core::{DocHeading, DocKind, DocLink, DocSummary};
use pulldown_cmark::{Event, Tag, TagEnd};

use crate::links::{self, Target};
use crate::{key_page, markdown, operation_page};

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The page that lists the others.
pub(crate) const INDEX: &str = "docs/README.md";

pub(crate) const CHANGELOG: &str = "CHANGELOG.md";

/// The page of all commands, which is printed from their declaration.
pub(crate) const COMMANDS: &str = "docs/reference/commands.md";

/// One page.
#[derive(Debug)]
pub struct Page {
    /// What it is read by: `guides/board`, `operation/board_add`.
    pub path: String,
    pub title: String,
    pub kind: DocKind,
    /// What it is about, in one line without markup.
    pub summary: String,
    pub markdown: String,
    /// Where it is in the repository, or would be: its links begin there.
    pub(crate) file: String,
    /// The operation or the key that it describes.
    pub(crate) name: Option<&'static str>,
    /// What a search looks through instead of the whole page, which says much that all
    /// pages of its kind say.
    pub(crate) searched: Option<String>,
}

/// The pages of the same kind before and after one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    pub previous: Option<DocLink>,
    pub next: Option<DocLink>,
}

static PAGES: LazyLock<Vec<Page>> = LazyLock::new(|| {
    let mut pages = embedded();
    let mentions = Mentions::of(&pages);
    pages.extend(operation_page::pages(&mentions));
    pages.extend(key_page::pages(&mentions));
    // Stable: those of a kind stay in their order.
    pages.sort_by_key(|page| page.kind);
    pages
});

/// Every page, by kind, those of a kind in the order to read them.
#[must_use]
pub fn pages() -> &'static [Page] {
    &PAGES
}

/// The page of exactly this path.
#[must_use]
pub fn page(path: &str) -> Option<&'static Page> {
    pages().iter().find(|page| page.path == path)
}

/// The pages to read before and after this one.
#[must_use]
pub fn neighbours(page: &Page) -> Neighbours {
    let same: Vec<_> = pages().iter().filter(|one| one.kind == page.kind).collect();
    let Some(place) = same.iter().position(|one| one.path == page.path) else {
        return Neighbours::default();
    };
    let link = |place: usize| same.get(place).map(|page| page.link());
    Neighbours {
        previous: place.checked_sub(1).and_then(link),
        next: link(place + 1),
    }
}

impl Page {
    #[must_use]
    pub fn summarized(&self) -> DocSummary {
        DocSummary {
            path: self.path.clone(),
            title: self.title.clone(),
            kind: self.kind,
            summary: self.summary.clone(),
        }
    }

    #[must_use]
    pub fn link(&self) -> DocLink {
        DocLink {
            path: self.path.clone(),
            title: self.title.clone(),
        }
    }

    /// Its headings in order, the title first.
    #[must_use]
    pub fn headings(&self) -> Vec<DocHeading> {
        markdown::headings(&self.markdown)
    }

    /// A guide with this text, for tests.
    #[cfg(test)]
    pub(crate) fn of_guide(markdown: &str) -> Self {
        Self {
            path: "guides/test".to_owned(),
            title: String::new(),
            kind: DocKind::Guide,
            summary: String::new(),
            markdown: markdown.to_owned(),
            file: "docs/guides/test.md".to_owned(),
            name: None,
            searched: None,
        }
    }

    /// The last part of its path.
    pub(crate) fn last_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// Which pages speak of an operation or a key, by its name.
pub(crate) struct Mentions(BTreeMap<String, Vec<Mention>>);

struct Mention {
    title: String,
    file: String,
}

impl Mentions {
    fn of(pages: &[Page]) -> Self {
        let mut mentions: BTreeMap<String, Vec<Mention>> = BTreeMap::new();
        // What is new says little of what is.
        for page in pages.iter().filter(|page| page.file != CHANGELOG) {
            for event in markdown::events(&page.markdown) {
                if let Event::Code(name) = event {
                    let pages = mentions.entry(name.into_string()).or_default();
                    if pages.last().is_none_or(|last| last.file != page.file) {
                        pages.push(Mention {
                            title: page.title.clone(),
                            file: page.file.clone(),
                        });
                    }
                }
            }
        }
        Self(mentions)
    }

    /// A section that leads to the pages that name it; empty when there are none.
    pub(crate) fn section(&self, name: &str) -> String {
        let Some(pages) = self.0.get(name) else {
            return String::new();
        };
        let lines = pages.iter().map(|page| {
            // From the folder of a generated page, which is one of `docs/`.
            let file = match page.file.strip_prefix("docs/") {
                Some(below) => format!("../{below}"),
                None => format!("../../{}", page.file),
            };
            format!("- [{}]({file})\n", page.title)
        });
        format!(
            "\n## Pages that speak of it\n\n{}",
            lines.collect::<String>()
        )
    }
}

/// The path by which the page of a file is read.
pub(crate) fn path_of(file: &str) -> Option<String> {
    let below = file.strip_prefix("docs/").unwrap_or(file);
    let path = below.strip_suffix(".md")?;
    Some(match path {
        "README" => "index".to_owned(),
        path => path.to_lowercase(),
    })
}

fn kind_of(path: &str) -> DocKind {
    match path.split_once('/') {
        Some(("start", _)) => DocKind::Start,
        Some(("guides", _)) => DocKind::Guide,
        Some(("reference", _)) => DocKind::Reference,
        Some(("how", _)) => DocKind::How,
        _ => DocKind::Other,
    }
}

fn embedded() -> Vec<Page> {
    let listed = listed();
    let order = |file: &str| listed.iter().position(|(known, _)| known == file);
    let mut files = EMBEDDED.to_vec();
    // The list itself comes before all that it lists.
    files.sort_by_key(|(file, _)| (*file != INDEX, order(file).unwrap_or(usize::MAX), *file));
    let page = |(file, text): (&'static str, &'static str)| {
        let path = path_of(file)?;
        let said = listed.iter().find(|(known, _)| known == file);
        let said = said.map(|(_, words)| words.clone());
        let first = || markdown::first_sentence(text);
        Some(Page {
            kind: kind_of(&path),
            title: markdown::title(text),
            summary: said.filter(|words| !words.is_empty()).unwrap_or_else(first),
            markdown: text.to_owned(),
            file: file.to_owned(),
            name: None,
            searched: None,
            path,
        })
    };
    files.into_iter().filter_map(page).collect()
}

/// The files that the index lists, in its order, with what it says of each: an item of
/// a list that begins with a link, `- [The board](guides/board.md): tasks and so on`.
fn listed() -> Vec<(String, String)> {
    let text = EMBEDDED.iter().find(|(file, _)| *file == INDEX);
    let text = text.map_or("", |(_, text)| text);
    let mut listed: Vec<(String, String)> = Vec::new();
    let (mut file, mut words) = (None, String::new());
    let mut in_link = false;
    for event in markdown::events(text) {
        match event {
            Event::Start(Tag::Item) => (file, words) = (None, String::new()),
            Event::Start(Tag::Link { dest_url, .. }) => {
                in_link = true;
                if let Target::File { file: target, .. } = links::resolve(INDEX, &dest_url)
                    && file.is_none()
                {
                    file = Some(target);
                }
            }
            Event::End(TagEnd::Link) => in_link = false,
            Event::End(TagEnd::Item) => {
                if let Some(file) = file.take() {
                    let words = words.trim_start_matches(':').trim();
                    listed.push((file, words.to_owned()));
                }
            }
            Event::Text(text) | Event::Code(text) if !in_link => words.push_str(&text),
            Event::SoftBreak | Event::HardBreak => words.push(' '),
            _ => {}
        }
    }
    listed
}
