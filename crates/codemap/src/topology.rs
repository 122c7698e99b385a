//! The map of a repository within a budget: the symbols that the rest leans on
//! most, under their files, as text that fits.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::index::{CodeIndex, NodeRef, is_test_path};
use crate::rank::is_seen_elsewhere;
use crate::symbol::SymbolKind;

/// How long and from whose point of view.
#[derive(Debug, Clone)]
pub struct MapRequest {
    /// At most so many tokens, as `count` counts.
    pub tokens: usize,
    /// How many tokens a text is. The map cannot know, and there is one answer for
    /// everything that is put before a model.
    pub count: fn(&str) -> usize,
    /// Paths the map is drawn from: what these lean on comes first. Folders and
    /// ends of paths stand for the files they fit.
    pub focus: Vec<String>,
}

/// A map that was drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    pub text: String,
    pub tokens: usize,
    pub files_shown: usize,
    pub symbols_shown: usize,
    pub files: usize,
    pub symbols: usize,
    /// Parts of the focus that fit no file.
    pub unknown_focus: Vec<String>,
}

impl CodeIndex {
    /// Draws the map.
    #[must_use]
    pub fn map(&self, request: &MapRequest) -> Topology {
        let mut unknown_focus = Vec::new();
        let mut focus: Vec<Arc<str>> = Vec::new();
        for wanted in &request.focus {
            let before = focus.len();
            let wanted_path = wanted.trim_start_matches("./").trim_end_matches('/');
            let fits = |path: &&Arc<str>| fits(path, wanted_path);
            focus.extend(self.files.keys().filter(fits).cloned());
            if focus.len() == before {
                unknown_focus.push(wanted.clone());
            }
        }
        let ranks = self.ranks();
        let standing = ranks.from(&focus);
        // What is leaned on a name in a file, several definitions of it share.
        let mut sharing: HashMap<(&str, &str), f64> = HashMap::new();
        for node in self.all().filter(|node| !node.is_file()) {
            let named = (&*node.path, node.symbol.name.as_str());
            *sharing.entry(named).or_default() += 1.0;
        }
        let mut ranked: Vec<(f64, &NodeRef)> = self
            .all()
            .filter(|node| !node.is_file())
            .map(|node| {
                let of_file = ranks.standing(&standing, &node.path, None);
                let name = self.names.get(&node.symbol.name);
                let of_name = name.map_or(0.0, |name| {
                    let share = sharing.get(&(&*node.path, node.symbol.name.as_str()));
                    ranks.standing(&standing, &node.path, Some(name)) / share.unwrap_or(&1.0)
                });
                let weight = prominence(node);
                (weight * (of_name + 0.01 * of_file), node)
            })
            .collect();
        ranked.sort_by(|one, other| {
            let place = |node: &NodeRef| (Arc::clone(&node.path), node.symbol.span.start);
            let by_rank = other.0.total_cmp(&one.0);
            by_rank.then_with(|| place(one.1).cmp(&place(other.1)))
        });
        let (mut shown, mut text) = (0, String::new());
        let (mut low, mut high) = (1, ranked.len());
        // The largest number of symbols whose map fits.
        while low <= high {
            let middle = usize::midpoint(low, high);
            let drawn = self.draw(&ranked[..middle]);
            if (request.count)(&drawn) <= request.tokens {
                (shown, text) = (middle, drawn);
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        let mut files_shown: Vec<_> = ranked[..shown].iter().map(|(_, node)| &node.path).collect();
        files_shown.sort_unstable();
        files_shown.dedup();
        Topology {
            tokens: (request.count)(&text),
            text,
            files_shown: files_shown.len(),
            symbols_shown: shown,
            files: self.files.values().filter(|file| file.read.is_ok()).count(),
            symbols: ranked.len(),
            unknown_focus,
        }
    }

    fn draw(&self, ranked: &[(f64, &NodeRef)]) -> String {
        let mut files: BTreeMap<&str, Vec<&NodeRef>> = BTreeMap::new();
        for (_, node) in ranked {
            files.entry(&node.path).or_default().push(node);
        }
        let mut text = String::new();
        for (path, mut nodes) in files {
            text.push_str(path);
            if let Some(about) = self.about(path) {
                text.push_str(": ");
                text.push_str(&about);
            }
            text.push('\n');
            nodes.sort_by_key(|node| node.symbol.span.start);
            for node in nodes {
                let symbol = &node.symbol;
                let inside = match symbol.container.as_str() {
                    "" => String::new(),
                    container => format!("{container}: "),
                };
                let signature: String = symbol.signature.chars().take(160).collect();
                let line = symbol.span.first_line;
                text.push_str(&format!("  {line} {inside}{signature}\n"));
            }
        }
        text
    }

    /// The first sentence a file says about itself.
    fn about(&self, path: &str) -> Option<String> {
        let first = *self.files.get(path)?.read.as_ref().ok()?.nodes.first()?;
        let doc = &self.nodes[first as usize].as_ref()?.symbol.doc;
        let joined = doc.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = joined
            .split_inclusive(". ")
            .next()
            .unwrap_or_default()
            .trim();
        let sentence: String = sentence.chars().take(120).collect();
        (!sentence.is_empty()).then_some(sentence)
    }
}

/// What a reader who is new to the code is helped by.
fn prominence(node: &NodeRef) -> f64 {
    let by_kind = match node.symbol.kind {
        SymbolKind::Constant => 0.3,
        SymbolKind::Module => 0.5,
        SymbolKind::Macro | SymbolKind::Type => 0.7,
        SymbolKind::Method => 0.8,
        _ => 1.0,
    };
    let of_a_test = if is_test_path(&node.path) { 0.1 } else { 1.0 };
    let of_its_own = if is_seen_elsewhere(node) { 1.0 } else { 0.3 };
    by_kind * of_a_test * of_its_own
}

fn fits(path: &str, wanted: &str) -> bool {
    let below = path
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let end = path
        .strip_suffix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    !wanted.is_empty() && (below || end)
}
