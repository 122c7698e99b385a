//! Lines for a shell that stand where no shell would look for them: in code of another
//! language, in a variable that programs run, in a word or the input of a program that
//! starts others. They are looked at by rules that deny, and allow nothing.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::programs::Fact;
use crate::shell::value::{Atom, Value};
use crate::shell::{Run, Trace};

/// Texts that are looked at, in all.
const MAX_TEXTS: usize = 300;

/// Programs that are given a command somewhere among their words, or a line in one.
const LAUNCHERS: &str = "docker-compose podman-compose lxc-attach multipass wsl adb gcloud az aws heroku fly flyctl \
    bundle poetry uv uvx pipenv conda mamba direnv nix nix-shell guix asdf mise rtx rbenv pyenv nodenv dotenv \
    dotenvx op doppler infisical aws-vault aws-okta chamber envdir s6-envdir with-contenv sops watchexec \
    nodemon concurrently cross-env npm-run-all dumb-init tini catatonit gosu su-exec s6-setuidgid setuidgid \
    softlimit setarch i386 linux32 linux64 arch cgexec trickle cpulimit perf spawn exec shell system \
    .shell .system run-shell respawn-pane if-shell split zip scp sftp ed ftp lftp bc dc gnuplot m4 deno erl \
    ghc proot bwrap xdg-open gtk-launch unshare strace ltrace mutt mail ionice lxc incus \
    hyperfine entr bunx dlx pwsh powershell cmd task just mage rake tox nox invoke fab cap bolt salt-call \
    pssh pdsh clush dsh mosh autossh sshpass setsid rlwrap unbuffer prlimit sg newgrp run-parts daemonize \
    start-stop-daemon chronic ts pgrphack torify torsocks proxychains proxychains4 xvfb-run gtimeout doas \
    mysqlsh mariadb mycli pgcli mongosh redis-cli snowsql view nano emacsclient micro ssh-agent tmate byobu \
    zellij abduco dtach script tmux screen expect ssh su docker podman nerdctl kubectl oc vim vi ex nvim emacs gdb \
    psql sqlite3 mysql make npm npx yarn pnpm osascript systemd-run parallel watch nsenter entr runuser \
    machinectl lxc vagrant ansible salt chrt taskset at batch crontab git";

pub(super) fn is_launcher(program: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str>> =
        LazyLock::new(|| LAUNCHERS.split_whitespace().collect());
    NAMES.contains(program)
}

/// The last name of the program, where the path before it may be anything.
pub(super) fn bare(program: &Value) -> Value {
    let slash = program.0.iter().rposition(|atom| *atom == Atom::Char('/'));
    program.skip(slash.map_or(0, |index| index + 1))
}

/// Words behind which the name of a package stands, and no program.
pub(super) fn names_package(word: &str) -> bool {
    const VERBS: &str = "install add remove uninstall show info search view i pull upgrade update why \
        list ls -p --package outdated describe explain which help cat tag images";
    VERBS.split_whitespace().any(|verb| verb == word)
}

/// Every line that may be run.
pub(super) fn hidden_scripts(traced: &Trace) -> Vec<String> {
    let mut scripts = Vec::new();
    scripts.extend(texts_of(traced).concat());
    scripts.sort();
    scripts.dedup();
    scripts.truncate(MAX_TEXTS);
    scripts
}

/// Every text that stands alone.
pub(super) fn hidden_strings(traced: &Trace) -> Vec<String> {
    let mut strings = texts_of(traced).concat();
    strings.truncate(MAX_TEXTS);
    strings
}

/// The texts of each program.
fn texts_of(traced: &Trace) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = traced.runs.iter().map(texts_of_run).collect();
    let of_session = traced.settings.iter();
    all.push(
        of_session
            .filter_map(|setting| setting.split_once('='))
            .map(|(_, value)| value.to_owned())
            .collect(),
    );
    for texts in &mut all {
        for text in texts.iter_mut() {
            let signs = |c: char| c.is_whitespace() || matches!(c, '|' | '!');
            *text = text.trim_matches(signs).to_owned();
        }
        texts.retain(|text| !text.is_empty());
    }
    all.retain(|texts| !texts.is_empty());
    all
}

