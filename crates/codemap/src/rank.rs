//! Which files and symbols the rest of a repository leans on: PageRank over the
//! references between files.
//!
//! A file that uses a name leans on the files that define it, the more so the
//! rarer the name and the more often it is used. Names that are defined in many
//! places (`new`, `run`) say little and count little. A method is mostly meant
//! where its type is named as well: `is_empty` is used everywhere, and almost
//! nowhere beside the one type of the repository that happens to have it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::index::{CodeIndex, NodeRef, is_test_path};
use crate::language::Language;
use crate::symbol::SymbolKind;

/// A name defined in more files than this connects nothing.
const COMMON: usize = 10;
/// What a use of a method counts where its type is not named.
const TYPE_UNNAMED: f64 = 0.25;
const DAMPING: f64 = 0.85;
const ROUNDS: usize = 30;

/// The graph, ready to be ranked from any point of view.
#[derive(Debug)]
pub(crate) struct Ranks {
    files: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    /// For each file, what it leans on: the file, and how strongly.
    edges: Vec<Vec<(u32, f64)>>,
    /// What is used of each file: the name's number, by whom, and how strongly.
    uses: Vec<Vec<(u32, u32, f64)>>,
}

/// How much a point of view leans on each file and on each name of it.
#[derive(Debug)]
pub(crate) struct Standing {
    files: Vec<f64>,
    names: HashMap<(u32, u32), f64>,
}

impl Ranks {
    pub(crate) fn of(index: &CodeIndex) -> Self {
        let read = || {
            let files = index.files.values();
            files.filter_map(|file| Some((&file.path, file.read.as_ref().ok()?)))
        };
        let files: Vec<_> = read().map(|(path, _)| Arc::clone(path)).collect();
        let families: Vec<_> = read().map(|(_, file)| family(file.language)).collect();
        let used: Vec<HashSet<u32>> = read()
            .map(|(_, file)| file.references.iter().map(|(name, _)| *name).collect())
            .collect();
        let definitions = Definitions::of(index, &families, &used);
        let mut edges = Vec::with_capacity(files.len());
        let mut uses = vec![Vec::new(); files.len()];
        for (number, (path, file)) in read().enumerate() {
            let caution = if is_test_path(path) { 0.2 } else { 1.0 };
            let mut leans: HashMap<u32, f64> = HashMap::new();
            for (name, count) in &file.references {
                let Some(defined) = definitions.meant_in(number as u32, *name) else {
                    continue;
                };
                let weight = caution
                    * distinctiveness(index.names.spelled(*name), families[number])
                    * f64::from(*count).sqrt()
                    / f64::from(defined.definitions);
                for definer in &defined.definers {
                    let other = definer.file as usize;
                    if other != number && families[other] == families[number] {
                        let weight = weight * definer.meant(&used[number]);
                        *leans.entry(definer.file).or_default() += weight;
                        uses[other].push((*name, number as u32, weight));
                    }
                }
            }
            let mut leans: Vec<_> = leans.into_iter().collect();
            leans.sort_unstable_by_key(|(file, _)| *file);
            edges.push(leans);
        }
        let numbers = files.iter().cloned().zip(0..).collect();
        Self {
            files,
            numbers,
            edges,
            uses,
        }
    }

    /// The standing of all files as seen from `focus`, or from everywhere when it
    /// is empty.
    pub(crate) fn from(&self, focus: &[Arc<str>]) -> Standing {
        let count = self.files.len();
        let points: Vec<_> = focus
            .iter()
            .filter_map(|path| self.numbers.get(path).copied())
            .collect();
        let mut start = vec![0.0; count];
        if points.is_empty() {
            start.fill(1.0 / count.max(1) as f64);
        }
        for point in &points {
            start[*point as usize] = 1.0 / points.len() as f64;
        }
        let strength: Vec<f64> = self
            .edges
            .iter()
            .map(|edges| edges.iter().map(|(_, weight)| weight).sum())
            .collect();
        let mut files = start.clone();
        for _ in 0..ROUNDS {
            // What leans on nothing gives its share to where everything starts.
            let idle: f64 = files
                .iter()
                .zip(&strength)
                .filter(|(_, strength)| **strength <= 0.0)
                .map(|(rank, _)| rank)
                .sum();
            let mut next: Vec<f64> = start
                .iter()
                .map(|start| start * (1.0 - DAMPING + DAMPING * idle))
                .collect();
            for (number, edges) in self.edges.iter().enumerate() {
                let given = DAMPING * files[number] / strength[number].max(f64::MIN_POSITIVE);
                for (other, weight) in edges {
                    next[*other as usize] += given * weight;
                }
            }
            files = next;
        }
        let mut names = HashMap::new();
        for (number, uses) in self.uses.iter().enumerate() {
            for (name, user, weight) in uses {
                let user = *user as usize;
                let given = files[user] * weight / strength[user].max(f64::MIN_POSITIVE);
                *names.entry((number as u32, *name)).or_insert(0.0) += given;
            }
        }
        Standing { files, names }
    }

