//! What the agent of an execution can do with its access, and what nobody can do
//! without: the real daemon, a real execution, the real bridge and hook.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use missiond_api::{AccessFile, AccessToken};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{RawConnection, TestHome, error_code, text, wait_for, wait_for_exit};

/// Stays at its prompt.
const QUIET: &str = "\
rehearsal: 1
description: waits
startup: 0
turns:
  - uses: always
    steps:
      - say: Nothing to report.
";

const REPORTING: &str = "\
rehearsal: 1
description: reports
startup: 0
turns:
  - uses: always
    steps:
      - signal: {type: progress, payload: {summary: \"Working on: {{prompt}}\"}}
      - signal: {type: completed_claim, payload: {summary: \"It is done.\"}}
";

/// One running execution with its access.
struct Agent<'h> {
    home: &'h TestHome,
    execution: String,
    file: PathBuf,
    access: AccessFile,
}

impl<'h> Agent<'h> {
    fn start(home: &'h TestHome, script: &str, prompt: Option<&str>) -> Self {
        let place = home.path().join(format!("script-{}.yaml", script.len()));
        std::fs::write(&place, script).unwrap();
        let mut params = json!({
            "engine": "rehearsal", "cwd": home.path(), "signals": "mcp",
            "args": [place],
        });
        if let Some(prompt) = prompt {
            params["prompt"] = json!(prompt);
        }
        let started = home.json(&["call", "execution_start", &params.to_string()]);
        let execution = started["execution"].as_str().unwrap().to_owned();
        let launches = home.home().run_dir().join("launches");
        let file = launches.join(&execution).join("access.json");
        let access = AccessFile::read(&file).unwrap();
        Self {
            home,
            execution,
            file,
            access,
        }
    }

    fn records(&self) -> Vec<Value> {
        let args = [
            "--json",
            "journal",
            "show",
            &self.execution,
            "--limit",
            "10000",
        ];
        let shown = self.home.mission(&args);
        assert!(shown.status.success(), "{}", text(&shown.stderr));
        let shown = text(&shown.stdout);
        shown
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// What was observed by this source.
    fn observed(&self, source: &str) -> Vec<Value> {
        let records = self.records().into_iter();
        records
            .filter(|record| record["data"]["source"] == source)
            .map(|record| record["data"]["observed"].clone())
            .collect()
    }

    fn hello(&self, token: &AccessToken) -> (RawConnection, Value) {
        let mut connection = self.home.raw();
        let params = json!({"protocol": 1, "execution": self.execution, "token": token});
        connection.request(0, "execution_hello", &params);
        let answer = connection.receive();
        (connection, answer)
    }

    fn bridge(&self) -> BridgeProcess {
        let file = self.file.to_str().unwrap();
        let mut child = self
            .home
            .command(&["execution", "mcp", file])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        BridgeProcess {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Runs the hook with an event of this name; it must be silent.
    fn hook(&self, event: &str, tool: &str) {
        let file = self.file.to_str().unwrap();
        let mut child = self
            .home
            .command(&["hook", file])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = json!({"hook_event_name": event, "tool_name": tool, "session_id": "s1"});
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.to_string().as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(text(&output.stdout), "");
    }

    /// Runs the hook that is asked before a tool is used.
    fn judge(&self, input: &[u8]) -> Judged {
        let mut child = self
            .home
            .command(&["hook", self.file.to_str().unwrap(), "--judge"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // One that refuses at once need not read it.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Judged {
            exit: output.status.code().unwrap(),
            said: text(&output.stdout),
            why: text(&output.stderr),
        }
    }

    /// The same for each of these tools, all at once.
    fn judge_each(&self, tools: &[&str]) -> Vec<Judged> {
        std::thread::scope(|scope| {
            let asked = tools.iter().map(|tool| {
                let input = use_of(tool, self.home).to_string();
                scope.spawn(move || self.judge(input.as_bytes()))
            });
            let asked: Vec<_> = asked.collect();
            let judged = asked.into_iter().map(|one| one.join().unwrap());
            judged.collect()
        })
    }

    /// The tools whose beginning a hook reported, in order.
    fn hooked(&self) -> Vec<String> {
        let facts = self.observed("hook").into_iter();
        facts
            .filter_map(|observed| Some(observed["fact"]["payload"]["tool"].as_str()?.to_owned()))
            .collect()
    }
}

/// What a CLI hears of a tool it is about to use.
#[derive(Debug)]
struct Judged {
    exit: i32,
    said: String,
    why: String,
}

impl Judged {
    /// The decision; nothing where the CLI goes on by itself.
    fn decision(&self) -> Option<String> {
        assert_eq!(self.exit, 0, "{self:?}");
        if self.said.is_empty() {
            return None;
        }
        let said: Value = serde_json::from_str(&self.said).unwrap();
        let decision = said["hookSpecificOutput"]["permissionDecision"].as_str();
        Some(decision.unwrap().to_owned())
    }

    /// It has to be the code that every CLI takes for a refusal, and no word beside it that
    /// one could take for an answer.
    fn refuses(&self) {
        assert_eq!((self.exit, self.said.as_str()), (2, ""), "{self:?}");
        assert!(
            self.why.starts_with("missiond refuses this use"),
            "{self:?}"
        );
    }
}

fn use_of(tool: &str, home: &TestHome) -> Value {
    json!({
        "hook_event_name": "PreToolUse", "session_id": "s1", "cwd": home.path(),
        "tool_name": tool, "tool_input": {"query": "x"}, "tool_use_id": format!("use-{tool}"),
    })
}

struct BridgeProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl BridgeProcess {
    fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input
            .as_mut()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn call(&mut self, id: u64, tool: &str, arguments: &Value) -> Value {
        self.ask(
            id,
            "tools/call",
            &json!({"name": tool, "arguments": arguments}),
        )
    }

    /// Closes its input; it must end by itself and say nothing more.
    fn end(mut self) {
        drop(self.input.take());
        assert!(wait_for_exit(&mut self.child).success());
        let mut rest = String::new();
        self.output.read_line(&mut rest).unwrap();
        assert_eq!(rest, "");
    }
}

impl Drop for BridgeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_agent_reports_through_the_server_it_was_given() {
    let home = TestHome::started();
    let agent = Agent::start(&home, REPORTING, Some("the parser"));
    wait_for("both reports", || agent.observed("mcp_tool").len() == 2);
    let said = agent.observed("mcp_tool");
    assert_eq!(
        said[0]["signal"]["payload"]["summary"],
        "Working on: the parser"
    );
    assert_eq!(said[1]["signal"]["type"], "completed_claim");
    let verified = home.mission(&["journal", "verify", &agent.execution]);
    assert!(verified.status.success(), "{}", text(&verified.stdout));

    let token = agent.access.token.reveal().as_bytes();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let shown = line.windows(token.len()).any(|bytes| bytes == token);
        assert!(!shown, "the token is on the command line of {process:?}");
    }
}

#[test]
fn the_bridge_is_a_server_of_both_eras_and_ends_with_its_input() {
    let home = TestHome::started();
    let agent = Agent::start(&home, QUIET, None);
    let mut bridge = agent.bridge();
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}});
    let answer = bridge.ask(1, "initialize", &hello);
    assert_eq!(answer["result"]["serverInfo"]["name"], "mission-execution");
    bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let listed = bridge.ask(2, "tools/list", &json!({}));
    let names: Vec<_> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let offered = [
        "progress",
        "needs_input",
        "blocked",
        "completed_claim",
        "failed_claim",
        "message",
    ];
    assert_eq!(names, offered, "nobody verifies a run that no task owns");
    let refused = bridge.call(9, "ready_for_verification", &json!({"summary": "look"}));
    let why = refused["error"]["message"].as_str().unwrap();
    assert!(
        why.contains("no tool `ready_for_verification`"),
        "{refused}"
    );
    let newer = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let found = bridge.ask(3, "server/discover", &newer);
    assert_eq!(found["result"]["resultType"], "complete");
    let told = bridge.call(4, "needs_input", &json!({"question": "Which port?"}));
    assert_eq!(told["result"]["isError"], false, "{told}");
    assert_eq!(told["result"]["structuredContent"]["outcome"], "accepted");
    bridge.end();
    let state = home.json(&["journal", "replay", &agent.execution]);
    assert_eq!(state["attention"], "awaiting_operator");
}

#[test]
fn nothing_but_the_execution_can_be_reached_with_its_access() {
    let home = TestHome::started();
    let agent = Agent::start(&home, QUIET, None);
    let (mut connection, welcome) = agent.hello(&agent.access.token);
    assert_eq!(welcome["result"]["execution"], agent.execution.as_str());
    for method in [
        "health",
        "slot_list",
        "hello",
        "subscribe",
        "execution_hello",
    ] {
        let answer = connection.ask(7, method, &json!({}));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    let mut greeted = home.greeted();
    let late = json!({"protocol": 1, "execution": agent.execution, "token": agent.access.token});
    let answer = greeted.ask(1, "execution_hello", &late);
    assert_eq!(error_code(&answer), "unknown_operation");
}

#[test]
fn who_has_not_the_right_is_refused_and_seen() {
    let home = TestHome::started();
    let agent = Agent::start(&home, QUIET, None);
    let other = Agent::start(&home, QUIET, None);
    wait_for("the agent to be followed", || agent.records().len() >= 4);
    let refused = |token: &AccessToken| {
        let before = agent.observed("mcp_tool");
        let (mut connection, answer) = agent.hello(token);
        assert_eq!(error_code(&answer), "forbidden", "{answer}");
        let call = json!({"name": "progress", "arguments": {"summary": "smuggled"}});
        // The connection is closed; whether the words still leave is all one.
        let _ = connection
            .try_send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}));
        assert_eq!(connection.try_receive(), None);
        assert_eq!(agent.observed("mcp_tool"), before);
        answer["error"]["message"].as_str().unwrap().to_owned()
    };
    let own = &agent.access.token;
    let stranger = refused(&AccessToken::from_bits([7; 32]));
    assert_eq!(
        refused(&other.access.token),
        stranger,
        "a guess learns nothing"
    );

    let database = rusqlite::Connection::open(home.home().database()).unwrap();
    database.busy_timeout(crate::harness::PATIENCE).unwrap();
    let set = |column: &str, value: Option<i64>| {
        let sql = format!("UPDATE execution_capabilities SET {column} = ?1 WHERE execution = ?2");
        let changed = database.execute(&sql, rusqlite::params![value, agent.execution]);
        assert_eq!(changed.unwrap(), 1);
    };
    let uid = i64::from(rustix::process::geteuid().as_raw());
    set("uid", Some(uid + 1));
    assert_eq!(refused(own), stranger);
    set("uid", Some(uid));
    let (mut open, _) = agent.hello(own);
    set("expires_at", Some(1));
    assert!(refused(own).contains("expired"));
    set("expires_at", Some(i64::MAX / 2));
    set("revoked_at", Some(1));
    assert!(refused(own).contains("taken back"));
    let answer = open.ask(1, "tools/list", &json!({}));
    assert_eq!(
        error_code(&answer),
        "forbidden",
        "an open connection ends too"
    );
    assert_eq!(open.try_receive(), None);

    let params = json!({"execution": other.execution});
    home.json(&["call", "execution_cancel", &params.to_string()]);
    wait_for("what it was given to be taken back", || {
        !other.file.exists()
    });
    wait_for("its token to open nothing", || {
        let (_, answer) = other.hello(&other.access.token);
        answer["error"]["data"]["code"] == "forbidden"
    });

    let reasons: Vec<String> = home
        .events()
        .iter()
        .filter(|event| event["event"]["type"] == "execution_access_refused")
        .filter(|event| event["event"]["execution"] == agent.execution.as_str())
        .map(|event| event["event"]["reason"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(reasons.len(), 6, "{reasons:?}");
    assert!(reasons[1].contains(&other.execution), "{reasons:?}");
    wait_for("an incident", || {
        let incidents = home.json(&["incident", "list"]).to_string();
        incidents.contains("execution_access_refused") && incidents.contains(&agent.execution)
    });
}

/// Whoever kept a token of an execution that is over, or what was said with one,
/// gets nothing for it: not now, not from the next daemon, not in the name of the
/// execution that goes on with the conversation.
#[test]
fn a_token_that_is_replayed_opens_nothing_and_is_seen() {
    let home = TestHome::started();
    let agent = Agent::start(&home, QUIET, None);
    // A call that somebody recorded and sends again changes nothing.
    let mut bridge = agent.bridge();
    let report = json!({"summary": "half", "event_id": "step-1"});
    bridge.call(1, "progress", &report);
    let before = home.json(&["journal", "replay", &agent.execution]);
    let again = bridge.call(2, "progress", &report);
    let outcome = &again["result"]["structuredContent"]["outcome"];
    assert_eq!(outcome, "duplicate", "{again}");
    assert_eq!(home.json(&["journal", "replay", &agent.execution]), before);
    bridge.end();

    let cancel = json!({"execution": agent.execution}).to_string();
    home.json(&["call", "execution_cancel", &cancel]);
    let ended = || !home.json(&["execution", "show", &agent.execution])["ended_at"].is_null();
    wait_for("the end", ended);
    let next = Agent::start(&home, QUIET, None);
    wait_for("the next to be followed", || next.records().len() >= 4);
    let (journal, others) = (agent.records(), next.observed("mcp_tool"));
    let refusals = |execution: &str| {
        let events = home.events().into_iter();
        let refused = events.filter(|event| {
            let event = &event["event"];
            event["type"] == "execution_access_refused" && event["execution"] == execution
        });
        refused.count()
    };
    let replay = |of: &Agent<'_>| {
        let seen = refusals(&of.execution);
        let (mut connection, answer) = of.hello(&agent.access.token);
        assert_eq!(error_code(&answer), "forbidden", "{answer}");
        let params = json!({"name": "completed_claim", "arguments": {"summary": "smuggled"}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let _ = connection.try_send(&call);
        assert_eq!(connection.try_receive(), None);
        wait_for("it to be seen", || refusals(&of.execution) == seen + 1);
    };
    replay(&agent);
    replay(&next);
    home.kill();
    home.start();
    replay(&agent);
    replay(&next);
    assert_eq!(agent.records(), journal, "what is over stays as it was");
    assert_eq!(next.observed("mcp_tool"), others);
    wait_for("an incident", || {
        let incidents = home.json(&["incident", "list"]).to_string();
        incidents.contains("execution_access_refused") && incidents.contains(&agent.execution)
    });
}

#[test]
fn what_is_no_report_is_refused_and_kept_as_such() {
    let home = TestHome::started();
    let agent = Agent::start(&home, QUIET, None);
    let mut bridge = agent.bridge();
    let state = || {
        let state = home.json(&["journal", "replay", &agent.execution]);
        [&state["lifecycle"], &state["attention"], &state["progress"]].map(Clone::clone)
    };
    wait_for("the program to run", || state()[0] == "running");
    let before = state();

    let smuggled = json!({"summary": "done", "owner": {"entity": "task", "id": "task_1"}});
    let answer = bridge.call(1, "completed_claim", &smuggled);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let large = json!({"summary": "x".repeat(100_000)});
    let answer = bridge.call(2, "progress", &large);
    assert_eq!(answer["result"]["isError"], true);
    let huge = json!({"summary": "x".repeat(5_000_000)});
    let answer = bridge.call(3, "progress", &huge);
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("bytes"),
        "{answer}"
    );
    let (mut raw, _) = agent.hello(&agent.access.token);
    raw.request(
        4,
        "tools/call",
        &json!({"name": "progress", "arguments": huge}),
    );
    assert_eq!(error_code(&raw.receive()), "too_large");

    assert_eq!(state(), before);
    let codes: Vec<Value> = agent
        .observed("mcp_tool")
        .iter()
        .map(|observed| observed["fact"]["payload"]["code"].clone())
        .collect();
    assert_eq!(codes, ["malformed", "oversized"]);
    let too_large = |event: &&Value| {
        let event = &event["event"];
        let refused = event["type"] == "execution_access_refused";
        refused
            && event["reason"]
                .as_str()
                .unwrap()
                .starts_with("a message of")
    };
    wait_for("both to be seen", || {
        home.events().iter().filter(too_large).count() == 2
    });
}

#[test]
fn a_report_that_is_repeated_counts_once_and_is_told_so() {
    let home = TestHome::started();
    let agent = Agent::start(&home, QUIET, None);
    let mut bridge = agent.bridge();
    let report = json!({"summary": "half", "event_id": "step-1"});
    let first = bridge.call(1, "progress", &report);
    let again = bridge.call(2, "progress", &report);
    let outcome = |answer: &Value| answer["result"]["structuredContent"]["outcome"].clone();
    assert_eq!(outcome(&first), "accepted");
    assert_eq!(outcome(&again), "duplicate");
    assert_eq!(again["result"]["isError"], false);
    assert_eq!(agent.observed("mcp_tool").len(), 1);
}

#[test]
fn a_call_under_way_when_the_daemon_dies_is_answered_by_the_next_one() {
    let home = TestHome::started();
    let agent = Agent::start(&home, QUIET, None);
    let mut bridge = agent.bridge();
    bridge.call(1, "progress", &json!({"summary": "before"}));
    // Not read yet when the daemon dies.
    home.signal(Signal::STOP);
    let call = |id: u64, summary: &str| {
        let params = json!({"name": "progress", "arguments": {"summary": summary}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    bridge.send(&call(2, "unread"));
    home.kill();
    // While nobody is there.
    bridge.send(&call(3, "alone"));
    home.start();
    let mut answers = [bridge.receive(), bridge.receive()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    for (answer, id) in answers.iter().zip([2, 3]) {
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    // Read, perhaps recorded, perhaps answered.
    for id in 4..8 {
        bridge.send(&call(id, &format!("call {id}")));
        home.kill();
        home.start();
        assert_eq!(bridge.receive()["id"], id);
    }
    let said: Vec<String> = agent
        .observed("mcp_tool")
        .iter()
        .map(|observed| {
            observed["signal"]["payload"]["summary"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        said,
        [
            "before", "unread", "alone", "call 4", "call 5", "call 6", "call 7"
        ]
    );
    bridge.end();
}

#[cfg(target_os = "linux")]
#[test]
fn the_access_of_an_agent_is_of_no_use_in_another_slot() {
    use crate::attacks::{inside, quoted, said};

    let home = TestHome::started();
    let agent = Agent::start(&home, QUIET, None);
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "progress", "arguments": {"summary": "All is stolen."}},
    });
    let greeting = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "thief", "version": "1"},
        },
    });
    std::fs::write(home.path().join("lines"), format!("{greeting}\n{call}\n")).unwrap();
    let hook = json!({"hook_event_name": "PreToolUse", "session_id": "x", "tool_name": "Stolen"});
    let (mission, file) = (
        quoted(&crate::harness::binary().display().to_string()),
        quoted(&agent.file.display().to_string()),
    );
    let script = format!(
        "(cat lines; sleep 2) | {mission} execution mcp {file} > answers 2> why\n\
         echo {} | {mission} hook {file} > hooked 2>&1\n",
        quoted(&hook.to_string()),
    );
    inside(&home, "thief", &script);
    said(&home, "thief");
    let answers = std::fs::read_to_string(home.path().join("answers")).unwrap();
    assert!(!answers.contains("applied"), "{answers}");
    let shown = home.json(&["execution", "show", &agent.execution]);
    assert!(!shown.to_string().contains("All is stolen"), "{shown}");
    assert_eq!(agent.hooked(), [""; 0]);
    let told = home.events();
    let refused = told
        .iter()
        .filter(|event| event["event"]["type"] == "execution_access_refused");
    let reasons: Vec<_> = refused
        .map(|event| event["event"]["reason"].as_str().unwrap())
        .collect();
    assert!(!reasons.is_empty());
    let why = "its token in the hands of another agent";
    assert!(reasons.iter().all(|reason| *reason == why), "{reasons:?}");
}

#[test]
fn hooks_are_recorded_once_and_wait_for_a_daemon_that_is_away() {
    let home = TestHome::started();
    let agent = Agent::start(&home, QUIET, None);
    agent.hook("PreToolUse", "Read");
    assert_eq!(agent.hooked(), ["Read"]);

    home.kill();
    agent.hook("PreToolUse", "Edit");
    agent.hook("PreToolUse", "Bash");
    assert_eq!(agent.hooked(), ["Read"]);
    home.start();
    wait_for("what waited", || agent.hooked().len() == 3);
    assert_eq!(agent.hooked(), ["Read", "Edit", "Bash"]);

    // A daemon that hangs costs the agent no more than one that is away.
    home.signal(Signal::STOP);
    agent.hook("PreToolUse", "Write");
    home.signal(Signal::CONT);
    agent.hook("PreToolUse", "Grep");
    wait_for("the last two", || agent.hooked().len() >= 5);
    assert_eq!(agent.hooked(), ["Read", "Edit", "Bash", "Write", "Grep"]);
}

#[test]
fn a_tool_is_judged_by_the_rules_and_refused_where_nobody_answers() {
    let home = TestHome::started();
    for (effect, tool) in [("deny", "Denied"), ("ask", "Asked"), ("allow", "Allowed")] {
        home.json(&["permission", "add", effect, "--tool", tool]);
    }
    let agent = Agent::start(&home, QUIET, None);
    let tools = ["Denied", "Asked", "Allowed", "Unruled"];
    let by_the_rules = || {
        let judged = agent.judge_each(&tools);
        let decisions: Vec<_> = judged.iter().map(Judged::decision).collect();
        let named = |word: &str| Some(word.to_owned());
        assert_eq!(
            decisions,
            [named("deny"), named("ask"), named("allow"), None],
            "{judged:?}"
        );
    };
    by_the_rules();

    // Neither what the rules would allow nor what they say nothing of passes.
    home.signal(Signal::STOP);
    agent.judge_each(&tools).iter().for_each(Judged::refuses);
    home.signal(Signal::CONT);
    by_the_rules();
    home.kill();
    agent.judge_each(&tools).iter().for_each(Judged::refuses);
    home.start();
    by_the_rules();
}

#[test]
fn what_cannot_be_read_as_the_use_of_a_tool_is_refused() {
    let home = TestHome::started();
    home.json(&["permission", "add", "allow", "--tool", "Allowed"]);
    let agent = Agent::start(&home, QUIET, None);
    let whole = use_of("Allowed", &home).to_string();
    let mut nameless = use_of("Allowed", &home);
    nameless["tool_name"] = Value::Null;
    let mut later = use_of("Allowed", &home);
    later["hook_event_name"] = json!("PostToolUse");
    let mut strange = whole.clone().into_bytes();
    strange[10] = 0xff;
    let garbage: [(&str, Vec<u8>); 9] = [
        ("nothing", Vec::new()),
        ("words", b"let me pass".to_vec()),
        ("a number", b"1".to_vec()),
        ("half of it", whole.as_bytes()[..whole.len() / 2].to_vec()),
        ("no tool", nameless.to_string().into_bytes()),
        ("another event", later.to_string().into_bytes()),
        ("no UTF-8", strange),
        ("two of it", format!("{whole}{whole}").into_bytes()),
        ("more than is read", vec![b' '; 40 << 20]),
    ];
    for (what, input) in garbage {
        let judged = agent.judge(&input);
        assert_eq!(judged.exit, 2, "{what}: {judged:?}");
        judged.refuses();
    }
    assert_eq!(
        agent.judge(whole.as_bytes()).decision().as_deref(),
        Some("allow")
    );
    let missing = home.mission(&["hook", "/nonexistent/access.json", "--judge"]);
    assert_eq!(missing.status.code(), Some(2));
    assert_eq!(text(&missing.stdout), "");
}

#[test]
fn a_hook_never_fails() {
    let home = TestHome::new();
    let missing = home.mission(&["hook", "/nonexistent/access.json"]);
    assert!(missing.status.success());
    assert_eq!(text(&missing.stdout), "");
    assert!(text(&missing.stderr).starts_with("mission hook: "));
}

#[test]
fn a_hook_speaks_for_its_slot_until_the_screen_has_the_last_word() {
    let home = TestHome::started();
    let agent = Agent::start(&home, QUIET, None);
    let readings = || -> Vec<(String, String)> {
        let events = home.events().into_iter().map(|one| one["event"].clone());
        let word = |event: &Value, name: &str| event[name].as_str().unwrap().to_owned();
        events
            .filter(|event| event["type"] == "pty_state_changed")
            .map(|event| (word(&event, "to"), word(&event, "reason")))
            .collect()
    };
    wait_for("the prompt", || {
        readings().last().is_some_and(|(state, _)| state == "idle")
    });
    let before = readings().len();
    agent.hook("UserPromptSubmit", "");
    // Nothing is drawn, so the hook's word stands, and then no longer.
    wait_for("the hook's word and its end", || {
        readings().len() >= before + 2
    });
    let after = readings().split_off(before);
    let said = "a hook says that it took a prompt";
    assert_eq!(after[0], ("thinking".to_owned(), said.to_owned()));
    assert_eq!(after[1].0, "idle");
}
