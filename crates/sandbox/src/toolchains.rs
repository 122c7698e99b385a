//! Where toolchains and their caches live, by the names their makers gave them. Files with
//! log-ins that stand beside them (`credentials.toml`, `.npmrc`, `settings.xml`) are not
//! among them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Caches below the home: what a build fetches it puts there.
const CACHES: [&str; 21] = [
    ".bun/install",
    ".cabal/packages",
    ".cache/deno",
    ".cache/go-build",
    ".cache/node-gyp",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pypoetry",
    ".cache/uv",
    ".cache/yarn",
    ".cargo/git",
    ".cargo/registry",
    ".gradle/caches",
    ".gradle/wrapper",
    ".local/share/pnpm",
    ".m2/repository",
    ".m2/wrapper",
    ".npm/_cacache",
    ".nuget/packages",
    ".stack",
    "go",
];

/// Toolchains below the home.
const IN_HOME: [&str; 25] = [
    ".asdf",
    ".bun/bin",
    ".cabal/bin",
    ".cache/ms-playwright",
    ".cargo/bin",
    ".cargo/config.toml",
    ".deno",
    ".dotnet",
    ".fnm",
    ".ghcup",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/uv",
    ".nvm",
    ".opam",
    ".proto",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
];

/// Who the person is to git, and what it is to ignore: no log-ins.
pub(crate) const GIT_IN_HOME: [&str; 4] = [
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".gitconfig",
];

/// Variables that name a folder of such a kind.
const NAMED: [&str; 8] = [
    "DOTNET_ROOT",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "VOLTA_HOME",
];

/// The same of a cache.
const NAMED_CACHES: [&str; 3] = ["GOCACHE", "GOMODCACHE", "GOPATH"];

/// Of cargo's home, which also holds a log-in.
const OF_CARGO: [&str; 2] = ["bin", "config.toml"];
const CACHES_OF_CARGO: [&str; 2] = ["git", "registry"];

/// Caches that may be there.
pub(crate) fn caches(home: &Path, variables: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let mut caches: Vec<_> = CACHES.iter().map(|name| home.join(name)).collect();
    let named = NAMED_CACHES.iter().filter_map(|name| variables.get(*name));
    caches.extend(named.map(PathBuf::from));
    if let Some(cargo) = variables.get("CARGO_HOME") {
        let of_cargo = CACHES_OF_CARGO.iter();
        caches.extend(of_cargo.map(|name| Path::new(cargo).join(name)));
    }
    caches.retain(|folder| folder.is_absolute());
    caches
}

/// Toolchains that may be there.
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
