//! What rules say holds in the real CLIs, whatever their own mode lets pass: their hook
//! asks before every tool, with the exact input, and is answered by the guard. Without an
//! answer the tool is refused.

use missiond_model_server::{Gate, Reply};
use serde_json::{Value, json};

use super::{Agent, Cli, Room, wait_for};

const KEY_TEXT: &str = "the private key of somebody";
const BYPASS: [&str; 2] = ["--permission", "bypass"];

impl Cli {
    /// In the mode that asks nothing: denied by a rule, refused without a daemon, asked by
    /// a rule, and done where no rule says anything.
    pub(super) fn is_bound_by_rules(&self, room: &Room, names: &Names) {
        // Some look at nothing outside of their folder anyway.
        let key = room.path("work/keys/id_rsa");
        room.write("work/keys/id_rsa", KEY_TEXT);
        // Its own settings allow everything, and a repository's turn hooks off.
        let careless = json!({"disableAllHooks": true, "permissions": {"allow": ["Bash", "Read"]}});
        room.write("work/.claude/settings.json", &careless.to_string());
        let careless = json!({"hooksConfig": {"enabled": false}});
        room.write("work/.gemini/settings.json", &careless.to_string());
        let folder = format!("{}/**", key.parent().unwrap().display());
        let add = |words: &[&str]| {
            let all = [&["permission", "add"], words].concat();
            room.home.json(&all);
        };
        add(&["deny", "--path", &folder]);
        add(&["ask", "--tool", "Bash", "--argument", "touch asked*"]);

        room.model.reply(Reply::new().text("It is quiet here."));
        let agent = Agent::start(self, room, "begin", &BYPASS);
        agent.wait_for_rest("It is quiet here.");

        let read = names.read(Reply::new(), &key.display().to_string());
        agent.tries("read the key", read, "It was not read.");
        let cat = format!("cat {}", key.display());
        let cat = names.run(Reply::new(), &cat);
        agent.tries("show the key", cat, "It was not shown.");
        let received = room.model.turns().into_iter();
        let received = received.map(|turn| turn.body.to_string());
        let received: Vec<_> = received.collect();
        assert!(received.iter().all(|body| !body.contains(KEY_TEXT)));
        let refusals = received
            .last()
            .unwrap()
            .matches("by a rule of missiond")
            .count();
        assert_eq!(refusals, 2, "{received:#?}");
        let decisions = agent.decisions();
        assert_eq!(decisions.len(), 2, "each once: {decisions:#?}");
        for decision in &decisions {
            assert_eq!(decision["effect"], "deny");
            assert_eq!(decision["outcome"], "refused");
            assert_eq!(decision["decided_by"], "P-1");
            let digest = decision["asked"]["digest"].as_str().unwrap();
            assert_eq!(digest.len(), 64, "{decision}");
        }

        let done = names.run(Reply::new(), "touch done");
        agent.tries("do it", done, "It was done.");
        assert!(room.path("work/done").exists(), "no rule is about it");

        agent.is_refused_without_a_daemon(names);
    }
}

/// What its tools are called.
pub(super) struct Names {
    pub(super) read: fn(Reply, Value) -> Reply,
    pub(super) run: fn(Reply, Value) -> Reply,
}

impl Names {
    fn read(&self, reply: Reply, path: &str) -> Reply {
        (self.read)(reply, json!(path))
    }

    fn run(&self, reply: Reply, command: &str) -> Reply {
        (self.run)(reply, json!(command))
    }
}

impl Agent<'_> {
    fn tries(&self, prompt: &str, tool: Reply, then: &str) {
        self.room.model.reply(tool);
        self.room.model.reply(Reply::new().text(then));
        self.send_message(prompt);
        self.wait_for_rest(then);
    }

    pub(super) fn decisions(&self) -> Vec<Value> {
        let page = self
            .room
            .home
            .json(&["permission", "list", "--decisions", "20"]);
        page["decisions"].as_array().unwrap().clone()
    }

    fn is_refused_without_a_daemon(&self, names: &Names) {
        let (model, home) = (&self.room.model, &self.room.home);
        let (asked, begin) = (model.turns().len(), Gate::closed());
        model.reply(names.run(Reply::new().hold(&begin), "touch unseen"));
        model.reply(Reply::new().text("Nobody could be asked."));
        self.send_message("do another");
        wait_for("the model to be asked", || model.turns().len() > asked);
        home.kill();
        begin.open();
        wait_for("the refusal", || model.turns().len() > asked + 1);
        let told = model.turns().last().unwrap().body.to_string();
        assert!(told.contains("the daemon is away or too slow"), "{told}");
        home.start();
        self.wait_for_rest("Nobody could be asked.");
        assert!(!self.room.path("work/unseen").exists());
    }

    /// A rule that asks brings a dialog in the mode that has none; a rule that is added
    /// while it stands answers it, because the hook said what it is about.
    pub(super) fn asks_by_rule(&self, names: &Names) {
        let (model, home) = (&self.room.model, &self.room.home);
        model.reply(names.run(Reply::new(), "touch asked-1"));
        model.reply(Reply::new().text("It was asked."));
        self.send_message("ask first");
        let mut waiting = Value::Null;
        wait_for("the question", || {
            waiting = home.json(&["inbox"])["questions"][0].clone();
            !waiting.is_null()
        });
        let permission = &waiting["origin"]["permission"];
        assert_eq!(permission["command"], "touch asked-1", "{waiting}");
        assert_eq!(permission["digest"].as_str().unwrap().len(), 64);
        assert!(!self.room.path("work/asked-1").exists());
        home.json(&["permission", "remove", "P-2"]);
        home.json(&[
            "permission",
            "add",
            "allow",
            "--tool",
            "Bash",
            "--argument",
            "touch asked-1",
        ]);
        self.wait_for_rest("It was asked.");
        assert!(self.room.path("work/asked-1").exists());
        let last = &self.decisions()[0];
        assert_eq!(last["effect"], "allow", "{last}");
        assert_eq!(last["outcome"], "taken");
        assert_eq!(last["asked"]["digest"], permission["digest"]);
        let question = &home.json(&["inbox", "--all"])["questions"][0];
        assert_eq!(question["status"], "answered", "{question}");
    }
}
