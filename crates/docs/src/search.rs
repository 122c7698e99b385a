//! Finding the section that answers.
//!
//! Pages that are called exactly what is looked for come first: operations, keys, then
//! pages by path, name and title. Words are a name too (`board add`, `max agents`), and a
//! command is the section of it. For a name with `_` or `.` in it those that begin with it
//! follow. Then come sections by BM25, with the words of knowledge (stems, names
//! whole and in parts) and its index; a word of a heading counts more than one of the
//! text. The last word may be a beginning: what it may become counts less than what was
//! written. The same query always has the same answer.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use missiond_core::{DocHit, DocKind};
use missiond_knowledge::keyword::{Bm25, KeywordIndex, TermWeights};
use missiond_knowledge::snippet::snippet;
use missiond_knowledge::tokens::{TermKind, Token, plain, tokens};

use crate::markdown::{self, Section};
use crate::pages::{CHANGELOG, COMMANDS, INDEX as INDEX_FILE, Page, pages};

/// Words of an excerpt.
const EXCERPT: usize = 28;
/// What a word counts in the heading of a section, in the title of its page and in
/// what the page is said to be about; in the text it counts 1.
const HEADING: f32 = 4.0;
const TITLE: f32 = 3.0;
const SUMMARY: f32 = 2.0;
/// Pages of operations and keys are many and repeat each other's words, as the commands do;
/// the changelog and the list of pages name everything and explain nothing. In their texts a word counts
/// this much.
const LESSER: f32 = 0.5;
const LESSER_PAGES: [&str; 3] = [CHANGELOG, COMMANDS, INDEX_FILE];
/// Its sections are short and each is headed by its words, so that they would stand before
/// every page that explains.
const OF_COMMANDS: f32 = 0.1;
/// What every command begins with.
const PROGRAM: &str = "mission ";
/// A last word of fewer letters is the beginning of too much.
const SHORTEST_BEGINNING: usize = 3;
/// So many words that begin as the last one are looked for, the most frequent.
const MOST_ENDINGS: usize = 6;
/// What such a word counts beside one that was written.
const ENDING: f32 = 0.4;

struct Found {
    page: &'static Page,
    section: Section,
}

struct Index {
    sections: Vec<Found>,
    index: KeywordIndex,
    /// How often each word occurs.
    words: BTreeMap<String, u32>,
}

static INDEX: LazyLock<Index> = LazyLock::new(Index::build);

/// The sections that fit a query best, the best first.
#[must_use]
pub fn search(query: &str, limit: usize) -> Vec<DocHit> {
    let name = plain(query);
    let mut query = tokens(query);
    let index = &*INDEX;
    let endings = index.endings(&query);
    query.retain(|token| token.kind != TermKind::Filler);
    query.extend(endings);
    let mut hits: Vec<&Found> = Vec::new();
    if name.starts_with(PROGRAM) {
        let is_it = |found: &&Found| {
            found.page.file == COMMANDS && plain(&found.section.heading.text) == name
        };
        hits.extend(index.sections.iter().find(is_it));
    }
    for page in named(&name) {
        let whole = index
            .sections
            .iter()
            .find(|found| found.page.path == page.path);
        hits.extend(whole);
    }
    // Every section of a page may be a hit, so what is above cannot use up the limit.
    let wanted = limit.saturating_add(hits.len());
    let parameters = Bm25 {
        k1: 1.2,
        b: 0.6,
        // No word such as "the" is left: only what a beginning may become.
        filler: ENDING,
        character: 0.5,
    };
    for best in index
        .index
        .query(&query, parameters)
        .best(wanted, &|_| true)
    {
        let Some(found) = index.sections.get(best.doc as usize) else {
            continue;
        };
        if !hits.iter().any(|hit| std::ptr::eq(*hit, found)) {
            hits.push(found);
        }
    }
    hits.truncate(limit);
    hits.into_iter().map(|found| found.hit(&query)).collect()
}

