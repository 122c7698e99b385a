//! The files of policies: the person's beside their configuration, and the one of the
//! repository an agent works in. They are looked at before every decision, so that a change
//! holds from the next one on, and read only when they are others than before.
//!
//! A person's file that others may write is refused. What cannot be used leaves in force
//! what was read before; where nothing was, nothing is allowed. A repository's file is that
//! of its own checkout and not of a worktree, whose agent could write it; it can only
//! narrow.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use missiond_api::Home;
use missiond_guard::policy::{MAX_FILE_BYTES, Policies, Policy, PolicyProblem, PolicySource, read};
use missiond_os::files::written_by_others;
use sha2::{Digest, Sha256};

/// Repositories whose files are held at once; of more, some are read again.
const MAX_HELD: usize = 256;
/// Changes that nobody has taken; more of them are in the log of whoever reads.
const MAX_CHANGES: usize = 256;

/// The files and what they say.
#[derive(Debug)]
pub struct PolicyFiles {
    person: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held: HashMap<PathBuf, Held>,
    changes: Vec<PolicyChange>,
}

/// A file as it was read last.
#[derive(Debug, Clone, Default)]
struct Held {
    seen: Seen,
    policy: Option<Arc<Policy>>,
    /// Why it cannot be used as it is now.
    problems: Vec<PolicyProblem>,
}

/// What tells a file from another version of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Seen {
    #[default]
    Never,
    Missing,
    There {
        changed: (i64, i64),
        modified: (i64, i64),
        size: u64,
        file: (u64, u64),
        mode: u32,
    },
}

/// Something about a file that people are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyChange {
    pub file: PathBuf,
    pub outcome: PolicyOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyOutcome {
    InForce {
        digest: String,
        rules: usize,
        warnings: Vec<PolicyProblem>,
    },
    Gone,
    Rejected(Vec<PolicyProblem>),
}

/// The files that hold for a folder, whether they are there or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyPlaces {
    pub person: PathBuf,
    pub repository: Option<PathBuf>,
}

impl PolicyFiles {
    #[must_use]
    pub fn new(home: &Home) -> Self {
        Self {
            person: home.policy_file(),
            state: Mutex::default(),
        }
    }

    /// The files that hold for whoever works in a folder.
    #[must_use]
    pub fn places(&self, folder: &Path) -> PolicyPlaces {
        PolicyPlaces {
            person: self.person.clone(),
            repository: repository_of(folder).map(|root| root.join(".mission/policy.toml")),
        }
    }

    /// The checkout that whoever works in a folder works for; none outside of one.
    #[must_use]
    pub fn repository(&self, folder: &Path) -> Option<PathBuf> {
        repository_of(folder)
    }

    /// What holds for whoever works in a folder, now.
    #[must_use]
    pub fn of(&self, folder: &Path) -> Policies {
        let places = self.places(folder);
        let mut state = self.state();
        let person = state.current(&places.person, PolicySource::Person);
        let repository = places
            .repository
            .map(|file| state.current(&file, PolicySource::Repository))
            .unwrap_or_default();
        let unusable = [&person, &repository]
            .into_iter()
            .filter(|held| held.policy.is_none());
        Policies {
            broken: unusable.flat_map(|held| held.problems.clone()).collect(),
            person: person.policy,
            repository: repository.policy,
        }
    }

    /// Why a file as it is now is not what is in force, for the files of a folder.
    #[must_use]
    pub fn problems(&self, folder: &Path) -> Vec<PolicyProblem> {
        let places = self.places(folder);
        let mut state = self.state();
        let mut problems = state.current(&places.person, PolicySource::Person).problems;
        if let Some(file) = places.repository {
            problems.extend(state.current(&file, PolicySource::Repository).problems);
        }
        problems
    }

