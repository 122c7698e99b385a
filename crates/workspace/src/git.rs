//! The program `git`, and how it is called.
//!
//! Every call is an argv with its own environment: the short list that a child of ours
//! gets, and of git's variables those of the person. Nothing is asked on a terminal, no
//! program that the repository names runs (hooks, filters, drivers and the rest), output
//! is bounded and time is limited. A call whose future is
//! dropped goes on to its end, because a git that dies half-way leaves locks.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use missiond_os::environment;
use missiond_os::programs::find_program;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::OnceCell;

use crate::error::WorkspaceError;
use crate::process_tree;
use crate::repository::Lock;
use crate::repository_programs::{Listing, Reach, is_trusted};

/// `merge-tree --write-tree` came with it, which merges without a checkout.
pub const OLDEST_GIT: GitVersion = GitVersion {
    major: 2,
    minor: 38,
};

/// A checkout of a large repository on a slow disk ends within this.
const TIME_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Its settings are a few small files.
const LISTED_WITHIN: Duration = Duration::from_secs(30);
const OUTPUT_LIMIT: usize = 64 << 20;
const STDERR_LIMIT: usize = 64 << 10;

/// What every git is told, also one that another program starts.
pub(crate) const SETTINGS: [&str; 14] = [
    "advice.detachedHead=false",
    "commit.gpgSign=false",
    "core.alternateRefsCommand=true",
    "core.fsmonitor=false",
    "core.gitProxy=",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "gc.auto=0",
    "log.showSignature=false",
    "maintenance.auto=false",
    "merge.verifySignatures=false",
    "protocol.ext.allow=never",
    "push.gpgSign=false",
    "submodule.recurse=false",
];

/// Commands that, as they are called here, touch no file of a checkout, merge nothing and
/// show no change of a file: there is nothing for a filter or a driver to do.
const HARMLESS: [&str; 14] = [
    "cat-file",
    "check-ref-format",
    "commit-tree",
    "config",
    "for-each-ref",
    "ls-tree",
    "merge-base",
    "mktree",
    "rev-list",
    "rev-parse",
    "show-ref",
    "symbolic-ref",
    "update-ref",
    "--version",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    version: GitVersion,
}

impl Git {
    /// The git of this process's PATH, found once; an error is looked into again
    /// at the next call.
    pub async fn find() -> Result<Self, WorkspaceError> {
        static FOUND: OnceCell<Git> = OnceCell::const_new();
        FOUND
            .get_or_try_init(async || {
                let path = std::env::var_os("PATH").unwrap_or_default();
                let program = find_program("git", &path).ok_or(WorkspaceError::GitMissing)?;
                Self::at(&program).await
            })
            .await
            .cloned()
    }

    /// The git at this path.
    pub async fn at(program: &Path) -> Result<Self, WorkspaceError> {
        let mut git = Self {
            program: program.to_owned(),
            version: OLDEST_GIT,
        };
        let output = git.call(Path::new("/"), "say its version");
        let output = output.args(["--version"]).text().await?;
        git.version = version_in(&output).ok_or_else(|| WorkspaceError::GitUnknown {
            program: program.to_owned(),
            output: output.chars().take(80).collect(),
        })?;
        if git.version < OLDEST_GIT {
            return Err(WorkspaceError::GitTooOld {
                program: program.to_owned(),
                found: git.version,
            });
        }
        Ok(git)
    }

    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    #[must_use]
    pub fn version(&self) -> GitVersion {
        self.version
    }

    /// A call in `folder`; `doing` completes "git could not …".
    pub(crate) fn call(&self, folder: &Path, doing: impl Into<String>) -> GitCall {
        GitCall {
            program: self.program.clone(),
            folder: folder.to_owned(),
            doing: doing.into(),
            args: Vec::new(),
            variables: Vec::new(),
            input: Vec::new(),
            held: None,
            time_limit: TIME_LIMIT,
            limit: OUTPUT_LIMIT,
            overflow: Overflow::Refused,
            reach: Reach::Here,
        }
    }
}

/// One call of git, until it is answered.
#[derive(Debug)]
#[must_use = "a call does nothing until it is answered"]
pub(crate) struct GitCall {
    program: PathBuf,
    folder: PathBuf,
    doing: String,
    args: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    input: Vec<u8>,
    held: Option<File>,
    time_limit: Duration,
    limit: usize,
    overflow: Overflow,
    reach: Reach,
}

/// What becomes of output beyond the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overflow {
    Refused,
    Dropped,
}

#[derive(Debug)]
pub(crate) struct GitOutput {
    pub(crate) code: Option<i32>,
    pub(crate) output: Vec<u8>,
    pub(crate) stderr: String,
    doing: String,
}

