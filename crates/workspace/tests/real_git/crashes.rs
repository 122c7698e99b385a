//! Whatever is killed half-way, the next one finds a clean way on.

use std::path::Path;
use std::process::{Command, Stdio};

use missiond_workspace::{
    Finish, Finished, WorkspaceError, Worktree, end_strays, trust_repositories,
};

use crate::sample::{Sample, commit_all, git, into_main, write};

/// A repository whose file `m` is written by a filter. While `armed` exists, the
/// filter kills the git that runs it, with everything around it.
fn explosive() -> Sample {
    let sample = Sample::new();
    let armed = sample.place.path().join("armed");
    let armed = armed.to_str().unwrap();
    let smudge = format!("if [ -e '{armed}' ]; then rm '{armed}'; kill -9 0; fi; cat");
    sample.git(["config", "filter.mine.smudge", &smudge]);
    sample.git(["config", "filter.mine.clean", "cat"]);
    // Otherwise it would not be run.
    trust_repositories(vec![sample.repository.clone()]);
    sample.write(".gitattributes", "m filter=mine\n");
    sample.write("a", "first\n");
    sample.write("m", "first\n");
    sample.write("z", "first\n");
    commit_all(&sample.repository);
    sample
}

fn arm(sample: &Sample) {
    std::fs::write(sample.place.path().join("armed"), "").unwrap();
}

#[tokio::test]
async fn a_worktree_whose_making_was_cut_off_is_made_anew() {
    let sample = explosive();
    let repository = sample.open().await;
    arm(&sample);
    let cut_off = repository.prepare(&sample.plan("1-1")).await.unwrap_err();
    assert!(
        cut_off.to_string().contains("ended by a signal"),
        "{cut_off}"
    );
    let worktree = repository.prepare(&sample.plan("1-1")).await.unwrap();
    assert_eq!(
        std::fs::read_to_string(worktree.path().join("z")).unwrap(),
        "first\n"
    );
    assert!(worktree.status().await.unwrap().is_clean());
    assert_eq!(sample.git(["worktree", "list"]).lines().count(), 2);
}

/// Like the above, with nobody there to clear up: what a machine that lost its
/// power leaves.
#[tokio::test]
async fn a_half_made_worktree_that_is_found_is_made_anew() {
    let sample = explosive();
    let path = sample.path("1-1");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let note = format!(
        r#"{{"repository":"{}","branch":"mission/1-1","base_commit":"{}"}}"#,
        sample.repository.join(".git").display(),
        sample.tip("main")
    );
    std::fs::write(sample.path("1-1.preparing"), note).unwrap();
    arm(&sample);
    let killed = Command::new("setsid")
        .args(["git", "worktree", "add", "--quiet", "-b", "mission/1-1"])
        .arg(&path)
        .current_dir(&sample.repository)
        .status()
        .unwrap();
    assert!(!killed.success());
    assert!(path.join("a").exists() && !path.join("z").exists());
    let worktree = sample.worktree("1-1").await;
    assert!(worktree.status().await.unwrap().is_clean());
    assert!(worktree.path().join("z").exists());
    assert!(!sample.path("1-1.preparing").exists());
    // A note of another repository protects what it names.
    std::fs::create_dir(sample.path("2-1")).unwrap();
    let note = r#"{"repository":"/elsewhere/.git","branch":"mission/2-1","base_commit":"x"}"#;
    std::fs::write(sample.path("2-1.preparing"), note).unwrap();
    let refused = sample.open().await.prepare(&sample.plan("2-1")).await;
    let refused = refused.unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::PathTaken { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn a_merge_cut_off_while_the_checkout_moved_is_undone_and_made_again() {
    let sample = explosive();
    let worktree = sample.worktree("1-1").await;
    for file in ["a", "m", "z", "added/deep"] {
        write(worktree.path(), file, "second\n");
    }
    std::fs::remove_file(worktree.path().join("code/a")).unwrap();
    std::os::unix::fs::symlink("a", worktree.path().join("link")).unwrap();
    worktree.commit_all("Second").await.unwrap();
    write(&sample.repository, "notes", "the person's\n");
    for how in [Finish::Merge, Finish::Rebase] {
        let plan = into_main(how);
        let before = sample.tip("main");
        arm(&sample);
        let cut_off = worktree.finish(&plan).await.unwrap_err();
        assert!(
            matches!(cut_off, WorkspaceError::TargetStuck { .. }),
            "{cut_off}"
        );
        assert_eq!(sample.tip("main"), before);
        assert_ne!(sample.git(["status", "--porcelain"]), "?? notes");
        assert!(sample.repository.join(".git/index.lock").exists());
        let again = Worktree::open(worktree.path()).await.unwrap();
        let finished = again.finish(&plan).await.unwrap();
        let commit = sample.tip("main");
        assert_eq!(finished, Finished::Merged { commit });
        assert_eq!(sample.git(["status", "--porcelain"]), "?? notes");
        assert_eq!(sample.read("added/deep"), "second\n");
        assert!(!sample.repository.join("code/a").exists());
        sample.git(["reset", "--quiet", "--hard", &before]);
    }
}

#[tokio::test]
async fn a_change_the_person_made_after_the_cut_is_not_undone() {
    let sample = explosive();
    let worktree = sample.worktree("1-1").await;
    for file in ["a", "m", "z"] {
        write(worktree.path(), file, "second\n");
    }
    worktree.commit_all("Second").await.unwrap();
    arm(&sample);
    let plan = into_main(Finish::Merge);
    worktree.finish(&plan).await.unwrap_err();
    sample.write("z", "the person's\n");
    let refused = worktree.finish(&plan).await.unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::TargetDirty { .. }),
        "{refused}"
    );
    assert_eq!(sample.read("z"), "the person's\n");
}

