//! Pull requests, by GitHub's own command line `gh`.
//!
//! Every call is an argv in a checkout, from whose remotes `gh` knows the repository. It
//! has a time limit, its output is bounded, and it is asked for JSON. Nothing here is
//! tried twice: whoever calls asks first what there is.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use missiond_core::PullRequestState;
use missiond_os::environment::{self, Child as Kind};
use missiond_os::programs::find_program;
use serde::Deserialize;

use crate::git::{Overflow, SETTINGS, feed, read_output, read_stderr};
use crate::process_tree;

const TIME_LIMIT: Duration = Duration::from_secs(60);
const OUTPUT_LIMIT: usize = 64 << 10;
/// With this `gh` ends when nobody is logged in.
const NOT_LOGGED_IN: i32 = 4;

/// Variables whose value is a login.
const LOGINS: [&str; 4] = [
    "GH_ENTERPRISE_TOKEN",
    "GH_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITHUB_TOKEN",
];

#[derive(Debug, thiserror::Error)]
pub enum GitHubError {
    #[error("GitHub's command line `gh` is not installed")]
    Missing,
    #[error("`gh` is not logged in")]
    NotLoggedIn,
    #[error("`gh` did not {doing} within {} s", TIME_LIMIT.as_secs())]
    TimedOut { doing: &'static str },
    #[error("`gh` could not {doing}: {reason}")]
    Failed { doing: &'static str, reason: String },
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// A pull request as its host knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPullRequest {
    pub number: u64,
    pub url: String,
    pub state: PullRequestState,
    /// The last commit of its branch.
    pub head: Option<String>,
    /// The commit of the target that has it.
    pub merge_commit: Option<String>,
}

/// What a new pull request is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    pub base: String,
    pub head: String,
    pub title: String,
    pub body: String,
}

/// The `gh` of this process's PATH, at work in one checkout.
#[derive(Debug, Clone)]
pub struct GitHub {
    program: PathBuf,
    folder: PathBuf,
}

impl GitHub {
    /// Looked for each time: somebody who is told that it is missing installs it.
    pub fn find(folder: &Path) -> Result<Self, GitHubError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = find_program("gh", &path).ok_or(GitHubError::Missing)?;
        Ok(Self {
            program,
            folder: folder.to_owned(),
        })
    }

    /// The pull request of a branch, or that of an address; nothing when the branch has
    /// none.
    pub async fn find_pull_request(
        &self,
        name: &str,
    ) -> Result<Option<FoundPullRequest>, GitHubError> {
        let doing = "look up the pull request";
        let fields = "number,url,state,headRefOid,mergedAt,mergeCommit";
        let args = ["pr", "view", name, "--json", fields];
        let answer = self.run(doing, &args, "").await?;
        if answer.code == Some(1) && answer.stderr.contains("no pull requests found") {
            return Ok(None);
        }
        let output = answer.success(doing)?;
        let viewed: Viewed =
            serde_json::from_slice(&output).map_err(|error| GitHubError::Failed {
                doing,
                reason: format!("its answer is not understood: {error}"),
            })?;
        viewed.found(doing).map(Some)
    }

    /// Opens one.
    pub async fn open_pull_request(
        &self,
        new: &NewPullRequest,
    ) -> Result<FoundPullRequest, GitHubError> {
        let doing = "open the pull request";
        let args = [
            "pr",
            "create",
            "--base",
            &new.base,
            "--head",
            &new.head,
            "--title",
            &new.title,
            "--body-file",
            "-",
        ];
        let answer = self.run(doing, &args, &new.body).await?;
        let output = answer.success(doing)?;
        let said = String::from_utf8_lossy(&output).into_owned();
        let url = said.lines().map(str::trim).rfind(|line| is_url(line));
        let number = url.and_then(|url| url.rsplit('/').next()?.parse().ok());
        match (url, number) {
            (Some(url), Some(number)) => Ok(FoundPullRequest {
                number,
                url: url.to_owned(),
                state: PullRequestState::Open,
                head: None,
                merge_commit: None,
            }),
            _ => Err(GitHubError::Failed {
                doing,
                reason: format!("it did not say where it is: {}", said.trim()),
            }),
        }
    }

