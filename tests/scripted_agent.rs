//! Agents of a few lines that speak the Agent Client Protocol word by word, driven by the
//! real daemon: for what no agent of another's would say.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use missiond_pty::host::HostFiles;
use serde_json::{Value, json};

use crate::harness::{TestHome, text, wait_for};

/// What every agent is made of: it hears our lines, which it notes, and says its own.
/// Ours are numbered, so it knows what to answer: 1 the greeting, 2 the session, 3 the
/// first prompt.
const MANNERS: &str = r#"
hear() { IFS= read -r heard || exit 0; printf '%s\n' "$heard" >> "$0.heard"; }
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
answer() { say "\"id\":$1,\"result\":$2"; }
ask() { say "\"id\":$1,\"method\":\"$2\",\"params\":$3"; }
tell() { say "\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\",\"update\":$1}"; }
words() { tell "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"; }
greet() { hear; answer 1 '{"protocolVersion":1,"agentCapabilities":{}}'; }
open() { hear; answer 2 '{"sessionId":"s1"}'; }
end() { answer "$1" '{"stopReason":"end_turn"}'; }
may() {
  ask "$1" session/request_permission "{\"sessionId\":\"s1\",\"toolCall\":{\"toolCallId\":\"c1\",\"kind\":\"execute\",\"title\":\"Run it\",\"rawInput\":{\"command\":\"$2\"}},\"options\":[{\"optionId\":\"y\",\"name\":\"Yes\",\"kind\":\"allow_once\"},{\"optionId\":\"n\",\"name\":\"No\",\"kind\":\"reject_once\"}]}"
}
call() { tell "{\"sessionUpdate\":\"$1\",\"toolCallId\":\"c1\",\"kind\":\"execute\",\"title\":\"Run it\",\"status\":\"$2\",\"rawInput\":{\"command\":\"$3\"}}"; }
"#;

/// The program of an agent that does this, and then only hears.
pub(crate) fn with_manners(script: &str) -> String {
    format!("{MANNERS}\n{script}\nwhile :; do hear; done\n")
}

/// A home with a daemon that knows these agents, each by its script.
pub(crate) struct Agents {
    pub(crate) home: TestHome,
    folder: tempfile::TempDir,
}

impl Agents {
    pub(crate) fn new(config: &str, scripts: &[(&str, &str)]) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("hostile-")
            .tempdir()
            .unwrap();
        let mut config = config.to_owned();
        for (name, script) in scripts {
            let file = folder.path().join(name);
            std::fs::write(&file, with_manners(script)).unwrap();
            let file = json!([file]);
            config +=
                &format!("[[engines.added]]\nname = \"{name}\"\ncommand = \"sh\"\nargs = {file}\n");
        }
        let home = TestHome::with_config(&config);
        home.start();
        Self { home, folder }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn begin(&self, agent: &str) {
        let folder = self.folder.path().display().to_string();
        let run = ["run", "go", "--engine", agent, "--name", agent];
        let run = [&run[..], &["--cwd", &folder, "--no-context"]].concat();
        self.home.json(&run);
    }

    /// In the place of Qwen Code, whose record of a conversation is known to us.
    pub(crate) fn begin_as_qwen(&self, agent: &str) {
        self.begin_in_place_of("qwen", "qwen", agent);
    }

