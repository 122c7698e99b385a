//! Version 1 of ACP, message by message.

use missiond_control::{
    AgentRequestId, Announced, ContentChange, ContentPart, ControlEvent, ControlRequest,
    InputSource, McpServer, MismatchAt, NamedValue, OpenSession, Opening, OptionKind, Origin,
    PermissionAnswer, PromptPart, Refusal, Resolution, SessionChoice, Speaker, StepStatus,
    ToolCallId, ToolContent, ToolInput, ToolKind, ToolStatus, Trouble, TurnEnd,
};
use serde_json::{Value, json};

use crate::live::{ACP, Live, open, taking_back};

fn permission(id: i64, input: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {
        "sessionId": "s",
        "toolCall": {"toolCallId": "t", "kind": "execute", "title": "ls", "rawInput": input},
        "options": [
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ],
    }})
}

fn answer(id: i64, answer: PermissionAnswer) -> ControlRequest {
    ControlRequest::AnswerPermission {
        id: AgentRequestId::Number(id),
        answer,
    }
}

fn yes(id: i64) -> ControlRequest {
    answer(id, PermissionAnswer::Option("yes".into()))
}

#[test]
fn the_greeting_offers_no_files_and_no_terminals() {
    let mut live = Live::new(missiond_control::Options::new(ACP));
    assert_eq!(live.prompt("hi"), Err(Refusal::NotReady));
    let lines = live.ask(&ControlRequest::Start).unwrap();
    assert_eq!(lines[0]["method"], "initialize");
    assert_eq!(lines[0]["params"]["protocolVersion"], 1);
    assert_eq!(
        lines[0]["params"]["clientCapabilities"],
        json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false})
    );
    assert_eq!(
        live.ask(&ControlRequest::Start),
        Err(Refusal::StartedAlready)
    );
}

#[test]
fn a_version_nobody_here_speaks_ends_the_conversation_with_a_sentence() {
    for version in [json!(2), json!(0), json!("1"), Value::Null] {
        let mut live = Live::new(missiond_control::Options::new(ACP));
        live.ask(&ControlRequest::Start).unwrap();
        let events = live.agent(&json!({"id": 1, "result": {"protocolVersion": version}}));
        let [ControlEvent::Trouble(trouble @ Trouble::WrongVersion { .. })] = &events[..] else {
            panic!("{events:?}");
        };
        let sentence = trouble.to_string();
        assert!(sentence.contains("and we 1"), "{sentence}");
        assert_eq!(live.prompt("hi"), Err(Refusal::ConnectionRefused(sentence)));
        // What it says later changes nothing.
        assert_eq!(live.agent(&permission(5, &json!({}))), []);
    }
}

#[test]
fn a_session_is_opened_with_its_folder_and_its_servers() {
    let mut live = Live::with_session(ACP);
    assert_eq!(live.state().session.unwrap().opening, Opening::New);
    assert_eq!(
        live.ask(&open(SessionChoice::New)),
        Err(Refusal::SessionOpen)
    );

    let mut live = Live::new(missiond_control::Options::new(ACP));
    live.ask(&ControlRequest::Start).unwrap();
    live.agent(&json!({"id": 1, "result": {"protocolVersion": 1}}));
    assert_eq!(
        live.ask(&open(SessionChoice::Load("old".into()))),
        Err(Refusal::NotOffered("loading a session"))
    );
    let mut servers = OpenSession {
        cwd: "/work".into(),
        mcp_servers: vec![McpServer::Stdio {
            name: "m".into(),
            command: "/bin/m".into(),
            args: vec!["-v".into()],
            env: vec![NamedValue {
                name: "A".into(),
                value: "1".into(),
            }],
        }],
        what: SessionChoice::New,
        meta: Some(json!({"its": "own"})),
    };
    let lines = live.ask(&ControlRequest::Open(servers.clone())).unwrap();
    assert_eq!(
        lines[0]["params"],
        json!({"cwd": "/work", "_meta": {"its": "own"}, "mcpServers": [
            {"name": "m", "command": "/bin/m", "args": ["-v"], "env": [{"name": "A", "value": "1"}]},
        ]})
    );
    live.agent(&json!({"id": 2, "error": {"code": -32603, "message": "no"}}));
    servers.mcp_servers = vec![McpServer::Http {
        name: "m".into(),
        url: "http://localhost".into(),
        headers: Vec::new(),
    }];
    assert_eq!(
        live.ask(&ControlRequest::Open(servers)),
        Err(Refusal::NotOffered("MCP servers over HTTP"))
    );
}

