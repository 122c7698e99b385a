//! Agents that keep no rule: each thing they do has one clear answer, and nothing they
//! do makes the client keep more than its bounds.

use missiond_control::{
    AgentRequestId, Client, ControlEvent, ControlRequest, Dialect, JsonProblem, Limits, Options,
    PermissionAnswer, RequestId, Trouble,
};
use missiond_core::Timestamp;
use serde_json::json;

use crate::live::{ACP, APP_SERVER, Live};

fn trouble(events: &[ControlEvent]) -> &Trouble {
    match events {
        [ControlEvent::Trouble(trouble)] => trouble,
        other => panic!("{other:?}"),
    }
}

fn permission(id: i64, tool: &str) -> serde_json::Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {
        "sessionId": "s",
        "toolCall": {"toolCallId": tool, "rawInput": {"command": "ls"}},
        "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
    }})
}

#[test]
fn a_line_of_100_megabytes_is_one_event_and_the_next_line_is_read() {
    let mut live = Live::with_session(ACP);
    let now = Timestamp::from_micros(1);
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..100 {
        assert_eq!(live.client.receive(&piece, now).events, []);
    }
    let output = live.client.receive(b"\n", now);
    assert!(
        matches!(trouble(&output.events), Trouble::LineTooLong { head, .. }
        if head.text.len() == 128)
    );
    let next = live.update(json!({"sessionUpdate": "plan", "entries": []}));
    assert!(matches!(&next[..], [ControlEvent::Plan(_)]));
}

#[test]
fn what_is_no_message_is_said_and_kept_short() {
    let mut live = Live::with_session(ACP);
    let events = live
        .agent_line(b"Warning: something on standard output")
        .events;
    assert!(matches!(
        trouble(&events),
        Trouble::NotAMessage {
            problem: JsonProblem::NotJson,
            ..
        }
    ));
    let deep = [b"[".repeat(100), b"]".repeat(100)].concat();
    let events = live.agent_line(&deep).events;
    assert!(matches!(
        trouble(&events),
        Trouble::NotAMessage {
            problem: JsonProblem::TooDeep { .. },
            ..
        }
    ));
    let wide = format!("[{}1]", "1,".repeat(300_000));
    let events = live.agent_line(wide.as_bytes()).events;
    let Trouble::NotAMessage { problem, raw } = trouble(&events) else {
        panic!("{events:?}");
    };
    assert_eq!(*problem, JsonProblem::TooManyValues { limit: 200_000 });
    assert_eq!(raw.text.len(), Limits::default().raw);
    assert_eq!(raw.text.len() + raw.omitted_bytes, wide.len());
    let events = live.agent(&json!({"id": {}, "method": "x"}));
    assert!(matches!(trouble(&events), Trouble::NotJsonRpc { .. }));
    // Two parsers could read two commands out of this one.
    let twice = br#"{"method":"session/update","params":{"sessionId":"s","sessionId":"z"}}"#;
    let events = live.agent_line(twice).events;
    assert!(matches!(
        trouble(&events),
        Trouble::NotAMessage {
            problem: JsonProblem::DuplicateMember { .. },
            ..
        }
    ));
}

#[test]
fn answers_to_nothing_and_second_answers_change_nothing() {
    for dialect in [ACP, APP_SERVER] {
        let mut live = Live::with_session(dialect);
        let before = live.state().session;
        let events = live.agent(&json!({"id": 77, "result": {"sessionId": "evil"}}));
        assert!(matches!(trouble(&events), Trouble::AnswerToNothing { .. }));
        let events = live.agent(&json!({"id": "2", "result": {"sessionId": "evil"}}));
        assert!(matches!(trouble(&events), Trouble::AnswerToNothing { .. }));
        let events = live.agent(&json!({"id": 2, "result": {"sessionId": "evil"}}));
        assert_eq!(
            trouble(&events),
            &Trouble::SecondAnswer { id: RequestId(2) }
        );
        assert_eq!(live.state().session, before);
    }
}

#[test]
fn the_same_id_twice_is_not_answered_twice() {
    let mut live = Live::with_session(ACP);
    live.agent(&permission(0, "a"));
    let output = live.agent_line(permission(0, "b").to_string().as_bytes());
    assert!(matches!(
        trouble(&output.events),
        Trouble::DuplicateRequest { .. }
    ));
    assert_eq!(output.lines, Vec::<String>::new());
    assert_eq!(live.state().permissions.len(), 1);
}

#[test]
fn another_session_is_not_listened_to() {
    let mut live = Live::with_session(ACP);
    let events = live.agent(&json!({"method": "session/update", "params": {
        "sessionId": "other", "update": {"sessionUpdate": "plan", "entries": []}}}));
    assert!(matches!(trouble(&events), Trouble::OtherSession { .. }));
    let mut ask = permission(1, "t");
    ask["params"]["sessionId"] = json!("other");
    let output = live.agent_line(ask.to_string().as_bytes());
    assert!(matches!(
        trouble(&output.events),
        Trouble::OtherSession { .. }
    ));
    assert!(output.lines[0].contains("-32602"));
}

#[test]
fn options_that_cannot_be_told_apart_are_refused() {
    let mut live = Live::with_session(ACP);
    for options in [
        json!([]),
        json!([{"name": "Yes", "kind": "allow_once"}]),
        json!([{"optionId": "a", "kind": "reject_once"}, {"optionId": "a", "kind": "allow_always"}]),
    ] {
        let mut ask = permission(1, "t");
        ask["params"]["options"] = options;
        let output = live.agent_line(ask.to_string().as_bytes());
        assert!(matches!(trouble(&output.events), Trouble::Malformed { .. }));
        assert!(output.lines[0].contains("-32602"));
    }
}

