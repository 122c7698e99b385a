//! The app-server of Codex, message by message.

use missiond_control::{
    Activity, AgentRequestId, Announced, ControlEvent, ControlRequest, InputSource, MismatchAt,
    Opening, OptionKind, Options, PermissionAnswer, PromptPart, Refusal, Resolution, SessionChoice,
    ToolInput, ToolKind, ToolStatus, Trouble, TurnEnd,
};
use missiond_core::Timestamp;
use serde_json::{Value, json};

use crate::live::{APP_SERVER, Live, open};

fn begin(live: &mut Live) {
    live.prompt("hi").unwrap();
    live.notice(
        "turn/started",
        json!({"turn": {"id": "u", "status": "inProgress"}}),
    );
}

fn command(status: &str) -> Value {
    json!({"item": {"type": "commandExecution", "id": "t", "command": "ls", "cwd": "/work",
        "status": status}})
}

fn ask_command(command: &str) -> Value {
    json!({"id": 0, "method": "item/commandExecution/requestApproval", "params": {
        "threadId": "s", "turnId": "u", "itemId": "t", "kind": "command", "reason": "why",
        "command": command, "cwd": "/work",
        "availableDecisions": ["accept",
            {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls", "-l"]}}, "cancel"],
    }})
}

fn answer(option: &str) -> ControlRequest {
    ControlRequest::AnswerPermission {
        id: AgentRequestId::Number(0),
        answer: PermissionAnswer::Option(option.into()),
    }
}

#[test]
fn the_greeting_is_followed_by_its_confirmation_and_has_no_marker() {
    let mut live = Live::new(Options::new(APP_SERVER));
    let lines = live.ask(&ControlRequest::Start).unwrap();
    assert_eq!(lines[0]["method"], "initialize");
    assert!(lines[0].get("jsonrpc").is_none());
    let output = live.agent_line(br#"{"id":1,"result":{"userAgent":"missiond/0.169.0 (Debian)"}}"#);
    assert_eq!(output.lines, [r#"{"method":"initialized"}"#]);
    assert!(
        matches!(&output.events[..], [ControlEvent::AgentReady(agent)]
        if agent.version.as_ref().unwrap().text == "0.169.0" && agent.offers.steer)
    );
}

#[test]
fn a_thread_is_started_or_resumed_without_its_turns() {
    let live = Live::with_session(APP_SERVER);
    assert_eq!(live.state().session.unwrap().cwd, "/work");

    let mut live = Live::new(Options::new(APP_SERVER));
    live.ask(&ControlRequest::Start).unwrap();
    live.agent(&json!({"id": 1, "result": {}}));
    let lines = live.ask(&open(SessionChoice::Resume("s".into()))).unwrap();
    assert_eq!(
        lines[0]["params"],
        json!({"cwd": "/work", "threadId": "s", "excludeTurns": true})
    );
    let events = live.agent(&json!({"id": 2, "result": {"thread": {"id": "z"}}}));
    let [
        ControlEvent::Trouble(Trouble::WrongSession { .. }),
        ControlEvent::SessionOpened(session),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(session.opening, Opening::Resumed);
}

#[test]
fn a_turn_begins_once_whichever_word_comes_first() {
    for answer_first in [true, false] {
        let mut live = Live::with_session(APP_SERVER);
        live.prompt("hi").unwrap();
        assert_eq!(
            live.ask(&ControlRequest::Cancel),
            Err(Refusal::TurnNotNamed)
        );
        let answer = json!({"id": 3, "result": {"turn": {"id": "u"}}});
        if answer_first {
            live.agent(&answer);
        }
        live.notice("turn/started", json!({"turn": {"id": "u"}}));
        if !answer_first {
            live.agent(&answer);
        }
        let began = |event: &&ControlEvent| matches!(event, ControlEvent::TurnBegan { .. });
        assert_eq!(live.events.iter().filter(began).count(), 1);
        assert_eq!(live.prompt("more"), Err(Refusal::TurnRunning));
        let lines = live
            .ask(&ControlRequest::Steer(vec![PromptPart::Text(
                "more".into(),
            )]))
            .unwrap();
        assert_eq!(lines[0]["method"], "turn/steer");
        assert_eq!(lines[0]["params"]["expectedTurnId"], "u");
        let lines = live.ask(&ControlRequest::Cancel).unwrap();
        assert_eq!(lines[0]["method"], "turn/interrupt");
        assert_eq!(lines[0]["params"], json!({"threadId": "s", "turnId": "u"}));
        live.notice(
            "turn/completed",
            json!({"turn": {"id": "u", "status": "interrupted"}}),
        );
        assert!(matches!(
            live.events.last(),
            Some(ControlEvent::TurnEnded {
                end: TurnEnd::Cancelled,
                ..
            })
        ));
        assert_eq!(live.state().turn, None);
    }
}

#[test]
fn a_failed_turn_says_what_it_means() {
    for (info, is) in [
        (json!("usageLimitExceeded"), "limit"),
        (
            json!({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}),
            "limit",
        ),
        (json!("contextWindowExceeded"), "tokens"),
        (json!("cyberPolicy"), "refused"),
        (json!("unauthorized"), "login"),
        (json!("other"), "failed"),
        (Value::Null, "failed"),
    ] {
        let mut live = Live::with_session(APP_SERVER);
        begin(&mut live);
        live.notice(
            "turn/completed",
            json!({"turn": {"id": "u", "status": "failed",
            "error": {"message": "m", "codexErrorInfo": info}}}),
        );
        let Some(ControlEvent::TurnEnded { end, .. }) = live.events.last() else {
            panic!("{info}");
        };
        let told = match end {
            TurnEnd::Limit(_) => "limit",
            TurnEnd::MaxTokens => "tokens",
            TurnEnd::Refused => "refused",
            TurnEnd::AuthenticationRequired(_) => "login",
            TurnEnd::Failed(_) => "failed",
            other => panic!("{other:?}"),
        };
        assert_eq!(told, is, "{info}");
    }
}

#[test]
fn a_command_is_asked_for_with_its_digest_and_answered_in_its_own_words() {
    let mut live = Live::with_session(APP_SERVER);
    begin(&mut live);
    live.notice("item/started", command("inProgress"));
    let events = live.agent(&ask_command("ls"));
    let [ControlEvent::PermissionRequested(request)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(request.announced, Announced::Same);
    assert_eq!(request.kind, ToolKind::Execute);
    assert!(request.input.digest().is_some());
    let kinds: Vec<_> = request
        .options
        .iter()
        .map(|o| (o.id.as_str(), &o.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            ("accept", &OptionKind::AllowOnce),
            ("acceptWithExecpolicyAmendment", &OptionKind::AllowAlways),
            ("cancel", &OptionKind::RejectAndStop),
            // Not listed, and yet always taken.
            ("decline", &OptionKind::RejectOnce),
        ]
    );
    let lines = live.ask(&answer("acceptWithExecpolicyAmendment")).unwrap();
    assert_eq!(
        lines,
        [json!({"id": 0, "result": {"decision": {
            "acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["ls", "-l"]}}}})]
    );
    // The server's word that it is resolved comes after our own.
    assert_eq!(
        live.notice("serverRequest/resolved", json!({"requestId": 0})),
        []
    );
    let events = live.notice("item/completed", command("declined"));
    assert!(
        matches!(&events[..], [ControlEvent::ToolCallUpdated { update, .. }]
        if update.status == Some(ToolStatus::Declined))
    );
}

#[test]
fn another_command_than_announced_or_permitted_shows_both() {
    let mut live = Live::with_session(APP_SERVER);
    begin(&mut live);
    live.notice("item/started", command("inProgress"));
    let events = live.agent(&ask_command("rm -rf /"));
    assert!(matches!(
        &events[0],
        ControlEvent::InputMismatch {
            at: MismatchAt::Request,
            ..
        }
    ));
    live.ask(&answer("accept")).unwrap();
    // What was permitted was the removal; it tells the listing again.
    let events = live.notice("item/completed", command("completed"));
    assert!(matches!(
        &events[0],
        ControlEvent::InputMismatch {
            at: MismatchAt::AfterPermission,
            ..
        }
    ));
}

#[test]
fn a_patch_is_asked_for_by_its_announcement_alone() {
    let change = |diff: &str| json!([{"path": "/work/a", "kind": {"type": "add"}, "diff": diff}]);
    let ask = |id: i64, root: Value| {
        json!({"id": id, "method": "item/fileChange/requestApproval",
            "params": {"threadId": "s", "turnId": "u", "itemId": "p", "grantRoot": root}})
    };
    let mut live = Live::with_session(APP_SERVER);
    begin(&mut live);
    live.notice(
        "item/started",
        json!({"item": {"type": "fileChange", "id": "p",
        "changes": change("x"), "status": "inProgress"}}),
    );
    let events = live.agent(&ask(0, Value::Null));
    let [ControlEvent::PermissionRequested(request)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        (request.source, &request.announced),
        (InputSource::Announcement, &Announced::Same)
    );
    assert!(!request.content.is_empty());
    let plain = request.input.digest().cloned();
    // Leave to write everywhere under a folder is not the same question.
    let events = live.agent(&ask(1, json!("/work")));
    let [ControlEvent::PermissionRequested(request)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_ne!(request.input.digest().cloned(), plain);
    live.ask(&answer("accept")).unwrap();
    let events = live.notice(
        "item/fileChange/patchUpdated",
        json!({"itemId": "p", "changes": change("y")}),
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
fn more_permissions_are_granted_for_a_turn_for_the_session_or_not() {
    let wanted = json!({"network": {"enabled": true}});
    let ask = json!({"id": 0, "method": "item/permissions/requestApproval", "params": {
        "threadId": "s", "turnId": "u", "itemId": "t", "cwd": "/work", "permissions": wanted}});
    for (option, answered) in [
        ("turn", json!({"permissions": wanted, "scope": "turn"})),
        (
            "session",
            json!({"permissions": wanted, "scope": "session"}),
        ),
        ("none", json!({"permissions": {}, "scope": "turn"})),
    ] {
        let mut live = Live::with_session(APP_SERVER);
        live.agent(&ask);
        assert_eq!(live.ask(&answer(option)).unwrap()[0]["result"], answered);
    }
}

#[test]
fn a_request_answered_elsewhere_is_withdrawn() {
    let mut live = Live::with_session(APP_SERVER);
    begin(&mut live);
    live.agent(&ask_command("ls"));
    let events = live.notice("serverRequest/resolved", json!({"requestId": 0}));
    assert!(matches!(
        &events[..],
        [ControlEvent::PermissionResolved {
            resolution: Resolution::Withdrawn,
            ..
        }]
    ));
    assert!(matches!(
        live.ask(&answer("accept")),
        Err(Refusal::AlreadyAnswered(_))
    ));
}

#[test]
fn limits_come_with_their_reset() {
    let mut live = Live::with_session(APP_SERVER);
    let none = json!({"rateLimits": {"limitId": "codex", "primary": null}});
    assert_eq!(live.notice("account/rateLimits/updated", none), []);
    let events = live.notice(
        "account/rateLimits/updated",
        json!({"rateLimits": {
            "limitId": "codex", "planType": "plus",
            "primary": {"usedPercent": 91, "windowDurationMins": 300, "resetsAt": 1_794_990_000},
        }}),
    );
    let [ControlEvent::RateLimitsChanged(limits)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        limits.windows[0].resets_at,
        Some(Timestamp::from_micros(1_794_990_000_000_000))
    );
    assert_eq!(limits.windows[0].used_percent, Some(91.0));
}

#[test]
fn the_threads_status_is_told_when_it_changes() {
    let mut live = Live::with_session(APP_SERVER);
    let status = |flags: Value| json!({"status": {"type": "active", "activeFlags": flags}});
    live.notice("thread/status/changed", status(json!([])));
    assert_eq!(live.notice("thread/status/changed", status(json!([]))), []);
    let events = live.notice(
        "thread/status/changed",
        status(json!(["waitingOnApproval"])),
    );
    assert!(matches!(
        &events[..],
        [ControlEvent::ActivityChanged {
            activity: Activity::WaitsForApproval
        }]
    ));
}

#[test]
fn a_sub_agents_words_and_questions_are_told_as_its_own() {
    let mut live = Live::with_session(APP_SERVER);
    begin(&mut live);
    let started = json!({"method": "thread/started",
        "params": {"thread": {"id": "child", "parentThreadId": "s"}}});
    assert_eq!(live.agent(&started), []);
    let events = live.agent(&json!({"method": "item/agentMessage/delta",
        "params": {"threadId": "child", "itemId": "m", "delta": "hi"}}));
    assert!(matches!(&events[..], [ControlEvent::SubAgent { session, .. }] if session == "child"));
    let mut ask = ask_command("ls");
    ask["params"]["threadId"] = json!("child");
    let events = live.agent(&ask);
    assert!(
        matches!(&events[..], [ControlEvent::PermissionRequested(request)]
        if request.session == "child")
    );
    // Its turn is not ours.
    live.agent(&json!({"method": "turn/completed",
        "params": {"threadId": "child", "turn": {"id": "u", "status": "completed"}}}));
    assert!(live.state().turn.is_some());
    let mut stranger = ask_command("ls");
    stranger["id"] = json!(7);
    stranger["params"]["threadId"] = json!("stranger");
    let output = live.agent_line(stranger.to_string().as_bytes());
    assert!(matches!(
        &output.events[..],
        [ControlEvent::Trouble(Trouble::OtherSession { .. })]
    ));
    assert!(output.lines[0].contains("-32602"));
}

#[test]
fn tools_of_others_are_told_with_name_and_input() {
    let mut live = Live::with_session(APP_SERVER);
    begin(&mut live);
    let events = live.notice(
        "item/started",
        json!({"item": {"type": "mcpToolCall", "id": "t",
        "server": "files", "tool": "read", "arguments": {"path": "a"}, "status": "inProgress"}}),
    );
    assert!(
        matches!(&events[..], [ControlEvent::ToolCallAnnounced { call, .. }]
        if call.name.as_ref().unwrap().text == "files.read"
            && matches!(&call.input, ToolInput::Said { json, .. } if json.text == r#"{"path":"a"}"#))
    );
    let events = live.notice(
        "item/started",
        json!({"item": {"type": "sleep", "id": "z"}}),
    );
    assert!(matches!(
        &events[..],
        [ControlEvent::UnknownNotification { .. }]
    ));
    assert_eq!(live.state().unknown_notifications["item sleep"], 1);
}
