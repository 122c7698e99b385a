//! Conversations through the real daemon: what agents of executions say, and the
//! person's own transcripts as the real CLIs write them; across crashes, and with
//! two daemons on one database.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::commander::Agent;
use crate::executions::Stage;
use crate::harness::{TestHome, text, wait_for};
use crate::shared_database::SharedDatabase;

const CLAUDE: &str = include_str!("../crates/adapters/tests/transcripts/claude.jsonl");
const CODEX: &str = include_str!("../crates/adapters/tests/transcripts/codex.jsonl");
const GEMINI: &str = include_str!("../crates/adapters/tests/transcripts/gemini.jsonl");

const TALK: &str = r#"
  - uses: always
    steps:
      - say: The pelican lives in src/birds.rs, at line 40.
      - run: {argv: ["true", "heronry"]}
      - say: Nothing else was found.
"#;

/// A person's home folder with transcripts in it, and a daemon that sees it.
struct Person {
    home: TestHome,
    folder: tempfile::TempDir,
}

impl Person {
    fn new(config: &str) -> Self {
        Self::with_home(TestHome::with_config(config))
    }

    fn with_home(home: TestHome) -> Self {
        Self {
            home,
            folder: tempfile::Builder::new()
                .prefix("person-")
                .tempdir()
                .unwrap(),
        }
    }

    /// Programs compare folders by their real path.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The transcripts of three CLIs, all led in `app`.
    fn furnish(&self) {
        std::fs::create_dir_all(self.path("app/.git")).unwrap();
        let app = self.path("app").display().to_string();
        let here = |text: &str| text.replace("/src/app", &app);
        self.write(
            ".claude/projects/-app/0c4aeb47-79c0-417a-a3bd-52a92665f810.jsonl",
            &here(CLAUDE),
        );
        self.write(
            ".codex/sessions/2026/11/15/rollout-2026-11-15T20-04-07-01a1e0cf.jsonl",
            &here(CODEX),
        );
        self.write(".gemini/tmp/app/.project_root", &app);
        self.write(
            ".gemini/tmp/app/chats/session-8ec6a317.jsonl",
            &here(GEMINI),
        );
    }

    fn start(&self) {
        start_with_home(&self.home, self.folder.path());
    }

    /// The person's own conversations.
    fn list(&self) -> Vec<Value> {
        let mut all = listed(&self.home, &[]);
        all.retain(|one| one["execution"].is_null());
        all
    }
}

pub(crate) fn start_with_home(home: &TestHome, person: &Path) {
    let started = home
        .command(&["daemon", "start"])
        .env("HOME", person)
        .env_remove("CLAUDE_CONFIG_DIR")
        .env_remove("CODEX_HOME")
        .env_remove("GEMINI_CLI_HOME")
        .env_remove("XDG_DATA_HOME")
        .output()
        .unwrap();
    assert!(started.status.success(), "{started:?}");
}

fn listed(home: &TestHome, within: &[&str]) -> Vec<Value> {
    let command = [&["conversation", "list"], within].concat();
    let answer = home.json(&command);
    answer["conversations"].as_array().unwrap().clone()
}

fn config_for(person: &Path) -> String {
    let app = person.canonicalize().unwrap().join("app");
    format!("[conversations]\nprojects = [\"{}\"]\n", app.display())
}