#[test]
fn a_turn_that_ends_twice_or_with_a_question_open_is_said() {
    let mut live = Live::with_session(ACP);
    live.prompt("hi").unwrap();
    live.agent(&permission(0, "t"));
    let events = live.agent(&json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    assert!(matches!(
        &events[..],
        [
            ControlEvent::TurnEnded { .. },
            ControlEvent::Trouble(Trouble::PermissionLeftOpen { .. }),
        ]
    ));
    // It can still be answered: the agent may work in the background.
    assert_eq!(live.state().permissions.len(), 1);

    let mut live = Live::with_session(APP_SERVER);
    let events = live.notice(
        "turn/completed",
        json!({"turn": {"id": "u", "status": "completed"}}),
    );
    assert!(matches!(trouble(&events), Trouble::OutOfOrder { .. }));
}

#[test]
fn questions_and_requests_have_a_most() {
    let mut options = Options::new(ACP);
    options.limits.open_permissions = 3;
    options.limits.open_requests = 4;
    let mut live = greeted(options);
    for id in 0..3 {
        live.agent(&permission(id, "t"));
    }
    let output = live.agent_line(permission(3, "t").to_string().as_bytes());
    assert!(matches!(
        trouble(&output.events),
        Trouble::TooManyPermissions { limit: 3 }
    ));
    assert!(output.lines[0].contains("cancelled"));
    for id in 0..3 {
        let id = AgentRequestId::Number(id);
        let answer = PermissionAnswer::Cancelled;
        live.ask(&ControlRequest::AnswerPermission { id, answer })
            .unwrap();
    }
    for _ in 0..4 {
        live.ask(&ControlRequest::Close).unwrap();
    }
    let refused = live.ask(&ControlRequest::Close).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "4 requests wait for the agent's answer already"
    );
}

#[test]
fn texts_lists_and_events_have_a_most_and_the_cut_is_said() {
    let mut options = Options::new(ACP);
    options.limits.text = 10;
    options.limits.list = 5;
    options.limits.input = 8;
    let mut live = greeted(options);
    let entry = json!({"content": "a long step of the plan", "status": "pending"});
    let events = live.update(json!({"sessionUpdate": "plan", "entries": vec![entry; 50]}));
    let [ControlEvent::Plan(plan)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(plan.steps.len(), 5);
    assert_eq!(
        (
            plan.steps[0].text.text.len(),
            plan.steps[0].text.omitted_bytes
        ),
        (10, 13)
    );
    let events = live.agent(&permission(0, "t"));
    let Some(ControlEvent::PermissionRequested(request)) = events.last() else {
        panic!("{events:?}");
    };
    // Cut for the eye; the digest is over all of it.
    let whole = {
        let mut live = Live::with_session(ACP);
        let events = live.agent(&permission(0, "t"));
        match events.last() {
            Some(ControlEvent::PermissionRequested(request)) => request.input.digest().cloned(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(request.input.digest().cloned(), whole);
    assert!(
        matches!(&request.input, missiond_control::ToolInput::Said { json, .. }
        if json.omitted_bytes > 0)
    );

    let mut options = Options::new(Dialect::Acp {
        newest: missiond_control::AcpVersion::V2,
    });
    options.limits.events_per_line = 4;
    let mut live = Live::new(options);
    live.ask(&ControlRequest::Start).unwrap();
    live.agent(
        &json!({"id": 1, "result": {"protocolVersion": 2, "capabilities": {"session": {}}}}),
    );
    live.ask(&crate::live::open(missiond_control::SessionChoice::New))
        .unwrap();
    live.agent(&json!({"id": 2, "result": {"sessionId": "s"}}));
    let block = json!({"type": "text", "text": "x"});
    let events = live.update(json!({"sessionUpdate": "agent_message", "messageId": "m",
        "content": vec![block; 50]}));
    assert_eq!(events.len(), 5);
    assert!(matches!(
        events.last(),
        Some(ControlEvent::Trouble(Trouble::TooManyEvents {
            omitted: 46
        }))
    ));
}

#[test]
fn names_an_agent_makes_up_are_counted_within_bounds() {
    let mut options = Options::new(ACP);
    options.limits.list = 3;
    let mut live = greeted(options);
    for n in 0..20 {
        let events = live.agent(&json!({"method": format!("_x/{}", n % 10), "params": {"n": n}}));
        assert!(matches!(
            &events[..],
            [ControlEvent::UnknownNotification { .. }]
        ));
    }
    let counts = live.state().unknown_notifications;
    assert_eq!(counts.len(), 3);
    assert_eq!(counts["_x/0"], 2);
}

#[test]
fn before_the_greeting_nothing_is_believed() {
    for dialect in [ACP, APP_SERVER] {
        let mut client = Client::new(Options::new(dialect));
        let line = permission(0, "t").to_string() + "\n";
        let output = client.receive(line.as_bytes(), Timestamp::from_micros(1));
        assert!(client.state().permissions.is_empty());
        // It is told, and the agent is answered.
        assert_eq!((output.events.len(), output.lines.len()), (1, 1));
    }
}

fn greeted(options: Options) -> Live {
    let mut live = Live::new(options);
    live.ask(&ControlRequest::Start).unwrap();
    live.agent(&json!({"id": 1, "result": {"protocolVersion": 1,
        "agentCapabilities": {"sessionCapabilities": {"close": {}}}}}));
    live.ask(&crate::live::open(missiond_control::SessionChoice::New))
        .unwrap();
    live.agent(&json!({"id": 2, "result": {"sessionId": "s"}}));
    live
}
