//! A policy file, read. It is taken whole or not at all: an unknown key is named with its
//! line and the key that was probably meant, a pattern with what is wrong with it, and an
//! example that does not do what it should with what was decided instead.

use std::borrow::Cow;
use std::fmt;

use missiond_core::nearest_name;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check;
use super::file::{Policy, PolicyProblem, PolicySource};
use super::host::HostPattern;
use super::rest::RestPattern;
use super::rule::{Access, Layer, PolicyRule, Subject};
use crate::permissions::Effect;

/// Bytes of a file that are read.
pub const MAX_FILE_BYTES: usize = 256 * 1024;
const MAX_RULES: usize = 2000;
const MAX_EXAMPLES: usize = 200;
const MAX_BECAUSE: usize = 300;

/// Reads a file's text; every problem, where there is one.
pub fn read(source: PolicySource, text: &str) -> Result<Policy, Vec<PolicyProblem>> {
    let mut reader = Reader {
        source,
        text,
        policy: Policy::empty(source),
        problems: Vec::new(),
    };
    if text.len() > MAX_FILE_BYTES {
        reader.problem(
            None,
            format!("is larger than {} KiB", MAX_FILE_BYTES / 1024),
        );
        return Err(reader.problems);
    }
    match DeTable::parse(text) {
        Ok(table) => reader.file(table.get_ref()),
        Err(error) => {
            let at = error.span().map(|span| span.start);
            reader.problem(at, error.message().trim().to_owned());
        }
    }
    if !reader.problems.is_empty() {
        return Err(reader.problems);
    }
    let mut policy = reader.policy;
    policy.warnings = check::warnings(&policy);
    Ok(policy)
}

struct Reader<'t> {
    source: PolicySource,
    text: &'t str,
    policy: Policy,
    problems: Vec<PolicyProblem>,
}

/// A text of the file and where it stands.
struct Written {
    at: usize,
    text: String,
}

/// What one table says, before its layer makes rules of it.
#[derive(Default)]
struct Entry {
    at: usize,
    effects: Vec<(Effect, Vec<Written>)>,
    matching: Vec<Written>,
    not_matching: Vec<Written>,
    because: Option<String>,
    access: Option<Access>,
    ports: Vec<u16>,
    host: Option<HostPattern>,
    opaque: bool,
}

const TOP: [&str; 5] = ["shell", "files", "network", "rest", "starter"];
const COMMON: [&str; 6] = ["allow", "ask", "deny", "match", "not_match", "because"];

const fn own_keys(layer: Layer) -> &'static [&'static str] {
    match layer {
        Layer::Shell => &[],
        Layer::Files => &["access"],
        Layer::Network => &["ports"],
        Layer::Rest => &["host", "opaque"],
    }
}

