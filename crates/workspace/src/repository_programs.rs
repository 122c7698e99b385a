//! Programs that a repository's own configuration names, and how a git of ours is kept
//! from running them.
//!
//! Whoever works in a worktree can write the configuration of its repository, and a git
//! of the daemon would run what stands there as the daemon: filters, merge drivers, a
//! command for ssh. So before each call the configuration is listed, which runs nothing,
//! and what the repository says of programs is overruled: by what the person's own
//! configuration says of the same key, else by nothing. A repository the person trusts is
//! left as it is.
//!
//! The listing and the call are two moments. Who writes between them may still be obeyed,
//! with the short environment the call has; only a wall around the agent ends that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, RwLock};

/// The folders of repositories whose configuration is obeyed.
static TRUSTED: LazyLock<RwLock<Vec<PathBuf>>> = LazyLock::new(RwLock::default);

/// From now on these repositories' own programs are run.
pub fn trust_repositories(paths: Vec<PathBuf>) {
    let real = paths
        .into_iter()
        .map(|path| path.canonicalize().unwrap_or(path));
    let mut trusted = TRUSTED.write().unwrap_or_else(|broken| broken.into_inner());
    *trusted = real.collect();
}

/// Whether the person trusts the repository with this git folder.
pub(crate) fn is_trusted(common_dir: &Path) -> bool {
    let trusted = TRUSTED.read().unwrap_or_else(|broken| broken.into_inner());
    let is_it = |path: &PathBuf| common_dir == path || common_dir.parent() == Some(path);
    trusted.iter().any(is_it)
}

/// What a program named by a key is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Filter,
    MergeDriver,
    /// Of git-lfs, which asks git for its settings and runs what they name.
    LargeFiles,
    /// On the way to another repository.
    Transport,
    Credentials,
    /// Never run by a call of ours: editors, pagers, hooks and the like.
    Unused,
}

/// What a call does with others' programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Here,
    /// It talks to a remote, as the person.
    Remote,
}

/// One setting, with what of it is the person's and what the repository's.
#[derive(Debug, Default)]
struct Setting {
    of_person: Vec<String>,
    of_repository: Vec<String>,
}

/// What `git config --list --show-scope -z` says.
#[derive(Debug, Default)]
pub(crate) struct Listing(BTreeMap<String, Setting>);

impl Listing {
    pub(crate) fn parse(output: &[u8]) -> Self {
        let mut all = BTreeMap::<String, Setting>::new();
        let mut parts = output.split(|&byte| byte == 0);
        while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
            let entry = String::from_utf8_lossy(entry);
            // A key alone is a switch that is on.
            let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            let setting = all.entry(key.to_owned()).or_default();
            match scope {
                b"system" | b"global" => setting.of_person.push(value.to_owned()),
                b"local" | b"worktree" => setting.of_repository.push(value.to_owned()),
                _ => {}
            }
        }
        Self(all)
    }

    /// The programs that the repository names, as `key=value`.
    pub(crate) fn programs(&self) -> Vec<String> {
        let own = self.0.iter().filter(|(key, _)| role(key).is_some());
        own.flat_map(|(key, setting)| {
            let values = setting.of_repository.iter();
            values.map(move |value| format!("{key}={value}"))
        })
        .collect()
    }

    /// The settings that overrule the repository's, or the key for which there is none.
    pub(crate) fn overruling(&self, reach: Reach) -> Result<Vec<(String, String)>, String> {
        let mut overruling = Vec::new();
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let runs_lfs = self.person_has("filter.lfs.process") || self.person_has("filter.lfs.clean");
        for (key, setting) in &self.0 {
            if setting.of_repository.is_empty() {
                continue;
            }
            let persons = setting.of_person.last();
            let neutral = match (role(key), reach) {
                (None | Some(Role::Unused), _) => continue,
                (Some(Role::Transport | Role::Credentials), Reach::Here) => continue,
                (Some(Role::LargeFiles), _) if !runs_lfs => continue,
                (Some(Role::Filter), _) => {
                    if let Some(driver) = key.rsplit_once('.').map(|(driver, _)| driver)
                        && persons.is_none()
                        && !self.person_has(&format!("{driver}.required"))
                    {
                        overruling.push(pair(&format!("{driver}.required"), "false"));
                    }
                    ""
                }
                (Some(Role::MergeDriver), _) => LINE_BY_LINE,
                (Some(Role::Transport), _) if key == "core.sshcommand" => "ssh",
                (Some(Role::Credentials), Reach::Remote) => {
                    // The list is begun anew and has the person's again.
                    overruling.push(pair(key, ""));
                    let own = setting.of_person.iter();
                    overruling.extend(own.map(|value| pair(key, value)));
                    continue;
                }
                (Some(Role::LargeFiles | Role::Transport), _) => return Err(key.clone()),
            };
            overruling.push(pair(key, persons.map_or(neutral, String::as_str)));
        }
        Ok(overruling)
    }

    fn person_has(&self, key: &str) -> bool {
        self.0
            .get(key)
            .is_some_and(|setting| !setting.of_person.is_empty())
    }
}

