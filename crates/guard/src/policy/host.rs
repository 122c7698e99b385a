//! Hosts, and patterns on them: a name, every name below a domain, an address, a network,
//! or one of the program's categories of hosts; each with a port if wanted.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

/// A host, written in the one way in which hosts are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// In small letters, without the root's dot.
    Name(String),
    Address(IpAddr),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHost {
    #[error("`{0}` is no name of a host: labels of letters, digits and `-`, with dots between")]
    Name(String),
    /// Programs differ in what they take it for.
    #[error("`{0}` is a number, and programs differ in which address it means: write {1}")]
    Number(String, IpAddr),
    #[error("`{0}` looks like an address and is none")]
    Address(String),
}

impl Host {
    /// The host, also where an address is written as only some programs understand it
    /// (`2130706433`, `0x7f.1`, `0177.0.0.1`): for rules that deny.
    pub fn parse_any(text: &str) -> Result<Self, InvalidHost> {
        match text.parse() {
            Err(InvalidHost::Number(_, address)) => Ok(Self::Address(address)),
            other => other,
        }
    }

    /// The address, if it is one.
    #[must_use]
    pub const fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Name(_) => None,
        }
    }

    /// What stands for this machine without being asked about.
    #[must_use]
    pub fn is_local_name(&self) -> bool {
        match self {
            Self::Name(name) => {
                name == "localhost"
                    || name.ends_with(".localhost")
                    || name == "ip6-localhost"
                    || name == "localhost.localdomain"
            }
            Self::Address(_) => false,
        }
    }
}

impl FromStr for Host {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let shown = || text.chars().take(80).collect::<String>();
        let bare = text
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if bare.is_some() || text.contains(':') {
            let address = bare.unwrap_or(text);
            return match address.parse::<IpAddr>() {
                Ok(address) => Ok(Self::Address(address.to_canonical())),
                Err(_) => Err(InvalidHost::Address(shown())),
            };
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if let Some(address) = number(&name) {
            return Err(InvalidHost::Number(shown(), address.into()));
        }
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        if name.len() > 253 || !name.split('.').all(label) {
            return Err(InvalidHost::Name(shown()));
        }
        // No domain is a number: what ends in one is an address that failed.
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") {
            return Err(InvalidHost::Address(shown()));
        }
        Ok(Self::Name(name))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

/// An IPv4 address of one to four numbers, each decimal, octal or hexadecimal, as the C
/// library reads them.
fn number(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() > 4 {
        return None;
    }
    let value = |part: &str| -> Option<u32> {
        if let Some(hex) = part.strip_prefix("0x") {
            return u32::from_str_radix(if hex.is_empty() { "0" } else { hex }, 16).ok();
        }
        if part.len() > 1 && part.starts_with('0') {
            return u32::from_str_radix(part, 8).ok();
        }
        part.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| part.parse().ok())?
    };
    let numbers: Vec<u32> = parts.into_iter().map(value).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let mut address = 0_u32;
    for (index, number) in first.iter().enumerate() {
        let byte = u8::try_from(*number).ok()?;
        address |= u32::from(byte) << (24 - 8 * index);
    }
    let room = 32 - 8 * u32::try_from(first.len()).ok()?;
    if room < 32 && *last >> room != 0 {
        return None;
    }
    Some(Ipv4Addr::from(address | last))
}

/// Hosts that are meant together. The names are part of the product.
const CATEGORIES: [(&str, &str, &str); 4] = [
    (
        "models",
        "the models of the agent CLIs",
        "api.anthropic.com console.anthropic.com claude.ai platform.claude.com statsig.anthropic.com \
         api.openai.com auth.openai.com chatgpt.com generativelanguage.googleapis.com \
         cloudcode-pa.googleapis.com oauth2.googleapis.com accounts.google.com openrouter.ai \
         opencode.ai models.dev api.githubcopilot.com",
    ),
    (
        "packages",
        "registries of packages, to read from",
        "crates.io index.crates.io static.crates.io static.rust-lang.org registry.npmjs.org \
         registry.yarnpkg.com nodejs.org pypi.org files.pythonhosted.org rubygems.org \
         index.rubygems.org proxy.golang.org sum.golang.org repo.maven.apache.org \
         repo1.maven.org plugins.gradle.org deb.debian.org security.debian.org archive.ubuntu.com",
    ),
    (
        "code",
        "hosts of repositories",
        "github.com api.github.com codeload.github.com objects.githubusercontent.com \
         raw.githubusercontent.com gitlab.com bitbucket.org codeberg.org",
    ),
    (
        "documentation",
        "documentation of languages and libraries",
        "docs.rs doc.rust-lang.org docs.python.org developer.mozilla.org pkg.go.dev \
         docs.oracle.com learn.microsoft.com react.dev nodejs.org readthedocs.io readthedocs.org",
    ),
];

/// The categories with what they stand for and their hosts.
pub fn categories() -> impl Iterator<Item = (&'static str, &'static str, Vec<&'static str>)> {
    let all = CATEGORIES.iter();
    all.map(|(name, what, hosts)| (*name, *what, hosts.split_whitespace().collect()))
}

