//! A tool that a CLI is about to use: what its hook says of it, and what the hook
//! answers. The input is the one the CLI will run, which no screen shows for certain.
//!
//! Claude Code, Qwen Code and Gemini CLI ask in one form and take their answer in two.
//! A hook that fails is passed over by all of them, unless it exits with 2: that is how
//! a question without an answer refuses.

use missiond_control::InputDigest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::hook::{HookError, MAX_HOOK_INPUT};

/// With this a hook refuses the tool; what it wrote to standard error is the reason.
pub const REFUSING_EXIT: u8 = 2;

/// The guard judges no longer text, so no more of it need be handed over: a line for a
/// shell that is cut here is one nobody allows.
const LONGEST_TEXT: usize = 100_001;
/// What is left has to fit into one message to the daemon.
const LARGEST_INPUT: usize = 900_000;

/// One use of a tool, before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    pub tool: String,
    /// The name by which the hooks of the CLI tell of it, where that is another.
    pub told_as: String,
    /// Where the name of the tool does not say it.
    pub server: Option<String>,
    /// Texts beyond what is judged are cut in it.
    pub input: Value,
    /// Over the tool, all of the input and the folder.
    pub digest: String,
    pub cwd: Option<String>,
    /// The CLI's id of the call, where it has one.
    pub call: Option<String>,
    /// The CLI is in a mode in which nothing may be changed.
    pub plans_only: bool,
}

/// What the CLI is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUseAnswer {
    pub verdict: ToolUseVerdict,
    /// One sentence.
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolUseVerdict {
    Allow,
    /// The CLI asks, whatever its mode.
    Ask,
    Deny,
    /// No rule has a word on it: the CLI does as its mode says.
    Leave,
}

/// In which form a CLI takes the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookDialect {
    Claude,
    Gemini,
}

impl ToolUse {
    /// Reads the input of a hook that runs before a tool; nothing if it runs at
    /// another event.
    pub fn parse(input: &[u8]) -> Result<Option<(Self, HookDialect)>, HookError> {
        if input.len() > MAX_HOOK_INPUT {
            return Err(HookError::TooLong);
        }
        let mut value: Value = serde_json::from_slice(input)?;
        let dialect = match value["hook_event_name"].as_str() {
            Some("PreToolUse") => HookDialect::Claude,
            Some("BeforeTool") => HookDialect::Gemini,
            Some(_) => return Ok(None),
            None => return Err(HookError::NoEvent),
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let context = &value["mcp_context"];
        let told_as = text(&value["tool_name"]).ok_or(HookError::NoTool)?;
        let tool = text(&context["tool_name"]).unwrap_or_else(|| told_as.clone());
        let (server, cwd) = (text(&context["server_name"]), text(&value["cwd"]));
        let call = text(&value["tool_use_id"]);
        let plans_only = value["permission_mode"] == "plan";
        let mut input = value["tool_input"].take();
        let digest = InputDigest::new(&tool, &input, cwd.as_deref().unwrap_or_default());
        cut_texts(&mut input);
        if input.to_string().len() > LARGEST_INPUT {
            return Err(HookError::TooLong);
        }
        let asked = Self {
            tool,
            told_as,
            server,
            input,
            digest: digest.to_string(),
            cwd,
            call,
            plans_only,
        };
        Ok(Some((asked, dialect)))
    }
}

impl HookDialect {
    /// What the hook prints; nothing where the CLI goes on by itself.
    #[must_use]
    pub fn answer(self, answer: &ToolUseAnswer) -> Option<String> {
        let ToolUseAnswer { verdict, reason } = answer;
        let printed = match (self, verdict) {
            (_, ToolUseVerdict::Leave) => return None,
            (Self::Claude, verdict) => json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": verdict,
                "permissionDecisionReason": reason,
            }}),
            // It asks by its own policy all the same; whoever answers that dialog knows
            // what was decided.
            (Self::Gemini, ToolUseVerdict::Allow) => return None,
            (Self::Gemini, verdict) => json!({ "decision": verdict, "reason": reason }),
        };
        Some(printed.to_string())
    }
}

