//! The modules of one crate, and which file names an item of which other file.
//!
//! A name is followed through re-exports to the file that defines it: a child
//! that says `use super::Thing`, where its parent only passes on what a sibling
//! defines, imports the sibling, and for the parent passing it on is no import.
//! Neither is declaring a module, or importing one whose items are not named.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path as FilePath, PathBuf};

use super::source::{self, Body, Import, Path, Purpose, Source};

/// A crate as a tree of modules.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    modules: Vec<Module>,
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    lines: usize,
}

#[derive(Debug, Default)]
struct Module {
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    bindings: BTreeMap<String, Path>,
    globs: Vec<Path>,
    /// What the file names: in its code, and what it imports for itself.
    paths: BTreeSet<Path>,
    names: BTreeSet<String>,
}

/// The names that one search has asked for, each in its module: globs may lead
/// in circles, and asking again finds nothing new.
type VisitedNames = BTreeSet<(usize, String, Position)>;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolution {
    Module(usize),
    /// An item, by the file that defines it.
    Item(usize),
    /// Another crate, a local variable, a type parameter.
    Outside,
}

/// Where in a path a name stands. `mod run; pub use run::run;` is usual: within a
/// path `run` is the module, at its end the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Position {
    Within,
    Last,
}

impl Position {
    fn of(after: &[String]) -> Self {
        if after.is_empty() {
            Self::Last
        } else {
            Self::Within
        }
    }
}

impl Module {
    /// A path that begins with what it was imported as, as it is in full.
    fn unaliased(&self, path: &[String]) -> Path {
        match path.split_first() {
            Some((first, rest)) => {
                let imported = self.bindings.get(first).map(Vec::as_slice);
                [imported.unwrap_or(&path[..1]), rest].concat()
            }
            None => Path::new(),
        }
    }
}

impl Modules {
    /// Reads a crate from its root file, with its texts from `load`.
    pub(crate) fn read(
        root: &FilePath,
        load: &dyn Fn(&FilePath) -> Option<String>,
    ) -> Result<Self, String> {
        let mut all = Self::default();
        let text = load(root).ok_or_else(|| format!("{} cannot be read", root.display()))?;
        let folder = root.parent().unwrap_or(root).to_owned();
        let source = parse(root, &text)?;
        all.add_file(root, source, None, &folder, load)?;
        Ok(all)
    }

    /// Lines of product code in all files.
    pub(crate) fn lines(&self) -> usize {
        self.files.iter().map(|file| file.lines).sum()
    }

    pub(crate) fn file(&self, index: usize) -> &FilePath {
        &self.files[index].path
    }

    /// For every file the other files whose items it names.
    pub(crate) fn imports(&self) -> Vec<BTreeSet<usize>> {
        let mut edges = vec![BTreeSet::new(); self.files.len()];
        for (index, module) in self.modules.iter().enumerate() {
            let named = module
                .paths
                .iter()
                .map(|path| self.resolve(index, path, &mut VisitedNames::new()));
            let from_globs = module
                .globs
                .iter()
                .filter_map(
                    |glob| match self.resolve(index, glob, &mut VisitedNames::new()) {
                        Resolution::Module(target) => Some(target),
                        Resolution::Item(_) | Resolution::Outside => None,
                    },
                )
                .flat_map(|target| {
                    let names = module.names.iter();
                    names.filter_map(move |name| {
                        self.member(target, name, Position::Last, &mut VisitedNames::new())
                    })
                });
            for found in named.chain(from_globs) {
                if let Resolution::Item(file) = found
                    && file != module.file
                {
                    edges[module.file].insert(file);
                }
            }
        }
        edges
    }

    /// The files that name something below a path of another crate, under whatever
    /// name they import it.
    pub(crate) fn files_naming(&self, outside: &[&str]) -> BTreeSet<usize> {
        let is_below = |path: &[String]| {
            let beginning = path.iter().take(outside.len());
            path.len() >= outside.len() && beginning.eq(outside.iter().copied())
        };
        let names = |module: &&Module| {
            let imported = module.bindings.values().chain(&module.globs);
            let mut named = imported.chain(&module.paths);
            named.any(|path| is_below(path) || is_below(&module.unaliased(path)))
        };
        let naming = self.modules.iter().filter(names);
        naming.map(|module| module.file).collect()
    }

    /// Adds a file and every module under it; `folder` is where files of its
    /// child modules are.
    fn add_file(
        &mut self,
        path: &FilePath,
        source: Source,
        parent: Option<usize>,
        folder: &FilePath,
        load: &dyn Fn(&FilePath) -> Option<String>,
    ) -> Result<usize, String> {
        let file = self.files.len();
        self.files.push(File {
            path: path.to_owned(),
            lines: source.lines,
        });
        self.add_module(source.body, file, parent, folder, load)
    }

