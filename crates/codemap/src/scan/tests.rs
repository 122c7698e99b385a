//! Passes over real folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;
use crate::index::CodeIndex;

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A pass over `root`, taken in by `index`. What it told, as lines.
fn pass(root: &Path, index: &mut CodeIndex) -> Vec<String> {
    let mut received = Vec::new();
    scan(
        root,
        &index.known_files(),
        &Limits::default(),
        &Progress::default(),
        &mut |batch| {
            for change in batch {
                received.push(match &change {
                    FileChange::Changed(file) => match &file.facts {
                        FileFacts::Read { .. } => format!("read {}", file.path),
                        FileFacts::Skipped(skip) => format!("{skip} {}", file.path),
                    },
                    FileChange::Touched { path, .. } => format!("touched {path}"),
                    FileChange::Gone { path } => format!("gone {path}"),
                });
                index.apply(change);
            }
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    received.sort();
    received
}

/// Sets all stamps so far back that they are relied on.
fn settle(root: &Path, index: &mut CodeIndex) {
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let known: Vec<_> = index.known_files().into_keys().collect();
    for path in known {
        let file = fs::File::open(root.join(&path)).unwrap();
        file.set_modified(past).unwrap();
        let stamp = Stamp::of(&file.metadata().unwrap());
        index.apply(FileChange::Touched { path, stamp });
    }
}

#[test]
fn a_pass_tells_what_changed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let mut index = CodeIndex::default();
    write(root, "src/a.rs", "fn a() {}");
    write(root, "src/b.py", "def b(): pass");
    write(root, "notes.txt", "not code");
    assert_eq!(pass(root, &mut index), ["read src/a.rs", "read src/b.py"]);
    // Just written: looked into again, though nothing changed.
    assert_eq!(
        pass(root, &mut index),
        ["touched src/a.rs", "touched src/b.py"]
    );
    settle(root, &mut index);
    assert_eq!(pass(root, &mut index), [""; 0]);
    write(root, "src/a.rs", "fn aa() {}");
    fs::remove_file(root.join("src/b.py")).unwrap();
    write(root, "src/c.go", "package c");
    let expected = ["gone src/b.py", "read src/a.rs", "read src/c.go"];
    assert_eq!(pass(root, &mut index), expected);
    assert_eq!(index.find("aa").len(), 1);
    assert!(index.find("b").iter().all(|node| &*node.path != "src/b.py"));
}

#[test]
fn a_change_that_keeps_size_and_time_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let mut index = CodeIndex::default();
    write(root, "a.rs", "fn old() {}");
    pass(root, &mut index);
    settle(root, &mut index);
    let before = fs::metadata(root.join("a.rs")).unwrap().modified().unwrap();
    write(root, "a.rs", "fn new() {}");
    let file = fs::File::open(root.join("a.rs")).unwrap();
    file.set_modified(before).unwrap();
    assert_eq!(pass(root, &mut index), ["read a.rs"]);
    assert_eq!(index.find("new").len(), 1);
}

#[test]
fn what_no_person_wrote_is_skipped_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "generated.c", vec![b'\n'; 50 * 1024 * 1024]);
    write(
        root,
        "app.min.js",
        format!("var a={};", "1+".repeat(20_000)),
    );
    write(root, "binary.py", b"a\0b");
    write(root, "latin.java", b"class Gr\xf6sse {}");
    write(root, "good.rs", "fn good() {}");
    symlink(root, root.join("loop")).unwrap();
    symlink(root.join("good.rs"), root.join("link.rs")).unwrap();
    let fifo = root.join("pipe.rs");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let mut index = CodeIndex::default();
    let received = pass(root, &mut index);
    let expected = [
        "binary binary.py",
        "minified app.min.js",
        "not_utf8 latin.java",
        "read good.rs",
        "too_large generated.c",
    ];
    assert_eq!(received, expected);
    let counts = index.counts();
    assert_eq!((counts.files, counts.skipped.len()), (1, 4));
}

#[test]
fn gitignore_is_honoured_also_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, ".gitignore", "/build\n*.gen.rs\n");
    write(root, "build/out.rs", "fn out() {}");
    write(root, "a.gen.rs", "fn generated() {}");
    write(root, "a.rs", "fn a() {}");
    write(root, ".hidden/b.rs", "fn b() {}");
    let mut index = CodeIndex::default();
    assert_eq!(pass(root, &mut index), ["read a.rs"]);
    write(root, ".gitignore", "a.rs\n");
    let received = pass(root, &mut index);
    assert_eq!(
        received,
        ["gone a.rs", "read a.gen.rs", "read build/out.rs"]
    );
}

#[test]
fn a_pass_that_is_stopped_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..200 {
        write(folder.path(), &format!("{number}.rs"), "fn a() {}");
    }
    let mut batches = 0;
    let stopped = scan(
        folder.path(),
        &HashMap::new(),
        &Limits::default(),
        &Progress::default(),
        &mut |_| {
            batches += 1;
            ControlFlow::Break(())
        },
    );
    assert!(matches!(stopped, Err(CodeError::Stopped(_))), "{stopped:?}");
    assert_eq!(batches, 1);
    let progress = Progress::default();
    progress.stop();
    let nothing = &mut |_| ControlFlow::Continue(());
    let stopped = scan(
        folder.path(),
        &HashMap::new(),
        &Limits::default(),
        &progress,
        nothing,
    );
    assert!(matches!(stopped, Err(CodeError::Stopped(_))), "{stopped:?}");
}

#[test]
fn files_beyond_the_limit_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..5 {
        write(folder.path(), &format!("{number}.rs"), "fn a() {}");
    }
    let limits = Limits {
        files: 3,
        ..Limits::default()
    };
    let progress = Progress::default();
    let nothing = &mut |_| ControlFlow::Continue(());
    scan(folder.path(), &HashMap::new(), &limits, &progress, nothing).unwrap();
    assert_eq!(progress.seen.load(Ordering::Relaxed), 3);
    assert_eq!(progress.beyond.load(Ordering::Relaxed), 2);
}