impl Reader<'_> {
    fn line(&self, at: usize) -> u32 {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let lines = before.iter().filter(|byte| **byte == b'\n').count();
        u32::try_from(lines + 1).unwrap_or(u32::MAX)
    }

    fn problem(&mut self, at: Option<usize>, problem: String) {
        let line = at.map(|at| self.line(at));
        // One slip may be the reason for many others.
        if self.problems.len() < 50 {
            self.problems.push(PolicyProblem {
                file: self.source.name().to_owned(),
                line,
                problem,
            });
        }
    }

    fn unknown(&mut self, at: usize, what: &str, key: &str, known: &[&str]) {
        let shown: String = key.chars().take(60).collect();
        let near = nearest_name(key, known.iter().copied());
        let meant = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.join(", ")),
        };
        self.problem(Some(at), format!("`{shown}` is no {what}: {meant}"));
    }

    fn file(&mut self, table: &DeTable<'_>) {
        let mut keys: Vec<_> = table.iter().collect();
        keys.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in keys {
            let at = key.span().start;
            let layer = Layer::ALL
                .into_iter()
                .find(|layer| layer.as_str() == key.get_ref().as_ref());
            match (layer, key.get_ref().as_ref()) {
                (Some(layer), _) => self.layer(layer, value),
                (None, "starter") => match value.get_ref() {
                    DeValue::Boolean(_) if self.source != PolicySource::Person => {
                        self.only_narrows(at, "starter");
                    }
                    DeValue::Boolean(starter) => self.policy.starter = *starter,
                    other => self.wrong(value.span().start, "starter", "true or false", other),
                },
                (None, other) => self.unknown(at, "key of a policy", other, &TOP),
            }
        }
    }

    fn wrong(&mut self, at: usize, key: &str, wanted: &str, found: &DeValue<'_>) {
        let found = found.type_str();
        self.problem(Some(at), format!("`{key}` is {wanted}, not {found}"));
    }

    fn only_narrows(&mut self, at: usize, key: &str) {
        self.problem(
            Some(at),
            format!(
                "`{key}` would let more through, and the policy of a repository can only narrow: \
                 deny or ask here, and put `{key}` into your own policy.toml"
            ),
        );
    }

    fn layer(&mut self, layer: Layer, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.entry(layer, value.span().start, table),
            DeValue::Array(array) => {
                for one in array.iter() {
                    match one.get_ref() {
                        DeValue::Table(table) => self.entry(layer, one.span().start, table),
                        other => {
                            self.wrong(one.span().start, layer.as_str(), "a table", other);
                        }
                    }
                }
            }
            other => {
                let wanted = format!("a table, begun by [[{layer}]]");
                self.wrong(value.span().start, layer.as_str(), &wanted, other);
            }
        }
    }

    fn entry(&mut self, layer: Layer, at: usize, table: &DeTable<'_>) {
        let before = self.problems.len();
        let mut entry = Entry {
            at,
            ..Entry::default()
        };
        let mut keys: Vec<_> = table.iter().collect();
        keys.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in keys {
            self.field(layer, &mut entry, key, value);
        }
        if layer == Layer::Rest && entry.host.is_none() && self.problems.len() == before {
            self.problem(Some(at), "a [[rest]] table names its `host`".to_owned());
        }
        let says_nothing = entry.effects.is_empty() && !entry.opaque;
        if says_nothing && self.problems.len() == before {
            let problem = format!("this [[{layer}]] table has none of `allow`, `ask` and `deny`");
            self.problem(Some(at), problem);
        }
        if self.problems.len() == before {
            self.rules(layer, entry);
        }
    }

    fn field(
        &mut self,
        layer: Layer,
        entry: &mut Entry,
        key: &Spanned<Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let (at, name) = (key.span().start, key.get_ref().as_ref());
        let begin = value.span().start;
        let effect = match name {
            "allow" => Some(Effect::Allow),
            "ask" => Some(Effect::Ask),
            "deny" => Some(Effect::Deny),
            _ => None,
        };
        if let Some(effect) = effect {
            if effect == Effect::Allow && self.source == PolicySource::Repository {
                return self.only_narrows(at, "allow");
            }
            let texts = self.texts(name, value, MAX_RULES);
            entry.effects.push((effect, texts));
            return;
        }
        match (name, layer) {
            ("match", _) => entry.matching = self.texts(name, value, MAX_EXAMPLES),
            ("not_match", _) => entry.not_matching = self.texts(name, value, MAX_EXAMPLES),
            ("because", _) => match value.get_ref() {
                DeValue::String(text) if text.chars().count() <= MAX_BECAUSE => {
                    let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
                    entry.because = Some(visible.collect());
                }
                DeValue::String(_) => {
                    let problem = format!("`because` has at most {MAX_BECAUSE} characters");
                    self.problem(Some(begin), problem);
                }
                other => self.wrong(begin, name, "a text", other),
            },
            ("access", Layer::Files) => match value.get_ref().as_str() {
                Some("read") => entry.access = Some(Access::Read),
                Some("write") => entry.access = Some(Access::Write),
                Some("both") => entry.access = Some(Access::Both),
                _ => {
                    let problem = "`access` is \"read\", \"write\" or \"both\"".to_owned();
                    self.problem(Some(begin), problem);
                }
            },
            ("ports", Layer::Network) => self.ports(entry, value),
            ("host", Layer::Rest) => match value.get_ref() {
                DeValue::String(text) => match text.parse() {
                    Ok(host) => entry.host = Some(host),
                    Err(error) => self.problem(Some(begin), format!("{error}")),
                },
                other => self.wrong(begin, name, "the name of a host", other),
            },
            ("opaque", Layer::Rest) => match value.get_ref() {
                DeValue::Boolean(_) if self.source == PolicySource::Repository => {
                    self.only_narrows(at, "opaque");
                }
                DeValue::Boolean(opaque) => entry.opaque = *opaque,
                other => self.wrong(begin, name, "true or false", other),
            },
            (other, _) => {
                let known = [&COMMON[..], own_keys(layer)].concat();
                self.unknown(at, &format!("key of [[{layer}]]"), other, &known);
            }
        }
    }

    fn ports(&mut self, entry: &mut Entry, value: &Spanned<DeValue<'_>>) {
        let ports: Option<Vec<u16>> = value.get_ref().as_array().and_then(|array| {
            let ports = array.iter().map(|port| {
                let number = port.get_ref().as_integer()?;
                number.as_str().parse::<u16>().ok().filter(|port| *port > 0)
            });
            ports.collect()
        });
        match ports {
            Some(ports) if !ports.is_empty() => entry.ports = ports,
            _ => {
                let problem = "`ports` is a list of numbers from 1 to 65535".to_owned();
                self.problem(Some(value.span().start), problem);
            }
        }
    }

    /// A text, or a list of them.
    fn texts(&mut self, key: &str, value: &Spanned<DeValue<'_>>, most: usize) -> Vec<Written> {
        let at = value.span().start;
        let mut texts = Vec::new();
        match value.get_ref() {
            DeValue::String(text) => texts.push(Written {
                at,
                text: text.clone().into_owned(),
            }),
            DeValue::Array(array) => {
                for one in array.iter() {
                    match one.get_ref() {
                        DeValue::String(text) => texts.push(Written {
                            at: one.span().start,
                            text: text.clone().into_owned(),
                        }),
                        other => self.wrong(one.span().start, key, "a list of texts", other),
                    }
                }
            }
            other => self.wrong(at, key, "a text or a list of texts", other),
        }
        if texts.is_empty() && value.get_ref().is_array() {
            self.problem(Some(at), format!("`{key}` is empty"));
        }
        if texts.len() > most {
            self.problem(Some(at), format!("`{key}` has more than {most} texts"));
            texts.clear();
        }
        texts
    }

    fn rules(&mut self, layer: Layer, entry: Entry) {
        let begin = self.policy.rules.len();
        for (effect, texts) in &entry.effects {
            for written in texts {
                match subject(layer, &entry, &written.text) {
                    Ok(subject) => self.rule(*effect, subject, written, entry.because.clone()),
                    Err(problem) => self.problem(Some(written.at), problem),
                }
            }
        }
        if self.policy.rules.len() > MAX_RULES {
            let problem = format!("there are more than {MAX_RULES} rules");
            return self.problem(Some(entry.at), problem);
        }
        if entry.opaque
            && let Some(host) = entry.host
        {
            self.policy.opaque.push(host);
        }
        let examples = [(&entry.matching, true), (&entry.not_matching, false)];
        for (examples, falls) in examples {
            for example in examples {
                let own = &self.policy.rules[begin..];
                if let Some(problem) = check::example(own, layer, &example.text, falls) {
                    self.problem(Some(example.at), problem);
                }
            }
        }
    }

    fn rule(
        &mut self,
        effect: Effect,
        subject: Subject,
        written: &Written,
        because: Option<String>,
    ) {
        let line = self.line(written.at);
        let of_line = self.policy.rules.iter().filter(|rule| rule.line == line);
        let name = match of_line.count() {
            0 => format!("{}:{line}", self.source.name()),
            others => format!("{}:{line}#{}", self.source.name(), others + 1),
        };
        let rule = PolicyRule {
            name,
            line,
            effect,
            subject,
            because,
        };
        if let Some(permission) = rule.permission()
            && let Err(error) = permission.check()
        {
            return self.problem(Some(written.at), error.to_string());
        }
        self.policy.rules.push(rule);
    }
}

fn subject(layer: Layer, entry: &Entry, text: &str) -> Result<Subject, String> {
    let said = |error: &dyn fmt::Display| error.to_string();
    Ok(match layer {
        Layer::Shell => Subject::Shell(text.parse().map_err(|error| said(&error))?),
        Layer::Files => Subject::Files {
            path: text.parse().map_err(|error| said(&error))?,
            access: entry.access.unwrap_or(Access::Both),
        },
        Layer::Network => {
            let mut hosts: HostPattern = text.parse().map_err(|error| said(&error))?;
            if !entry.ports.is_empty() {
                if !hosts.ports.is_empty() {
                    return Err(format!("`{text}` names a port, and `ports` names others"));
                }
                hosts.ports.clone_from(&entry.ports);
            }
            Subject::Network(hosts)
        }
        Layer::Rest => {
            let request: RestPattern = text.parse().map_err(|error| said(&error))?;
            let host = entry
                .host
                .clone()
                .ok_or("a [[rest]] table names its `host`")?;
            Subject::Rest { host, request }
        }
    })
}
