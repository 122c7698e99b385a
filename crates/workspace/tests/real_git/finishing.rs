//! The ways work comes back, and what may be in their way.

use std::path::{Path, PathBuf};

use missiond_workspace::{
    Finish, FinishPlan, FinishPreview, Finished, Removal, WorkspaceError, Worktree,
};

use crate::sample::{Sample, commit_all, git, into_main, write};

#[tokio::test]
async fn a_rebase_puts_each_commit_on_the_target_with_its_author_and_message() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    write(worktree.path(), "code/c", "c\n");
    git(worktree.path(), ["add", "--all"]);
    let author = "Another Person <another@example.com>";
    let message = "Two lines\n\nand = signs \"quoted\"";
    git(
        worktree.path(),
        ["commit", "--quiet", "--author", author, "-m", message],
    );
    let theirs = sample.commit("readme", "zero\n");
    let plan = into_main(Finish::Rebase);
    let foreseen = worktree.preview_finish(&plan).await.unwrap();
    assert_eq!(foreseen, FinishPreview::Brings { commits: 2 });
    assert_eq!(sample.tip("main"), theirs);
    let finished = worktree.finish(&plan).await.unwrap();
    let tip = sample.tip("main");
    assert_eq!(finished, Finished::Merged { commit: tip });
    assert_eq!(sample.git(["rev-parse", "main~2"]), theirs);
    let expected = format!("{author}|{message}");
    assert_eq!(sample.git(["log", "-1", "--format=%an <%ae>|%B"]), expected);
    assert_eq!(sample.read("code/c"), "c\n");
    assert_eq!(sample.git(["status", "--porcelain"]), "");
    assert_eq!(
        worktree.preview_finish(&plan).await.unwrap(),
        FinishPreview::Already
    );
    assert_eq!(worktree.removal().await.unwrap(), Removal::Safe);
    worktree.remove().await.unwrap();
    assert_eq!(sample.git(["branch", "--list", "mission/*"]), "");
}

#[tokio::test]
async fn a_rebase_that_conflicts_leaves_everything_as_it_was() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    write(worktree.path(), "readme", "one\nours\nthree\n");
    commit_all(worktree.path());
    let theirs = sample.commit("readme", "one\ntheirs\nthree\n");
    let before = worktree.status().await.unwrap();
    let plan = into_main(Finish::Rebase);
    let files: Vec<PathBuf> = vec!["readme".into()];
    let foreseen = worktree.preview_finish(&plan).await.unwrap();
    assert_eq!(
        foreseen,
        FinishPreview::Conflict {
            files: files.clone()
        }
    );
    let finished = worktree.finish(&plan).await.unwrap();
    assert_eq!(finished, Finished::Conflict { files });
    assert_eq!(sample.tip("main"), theirs);
    assert_eq!(worktree.status().await.unwrap(), before);
    // Settled by a merge: there is nothing left to move.
    git(worktree.path(), ["merge", "--quiet", "-X", "ours", "main"]);
    let head = git(worktree.path(), ["rev-parse", "HEAD"]);
    let finished = worktree.finish(&plan).await.unwrap();
    assert_eq!(finished, Finished::Merged { commit: head });
}

#[tokio::test]
async fn a_rebase_leaves_out_what_the_target_has_and_keeps_root_commits() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    write(worktree.path(), "code/c", "c\n");
    commit_all(worktree.path());
    sample.commit("code/b", "b\n");
    let finished = worktree.finish(&into_main(Finish::Rebase)).await.unwrap();
    assert!(matches!(finished, Finished::Merged { .. }), "{finished:?}");
    assert_eq!(sample.git(["rev-list", "--count", "main"]), "3");

    let worktree = sample.worktree("2-1").await;
    git(
        worktree.path(),
        ["checkout", "--quiet", "--orphan", "fresh"],
    );
    git(worktree.path(), ["rm", "--quiet", "-rf", "."]);
    write(worktree.path(), "new", "n\n");
    commit_all(worktree.path());
    git(worktree.path(), ["branch", "--quiet", "-M", "mission/2-1"]);
    let finished = worktree.finish(&into_main(Finish::Rebase)).await.unwrap();
    assert!(matches!(finished, Finished::Merged { .. }), "{finished:?}");
    assert_eq!(sample.read("new"), "n\n");
    assert_eq!(sample.read("code/a"), "a\n");
}

