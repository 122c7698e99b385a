//! Files that programs leave beside sources and that nobody means as work: caches
//! and build output a repository forgot to ignore.
//!
//! Git is given them as one more excludes file, below the repository's own
//! `.gitignore`: whoever writes `!name` there, or adds such a file, has it as ever.
//! Only new files are left out; what is tracked is work, whatever its name.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use missiond_os::files;

use crate::error::WorkspaceError;
use crate::status::{Changes, changes, changes_excluding};
use crate::worktree::Worktree;

/// Patterns of `.gitignore`, each with what leaves such files.
type Patterns = &'static [(&'static str, &'static str)];

/// Nobody writes such files by hand.
const SURE: Patterns = &[
    ("__pycache__/", "Python keeps compiled modules there"),
    ("*.py[cod]", "a compiled Python module"),
    (".pytest_cache/", "pytest remembers which tests failed"),
    (".mypy_cache/", "mypy keeps what it has inferred"),
    (".ruff_cache/", "ruff keeps what it has linted"),
    (".hypothesis/", "Hypothesis keeps the examples it found"),
    (".tox/", "tox makes its environments there"),
    (".nox/", "nox makes its environments there"),
    (".venv/", "a virtual environment of Python"),
    ("*.egg-info/", "setuptools describes an installed package"),
    (".eggs/", "setuptools unpacks what a build needs"),
    (".coverage", "coverage.py counts lines"),
    (
        ".coverage.*",
        "coverage.py counts lines, one file a process",
    ),
    ("htmlcov/", "the report of coverage.py"),
    (".ipynb_checkpoints/", "Jupyter saves copies of notebooks"),
    (".nyc_output/", "nyc counts lines"),
    ("*.tsbuildinfo", "TypeScript remembers what it has built"),
    (".gradle/", "Gradle keeps its state"),
    (
        ".DS_Store",
        "the Finder of macOS remembers how a folder looks",
    ),
    ("Thumbs.db", "the Explorer of Windows keeps small pictures"),
];

/// Made by programs as a rule, and now and then a fixture of somebody's tests: left
/// out as well, and said aloud.
const LIKELY: Patterns = &[
    ("node_modules/", "packages that npm, pnpm or yarn installed"),
    ("*.class", "a compiled Java class"),
    ("*.o", "a compiled C or C++ file"),
];

/// Folders with common names that are build output beside the file of the tool
/// that makes them, and somebody's sources anywhere else.
const BESIDE: &[(&str, &[&str])] = &[
    ("target", &["Cargo.toml", "pom.xml", "build.sbt"]),
    ("build", &["build.gradle", "build.gradle.kts"]),
    ("node_modules", &["package.json"]),
];

/// How the names of excludes files in git's folder for the worktree begin.
const EXCLUDES: &str = "missiond-excludes";

impl Worktree {
    /// What differs from the last commit, without build output that is new.
    pub(crate) async fn changes(&self) -> Result<Changes, WorkspaceError> {
        Ok(self.changes_and_build_output().await?.0)
    }

    /// The same, and the build output that is left out of it.
    pub(crate) async fn changes_and_build_output(
        &self,
    ) -> Result<(Changes, Vec<PathBuf>), WorkspaceError> {
        let all = changes(self.git(), self.path()).await?;
        if all.is_empty() {
            return Ok((all, Vec::new()));
        }
        let excludes = self.write_excludes(&all.untracked).await?;
        let own = changes_excluding(self.git(), self.path(), &excludes).await?;
        let kept: BTreeSet<_> = own.untracked.iter().collect();
        let left_out = all.untracked.into_iter();
        let left_out = left_out.filter(|path| !kept.contains(path)).collect();
        Ok((own, left_out))
    }

    /// Of files that were left out, those that may be work all the same.
    pub(crate) async fn doubtful(
        &self,
        left_out: &[PathBuf],
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        if left_out.is_empty() {
            return Ok(Vec::new());
        }
        let excludes = self.excludes_of(&[SURE], left_out).await?;
        let found = changes_excluding(self.git(), self.path(), &excludes).await?;
        let left_out: BTreeSet<_> = left_out.iter().collect();
        let doubtful = found.untracked.into_iter();
        Ok(doubtful.filter(|path| left_out.contains(path)).collect())
    }

