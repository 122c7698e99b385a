//! The layers of networks: hosts with their ports, and methods and paths where they are
//! seen. Pure, and the same for a command that names a host, a tool that fetches a page and
//! a connection that the proxy is asked for.

use std::net::IpAddr;

use super::address::{self, AddressClass};
use super::file::{Policy, PolicyProblem};
use super::host::{Host, HostPattern, Hosts};
use super::policies::Policies;
use super::reach::Endpoint;
use super::rest::RestPath;
use super::rule::{Layer, PolicyRule, Subject};
use crate::permissions::Effect;

/// What was decided about one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkDecision {
    pub effect: Effect,
    pub layer: Layer,
    /// The names of the rules that decided; none where nothing is known.
    pub rules: Vec<String>,
    pub reason: String,
    pub change: Option<String>,
}

/// What somebody wants to reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outbound<'a> {
    pub host: &'a Host,
    pub port: u16,
    /// What is asked; none where it cannot be seen, as within TLS.
    pub request: Option<(&'a str, &'a str)>,
}

/// The name of the rule that nobody can change.
pub(super) const BUILT_IN: &str = "built-in-metadata";

/// Names under which clouds hand out credentials.
const METADATA_NAMES: [&str; 3] = [
    "metadata.google.internal",
    "metadata.goog",
    "instance-data.ec2.internal",
];

impl Policies {
    /// Whether something may be reached through the proxy, before its name is resolved.
    #[must_use]
    pub fn outbound(&self, asked: &Outbound<'_>) -> NetworkDecision {
        let (method, path) = asked.request.map_or((None, None), |(method, path)| {
            (Some(method.to_owned()), Some(RestPath::of(path)))
        });
        let endpoint = Endpoint {
            host: asked.host.clone(),
            port: Some(asked.port),
            method,
            path,
        };
        let policies: Vec<&Policy> = self.of_networks().collect();
        let seen = if asked.request.is_some() {
            Seen::All
        } else {
            Seen::HostAlone
        };
        let decided = judge(&policies, &endpoint, seen);
        match self.broken.first() {
            Some(problem) if decided.effect == Effect::Allow => broken(problem, decided.layer),
            _ => decided,
        }
    }

    /// Whether the address that a name was resolved to may be connected to. An address of
    /// one's own network has to be allowed by a rule that names it.
    pub fn address(&self, host: &Host, port: u16, address: IpAddr) -> Result<(), String> {
        let address = address.to_canonical();
        let here = Host::Address(address);
        let rules = || self.of_networks().flat_map(|policy| &policy.rules);
        let meant = |rule: &&PolicyRule, effect: Effect| match &rule.subject {
            Subject::Network(hosts) => {
                rule.effect == effect
                    && matches!(hosts.hosts, Hosts::Network(_))
                    && hosts.matches(&here, Some(port))
            }
            _ => false,
        };
        for effect in [Effect::Deny, Effect::Ask] {
            if let Some(rule) = rules().find(|rule| meant(rule, effect)) {
                return Err(format!(
                    "{host} is {address}, and {}: {}",
                    rule.name,
                    rule.sentence()
                ));
            }
        }
        let class = address::classify(address);
        if class == AddressClass::Public {
            return Ok(());
        }
        if class.may_be_opened() && rules().any(|rule| meant(&rule, Effect::Allow)) {
            return Ok(());
        }
        Err(format!("{host} is {address}, {class}"))
    }
}

pub(super) fn broken(problem: &PolicyProblem, layer: Layer) -> NetworkDecision {
    NetworkDecision {
        effect: Effect::Ask,
        layer,
        rules: Vec::new(),
        reason: format!("nothing is allowed while a policy cannot be read: {problem}"),
        change: Some("correct the file; `mission policy check` says when it is right".to_owned()),
    }
}

/// What is known of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// As far as it is told.
    All,
    /// Everything but the host goes by unseen.
    HostAlone,
}

