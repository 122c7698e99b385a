//! A structured conversation, cut at every line by a daemon that dies.

use std::path::Path;

use missiond_control::{AcpVersion, Dialect, OpenSession, SessionChoice};
use missiond_core::PtyState;
use missiond_pty::{CastEvent, CastHeader, CastWriter, EventKind};
use missiond_semantic::{Answered, Delivered, Force, Submit, When};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::*;
use crate::typing::{Answer, InputError, Message};

fn setup() -> ControlSetup {
    ControlSetup {
        dialect: Dialect::Acp {
            newest: AcpVersion::V1,
        },
        bookkeeping: Vec::new(),
        habits: missiond_control::Habits::default(),
        session: OpenSession {
            cwd: "/work".into(),
            mcp_servers: Vec::new(),
            what: SessionChoice::New,
            meta: None,
        },
        mode: None,
        model: None,
        own_tools: vec!["mcp__mission-execution__progress".into()],
    }
}

fn at(millis: u64) -> Moment {
    Moment {
        wall: Timestamp::from_micros(i64::try_from(millis).unwrap() * 1000),
        clock: Duration::from_millis(millis),
    }
}

fn message(text: &str) -> (Job, oneshot::Receiver<Result<Delivered, InputError>>) {
    let (reply, outcome) = oneshot::channel();
    let message = Message {
        text: text.into(),
        attachments: Vec::new(),
        submit: Submit::Enter,
        when: When::Idle,
        wait: Duration::from_secs(5),
        force: Force::No,
    };
    (Job::Deliver(message, reply), outcome)
}

fn answer(option: &str) -> (Job, oneshot::Receiver<Result<Answered, InputError>>) {
    let (reply, outcome) = oneshot::channel();
    let answer = Answer {
        option: option.into(),
        expect: None,
        wait: Duration::ZERO,
    };
    (Job::Answer(answer, reply), outcome)
}

/// A host that records lines as the real one does, and an agent whose lines are given.
struct Stage {
    conversation: Conversation,
    recorded: Vec<(EventKind, u64)>,
    now: u64,
    taken: u64,
}

impl Stage {
    fn new() -> Self {
        Self::with(setup())
    }

    fn with(setup: ControlSetup) -> Self {
        let mut stage = Self {
            conversation: Conversation::new(setup),
            recorded: Vec::new(),
            now: 0,
            taken: 0,
        };
        let effects = stage.conversation.go_on(0, at(0));
        stage.apply(effects);
        stage
    }

    /// Everything is taken by the host at once.
    fn apply(&mut self, effects: Effects) {
        let mut ended = effects.ended;
        for line in effects.lines {
            self.now += 1;
            self.taken += 1;
            self.recorded
                .push((EventKind::Input(format!("{line}\n")), self.now));
        }
        let more = self.conversation.lines_taken(self.taken, at(self.now));
        assert!(more.lines.is_empty(), "{:?}", more.lines);
        ended.extend(more.ended);
        for ended in ended {
            ended.reply();
        }
    }

    fn agent_says(&mut self, message: &Value) {
        self.now += 1;
        let line = format!("{message}\n");
        self.recorded
            .push((EventKind::Output(line.clone()), self.now));
        let effects = self.conversation.receive(line.as_bytes(), at(self.now));
        self.apply(effects);
    }

    fn give(&mut self, job: Job) {
        self.now += 1;
        let effects = self.conversation.accept(job, at(self.now));
        self.apply(effects);
    }

    /// The same conversation by the recording alone.
    fn rebuilt(&self, folder: &Path) -> Rebuilt {
        let path = folder.join("s.cast");
        let header = CastHeader {
            version: 2,
            width: 80,
            height: 24,
            timestamp: Some(0),
            title: None,
            env: None,
            mission: None,
        };
        let mut cast = CastWriter::new(Vec::new(), &header).unwrap();
        for (kind, millis) in &self.recorded {
            let event = CastEvent {
                at: Duration::from_millis(*millis),
                kind: kind.clone(),
            };
            cast.write(&event).unwrap();
        }
        std::fs::write(&path, cast.into_inner()).unwrap();
        Conversation::rebuild(&path, Timestamp::from_micros(0), setup()).unwrap()
    }

    /// What the last line of ours asked for.
    fn last_asked(&self) -> Value {
        let sent = self.recorded.iter().rev().find_map(|(kind, _)| match kind {
            EventKind::Input(line) => Some(line),
            _ => None,
        });
        serde_json::from_str(sent.unwrap()).unwrap()
    }

