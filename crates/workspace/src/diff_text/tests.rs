use proptest::prelude::*;

use super::*;

const AMPLE: PatchLimits = PatchLimits {
    lines: 1000,
    bytes: 100_000,
    line_chars: 200,
};

fn entry(path: &str, change: Change, additions: u64, deletions: u64) -> Entry {
    Entry {
        path: path.as_bytes().to_vec(),
        old_path: None,
        change,
        binary: false,
        additions,
        deletions,
    }
}

#[test]
fn the_list_has_every_kind_of_change() {
    let output = b":100755 100644 4cb29ea 0000000 M\0a.txt\0:100644 100644 12cfe17 0000000 M\0bin\0\
        :100644 100644 061afc8 da9ccb5 R088\0ren.txt\0dir.txt\0:000000 100644 0000000 e69de29 A\0empty\0\
        :000000 000000 0000000 0000000 U\0fought\0:120000 100644 8d14cbf 0000000 T\0link\0\
        :100644 000000 45b983b 0000000 D\0sp ace\"q.txt\0\
        2\t2\ta.txt\0-\t-\tbin\x00001\t0\t\0ren.txt\0dir.txt\x00000\t0\tempty\x00001\t1\tlink\x00000\t1\tsp ace\"q.txt\0";
    let renamed = Entry {
        old_path: Some(b"ren.txt".to_vec()),
        ..entry("dir.txt", Change::Renamed, 1, 0)
    };
    let binary = Entry {
        binary: true,
        ..entry("bin", Change::Modified, 0, 0)
    };
    assert_eq!(
        parse_list(output),
        [
            entry("a.txt", Change::Modified, 2, 2),
            binary,
            renamed,
            entry("empty", Change::Added, 0, 0),
            entry("link", Change::Retyped, 1, 1),
            entry("sp ace\"q.txt", Change::Deleted, 0, 1),
        ]
    );
    assert_eq!(parse_list(b""), []);
}

#[test]
fn a_patch_is_files_hunks_and_lines() {
    let patch = b"diff --git a/a.txt b/a.txt\nold mode 100755\nnew mode 100644\n\
        index 4cb29ea..a623a0b\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@ fn main() {\n one\n-two\n\
        -three\n+--- b/2\n+three\n\\ No newline at end of file\n\
        diff --git a/bin b/bin\nindex 12cfe17..75f18d7 100644\nBinary files a/bin and b/bin differ\n\
        diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n\
        diff --git \"a/q\\\"\\303\\244\" \"b/q\\\"\\303\\244\"\ndeleted file mode 100644\nindex 45b983b..0000000\n\
        --- \"a/q\\\"\\303\\244\"\t\n+++ /dev/null\n@@ -1 +0,0 @@\n-hi\n\
        diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n";
    let sections = parse_patch(patch, AMPLE);
    let line = |side, text: &str| Line {
        side,
        text: text.to_owned(),
        unended: false,
    };
    let hunk = Hunk {
        old_start: 1,
        old_lines: 3,
        new_start: 1,
        new_lines: 3,
        heading: "fn main() {".to_owned(),
        lines: vec![
            line(LineSide::Both { old: 1, new: 1 }, "one"),
            line(LineSide::Old { old: 2 }, "two"),
            line(LineSide::Old { old: 3 }, "three"),
            line(LineSide::New { new: 2 }, "--- b/2"),
            Line {
                unended: true,
                ..line(LineSide::New { new: 3 }, "three")
            },
        ],
    };
    assert_eq!(sections[0].hunks, [hunk]);
    assert!(sections[1].binary && sections[1].hunks.is_empty());
    let names: Vec<_> = sections
        .iter()
        .map(|section| {
            let text = |name: &Option<Vec<u8>>| {
                name.as_ref()
                    .map(|name| String::from_utf8_lossy(name).into_owned())
            };
            (text(&section.old_path), text(&section.new_path))
        })
        .collect();
    let both = |old: &str, new: &str| (Some(old.to_owned()), Some(new.to_owned()));
    assert_eq!(
        names,
        [
            both("a.txt", "a.txt"),
            both("bin", "bin"),
            both("old name", "new name"),
            (Some("q\"ä".to_owned()), None),
            (None, Some("empty".to_owned())),
        ]
    );
    assert!(sections.iter().all(|section| !section.truncated));
}