/// Which hosts are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosts {
    All,
    Name(String),
    /// The domain and every name below it.
    Domain(String),
    Network(Network),
    Category(&'static str),
}

/// Addresses that begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                alike(own.to_bits().into(), other.to_bits().into(), 32, self.bits)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                alike(own.to_bits(), other.to_bits(), 128, self.bits)
            }
            _ => false,
        }
    }

    /// The address, if it is one alone.
    #[must_use]
    pub fn only_address(&self) -> Option<IpAddr> {
        let width = if self.address.is_ipv4() { 32 } else { 128 };
        (self.bits == width).then_some(self.address)
    }

    /// Whether all of another lies within.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }
}

fn alike(one: u128, other: u128, width: u8, bits: u8) -> bool {
    let shift = u32::from(width - bits);
    shift >= 128 || one >> shift == other >> shift
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = if self.address.is_ipv4() { 32 } else { 128 };
        if self.bits == width {
            write!(f, "{}", Host::Address(self.address))
        } else {
            write!(f, "{}/{}", self.address, self.bits)
        }
    }
}

/// A pattern on hosts with the ports it holds for; no ports are all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    pub hosts: Hosts,
    pub ports: Vec<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHostPattern {
    #[error(transparent)]
    Host(#[from] InvalidHost),
    #[error(
        "`{0}` is an address of a page: write the host alone, `{1}`; paths have their own layer, [[rest]]"
    )]
    Url(String, String),
    #[error("`{0}` is no category of hosts; there are {1}")]
    Category(String, String),
    #[error("`{0}`: a `*` stands for the beginning of a name, as in `*.example.com`, or alone")]
    Star(String),
    #[error("`{0}` means all of a top-level domain: name more of it")]
    TopLevel(String),
    #[error("`{0}` is no network: an address and the bits that count, as in `10.0.0.0/8`")]
    Network(String),
    #[error("`{0}` has bits beyond its network: write `{1}`")]
    Bits(String, String),
    #[error("`{0}`: a port is a number from 1 to 65535")]
    Port(String),
}

impl HostPattern {
    /// Whether it holds for a host and a port; a port that is not known is any.
    #[must_use]
    pub fn matches(&self, host: &Host, port: Option<u16>) -> bool {
        let port_fits = match port {
            Some(port) => self.ports.is_empty() || self.ports.contains(&port),
            None => true,
        };
        port_fits && self.hosts.contain(host)
    }

    /// Whether it is certain that it holds: a port that is not known is none of a list.
    #[must_use]
    pub fn surely_matches(&self, host: &Host, port: Option<u16>) -> bool {
        (port.is_some() || self.ports.is_empty()) && self.matches(host, port)
    }

    /// Whether everything the other means is meant by this one too.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let ports = self.ports.is_empty()
            || (!other.ports.is_empty()
                && other.ports.iter().all(|port| self.ports.contains(port)));
        ports && self.hosts.cover(&other.hosts)
    }
}

impl Hosts {
    fn contain(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::All, _) => true,
            (Self::Name(own), Host::Name(name)) => own == name,
            (Self::Domain(domain), Host::Name(name)) => is_below(name, domain),
            (Self::Network(network), Host::Address(address)) => network.contains(*address),
            (Self::Category(category), Host::Name(name)) => {
                hosts_of(category).any(|known| known == name)
            }
            _ => false,
        }
    }

    fn cover(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Domain(own), Self::Domain(other) | Self::Name(other)) => is_below(other, own),
            (Self::Network(own), Self::Network(other)) => own.covers(other),
            (_, Self::Category(category)) if self != other => {
                hosts_of(category).all(|name| self.contain(&Host::Name(name.to_owned())))
            }
            (Self::Category(category), Self::Name(name)) => {
                hosts_of(category).any(|known| known == name)
            }
            _ => self == other,
        }
    }
}

fn hosts_of(category: &str) -> impl Iterator<Item = &'static str> {
    let found = CATEGORIES.iter().find(|(name, ..)| *name == category);
    let hosts = found.map_or("", |(_, _, hosts)| hosts);
    hosts.split_whitespace()
}

fn is_below(name: &str, domain: &str) -> bool {
    name == domain
        || name
            .strip_suffix(domain)
            .is_some_and(|rest| rest.ends_with('.'))
}

impl FromStr for HostPattern {
    type Err = InvalidHostPattern;

    fn from_str(text: &str) -> Result<Self, InvalidHostPattern> {
        if let Some((_, rest)) = text.split_once("://") {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = host.rsplit('@').next().unwrap_or_default();
            return Err(InvalidHostPattern::Url(text.to_owned(), host.to_owned()));
        }
        if let Some(name) = text.strip_prefix("category:") {
            let known = CATEGORIES.iter().find(|(known, ..)| *known == name);
            let names = || {
                let names: Vec<&str> = CATEGORIES.iter().map(|(name, ..)| *name).collect();
                names.join(", ")
            };
            return match known {
                Some((name, ..)) => Ok(Self {
                    hosts: Hosts::Category(name),
                    ports: Vec::new(),
                }),
                None => Err(InvalidHostPattern::Category(name.to_owned(), names())),
            };
        }
        let (host, port) = split_port(text);
        let ports = match port {
            None => Vec::new(),
            Some(port) => match port.parse::<u16>() {
                Ok(port @ 1..) => vec![port],
                _ => return Err(InvalidHostPattern::Port(text.to_owned())),
            },
        };
        let hosts = hosts(host)?;
        Ok(Self { hosts, ports })
    }
}

