//! Where HTTP is served, and under which names.

use std::net::SocketAddr;

use crate::keys::{InvalidValue, section};

section! {
    pub struct HttpConfig: "http." {
        /// Serve the web board, the operations and metrics over HTTP on this machine.
        restart enabled: bool = true;
        /// Loopback address and port for HTTP; port 0 takes a free one and keeps to it,
        /// and `mission status` shows it.
        restart listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 0));
        /// Allow `http.listen` to be an address that others can reach. Nothing is
        /// encrypted: put a proxy with TLS before it.
        restart allow_public: bool = false;
        /// Names besides those of the loopback under which HTTP may be reached, for
        /// example `["board.example"]`; requests for any other are refused.
        restart hosts: Vec<String> = Vec::new();
        /// Who connects from this machine and is not seen, as a tunnel (`ssh -L`) or what runs
        /// outside the daemon's container, counts as what they show. An agent that found a
        /// login or a token could hide itself too; without this they may only look.
        live tunnels: bool = false;
        /// Requests per second of one browser or token over HTTP.
        live requests_per_second: u32 = 200, in 1..=1_000_000;
    }
}

impl HttpConfig {
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        if !self.listen.ip().is_loopback() && !self.allow_public {
            let message = format!(
                "must be a loopback address, but is {}; others could reach it, without \
                 encryption, and `http.allow_public = true` says that you want that",
                self.listen
            );
            return Err(InvalidValue::new("http.listen", message));
        }
        let is_name = |host: &String| {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
            !host.is_empty() && host.chars().all(fits)
        };
        if let Some(host) = self.hosts.iter().find(|host| !is_name(host)) {
            let message = format!("takes names of hosts or addresses, and `{host}` is none");
            return Err(InvalidValue::new("http.hosts", message));
        }
        Ok(())
    }
}
