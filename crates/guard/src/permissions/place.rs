//! Where a path leads that is not wholly known: made absolute, rid of `.` and `..` and
//! of the ways round by `/proc`, and compared with patterns on paths.

use super::path::{PathBase, PathPattern};
use crate::shell::value::{Atom, Value, Wild};

/// A path from the root, name by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    steps: Vec<Step>,
    /// Whether something in it may lead up and elsewhere.
    strays: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Name(Value),
    /// Any number of names.
    Deep,
}

/// How surely a path falls under a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Meets {
    No,
    /// It may, depending on what is not known.
    Maybe,
    Yes,
}

impl Place {
    /// The place of a path as a program is given it, in a folder if that is known.
    pub(super) fn of(path: &Value, folder: Option<&str>, base: &PathBase) -> Self {
        let beginning = path.beginning();
        let mut steps = Vec::new();
        let absolute = beginning.starts_with('/');
        // Programs expand `~` themselves here and there.
        let (path, home) = if beginning == "~" || beginning.starts_with("~/") {
            (path.skip(1), true)
        } else {
            (path.clone(), false)
        };
        if home {
            match &base.home {
                Some(home) => names(&Value::text(home), folder, &mut steps),
                None => steps.push(Step::Name(Value::text("~"))),
            }
        } else if !absolute && path.0.first() != Some(&Atom::Any) {
            match folder {
                Some(folder) => names(&Value::text(folder), None, &mut steps),
                None => steps.push(Step::Deep),
            }
        }
        names(&path, folder, &mut steps);
        Self {
            steps,
            strays: path.has_any(),
        }
    }

    /// The path, where all of it is known.
    pub(super) fn known(&self) -> Option<String> {
        let names: Option<Vec<String>> = self.steps.iter().map(Step::known).collect();
        Some(format!("/{}", names?.join("/")))
    }

    /// Its known names up to the first that is not.
    fn beginning(&self) -> Vec<String> {
        self.steps.iter().map_while(Step::known).collect()
    }

    /// Whether all of it surely lies in a folder or is it.
    pub(super) fn is_within(&self, folder: &str) -> bool {
        let folder: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
        let mine = self.beginning();
        !self.strays
            && mine.len() >= folder.len()
            && mine.iter().zip(&folder).all(|(mine, name)| mine == name)
    }

    pub(super) fn is_unknown(&self) -> bool {
        matches!(self.steps.first(), Some(Step::Deep))
    }

    /// Whether it falls under a pattern, or with `below` something below it does.
    pub(super) fn meets(&self, pattern: &PathPattern, base: &PathBase, below: bool) -> Meets {
        let pattern = anywhere(pattern, base);
        let pattern: Vec<&str> = pattern.split('/').filter(|name| !name.is_empty()).collect();
        // What begins below a folder of which all is meant, goes on there.
        let known = self.steps.iter().take_while(|step| **step != Step::Deep);
        let known: Vec<Step> = known.cloned().collect();
        let whole = pattern.last() == Some(&"**") && pattern.len() > 1;
        if whole && known.len() < self.steps.len() && meet(&pattern, &known, Wild::Globs) {
            return Meets::Yes;
        }
        let mut steps = self.steps.clone();
        if below {
            steps.push(Step::Deep);
        }
        let surely = !steps.contains(&Step::Deep) && meet(&pattern, &steps, Wild::Globs);
        if surely {
            Meets::Yes
        } else if meet(&pattern, &steps, Wild::All) {
            Meets::Maybe
        } else {
            Meets::No
        }
    }

    /// Whether every path this may become falls under a pattern.
    pub(super) fn is_covered_by(&self, pattern: &PathPattern, base: &PathBase) -> bool {
        if let Some(path) = self.known() {
            return pattern.matches(&path, base);
        }
        // Below a folder of which everything is covered.
        let whole = base.absolute(pattern.as_str());
        let Some(folder) = whole.strip_suffix("/**") else {
            return whole == "/**";
        };
        !folder.contains(['*', '?']) && self.is_within(folder)
    }

    /// Whether writing there changes what other programs run or are told.
    pub(super) fn is_protected(&self) -> bool {
        let names: Vec<String> = self.steps.iter().map(Step::shown).collect();
        if self.enters(&PROTECTED_FOLDERS) {
            return true;
        }
        self.last_may_be(PROTECTED_FILES)
            || self.is_within("/etc")
            || self.is_within("/proc")
            || self.is_within("/sys")
            || self.is_within("/boot")
            || names
                .windows(2)
                .any(|pair| pair[0] == ".config" && STARTED.contains(&pair[1].as_str()))
            || names.windows(2).any(|pair| pair == [".local", "bin"])
    }

