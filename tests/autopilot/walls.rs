//! Checks and agents behind the wall: they do their work, and what is not theirs is not
//! there for them.

use std::io::{Read, Write};
use std::process::Command;

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

/// Two agents at work in one repository: what one keeps in its worktree, its environment and
/// its memory is not there for the other, and the daemon tells it nothing of it either.
#[test]
fn two_agents_in_one_repository_see_nothing_of_each_other() {
    let config = "[autopilot]\nsettle_ms = 200\n[sandbox]\nagents = \"guarded\"\n";
    let field = Field::with_config(config);
    let kept = "a5f19keeps";
    let keeps = format!(
        "echo {kept} > secret.txt; echo {kept} > /tmp/secret; echo {kept} > /dev/shm/secret; \
         git add secret.txt; env KEPT={kept} sh -c 'pwd > {place}.new; mv {place}.new {place}; \
         until test -e {looked}; do sleep 0.1; done'; rm secret.txt; git rm --quiet --cached \
         secret.txt; echo done > a.txt",
        place = "\"$PLACE\"",
        looked = "\"$LOOKED\"",
    );
    let with = |line: &str| {
        format!(
            "PLACE='{}'; LOOKED='{}'; SEEN='{}'; LOOK='{}'; export PLACE LOOKED SEEN LOOK; {line}",
            field.file("place").display(),
            field.file("looked").display(),
            field.file("seen").display(),
            field.file("look.sh").display()
        )
    };
    let turns = |line: &str| {
        format!(
            "  - uses: always\n    steps:\n      - run: {{argv: [sh, -c, {}], exit: 0}}\n      \
             - signal: {{type: completed_claim, payload: {{summary: Done.}}}}\n",
            json!(with(line))
        )
    };
    let keeper = field.task("keeps", &turns(&keeps), json!({}));
    wait_for("the first agent to keep something", || {
        field.file("place").exists()
    });
    let place = field.lines("place").remove(0);
    let secret = std::fs::read_to_string(format!("{place}/secret.txt")).unwrap();
    assert_eq!(secret.trim(), kept);
    let git = Command::new("git")
        .args(["rev-parse", "--absolute-git-dir"])
        .current_dir(&place)
        .output()
        .unwrap();
    let git = String::from_utf8(git.stdout).unwrap();
    // The process that has it in its environment, from outside.
    let holder = std::fs::read_dir("/proc").unwrap().flatten().find(|entry| {
        let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let wanted = format!("KEPT={kept}");
        environ
            .split(|byte| *byte == 0)
            .any(|one| one == wanted.as_bytes())
    });
    let holder = holder.expect("the first agent's program runs");
    let holder = holder.file_name().to_string_lossy().into_owned();
    let look = format!(
        "A='{place}' GIT='{git}' RUN='{run}' PID={holder} TASK='{keeper}' M='{mission}'\n\
         export A\n{LOOKS}",
        git = git.trim().replace('\'', "'\\''"),
        run = field.home.home().run_dir().display(),
        mission = binary().display(),
    );
    std::fs::write(field.file("look.sh"), look).unwrap();
    // The file system that both see beside their work is the test's.
    let looks = "sh \"$LOOK\" > \"$SEEN\" 2>&1; touch \"$LOOKED\"; echo looked > b.txt";
    let looker = field.task("looks", &turns(looks), json!({}));
    field.wait_status(&looker, "done");
    field.wait_status(&keeper, "done");
    let seen = field.lines("seen");
    let escaped: Vec<_> = seen
        .iter()
        .filter(|line| line.contains("ESCAPED") || line.contains(kept))
        .collect();
    assert!(escaped.is_empty(), "{seen:#?}");
    let tried = seen.iter().filter(|line| line.starts_with("-- ")).count();
    assert_eq!(tried, LOOKS.matches("\ntry ").count(), "{seen:#?}");
    assert!(
        seen.iter()
            .any(|line| line.contains("is told nothing of other folders")),
        "{seen:#?}"
    );
    // The same looks find it where there is no wall: they are not blind.
    let open = Command::new("sh")
        .arg(field.file("look.sh"))
        .current_dir(field.repository())
        .env("MISSION_HOME", field.home.path())
        .output()
        .unwrap();
    let open = String::from_utf8_lossy(&open.stdout).into_owned();
    assert!(open.matches("ESCAPED").count() >= 2, "{open}");
}

/// Every look of one agent for another, a line each.
const LOOKS: &str = r#"
number=0
try() { number=$((number + 1)); echo "-- $number"; sh -c "$1" 2>&1; }
export GIT RUN PID TASK M
try 'cat "$A/secret.txt" && echo ESCAPED'
try 'ls "$A" && echo ESCAPED'
try 'cat "$(dirname "$PWD")"/*/secret.txt && echo ESCAPED'
try 'cd .. && ls | grep -vx "$(basename "$OLDPWD")" && echo ESCAPED'
try 'echo x > "$A/planted" && echo ESCAPED'
try 'ln -s "$A/secret.txt" link && cat link && echo ESCAPED; rm -f link'
try 'git -C "$A" status && echo ESCAPED'
try 'git worktree list | grep -F "$A" && echo ESCAPED'
try 'ls "$GIT" && echo ESCAPED'
try 'GIT_INDEX_FILE="$GIT/index" git ls-files --stage | grep secret.txt && echo ESCAPED'
try 'git --git-dir="$GIT" show :secret.txt && echo ESCAPED'
try 'tr "\0" "\n" < /proc/$PID/environ && echo ESCAPED'
try 'cat /proc/[0-9]*/environ | tr "\0" "\n" | grep ^KEPT= && echo ESCAPED'
try 'kill -0 $PID && echo ESCAPED'
try 'cat /tmp/secret /dev/shm/secret && echo ESCAPED'
try 'find / -name secret.txt -not -path "/proc/*" 2>/dev/null | grep . && echo ESCAPED'
try 'ls "$RUN/launches" | grep -v "^$" | wc -l | grep -qx 1 || { ls "$RUN/launches" && echo ESCAPED; }'
try 'ls "$RUN/egress" "$RUN/slots" && echo ESCAPED'
try '"$M" review "$A" && echo ESCAPED'
try '"$M" call worktree_diff "{\"worktree\": \"$TASK\"}" && echo ESCAPED'
try '"$M" call code_index "{\"path\": \"$A\"}" && echo ESCAPED'
try '"$M" slot spawn --cwd "$A" -- cat secret.txt && echo ESCAPED'
"#;
