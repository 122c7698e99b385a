//! The recipes of a release, read by the languages they are written in. It is their grammar
//! that is held, not what they do: that takes Homebrew and Nix themselves, and a network.

use std::fmt;
use std::path::Path;
use std::process::Command;

use super::super::recipes::{FLAKE, FORMULA};
use crate::run;

/// A recipe, and what parses it without a file or a folder of its own.
const RECIPES: [(&str, &str, &[&str]); 2] = [
    (FORMULA, "ruby", &["-c"]),
    (
        FLAKE,
        "nix-instantiate",
        &["--parse", "--store", "dummy://"],
    ),
];

/// What became of a recipe that is not wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parsed {
    Whole,
    /// There is no such program here.
    Without(&'static str),
}

impl fmt::Display for Parsed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => write!(formatter, "parsed by its own language"),
            Self::Without(program) => write!(formatter, "not parsed: there is no `{program}` here"),
        }
    }
}

/// Parses each recipe in a folder of packages.
pub(super) fn recipes(packages: &Path) -> Result<Vec<(&'static str, Parsed)>, String> {
    let parse = |(file, program, arguments): (&'static str, &'static str, &[&str])| {
        if !run::exists(program) {
            return Ok((file, Parsed::Without(program)));
        }
        let mut parser = Command::new(program);
        parser.args(arguments).arg(packages.join(file));
        run::output(&mut parser).map_err(|error| format!("{file}: {error}"))?;
        Ok((file, Parsed::Whole))
    };
    RECIPES.into_iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_that_is_cut_off_is_an_error_where_it_can_be_parsed() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text);
        write(FORMULA, "class Mission < Formula\nend\n").unwrap();
        write(FLAKE, "{ outputs = { self }: { }; }\n").unwrap();
        let found = recipes(folder.path()).unwrap();
        let expected = [(FORMULA, "ruby"), (FLAKE, "nix-instantiate")];
        let expected = expected.map(|(file, program)| {
            if run::exists(program) {
                (file, Parsed::Whole)
            } else {
                (file, Parsed::Without(program))
            }
        });
        assert_eq!(found, expected);
        for (file, found) in found {
            let whole = std::fs::read_to_string(folder.path().join(file)).unwrap();
            write(file, &whole[..whole.len() - 4]).unwrap();
            let is_refused = recipes(folder.path()).is_err();
            assert_eq!(is_refused, found == Parsed::Whole, "{file}");
            write(file, &whole).unwrap();
        }
    }
}
