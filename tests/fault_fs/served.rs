//! The kernel's requests, answered from the disk's state.
//!
//! Nothing is cached by time (every lifetime is zero) and the kernel drops its
//! pages of a file at each open, so what a test changes behind its back is seen
//! by whoever opens the file next. Locks are left to the kernel.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    AccessFlags, BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request,
    TimeOrNow, WriteFlags,
};

use super::contents::Contents;
use super::nodes::Body;
use super::{Access, Disk, Read, State, Sync};

pub(super) struct Served(pub(super) Arc<Disk>);

const UNCACHED: Duration = Duration::ZERO;
const FIRST: Generation = Generation(0);
/// Files are told apart by their number alone.
const NO_HANDLE: FileHandle = FileHandle(0);
const BLOCK: u64 = 4096;
/// Of a slow disk. Many of them together are the time in which an index is not built.
const SLOW_READ: Duration = Duration::from_millis(50);

impl Served {
    fn inspect<T>(&self, work: impl FnOnce(&mut State) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut state = self.0.lock();
        state.begin_inspect()?;
        work(&mut state)
    }

    fn change<T>(&self, work: impl FnOnce(&mut State) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut state = self.0.lock();
        let done = match state.begin_change() {
            Ok(()) => work(&mut state),
            Err(error) => Err(error),
        };
        drop(state);
        self.0.changed.notify_all();
        done
    }

    fn add(&self, parent: INodeNo, name: &OsStr, mode: u32, body: Body) -> Result<FileAttr, Errno> {
        self.change(|state| {
            // A name takes room as well.
            if state.room() == 0 {
                return Err(Errno::ENOSPC);
            }
            let number = state.nodes.add(parent, name, mode, body)?;
            state.nodes.attributes(number)
        })
    }

    fn opened(&self, number: INodeNo) -> Result<(), Errno> {
        let mut state = self.0.lock();
        state.nodes.get(number)?.open += 1;
        state.open += 1;
        Ok(())
    }
}

fn empty(result: Result<(), Errno>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

fn entry(result: Result<FileAttr, Errno>, reply: ReplyEntry) {
    match result {
        Ok(attributes) => reply.entry(&UNCACHED, &attributes, FIRST),
        Err(error) => reply.error(error),
    }
}

fn attributes(result: Result<FileAttr, Errno>, reply: ReplyAttr) {
    match result {
        Ok(attributes) => reply.attr(&UNCACHED, &attributes),
        Err(error) => reply.error(error),
    }
}

fn new_file() -> Body {
    Body::File(Contents::default())
}

impl Filesystem for Served {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.inspect(|state| {
            let number = state.nodes.find(parent, name)?;
            state.nodes.attributes(number)
        });
        entry(found, reply);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        attributes(self.inspect(|state| state.nodes.attributes(number)), reply);
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let done = self.change(|state| {
            if let Some(size) = size {
                let room = state.room();
                let contents = state.nodes.file(number)?;
                if size.saturating_sub(contents.len() as u64) > room {
                    return Err(Errno::ENOSPC);
                }
                contents.set_len(size as usize);
            }
            if let Some(mode) = mode {
                state.nodes.get(number)?.mode = mode;
            }
            state.nodes.attributes(number)
        });
        attributes(done, reply);
    }

    fn mknod(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        entry(self.add(parent, name, mode & !umask, new_file()), reply);
    }

    fn mkdir(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let body = Body::Folder(Default::default());
        entry(self.add(parent, name, mode & !umask, body), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.change(|state| state.nodes.remove_file(parent, name));
        empty(done, reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let done = self.change(|state| state.nodes.remove_folder(parent, name));
        empty(done, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (from, to) = ((parent, name), (new_parent, new_name));
        empty(self.change(|state| state.nodes.rename(from, to)), reply);
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let allowed = match flags.acc_mode() {
            OpenAccMode::O_RDONLY => self.inspect(|_| Ok(())),
            OpenAccMode::O_WRONLY | OpenAccMode::O_RDWR => self.change(|_| Ok(())),
        };
        match allowed.and_then(|()| self.opened(number)) {
            Ok(()) => reply.opened(NO_HANDLE, FopenFlags::empty()),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let created = self
            .add(parent, name, mode & !umask, new_file())
            .and_then(|attributes| self.opened(attributes.ino).map(|()| attributes));
        match created {
            Ok(attributes) => {
                reply.created(
                    &UNCACHED,
                    &attributes,
                    FIRST,
                    NO_HANDLE,
                    FopenFlags::empty(),
                );
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if self.0.lock().read == Read::Slow {
            std::thread::sleep(SLOW_READ);
        }
        let found = self.inspect(|state| match state.read {
            Read::Fails => Err(Errno::EIO),
            Read::Succeeds | Read::Slow => {
                let contents = state.nodes.file(number)?;
                Ok(contents.read(offset as usize, size as usize).to_owned())
            }
        });
        match found {
            Ok(data) => reply.data(&data),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let written = self.change(|state| {
            let room = state.room();
            let contents = state.nodes.file(number)?;
            // What fits is written, as on a real disk; the rest is refused.
            let end = (contents.len() as u64).saturating_add(room);
            let fits = (end.saturating_sub(offset)).min(data.len() as u64) as usize;
            if fits == 0 && !data.is_empty() {
                return Err(Errno::ENOSPC);
            }
            contents.write(offset as usize, &data[..fits]);
            Ok(fits as u32)
        });
        match written {
            Ok(size) => reply.written(size),
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        let mut state = self.0.lock();
        state.open -= 1;
        if let Ok(node) = state.nodes.get(number) {
            node.open -= 1;
        }
        state.nodes.forget_if_unreachable(number);
        drop(state);
        self.0.changed.notify_all();
        reply.ok();
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let done = self.change(|state| {
            let outcome = state.sync;
            if outcome == Sync::FailsOnce {
                state.sync = Sync::Succeeds;
            }
            let contents = state.nodes.file(number)?;
            match outcome {
                Sync::Succeeds => {
                    contents.sync();
                    Ok(())
                }
                Sync::FailsOnce | Sync::Fails => {
                    contents.sync_in_vain();
                    state.failed_syncs += 1;
                    Err(Errno::EIO)
                }
            }
        });
        empty(done, reply);
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        empty(self.inspect(|_| Ok(())), reply);
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let entries = self.inspect(|state| {
            let named: Vec<_> = state.nodes.folder(number)?.clone().into_iter().collect();
            let mut entries = vec![(".".into(), number, FileType::Directory)];
            for (name, number) in named {
                entries.push((name, number, state.nodes.attributes(number)?.kind));
            }
            Ok(entries)
        });
        match entries {
            Ok(entries) => {
                let rest = entries.into_iter().zip(1..).skip(offset as usize);
                for ((name, number, kind), next) in rest {
                    if reply.add(number, next, kind, name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error),
        }
    }

    fn access(&self, _: &Request, _: INodeNo, wanted: AccessFlags, reply: ReplyEmpty) {
        let allowed = self.inspect(|state| match state.access {
            Access::ReadOnly if wanted.contains(AccessFlags::W_OK) => Err(Errno::EROFS),
            Access::ReadOnly | Access::ReadWrite => Ok(()),
        });
        empty(allowed, reply);
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let state = self.0.lock();
        let (used, room) = (state.nodes.used(), state.room());
        let free = room.min(1 << 40) / BLOCK;
        let blocks = free + used / BLOCK;
        reply.statfs(
            blocks,
            free,
            free,
            1 << 20,
            1 << 20,
            BLOCK as u32,
            255,
            BLOCK as u32,
        );
    }
}
