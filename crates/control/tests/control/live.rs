//! A client with its recording, as the process that owns an agent would keep it.

use std::time::Duration;

use missiond_control::{
    AcpVersion, CancelledQuestions, Client, ControlEvent, ControlRequest, ControlState, Dialect,
    Direction, OpenSession, Options, Output, PromptPart, RecordedLine, Refusal, SessionChoice,
};
use missiond_core::Timestamp;
use serde_json::{Value, json};

pub(crate) const ACP: Dialect = Dialect::Acp {
    newest: AcpVersion::V1,
};
pub(crate) const ACP_V2: Dialect = Dialect::Acp {
    newest: AcpVersion::V2,
};
pub(crate) const APP_SERVER: Dialect = Dialect::CodexAppServer;

/// Of an agent that takes back what a cancelled turn has asked.
pub(crate) fn taking_back() -> Options {
    let mut options = Options::new(ACP);
    options.habits.cancelled_questions = CancelledQuestions::TakenBack;
    options
}

pub(crate) struct Live {
    pub(crate) client: Client,
    pub(crate) options: Options,
    pub(crate) recording: Vec<RecordedLine>,
    /// The state after each call, with how many lines were recorded by then.
    pub(crate) states: Vec<(usize, ControlState)>,
    pub(crate) events: Vec<ControlEvent>,
    now: Timestamp,
}

impl Live {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            client: Client::new(options.clone()),
            options,
            recording: Vec::new(),
            states: Vec::new(),
            events: Vec::new(),
            now: Timestamp::from_micros(0),
        }
    }

    /// An agent that was greeted and has a session, in a client's default options.
    pub(crate) fn with_session(dialect: Dialect) -> Self {
        Self::in_session(Options::new(dialect))
    }

    /// The same in these options.
    pub(crate) fn in_session(options: Options) -> Self {
        let dialect = options.dialect;
        let mut live = Self::new(options);
        live.ask(&ControlRequest::Start).unwrap();
        live.agent(&match dialect {
            ACP_V2 => json!({"jsonrpc": "2.0", "id": 1, "result": {
                "protocolVersion": 2,
                "info": {"name": "agent", "version": "3"},
                "capabilities": {"session": {"prompt": {"image": {}}, "mcp": {"stdio": {}}}},
            }}),
            Dialect::Acp { .. } => json!({"jsonrpc": "2.0", "id": 1, "result": {
                "protocolVersion": 1,
                "agentCapabilities": {
                    "loadSession": true,
                    "promptCapabilities": {"image": true},
                    "sessionCapabilities": {"close": {}, "resume": {}},
                },
                "authMethods": [{"id": "key", "name": "A key"}],
            }}),
            Dialect::CodexAppServer => {
                json!({"id": 1, "result": {"userAgent": "missiond/0.169.0 (x)"}})
            }
        });
        live.ask(&open(SessionChoice::New)).unwrap();
        live.agent(&match dialect {
            Dialect::Acp { .. } => json!({"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "s"}}),
            Dialect::CodexAppServer => {
                json!({"id": 2, "result": {"thread": {"id": "s"}, "cwd": "/work", "model": "m"}})
            }
        });
        live
    }

    /// The agent says something; what comes of it.
    pub(crate) fn agent(&mut self, message: &Value) -> Vec<ControlEvent> {
        self.agent_line(message.to_string().as_bytes()).events
    }

    pub(crate) fn agent_line(&mut self, line: &[u8]) -> Output {
        self.tick();
        self.record(Direction::FromAgent, line);
        let mut bytes = line.to_vec();
        bytes.push(b'\n');
        let output = self.client.receive(&bytes, self.now);
        self.note(&output);
        output
    }

    /// Something of a session, in ACP.
    pub(crate) fn update(&mut self, update: Value) -> Vec<ControlEvent> {
        self.agent(&json!({
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": "s", "update": update},
        }))
    }

    /// Something of the thread, in the app-server's dialect.
    pub(crate) fn notice(&mut self, method: &str, mut params: Value) -> Vec<ControlEvent> {
        params["threadId"] = json!("s");
        self.agent(&json!({"method": method, "params": params}))
    }

    pub(crate) fn ask(&mut self, request: &ControlRequest) -> Result<Vec<Value>, Refusal> {
        self.tick();
        let output = self.client.ask(request, self.now)?;
        self.note(&output);
        let lines = output.lines.iter();
        Ok(lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect())
    }

    pub(crate) fn prompt(&mut self, text: &str) -> Result<Vec<Value>, Refusal> {
        self.ask(&ControlRequest::Prompt(vec![PromptPart::Text(text.into())]))
    }

    pub(crate) fn state(&self) -> ControlState {
        self.client.state()
    }

    fn tick(&mut self) {
        self.now = self.now.plus(Duration::from_millis(7));
    }

    fn record(&mut self, direction: Direction, line: &[u8]) {
        self.recording.push(RecordedLine {
            direction,
            at: self.now,
            line: line.to_vec(),
        });
    }

    fn note(&mut self, output: &Output) {
        for line in &output.lines {
            self.record(Direction::ToAgent, line.as_bytes());
        }
        self.events.extend(output.events.iter().cloned());
        self.states
            .push((self.recording.len(), self.client.state()));
    }
}

pub(crate) fn open(what: SessionChoice) -> ControlRequest {
    ControlRequest::Open(OpenSession {
        cwd: "/work".into(),
        mcp_servers: Vec::new(),
        what,
        meta: None,
    })
}
