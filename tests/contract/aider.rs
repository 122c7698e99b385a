//! aider, which has a terminal and nothing else: no protocol, no MCP servers and no record
//! that is read. It reports by markers, and goes on with the last conversation of a folder.

use std::time::Duration;

use missiond_model_server::{Api, Gate, Reply};
use serde_json::{Value, json};

use super::trouble::Told;
use super::{Agent, Cli, Clis, Control, KEY, MADE, NOWHERE, Refusal, Resumes, Room, wait_for};

#[test]
fn aider_keeps_the_contract_by_its_terminal() {
    let Some((room, cli)) = prepared() else {
        return;
    };
    let agent = cli.answers(&room);
    agent.reports_by_a_line();
    agent.makes_what_it_may();
    agent.leaves_what_it_may_not_make();
    agent.edits_without_a_question();
    agent.outlives_the_daemon();
    agent.is_interrupted();
    agent.shows_an_error();
    agent.fails(429, Told::NotSoon);
    agent.recovers();
    let conversation = agent.show()["conversation"].clone();
    assert_eq!(conversation, Value::Null, "nothing names it");
    let journal = agent.says_farewell();
    let strand = |name: &str| journal.get(name).cloned().unwrap_or_default();
    assert_eq!(strand("header"), ["aider by marker"]);
    assert_eq!(strand("process"), ["started", "exited 0"]);
    assert_eq!(
        strand("marker"),
        [r#"progress {"percent":50,"summary":"half of it"}: changed_state, progress "half of it""#]
    );
    assert_eq!(strand("effects"), [r#"run_ended "applied""#]);
    let states: Vec<_> = strand("terminal");
    for state in ["thinking", "responding", "confirming", "error", "exited"] {
        assert!(
            states.iter().any(|read| read == state),
            "{state}: {states:?}"
        );
    }
    cli.goes_on_in_its_folder(&room);
}

fn prepared() -> Option<(Room, Cli)> {
    let clis = Clis::installed()?;
    let room = Room::new("aider", &clis.python("aider")?);
    // Its requests have no tools.
    room.model.take_plain_turns();
    // What models can and cost, which it would look for on the network.
    let model = json!({
        "litellm_provider": "openai", "mode": "chat", "max_input_tokens": 200_000,
        "max_output_tokens": 8000, "max_tokens": 8000,
        "input_cost_per_token": 0.0, "output_cost_per_token": 0.0,
    });
    room.write(
        "home/.aider/caches/model_prices_and_context_window.json",
        &json!({ "openai/scripted": model }).to_string(),
    );
    let cli = Cli {
        engine: "aider",
        control: Control::Terminal,
        api: Api::Chat,
        args: vec!["--model", "openai/scripted", "--no-git"],
        environment: vec![
            ("OPENAI_API_KEY", KEY.to_owned()),
            ("OPENAI_API_BASE", format!("{}/v1", room.model.url())),
            ("LITELLM_LOCAL_MODEL_COST_MAP", "True".to_owned()),
            ("HTTPS_PROXY", NOWHERE.to_owned()),
        ],
        write: |reply, _, name| reply.text(&listing(name, MADE)),
        // It has no tools of ours.
        signal: |reply, _, _| reply,
        // It draws again when more comes, and not at once.
        drawn: |reply| {
            let pause = Duration::from_secs(1);
            (0..3).fold(reply, |reply, _| reply.pause(pause).text(" "))
        },
        allow: "Yes",
        deny: "No",
        farewell: "/exit",
        answered: "",
        refusal: Refusal::EndsTurn,
        exit: "exited 0",
        resumes: Resumes::AtOnce,
        calls: (0, 0),
        hooks: ["", ""],
        transcript: ["", ""],
    };
    Some((room, cli))
}

/// A whole file, as it has its models write one.
fn listing(name: &str, content: &str) -> String {
    format!("I write it.\n\n{name}\n```\n{content}\n```\n")
}

impl Cli {
    /// It knows the last conversation of a folder, by no name.
    fn goes_on_in_its_folder(&self, room: &Room) {
        let (_, said) = room.home.failure(&[
            "run",
            "go on",
            "--engine",
            "aider",
            "--cwd",
            &room.path("work").display().to_string(),
            "--resume",
            "some-id",
            &format!("--env=PATH={}", room.environment()[0].1),
        ]);
        assert!(said.contains("--restore-chat-history"), "{said}");
        let mut args = self.args.clone();
        args.push("--restore-chat-history");
        let later = Cli {
            args,
            environment: self.environment.clone(),
            ..*self
        };
        room.model.reply(Reply::new().text("It goes on."));
        let agent = Agent::start(&later, room, "which was the answer", &[]);
        agent.wait_for_rest("It goes on.");
        let asked = room.model.turns().last().unwrap().body.to_string();
        assert!(asked.contains("The second says forty-two."), "{asked}");
        agent.says_farewell();
    }
}

impl Agent<'_> {
    /// By a line with the key that only its instructions have.
    fn reports_by_a_line(&self) {
        let model = &self.room.model;
        let first = model.turns()[0].body.clone();
        let told: String = first["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|message| message["content"].as_str())
            .collect();
        let key = told.split("\"key\": \"").nth(1).expect("it was told a key");
        let key = key.split('"').next().unwrap();
        let marker = json!({
            "v": 1, "execution": self.execution, "key": key, "event": "e1", "type": "progress",
            "payload": {"summary": "half of it", "percent": 50},
        });
        model.reply(Reply::new().text(&format!("@mission::{marker}\n\nIt is reported.")));
        self.send_message("report how far you are");
        self.wait_for_rest("It is reported.");
        self.wait("the report", |details| details["progress"] == "half of it");
    }

    fn makes_what_it_may(&self) {
        self.asks_to_write("made.txt", "write the file", self.cli.allow, None);
        self.wait_for_rest("Applied edit to made.txt");
        let made = std::fs::read_to_string(self.room.path("work/made.txt")).unwrap();
        assert_eq!(made.trim_end(), MADE);
    }

    fn leaves_what_it_may_not_make(&self) {
        let turns = self.room.model.turns().len();
        self.asks_to_write("never.txt", "write another", self.cli.deny, None);
        self.rests();
        assert!(!self.room.path("work/never.txt").exists());
        assert_eq!(self.room.model.turns().len(), turns + 1);
    }

    /// What is in its chat it changes at once.
    fn edits_without_a_question(&self) {
        let begin = Gate::closed();
        let edit = Reply::new()
            .hold(&begin)
            .text(&listing("made.txt", "changed"));
        self.room.model.reply(edit);
        self.send_and_read("change the file", &begin);
        let changed = || std::fs::read_to_string(self.room.path("work/made.txt")).unwrap();
        wait_for("the change", || changed().trim_end() == "changed");
        self.rests();
    }

    fn shows_an_error(&self) {
        self.room.model.always(Some(Reply::error(400)));
        self.send_message("fail with 400");
        wait_for("the error", || self.screen()["reading"]["state"] == "error");
        self.wait_for_text("scripted failure 400");
        self.room.model.always(None);
        self.recovers();
    }
}
