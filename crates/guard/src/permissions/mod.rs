//! Whether an agent may use a tool, by rules on tool, argument, path, server,
//! engine and scope.
//!
//! A rule that denies wins over every other, one that asks over those that
//! allow, and what no rule knows is asked. Denying and asking rules are read
//! generously, allowing ones strictly: a command is allowed only if each of its
//! parts is, in every way in which what was shown can be read. The order of the
//! rules decides nothing but which of several is named.

mod command;
mod path;
mod pattern;
mod request;
mod rule;
#[cfg(test)]
mod tests;

use missiond_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use path::{PathBase, PathPattern};
pub use pattern::{InvalidPattern, Pattern};
pub use request::{Argument, Request, Shown};
pub use rule::{InvalidRule, Rule, Scope};

/// What a rule says.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Allow,
    Ask,
    Deny,
}

impl Effect {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What was decided, and by which rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    pub effect: Effect,
    /// The names of the rules that decided: one, none, or one for each part of a
    /// command that is allowed by several.
    pub rules: Vec<String>,
    /// One sentence for a person.
    pub reason: String,
}

/// Decides. Rules that have expired, are used up or are about another engine,
/// slot, execution or task are passed over.
#[must_use]
pub fn decide(rules: &[Rule], request: &Request, now: Timestamp) -> Verdict {
    let in_force: Vec<&Rule> = rules
        .iter()
        .filter(|rule| rule.is_in_force(now) && rule.scope.covers(request))
        .collect();
    for effect in [Effect::Deny, Effect::Ask] {
        let mut concerned = in_force.iter().filter(|rule| rule.effect == effect);
        if let Some(rule) = concerned.find(|rule| rule.concerns(request)) {
            return Verdict {
                effect,
                rules: vec![rule.name.clone()],
                reason: format!("{}: {}", rule.name, rule.sentence()),
            };
        }
    }
    let allowing: Vec<&Rule> = in_force
        .into_iter()
        .filter(|rule| rule.effect == Effect::Allow)
        .collect();
    match allowed(&allowing, request) {
        Ok(by) => {
            let reasons = by
                .iter()
                .map(|rule| format!("{}: {}", rule.name, rule.sentence()));
            Verdict {
                effect: Effect::Allow,
                reason: reasons.collect::<Vec<_>>().join("; "),
                rules: by.into_iter().map(|rule| rule.name.clone()).collect(),
            }
        }
        Err(reason) => Verdict {
            effect: Effect::Ask,
            rules: Vec::new(),
            reason,
        },
    }
}

/// The parts of a command as they are written, which are judged one by one; none when
/// it cannot be judged part by part.
#[must_use]
pub fn command_parts(text: &str) -> Vec<String> {
    let parts = command::parts(text).unwrap_or_default();
    parts.iter().map(|part| part.shown().to_owned()).collect()
}

/// A pattern that fits each part of this very command and nothing else; none
/// when the command cannot be judged part by part.
#[must_use]
pub fn exact_command(text: &str) -> Option<Pattern> {
    let mut parts: Vec<String> = Vec::new();
    for reading in command::readings(text) {
        for part in command::parts(&reading).ok()? {
            parts.extend(part.spellings().map(regex::escape));
        }
    }
    parts.sort();
    parts.dedup();
    if parts.is_empty() {
        return None;
    }
    format!("re:{}", parts.join("|")).parse().ok()
}

/// A pattern that fits this very text and nothing else; none when it has more
/// than one line.
#[must_use]
pub fn exact_text(text: &str) -> Option<Pattern> {
    format!("re:{}", regex::escape(text)).parse().ok()
}

/// The rules that together allow all of it, or why they do not.
fn allowed<'r>(rules: &[&'r Rule], request: &Request) -> Result<Vec<&'r Rule>, String> {
    if request.tool.is_none() {
        return Err("which tool it is about cannot be read with certainty".to_owned());
    }
    if let Some(rule) = rules.iter().find(|rule| rule.allows_whole(request)) {
        return Ok(vec![rule]);
    }
    let Some(Argument::Command(text)) = &request.argument else {
        return Err("no rule allows it".to_owned());
    };
    if request.shown == Shown::InPart {
        return Err("the command is not shown in full".to_owned());
    }
    let mut by: Vec<&Rule> = Vec::new();
    for reading in command::readings(text) {
        let parts = command::parts(&reading)
            .map_err(|why| format!("the command cannot be judged part by part: {why}"))?;
        if parts.is_empty() {
            return Err("there is no command".to_owned());
        }
        for part in parts {
            let fitting = rules.iter().find(|rule| rule.allows_part(&part, request));
            let Some(rule) = fitting else {
                return Err(if by.is_empty() {
                    "no rule allows it".to_owned()
                } else {
                    format!("no rule allows the part `{}`", part.shown())
                });
            };
            if !by.iter().any(|known| known.name == rule.name) {
                by.push(rule);
            }
        }
    }
    Ok(by)
}
