//! Conversations of the real agents, cut to what is needed: each is read as a
//! recording and must come to the events beside it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use missiond_control::{
    AgentError, Announced, ContentPart, ControlEvent, Dialect, Direction, InputSource, Offers,
    Options, Origin, RecordedLine, ToolInput, ToolNames, TurnEnd, replay,
};
use missiond_core::Timestamp;

use crate::live::{ACP, APP_SERVER};

#[test]
fn claude() {
    check("claude", ACP, &[]);
}

#[test]
fn codex_by_acp() {
    let bookkeeping = [
        "turn_id",
        "started_at_ms",
        "process_id",
        "source",
        "reason",
        "parsed_cmd",
        "available_decisions",
        "proposed_execpolicy_amendment",
        "auto_approved",
    ];
    check("codex-acp", ACP, &bookkeeping);
}

#[test]
fn codex_by_its_app_server() {
    check("codex-app-server", APP_SERVER, &[]);
}

#[test]
fn copilot() {
    check("copilot", ACP, &[]);
}

#[test]
fn gemini() {
    check("gemini", ACP, &[]);
}

#[test]
fn opencode() {
    check("opencode", ACP, &[]);
}

#[test]
fn qwen() {
    check("qwen", ACP, &[]);
}

pub(crate) fn lines(engine: &str) -> Vec<RecordedLine> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/control/traces");
    let text = fs::read_to_string(folder.join(format!("{engine}.lines"))).unwrap();
    text.lines()
        .zip(0..)
        .map(|(line, second)| RecordedLine {
            direction: match &line[..2] {
                "< " => Direction::FromAgent,
                "> " => Direction::ToAgent,
                other => panic!("{engine}: {other}"),
            },
            at: Timestamp::from_micros(second * 1_000_000),
            line: line[2..].into(),
        })
        .collect()
}

fn check(engine: &str, dialect: Dialect, bookkeeping: &[&str]) {
    let mut options = Options::new(dialect);
    if engine == "gemini" {
        options.habits.tool_names = ToolNames::CallIds;
    }
    options.bookkeeping = bookkeeping.iter().map(|&name| name.to_owned()).collect();
    let replayed = replay(options, &lines(engine));
    let mut told = String::new();
    for (_, event) in &replayed.events {
        writeln!(told, "{}", words(event)).unwrap();
        let stored = serde_json::to_string(event).unwrap();
        assert_eq!(
            serde_json::from_str::<ControlEvent>(&stored).unwrap(),
            *event
        );
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/control/traces")
        .join(format!("{engine}.events"));
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(
        told == expected,
        "{engine} tells\n{told}\ninstead of\n{expected}"
    );
}

/// An event as a person would write it into the expectation.
fn words(event: &ControlEvent) -> String {
    match event {
        ControlEvent::AgentReady(agent) => format!(
            "ready {:?} {} {}:{}",
            agent.protocol,
            agent.name.as_ref().map_or("", |name| &name.text),
            agent.version.as_ref().map_or("", |version| &version.text),
            offers(&agent.offers),
        ),
        ControlEvent::SessionOpened(session) => {
            let settings: Vec<String> = session
                .settings
                .iter()
                .map(|setting| format!("{}={}", setting.id, setting.current))
                .collect();
            format!(
                "session {:?} {} {}",
                session.opening,
                session.id,
                settings.join(" ")
            )
        }
        ControlEvent::Prompted { text, .. } => format!("prompted {:?}", text.text),
        ControlEvent::TurnBegan { .. } => "turn began".into(),
        ControlEvent::TurnEnded { end, .. } => format!("turn ended: {}", end_words(end)),
        ControlEvent::ActivityChanged { activity } => format!("activity {activity:?}"),
        ControlEvent::Message(message) => format!(
            "{:?}{}: {}",
            message.speaker,
            if message.origin == Origin::History {
                " earlier"
            } else {
                ""
            },
            match &message.part {
                Some(ContentPart::Text(text)) => format!("{:?}", text.text),
                other => format!("{other:?}"),
            },
        ),
        ControlEvent::ToolCallAnnounced { call, .. } => format!(
            "tool {} {:?} {:?} {}",
            call.name.as_ref().map_or("?", |name| &name.text),
            call.kind,
            call.status,
            input(&call.input),
        ),
        ControlEvent::ToolCallUpdated { update, .. } => format!(
            "tool update status={:?} input={} content={}",
            update.status,
            update.input.as_ref().map_or("-".into(), input),
            update.content.is_some(),
        ),
        ControlEvent::PermissionRequested(request) => {
            let options: Vec<String> = request
                .options
                .iter()
                .map(|option| format!("{}={:?}", option.id, option.kind))
                .collect();
            format!(
                "may {} {:?} {}{} {}; {}",
                request.tool_name.as_ref().map_or("?", |name| &name.text),
                request.kind,
                input(&request.input),
                match request.source {
                    InputSource::Request => "",
                    InputSource::Announcement => " as announced",
                    InputSource::Nowhere => " and not said before",
                },
                match &request.announced {
                    Announced::Restated { shared_members } => format!("Restated({shared_members})"),
                    announced => format!("{announced:?}"),
                },
                options.join(" "),
            )
        }
        ControlEvent::PermissionResolved { resolution, .. } => format!("resolved {resolution:?}"),
        ControlEvent::UsageChanged(usage) => format!(
            "usage context={:?} cost={}",
            usage.context_used,
            usage.cost.is_some()
        ),
        ControlEvent::CommandsChanged { commands } => format!("commands {}", commands.len()),
        ControlEvent::UnknownNotification { method, .. } => format!("unknown {}", method.text),
        ControlEvent::RequestRefused { method, .. } => format!("refused {}", method.text),
        ControlEvent::RequestFailed { method, error, .. } => {
            format!("failed {method}: {}", error_words(error))
        }
        ControlEvent::Error { error, .. } => format!("error {}", error_words(error)),
        ControlEvent::Warning { .. } => "warning".into(),
        ControlEvent::TurnDiff { .. } => "diff of the turn".into(),
        ControlEvent::SettingsChanged { .. } => "settings changed".into(),
        other => format!("{other:?}"),
    }
}

fn end_words(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Failed(error) => format!("failed, {}", error_words(error)),
        TurnEnd::Limit(error) => format!("limit, {}", error_words(error)),
        other => format!("{other:?}"),
    }
}

fn error_words(error: &AgentError) -> String {
    format!(
        "code {:?} sort {:?}",
        error.code,
        error.sort.as_ref().map(|sort| sort.text.as_str())
    )
}

fn input(input: &ToolInput) -> String {
    match input {
        ToolInput::Said { json, digest } => format!("{} #{}", json.text, &digest.as_str()[..8]),
        ToolInput::NotSaid => "not said".into(),
    }
}

fn offers(offers: &Offers) -> String {
    let words = serde_json::to_value(offers).unwrap();
    let words = words.as_object().unwrap();
    words
        .iter()
        .filter(|(_, is_offered)| **is_offered == true)
        .fold(String::new(), |text, (name, _)| text + " " + name)
}