fn texts_of_run(run: &Run) -> Vec<String> {
    let mut all = Vec::new();
    let program = bare(&run.argv[0]).known().unwrap_or_default();
    let interpreter = is_interpreter(&program);
    let launcher = is_launcher(&program) || program.is_empty();
    for fact in &run.facts {
        if let Fact::Code(code) = fact {
            texts_in_code(&code.to_string(), &mut all);
        }
    }
    if let Some(input) = run.input.as_ref().map(ToString::to_string) {
        if interpreter || launcher {
            texts_in_code(&input, &mut all);
        }
        if launcher {
            // A line of a crontab has its times before the command.
            for line in input.lines().take(64) {
                let words: Vec<&str> = line.split_whitespace().take(64).collect();
                let last = words.len().min(8);
                all.extend((0..last).map(|begin| words[begin..].join(" ")));
            }
        }
    }
    let small_language = matches!(program.as_str(), "awk" | "gawk" | "mawk" | "nawk");
    let edits = matches!(program.as_str(), "sed" | "gsed");
    let words: Vec<String> = run.argv[1..].iter().map(ToString::to_string).collect();
    for (index, text) in words.iter().enumerate() {
        // `:!line`, `alias.x=!line`
        if let Some((_, line)) = text.split_once('!') {
            all.push(line.to_owned());
        }
        if small_language || launcher {
            texts_in_code(text, &mut all);
        }
        if edits {
            // `s/x/line/e` and `1e line`
            for part in text.split(['/', '|', ',', '#', ';', '\n', '@', '=']) {
                let part =
                    part.trim_start_matches(|c: char| c.is_ascii_digit() || "$! ".contains(c));
                all.push(part.to_owned());
                all.extend(part.strip_prefix('e').map(str::to_owned));
            }
        }
        let told =
            launcher || small_language || matches!(program.as_str(), "env" | "sudo" | "doas");
        if told && let Some((name, value)) = text.split_once('=') {
            all.push(value.to_owned());
            if name.starts_with("alias.") {
                all.push(format!("git {value}"));
            }
        }
        if program == "git" {
            all.extend(told_to_git(&words, index));
        } else if launcher && text.contains(' ') {
            all.push(text.clone());
        }
    }
    for setting in &run.settings {
        all.extend(setting.split_once('=').map(|(_, value)| value.to_owned()));
    }
    all
}

/// What git runs of one of its words. A message of a commit is no line.
fn told_to_git(words: &[String], index: usize) -> Option<String> {
    let text = &words[index];
    if let Some((_, line)) = text.split_once("ext::") {
        return Some(line.replace("% ", "\\ "));
    }
    if let Some(line) = text.strip_prefix("-O").or_else(|| text.strip_prefix("-x")) {
        return Some(line.to_owned());
    }
    let before = index.checked_sub(1).map(|index| words[index].as_str());
    if before.is_some_and(|before| before.starts_with("alias.")) {
        return Some(format!("git {}", text.trim_start_matches('!')));
    }
    let runs = [
        "filter-branch",
        "config",
        "difftool",
        "mergetool",
        "bisect",
        "submodule",
        "clone",
    ];
    let sub = words.iter().any(|word| runs.contains(&word.as_str()));
    (sub && text.contains(' ')).then(|| text.clone())
}

/// What stands between quotes and between brackets.
fn texts_in_code(code: &str, all: &mut Vec<String>) {
    let mut chars = code.chars();
    let mut strings = Vec::new();
    while let Some(c) = chars.next() {
        if !matches!(c, '"' | '\'' | '`') {
            continue;
        }
        let mut text = String::new();
        while let Some(inner) = chars.next() {
            if inner == c {
                break;
            }
            if inner == '\\' {
                text.extend(chars.next());
            } else {
                text.push(inner);
            }
        }
        strings.push(text);
    }
    // `run(["rm", "-rf", "x"])`
    for begin in 0..strings.len().min(24) {
        let several = strings[begin..].iter().take(8).cloned();
        all.push(several.collect::<Vec<_>>().join(" "));
    }
    all.extend(strings);
    // `qx{rm x}`, `%x(rm x)`
    let brackets = ['(', ')', '{', '}', '[', ']', '<', '>'];
    let inside = code.split(brackets).skip(1).take(64);
    all.extend(
        inside
            .filter(|text| text.contains(' ') && !text.contains(['"', '\'', '`']))
            .map(str::to_owned),
    );
}

pub(super) fn is_interpreter(program: &str) -> bool {
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        name,
        "python"
            | "pypy"
            | "perl"
            | "ruby"
            | "node"
            | "php"
            | "lua"
            | "luajit"
            | "deno"
            | "bun"
            | "Rscript"
            | "R"
            | "tclsh"
            | "osascript"
            | "ipython"
            | "julia"
            | "elixir"
            | "ghci"
            | "irb"
            | "groovy"
            | "octave"
            | "gnuplot"
            | "guile"
            | "erl"
    )
}