    fn sent(&self, what: &str) -> usize {
        let lines = self.recorded.iter();
        lines
            .filter(|(kind, _)| matches!(kind, EventKind::Input(line) if line.contains(what)))
            .count()
    }

    fn state(&self) -> PtyState {
        self.conversation.reading().state
    }
}

fn opened() -> Stage {
    let mut stage = Stage::new();
    assert_eq!(stage.last_asked()["method"], "initialize");
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 1, "result": {
        "protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}}));
    assert_eq!(stage.last_asked()["method"], "session/new");
    assert_eq!(stage.state(), PtyState::Starting);
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "s"}}));
    assert_eq!(stage.state(), PtyState::Idle);
    stage
}

fn update(update: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update",
           "params": {"sessionId": "s", "update": update}})
}

fn asks(id: u64, command: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {
        "sessionId": "s",
        "toolCall": {"toolCallId": "t", "title": command, "kind": "execute",
                     "rawInput": {"command": command}},
        "options": [
            {"optionId": "yes", "name": "Allow once", "kind": "allow_once"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"}]}})
}

#[test]
fn a_prompt_waits_for_the_session_and_is_done_when_its_line_is_on_record() {
    let mut stage = Stage::new();
    let (job, mut outcome) = message("hello");
    stage.give(job);
    assert!(outcome.try_recv().is_err(), "no session is open yet");
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 1, "result": {
        "protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}}));
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "s"}}));
    assert_eq!(stage.last_asked()["params"]["prompt"][0]["text"], "hello");
    outcome.try_recv().unwrap().unwrap();
    assert_eq!(stage.state(), PtyState::Thinking);
    // The next one waits for the end of the turn.
    let (job, mut outcome) = message("more");
    stage.give(job);
    assert!(outcome.try_recv().is_err());
    assert_eq!(stage.sent("session/prompt"), 1);
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}));
    outcome.try_recv().unwrap().unwrap();
    assert_eq!(stage.sent("session/prompt"), 2);
}

#[test]
fn a_text_for_an_agent_that_never_opens_its_session_is_refused_in_time() {
    let mut stage = Stage::new();
    let (job, mut outcome) = message("hello");
    stage.give(job);
    let effects = stage.conversation.tick(at(60_000));
    stage.apply(effects);
    let refused = outcome.try_recv().unwrap().unwrap_err();
    assert!(refused.to_string().contains("starting"), "{refused}");
}

#[test]
fn a_daemon_that_dies_at_any_line_is_followed_by_one_with_the_same_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = opened();
    let (job, _prompted) = message("run it");
    stage.give(job);
    let steps = [
        update(&json!({"sessionUpdate": "agent_message_chunk",
                       "content": {"type": "text", "text": "Let me "}})),
        update(
            &json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "rm x",
                       "kind": "execute", "status": "pending",
                       "rawInput": {"command": "rm x"}}),
        ),
        asks(7, "rm x"),
    ];
    for step in &steps {
        stage.agent_says(step);
        let Rebuilt {
            mut conversation,
            offset,
            ..
        } = stage.rebuilt(folder.path());
        let (live, again) = (stage.conversation.reading(), conversation.reading());
        assert_eq!((live.state, &live.dialog), (again.state, &again.dialog));
        assert!(conversation.is_in_step(stage.taken));
        let written = stage.recorded.iter().map(|(kind, _)| match kind {
            EventKind::Output(line) => line.len() as u64,
            _ => 0,
        });
        assert_eq!(offset, written.sum::<u64>());
        // Nothing is said again by itself.
        let effects = conversation.go_on(stage.taken, at(stage.now + 1));
        assert!(effects.lines.is_empty(), "{:?}", effects.lines);
    }
    // The next daemon answers what the last one was asked; once.
    stage.conversation = stage.rebuilt(folder.path()).conversation;
    let (job, mut outcome) = answer("Allow once");
    stage.give(job);
    outcome.try_recv().unwrap().unwrap();
    assert_eq!(stage.last_asked()["id"], 7);
    let (job, mut again) = answer("Allow once");
    stage.give(job);
    assert!(again.try_recv().unwrap().is_err());
    assert_eq!(stage.sent("\"optionId\":\"yes\""), 1);
}

