//! Whether an agent may use a tool, by rules on tool, argument, path, server,
//! engine and scope.
//!
//! A rule that denies wins over every other, one that asks over those that
//! allow, and what no rule knows is asked. Denying and asking rules are read
//! generously, allowing ones strictly: a command is allowed only if each of its
//! parts is, in every way in which what was shown can be read. The order of the
//! rules decides nothing but which of several is named.

mod command;
mod compared;
mod hidden;
mod judge;
mod naming;
mod path;
mod pattern;
mod place;
mod request;
mod rule;
mod script;
#[cfg(test)]
mod tests;
mod writes;

use judge::Judge;
use missiond_core::Timestamp;
pub(crate) use place::Meets;
use schemars::JsonSchema;
use script::Script;
use serde::{Deserialize, Serialize};

pub(crate) use naming::is_exact;
pub use path::{PathBase, PathPattern};
pub use pattern::{InvalidPattern, Pattern};
pub use request::{Argument, Request, Shown};
pub use rule::{InvalidRule, Rule, Scope};
pub(crate) use writes::command_writes;

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
    let script = Script::of(request);
    let mut doubted = None;
    for effect in [Effect::Deny, Effect::Ask] {
        for rule in in_force.iter().filter(|rule| rule.effect == effect) {
            match rule.concerns(request, script.as_ref()) {
                Meets::Yes => {
                    return Verdict {
                        effect,
                        rules: vec![rule.name.clone()],
                        reason: format!("{}: {}", rule.name, rule.sentence()),
                    };
                }
                Meets::Maybe => doubted = doubted.or(Some(rule)),
                Meets::No => {}
            }
        }
    }
    if let Some(rule) = doubted {
        return Verdict {
            effect: Effect::Ask,
            rules: vec![rule.name.clone()],
            reason: format!("it may fall under {}: {}", rule.name, rule.sentence()),
        };
    }
    let restricted = in_force
        .iter()
        .any(|rule| rule.effect != Effect::Allow && rule.server.is_none());
    let allowing: Vec<&Rule> = in_force
        .into_iter()
        .filter(|rule| rule.effect == Effect::Allow)
        .collect();
    let judge = Judge {
        request,
        allowing: &allowing,
        restricted,
    };
    match allowed(&judge, script.as_ref()) {
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
fn allowed<'r>(judge: &Judge<'r>, script: Option<&Script>) -> Result<Vec<&'r Rule>, String> {
    let Judge {
        request, allowing, ..
    } = judge;
    if request.tool.is_none() {
        return Err("which tool it is about cannot be read with certainty".to_owned());
    }
    let whole = allowing.iter().find(|rule| rule.allows_whole(request));
    let Some(script) = script else {
        let rule = whole.ok_or("no rule allows it")?;
        judge.files(rule)?;
        return Ok(vec![rule]);
    };
    if let Some(rule) = whole {
        if request.shown != Shown::InPart {
            judge.wide(script)?;
        }
        return Ok(vec![rule]);
    }
    if request.shown == Shown::InPart {
        return Err("the command is not shown in full".to_owned());
    }
    judge.parts(script)
}

/// The words of the last program that a script would run, where all of them are known;
/// none where the script is not understood.
#[must_use]
pub fn shell_words(script: &str) -> Option<Vec<String>> {
    let base = PathBase {
        folder: "/".to_owned(),
        home: None,
    };
    let script = crate::shell::parse(script).ok()?;
    let traced = crate::shell::trace::trace(&script, &base);
    let Some(run) = traced.runs.last() else {
        return Some(Vec::new());
    };
    run.argv
        .iter()
        .map(crate::shell::value::Value::known)
        .collect()
}
