//! The loopback of a network of one's own, which is down when it is made.

use std::os::fd::AsRawFd;

use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// The loopback is the first interface of every network.
const LOOPBACK: i32 = 1;
/// Header, interface message.
const LENGTH: u32 = 16 + 16;

/// Needs the right to change this network.
pub(crate) fn bring_up() -> Result<(), String> {
    let failed = |what: &dyn std::fmt::Display| format!("no loopback of one's own: {what}");
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )
    .map_err(|error| failed(&error))?;
    let fd = socket.as_raw_fd();
    sendto(fd, &request(), &NetlinkAddr::new(0, 0), MsgFlags::empty())
        .map_err(|error| failed(&error))?;
    let mut answer = [0; 256];
    let read = recv(fd, &mut answer, MsgFlags::empty()).map_err(|error| failed(&error))?;
    // Header, then the error number, which is 0 when it was done.
    match answer.get(16..20).filter(|_| read >= 20) {
        Some([0, 0, 0, 0]) => Ok(()),
        Some(number) => {
            let number = i32::from_ne_bytes(number.try_into().unwrap_or_default());
            Err(failed(&nix::errno::Errno::from_raw(-number)))
        }
        None => Err(failed(&"the kernel's answer is too short")),
    }
}

/// "Set the flag UP of the first interface, and say whether you did."
fn request() -> Vec<u8> {
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK).cast_unsigned() as u16;
    let up = libc::IFF_UP.cast_unsigned();
    let mut message = Vec::with_capacity(LENGTH as usize);
    message.extend(LENGTH.to_ne_bytes());
    message.extend(libc::RTM_NEWLINK.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend(1u32.to_ne_bytes());
    message.extend(0u32.to_ne_bytes());
    message.extend([0, 0, 0, 0]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(up.to_ne_bytes());
    message.extend(up.to_ne_bytes());
    message
}
