//! The environment a child process gets: a short list of what this process has,
//! and nothing else. Secrets are not on it, nor is what reaches into a person's
//! session (agents of keys, buses, displays) or changes how programs are loaded
//! (`LD_PRELOAD`, `GIT_DIR`, `NODE_OPTIONS`).
//!
//! The list is one for every kind of child, because what an agent needs to
//! build a project the checks of that project need too. What a kind gets
//! beside it is named in [`Child`]. Who wants more names it: a slot's `env`, a
//! tool server's `env` and `pass_env`, a command's `env`.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// What kind of program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Child {
    /// The program of a slot: an agent in a terminal of ours, so it is told
    /// what that terminal can do.
    Agent,
    /// An MCP server. It finds the sockets of the person's services
    /// (containers, this program's own daemon) below `XDG_RUNTIME_DIR`; it
    /// writes into pipes and is told nothing of a terminal.
    ToolServer,
    /// A check or a step of setting up: nobody looks at a terminal, and no tool
    /// may think so and draw progress into what is kept as evidence.
    Command,
    /// A git of the daemon's. It is the person's by its settings and their name, and has
    /// no keys.
    Git,
    /// A git that goes to a remote, which it does as the person: with the agent of their
    /// keys and whatever their helper for passwords needs.
    GitRemote,
    /// GitHub's command line, which acts as the person: it alone is passed their login,
    /// by whatever way they gave it, and nothing is asked or drawn.
    GitHub,
}

/// Who and where the person is.
const IDENTITY: [&str; 4] = ["HOME", "LOGNAME", "SHELL", "USER"];

/// Language and time of what programs print. Every `LC_` beside them.
const LOCALE: [&str; 3] = ["LANG", "LANGUAGE", "TZ"];

