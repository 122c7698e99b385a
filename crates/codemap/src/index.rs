//! What a repository holds, in memory: files, what they define and refer to, and
//! the answers to questions about them. Changed file by file as passes tell; a
//! question does no I/O.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::CodeError;
use crate::language::Language;
use crate::meaning::Likeness;
use crate::query::{Hit, Match, Name, Query, name};
use crate::rank::Ranks;
use crate::scan::{FileChange, KnownFile};
use crate::source::{Skip, Stamp};
use crate::symbol::{ContentHash, FileFacts, FileRecord, Symbol, SymbolKind};
use crate::text_index::{self, TextIndex};

/// A symbol and the file it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRef {
    pub path: Arc<str>,
    pub language: Language,
    pub symbol: Arc<Symbol>,
    /// Of the text that stands for it when meanings are compared.
    pub described: ContentHash,
}

impl NodeRef {
    fn new(path: Arc<str>, language: Language, symbol: Symbol) -> Self {
        let mut node = Self {
            path,
            language,
            symbol: Arc::new(symbol),
            described: ContentHash::of(b""),
        };
        node.described = ContentHash::of(node.description().as_bytes());
        node
    }

    /// Its name with what it is defined in.
    #[must_use]
    pub fn qualified(&self) -> String {
        self.symbol.qualified(self.language)
    }

    /// Whether it is the file itself.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.symbol.kind == SymbolKind::Module && *self.symbol.signature == *self.path
    }
}

/// How much there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexCounts {
    pub files: u32,
    pub symbols: u32,
    pub lines: u64,
    pub languages: BTreeMap<&'static str, u32>,
    /// The files that were left out, by path.
    pub skipped: Vec<(String, Skip)>,
}

#[derive(Debug)]
pub(crate) struct FileEntry {
    pub(crate) path: Arc<str>,
    stamp: Stamp,
    pub(crate) read: Result<ReadFile, Skip>,
}

