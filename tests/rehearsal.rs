//! The rehearsal agent in a real terminal: what it does is what its script
//! says, and what is read from its screen is what it truly does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use missiond_core::PtyState;
use missiond_pty::OutputFilter;
use missiond_semantic::{Size, WaitingFor};
use pty_process::blocking::Command;
use rustix::termios::LocalModes;
use serde_json::{Value, json};

use crate::harness::{TestHome, binary, wait_for};
use crate::watched::Watched;

const SIZE: Size = Size {
    columns: 100,
    rows: 30,
};
const SESSION: &str = "0199aaaa-0000-7000-8000-000000000001";

/// A rehearsal in a folder of its own.
struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("rehearsal-").tempdir();
        Self {
            folder: folder.unwrap(),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    fn lines(&self, name: &str) -> Vec<Value> {
        let text = self.read(name);
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn start(&self, arguments: &[&str]) -> Watched {
        self.start_with(arguments, OutputFilter::All)
    }

    fn start_with(&self, arguments: &[&str], filter: OutputFilter) -> Watched {
        let command = Command::new(binary())
            .arg("rehearse")
            .args(arguments)
            .args(["--session-dir", "sessions", "--truth", "truth"])
            .args(["--transcript", "transcript"])
            .current_dir(self.folder.path())
            .env("MISSION_HOME", self.file("home"));
        Watched::start("rehearsal", command, SIZE, filter)
    }

    /// What the agent last said about itself.
    fn truth(&self) -> Value {
        self.lines("truth").pop().unwrap_or_default()
    }

    /// Types a prompt and presses Enter once it is in the box.
    fn prompt(&self, agent: &mut Watched, text: &str) {
        agent.send(text);
        wait_for("the draft", || self.truth()["draft"] == text);
        agent.send("\r");
    }

    /// Waits until the agent says that it is in this state, and its screen is
    /// read so.
    fn both_say(&self, agent: &mut Watched, state: PtyState) -> missiond_semantic::Reading {
        let what = format!("agent and reading to say {}", state.as_str());
        agent.wait_for(&what, |agent| {
            self.truth()["state"] == state.as_str() && agent.reading().state == state
        });
        agent.reading().clone()
    }
}

const EVERY_STATE: &str = r#"
rehearsal: 1
startup: 0.5
turns:
  - when: {contains: work}
    steps:
      - think: {seconds: 3600, text: a secret plan}
  - when: {contains: talk}
    steps:
      - say:
          rate: 25
          text: >-
            ⠋ Thinking… (3s · esc to interrupt) is what I might quote, and
            ╭─ Permission ─╮ and ❯ 1. Allow too. This answer is long, so that
            whoever reads the screen has the time to see that it is an answer,
            and it is cut short by the key that interrupts it before its end.
            And so it goes on and on and on for many words more than are needed.
  - when: {contains: tool}
    steps:
      - ask:
          tool: Run
          args: sh -c 'until the file is there'
          question: May it wait for a file?
          allow:
            - run:
                argv: [sh, -c, "echo begun; until [ -e go ]; do sleep 0.02; done; echo seen {{prompt}}"]
                exit: 0
            - say: It is there.
  - when: {contains: ask}
    steps:
      - question: Which port?
      - write: {file: answer, text: "{{answer}}"}
  - when: {contains: fail}
    steps:
      - error: {text: the service answered 500, retries: 1, wait: 0.1}
  - when: {contains: limit}
    steps:
      - usage_limit: {resets: "15:00"}
"#;

#[test]
fn every_state_is_read_as_what_the_agent_truly_does() {
    for filter in [OutputFilter::All, OutputFilter::ScreenOnly] {
        let stage = Stage::new();
        stage.write("all.yaml", EVERY_STATE);
        let mut agent = stage.start_with(&["all.yaml"], filter);
        agent.wait_for_text("Rehearsal: no model is used");
        assert_eq!(agent.reading().state, PtyState::Starting);
        stage.both_say(&mut agent, PtyState::Idle);

        stage.prompt(&mut agent, "work");
        stage.both_say(&mut agent, PtyState::Thinking);
        agent.send("\x1b");
        stage.both_say(&mut agent, PtyState::Idle);

        stage.prompt(&mut agent, "talk");
        stage.both_say(&mut agent, PtyState::Responding);
        agent.wait_for_text("❯ 1. Allow too");
        stage.both_say(&mut agent, PtyState::Responding);
        agent.send("\x1b");
        stage.both_say(&mut agent, PtyState::Idle);

        stage.prompt(&mut agent, "a tool");
        let asked = stage.both_say(&mut agent, PtyState::Confirming);
        assert_eq!(asked.waiting_for, Some(WaitingFor::Permission));
        let dialog = asked.dialog.unwrap();
        let truth = &stage.truth()["dialog"];
        assert_eq!(dialog.title, truth["title"]);
        assert_eq!(dialog.question, truth["question"]);
        assert_eq!(json!(dialog.tool), truth["tool"]);
        assert_eq!(json!(dialog.arguments), truth["arguments"]);
        let labels: Vec<_> = dialog.options.iter().map(|o| o.label.as_str()).collect();
        assert_eq!(json!(labels), truth["options"]);
        let numbers: Vec<_> = dialog.options.iter().map(|o| o.number).collect();
        assert_eq!(numbers, [Some(1), Some(2), Some(3)]);
        assert_eq!(dialog.selected, Some(0));
        agent.send("\x1b[B");
        agent.wait_for("the mark on the second option", |agent| {
            agent.reading().dialog.as_ref().unwrap().selected == Some(1)
        });
        assert_eq!(stage.truth()["dialog"]["selected"], 1);
        agent.send("1");
        let running = stage.both_say(&mut agent, PtyState::ToolRunning);
        let tool = running.tool.unwrap();
        assert_eq!(tool.name, "Run");
        assert!(tool.arguments.starts_with("sh -c"), "{tool:?}");
        agent.wait_for_text("│ begun");
        stage.write("go", "");
        agent.wait_for_text("◆ It is there.");
        agent.wait_for_text("└ exit code 0");
        stage.both_say(&mut agent, PtyState::Idle);
        agent.wait_for_text("│ seen a tool");

        stage.prompt(&mut agent, "ask me");
        let asked = stage.both_say(&mut agent, PtyState::Confirming);
        assert_eq!(asked.waiting_for, Some(WaitingFor::Question));
        agent.send("8080\r");
        wait_for("the answer", || stage.read("answer") == "8080");
        stage.both_say(&mut agent, PtyState::Idle);

        agent.send("/");
        stage.both_say(&mut agent, PtyState::SlashMenu);
        agent.send("\x1b");
        stage.both_say(&mut agent, PtyState::Idle);
        agent.send("\x15");

        stage.prompt(&mut agent, "fail");
        stage.both_say(&mut agent, PtyState::Error);
        agent.wait_for_text("✗ Error: the service answered 500");
        stage.prompt(&mut agent, "limit");
        agent.wait_for_text("✗ Limit reached, resets 15:00");
        stage.both_say(&mut agent, PtyState::Error);

        agent.send("/exit\r");
        assert_eq!(agent.wait_for_exit().code(), Some(0));
        assert_eq!(agent.reading().state, PtyState::Exited);
        assert_eq!(stage.truth()["state"], "exited");
        // Nothing was ever read that the agent had not been a moment before.
        let mut told: Vec<Value> = stage.lines("truth");
        told.dedup_by(|a, b| a["state"] == b["state"]);
        let mut told = told.iter().map(|line| line["state"].as_str().unwrap());
        for state in agent.states() {
            assert!(
                told.any(|told| told == state.as_str()),
                "{} was read and was not so",
                state.as_str()
            );
        }
    }
}

#[test]
fn what_it_thinks_is_shown_and_kept_nowhere() {
    let stage = Stage::new();
    stage.write("all.yaml", EVERY_STATE);
    let mut agent = stage.start(&["all.yaml", "work"]);
    stage.both_say(&mut agent, PtyState::Thinking);
    assert!(!agent.screen_text().contains("secret"));
    agent.send("\x1b");
    stage.both_say(&mut agent, PtyState::Idle);
    agent.send("/exit\r");
    agent.wait_for_exit();
    for file in ["truth", "transcript"] {
        assert!(!stage.read(file).contains("secret"), "{file}");
    }
}

#[test]
fn a_permission_can_be_given_once_for_good_or_not_at_all() {
    let stage = Stage::new();
    stage.write(
        "ask.yaml",
        r#"
rehearsal: 1
turns:
  - uses: always
    steps:
      - ask:
          tool: Append
          args: log
          allow: [{append: {file: log, text: "once "}}]
          always: [{append: {file: log, text: "always "}}]
          deny: [{append: {file: log, text: "denied "}}]
      - say: "Answered {{attempt}}."
"#,
    );
    let mut agent = stage.start(&["ask.yaml", "--speed", "10"]);
    // Enter on the first, Escape, arrows to the third, a number; then never again.
    let answers = ["\r", "\x1b", "\x1b[B\x1b[B\x1b[B\r", "2"];
    for (number, keys) in (1..).zip(answers) {
        stage.both_say(&mut agent, PtyState::Idle);
        stage.prompt(&mut agent, "go on");
        stage.both_say(&mut agent, PtyState::Confirming);
        agent.send(keys);
        agent.wait_for_text(&format!("◆ Answered {number}."));
    }
    stage.both_say(&mut agent, PtyState::Idle);
    stage.prompt(&mut agent, "go on");
    agent.wait_for_text("◆ Answered 5.");
    assert_eq!(stage.read("log"), "once denied denied always once ");
}

#[test]
fn a_session_goes_on_at_the_next_turn() {
    let stage = Stage::new();
    stage.write(
        "two.yaml",
        r#"
rehearsal: 1
turns:
  - steps: [{say: "First, attempt {{attempt}}."}]
  - steps: [{say: "Second, attempt {{attempt}}, {{env.PLACE}}."}]
"#,
    );
    let mut agent = stage.start(&["two.yaml", "hello", "--session-id", SESSION]);
    agent.wait_for_text("◆ First, attempt 1.");
    stage.both_say(&mut agent, PtyState::Idle);
    agent.send("\x03");
    agent.wait_for_text("press ctrl-c again to exit");
    agent.send("\x03");
    assert_eq!(agent.wait_for_exit().code(), Some(0));
    let resume = format!("Resume with: mission rehearse two.yaml --resume {SESSION}");
    assert!(agent.screen_text().contains(&resume));
    let kept = stage.file(&format!("sessions/{SESSION}.json"));
    for (path, mode) in [
        (kept.as_path(), 0o600),
        (kept.parent().unwrap(), 0o700),
        (&stage.file("transcript"), 0o600),
    ] {
        let found = std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }

    let mut agent = stage.start(&["two.yaml", "again", "--resume", SESSION]);
    agent.wait_for_text("◆ Second, attempt 2, .");
    stage.both_say(&mut agent, PtyState::Idle);
    stage.prompt(&mut agent, "and now?");
    agent.wait_for_text("■ The script has no turn for this prompt.");
    let said: Vec<_> = stage
        .lines("transcript")
        .iter()
        .filter(|line| line["session_id"] == SESSION)
        .map(|line| {
            let content = &line["message"]["content"];
            let words = content.as_str().or(content[0]["text"].as_str()).unwrap();
            format!("{}: {words}", line["type"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        said,
        [
            "user: hello",
            "assistant: First, attempt 1.",
            "user: again",
            "assistant: Second, attempt 2, .",
            "user: and now?",
        ]
    );
    drop(agent);

    let mut other = stage.start(&["hello", "--resume", SESSION]);
    assert_eq!(other.wait_for_exit().code(), Some(5));
    other.wait_for_text("was played by the script `two` with 2 turns");
    let unknown = SESSION.replace('1', "2");
    let mut other = stage.start(&["two.yaml", "--resume", &unknown]);
    assert_eq!(other.wait_for_exit().code(), Some(4));
}

#[test]
fn a_paste_of_lines_is_one_prompt_and_the_picture_survives_a_resize() {
    let stage = Stage::new();
    let mut agent = stage.start(&["hello", "--speed", "10"]);
    stage.both_say(&mut agent, PtyState::Idle);
    assert!(agent.session.terminal().bracketed_paste());
    agent.send("\x1b[200~one\r\ntwo\x1b[201~");
    wait_for("the draft", || stage.truth()["draft"] == "one\ntwo");
    agent.wait_for_text("❯ one\n  two");
    agent.send(" more\x7f\r");
    agent.wait_for_text("▸ one\n  two mor");
    stage.both_say(&mut agent, PtyState::Idle);
    for size in [(50, 16), (120, 40)] {
        let (columns, rows) = size;
        agent.resize(Size { columns, rows });
        agent.wait_for("the box at its new width", |agent| {
            let rule = "━".repeat(columns.into());
            agent.screen_text().matches(&rule).count() == 2
        });
        agent.wait_for_text("model was asked.");
        stage.both_say(&mut agent, PtyState::Idle);
    }
    let screen = agent.screen_text();
    assert_eq!(
        screen.matches("Rehearsal: no model is used").count(),
        1,
        "{screen}"
    );
    assert_eq!(screen.matches("▸ one").count(), 1, "{screen}");
}

#[test]
fn prompts_typed_while_it_works_wait_for_their_turn() {
    let stage = Stage::new();
    stage.write(
        "wait.yaml",
        r#"
rehearsal: 1
turns:
  - when: {contains: first}
    steps: [{run: [sh, -c, "until [ -e go ]; do sleep 0.02; done"]}]
  - uses: always
    steps: [{say: "You said {{prompt}}"}]
"#,
    );
    let mut agent = stage.start(&["wait.yaml", "first"]);
    stage.both_say(&mut agent, PtyState::ToolRunning);
    stage.prompt(&mut agent, "second");
    agent.wait_for_text("queued: second");
    stage.both_say(&mut agent, PtyState::ToolRunning);
    stage.write("go", "");
    agent.wait_for_text("◆ You said second");
}

#[test]
fn an_interrupted_command_leaves_no_process() {
    let stage = Stage::new();
    stage.write(
        "long.yaml",
        "rehearsal: 1\nturns: [{steps: [{run: [sh, -c, 'sleep 1000 & echo $! > pid; wait']}]}]\n",
    );
    let mut agent = stage.start(&["long.yaml", "go"]);
    wait_for("the command", || stage.read("pid").ends_with('\n'));
    let pid: u32 = stage.read("pid").trim().parse().unwrap();
    stage.both_say(&mut agent, PtyState::ToolRunning);
    agent.send("\x03");
    agent.wait_for_text("■ Interrupted");
    stage.both_say(&mut agent, PtyState::Idle);
    wait_for("its process to be gone", || {
        !missiond_pty::process_exists(pid)
    });
}

#[test]
fn it_ends_as_the_script_says_and_gives_the_terminal_back() {
    let canonical = LocalModes::ICANON | LocalModes::ECHO;
    for (prompt, code, signal) in [("exit 3", Some(3), None), ("crash", None, Some(6))] {
        let stage = Stage::new();
        let mut agent = stage.start(&["trouble", "--speed", "10"]);
        stage.both_say(&mut agent, PtyState::Idle);
        assert!(!agent.modes().local_modes.intersects(canonical));
        stage.prompt(&mut agent, prompt);
        let status = agent.wait_for_exit();
        assert_eq!((status.code(), status.signal()), (code, signal));
        assert!(agent.modes().local_modes.contains(canonical), "{prompt}");
        assert!(!agent.session.terminal().bracketed_paste());
        assert!(agent.session.screen().cursor.visible);
    }
}

#[test]
fn a_stuck_agent_takes_no_keys_and_ends_when_told() {
    let stage = Stage::new();
    let mut agent = stage.start(&["trouble", "hang"]);
    stage.both_say(&mut agent, PtyState::Thinking);
    let before = stage.read("truth");
    agent.send("\x1b\x03hello\r");
    agent.terminate();
    assert_eq!(agent.wait_for_exit().code(), Some(128 + 15));
    let after = stage.read("truth").replace(&before, "");
    assert_eq!(after.lines().count(), 1, "only its end was told: {after}");
}

#[test]
fn a_flood_can_be_interrupted_and_read() {
    let stage = Stage::new();
    stage.write(
        "flood.yaml",
        "rehearsal: 1\nturns: [{uses: always, steps: [{flood: {lines: 3000}}, {say: Dry again.}]}]\n",
    );
    let mut agent = stage.start(&["flood.yaml", "--speed", "10"]);
    stage.both_say(&mut agent, PtyState::Idle);
    stage.prompt(&mut agent, "flood");
    agent.wait_for_text("3000: the quick brown fox");
    agent.wait_for_text("◆ Dry again.");
    stage.both_say(&mut agent, PtyState::Idle);
}

/// Speaks MCP on standard input and output, and writes down what it is sent.
/// It also asks something itself, which a client must answer or refuse.
const MCP_SERVER: &str = r#"
while IFS= read -r line; do
  printf '%s\n' "$line" >> received
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *'"method":"initialize"'*)
      echo '{"jsonrpc":"2.0","id":"s1","method":"roots/list"}'
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}}';;
    *'"method":"tools/list"'*'"cursor"'*)
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"completed_claim","inputSchema":{}}]}}';;
    *'"method":"tools/list"'*)
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"progress","inputSchema":{}}],"nextCursor":"2"}}';;
    *'"name":"completed_claim"'*)
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"the checks say otherwise"}],"isError":true}}';;
    *'"method":"tools/call"'*)
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"recorded by '$PLACE'"}]}}';;
  esac
