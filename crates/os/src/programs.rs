//! Finding the program a name means, and the one that runs.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The first executable file of this name in `path` (the value of PATH). To a
/// shell an empty part of it means the current folder; here it means nothing, and
/// neither does a relative one: a repository must not bring the program.
#[must_use]
pub fn find_program(name: impl AsRef<OsStr>, path: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = Path::new(name.as_ref());
    std::env::split_paths(path.as_ref())
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}

#[must_use]
pub fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// What Linux puts behind the path of a program whose file was replaced.
const REPLACED: &[u8] = b" (deleted)";

/// The file of the program that runs, to start it again. Where it was replaced since,
/// as by an upgrade, that is the new file: the old one has no name any more.
pub fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe().map(named)
}

fn named(program: PathBuf) -> PathBuf {
    let name = program.as_os_str().as_bytes();
    match name.strip_suffix(REPLACED) {
        Some(name) if !program.exists() => OsString::from_vec(name.to_vec()).into(),
        _ => program,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_as_a_shell_would_but_never_in_a_relative_folder() {
        assert_eq!(
            find_program("sh", "/nowhere:/bin:/usr/bin"),
            Some("/bin/sh".into())
        );
        let folder = tempfile::tempdir_in(".").unwrap();
        let program = folder.path().join("own");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let absolute = std::path::absolute(folder.path()).unwrap();
        assert_eq!(find_program("own", &absolute), None, "not executable");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(find_program("own", &absolute), Some(absolute.join("own")));
        let relative = folder.path().file_name().unwrap();
        assert!(Path::new(relative).join("own").exists());
        assert_eq!(find_program("own", relative), None);
        assert_eq!(find_program("own", ""), None);
        assert_eq!(find_program("bin", "/"), None, "a folder");
    }

    #[test]
    fn a_program_whose_file_was_replaced_is_the_one_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("mission");
        let replaced = folder.path().join("mission (deleted)");
        assert_eq!(named(program.clone()), program);
        assert_eq!(named(replaced.clone()), program);
        std::fs::write(&replaced, "").unwrap();
        assert_eq!(named(replaced.clone()), replaced, "it has that name");
    }
}
