//! A program driven by its own protocol over pipes, as the host of a structured slot
//! does it: its lines go through the client of `missiond-control`.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use missiond_adapters::ControlSetup;
use missiond_control::{
    Client, ContentPart, ControlEvent, ControlRequest, OptionKind, PermissionAnswer,
    PermissionRequest, PromptPart, Session, Speaker, TurnEnd,
};
use missiond_core::{Clock, SystemClock};

use crate::harness::wait_for_exit;

/// Some of the CLIs take a minute to start on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(150);

pub(crate) struct Driven {
    child: Child,
    input: Option<ChildStdin>,
    output: mpsc::Receiver<Vec<u8>>,
    client: Client,
    /// Everything it told, in order.
    pub(crate) events: Vec<ControlEvent>,
    /// How many of them a test has looked at.
    seen: usize,
}

impl Driven {
    pub(crate) fn start(mut command: Command, setup: &ControlSetup) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (sender, output) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 16 << 10];
            while let Ok(count) = stdout.read(&mut bytes) {
                if count == 0 || sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            output,
            client: Client::new(setup.options()),
            events: Vec::new(),
            seen: 0,
        }
    }

    /// Greets it and opens the session of a plan, with its mode and model.
    pub(crate) fn open(&mut self, setup: &ControlSetup) -> Session {
        self.ask(&ControlRequest::Start);
        self.until("its greeting", |event| {
            matches!(event, ControlEvent::AgentReady(_)).then_some(())
        });
        self.ask(&ControlRequest::Open(setup.session.clone()));
        let session = self.until("its session", |event| match event {
            ControlEvent::SessionOpened(session) => Some(session.clone()),
            _ => None,
        });
        let mode = setup
            .mode
            .clone()
            .map(|mode| ControlRequest::SetMode { mode });
        let model = setup.model.clone();
        let model = model.map(|model| ControlRequest::SetModel { model });
        for choice in mode.into_iter().chain(model) {
            self.ask(&choice);
            self.until("a setting", |event| {
                matches!(event, ControlEvent::RequestDone { .. }).then_some(())
            });
        }
        session
    }

    pub(crate) fn ask(&mut self, request: &ControlRequest) {
        let output = self.client.ask(request, SystemClock.now());
        let output = output.unwrap_or_else(|refusal| panic!("{request:?}: {refusal}"));
        self.take(output);
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        self.ask(&ControlRequest::Prompt(vec![PromptPart::Text(
            text.to_owned(),
        )]));
    }

    /// The next permission it asks for.
    pub(crate) fn permission(&mut self) -> PermissionRequest {
        self.until("a question", |event| match event {
            ControlEvent::PermissionRequested(request) => Some((**request).clone()),
            _ => None,
        })
    }

    pub(crate) fn answer(&mut self, request: &PermissionRequest, kind: &OptionKind) {
        let option = request.options.iter().find(|option| option.kind == *kind);
        let option = option.unwrap_or_else(|| panic!("no {kind:?} in {:?}", request.options));
        self.ask(&ControlRequest::AnswerPermission {
            id: request.id.clone(),
            answer: PermissionAnswer::Option(option.id.clone()),
        });
    }

    /// How the turn ends, and what the agent says until then.
    pub(crate) fn turn_end(&mut self) -> (TurnEnd, String) {
        let from = self.seen;
        let end = self.until("the end of the turn", |event| match event {
            ControlEvent::TurnEnded { end, .. } => Some(end.clone()),
            _ => None,
        });
        (end, words(&self.events[from..self.seen], Speaker::Agent))
    }

    /// Looks at what it tells, in order, until something is found.
    pub(crate) fn until<T>(
        &mut self,
        what: &str,
        mut found: impl FnMut(&ControlEvent) -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            while let Some(event) = self.events.get(self.seen) {
                self.seen += 1;
                if let Some(found) = found(event) {
                    return found;
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => {
                    let output = self.client.receive(&bytes, SystemClock.now());
                    self.take(output);
                }
                Err(error) => panic!("waited in vain for {what}: {error}: {:#?}", self.events),
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Says goodbye by closing its input.
    pub(crate) fn end(&mut self) -> std::process::ExitStatus {
        self.input = None;
        wait_for_exit(&mut self.child)
    }

    fn take(&mut self, output: missiond_control::Output) {
        self.events.extend(output.events);
        let input = self.input.as_mut().expect("its input is open");
        for line in output.lines {
            input.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
        input.flush().unwrap();
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What somebody said in these events.
pub(crate) fn words(events: &[ControlEvent], speaker: Speaker) -> String {
    let parts = events.iter().filter_map(|event| match event {
        ControlEvent::Message(message) if message.speaker == speaker => {
            match message.part.as_ref()? {
                ContentPart::Text(text) => Some(text.text.as_str()),
                _ => None,
            }
        }
        _ => None,
    });
    parts.collect()
}