    /// In the place of this engine, by the name of the program that speaks its protocol.
    pub(crate) fn begin_in_place_of(&self, engine: &str, program: &str, agent: &str) {
        let home = self.file(&format!("{agent}.home"));
        let work = home.join("work");
        std::fs::create_dir_all(home.join("bin")).unwrap();
        std::fs::create_dir_all(&work).unwrap();
        let program = home.join("bin").join(program);
        let script = std::fs::read_to_string(self.file(agent)).unwrap();
        std::fs::write(&program, format!("#!/bin/sh\n{script}")).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).unwrap();
        let path = format!(
            "--env=PATH={}:{}",
            home.join("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let mission = format!("--env=MISSION={}", crate::harness::binary().display());
        let (work, home) = (
            work.display().to_string(),
            format!("--env=HOME={}", home.display()),
        );
        let run = [
            "run",
            "go",
            "--engine",
            engine,
            "--control",
            "structured",
            "--name",
            agent,
        ];
        let where_it_is = [
            "--cwd",
            &work,
            "--no-context",
            "--trust",
            &path,
            &home,
            &mission,
        ];
        self.home.json(&[&run[..], &where_it_is].concat());
    }

    pub(crate) fn read(&self, agent: &str) -> Value {
        self.home.json(&["slot", "read", agent])
    }

    /// Until it is in this state; its screen.
    pub(crate) fn wait(&self, agent: &str, state: &str) -> String {
        let mut seen = Value::Null;
        wait_for(&format!("{agent} to be {state}"), || {
            seen = self.read(agent);
            seen["reading"]["state"] == state
        });
        seen.to_string()
    }

    pub(crate) fn wait_for_words(&self, agent: &str, words: &str) {
        let mut seen = String::new();
        let said = || {
            seen = self.read(agent).to_string();
            seen.contains(words)
        };
        wait_for(&format!("{agent} to say {words}"), said);
    }

    /// What it was sent so far.
    pub(crate) fn heard(&self, agent: &str) -> Vec<Value> {
        let file = self.file(&format!("{agent}.heard"));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    /// What is on record of its manners.
    pub(crate) fn complaints(&self, agent: &str) -> String {
        let params = json!({"execution": agent, "limit": 500, "data": true});
        let page = self.home.call("execution_journal", &params);
        let records = page["records"].as_array().unwrap().iter();
        let told = records.filter(|record| record["data"].to_string().contains("diagnostic"));
        told.map(|record| record["text"].to_string()).collect()
    }

    /// What is on record of its limits, cost, plan and settings.
    fn standing(&self, agent: &str) -> Vec<String> {
        let params = json!({"execution": agent, "limit": 500, "data": true});
        let page = self.home.call("execution_journal", &params);
        let records = page["records"].as_array().unwrap().iter();
        let kind = |record: &Value| record["data"]["observed"]["fact"]["type"].clone();
        let told = records.filter(|record| {
            ["rate_limits", "cost", "plan", "setting"]
                .contains(&kind(record).as_str().unwrap_or(""))
        });
        told.map(|record| record["text"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn message(&self, agent: &str, text: &str) {
        self.home.json(&["execution", "message", agent, text]);
    }

    /// The most memory a process ever had, in megabytes.
    pub(crate) fn peak(pid: u32) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
        kilobytes.unwrap().parse::<u64>().unwrap() / 1024
    }

    pub(crate) fn host(&self) -> u32 {
        let records = HostFiles::records(&self.home.home().slots_dir()).unwrap();
        assert_eq!(records.len(), 1);
        records[0].host_pid
    }

    pub(crate) fn incidents(&self, kind: &str) -> Vec<Value> {
        let listed = self.home.json(&["incident", "list", "--all"]);
        let incidents = listed["incidents"].as_array().unwrap().iter();
        let of_kind = incidents.filter(|incident| incident["kind"] == kind);
        of_kind.cloned().collect()
    }
}

#[test]
fn what_an_agent_tells_of_itself_is_shown() {
    let script = r#"hear; answer 1 '{"protocolVersion":1,"agentInfo":{"name":"Teller","version":"3"},"agentCapabilities":{}}'
        hear; answer 2 '{"sessionId":"s1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]}}'
        tell '{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"review","description":"Look at the changes"},{"name":"init","description":""}]}'
        hear
        tell '{"sessionUpdate":"plan","entries":[{"content":"look","status":"completed","priority":"high"},{"content":"write","status":"in_progress","priority":"high"}]}'
        tell '{"sessionUpdate":"current_mode_update","currentModeId":"code"}'
        tell '{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":0.0125,"currency":"USD"}}'
        words "There is a plan."; end 3"#;
    let agents = Agents::new("", &[("teller", script)]);
    agents.begin("teller");
    agents.wait_for_words("teller", "There is a plan.");
    agents.wait("teller", "idle");
    let expected = json!({
        "agent": "Teller 3 by ACP 1",
        "settings": [{"name": "mode", "current": "code", "choices": ["ask", "code"]}],
        "cost": "0.0125 USD",
        "plan": [{"text": "look", "status": "done"}, {"text": "write", "status": "running"}],
        "commands": [
            {"name": "review", "description": "Look at the changes"},
            {"name": "init"},
        ],
    });
    let told = || agents.home.json(&["execution", "show", "teller"])["agent"].clone();
    assert_eq!(told(), expected);
    let shown = text(&agents.home.mission(&["execution", "show", "teller"]).stdout);
    for line in [
        "driven as     Teller 3 by ACP 1",
        "mode          code (or ask)",
        "cost so far   0.0125 USD",
        "commands      /review /init",
        "plan          [x] look",
        "              [>] write",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let facts = [
        "mode is ask (by protocol, authoritative)",
        "plan of 2 steps, 1 done: write (by protocol, authoritative)",
        "mode is code (by protocol, authoritative)",
        "the conversation has cost 0.0125 USD so far (by protocol, authoritative)",
    ];
    assert_eq!(agents.standing("teller"), facts);
    // The next daemon knows it from the recording, and writes down nothing of it again.
    agents.home.kill();
    agents.home.start();
    agents.wait("teller", "idle");
    assert_eq!(told(), expected);
    agents.message("teller", "again");
    wait_for("the message to be heard", || {
        agents.heard("teller").len() == 4
    });
    assert_eq!(agents.standing("teller"), facts);
}

#[test]
fn a_message_does_not_wait_for_the_end_of_the_turn_where_the_agent_queues() {
    let greets = |queues: bool| {
        format!(
            r#"hear; answer 1 '{{"protocolVersion":1,"agentCapabilities":{{"_meta":{{"mine":{{"promptQueueing":{queues}}}}}}}}}'
               open; hear; words "I work."
               while [ ! -e "$0.go" ]; do sleep 0.05; done
               words "I am done."; end 3; hear; words "And then."; end 4"#
        )
    };
    let (queues, waits) = (greets(true), greets(false));
    let agents = Agents::new("", &[("queues", &queues), ("waits", &waits)]);
    for agent in ["queues", "waits"] {
        agents.begin(agent);
        agents.wait_for_words(agent, "I work.");
        let message = ["execution", "message", agent, "and then this", "--now"];
        agents.home.json(&message);
    }
    let show = |agent: &str| agents.home.json(&["execution", "show", agent]);
    assert_eq!(show("queues")["agent"]["while_working"], "queues");
    assert_eq!(show("waits")["agent"]["while_working"], Value::Null);
    let status = |agent: &str| show(agent)["messages"][1]["status"].clone();
    wait_for("the one to have it", || status("queues") == "delivered");
    wait_for("the other to hold it", || status("waits") == "held");
    for agent in ["queues", "waits"] {
        std::fs::write(agents.file(&format!("{agent}.go")), "").unwrap();
        agents.wait_for_words(agent, "And then.");
        assert_eq!(status(agent), "delivered");
        let heard = agents.heard(agent);
        let prompts = heard
            .iter()
            .filter(|line| line["method"] == "session/prompt");
        assert_eq!(prompts.count(), 2, "{agent}");
    }
}
