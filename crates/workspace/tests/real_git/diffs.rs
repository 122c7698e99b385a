//! What a worktree changed, as data, with the real git.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use missiond_workspace::diff_text::{Change, LineSide, PatchLimits};
use missiond_workspace::{Diff, DiffLimits, FileDiff, Finish, Repository};

use crate::sample::{Sample, commit_all, git, into_main, write};

const AMPLE: DiffLimits = DiffLimits {
    files: 100,
    file_lines: 1000,
    context: 3,
    patch: PatchLimits {
        lines: 1000,
        bytes: 100_000,
        line_chars: 200,
    },
};

fn file<'d>(diff: &'d Diff, path: &str) -> &'d FileDiff {
    let found = diff.files.iter().find(|file| file.path == Path::new(path));
    found.unwrap_or_else(|| panic!("no {path} in {diff:#?}"))
}

fn paths(diff: &Diff) -> Vec<&str> {
    let paths = diff.files.iter().map(|file| file.path.to_str().unwrap());
    paths.collect()
}

#[tokio::test]
async fn committed_uncommitted_and_new_work_is_in_it_and_the_index_stays() {
    let sample = Sample::new();
    let worktree = sample.worktree("1-1").await;
    let folder = worktree.path();
    write(folder, "committed", "c\n");
    commit_all(folder);
    write(folder, "readme", "one\n2\nthree\n");
    write(folder, "staged", "s\n");
    git(folder, ["add", "staged"]);
    write(folder, "deep/new file", "n");
    std::fs::write(folder.join("picture"), [0, 159, 146, 150, 0]).unwrap();
    std::fs::rename(folder.join("code/a"), folder.join("code/b")).unwrap();
    let before = git(
        folder,
        ["status", "--porcelain=v2", "--untracked-files=all"],
    );

    let diff = worktree.diff(&[], AMPLE).await.unwrap();
    let expected = [
        "code/b",
        "committed",
        "deep/new file",
        "picture",
        "readme",
        "staged",
    ];
    assert_eq!(paths(&diff), expected);
    assert_eq!(diff.base, worktree.base_commit());
    assert_eq!(diff.head, git(folder, ["rev-parse", "HEAD"]));
    assert_eq!((diff.additions, diff.deletions), (4, 1));
    let renamed = file(&diff, "code/b");
    assert_eq!(renamed.change, Change::Renamed);
    assert_eq!(renamed.old_path, Some(PathBuf::from("code/a")));
    assert!(file(&diff, "picture").binary);
    let readme = &file(&diff, "readme").hunks[0];
    let sides: Vec<_> = readme.lines.iter().map(|line| line.side).collect();
    assert_eq!(
        sides,
        [
            LineSide::Both { old: 1, new: 1 },
            LineSide::Old { old: 2 },
            LineSide::New { new: 2 },
            LineSide::Both { old: 3, new: 3 },
        ]
    );
    assert!(file(&diff, "deep/new file").hunks[0].lines[0].unended);

    let after = git(
        folder,
        ["status", "--porcelain=v2", "--untracked-files=all"],
    );
    assert_eq!(before, after);
    let admin = git(folder, ["rev-parse", "--absolute-git-dir"]);
    let left = std::fs::read_dir(admin).unwrap();
    let left = left.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("missiond-diff")
    });
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn what_the_base_got_meanwhile_is_not_the_works_and_merged_work_is_still_shown() {
    let sample = Sample::new();
    let worktree = sample.worktree("1-1").await;
    write(worktree.path(), "mine", "m\n");
    commit_all(worktree.path());
    sample.commit("theirs", "t\n");
    git(worktree.path(), ["merge", "--quiet", "--no-edit", "main"]);
    let diff = worktree.diff(&[], AMPLE).await.unwrap();
    assert_eq!(paths(&diff), ["mine"]);

    worktree.finish(&into_main(Finish::Merge)).await.unwrap();
    let diff = worktree.diff(&[], AMPLE).await.unwrap();
    assert!(paths(&diff).contains(&"mine"), "{diff:#?}");
}