    /// Whether what stands there is a key, a password or another program's memory.
    pub(super) fn is_secret(&self) -> bool {
        let names: Vec<String> = self.steps.iter().map(Step::shown).collect();
        if self.enters(&SECRET_FOLDERS) {
            return true;
        }
        let last = names
            .last()
            .map(String::as_str)
            .unwrap_or_default()
            .to_lowercase();
        let listed = self.last_may_be(SECRET_FILES);
        let example = [".example", ".sample", ".template", ".pub", ".dist"];
        let in_proc = self.is_within("/proc")
            && matches!(
                last.as_str(),
                "environ" | "mem" | "maps" | "kcore" | "cmdline" | "fd" | "kallsyms"
            );
        let device = self.is_within("/dev")
            && !HARMLESS_DEVICES.contains(&last.as_str())
            && !self.is_within("/dev/fd");
        let pair = |first: &str, second: &str| {
            names
                .windows(2)
                .any(|pair| pair[0] == first && pair[1] == second)
        };
        (listed && !example.iter().any(|end| last.ends_with(end)))
            || in_proc
            || device
            || pair(".config", "gcloud")
            || pair(".config", "gh")
            || pair(".docker", "config.json")
            || pair(".kube", "config")
            || pair("share", "keyrings")
            || (self.is_within("/etc")
                && (last.starts_with("sudoers")
                    || names.contains(&"ssl".to_owned()) && names.contains(&"private".to_owned())))
            || self.is_within("/run/secrets")
            || self.is_within("/var/run/secrets")
    }

    /// Whether one of its names is one of these, or a glob of more than wildcards that may
    /// become one.
    fn enters(&self, folders: &[&str]) -> bool {
        self.steps.iter().any(|step| {
            let Step::Name(name) = step else {
                return false;
            };
            let shown = name.to_string().to_lowercase();
            if name.is_known() {
                return folders.contains(&shown.as_str());
            }
            let begins = matches!(name.0.first(), Some(Atom::Char('.')));
            begins
                && folders
                    .iter()
                    .any(|folder| name.may_match(folder, Wild::Globs))
        })
    }

    /// Whether its last name is one of these, or a glob that may become one. A lone `*`
    /// is not taken for any: a name that begins with a dot it never becomes.
    fn last_may_be(&self, list: &str) -> bool {
        let Some(Step::Name(last)) = self.steps.last() else {
            return false;
        };
        let small = |atom: &Atom| match atom {
            Atom::Char(c) => Atom::Char(c.to_ascii_lowercase()),
            atom => *atom,
        };
        let last = Value(last.0.iter().map(small).collect());
        let literal = last
            .0
            .iter()
            .filter(|atom| matches!(atom, Atom::Char(c) if *c != '.'));
        let unknown = !last.is_known();
        if unknown && literal.count() == 0 {
            return false;
        }
        let begins_open = matches!(last.0.first(), Some(Atom::Star | Atom::One));
        list.split_whitespace().any(|pattern| {
            let hidden = begins_open && pattern.starts_with('.');
            let by_ending = unknown && pattern.starts_with('*');
            !hidden
                && (!by_ending || ends_alike(&last, pattern))
                && last.may_match(pattern, Wild::All)
        })
    }

    /// What everybody may read: the system's own programs, documents and headers.
    pub(super) fn is_ordinary(&self) -> bool {
        let shared = [
            "/usr",
            "/bin",
            "/sbin",
            "/lib",
            "/lib64",
            "/opt",
            "/tmp",
            "/dev",
            "/nix/store",
        ];
        let files = [
            "/etc/os-release",
            "/etc/lsb-release",
            "/etc/debian_version",
            "/etc/issue",
            "/etc/hosts",
            "/etc/hostname",
            "/etc/timezone",
            "/proc/cpuinfo",
            "/proc/meminfo",
            "/proc/version",
            "/proc/loadavg",
            "/proc/uptime",
            "/proc/stat",
            "/proc/mounts",
            "/proc/self/status",
        ];
        shared.iter().any(|folder| self.is_within(folder))
            || self
                .known()
                .is_some_and(|path| files.contains(&path.as_str()))
    }

