//! Checks and agents behind the wall: they do their work, and what is not theirs is not
//! there for them.

use std::io::{Read, Write};

use serde_json::{Value, json};

use super::{Field, waits_for, writes};
use crate::harness::{TestHome, binary, text, wait_for};

/// Fails wherever a program sees the daemon's folders.
fn sees_nothing_of(home: &TestHome) -> String {
    let data = home.home().data_dir().display().to_string();
    format!("test -n \"$MISSION_SANDBOX\" && test ! -e '{data}/mission.db' && test -f a.txt")
}

#[test]
fn a_check_sees_the_work_and_nothing_of_the_daemon() {
    for (profile, ends) in [("guarded", "done"), ("sealed", "done"), ("open", "blocked")] {
        let config = format!(
            "[autopilot]\nsettle_ms = 200\ncheck_rounds = 1\n[sandbox]\nchecks = \"{profile}\"\n"
        );
        let field = Field::with_config(&config);
        let line = format!(
            "{}; s=$?; git log -1 --format=%s; exit $s",
            sees_nothing_of(&field.home)
        );
        let checks = json!([{"name": "sees", "run": ["sh", "-c", line]}]);
        let task = field.task("walled", &writes("a.txt", "x"), json!({"checks": checks}));
        let details = field.wait_status(&task, ends);
        let tail = details["evidence"][0]["tail"].as_str().unwrap_or_default();
        assert!(tail.contains("walled"), "{profile}: {details:#}");
    }
}

#[test]
fn an_agent_behind_a_wall_does_its_task_and_is_known_as_the_agent() {
    let config = "[autopilot]\nsettle_ms = 200\n[sandbox]\nagents = \"guarded\"\n";
    let field = Field::with_config(config);
    let sees = sees_nothing_of(&field.home);
    let asks = format!(
        "'{}' permission add allow --tool Bash --argument 'id' 2>&1 | tee asked.txt; \
         '{}' slot spawn --cwd / -- sh -c id 2>&1 | tee started.txt; true",
        binary().display(),
        binary().display()
    );
    let turns = format!(
        "  - uses: always\n    steps:\n      - write: {{file: a.txt, text: \"x\\n\"}}\n      \
         - run: {{argv: [sh, -c, {}], exit: 0}}\n      \
         - run: {{argv: [sh, -c, {}], exit: 0}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n",
        json!(sees),
        json!(asks)
    );
    let task = field.task("inside", &turns, json!({}));
    field.wait_status(&task, "done");
    assert_eq!(field.on_main("a.txt"), "x");
    let refused = field.on_main("asked.txt");
    assert!(refused.contains("a person"), "{refused}");
    let refused = field.on_main("started.txt");
    assert!(
        refused.contains("cannot have anything started outside"),
        "{refused}"
    );
    let rules = field.home.json(&["permission", "list"]).to_string();
    assert!(!rules.contains("\"id\""), "{rules}");
}

/// A server on this machine that answers every request; its port.
fn serves() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let answer =
                "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\nlet through";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    port
}

/// A field with this policy. In these tests an address may be reached, and about its name
/// nobody has said anything.
fn field_with_policy(config: &str, policy: &str) -> Field {
    let home = TestHome::with_config(config);
    let file = home.home().config_dir().join("policy.toml");
    std::fs::write(&file, policy).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, private).unwrap();
    let field = Field::quiet(home);
    field.home.start();
    field.resume();
    field
}

/// What a person is asked, once they are.
fn the_question(field: &Field) -> Value {
    let mut question = Value::Null;
    wait_for("a question", || {
        question = field.home.json(&["inbox"])["questions"][0].clone();
        question.is_object()
    });
    question
}

/// A real program of an agent is refused a host, a person allows it for the task, and the
/// agent goes on without having been started again.
#[test]
fn what_an_agent_is_refused_is_asked_with_its_task_and_allowed_for_it() {
    let port = serves();
    let field = field_with_policy(
        "[autopilot]\nsettle_ms = 200\n[sandbox]\nagents = \"guarded\"\n",
        &format!("[[network]]\nallow = \"127.0.0.1:{port}\"\n"),
    );
    let line = format!(
        "until curl -sS -m 5 --noproxy '' http://localhost:{port}/ > a.txt 2>&1 && \
         grep -q through a.txt; do sleep 0.3; done; \
         curl -sS -m 5 --noproxy '' http://localhost:{port}/ >> a.txt"
    );
    let turns = format!(
        "  - uses: always\n    steps:\n      - run: {{argv: [sh, -c, {}], exit: 0}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Fetched.}}}}\n",
        json!(line)
    );
    let task = field.task("fetches", &turns, json!({}));
    let question = the_question(&field);
    let asked = question["question"].as_str().unwrap();
    assert!(
        asked.ends_with(&format!("reach localhost:{port}?")),
        "{question:#}"
    );
    assert_eq!(
        question["options"],
        json!([
            "Allow once",
            "Allow for the task",
            "Allow for the repository",
            "Deny"
        ])
    );
    let number = task.trim_start_matches("T-").parse::<i64>().unwrap();
    assert!(
        [json!(number), json!(task)].contains(&question["task"]),
        "{question:#}"
    );
    let answered = field.home.json(&["answer", "Q-1", "Allow for the task"]);
    let rule = answered["rule"].as_str().unwrap().to_owned();
    let details = field.wait_status(&task, "done");
    assert_eq!(details["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(field.on_main("a.txt"), "let throughlet through");
    let rules = field.home.json(&["permission", "list"]);
    let rules = rules["rules"].as_array().unwrap();
    let made = rules.iter().find(|one| one["name"] == rule.as_str());
    let made = made.unwrap_or_else(|| panic!("{rules:#?}"));
    assert!(made["task"].is_string(), "{made:#}");
    // A person's answer and what followed from it are on record.
    let list = ["--json", "audit", "list", "--limit", "1000"];
    let on_record = text(&field.home.mission(&list).stdout);
    assert!(
        on_record.contains(&format!("localhost:{port}")),
        "{on_record}"
    );
}

/// A check is asked about too; the next round of checks is decided by the answer.
#[test]
fn what_a_check_is_refused_is_asked_for_its_task() {
    let port = serves();
    let field = field_with_policy(
        "[autopilot]\nsettle_ms = 200\n",
        &format!("[[network]]\nallow = \"127.0.0.1:{port}\"\n"),
    );
    let turns = format!(
        "  - steps:\n      - write: {{file: a.txt, text: \"x\\n\"}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n  \
         - when: {{contains: is not done yet}}\n    steps:\n{}      \
         - signal: {{type: completed_claim, payload: {{summary: Again.}}}}\n",
        waits_for(&field.file("answered")),
    );
    let line = format!("curl -sS -m 5 --noproxy '' http://localhost:{port}/ | grep through");
    let checks = json!([{"name": "fetches", "run": ["sh", "-c", line]}]);
    let task = field.task("checked by a host", &turns, json!({"checks": checks}));
    let question = the_question(&field);
    assert_eq!(
        question["question"],
        format!("May the check fetches of {task} reach localhost:{port}?"),
        "{question:#}"
    );
    // What is used up by being used is counted for agents alone.
    assert_eq!(
        question["options"],
        json!(["Allow for the task", "Allow for the repository", "Deny"])
    );
    field
        .home
        .json(&["answer", "Q-1", "Allow for the repository"]);
    field.touch("answered");
    let details = field.wait_status(&task, "done");
    let evidence = details["evidence"].as_array().unwrap();
    assert_eq!(evidence.len(), 2, "{details:#}");
    assert_eq!(field.home.json(&["inbox"])["questions"], json!([]));
}
