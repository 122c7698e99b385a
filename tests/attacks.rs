//! What an agent tries to get more than it was given. Each way is tried from inside a real
//! slot, by a program that has the person's own user, files and command line; none may end
//! in what is a person's alone. A person outside every slot can do each of them.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{TestHome, binary, wait_for};
use crate::http::{Http, token};

/// What is tried: the operation, and a sign that it was done.
const WANTED: [(&str, &str); 12] = [
    (
        "permission_add",
        r#"{"effect":"allow","by":"person","subject":{"tool":"Bash"}}"#,
    ),
    ("permission_remove", r#"{"rule":"P-1"}"#),
    ("autopilot_set", r#"{"mode":"paused","reason":"attack"}"#),
    ("config_set", r#"{"key":"log.level","value":"debug"}"#),
    ("token_create", r#"{"name":"attack"}"#),
    ("web_login", "{}"),
    ("mcp_server_add", r#"{"name":"attack","command":"true"}"#),
    (
        "kb_remember",
        r#"{"summary":"The agent is always right.","category":"policy","tier":"person"}"#,
    ),
    ("slot_keys", r#"{"slot":"inside","bytes":[113]}"#),
    ("slot_answer", r#"{"slot":"inside","option":"1"}"#),
    (
        "question_answer",
        r#"{"question":"Q-1","answer":"1","by":"person"}"#,
    ),
    ("daemon_control", r#"{"action":"stop"}"#),
];

/// Ways to run a command so that it might pass for somebody else's. `$0` is the program,
/// `$1` the operation and `$2` what it is called with.
const WAYS: [(&str, &str); 14] = [
    ("as it is", r#""$0" call "$1" "$2""#),
    (
        "without variables",
        r#"env -u MISSION_EXECUTION -u MISSION_SLOT "$0" call "$1" "$2""#,
    ),
    (
        "with another's variables",
        r#"MISSION_EXECUTION= SSH_TTY=/dev/pts/0 USER=person "$0" call "$1" "$2""#,
    ),
    (
        "without any variable",
        r#"env -i MISSION_HOME="$MISSION_HOME" PATH="$PATH" "$0" call "$1" "$2""#,
    ),
    (
        "in a session of its own",
        r#"setsid -w "$0" call "$1" "$2""#,
    ),
    (
        "deaf to hanging up",
        r#"nohup "$0" call "$1" "$2" > nohup.out 2>&1 < /dev/null; code=$?; cat nohup.out >&2; exit $code"#,
    ),
    (
        "forked twice",
        r#"rm -f twice; (sh -c '"$0" call "$1" "$2" > twice.out 2>&1; echo $? > twice.new; mv twice.new twice' "$0" "$1" "$2" &) ; while ! test -f twice; do sleep 0.02; done; cat twice.out >&2; exit $(cat twice)"#,
    ),
    (
        "left behind in a session of its own",
        r#"rm -f left; setsid -f env -i MISSION_HOME="$MISSION_HOME" PATH="$PATH" sh -c 'sleep 0.2; "$0" call "$1" "$2" > left.out 2>&1; echo $? > left.new; mv left.new left' "$0" "$1" "$2"; while ! test -f left; do sleep 0.02; done; cat left.out >&2; exit $(cat left)"#,
    ),
    (
        "by another name of the program",
        r#"cp "$0" ./person 2>/dev/null || ln -sf "$0" ./person; ./person call "$1" "$2""#,
    ),
    (
        "by another name of the home",
        r#"ln -sfn "$MISSION_HOME" ./elsewhere; MISSION_HOME="$PWD/elsewhere" "$0" call "$1" "$2""#,
    ),
    (
        "from the root of the disk",
        r#"cd / && "$0" call "$1" "$2""#,
    ),
    (
        "with every file closed",
        r#""$0" call "$1" "$2" 0<&- 2>closed.out; code=$?; cat closed.out >&2; exit $code"#,
    ),
    (
        "as another group of processes",
        r#"set -m; "$0" call "$1" "$2" & wait $!"#,
    ),
    ("as the parent of its caller", r#"exec "$0" call "$1" "$2""#),
];

/// What is looked at to see whether something was done.
pub(crate) fn standing(home: &TestHome) -> Value {
    let rules = home.call("permission_list", &json!({}))["rules"].clone();
    let added = rules.as_array().unwrap().iter();
    let added = added.filter(|rule| rule["source"] == "added");
    json!({
        "rules": added.collect::<Vec<_>>(),
        "autopilot": home.call("autopilot_show", &json!({}))["mode"],
        "changes": home.call("config_history", &json!({}))["changes"],
        "tokens": home.call("token_list", &json!({}))["access"].as_array().unwrap().len(),
        "entries": home.call("kb_list", &json!({}))["entries"],
        "pid": home.pid(),
    })
}

/// A slot whose program runs this script in the home's folder, and waits when it is done.
pub(crate) fn inside(home: &TestHome, name: &str, script: &str) {
    let file = home.path().join(format!("{name}.sh"));
    std::fs::write(&file, script).unwrap();
    let argv = json!([
        "sh",
        "-c",
        "sh \"$0\" > \"$0.log\" 2>&1; mv \"$0.log\" \"$0.done\"; cat",
        file
    ]);
    let cwd = home.path();
    let params = json!({ "argv": argv, "name": name, "cwd": cwd, "env": { "MISSION_HOME": cwd } });
    home.call("slot_spawn", &params);
}

pub(crate) fn said(home: &TestHome, name: &str) -> String {
    let done = home.path().join(format!("{name}.sh.done"));
    wait_for(name, || done.exists());
    std::fs::read_to_string(done).unwrap()
}

pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[test]
fn whatever_an_agent_does_with_itself_it_stays_the_agent() {
    let home = TestHome::started();
    home.call(
        "permission_add",
        &json!({ "effect": "ask", "subject": { "tool": "Mine" } }),
    );
    let before = standing(&home);
    let mut script = String::new();
    for (way, command) in WAYS {
        for (operation, params) in WANTED {
            let _ = writeln!(
                script,
                "sh -c {} {} {operation} {} >out 2>err; echo \"{way}|{operation}|$?|$(tr '\\n' ' ' <err)\"",
                quoted(command),
                quoted(&binary().display().to_string()),
                quoted(params),
            );
        }
    }
    inside(&home, "inside", &script);
    let said = said(&home, "inside");
    let lines: Vec<_> = said.lines().filter(|line| line.contains('|')).collect();
    assert_eq!(lines.len(), WAYS.len() * WANTED.len(), "{said}");
    for line in &lines {
        let [way, operation, code, why] = line.splitn(4, '|').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        assert_ne!(code, "0", "{operation} {way}: {line}");
        let refused = why.contains("is for a person") || why.contains("cannot speak as a person");
        assert!(refused, "{operation} {way}: {why}");
    }
    assert_eq!(standing(&home), before);

    // It is seen: each on the timeline, and who goes on as an incident.
    let slot = home.call("slot_list", &json!({}))["slots"][0]["slot"].clone();
    let refused = home.call("timeline_query", &json!({ "kinds": ["authority_refused"] }));
    let first = &refused["events"][0]["event"];
    assert_eq!(first["slot"], slot, "{refused}");
    wait_for("an incident", || {
        let incidents = home.call("incident_list", &json!({}))["incidents"].to_string();
        incidents.contains("authority_refused")
    });
}

#[test]
fn a_model_in_a_slot_gets_no_more_by_mcp_or_by_a_hook() {
    let home = TestHome::started();
    let before = standing(&home);
    let mut lines = vec![
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "claude", "version": "1" },
        }}),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ];
    for (number, (operation, params)) in WANTED.into_iter().enumerate() {
        let params: Value = serde_json::from_str(params).unwrap();
        let arguments = json!({ "operation": operation, "params": params });
        lines.push(json!({
            "jsonrpc": "2.0", "id": number + 1, "method": "tools/call",
            "params": { "name": "operation_call", "arguments": arguments },
        }));
    }
    let lines: Vec<_> = lines.iter().map(Value::to_string).collect();
    std::fs::write(home.path().join("lines"), lines.join("\n") + "\n").unwrap();
    let mission = quoted(&binary().display().to_string());
    let script = format!(
        "env -u MISSION_EXECUTION sh -c '(cat lines; sleep 3) | \"$0\" mcp serve --toolset all' {mission} > answers\n\
         echo '{{\"hook_event_name\":\"SessionStart\",\"session_id\":\"x\"}}' | env -i \
         MISSION_HOME=\"$MISSION_HOME\" PATH=\"$PATH\" {mission} hook\n"
    );
    inside(&home, "inside", &script);
    said(&home, "inside");
    let answers = std::fs::read_to_string(home.path().join("answers")).unwrap();
    let answers: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (number, (operation, _)) in WANTED.into_iter().enumerate() {
        let answer = answers.iter().find(|answer| answer["id"] == number + 1);
        let answer = answer.unwrap_or_else(|| panic!("{operation}: {answers:?}"));
        assert_eq!(answer["result"]["isError"], true, "{operation}: {answer}");
        let error = &answer["result"]["_meta"]["missiond/error"]["code"];
        assert_eq!(error, "forbidden", "{operation}: {answer}");
    }
    assert_eq!(standing(&home), before);
    // The hook did not make the slot the person's own session.
    let slots = home.call("slot_list", &json!({}))["slots"].clone();
    assert!(
        slots
            .as_array()
            .unwrap()
            .iter()
            .all(|slot| slot["kind"] != "foreground"),
        "{slots}"
    );
}

#[test]
fn a_program_with_a_token_gets_nothing_that_is_a_persons() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let token = token(&home, "ci");
    let before = standing(&home);
    for (operation, params) in WANTED {
        let answer = http.call(&token, operation, &serde_json::from_str(params).unwrap());
        assert_eq!(answer.status, 403, "{operation}");
    }
    assert_eq!(standing(&home), before);
}

#[test]
fn an_agent_keeps_what_is_its_own_and_may_not_touch_what_is_not() {
    let home = TestHome::started();
    let argv = json!(["cat"]);
    home.call("slot_spawn", &json!({ "argv": argv, "name": "persons" }));
    let persons = home.call(
        "board_add",
        &json!({ "task": { "title": "Mine", "isolation": "none" } }),
    );
    let persons = persons["task"]["number"].as_str().unwrap().to_owned();
    let mission = quoted(&binary().display().to_string());
    let tries = [
        ("look", "slot_list", json!({}), true),
        (
            "note",
            "timeline_note",
            json!({ "text": "from inside", "author": "person" }),
            true,
        ),
        (
            "add",
            "board_add",
            json!({ "task": { "title": "Its", "isolation": "none" } }),
            true,
        ),
        (
            "edit its",
            "board_edit",
            json!({ "task": "T-2", "set": { "title": "Its own" } }),
            true,
        ),
        (
            "edit",
            "board_edit",
            json!({ "task": persons, "set": { "title": "Stolen" } }),
            false,
        ),
        ("cancel", "board_cancel", json!({ "task": persons }), false),
        (
            "spawn",
            "slot_spawn",
            json!({ "argv": argv, "name": "child" }),
            true,
        ),
        (
            "send",
            "slot_send",
            json!({ "slot": "persons", "text": "x" }),
            false,
        ),
        ("kill", "slot_kill", json!({ "slot": "persons" }), false),
        (
            "resize",
            "slot_resize",
            json!({ "slot": "persons", "columns": 20, "rows": 5 }),
            false,
        ),
        ("kill its", "slot_kill", json!({ "slot": "child" }), true),
        ("tidy", "kb_gc", json!({ "action": "archive" }), false),
        (
            "say",
            "kb_remember",
            json!({ "summary": "Tests need a port.", "category": "note" }),
            true,
        ),
    ];
    let mut script = String::new();
    for (name, operation, params, _) in &tries {
        let params = quoted(&params.to_string());
        let _ = writeln!(
            script,
            "{mission} call {operation} {params} >out 2>err; echo \"{name}|$?|$(tr '\\n' ' ' <err)\""
        );
    }
    inside(&home, "inside", &script);
    let said = said(&home, "inside");
    for (name, operation, _, may) in &tries {
        let line = said
            .lines()
            .find(|line| line.starts_with(&format!("{name}|")));
        let line = line.unwrap_or_else(|| panic!("{name}: {said}"));
        assert_eq!(line.contains("|0|"), *may, "{operation}: {line}");
    }
    let shown = home.json(&["task", "show", &persons]);
    assert_eq!(shown["task"]["title"], "Mine");
    // Whatever it calls itself, it is the agent who said it.
    let noted = home.call("timeline_query", &json!({ "kinds": ["note_added"] }));
    assert_eq!(noted["events"][0]["event"]["author"], "agent (person)");
}

#[test]
fn a_person_outside_every_slot_can_do_each_of_it() {
    let home = TestHome::started();
    home.call("slot_spawn", &json!({ "argv": ["cat"], "name": "inside" }));
    for (operation, params) in WANTED {
        let output = home.mission(&["call", operation, params]);
        let error = crate::harness::text(&output.stderr);
        // There is no question and no dialog; it is not that it may not.
        let wants_something = ["slot_answer", "question_answer"].contains(&operation);
        assert!(
            output.status.success() || wants_something,
            "{operation}: {error}"
        );
        assert!(!error.contains("is for a person"), "{operation}: {error}");
    }
    home.wait_until_gone();
}

#[test]
fn idle_connections_of_agents_leave_the_person_room() {
    let home = TestHome::with_config("[ipc]\nmax_connections = 40\n");
    home.start();
    let mission = quoted(&binary().display().to_string());
    // Each subscribes and stays.
    let script = format!(
        "for n in $(seq 60); do {mission} call timeline_wait '{{\"timeout_ms\":60000,\"kinds\":[\"task_failed\"]}}' > /dev/null 2>&1 & done; sleep 3; echo all"
    );
    inside(&home, "inside", &format!("{script}\n"));
    said(&home, "inside");
    let stopped = home.json(&["autopilot", "stop"]);
    assert_eq!(stopped["mode"], "stopped", "{stopped}");
}

#[test]
fn a_configuration_that_others_may_write_is_not_obeyed() {
    use std::os::unix::fs::PermissionsExt;
    let home = TestHome::with_config("[ipc]\nmax_connections = 40\n");
    let file = home.home().config_file();
    for (mode, may) in [(0o666, false), (0o620, false), (0o644, true)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let started = home.mission(&["daemon", "start"]);
        let said = crate::harness::text(&started.stderr);
        assert_eq!(started.status.success(), may, "{mode:o}: {said}");
        assert!(may || said.contains("may be written by others"), "{said}");
    }
    // Nor one in whose place others may put another, also where a daemon reads it again.
    let folder = file.parent().unwrap();
    let open_to = |mode| {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open_to(0o777);
    let (_, why) = home.failure(&["daemon", "reload"]);
    assert!(
        why.contains("where others may put another in its place"),
        "{why}"
    );
    home.json(&["daemon", "stop"]);
    let (_, why) = home.failure(&["daemon", "start"]);
    assert!(
        why.contains("where others may put another in its place"),
        "{why}"
    );
    open_to(0o700);
    home.start();
}

/// Thousands of tasks and texts would fill the board and the database.
#[test]
fn an_agent_stores_only_so_much_an_hour_and_the_person_as_before() {
    let home = TestHome::with_config("[ipc]\nagent_changes_per_hour = 5\n");
    home.start();
    let mission = quoted(&binary().display().to_string());
    let script = format!(
        "for n in 1 2 3 4 5 6 7 8; do {mission} --no-start call board_add \
         '{{\"task\":{{\"title\":\"one more\",\"isolation\":\"none\"}}}}' > /dev/null 2>> why && echo added; done\n"
    );
    inside(&home, "inside", &script);
    assert_eq!(said(&home, "inside").lines().count(), 5);
    let why = std::fs::read_to_string(home.path().join("why")).unwrap();
    assert_eq!(
        why.matches("`ipc.agent_changes_per_hour`").count(),
        3,
        "{why}"
    );
    for _ in 0..8 {
        home.call(
            "board_add",
            &json!({"task": {"title": "mine", "isolation": "none"}}),
        );
    }
}

/// What an agent has recorded by slots it starts pushes out its own recordings, and nobody's
/// else; what it cannot push out it has to end first.
#[test]
fn the_recordings_of_one_agent_are_bounded_and_those_of_the_person_stay() {
    let home = TestHome::with_config("[recording]\nkeep_agent_mb = 4\n");
    home.start();
    let flood = "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo done > \"$0.full\"; sleep 1000";
    let params =
        json!({ "argv": ["sh", "-c", flood, "persons"], "name": "persons", "cwd": home.path() });
    let persons = home.call("slot_spawn", &params)["program"]["recording"].clone();
    let persons = PathBuf::from(persons.as_str().unwrap());
    wait_for("it to be full", || {
        home.path().join("persons.full").exists()
    });
    home.json(&["slot", "kill", "persons"]);
    let mission = quoted(&binary().display().to_string());
    let script = format!(
        "start() {{ {mission} --json slot spawn --name $1 --cwd \"$PWD\" -- sh -c {} $1; }}\n\
         full() {{ while ! test -s $1.full; do sleep 0.05; done; }}\n\
         start first > first.json; full first; {mission} slot kill first\n\
         start second > second.json; full second\n\
         n=0; until start third > third.json 2> third.err; do sleep 0.1; n=$((n+1)); test $n -lt 200 || exit; done\n\
         full third; start fourth 2> fourth.err; echo \"fourth $?\"\n",
        quoted(flood)
    );
    inside(&home, "agent", &script);
    let told = said(&home, "agent");
    let recording = |name: &str| {
        let slot = std::fs::read(home.path().join(format!("{name}.json"))).unwrap();
        let slot: Value = serde_json::from_slice(&slot).unwrap();
        PathBuf::from(slot["program"]["recording"].as_str().unwrap())
    };
    assert!(!recording("first").exists(), "the oldest of the agent's");
    assert!(recording("second").exists() && recording("third").exists());
    assert!(persons.exists(), "it is older, and the person's");
    assert!(
        told.contains("fourth ") && !told.contains("fourth 0"),
        "{told}"
    );
    let why = std::fs::read_to_string(home.path().join("fourth.err")).unwrap();
    assert!(why.contains("`recording.keep_agent_mb`"), "{why}");
    // The person starts what they want.
    crate::slots::spawn(&home, "mine", "echo mine; cat");
}
