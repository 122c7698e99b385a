//! Which hosts are this machine.

use std::net::IpAddr;

/// Whether a host (a name, or an address with or without its brackets) is this
/// machine for certain. Everything unclear is not: a name that a resolver could
/// send elsewhere, a number written in a way only some programs understand.
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    bare.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<IpAddr>()
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

/// The host of `host:port`, as a `Host` header or a URL has it. Brackets of an
/// IPv6 address are taken off.
#[must_use]
pub fn host_of_authority(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority
            .rsplit_once(':')
            .map_or(authority, |(host, _)| host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_this_machine() {
        for here in [
            "localhost",
            "LocalHost",
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "[::1]",
            "::ffff:127.0.0.1",
        ] {
            assert!(is_loopback_host(here), "{here}");
        }
        for elsewhere in [
            "",
            "localhost.example.com",
            "localhost.",
            "127.0.0.1.example.com",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0.0.0.0",
            "::",
            "192.168.0.7",
            "[::1",
            "[::1]x",
            "127.0.0.1:80",
            " 127.0.0.1",
        ] {
            assert!(!is_loopback_host(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn the_host_is_found_before_its_port() {
        for (authority, host) in [
            ("localhost", "localhost"),
            ("localhost:80", "localhost"),
            ("127.0.0.1:80", "127.0.0.1"),
            ("[::1]:80", "::1"),
            ("[::1]", "::1"),
            ("", ""),
            ("[", ""),
        ] {
            assert_eq!(host_of_authority(authority), host);
        }
    }
}