    /// Where writing changes nothing.
    pub(super) fn is_nowhere(&self) -> bool {
        let path = self.known().unwrap_or_default();
        matches!(path.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr")
    }
}

const HARMLESS_DEVICES: [&str; 9] = [
    "dev", "null", "zero", "stdin", "stdout", "stderr", "urandom", "random", "full",
];

const STARTED: [&str; 6] = [
    "fish",
    "autostart",
    "systemd",
    "nvim",
    "git",
    "environment.d",
];

/// Folders whose content is obeyed.
const PROTECTED_FOLDERS: [&str; 27] = [
    ".git",
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".mission",
    ".qwen",
    ".copilot",
    ".opencode",
    ".agents",
    ".github",
    ".circleci",
    ".husky",
    ".vscode",
    ".idea",
    ".ssh",
    ".gnupg",
    ".devcontainer",
    ".buildkite",
    ".cargo",
    ".yarn",
    ".bundle",
    ".pip",
    ".windsurf",
    ".continue",
    ".vim",
    "cron.d",
];

/// Files that are obeyed: shell start files, agent and tool settings, CI, build scripts.
const PROTECTED_FILES: &str = ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile \
    .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .inputrc .xprofile .xinitrc .xsession \
    .gitconfig .gitattributes .gitmodules .mcp.json mcp.json .claude.json .envrc .npmrc .yarnrc \
    .yarnrc.yml .pypirc .netrc .curlrc .wgetrc .vimrc .exrc .gdbinit .lldbinit .tmux.conf .screenrc \
    .sqliterc .psqlrc .gemrc .irbrc .pryrc .pythonrc .perltidyrc .pre-commit-config.yaml \
    .gitlab-ci.yml .travis.yml .drone.yml jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml \
    appveyor.yml makefile gnumakefile *.mk build.rs setup.py package.json build.gradle \
    build.gradle.kts settings.gradle pom.xml rakefile justfile cmakelists.txt configure configure.ac \
    conftest.py noxfile.py tox.ini gulpfile.js gruntfile.js sitecustomize.py usercustomize.py \
    authorized_keys crontab sudoers *.service *.desktop *.plist agents.md claude.md claude.local.md \
    gemini.md copilot-instructions.md .cursorrules .windsurfrules .clinerules .goosehints .aider.conf.yml \
    .pnpmfile.cjs .babelrc .babelrc.js *.config.js *.config.ts *.config.mjs *.config.cjs *.config.mts \
    .eslintrc .eslintrc.* .prettierrc.js .mocharc.js .lintstagedrc .lintstagedrc.* .huskyrc .huskyrc.* \
    lefthook.yml .lefthook.yml lefthook.yaml .overcommit.yml pip.conf .pylintrc \
    pytest.ini .pytest.ini mypy.ini .rubocop.yml gemfile vagrantfile podfile fastfile dangerfile \
    dockerfile containerfile docker-compose.yml docker-compose.yaml compose.yml compose.yaml procfile \
    rust-toolchain rust-toolchain.toml go.work meson.build build.zig workspace.bzl build.bazel build.sbt \
    *.gradle *.gradle.kts *.cmake *.pth .pam_environment .xsessionrc .mysqlrc .emacs init.el \
    skill.md .opencode.json opencode.json";

const SECRET_FOLDERS: [&str; 10] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".password-store",
    ".mozilla",
    ".keychain",
    "keychains",
    "keyrings",
    ".vault-token",
];

const SECRET_FILES: &str = "shadow gshadow shadow- gshadow- passwd- ssh_host_*_key id_rsa id_dsa id_ecdsa \
    id_ed25519 *.pem *.key *.p12 *.pfx *.kdbx *.keystore *.jks .netrc _netrc .pgpass .my.cnf \
    .git-credentials .pypirc .htpasswd .env .env.* credentials credentials.toml .credentials.json \
    auth.json oauth_creds.json hosts.yml .bash_history .zsh_history .python_history .psql_history \
    .mysql_history master.key secrets.yml secrets.yaml .boto .s3cfg secrets.json secrets.toml \
    credentials.json credentials.yml credentials.yaml credentials.ini *.tfstate *.tfstate.backup *.tfvars \
    *.tfvars.json .terraformrc terraform.rc kubeconfig service-account.json service_account.json \
    serviceaccount.json *-service-account.json service-account-*.json wallet.dat .npmrc .yarnrc.yml .envrc \
    application_default_credentials.json access_tokens.db accesstokens.json .dockercfg .claude.json \
    id_*_sk id_xmss *.ppk *.asc.key *.kdb *.ovpn .vault_pass .vault-password .authinfo .fetchmailrc .muttrc \
    .node_repl_history .irb_history .sqlite_history .rediscli_history .lesshst";

