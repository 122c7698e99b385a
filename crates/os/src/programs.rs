//! Finding the program a name means.

use std::ffi::OsStr;
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
}