done
"#;

#[test]
fn signals_reach_an_mcp_server_on_standard_input() {
    let stage = Stage::new();
    stage.write("server.sh", MCP_SERVER);
    let config = json!({"mcpServers": {"mission-execution": {
        "command": "sh", "args": ["server.sh"], "env": {"PLACE": "the test"},
    }}});
    stage.write("mcp.json", &config.to_string());
    let arguments = [
        "signals",
        "ship it",
        "--mcp-config",
        "mcp.json",
        "--speed",
        "10",
    ];
    let mut agent = stage.start(&arguments);
    agent.wait_for_text("◈ Signal(progress)\n  └ recorded by the test");
    agent.wait_for_text("◈ Signal(completed_claim)\n  └ the checks say otherwise");
    stage.both_say(&mut agent, PtyState::Idle);
    let received = stage.lines("received");
    let methods: Vec<_> = received
        .iter()
        .filter_map(|message| message["method"].as_str())
        .collect();
    let expected = [
        "initialize",
        "notifications/initialized",
        "tools/list",
        "tools/list",
        "tools/call",
        "tools/call",
    ];
    assert_eq!(methods, expected);
    let refused = received.iter().find(|message| message["id"] == "s1");
    assert_eq!(refused.unwrap()["error"]["code"], -32601);
    assert_eq!(
        received[received.len() - 2]["params"],
        json!({"name": "progress", "arguments": {"summary": "Working on: ship it"}})
    );
}