impl Step {
    fn known(&self) -> Option<String> {
        match self {
            Self::Name(name) => name.known(),
            Self::Deep => None,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Name(name) => name.to_string(),
            Self::Deep => "**".to_owned(),
        }
    }
}

/// Whether a glob and a pattern that begins with `*` end in the same known characters.
fn ends_alike(last: &Value, pattern: &str) -> bool {
    let known = last.0.iter().rev().map_while(|atom| match atom {
        Atom::Char(c) => Some(*c),
        _ => None,
    });
    let known: Vec<char> = known.collect();
    let wanted = pattern[1..].chars().rev();
    !known.is_empty() && wanted.zip(&known).all(|(a, b)| a == *b)
}

/// A pattern of a rule that denies: what begins with `**/` is meant wherever it stands.
fn anywhere(pattern: &PathPattern, base: &PathBase) -> String {
    let text = pattern.as_str();
    if text.starts_with("**/") {
        return format!("/{text}");
    }
    base.absolute(text)
}

/// The names of a path, added to those that are there.
fn names(path: &Value, folder: Option<&str>, steps: &mut Vec<Step>) {
    for name in path.0.split(|atom| *atom == Atom::Char('/')) {
        match Value(name.to_vec()).known().as_deref() {
            Some("" | ".") => continue,
            Some("..") => {
                if steps.last() != Some(&Step::Deep) {
                    steps.pop();
                }
                continue;
            }
            _ => {}
        }
        if name
            .iter()
            .any(|atom| matches!(atom, Atom::Any | Atom::Below))
        {
            steps.push(Step::Deep);
            let ups = name.contains(&Atom::Any);
            if ups {
                // It may lead anywhere: up and to the root of another branch.
                let keep = steps.len() > 1 && matches!(name.first(), Some(Atom::Char(_)));
                if !keep && steps.len() == 1 {
                    steps.clear();
                    steps.push(Step::Deep);
                }
            }
        } else {
            steps.push(Step::Name(Value(name.to_vec())));
            leave_detour(steps, folder);
        }
    }
}

/// `/proc/self/root` is the root, `/proc/self/cwd` the folder.
fn leave_detour(steps: &mut Vec<Step>, folder: Option<&str>) {
    if steps.len() < 3 || steps[0].known().as_deref() != Some("proc") {
        return;
    }
    let by_task = steps[2].known().as_deref() == Some("task");
    if steps.len() != if by_task { 5 } else { 3 } {
        return;
    }
    match steps.last().and_then(Step::known).as_deref() {
        Some("root") => steps.clear(),
        Some("cwd") => {
            steps.clear();
            match folder {
                Some(folder) => names(&Value::text(folder), None, steps),
                None => steps.push(Step::Deep),
            }
        }
        _ => {}
    }
}

fn meet(pattern: &[&str], steps: &[Step], open: Wild) -> bool {
    // reached[i][j]: the first i names of the pattern and j of the place agree.
    let mut reached = vec![vec![false; steps.len() + 1]; pattern.len() + 1];
    reached[0][0] = true;
    for i in 0..=pattern.len() {
        for j in 0..=steps.len() {
            if !reached[i][j] {
                continue;
            }
            let deep_pattern = pattern.get(i) == Some(&"**");
            let deep_place = steps.get(j) == Some(&Step::Deep);
            if deep_pattern {
                reached[i + 1][j] = true;
                if j < steps.len() {
                    reached[i][j + 1] = true;
                }
            }
            if deep_place {
                reached[i][j + 1] = true;
                if i < pattern.len() {
                    reached[i + 1][j] = true;
                }
            }
            if let (Some(name), Some(Step::Name(value))) = (pattern.get(i), steps.get(j))
                && !deep_pattern
            {
                let hidden = name.starts_with('.')
                    && matches!(value.0.first(), Some(Atom::Star | Atom::One));
                if !hidden && value.may_match(name, open) {
                    reached[i + 1][j + 1] = true;
                }
            }
        }
    }
    reached[pattern.len()][steps.len()]
}
