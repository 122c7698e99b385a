//! What checks and builds leave behind is not the agent's work.

use std::path::{Path, PathBuf};

use missiond_workspace::{Finish, Finished, Removal, WorkspaceError, Worktree};

use crate::sample::{Sample, commit_all, git, into_main, write};

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

/// Names of what the worktree's branch changed since `main`.
fn changed(sample: &Sample, worktree: &Worktree) -> String {
    let range = format!("main...{}", worktree.branch());
    sample.git(["diff", "--name-only", &range])
}

#[tokio::test]
async fn caches_and_build_output_are_not_committed_and_are_named() {
    let sample = Sample::new();
    sample.write("sub/Cargo.toml", "[package]\n");
    commit_all(&sample.repository);
    let worktree = sample.worktree("caches").await;
    let new = [
        "code/b.py",
        "code/__pycache__/b.cpython-312.pyc",
        ".pytest_cache/v/lastfailed",
        "sub/target/debug/x",
        "code/target/aim.txt",
        "web/node_modules/left-pad/index.js",
    ];
    for name in new {
        write(worktree.path(), name, "x");
    }
    let committed = worktree.commit_all("Add b").await.unwrap();
    assert!(committed.commit.is_some());
    let mut left_out = committed.left_out;
    left_out.sort();
    let expected = [
        ".pytest_cache/v/lastfailed",
        "code/__pycache__/b.cpython-312.pyc",
        "sub/target/debug/x",
        "web/node_modules/left-pad/index.js",
    ];
    assert_eq!(left_out, paths(&expected));
    assert_eq!(
        changed(&sample, &worktree),
        "code/b.py\ncode/target/aim.txt"
    );

    // They are in nobody's way: the work is finished, the worktree can go.
    let finished = worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    assert!(matches!(finished, Finished::Merged { .. }), "{finished:?}");
    assert_eq!(worktree.removal().await.unwrap(), Removal::Safe);
    let path = worktree.path().to_owned();
    worktree.remove().await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn the_word_of_the_repository_counts_more_than_the_list() {
    let sample = Sample::new();
    sample.commit(".gitignore", "!*.class\n");
    let worktree = sample.worktree("wanted").await;
    write(worktree.path(), "fixtures/A.class", "x");
    write(worktree.path(), "b.pyc", "staged by the agent");
    git(worktree.path(), ["add", "b.pyc"]);
    let committed = worktree.commit_all("Add fixtures").await.unwrap();
    assert_eq!(committed.left_out, paths(&[]));
    assert_eq!(changed(&sample, &worktree), "b.pyc\nfixtures/A.class");
}

#[tokio::test]
async fn after_checks_the_tree_is_the_checked_commit_again() {
    let sample = Sample::new();
    sample.write(".gitignore", "ignored/\n");
    sample.write("old.pyc", "tracked since an earlier version");
    commit_all(&sample.repository);
    let worktree = sample.work("checked", "code/b", "b\n").await;
    let head = git(worktree.path(), ["rev-parse", "HEAD"]);
    worktree.begin_checks().await.unwrap();
    write(worktree.path(), "old.pyc", "compiled again");
    write(worktree.path(), "out/deep/report.txt", "by the check");
    write(worktree.path(), "ignored/cache", "stays");
    std::fs::remove_file(worktree.path().join("code/b")).unwrap();
    write(worktree.path(), "staged", "by the check");
    git(worktree.path(), ["add", "staged"]);
    git(worktree.path(), ["commit", "--quiet", "-m", "by the check"]);
    git(worktree.path(), ["checkout", "--quiet", "-b", "elsewhere"]);

    let restored = worktree.end_checks().await.unwrap();
    assert_eq!(restored.changed, paths(&["code/b", "old.pyc"]));
    assert_eq!(restored.removed, paths(&["out/deep/report.txt"]));
    let status = worktree.status().await.unwrap();
    assert!(status.is_clean(), "{status:?}");
    assert_eq!(status.head, head);
    assert_eq!(status.branch.as_deref(), Some(worktree.branch()));
    assert!(!worktree.path().join("out").exists());
    assert!(worktree.path().join("ignored/cache").exists());
    assert!(worktree.end_checks().await.unwrap().is_empty(), "only once");
}

#[tokio::test]
async fn what_cut_off_checks_left_is_put_back_before_anything_is_committed() {
    let sample = Sample::new();
    let worktree = sample.work("cut-off", "code/b", "b\n").await;
    worktree.begin_checks().await.unwrap();
    write(worktree.path(), "snapshot", "by the check");
    write(worktree.path(), "code/b", "by the check\n");
    // Another daemon finds it.
    let worktree = Worktree::open(worktree.path()).await.unwrap();
    let committed = worktree.commit_all("More").await.unwrap();
    assert_eq!(committed.commit, None);
    assert_eq!(changed(&sample, &worktree), "code/b");
    assert_eq!(sample.at(worktree.branch(), "code/b"), "b");
}

#[tokio::test]
async fn what_checks_change_in_a_submodule_is_put_back_too() {
    let (part, sample) = (Sample::new(), Sample::new());
    let url = part.repository.display().to_string();
    sample.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "--quiet",
        &url,
        "part",
    ]);
    commit_all(&sample.repository);
    let worktree = sample.work("parts", "code/b", "b\n").await;
    let update = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "update",
        "--init",
        "--quiet",
    ];
    git(worktree.path(), update);
    worktree.begin_checks().await.unwrap();
    write(worktree.path(), "part/readme", "by the check\n");
    write(worktree.path(), "part/new", "by the check\n");
    let restored = worktree.end_checks().await.unwrap();
    assert_eq!(restored.changed, paths(&["part"]));
    assert!(worktree.status().await.unwrap().is_clean());
    assert!(worktree.path().join("part/readme").exists());
}

