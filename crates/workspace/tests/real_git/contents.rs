//! What a worktree is filled with: names of every kind, included files, sparse
//! paths, submodules; and repositories without a checkout.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use missiond_workspace::{Finish, Finished, Removal, Repository, WorkspaceError, WorktreePlan};

use crate::sample::{Sample, commit_all, git, into_main, write};

#[tokio::test]
async fn names_of_every_kind_go_all_the_way() {
    let names: Vec<PathBuf> = [
        &b"with space"[..],
        b" leading",
        b"quo\"te's",
        b"new\nline",
        b"tab\tbed",
        b"-dash",
        b"back\\slash",
        b"not-\xff-utf8",
        "日本語".as_bytes(),
        b":(glob)*",
    ]
    .map(|name| PathBuf::from(OsStr::from_bytes(name)))
    .to_vec();
    let sample = Sample::new();
    let worktree = sample.worktree("1-1").await;
    for name in &names {
        write(worktree.path(), Path::new("odd").join(name), "one\n");
    }
    let mut expected: Vec<_> = names
        .iter()
        .map(|name| Path::new("odd").join(name))
        .collect();
    expected.sort();
    let mut found = worktree.status().await.unwrap().untracked;
    found.sort();
    assert_eq!(found, expected);
    worktree.commit_all("Odd names").await.unwrap();
    worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    for path in &expected {
        assert_eq!(
            std::fs::read(sample.repository.join(path)).unwrap(),
            b"one\n"
        );
    }

    let worktree = sample.worktree("2-1").await;
    for path in &expected {
        write(worktree.path(), path, "ours\n");
        sample.write(path, "theirs\n");
    }
    let mut changed = worktree.status().await.unwrap().changed;
    changed.sort();
    assert_eq!(changed, expected);
    worktree.commit_all("Ours").await.unwrap();
    commit_all(&sample.repository);
    let finished = worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    let Finished::Conflict { mut files } = finished else {
        panic!("{finished:?}");
    };
    files.sort();
    assert_eq!(files, expected);
}

#[tokio::test]
async fn ignored_files_that_are_named_are_copied_and_links_are_not_followed() {
    let sample = Sample::new();
    sample.write(".gitignore", ".env*\nsecret/\nlinked\nlink-dir\n");
    sample.write(
        ".worktreeinclude",
        "# what a build needs\n.env*\n!.env.skip\nsecret/\nlinked\nreadme\nplain\n",
    );
    commit_all(&sample.repository);
    sample.write(".env", "KEY=1\n");
    sample.write("code/.env.local", "KEY=2\n");
    sample.write(".env.skip", "KEY=3\n");
    sample.write("secret/deep/key", "k\n");
    sample.write("plain", "not ignored\n");
    let mode = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(sample.repository.join(".env"), mode).unwrap();
    let outside = sample.path("outside");
    write(&outside, "passwords", "p\n");
    symlink(outside.join("passwords"), sample.repository.join("linked")).unwrap();
    symlink(&outside, sample.repository.join("secret/away")).unwrap();

    let worktree = sample.worktree("1-1").await;
    let read = |path: &str| std::fs::read_to_string(worktree.path().join(path)).ok();
    assert_eq!(read(".env").as_deref(), Some("KEY=1\n"));
    assert_eq!(read("code/.env.local").as_deref(), Some("KEY=2\n"));
    assert_eq!(read("secret/deep/key").as_deref(), Some("k\n"));
    for left_out in [".env.skip", "plain", "linked", "secret/away"] {
        assert!(
            worktree.path().join(left_out).symlink_metadata().is_err(),
            "{left_out}"
        );
    }
    let mode = worktree
        .path()
        .join(".env")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o640);
    // They are no work of the agent's and do not keep the worktree.
    assert!(worktree.status().await.unwrap().is_clean());
    let mut plan = sample.plan("2-1");
    plan.include = false;
    let bare = sample.open().await.prepare(&plan).await.unwrap();
    assert!(!bare.path().join(".env").exists());
    worktree.remove().await.unwrap();
}

