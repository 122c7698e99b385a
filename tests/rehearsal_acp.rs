//! The rehearsal agent driven by the Agent Client Protocol: the same scripts, without a
//! terminal.

use std::path::PathBuf;
use std::process::Command;

use missiond_adapters::{ControlSetup, Conversation, Launch, McpServer, PermissionMode, adapter};
use missiond_control::{
    Announced, ControlEvent, ControlRequest, InputSource, Opening, OptionKind, Speaker, StepStatus,
    ToolContent, ToolInput, ToolKind, ToolStatus, TurnEnd,
};
use missiond_core::Controller;
use serde_json::{Value, json};

use crate::driven::{Driven, words};
use crate::harness::binary;

const SESSION: &str = "0199aaaa-0000-7000-8000-0000000000ac";

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(script: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("acp-").tempdir().unwrap();
        std::fs::write(folder.path().join("script.yaml"), script).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Started by the plan of its adapter.
    fn started(
        &self,
        conversation: Conversation,
        mcp: Option<McpServer>,
    ) -> (Driven, ControlSetup) {
        let launch = Launch {
            controller: Controller::Structured,
            program: binary(),
            cwd: self.path(""),
            environment: [].into(),
            folder: self.path("launch"),
            model: None,
            permission: PermissionMode::Ask,
            conversation,
            instructions: None,
            mcp,
            hooks: None,
            trust_folder: false,
            extra: vec![
                "script.yaml".to_owned(),
                "--speed".to_owned(),
                "100".to_owned(),
            ],
        };
        let engine = "rehearsal".parse().unwrap();
        let plan = adapter(&engine).plan(&launch).unwrap();
        let setup = plan.control.unwrap();
        let agent = Driven::start(self.command(&plan.argv), &setup);
        (agent, setup)
    }

    fn command(&self, argv: &[String]) -> Command {
        let mut command = Command::new(&argv[0]);
        command
            .args(&argv[1..])
            .current_dir(self.path(""))
            .env("MISSION_HOME", self.path("home"));
        command
    }

    fn agent(&self, conversation: Conversation) -> Driven {
        let (mut agent, setup) = self.started(conversation, None);
        agent.open(&setup);
        agent
    }

    fn new_agent(&self) -> Driven {
        let id = SESSION.to_owned();
        self.agent(Conversation::New { id })
    }

    fn again(&self) -> Driven {
        let id = SESSION.to_owned();
        self.agent(Conversation::Resume { id })
    }
}

const WORK: &str = r#"
rehearsal: 1
turns:
  - when: {contains: run}
    uses: always
    steps:
      - plan: [{text: look, state: done}, {text: run it, state: running}, tidy up]
      - say: I would run it.
      - say: If I may.
      - usage: {input: 100, output: 20}
      - ask:
          tool: Run
          args: sh -c 'echo done > made'
          allow:
            - run: {argv: [sh, -c, echo done > made; echo said], exit: 0}
            - say: It ran.
          deny:
            - say: Then not.
  - when: {contains: edit}
    uses: always
    steps:
      - write: {file: note.txt, text: "one\n"}
      - edit: {file: note.txt, replace: one, with: two}
  - when: {contains: wait}
    uses: always
    steps:
      - run: [sh, -c, "echo $$ > pid; sleep 3600"]
  - when: {contains: question}
    uses: always
    steps:
      - question: Which port?
      - say: It is {{answer}}.
  - when: {contains: error}
    uses: always
    steps:
      - error: The service answered 500
  - when: {contains: limit}
    uses: always
    steps:
      - usage_limit: {resets: "15:00"}
  - uses: always
    steps:
      - say: This was prompt {{attempt}}.
"#;