#[derive(Debug)]
pub(crate) struct ReadFile {
    hash: ContentHash,
    lines: u32,
    pub(crate) language: Language,
    /// Numbers of its nodes, itself first.
    pub(crate) nodes: Vec<u32>,
    /// Numbers of names, with how often each is used.
    pub(crate) references: Vec<(u32, u32)>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct CodeIndex {
    pub(crate) files: BTreeMap<Arc<str>, FileEntry>,
    /// By number; none for one that is gone.
    pub(crate) nodes: Vec<Option<NodeRef>>,
    /// Numbers whose node is gone but may still stand in the text index.
    gone: Vec<u32>,
    free: Vec<u32>,
    by_name: HashMap<Box<str>, Vec<u32>>,
    text: TextIndex,
    pub(crate) names: Names,
    /// Of the content as it is; none after a change.
    ranks: Mutex<Option<Arc<Ranks>>>,
}

/// Identifiers by number: the same ones are used in many files.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<Arc<str>, u32>,
    spelled: Vec<Arc<str>>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.spelled.len()).unwrap_or(u32::MAX);
        let name: Arc<str> = name.into();
        self.numbers.insert(Arc::clone(&name), number);
        self.spelled.push(name);
        number
    }

    pub(crate) fn get(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(crate) fn spelled(&self, number: u32) -> &str {
        &self.spelled[number as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.spelled.len()
    }
}

impl CodeIndex {
    /// Takes in what a pass told.
    pub fn apply(&mut self, change: FileChange) {
        match change {
            FileChange::Changed(file) => self.put(*file),
            FileChange::Touched { path, stamp } => {
                if let Some(file) = self.files.get_mut(path.as_str()) {
                    file.stamp = stamp;
                }
            }
            FileChange::Gone { path } => self.remove(&path),
        }
    }

    /// Whether this tells something the index does not hold already.
    #[must_use]
    pub fn is_new(&self, change: &FileChange) -> bool {
        match change {
            FileChange::Touched { path, stamp } => self
                .files
                .get(path.as_str())
                .is_none_or(|file| file.stamp != *stamp),
            FileChange::Changed(file) => match (&file.facts, self.files.get(file.path.as_str())) {
                (FileFacts::Skipped(skip), Some(known)) => {
                    known.stamp != file.stamp || known.read.as_ref().err() != Some(skip)
                }
                _ => true,
            },
            FileChange::Gone { path } => self.files.contains_key(path.as_str()),
        }
    }

    /// Whether anything is held of this file.
    #[must_use]
    pub fn has_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// What the next pass has to know.
    #[must_use]
    pub fn known_files(&self) -> HashMap<String, KnownFile> {
        let known = |file: &FileEntry| KnownFile {
            stamp: file.stamp,
            hash: file.read.as_ref().ok().map(|read| read.hash),
        };
        let pair = |(path, file): (&Arc<str>, &FileEntry)| (path.to_string(), known(file));
        self.files.iter().map(pair).collect()
    }

    #[must_use]
    pub fn counts(&self) -> IndexCounts {
        let mut counts = IndexCounts::default();
        for file in self.files.values() {
            match &file.read {
                Ok(read) => {
                    counts.files += 1;
                    counts.symbols += u32::try_from(read.nodes.len()).unwrap_or(u32::MAX);
                    counts.lines += u64::from(read.lines);
                    *counts.languages.entry(read.language.as_str()).or_default() += 1;
                }
                Err(skip) => counts.skipped.push((file.path.to_string(), *skip)),
            }
        }
        counts
    }

    /// The best hits for what a person typed, best first, by names and words.
    pub fn search(
        &self,
        query: &str,
        kind: Option<SymbolKind>,
        limit: usize,
    ) -> Result<Vec<Hit>, CodeError> {
        self.search_by(query, kind, limit, None)
    }

    /// The same by meaning too, as far as it is known how alike symbols are to
    /// the query.
    pub fn search_by(
        &self,
        query: &str,
        kind: Option<SymbolKind>,
        limit: usize,
        likeness: Option<Likeness<'_>>,
    ) -> Result<Vec<Hit>, CodeError> {
        let query = Query::parse(query)?;
        let mut matched: HashMap<u32, Match> = HashMap::new();
        for name in &query.names {
            for (node, how) in self.named(name) {
                let known = matched.entry(node).or_insert(how);
                *known = how.max(*known);
            }
        }
        for (path, line) in &query.paths {
            for node in self.at_path(path, *line) {
                matched.insert(node, Match::Name);
            }
        }
        let by_words = self.word_scores(&query.words);
        let scores = match likeness {
            Some(likeness) => self.with_meaning(&by_words, likeness),
            None => by_words.clone(),
        };
        let mut hits: Vec<(Option<Match>, f32, u32)> = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            let number = number as u32;
            let how = matched.get(&number).copied();
            let score = scores[number as usize];
            if (how.is_none() && score <= 0.0) || kind.is_some_and(|kind| kind != node.symbol.kind)
            {
                continue;
            }
            hits.push((how, score, number));
        }
        type Ranked = (Option<Match>, f32, u32);
        let better = |one: &Ranked, other: &Ranked| {
            let by_rank = other.0.cmp(&one.0).then(other.1.total_cmp(&one.1));
            by_rank.then_with(|| self.location(one.2).cmp(&self.location(other.2)))
        };
        if hits.len() > limit && limit > 0 {
            hits.select_nth_unstable_by(limit - 1, better);
            hits.truncate(limit);
        }
        hits.sort_unstable_by(better);
        hits.truncate(limit);
        let hit = |(how, score, number): Ranked| {
            let node = self.nodes[number as usize].clone()?;
            let otherwise = if by_words[number as usize] > 0.0 {
                Match::Words
            } else {
                Match::Meaning
            };
            Some(Hit {
                node,
                matched: how.unwrap_or(otherwise),
                score,
            })
        };
        Ok(hits.into_iter().filter_map(hit).collect())
    }

    /// The names in a query, written as code writes them, that nothing has.
    #[must_use]
    pub fn unknown_names(&self, query: &str) -> Vec<String> {
        let names = Query::parse(query).map(|query| query.names);
        let unknown = |name: &Name| self.named(name).is_empty();
        let written = |name: Name| match name.qualifier.as_str() {
            "" => name.name,
            qualifier => format!("{qualifier}::{}", name.name),
        };
        let names = names.unwrap_or_default().into_iter();
        names.filter(unknown).map(written).collect()
    }

    /// The nodes a person names: `path`, `path:line`, `name`, `qualified::name`,
    /// or `path:name`. Those that fit best alone.
    #[must_use]
    pub fn find(&self, named: &str) -> Vec<NodeRef> {
        let of = |numbers: Vec<u32>| -> Vec<NodeRef> {
            let node = |number: u32| self.nodes[number as usize].clone();
            let mut nodes: Vec<_> = numbers.into_iter().filter_map(node).collect();
            nodes.sort_by_key(|node| (Arc::clone(&node.path), node.symbol.span.start));
            nodes
        };
        if let Ok(query) = Query::parse(named)
            && let [(path, line)] = query.paths.as_slice()
            && !named.trim().contains(char::is_whitespace)
        {
            let found = of(self.at_path(path, *line));
            if !found.is_empty() {
                return found;
            }
        }
        let (path, spelled) = match named.split_once(':') {
            Some((path, spelled)) if Language::of_path(path).is_some() => {
                (Some(path), spelled.trim_start_matches(':'))
            }
            _ => (None, named),
        };
        let Some(name) = name(spelled.trim()) else {
            return Vec::new();
        };
        let mut found = self.named(&name);
        if let Some(path) = path {
            found.retain(|(number, _)| {
                let node = self.nodes[*number as usize].as_ref();
                node.is_some_and(|node| ends_with_path(&node.path, path))
            });
        }
        let best = found.iter().map(|(_, how)| *how).max();
        found.retain(|(_, how)| Some(*how) == best);
        of(found.into_iter().map(|(number, _)| number).collect())
    }

    /// Everything a file defines, in its order and without the file itself.
    #[must_use]
    pub fn in_file(&self, path: &str) -> Vec<NodeRef> {
        let read = self
            .files
            .get(path)
            .and_then(|file| file.read.as_ref().ok());
        let numbers = read.map_or(&[][..], |read| read.nodes.get(1..).unwrap_or_default());
        let node = |number: &u32| self.nodes[*number as usize].clone();
        numbers.iter().filter_map(node).collect()
    }

    /// The nodes whose words are most like these, best first. What a beacon is
    /// compared with after its code is gone.
    pub(crate) fn alike(&self, text: &str, limit: usize) -> Vec<NodeRef> {
        let mut wanted = Vec::new();
        crate::words::words(text, |word| {
            if wanted.len() < 128 && !wanted.iter().any(|known| known == word) {
                wanted.push(word.to_owned());
            }
        });
        let scores = self.text.score(&wanted, self.nodes.len(), self.living());
        let mut best: Vec<_> = (0..self.nodes.len())
            .filter(|number| scores.score[*number] > 0.0 && self.nodes[*number].is_some())
            .collect();
        best.sort_by(|one, other| scores.score[*other].total_cmp(&scores.score[*one]));
        best.truncate(limit);
        let node = |number: usize| self.nodes[number].clone();
        best.into_iter().filter_map(node).collect()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &NodeRef> {
        self.nodes.iter().flatten()
    }

    /// How the files depend on each other; worked out once for each state.
    pub(crate) fn ranks(&self) -> Arc<Ranks> {
        let mut ranks = self.ranks.lock();
        Arc::clone(ranks.get_or_insert_with(|| Arc::new(Ranks::of(self))))
    }

    fn put(&mut self, file: FileRecord) {
        self.remove(&file.path);
        let path: Arc<str> = file.path.into();
        let read = match file.facts {
            FileFacts::Skipped(skip) => Err(skip),
            FileFacts::Read {
                language,
                hash,
                lines,
                symbols,
                references,
            } => {
                let node = |symbol| NodeRef::new(Arc::clone(&path), language, symbol);
                let nodes = symbols.into_iter().map(|symbol| self.add(node(symbol)));
                let nodes = nodes.collect();
                let numbered = |(name, count): (String, u32)| (self.names.number(&name), count);
                Ok(ReadFile {
                    hash,
                    lines,
                    language,
                    nodes,
                    references: references.into_iter().map(numbered).collect(),
                })
            }
        };
        let entry = FileEntry {
            path: Arc::clone(&path),
            stamp: file.stamp,
            read,
        };
        self.files.insert(path, entry);
    }

    fn add(&mut self, node: NodeRef) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX)
        });
        let symbol = &node.symbol;
        let is_file = node.is_file();
        self.text.add(
            number,
            &[
                (text_index::NAME, &symbol.name),
                (text_index::CONTAINER, &symbol.container),
                (text_index::PATH, &node.path),
                (
                    text_index::SIGNATURE,
                    if is_file { "" } else { &symbol.signature },
                ),
                (text_index::DOC, &symbol.doc),
                (text_index::BODY, &symbol.words),
            ],
        );
        let small = symbol.name.to_lowercase().into_boxed_str();
        self.by_name.entry(small).or_default().push(number);
        self.nodes[number as usize] = Some(node);
        number
    }

    fn remove(&mut self, path: &str) {
        *self.ranks.get_mut() = None;
        let Some(file) = self.files.remove(path) else {
            return;
        };
        for number in file.read.map(|read| read.nodes).unwrap_or_default() {
            if let Some(node) = self.nodes[number as usize].take() {
                let small = node.symbol.name.to_lowercase();
                if let Some(numbers) = self.by_name.get_mut(small.as_str()) {
                    numbers.retain(|other| *other != number);
                    if numbers.is_empty() {
                        self.by_name.remove(small.as_str());
                    }
                }
            }
            self.gone.push(number);
        }
        if self.gone.len() > 1_000 && self.gone.len() > self.nodes.len() / 4 {
            let nodes = &self.nodes;
            self.text.purge(|number| nodes[number as usize].is_none());
            self.free.append(&mut self.gone);
        }
    }

    fn living(&self) -> usize {
        self.nodes.len() - self.gone.len() - self.free.len()
    }

    fn location(&self, number: u32) -> Option<(&str, u32)> {
        let node = self.nodes[number as usize].as_ref()?;
        Some((&node.path, node.symbol.span.start))
    }

    fn named(&self, wanted: &Name) -> Vec<(u32, Match)> {
        let small = wanted.name.to_lowercase();
        let numbers = self.by_name.get(small.as_str());
        let fits = |number: &u32| {
            let node = self.nodes[*number as usize].as_ref()?;
            let before = node.symbol.container.replace('.', "::");
            let fits_exactly = has_end(&before, &wanted.qualifier, str::eq);
            let fits_anyhow = has_end(&before, &wanted.qualifier, str::eq_ignore_ascii_case)
                || node
                    .path
                    .split(['/', '.'])
                    .any(|part| part == wanted.qualifier);
            match () {
                () if node.symbol.name == wanted.name && fits_exactly => {
                    Some((*number, Match::Name))
                }
                () if fits_anyhow => Some((*number, Match::NameInAnyCase)),
                () => None,
            }
        };
        numbers.into_iter().flatten().filter_map(fits).collect()
    }

    fn at_path(&self, path: &str, line: Option<u32>) -> Vec<u32> {
        let files = self
            .files
            .values()
            .filter(|file| ends_with_path(&file.path, path));
        let mut found = Vec::new();
        for read in files.filter_map(|file| file.read.as_ref().ok()) {
            let holds = |number: &&u32| {
                let node = self.nodes[**number as usize].as_ref();
                node.zip(line).is_some_and(|(node, line)| {
                    let span = node.symbol.span;
                    (span.first_line..=span.last_line).contains(&line)
                })
            };
            // Later ones are further in.
            let within = read.nodes.iter().rev().find(holds);
            found.extend(match line {
                Some(_) => within.copied(),
                None => read.nodes.first().copied(),
            });
        }
        found
    }

    /// The score of each node for these words: its own, more if more of the
    /// query is in it, and a part of what its file as a whole has.
    fn word_scores(&self, words: &[String]) -> Vec<f32> {
        const OF_THE_FILE: f32 = 0.3;
        let found = self.text.score(words, self.nodes.len(), self.living());
        let mut scores = found.score;
        for (score, covered) in scores.iter_mut().zip(&found.covered) {
            *score *= 0.4 + 0.6 * covered;
        }
        for file in self.files.values() {
            let Ok(read) = &file.read else { continue };
            let Some((first, rest)) = read.nodes.split_first() else {
                continue;
            };
            let whole = scores[*first as usize];
            for number in rest {
                let score = &mut scores[*number as usize];
                if *score > 0.0 {
                    *score += OF_THE_FILE * whole;
                }
            }
            if is_test_path(&file.path) {
                for number in &read.nodes {
                    scores[*number as usize] *= OF_A_TEST;
                }
            }
        }
        scores
    }
}

