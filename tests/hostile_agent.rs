//! Agents that break their protocol in every way we know, driven by the real daemon:
//! people get a clear word, memory stays bounded, and the daemon serves on.

use std::path::PathBuf;

use missiond_pty::host::HostFiles;
use serde_json::{Value, json};

use crate::harness::{TestHome, wait_for};

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

/// A home with a daemon that knows these agents, each by its script.
struct Agents {
    home: TestHome,
    folder: tempfile::TempDir,
}

impl Agents {
    fn new(config: &str, scripts: &[(&str, &str)]) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("hostile-")
            .tempdir()
            .unwrap();
        let mut config = config.to_owned();
        for (name, script) in scripts {
            let file = folder.path().join(name);
            let goes_on = "while :; do hear; done";
            std::fs::write(&file, format!("{MANNERS}\n{script}\n{goes_on}\n")).unwrap();
            let file = json!([file]);
            config +=
                &format!("[[engines.added]]\nname = \"{name}\"\ncommand = \"sh\"\nargs = {file}\n");
        }
        let home = TestHome::with_config(&config);
        home.start();
        Self { home, folder }
    }

    fn begin(&self, agent: &str) {
        let folder = self.folder.path().display().to_string();
        let run = ["run", "go", "--engine", agent, "--name", agent];
        let run = [&run[..], &["--cwd", &folder, "--no-context"]].concat();
        self.home.json(&run);
    }

    fn read(&self, agent: &str) -> Value {
        self.home.json(&["slot", "read", agent])
    }

    /// Until it is in this state; its screen.
    fn wait(&self, agent: &str, state: &str) -> String {
        let mut seen = Value::Null;
        wait_for(&format!("{agent} to be {state}"), || {
            seen = self.read(agent);
            seen["reading"]["state"] == state
        });
        seen.to_string()
    }

    fn wait_for_words(&self, agent: &str, words: &str) {
        let mut seen = String::new();
        let said = || {
            seen = self.read(agent).to_string();
            seen.contains(words)
        };
        wait_for(&format!("{agent} to say {words}"), said);
    }

    /// What it was sent so far.
    fn heard(&self, agent: &str) -> Vec<Value> {
        let file = self.folder.path().join(format!("{agent}.heard"));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    /// What is on record of its manners.
    fn complaints(&self, agent: &str) -> String {
        let params = json!({"execution": agent, "limit": 500, "data": true});
        let page = self.home.call("execution_journal", &params);
        let records = page["records"].as_array().unwrap().iter();
        let told = records.filter(|record| record["data"].to_string().contains("diagnostic"));
        told.map(|record| record["text"].to_string()).collect()
    }

    fn message(&self, agent: &str, text: &str) {
        self.home.json(&["execution", "message", agent, text]);
    }

    /// The most memory a process ever had, in megabytes.
    fn peak(pid: u32) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
        kilobytes.unwrap().parse::<u64>().unwrap() / 1024
    }

    fn host(&self) -> u32 {
        let records = HostFiles::records(&self.home.home().slots_dir()).unwrap();
        assert_eq!(records.len(), 1);
        records[0].host_pid
    }

    fn incidents(&self, kind: &str) -> Vec<Value> {
        let listed = self.home.json(&["incident", "list", "--all"]);
        let incidents = listed["incidents"].as_array().unwrap().iter();
        let of_kind = incidents.filter(|incident| incident["kind"] == kind);
        of_kind.cloned().collect()
    }
}

#[test]
fn what_agents_must_not_say_is_answered_and_noted_and_the_turn_goes_on() {
    let scripts = [
        (
            "asks-much",
            r#"greet; open; hear
               ask '"a"' fs/read_text_file '{"sessionId":"s1","path":"/etc/passwd"}'; hear
               ask '"b"' invented/method '{}'; hear
               say '"method":"invented/notice","params":{}'
               words "I go on."; end 3"#,
        ),
        (
            "out-of-order",
            r#"answer 7 '{}'; answer 3 '{"stopReason":"end_turn"}'
               words "Too early."
               greet; open; answer 2 '{"sessionId":"s2"}'; hear
               answer 99 '{}'; words "I go on."; end 3; end 3
               hear; words "And on."; end 4"#,
        ),
        (
            "no-json",
            r#"printf 'Welcome!\n\n[1,2]\n{"id":{},"method":1}\n\377\376\n'
               greet; open; hear
               printf '{"jsonrpc":"2.0","jsonrpc":"3.0","id":3,"result":{}}\n'
               i=0; deep=; while [ $i -lt 200 ]; do deep="[$deep"; i=$((i+1)); done; echo "$deep"
               words "I go on."; end 3"#,
        ),
    ];
    let agents = Agents::new("", &scripts);
    for (agent, _) in &scripts {
        agents.begin(agent);
        agents.wait_for_words(agent, "I go on.");
        agents.wait(agent, "idle");
    }
    let refused: Vec<_> = agents
        .heard("asks-much")
        .iter()
        .filter(|line| line["error"]["code"] == -32601)
        .map(|line| line["id"].clone())
        .collect();
    assert_eq!(refused, ["a", "b"]);
    agents.message("out-of-order", "again");
    agents.wait_for_words("out-of-order", "And on.");
    let session = agents.home.json(&["execution", "show", "out-of-order"]);
    assert_eq!(session["conversation"], "s1", "the second was not believed");
    let complaints = agents.complaints("out-of-order");
    assert!(complaints.contains("answer"), "{complaints}");
    let complaints = agents.complaints("no-json");
    for said in ["JSON", "twice", "nested"] {
        assert!(complaints.contains(said), "{said}: {complaints}");
    }
}