/// What was said in a conversation, a line each.
fn messages_of(home: &TestHome, conversation: &Value) -> Vec<String> {
    let id = conversation["id"].as_str().unwrap();
    let shown = home.json(&["conversation", "show", id, "--limit", "500"]);
    let items = shown["items"].as_array().unwrap();
    let texts = items.iter().filter(|item| item["kind"] == "message");
    texts
        .map(|item| {
            format!(
                "{}: {}",
                item["role"].as_str().unwrap(),
                item["text"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn what_is_said_in_an_execution_is_taken_in_and_found() {
    let stage = Stage::new();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let prompt = format!("where is the pelican, 鹈鹕在哪里, {secret}");
    let ended = stage.start(TALK, &["--wait", "--signals", "none"], &prompt);
    let home = &stage.home;
    wait_for("the conversation to be there", || {
        let all = listed(home, &[]);
        all.first().is_some_and(|one| one["messages"] == 3)
    });
    let one = listed(home, &[])[0].clone();
    assert_eq!(one["execution"], ended["execution"]);
    assert_eq!(one["engine"], "rehearsal");
    assert_eq!(one["turns"], 1);
    assert_eq!(one["tool_calls"], 1);
    assert_eq!(one["skipped"], 0);
    assert!(one["slot"].is_string());
    assert_eq!(
        messages_of(home, &one),
        [
            "person: where is the pelican, 鹈鹕在哪里, [masked GitHub token]",
            "agent: The pelican lives in src/birds.rs, at line 40.",
            "agent: Nothing else was found.",
        ]
    );
    let session = one["session"].as_str().unwrap();
    let shown = home.json(&[
        "conversation",
        "show",
        &session[..13],
        "--newest",
        "--limit",
        "1",
    ]);
    assert_eq!(shown["items"].as_array().unwrap().len(), 1);
    assert_eq!(shown["turns"][0]["answer"], "Nothing else was found.");

    // By words, by an identifier, by a phrase, in Chinese; through the command
    // line and through MCP.
    let first = |query: &str| home.json(&["conversation", "search", query])["hits"][0].clone();
    let hit = first("where do pelicans live");
    let snippet = hit["snippet"].as_str().unwrap();
    assert!(snippet.contains("pelican"), "{hit}");
    let (start, end) = (
        hit["highlights"][0][0].as_u64().unwrap() as usize,
        hit["highlights"][0][1].as_u64().unwrap() as usize,
    );
    assert!(snippet.get(start..end).is_some(), "{hit}");
    assert_eq!(first("src/birds.rs")["role"], "agent");
    assert_eq!(
        first("\"nothing else\"")["place"],
        shown["items"][0]["place"]
    );
    assert_eq!(first("鹈鹕")["role"], "person");
    // What a tool was told is found too, and says that it was told to a tool.
    let told = first("which heronry command was run");
    assert!(told["tool"].is_string(), "{told}");
    assert!(
        told["snippet"].as_str().unwrap().contains("heronry"),
        "{told}"
    );
    let mut agent = Agent::start(home, &["--toolset", "conversations"]);
    let found = agent.done("conversation_search", json!({ "query": "pelican" }));
    assert_eq!(found["hits"][0]["conversation"], one["id"]);
    let read = agent.done("conversation_show", json!({ "conversation": one["id"] }));
    assert_eq!(read["items"].as_array().unwrap().len(), 4);
    let all = agent.done("conversation_list", json!({ "engine": "rehearsal" }));
    assert_eq!(all["conversations"][0]["id"], one["id"]);
    let none = agent.done("conversation_list", json!({ "engine": "codex" }));
    assert_eq!(none["conversations"], json!([]));

    // What went before, as a person and as an agent ask for it.
    let folder = one["project"].as_str().unwrap();
    let lately = home.json(&["conversation", "turns", "--project", folder]);
    let first = &lately["turns"][0];
    assert_eq!(first["answer"], "Nothing else was found.");
    assert_eq!(first["tool_calls"], 1);
    let source = first["source"].as_str().unwrap();
    assert!(source.starts_with("rehearsal conversation "), "{source}");
    let about = |query: &str| {
        let params = json!({ "project": folder, "query": query });
        let found = home.json(&["call", "conversation_turns", &params.to_string()]);
        found["turns"].as_array().unwrap().clone()
    };
    assert_eq!(about("pelican")[0]["prompt"], first["prompt"]);
    assert_eq!(about("xylophone"), [Value::Null; 0]);
    // What goes before a prompt is what was said, not what was typed into tools.
    assert_eq!(about("heronry"), [Value::Null; 0]);
    let elsewhere = agent.done("conversation_turns", json!({ "project": "/no/such" }));
    assert_eq!(elsewhere["turns"], json!([]));

    home.mission(&["down"]);
    home.wait_until_gone();
    let stored = std::fs::read(home.home().database()).unwrap();
    let holds = |needle: &[u8]| stored.windows(needle.len()).any(|part| part == needle);
    assert!(!holds(secret.as_bytes()), "a secret is in the database");
}

#[test]
fn own_conversations_are_taken_in_where_the_person_said_so() {
    let person = Person::new("");
    person.furnish();
    // Led elsewhere, and no conversation at all.
    person.write(
        ".claude/projects/-else/ffff.jsonl",
        &CLAUDE.replace("/src/app", "/somewhere/else"),
    );
    person.write(".claude/projects/-app/broken.jsonl", "{\"cwd\":\n\u{1}\n");
    person.start();
    // When what is said in an execution is there, the others were looked for too.
    person.write(
        "app/talk.yaml",
        &format!("rehearsal: 1\nstartup: 0.1\nturns:\n{TALK}"),
    );
    let app = person.path("app").display().to_string();
    person.home.json(&[
        "run",
        "hello",
        "--engine",
        "rehearsal",
        "--cwd",
        &app,
        "--wait",
        "--signals",
        "none",
        "--",
        "talk.yaml",
        "--speed",
        "50",
    ]);
    wait_for("the conversation of the execution", || {
        !listed(&person.home, &["--engine", "rehearsal"]).is_empty()
    });
    assert_eq!(listed(&person.home, &[]).len(), 1);

    person.home.write_config(&config_for(person.folder.path()));
    person.home.json(&["daemon", "reload"]);
    wait_for("three conversations", || person.list().len() == 3);
    wait_for("all of each", || {
        person
            .list()
            .iter()
            .all(|one| one["messages"] == 5 && one["turns"] == 2)
    });
    for one in person.list() {
        assert_eq!(one["project"], person.path("app").display().to_string());
        assert_eq!(one["title"], "think aloud");
        assert!(one["execution"].is_null());
        assert_eq!(one["tool_calls"], 1);
        assert_eq!(one["tokens"]["input"], 3 * 1234, "{one}");
        assert_eq!(
            messages_of(&person.home, &one),
            [
                "person: think aloud",
                "agent: Hello! I am a scripted model. This is the first sentence of my answer. \
                 Here is a second one, and then I am done.",
                "person: run ls",
                "agent: I will list the files.",
                "agent: The tool has finished. That is all I had to do.",
            ],
            "{one}"
        );
    }
    // What it cost is known by list prices, and Claude Code itself counts the same.
    for one in person.list() {
        let (listed, told) = match one["engine"].as_str().unwrap() {
            "claude" => (Some(18_168), json!(18_168)),
            "codex" => (Some(3 * (1234 * 5 + 56 * 30)), Value::Null),
            _ => (None, Value::Null),
        };
        let cost = &one["cost"];
        assert!(cost["unpriced"].is_null(), "{one}");
        let counted = cost["microdollars"].as_u64().unwrap();
        assert_eq!(counted, listed.unwrap_or(counted), "{one}");
        assert!(counted > 0, "{one}");
        assert_eq!(cost["told_microdollars"], told, "{one}");
    }
    let printed = person.home.mission(&["usage", "--days", "366"]);
    let printed = text(&printed.stdout);
    for said in [
        "claude-opus-5-5",
        "$0.01",
        "By list prices: Anthropic of 2026-",
    ] {
        assert!(printed.contains(said), "{printed}");
    }
    // The person's own price comes before a list, turn by turn.
    let priced = format!(
        "{}[[usage.prices]]\nmodel = \"*\"\ninput = 2\noutput = 10\ncache_read = 0.5\n",
        config_for(person.folder.path())
    );
    person.home.write_config(&priced);
    person.home.json(&["daemon", "reload"]);
    for one in person.list() {
        let tokens = |of: &Value, name: &str| of["tokens"][name].as_u64().unwrap();
        let cost = |of: &Value| {
            2 * (tokens(of, "input") + tokens(of, "cache_write"))
                + 10 * tokens(of, "output")
                + tokens(of, "cache_read") / 2
        };
        assert_eq!(one["cost"]["microdollars"], cost(&one), "{one}");
        let session = one["session"].as_str().unwrap();
        let shown = person.home.json(&["conversation", "show", session]);
        let turns = shown["turns"].as_array().unwrap();
        let input = turns.iter().map(|turn| tokens(turn, "input"));
        assert_eq!(input.collect::<Vec<_>>(), [1234, 2 * 1234], "{shown}");
        for turn in turns {
            assert_eq!(turn["cost"]["microdollars"], cost(turn), "{turn}");
        }
    }
    let report = person
        .home
        .json(&["call", "usage_report", "{\"days\": 366}"]);
    let dollars = |of: &Value| of["cost"]["microdollars"].as_u64().unwrap();
    let models = report["models"].as_array().unwrap();
    assert!(models.len() >= 3, "{report}");
    assert_eq!(models.iter().map(dollars).sum::<u64>(), dollars(&report));
    assert_eq!(listed(&person.home, &["--project", &app]).len(), 4);
    assert_eq!(listed(&person.home, &["--engine", "codex"]).len(), 1);
    let found = person.home.json(&[
        "conversation",
        "search",
        "scripted",
        "model",
        "--engine",
        "gemini",
        "--project",
        &app,
    ]);
    // A tool was told of it too.
    let hits = found["hits"].as_array().unwrap();
    assert!(hits[0]["tool"].is_null(), "{found}");
    assert_eq!(hits.iter().filter(|hit| hit["tool"].is_null()).count(), 1);
    let later = [
        "conversation",
        "search",
        "scripted",
        "--since",
        "2030-01-01T00:00:00Z",
    ];
    assert_eq!(person.home.json(&later)["hits"], json!([]));
    // Private reasoning is in the transcripts and nowhere else.
    person.home.mission(&["down"]);
    person.home.wait_until_gone();
    let stored = std::fs::read(person.home.home().database()).unwrap();
    let thought = b"weigh the options";
    assert!(!stored.windows(thought.len()).any(|part| part == thought));
}

#[test]
fn a_daemon_that_dies_while_it_takes_in_loses_nothing_and_has_nothing_twice() {
    let person = Person::with_home(TestHome::new());
    person.home.write_config(&config_for(person.folder.path()));
    std::fs::create_dir_all(person.path("app")).unwrap();
    let app = person.path("app");
    let file = person.write(".claude/projects/-app/c0ffee-1.jsonl", "");
    let mut written = 0_usize;
    let mut append = |count: usize| {
        let mut lines = String::new();
        for _ in 0..count {
            written += 1;
            let (role, content) = match written % 2 {
                1 => ("user", json!(format!("question {written}"))),
                _ => (
                    "assistant",
                    json!([{"type": "text", "text": format!("answer {written}")}]),
                ),
            };
            let line = json!({
                "type": role, "uuid": format!("u{written}"), "cwd": app,
                "timestamp": "2026-01-04T10:00:00Z",
                "message": {"role": role, "content": content},
            });
            lines.push_str(&format!("{line}\n"));
        }
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .unwrap();
        file.write_all(lines.as_bytes()).unwrap();
        written
    };
    for round in 0..6 {
        append(3000);
        person.start();
        // At another moment of the work each time.
        std::thread::sleep(std::time::Duration::from_millis(50 + 170 * round));
        person.home.kill();
    }
    let all = append(1);
    person.start();
    wait_for("everything to be there", || {
        person
            .list()
            .first()
            .is_some_and(|one| one["messages"] == all)
    });
    let one = person.list()[0].clone();
    assert_eq!(one["turns"], all.div_ceil(2));
    let mut after = 0;
    let mut expected = 0;
    loop {
        let params = json!({"conversation": one["id"], "after": after, "limit": 500});
        let page = person
            .home
            .json(&["call", "conversation_show", &params.to_string()]);
        for item in page["items"].as_array().unwrap() {
            expected += 1;
            let text = item["text"].as_str().unwrap();
            assert!(
                text.ends_with(&format!(" {expected}")),
                "{text}, not {expected}"
            );
            assert_eq!(item["place"], expected);
        }
        match page["next"].as_i64() {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(expected, all);
}

#[test]
fn two_daemons_on_one_database_have_everything_once_and_both_find_it() {
    let Some(database) = SharedDatabase::new() else {
        return;
    };
    let person = Person::new("");
    person.furnish();
    let config = format!("{}{}", database.config(), config_for(person.folder.path()));
    let homes = [
        TestHome::with_config(&config),
        TestHome::with_config(&config),
    ];
    for home in &homes {
        start_with_home(home, person.folder.path());
    }
    for home in &homes {
        wait_for("three conversations", || {
            let all = listed(home, &[]);
            all.len() == 3 && all.iter().all(|one| one["messages"] == 5)
        });
        let found = home.json(&["conversation", "search", "scripted", "model"]);
        let hits = found["hits"].as_array().unwrap();
        let said = hits.iter().filter(|hit| hit["tool"].is_null());
        assert_eq!(said.count(), 1, "the same words once: {found}");
        // Five messages and a tool call of each.
        assert_eq!(found["searched"], 18);
        for one in listed(home, &[]) {
            assert_eq!(
                (&one["turns"], &one["tool_calls"]),
                (&json!(2), &json!(1)),
                "{one}"
            );
        }
    }
    // The same answer on the same rows, whichever daemon is asked.
    let answers = homes
        .each_ref()
        .map(|home| home.json(&["conversation", "search", "files"])["hits"].clone());
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn what_cannot_be_asked_is_said() {
    let home = TestHome::started();
    let (_, said) = home.failure(&["conversation", "show", "nothing"]);
    assert!(
        said.contains("there is no conversation `nothing`"),
        "{said}"
    );
    let (_, said) = home.failure(&["conversation", "list", "--limit", "0"]);
    assert!(said.contains("must be from 1 to 200"), "{said}");
    let (_, said) = home.failure(&["conversation", "list", "--after", "x"]);
    assert!(said.contains("`next` of an earlier answer"), "{said}");
    let (_, said) = home.failure(&["conversation", "search", &"word ".repeat(1000)]);
    assert!(
        said.contains("the text is longer than 2000 characters"),
        "{said}"
    );
    let (_, said) = home.failure(&["conversation", "list", "--task", "T-99"]);
    assert!(said.contains("T-99"), "{said}");
    for query in ["AND (", "\"unclosed", "NEAR/3 *", "%_'"] {
        assert_eq!(
            home.json(&["conversation", "search", query])["hits"],
            json!([])
        );
    }
    let listed = home.mission(&["conversation", "list"]);
    let said = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(said.contains("conversations.projects"), "{said}");
    let config = TestHome::with_config("[conversations]\nprojects = [\"src\"]\n");
    let (_, said) = config.failure(&["daemon", "start"]);
    assert!(
        said.contains("must be an absolute path or begin with `~/`"),
        "{said}"
    );
}
