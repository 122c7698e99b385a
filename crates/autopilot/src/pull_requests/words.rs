//! What is said in a pull request, and what is said of one.

use missiond_core::{BoardTask, CheckVerdict, Evidence};
use missiond_secrets::mask;
use missiond_workspace::{FoundPullRequest, GitHubError};

use super::HandOver;

/// GitHub takes a title of 256 characters, and a body of 65,536.
const MOST_TITLE: usize = 250;
const MOST_BODY: usize = 60_000;
/// The most of what git or `gh` said that is repeated.
const MOST_SAID: usize = 400;

pub(super) fn title(work: &HandOver) -> String {
    let title = match work.task() {
        Some(task) => task.title.as_str(),
        None => work.worktree.branch(),
    };
    cut(mask(title).as_str(), MOST_TITLE)
}

/// The description of the task, the checks that agreed in the last round, and whose
/// task it is. Others read it: secrets stay here.
pub(super) fn body(task: &BoardTask, evidence: &[Evidence]) -> String {
    let mut parts = Vec::new();
    let description = mask(task.description.trim()).into_string();
    if !description.is_empty() {
        parts.push(cut(&description, MOST_BODY));
    }
    let round = CheckVerdict::of(evidence).map(|verdict| verdict.round);
    let last = evidence.iter().filter(|said| Some(said.round) == round);
    let passed: Vec<_> = last
        .filter(|said| said.passed && said.is_of_check())
        .map(|said| format!("- {}", code(mask(said.check.as_str()).as_str())))
        .collect();
    if !passed.is_empty() {
        let passed = cut(&passed.join("\n"), MOST_SAID * 10);
        parts.push(format!("Checks that passed:\n\n{passed}"));
    }
    parts.push(format!("Task: {}\n", task.number));
    parts.join("\n\n")
}

/// As code, where that can be.
fn code(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.contains('`') {
        line
    } else {
        format!("`{line}`")
    }
}

pub(super) fn merged(task: &BoardTask, found: &FoundPullRequest) -> String {
    let into = match &task.pull_request {
        Some(opened) => opened.into.as_str(),
        None => "its target",
    };
    let at = match &found.merge_commit {
        Some(commit) => format!(" at {commit}"),
        None => String::new(),
    };
    format!(
        "Pull request #{} was merged: {into} has the work there{at}.",
        found.number
    )
}

pub(super) fn closed(task: &BoardTask, found: &FoundPullRequest) -> String {
    let number = task.number;
    format!(
        "pull request #{} was closed without a merge ({}): `mission task retry {number}` has it \
         worked on again, `mission worktree finish {number} --how pull_request --yes` opens \
         another one",
        found.number, found.url
    )
}

/// What to do so that `gh` can be asked.
pub(super) fn remedy(error: &GitHubError) -> &'static str {
    match error {
        GitHubError::NotLoggedIn => "log in to GitHub with `gh auth login`",
        _ => "install GitHub's command line `gh` and log in with `gh auth login`",
    }
}

/// What a program said, in one line, without secrets and not too long.
pub(super) fn shortened(said: &str) -> String {
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(mask(line).as_str(), MOST_SAID)
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use missiond_core::{AttemptId, BoardTaskId, TaskDraft, TaskNumber, Timestamp};

    use super::*;

    #[test]
    fn a_body_says_what_was_asked_which_checks_agreed_and_no_secret() {
        let draft = TaskDraft {
            title: Some("Say goodbye".to_owned()),
            repository: Some("/repository".into()),
            description: Some("Use the token ghp_0123456789abcdefghij.\n".to_owned()),
            ..TaskDraft::default()
        };
        let now = Timestamp::from_micros(0);
        let task = BoardTask::drafted(BoardTaskId::generate(), TaskNumber(12), draft, now);
        let task = task.unwrap();
        let said = |round, check: &str, passed: bool| Evidence {
            attempt: AttemptId::generate(),
            round,
            check: check.to_owned(),
            exit: Some(i32::from(!passed)),
            signal: None,
            timed_out: false,
            passed,
            tail: String::new(),
            commit: None,
            at: now,
            millis: 1,
            note: None,
        };
        let evidence = [
            said(1, "earlier", true),
            said(2, "cargo test", true),
            said(2, "slow", false),
        ];
        assert_eq!(
            body(&task, &evidence),
            "Use the token [masked GitHub token].\n\nChecks that passed:\n\n- `cargo test`\n\n\
             Task: T-12\n"
        );
        assert_eq!(body(&task, &[]).lines().last(), Some("Task: T-12"));
    }

    #[test]
    fn what_a_program_said_is_one_short_line_without_secrets() {
        let long = format!(
            "fatal:\n  https://me:hunter2hunter2@host/x {}",
            "a".repeat(900)
        );
        let said = shortened(&long);
        assert!(!said.contains("hunter2") && !said.contains('\n'), "{said}");
        assert_eq!(said.chars().count(), MOST_SAID);
    }
}
