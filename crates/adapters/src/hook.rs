//! What a CLI tells by its hooks. Claude Code and Gemini CLI hand a hook one JSON
//! object on its standard input; their events differ in name and are one thing
//! here.

use missiond_control::InputDigest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A hook's input can carry a whole file that was written.
pub const MAX_HOOK_INPUT: usize = 4 << 20;

const LONGEST_TEXT: usize = 2_000;

/// One event, without what is private or large.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookReport {
    pub event: HookEvent,
    /// The CLI's id of the conversation.
    pub conversation: Option<String>,
    pub transcript: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hook", rename_all = "snake_case")]
pub enum HookEvent {
    ConversationStarted,
    Prompted,
    ToolStarting {
        tool: String,
        call: Option<String>,
        /// Over the tool, its input and the folder.
        #[serde(default)]
        digest: Option<String>,
    },
    ToolEnded {
        tool: String,
        call: Option<String>,
    },
    /// The person is asked for something.
    Waiting {
        message: String,
    },
    TurnEnded,
    SubagentEnded,
    ConversationEnded {
        reason: String,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("the hook's input is longer than {MAX_HOOK_INPUT} bytes")]
    TooLong,
    #[error("the hook's input is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("the hook's input names no event")]
    NoEvent,
    #[error("the hook's input names no tool")]
    NoTool,
}

impl HookReport {
    /// Reads a hook's input. An event nobody here knows is `None`.
    pub fn parse(input: &[u8]) -> Result<Option<Self>, HookError> {
        if input.len() > MAX_HOOK_INPUT {
            return Err(HookError::TooLong);
        }
        let value: Value = serde_json::from_slice(input)?;
        let name = value["hook_event_name"]
            .as_str()
            .ok_or(HookError::NoEvent)?;
        let text = |key: &str| value[key].as_str().map(short);
        let tool = || text("tool_name").unwrap_or_default();
        let call = || text("tool_use_id");
        let event = match name {
            "SessionStart" => HookEvent::ConversationStarted,
            "UserPromptSubmit" | "BeforeAgent" => HookEvent::Prompted,
            "PreToolUse" | "BeforeTool" => HookEvent::ToolStarting {
                tool: tool(),
                call: call(),
                digest: digest(&value),
            },
            "PostToolUse" | "AfterTool" => HookEvent::ToolEnded {
                tool: tool(),
                call: call(),
            },
            "Notification" => match text("notification_type").as_deref() {
                // It says that the prompt has been empty for a minute.
                Some("idle_prompt") => return Ok(None),
                _ => HookEvent::Waiting {
                    message: text("message").unwrap_or_default(),
                },
            },
            "Stop" | "AfterAgent" => HookEvent::TurnEnded,
            "SubagentStop" => HookEvent::SubagentEnded,
            "SessionEnd" => HookEvent::ConversationEnded {
                reason: text("reason").unwrap_or_default(),
            },
            _ => return Ok(None),
        };
        Ok(Some(Self {
            event,
            conversation: text("session_id"),
            transcript: text("transcript_path"),
        }))
    }
}

fn digest(value: &Value) -> Option<String> {
    let cwd = value["cwd"].as_str().unwrap_or_default();
    let digest = InputDigest::new(value["tool_name"].as_str()?, &value["tool_input"], cwd);
    Some(digest.to_string())
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_both_clis_are_one_thing() {
        let parse = |text: &str| HookReport::parse(text.as_bytes()).unwrap();
        for (name, event) in [
            ("Stop", HookEvent::TurnEnded),
            ("AfterAgent", HookEvent::TurnEnded),
            ("UserPromptSubmit", HookEvent::Prompted),
            ("BeforeAgent", HookEvent::Prompted),
        ] {
            let input = format!(
                r#"{{"hook_event_name":"{name}","session_id":"s","transcript_path":"/t"}}"#
            );
            let report = parse(&input).unwrap();
            assert_eq!(report.event, event);
            assert_eq!(report.conversation.as_deref(), Some("s"));
            assert_eq!(report.transcript.as_deref(), Some("/t"));
        }
        let tool = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"secret"}}"#;
        let HookEvent::ToolStarting { tool, call, digest } = parse(tool).unwrap().event else {
            panic!("no tool starts");
        };
        assert_eq!((&*tool, call.as_deref()), ("Bash", Some("t1")));
        assert_eq!(digest.unwrap().len(), 64);
        assert_eq!(parse(r#"{"hook_event_name":"MessageDisplay"}"#), None);
    }

    #[test]
    fn what_is_no_hook_input_is_refused() {
        assert!(matches!(
            HookReport::parse(b"{"),
            Err(HookError::NotJson(_))
        ));
        assert!(matches!(HookReport::parse(b"{}"), Err(HookError::NoEvent)));
        assert!(matches!(HookReport::parse(b"[1]"), Err(HookError::NoEvent)));
        let long = vec![b' '; MAX_HOOK_INPUT + 1];
        assert!(matches!(HookReport::parse(&long), Err(HookError::TooLong)));
    }
}
