//! `mission init`: the configuration of other programs gets our server in one
//! place, and is what it was afterwards.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{TestHome, binary, text};

/// A person's folder with the files of several clients in it.
struct Person {
    home: TestHome,
}

const CLAUDE: &str = "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" } // mine\n  }\n}\n";
const CODEX: &str = "# my settings\nmodel = \"gpt\" # the good one\n";

impl Person {
    fn new() -> Self {
        let person = Self {
            home: TestHome::new(),
        };
        for (file, text) in [(".claude.json", CLAUDE), (".codex/config.toml", CODEX)] {
            let path = person.file(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        person
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("person")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    fn init(&self, args: &[&str]) -> (Option<i32>, Value, String) {
        let args = [&["--json", "init"], args].concat();
        let mut command = self.home.command(&args);
        let output = command
            .env("HOME", self.folder())
            .env_remove("XDG_CONFIG_HOME")
            .current_dir(self.home.path())
            .output()
            .unwrap();
        let value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code(), value, text(&output.stderr))
    }
}

#[test]
fn the_agents_on_this_machine_get_the_server_once_and_lose_it_again() {
    let person = Person::new();
    let (code, shown, _) = person.init(&["--dry-run"]);
    assert_eq!(code, Some(0));
    assert_eq!(shown[0]["client"], "claude");
    assert_eq!(shown[1]["client"], "codex");
    let diff = shown[0]["diff"].as_str().unwrap();
    assert!(diff.contains("\n+    \"mission\": {\n"), "{diff}");
    assert!(
        diff.contains("\n-    \"other\": { \"command\": \"x\" } // mine\n"),
        "{diff}"
    );
    assert_eq!(person.read(".claude.json"), CLAUDE);

    assert_eq!(person.init(&[]).0, Some(0));
    let claude: String = person.read(".claude.json");
    assert!(
        claude.contains("{ \"command\": \"x\" }, // mine\n    \"mission\": {"),
        "{claude}"
    );
    assert!(person.read(".codex/config.toml").starts_with(CODEX));
    let (_, again, _) = person.init(&[]);
    assert_eq!(again[0]["outcome"], "is there already");
    assert_eq!(person.read(".claude.json"), claude);

    // What was written starts our server, and it answers.
    let plain = claude.replace(" // mine", "");
    let entry = serde_json::from_str::<Value>(&plain).unwrap()["mcpServers"]["mission"].clone();
    assert_eq!(entry["command"], json!(binary()));
    let mut server = Command::new(entry["command"].as_str().unwrap());
    let args = entry["args"].as_array().unwrap().iter();
    server.args(args.map(|arg| arg.as_str().unwrap()));
    for (name, value) in entry["env"].as_object().unwrap() {
        server.env(name, value.as_str().unwrap());
    }
    let asked = person.home.path().join("asked");
    std::fs::write(
        &asked,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}\n",
    )
    .unwrap();
    let answered = server
        .stdin(std::fs::File::open(asked).unwrap())
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&answered.stdout)
        .unwrap_or_else(|_| panic!("{}", text(&answered.stderr)));
    assert_eq!(answer["result"]["serverInfo"]["name"], "mission");

    let (code, undone, _) = person.init(&["--undo"]);
    assert_eq!((code, undone.as_array().unwrap().len()), (Some(0), 2));
    assert_eq!(person.read(".claude.json"), CLAUDE);
    assert_eq!(person.read(".codex/config.toml"), CODEX);
    assert_eq!(person.init(&["--undo"]).1, json!([]));
}

#[test]
fn a_file_that_was_changed_since_is_left_alone_unless_told_otherwise() {
    let person = Person::new();
    person.init(&["claude", "cursor"]);
    assert!(person.file(".cursor/mcp.json").exists());
    let edited = person.read(".claude.json").replace("7", "8");
    std::fs::write(person.file(".claude.json"), &edited).unwrap();
    let (code, undone, _) = person.init(&["--undo"]);
    assert_eq!(code, Some(1));
    let said = undone[0]["outcome"].as_str().unwrap();
    assert!(said.contains("`mission init --undo --force`"), "{said}");
    assert_eq!(person.read(".claude.json"), edited);
    assert!(
        !person.file(".cursor").exists(),
        "what was not there is gone"
    );
    assert_eq!(person.init(&["--undo", "--force"]).0, Some(0));
    assert_eq!(person.read(".claude.json"), CLAUDE.replace('7', "8"));
}

#[test]
fn an_odd_file_is_named_and_keeps_no_other_from_being_done() {
    let person = Person::new();
    std::fs::write(person.file(".claude.json"), "{ not json").unwrap();
    let (code, done, _) = person.init(&[]);
    assert_eq!(code, Some(1));
    let said = done[0]["error"].as_str().unwrap();
    assert!(said.contains(".claude.json cannot be changed"), "{said}");
    assert_eq!(done[1]["outcome"], "added");
    assert_eq!(person.read(".claude.json"), "{ not json");
}
