//! Worktrees of real repositories: made, found again, finished and removed.

use std::path::Path;

use crate::sample::{Sample, commit_all, git, into_main, write};
use missiond_workspace::{
    Finish, FinishPreview, Finished, Removal, Repository, WorkspaceError, Worktree, worktrees,
};

#[tokio::test]
async fn work_goes_from_the_base_to_the_target_and_the_worktree_goes_away() {
    let sample = Sample::new();
    let worktree = sample.worktree("1-1").await;
    assert_eq!(worktree.base(), Some("main"));
    assert_eq!(worktree.base_commit(), sample.tip("main"));
    write(worktree.path(), "code/b", "b\n");
    write(worktree.path(), "readme", "one\n");
    let status = worktree.status().await.unwrap();
    assert_eq!(status.changed, [Path::new("readme")]);
    assert_eq!(status.untracked, [Path::new("code/b")]);
    assert_eq!(status.commits_ahead, 0);

    let committed = worktree.commit_all("Add b\n\nBecause.").await.unwrap();
    let status = worktree.status().await.unwrap();
    assert_eq!(Some(&status.head), committed.commit.as_ref());
    assert_eq!((status.commits_ahead, status.merged_into_base), (1, false));
    assert!(status.is_clean());
    assert_eq!(worktree.commit_all("again").await.unwrap().commit, None);

    let finished = worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    let tip = sample.tip("main");
    assert_eq!(finished, Finished::Merged { commit: tip });
    // The person's checkout was clean and on the target: it went along.
    assert_eq!(sample.read("code/b"), "b\n");
    assert_eq!(sample.git(["status", "--porcelain"]), "");
    assert_eq!(
        sample.git(["log", "-1", "--format=%s|%an|%P"]),
        format!(
            "Merge branch 'mission/1-1'|Sample Person|{} {}",
            worktree.base_commit(),
            status.head
        )
    );
    assert_eq!(worktree.removal().await.unwrap(), Removal::Safe);
    let path = worktree.path().to_owned();
    worktree.remove().await.unwrap();
    assert!(!path.exists());
    assert_eq!(sample.git(["branch", "--list", "mission/*"]), "");
    assert_eq!(sample.git(["worktree", "list"]).lines().count(), 1);
}

#[tokio::test]
async fn the_same_plan_finds_the_same_worktree_with_the_work_in_it() {
    let sample = Sample::new();
    let worktree = sample.worktree("1-1").await;
    write(worktree.path(), "draft", "half a thought");
    sample.commit("readme", "moved on\n");
    let again = sample.worktree("1-1").await;
    assert_eq!(again.path(), worktree.path());
    assert_eq!(again.base_commit(), worktree.base_commit());
    assert_eq!(
        again.status().await.unwrap().untracked,
        [Path::new("draft")]
    );
    let opened = Worktree::open(worktree.path()).await.unwrap();
    assert_eq!(opened.branch(), "mission/1-1");
    let listed = worktrees(&sample.open().await).await.unwrap();
    let ours: Vec<_> = listed.iter().map(|l| (l.path.clone(), l.ours)).collect();
    assert_eq!(
        ours,
        [
            (sample.repository.clone(), false),
            (sample.path("1-1"), true)
        ]
    );
}

#[tokio::test]
async fn a_deleted_folder_is_checked_out_again_with_commits_and_staged_changes() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    write(worktree.path(), "staged", "s\n");
    git(worktree.path(), ["add", "staged"]);
    std::fs::remove_dir_all(worktree.path()).unwrap();
    let again = sample.worktree("1-1").await;
    let status = again.status().await.unwrap();
    assert_eq!(
        (status.commits_ahead, status.changed),
        (1, vec!["staged".into()])
    );
    assert_eq!(
        std::fs::read_to_string(again.path().join("staged")).unwrap(),
        "s\n"
    );
}

