//! A recording read again is the conversation that was: the same events, and at every
//! line the same state. And bytes are the same however a read cuts them.

use missiond_control::{
    AgentRequestId, Client, ControlEvent, ControlRequest, Direction, Options, PermissionAnswer,
    PromptPart, replay,
};
use missiond_core::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::live::{ACP, ACP_V2, APP_SERVER, Live, taking_back};
use crate::traces;

/// A step of a random conversation.
#[derive(Debug, Clone)]
enum Step {
    Agent(Value),
    Noise(Vec<u8>),
    Ask(ControlRequest),
}

fn acp_message() -> impl Strategy<Value = Value> {
    let tool = prop::sample::select(vec!["t1", "t2"]);
    let command = prop::sample::select(vec!["ls", "rm"]);
    prop_oneof![
        (0..4i64, tool.clone(), command.clone()).prop_map(|(id, tool, command)| json!({
        "id": id, "method": "session/request_permission", "params": {
            "sessionId": "s",
            "toolCall": {"toolCallId": tool, "rawInput": {"command": command}},
            "options": [{"optionId": "yes", "name": "Y", "kind": "allow_once"}],
        }})),
        (tool, command).prop_map(|(tool, command)| json!({
            "method": "session/update", "params": {"sessionId": "s", "update": {
                "sessionUpdate": "tool_call_update", "toolCallId": tool,
                "rawInput": {"command": command}, "status": "in_progress"}}})),
        (1..9u64).prop_map(|id| json!({"id": id, "result": {"stopReason": "end_turn"}})),
        (1..9u64).prop_map(|id| json!({"id": id, "error": {"code": -32000, "message": "no"}})),
        (0..4i64).prop_map(|id| json!({"method": "$/cancel_request", "params": {"requestId": id}})),
        Just(json!({"id": 50, "method": "fs/read_text_file", "params": {}})),
        prop::sample::select(vec!["idle", "running"]).prop_map(|state| json!({
            "method": "session/update", "params": {"sessionId": "s", "update": {
                "sessionUpdate": "state_update", "state": state, "stopReason": "end_turn"}}})),
    ]
}

fn app_server_message() -> impl Strategy<Value = Value> {
    let turn = prop::sample::select(vec!["u1", "u2"]);
    prop_oneof![
        turn.clone()
            .prop_map(|turn| json!({"method": "turn/started",
            "params": {"threadId": "s", "turn": {"id": turn}}})),
        turn.clone()
            .prop_map(|turn| json!({"method": "turn/completed",
            "params": {"threadId": "s", "turn": {"id": turn, "status": "completed"}}})),
        (1..9u64, turn).prop_map(|(id, turn)| json!({"id": id, "result": {"turn": {"id": turn}}})),
        (0..4i64).prop_map(|id| json!({"id": id,
            "method": "item/commandExecution/requestApproval",
            "params": {"threadId": "s", "itemId": "t", "command": "ls", "cwd": "/work"}})),
        (0..4i64).prop_map(|id| json!({"method": "serverRequest/resolved",
            "params": {"threadId": "s", "requestId": id}})),
        Just(json!({"id": 50, "method": "item/tool/call", "params": {}})),
    ]
}

fn asked() -> impl Strategy<Value = ControlRequest> {
    prop_oneof![
        Just(ControlRequest::Prompt(vec![PromptPart::Text("hi".into())])),
        Just(ControlRequest::Steer(vec![PromptPart::Text("hm".into())])),
        Just(ControlRequest::Cancel),
        Just(ControlRequest::Close),
        (
            0..4i64,
            prop::sample::select(vec!["yes", "accept", "decline"])
        )
            .prop_map(|(id, option)| ControlRequest::AnswerPermission {
                id: AgentRequestId::Number(id),
                answer: PermissionAnswer::Option(option.into()),
            }),
    ]
}

fn conversation() -> impl Strategy<Value = (Options, Vec<Step>)> {
    let steps = |message: BoxedStrategy<Value>| {
        let step = prop_oneof![
            5 => message.prop_map(Step::Agent),
            4 => asked().prop_map(Step::Ask),
            1 => prop::collection::vec(any::<u8>().prop_filter("no newline", |b| *b != b'\n'), 1..20)
                .prop_map(Step::Noise),
        ];
        prop::collection::vec(step, 1..40)
    };
    prop_oneof![
        steps(acp_message().boxed()).prop_map(|steps| (Options::new(ACP), steps)),
        steps(acp_message().boxed()).prop_map(|steps| (taking_back(), steps)),
        steps(acp_message().boxed()).prop_map(|steps| (Options::new(ACP_V2), steps)),
        steps(app_server_message().boxed()).prop_map(|steps| (Options::new(APP_SERVER), steps)),
    ]
}

