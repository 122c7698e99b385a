//! The pattern that would cover a command and others like it, where that is safe to have.

use missiond_core::{CliEngine, Timestamp};

use crate::permissions::{
    Argument, Effect, InvalidPattern, PathBase, Request, Rule, Shown, decide,
};
use crate::programs::{Fact, profile};
use crate::shell::value::Value;
use crate::shell::{Run, parse, trace::trace};

/// A pattern for commands like this one that is safe to have, if there is one.
#[must_use]
pub(super) fn pattern(command: &str) -> Option<String> {
    let request = Request {
        tool: Some("Bash".to_owned()),
        argument: Some(Argument::Command(command.to_owned())),
        ..anywhere()
    };
    let script = parse(command).ok()?;
    let traced = trace(&script, &request.base);
    let [run] = traced.runs.as_slice() else {
        return None;
    };
    if !traced.doubts.is_empty() || !traced.settings.is_empty() || !run.settings.is_empty() {
        return None;
    }
    let text = of_run(run)?;
    let rule = rule(&text).ok()?;
    allows(&rule, &request).then_some(text)
}

/// A request from a folder that is nobody's.
pub(super) fn anywhere() -> Request {
    Request {
        shown: Shown::Exact,
        base: PathBase {
            folder: "/home/user/project".to_owned(),
            home: Some("/home/user".to_owned()),
        },
        ..Request::from_engine(CliEngine::Claude)
    }
}

/// Whether a rule alone allows a request.
pub(super) fn allows(rule: &Rule, request: &Request) -> bool {
    let rules = std::slice::from_ref(rule);
    decide(rules, request, Timestamp::from_micros(0)).effect == Effect::Allow
}

/// A rule that allows commands.
pub(super) fn rule(pattern: &str) -> Result<Rule, InvalidPattern> {
    Ok(Rule {
        argument: Some(pattern.parse()?),
        ..Rule::new("proposed", Effect::Allow, "Bash".parse()?)
    })
}

/// Programs of which nothing is proposed: they run what they are told, speak with others,
/// take away, or change who may do what.
const NEVER: &str = "sh bash zsh dash ksh fish ash tcsh csh busybox pwsh env xargs sudo doas su nohup \
    timeout nice watch parallel find fd python python2 python3 perl ruby node deno bun php lua R \
    Rscript julia awk gawk mawk sed ed ex vi vim nvim emacs nano ssh scp sftp rsync curl wget nc ncat \
    netcat socat telnet ftp docker podman kubectl helm terraform aws gcloud az rm rmdir shred dd mkfs \
    mount umount chmod chown chgrp ln kill pkill killall systemctl service crontab at eval exec source \
    . trap tee tar unzip zip cp mv install passwd useradd visudo iptables nft psql mysql sqlite3 \
    gh npx bunx pipx uvx pip pip3 gem apt apt-get dnf yum brew snap make just rake gradle mvn ant \
    npm yarn pnpm poetry uv tox nox";

/// Of these subcommands nothing is proposed.
const NEVER_SUB: &str = "run exec push config remote submodule filter-branch clean reset rebase bisect \
    difftool mergetool publish login logout install add remove uninstall update upgrade link owner \
    token generate script daemon";

fn of_run(run: &Run) -> Option<String> {
    let words: Option<Vec<String>> = run.argv.iter().map(Value::known).collect();
    let words = words?;
    let name = words.first()?.as_str();
    let plain = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/'))
    };
    let listed = |list: &str, word: &str| list.split_whitespace().any(|one| one == word);
    let version = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !plain(name) || name.contains('/') || listed(NEVER, name) || listed(NEVER, version) {
        return None;
    }
    let risky = run.facts.iter().any(|fact| {
        matches!(
            fact,
            Fact::Risk(_)
                | Fact::Unknown(_)
                | Fact::Hidden(_)
                | Fact::Code(_)
                | Fact::Script(_)
                | Fact::Command(_)
        )
    });
    if risky {
        return None;
    }
    let known = profile(name)?;
    if known.subcommands.is_empty() {
        return Some(format!("{name}*"));
    }
    let sub = words.get(1)?;
    let is_sub = known.subcommands.contains_key(sub) && plain(sub) && !sub.starts_with('-');
    (is_sub && !listed(NEVER_SUB, sub)).then(|| format!("{name} {sub}*"))
}
