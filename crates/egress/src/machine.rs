//! Ports of this machine that a caller was given by name: bytes both ways, and nothing read.

use std::net::{IpAddr, Ipv4Addr};

use missiond_guard::policy::Host;
use tokio::net::{TcpStream, UnixStream};

use crate::judge::{Caller, Outcome, Report, Target};
use crate::serve::Context;

/// A port of this machine's loopback, and the key of the configuration that gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachinePort {
    pub port: u16,
    pub given_by: &'static str,
}

impl MachinePort {
    /// Each of these ports.
    pub fn each(ports: &[u16], given_by: &'static str) -> impl Iterator<Item = Self> {
        ports.iter().map(move |port| Self {
            port: *port,
            given_by,
        })
    }
}

pub(crate) async fn serve_port(mut inside: UnixStream, given: MachinePort, context: &Context) {
    let address = IpAddr::from(Ipv4Addr::LOCALHOST);
    context.parts.judge.report(Report {
        caller: Caller::clone(&context.caller),
        target: Target {
            host: Host::Address(address),
            port: given.port,
            request: None,
        },
        outcome: Outcome::Allowed,
        rules: vec![given.given_by.to_owned()],
        reason: format!("{} names this port", given.given_by),
        address: Some(address),
    });
    // Nobody listens: the program sees its connection closed.
    let Ok(mut outside) = TcpStream::connect((address, given.port)).await else {
        return;
    };
    let _ = outside.set_nodelay(true);
    let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
}
