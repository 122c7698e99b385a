//! Who is at the other end of a TCP connection that comes from this machine: the processes
//! that hold its socket. The kernel tells of a socket which user made it and of a process
//! which sockets it holds; both are in `/proc`, and only Linux has it.
//!
//! A socket need not be held by a process that can be seen: that of another user is hidden,
//! one that may not be looked into too, and a socket that is on its way from one process to
//! another is held by none.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// So often it is looked for whoever connects from here and is not found.
const LOOKS: usize = 3;

/// Who is at the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// The system tells nothing of connections.
    NoTable,
    /// Somebody on another machine, or in a network of their own on this one.
    Elsewhere,
    /// Somebody on this machine of whom no process is seen; the user, where that is known.
    Unseen { user: Option<u32> },
    /// The processes that hold the socket.
    Held(Vec<u32>),
}

impl Peer {
    /// Who connects from `theirs` to `ours`. The processes in `hints` are looked at first,
    /// and no other if one of them it is.
    #[must_use]
    pub fn of(theirs: SocketAddr, ours: SocketAddr, hints: &[u32]) -> Self {
        // The table is read piece by piece, and a row may be missed while it changes.
        for _ in 1..LOOKS {
            let found = Self::at_a_look(theirs, ours, hints);
            if found != (Self::Unseen { user: None }) {
                return found;
            }
        }
        Self::at_a_look(theirs, ours, hints)
    }

    fn at_a_look(theirs: SocketAddr, ours: SocketAddr, hints: &[u32]) -> Self {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
        if tables.iter().all(Result::is_err) {
            return Self::NoTable;
        }
        let lines = tables.iter().flatten().flat_map(|table| table.lines());
        let mut found: Option<Row> = None;
        for row in lines.filter_map(Row::parse) {
            if !row.is_listening && same(row.local, theirs) {
                // What redirects connections shows another address to whoever connects.
                let is_exact = same(row.remote, ours);
                if is_exact || found.is_none() {
                    found = Some(row);
                }
                if is_exact {
                    break;
                }
            }
        }
        match found {
            None if theirs.ip().to_canonical().is_loopback()
                || theirs.ip().to_canonical() == ours.ip().to_canonical() =>
            {
                Self::Unseen { user: None }
            }
            None => Self::Elsewhere,
            Some(row) => row.peer(hints),
        }
    }
}

/// A socket of this machine's network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    local: SocketAddr,
    remote: SocketAddr,
    is_listening: bool,
    user: u32,
    inode: u64,
}

impl Row {
    /// `0: 0100007F:1F90 0100007F:A2C4 01 00000000:00000000 00:00000000 00000000 1000 0 12345 …`
    fn parse(line: &str) -> Option<Self> {
        const LISTENS: &str = "0A";
        let mut fields = line.split_ascii_whitespace().skip(1);
        Some(Self {
            local: address(fields.next()?)?,
            remote: address(fields.next()?)?,
            is_listening: fields.next()? == LISTENS,
            user: fields.nth(3)?.parse().ok()?,
            inode: fields.nth(1)?.parse().ok()?,
        })
    }

    fn peer(self, hints: &[u32]) -> Peer {
        // One that is closed on their side belongs to nobody any more, and its user is not
        // that of who made it.
        if self.inode == 0 {
            return Peer::Unseen { user: None };
        }
        let name = format!("socket:[{}]", self.inode);
        if let Some(holder) = hints.iter().find(|pid| holds(**pid, &name)) {
            return Peer::Held(vec![*holder]);
        }
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let holders: Vec<u32> = pids.filter(|pid| holds(*pid, &name)).collect();
        if holders.is_empty() {
            let user = Some(self.user);
            return Peer::Unseen { user };
        }
        Peer::Held(holders)
    }
}

fn holds(pid: u32, socket: &str) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd"));
    let mut files = files.into_iter().flatten().flatten();
    files.any(|file| fs::read_link(file.path()).is_ok_and(|is| is.as_os_str() == socket))
}

/// An address as the kernel writes it: words of the network's order as this machine's numbers.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| {
        let word = u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip: IpAddr = if ip.len() == 8 {
        Ipv4Addr::from(word(0)?).into()
    } else {
        let mut bytes = [0; 16];
        for (number, place) in bytes.chunks_exact_mut(4).enumerate() {
            place.copy_from_slice(&word(8 * number)?);
        }
        Ipv6Addr::from(bytes).into()
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// The same place, also where one says it in the newer form of addresses.
fn same(one: SocketAddr, other: SocketAddr) -> bool {
    one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn whoever_holds_the_other_end_is_found() {
        for place in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(place) else {
                eprintln!("not tried here: {place}");
                continue;
            };
            let ours = listener.local_addr().unwrap();
            let stream = TcpStream::connect(ours).unwrap();
            let theirs = stream.local_addr().unwrap();
            let own = std::process::id();
            assert_eq!(Peer::of(theirs, ours, &[]), Peer::Held(vec![own]));
            assert_eq!(Peer::of(theirs, ours, &[1, own]), Peer::Held(vec![own]));
            let (accepted, _) = listener.accept().unwrap();
            drop(stream);
            assert_eq!(Peer::of(theirs, ours, &[]), Peer::Unseen { user: None });
            drop(accepted);
        }
    }

    #[test]
    fn who_is_not_of_this_machine_is_elsewhere() {
        let ours = "192.0.2.1:80".parse().unwrap();
        let theirs = "198.51.100.7:40000".parse().unwrap();
        assert_eq!(Peer::of(theirs, ours, &[]), Peer::Elsewhere);
        let nobody = "127.0.0.1:1".parse().unwrap();
        assert_eq!(Peer::of(nobody, ours, &[]), Peer::Unseen { user: None });
    }

    #[test]
    fn a_line_of_the_table_is_read() {
        let line = "   1: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  \
                    1000        0 45678 1 0000000000000000 100 0 0 10 0";
        let row = Row::parse(line).unwrap();
        assert!(row.is_listening);
        assert_eq!((row.local.port(), row.user, row.inode), (8080, 1000, 45678));
        assert!(Row::parse("  sl  local_address rem_address   st tx_queue").is_none());
        let mapped = address("0000000000000000FFFF00000100007F:0050").unwrap();
        #[cfg(target_endian = "little")]
        assert!(same(mapped, "127.0.0.1:80".parse().unwrap()));
        #[cfg(target_endian = "big")]
        let _ = mapped;
    }
}