    fn add_module(
        &mut self,
        body: Body,
        file: usize,
        parent: Option<usize>,
        folder: &FilePath,
        load: &dyn Fn(&FilePath) -> Option<String>,
    ) -> Result<usize, String> {
        let index = self.modules.len();
        let mut module = Module {
            file,
            parent,
            items: body.items,
            paths: body.paths,
            names: body.names,
            ..Module::default()
        };
        for import in body.imports {
            match import {
                Import::Name {
                    binding,
                    path,
                    purpose,
                } => {
                    if purpose == Purpose::Use || module.names.contains(&binding) {
                        module.paths.insert(path.clone());
                    }
                    module.bindings.insert(binding, path);
                }
                Import::Glob { path } => module.globs.push(path),
            }
        }
        self.modules.push(module);
        for (name, inner) in body.inline {
            let below = folder.join(&name);
            let child = self.add_module(inner, file, Some(index), &below, load)?;
            self.modules[index].children.insert(name, child);
        }
        for (name, given) in body.declared {
            let candidates = match given {
                Some(given) => {
                    let beside = self.files[file].path.with_file_name(&given);
                    vec![(beside, folder.to_owned())]
                }
                None => vec![
                    (folder.join(format!("{name}.rs")), folder.join(&name)),
                    (folder.join(&name).join("mod.rs"), folder.join(&name)),
                ],
            };
            for (path, below) in candidates {
                let Some(text) = load(&path) else { continue };
                let source = parse(&path, &text)?;
                if !source.is_test && !is_test_file(&path) {
                    let child = self.add_file(&path, source, Some(index), &below, load)?;
                    self.modules[index].children.insert(name.clone(), child);
                }
                break;
            }
        }
        Ok(index)
    }

    fn resolve(&self, from: usize, path: &[String], asked: &mut VisitedNames) -> Resolution {
        let Some((first, mut rest)) = path.split_first() else {
            return Resolution::Outside;
        };
        let mut found = match first.as_str() {
            "crate" => Resolution::Module(0),
            "self" => Resolution::Module(from),
            "super" => {
                let mut current = self.modules[from].parent;
                while let Some(("super", after)) = rest
                    .split_first()
                    .map(|(word, after)| (word.as_str(), after))
                {
                    current = current.and_then(|module| self.modules[module].parent);
                    rest = after;
                }
                match current {
                    Some(module) => Resolution::Module(module),
                    None => return Resolution::Outside,
                }
            }
            _ => self
                .member(from, first, Position::of(rest), asked)
                .unwrap_or(Resolution::Outside),
        };
        while let Some((segment, after)) = rest.split_first() {
            let Resolution::Module(module) = found else {
                // What follows an item is its variant or function.
                return found;
            };
            // What a macro defines is not seen: it is where it was looked for.
            found = self
                .member(module, segment, Position::of(after), asked)
                .unwrap_or(Resolution::Item(self.modules[module].file));
            rest = after;
        }
        found
    }

    /// What a name means inside a module.
    fn member(
        &self,
        module: usize,
        name: &str,
        at: Position,
        asked: &mut VisitedNames,
    ) -> Option<Resolution> {
        let here = &self.modules[module];
        let child = here.children.get(name).copied().map(Resolution::Module);
        if at == Position::Within && child.is_some() {
            return child;
        }
        if here.items.contains(name) {
            return Some(Resolution::Item(here.file));
        }
        let passed_on = here.bindings.get(name);
        if passed_on.is_none() && child.is_some() {
            return child;
        }
        if !asked.insert((module, name.to_owned(), at)) {
            return None;
        }
        if let Some(path) = passed_on {
            // `use name::Other as name` does not lead back to itself.
            let itself = path.first().is_some_and(|first| first == name);
            return Some(if itself && child.is_none() {
                Resolution::Outside
            } else {
                self.resolve(module, path, asked)
            });
        }
        here.globs
            .iter()
            .find_map(|glob| match self.resolve(module, glob, asked) {
                Resolution::Module(target) if target != module => {
                    self.member(target, name, at, asked)
                }
                _ => None,
            })
    }
}

fn parse(path: &FilePath, text: &str) -> Result<Source, String> {
    source::read(text).map_err(|error| format!("{}: {error}", path.display()))
}

