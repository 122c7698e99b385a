//! The page that somebody means by a name.

use std::collections::BTreeSet;

use missiond_core::nearest_name;
use missiond_knowledge::tokens::{TermKind, plain, tokens};

use crate::pages::{Page, pages};
use crate::search::search;

/// So many are named when none is meant.
const NEAREST: usize = 3;
/// So many hits of a search may be the page that is meant.
const CANDIDATES: usize = 20;

/// No page is called so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no page `{given}`{}", hint(.nearest))]
pub struct UnknownPage {
    pub given: String,
    /// Paths of pages that may be meant, the nearest first.
    pub nearest: Vec<String>,
}

fn hint(nearest: &[String]) -> String {
    let names: Vec<_> = nearest.iter().map(|path| format!("`{path}`")).collect();
    match names.as_slice() {
        [] => "; `mission docs` lists those that exist".to_owned(),
        [only] => format!("; the nearest is {only}"),
        [most @ .., last] => format!("; the nearest are {} and {last}", most.join(", ")),
    }
}

/// The page of a path, of a link to it, of an operation, of a key; then the first whose
/// path ends so or whose title it is; then the one whose title and summary have all of
/// its words.
pub fn find(given: &str) -> Result<&'static Page, UnknownPage> {
    let name = plain(given);
    let name = name.split('#').next().unwrap_or_default();
    let name = name.trim_start_matches('/');
    let name = name.strip_prefix("docs/").unwrap_or(name);
    let name = name
        .strip_suffix(".md")
        .unwrap_or(name)
        .trim_end_matches('/');
    let by = |is: &dyn Fn(&Page) -> bool| pages().iter().find(|page| is(page));
    let found = by(&|page| page.path == name)
        .or_else(|| by(&|page| page.name == Some(name) && name.contains(['_', '.'])))
        .or_else(|| by(&|page| page.name.is_none() && page.last_name() == name))
        .or_else(|| by(&|page| page.name == Some(name)))
        .or_else(|| by(&|page| plain(&page.title) == name))
        .or_else(|| described(name));
    found.ok_or_else(|| UnknownPage {
        given: given.chars().take(64).filter(|c| !c.is_control()).collect(),
        nearest: nearest(name),
    })
}

/// The best page that is about all of these words; about one word only if that is in
/// its title.
fn described(name: &str) -> Option<&'static Page> {
    let words = |text: &str| -> BTreeSet<String> {
        let words = tokens(text).into_iter();
        let words = words.filter(|token| token.kind == TermKind::Word);
        words.map(|token| token.term).collect()
    };
    let wanted = words(name);
    if wanted.is_empty() {
        return None;
    }
    let mut candidates = hit_pages(name).into_iter();
    candidates.find(|page| {
        let about = match wanted.len() {
            1 => words(&page.title),
            _ => words(&format!("{} {}", page.title, page.summary)),
        };
        wanted.is_subset(&about)
    })
}

fn nearest(name: &str) -> Vec<String> {
    let named = |page: &Page, name: &str| page.path == name || page.last_name() == name;
    let paths = pages().iter().map(|page| page.path.as_str());
    let names = pages().iter().map(Page::last_name);
    let alike = nearest_name(name, paths.chain(names));
    let alike = alike.and_then(|name| pages().iter().find(|page| named(page, name)));
    let mut nearest: Vec<String> = Vec::new();
    for page in alike.into_iter().chain(hit_pages(name)) {
        if nearest.len() < NEAREST && !nearest.contains(&page.path) {
            nearest.push(page.path.clone());
        }
    }
    nearest
}

/// The pages that a search finds, each once.
fn hit_pages(words: &str) -> Vec<&'static Page> {
    let mut found: Vec<&Page> = Vec::new();
    for hit in search(words, CANDIDATES) {
        let page = pages().iter().find(|page| page.path == hit.path);
        if let Some(page) = page
            && !found.iter().any(|known| known.path == page.path)
        {
            found.push(page);
        }
    }
    found
}