#[test]
fn an_agent_without_a_login_says_so_with_its_ways() {
    let mut live = Live::with_session(ACP);
    live.prompt("hi").unwrap();
    let events = live
        .agent(&json!({"id": 3, "error": {"code": -32000, "message": "Authentication required"}}));
    let [
        ControlEvent::AuthenticationRequired { methods, .. },
        ControlEvent::TurnEnded {
            end: TurnEnd::AuthenticationRequired(_),
            ..
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(methods[0].id, "key");
    assert!(matches!(
        live.ask(&ControlRequest::Authenticate { method: "x".into() }),
        Err(Refusal::NoSuchChoice { .. })
    ));
    let lines = live
        .ask(&ControlRequest::Authenticate {
            method: "key".into(),
        })
        .unwrap();
    assert_eq!(lines[0]["method"], "authenticate");
    assert_eq!(lines[0]["params"], json!({"methodId": "key"}));
}

#[test]
fn a_prompt_carries_text_pictures_files_and_resources() {
    let mut live = Live::with_session(ACP);
    let lines = live
        .ask(&ControlRequest::Prompt(vec![
            PromptPart::Text("look".into()),
            PromptPart::Image {
                mime_type: "image/png".into(),
                data: "AAAA".into(),
            },
            PromptPart::File {
                path: "/work/a b.rs".into(),
            },
            PromptPart::Resource {
                uri: "mission://task/1".into(),
                text: "the task".into(),
            },
        ]))
        .unwrap();
    assert_eq!(
        lines[0]["params"]["prompt"],
        json!([
            {"type": "text", "text": "look"},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource_link", "uri": "file:///work/a%20b.rs", "name": "a b.rs"},
            // The agent does not take resources: it gets their text.
            {"type": "text", "text": "mission://task/1\n\nthe task"},
        ])
    );
    assert_eq!(live.prompt("again"), Err(Refusal::TurnRunning));
    assert!(matches!(
        live.ask(&ControlRequest::Steer(vec![PromptPart::Text("x".into())])),
        Err(Refusal::NotOffered(_))
    ));
}

#[test]
fn a_turn_ends_with_the_agents_reason() {
    for (reason, end) in [
        ("end_turn", TurnEnd::Done),
        ("cancelled", TurnEnd::Cancelled),
        ("refusal", TurnEnd::Refused),
        ("max_tokens", TurnEnd::MaxTokens),
        ("max_turn_requests", TurnEnd::MaxTurns),
        ("_new", TurnEnd::Unknown("_new".into())),
    ] {
        let mut live = Live::with_session(ACP);
        live.prompt("hi").unwrap();
        assert!(live.state().turn.is_some());
        let events = live.agent(&json!({"id": 3, "result": {
            "stopReason": reason,
            "usage": {"inputTokens": 5, "outputTokens": 7},
        }}));
        let [
            ControlEvent::UsageChanged(usage),
            ControlEvent::TurnEnded { end: told, .. },
        ] = &events[..]
        else {
            panic!("{events:?}");
        };
        assert_eq!((told, usage.turn.unwrap().output), (&end, Some(7)));
        assert_eq!(live.state().turn, None);
    }
}

#[test]
fn an_error_of_the_model_is_told_by_what_it_means() {
    for (error, is_limit) in [
        (
            json!({"code": -32603, "message": "x", "data": {"errorKind": "rate_limit"}}),
            true,
        ),
        (json!({"code": 429, "message": "x"}), true),
        (
            json!({"code": -32603, "message": "x", "data": {"errorKind": "unknown"}}),
            false,
        ),
    ] {
        let mut live = Live::with_session(ACP);
        live.prompt("hi").unwrap();
        let events = live.agent(&json!({"id": 3, "error": error}));
        let [ControlEvent::TurnEnded { end, .. }] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(matches!(end, TurnEnd::Limit(_)), is_limit, "{end:?}");
        assert_eq!(matches!(end, TurnEnd::Failed(_)), !is_limit, "{end:?}");
    }
}

#[test]
fn words_thoughts_plans_commands_usage_and_titles_are_told() {
    let mut live = Live::with_session(ACP);
    let events = live.update(json!({
        "sessionUpdate": "agent_thought_chunk",
        "content": {"type": "text", "text": "hm"},
        "messageId": "m1",
        "_meta": {"x": 1},
    }));
    let [ControlEvent::Message(message)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        (message.speaker, message.origin),
        (Speaker::Thought, Origin::Live)
    );
    assert_eq!(message.meta.as_ref().unwrap().text, r#"{"x":1}"#);

    let events = live.update(json!({"sessionUpdate": "plan", "entries": [
        {"content": "look", "priority": "high", "status": "completed"},
        {"content": "do", "priority": "low", "status": "in_progress"},
    ]}));
    let [ControlEvent::Plan(plan)] = &events[..] else {
        panic!("{events:?}");
    };
    let steps: Vec<_> = plan.steps.iter().map(|step| &step.status).collect();
    assert_eq!(steps, [&StepStatus::Completed, &StepStatus::Running]);

    let events = live.update(json!({"sessionUpdate": "available_commands_update",
        "availableCommands": [{"name": "review", "description": "d", "input": {"hint": "branch"}}]}));
    assert!(
        matches!(&events[..], [ControlEvent::CommandsChanged { commands }]
            if commands[0].hint.as_ref().unwrap().text == "branch")
    );
    let events = live.update(
        json!({"sessionUpdate": "usage_update", "used": 5, "size": 10,
        "cost": {"amount": 0.5, "currency": "USD"}}),
    );
    assert!(matches!(&events[..], [ControlEvent::UsageChanged(usage)]
            if usage.cost.as_ref().unwrap().amount == 0.5 && usage.context_size == Some(10)));
    let events = live.update(json!({"sessionUpdate": "session_info_update", "title": "T"}));
    assert!(matches!(
        &events[..],
        [ControlEvent::SessionTitled { title: Some(_) }]
    ));
}

#[test]
fn a_tool_call_is_announced_once_and_then_changed() {
    let mut live = Live::with_session(ACP);
    let events = live.update(json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit", "kind": "edit",
        "status": "pending", "rawInput": {}, "_meta": {"agent": {"toolName": "Write"}},
        "locations": [{"path": "/work/a", "line": 3}],
        "content": [{"type": "diff", "path": "/work/a", "oldText": null, "newText": "b"}],
    }));
    let [ControlEvent::ToolCallAnnounced { call, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(call.id, ToolCallId("t".into()));
    assert_eq!(call.name.as_ref().unwrap().text, "Write");
    assert_eq!(
        (&call.kind, &call.status),
        (&ToolKind::Edit, &ToolStatus::Pending)
    );
    assert_eq!(call.locations[0].line, Some(3));
    assert!(matches!(
        &call.content[0],
        ToolContent::Diff { old: None, .. }
    ));

    let events = live.update(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
        "rawInput": {"file": "a"}, "rawOutput": "done",
        "content": [{"type": "content", "content": {"type": "text", "text": "x"}},
            {"type": "terminal", "terminalId": "7"}, {"type": "hologram"}],
    }));
    let [ControlEvent::ToolCallUpdated { update, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(update.status, Some(ToolStatus::Completed));
    assert!(
        matches!(&update.input, Some(ToolInput::Said { json, .. }) if json.text == r#"{"file":"a"}"#)
    );
    let Some(ContentChange::Replaced(content)) = &update.content else {
        panic!("{update:?}");
    };
    assert!(matches!(
        &content[..],
        [
            ToolContent::Part(ContentPart::Text(_)),
            ToolContent::Terminal { .. },
            ToolContent::Unknown { .. },
        ]
    ));
}

#[test]
fn a_permission_is_asked_for_an_exact_input_and_answered_once() {
    let mut live = Live::with_session(ACP);
    live.prompt("hi").unwrap();
    live.update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls",
        "kind": "execute", "rawInput": {"command": "ls"}, "_meta": {"toolName": "Bash"}}),
    );
    let events = live.agent(&permission(0, &json!({"command": "ls"})));
    let [ControlEvent::PermissionRequested(request)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(request.announced, Announced::Same);
    assert_eq!(request.source, InputSource::Request);
    assert_eq!(request.tool_name.as_ref().unwrap().text, "Bash");
    assert_eq!(request.cwd.text, "/work");
    assert_eq!(request.option(&OptionKind::AllowOnce).unwrap().id, "yes");
    assert_eq!(live.state().permissions.len(), 1);

    assert!(matches!(
        live.ask(&answer(0, PermissionAnswer::Option("maybe".into()))),
        Err(Refusal::NoSuchOption { .. })
    ));
    assert!(matches!(
        live.ask(&yes(9)),
        Err(Refusal::NoSuchPermission(_))
    ));
    let lines = live.ask(&yes(0)).unwrap();
    assert_eq!(
        lines,
        [json!({"jsonrpc": "2.0", "id": 0,
            "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}})]
    );
    assert!(matches!(
        live.events.last(),
        Some(ControlEvent::PermissionResolved {
            resolution: Resolution::Answered { .. },
            ..
        })
    ));
    assert_eq!(live.state().permissions, []);
    assert!(matches!(
        live.ask(&yes(0)),
        Err(Refusal::AlreadyAnswered(_))
    ));
}

#[test]
fn the_same_input_has_the_same_digest_in_another_call_and_another_none() {
    let digest = |input: &Value| {
        let mut live = Live::with_session(ACP);
        let events = live.agent(&permission(0, input));
        let request = events.iter().find_map(|event| match event {
            ControlEvent::PermissionRequested(request) => Some(request.clone()),
            _ => None,
        });
        request.unwrap().input.digest().cloned()
    };
    let ls = digest(&json!({"command": "ls", "timeout": 1}));
    assert!(ls.is_some());
    assert_eq!(ls, digest(&json!({"timeout": 1, "command": "ls"})));
    assert_ne!(ls, digest(&json!({"command": "ls /", "timeout": 1})));
    assert_eq!(digest(&Value::Null), None);
}

#[test]
fn a_request_that_contradicts_the_announcement_shows_both() {
    let mut live = Live::with_session(ACP);
    live.update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls",
        "kind": "execute", "rawInput": {"command": "ls", "cwd": "/work"}}),
    );
    let events = live.agent(&permission(0, &json!({"command": "rm -rf ."})));
    let [
        ControlEvent::InputMismatch {
            at: MismatchAt::Request,
            first: ToolInput::Said { json: first, .. },
            second: ToolInput::Said { json: second, .. },
            ..
        },
        ControlEvent::PermissionRequested(request),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(first.text, r#"{"command":"ls","cwd":"/work"}"#);
    assert_eq!(second.text, r#"{"command":"rm -rf ."}"#);
    assert_eq!(request.announced, Announced::Contradicts);
}

#[test]
fn another_input_after_the_permission_shows_both() {
    let mut live = Live::with_session(ACP);
    live.agent(&permission(0, &json!({"command": "ls"})));
    live.ask(&yes(0)).unwrap();
    let said_more = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t",
        "rawInput": {"command": "ls", "description": "list"}});
    let events = live.update(said_more);
    assert!(matches!(
        &events[..],
        [ControlEvent::ToolCallUpdated { .. }]
    ));
    let events = live.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "t",
        "rawInput": {"command": "curl evil"}}),
    );
    assert!(matches!(
        &events[0],
        ControlEvent::InputMismatch {
            at: MismatchAt::AfterPermission,
            ..
        }
    ));
}