#[tokio::test]
async fn a_finish_whose_news_were_lost_is_not_done_twice() {
    let sample = Sample::new();
    for (n, how) in [Finish::Merge, Finish::Rebase].into_iter().enumerate() {
        let worktree = sample
            .work(&n.to_string(), &format!("file-{n}"), "x\n")
            .await;
        sample.commit(&format!("theirs-{n}"), "y\n");
        let admin = git(worktree.path(), ["rev-parse", "--absolute-git-dir"]);
        let record = Path::new(&admin).join("missiond.json");
        let head = git(worktree.path(), ["rev-parse", "HEAD"]);
        let from = sample.tip("main");
        let plan = into_main(how);
        let finished = worktree.finish(&plan).await.unwrap();
        let to = sample.tip("main");
        // The record as it was when the branch had moved and nobody knew yet.
        let text = std::fs::read_to_string(&record).unwrap();
        let begun = format!(
            r#""finishing":{{"how":"{how}","into":"main","head":"{head}","from":"{from}","to":"{to}","tree":null}},"finished":null}}"#
        );
        let known = text.find("\"finishing\"").unwrap();
        std::fs::write(&record, format!("{}{begun}", &text[..known])).unwrap();
        sample.commit(&format!("more-{n}"), "z\n");
        let tip = sample.tip("main");
        assert_eq!(worktree.finish(&plan).await.unwrap(), finished);
        assert_eq!(sample.tip("main"), tip);
        worktree.remove().await.unwrap();
    }
}

#[tokio::test]
async fn a_lock_of_a_dead_git_is_cleared_and_that_of_a_living_one_is_not() {
    let sample = Sample::new();
    let worktree = sample.worktree("1-1").await;
    write(worktree.path(), "new", "n\n");
    let admin = git(worktree.path(), ["rev-parse", "--absolute-git-dir"]);
    let lock = Path::new(&admin).join("index.lock");
    std::fs::write(&lock, "").unwrap();
    let mut living = Command::new("git")
        .args(["cat-file", "--batch"])
        .current_dir(worktree.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let refused = worktree.commit_all("New").await.unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::Locked { .. }),
        "{refused}"
    );
    drop(living.stdin.take());
    living.wait().unwrap();
    assert!(worktree.commit_all("New").await.unwrap().commit.is_some());
    assert!(!lock.exists());
}

#[tokio::test]
async fn what_a_dead_daemon_left_running_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let marked = |folder: &Path| {
        let mut command = Command::new("sleep");
        command.arg("600").env("MISSION_RUN_FOLDER", folder);
        command.spawn().unwrap()
    };
    let mut stray = marked(place.path());
    let mut other = marked(Path::new("/elsewhere"));
    assert_eq!(end_strays(place.path()).await, 1);
    assert!(!stray.wait().unwrap().success());
    assert_eq!(other.try_wait().unwrap(), None);
    other.kill().unwrap();
    other.wait().unwrap();
}