    /// How much is leaned on `name` as `path` defines it, and on the file itself
    /// without a name.
    pub(crate) fn standing(&self, standing: &Standing, path: &str, name: Option<u32>) -> f64 {
        let Some(file) = self.numbers.get(path) else {
            return 0.0;
        };
        match name {
            None => standing.files[*file as usize],
            Some(name) => standing.names.get(&(*file, name)).copied().unwrap_or(0.0),
        }
    }
}

/// Who defines each name.
struct Definitions {
    by_name: Vec<DefinedName>,
}

/// Where a name is defined.
#[derive(Default)]
struct DefinedName {
    /// All of them, also those that no other file can mean.
    definitions: u32,
    /// Files that define it; within one of these the name means that one.
    in_files: HashSet<u32>,
    /// Files that define it for others, in order.
    definers: Vec<Definer>,
}

/// A file that defines a name for others.
struct Definer {
    file: u32,
    /// The types whose method it is; none when something else has the name too.
    types: Option<Vec<u32>>,
    /// Of the files that use the name, the share that names one of the types.
    together: f64,
}

impl Definer {
    /// How likely a file with these names means this definition, 0 to 1.
    fn meant(&self, used: &HashSet<u32>) -> f64 {
        match &self.types {
            None => 1.0,
            Some(types) if types.iter().any(|name| used.contains(name)) => self.together,
            Some(_) => self.together * TYPE_UNNAMED,
        }
    }
}

impl Definitions {
    fn of(index: &CodeIndex, families: &[Language], used: &[HashSet<u32>]) -> Self {
        let mut by_name: Vec<DefinedName> = Vec::new();
        by_name.resize_with(index.names.len(), DefinedName::default);
        let read = index
            .files
            .values()
            .filter_map(|file| file.read.as_ref().ok());
        for (number, file) in (0_u32..).zip(read) {
            for node in file.nodes.iter().skip(1) {
                let Some(node) = &index.nodes[*node as usize] else {
                    continue;
                };
                let Some(name) = index.names.get(&node.symbol.name) else {
                    continue;
                };
                let defined = &mut by_name[name as usize];
                defined.definitions += 1;
                defined.in_files.insert(number);
                if is_seen_elsewhere(node) {
                    defined.add(number, types_of(index, node));
                }
            }
        }
        for (name, defined) in (0_u32..).zip(&mut by_name) {
            if defined.definers.is_empty() || defined.definers.len() > COMMON {
                defined.definers.clear();
                continue;
            }
            let is_user = |(file, used): &(usize, &HashSet<u32>)| {
                used.contains(&name) && !defined.in_files.contains(&(*file as u32))
            };
            let users: Vec<_> = used.iter().enumerate().filter(is_user).collect();
            for definer in &mut defined.definers {
                let family = families[definer.file as usize];
                let users = users.iter().filter(|(file, _)| families[*file] == family);
                let names_type = |used: &HashSet<u32>| {
                    let types = definer.types.iter().flatten();
                    types.into_iter().any(|name| used.contains(name))
                };
                let (all, together) = users.fold((0_u32, 0_u32), |(all, together), (_, used)| {
                    (all + 1, together + u32::from(names_type(used)))
                });
                definer.together = f64::from(together) / f64::from(all.max(1));
            }
        }
        Self { by_name }
    }

