use serde_json::{Value, json};

use super::*;

/// A turn with a clock of its own.
struct Watched {
    turn: Turn,
    now: Instant,
    spoke: bool,
}

impl Watched {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            turn: Turn::of_message(now),
            now,
            spoke: false,
        }
    }

    fn record(&mut self, kind: &str, data: &Value) {
        let body = serde_json::from_value(json!({ "type": kind, "data": data })).unwrap();
        self.turn.record(&body, self.now);
    }

    fn accepted(&mut self) -> MessageId {
        let id = MessageId::generate();
        let content = json!({ "type": "prompt", "payload": { "text": "x" } });
        self.record(
            "message.accepted",
            &json!({ "id": id, "key": id, "from": "operator", "content": content }),
        );
        id
    }

    fn delivery(&mut self, message: MessageId, status: &str) {
        self.record(
            "message.delivery",
            &json!({ "message": message, "status": status, "reason": "why" }),
        );
    }

    fn activity(&mut self, activity: &str) {
        self.record("activity.updated", &json!({ "activity": activity }));
    }

    fn after(&mut self, seconds: u64, screen: Option<PtyState>) -> Option<Outcome> {
        self.now += Duration::from_secs(seconds);
        self.turn.outcome(screen, self.spoke, self.now)
    }

    fn delivered() -> Self {
        let mut watched = Self::new();
        let message = watched.accepted();
        watched.activity("idle");
        watched.delivery(message, "delivering");
        watched.delivery(message, "delivered");
        watched
    }
}

#[test]
fn a_turn_is_over_when_the_agent_rests_and_its_words_are_there() {
    let mut watched = Watched::delivered();
    assert_eq!(watched.after(1, None), None, "it has not begun");
    watched.activity("reasoning");
    watched.activity("idle");
    assert_eq!(watched.after(0, None), None);
    assert_eq!(watched.after(1, None), None, "its words are not there yet");
    watched.spoke = true;
    watched.activity("idle");
    assert_eq!(watched.after(0, None), None, "more may come");
    assert_eq!(watched.after(2, None), Some(Outcome::Done));
}

#[test]
fn a_transcript_that_has_the_end_is_not_waited_for() {
    let mut watched = Watched::delivered();
    watched.activity("reasoning");
    watched.activity("idle");
    assert_eq!(watched.after(0, None), None);
    watched.record(
        "observation.recorded",
        &json!({
            "id": missiond_core::ObservationId::generate(),
            "execution": missiond_core::ExecutionId::generate(),
            "key": "k", "source": "transcript", "confidence": "high",
            "observed_at": "2026-01-04T12:00:00.000000Z",
            "observed": { "fact": { "type": "turn", "payload": { "edge": "ended" } } },
        }),
    );
    assert_eq!(watched.after(0, None), Some(Outcome::Done));
}

#[test]
fn an_agent_without_words_is_not_waited_for_long() {
    let mut watched = Watched::delivered();
    watched.activity("executing");
    watched.activity("idle");
    assert_eq!(watched.after(0, None), None);
    assert_eq!(watched.after(3, None), Some(Outcome::Done));
}

#[test]
fn an_agent_that_goes_on_is_not_done() {
    let mut watched = Watched::delivered();
    watched.spoke = true;
    watched.activity("reasoning");
    watched.activity("idle");
    assert_eq!(watched.after(0, None), None);
    watched.activity("executing");
    assert_eq!(watched.after(9, Some(PtyState::Idle)), None);
}

#[test]
fn a_message_that_waits_keeps_the_turn_open() {
    let mut watched = Watched::delivered();
    watched.spoke = true;
    watched.activity("reasoning");
    let more = watched.accepted();
    watched.activity("idle");
    assert_eq!(watched.after(60, Some(PtyState::Idle)), None);
    watched.delivery(more, "delivering");
    watched.delivery(more, "delivered");
    assert_eq!(watched.after(1, None), None, "it has not worked on it");
    watched.activity("reasoning");
    watched.activity("idle");
    assert_eq!(watched.after(0, None), None);
    assert_eq!(watched.after(2, None), Some(Outcome::Done));
}

#[test]
fn a_screen_that_stands_tells_what_no_record_does() {
    let mut watched = Watched::delivered();
    assert_eq!(watched.after(0, Some(PtyState::Idle)), None);
    assert_eq!(watched.after(6, Some(PtyState::Error)), None);
    assert_eq!(
        watched.after(5, Some(PtyState::Error)),
        Some(Outcome::Error)
    );
    let mut watched = Watched::delivered();
    assert_eq!(watched.after(0, Some(PtyState::Idle)), None);
    assert_eq!(watched.after(10, Some(PtyState::Idle)), Some(Outcome::Done));
}

#[test]
fn a_prompt_that_did_not_arrive_and_a_run_that_ended_are_told() {
    let mut watched = Watched::new();
    let message = watched.accepted();
    watched.delivery(message, "failed");
    let failed = Some(Outcome::NotDelivered("why".to_owned()));
    assert_eq!(watched.after(0, None), failed);
    let mut watched = Watched::delivered();
    watched.record("state.changed", &json!({ "lifecycle": "failed" }));
    let ended = Some(Outcome::RunEnded(ExecutionLifecycle::Failed));
    assert_eq!(watched.after(0, None), ended);
    assert!(watched.turn.has_stopped());
}

#[test]
fn whoever_waits_for_a_person_says_so() {
    let mut watched = Watched::delivered();
    assert!(!watched.turn.awaits_operator());
    watched.record(
        "state.changed",
        &json!({ "attention": "awaiting_operator" }),
    );
    assert!(watched.turn.awaits_operator());
    watched.record("state.changed", &json!({ "attention": "autonomous" }));
    assert!(!watched.turn.awaits_operator());
}
