//! `mission mcp serve`: a person's own agent reaches the catalogue, in both eras
//! of the protocol, and sees no restart of the daemon.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::harness::{TestHome, text, wait_for, wait_for_exit};
use crate::toolhub_hostile::{fake_server, list_tricks, write_list};

const MODERN: &str = "2026-07-28";

/// An agent's end of the server.
pub(crate) struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
    /// What came before the answer that was waited for.
    notices: Vec<Value>,
}

impl Agent {
    pub(crate) fn start(home: &TestHome, args: &[&str]) -> Self {
        Self::start_in(home, home.path(), args)
    }

    /// In a folder, as the program of a session that works there.
    pub(crate) fn start_in(home: &TestHome, folder: &std::path::Path, args: &[&str]) -> Self {
        let args = [&["mcp", "serve"], args].concat();
        let mut child = home
            .command(&args)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            next: 0,
            notices: Vec::new(),
        }
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        assert!(
            self.stdout.read_line(&mut line).unwrap() > 0,
            "the server ended"
        );
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not the protocol: {line}"))
    }

    fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.notices.push(message);
        }
    }

    fn notice(&mut self, method: &str) -> Value {
        loop {
            let found = self
                .notices
                .iter()
                .position(|notice| notice["method"] == method);
            match found {
                Some(place) => return self.notices.remove(place),
                None => {
                    let message = self.receive();
                    self.notices.push(message);
                }
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.answer_to(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let id = self.request(method, params);
        let error = &self.answer_to(id)["error"];
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        (error["code"].as_i64().unwrap(), message)
    }

    /// Calls a tool and does not wait for what it says.
    pub(crate) fn begin_call(&mut self, tool: &str, arguments: Value) {
        let mut params = json!({ "name": tool });
        params["arguments"] = arguments;
        self.request("tools/call", params);
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut params = json!({ "name": tool });
        params["arguments"] = arguments;
        self.ask("tools/call", params)
    }

    /// The structured result of a call that must succeed.
    pub(crate) fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let called = self.call(tool, arguments);
        assert_eq!(called["isError"], false, "{tool}: {called}");
        called["structuredContent"].clone()
    }

    /// The result of what is not for agents: this one is refused, and a person does it.
    pub(crate) fn left_to(&mut self, person: &TestHome, tool: &str, arguments: &Value) -> Value {
        let refused = self.call(tool, arguments.clone());
        assert_eq!(refused["isError"], true, "{tool}: {refused}");
        let error = &refused["_meta"]["missiond/error"];
        assert_eq!(error["code"], "forbidden", "{tool}: {refused}");
        person.call(tool, arguments)
    }

    pub(crate) fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        names(&listed["tools"])
    }

    fn leave(mut self) {
        drop(self.stdin.take());
        assert!(wait_for_exit(&mut self.child).success());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn task(title: &str) -> Value {
    json!({ "task": { "title": title, "isolation": "none" } })
}

fn names(entries: &Value) -> Vec<String> {
    let names = entries.as_array().unwrap().iter();
    names
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn an_agent_plans_work_and_the_command_line_sees_it() {
    let home = TestHome::new();
    let mut agent = Agent::start(&home, &[]);
    let found = agent.ask("server/discover", json!({}));
    assert_eq!(found["serverInfo"]["name"], "mission");
    assert!(found["instructions"].as_str().unwrap().len() < 2048);
    let tools = agent.tools();
    assert!(tools.len() <= 13, "{tools:?}");
    assert!(tools.contains(&"operation_find".to_owned()));
    let added = agent.done("board_add", task("Write the parser"));
    let number = added["task"]["number"].as_str().unwrap().to_owned();
    let shown = home.json(&["task", "show", &number]);
    assert_eq!(shown["task"]["title"], "Write the parser");

    // What is not listed is found and called.
    let found = agent.done("operation_find", json!({ "query": "cancel a task" }));
    let cancel = found["operations"]
        .as_array()
        .unwrap()
        .iter()
        .find(|found| found["name"] == "board_cancel")
        .unwrap_or_else(|| panic!("{found}"));
    assert!(cancel["params"]["properties"]["task"].is_object());
    let params = json!({ "task": number, "reason": "not wanted" });
    agent.done(
        "operation_call",
        json!({ "operation": "board_cancel", "params": params }),
    );
    assert_eq!(
        home.json(&["task", "show", &number])["task"]["status"],
        "failed"
    );

    // A call that fails is a result the model can read, with its code.
    let failed = agent.call("board_show", json!({ "task": "T-999" }));
    assert_eq!(failed["isError"], true);
    assert_eq!(failed["_meta"]["missiond/error"]["code"], "not_found");
    let failed = agent.call("board_add", json!({ "task": {}, "colour": "red" }));
    let said = failed["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("unknown field `colour`"), "{said}");
    assert_eq!(
        agent.refused("tools/call", json!({ "name": "rm" })).0,
        -32602
    );

    // Each call is on the timeline, as from everywhere else.
    let mut connection = home.greeted();
    connection.ask(1, "subscribe", &json!({ "kinds": ["operation_finished"] }));
    let id = agent.request(
        "tools/call",
        json!({ "name": "board_list", "arguments": {} }),
    );
    agent.answer_to(id);
    loop {
        let event = connection.receive()["params"]["event"]["event"].clone();
        if event["operation"] == "board_list" {
            assert_eq!(event["error"], Value::Null);
            break;
        }
    }
    agent.leave();
}

#[test]
fn a_client_of_the_older_era_is_served_on_the_same_connection() {
    let home = TestHome::new();
    let mut agent = Agent::start(&home, &["--toolset", "all"]);
    let hello = json!({ "jsonrpc": "2.0", "id": "hi", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "old", "version": "1" },
    }});
    agent.send(&hello);
    let welcome = agent.receive();
    assert_eq!(welcome["id"], "hi");
    assert_eq!(welcome["result"]["protocolVersion"], "2025-06-18");
    agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let mut listed = Vec::new();
    let mut params = json!({});
    loop {
        agent.send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": params }));
        let page = agent.receive();
        let tools = page["result"]["tools"].as_array().unwrap();
        for tool in tools {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
            assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
            assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
        }
        listed.extend(names(&page["result"]["tools"]));
        match &page["result"]["nextCursor"] {
            Value::Null => break,
            cursor => params = json!({ "cursor": cursor }),
        }
    }
    let operations = home.json(&["call", "--list"]);
    let all = operations.as_array().unwrap().iter();
    let theirs: Vec<_> = all
        .filter(|one| !["people", "programs"].contains(&one["authority"].as_str().unwrap()))
        .cloned()
        .collect();
    let theirs = names(&Value::Array(theirs));
    assert_eq!(listed, theirs, "all but what is for a person alone");
    // The lists may change: the older era is told without asking.
    home.write_config("[mcp]\ntoolsets = [\"board\"]\n");
    home.json(&["daemon", "reload"]);
    agent.notice("notifications/tools/list_changed");
    // What it watches it is told of too, also by the next daemon.
    let watch = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe",
                        "params": { "uri": "mission://board" } });
    agent.send(&watch);
    assert_eq!(agent.answer_to(1)["result"], json!({}));
    home.json(&["task", "add", "Seen"]);
    let updated = agent.notice("notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "mission://board");
    home.kill();
    home.start();
    agent.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }));
    agent.answer_to(2);
    agent.notices.clear();
    home.json(&["task", "add", "Seen again"]);
    agent.notice("notifications/resources/updated");
}

