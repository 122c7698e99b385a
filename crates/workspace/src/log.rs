//! Commits of a repository by what their messages say.

use missiond_core::Timestamp;

use crate::{Repository, WorkspaceError};

/// A commit in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its whole name.
    pub id: String,
    pub author: String,
    pub at: Option<Timestamp>,
    pub subject: String,
}

/// Between the fields of a commit; no message has it.
const FIELD: char = '\u{1f}';
/// Enough for what is asked for; a longer answer is cut.
const MOST_BYTES: usize = 256 * 1024;

impl Repository {
    /// The newest commits of all branches whose message has every one of these
    /// words, in any case.
    pub async fn commits_about(
        &self,
        words: &[&str],
        limit: u32,
    ) -> Result<Vec<Commit>, WorkspaceError> {
        let format = format!("--format=%H{FIELD}%an{FIELD}%aI{FIELD}%s");
        let mut command = self
            .call("search the commits")
            .args(["log", "--branches", "HEAD", "--fixed-strings"])
            .args(["--regexp-ignore-case", "--all-match", "--no-color"])
            .arg(format)
            .arg(format!("--max-count={limit}"));
        for word in words {
            command = command.arg(format!("--grep={word}"));
        }
        // The git folder it runs in has a file of the name HEAD.
        let answer = command.arg("--").at_most(MOST_BYTES).run().await?;
        // A repository without a commit has nothing to be found.
        if answer.code == Some(128) && answer.stderr.contains("bad revision") {
            return Ok(Vec::new());
        }
        let output = String::from_utf8_lossy(&answer.success()?).into_owned();
        Ok(output.lines().filter_map(commit).collect())
    }
}

fn commit(line: &str) -> Option<Commit> {
    let mut fields = line.splitn(4, FIELD);
    Some(Commit {
        id: fields.next()?.to_owned(),
        author: fields.next()?.to_owned(),
        at: fields.next()?.parse().ok(),
        subject: fields.next()?.to_owned(),
    })
}
