//! Which addresses belong to everybody's network. An agent that is let out to a name must
//! not come back in by what that name resolves to: this machine, its network, or the
//! service that hands out the machine's own credentials.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressClass {
    Public,
    /// This machine.
    Loopback,
    /// A network of one's own: it may be allowed by its address.
    Private,
    /// Reached by everybody on the same link; clouds keep credentials there.
    LinkLocal,
    /// Where a cloud hands out credentials: never reached on an agent's behalf.
    Metadata,
    /// Many at once, nobody, or for documents and tests.
    Special,
}

impl AddressClass {
    /// Whether a rule that names the address may open it.
    #[must_use]
    pub const fn may_be_opened(self) -> bool {
        matches!(self, Self::Loopback | Self::Private)
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "a public address",
            Self::Loopback => "an address of this machine",
            Self::Private => "an address of a private network",
            Self::LinkLocal => "an address of the local link",
            Self::Metadata => "where a cloud hands out credentials",
            Self::Special => "no address of a host",
        })
    }
}

/// Addresses of metadata services that lie outside of the local link.
const METADATA_V4: [Ipv4Addr; 4] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];

const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// What an address is, together with the IPv4 address it may carry within itself.
#[must_use]
pub fn classify(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => of_v6(address),
    }
}

fn of_v4(address: Ipv4Addr) -> AddressClass {
    let [a, b, c, _] = address.octets();
    if METADATA_V4.contains(&address) {
        return AddressClass::Metadata;
    }
    match (a, b, c) {
        (127, ..) => AddressClass::Loopback,
        (0, ..) => AddressClass::Special,
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => AddressClass::Private,
        (169, 254, _) => AddressClass::LinkLocal,
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 18 | 19, _) | (198, 51, 100) | (203, 0, 113) => {
            AddressClass::Special
        }
        (224..=255, ..) => AddressClass::Special,
        _ => AddressClass::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressClass {
    if METADATA_V6.contains(&address) {
        return AddressClass::Metadata;
    }
    // One that carries an IPv4 address leads there, whatever else it says.
    if let Some(inner) = carried(address) {
        return of_v4(inner);
    }
    let segments = address.segments();
    match segments[0] {
        _ if address.is_loopback() => AddressClass::Loopback,
        _ if address.is_unspecified() => AddressClass::Special,
        0xfe80..=0xfebf => AddressClass::LinkLocal,
        0xfc00..=0xfdff | 0xfec0..=0xfeff => AddressClass::Private,
        0x2001 if segments[1] == 0xdb8 || segments[1] < 0x200 => AddressClass::Special,
        0x3fff if segments[1] < 0x1000 => AddressClass::Special,
        // All that is given out to hosts of everybody.
        0x2000..=0x3fff => AddressClass::Public,
        _ => AddressClass::Special,
    }
}

/// The IPv4 address within an IPv6 one: mapped, compatible, translated (NAT64), 6to4,
/// Teredo or ISATAP.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match s {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => Some(of(high, low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some(of(high, low)),
        [0x64, 0xff9b, _, _, _, _, high, low] => Some(of(high, low)),
        [0x2002, high, low, ..] => Some(of(high, low)),
        // Teredo hides the client's address by turning its bits round.
        [0x2001, 0, _, _, _, _, high, low] => Some(of(!high, !low)),
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_belongs_to_everybody_is_public() {
        use AddressClass::{LinkLocal, Loopback, Metadata, Private, Public, Special};
        for (address, class) in [
            ("1.1.1.1", Public),
            ("140.82.112.4", Public),
            ("172.32.0.1", Public),
            ("2606:4700::1111", Public),
            ("127.0.0.1", Loopback),
            ("127.255.0.9", Loopback),
            ("::1", Loopback),
            ("::ffff:127.0.0.1", Loopback),
            ("::127.0.0.1", Loopback),
            ("10.1.2.3", Private),
            ("172.16.0.1", Private),
            ("192.168.1.1", Private),
            ("100.64.0.1", Private),
            ("fd12::1", Private),
            ("::ffff:10.0.0.1", Private),
            ("169.254.0.7", LinkLocal),
            ("fe80::1", LinkLocal),
            ("169.254.169.254", Metadata),
            ("::ffff:169.254.169.254", Metadata),
            ("64:ff9b::a9fe:a9fe", Metadata),
            ("64:ff9b:1::a9fe:a9fe", Metadata),
            ("2002:a9fe:a9fe::1", Metadata),
            ("2001:0:1:2:3:4:5601:5601", Metadata),
            ("fd00:ec2::254", Metadata),
            ("100.100.100.200", Metadata),
            ("0.0.0.0", Special),
            ("0.0.0.1", Special),
            ("::", Special),
            ("255.255.255.255", Special),
            ("224.0.0.1", Special),
            ("198.18.0.1", Special),
            ("2001:db8::1", Special),
            ("ff02::1", Special),
            ("2002:7f00:1::", Loopback),
            ("2a00::5efe:7f00:1", Loopback),
        ] {
            assert_eq!(classify(address.parse().unwrap()), class, "{address}");
        }
    }
}
