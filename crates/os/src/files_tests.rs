//! Each promise of the module, on a real file system.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_made_is_for_its_owner_alone() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("one/two");
    create_private_dir(&folder).unwrap();
    create_private_dir(&folder).unwrap();
    assert_eq!(
        (mode(&home.path().join("one")), mode(&folder)),
        (0o700, 0o700)
    );
    for write in [replace_private, replace_private_unsynced] {
        let file = folder.join("file");
        write(&file, b"first").unwrap();
        // Somebody opened it to others; the next writing closes it.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        write(&file, b"second").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"second");
        assert_eq!(mode(&file), 0o600);
        assert_eq!(names(&folder), ["file"]);
    }
    let log = folder.join("log");
    for line in [b"a\n", b"b\n"] {
        open_private_log(&log).unwrap().write_all(line).unwrap();
    }
    assert_eq!(
        (fs::read(&log).unwrap(), mode(&log)),
        (b"a\nb\n".into(), 0o600)
    );
    open_private_lock(&log).unwrap();
    assert_eq!(fs::read(&log).unwrap(), b"a\nb\n");
}

#[test]
fn a_link_in_the_way_of_a_private_file_is_replaced_and_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let (victim, file) = (home.path().join("victim"), home.path().join("key"));
    fs::write(&victim, "theirs").unwrap();
    symlink(&victim, &file).unwrap();
    replace_private(&file, b"ours").unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"theirs");
    assert!(!file.is_symlink());
    assert_eq!(fs::read(&file).unwrap(), b"ours");
}

#[test]
fn a_link_that_waits_under_the_temporary_name_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let victim = home.path().join("victim");
    fs::write(&victim, "theirs").unwrap();
    // Names of temporary files can be guessed: they are all taken here.
    for number in 0..200 {
        let name = format!(".{}-{number}.tmp", std::process::id());
        symlink(&victim, home.path().join(name)).unwrap();
    }
    replace_private(&home.path().join("key"), b"ours").unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"theirs");
    assert_eq!(fs::read(home.path().join("key")).unwrap(), b"ours");
}

#[test]
fn a_persons_file_keeps_its_link_and_its_mode() {
    let home = tempfile::tempdir().unwrap();
    let (target, link) = (home.path().join("dotfiles/list"), home.path().join("list"));
    replace_edited(&target, b"made", Mode::Kept).unwrap();
    assert_eq!(
        (mode(&target), mode(target.parent().unwrap())),
        (0o600, 0o700)
    );
    fs::set_permissions(&target, fs::Permissions::from_mode(0o664)).unwrap();
    symlink(&target, &link).unwrap();
    replace_edited(&link, b"edited", Mode::Kept).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"edited");
    assert_eq!(mode(&target), 0o664);
    replace_edited(&link, b"with a secret", Mode::Private).unwrap();
    assert!(link.is_symlink());
    assert_eq!(mode(&target), 0o600);

    fs::remove_file(&target).unwrap();
    let error = replace_edited(&link, b"x", Mode::Kept).unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
    assert!(link.is_symlink());
}

#[test]
fn what_fails_leaves_the_old_file_and_nothing_beside_it() {
    let home = tempfile::tempdir().unwrap();
    // A folder cannot be replaced by a file.
    let taken = home.path().join("taken");
    fs::create_dir_all(taken.join("inside")).unwrap();
    assert!(replace_private(&taken, b"x").is_err());
    assert_eq!(names(home.path()), ["taken"]);
    assert!(replace_private(&home.path().join("missing/file"), b"x").is_err());
    for none in ["/", "..", ""] {
        let error = replace_private(Path::new(none), b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{none}");
    }
}

#[test]
fn names_may_be_as_long_and_as_strange_as_the_system_lets_them() {
    let home = tempfile::tempdir().unwrap();
    let longest = "n".repeat(255);
    let strange: [&[u8]; 5] = [
        longest.as_bytes(),
        b"-rf",
        b"a\nb\x1b[2J",
        b"\xff\xfe",
        b" .tmp",
    ];
    for name in strange {
        let file = home.path().join(OsStr::from_bytes(name));
        replace_private(&file, name).unwrap();
        assert_eq!(fs::read(&file).unwrap(), name);
        remove_synced(&file).unwrap();
    }
    assert!(names(home.path()).is_empty());
}

/// A reader that never stops looking sees one whole version or the other, and
/// many writers at once do not disturb each other.
#[test]
fn a_reader_never_sees_a_part() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    let version = |letter: u8| vec![letter; 100_000];
    replace_private_unsynced(&file, &version(b'a')).unwrap();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (b'a'..b'e')
            .map(|letter| {
                let file = &file;
                scope.spawn(move || {
                    for _ in 0..50 {
                        replace_private_unsynced(file, &version(letter)).unwrap();
                    }
                })
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            let seen = fs::read(&file).unwrap();
            assert_eq!(seen, version(seen[0]));
        }
    });
    assert_eq!(names(home.path()), ["file"]);
}

#[test]
fn a_file_that_others_may_write_or_replace_is_known() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    assert_eq!(written_by_others(&file).unwrap(), None);
    std::fs::write(&file, "").unwrap();
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (mode, why) in [(0o644, false), (0o600, false), (0o664, true), (0o646, true)] {
        set(&file, mode);
        assert_eq!(written_by_others(&file).unwrap().is_some(), why, "{mode:o}");
    }
    set(&file, 0o600);
    for (mode, why) in [
        (0o700, false),
        (0o777, true),
        (0o1777, false),
        (0o775, false),
    ] {
        set(folder.path(), mode);
        assert_eq!(written_by_others(&file).unwrap().is_some(), why, "{mode:o}");
    }
}
