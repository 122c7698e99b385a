//! Many decisions at once, from lines of JSON: each brings its own rules, a use of
//! a tool, the folder and the home. Nothing of this machine is looked at, and every
//! line is answered: what cannot be read is asked, with the reason.

mod notation;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use missiond_core::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::permissions::{Effect, Rule, decide};
use crate::tool_call::ToolCall;

/// Bytes of one line, beyond which it is not read.
pub const MAX_LINE_BYTES: usize = 1024 * 1024;

/// The starter policy, a rule a line.
const STARTER: &str = include_str!("starter.rules");

/// The same as `rules` of a line has them.
static STARTER_RULES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let rules = starter_rules().into_iter();
    rules.map(|rule| Value::String(rule.to_owned())).collect()
});

/// The rules of the starter policy, as `rules` of a line takes them.
#[must_use]
pub fn starter_rules() -> Vec<&'static str> {
    let lines = STARTER.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

/// The same as rules, each with its line in the file.
pub(crate) fn starter_as_rules() -> Vec<(u32, Rule)> {
    let written = (1..).zip(STARTER.lines().map(str::trim));
    let rules = written.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    rules
        .flat_map(|(line, text)| {
            let (rules, _) = notation::rules(&Value::Array(vec![Value::String(text.to_owned())]));
            rules.into_iter().map(move |rule| (line, rule))
        })
        .collect()
}

/// What was decided about one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// As the line has it; null when it has none.
    pub id: Value,
    pub verdict: Effect,
    pub reason: String,
    /// Whether all of the line could be read.
    #[serde(skip)]
    pub understood: bool,
}

/// What is read of a line; whatever else it has is for others.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    rules: Value,
    #[serde(default)]
    tool: Option<String>,
    #[serde(default)]
    argument: Value,
    #[serde(default)]
    server: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    home: Option<String>,
}

impl Answer {
    fn asked(id: Value, reason: impl Into<String>) -> Self {
        Self {
            id,
            verdict: Effect::Ask,
            reason: reason.into(),
            understood: false,
        }
    }

    /// For a line that could not even be taken up.
    #[must_use]
    pub fn unread(reason: &str) -> Self {
        Self::asked(Value::Null, reason)
    }
}

/// Decides about one line.
#[must_use]
pub fn answer(line: &[u8], now: Timestamp) -> Answer {
    if line.len() > MAX_LINE_BYTES {
        return Answer::unread("the line is longer than a mebibyte");
    }
    let Ok(text) = std::str::from_utf8(line) else {
        return Answer::unread("the line is not UTF-8");
    };
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return Answer::unread(&format!("the line is not JSON: {error}")),
    };
    if !value.is_object() {
        return Answer::unread("the line is not an object");
    }
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let line: Line = match serde_json::from_value(value) {
        Ok(line) => line,
        Err(error) => return Answer::asked(id, format!("the line is not understood: {error}")),
    };
    let (rules, wrong) = notation::rules(&line.rules);
    let asked = ToolCall {
        tool: line.tool.as_deref(),
        server: line.server.as_deref(),
        argument: &line.argument,
        cwd: line.cwd.as_deref(),
        home: line.home.as_deref(),
    };
    let request = match asked.request() {
        Ok(request) => request,
        Err(reason) => return Answer::asked(line.id, reason),
    };
    let verdict = decide(&rules, &request, now);
    // A rule that cannot be read might have denied it; one that denies is enough.
    match wrong {
        Some(reason) if verdict.effect != Effect::Deny => Answer::asked(line.id, reason),
        wrong => Answer {
            id: line.id,
            verdict: verdict.effect,
            reason: verdict.reason,
            understood: wrong.is_none(),
        },
    }
}