/// What git itself does with a text that both sides changed.
const LINE_BY_LINE: &str = "git merge-file --marker-size=%L %A %O %B";

/// Git writes sections and names of keys in small letters; what stands between them is as
/// it was written.
fn role(key: &str) -> Option<Role> {
    let (section, rest) = key.split_once('.')?;
    let name = rest.rsplit('.').next().unwrap_or(rest);
    let has_middle = rest.contains('.');
    Some(match (section, name) {
        ("filter", "clean" | "smudge" | "process") if has_middle => Role::Filter,
        ("merge", "driver") if has_middle => Role::MergeDriver,
        ("lfs", "standalonetransferagent") => Role::LargeFiles,
        ("lfs", "path" | "clean" | "smudge") if has_middle => Role::LargeFiles,
        ("credential", "helper") => Role::Credentials,
        ("core", "sshcommand") => Role::Transport,
        ("remote", "vcs" | "uploadpack" | "receivepack") if has_middle => Role::Transport,
        ("diff", "command" | "textconv") if has_middle => Role::Unused,
        ("diff", "external") | ("sequence", "editor") | ("interactive", "difffilter") => {
            Role::Unused
        }
        (
            "core",
            "alternaterefscommand"
            | "askpass"
            | "editor"
            | "fsmonitor"
            | "gitproxy"
            | "hookspath"
            | "pager",
        ) => Role::Unused,
        ("alias" | "pager", _) | ("gpg", "program") | ("gpg", "defaultkeycommand") => Role::Unused,
        ("difftool" | "mergetool" | "man" | "browser" | "guitool", "cmd" | "path")
            if has_middle =>
        {
            Role::Unused
        }
        ("trailer", "command" | "cmd") if has_middle => Role::Unused,
        ("include", "path") => Role::Unused,
        ("includeif", "path") if has_middle => Role::Unused,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(entries: &[(&str, &str, &str)]) -> Listing {
        let mut text = String::new();
        for (scope, key, value) in entries {
            text.push_str(&format!("{scope}\0{key}\n{value}\0"));
        }
        Listing::parse(text.as_bytes())
    }

    #[test]
    fn what_the_repository_says_of_programs_is_overruled() {
        let of = listing(&[
            ("local", "filter.Evil.x.clean", "steal"),
            ("local", "merge.evil.driver", "steal"),
            ("worktree", "core.sshcommand", "steal"),
            ("local", "user.name", "somebody"),
            ("local", "core.pager", "steal"),
        ]);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            of.overruling(Reach::Here).unwrap(),
            [
                pair("filter.Evil.x.required", "false"),
                pair("filter.Evil.x.clean", ""),
                pair("merge.evil.driver", LINE_BY_LINE),
            ]
        );
        let remote = of.overruling(Reach::Remote).unwrap();
        assert!(
            remote.contains(&pair("core.sshcommand", "ssh")),
            "{remote:?}"
        );
        assert_eq!(of.programs().len(), 4);
    }

    #[test]
    fn what_the_person_has_said_of_the_same_key_holds() {
        let of = listing(&[
            ("global", "filter.lfs.clean", "git-lfs clean -- %f"),
            ("local", "filter.lfs.clean", "steal"),
            ("global", "filter.lfs.required", "true"),
            ("global", "credential.helper", "store"),
            ("local", "credential.helper", "steal"),
        ]);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let lfs = pair("filter.lfs.clean", "git-lfs clean -- %f");
        assert_eq!(
            of.overruling(Reach::Here).unwrap(),
            std::slice::from_ref(&lfs)
        );
        assert_eq!(
            of.overruling(Reach::Remote).unwrap(),
            [
                pair("credential.helper", ""),
                pair("credential.helper", "store"),
                lfs,
            ]
        );
    }

    #[test]
    fn what_cannot_be_overruled_is_named() {
        let agent = ("local", "lfs.customtransfer.evil.path", "steal");
        assert_eq!(listing(&[agent]).overruling(Reach::Here), Ok(Vec::new()));
        let lfs = ("global", "filter.lfs.process", "git-lfs filter-process");
        assert_eq!(
            listing(&[agent, lfs]).overruling(Reach::Here),
            Err(agent.1.to_owned())
        );
        let remote = listing(&[("local", "remote.origin.receivepack", "steal")]);
        assert_eq!(remote.overruling(Reach::Here), Ok(Vec::new()));
        assert!(remote.overruling(Reach::Remote).is_err());
    }
}