#[test]
fn what_is_over_a_limit_is_left_out_and_said() {
    let patch = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,3 @@\n+one\n+two\n+three\n\
        diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -0,0 +1 @@\n+four\n";
    let few = PatchLimits { lines: 2, ..AMPLE };
    let sections = parse_patch(patch, few);
    let shown: Vec<_> = sections
        .iter()
        .map(|section| (section.hunks[0].lines.len(), section.truncated))
        .collect();
    assert_eq!(shown, [(2, true), (0, true)]);
    let small = PatchLimits { bytes: 5, ..AMPLE };
    assert_eq!(parse_patch(patch, small)[0].hunks[0].lines.len(), 1);
    let narrow = PatchLimits {
        line_chars: 2,
        ..AMPLE
    };
    assert_eq!(parse_patch(patch, narrow)[0].hunks[0].lines[0].text, "on…");
    // Cut off in the middle, as by a limit on the output of git.
    let within = patch.windows(4).position(|four| four == b"+two").unwrap();
    let cut = parse_patch(&patch[..within + 2], AMPLE);
    assert_eq!((cut.len(), cut[0].truncated), (1, true));
}

/// Lines of a hunk, as a model to be written and read again.
fn hunk_lines() -> impl Strategy<Value = Vec<(u8, String)>> {
    let line = (0_u8..3, "[ -~äß]{0,12}");
    proptest::collection::vec(line, 1..20)
}

fn written(files: &[(String, Vec<(u8, String)>)]) -> String {
    let mut patch = String::new();
    for (name, lines) in files {
        let count = |left_out: u8| lines.iter().filter(|(side, _)| *side != left_out).count();
        let start = |count: usize| usize::from(count > 0);
        let (old, new) = (count(2), count(1));
        patch.push_str(&format!(
            "diff --git a/{name} b/{name}\nindex 1..2 100644\n--- a/{name}\n+++ b/{name}\n\
             @@ -{},{old} +{},{new} @@\n",
            start(old),
            start(new)
        ));
        for (side, text) in lines {
            let sign = [' ', '-', '+'][usize::from(*side)];
            patch.push_str(&format!("{sign}{text}\n"));
        }
    }
    patch
}

proptest! {
    #[test]
    fn what_was_written_is_read_again(
        files in proptest::collection::vec(("[a-z /.]{1,12}[a-z]", hunk_lines()), 0..5)
    ) {
        let sections = parse_patch(written(&files).as_bytes(), AMPLE);
        prop_assert_eq!(sections.len(), files.len());
        for (section, (name, lines)) in sections.iter().zip(&files) {
            prop_assert!(!section.truncated);
            prop_assert_eq!(section.new_path.as_deref(), Some(name.as_bytes()));
            prop_assert_eq!(section.old_path.as_deref(), Some(name.as_bytes()));
            let read: Vec<_> = section.hunks[0].lines.iter().map(|line| {
                let side = match line.side {
                    LineSide::Both { .. } => 0_u8,
                    LineSide::Old { .. } => 1,
                    LineSide::New { .. } => 2,
                };
                (side, line.text.clone())
            }).collect();
            prop_assert_eq!(&read, lines);
        }
    }

    #[test]
    fn anything_is_read_within_the_limits(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just(b"diff --git a/x b/x\n".to_vec()),
                Just(b"@@ -1,3 +1,2 @@\n".to_vec()),
                Just(b"@@ -4294967295,9 +4294967295,9 @@\n".to_vec()),
                Just(b"--- \"a/\\777\"\n".to_vec()),
                Just(b"+a\n-b\n c\n\\ No\n".to_vec()),
                proptest::collection::vec(any::<u8>(), 0..40),
            ],
            0..30,
        ),
        lines in 0_usize..10,
        bytes in 0_usize..50,
    ) {
        let patch = pieces.concat();
        let limits = PatchLimits { lines, bytes, line_chars: 10 };
        let sections = parse_patch(&patch, limits);
        let shown = || sections.iter().flat_map(|s| &s.hunks).flat_map(|h| &h.lines);
        prop_assert!(shown().count() <= lines);
        prop_assert!(shown().map(|line| line.text.len()).sum::<usize>() <= bytes);
        let entries = parse_list(&patch);
        prop_assert!(entries.iter().all(|entry| !entry.path.is_empty()));
    }
}