/// What policies say about a host and what is asked of it.
pub(super) fn judge(policies: &[&Policy], endpoint: &Endpoint, seen: Seen) -> NetworkDecision {
    let Endpoint {
        host,
        port,
        method,
        path,
    } = endpoint;
    if let Some(decided) = built_in(host) {
        return decided;
    }
    let rules = || policies.iter().flat_map(|policy| &policy.rules);
    let of_network = |effect: Effect, surely: bool| {
        rules().find(move |rule| match &rule.subject {
            Subject::Network(hosts) if rule.effect == effect && surely => {
                hosts.surely_matches(host, *port)
            }
            Subject::Network(hosts) if rule.effect == effect => hosts.matches(host, *port),
            _ => false,
        })
    };
    let opaque = policies
        .iter()
        .flat_map(|policy| &policy.opaque)
        .any(|hosts: &HostPattern| hosts.matches(host, *port));
    let of_rest = |effect: Effect| {
        let (method, path) = (method.as_deref(), path.as_ref());
        rules().find(move |rule| match &rule.subject {
            Subject::Rest {
                host: hosts,
                request,
            } if rule.effect == effect => {
                let asked = match effect {
                    Effect::Allow => request.allows(method, path),
                    Effect::Ask | Effect::Deny => request.concerns(method, path),
                };
                hosts.matches(host, *port) && asked
            }
            _ => false,
        })
    };
    let hidden = seen == Seen::HostAlone;
    let known = method.is_some() && path.is_some();
    if let Some(rule) = of_network(Effect::Deny, false) {
        return by(rule, Effect::Deny, host);
    }
    if !hidden && let Some(rule) = of_rest(Effect::Deny) {
        return if known {
            by(rule, Effect::Deny, host)
        } else {
            doubtful(rule, host)
        };
    }
    if let Some(rule) = of_network(Effect::Ask, false) {
        return by(rule, Effect::Ask, host);
    }
    if !hidden && let Some(rule) = of_rest(Effect::Ask) {
        return by(rule, Effect::Ask, host);
    }
    let Some(allowing) = of_network(Effect::Allow, true) else {
        return NetworkDecision {
            effect: Effect::Ask,
            layer: Layer::Network,
            rules: Vec::new(),
            reason: format!(
                "no rule of the network layer allows reaching {}",
                named(host, *port)
            ),
            change: Some(format!(
                "put `allow = \"{}\"` under [[network]] in policy.toml",
                named(host, *port)
            )),
        };
    };
    let restricted = rules().find(|rule| match &rule.subject {
        Subject::Rest { host: hosts, .. } => hosts.matches(host, *port),
        _ => false,
    });
    if restricted.is_none() || (hidden && opaque) {
        return by(allowing, Effect::Allow, host);
    }
    if hidden {
        return NetworkDecision {
            effect: Effect::Ask,
            layer: Layer::Rest,
            rules: Vec::new(),
            reason: format!(
                "there are rules on requests to {host}, and within TLS no request is seen"
            ),
            change: Some(format!(
                "put `opaque = true` under the [[rest]] of {host} in policy.toml to let its TLS \
                 connections through unseen"
            )),
        };
    }
    if let Some(rule) = of_rest(Effect::Allow) {
        let mut decided = by(rule, Effect::Allow, host);
        decided.rules.insert(0, allowing.name.clone());
        return decided;
    }
    let asked = match (method, path) {
        (Some(method), Some(path)) => format!("{method} {}", path.as_str()),
        _ => "what is asked".to_owned(),
    };
    NetworkDecision {
        effect: Effect::Ask,
        layer: Layer::Rest,
        rules: Vec::new(),
        reason: format!("no rule on requests to {host} allows {asked}"),
        change: Some(format!(
            "put `allow = \"{asked}\"` under the [[rest]] of {host} in policy.toml"
        )),
    }
}

fn built_in(host: &Host) -> Option<NetworkDecision> {
    let closed = match host {
        Host::Address(address) => matches!(
            address::classify(*address),
            AddressClass::Metadata | AddressClass::LinkLocal | AddressClass::Special
        ),
        Host::Name(name) => METADATA_NAMES.contains(&name.as_str()),
    };
    closed.then(|| {
        let what = host
            .address()
            .map_or(AddressClass::Metadata, address::classify);
        NetworkDecision {
            effect: Effect::Deny,
            layer: Layer::Network,
            rules: vec![BUILT_IN.to_owned()],
            reason: format!("{BUILT_IN}: {host} is {what}, and no agent reaches it"),
            change: None,
        }
    })
}

fn by(rule: &PolicyRule, effect: Effect, host: &Host) -> NetworkDecision {
    NetworkDecision {
        effect,
        layer: rule.layer(),
        rules: vec![rule.name.clone()],
        reason: format!("{}: {}", rule.name, rule.sentence()),
        change: (effect != Effect::Allow).then(|| {
            format!(
                "take {host} out of what {} says; an allowing rule does not win over it",
                rule.name
            )
        }),
    }
}

fn doubtful(rule: &PolicyRule, host: &Host) -> NetworkDecision {
    NetworkDecision {
        reason: format!(
            "what is asked of {host} cannot be told, and it may fall under {}: {}",
            rule.name,
            rule.sentence()
        ),
        ..by(rule, Effect::Ask, host)
    }
}

fn named(host: &Host, port: Option<u16>) -> String {
    match port {
        None | Some(80 | 443) => host.to_string(),
        Some(port) => format!("{host}:{port}"),
    }
}
