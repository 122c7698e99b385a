//! Doors in the wall: sockets inside behind which a Unix socket of the machine answers.
//! Bytes go both ways and nothing is read; who is behind the socket decides.
//!
//! The proxy's door is an address on the loopback, because programs know how to reach a
//! proxy by address and not by path, and so are the ports of the machine that are let in. A
//! door of the daemon is a socket at the same path inside; it is not the socket itself, so
//! that it still leads there when the daemon was started anew and made another. Connections
//! come from this stage, which stands below whoever started the program, and so are told to
//! be the program's.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::fchdir;

use crate::wall::{Network, PROXY_PORT, Wall};

/// Connections of one door at once; one more is closed.
const MOST: usize = 256;

/// Where a door leads: the folder of a socket, held open from when the machine was still
/// in sight, and its name there.
#[derive(Debug)]
pub(crate) struct Door {
    folder: File,
    name: PathBuf,
    inside: Inside,
}

/// Where a door is inside.
#[derive(Debug)]
enum Inside {
    Port(u16),
    Path(PathBuf),
}

/// The doors of a plan. Before the machine goes out of sight.
pub(crate) fn doors(wall: &Wall) -> Result<Vec<Door>, String> {
    let proxy = match &wall.network {
        Network::Proxy(socket) => Some((socket, Inside::Port(PROXY_PORT))),
        Network::Host | Network::None => None,
    };
    // On the machine's own network the port itself answers.
    let own_loopback = wall.network != Network::Host;
    let ports = wall.ports.iter().filter(|_| own_loopback);
    let ports = ports.map(|(port, socket)| (socket, Inside::Port(*port)));
    let paths = wall.doors.iter();
    let paths = paths.map(|socket| (socket, Inside::Path(socket.clone())));
    let each = proxy
        .into_iter()
        .chain(ports)
        .chain(paths)
        .map(|(socket, inside)| {
            let missing = || format!("{} is no place of a socket", socket.display());
            let (folder, name) = (socket.parent(), socket.file_name());
            let folder = File::open(folder.ok_or_else(missing)?);
            Ok(Door {
                folder: folder.map_err(|error| format!("{}: {error}", missing()))?,
                name: name.ok_or_else(missing)?.into(),
                inside,
            })
        });
    each.collect()
}

#[derive(Debug)]
enum Listener {
    Loopback(TcpListener),
    Path(UnixListener),
}

impl Door {
    /// Opens it: `root` is where the root inside stands for now. Serves as long as this
    /// process lives.
    pub(crate) fn open(self, root: &Path) -> Result<(), String> {
        let listener = match &self.inside {
            Inside::Port(port) => {
                TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).map(Listener::Loopback)
            }
            Inside::Path(path) => {
                let path = path.strip_prefix("/").unwrap_or(path);
                UnixListener::bind(root.join(path)).map(Listener::Path)
            }
        };
        let name = self.name.display();
        let listener = listener.map_err(|error| format!("no way to {name}: {error}"))?;
        let ready = Arc::new(Barrier::new(2));
        let waits = Arc::clone(&ready);
        thread::spawn(move || {
            // A folder of work of its own: sockets are reached by name, from there.
            let moved = unshare(CloneFlags::CLONE_FS).and_then(|()| fchdir(&self.folder));
            waits.wait();
            if moved.is_ok() {
                serve(&listener, &self.name);
            }
        });
        ready.wait();
        Ok(())
    }
}

fn serve(listener: &Listener, name: &Path) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        // Reached from this thread, whose folder is the socket's.
        let Ok(inside) = listener.accept() else {
            continue;
        };
        let Ok(outside) = UnixStream::connect(name) else {
            // The program sees its connection closed, as when nobody listens.
            continue;
        };
        if open.fetch_add(1, Ordering::AcqRel) >= MOST {
            open.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let open = Arc::clone(&open);
        thread::spawn(move || {
            let _ = inside.exchange(&outside);
            open.fetch_sub(1, Ordering::AcqRel);
        });
    }
}

enum Stream {
    Loopback(TcpStream),
    Path(UnixStream),
}

impl Listener {
    fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Loopback(listener) => listener
                .accept()
                .map(|(stream, _)| Stream::Loopback(stream)),
            Self::Path(listener) => listener.accept().map(|(stream, _)| Stream::Path(stream)),
        }
    }
}

impl Stream {
    fn exchange(&self, outside: &UnixStream) -> io::Result<()> {
        let (mut from, mut to) = (self.try_clone()?, outside.try_clone()?);
        let outwards = thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
        let (mut from, mut to) = (outside, self);
        let copied = io::copy(&mut from, &mut to);
        self.finish();
        let _ = outwards.join();
        copied.map(drop)
    }

    fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Loopback(stream) => stream.try_clone().map(Self::Loopback),
            Self::Path(stream) => stream.try_clone().map(Self::Path),
        }
    }

    fn finish(&self) {
        let _ = match self {
            Self::Loopback(stream) => stream.shutdown(Shutdown::Write),
            Self::Path(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

impl io::Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Loopback(stream) => stream.read(buffer),
            Self::Path(stream) => stream.read(buffer),
        }
    }
}

impl io::Write for &Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Loopback(stream) => (&mut &*stream).write(buffer),
            Stream::Path(stream) => (&mut &*stream).write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