impl GitCall {
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn arg(self, arg: impl AsRef<OsStr>) -> Self {
        self.args([arg])
    }

    pub(crate) fn variable(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Is about these paths alone, each taken literally; for a command that reads
    /// pathspecs from its input.
    pub(crate) fn only_paths(self, paths: &[PathBuf]) -> Self {
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_os_str().as_bytes());
            input.push(0);
        }
        self.variable("GIT_LITERAL_PATHSPECS", "1")
            .args(["--pathspec-from-file=-", "--pathspec-file-nul"])
            .input(input)
    }

    /// Takes only so much of the output; the rest is dropped without a word.
    pub(crate) fn at_most(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self.overflow = Overflow::Dropped;
        self
    }

    /// Ends the call after so long instead of the usual time.
    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Goes to a remote, as the person: with their keys and logins.
    pub(crate) fn going_to_remote(mut self) -> Self {
        self.reach = Reach::Remote;
        self
    }

    /// Keeps a lock for as long as git runs, even if this process is killed
    /// meanwhile: git has the locked file as its input, from which it reads
    /// nothing.
    pub(crate) fn holding(mut self, lock: &Lock) -> Result<Self, WorkspaceError> {
        self.held = Some(lock.share()?);
        Ok(self)
    }

    /// The answer, whatever its exit code.
    pub(crate) async fn run(self) -> Result<GitOutput, WorkspaceError> {
        // A task of its own: the caller may give up, git may not.
        match tokio::spawn(self.execute()).await {
            Ok(answer) => answer,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }

    /// The output of a call that succeeded.
    pub(crate) async fn output(self) -> Result<Vec<u8>, WorkspaceError> {
        self.run().await?.success()
    }

    /// The output of a call that succeeded, without the end of its line.
    pub(crate) async fn text(self) -> Result<String, WorkspaceError> {
        let doing = self.doing.clone();
        line_of(self.output().await?).map_err(|output| WorkspaceError::GitUnclear { doing, output })
    }

    async fn execute(mut self) -> Result<GitOutput, WorkspaceError> {
        let overruling = self.overruling().await?;
        let mut child = self.start(&overruling)?;
        let pid = child.id();
        let stdin = child.stdin.take();
        let Some((stdout, stderr)) = child.stdout.take().zip(child.stderr.take()) else {
            unreachable!("both were asked for as pipes");
        };
        let talk = async {
            let (_, output, stderr) = tokio::join!(
                feed(stdin, &self.input),
                read_output(stdout, self.limit, self.overflow),
                read_stderr(stderr)
            );
            (output, stderr, child.wait().await)
        };
        let Ok((output, stderr, status)) = tokio::time::timeout(self.time_limit, talk).await else {
            if let Some(pid) = pid {
                process_tree::end_group(pid, &mut child).await;
            }
            return Err(WorkspaceError::GitTimedOut {
                doing: self.doing,
                limit: self.time_limit,
            });
        };
        let status = status.map_err(WorkspaceError::io(&self.program))?;
        let output = output
            .map_err(WorkspaceError::io(&self.program))?
            .ok_or_else(|| WorkspaceError::GitTooMuch {
                doing: self.doing.clone(),
                limit: self.limit,
            })?;
        Ok(GitOutput {
            code: status.code(),
            output,
            stderr,
            doing: self.doing,
        })
    }

    /// What keeps this call from running the repository's programs.
    async fn overruling(&self) -> Result<Vec<(String, String)>, WorkspaceError> {
        let asked = async |args: &[&str]| {
            let output = self.command().args(args).stdin(Stdio::null()).output();
            match tokio::time::timeout(LISTED_WITHIN, output).await {
                Ok(output) => output.map_err(WorkspaceError::io(&self.program)),
                Err(_) => Err(WorkspaceError::GitTimedOut {
                    doing: "list its settings".to_owned(),
                    limit: LISTED_WITHIN,
                }),
            }
        };
        if !self.folder.is_dir() {
            return Err(WorkspaceError::Missing(self.folder.clone()));
        }
        let is_harmless = |name: &OsString| HARMLESS.iter().any(|known| name == *known);
        if self.reach == Reach::Here && self.args.first().is_some_and(is_harmless) {
            return Ok(Vec::new());
        }
        // Of what is no repository, or a broken one, the call itself says so.
        let listed = asked(&["config", "--list", "--show-scope", "--includes", "-z"]).await?;
        let listing = Listing::parse(&listed.stdout);
        if listing.programs().is_empty() {
            return Ok(Vec::new());
        }
        let folder = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let found = asked(&folder).await?.stdout;
        let common = PathBuf::from(OsStr::from_bytes(found.trim_ascii_end()));
        if is_trusted(&common.canonicalize().unwrap_or(common)) {
            return Ok(Vec::new());
        }
        let refused = |key| WorkspaceError::RunsPrograms {
            path: self.folder.clone(),
            key,
        };
        listing.overruling(self.reach).map_err(refused)
    }

    /// A git with the environment and the settings of every call.
    fn command(&self) -> tokio::process::Command {
        let kind = match self.reach {
            Reach::Here => environment::Child::Git,
            Reach::Remote => environment::Child::GitRemote,
        };
        let mut command = tokio::process::Command::new(&self.program);
        command
            .env_clear()
            .envs(environment::inherited(kind, std::env::vars_os()));
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        command.current_dir(&self.folder);
        command
    }

    fn start(&mut self, overruling: &[(String, String)]) -> Result<Child, WorkspaceError> {
        let mut command = self.command();
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        // By variables, because a name that git takes may have a `=` in it.
        command.env("GIT_CONFIG_COUNT", overruling.len().to_string());
        for (index, (key, value)) in overruling.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{index}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        command
            .args(&self.args)
            .stdin(self.held.take().map_or_else(Stdio::piped, Stdio::from))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(WorkspaceError::io(&self.program))
    }
}