#[test]
fn an_agent_of_another_version_is_refused_with_a_sentence() {
    let script = r#"hear; answer 1 '{"protocolVersion":99}'"#;
    let agents = Agents::new("", &[("tomorrow", script)]);
    agents.begin("tomorrow");
    let read = agents.wait("tomorrow", "error");
    let why = "the agent speaks version 99, and we 1: update one of the two";
    assert!(read.contains(why), "{read}");
    let mut shown = Value::Null;
    wait_for("its prompt to be given up", || {
        shown = agents.home.json(&["execution", "show", "tomorrow"]);
        shown["messages"][0]["reason"].is_string()
    });
    let reason = shown["messages"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("version 99"), "{reason}");
    assert_eq!(agents.heard("tomorrow").len(), 1, "it was told no more");
}

#[test]
fn a_second_question_with_the_same_id_is_nobodys() {
    let script = r#"greet; open; hear
        may 5 ls; may 5 'rm -rf everything'; hear
        words "It was allowed."; end 3"#;
    let agents = Agents::new("", &[("twice", script)]);
    agents.begin("twice");
    let asked = agents.wait("twice", "confirming");
    assert!(asked.contains("ls"), "{asked}");
    agents
        .home
        .json(&["slot", "answer", "twice", "Yes", "--wait", "30"]);
    agents.wait_for_words("twice", "It was allowed.");
    agents.wait("twice", "idle");
    let answers: Vec<_> = agents
        .heard("twice")
        .into_iter()
        .filter(|line| line["id"] == 5)
        .collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0]["result"]["outcome"]["optionId"], "y");
    let complaints = agents.complaints("twice");
    assert!(complaints.contains("sent twice"), "{complaints}");
}

#[test]
fn a_permission_for_one_command_is_none_for_another() {
    let scripts = [
        (
            "asks-for-another",
            r#"greet; open; hear; call tool_call pending ls; may 5 'rm -rf everything'; hear; end 3"#,
        ),
        (
            "runs-another",
            r#"greet; open; hear; call tool_call pending ls; may 5 ls; hear
               call tool_call_update completed 'rm -rf everything'; end 3"#,
        ),
    ];
    let agents = Agents::new("", &scripts);
    // What a rule allows is what is announced and asked for alike.
    for command in ["ls", "rm*"] {
        let add = ["permission", "add", "allow", "--tool", "Bash"];
        agents
            .home
            .json(&[&add[..], &["--argument", command]].concat());
    }
    agents.begin("asks-for-another");
    let asked = agents.wait("asks-for-another", "confirming");
    assert!(asked.contains("rm -rf everything"), "{asked}");
    agents.begin("runs-another");
    agents.wait("runs-another", "idle");
    let mut found = Vec::new();
    wait_for("both to be noticed", || {
        found = agents.incidents("slot_input_mismatch");
        found.len() == 2
    });
    let said: String = found.iter().map(ToString::to_string).collect();
    assert!(said.contains("announced was"), "{said}");
    assert!(said.contains("allowed was"), "{said}");
    let read = agents.read("asks-for-another");
    assert_eq!(read["reading"]["state"], "confirming", "no rule decided");
}

#[test]
fn silence_is_waited_for_so_long_and_then_said() {
    let scripts = [
        ("mute", "hear"),
        ("half-mute", "greet; hear"),
        (
            "late",
            r#"hear; while [ ! -e "$0.now" ]; do sleep 0.05; done
               answer 1 '{"protocolVersion":1,"agentCapabilities":{}}'; open
               hear; words "Better late."; end 3"#,
        ),
    ];
    let agents = Agents::new("[engines]\nanswer_secs = 1\n", &scripts);
    for (agent, method) in [
        ("mute", "initialize"),
        ("half-mute", "session/new"),
        ("late", "initialize"),
    ] {
        agents.begin(agent);
        let read = agents.wait(agent, "error");
        let why = format!("the agent has not answered `{method}` for 1 s");
        assert!(read.contains(&why), "{read}");
    }
    std::fs::write(agents.folder.path().join("late.now"), "").unwrap();
    agents.wait("late", "idle");
    agents.message("late", "and now?");
    agents.wait_for_words("late", "Better late.");
}

/// Of what an agent writes, so many megabytes may be in memory at once.
const MOST: u64 = 64;

#[test]
fn a_hundred_megabytes_on_one_line_are_counted_and_not_kept() {
    let script = r#"greet; open; hear
        head -c 100000000 /dev/zero | tr '\0' x; echo
        printf '{"jsonrpc":"2.0","method":"session/update","params":{"text":"'
        head -c 100000000 /dev/zero | tr '\0' y; echo '"}}'
        words "That was much."; end 3
        hear; words "And on."; end 4"#;
    let agents = Agents::new("", &[("vast", script)]);
    let before = Agents::peak(agents.home.pid());
    agents.begin("vast");
    agents.wait_for_words("vast", "That was much.");
    agents.wait("vast", "idle");
    wait_for("it to be on record", || {
        agents.complaints("vast").matches("longer than").count() == 2
    });
    let grown = Agents::peak(agents.home.pid()) - before;
    assert!(grown < MOST, "the daemon grew by {grown} MB");
    let host = Agents::peak(agents.host());
    assert!(host < MOST, "the host had {host} MB");

    // The next daemon reads all of it back.
    agents.home.kill();
    agents.home.start();
    agents.wait("vast", "idle");
    agents.message("vast", "again");
    agents.wait_for_words("vast", "And on.");
    let again = Agents::peak(agents.home.pid()) - before;
    assert!(again < MOST, "the next daemon grew by {again} MB");
    let recordings: Vec<PathBuf> = std::fs::read_dir(agents.home.home().recordings_dir())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(!recordings.is_empty());
}
