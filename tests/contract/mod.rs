//! The contract with the real agent CLIs, at the versions of `tests/clis`: each
//! is run as an execution (daemon, slot, journal, its own MCP server) against a
//! scripted model on this machine. One conversation is the same for all; what
//! differs between them is data. `cargo xtask clis` installs them into
//! `target/clis`; MISSION_TEST_SKIP_CLIS leaves these tests out.

mod aider;
mod binding;
mod both_ways;
mod claude;
mod codex;
mod copilot;
mod files;
mod gateway;
mod gemini;
mod handoff;
mod journal;
mod moments;
mod opencode;
mod order;
mod qwen;
mod room;
mod trouble;
mod truth;

use std::time::{Duration, Instant};

use missiond_model_server::{Api, Gate, Purpose, Reply};
use serde_json::{Value, json};

use crate::harness::text;
use journal::{Strands, has_in_order, strands};
use room::Room;
pub(crate) use room::{Clis, KEY, NOWHERE, platform};

/// Some of the CLIs take a minute to start on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(150);

/// What the model has the CLI write.
const MADE: &str = "made by a tool";

/// By what a CLI is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Control {
    Terminal,
    Structured,
}

/// What comes after a tool that it may not use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    EndsTurn,
    /// The model hears of it and answers.
    GoesOn,
}

/// From when on a conversation can be taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resumes {
    AtOnce,
    /// Not in the minute in which it began: the CLI would write over it.
    NextMinute,
}