    /// Where a name is defined that a file uses; nothing when that says nothing, or
    /// the file means its own.
    fn meant_in(&self, file: u32, name: u32) -> Option<&DefinedName> {
        let defined = &self.by_name[name as usize];
        (!defined.definers.is_empty() && !defined.in_files.contains(&file)).then_some(defined)
    }
}

impl DefinedName {
    fn add(&mut self, file: u32, types: Option<Vec<u32>>) {
        match self.definers.last_mut().filter(|last| last.file == file) {
            Some(last) => match (&mut last.types, types) {
                (Some(known), Some(types)) => known.extend(types),
                (known, _) => *known = None,
            },
            None => self.definers.push(Definer {
                file,
                types,
                together: 0.0,
            }),
        }
    }
}

/// The names by which the type of a method is meant; none for what is no method.
fn types_of(index: &CodeIndex, node: &NodeRef) -> Option<Vec<u32>> {
    if node.symbol.kind != SymbolKind::Method || node.symbol.container.is_empty() {
        return None;
    }
    let parts = node
        .symbol
        .container
        .split(|c: char| !c.is_alphanumeric() && c != '_');
    let named = parts.filter(|part| part.len() > 1);
    Some(named.filter_map(|part| index.names.get(part)).collect())
}

/// Languages that can use each other's names.
fn family(language: Language) -> Language {
    match language {
        Language::C => Language::Cpp,
        Language::Tsx | Language::TypeScript => Language::JavaScript,
        other => other,
    }
}

/// Whether other files can mean it by its name, as far as its own text says.
pub(crate) fn is_seen_elsewhere(node: &NodeRef) -> bool {
    let symbol = &node.symbol;
    let says_so = |word: &str| symbol.signature.starts_with(word);
    match node.language {
        Language::Rust => symbol.kind == SymbolKind::Macro || says_so("pub"),
        Language::C => !says_so("static"),
        Language::Java => !says_so("private"),
        _ => true,
    }
}

/// Names of several parts are seldom meant for something else; a small word
/// (`clone`, `join`) is mostly a method of a library. What a language has in scope without
/// an import is the language's own: who uses nothing else would lean on it alone.
fn distinctiveness(name: &str, family: Language) -> f64 {
    let parts = crate::words::parts(name).count();
    let is_capital = name.bytes().next().is_some_and(|b| b.is_ascii_uppercase());
    match (parts, is_capital) {
        _ if always_in_scope(family).contains(&name) => 0.0,
        (2.., _) => 2.0,
        (_, true) => 1.0,
        (_, false) => 0.05,
    }
}

/// Names of types that a language knows without an import.
const fn always_in_scope(family: Language) -> &'static [&'static str] {
    match family {
        Language::Rust => &[
            "AsMut",
            "AsRef",
            "Box",
            "Clone",
            "Copy",
            "Default",
            "DoubleEndedIterator",
            "Drop",
            "Eq",
            "Err",
            "ExactSizeIterator",
            "Extend",
            "Fn",
            "FnMut",
            "FnOnce",
            "From",
            "FromIterator",
            "Into",
            "IntoIterator",
            "Iterator",
            "None",
            "Ok",
            "Option",
            "Ord",
            "PartialEq",
            "PartialOrd",
            "Result",
            "Self",
            "Send",
            "Sized",
            "Some",
            "String",
            "Sync",
            "ToOwned",
            "ToString",
            "TryFrom",
            "TryInto",
            "Unpin",
            "Vec",
        ],
        Language::Java => &[
            "Boolean",
            "Character",
            "Class",
            "Double",
            "Exception",
            "Float",
            "Integer",
            "Iterable",
            "Long",
            "Math",
            "Number",
            "Object",
            "Override",
            "Runnable",
            "String",
            "StringBuilder",
            "System",
            "Thread",
            "Throwable",
        ],
        Language::JavaScript => &[
            "Array", "Boolean", "Date", "Error", "Function", "JSON", "Map", "Math", "Number",
            "Object", "Promise", "Proxy", "RegExp", "Set", "String", "Symbol", "WeakMap",
        ],
        Language::Python => &["Exception", "False", "None", "True"],
        _ => &[],
    }
}