#[test]
fn a_call_first_heard_of_in_a_request_is_announced_with_it() {
    let mut live = Live::with_session(ACP);
    let events = live.agent(&permission(0, &Value::Null));
    let [
        ControlEvent::ToolCallAnnounced { .. },
        ControlEvent::PermissionRequested(request),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(request.announced, Announced::NotBefore);
    assert_eq!(
        (request.source, request.input.digest()),
        (InputSource::Nowhere, None)
    );
}

#[test]
fn cancelling_answers_what_the_turn_asked() {
    let mut live = Live::with_session(ACP);
    assert_eq!(live.ask(&ControlRequest::Cancel), Err(Refusal::NoTurn));
    live.prompt("hi").unwrap();
    live.agent(&permission(0, &json!({"command": "ls"})));
    let lines = live.ask(&ControlRequest::Cancel).unwrap();
    assert_eq!(lines[0]["method"], "session/cancel");
    assert_eq!(lines[1]["id"], 0);
    assert_eq!(
        lines[1]["result"],
        json!({"outcome": {"outcome": "cancelled"}})
    );
    let state = live.state();
    assert!(state.permissions.is_empty() && state.turn.unwrap().is_cancelling);
    live.agent(&json!({"id": 3, "result": {"stopReason": "cancelled"}}));
    assert!(matches!(
        live.events.last(),
        Some(ControlEvent::TurnEnded {
            end: TurnEnd::Cancelled,
            ..
        })
    ));
}

#[test]
fn an_agent_that_takes_its_questions_back_is_answered_behind_the_end_of_the_turn() {
    let mut live = Live::in_session(taking_back());
    live.prompt("hi").unwrap();
    live.agent(&permission(0, &json!({"command": "ls"})));
    live.agent(&permission(1, &json!({"command": "ls"})));
    let lines = live.ask(&ControlRequest::Cancel).unwrap();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["method"], "session/cancel");
    let resolutions = live.events.iter().filter_map(|event| match event {
        ControlEvent::PermissionResolved { resolution, .. } => Some(resolution),
        _ => None,
    });
    assert!(resolutions.eq(&[Resolution::Cancelled, Resolution::Cancelled]));
    assert!(live.state().permissions.is_empty());
    let late = live.ask(&answer(0, PermissionAnswer::Option("yes".to_owned())));
    let known = AgentRequestId::Number(0);
    assert_eq!(late, Err(Refusal::AlreadyAnswered(known)));
    let taken = live.agent_line(br#"{"method":"$/cancel_request","params":{"requestId":0}}"#);
    assert!(taken.lines[0].contains("-32800"), "{taken:?}");
    assert_eq!(taken.events, []);
    // What it has not taken back it may wait for.
    let end = json!({"id": 3, "result": {"stopReason": "cancelled"}});
    let ended = live.agent_line(end.to_string().as_bytes());
    let answer: Value = serde_json::from_str(&ended.lines[0]).unwrap();
    assert_eq!(answer["id"], 1);
    assert_eq!(
        answer["result"],
        json!({"outcome": {"outcome": "cancelled"}})
    );
    assert_eq!(ended.lines.len(), 1);
}

#[test]
fn a_request_that_is_taken_back_is_closed_on_both_sides() {
    let mut live = Live::with_session(ACP);
    live.agent(&permission(0, &json!({"command": "ls"})));
    let output = live.agent_line(br#"{"method":"$/cancel_request","params":{"requestId":0}}"#);
    assert!(matches!(
        &output.events[..],
        [ControlEvent::PermissionResolved {
            resolution: Resolution::Withdrawn,
            ..
        }]
    ));
    assert_eq!(output.lines.len(), 1);
    assert!(output.lines[0].contains("-32800"));
}

#[test]
fn files_and_terminals_are_refused_although_some_agents_ask() {
    let mut live = Live::with_session(ACP);
    for method in [
        "fs/write_text_file",
        "terminal/create",
        "elicitation/create",
        "_own/thing",
    ] {
        let line = json!({"jsonrpc": "2.0", "id": "x", "method": method, "params": {}});
        let output = live.agent_line(line.to_string().as_bytes());
        assert!(matches!(
            &output.events[..],
            [ControlEvent::RequestRefused { .. }]
        ));
        let answer: Value = serde_json::from_str(&output.lines[0]).unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!("x"), &json!(-32601))
        );
    }
}