#[tokio::test]
async fn a_branch_is_left_for_the_person_when_the_worktree_goes() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    let base = sample.tip("main");
    let head = worktree.status().await.unwrap().head;
    let finished = worktree.finish(&into_main(Finish::Branch)).await.unwrap();
    let name = "mission/1-1".to_owned();
    assert_eq!(finished, Finished::Branch { name });
    assert_eq!(sample.tip("main"), base);
    // What comes after is not handed over.
    write(worktree.path(), "code/c", "c\n");
    commit_all(worktree.path());
    let holds = worktree.removal().await.unwrap();
    assert!(
        matches!(holds, Removal::Holds { unmerged: 1, .. }),
        "{holds:?}"
    );
    git(worktree.path(), ["reset", "--quiet", "--hard", &head]);
    worktree.remove().await.unwrap();
    assert_eq!(sample.tip("mission/1-1"), head);
}

#[tokio::test]
async fn a_patch_can_be_applied_elsewhere() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "name with \"quotes\"", "b\n").await;
    std::fs::write(worktree.path().join("data"), [0, 159, 146, 150, 10]).unwrap();
    commit_all(worktree.path());
    let base = sample.tip("main");
    let finished = worktree.finish(&into_main(Finish::Patch)).await.unwrap();
    let Finished::Patch { path } = finished else {
        panic!("{finished:?}");
    };
    assert_eq!(path, sample.path("1-1.patch"));
    assert_eq!(sample.tip("main"), base);
    sample.git(["checkout", "--quiet", "-b", "taken", "main"]);
    sample.git([Path::new("am"), Path::new("--quiet"), &path]);
    assert_eq!(
        sample.git(["rev-parse", "taken^{tree}"]),
        sample.git(["rev-parse", "mission/1-1^{tree}"])
    );
    // With a merge among the commits it is one difference.
    sample.git(["checkout", "--quiet", "main"]);
    sample.commit("readme", "zero\n");
    git(worktree.path(), ["merge", "--quiet", "--no-edit", "main"]);
    worktree.finish(&into_main(Finish::Patch)).await.unwrap();
    sample.git([Path::new("apply"), Path::new("--index"), &path]);
    sample.git(["commit", "--quiet", "-m", "applied"]);
    assert_eq!(
        sample.git(["rev-parse", "main^{tree}"]),
        sample.git(["rev-parse", "mission/1-1^{tree}"])
    );
    worktree.remove().await.unwrap();
    assert!(path.exists());
    assert!(!sample.git(["branch", "--list", "mission/1-1"]).is_empty());
}

#[tokio::test]
async fn a_target_that_is_checked_out_elsewhere_follows_or_is_refused() {
    let sample = Sample::new();
    sample.git(["checkout", "--quiet", "-b", "else"]);
    let elsewhere = sample.path("elsewhere");
    sample.git([
        "worktree",
        "add",
        "--quiet",
        elsewhere.to_str().unwrap(),
        "main",
    ]);
    let plan = into_main(Finish::Merge);
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    write(&elsewhere, "code/a", "changed\n");
    let refused = worktree.finish(&plan).await.unwrap_err();
    let WorkspaceError::TargetDirty { path, files, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!((path, &files[..]), (&elsewhere, &["code/a".into()][..]));
    git(&elsewhere, ["checkout", "--quiet", "--", "."]);
    // A new file of the person that is in the way stays, and the target too.
    write(&elsewhere, "code/b", "mine\n");
    let refused = worktree.finish(&plan).await.unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::TargetStuck { .. }),
        "{refused}"
    );
    assert_eq!(
        std::fs::read_to_string(elsewhere.join("code/b")).unwrap(),
        "mine\n"
    );
    assert_eq!(sample.tip("main"), worktree.base_commit());
    std::fs::rename(elsewhere.join("code/b"), elsewhere.join("code/mine")).unwrap();
    worktree.finish(&plan).await.unwrap();
    assert_eq!(
        std::fs::read_to_string(elsewhere.join("code/b")).unwrap(),
        "b\n"
    );
    assert_eq!(git(&elsewhere, ["status", "--porcelain"]), "?? code/mine");
}