#[tokio::test]
async fn what_is_too_much_is_left_out_and_can_be_asked_for() {
    let sample = Sample::new();
    let worktree = sample.worktree("1-1").await;
    let folder = worktree.path();
    for name in ["a", "b", "c"] {
        write(folder, name, &"line\n".repeat(30));
    }
    symlink("a", folder.join("link")).unwrap();
    let few = DiffLimits {
        files: 3,
        file_lines: 30,
        context: 3,
        patch: PatchLimits {
            lines: 50,
            ..AMPLE.patch
        },
    };
    let diff = worktree.diff(&[], few).await.unwrap();
    let shown: Vec<_> = diff
        .files
        .iter()
        .map(|file| {
            (
                file.path.to_str().unwrap(),
                file.hunks.len(),
                file.truncated,
            )
        })
        .collect();
    assert_eq!(shown, [("a", 1, false), ("b", 0, true), ("c", 0, true)]);
    assert_eq!((diff.files_left_out, diff.additions), (1, 91));

    let one = worktree.diff(&[PathBuf::from("c")], few).await.unwrap();
    assert_eq!(paths(&one), ["c"]);
    assert_eq!(one.files[0].hunks[0].lines.len(), 30);
    let tight = DiffLimits {
        patch: PatchLimits {
            lines: 7,
            ..few.patch
        },
        ..few
    };
    let part = worktree.diff(&[PathBuf::from("c")], tight).await.unwrap();
    assert!(part.files[0].truncated);
    assert_eq!(part.files[0].hunks[0].lines.len(), 7);
}

#[tokio::test]
async fn as_many_lines_stand_around_a_change_as_are_asked_for() {
    let sample = Sample::new();
    let worktree = sample.worktree("1-1").await;
    let numbered = |mark: &str| -> String {
        let line = |number| match number {
            20 => format!("{mark}\n"),
            number => format!("{number}\n"),
        };
        (1..=40).map(line).collect()
    };
    write(worktree.path(), "long", &numbered("before"));
    commit_all(worktree.path());
    let base = git(worktree.path(), ["rev-parse", "HEAD"]);
    write(worktree.path(), "long", &numbered("after"));
    commit_all(worktree.path());
    let repository = Repository::open(&sample.repository).await.unwrap();
    for (context, first, lines) in [(0, 20, 2), (3, 17, 8), (15, 5, 32), (1000, 1, 41)] {
        let limits = DiffLimits { context, ..AMPLE };
        let diff = repository.diff(base.trim(), "mission/1-1", &[], limits);
        let diff = diff.await.unwrap();
        let hunk = &file(&diff, "long").hunks[0];
        assert_eq!((hunk.new_start, hunk.lines.len()), (first, lines));
    }
}

#[tokio::test]
async fn the_persons_settings_do_not_change_what_is_read() {
    let sample = Sample::new();
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
        ("diff.suppressBlankEmpty", "true"),
        ("diff.context", "0"),
        ("color.ui", "always"),
        ("core.quotePath", "true"),
    ] {
        sample.git(["config", key, value]);
    }
    let worktree = sample.worktree("1-1").await;
    write(worktree.path(), "ä \"b\"", "x\n\ny\n");
    commit_all(worktree.path());
    write(worktree.path(), "ä \"b\"", "x\n\nz\n");
    let diff = worktree.diff(&[], AMPLE).await.unwrap();
    assert_eq!(file(&diff, "ä \"b\"").hunks[0].lines.len(), 3);
}

#[tokio::test]
async fn work_whose_worktree_is_gone_is_shown_from_its_branch() {
    let sample = Sample::new();
    let worktree = sample.worktree("1-1").await;
    let base = worktree.base_commit().to_owned();
    write(worktree.path(), "mine", "m\n");
    commit_all(worktree.path());
    let repository = Repository::open(&sample.repository).await.unwrap();
    let diff = repository
        .diff(&base, "mission/1-1", &[], AMPLE)
        .await
        .unwrap();
    assert_eq!(paths(&diff), ["mine"]);
    let missing = repository
        .diff(&base, "gone", &[], AMPLE)
        .await
        .unwrap_err();
    assert!(
        missing.to_string().contains("no commit called `gone`"),
        "{missing}"
    );
}