    async fn run(
        &self,
        doing: &'static str,
        args: &[&str],
        input: &str,
    ) -> Result<Answer, GitHubError> {
        let io = |source| GitHubError::Io {
            path: self.program.clone(),
            source,
        };
        let environment = environment::inherited(Kind::GitHub, std::env::vars_os());
        // The git it starts runs nothing that an agent put into the repository.
        let settings = SETTINGS
            .iter()
            .filter_map(|setting| setting.split_once('='));
        let settings = settings.enumerate().flat_map(|(place, (key, value))| {
            [
                (format!("GIT_CONFIG_KEY_{place}"), key),
                (format!("GIT_CONFIG_VALUE_{place}"), value),
            ]
        });
        let mut child = tokio::process::Command::new(&self.program)
            .args(args)
            .current_dir(&self.folder)
            .env_clear()
            .envs(environment)
            .envs(settings)
            .env("GIT_CONFIG_COUNT", SETTINGS.len().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(io)?;
        let (pid, stdin) = (child.id(), child.stdin.take());
        let Some((stdout, stderr)) = child.stdout.take().zip(child.stderr.take()) else {
            unreachable!("both were asked for as pipes");
        };
        let talk = async {
            let (_, output, stderr) = tokio::join!(
                feed(stdin, input.as_bytes()),
                read_output(stdout, OUTPUT_LIMIT, Overflow::Dropped),
                read_stderr(stderr)
            );
            (output, stderr, child.wait().await)
        };
        let Ok((output, stderr, status)) = tokio::time::timeout(TIME_LIMIT, talk).await else {
            if let Some(pid) = pid {
                process_tree::end_group(pid, &mut child).await;
            }
            return Err(GitHubError::TimedOut { doing });
        };
        Ok(Answer {
            code: status.map_err(io)?.code(),
            output: output.map_err(io)?.unwrap_or_default(),
            stderr: without_login(stderr),
        })
    }
}

struct Answer {
    code: Option<i32>,
    output: Vec<u8>,
    stderr: String,
}

impl Answer {
    fn success(self, doing: &'static str) -> Result<Vec<u8>, GitHubError> {
        match self.code {
            Some(0) => Ok(self.output),
            Some(NOT_LOGGED_IN) => Err(GitHubError::NotLoggedIn),
            code => {
                let reason = match (self.stderr.trim(), code) {
                    ("", Some(code)) => format!("it ended with exit code {code}"),
                    ("", None) => "it was ended by a signal".to_owned(),
                    (stderr, _) => stderr.to_owned(),
                };
                Err(GitHubError::Failed { doing, reason })
            }
        }
    }
}

/// What `gh pr view` says.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Viewed {
    number: u64,
    url: String,
    state: String,
    head_ref_oid: Option<String>,
    merged_at: Option<String>,
    merge_commit: Option<MergeCommit>,
}

#[derive(Deserialize)]
struct MergeCommit {
    oid: String,
}

impl Viewed {
    fn found(self, doing: &'static str) -> Result<FoundPullRequest, GitHubError> {
        let state = match self.state.as_str() {
            "OPEN" => PullRequestState::Open,
            "MERGED" => PullRequestState::Merged,
            _ if self.merged_at.is_some() => PullRequestState::Merged,
            "CLOSED" => PullRequestState::Closed,
            other => {
                let reason = format!("`{other}` is no state of a pull request");
                return Err(GitHubError::Failed { doing, reason });
            }
        };
        if !is_url(&self.url) {
            let reason = format!("`{}` is no address", self.url);
            return Err(GitHubError::Failed { doing, reason });
        }
        Ok(FoundPullRequest {
            number: self.number,
            url: self.url,
            state,
            head: self.head_ref_oid,
            merge_commit: self.merge_commit.map(|commit| commit.oid),
        })
    }
}

/// What is shown as a link, and nothing that an option could be.
fn is_url(text: &str) -> bool {
    let scheme = text.starts_with("https://") || text.starts_with("http://");
    scheme && text.len() < 2048 && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// What `gh` said never has the login in it that it was given.
fn without_login(mut text: String) -> String {
    let values = LOGINS.iter().filter_map(|name| std::env::var(name).ok());
    for value in values.filter(|value| value.len() >= 8) {
        text = text.replace(&value, "[masked]");
    }
    text
}