#[tokio::test]
async fn dirt_is_named_as_what_it_is_and_can_be_thrown_away() {
    let sample = Sample::new();
    let worktree = sample.work("dirty", "code/b", "b\n").await;
    write(worktree.path(), "readme", "by somebody\n");
    write(worktree.path(), "late", "by somebody\n");
    let refused = worktree
        .finish(&into_main(Finish::Merge))
        .await
        .unwrap_err();
    let WorkspaceError::Uncommitted { files, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(*files, paths(&["readme", "late"]));
    assert!(refused.to_string().contains("mission worktree discard"));
    let would = worktree.uncommitted().await.unwrap();
    assert_eq!(would.files(), paths(&["readme", "late"]));
    assert!(worktree.path().join("late").exists());
    assert_eq!(worktree.discard().await.unwrap(), would);
    assert!(!worktree.path().join("late").exists());
    let finished = worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    assert!(matches!(finished, Finished::Merged { .. }), "{finished:?}");
}

#[tokio::test]
async fn a_squash_is_one_commit_with_its_message() {
    let sample = Sample::new();
    let worktree = sample.work("squashed", "code/b", "b\n").await;
    write(worktree.path(), "code/c", "c\n");
    commit_all(worktree.path());
    let before = sample.tip("main");
    let mut plan = into_main(Finish::Squash);
    plan.message = Some("Add b and c\n\nTogether.".to_owned());
    let finished = worktree.finish(&plan).await.unwrap();
    assert!(matches!(finished, Finished::Merged { .. }), "{finished:?}");
    assert_eq!(sample.git(["rev-parse", "main^@"]), before);
    assert_eq!(
        sample.git(["log", "-1", "--format=%s", "main"]),
        "Add b and c"
    );
    assert_eq!(sample.read("code/c"), "c\n");
    // Understood when it comes again, and nothing is lost with the worktree.
    assert_eq!(worktree.finish(&plan).await.unwrap(), finished);
    assert_eq!(worktree.removal().await.unwrap(), Removal::Safe);
}

#[tokio::test]
async fn a_worktree_that_is_gone_is_made_again_from_its_branch() {
    let sample = Sample::new();
    let worktree = sample.work("gone", "code/b", "b\n").await;
    let (path, branch) = (worktree.path().to_owned(), worktree.branch().to_owned());
    let base_commit = worktree.base_commit().to_owned();
    sample.git([Path::new("worktree"), Path::new("remove"), &path]);
    let repository = sample.open().await;
    let again = repository
        .reattach(&path, &branch, Some("main"), &base_commit)
        .await;
    let again = again.unwrap();
    assert_eq!(again.status().await.unwrap().commits_ahead, 1);
    let finished = again.finish(&into_main(Finish::Merge)).await.unwrap();
    assert!(matches!(finished, Finished::Merged { .. }), "{finished:?}");
    let nowhere = sample.path("none");
    let missing = repository.reattach(&nowhere, "mission/none", None, &base_commit);
    assert!(missing.await.is_err());
}