impl CodeIndex {
    /// Words and meaning in one score, 0 to 1. Words are measured by the best,
    /// likeness from its mean to the best: models find everything alike, and only
    /// what lies above the mean says anything.
    fn with_meaning(&self, by_words: &[f32], likeness: Likeness<'_>) -> Vec<f32> {
        let alike: Vec<Option<f32>> = self
            .nodes
            .iter()
            .map(|node| node.as_ref().and_then(likeness))
            .collect();
        let known = || alike.iter().flatten().copied();
        let mean = known().sum::<f32>() / known().count().max(1) as f32;
        let spread = known().fold(mean, f32::max) - mean;
        let most = by_words.iter().copied().fold(0.0, f32::max);
        let score = |(number, words): (usize, &f32)| {
            let by_words = if most > 0.0 { words / most } else { 0.0 };
            let by_meaning = match alike[number] {
                Some(alike) if spread > 1e-6 => ((alike - mean) / spread).max(0.0),
                _ => 0.0,
            };
            let caution = match &self.nodes[number] {
                Some(node) if is_test_path(&node.path) => OF_A_TEST,
                _ => 1.0,
            };
            WORDS * by_words + (1.0 - WORDS) * caution * by_meaning
        };
        by_words.iter().enumerate().map(score).collect()
    }
}

/// What words count where meaning is compared too; the rest is for meaning.
const WORDS: f32 = 0.6;

/// What a hit in a test counts.
const OF_A_TEST: f32 = 0.6;

/// Code that tests other code is seldom what is looked for.
pub(crate) fn is_test_path(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    let folders = path.split('/').rev().skip(1);
    stem == "tests"
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.starts_with("test_")
        || name.contains(".test.")
        || name.contains(".spec.")
        || folders
            .into_iter()
            .any(|part| matches!(part, "tests" | "test" | "__tests__" | "spec" | "suite"))
}

/// Whether `path` is `end`, or ends with it after a `/`.
fn ends_with_path(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Whether the parts of `qualified` end with those of `end`.
fn has_end(qualified: &str, end: &str, same: impl Fn(&str, &str) -> bool) -> bool {
    let parts = |text| str::split(text, "::").filter(|part| !part.is_empty());
    let have: Vec<_> = parts(qualified).collect();
    let want: Vec<_> = parts(end).collect();
    want.len() <= have.len()
        && have[have.len() - want.len()..]
            .iter()
            .zip(&want)
            .all(|(one, other)| same(one, other))
}

#[cfg(test)]
pub(crate) mod tests;