#[tokio::test]
async fn a_link_in_the_base_does_not_lead_included_files_out() {
    let sample = Sample::new();
    let outside = sample.path("outside");
    std::fs::create_dir_all(&outside).unwrap();
    symlink(&outside, sample.repository.join("conf")).unwrap();
    sample.write(".gitignore", "conf/.env\n");
    commit_all(&sample.repository);
    // The person has a folder now, where the base has a link.
    std::fs::remove_file(sample.repository.join("conf")).unwrap();
    sample.write("conf/.env", "KEY=1\n");
    sample.write(".worktreeinclude", ".env\n");
    sample.worktree("1-1").await;
    assert!(!outside.join(".env").exists());
}

#[tokio::test]
async fn sparse_paths_are_all_that_is_checked_out_and_work_there_merges() {
    let sample = Sample::new();
    sample.write("lib/one/x", "x\n");
    sample.write("lib/two/y", "y\n");
    sample.write("say \"hi\"/z", "z\n");
    commit_all(&sample.repository);
    let mut plan = sample.plan("1-1");
    plan.sparse = vec!["lib/one".to_owned(), "say \"hi\"".to_owned()];
    let repository = sample.open().await;
    let worktree = repository.prepare(&plan).await.unwrap();
    let there = |path: &str| worktree.path().join(path).exists();
    assert!(there("lib/one/x") && there("say \"hi\"/z") && there("readme"));
    assert!(!there("lib/two") && !there("code"));
    assert!(worktree.status().await.unwrap().is_clean());
    write(worktree.path(), "lib/one/x", "xx\n");
    worktree.commit_all("More x").await.unwrap();
    worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    assert_eq!(sample.read("lib/one/x"), "xx\n");
    assert_eq!(sample.read("lib/two/y"), "y\n");
    worktree.remove().await.unwrap();
    for bad in ["", "/etc", "../x", "a\nb"] {
        plan.sparse = vec![bad.to_owned()];
        let refused = repository.prepare(&plan).await.unwrap_err();
        assert!(
            matches!(refused, WorkspaceError::SparsePath(_)),
            "{bad}: {refused}"
        );
    }
}

#[tokio::test]
async fn a_sparse_checkout_makes_sparse_worktrees() {
    let sample = Sample::new();
    sample.write("lib/one/x", "x\n");
    sample.write("lib/two/y", "y\n");
    commit_all(&sample.repository);
    sample.git(["sparse-checkout", "set", "lib/one"]);
    let worktree = sample.worktree("1-1").await;
    assert!(worktree.path().join("lib/one/x").exists());
    assert!(!worktree.path().join("lib/two").exists());
    assert!(worktree.status().await.unwrap().is_clean());
}

