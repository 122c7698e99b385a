use missiond_core::{ExecutionId, MessageId, ObservationId};
use serde_json::{Value, json};

use super::*;

/// A journal as it is written, told record by record.
struct Journal {
    narrator: Narrator,
    sequence: u64,
    execution: ExecutionId,
}

impl Journal {
    fn new(narrator: Narrator) -> Self {
        Self {
            narrator,
            sequence: 0,
            execution: ExecutionId::generate(),
        }
    }

    fn record(&mut self, kind: &str, data: &Value, playback: Playback) -> Option<Value> {
        self.sequence += 1;
        let body = serde_json::from_value(json!({ "type": kind, "data": data })).unwrap();
        let update = self.narrator.translate(self.sequence, &body, playback)?;
        Some(serde_json::to_value(update).unwrap())
    }

    fn message(&mut self, key: &str, text: &str, playback: Playback) -> Option<Value> {
        let content = json!({ "type": "prompt", "payload": { "text": text } });
        let id = MessageId::generate();
        let message = json!({ "id": id, "key": key, "from": "operator", "content": content });
        self.record("message.accepted", &message, playback)
    }

    fn observed(&mut self, source: &str, observed: &Value, verdict: &str) -> Option<Value> {
        let id = ObservationId::generate();
        let observation = json!({
            "id": id, "execution": self.execution, "key": format!("k{}", self.sequence),
            "source": source, "confidence": "high",
            "observed_at": "2026-01-04T12:00:00.000000Z", "observed": observed,
        });
        let told = self.record("observation.recorded", &observation, Playback::Live);
        assert_eq!(told, None, "it is not decided yet");
        let decision = json!({ "observation": id, "verdict": verdict, "reason": "allowed" });
        self.record("decision.recorded", &decision, Playback::Live)
    }

    fn said(&mut self, by: &str, text: &str) -> Option<Value> {
        let fact = json!({ "fact": { "type": "said", "payload": { "by": by, "text": text } } });
        self.observed("transcript", &fact, "recorded_only")
    }
}

fn text(update: Option<Value>) -> (String, String) {
    let update = update.unwrap();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    (
        word(&update["sessionUpdate"]),
        word(&update["content"]["text"]),
    )
}

fn chunk(kind: &str, words: &str) -> (String, String) {
    (format!("{kind}_message_chunk"), words.to_owned())
}

#[test]
fn words_of_the_agent_are_told_and_those_of_the_editor_are_not() {
    let mut journal = Journal::new(Narrator::of_own_start());
    journal.narrator.begin_turn(None);
    assert_eq!(journal.message("start", "do it", Playback::Live), None);
    let echo = "Known things.\n\ndo\n it";
    assert_eq!(journal.said("operator", echo), None);
    assert!(!journal.narrator.spoke());
    assert_eq!(
        text(journal.said("agent", "Well.")),
        chunk("agent", "Well.")
    );
    assert_eq!(
        text(journal.said("agent", "Done.")),
        chunk("agent", "\n\nDone.")
    );
    assert!(journal.narrator.spoke());
    journal.narrator.begin_turn(Some("editor/1"));
    assert!(!journal.narrator.spoke());
    assert_eq!(journal.message("editor/1", "more", Playback::Live), None);
    assert_eq!(text(journal.said("agent", "Yes.")), chunk("agent", "Yes."));
}

#[test]
fn what_others_say_to_the_agent_is_told() {
    let mut journal = Journal::new(Narrator::of_own_start());
    journal.message("start", "do it", Playback::Live);
    assert_eq!(
        text(journal.message("board", "and this", Playback::Live)),
        chunk("user", "and this")
    );
    assert_eq!(
        text(journal.said("operator", "typed at the terminal")),
        chunk("user", "typed at the terminal")
    );
}

#[test]
fn a_history_has_every_prompt() {
    let mut journal = Journal::new(Narrator::default());
    let first = journal.message("start", "do it", Playback::History);
    assert_eq!(text(first), chunk("user", "do it"));
    let second = journal.message("editor/1", "more", Playback::History);
    assert_eq!(text(second), chunk("user", "more"));
}

#[test]
fn what_was_refused_is_not_told() {
    let mut journal = Journal::new(Narrator::default());
    let claim = json!({ "signal": {
        "type": "completed_claim", "payload": { "summary": "All of it" },
    } });
    assert_eq!(journal.observed("marker", &claim, "refused"), None);
    assert!(!journal.narrator.spoke());
    let told = journal.observed("mcp_tool", &claim, "promoted");
    assert_eq!(text(told), chunk("agent", "All of it"));
}

#[test]
fn tools_and_progress_stand_between_messages() {
    let mut journal = Journal::new(Narrator::default());
    journal.said("agent", "I look.");
    let tool = |edge: &str| {
        json!({ "fact": {
        "type": "tool_use", "payload": { "edge": edge, "tool": "Bash" },
    } })
    };
    let began = journal
        .observed("hook", &tool("began"), "changed_state")
        .unwrap();
    assert_eq!(began["sessionUpdate"], "tool_call");
    assert_eq!(
        (&began["status"], &began["kind"]),
        (&json!("in_progress"), &json!("execute"))
    );
    let ended = journal
        .observed("hook", &tool("ended"), "changed_state")
        .unwrap();
    assert_eq!(ended["sessionUpdate"], "tool_call_update");
    assert_eq!(ended["status"], "completed");
    assert_eq!(ended["toolCallId"], began["toolCallId"]);
    assert_eq!(
        journal.observed("transcript", &tool("began"), "changed_state"),
        None
    );
    let progress = json!({ "signal": {
        "type": "progress", "payload": { "summary": "Half of it" },
    } });
    let told = journal
        .observed("mcp_tool", &progress, "changed_state")
        .unwrap();
    assert_eq!(told["sessionUpdate"], "agent_thought_chunk");
    assert_eq!(
        text(journal.said("agent", "It is there.")),
        chunk("agent", "It is there.")
    );
}
