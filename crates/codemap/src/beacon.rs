//! A beacon found again after its code changed, moved or was renamed.
//!
//! In this order: the same name in the same file; the same content anywhere; the
//! same content under another name; and last what is alike in name, signature and
//! words, if it is alike enough and nothing else is nearly as much. What none of
//! these finds is lost, and said to be, with the places it might be.

use std::collections::HashSet;

use crate::index::{CodeIndex, NodeRef};
use crate::symbol::{ContentHash, Symbol, SymbolKind, are_akin};
use crate::words::words;

/// Less alike than this is not the same code.
const ALIKE: f64 = 0.6;
/// The next best must be this much less alike.
const LEAD: f64 = 0.1;
/// Code of fewer words than this is not told apart by them.
const FEW_WORDS: usize = 6;
/// How many of those alike are compared in full.
const COMPARED: usize = 40;

/// What is remembered of a beacon's code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    pub path: String,
    pub kind: SymbolKind,
    pub container: String,
    pub name: String,
    pub signature: String,
    pub words: String,
    pub hash: ContentHash,
    pub nameless: ContentHash,
    pub line: u32,
}

impl Anchor {
    #[must_use]
    pub fn of(node: &NodeRef) -> Self {
        let symbol = &node.symbol;
        Self {
            path: node.path.to_string(),
            kind: symbol.kind,
            container: symbol.container.clone(),
            name: symbol.name.clone(),
            signature: symbol.signature.clone(),
            words: symbol.words.clone(),
            hash: symbol.hash,
            nameless: symbol.nameless,
            line: symbol.span.first_line,
        }
    }
}

/// By what a beacon was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MatchKind {
    /// As it was, where it was.
    Unchanged,
    /// Under its name in its file, with another content.
    Edited,
    /// The same content in another place.
    Moved,
    /// The same content under another name.
    Renamed,
    /// So much alike, of 1, and nothing else nearly as much.
    Alike(f64),
}

/// Where a beacon is now.
#[derive(Debug, Clone, PartialEq)]
pub struct BeaconMatch {
    pub node: NodeRef,
    pub kind: MatchKind,
}

/// A place a lost beacon might be.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    pub node: NodeRef,
    /// Of 1.
    pub alike: f64,
}

/// What became of a beacon.
#[derive(Debug, Clone, PartialEq)]
pub enum FollowOutcome {
    Found(BeaconMatch),
    /// Best first; often empty.
    Lost(Vec<Suggestion>),
}

/// Finds the code of `anchor` in the index as it is now.
#[must_use]
pub fn follow(anchor: &Anchor, index: &CodeIndex) -> FollowOutcome {
    if let Some(found) = in_place(anchor, index) {
        return FollowOutcome::Found(found);
    }
    let is_file = is_file(anchor);
    let akin =
        |node: &&NodeRef| are_akin(node.symbol.kind, anchor.kind) && node.is_file() == is_file;
    for (kind, same) in [
        (
            MatchKind::Moved,
            same_content as fn(&Anchor, &Symbol) -> bool,
        ),
        (MatchKind::Renamed, same_but_name),
    ] {
        let found: Vec<_> = index
            .all()
            .filter(akin)
            .filter(|node| same(anchor, &node.symbol))
            .collect();
        match found.as_slice() {
            [] => {}
            [node] => {
                return FollowOutcome::Found(BeaconMatch {
                    node: (*node).clone(),
                    kind,
                });
            }
            // Copies: which one it is cannot be known.
            copies => {
                let suggestion = |node: &&NodeRef| Suggestion {
                    node: (*node).clone(),
                    alike: 1.0,
                };
                return FollowOutcome::Lost(copies.iter().take(5).map(suggestion).collect());
            }
        }
    }
    by_likeness(anchor, index, is_file)
}

fn is_file(anchor: &Anchor) -> bool {
    anchor.kind == SymbolKind::Module && anchor.signature == anchor.path
}

fn in_place(anchor: &Anchor, index: &CodeIndex) -> Option<BeaconMatch> {
    let here: Vec<_> = index
        .all()
        .filter(|node| {
            *node.path == *anchor.path
                && node.symbol.name == anchor.name
                && node.symbol.container == anchor.container
                && are_akin(node.symbol.kind, anchor.kind)
                && node.is_file() == is_file(anchor)
        })
        .collect();
    let unchanged = here.iter().find(|node| node.symbol.hash == anchor.hash);
    if let Some(node) = unchanged {
        return Some(BeaconMatch {
            node: (*node).clone(),
            kind: MatchKind::Unchanged,
        });
    }
    let most_alike = here
        .into_iter()
        .max_by(|one, other| likeness(anchor, one).total_cmp(&likeness(anchor, other)))?;
    Some(BeaconMatch {
        node: most_alike.clone(),
        kind: MatchKind::Edited,
    })
}

fn same_content(anchor: &Anchor, symbol: &Symbol) -> bool {
    symbol.hash == anchor.hash && symbol.name == anchor.name
}

fn same_but_name(anchor: &Anchor, symbol: &Symbol) -> bool {
    symbol.nameless == anchor.nameless && says_enough(&anchor.words)
}

fn says_enough(words: &str) -> bool {
    words.split(' ').filter(|word| !word.is_empty()).count() >= FEW_WORDS
}

fn by_likeness(anchor: &Anchor, index: &CodeIndex, is_file: bool) -> FollowOutcome {
    let wanted = format!("{} {} {}", anchor.name, anchor.signature, anchor.words);
    let mut candidates: Vec<_> = index
        .alike(&wanted, COMPARED)
        .into_iter()
        .filter(|node| are_akin(node.symbol.kind, anchor.kind) && node.is_file() == is_file)
        .map(|node| Suggestion {
            alike: likeness(anchor, &node),
            node,
        })
        .collect();
    candidates.sort_by(|one, other| other.alike.total_cmp(&one.alike));
    let best = candidates.first().map_or(0.0, |best| best.alike);
    let next = candidates.get(1).map_or(0.0, |next| next.alike);
    if best >= ALIKE && best - next >= LEAD && says_enough(&anchor.words) {
        let node = candidates.swap_remove(0).node;
        return FollowOutcome::Found(BeaconMatch {
            node,
            kind: MatchKind::Alike(best),
        });
    }
    candidates.retain(|candidate| candidate.alike >= ALIKE / 2.0);
    candidates.truncate(3);
    FollowOutcome::Lost(candidates)
}

/// How much alike code is to what is remembered, from 0 to 1.
fn likeness(anchor: &Anchor, node: &NodeRef) -> f64 {
    let symbol = &node.symbol;
    let shared = overlap(&word_set(&anchor.words), &word_set(&symbol.words));
    let name = strsim::normalized_levenshtein(&anchor.name, &symbol.name);
    let signature = overlap(&word_set(&anchor.signature), &word_set(&symbol.signature));
    0.5 * shared + 0.3 * name + 0.2 * signature
}

fn word_set(text: &str) -> HashSet<String> {
    let mut set = HashSet::new();
    words(text, |word| {
        set.insert(word.to_owned());
    });
    set
}

fn overlap(one: &HashSet<String>, other: &HashSet<String>) -> f64 {
    let shared = one.intersection(other).count() as f64;
    let all = (one.len() + other.len()) as f64 - shared;
    if all > 0.0 { shared / all } else { 0.0 }
}

#[cfg(test)]
mod tests;
