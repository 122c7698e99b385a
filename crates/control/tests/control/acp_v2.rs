//! The draft of version 2 of ACP, where it differs.

use missiond_control::{
    Activity, AgentRequestId, Announced, ContentChange, ControlEvent, ControlRequest,
    FileOperation, OptionKind, Options, PermissionAnswer, Placement, Protocol, SessionChoice,
    ToolContent, ToolInput, ToolStatus, TurnEnd,
};
use serde_json::json;

use crate::live::{ACP_V2, Live, open};

#[test]
fn it_is_offered_with_the_members_of_both_and_spoken_only_if_the_agent_has_it() {
    let mut live = Live::new(Options::new(ACP_V2));
    let lines = live.ask(&ControlRequest::Start).unwrap();
    let params = &lines[0]["params"];
    assert_eq!(params["protocolVersion"], 2);
    assert!(params["info"].is_object() && params["clientInfo"].is_object());
    live.agent(&json!({"id": 1, "result": {"protocolVersion": 1,
        "agentCapabilities": {"loadSession": true}}}));
    assert!(matches!(&live.events[0], ControlEvent::AgentReady(agent)
        if agent.protocol == Protocol::AcpV1 && agent.offers.load));

    let live = Live::with_session(ACP_V2);
    assert!(matches!(&live.events[0], ControlEvent::AgentReady(agent)
        if agent.protocol == Protocol::AcpV2 && agent.offers.images && !agent.offers.mcp_http));
}

#[test]
fn the_agents_idle_ends_the_turn_and_the_answer_does_not() {
    let mut live = Live::with_session(ACP_V2);
    live.prompt("hi").unwrap();
    // A late word of what came before the prompt.
    live.update(
        json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}),
    );
    assert!(live.state().turn.is_some());
    assert_eq!(live.agent(&json!({"id": 3, "result": {}})), []);
    live.update(json!({"sessionUpdate": "state_update", "state": "running"}));
    live.update(json!({"sessionUpdate": "state_update", "state": "requires_action"}));
    assert_eq!(live.state().activity, Some(Activity::WaitsForInput));
    let events = live
        .update(json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "_paused"}));
    assert!(matches!(&events[..], [
        ControlEvent::ActivityChanged { activity: Activity::Idle },
        ControlEvent::TurnEnded { end: TurnEnd::Unknown(word), .. },
    ] if word == "_paused"));
    // Work the agent begins by itself is a turn too.
    let events = live.update(json!({"sessionUpdate": "state_update", "state": "running"}));
    assert!(matches!(
        &events[1],
        ControlEvent::TurnBegan { request: None, .. }
    ));
}

#[test]
fn a_message_told_whole_stands_instead_of_its_pieces() {
    let mut live = Live::with_session(ACP_V2);
    let text = |text: &str| json!({"type": "text", "text": text});
    let events = live.update(json!({"sessionUpdate": "agent_message", "messageId": "m",
        "content": [text("a"), text("b")]}));
    let placements: Vec<_> = events
        .iter()
        .map(|event| match event {
            ControlEvent::Message(part) => part.placement,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(placements, [Placement::Replaced, Placement::Appended]);
    let events =
        live.update(json!({"sessionUpdate": "agent_message", "messageId": "m", "content": null}));
    assert!(matches!(&events[..], [ControlEvent::Message(part)] if part.part.is_none()));
    assert_eq!(
        live.update(json!({"sessionUpdate": "agent_message", "messageId": "m"})),
        []
    );
}

#[test]
fn diffs_name_files_and_unknown_words_are_kept() {
    let mut live = Live::with_session(ACP_V2);
    let events = live.update(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "_odd",
        "content": [{"type": "diff",
            "changes": [{"operation": "move", "oldPath": "/work/a", "path": "/work/b"},
                {"operation": "_touch", "path": "/work/c"}],
            "patch": {"format": "git_patch", "text": "diff"}}],
    }));
    let [ControlEvent::ToolCallAnnounced { call, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(call.status, ToolStatus::Unknown("_odd".into()));
    let [
        ToolContent::Patch {
            changes,
            patch: Some(_),
        },
    ] = &call.content[..]
    else {
        panic!("{call:?}");
    };
    assert_eq!(changes[0].operation, FileOperation::Move);
    assert_eq!(
        changes[1].operation,
        FileOperation::Unknown("_touch".into())
    );
    let events = live.update(json!({"sessionUpdate": "tool_call_content_chunk",
        "toolCallId": "t", "content": {"type": "terminal", "terminalId": "x"}}));
    assert!(
        matches!(&events[..], [ControlEvent::ToolCallUpdated { update, .. }]
        if matches!(update.content, Some(ContentChange::Appended(_))))
    );
    let events = live.update(json!({"sessionUpdate": "terminal_output_chunk",
        "terminalId": "x", "data": "aGk="}));
    assert!(matches!(&events[..], [ControlEvent::TerminalOutput { .. }]));
    let events = live.update(json!({"sessionUpdate": "_own", "a": 1}));
    assert!(matches!(
        &events[..],
        [ControlEvent::UnknownNotification { .. }]
    ));
}

#[test]
fn a_command_may_be_the_subject_of_a_request() {
    let mut live = Live::with_session(ACP_V2);
    let events = live.agent(
        &json!({"id": 4, "method": "session/request_permission", "params": {
            "sessionId": "s", "title": "Run it?", "description": "because",
            "subject": {"type": "command", "command": "make", "cwd": "/work/sub"},
            "options": [{"optionId": "o", "name": "?", "kind": "_later"}],
        }}),
    );
    let [ControlEvent::PermissionRequested(request)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(request.cwd.text, "/work/sub");
    assert_eq!(request.announced, Announced::NotBefore);
    assert_eq!(request.explanation(), Some("because"));
    assert_eq!(
        request.options[0].kind,
        OptionKind::Unknown("_later".into())
    );
    assert!(matches!(&request.input, ToolInput::Said { json, .. }
        if json.text == r#"{"command":"make","cwd":"/work/sub"}"#));
    let lines = live
        .ask(&ControlRequest::AnswerPermission {
            id: AgentRequestId::Number(4),
            answer: PermissionAnswer::Cancelled,
        })
        .unwrap();
    assert_eq!(
        lines[0]["result"],
        json!({"outcome": {"outcome": "cancelled"}})
    );
}

#[test]
fn loading_is_resuming_with_the_history() {
    let mut live = Live::new(Options::new(ACP_V2));
    live.ask(&ControlRequest::Start).unwrap();
    live.agent(
        &json!({"id": 1, "result": {"protocolVersion": 2, "capabilities": {"session": {}}}}),
    );
    let lines = live.ask(&open(SessionChoice::Load("s".into()))).unwrap();
    assert_eq!(lines[0]["method"], "session/resume");
    assert_eq!(lines[0]["params"]["replayFrom"], json!({"type": "start"}));
}