#[tokio::test]
async fn a_target_in_the_middle_of_something_is_refused() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    sample.commit("readme", "one\nmine\n");
    sample.git(["checkout", "--quiet", "-b", "else", "main~1"]);
    sample.commit("readme", "one\nother\n");
    sample.git(["checkout", "--quiet", "main"]);
    let conflicting = std::process::Command::new("git")
        .args(["rebase", "--quiet", "else"])
        .current_dir(&sample.repository)
        .output()
        .unwrap();
    assert!(!conflicting.status.success());
    let refused = worktree
        .finish(&into_main(Finish::Merge))
        .await
        .unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::TargetBusy { .. }),
        "{refused}"
    );
    sample.git(["rebase", "--abort"]);
    let missing = FinishPlan {
        into: "nowhere".to_owned(),
        ..into_main(Finish::Merge)
    };
    let refused = worktree.finish(&missing).await.unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::NoSuchTarget(_)),
        "{refused}"
    );
}

#[tokio::test]
async fn a_worktree_that_left_its_branch_or_is_mid_way_is_not_finished() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "readme", "one\nours\n").await;
    sample.commit("readme", "one\ntheirs\n");
    git(worktree.path(), ["checkout", "--quiet", "--detach"]);
    let refused = worktree
        .finish(&into_main(Finish::Merge))
        .await
        .unwrap_err();
    let said = refused.to_string();
    let advice = "should be on branch `mission/1-1` and is on none: check out `mission/1-1` there";
    assert!(said.ends_with(advice), "{said}");
    git(worktree.path(), ["checkout", "--quiet", "mission/1-1"]);
    let merge = std::process::Command::new("git")
        .args(["merge", "main"])
        .current_dir(worktree.path())
        .output()
        .unwrap();
    assert!(!merge.status.success());
    let refused = worktree
        .finish(&into_main(Finish::Merge))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("in the middle of a merge"),
        "{refused}"
    );
    let refused = Worktree::open(worktree.path())
        .await
        .unwrap()
        .remove()
        .await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn many_finishes_at_once_lose_nothing() {
    let sample = Sample::new();
    let mut finishing = Vec::new();
    for n in 0..6 {
        let worktree = sample
            .work(&n.to_string(), &format!("file-{n}"), "x\n")
            .await;
        let how = [Finish::Merge, Finish::Rebase][n % 2];
        finishing.push(tokio::spawn(async move {
            worktree.finish(&into_main(how)).await.unwrap()
        }));
    }
    for finish in finishing {
        assert!(matches!(finish.await.unwrap(), Finished::Merged { .. }));
    }
    let files = sample.git(["ls-tree", "--name-only", "main"]);
    let files: Vec<_> = files
        .lines()
        .filter(|file| file.starts_with("file-"))
        .collect();
    assert_eq!(files.len(), 6);
    assert_eq!(sample.git(["status", "--porcelain"]), "");
}

#[tokio::test]
async fn commits_that_others_make_meanwhile_are_kept() {
    let sample = Sample::new();
    sample.git(["checkout", "--quiet", "-b", "else"]);
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let repository = sample.repository.clone();
    // Somebody who commits to the target all the time, without our lock.
    let person = std::thread::spawn(move || {
        let mut made = 0;
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            let tip = git(&repository, ["rev-parse", "main"]);
            let new = git(
                &repository,
                ["commit-tree", "main^{tree}", "-p", &tip, "-m", "theirs"],
            );
            let swapped = std::process::Command::new("git")
                .args(["update-ref", "refs/heads/main", &new, &tip])
                .current_dir(&repository)
                .output()
                .unwrap();
            made += u32::from(swapped.status.success());
        }
        made
    });
    let mut merged = 0;
    for n in 0..5 {
        let worktree = sample
            .work(&n.to_string(), &format!("file-{n}"), "x\n")
            .await;
        match worktree.finish(&into_main(Finish::Merge)).await {
            Ok(finished) => {
                assert!(matches!(finished, Finished::Merged { .. }));
                merged += 1;
            }
            Err(error) => {
                let told = matches!(error, WorkspaceError::TargetKeepsMoving { .. });
                assert!(told, "{error}");
            }
        }
    }
    stop.send(()).unwrap();
    let theirs = person.join().unwrap();
    let kept = sample.git(["rev-list", "--count", "--grep=^theirs$", "main"]);
    assert_eq!(kept, theirs.to_string());
    let merges = sample.git(["rev-list", "--count", "--merges", "main"]);
    assert_eq!(merges, merged.to_string());
}