    /// The setting of git that leaves build output out.
    pub(crate) async fn write_excludes(
        &self,
        untracked: &[PathBuf],
    ) -> Result<OsString, WorkspaceError> {
        self.excludes_of(&[SURE, LIKELY], untracked).await
    }

    /// The setting of git that leaves these out. Git knows one such file, so the
    /// person's own is part of it, after ours: their word counts more. A file is named
    /// by what is in it and never changes: whoever looks at the same time may need
    /// another one.
    async fn excludes_of(
        &self,
        patterns: &[Patterns],
        untracked: &[PathBuf],
    ) -> Result<OsString, WorkspaceError> {
        let mut content = Vec::new();
        for (pattern, _) in patterns.iter().copied().flatten() {
            content.extend_from_slice(pattern.as_bytes());
            content.push(b'\n');
        }
        for folder in folders_beside_manifests(self.path(), untracked) {
            content.push(b'/');
            content.extend(escaped(folder.as_os_str().as_bytes()));
            content.extend_from_slice(b"/\n");
        }
        content.extend(self.own_excludes().await?);
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        let name = format!("{EXCLUDES}-{:016x}", hasher.finish());
        let path = self.admin().join(name);
        if std::fs::read(&path).ok().as_ref() != Some(&content) {
            // Compared whenever it is used: it need not outlive a power loss.
            files::replace_private_unsynced(&path, &content).map_err(WorkspaceError::io(&path))?;
        }
        let mut setting = OsString::from("core.excludesFile=");
        setting.push(path);
        Ok(setting)
    }

    /// What the person wants ignored everywhere.
    async fn own_excludes(&self) -> Result<Vec<u8>, WorkspaceError> {
        let command = self.call("look for the person's excludes file");
        let command = command.args(["config", "--type=path", "--get", "core.excludesFile"]);
        let answer = command.run().await?;
        let path = match answer.code {
            Some(0) => Some(crate::repository::one_path(answer.output)),
            _ => usual_excludes(),
        };
        let path = path.map(|path| self.path().join(path));
        Ok(path
            .and_then(|path| std::fs::read(path).ok())
            .unwrap_or_default())
    }
}

/// Where git looks when nobody said where.
fn usual_excludes() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let settings = set("XDG_CONFIG_HOME").map(PathBuf::from);
    let settings = settings.or_else(|| Some(Path::new(&set("HOME")?).join(".config")));
    settings.map(|settings| settings.join("git/ignore"))
}

/// Of the folders above these files, those that a tool makes: relative, each once.
fn folders_beside_manifests(root: &Path, files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for file in files {
        for folder in file.ancestors().skip(1) {
            let (Some(name), Some(parent)) = (folder.file_name(), folder.parent()) else {
                continue;
            };
            let Some((_, manifests)) = BESIDE.iter().find(|(beside, _)| name == *beside) else {
                continue;
            };
            let made = manifests
                .iter()
                .any(|file| root.join(parent).join(file).is_file());
            // A name with a line break cannot be said in an excludes file.
            if made && !folder.as_os_str().as_bytes().contains(&b'\n') {
                found.insert(folder.to_owned());
            }
        }
    }
    found
}

fn escaped(path: &[u8]) -> Vec<u8> {
    let special = |byte: &u8| matches!(byte, b'\\' | b'*' | b'?' | b'[' | b'!' | b'#' | b' ');
    let escape = |byte: &u8| special(byte).then_some(b'\\').into_iter().chain([*byte]);
    path.iter().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_build_output_only_beside_what_makes_it() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        for file in ["one/Cargo.toml", "two/readme", "three/build.gradle"] {
            std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            std::fs::write(root.join(file), "").unwrap();
        }
        let files = [
            "one/target/debug/x",
            "one/target/y",
            "two/target/aim",
            "three/build/z",
            "target",
        ];
        let files = files.map(PathBuf::from);
        let found = folders_beside_manifests(root, &files);
        let found: Vec<_> = found.iter().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(found, ["one/target", "three/build"]);
    }

    #[test]
    fn a_name_is_written_so_that_it_means_itself() {
        assert_eq!(escaped(b"a b/[c]*!"), b"a\\ b/\\[c]\\*\\!");
    }

    #[test]
    fn every_pattern_has_its_reason() {
        for (pattern, why) in SURE.iter().chain(LIKELY) {
            assert!(!pattern.contains(['\n', ' ']), "{pattern}");
            assert!(!why.is_empty(), "{pattern}");
        }
    }
}