#[test]
fn a_history_is_told_as_one() {
    let mut live = Live::new(missiond_control::Options::new(ACP));
    live.ask(&ControlRequest::Start).unwrap();
    live.agent(&json!({"id": 1, "result": {"protocolVersion": 1,
        "agentCapabilities": {"loadSession": true}}}));
    live.ask(&open(SessionChoice::Load("s".into()))).unwrap();
    let events = live.update(json!({"sessionUpdate": "user_message_chunk",
        "content": {"type": "text", "text": "earlier"}}));
    assert!(matches!(&events[..], [ControlEvent::Message(part)] if part.origin == Origin::History));
    live.agent(&json!({"id": 2, "result": {}}));
    assert_eq!(live.state().session.unwrap().opening, Opening::Loaded);
    let events = live.update(json!({"sessionUpdate": "user_message_chunk",
        "content": {"type": "text", "text": "now"}}));
    assert!(matches!(&events[..], [ControlEvent::Message(part)] if part.origin == Origin::Live));
}

#[test]
fn modes_and_models_are_set_the_way_they_were_told() {
    let options = |mode: &str| {
        json!([{"id": "perm", "name": "Mode", "category": "mode", "type": "select",
            "currentValue": mode,
            "options": [{"group": "g", "name": "G", "options": [{"value": "plan", "name": "Plan"}]},
                {"value": "ask", "name": "Ask"}]}])
    };
    let opened = json!({"id": 2, "result": {
        "sessionId": "s",
        "modes": {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]},
        "models": {"currentModelId": "big", "availableModels": [
            {"modelId": "big", "name": "Big"}, {"modelId": "small", "name": "Small"}]},
        "configOptions": options("ask"),
    }});
    let mut live = Live::new(missiond_control::Options::new(ACP));
    live.ask(&ControlRequest::Start).unwrap();
    live.agent(&json!({"id": 1, "result": {"protocolVersion": 1}}));
    live.ask(&open(SessionChoice::New)).unwrap();
    live.agent(&opened);
    // The mode was told twice and is there once.
    assert_eq!(live.state().session.unwrap().settings.len(), 2);
    assert!(matches!(
        live.ask(&ControlRequest::SetMode {
            mode: "yolo".into()
        }),
        Err(Refusal::NoSuchChoice { .. })
    ));
    let lines = live
        .ask(&ControlRequest::SetMode {
            mode: "plan".into(),
        })
        .unwrap();
    assert_eq!(lines[0]["method"], "session/set_config_option");
    assert_eq!(
        lines[0]["params"],
        json!({"sessionId": "s", "configId": "perm", "value": "plan"})
    );
    let events = live.agent(&json!({"id": 3, "result": {"configOptions": options("plan")}}));
    assert!(matches!(&events[..], [
        ControlEvent::ModeChanged { mode },
        ControlEvent::SettingsChanged { .. },
        ControlEvent::RequestDone { .. },
    ] if mode == "plan"));
    let events =
        live.update(json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask"}));
    assert!(matches!(&events[0], ControlEvent::ModeChanged { mode } if mode == "ask"));

    let lines = live
        .ask(&ControlRequest::SetModel {
            model: "small".into(),
        })
        .unwrap();
    assert_eq!(lines[0]["method"], "session/set_model");
    let events = live.agent(&json!({"id": 4, "result": {}}));
    assert!(matches!(&events[0], ControlEvent::ModelChanged { model } if model == "small"));
}