    /// Looks at every file that was asked for before, and takes what has changed since it
    /// was taken last.
    #[must_use]
    pub fn changes(&self) -> Vec<PolicyChange> {
        let mut state = self.state();
        state.current(&self.person.clone(), PolicySource::Person);
        let files: Vec<PathBuf> = state.held.keys().cloned().collect();
        for file in files {
            let source = if file == self.person {
                PolicySource::Person
            } else {
                PolicySource::Repository
            };
            state.current(&file, source);
        }
        std::mem::take(&mut state.changes)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn current(&mut self, file: &Path, source: PolicySource) -> Held {
        let now = seen(file);
        let before = self.held.get(file).cloned().unwrap_or_default();
        if now == before.seen {
            return before;
        }
        let loaded = match now {
            Seen::Missing | Seen::Never => Ok(None),
            Seen::There { .. } => load(file, source).map(Some),
        };
        let first = before.seen == Seen::Never;
        let (held, outcome) = match loaded {
            Ok(None) => (Held::default(), PolicyOutcome::Gone),
            Ok(Some((policy, digest))) => {
                let outcome = PolicyOutcome::InForce {
                    digest,
                    rules: policy.rules.len(),
                    warnings: policy.warnings.clone(),
                };
                let policy = Some(Arc::new(policy));
                let held = Held {
                    policy,
                    ..Held::default()
                };
                (held, outcome)
            }
            Err(problems) => {
                let held = Held {
                    policy: before.policy,
                    problems: problems.clone(),
                    ..Held::default()
                };
                (held, PolicyOutcome::Rejected(problems))
            }
        };
        let held = Held { seen: now, ..held };
        // That a file is as it was when the daemon began is no news.
        let news = match &outcome {
            PolicyOutcome::Gone => !first,
            PolicyOutcome::InForce { warnings, .. } => !first || !warnings.is_empty(),
            PolicyOutcome::Rejected(_) => true,
        };
        if news && self.changes.len() < MAX_CHANGES {
            self.changes.push(PolicyChange {
                file: file.to_owned(),
                outcome,
            });
        }
        if self.held.len() >= MAX_HELD && !self.held.contains_key(file) {
            self.held.clear();
        }
        self.held.insert(file.to_owned(), held.clone());
        held
    }
}

fn seen(file: &Path) -> Seen {
    match fs::metadata(file) {
        Ok(there) => there_as(&there),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Seen::Missing,
        // It is there and cannot even be looked at: reading says why.
        Err(_) => Seen::There {
            changed: (0, 0),
            modified: (0, 0),
            size: 0,
            file: (0, 0),
            mode: 0,
        },
    }
}

fn there_as(there: &Metadata) -> Seen {
    Seen::There {
        changed: (there.ctime(), there.ctime_nsec()),
        modified: (there.mtime(), there.mtime_nsec()),
        size: there.size(),
        file: (there.dev(), there.ino()),
        mode: there.mode(),
    }
}

fn load(file: &Path, source: PolicySource) -> Result<(Policy, String), Vec<PolicyProblem>> {
    let problem = |problem: String| {
        vec![PolicyProblem {
            file: source.name().to_owned(),
            line: None,
            problem,
        }]
    };
    let unreadable = |error: io::Error| problem(format!("cannot be read: {error}"));
    if !fs::metadata(file).map_err(unreadable)?.is_file() {
        return Err(problem("is not a file".to_owned()));
    }
    // Whoever writes it decides what agents may do. That of a repository only narrows.
    if source == PolicySource::Person
        && let Some(why) = written_by_others(file).map_err(unreadable)?
    {
        return Err(problem(why.to_owned()));
    }
    let mut text = String::new();
    let most = MAX_FILE_BYTES as u64 + 1;
    let opened = fs::File::open(file).map_err(unreadable)?;
    opened
        .take(most)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    let policy = read(source, &text)?;
    let digest = missiond_os::hex::encode(&Sha256::digest(text.as_bytes()));
    Ok((policy, digest))
}

/// The checkout whose policy holds in a folder: of a worktree the repository it belongs to.
fn repository_of(folder: &Path) -> Option<PathBuf> {
    let root = folder
        .ancestors()
        .find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    main_checkout(root).or_else(|| Some(root.to_owned()))
}

/// Of a linked worktree, whose `.git` is a file that names git's own folder for it.
fn main_checkout(worktree: &Path) -> Option<PathBuf> {
    let pointer = worktree.join(".git");
    let there = pointer.symlink_metadata().ok()?;
    if !there.is_file() || there.len() > 8192 {
        return None;
    }
    let text = fs::read_to_string(pointer).ok()?;
    let admin = worktree.join(text.strip_prefix("gitdir: ")?.trim_end());
    let common = fs::read_to_string(admin.join("commondir")).ok()?;
    let common = admin.join(common.trim_end()).canonicalize().ok()?;
    (common.file_name()? == ".git").then(|| common.parent().map(Path::to_owned))?
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn files() -> (tempfile::TempDir, PolicyFiles, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::under(folder.path());
        fs::create_dir_all(home.config_dir()).unwrap();
        fs::set_permissions(home.config_dir(), fs::Permissions::from_mode(0o700)).unwrap();
        let file = home.policy_file();
        (folder, PolicyFiles::new(&home), file)
    }

    fn write(file: &Path, text: &str) {
        // A new file each time, as an editor does.
        let _ = fs::remove_file(file);
        fs::write(file, text).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn names(policies: &Policies) -> Vec<String> {
        policies.rules().map(|rule| rule.name.clone()).collect()
    }

    #[test]
    fn a_change_holds_from_the_next_decision_on_and_a_slip_leaves_what_was() {
        let (folder, files, file) = files();
        let here = folder.path();
        assert_eq!(files.of(here), Policies::default());
        write(&file, "[[shell]]\nallow = \"ls*\"\n");
        assert_eq!(names(&files.of(here)), ["policy.toml:2"]);
        write(&file, "[[shell]]\n\nalow = \"ls*\"\n");
        let policies = files.of(here);
        assert_eq!(names(&policies), ["policy.toml:2"]);
        assert!(policies.broken.is_empty());
        assert_eq!(
            files.problems(here)[0].to_string(),
            "policy.toml, line 3: `alow` is no key of [[shell]]: did you mean `allow`?"
        );
        fs::remove_file(&file).unwrap();
        assert_eq!(files.of(here), Policies::default());
        let told: Vec<bool> = files
            .changes()
            .into_iter()
            .map(|change| matches!(change.outcome, PolicyOutcome::Rejected(_)))
            .collect();
        assert_eq!(told, [false, true, false]);
        assert!(files.changes().is_empty());
    }

    #[test]
    fn what_was_never_right_allows_nothing_and_a_file_others_may_write_is_refused() {
        let (folder, files, file) = files();
        write(&file, "[[shell]]\nallow = 3\n");
        assert_eq!(files.of(folder.path()).broken.len(), 1);
        write(&file, "[[shell]]\nallow = \"ls*\"\n");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        let policies = files.of(folder.path());
        assert_eq!(policies.person, None);
        assert!(
            policies.broken[0]
                .problem
                .contains("may be written by others"),
            "{policies:?}"
        );
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(names(&files.of(folder.path())), ["policy.toml:2"]);
    }

    #[test]
    fn a_worktree_is_held_to_the_policy_of_its_repository_and_not_to_its_own() {
        let (folder, files, _) = files();
        let (main, tree) = (folder.path().join("main"), folder.path().join("tree"));
        let admin = main.join(".git/worktrees/tree");
        fs::create_dir_all(&admin).unwrap();
        fs::create_dir_all(main.join(".mission")).unwrap();
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::create_dir_all(tree.join(".mission")).unwrap();
        fs::write(admin.join("commondir"), "../..\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
        write(
            &main.join(".mission/policy.toml"),
            "[[shell]]\ndeny = \"rm*\"\n",
        );
        write(
            &tree.join(".mission/policy.toml"),
            "\n\n[[shell]]\ndeny = \"ls*\"\n",
        );
        for place in [&main, &tree, &tree.join("src")] {
            assert_eq!(
                names(&files.of(place)),
                [".mission/policy.toml:2"],
                "{}",
                place.display()
            );
        }
        write(
            &main.join(".mission/policy.toml"),
            "[[shell]]\nallow = \"rm*\"\n",
        );
        let problems = files.problems(&tree);
        assert!(
            problems[0].problem.contains("can only narrow"),
            "{problems:?}"
        );
    }
}
