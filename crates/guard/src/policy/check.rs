//! Whether rules do what their examples say, and which of them can never decide anything:
//! said when a policy is read, because nobody would notice later.

use missiond_core::{CliEngine, Timestamp};

use super::address;
use super::file::{Policy, PolicyProblem};
use super::host::{Host, split_port};
use super::rest::RestPath;
use super::rule::{Access, Layer, PolicyRule, Subject};
use crate::permissions::{Argument, Effect, PathBase, Request, Rule, Shown, decide};

/// What is wrong with an example, if it is not decided as it should be.
pub(super) fn example(
    rules: &[PolicyRule],
    layer: Layer,
    text: &str,
    should_fall: bool,
) -> Option<String> {
    let falls = match layer {
        Layer::Shell | Layer::Files => falls_under_permission(rules, layer, text),
        Layer::Network => host_and_port(text).map(|(host, port)| {
            rules.iter().any(|rule| match &rule.subject {
                Subject::Network(hosts) => hosts.matches(&host, port),
                _ => false,
            })
        }),
        Layer::Rest => match text.split_once(' ') {
            Some((method, path)) if path.starts_with('/') => {
                let path = RestPath::of(path);
                Ok(rules.iter().any(|rule| match &rule.subject {
                    Subject::Rest { request, .. } if rule.effect == Effect::Allow => {
                        request.allows(Some(method), Some(&path))
                    }
                    Subject::Rest { request, .. } => request.concerns(Some(method), Some(&path)),
                    _ => false,
                }))
            }
            _ => Err(format!("`{text}` is no example: write `GET /a/path`")),
        },
    };
    match falls {
        Err(problem) => Some(problem),
        Ok(falls) if falls == should_fall => None,
        Ok(true) => Some(format!(
            "its example `{text}` falls under this table and should not"
        )),
        Ok(false) => Some(format!(
            "its example `{text}` does not fall under this table"
        )),
    }
}

fn host_and_port(text: &str) -> Result<(Host, Option<u16>), String> {
    let (host, port) = split_port(text);
    let host = Host::parse_any(host).map_err(|error| error.to_string())?;
    let port = port.map(str::parse).transpose();
    Ok((
        host,
        port.map_err(|_| format!("`{text}` has no port that is a number"))?,
    ))
}

fn falls_under_permission(rules: &[PolicyRule], layer: Layer, text: &str) -> Result<bool, String> {
    let base = PathBase {
        folder: "/home/user/project".to_owned(),
        home: Some("/home/user".to_owned()),
    };
    let writes = rules.iter().all(|rule| {
        matches!(
            &rule.subject,
            Subject::Files {
                access: Access::Write,
                ..
            }
        )
    });
    let mut request = Request {
        tool: Some(
            match layer {
                Layer::Shell => "Bash",
                _ if writes => "Write",
                _ => "Read",
            }
            .to_owned(),
        ),
        shown: Shown::Exact,
        ..Request::from_engine(CliEngine::Claude)
    };
    match layer {
        Layer::Shell => request.argument = Some(Argument::Command(text.to_owned())),
        _ => request.paths = vec![base.absolute(text)],
    }
    request.base = base;
    let rules: Vec<Rule> = rules.iter().filter_map(PolicyRule::permission).collect();
    let verdict = decide(&rules, &request, Timestamp::from_micros(0));
    Ok(!verdict.rules.is_empty())
}

/// Rules that contradict each other, and rules that never decide anything.
pub(super) fn warnings(policy: &Policy) -> Vec<PolicyProblem> {
    let mut warnings = Vec::new();
    for (index, rule) in policy.rules.iter().enumerate() {
        let problem = by_itself(rule)
            .or_else(|| beside(rule, index, &policy.rules))
            .or_else(|| without_network(rule, policy));
        warnings.extend(problem.map(|problem| PolicyProblem {
            file: policy.source.name().to_owned(),
            line: Some(rule.line),
            problem,
        }));
    }
    warnings
}

