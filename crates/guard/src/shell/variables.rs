//! What the variables of a shell hold, and which of them steer programs.

use std::collections::BTreeMap;

use super::value::{Atom, Value};

/// What variables hold, and where the shell is.
#[derive(Debug, Clone)]
pub(super) struct Vars {
    pub(super) held: BTreeMap<String, Value>,
    pub(super) folder: Option<String>,
}

impl Vars {
    pub(super) fn get(&self, name: &str) -> Value {
        match self.held.get(name) {
            Some(value) => value.clone(),
            None => Value::of(Atom::Any),
        }
    }

    /// Whether it holds something; none where that is not known.
    pub(super) fn known(&self, name: &str) -> Option<bool> {
        let held = self.held.get(name)?;
        held.is_known().then_some(!held.0.is_empty())
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.held.insert(name.to_owned(), value);
    }

    pub(super) fn folder_value(&self) -> Value {
        match &self.folder {
            Some(folder) => Value::text(folder),
            None => Value::of(Atom::Any),
        }
    }
}

/// Variables that make a program run, load or find something.
const STEERING: &str = "PATH HOME ENV SHELL IFS CDPATH PAGER EDITOR VISUAL BROWSER MANOPT MANPATH \
    LESS LESSOPEN LESSCLOSE LESSKEY MORE PS0 PS1 PS2 PS4 PROMPT_COMMAND FPATH ZDOTDIR INPUTRC \
    BASHOPTS SHELLOPTS GLOBIGNORE CC CXX LD AR AS CPP FC RUSTC RUSTFLAGS RUSTDOC CLASSPATH \
    TAR_OPTIONS GREP_OPTIONS GZIP XZ_OPT ZIPOPT WGETRC CURL_HOME SUDO_ASKPASS TERMCAP TERMINFO \
    KUBECONFIG DOCKER_HOST DOCKER_CONFIG http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY \
    ALL_PROXY NETRC HISTFILE PIP_INDEX_URL JAVA_TOOL_OPTIONS PSQL_PAGER AWKPATH NODE_OPTIONS \
    OPENSSL_CONF SSLKEYLOGFILE XDG_CONFIG_HOME TMPDIR HOSTALIASES LOCPATH NLSPATH";

const STEERING_BEGINNINGS: [&str; 22] = [
    "LD_", "DYLD_", "GIT_", "SSH_", "BASH_", "PERL", "PYTHON", "RUBY", "GEM_", "BUNDLE_", "NPM_",
    "npm_", "YARN_", "PIP_", "CARGO_", "RUSTUP_", "RUSTC_", "MAKE", "JAVA_", "GO", "GCONV_",
    "_JAVA",
];

pub(super) fn steers(name: &str, value: &Value) -> bool {
    let pager = matches!(name, "PAGER" | "GIT_PAGER" | "MANPAGER");
    if (pager && value.known().as_deref() == Some("cat")) || is_harmless_variable(name) {
        return false;
    }
    STEERING.split_whitespace().any(|known| known == name)
        || STEERING_BEGINNINGS
            .iter()
            .any(|begin| name.starts_with(begin))
}

/// Variables that change how much is printed, and nothing else.
pub(crate) fn is_harmless_variable(name: &str) -> bool {
    let known = "CI LANG LANGUAGE TZ TERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE \
        DEBUG VERBOSE RUST_LOG RUST_BACKTRACE CARGO_TERM_COLOR CARGO_INCREMENTAL CARGO_TERM_PROGRESS_WHEN \
        NODE_ENV PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE GIT_TERMINAL_PROMPT GOFLAGS_NONE \
        DEBIAN_FRONTEND PAGER GIT_PAGER MANPAGER HUSKY NEXT_TELEMETRY_DISABLED GO111MODULE GOOS GOARCH \
        CGO_ENABLED RUST_TEST_THREADS PROPTEST_CASES SOURCE_DATE_EPOCH";
    name.starts_with("LC_") && name != "LC_PATH"
        || known
            .split_whitespace()
            .filter(|name| !name.contains("PAGER"))
            .any(|known| known == name)
}