fn hosts(text: &str) -> Result<Hosts, InvalidHostPattern> {
    if text == "*" {
        return Ok(Hosts::All);
    }
    if let Some((address, bits)) = text.split_once('/') {
        let bad = || InvalidHostPattern::Network(text.to_owned());
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits: u8 = bits.parse().map_err(|_| bad())?;
        if bits > width {
            return Err(bad());
        }
        let first = first_of(address, bits);
        if first != address {
            return Err(InvalidHostPattern::Bits(
                text.to_owned(),
                format!("{first}/{bits}"),
            ));
        }
        return Ok(Hosts::Network(Network { address, bits }));
    }
    if let Some(domain) = text.strip_prefix("*.") {
        return match domain.parse()? {
            Host::Name(domain) if domain.contains('.') => Ok(Hosts::Domain(domain)),
            Host::Name(_) => Err(InvalidHostPattern::TopLevel(text.to_owned())),
            Host::Address(_) => Err(InvalidHostPattern::Star(text.to_owned())),
        };
    }
    if text.contains('*') {
        return Err(InvalidHostPattern::Star(text.to_owned()));
    }
    Ok(match text.parse()? {
        Host::Name(name) => Hosts::Name(name),
        Host::Address(address) => Hosts::Network(Network {
            address,
            bits: if address.is_ipv4() { 32 } else { 128 },
        }),
    })
}

fn first_of(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            Ipv4Addr::from(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            std::net::Ipv6Addr::from(address.to_bits() & mask).into()
        }
    }
}

/// `host:port`, `[address]:port` or a host alone.
pub(super) fn split_port(text: &str) -> (&str, Option<&str>) {
    if let Some(end) = text.strip_prefix('[').and_then(|rest| rest.find(']')) {
        let (host, rest) = text.split_at(end + 2);
        return (host, rest.strip_prefix(':'));
    }
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, Some(port)),
        _ => (text, None),
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::All => f.write_str("*")?,
            Hosts::Name(name) => f.write_str(name)?,
            Hosts::Domain(domain) => write!(f, "*.{domain}")?,
            Hosts::Network(network) => write!(f, "{network}")?,
            Hosts::Category(name) => write!(f, "category:{name}")?,
        }
        match self.ports.as_slice() {
            [] => Ok(()),
            [port] => write!(f, ":{port}"),
            ports => {
                let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
                write!(f, " on ports {}", ports.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, host: &str, port: u16) -> bool {
        let host = Host::parse_any(host).unwrap();
        pattern
            .parse::<HostPattern>()
            .unwrap()
            .matches(&host, Some(port))
    }

    #[test]
    fn a_host_is_met_by_its_name_domain_network_category_and_port() {
        for (pattern, host, port, met) in [
            ("api.github.com", "API.GitHub.com.", 443, true),
            ("api.github.com", "api.github.com.evil.test", 443, false),
            ("api.github.com:443", "api.github.com", 80, false),
            ("*.github.com", "github.com", 443, true),
            ("*.github.com", "a.b.github.com", 443, true),
            ("*.github.com", "evilgithub.com", 443, false),
            ("10.0.0.0/8", "10.9.8.7", 80, true),
            ("10.0.0.0/8", "11.0.0.1", 80, false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", 80, true),
            ("127.0.0.1:3000", "127.0.0.1", 3000, true),
            ("127.0.0.1:3000", "127.0.0.1", 3001, false),
            ("127.0.0.0/8", "2130706433", 80, true),
            ("127.0.0.0/8", "0x7f.1", 80, true),
            ("127.0.0.0/8", "0177.0.0.1", 80, true),
            ("fd00::/8", "[fd12::9]", 80, true),
            ("category:packages", "static.crates.io", 443, true),
            ("category:packages", "evil.crates.io", 443, false),
            ("*", "anything.example", 1, true),
        ] {
            assert_eq!(matches(pattern, host, port), met, "{pattern} {host}:{port}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_what_was_meant() {
        for (text, said) in [
            (
                "https://api.github.com/x",
                "write the host alone, `api.github.com`",
            ),
            (
                "category:pakages",
                "there are models, packages, code, documentation",
            ),
            ("10.0.0.1/8", "write `10.0.0.0/8`"),
            ("10.0.0.0/33", "is no network"),
            ("2130706433", "write 127.0.0.1"),
            ("git*hub.com", "stands for the beginning of a name"),
            ("*.com", "top-level domain"),
            ("example.com:0", "a port is a number"),
            ("exa mple.com", "is no name of a host"),
            ("1.2.3.4.5", "looks like an address and is none"),
        ] {
            let error = text.parse::<HostPattern>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