#[test]
fn a_prompt_waits_behind_a_turn_where_the_agent_queues() {
    let mut live = Live::new(missiond_control::Options::new(ACP));
    live.ask(&ControlRequest::Start).unwrap();
    live.agent(&json!({"id": 1, "result": {"protocolVersion": 1,
        "agentCapabilities": {"_meta": {"some": {"promptQueueing": true}}}}}));
    live.ask(&open(SessionChoice::New)).unwrap();
    live.agent(&json!({"id": 2, "result": {"sessionId": "s"}}));
    live.prompt("one").unwrap();
    live.prompt("two").unwrap();
    assert!(matches!(
        live.events.last(),
        Some(ControlEvent::PromptQueued { .. })
    ));
    let events = live.agent(&json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    assert!(matches!(
        &events[..],
        [
            ControlEvent::TurnEnded { .. },
            ControlEvent::TurnBegan { .. }
        ]
    ));
    live.agent(&json!({"id": 4, "result": {"stopReason": "end_turn"}}));
    assert_eq!(live.state().turn, None);
}

#[test]
fn a_session_is_closed_and_the_end_of_the_process_ends_all() {
    let mut live = Live::with_session(ACP);
    live.ask(&ControlRequest::Close).unwrap();
    let events = live.agent(&json!({"id": 3, "result": {}}));
    assert!(matches!(&events[..], [ControlEvent::SessionClosed { session }] if session == "s"));
    assert_eq!(live.prompt("hi"), Err(Refusal::NoSession));

    let mut live = Live::with_session(ACP);
    live.prompt("hi").unwrap();
    live.agent(&permission(0, &json!({"command": "ls"})));
    let events = live
        .client
        .disconnect(missiond_core::Timestamp::from_micros(9));
    assert!(matches!(
        &events[..],
        [
            ControlEvent::PermissionResolved {
                resolution: Resolution::Lost,
                ..
            },
            ControlEvent::TurnEnded {
                end: TurnEnd::ConnectionLost,
                ..
            },
        ]
    ));
    assert_eq!(live.prompt("hi"), Err(Refusal::Disconnected));
}
