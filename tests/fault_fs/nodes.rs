//! The folders and files of the disk, by inode number.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::time::SystemTime;

use fuser::{Errno, FileAttr, FileType, INodeNo};

use super::contents::{Contents, Unsynced};

#[derive(Debug)]
pub(super) struct Nodes {
    by_number: BTreeMap<u64, Node>,
    next: u64,
    mounted_at: SystemTime,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) body: Body,
    pub(super) mode: u32,
    /// An open file lives on after its name is gone.
    pub(super) open: u64,
    named: bool,
}

#[derive(Debug)]
pub(super) enum Body {
    Folder(BTreeMap<OsString, INodeNo>),
    File(Contents),
}

impl Nodes {
    pub(super) fn new() -> Self {
        let root = Node {
            body: Body::Folder(BTreeMap::new()),
            mode: 0o700,
            open: 0,
            named: true,
        };
        Self {
            by_number: BTreeMap::from([(INodeNo::ROOT.0, root)]),
            next: INodeNo::ROOT.0 + 1,
            mounted_at: SystemTime::now(),
        }
    }

    pub(super) fn used(&self) -> u64 {
        let sizes = self.by_number.values().map(|node| match &node.body {
            Body::Folder(_) => 0,
            Body::File(contents) => contents.len() as u64,
        });
        sizes.sum()
    }

    pub(super) fn lose_power(&mut self, unsynced: Unsynced) {
        for (number, node) in &mut self.by_number {
            if let Body::File(contents) = &mut node.body {
                // Each file by its own dice.
                contents.lose_power(match unsynced {
                    Unsynced::Lost => Unsynced::Lost,
                    Unsynced::LostInPart(seed) => Unsynced::LostInPart(seed ^ number << 32),
                });
            }
        }
    }

    pub(super) fn get(&mut self, number: INodeNo) -> Result<&mut Node, Errno> {
        self.by_number.get_mut(&number.0).ok_or(Errno::ENOENT)
    }

    pub(super) fn file(&mut self, number: INodeNo) -> Result<&mut Contents, Errno> {
        match &mut self.get(number)?.body {
            Body::File(contents) => Ok(contents),
            Body::Folder(_) => Err(Errno::EISDIR),
        }
    }

    pub(super) fn folder(
        &mut self,
        number: INodeNo,
    ) -> Result<&mut BTreeMap<OsString, INodeNo>, Errno> {
        match &mut self.get(number)?.body {
            Body::Folder(entries) => Ok(entries),
            Body::File(_) => Err(Errno::ENOTDIR),
        }
    }

    pub(super) fn find(&mut self, parent: INodeNo, name: &OsStr) -> Result<INodeNo, Errno> {
        self.folder(parent)?.get(name).copied().ok_or(Errno::ENOENT)
    }

    pub(super) fn add(
        &mut self,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        body: Body,
    ) -> Result<INodeNo, Errno> {
        let number = INodeNo(self.next);
        let entries = self.folder(parent)?;
        if entries.contains_key(name) {
            return Err(Errno::EEXIST);
        }
        entries.insert(name.to_owned(), number);
        self.next += 1;
        let node = Node {
            body,
            mode: mode & 0o7777,
            open: 0,
            named: true,
        };
        self.by_number.insert(number.0, node);
        Ok(number)
    }

    pub(super) fn remove_file(&mut self, parent: INodeNo, name: &OsStr) -> Result<(), Errno> {
        let number = self.find(parent, name)?;
        self.file(number)?;
        self.folder(parent)?.remove(name);
        self.get(number)?.named = false;
        self.forget_if_unreachable(number);
        Ok(())
    }

    pub(super) fn remove_folder(&mut self, parent: INodeNo, name: &OsStr) -> Result<(), Errno> {
        let number = self.find(parent, name)?;
        if !self.folder(number)?.is_empty() {
            return Err(Errno::ENOTEMPTY);
        }
        self.folder(parent)?.remove(name);
        self.by_number.remove(&number.0);
        Ok(())
    }

    pub(super) fn rename(
        &mut self,
        from: (INodeNo, &OsStr),
        to: (INodeNo, &OsStr),
    ) -> Result<(), Errno> {
        let number = self.find(from.0, from.1)?;
        if from == to {
            return Ok(());
        }
        match self.find(to.0, to.1) {
            Ok(_) => self.remove_file(to.0, to.1)?,
            Err(_) => drop(self.folder(to.0)?),
        }
        self.folder(from.0)?.remove(from.1);
        self.folder(to.0)?.insert(to.1.to_owned(), number);
        Ok(())
    }

    pub(super) fn forget_if_unreachable(&mut self, number: INodeNo) {
        if let Some(node) = self.by_number.get(&number.0)
            && node.open == 0
            && !node.named
        {
            self.by_number.remove(&number.0);
        }
    }

    pub(super) fn attributes(&mut self, number: INodeNo) -> Result<FileAttr, Errno> {
        let time = self.mounted_at;
        let node = self.get(number)?;
        let (kind, size) = match &node.body {
            Body::Folder(_) => (FileType::Directory, 0),
            Body::File(contents) => (FileType::RegularFile, contents.len() as u64),
        };
        Ok(FileAttr {
            ino: number,
            size,
            blocks: size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm: (node.mode & 0o7777) as u16,
            nlink: u32::from(node.named),
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}