#[test]
fn what_a_client_is_shown_hangs_on_its_settings() {
    let home = TestHome::with_config(
        "[mcp]\ntoolsets = [\"timeline\"]\n[[mcp.clients]]\nname = \"cursor\"\ntoolsets = [\"board\", \"slots\"]\n",
    );
    let mut other = Agent::start(&home, &[]);
    let tools = other.tools();
    assert!(
        tools.contains(&"timeline_query".to_owned()) && !tools.contains(&"board_add".to_owned())
    );
    let mut cursor = Agent::start(&home, &["--client", "cursor"]);
    let tools = cursor.tools();
    assert!(tools.contains(&"slot_kill".to_owned()) && tools.contains(&"board_graph".to_owned()));
    assert!(!tools.contains(&"timeline_query".to_owned()));
    let (code, error) = home.failure(&["mcp", "serve", "--toolset", "bored"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("there is no toolset `bored`"), "{error}");
    let wrong = TestHome::with_config("[mcp]\ntoolsets = [\"bored\"]\n");
    let (_, error) = wrong.failure(&["daemon", "start"]);
    assert!(
        error.contains("`mcp.toolsets` there is no toolset"),
        "{error}"
    );
}

/// A call that waits holds up no other, and can be taken back.
#[test]
fn calls_run_beside_each_other_and_are_cancelled() {
    let home = TestHome::new();
    let mut agent = Agent::start(&home, &[]);
    let wait = json!({ "operation": "timeline_wait",
                       "params": { "timeout_ms": 50_000, "kinds": ["task_created"] } });
    let call = json!({ "name": "operation_call", "arguments": wait });
    let waiting = agent.request("tools/call", call);
    let quick: Vec<_> = (0..20)
        .map(|_| agent.request("tools/call", json!({ "name": "board_list" })))
        .collect();
    let mut answered: Vec<_> = quick
        .iter()
        .map(|_| agent.receive()["id"].clone())
        .collect();
    answered.sort_by_key(|id| id.as_u64());
    assert_eq!(
        answered,
        quick.iter().map(|id| json!(id)).collect::<Vec<_>>()
    );
    agent.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                        "params": { "requestId": waiting } }),
    );
    // The operation is over for the daemon too, and nothing is said about it.
    wait_for("the wait to be over", || {
        home.json(&["daemon", "stats"])["requests_in_flight"] == 1
    });
    let after = agent.request("ping", json!({}));
    assert_eq!(agent.receive()["id"], after);
}