#[test]
fn a_tool_is_called_over_http() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for stream in listener.incoming() {
            let Some((head, message)) = answer_http(stream.unwrap()) else {
                continue;
            };
            let done = message["method"] == "tools/call";
            seen.push((head.to_lowercase(), message));
            if done {
                return seen;
            }
        }
        seen
    });
    let stage = Stage::new();
    let config = json!({"mcpServers": {"remote": {
        "type": "http", "url": format!("http://{address}/mcp"), "headers": {"authorization": "Bearer abc"},
    }}});
    stage.write("mcp.json", &config.to_string());
    stage.write(
        "call.yaml",
        "rehearsal: 1\nturns: [{steps: [{call: {tool: echo, arguments: {deep: [1, {say: '{{prompt}}'}]}}}]}]\n",
    );
    let mut agent = stage.start(&["call.yaml", "hi", "--mcp-config", "mcp.json"]);
    agent.wait_for_text("└ heard over http");
    let seen = server.join().unwrap();
    assert_eq!(seen.len(), 4);
    for (head, _) in &seen {
        assert!(head.contains("authorization: bearer abc"), "{head}");
    }
    for (head, _) in &seen[1..] {
        assert!(head.contains("mcp-session-id: s-1"), "{head}");
        assert!(head.contains("mcp-protocol-version: 2025-06-18"), "{head}");
    }
    assert_eq!(
        seen[3].1["params"]["arguments"],
        json!({"deep": [1, {"say": "hi"}]})
    );
}

