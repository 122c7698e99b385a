//! The process at the other end of a socket, and whether its number is still its own.
//!
//! A socket tells the number of who connected. That process may have ended meanwhile, its
//! socket in the hands of another, and its number may be somebody else's by now. Where the
//! system hands out the process itself beside its number (Linux since 6.5), that can be told:
//! what is looked up by the number of a process that is there after the look is about it.

use std::os::fd::{AsFd, OwnedFd};

/// Who connected.
#[derive(Debug)]
pub enum Peer {
    /// This process.
    Process(OwnedFd),
    /// Nobody who is still there.
    Ended,
    /// The system does not say.
    NotTold,
}

impl Peer {
    /// Who connected to this socket.
    #[must_use]
    pub fn of(socket: impl AsFd) -> Self {
        of_socket(socket)
    }

    /// Whether that process has ended. Where the system cannot say so, it counts as running.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let process = match self {
            Self::Process(process) => process,
            Self::Ended => return true,
            Self::NotTold => return false,
        };
        // It can be read from the moment on at which the process ends.
        let mut ended = [PollFd::new(process, PollFlags::IN)];
        let at_once = Timespec::default();
        !matches!(poll(&mut ended, Some(&at_once)), Ok(0))
    }
}

#[cfg(target_os = "linux")]
fn of_socket(socket: impl AsFd) -> Peer {
    use nix::errno::Errno;
    use nix::sys::socket::{getsockopt, sockopt::PeerPidfd};
    match getsockopt(&socket, PeerPidfd) {
        Ok(process) => Peer::Process(process),
        Err(Errno::ENOPROTOOPT | Errno::ENODATA) => Peer::NotTold,
        // Kernels before 6.16 do not hand out one that has ended.
        Err(_) => Peer::Ended,
    }
}

#[cfg(not(target_os = "linux"))]
fn of_socket(_socket: impl AsFd) -> Peer {
    Peer::NotTold
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn who_has_connected_and_ended_is_known_by_that_though_another_has_the_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let own = UnixStream::connect(&path).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let peer = Peer::of(&socket);
        if matches!(peer, Peer::NotTold) {
            eprintln!("skipped: this kernel does not hand out who connected");
            return;
        }
        assert!(!peer.has_ended());
        drop(own);
        assert!(!peer.has_ended(), "the process is there, if not its socket");

        // It connects, hands its socket to a child and ends.
        let script = "import os, socket, sys\n\
                      s = socket.socket(socket.AF_UNIX)\n\
                      s.connect(sys.argv[1])\n\
                      if os.fork() == 0: sys.stdin.read()\n";
        let mut ends = Command::new("python3")
            .args(["-c", script])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let keeps_the_child = ends.stdin.take();
        let (socket, _) = listener.accept().unwrap();
        ends.wait().unwrap();
        let peer = Peer::of(&socket);
        assert!(peer.has_ended());
        drop(keeps_the_child);
    }
}