#[test]
fn what_a_host_never_took_is_asked_for_again_and_what_it_took_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = opened();
    let (job, mut outcome) = message("hello");
    let effects = stage.conversation.accept(job, at(50));
    assert_eq!(effects.lines.len(), 1, "it was written and lost");
    let mut rebuilt = stage.rebuilt(folder.path()).conversation;
    std::mem::swap(&mut rebuilt, &mut stage.conversation);
    stage.conversation.take_jobs(rebuilt);
    let effects = stage.conversation.go_on(stage.taken, at(60));
    stage.apply(effects);
    outcome.try_recv().unwrap().unwrap();
    assert_eq!(stage.sent("session/prompt"), 1);
    // Taken, and the news of it lost.
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}));
    let (job, mut outcome) = message("again");
    let effects = stage.conversation.accept(job, at(70));
    let line = format!("{}\n", effects.lines[0]);
    stage.recorded.push((EventKind::Input(line), 71));
    stage.taken += 1;
    let mut rebuilt = stage.rebuilt(folder.path()).conversation;
    std::mem::swap(&mut rebuilt, &mut stage.conversation);
    stage.conversation.take_jobs(rebuilt);
    let effects = stage.conversation.go_on(stage.taken, at(80));
    stage.apply(effects);
    outcome.try_recv().unwrap().unwrap();
    assert_eq!(stage.sent("session/prompt"), 2);
}

#[test]
fn another_input_than_the_announced_one_is_for_a_person() {
    let mut stage = opened();
    let (job, _prompted) = message("run it");
    stage.give(job);
    stage.agent_says(&update(
        &json!({"sessionUpdate": "tool_call", "toolCallId": "t",
        "title": "ls", "kind": "execute", "status": "pending", "rawInput": {"command": "ls"}}),
    ));
    stage.agent_says(&asks(7, "rm -rf /"));
    let dialog = stage.conversation.reading().dialog.unwrap();
    assert_eq!(dialog.request, None, "no rule may decide");
    assert!(dialog.text.contains("not what the agent announced"));
}

#[test]
fn nobody_is_asked_about_a_tool_of_our_own_and_everybody_about_its_likeness() {
    let mut stage = opened();
    let (job, _prompted) = message("report");
    stage.give(job);
    let mut ours = asks(7, "Report");
    ours["params"]["toolCall"]["_meta"] =
        json!({"claudeCode": {"toolName": "mcp__mission-execution__progress"}});
    stage.agent_says(&ours);
    assert_eq!(stage.last_asked()["id"], 7);
    assert_eq!(stage.sent("\"optionId\":\"yes\""), 1);
    stage.agent_says(&asks(8, "mcp__mission-execution__progress"));
    assert_eq!(stage.state(), PtyState::Confirming);
}

fn wanting_plan_mode(session: &Value) -> (Stage, oneshot::Receiver<Result<Delivered, InputError>>) {
    let mut stage = Stage::with(ControlSetup {
        mode: Some("plan".into()),
        ..setup()
    });
    let (job, outcome) = message("hello");
    stage.give(job);
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 1, "result": {
        "protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}}));
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 2, "result": session}));
    (stage, outcome)
}

#[test]
fn nothing_is_said_before_the_mode_is_the_one_that_was_wanted() {
    let modes = json!({"currentModeId": "default", "availableModes": [
        {"id": "default", "name": "Default"}, {"id": "plan", "name": "Plan"}]});
    let (mut stage, mut outcome) = wanting_plan_mode(&json!({"sessionId": "s", "modes": modes}));
    assert_eq!(stage.last_asked()["method"], "session/set_mode");
    assert_eq!(stage.state(), PtyState::Starting);
    assert_eq!(stage.sent("session/prompt"), 0);
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 3, "result": {}}));
    assert_eq!(stage.sent("session/prompt"), 1);
    outcome.try_recv().unwrap().unwrap();

    // It will not.
    let (mut stage, mut outcome) = wanting_plan_mode(&json!({"sessionId": "s", "modes": modes}));
    stage.agent_says(&json!({"jsonrpc": "2.0", "id": 3, "error": {
        "code": -32603, "message": "no plans today"}}));
    let refused = outcome.try_recv().unwrap().unwrap_err().to_string();
    assert!(refused.contains("no plans today"), "{refused}");
    assert_eq!(stage.sent("session/prompt"), 0);
}

#[test]
fn an_agent_without_the_wanted_mode_is_told_nothing() {
    let (stage, mut outcome) = wanting_plan_mode(&json!({"sessionId": "s"}));
    let refused = outcome.try_recv().unwrap().unwrap_err().to_string();
    assert!(refused.contains("the mode `plan` was wanted"), "{refused}");
    assert_eq!(stage.sent("session/prompt"), 0);
    assert_eq!(stage.state(), PtyState::Error);
}