/// Answers one POST as a server of 2025 does: by JSON, and the tool call by a stream
/// of events. Nothing comes of a GET, and of a method that it does not know.
fn answer_http(stream: std::net::TcpStream) -> Option<(String, Value)> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0);
    }
    let mut reply = |status: &str, headers: &str, body: &str| {
        let length = body.len();
        let reply = format!(
            "HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(reply.as_bytes()).unwrap();
    };
    if head.starts_with("GET ") {
        reply("405 Method Not Allowed", "", "");
        return None;
    }
    let length = head.to_lowercase();
    let length = length.split("content-length: ").nth(1).unwrap();
    let length: usize = length.lines().next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let message: Value = serde_json::from_slice(&body).unwrap();
    let session = "mcp-session-id: s-1\r\ncontent-type: application/json\r\n";
    let answer = |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    match message["method"].as_str().unwrap() {
        "initialize" => {
            let result = answer(json!({"protocolVersion": "2025-06-18", "capabilities": {}}));
            reply("200 OK", session, &result.to_string());
        }
        "tools/list" => {
            let result = answer(json!({"tools": [{"name": "echo", "inputSchema": {}}]}));
            reply("200 OK", session, &result.to_string());
        }
        "tools/call" => {
            let result = answer(json!({"content": [{"type": "text", "text": "heard over http"}]}));
            let events = format!(
                "event: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}}\n\ndata: {result}\n\n"
            );
            reply("200 OK", "content-type: text/event-stream\r\n", &events);
        }
        "notifications/initialized" => reply("202 Accepted", "", ""),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            let error = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            reply(
                "200 OK",
                "content-type: application/json\r\n",
                &error.to_string(),
            );
            return None;
        }
    }
    Some((head, message))
}

