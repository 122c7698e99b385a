//! Branches that are put where others see them.

use std::path::PathBuf;

use missiond_workspace::{Finish, Landed, Removal, WorkspaceError};

use crate::sample::{Sample, commit_all, git, into_main, write};

/// A bare repository beside the sample, as its remote of this name.
fn remote(sample: &Sample, name: &str) -> PathBuf {
    let bare = sample.place.path().join(format!("{name}.git"));
    sample.git(["init", "--quiet", "--bare", bare.to_str().unwrap()]);
    sample.git(["remote", "add", name, bare.to_str().unwrap()]);
    bare
}

#[tokio::test]
async fn the_remote_is_that_of_the_target_or_the_only_one_or_origin() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    let none = worktree.repository().remote_of("main").await.unwrap_err();
    assert!(matches!(none, WorkspaceError::NoRemote { .. }), "{none}");
    remote(&sample, "only");
    assert_eq!(
        worktree.repository().remote_of("main").await.unwrap(),
        "only"
    );
    remote(&sample, "other");
    let which = worktree
        .repository()
        .remote_of("main")
        .await
        .unwrap_err()
        .to_string();
    assert!(which.contains("(only, other)"), "{which}");
    assert!(
        which.contains("`git config branch.main.remote NAME`"),
        "{which}"
    );
    remote(&sample, "origin");
    assert_eq!(
        worktree.repository().remote_of("main").await.unwrap(),
        "origin"
    );
    sample.git(["config", "branch.main.remote", "other"]);
    assert_eq!(
        worktree.repository().remote_of("main").await.unwrap(),
        "other"
    );
}

#[tokio::test]
async fn only_what_was_pushed_from_here_is_replaced() {
    let sample = Sample::new();
    let bare = remote(&sample, "origin");
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    let there = || git(&bare, ["rev-parse", "mission/1-1"]);
    let first = worktree.push("origin").await.unwrap();
    assert_eq!(there(), first);
    // Again changes nothing, and what is not committed stays behind.
    write(worktree.path(), "code/c", "c\n");
    assert_eq!(worktree.push("origin").await.unwrap(), first);
    let second = commit_all(worktree.path());
    assert_eq!(worktree.push("origin").await.unwrap(), second);

    // The work was rewritten: our own push gives way.
    git(worktree.path(), ["reset", "--quiet", "--hard", &first]);
    write(worktree.path(), "code/d", "d\n");
    let rewritten = commit_all(worktree.path());
    assert_eq!(worktree.push("origin").await.unwrap(), rewritten);
    assert_eq!(there(), rewritten);

    // Somebody else was there meanwhile: theirs does not.
    git(&bare, ["update-ref", "refs/heads/mission/1-1", &second]);
    let refused = worktree.push("origin").await.unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::PushRefused { .. }),
        "{refused}"
    );
    assert_eq!(there(), second);
}

#[tokio::test]
async fn a_remote_that_is_a_relative_path_counts_from_the_repository() {
    let sample = Sample::new();
    let bare = remote(&sample, "origin");
    sample.git(["remote", "set-url", "origin", "../origin.git"]);
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    let pushed = worktree.push("origin").await.unwrap();
    assert_eq!(git(&bare, ["rev-parse", "mission/1-1"]), pushed);
}

#[tokio::test]
async fn work_that_was_merged_in_a_pull_request_needs_no_place_any_more() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    assert_ne!(worktree.removal().await.unwrap(), Removal::Safe);
    worktree
        .finish(&into_main(Finish::PullRequest))
        .await
        .unwrap();
    let status = worktree.status().await.unwrap();
    let into = "main".to_owned();
    assert_eq!(worktree.landed(&status).unwrap(), Landed::Merged { into });
    assert_eq!(worktree.removal().await.unwrap(), Removal::Safe);
    worktree.remove().await.unwrap();
    let kept = sample.git(["branch", "--list", "mission/1-1"]);
    assert!(kept.contains("mission/1-1"), "main has it elsewhere only");
}
