//! What goes wrong in a conversation, by a CLI's protocol and by its terminal, one after the
//! other: the daemon dies while the agent asks, an edit is looked at before it is allowed, a
//! question is cancelled, the model fails, a limit is reached, the agent dies.

use std::time::{Duration, Instant};

use missiond_model_server::Reply;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Agent, Cli, Control, MADE, Room, wait_for};
use crate::handoff::DETACH;
use crate::person::Person;

const ESCAPE: &str = "\x1b";

/// How a CLI takes it.
pub(super) struct Trouble {
    /// Adds the call of a tool that makes `other notes` of what is in `notes.txt`.
    pub(super) edit: fn(Reply, &Room) -> Reply,
    /// The model refuses a request.
    pub(super) error: Told,
    /// The model says that there were too many.
    pub(super) limit: Told,
}

/// How an agent tells of a failure.
#[derive(Debug, Clone, Copy)]
pub(super) enum Told {
    /// In these words, as an error of the turn: what it says by its protocol, or shows in its
    /// terminal, which is read as an error.
    AsError(&'static str),
    /// In these words, as if the model had said them.
    AsWords(&'static str),
    /// Not at all: it tries again, for longer than a test waits, until it is cancelled.
    NotSoon,
    /// Not at all: it tries again, until the model answers.
    TriesAgain,
}

impl Cli {
    pub(super) fn withstands(&self, room: &Room, trouble: &Trouble) {
        let agent = self.is_answered_after_a_restart(room);
        agent.shows_the_edit(trouble.edit);
        agent.is_cancelled_while_it_asks();
        agent.fails(400, trouble.error);
        agent.recovers();
        agent.fails(429, trouble.limit);
        agent.recovers();
        let conversation = agent.show()["conversation"].clone();
        let conversation = conversation.as_str().expect("its conversation has a name");
        agent.dies();
        self.is_taken_up(room, conversation);
    }

    /// The daemon is killed while the agent asks; the next one has the question, and its
    /// answer reaches the agent once.
    pub(super) fn is_answered_after_a_restart<'r>(&'r self, room: &'r Room) -> Agent<'r> {
        room.model
            .reply((self.write)(Reply::new(), room, "made.txt"));
        let agent = Agent::start(self, room, "write the file", &[]);
        // By a terminal each of these takes a while on a machine that is busy.
        wait_for("its start", || {
            agent.screen()["reading"]["state"] != "starting"
        });
        wait_for("the model to be asked", || !room.model.turns().is_empty());
        agent.waits_for_permission();
        let pid = agent.pid();
        room.home.kill();
        room.home.start();
        assert_eq!(agent.pid(), pid, "the same program goes on");
        agent.waits_for_permission();
        room.model.reply(Reply::new().text("It was written."));
        agent.answer(self.allow);
        agent.wait_for_rest("It was written.");
        let made = std::fs::read_to_string(room.path("work/made.txt")).unwrap();
        assert_eq!(made.trim_end(), MADE);
        let again = room.home.mission(&["slot", "answer", "agent", self.allow]);
        assert!(!again.status.success(), "there is nothing left to answer");
        match self.control {
            Control::Structured => {
                let recorded = std::fs::read_to_string(room.recording()).unwrap();
                let answers = recorded.lines().filter(|line| {
                    line.contains("\"i\"")
                        && line.contains(self.answered)
                        && !line.contains("method")
                });
                assert_eq!(answers.count(), 1, "{recorded}");
            }
            // Keys have no meaning of their own: what they came to is looked at. A second
            // answer would have been sent as a prompt, or have answered the next question.
            Control::Terminal => {
                let turns = room.model.turns();
                assert_eq!(
                    turns.len(),
                    2,
                    "asked, and told what the tool did: {turns:#?}"
                );
            }
        }
        agent
    }

    /// Another process takes the conversation up after the first was killed.
    fn is_taken_up(&self, room: &Room, conversation: &str) {
        self.waits_to_resume();
        room.model.reply(Reply::new().text("It goes on."));
        let turns = room.model.turns().len();
        let agent = Agent::start(self, room, "go on", &["--resume", conversation]);
        if self.control == Control::Terminal {
            agent.is_sent_after(turns);
        }
        agent.wait_for_rest("It goes on.");
        let asked = room.model.turns().last().unwrap().body.to_string();
        assert!(asked.contains("It was written."), "it has forgotten");
        assert_eq!(agent.show()["conversation"], conversation);
    }
}

impl Agent<'_> {
    fn answer(&self, option: &str) {
        let answer = ["slot", "answer", "agent", option, "--wait", "30"];
        self.room.home.json(&answer);
    }

    /// On a busy machine the first prompt after a resume may stay in its box, typed and not
    /// sent ([the contract](../../docs/how/contract.md)): whoever sees that sends it.
    fn is_sent_after(&self, turns: usize) {
        let is_asked = || self.room.model.turns().len() > turns;
        let is_open = |message: &Value| {
            let open = ["queued", "held", "delivering"];
            open.iter().any(|status| message["status"] == *status)
        };
        wait_for("its first prompt to be typed", || {
            let details = self.show();
            let messages = details["messages"].as_array().unwrap();
            is_asked() || !messages.iter().any(is_open)
        });
        let until = Instant::now() + Duration::from_secs(20);
        while !is_asked() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        if !is_asked() {
            eprintln!("{}: its first prompt stays unsent", self.cli.engine);
            let mut person = Person::attach(&self.room.home, (110, 34), &["agent"]);
            person.waits_for("go on");
            person.types("\r");
            wait_for("the model to be asked", is_asked);
            person.types(DETACH);
            person.left_as_it_was(0);
        }
    }

    /// What was sent fails, and whoever sent it is told why.
    fn wait_for_refusal(&self, sent: &Value, reason: &str) {
        self.wait("its refusal", |details| {
            let messages = details["messages"].as_array().unwrap();
            let message = messages
                .iter()
                .find(|one| one["message"] == sent["message"]);
            let message = message.unwrap();
            assert_ne!(message["status"], "delivered", "{message}");
            message["status"] == "failed" && message["reason"].to_string().contains(reason)
        });
    }

    fn waits_for_permission(&self) {
        wait_for("the question", || {
            let reading = self.screen()["reading"].clone();
            reading["state"] == "confirming" && reading["waiting_for"] == "permission"
        });
    }

    fn waits_for_error(&self, words: &str) {
        let says = || {
            let screen = self.screen();
            let said = match self.cli.control {
                Control::Structured => screen["reading"]["reason"].to_string(),
                Control::Terminal => unwrapped(&screen),
            };
            screen["reading"]["state"] == "error" && said.contains(words)
        };
        wait_for(words, says);
    }

    /// What an edit would change is shown before it is allowed.
    fn shows_the_edit(&self, edit: fn(Reply, &super::Room) -> Reply) {
        let model = &self.room.model;
        model.reply(edit(Reply::new(), self.room));
        self.send_message("edit the notes");
        self.waits_for_permission();
        self.wait_for_text("other notes");
        let notes = || std::fs::read_to_string(self.room.path("work/notes.txt")).unwrap();
        assert_eq!(notes(), "some notes\n");
        model.reply(Reply::new().text("It was edited."));
        self.answer(self.cli.allow);
        self.wait_for_rest("It was edited.");
        assert_eq!(notes(), "other notes\n");
    }

    fn is_cancelled_while_it_asks(&self) {
        let write = (self.cli.write)(Reply::new(), self.room, "never.txt");
        self.room.model.reply(write);
        self.send_message("write another");
        self.waits_for_permission();
        let turns = self.room.model.turns().len();
        let sent = self.room.home.json(&["execution", "interrupt", "agent"]);
        match self.cli.control {
            Control::Structured => self.wait_for_delivery(&sent),
            Control::Terminal => {
                // A key could answer the dialog, so none is pressed without looking: whoever
                // is at the terminal presses it.
                self.wait_for_refusal(&sent, "an answer says what is to be done");
                self.waits_for_permission();
                let mut person = Person::attach(&self.room.home, (110, 34), &["agent"]);
                person.waits_for("never.txt");
                person.types(ESCAPE);
                self.wait("the end of the question", |details| {
                    details["attention"] != "awaiting_operator"
                });
                person.types(DETACH);
                person.left_as_it_was(0);
            }
        }
        self.rests();
        assert!(!self.room.path("work/never.txt").exists());
        assert_eq!(self.room.model.turns().len(), turns);
    }

    /// The model answers with a status instead of words, however often it is asked.
    pub(super) fn fails(&self, status: u16, told: Told) {
        let before = self.room.model.turns().len();
        self.room.model.always(Some(Reply::error(status)));
        self.send_message(&format!("fail with {status}"));
        match told {
            Told::AsError(words) => self.waits_for_error(words),
            Told::AsWords(words) => self.wait_for_rest(words),
            Told::TriesAgain => {
                let tries = || self.room.model.turns().len() - before;
                wait_for("another try", || tries() > 1);
                let model = &self.room.model;
                model.reply(Reply::new().text("It was heard at last."));
                model.always(None);
                self.wait_for_rest("It was heard at last.");
            }
            Told::NotSoon => {
                let tries = || self.room.model.turns().len() - before;
                wait_for("another try", || tries() > 1);
                let sent = self.room.home.json(&["execution", "interrupt", "agent"]);
                self.wait_for_delivery(&sent);
                self.rests();
            }
        }
        self.room.model.always(None);
    }

    /// A failure ends a turn, not the conversation.
    pub(super) fn recovers(&self) {
        self.room
            .model
            .reply(Reply::new().text("It is well again."));
        self.send_message("try again");
        self.wait("rest", |details| details["activity"] == "idle");
        self.wait_for_rest("It is well again.");
    }

    fn dies(self) {
        let pid = self.pid().as_u64().unwrap();
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        let ended = self.wait("the end", |details| !details["ended_at"].is_null());
        assert_eq!(ended["lifecycle"], "terminated", "{ended}");
        let journal = std::fs::read_to_string(ended["journal"].as_str().unwrap()).unwrap();
        assert!(journal.contains(r#""signal":9"#), "{journal}");
    }
}

/// The words on a screen, whatever its width has cut them into.
fn unwrapped(screen: &Value) -> String {
    let lines = screen["lines"].as_array().unwrap().iter();
    let lines: Vec<_> = lines.map(|line| line.as_str().unwrap().trim()).collect();
    lines.join(" ")
}