fn played(options: Options, steps: &[Step]) -> Live {
    let mut live = Live::in_session(options);
    for step in steps {
        match step {
            Step::Agent(message) => drop(live.agent(message)),
            Step::Noise(line) => drop(live.agent_line(line)),
            // What is refused sends nothing and changes nothing.
            Step::Ask(request) => drop(live.ask(request)),
        }
    }
    live
}

proptest! {
    #[test]
    fn a_recording_cut_at_any_line_is_the_state_that_was((options, steps) in conversation()) {
        let live = played(options, &steps);
        let whole = replay(live.options.clone(), &live.recording);
        let events: Vec<ControlEvent> = whole.events.into_iter().map(|(_, event)| event).collect();
        prop_assert_eq!(&events, &live.events);
        for cut in 0..=live.recording.len() {
            let mut replayed = replay(live.options.clone(), &live.recording[..cut]);
            let known = live.states.iter().rfind(|(lines, _)| *lines == cut);
            if let Some((_, state)) = known {
                prop_assert_eq!(&replayed.client.state(), state);
                prop_assert_eq!(replayed.client.flush(Timestamp::from_micros(0)).lines.len(), 0);
            } else if cut > 0 {
                // Between a line of the agent and our answers to it: what is owed is
                // exactly what the recording has next, except where a caller asked.
                let next = &live.recording[cut];
                prop_assert_eq!(next.direction, Direction::ToAgent);
                let owed = replayed.client.flush(next.at).lines;
                if let Some(first) = owed.first() {
                    prop_assert_eq!(first.as_bytes(), &next.line[..]);
                }
            }
        }
    }

    #[test]
    fn any_split_of_the_bytes_gives_the_same_events(
        (mut options, steps) in conversation(),
        cuts in prop::collection::vec(1..64usize, 1..20),
    ) {
        let mut bytes = Vec::new();
        for step in &steps {
            match step {
                Step::Agent(message) => bytes.extend(message.to_string().as_bytes()),
                Step::Noise(line) => bytes.extend(line),
                Step::Ask(_) => continue,
            }
            bytes.push(b'\n');
        }
        options.limits.line = 256;
        let now = Timestamp::from_micros(1);
        let mut whole = Client::new(options.clone());
        let expected = whole.receive(&bytes, now);
        let mut cut = Client::new(options);
        let mut output = (Vec::new(), Vec::new());
        let mut rest = &bytes[..];
        for size in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            let told = cut.receive(piece, now);
            output.0.extend(told.events);
            output.1.extend(told.lines);
            rest = after;
        }
        prop_assert_eq!(output, (expected.events, expected.lines));
        prop_assert_eq!(cut.state(), whole.state());
    }
}

#[test]
fn the_real_conversations_come_back_at_every_line() {
    for (engine, dialect) in [
        ("claude", ACP),
        ("codex-acp", ACP),
        ("codex-app-server", APP_SERVER),
        ("copilot", ACP),
        ("gemini", ACP),
        ("opencode", ACP),
        ("qwen", ACP),
    ] {
        let lines = traces::lines(engine);
        let whole = replay(Options::new(dialect), &lines);
        for cut in 0..=lines.len() {
            let part = replay(Options::new(dialect), &lines[..cut]);
            let expected = whole.events.iter().filter(|(line, _)| *line < cut);
            assert!(part.events.iter().eq(expected), "{engine} at line {cut}");
            let open = part.client.state();
            let asked = lines[..cut]
                .iter()
                .filter(|line| is_question(&line.line))
                .count();
            let resolved = part
                .events
                .iter()
                .filter(|(_, event)| matches!(event, ControlEvent::PermissionResolved { .. }));
            assert_eq!(
                open.permissions.len(),
                asked - resolved.count(),
                "{engine} at {cut}"
            );
        }
    }
}

fn is_question(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    text.contains("session/request_permission") || text.contains("/requestApproval")
}