/// `tests.rs`, `board_tests.rs` and everything under a `tests` folder.
fn is_test_file(path: &FilePath) -> bool {
    let named = path
        .file_stem()
        .is_some_and(|stem| stem == "tests" || stem.to_string_lossy().ends_with("_tests"));
    let below = path
        .parent()
        .is_some_and(|parent| parent.components().any(|part| part.as_os_str() == "tests"));
    named || below
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(files: &[(&str, &str)]) -> Modules {
        let files: BTreeMap<_, _> = files
            .iter()
            .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
            .collect();
        Modules::read(FilePath::new("lib.rs"), &|path| files.get(path).cloned()).unwrap()
    }

    fn edges(modules: &Modules) -> BTreeSet<(String, String)> {
        let name = |index: usize| modules.file(index).display().to_string();
        modules
            .imports()
            .iter()
            .enumerate()
            .flat_map(|(from, targets)| targets.iter().map(move |to| (name(from), name(*to))))
            .collect()
    }

    fn expected(pairs: &[(&str, &str)]) -> BTreeSet<(String, String)> {
        let owned = |(from, to): &(&str, &str)| ((*from).to_owned(), (*to).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn a_name_leads_through_re_exports_to_the_file_that_defines_it() {
        let modules = crate_of(&[
            ("lib.rs", "mod a; mod b; pub use b::Thing;"),
            ("a.rs", "use super::Thing; fn f(_: Thing) {}"),
            ("b/mod.rs", "mod deep; pub(crate) use deep::*;"),
            ("b/deep.rs", "pub struct Thing;"),
        ]);
        assert_eq!(edges(&modules), expected(&[("a.rs", "b/deep.rs")]));
    }

    #[test]
    fn paths_in_code_count_like_imports_and_modules_alone_do_not() {
        let modules = crate_of(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            (
                "a.rs",
                "use crate::{b, c}; fn f() { b::run(); crate::c::Kind::One; }",
            ),
            ("b.rs", "use crate::a; pub fn run() {}"),
            ("c.rs", "pub enum Kind { One }"),
        ]);
        assert_eq!(
            edges(&modules),
            expected(&[("a.rs", "b.rs"), ("a.rs", "c.rs")])
        );
    }

    #[test]
    fn a_parent_and_a_child_that_name_each_other_are_a_circle() {
        let modules = crate_of(&[
            ("lib.rs", "mod room;"),
            ("room.rs", "mod door; pub struct Room { door: door::Door }"),
            (
                "room/door.rs",
                "use super::*; pub struct Door; fn into(_: Room) {}",
            ),
        ]);
        assert_eq!(
            edges(&modules),
            expected(&[("room.rs", "room/door.rs"), ("room/door.rs", "room.rs")])
        );
    }

    #[test]
    fn a_function_may_have_the_name_of_its_module() {
        let modules = crate_of(&[
            ("lib.rs", "mod run; mod up; pub use run::run;"),
            ("run.rs", "pub fn run() {}"),
            ("up.rs", "fn up() { crate::run(); }"),
        ]);
        assert_eq!(edges(&modules), expected(&[("up.rs", "run.rs")]));
    }

    #[test]
    fn what_is_passed_on_and_named_is_imported_too() {
        let modules = crate_of(&[
            ("lib.rs", "mod a; pub use a::{One, Two}; fn f(_: One) {}"),
            ("a.rs", "pub struct One; pub struct Two;"),
        ]);
        assert_eq!(edges(&modules), expected(&[("lib.rs", "a.rs")]));
    }

    #[test]
    fn globs_that_lead_in_circles_end() {
        let modules = crate_of(&[
            ("lib.rs", "mod a; mod b; pub use a::*; pub use b::*;"),
            (
                "a.rs",
                "use super::*; use crate::b::*; fn f(_: Thing) -> Absent {}",
            ),
            ("b.rs", "use super::*; use crate::a::*; pub struct Thing;"),
        ]);
        assert_eq!(edges(&modules), expected(&[("a.rs", "b.rs")]));
    }

    #[test]
    fn files_that_name_a_part_of_another_crate_are_found() {
        let modules = crate_of(&[
            (
                "lib.rs",
                "mod by_use; mod by_path; mod by_alias; mod by_glob; mod other;",
            ),
            ("by_use.rs", "use far::{Near, part::{self, One}};"),
            ("by_path.rs", "fn f() -> far::part::One {}"),
            (
                "by_alias.rs",
                "use far as away; fn f(_: away::part::One) {}",
            ),
            ("by_glob.rs", "pub use far::part::*;"),
            (
                "other.rs",
                "use far::Near; use near::far::part; use far::party; \
                 #[cfg(test)] mod tests { use far::part::One; }",
            ),
        ]);
        let found = modules.files_naming(&["far", "part"]);
        let found: BTreeSet<_> = found
            .into_iter()
            .map(|file| modules.file(file).display().to_string())
            .collect();
        let expected = ["by_alias.rs", "by_glob.rs", "by_path.rs", "by_use.rs"];
        assert_eq!(found, expected.map(str::to_owned).into());
    }

    #[test]
    fn tests_and_other_crates_are_not_seen() {
        let modules = crate_of(&[
            (
                "lib.rs",
                "mod a; #[cfg(test)] mod tests; use serde::Serialize;",
            ),
            (
                "a.rs",
                "use std::fmt; #[cfg(test)] mod tests { use crate::b::X; } mod tests;",
            ),
            ("a/tests.rs", "use crate::a::Y;"),
            ("tests.rs", "use crate::a::Y;"),
        ]);
        assert_eq!(edges(&modules), BTreeSet::new());
        assert_eq!(modules.files.len(), 2);
    }
}