/// What never is what a rule says.
fn by_itself(rule: &PolicyRule) -> Option<String> {
    let never = |why: &str| Some(format!("`{}` can never match: {why}", rule.sentence()));
    match &rule.subject {
        Subject::Shell(pattern) => {
            let text = pattern.as_str();
            if text.starts_with("re:") {
                return None;
            }
            if text != text.trim() || text.contains("  ") {
                return never("commands are compared with single blanks between their words");
            }
            let separated = ["&&", "||", ";", "|"]
                .iter()
                .find(|sign| text.contains(**sign));
            match separated {
                Some(sign) if rule.effect == Effect::Allow => never(&format!(
                    "each part of a command is judged by itself, and none holds `{sign}`"
                )),
                _ => None,
            }
        }
        Subject::Network(hosts) if rule.effect == Effect::Allow => {
            let super::host::Hosts::Network(network) = &hosts.hosts else {
                return None;
            };
            let closed = network.only_address().map(address::classify)?;
            let opens = closed == address::AddressClass::Public || closed.may_be_opened();
            if opens {
                return None;
            }
            never(&format!("it is {closed}, which no rule opens"))
        }
        _ => None,
    }
}

/// What another rule of the file makes of it.
fn beside(rule: &PolicyRule, index: usize, all: &[PolicyRule]) -> Option<String> {
    let own = rule.sentence();
    for (other_index, other) in all.iter().enumerate() {
        if other_index == index || !covers(&other.subject, &rule.subject) {
            continue;
        }
        let same = covers(&rule.subject, &other.subject);
        let line = other.line;
        if rule.effect < other.effect {
            return Some(if same {
                format!(
                    "`{own}` contradicts line {line}, `{}`: {} wins",
                    other.sentence(),
                    other.effect.as_str()
                )
            } else {
                format!(
                    "`{own}` can never match: line {line}, `{}`, is about all of it and wins",
                    other.sentence()
                )
            });
        }
        // Of two that say the same the second is one too many.
        if rule.effect == other.effect && (!same || other_index < index) {
            return Some(format!(
                "`{own}` is said already by line {line}, `{}`",
                other.sentence()
            ));
        }
    }
    None
}

/// Requests that are allowed to a host that is not.
fn without_network(rule: &PolicyRule, policy: &Policy) -> Option<String> {
    let Subject::Rest { host, .. } = &rule.subject else {
        return None;
    };
    let allowing = |hosts: &super::host::HostPattern| hosts.covers(host) || host.covers(hosts);
    let of_network = |rule: &&PolicyRule| {
        rule.effect == Effect::Allow
            && matches!(&rule.subject, Subject::Network(hosts) if allowing(hosts))
    };
    let reached = policy.starter || policy.rules.iter().any(|rule| of_network(&rule));
    let own_network = policy
        .rules
        .iter()
        .any(|rule| rule.layer() == Layer::Network);
    if reached || rule.effect != Effect::Allow || !own_network {
        return None;
    }
    Some(format!(
        "`{}` can never match: no [[network]] rule allows reaching {host}",
        rule.sentence()
    ))
}

fn covers(one: &Subject, other: &Subject) -> bool {
    match (one, other) {
        (Subject::Shell(one), Subject::Shell(other)) => text_covers(one.as_str(), other.as_str()),
        (
            Subject::Files { path, access },
            Subject::Files {
                path: other,
                access: other_access,
            },
        ) => access.covers(*other_access) && path_covers(path.as_str(), other.as_str()),
        (Subject::Network(one), Subject::Network(other)) => one.covers(other),
        (
            Subject::Rest { host, request },
            Subject::Rest {
                host: other_host,
                request: other,
            },
        ) => host.covers(other_host) && request.covers(other),
        _ => false,
    }
}

/// Whether a glob fits every text that another fits, as far as it can be seen. A `*` of the
/// other is fitted by a `*` alone, so it is taken for a character that nobody writes.
fn text_covers(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let open = |text: &str| text.starts_with("re:") || text.contains('?');
    if open(one) || open(other) {
        return false;
    }
    // `git log*` is a word's beginning and not `git logout`, so only a blank goes on.
    let beginning = one.strip_suffix('*').filter(|text| !text.contains('*'));
    match beginning {
        Some("") => true,
        Some(beginning) if beginning.ends_with(' ') => other.starts_with(beginning),
        Some(beginning) => other
            .strip_prefix(beginning)
            .is_some_and(|rest| rest.is_empty() || rest == "*" || rest.starts_with(' ')),
        None => !one.contains('*') && one == other,
    }
}

fn path_covers(one: &str, other: &str) -> bool {
    if one == other
        || one == "**" && !other.starts_with(['/', '~'])
        || one == "/**" && other.starts_with('/')
    {
        return true;
    }
    one.strip_suffix("/**").is_some_and(|folder| {
        !folder.contains(['*', '?'])
            && (other == folder || other.starts_with(&format!("{folder}/")))
    })
}
