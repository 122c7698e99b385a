//! What a command finds around it: its program, and the variables it is given.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Passed on from the environment of this process: who and where the person is,
/// and where their tools live. Everything else, secrets above all, is not.
const PASSED_ON: [&str; 30] = [
    "CARGO_HOME",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GOPATH",
    "GOROOT",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NVM_DIR",
    "PATH",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
    "VOLTA_HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// The whole environment of a command that asked for `wanted`.
pub(crate) fn environment(
    own: impl Iterator<Item = (OsString, OsString)>,
    wanted: &BTreeMap<String, String>,
) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> = own
        .filter(|(name, _)| {
            PASSED_ON.iter().any(|passed| name == *passed) || name.as_bytes().starts_with(b"LC_")
        })
        .collect();
    environment.insert("TERM".into(), "dumb".into());
    for (name, value) in wanted {
        environment.insert(name.into(), value.into());
    }
    environment
}

/// The first executable file of this name in `path` (the value of PATH).
pub(crate) fn find_program(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    // An empty or relative part would mean a folder that a repository controls.
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}

pub(crate) fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_gets_the_persons_tools_and_none_of_the_secrets() {
        let own = [
            ("PATH", "/bin"),
            ("CARGO_HOME", "/c"),
            ("LC_ALL", "C.UTF-8"),
            ("SOME_API_KEY", "secret"),
            ("TERM", "xterm"),
            ("GIT_DIR", "/elsewhere"),
        ];
        let own = own
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        let wanted = BTreeMap::from([("PATH".to_owned(), "/opt/bin".to_owned())]);
        let expected = [
            ("CARGO_HOME", "/c"),
            ("LC_ALL", "C.UTF-8"),
            ("PATH", "/opt/bin"),
            ("TERM", "dumb"),
        ];
        let expected = expected.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(environment(own, &wanted), BTreeMap::from(expected));
    }
}
