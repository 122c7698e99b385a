//! Agents stay away from the daemon's data folder, all of it: one rule says so. Worktrees are
//! in that folder too, so for an agent that works in one the rule becomes many: everything
//! in the folder but its own worktree.

use std::fs;
use std::path::{Path, PathBuf};

use missiond_guard::permissions::Rule;

/// The rule that protects the folder as a whole.
pub(super) const DATA: &str = "built-in-data";

/// What may be in the data folder later and is in no rule of its own.
const NAMED: [&str; 6] = [
    "config_history.jsonl",
    "exchange",
    "http",
    "init",
    "models",
    "toolhub",
];

/// Everything in the data folder that is not the worktree this agent works in; none when it
/// works in none.
pub(super) fn around(data: &Path, worktrees: &Path, folder: &str) -> Option<Vec<PathBuf>> {
    let folder = Path::new(folder);
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // A worktree is in the folder of its repository.
    let inside = folder
        .strip_prefix(worktrees)
        .map(Path::to_owned)
        .or_else(|_| {
            let (folder, worktrees) = (real(folder), real(worktrees));
            folder.strip_prefix(worktrees).map(Path::to_owned)
        })
        .ok()?;
    let mut steps = inside.components();
    let repository = worktrees.join(steps.next()?);
    let own = repository.join(steps.next()?);
    let mut around = Vec::new();
    for (parent, kept) in [
        (data, worktrees),
        (worktrees, repository.as_path()),
        (repository.as_path(), own.as_path()),
    ] {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        if parent == data {
            around.extend(NAMED.map(|name| data.join(name)));
        }
        around.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| path != kept),
        );
    }
    Some(around)
}

/// The rules with the one on the data folder put apart.
pub(super) fn narrowed(rules: &[Rule], around: &[PathBuf]) -> Vec<Rule> {
    let mut narrowed = Vec::with_capacity(rules.len() + 2 * around.len());
    for rule in rules {
        if rule.name != DATA {
            narrowed.push(rule.clone());
            continue;
        }
        for path in around {
            let itself = path.display().to_string();
            for pattern in [format!("{itself}/**"), itself] {
                // A name that is no pattern is none of ours.
                if let Ok(path) = pattern.parse() {
                    let path = Some(path);
                    narrowed.push(Rule {
                        path,
                        ..rule.clone()
                    });
                }
            }
        }
    }
    narrowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_ones_own_worktree_is_around() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().canonicalize().unwrap();
        let worktrees = data.join("worktrees");
        for path in [
            "http",
            "worktrees/a/one/src",
            "worktrees/a/two",
            "worktrees/b/one",
        ] {
            fs::create_dir_all(data.join(path)).unwrap();
        }
        let inside = worktrees.join("a/one/src");
        let mut found = around(&data, &worktrees, inside.to_str().unwrap()).unwrap();
        found.retain(|path| path.exists());
        found.sort();
        found.dedup();
        let expected = ["http", "worktrees/a/two", "worktrees/b"].map(|path| data.join(path));
        assert_eq!(found, expected);
        for elsewhere in ["/", data.to_str().unwrap(), worktrees.to_str().unwrap()] {
            assert_eq!(around(&data, &worktrees, elsewhere), None, "{elsewhere}");
        }
    }
}