#[tokio::test]
async fn a_bare_repository_needs_no_checkout() {
    let sample = Sample::new();
    let bare = sample.path("bare.git");
    sample.git(["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    let repository = Repository::open(&bare).await.unwrap();
    assert_eq!(repository.checkout(), None);
    let worktree = repository.prepare(&sample.plan("1-1")).await.unwrap();
    write(worktree.path(), "code/b", "b\n");
    worktree.commit_all("Add b").await.unwrap();
    let finished = worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    let tip = git(&bare, ["rev-parse", "main"]);
    assert_eq!(finished, Finished::Merged { commit: tip });
    worktree.remove().await.unwrap();
    assert_eq!(git(&bare, ["branch", "--list", "mission/*"]), "");
}

#[tokio::test]
async fn a_repository_is_found_from_any_folder_of_it_and_through_links() {
    let sample = Sample::new();
    let link = sample.path("link");
    std::fs::create_dir_all(sample.path("")).unwrap();
    symlink(&sample.repository, &link).unwrap();
    let repository = Repository::open(&link.join("code")).await.unwrap();
    assert_eq!(repository.path(), sample.repository);
    // A worktree knows its repository too, and starts from its own branch.
    let worktree = repository.prepare(&sample.plan("1-1")).await.unwrap();
    let inside = Repository::open(worktree.path()).await.unwrap();
    assert_eq!(inside.common_dir(), repository.common_dir());
    let second = WorktreePlan::new(sample.path("2-1"), "mission/2-1".to_owned());
    let second = inside.prepare(&second).await.unwrap();
    assert_eq!(second.base(), Some("mission/1-1"));
}

#[tokio::test]
async fn submodules_stay_empty_until_somebody_fills_them_and_then_keep_the_worktree() {
    let sample = Sample::new();
    let part = Sample::new();
    let url = part.repository.to_str().unwrap();
    let allow = "protocol.file.allow=always";
    sample.git(["-c", allow, "submodule", "--quiet", "add", url, "part"]);
    commit_all(&sample.repository);
    let worktree = sample.worktree("1-1").await;
    assert!(
        worktree
            .path()
            .join("part")
            .read_dir()
            .unwrap()
            .next()
            .is_none()
    );
    assert!(worktree.status().await.unwrap().is_clean());
    let empty = sample.worktree("2-1").await;
    empty.remove().await.unwrap();
    git(
        worktree.path(),
        ["-c", allow, "submodule", "--quiet", "update", "--init"],
    );
    assert!(worktree.status().await.unwrap().is_clean());
    assert_eq!(worktree.removal().await.unwrap(), Removal::Safe);
    let part = worktree.path().join("part");
    write(&part, "readme", "changed\n");
    assert_eq!(
        worktree.status().await.unwrap().changed,
        [Path::new("part")]
    );
    let refused = worktree
        .finish(&into_main(Finish::Merge))
        .await
        .unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::Uncommitted { .. }),
        "{refused}"
    );
    // Merged here, but the commit it points to exists in this worktree only.
    git(&part, ["config", "user.name", "Sample Person"]);
    git(&part, ["config", "user.email", "sample@example.com"]);
    commit_all(&part);
    worktree.commit_all("Move part").await.unwrap();
    worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    let holds = worktree.removal().await.unwrap();
    let expected = Removal::Holds {
        changed: vec![],
        unmerged: 0,
        submodules: vec!["part".into()],
    };
    assert_eq!(holds, expected);
    git(
        &part,
        ["push", "--quiet", "origin", "HEAD:refs/heads/pushed"],
    );
    let path = worktree.path().to_owned();
    worktree.remove().await.unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn a_repository_inside_is_neither_swallowed_nor_lost() {
    let sample = Sample::new();
    let worktree = sample.worktree("1-1").await;
    let inner = worktree.path().join("inner [x]");
    sample.git(["clone", "--quiet", ".", inner.to_str().unwrap()]);
    git(&inner, ["config", "user.name", "Sample Person"]);
    git(&inner, ["config", "user.email", "sample@example.com"]);
    write(&inner, "made", "here\n");
    commit_all(&inner);
    write(worktree.path(), "code/b", "b\n");
    let committed = worktree.commit_all("Add b").await.unwrap();
    assert!(committed.commit.is_some());
    let status = worktree.status().await.unwrap();
    assert_eq!(status.untracked, [Path::new("inner [x]/")]);
    let refused = worktree
        .finish(&into_main(Finish::Merge))
        .await
        .unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::Uncommitted { .. }),
        "{refused}"
    );
    // Recorded by the agent itself: what it points to is still only here.
    commit_all(worktree.path());
    worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    let expected = Removal::Holds {
        changed: vec![],
        unmerged: 0,
        submodules: vec!["inner [x]".into()],
    };
    assert_eq!(worktree.removal().await.unwrap(), expected);
    let path = worktree.path().to_owned();
    assert!(worktree.remove().await.is_err());
    assert!(path.join("inner [x]/made").exists());
}

#[tokio::test]
async fn somebody_whom_git_does_not_know_still_gets_their_work() {
    let sample = Sample::new();
    sample.git(["config", "user.useConfigOnly", "true"]);
    sample.git(["config", "--unset", "user.name"]);
    sample.git(["config", "--unset", "user.email"]);
    let git = sample
        .wrapped_git("GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1")
        .await;
    let repository = Repository::open_with(git, &sample.repository).await;
    let worktree = repository
        .unwrap()
        .prepare(&sample.plan("1-1"))
        .await
        .unwrap();
    write(worktree.path(), "code/b", "b\n");
    worktree.commit_all("Add b").await.unwrap();
    worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    let who = sample.git(["log", "--no-walk", "--format=%an <%ae>", "main", "main^2"]);
    assert_eq!(
        who,
        "missiond <missiond@localhost>\nmissiond <missiond@localhost>"
    );
}