/// Pages that are called so, then those whose name begins so.
fn named(name: &str) -> Vec<&'static Page> {
    if name.is_empty() {
        return Vec::new();
    }
    // As people say it: `board add`, `autopilot max agents`.
    let joined = name.replace([' ', '-', '.'], "_");
    let is_called = |page: &Page| {
        let own = page.name.unwrap_or_default();
        own == name || (joined.contains('_') && own.replace('.', "_") == joined)
    };
    // A key without its section, if that says enough to be one.
    let is_last_part = |page: &Page| {
        let last = page.name.and_then(|own| own.rsplit_once('.'));
        joined.contains('_') && last.is_some_and(|(_, last)| last == joined)
    };
    let rank = |page: &Page| match page.kind {
        DocKind::Operation | DocKind::Key if is_called(page) => Some(0),
        DocKind::Key if is_last_part(page) => Some(1),
        _ if page.path == name => Some(1),
        DocKind::Operation | DocKind::Key
            if name.contains(['_', '.']) && page.title.starts_with(name) =>
        {
            Some(4)
        }
        DocKind::Operation | DocKind::Key => None,
        _ if page.last_name() == name => Some(2),
        _ if plain(&page.title) == name => Some(3),
        _ => None,
    };
    let all = pages().iter();
    let mut named: Vec<_> = all.filter_map(|page| Some((rank(page)?, page))).collect();
    named.sort_by_key(|(rank, page)| (*rank, page.kind));
    named.into_iter().map(|(_, page)| page).collect()
}

impl Index {
    fn build() -> Self {
        let mut built = Self {
            sections: Vec::new(),
            index: KeywordIndex::default(),
            words: BTreeMap::new(),
        };
        for page in pages() {
            let mut sections = markdown::sections(&page.markdown);
            if let Some(searched) = &page.searched {
                sections.truncate(1);
                for top in &mut sections {
                    searched.clone_into(&mut top.text);
                }
            }
            for section in sections {
                built.add(page, section);
            }
        }
        built
    }

    fn add(&mut self, page: &'static Page, section: Section) {
        let mut terms = TermWeights::default();
        let is_lesser = page.name.is_some() || LESSER_PAGES.contains(&page.file.as_str());
        let text_counts = if is_lesser { LESSER } else { 1.0 };
        let of_page = if page.file == COMMANDS {
            OF_COMMANDS
        } else {
            1.0
        };
        let is_top = section.heading.level == 1;
        let summary = if is_top { page.summary.as_str() } else { "" };
        for (text, counts) in [
            (
                page.title.as_str(),
                if is_top { HEADING } else { TITLE * 0.5 },
            ),
            (
                if is_top {
                    ""
                } else {
                    section.heading.text.as_str()
                },
                HEADING,
            ),
            (summary, SUMMARY),
            (section.text.as_str(), text_counts),
        ] {
            let found = tokens(text);
            for word in found.iter().filter(|token| token.kind == TermKind::Word) {
                *self.words.entry(word.term.clone()).or_default() += 1;
            }
            terms.add(&found, counts * of_page);
        }
        // Documents are numbered in the order in which they are added.
        self.index.add(terms);
        self.sections.push(Found { page, section });
    }

    /// What the last word of a query may become, as words that count less: those that
    /// are called fillers have been taken out of the query.
    fn endings(&self, query: &[Token]) -> Vec<Token> {
        let Some(last) = query.last().filter(|last| last.kind == TermKind::Word) else {
            return Vec::new();
        };
        if last.term.chars().count() < SHORTEST_BEGINNING {
            return Vec::new();
        }
        let begin_so = self
            .words
            .range(last.term.clone()..)
            .take_while(|(word, _)| word.starts_with(&last.term))
            .filter(|(word, _)| **word != last.term);
        let mut endings: Vec<_> = begin_so.collect();
        endings.sort_by_key(|(word, times)| (Reverse(**times), *word));
        let token = |(word, _): (&String, &u32)| Token {
            term: word.clone(),
            kind: TermKind::Filler,
            ..last.clone()
        };
        endings.into_iter().take(MOST_ENDINGS).map(token).collect()
    }
}

impl Found {
    fn hit(&self, query: &[Token]) -> DocHit {
        let Self { page, section } = self;
        let is_top = section.heading.level == 1;
        let shown = snippet(&section.text, query, EXCERPT);
        let excerpt = if shown.has_content_match() || !is_top {
            shown.text
        } else {
            page.summary.clone()
        };
        let words: Vec<_> = excerpt.split_whitespace().collect();
        DocHit {
            path: page.path.clone(),
            title: page.title.clone(),
            kind: page.kind,
            heading: section.heading.text.clone(),
            anchor: if is_top {
                String::new()
            } else {
                section.heading.anchor.clone()
            },
            excerpt: words.join(" "),
        }
    }
}