/// What is different about one CLI.
struct Cli {
    engine: &'static str,
    control: Control,
    api: Api,
    /// For the program, after what its adapter says.
    args: Vec<&'static str>,
    environment: Vec<(&'static str, String)>,
    /// Adds the call of a tool that writes this file and must be asked about.
    write: fn(Reply, &Room, &str) -> Reply,
    /// Adds the call of this tool of the execution's own server.
    signal: fn(Reply, &str, Value) -> Reply,
    /// Adds what makes it draw all that was said so far, where it draws now and then.
    drawn: fn(Reply) -> Reply,
    /// The option of the dialog that lets it write, and the one that does not.
    allow: &'static str,
    deny: &'static str,
    farewell: &'static str,
    /// What the line says that lets it write, in its protocol.
    answered: &'static str,
    /// What a refused tool means to the turn.
    refusal: Refusal,
    /// How its program ends when it is ended.
    exit: &'static str,
    resumes: Resumes,
    /// Of the calls, how many it remembers as done and as refused.
    calls: (usize, usize),
    /// What its hooks report of the first execution and of the one that goes on,
    /// a line each.
    hooks: [&'static str; 2],
    /// What its transcript says of them, or its protocol.
    transcript: [&'static str; 2],
}

impl Cli {
    /// The whole conversation, and its continuation by another execution.
    fn converse(&self, room: &Room) {
        let agent = self.answers(room);
        agent.reports();
        agent.asks_and_is_answered();
        agent.writes_what_it_may();
        agent.leaves_what_it_may_not();
        agent.outlives_the_daemon();
        agent.is_interrupted();
        agent.claims();
        let conversation = agent.show()["conversation"].clone();
        self.check(room, agent.says_farewell(), 0);
        let conversation = conversation.as_str().expect("its conversation has a name");
        let next = self.goes_on(room, conversation);
        let execution = next.execution.clone();
        self.check(room, next.says_farewell(), 1);
        self.is_remembered(room, conversation, &execution);
        for turn in room.model.turns() {
            assert_eq!((turn.api, turn.purpose), (self.api, Purpose::Turn));
        }
    }

    /// The whole conversation is kept, of both executions, each word once.
    fn is_remembered(&self, room: &Room, session: &str, execution: &str) {
        let show = || {
            let command = ["conversation", "show", session, "--limit", "500"];
            room.home.json(&command)
        };
        let mut shown = Value::Null;
        wait_for("the conversation to be taken in", || {
            let listed = room.home.json(&["conversation", "list"]);
            let known = listed["conversations"].as_array().unwrap();
            let ours = known.iter().any(|one| one["session"] == session);
            shown = if ours { show() } else { Value::Null };
            shown["conversation"]["execution"] == execution
                && shown.to_string().contains("It was eighty-eighty.")
        });
        let items = shown["items"].as_array().unwrap();
        let said = |role: &str| -> Vec<String> {
            let texts = items
                .iter()
                .filter(|item| item["role"] == role && item["noise"].is_null());
            texts
                .map(|item| item["text"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(said("person"), PROMPTS, "{}", self.engine);
        let answers = said("agent");
        for answer in ["It is reported.", "Port 8080 it is.", "It was written."] {
            let count = answers.iter().filter(|said| *said == answer).count();
            assert_eq!(count, 1, "{}: {answer}: {answers:?}", self.engine);
        }
        let calls: Vec<_> = items
            .iter()
            .filter(|item| item["kind"] == "tool_call")
            .map(|item| item["outcome"].as_str().unwrap_or("none"))
            .collect();
        let ended = |how: &str| calls.iter().filter(|outcome| **outcome == how).count();
        assert_eq!(
            (ended("succeeded"), ended("denied")),
            self.calls,
            "{}: {calls:?}",
            self.engine
        );
        assert_eq!(shown["conversation"]["turns"], PROMPTS.len());
        assert_eq!(shown["conversation"]["skipped"], 0);
        let found = room.home.json(&["conversation", "search", "eighty-eighty"]);
        assert_eq!(found["hits"][0]["session"], session);
    }

    /// Compares a journal with what must be in it, strand by strand.
    fn check(&self, room: &Room, mut journal: Strands, which: usize) {
        let work = room.path("work").display().to_string();
        for line in journal.values_mut().flatten() {
            *line = line.replace(&work, "WORK");
        }
        let lines = |text: &str| -> Vec<String> {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.map(str::to_owned).collect()
        };
        let screen = journal.remove("terminal").unwrap();
        assert!(
            has_in_order(&screen, [&SCREEN[..], &["idle", "exited"]][which]),
            "{screen:?}"
        );
        let dialogs = journal.remove("dialogs").unwrap_or_default();
        assert!(dialogs.iter().all(|line| line == "dialog began"));
        assert!(dialogs.len() <= [2, 0][which], "{dialogs:?}");
        let standing = journal.remove("standing").unwrap_or_default();
        assert!(
            standing.is_empty() || self.control == Control::Structured,
            "{standing:?}"
        );
        if self.control == Control::Terminal {
            let farewell = format!("prompt {:?}", self.farewell);
            let messages = journal.get_mut("messages").unwrap();
            // How its delivery ends is a race with the end of the program.
            let end = messages.iter().position(|line| *line == farewell).unwrap();
            messages.truncate(end);
        }

        let mut expected = Strands::from([
            ("header", vec![format!("{} by mcp_tool", self.engine)]),
            ("process", vec!["started".to_owned(), self.exit.to_owned()]),
            ("daemon", lines(self.told_by_us()[which])),
            ("messages", lines(MESSAGES[which])),
            ("effects", lines(EFFECTS[which])),
            ("mcp_tool", lines([SIGNALS, ""][which])),
            ("hook", lines(self.hooks[which])),
            (self.told_by(), lines(self.transcript[which])),
        ]);
        expected.retain(|_, lines| !lines.is_empty());
        // Codex may drop what a refused turn used when it ends the turn: a race within it.
        if self.engine == "codex" && self.control == Control::Structured {
            for told in [&mut journal, &mut expected] {
                drop_usage_of_refused(told.entry("protocol").or_default());
            }
        }
        assert_eq!(journal, expected);
    }

    /// Where what it says comes from.
    fn told_by(&self) -> &'static str {
        match self.control {
            Control::Terminal => "transcript",
            Control::Structured => "protocol",
        }
    }

    fn told_by_us(&self) -> [&'static str; 2] {
        match self.control {
            Control::Terminal => ["session"; 2],
            Control::Structured => ["cancelled", "session\ncancelled"],
        }
    }

    /// Launch, prompt, stream. The model says nothing until the screen is read
    /// as thinking, and stops half-way until it is read as responding.
    fn answers<'r>(&'r self, room: &'r Room) -> Agent<'r> {
        let (begin, finish) = (Gate::closed(), Gate::closed());
        let first = Reply::new()
            .hold(&begin)
            .text("The answer has two lines.\n\nThis is the first one of them.\n\n");
        let reply = (self.drawn)(first).hold(&finish);
        room.model.reply(reply.text("The second says forty-two."));
        let agent = Agent::start(self, room, "what is the answer", &[]);
        agent.wait_for_reading("thinking", 0);
        begin.open();
        agent.wait_for_text("The answer has two lines.");
        agent.wait_for_reading("responding", 0);
        finish.open();
        agent.wait_for_rest("forty-two");
        agent
    }

    /// What is known reaches the model, quoted, in the words of the person; what
    /// the CLI reads by itself comes from the CLI.
    fn is_told(&self, room: &Room, reads: &str, other: &str) {
        room.write(
            &format!("work/{reads}"),
            "Rule seven: harbour lights are green.\n",
        );
        room.write(
            &format!("work/{other}"),
            "Rule nine: harbour bells ring twice.\n",
        );
        let detail: Vec<_> = (0..60)
            .map(|step| format!("Step {step} of a deploy is to look at gauge {step}."))
            .collect();
        let draft = json!({
            "summary": "Deploys go through make ship.",
            "detail": detail.join("\n"),
            "key": "deploy",
            "category": "policy",
            "source": "session 7",
        });
        room.home.json(&["call", "kb_remember", &draft.to_string()]);
        room.model.reply(Reply::new().text("It is known now."));
        let agent = Agent::start(self, room, "deploy the service", &[]);
        agent.wait_for_rest("It is known now.");
        let asked = room.model.turns().last().unwrap().body.to_string();
        let heading = r#"entry \"deploy\", from \"session 7\", "#;
        assert!(asked.contains(heading), "{asked}");
        assert!(
            asked.contains("\\n> Deploys go through make ship."),
            "{asked}"
        );
        assert!(asked.contains("\\n> Step 3 of a deploy"), "{asked}");
        assert!(asked.contains("\\n> Rule nine: harbour bells"), "{asked}");
        assert!(asked.contains("Rule seven: harbour lights"), "{asked}");
        assert!(!asked.contains("> Rule seven"), "{asked}");
        let view = room.home.json(&["context", "show", &agent.execution]);
        let items = view["items"].as_array().unwrap();
        let own = items.iter().find(|item| item["title"] == reads).unwrap();
        let why = own["reason"].as_str().unwrap();
        assert!(why.contains("reads it by itself"), "{why}");
    }

    fn waits_to_resume(&self) {
        let minute =
            || missiond_core::Clock::now(&missiond_core::SystemClock).as_micros() / 60_000_000;
        let began = minute();
        if self.resumes == Resumes::NextMinute {
            wait_for("the next minute", || minute() > began);
        }
    }

    fn goes_on<'r>(&'r self, room: &'r Room, conversation: &str) -> Agent<'r> {
        self.waits_to_resume();
        room.model.reply(Reply::new().text("It was eighty-eighty."));
        let agent = Agent::start(self, room, "which port was it", &["--resume", conversation]);
        agent.wait_for_rest("It was eighty-eighty.");
        let asked = room.model.turns().last().unwrap().body.to_string();
        assert!(asked.contains("Port 8080 it is."), "it has forgotten");
        assert_eq!(agent.show()["conversation"], conversation);
        agent
    }
}

/// The states every CLI goes through in the first execution, whatever is
/// between: it answers, writes after a question, does not write after another,
/// answers across a restart of the daemon, is interrupted, ends. Each is waited
/// for while it lasts: a screen is read now and then, and on a busy machine a
/// state that nothing holds goes by unread.
const SCREEN: [&str; 16] = [
    "idle",
    "thinking",
    "responding",
    "idle",
    "thinking",
    "confirming",
    "idle",
    "thinking",
    "confirming",
    "idle",
    "responding",
    "idle",
    "responding",
    "idle",
    "thinking",
    "exited",
];

/// What the person said, in both executions.
const PROMPTS: [&str; 10] = [
    "what is the answer",
    "report how far you are",
    "ask me for the port",
    "8080",
    "write the file",
    "write another",
    "take your time",
    "count to a million",
    "say that it is done",
    "which port was it",
];

const MESSAGES: [&str; 2] = [
    r#"
    prompt "what is the answer"
    delivering
    delivered
    prompt "report how far you are"
    delivering
    delivered
    prompt "ask me for the port"
    delivering
    delivered
    answer "8080": attention awaiting_system, request answered
    delivering
    delivered
    prompt "write the file"
    delivering
    delivered
    prompt "write another"
    delivering
    delivered
    prompt "take your time"
    delivering
    delivered
    prompt "count to a million"
    delivering
    delivered
    interrupt ""
    delivering
    delivered
    prompt "say that it is done"
    delivering
    delivered
    "#,
    r#"
    prompt "which port was it"
    delivering
    delivered
    "#,
];

const SIGNALS: &str = r#"
    progress {"percent":50,"summary":"half of it"}: changed_state, progress "half of it"
    needs_input {"question":"Which port?"}: changed_state, attention awaiting_operator, request opened, input_requested "due"
    completed_claim {"summary":"all of it is done"}: promoted, completion_claimed "due"
"#;

const EFFECTS: [&str; 2] = [
    r#"
    input_requested "applied"
    completion_claimed "applied"
    run_ended "applied"
    "#,
    r#"
    run_ended "applied"
    "#,
];

struct Agent<'r> {
    cli: &'r Cli,
    room: &'r Room,
    execution: String,
}

impl Drop for Agent<'_> {
    /// What was there when a test failed.
    fn drop(&mut self) {
        if std::thread::panicking() {
            for what in [["slot", "read", "agent"], ["execution", "show", "agent"]] {
                eprintln!("{}", text(&self.room.home.mission(&what).stdout));
            }
        }
    }
}

impl<'r> Agent<'r> {
    fn start(cli: &'r Cli, room: &'r Room, prompt: &str, options: &[&str]) -> Self {
        let work = room.path("work").display().to_string();
        let mut command = vec!["run", prompt, "--engine", cli.engine, "--trust"];
        command.extend(["--cwd", &work, "--name", "agent"]);
        command.extend(options);
        let control = match cli.control {
            Control::Terminal => "terminal",
            Control::Structured => "structured",
        };
        command.extend(["--control", control]);
        let environment = room
            .environment()
            .into_iter()
            .chain(cli.environment.clone());
        let variables: Vec<_> = environment
            .map(|(name, value)| format!("--env={name}={value}"))
            .collect();
        command.extend(variables.iter().map(String::as_str));
        command.push("--");
        command.extend(&cli.args);
        let started = room.home.json(&command);
        Self {
            cli,
            room,
            execution: started["execution"].as_str().unwrap().to_owned(),
        }
    }

    fn show(&self) -> Value {
        self.room.home.json(&["execution", "show", &self.execution])
    }

    fn wait(&self, what: &str, so: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        wait_for(what, || {
            last = self.show();
            so(&last)
        });
        last
    }

    fn screen(&self) -> Value {
        self.room.home.json(&["slot", "read", "agent"])
    }

    fn wait_for_text(&self, words: &str) {
        let shows = || {
            let screen = self.screen();
            let lines = screen["lines"].as_array().unwrap();
            lines
                .iter()
                .any(|line| line.as_str().unwrap().contains(words))
        };
        wait_for(words, shows);
    }

    /// The agent has said this and waits for the next prompt.
    fn wait_for_rest(&self, words: &str) {
        self.wait_for_text(words);
        self.rests();
    }

    /// The agent waits for the next prompt, and the journal has it.
    fn rests(&self) {
        self.wait("rest", |details| details["activity"] == "idle");
        wait_for("the prompt", || self.screen()["reading"]["state"] == "idle");
        wait_for("the prompt to be on record", || {
            self.readings().last().is_some_and(|state| state == "idle")
        });
    }

    /// What the screen was read as, by the journal. The activity is no proof of
    /// it: a hook that tells of the same is often first.
    fn readings(&self) -> Vec<String> {
        let details = self.show();
        let written = std::fs::read_to_string(details["journal"].as_str().unwrap()).unwrap();
        // The last line may be half written.
        let records = written
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let observed = records
            .map(|record| record["data"].clone())
            .filter(|data| data["source"] == "terminal" || data["source"] == "protocol");
        let facts = observed
            .map(|data| data["observed"]["fact"].clone())
            .filter(|fact| fact["type"] == "reading");
        facts
            .map(|fact| fact["payload"]["state"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The screen was read as this, not counting the first `before` readings.
    fn wait_for_reading(&self, state: &str, before: usize) {
        wait_for(state, || {
            let readings = self.readings();
            readings.iter().skip(before).any(|read| read == state)
        });
    }

    /// Says this, and opens the gate of its reply when the screen was read as
    /// thinking.
    fn send_and_read(&self, words: &str, begin: &Gate) {
        let before = self.readings().len();
        self.send_message(words);
        self.wait_for_reading("thinking", before);
        begin.open();
    }

    /// Sends a message and waits until it was typed.
    fn send_message(&self, words: &str) {
        let sent = self
            .room
            .home
            .json(&["execution", "message", "agent", words]);
        self.wait_for_delivery(&sent);
    }

    fn wait_for_delivery(&self, sent: &Value) {
        self.wait("its delivery", |details| {
            let messages = details["messages"].as_array().unwrap();
            let message = messages
                .iter()
                .find(|one| one["message"] == sent["message"]);
            let message = message.unwrap();
            assert_ne!(message["status"], "failed", "{message}");
            message["status"] == "delivered"
        });
    }

    fn reports(&self) {
        let model = &self.room.model;
        let report = json!({"summary": "half of it", "percent": 50});
        model.reply((self.cli.signal)(Reply::new(), "progress", report));
        model.reply(Reply::new().text("It is reported."));
        self.send_message("report how far you are");
        self.wait_for_rest("It is reported.");
        assert_eq!(self.show()["progress"], "half of it");
    }

    fn asks_and_is_answered(&self) {
        let model = &self.room.model;
        let question = json!({"question": "Which port?"});
        model.reply((self.cli.signal)(Reply::new(), "needs_input", question));
        model.reply(Reply::new().text("The port was asked for."));
        self.send_message("ask me for the port");
        self.wait_for_rest("The port was asked for.");
        let asking = self.show();
        assert_eq!(asking["questions"][0]["question"], "Which port?");
        assert_eq!(asking["attention"], "awaiting_operator");
        model.reply(Reply::new().text("Port 8080 it is."));
        let answer = self
            .room
            .home
            .json(&["execution", "answer", "agent", "8080"]);
        self.wait_for_delivery(&answer);
        self.wait_for_rest("Port 8080 it is.");
        assert_eq!(self.show()["questions"], json!([]));
    }

    /// Has the model write a file, and answers the question that comes up.
    fn asks_to_write(&self, name: &str, prompt: &str, answer: &str, then: Option<Reply>) {
        let before = self.readings().len();
        let begin = Gate::closed();
        let write = (self.cli.write)(Reply::new().hold(&begin), self.room, name);
        self.room.model.reply(write);
        self.send_and_read(prompt, &begin);
        // Some report the question before they have drawn it.
        wait_for("the options of a dialog", || {
            let reading = self.screen()["reading"].clone();
            reading["state"] == "confirming" && reading["waiting_for"] == "permission"
        });
        self.wait("the question to be seen", |details| {
            details["attention"] == "awaiting_operator"
        });
        self.wait_for_reading("confirming", before);
        assert!(!self.room.path("work").join(name).exists());
        if let Some(reply) = then {
            self.room.model.reply(reply);
        }
        let answered = ["slot", "answer", "agent", answer, "--wait", "30"];
        self.room.home.json(&answered);
    }

    fn writes_what_it_may(&self) {
        let written = Reply::new().text("It was written.");
        self.asks_to_write("made.txt", "write the file", self.cli.allow, Some(written));
        self.wait_for_rest("It was written.");
        let made = std::fs::read_to_string(self.room.path("work/made.txt")).unwrap();
        assert_eq!(made.trim_end(), MADE);
    }

    fn leaves_what_it_may_not(&self) {
        let turns = self.room.model.turns().len();
        let then = match self.cli.refusal {
            Refusal::EndsTurn => None,
            Refusal::GoesOn => Some(Reply::new().text("It was not written.")),
        };
        let asked = 1 + usize::from(then.is_some());
        self.asks_to_write("never.txt", "write another", self.cli.deny, then);
        self.rests();
        assert!(!self.room.path("work/never.txt").exists());
        assert_eq!(self.room.model.turns().len(), turns + asked);
    }

    fn pid(&self) -> Value {
        self.room.home.json(&["slot", "list"])["slots"][0]["program"]["pid"].clone()
    }

    /// The daemon is killed in the middle of an answer.
    /// In the middle of an answer; behind a wall before it, since what an agent has under
    /// way with its model goes through the daemon there.
    fn outlives_the_daemon(&self) {
        let finish = Gate::closed();
        let first = Reply::new().text("One thing first.\n\nThen there is another.\n\n");
        let reply = (self.cli.drawn)(first).hold(&finish);
        self.room.model.reply(reply.text("And that was all."));
        if self.room.is_walled {
            self.is_the_same_under_the_next_daemon();
        }
        let before = self.readings().len();
        self.send_message("take your time");
        self.wait_for_text("One thing first.");
        self.wait_for_reading("responding", before);
        if !self.room.is_walled {
            self.is_the_same_under_the_next_daemon();
        }
        finish.open();
        self.wait_for_rest("And that was all.");
    }

    fn is_the_same_under_the_next_daemon(&self) {
        let pid = self.pid();
        self.room.home.kill();
        self.room.home.start();
        assert_eq!(self.pid(), pid, "the same program goes on");
    }

    fn is_interrupted(&self) {
        let never = Gate::closed();
        let counting = Reply::new().text("One, two, three.\n\nFour, five, six.\n\n");
        let reply = (self.cli.drawn)(counting).hold(&never);
        self.room.model.reply(reply);
        let before = self.readings().len();
        self.send_message("count to a million");
        self.wait_for_text("One, two, three.");
        self.wait_for_reading("responding", before);
        self.wait("counting", |details| details["activity"] == "communicating");
        let sent = self.room.home.json(&["execution", "interrupt", "agent"]);
        self.wait_for_delivery(&sent);
        self.rests();
    }

    fn claims(&self) {
        let claim = json!({"summary": "all of it is done"});
        let (model, begin) = (&self.room.model, Gate::closed());
        let held = Reply::new().hold(&begin);
        model.reply((self.cli.signal)(held, "completed_claim", claim));
        model.reply(Reply::new().text("It is claimed."));
        self.send_and_read("say that it is done", &begin);
        self.wait_for_rest("It is claimed.");
        assert_eq!(self.show()["lifecycle"], "running", "a claim ends nothing");
    }

    /// Leaves the program by its own command; the journal of the whole run.
    fn says_farewell(self) -> Strands {
        let home = &self.room.home;
        let (command, lifecycle) = match self.cli.control {
            Control::Terminal => {
                let command = ["execution", "message", "agent", self.cli.farewell];
                (command.to_vec(), "completed")
            }
            Control::Structured => (["execution", "cancel", "agent"].to_vec(), "cancelled"),
        };
        home.json(&command);
        let ended = self.wait("the end", |details| !details["ended_at"].is_null());
        assert_eq!(ended["lifecycle"], lifecycle, "{ended}");
        let launches = home.home().run_dir().join("launches");
        assert!(!launches.join(&self.execution).exists());
        let incidents = home.json(&["incident", "list", "--all"]).to_string();
        for kind in ["slot_input_mismatch", "slot_witness_disagrees"] {
            assert!(!incidents.contains(kind), "{incidents}");
        }
        let verified = home.mission(&["journal", "verify", &self.execution]);
        assert!(verified.status.success(), "{}", text(&verified.stdout));
        let path = ended["journal"].as_str().unwrap();
        let lines = std::fs::read_to_string(path).unwrap();
        let records: Vec<_> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        order::assert_causes_come_first(&records);
        strands(&records)
    }
}

fn drop_usage_of_refused(lines: &mut Vec<String>) {
    let refused = lines.iter().position(|line| line.ends_with("ended denied"));
    let next = refused.map(|at| at + 1).filter(|at| *at < lines.len());
    if let Some(next) = next.filter(|at| lines[*at].starts_with("usage")) {
        lines.remove(next);
    }
}

/// Looks again and again until it is so.
fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