#[test]
fn an_mcp_server_that_cannot_be_used_fails_the_start() {
    let stage = Stage::new();
    let config = json!({"mcpServers": {"gone": {"command": "/nowhere/server"}}});
    stage.write("mcp.json", &config.to_string());
    let mut agent = stage.start(&["hello", "--mcp-config", "mcp.json"]);
    assert_eq!(agent.wait_for_exit().code(), Some(3));
    agent.wait_for_text(
        "the MCP server `gone` could not be started: there is no file /nowhere/server",
    );
}

#[test]
fn the_built_in_scripts_are_listed_shown_and_valid() {
    let home = TestHome::new();
    let listed = home.json(&["rehearse", "--list"]);
    let listed = listed.as_array().unwrap();
    assert!(listed.len() >= 4);
    for script in listed {
        let name = script["name"].as_str().unwrap();
        let shown = home.json(&["rehearse", "--show", name]);
        let file = home.path().join("shown.yaml");
        std::fs::write(&file, shown["text"].as_str().unwrap()).unwrap();
        // Valid: it gets as far as to miss a terminal.
        let (code, said) = home.failure(&["rehearse", &file.display().to_string()]);
        assert_eq!(code, 1, "{name}: {said}");
        assert!(said.contains("needs a terminal"), "{name}: {said}");
    }
    let (code, said) = home.failure(&["rehearse", "helo"]);
    assert_eq!(code, 4);
    assert!(said.contains("there is no script `helo`"), "{said}");
}