impl GitOutput {
    pub(crate) fn success(self) -> Result<Vec<u8>, WorkspaceError> {
        match self.code {
            Some(0) => Ok(self.output),
            _ => Err(self.failure()),
        }
    }

    pub(crate) fn failure(self) -> WorkspaceError {
        WorkspaceError::Git {
            reason: self.reason(),
            doing: self.doing,
        }
    }

    /// What git said, or how it ended if it said nothing.
    pub(crate) fn reason(&self) -> String {
        match (self.stderr.trim(), self.code) {
            ("", Some(code)) => format!("it ended with exit code {code}"),
            ("", None) => "it was ended by a signal".to_owned(),
            (stderr, _) => stderr.to_owned(),
        }
    }
}

/// The paths of an answer in which each ends with a zero byte.
pub(crate) fn paths(output: &[u8]) -> Vec<PathBuf> {
    output
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| PathBuf::from(OsString::from_vec(path.to_vec())))
        .collect()
}

fn line_of(output: Vec<u8>) -> Result<String, String> {
    let mut text = String::from_utf8(output)
        .map_err(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())?;
    text.truncate(text.trim_end_matches('\n').len());
    Ok(text)
}

pub(crate) async fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        // A git that has heard enough closes its end; its exit code says the rest.
        let _ = stdin.write_all(input).await;
    }
}

/// Nothing when there is more than the limit and that is refused; the rest is
/// read and dropped.
pub(crate) async fn read_output(
    mut stdout: ChildStdout,
    limit: usize,
    overflow: Overflow,
) -> std::io::Result<Option<Vec<u8>>> {
    let mut output = Vec::new();
    let one_more = limit as u64 + 1;
    (&mut stdout)
        .take(one_more)
        .read_to_end(&mut output)
        .await?;
    if output.len() <= limit {
        return Ok(Some(output));
    }
    tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await?;
    output.truncate(limit);
    Ok((overflow == Overflow::Dropped).then_some(output))
}

pub(crate) async fn read_stderr(mut stderr: ChildStderr) -> String {
    let mut bytes = Vec::new();
    let limit = STDERR_LIMIT as u64;
    let _ = (&mut stderr).take(limit).read_to_end(&mut bytes).await;
    let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

fn version_in(output: &str) -> Option<GitVersion> {
    let mut numbers = output.strip_prefix("git version ")?.split(['.', ' ']);
    Some(GitVersion {
        major: numbers.next()?.parse().ok()?,
        minor: numbers.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_the_systems_say_them() {
        let version = |major, minor| Some(GitVersion { major, minor });
        for (output, expected) in [
            ("git version 2.47.3", version(2, 47)),
            ("git version 2.39.5 (Apple Git-154)", version(2, 39)),
            ("git version 2.45.1.windows.1", version(2, 45)),
            ("git version 3.0", version(3, 0)),
            ("gitk 2.47", None),
            ("git version two", None),
        ] {
            assert_eq!(version_in(output), expected, "{output}");
        }
    }

    #[tokio::test]
    async fn an_old_git_is_refused_with_what_to_do() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("git");
        std::fs::write(&program, "#!/bin/sh\necho git version 2.30.2\n").unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let refused = Git::at(&program).await.unwrap_err().to_string();
        let expected = "is git 2.30, but 2.38 is the oldest that works: update git";
        assert!(refused.ends_with(expected), "{refused}");
    }
}
