//! Putting the branch of a worktree where others see it.
//!
//! Exactly one commit goes to exactly one branch of a remote, under the same name. What
//! is there already is never overwritten, unless it is what was pushed from here before:
//! that is kept as a ref below `refs/missiond/pushed`, so it outlives the worktree. No
//! lock is held meanwhile, a remote may be slow.

use std::time::Duration;

use crate::error::WorkspaceError;
use crate::git::GitOutput;
use crate::repository::Repository;
use crate::worktree::Worktree;

/// A large branch on a slow line is pushed within this.
const TIME_LIMIT: Duration = Duration::from_secs(300);

impl Repository {
    /// The remote that a branch belongs to: its own, else the only one there is, else
    /// `origin`.
    pub async fn remote_of(&self, branch: &str) -> Result<String, WorkspaceError> {
        let call = self.call("look up the remote of a branch");
        let key = format!("branch.{branch}.remote");
        let answer = call.args(["config", "--get", &key]).run().await?;
        let own = String::from_utf8_lossy(&answer.output).trim().to_owned();
        // A dot is this repository itself.
        if answer.code == Some(0) && !own.is_empty() && own != "." {
            return Ok(own);
        }
        let call = self.call("list the remotes");
        let listed = call.args(["remote"]).text().await?;
        let remotes: Vec<_> = listed.lines().collect();
        let repository = || self.main_path().to_owned();
        match remotes.as_slice() {
            [] => Err(WorkspaceError::NoRemote {
                repository: repository(),
            }),
            [only] => Ok((*only).to_owned()),
            [..] if remotes.contains(&"origin") => Ok("origin".to_owned()),
            [..] => Err(WorkspaceError::WhichRemote {
                repository: repository(),
                branch: branch.to_owned(),
                remotes: remotes.join(", "),
            }),
        }
    }
}

impl Worktree {
    /// Pushes what is committed; the commit that the remote has then. Not committed
    /// changes stay behind.
    pub async fn push(&self, remote: &str) -> Result<String, WorkspaceError> {
        self.expect_settled()?;
        self.expect_on_branch().await?;
        let head = self.head().await?;
        let answer = self.push_commit(remote, &head, None).await?;
        if answer.code != Some(0) {
            let before = self.pushed(remote).await?;
            match before.filter(|_| was_outrun(&answer)) {
                // The work was rewritten since: only our own push is replaced.
                Some(before) => {
                    let again = self.push_commit(remote, &head, Some(&before)).await?;
                    self.expect_accepted(remote, again)?;
                }
                None => self.expect_accepted(remote, answer)?,
            }
        }
        let call = self.repository().call("keep what was pushed");
        let name = self.pushed_ref(remote);
        call.args(["update-ref", &name, &head]).output().await?;
        Ok(head)
    }

    async fn push_commit(
        &self,
        remote: &str,
        head: &str,
        replaces: Option<&str>,
    ) -> Result<GitOutput, WorkspaceError> {
        let branch = format!("refs/heads/{}", self.branch());
        let (repository, doing) = (self.repository(), "push the branch");
        let place = repository.main_path();
        // A remote may be a path, which counts from where the person has the repository.
        let call = if place == repository.common_dir() {
            repository.call(doing)
        } else {
            repository.git().call(place, doing)
        };
        let call = call.within(TIME_LIMIT).going_to_remote();
        // What would ask on a screen fails instead.
        let call = call.variable("SSH_ASKPASS_REQUIRE", "never");
        let call = call.args(["push", "--porcelain", "--no-verify", "--no-follow-tags"]);
        let call = call.arg("--recurse-submodules=no");
        let call = match replaces {
            Some(before) => call.arg(format!("--force-with-lease={branch}:{before}")),
            None => call,
        };
        let call = call.args(["--", remote, &format!("{head}:{branch}")]);
        call.run().await
    }

    /// The commit that was last pushed from here.
    pub async fn pushed(&self, remote: &str) -> Result<Option<String>, WorkspaceError> {
        let name = self.pushed_ref(remote);
        crate::repository::commit_in(self.call("look up what was pushed"), &name).await
    }

    fn pushed_ref(&self, remote: &str) -> String {
        // The address of a remote without a name may be none of git's names.
        let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let remote = remote.replace(|c| !name(c), "_");
        format!("refs/missiond/pushed/{remote}/{}", self.branch())
    }

    fn expect_accepted(&self, remote: &str, answer: GitOutput) -> Result<(), WorkspaceError> {
        if answer.code == Some(0) {
            return Ok(());
        }
        let Some(rejected) = rejection(&answer) else {
            return Err(answer.failure());
        };
        Err(WorkspaceError::PushRefused {
            remote: remote.to_owned(),
            branch: self.branch().to_owned(),
            reason: format!("{rejected} {}", remote_words(&answer.stderr))
                .trim()
                .to_owned(),
        })
    }
}

/// What git says of a ref that the remote did not take.
fn rejection(answer: &GitOutput) -> Option<String> {
    let output = String::from_utf8_lossy(&answer.output);
    let line = output.lines().find_map(|line| line.strip_prefix("!\t"))?;
    line.rsplit('\t').next().map(str::to_owned)
}

/// Whether the branch there has commits that ours has not.
fn was_outrun(answer: &GitOutput) -> bool {
    rejection(answer).is_some_and(|reason| reason.starts_with("[rejected]"))
}

/// What the remote itself said, without git's advice around it.
fn remote_words(stderr: &str) -> String {
    let said = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("remote:"));
    said.map(str::trim).collect::<Vec<_>>().join(" ")
}