/// Where programs are found, and where they may write.
const FOLDERS: [&str; 6] = [
    "PATH",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Where toolchains live when not in their usual place. The launchers of rustup,
/// volta, pyenv and nvm that stand in PATH find nothing without them.
const TOOLCHAINS: [&str; 11] = [
    "CARGO_HOME",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "VOLTA_HOME",
];

/// Whom to trust in TLS, where a company has certificates of its own: OpenSSL,
/// then each program that looks only at a variable of its own. All are paths.
const CERTIFICATES: [&str; 8] = [
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// The way out of a network that has only one. Programs read one spelling or
/// the other. A proxy with a password in its address is kept back.
const PROXIES: [&str; 8] = [
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// How `gh` finds the login of the person: a token, its own folder, or the keyring.
const GITHUB: [&str; 8] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "GH_CONFIG_DIR",
    "GH_ENTERPRISE_TOKEN",
    "GH_HOST",
    "GH_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITHUB_TOKEN",
    "XDG_RUNTIME_DIR",
];

/// Variables of git that say who somebody is or where their settings are; any other
/// would point a call at another repository than the one it names.
const GIT: [&str; 10] = [
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
];

/// The same, and how a remote is reached.
const GIT_REMOTE: [&str; 21] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "GH_CONFIG_DIR",
    "GH_ENTERPRISE_TOKEN",
    "GH_HOST",
    "GH_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITHUB_TOKEN",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "SSH_AUTH_SOCK",
    "XDG_RUNTIME_DIR",
];

/// Nothing is asked, and no editor is opened.
const GIT_FIXED: [(&str, &str); 7] = [
    ("GIT_ASKPASS", ""),
    ("GIT_EDITOR", "true"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

impl Child {
    /// What this kind is passed on beside the list.
    const fn additions(self) -> &'static [&'static str] {
        match self {
            Self::ToolServer => &["XDG_RUNTIME_DIR"],
            Self::GitHub => &GITHUB,
            Self::Git => &GIT,
            Self::GitRemote => &GIT_REMOTE,
            Self::Agent | Self::Command => &[],
        }
    }

    /// What this kind is told, whatever our own environment says.
    const fn fixed(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Agent => &[("COLORTERM", "truecolor"), ("TERM", "xterm-256color")],
            Self::ToolServer => &[],
            Self::Git | Self::GitRemote => &GIT_FIXED,
            Self::Command => &[("TERM", "dumb")],
            Self::GitHub => &[
                ("GH_NO_UPDATE_NOTIFIER", "1"),
                ("GH_PROMPT_DISABLED", "1"),
                ("GH_SPINNER_DISABLED", "1"),
                ("NO_COLOR", "1"),
                ("TERM", "dumb"),
            ],
        }
    }

    /// Whether a variable of ours is passed on to this kind.
    fn inherits(self, name: &OsStr, value: &OsStr) -> bool {
        let is_in = |list: &[&str]| list.iter().any(|known| name == *known);
        let is_listed = [&IDENTITY[..], &LOCALE, &FOLDERS, &TOOLCHAINS, &CERTIFICATES]
            .into_iter()
            .any(is_in);
        is_listed
            || name.as_bytes().starts_with(b"LC_")
            || is_in(self.additions())
            || (is_in(&PROXIES) && (self == Self::GitRemote || !has_password(value)))
    }
}

/// What a child has before anything it was given by name: those of `own` that it
/// inherits, and what its kind is told. Works on text and on what the system
/// has, which need not be text.
#[must_use]
pub fn inherited<S>(child: Child, own: impl IntoIterator<Item = (S, S)>) -> BTreeMap<S, S>
where
    S: Ord + AsRef<OsStr> + From<&'static str>,
{
    let mut environment: BTreeMap<S, S> = own
        .into_iter()
        .filter(|(name, value)| child.inherits(name.as_ref(), value.as_ref()))
        .collect();
    for (name, value) in child.fixed() {
        environment.insert((*name).into(), (*value).into());
    }
    environment
}

/// This process's own variables, those that are text.
pub fn own_text() -> impl Iterator<Item = (String, String)> {
    // `std::env::vars` panics at the first that is not.
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The first of these names and values that no process can be given.
pub fn find_unusable<'a, S: Borrow<str> + 'a>(
    wanted: impl IntoIterator<Item = (&'a S, &'a S)>,
) -> Option<&'a str> {
    wanted.into_iter().find_map(|(name, value)| {
        let (name, value) = (name.borrow(), value.borrow());
        let is_bad = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        is_bad.then_some(name)
    })
}

/// `user:password@` can only stand before the host.
fn has_password(proxy: &OsStr) -> bool {
    proxy.as_bytes().contains(&b'@')
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    fn own() -> Vec<(String, String)> {
        [
            ("CARGO_HOME", "/c"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1/bus"),
            ("DISPLAY", ":0"),
            ("GH_TOKEN", "login"),
            ("GIT_DIR", "/elsewhere"),
            ("HTTPS_PROXY", "http://me:secret@proxy:3128"),
            ("LC_ALL", "C.UTF-8"),
            ("LD_PRELOAD", "/x.so"),
            ("MISSION_TOKEN", "secret"),
            ("NODE_OPTIONS", "--require /x.js"),
            ("PATH", "/bin"),
            ("PATHS", "/not/on/the/list"),
            ("SOME_API_KEY", "secret"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("TERM", "xterm-kitty"),
            ("XDG_RUNTIME_DIR", "/run/user/1"),
            ("https_proxy", "http://proxy:3128"),
            ("no_proxy", "localhost"),
        ]
        .map(|(name, value)| pair(name, value))
        .into()
    }

    #[test]
    fn each_kind_gets_the_list_and_what_is_named_for_it() {
        let everyone = [
            pair("CARGO_HOME", "/c"),
            pair("LC_ALL", "C.UTF-8"),
            pair("PATH", "/bin"),
            pair("https_proxy", "http://proxy:3128"),
            pair("no_proxy", "localhost"),
        ];
        let with = |more: &[(String, String)]| -> BTreeMap<String, String> {
            everyone.iter().chain(more).cloned().collect()
        };
        assert_eq!(
            inherited(Child::Agent, own()),
            with(&[
                pair("COLORTERM", "truecolor"),
                pair("TERM", "xterm-256color")
            ])
        );
        assert_eq!(
            inherited(Child::ToolServer, own()),
            with(&[pair("XDG_RUNTIME_DIR", "/run/user/1")])
        );
        assert_eq!(
            inherited(Child::Command, own()),
            with(&[pair("TERM", "dumb")])
        );
        assert_eq!(
            inherited(Child::GitHub, own()),
            with(&[
                pair("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1/bus"),
                pair("GH_NO_UPDATE_NOTIFIER", "1"),
                pair("GH_PROMPT_DISABLED", "1"),
                pair("GH_SPINNER_DISABLED", "1"),
                pair("GH_TOKEN", "login"),
                pair("NO_COLOR", "1"),
                pair("TERM", "dumb"),
                pair("XDG_RUNTIME_DIR", "/run/user/1"),
            ])
        );
    }

    /// The words in backticks of each cell of the rows that begin like this.
    fn row(begins: &str) -> Vec<Vec<&'static str>> {
        let page = include_str!("../../../docs/reference/environment.md");
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| {begins}")));
        let row = row.unwrap_or_else(|| panic!("no row {begins}"));
        let cells = row.split(" | ");
        cells
            .map(|cell| cell.split('`').skip(1).step_by(2).collect())
            .collect()
    }

    #[test]
    fn the_page_of_the_environment_lists_what_is_passed_on() {
        let listed = |begins: &str| {
            let mut names = row(begins).remove(1);
            names.sort_unstable();
            names
        };
        assert_eq!(listed("who and where the person is"), IDENTITY);
        let mut locale = listed("language and time");
        assert!(locale.contains(&"LC_*"));
        locale.retain(|name| *name != "LC_*");
        assert_eq!(locale, LOCALE);
        assert_eq!(listed("where programs are found"), FOLDERS);
        assert_eq!(listed("toolchains"), TOOLCHAINS);
        assert_eq!(listed("a company's own certificates"), CERTIFICATES);
        let mut proxies = listed("the way out of a network");
        let small: Vec<_> = proxies
            .iter()
            .map(|name| name.to_ascii_lowercase())
            .collect();
        proxies.extend(
            small
                .iter()
                .map(|name| PROXIES.iter().find(|own| *own == name).unwrap()),
        );
        proxies.sort_unstable();
        assert_eq!(proxies, PROXIES);
    }

    #[test]
    fn the_page_of_the_environment_says_what_each_kind_gets_beside_the_list() {
        let (github, git) = ("`gh`", "git of missiond's own");
        let remote = "the same, going to a remote";
        let kinds = [
            (Child::Agent, &["an agent in a slot"][..]),
            (Child::ToolServer, &["an MCP server"]),
            (Child::Command, &["a check, a step"]),
            (Child::GitHub, &[github]),
            (Child::Git, &[git]),
            (Child::GitRemote, &[git, remote, github]),
        ];
        for (kind, rows) in kinds {
            let cells: Vec<_> = rows.iter().map(|begins| row(begins)).collect();
            let gets = |name: &str| {
                let mut gets = cells.iter().flat_map(|cells| &cells[1]);
                gets.any(|word| match word.strip_suffix('*') {
                    Some(beginning) => name.starts_with(beginning),
                    None => name == *word,
                })
            };
            for name in kind.additions() {
                let is_everyones = CERTIFICATES.contains(name);
                assert!(is_everyones || gets(name), "{kind:?} gets {name}");
            }
            let told = &cells[0][2];
            let mut expected: Vec<_> = kind
                .fixed()
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            expected.sort();
            let mut told: Vec<_> = told.iter().filter(|word| word.contains('=')).collect();
            told.sort();
            assert_eq!(
                told,
                expected.iter().collect::<Vec<_>>(),
                "{kind:?} is told"
            );
        }
    }

    #[test]
    fn what_is_no_text_passes_as_it_is() {
        let value = OsStr::from_bytes(b"/home/\xff").to_owned();
        let own = [
            (OsString::from("HOME"), value.clone()),
            (OsStr::from_bytes(b"\xffHOME").to_owned(), "x".into()),
        ];
        let expected = BTreeMap::from([("HOME".into(), value), ("TERM".into(), "dumb".into())]);
        assert_eq!(inherited(Child::Command, own), expected);
    }

    #[test]
    fn what_no_process_can_be_given_is_found() {
        let fine = BTreeMap::from([pair("A", "1=2"), pair("b.c", "")]);
        assert_eq!(find_unusable(&fine), None);
        for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0")] {
            let wanted = BTreeMap::from([pair(name, value)]);
            assert_eq!(find_unusable(&wanted), Some(name));
        }
    }
}
