//! Archives that are the same bytes for the same files: sorted, owned by root, with one
//! time for everything and no name of the machine that made them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

/// How hard to compress: a release is downloaded often, a test reads it once. The levels
/// above the default take three times as long for less than a hundredth of the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    Thorough,
    Fast,
}

/// Files by their path in the archive, which has no slash in front.
#[derive(Debug, Default)]
pub(super) struct Tree<'a> {
    files: BTreeMap<String, (u32, &'a [u8])>,
    folders: BTreeMap<String, u32>,
}

impl<'a> Tree<'a> {
    /// A file that everybody may read.
    pub(super) fn file(&mut self, path: impl Into<String>, bytes: &'a [u8]) {
        self.files.insert(path.into(), (0o644, bytes));
    }

    /// A file that everybody may run.
    pub(super) fn program(&mut self, path: impl Into<String>, bytes: &'a [u8]) {
        self.files.insert(path.into(), (0o755, bytes));
    }

    /// A folder that is empty, or has other rights than most.
    pub(super) fn folder(&mut self, path: impl Into<String>, mode: u32) {
        self.folders.insert(path.into(), mode);
    }

    /// The files in the order of the archive.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &'a [u8])> {
        self.files
            .iter()
            .map(|(path, (_, bytes))| (path.as_str(), *bytes))
    }

    /// Writes it as a tar archive. Every folder has an entry before what is in it:
    /// dpkg removes only those it was told of.
    pub(super) fn tar(&self, prefix: &str, epoch: u64) -> io::Result<Vec<u8>> {
        let mut folders = self.folders.clone();
        for path in self.files.keys().chain(self.folders.keys()) {
            for parent in Path::new(path).ancestors().skip(1) {
                let parent = parent.to_string_lossy();
                if !parent.is_empty() {
                    folders.entry(parent.into_owned()).or_insert(0o755);
                }
            }
        }
        let all: BTreeSet<&String> = folders.keys().chain(self.files.keys()).collect();
        let mut archive = tar::Builder::new(Vec::new());
        for path in all {
            let (kind, mode, bytes, end) = match self.files.get(path) {
                Some((mode, bytes)) => (EntryType::Regular, *mode, *bytes, ""),
                None => (EntryType::Directory, folders[path], &[][..], "/"),
            };
            let mut header = Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_uid(0);
            header.set_gid(0);
            header.set_username("root")?;
            header.set_groupname("root")?;
            header.set_mtime(epoch);
            header.set_size(bytes.len() as u64);
            let path = format!("{prefix}{path}{end}");
            set_path(&mut header, &path)?;
            header.set_cksum();
            archive.append(&header, bytes)?;
        }
        archive.into_inner()
    }
}

/// As it is: `Header::set_path` would drop the `./` that dpkg expects.
fn set_path(header: &mut Header, path: &str) -> io::Result<()> {
    let name = &mut header.as_gnu_mut().ok_or(io::ErrorKind::InvalidData)?.name;
    if path.len() > name.len() {
        let long = format!("{path}: a name in an archive has at most 100 bytes");
        return Err(io::Error::other(long));
    }
    name[..path.len()].copy_from_slice(path.as_bytes());
    Ok(())
}

/// Compresses without a name and a time.
pub(super) fn gzip(bytes: &[u8], effort: Effort) -> io::Result<Vec<u8>> {
    let level = match effort {
        Effort::Thorough => Compression::default(),
        Effort::Fast => Compression::fast(),
    };
    let mut encoder = GzBuilder::new().write(Vec::new(), level);
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// The archive around the parts of a Debian package.
pub(super) fn ar(parts: &[(&str, &[u8])], epoch: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in parts {
        let length = bytes.len();
        let header = format!(
            "{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{length:<10}`\n",
            0, 0, 100_644
        );
        archive.extend(header.bytes());
        archive.extend(*bytes);
        if length % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn an_archive_has_every_folder_before_its_files_and_no_trace_of_its_making() {
        let mut tree = Tree::default();
        tree.program("usr/bin/mission", b"program");
        tree.file("etc/passwd", b"root");
        tree.folder("tmp", 0o1777);
        let bytes = tree.tar("./", 7).unwrap();
        assert_eq!(bytes, tree.tar("./", 7).unwrap());
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut content = String::new();
                entry.read_to_string(&mut content).unwrap();
                let header = entry.header();
                let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
                assert_eq!((header.uid().unwrap(), header.mtime().unwrap()), (0, 7));
                (path, header.mode().unwrap(), content)
            })
            .collect();
        let expected = [
            ("./etc/", 0o755, ""),
            ("./etc/passwd", 0o644, "root"),
            ("./tmp/", 0o1777, ""),
            ("./usr/", 0o755, ""),
            ("./usr/bin/", 0o755, ""),
            ("./usr/bin/mission", 0o755, "program"),
        ];
        let expected: Vec<_> = expected
            .map(|(path, mode, content)| (path.to_owned(), mode, content.to_owned()))
            .into();
        assert_eq!(entries, expected);
    }

    #[test]
    fn parts_of_an_ar_archive_begin_at_even_places() {
        let archive = ar(&[("odd", b"123"), ("even", b"12")], 7);
        let text = String::from_utf8(archive).unwrap();
        let header = |name: &str, length: usize| {
            format!("{name:<16}7           0     0     100644  {length:<10}`\n")
        };
        let expected = format!("!<arch>\n{}123\n{}12", header("odd", 3), header("even", 2));
        assert_eq!(text, expected);
    }
}
