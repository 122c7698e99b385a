//! Every kind of event that is stored is told by something: the homes of the product tests
//! name the kinds they have seen, and what `docs/reference/events.md` lists beside them is
//! declared and told by nobody.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::report::Ran;
use crate::run;

/// Where the homes name what they have seen. Known to `tests/harness.rs` too.
pub(crate) const SEEN_KINDS: &str = "MISSION_TEST_SEEN_KINDS";

const PAGE: &str = "docs/reference/events.md";

/// Kinds that no home in order tells, with the test that makes their producer tell them.
const PROVED_BY: [(&str, &str, &str); 2] = [
    (
        "consumer_failed",
        "crates/daemon/src/failures.rs",
        "a_consumer_that_keeps_failing_is_told_of_and_becomes_an_incident",
    ),
    (
        "task_panicked",
        "crates/daemon/src/failures.rs",
        "a_panic_becomes_an_incident_that_says_what_broke_and_what_follows",
    ),
];

/// An empty folder for the kinds of this run.
pub(crate) fn folder() -> Result<PathBuf, String> {
    let folder = run::target_folder()?.join("seen-kinds");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    }
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}

/// Fails on a stored kind that nobody saw. Only when all tests have run.
pub(crate) fn check(folder: &Path) -> Result<Ran, String> {
    let root = run::root();
    let read = |file: &str| {
        std::fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))
    };
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        seen.insert(entry.file_name().to_string_lossy().into_owned());
    }
    for (kind, file, test) in PROVED_BY {
        if !read(file)?.contains(&format!("fn {test}()")) {
            return Err(format!(
                "{file} has no test `{test}` any more, which made {kind} be told"
            ));
        }
        seen.insert(kind.to_owned());
    }
    let page = read(PAGE)?;
    let unseen = unseen(&stored(&page), &seen);
    if unseen.is_empty() {
        return Ok(Ran::default());
    }
    Err(format!(
        "no test saw these kinds of event; delete them, or test what tells them: {}",
        unseen.join(", ")
    ))
}

/// The stored kinds that the page of events lists.
fn stored(page: &str) -> Vec<&str> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split_once("` | stored |"))
        .map(|(kind, _)| kind)
        .collect()
}

fn unseen<'k>(declared: &[&'k str], seen: &BTreeSet<String>) -> Vec<&'k str> {
    let kinds = declared.iter().copied();
    kinds.filter(|kind| !seen.contains(*kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_kind_that_nobody_saw_is_named_and_a_told_one_is_not() {
        let page = "# Events\n\n| kind | is |\n|---|---|\n| `a` | stored | x |\n\
                    | `b` | told | x |\n| `c` | stored | x |\n";
        assert_eq!(stored(page), ["a", "c"]);
        let seen = BTreeSet::from(["a".to_owned(), "d".to_owned()]);
        assert_eq!(unseen(&stored(page), &seen), ["c"]);
    }

    #[test]
    fn the_page_lists_kinds_and_those_that_are_proved_elsewhere() {
        let page = std::fs::read_to_string(run::root().join(PAGE)).unwrap();
        let stored = stored(&page);
        assert!(stored.len() > 50, "{}", stored.len());
        for (kind, _, _) in PROVED_BY {
            assert!(stored.contains(&kind), "{kind}");
        }
    }

    #[test]
    fn a_run_in_which_nothing_was_told_fails() {
        let folder = tempfile::tempdir().unwrap();
        let error = check(folder.path()).unwrap_err();
        assert!(error.contains("board_task_created"), "{error}");
        for kind in stored(&std::fs::read_to_string(run::root().join(PAGE)).unwrap()) {
            std::fs::write(folder.path().join(kind), "").unwrap();
        }
        check(folder.path()).unwrap();
    }
}