#[test]
fn what_it_asks_is_exactly_what_it_does() {
    let place = Place::new(WORK);
    let mut agent = place.new_agent();
    agent.prompt("please run");
    let asked = agent.permission();
    let plan = agent.events.iter().find_map(|event| match event {
        ControlEvent::Plan(plan) => {
            Some(plan.steps.iter().map(|step| step.status.clone()).collect())
        }
        _ => None,
    });
    let states = vec![
        StepStatus::Completed,
        StepStatus::Running,
        StepStatus::Pending,
    ];
    assert_eq!(plan, Some(states));
    let said = words(&agent.events, Speaker::Agent);
    assert_eq!(said, "I would run it.\n\nIf I may.");

    assert_eq!(asked.tool_name.as_ref().unwrap().text, "Run");
    assert_eq!(asked.kind, ToolKind::Execute);
    assert_eq!(
        (asked.source, &asked.announced),
        (InputSource::Request, &Announced::Same)
    );
    let ToolInput::Said { json: told, .. } = &asked.input else {
        panic!("{:?}", asked.input);
    };
    let input: Value = serde_json::from_str(&told.text).unwrap();
    assert_eq!(input["command"], "sh -c 'echo done > made; echo said'");
    assert_eq!(input["cwd"], json!(place.path("")));
    assert!(!place.path("made").exists());

    agent.answer(&asked, &OptionKind::AllowOnce);
    let (end, said) = agent.turn_end();
    assert_eq!((end, said.as_str()), (TurnEnd::Done, "It ran."));
    assert!(place.path("made").exists());
    let call = asked.tool_call.clone().unwrap();
    let statuses: Vec<_> = agent
        .events
        .iter()
        .filter_map(|event| match event {
            ControlEvent::ToolCallAnnounced { call: told, .. } if told.id == call => {
                Some(told.status.clone())
            }
            ControlEvent::ToolCallUpdated { update, .. } if update.id == call => {
                update.status.clone()
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        statuses,
        [
            ToolStatus::Pending,
            ToolStatus::Running,
            ToolStatus::Completed
        ]
    );
    let used = agent.events.iter().find_map(|event| match event {
        ControlEvent::UsageChanged(usage) => usage.turn,
        _ => None,
    });
    assert_eq!(used.unwrap().total, Some(120));
    let wrong: Vec<_> = agent
        .events
        .iter()
        .filter(|event| {
            matches!(
                event,
                ControlEvent::Trouble(_)
                    | ControlEvent::InputMismatch { .. }
                    | ControlEvent::UnknownNotification { .. }
                    | ControlEvent::RequestRefused { .. }
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(agent.end().success());
}

#[test]
fn a_refusal_an_always_and_a_change_are_told() {
    let place = Place::new(WORK);
    let mut agent = place.new_agent();
    agent.prompt("run");
    let asked = agent.permission();
    agent.answer(&asked, &OptionKind::RejectOnce);
    assert_eq!(agent.turn_end(), (TurnEnd::Done, "Then not.".to_owned()));
    assert!(!place.path("made").exists());

    agent.prompt("run");
    let asked = agent.permission();
    agent.answer(&asked, &OptionKind::AllowAlways);
    assert_eq!(agent.turn_end().0, TurnEnd::Done);
    agent.prompt("run it again");
    let (end, said) = agent.turn_end();
    assert_eq!(
        (end, said.ends_with("It ran.")),
        (TurnEnd::Done, true),
        "nobody was asked"
    );

    agent.prompt("edit");
    let mut changes = Vec::new();
    agent.until("both changes", |event| {
        if let ControlEvent::ToolCallAnnounced { call, .. } = event {
            changes.extend(call.content.clone());
        }
        matches!(event, ControlEvent::TurnEnded { .. }).then_some(())
    });
    let change = |old: Option<&str>, new: &str| ToolContent::Diff {
        path: clip(&place.path("note.txt").display().to_string()),
        old: old.map(clip),
        new: clip(new),
    };
    assert_eq!(changes, [change(None, "one\n"), change(Some("one"), "two")]);
    let note = std::fs::read_to_string(place.path("note.txt")).unwrap();
    assert_eq!(note, "two\n");
}

fn clip(text: &str) -> missiond_control::Clipped {
    missiond_control::Clipped {
        text: text.to_owned(),
        omitted_bytes: 0,
    }
}

#[test]
fn cancelling_ends_the_turn_and_what_it_runs() {
    let place = Place::new(WORK);
    let mut agent = place.new_agent();
    agent.prompt("run");
    agent.permission();
    agent.ask(&ControlRequest::Cancel);
    assert_eq!(agent.turn_end().0, TurnEnd::Cancelled);

    agent.prompt("wait");
    let pid = place.path("pid");
    crate::harness::wait_for("the command", || {
        std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))
    });
    // A prompt during a turn waits for its end.
    agent.prompt("hello");
    agent.ask(&ControlRequest::Cancel);
    assert_eq!(agent.turn_end().0, TurnEnd::Cancelled);
    assert_eq!(
        agent.turn_end(),
        (TurnEnd::Done, "This was prompt 3.".to_owned())
    );
    let pid = std::fs::read_to_string(&pid).unwrap();
    let process = PathBuf::from(format!("/proc/{}", pid.trim()));
    crate::harness::wait_for("the command to end", || !process.exists());
}

#[test]
fn errors_limits_and_questions_have_words_of_their_own() {
    let place = Place::new(WORK);
    let mut agent = place.new_agent();
    agent.prompt("error");
    let (end, _) = agent.turn_end();
    assert!(
        matches!(&end, TurnEnd::Failed(error) if error.message.text == "Error: The service answered 500"),
        "{end:?}"
    );
    agent.prompt("limit");
    let (end, _) = agent.turn_end();
    assert!(
        matches!(&end, TurnEnd::Limit(error) if error.message.text.contains("15:00")),
        "{end:?}"
    );
    agent.prompt("question");
    assert_eq!(agent.turn_end(), (TurnEnd::Done, "Which port?".to_owned()));
    agent.prompt("8080");
    assert_eq!(agent.turn_end(), (TurnEnd::Done, "It is 8080.".to_owned()));
}

#[test]
fn a_session_goes_on_after_a_kill_with_or_without_its_history() {
    let place = Place::new(WORK);
    let mut agent = place.new_agent();
    agent.prompt("hello");
    assert_eq!(agent.turn_end().1, "This was prompt 1.");
    agent.prompt("run");
    agent.permission();
    agent.kill();

    let mut agent = place.again();
    agent.prompt("and now");
    assert_eq!(agent.turn_end().1, "This was prompt 3.");
    assert_eq!(words(&agent.events, Speaker::User), "");
    agent.end();

    let program = binary().display().to_string();
    let words_of_it = [program.as_str(), "rehearse", "script.yaml", "--acp"];
    let command = place.command(&words_of_it.map(str::to_owned));
    let setup: ControlSetup = serde_json::from_value(json!({
        "dialect": {"acp": {"newest": "v1"}},
        "session": {"cwd": place.path(""), "mcp_servers": [], "what": {"load": SESSION}},
    }))
    .unwrap();
    let mut agent = Driven::start(command, &setup);
    let session = agent.open(&setup);
    assert_eq!(
        (session.id.as_str(), session.opening),
        (SESSION, Opening::Loaded)
    );
    assert_eq!(words(&agent.events, Speaker::User), "hellorunand now");
    assert!(words(&agent.events, Speaker::Agent).ends_with("This was prompt 3."));
}

#[test]
fn a_session_whose_server_cannot_be_started_does_not_open() {
    let place = Place::new(WORK);
    let server = McpServer {
        name: "missing".to_owned(),
        command: place.path("no-such-program"),
        args: Vec::new(),
        tools: Vec::new(),
    };
    let id = SESSION.to_owned();
    let (mut agent, setup) = place.started(Conversation::New { id }, Some(server));
    agent.ask(&ControlRequest::Start);
    agent.until("its greeting", |event| {
        matches!(event, ControlEvent::AgentReady(_)).then_some(())
    });
    agent.ask(&ControlRequest::Open(setup.session));
    let message = agent.until("a refusal", |event| match event {
        ControlEvent::RequestFailed { error, .. } => Some(error.message.text.clone()),
        _ => None,
    });
    assert!(
        message.contains("`missing` could not be started"),
        "{message}"
    );
}