#[tokio::test]
async fn what_others_use_is_refused_and_left_alone() {
    let sample = Sample::new();
    let repository = sample.open().await;
    let refusal = async |name: &str| {
        let refused = repository.prepare(&sample.plan(name)).await;
        refused.unwrap_err().to_string()
    };
    write(&sample.path(""), "file", "mine");
    let said = refusal("file").await;
    assert!(said.contains("already taken by a file"), "{said}");
    write(&sample.path("folder"), "note", "mine");
    let said = refusal("folder").await;
    assert!(said.contains("a folder with something in it"), "{said}");
    let foreign = sample.path("foreign");
    sample.git([
        "worktree",
        "add",
        "--quiet",
        "-b",
        "own",
        foreign.to_str().unwrap(),
    ]);
    let said = refusal("foreign").await;
    assert!(
        said.contains("a worktree that missiond did not make"),
        "{said}"
    );
    let other = Sample::new();
    other.git([
        "worktree",
        "add",
        "--quiet",
        "-b",
        "own",
        sample.path("other").to_str().unwrap(),
    ]);
    let said = refusal("other").await;
    assert!(
        said.contains("another repository or a worktree of one"),
        "{said}"
    );
    sample.git(["branch", "mission/taken"]);
    let said = refusal("taken").await;
    assert!(said.contains("already a branch `mission/taken`"), "{said}");
    let mut plan = sample.plan("1-1");
    repository.prepare(&plan).await.unwrap();
    plan.branch = "mission/else".to_owned();
    let said = repository.prepare(&plan).await.unwrap_err().to_string();
    assert!(said.contains("the worktree of other work"), "{said}");
    plan.path = sample.repository.join("inside");
    let said = repository.prepare(&plan).await.unwrap_err().to_string();
    assert!(said.contains("lies inside the repository"), "{said}");
    let left = std::fs::read_to_string(sample.path("folder").join("note")).unwrap();
    assert_eq!(left, "mine");
    for path in [&foreign, &sample.repository, &sample.path("folder")] {
        let refused = Worktree::open(path).await.unwrap_err();
        assert!(matches!(refused, WorkspaceError::NotOurs(_)), "{refused}");
    }
}

#[tokio::test]
async fn a_branch_with_a_bad_name_is_refused() {
    let sample = Sample::new();
    let repository = sample.open().await;
    for branch in ["", "-b", "a..b", "a b", "@{-1}", "x.lock"] {
        let mut plan = sample.plan("1-1");
        plan.branch = branch.to_owned();
        let refused = repository.prepare(&plan).await.unwrap_err();
        assert!(
            matches!(refused, WorkspaceError::BranchName(_)),
            "{branch}: {refused}"
        );
    }
}

#[tokio::test]
async fn a_base_that_is_none_is_refused_with_what_to_do() {
    let sample = Sample::empty();
    let repository = sample.open().await;
    let refused = repository.prepare(&sample.plan("1-1")).await.unwrap_err();
    assert!(
        refused.to_string().contains("has no commits yet"),
        "{refused}"
    );
    let mut plan = sample.plan("1-1");
    plan.base = Some("main".to_owned());
    let refused = repository.prepare(&plan).await.unwrap_err();
    assert!(
        refused.to_string().contains("has no commits yet"),
        "{refused}"
    );

    let sample = Sample::new();
    let repository = sample.open().await;
    plan = sample.plan("1-1");
    plan.base = Some("--all".to_owned());
    let refused = repository.prepare(&plan).await.unwrap_err();
    assert!(
        refused.to_string().contains("no commit called `--all`"),
        "{refused}"
    );
    sample.git(["checkout", "--quiet", "--detach"]);
    plan.base = None;
    let refused = repository.prepare(&plan).await.unwrap_err();
    assert!(refused.to_string().contains("detached head"), "{refused}");
    plan.base = Some("HEAD".to_owned());
    let worktree = repository.prepare(&plan).await.unwrap();
    assert_eq!(worktree.base(), None);

    let nothing = tempfile::tempdir().unwrap();
    let refused = Repository::open(nothing.path()).await.unwrap_err();
    assert!(
        refused.to_string().contains("is in no git repository"),
        "{refused}"
    );
    let refused = Repository::open(&nothing.path().join("x"))
        .await
        .unwrap_err();
    assert!(refused.to_string().ends_with("does not exist"), "{refused}");
}

#[tokio::test]
async fn uncommitted_work_of_the_person_stays_where_it_is() {
    let sample = Sample::new();
    sample.write("readme", "in the middle of something\n");
    let repository = sample.open().await;
    assert_eq!(
        repository.uncommitted().await.unwrap(),
        [Path::new("readme")]
    );
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    let base = sample.tip("main");
    let refused = worktree
        .finish(&into_main(Finish::Merge))
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, WorkspaceError::TargetDirty { .. }),
        "{refused}"
    );
    assert_eq!(sample.tip("main"), base);
    assert_eq!(sample.read("readme"), "in the middle of something\n");

    sample.git(["checkout", "--quiet", "-b", "else"]);
    let finished = worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    assert!(matches!(finished, Finished::Merged { .. }));
    assert_eq!(sample.at("main", "code/b"), "b");
    assert_eq!(sample.read("readme"), "in the middle of something\n");
    assert!(!sample.repository.join("code/b").exists());
}

