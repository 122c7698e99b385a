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
        "web/package.json",
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
    assert_eq!(committed.doubtful, paths(&[]));
    assert_eq!(
        changed(&sample, &worktree),
        "code/b.py\ncode/target/aim.txt\nweb/package.json"
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
    worktree.begin_checks(None).await.unwrap();
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
    assert_eq!(restored.removed, paths(&["staged", "out/deep/report.txt"]));
    let status = worktree.status().await.unwrap();
    assert!(status.is_clean(), "{status:?}");
    assert_eq!(status.head, head);
    assert_eq!(status.branch.as_deref(), Some(worktree.branch()));
    assert!(!worktree.path().join("out").exists());
    assert!(worktree.path().join("ignored/cache").exists());
    let kept = sample.git([
        "for-each-ref",
        "--format=%(contents:subject)",
        "refs/missiond",
    ]);
    assert_eq!(kept, "by the check", "no commit is lost");
    assert!(worktree.end_checks().await.unwrap().is_empty(), "only once");
}

#[tokio::test]
async fn what_cut_off_checks_left_is_put_back_before_anything_is_committed() {
    let sample = Sample::new();
    let worktree = sample.work("cut-off", "code/b", "b\n").await;
    worktree.begin_checks(None).await.unwrap();
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
async fn what_an_agent_commits_after_cut_off_checks_is_never_put_back() {
    let sample = Sample::new();
    let worktree = sample.work("goes-on", "code/b", "b\n").await;
    worktree
        .begin_checks(Some("then".to_owned()))
        .await
        .unwrap();
    write(worktree.path(), "snapshot", "by the check");
    // The daemon died. The next agent works in the same place.
    let worktree = Worktree::open(worktree.path()).await.unwrap();
    let begun = worktree.checks_begun().unwrap().unwrap();
    assert_eq!(begun.moment.as_deref(), Some("then"));
    write(worktree.path(), "code/c", "by the agent\n");
    let head = commit_all(worktree.path());
    write(worktree.path(), "code/b", "by the agent\n");
    write(worktree.path(), "code/d", "by the agent\n");
    let committed = worktree.commit_all("More").await.unwrap();
    assert!(committed.commit.is_some());
    assert_eq!(worktree.checks_begun().unwrap(), None);
    for file in ["code/b", "code/c", "code/d"] {
        assert_eq!(sample.at(worktree.branch(), file), "by the agent", "{file}");
    }
    assert_eq!(git(worktree.path(), ["rev-parse", "HEAD^"]), head);
}

#[tokio::test]
async fn a_finish_takes_what_was_committed_after_cut_off_checks() {
    let sample = Sample::new();
    let worktree = sample.work("finished-on", "code/b", "b\n").await;
    worktree.begin_checks(None).await.unwrap();
    write(worktree.path(), "code/c", "by the agent\n");
    commit_all(worktree.path());
    let finished = worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    assert!(matches!(finished, Finished::Merged { .. }), "{finished:?}");
    assert_eq!(sample.at("main", "code/c"), "by the agent");
}

#[tokio::test]
async fn what_was_different_before_the_checks_stays_as_it_is() {
    let sample = Sample::new();
    let worktree = sample.work("different", "code/b", "b\n").await;
    write(worktree.path(), "readme", "by the agent\n");
    write(worktree.path(), "code/new", "by the agent\n");
    worktree.begin_checks(None).await.unwrap();
    write(worktree.path(), "code/b", "by the check\n");
    write(worktree.path(), "code/dirt", "by the check\n");
    write(worktree.path(), "code/staged", "by the check\n");
    git(worktree.path(), ["add", "--intent-to-add", "code/staged"]);
    git(
        worktree.path(),
        ["commit", "--quiet", "--allow-empty", "-m", "by the check"],
    );
    let restored = worktree.end_checks().await.unwrap();
    assert_eq!(restored.changed, paths(&["code/b"]));
    assert_eq!(restored.removed, paths(&["code/staged", "code/dirt"]));
    let status = worktree.status().await.unwrap();
    assert_eq!(status.changed, paths(&["readme"]));
    assert_eq!(status.untracked, paths(&["code/new"]));
    let readme = std::fs::read_to_string(worktree.path().join("readme"));
    assert_eq!(readme.unwrap(), "by the agent\n");
}

#[tokio::test]
async fn a_merge_that_checks_left_half_done_is_undone() {
    let sample = Sample::new();
    let worktree = sample.work("merging", "readme", "mine\n").await;
    sample.commit("readme", "theirs\n");
    worktree.begin_checks(None).await.unwrap();
    let merge = std::process::Command::new("git")
        .args(["merge", "--quiet", "main"])
        .current_dir(worktree.path())
        .output();
    assert!(!merge.unwrap().status.success(), "it conflicts");
    let restored = worktree.end_checks().await.unwrap();
    assert_eq!(restored.changed, paths(&["readme"]));
    let status = worktree.status().await.unwrap();
    assert!(
        status.is_clean() && status.in_progress.is_none(),
        "{status:?}"
    );
    let readme = std::fs::read_to_string(worktree.path().join("readme"));
    assert_eq!(readme.unwrap(), "mine\n");
}

#[tokio::test]
async fn build_output_that_may_be_work_is_told_apart() {
    let sample = Sample::new();
    let worktree = sample.worktree("fixtures").await;
    let new = [
        "code/b.c",
        "code/__pycache__/b.pyc",
        "fixtures/node_modules/dep/index.js",
        "fixtures/broken.o",
    ];
    for name in new {
        write(worktree.path(), name, "x");
    }
    let committed = worktree.commit_all("Add b").await.unwrap();
    assert_eq!(changed(&sample, &worktree), "code/b.c");
    let mut doubtful = committed.doubtful;
    doubtful.sort();
    assert_eq!(
        doubtful,
        paths(&["fixtures/broken.o", "fixtures/node_modules/dep/index.js"])
    );
}

#[tokio::test]
async fn a_removal_takes_known_output_and_nothing_that_comes_after_the_look() {
    let sample = Sample::new();
    let worktree = sample.work("late", "code/b", "b\n").await;
    write(worktree.path(), "code/b.o", "x");
    worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    // Somebody writes between the last look and the end: here, whoever runs git.
    let late = worktree.path().join("late");
    let path = worktree.path().to_owned();
    let writes = format!(
        "case \"$*\" in *'worktree remove'*) echo work > '{}';; esac",
        late.display()
    );
    let git = sample.git_that_first_does(&writes).await;
    let worktree = Worktree::open_with(git, &path).await.unwrap();
    worktree.remove().await.unwrap_err();
    assert!(late.exists());
    assert!(!path.join("code/b.o").exists());
    std::fs::remove_file(late).unwrap();
    let worktree = Worktree::open(&path).await.unwrap();
    worktree.remove().await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn who_looks_changes_no_excludes_that_another_one_uses() {
    let sample = Sample::new();
    let worktree = sample.worktree("looks").await;
    let git_folder = PathBuf::from(git(worktree.path(), ["rev-parse", "--absolute-git-dir"]));
    let excludes = || {
        let files = std::fs::read_dir(&git_folder).unwrap().flatten();
        let files = files.filter(|f| f.file_name().to_string_lossy().contains("excludes"));
        let read = |f: std::fs::DirEntry| (f.path(), std::fs::read(f.path()).unwrap());
        files
            .map(read)
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    write(worktree.path(), "new", "x");
    worktree.status().await.unwrap();
    let first = excludes();
    assert_eq!(first.len(), 1);
    write(worktree.path(), "sub/Cargo.toml", "x");
    write(worktree.path(), "sub/target/x", "x");
    worktree.status().await.unwrap();
    for (path, content) in first {
        assert_eq!(excludes().get(&path), Some(&content), "it stays as it was");
    }
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
    worktree.begin_checks(None).await.unwrap();
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
