//! Where toolchains and their caches live, by the names their makers gave them. Files with
//! log-ins that stand beside them (`credentials.toml`, `.npmrc`, `settings.xml`) are not
//! among them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Below the home.
const IN_HOME: [&str; 46] = [
    ".asdf",
    ".bun/bin",
    ".bun/install",
    ".cabal/bin",
    ".cabal/packages",
    ".cache/deno",
    ".cache/go-build",
    ".cache/ms-playwright",
    ".cache/node-gyp",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pypoetry",
    ".cache/uv",
    ".cache/yarn",
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/git",
    ".cargo/registry",
    ".deno",
    ".dotnet",
    ".fnm",
    ".ghcup",
    ".gradle/caches",
    ".gradle/wrapper",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2/repository",
    ".m2/wrapper",
    ".npm/_cacache",
    ".nuget/packages",
    ".nvm",
    ".opam",
    ".proto",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".stack",
    ".volta",
    "go",
];

/// Who the person is to git, and what it is to ignore: no log-ins.
pub(crate) const GIT_IN_HOME: [&str; 4] = [
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".gitconfig",
];

/// Variables that name a folder of such a kind.
const NAMED: [&str; 9] = [
    "DOTNET_ROOT",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "VOLTA_HOME",
];

/// Of cargo's home, which also holds a log-in.
const OF_CARGO: [&str; 4] = ["bin", "config.toml", "git", "registry"];

/// Those that may be there.
pub(crate) fn folders(home: &Path, variables: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let mut folders: Vec<_> = IN_HOME.iter().map(|name| home.join(name)).collect();
    let named = NAMED.iter().filter_map(|name| variables.get(*name));
    folders.extend(named.map(PathBuf::from));
    if let Some(cargo) = variables.get("CARGO_HOME") {
        folders.extend(OF_CARGO.iter().map(|name| Path::new(cargo).join(name)));
    }
    folders.retain(|folder| folder.is_absolute());
    folders
}
