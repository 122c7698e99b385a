//! Programs of ours that are built and installed side by side: `mission` starts
//! `mission-bench`, which starts the daemons of `mission`. The one in the same
//! folder is of the same build, so it comes before any other in PATH.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The program of this name beside the one that runs, else the first in PATH.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    let own = env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent);
    find_in(beside, env::var_os("PATH").as_deref(), name)
}

fn find_in(beside: Option<&Path>, path: Option<&OsStr>, name: &str) -> Option<PathBuf> {
    let mut file = OsString::from(name);
    file.push(env::consts::EXE_SUFFIX);
    let listed = path.map(env::split_paths).into_iter().flatten();
    beside
        .map(Path::to_owned)
        .into_iter()
        // An empty entry of PATH means the working directory, which a person who
        // lists none does not mean.
        .chain(listed.filter(|folder| folder.is_absolute()))
        .map(|folder| folder.join(&file))
        .find(|program| is_program(program))
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(file);
    metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_program_beside_comes_before_those_in_path() {
        let root = tempfile::tempdir().unwrap();
        let [beside, early, late] = ["beside", "early", "late"].map(|name| {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        });
        let path = env::join_paths([&early, &late]).unwrap();
        let find = |name| find_in(Some(&beside), Some(&path), name);
        assert_eq!(find("other"), None);

        let program = |folder: &Path, mode| {
            let file = folder.join("other");
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            file
        };
        let last = program(&late, 0o755);
        program(&early, 0o644);
        assert_eq!(
            find("other"),
            Some(last),
            "a file that cannot be run is none"
        );
        let first = program(&beside, 0o755);
        assert_eq!(find("other"), Some(first));
    }
}