#[test]
fn a_restart_of_the_daemon_is_not_seen() {
    let home = TestHome::new();
    let mut agent = Agent::start(&home, &[]);
    agent.done("board_add", task("kept"));
    let listen = agent.request(
        "subscriptions/listen",
        json!({ "notifications": { "resourceSubscriptions": ["mission://board"] } }),
    );
    agent.notice("notifications/subscriptions/acknowledged");
    home.kill();
    // Read again by the next daemon, which the request brings up.
    let page = agent.done("board_list", json!({}));
    assert_eq!(page["total"], 1);
    agent.notice("notifications/subscriptions/acknowledged");
    agent.done("board_add", task("second"));
    let updated = agent.notice("notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "mission://board");
    assert_eq!(
        updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        listen
    );

    // What may have been done is not done again: the agent is told to look.
    let wait = json!({ "operation": "timeline_wait", "params": { "timeout_ms": 50_000 } });
    let call = json!({ "name": "operation_call", "arguments": wait });
    let waiting = agent.request("tools/call", call);
    agent.ask("tools/list", json!({}));
    home.kill();
    let lost = agent.answer_to(waiting);
    let said = lost["error"]["message"].as_str().unwrap();
    assert!(
        said.contains("whether this was carried out is not known"),
        "{said}"
    );
    agent.leave();
}

#[test]
fn resources_and_prompts_say_what_the_daemon_keeps() {
    let home = TestHome::started();
    let slot = home.json(&[
        "slot",
        "spawn",
        "--name",
        "shown",
        "--",
        "sh",
        "-c",
        "echo hello; cat",
    ]);
    let mut agent = Agent::start(&home, &[]);
    home.json(&["task", "add", "Look at it"]);
    let listed = agent.ask("resources/list", json!({}));
    let uris: Vec<_> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["uri"].as_str().unwrap().to_owned())
        .collect();
    for uri in &uris {
        let read = agent.ask("resources/read", json!({ "uri": uri }));
        assert_eq!(read["contents"][0]["uri"], *uri);
        let content = read["contents"][0]["text"].as_str().unwrap();
        assert!(
            serde_json::from_str::<Value>(content).is_ok(),
            "{uri}: {content}"
        );
    }
    let board = agent.ask("resources/read", json!({ "uri": "mission://board" }));
    assert!(
        board["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("Look at it")
    );
    let templates = agent.ask("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 4);
    let deploy = "Deploys go through make ship";
    home.json(&["kb", "remember", deploy, "--key", "how we deploy"]);
    for uri in ["mission://entries", "mission://entries/how%20we%20deploy"] {
        let read = agent.ask("resources/read", json!({ "uri": uri }));
        let content = read["contents"][0]["text"].as_str().unwrap();
        assert!(content.contains(deploy), "{uri}: {content}");
    }
    wait_for("the screen", || {
        let read = agent.ask(
            "resources/read",
            json!({ "uri": "mission://slots/shown/screen" }),
        );
        read["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("hello")
    });
    for none in [
        "mission://tasks/T-99",
        "mission://entries/none",
        "mission://slots/none/screen",
        "file:///etc/passwd",
    ] {
        let (code, message) = agent.refused("resources/read", json!({ "uri": none }));
        assert_eq!(code, -32602, "{message}");
    }
    let picture = agent.call(
        "slot_screenshot",
        json!({ "slot": slot["slot"], "format": "png" }),
    );
    assert_eq!(picture["content"][0]["type"], "image");
    let prompts = agent.ask("prompts/list", json!({}));
    assert_eq!(names(&prompts["prompts"]), ["plan", "inbox", "report"]);
    let plan = agent.ask(
        "prompts/get",
        json!({ "name": "plan", "arguments": { "goal": "a faster parser" } }),
    );
    assert!(
        plan["messages"][0]["content"]["text"]
            .as_str()
            .unwrap()
            .contains("a faster parser")
    );
    assert_eq!(
        agent.refused("prompts/get", json!({ "name": "plan" })).0,
        -32602
    );
}

#[test]
fn other_peoples_tools_are_offered_onward_as_far_as_allowed() {
    let home = TestHome::new();
    list_tricks(
        &home,
        &[("plain", ""), ("modern", ""), ("notice-first", "")],
    );
    let mut agent = Agent::start(&home, &["--hub", "plain,notice-first__slow"]);
    let tools = agent.tools();
    assert!(tools.contains(&"plain__echo".to_owned()), "{tools:?}");
    assert!(!tools.contains(&"modern__echo".to_owned()), "{tools:?}");
    assert!(
        !tools.contains(&"notice-first__echo".to_owned()),
        "{tools:?}"
    );
    let said = agent.call("plain__echo", json!({ "text": "onward" }));
    let words = said["content"][0]["text"].as_str().unwrap();
    assert!(words.starts_with("onward of"), "{said}");
    let (code, message) = agent.refused(
        "tools/call",
        json!({ "name": "modern__echo", "arguments": { "text": "x" } }),
    );
    assert_eq!(code, -32602, "{message}");
    let wrong = agent.call("plain__echo", json!({ "text": 3 }));
    assert_eq!(wrong["isError"], true, "{wrong}");
    // How far a tool has come reaches whoever asked to hear it.
    let id = agent.request(
        "tools/call",
        json!({ "name": "notice-first__slow", "arguments": { "text": "x" },
                "_meta": { "progressToken": "how far" } }),
    );
    agent.answer_to(id);
    let progress = &agent.notices.last().unwrap()["params"];
    assert_eq!(
        progress,
        &json!({ "progressToken": "how far", "progress": 1.0, "total": 2.0, "message": "half" })
    );
    wait_for("the calls on the timeline", || {
        let events = home.events();
        let called = events
            .iter()
            .filter(|event| event["event"]["type"] == "mcp_tool_called");
        called.count() == 3
    });

    // A server that is taken off the list takes its tools along, and that is told.
    agent.request(
        "subscriptions/listen",
        json!({ "notifications": { "toolsListChanged": true } }),
    );
    agent.notice("notifications/subscriptions/acknowledged");
    let all = Agent::start(&home, &["--hub"]).tools();
    assert!(all.contains(&"modern__echo".to_owned()), "{all:?}");
    agent.notice("notifications/tools/list_changed");
    write_list(
        &home,
        &format!(
            "[servers.other]\ncommand = {}\nargs = [\"plain\"]\n",
            json!(fake_server())
        ),
    );
    assert!(!agent.tools().contains(&"plain__echo".to_owned()));
    drop(agent);
    let direct = home.mission(&["mcp", "--no-daemon", "serve"]);
    assert!(text(&direct.stderr).contains("leave out --no-daemon"));
}