fn cut_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(LONGEST_TEXT) {
                text.truncate(end);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(cut_texts),
        Value::Object(members) => members.values_mut().for_each(cut_texts),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(input: &Value) -> (ToolUse, HookDialect) {
        let text = input.to_string();
        ToolUse::parse(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn the_digest_changes_with_every_byte_that_counts() {
        let one = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "/w",
            "tool_use_id": "t1", "permission_mode": "plan", "tool_input": {"command": "ls"}});
        let (asked, dialect) = parse(&one);
        assert_eq!(dialect, HookDialect::Claude);
        assert_eq!(asked.call.as_deref(), Some("t1"));
        assert!(asked.plans_only);
        for (member, other) in [
            ("cwd", json!("/x")),
            ("tool_name", json!("Read")),
            ("tool_input", json!({"command": "ls "})),
        ] {
            let mut changed = one.clone();
            changed[member] = other;
            assert_ne!(parse(&changed).0.digest, asked.digest, "{member}");
        }
        let mut again = one;
        again["tool_use_id"] = json!("t2");
        assert_eq!(parse(&again).0.digest, asked.digest, "the same asked again");
    }

    #[test]
    fn a_long_text_is_cut_after_it_was_digested() {
        let write = |content: String| {
            json!({"hook_event_name": "BeforeTool", "tool_name": "write_file",
                "mcp_context": null, "tool_input": {"file_path": "a", "content": content}})
        };
        let long = "x".repeat(2 * LONGEST_TEXT);
        let (one, dialect) = parse(&write(format!("{long}1")));
        assert_eq!(dialect, HookDialect::Gemini);
        let (other, _) = parse(&write(format!("{long}2")));
        assert_eq!(one.input, other.input);
        assert_ne!(one.digest, other.digest);
        let many = vec![long; 10];
        let large = json!({"hook_event_name": "PreToolUse", "tool_name": "x", "tool_input": many});
        let refused = ToolUse::parse(large.to_string().as_bytes());
        assert!(matches!(refused, Err(HookError::TooLong)));
    }

    #[test]
    fn a_tool_of_a_server_is_known_by_both() {
        let (asked, _) = parse(&json!({"hook_event_name": "BeforeTool",
            "tool_name": "mcp_docs_search", "tool_input": {},
            "mcp_context": {"server_name": "docs", "tool_name": "search"}}));
        assert_eq!(
            (asked.server.as_deref(), &*asked.tool),
            (Some("docs"), "search")
        );
    }

    #[test]
    fn each_cli_is_answered_in_its_own_form() {
        let answer = |verdict| ToolUseAnswer {
            verdict,
            reason: "P-1: deny Bash".to_owned(),
        };
        let said = |dialect: HookDialect, verdict| {
            let printed = dialect.answer(&answer(verdict))?;
            Some(serde_json::from_str::<Value>(&printed).unwrap())
        };
        for (verdict, word) in [
            (ToolUseVerdict::Allow, "allow"),
            (ToolUseVerdict::Ask, "ask"),
            (ToolUseVerdict::Deny, "deny"),
        ] {
            let claude = said(HookDialect::Claude, verdict).unwrap();
            assert_eq!(claude["hookSpecificOutput"]["permissionDecision"], word);
            if let Some(gemini) = said(HookDialect::Gemini, verdict) {
                assert_eq!(gemini["decision"], word);
            }
        }
        assert_eq!(said(HookDialect::Gemini, ToolUseVerdict::Allow), None);
        assert_eq!(said(HookDialect::Claude, ToolUseVerdict::Leave), None);
        let other = br#"{"hook_event_name":"Stop"}"#;
        assert_eq!(ToolUse::parse(other).unwrap(), None);
        let nameless = br#"{"hook_event_name":"PreToolUse"}"#;
        assert!(matches!(ToolUse::parse(nameless), Err(HookError::NoTool)));
    }
}