#[test]
fn a_script_that_was_told_a_lie_mends_it() {
    let stage = Stage::new();
    let mut agent = stage.start(&["fail-then-fix", "find the answer", "--speed", "10"]);
    agent.wait_for_text("All is done.");
    stage.both_say(&mut agent, PtyState::Idle);
    let check = || {
        let mut command = std::process::Command::new("sh");
        command.arg("check.sh").current_dir(stage.folder.path());
        command.status().unwrap().success()
    };
    assert!(!check(), "the claim was false");
    stage.prompt(&mut agent, "the check fails");
    agent.wait_for_text("◆ Mended. The check passes now.");
    assert!(check());
}

#[test]
fn a_slot_runs_it_like_any_other_agent() {
    let home = TestHome::started();
    let program = binary().display().to_string();
    let folder: &Path = home.path();
    let slot = home.json(&[
        "slot",
        "spawn",
        "--name",
        "actor",
        "--engine",
        "rehearsal",
        "--cwd",
        &folder.display().to_string(),
        "--",
        &program,
        "rehearse",
        "permission",
        "--session-dir",
        "sessions",
        "--speed",
        "10",
    ]);
    assert_eq!(slot["engine"], "rehearsal");
    let state = || home.json(&["slot", "read", "actor"])["reading"]["state"].clone();
    wait_for("the prompt", || state() == "idle");
    home.json(&["slot", "send", "actor", "look around"]);
    wait_for("the dialog", || state() == "confirming");
    let answered = home.json(&["slot", "answer", "actor", "allow"]);
    assert_eq!(answered["option"], "Allow");
    wait_for("the end of the turn", || state() == "idle");
    home.json(&["slot", "kill", "actor"]);
}
