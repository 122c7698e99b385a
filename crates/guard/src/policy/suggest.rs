//! Rules that a person's own answers of the last days would have made needless. Proposed
//! is only what does no more than was seen: no shells and interpreters, no program that
//! runs others without its subcommand, no wildcard over hosts, nothing that was ever denied.

use std::collections::BTreeMap;

use missiond_core::PermissionAsked;

use super::decide::InForce;
use super::host::Host;
use super::propose::{allows, anywhere, pattern, rule};
use super::reach::Reach;
use super::rule::Layer;
use crate::permissions::{Argument, Effect, Request, Rule};

/// What was decided once about one use of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    pub asked: PermissionAsked,
    pub allowed: bool,
}

/// A rule to add, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    pub layer: Layer,
    /// What follows `allow =`.
    pub pattern: String,
    /// How often it was answered.
    pub times: u32,
    /// Some of what was answered.
    pub examples: Vec<String>,
}

impl Suggestion {
    /// The lines for `policy.toml`.
    #[must_use]
    pub fn toml(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut lines = format!("[[{}]]\nallow = {}\n", self.layer, quoted(&self.pattern));
        if self.layer == Layer::Shell {
            let examples: Vec<String> = self.examples.iter().map(|text| quoted(text)).collect();
            lines.push_str(&format!("match = [{}]\n", examples.join(", ")));
        }
        lines.push_str(&format!(
            "because = \"allowed {} times by hand\"\n",
            self.times
        ));
        lines
    }
}

/// How often something must have been allowed by hand.
const LEAST_TIMES: u32 = 2;
const MOST_EXAMPLES: usize = 3;

/// What would have made answers needless that were given more than once, the most frequent
/// first.
#[must_use]
pub fn suggest(decided: &[Decided], in_force: &InForce) -> Vec<Suggestion> {
    let mut found: BTreeMap<(Layer, String), Suggestion> = BTreeMap::new();
    let mut refused = Vec::new();
    for one in decided {
        for (layer, pattern, example) in proposals(&one.asked) {
            let key = (layer, pattern.clone());
            if !one.allowed {
                refused.push(key);
                continue;
            }
            let suggestion = found.entry(key).or_insert_with(|| Suggestion {
                layer,
                pattern,
                times: 0,
                examples: Vec::new(),
            });
            suggestion.times += 1;
            if suggestion.examples.len() < MOST_EXAMPLES && !suggestion.examples.contains(&example)
            {
                suggestion.examples.push(example);
            }
        }
    }
    for key in &refused {
        found.remove(key);
    }
    let mut found: Vec<Suggestion> = found
        .into_values()
        .filter(|one| one.times >= LEAST_TIMES && !is_settled(one, in_force))
        .collect();
    found.sort_by_key(|one| (std::cmp::Reverse(one.times), one.layer, one.pattern.clone()));
    found
}

/// Whether what is in force decides it already, one way or the other.
fn is_settled(suggestion: &Suggestion, in_force: &InForce) -> bool {
    suggestion.examples.iter().all(|example| {
        let mut request = anywhere();
        match suggestion.layer {
            Layer::Shell => {
                request.tool = Some("Bash".to_owned());
                request.argument = Some(Argument::Command(example.clone()));
            }
            Layer::Files => {
                request.tool = Some("Write".to_owned());
                request.paths = vec![request.base.absolute(example)];
            }
            Layer::Network | Layer::Rest => {
                request.tool = Some("WebFetch".to_owned());
                request.argument = Some(Argument::Text(format!("https://{example}/")));
            }
        }
        let decision = in_force.decide(&request);
        decision.effect != Effect::Ask || !decision.rules.is_empty()
    })
}

fn proposals(asked: &PermissionAsked) -> Vec<(Layer, String, String)> {
    if asked.shown_in_part || asked.server.is_some() {
        return Vec::new();
    }
    if let Some(command) = &asked.command {
        let pattern = pattern(command);
        return pattern
            .map(|pattern| (Layer::Shell, pattern, command.clone()))
            .into_iter()
            .collect();
    }
    if let (Some(tool), Some(path)) = (&asked.tool, &asked.path) {
        return folder_of(tool, path)
            .map(|folder| (Layer::Files, folder, path.clone()))
            .into_iter()
            .collect();
    }
    let mut request = anywhere();
    request.tool.clone_from(&asked.tool);
    request.argument = asked.argument.clone().map(Argument::Text);
    let reach = Reach::of(&request);
    if !reach.only_fetches {
        return Vec::new();
    }
    let named = reach.endpoints.iter().filter(|one| {
        let public = matches!(&one.host, Host::Name(name) if name.contains('.'));
        public && !one.host.is_local_name()
    });
    named
        .map(|one| {
            let host = one.host.to_string();
            (Layer::Network, host.clone(), host)
        })
        .collect()
}

/// Everything below the first folder that a written file lies in, within the agent's own.
fn folder_of(tool: &str, path: &str) -> Option<String> {
    let writes = ["write", "edit", "multiedit"].contains(&tool.to_lowercase().as_str());
    let (first, rest) = path.trim_start_matches("./").split_once('/')?;
    let plain = first
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if !writes || first.is_empty() || !plain || rest.split('/').any(|name| name == "..") {
        return None;
    }
    let pattern = format!("{first}/**");
    let request = Request {
        tool: Some("Write".to_owned()),
        paths: vec![anywhere().base.absolute(path)],
        ..anywhere()
    };
    let rule = Rule {
        tool: "Write".parse().ok()?,
        argument: None,
        path: Some(pattern.parse().ok()?),
        ..rule("*").ok()?
    };
    allows(&rule, &request).then_some(pattern)
}
