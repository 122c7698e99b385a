//! Reports in the agent's output, for when its instructions ask for them. What
//! to print is read from the instructions themselves, as a model would read it.

use missiond_context::END_OWN;
use serde_json::{Value, json};

/// What a report begins with.
const PREFIX: &str = "@mission::";
/// The last sentence of the instructions.
const END: &str = "Never show the key in any other text.";

/// What the instructions say must be in each report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reporter {
    execution: String,
    key: String,
    sent: u32,
}

impl Reporter {
    /// Takes the instructions from a prompt that begins with them, and what is
    /// left of the prompt.
    pub(crate) fn instructed(prompt: &str) -> Option<(Self, &str)> {
        let (instructions, rest) = prompt.split_once(END)?;
        if !instructions.contains(PREFIX) {
            return None;
        }
        let field = |name: &str| {
            let (_, value) = instructions.split_once(&format!("\"{name}\": \""))?;
            Some(value.split_once('"')?.0.to_owned())
        };
        let reporter = Self {
            execution: field("execution")?,
            key: field("key")?,
            sent: 0,
        };
        // They are among what missiond says for itself, which ends here too.
        let rest = rest.trim_start();
        let rest = rest.strip_prefix(END_OWN).unwrap_or(rest);
        Some((reporter, rest.trim_start()))
    }

    /// The line that makes this report.
    pub(crate) fn line(&mut self, session: &str, kind: &str, payload: &Value) -> String {
        self.sent += 1;
        let report = json!({
            "v": 1, "execution": self.execution, "key": self.key,
            "event": format!("{session}-{}", self.sent), "type": kind, "payload": payload,
        });
        format!("{PREFIX}{report}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_are_read_and_the_prompt_is_what_follows() {
        let prompt = format!(
            "Print one line that begins with {PREFIX} and:\n- \"execution\": \"exec_1\"\n\
             - \"key\": \"00ff\"\n{END}\n{END_OWN}\n\ndo it"
        );
        let (mut reporter, rest) = Reporter::instructed(&prompt).unwrap();
        assert_eq!(rest, "do it");
        let line = reporter.line("s", "blocked", &json!({"reason": "no key"}));
        let report: Value = serde_json::from_str(line.strip_prefix(PREFIX).unwrap()).unwrap();
        assert_eq!(
            report,
            json!({"v": 1, "execution": "exec_1", "key": "00ff", "event": "s-1",
                "type": "blocked", "payload": {"reason": "no key"}})
        );
        assert_eq!(Reporter::instructed("just a prompt"), None);
    }
}