#[tokio::test]
async fn a_worktree_with_work_is_not_removed() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "code/b", "b\n").await;
    write(worktree.path(), "new", "n\n");
    let holds = worktree.removal().await.unwrap();
    let expected = Removal::Holds {
        changed: vec!["new".into()],
        unmerged: 1,
        submodules: vec![],
    };
    assert_eq!(holds, expected);
    let path = worktree.path().to_owned();
    let refused = worktree.remove().await.unwrap_err().to_string();
    let reason = "holds uncommitted changes (new) and a commit that is nowhere else";
    assert!(refused.ends_with(reason), "{refused}");
    assert!(path.join("new").exists());
    let worktree = Worktree::open(&path).await.unwrap();
    let refused = worktree
        .finish(&into_main(Finish::Merge))
        .await
        .unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::Uncommitted { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn a_conflict_names_the_files_and_harms_neither_side() {
    let sample = Sample::new();
    let worktree = sample.work("1-1", "readme", "one\nours\nthree\n").await;
    let theirs = sample.commit("readme", "one\ntheirs\nthree\n");
    let before = worktree.status().await.unwrap();
    let plan = into_main(Finish::Merge);
    let conflict = worktree.finish(&plan).await.unwrap();
    let files = vec!["readme".into()];
    assert_eq!(conflict, Finished::Conflict { files });
    assert_eq!(sample.tip("main"), theirs);
    assert_eq!(sample.git(["status", "--porcelain"]), "");
    assert_eq!(worktree.status().await.unwrap(), before);
    // The agent settles it in the worktree, as it would anywhere.
    write(worktree.path(), "readme", "one\ntheirs\nthree\n");
    git(worktree.path(), ["commit", "--quiet", "-am", "give way"]);
    git(worktree.path(), ["merge", "--quiet", "--no-edit", "main"]);
    let finished = worktree.finish(&plan).await.unwrap();
    assert!(matches!(finished, Finished::Merged { .. }));
}

#[tokio::test]
async fn nothing_committed_is_nothing_to_merge_and_a_second_finish_says_the_same() {
    let sample = Sample::new();
    let plan = into_main(Finish::Merge);
    let idle = sample.worktree("1-1").await;
    assert_eq!(idle.finish(&plan).await.unwrap(), Finished::NothingToMerge);
    let worktree = sample.work("2-1", "code/b", "b\n").await;
    let first = worktree.finish(&plan).await.unwrap();
    let tip = sample.tip("main");
    assert_eq!(worktree.finish(&plan).await.unwrap(), first);
    assert_eq!(sample.tip("main"), tip);
    write(worktree.path(), "code/c", "c\n");
    let head = commit_all(worktree.path());
    assert!(matches!(
        worktree.finish(&plan).await.unwrap(),
        Finished::Merged { .. }
    ));
    assert_eq!(sample.git(["rev-parse", "main^2"]), head);
}

/// A list looks into every worktree, so each process counts.
#[tokio::test]
async fn looking_into_a_worktree_takes_few_processes_of_git() {
    let sample = Sample::new();
    let path = sample.work("few", "code/b", "b\n").await.path().to_owned();
    sample.commit("readme", "meanwhile\n");
    let calls = sample.place.path().join("calls");
    let counted = format!("echo \"$*\" >> '{}'", calls.display());
    let git = sample.git_that_first_does(&counted).await;
    std::fs::remove_file(&calls).unwrap();
    let worktree = Worktree::open_with(git, &path).await.unwrap();
    assert!(!calls.exists(), "opening one asks git nothing");
    let status = worktree.status().await.unwrap();
    let removal = worktree.removal_of(&status).await.unwrap();
    assert_eq!(removal.to_string(), "a commit that is nowhere else");
    let landed = worktree.landed(&status).unwrap();
    assert_eq!(landed, missiond_workspace::Landed::Nowhere);
    let size = worktree.size_of(&status).await.unwrap();
    assert_eq!((size.files, size.additions), (1, 1));
    let calls = std::fs::read_to_string(calls).unwrap();
    // Before each that could run a program which the repository names, its settings are listed.
    let (listed, asked): (Vec<_>, Vec<_>) = calls
        .lines()
        .partition(|call| call.ends_with("config --list --show-scope --includes -z"));
    assert_eq!((asked.len(), listed.len()), (6, 4), "{calls}");
}

#[tokio::test]
async fn what_a_finish_would_bring_is_told_from_a_branch_whose_worktree_is_gone() {
    let sample = Sample::new();
    let worktree = sample.work("gone", "readme", "mine\n").await;
    let (path, branch) = (worktree.path().to_owned(), worktree.branch().to_owned());
    let base_commit = worktree.base_commit().to_owned();
    sample.git([Path::new("worktree"), Path::new("remove"), &path]);
    let repository = sample.open().await;
    let preview = async |how| {
        let plan = into_main(how);
        repository
            .preview_finish(&branch, &base_commit, &plan)
            .await
    };
    for how in [Finish::Merge, Finish::Rebase, Finish::Squash, Finish::Patch] {
        let brings = FinishPreview::Brings { commits: 1 };
        assert_eq!(preview(how).await.unwrap(), brings, "{how:?}");
    }
    sample.commit("readme", "theirs\n");
    for how in [Finish::Merge, Finish::Rebase, Finish::Squash] {
        let found = preview(how).await.unwrap();
        assert!(matches!(found, FinishPreview::Conflict { .. }), "{found:?}");
    }
    assert!(!path.exists());
    assert_eq!(sample.git(["worktree", "list"]).lines().count(), 1);
}
