//! The audit of a real daemon: what is on record, what becomes of it when somebody has been at
//! its files, its database or the journals, and what is left after a kill.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use missiond_api::Client;
use missiond_api::operations::attention::PermissionAddParams;
use missiond_api::operations::attention::permission::PermissionAdd;
use serde_json::{Value, json};

use crate::executions::Stage;
use crate::harness::{self, TestHome, binary, text, wait_for};
use crate::scripted_agent::Agents;
use crate::slots::spawn;

pub(crate) fn records(home: &TestHome) -> Vec<Value> {
    let listed = home.mission(&["--json", "audit", "list", "--limit", "100000"]);
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    let lines = text(&listed.stdout);
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Whether the audit is intact, and the names of what was found.
fn verified(home: &TestHome) -> (bool, Vec<String>) {
    let output = home.mission(&["--json", "audit", "verify"]);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let intact = report["intact"].as_bool().unwrap();
    assert_eq!(output.status.success(), intact, "{report}");
    let found = report["findings"].as_array().unwrap();
    let names = found.iter().map(|one| one["finding"].as_str().unwrap());
    (intact, names.map(str::to_owned).collect())
}

fn intact(home: &TestHome) {
    assert_eq!(verified(home), (true, Vec::new()));
}

fn tool_rule(home: &TestHome, tool: &str) {
    home.json(&["permission", "add", "deny", "--tool", tool]);
}

#[test]
fn what_is_done_refused_and_configured_is_on_record_with_who_and_what() {
    let home = TestHome::started();
    tool_rule(&home, "WebFetch");
    home.json(&["token", "create", "ci", "--scope", "read,work"]);
    home.json(&["autopilot", "pause"]);
    let script = format!(
        "MISSION_HOME={} {} permission add allow --tool Bash --argument '*'; echo tried; sleep 600",
        home.path().display(),
        binary().display()
    );
    spawn(&home, "inside", &script);
    crate::slots::wait_for_text(&home, "inside", "tried");
    home.write_config("[permissions]\nrules = [{ effect = \"ask\", tool = \"Bash\" }]\n");
    home.json(&["daemon", "reload"]);
    home.json(&["audit", "rotate-key"]);

    let all = records(&home);
    let of = |kind: &str, action: &str| {
        let mut fitting = all
            .iter()
            .filter(|one| one["kind"] == kind && one["action"] == action);
        let found = fitting
            .next()
            .unwrap_or_else(|| panic!("{kind} {action}: {all:#?}"));
        found.clone()
    };
    let added = of("call", "permission_add");
    assert_eq!(added["who"]["kind"], "person");
    assert_eq!(added["outcome"], "done");
    assert_eq!(added["digest"].as_str().unwrap().len(), 64);
    assert!(
        added["about"].as_str().unwrap().contains("WebFetch"),
        "{added}"
    );
    assert!(added["trace"].is_string());
    let refused = of("refusal", "permission_add");
    assert_eq!(refused["who"]["kind"], "agent");
    assert_eq!(refused["outcome"], "forbidden");
    for (kind, action) in [
        ("call", "token_create"),
        ("call", "autopilot_set"),
        ("configuration", "reload"),
        ("daemon", "start"),
        ("key", "make key"),
        ("key", "change key"),
    ] {
        of(kind, action);
    }
    let page = home.call("audit_list", &json!({"kind": "refusal"}));
    assert_eq!(page["records"][0], refused);
    let shown = home.json(&["audit", "show", &refused["seq"].to_string()]);
    assert_eq!(shown, refused);
    intact(&home);
    let exported = text(&home.mission(&["audit", "export"]).stdout);
    let file = fs::read_to_string(home.home().audit_dir().join("audit.jsonl")).unwrap();
    assert!(file.starts_with(&exported));
    home.json(&["daemon", "stop"]);
    intact(&home);
}

#[test]
fn the_decisions_of_rules_and_the_tools_of_agents_are_on_record() {
    let stage = Stage::new();
    stage.home.json(&[
        "permission",
        "add",
        "allow",
        "--tool",
        "Bash",
        "--argument",
        "ls *",
        "--by-sight",
    ]);
    let turns = r#"
  - steps:
      - ask:
          tool: Bash
          args: ls src
          question: Do you want to let it run this command?
          allow: [{write: {file: allowed, text: x}}]
          deny: [{write: {file: denied, text: x}}]
"#;
    stage.start(turns, &[], "go");
    wait_for("the rule to have allowed it", || {
        stage.file("allowed").exists()
    });
    let all = records(&stage.home);
    let decided = all.iter().find(|one| one["kind"] == "decision");
    let decided = decided.unwrap_or_else(|| panic!("{all:#?}"));
    assert_eq!(decided["who"]["kind"], "agent");
    assert_eq!(decided["action"], "Bash");
    assert_eq!(decided["about"], "ls src");
    assert_eq!(decided["rule"], "P-1");
    assert_eq!(decided["outcome"], "allow");
    intact(&stage.home);

    // The database says the same, and nobody changes that unseen.
    let home = &stage.home;
    let newest = home.call("permission_list", &json!({"decisions": 1}))["decisions"][0].clone();
    assert_eq!(newest["asked"]["command"], "ls src", "{newest}");
    assert_eq!(decided["decision"]["number"], 1);
    home.json(&["daemon", "stop"]);
    let saved = Saved::of(home);
    for (statement, expected) in [
        ("DELETE FROM permission_decisions", "decision_gone"),
        (
            "UPDATE permission_decisions SET effect = 'deny'",
            "decision_changed",
        ),
        (
            "UPDATE permission_decisions SET asked = '{}'",
            "decision_changed",
        ),
        (
            "UPDATE permission_decisions SET decided_at = decided_at + 1",
            "decision_changed",
        ),
    ] {
        let db = rusqlite::Connection::open(home.home().database()).unwrap();
        assert!(db.execute(statement, []).unwrap() > 0, "{statement}");
        drop(db);
        assert_eq!(
            verified(home),
            (false, vec![expected.to_owned()]),
            "{statement}"
        );
        saved.put_back(&DATABASE);
        intact(home);
    }
}

#[test]
fn the_tools_of_agents_and_the_approvals_of_people_are_on_record() {
    let script = r#"greet; open; hear
        call tool_call pending 'make ship'; may 5 'make ship'; hear
        call tool_call_update completed 'make ship'
        tell '{"sessionUpdate":"tool_call","toolCallId":"c2","kind":"execute","title":"Look","status":"in_progress","rawInput":{"command":"make sure"}}'
        tell '{"sessionUpdate":"tool_call_update","toolCallId":"c2","status":"completed"}'
        words "Shipped."; end 3"#;
    let agents = Agents::new("", &[("first", script), ("second", script)]);
    let home = &agents.home;
    agents.begin("first");
    agents.wait("first", "confirming");
    let mut inbox = Value::Null;
    wait_for("the question", || {
        inbox = home.call("question_list", &json!({}))["questions"].clone();
        !inbox.as_array().unwrap().is_empty()
    });
    // What an agent asks for is not approved by asking for it.
    let of_kind = |kind: &str| -> Vec<Value> {
        let all = records(home).into_iter();
        all.filter(|one| one["kind"] == kind).collect()
    };
    let approvals = || {
        let calls = of_kind("call").into_iter();
        let answers = ["question_answer", "slot_answer"];
        let approvals = calls.filter(|one| answers.contains(&one["action"].as_str().unwrap()));
        approvals.collect::<Vec<_>>()
    };
    assert_eq!(approvals(), Vec::<Value>::new());
    let number = format!("Q-{}", inbox[0]["number"]);
    home.json(&["answer", &number, "Yes"]);
    agents.wait_for_words("first", "Shipped.");
    agents.begin("second");
    agents.wait("second", "confirming");
    home.json(&["slot", "answer", "second", "Yes", "--wait", "30"]);
    agents.wait_for_words("second", "Shipped.");

    let approvals = approvals();
    let [by_question, by_slot] = &approvals[..] else {
        panic!("{approvals:#?}")
    };
    for (approval, action) in [(by_question, "question_answer"), (by_slot, "slot_answer")] {
        assert_eq!(approval["action"], action, "{approval}");
        assert_eq!(approval["who"]["kind"], "person", "{approval}");
        assert_eq!(approval["outcome"], "done", "{approval}");
        assert_eq!(approval["digest"].as_str().unwrap().len(), 64, "{approval}");
        assert!(approval["trace"].is_string(), "{approval}");
    }
    let about = by_question["about"].as_str().unwrap();
    assert!(about.contains("Yes"), "{by_question}");

    // Each tool once, with the digest of its exact input, also where nobody was asked.
    let mut tools = Vec::new();
    wait_for("the last tool to be on record", || {
        tools = of_kind("tool");
        tools.len() >= 4
    });
    let told: Vec<_> = tools
        .iter()
        .map(|one| one["about"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["Run it", "Look", "Run it", "Look"], "{tools:#?}");
    for (tool, agent) in tools.iter().zip(["first", "first", "second", "second"]) {
        let run = home.json(&["execution", "show", agent]);
        assert_eq!(tool["who"]["kind"], "agent", "{tool}");
        assert_eq!(tool["who"]["execution"], run["execution"], "{tool}");
        assert_eq!(tool["outcome"], "begun", "{tool}");
        assert!(tool["trace"].is_string(), "{tool}");
    }
    let digests: Vec<_> = tools
        .iter()
        .map(|one| one["digest"].as_str().unwrap())
        .collect();
    assert_eq!(digests[..2], digests[2..]);
    assert_ne!(digests[0], digests[1], "another input");
    intact(home);
}

/// A home with a history: rules, runs of agents, two starts of a daemon. Nothing runs in it.
fn with_history() -> Stage {
    let stage = Stage::new();
    tool_rule(&stage.home, "One");
    let turns = "\n  - steps:\n      - say: done\n      - exit: 0\n";
    let first = stage.start(turns, &[], "go");
    stage.wait(&first, "the run to end", |shown| {
        !shown["ended_at"].is_null()
    });
    stage.home.json(&["daemon", "stop"]);
    stage.home.start();
    tool_rule(&stage.home, "Two");
    tool_rule(&stage.home, "Three");
    stage.home.json(&["daemon", "stop"]);
    intact(&stage.home);
    stage
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else if from.is_file() {
        fs::copy(from, to).unwrap();
    }
}

/// The data folder as it was, to put back.
struct Saved {
    data: PathBuf,
    copy: tempfile::TempDir,
}

impl Saved {
    fn of(home: &TestHome) -> Self {
        let copy = tempfile::tempdir().unwrap();
        let data = home.home().data_dir().to_owned();
        self::copy(&data, &copy.path().join("data"));
        Self { data, copy }
    }

    /// Puts back what is called so, or all of it.
    fn put_back(&self, names: &[&str]) {
        for name in names {
            let (from, to) = (
                self.copy.path().join("data").join(name),
                self.data.join(name),
            );
            let _ = fs::remove_dir_all(&to);
            let _ = fs::remove_file(&to);
            copy(&from, &to);
        }
    }
}

const DATABASE: [&str; 3] = ["mission.db", "mission.db-wal", "mission.db-shm"];

/// What somebody does to the lines of the log.
type Change<'c> = &'c dyn Fn(&mut Vec<String>);

#[test]
fn every_change_to_the_log_is_found() {
    let stage = with_history();
    let home = &stage.home;
    let saved = Saved::of(home);
    let file = home.home().audit_dir().join("audit.jsonl");
    let lines: Vec<String> = {
        let text = fs::read_to_string(&file).unwrap();
        text.lines().map(|line| format!("{line}\n")).collect()
    };
    // A record in the middle, with the head behind it.
    let place = |tool: &str| lines.iter().position(|line| line.contains(tool)).unwrap();
    let (middle, later) = (place("Two"), place("Three"));
    // Behind the last record stands the head that counts it, and perhaps another.
    let is_record = |line: &String| !line.contains("\"sig\":");
    let last = lines.iter().rposition(is_record).unwrap();
    let changes: [(&str, Change<'_>, &str); 8] = [
        (
            "changed",
            &|l| l[middle] = l[middle].replace("Two", "Too"),
            "changed",
        ),
        ("removed", &|l| drop(l.remove(middle)), "missing"),
        ("moved", &|l| l.swap(middle, later), "missing"),
        (
            "added",
            &|l| l.insert(middle + 1, l[middle].clone()),
            "out_of_place",
        ),
        (
            "without its beginning",
            &|l| drop(l.drain(..2)),
            "beginning_missing",
        ),
        ("without its end", &|l| l.truncate(middle), "end_missing"),
        (
            "without its last record",
            &|l| l.truncate(last),
            "end_missing",
        ),
        ("empty", &Vec::clear, "end_missing"),
    ];
    for (what, change, expected) in changes {
        let mut changed = lines.clone();
        change(&mut changed);
        fs::write(&file, changed.concat()).unwrap();
        let (sound, found) = verified(home);
        assert!(
            !sound && found.iter().any(|one| one == expected),
            "{what}: {found:?}"
        );
        saved.put_back(&["audit"]);
        intact(home);
    }
}

#[test]
fn an_older_copy_of_anything_is_found() {
    let stage = with_history();
    let home = &stage.home;
    let older = Saved::of(home);
    home.start();
    tool_rule(home, "Four");
    home.json(&["daemon", "stop"]);
    intact(home);
    let newer = Saved::of(home);

    // The log alone, with the file beside it too, the database alone.
    for (names, expected) in [
        (&["audit/audit.jsonl"][..], "end_missing"),
        (&["audit"], "end_missing"),
        (&["audit/head"], "set_back"),
        (&DATABASE, "set_back"),
    ] {
        older.put_back(names);
        let (sound, found) = verified(home);
        assert!(
            !sound && found.iter().any(|one| one == expected),
            "{names:?}: {found:?}"
        );
        newer.put_back(names);
        intact(home);
    }
    // The log with the database: of what came since, a journal knows.
    home.start();
    let turns = "\n  - steps:\n      - say: done\n      - exit: 0\n";
    let run = stage.start(turns, &[], "go");
    stage.wait(&run, "the run to end", |shown| !shown["ended_at"].is_null());
    home.json(&["daemon", "stop"]);
    intact(home);
    newer.put_back(&DATABASE);
    newer.put_back(&["audit"]);
    let (_, found) = verified(home);
    assert_eq!(found, ["end_missing"]);
}

#[test]
fn events_of_the_timeline_that_are_gone_or_changed_are_found() {
    let stage = with_history();
    let home = &stage.home;
    let saved = Saved::of(home);
    let of_kind = ["--json", "audit", "list", "--kind", "timeline"];
    let on_record = text(&home.mission(&of_kind).stdout);
    assert!(on_record.contains("events 1 to "), "{on_record}");
    for (statement, expected) in [
        ("DELETE FROM system_timeline WHERE seq = 3", "events_gone"),
        (
            "DELETE FROM system_timeline WHERE seq = (SELECT max(seq) FROM system_timeline)",
            "events_gone",
        ),
        ("DELETE FROM system_timeline", "events_gone"),
        (
            "UPDATE system_timeline SET payload = replace(payload, '\"', '\" ') WHERE seq = 2",
            "events_changed",
        ),
        (
            "UPDATE system_timeline SET payload = CAST(X'ff' AS TEXT) WHERE seq = 2",
            "events_unreadable",
        ),
        (
            "UPDATE system_timeline SET at = at - 1000000 WHERE seq = 4",
            "events_changed",
        ),
    ] {
        let db = rusqlite::Connection::open(home.home().database()).unwrap();
        assert!(db.execute(statement, []).unwrap() > 0, "{statement}");
        drop(db);
        let (sound, found) = verified(home);
        assert!(
            !sound && !found.is_empty() && found.iter().all(|one| one == expected),
            "{statement}: {found:?}"
        );
        saved.put_back(&DATABASE);
        intact(home);
    }
    // What comes after it is known again.
    home.start();
    tool_rule(home, "Four");
    home.json(&["daemon", "stop"]);
    intact(home);
}

#[test]
fn another_key_and_another_log_are_found() {
    let stage = with_history();
    let home = &stage.home;
    let saved = Saved::of(home);
    let other = with_history();
    let theirs = Saved::of(&other.home);
    let ours = &home.home();
    for (names, expected) in [
        (&["identity"][..], "another_identity"),
        (&["audit"], "another_identity"),
        // All of it from elsewhere, and still the database knows better.
        (&["audit", "identity"], "another_history"),
    ] {
        for name in names {
            let to = ours.data_dir().join(name);
            fs::remove_dir_all(&to).unwrap();
            copy(&theirs.copy.path().join("data").join(name), &to);
        }
        let (sound, found) = verified(home);
        assert!(
            !sound && found.iter().any(|one| one == expected),
            "{names:?}: {found:?}"
        );
        saved.put_back(&["audit", "identity"]);
        intact(home);
    }
}

#[test]
fn a_journal_that_is_gone_or_older_is_found() {
    let stage = Stage::new();
    let home = &stage.home;
    let turns = r#"
  - steps:
      - say: one
      - run: [sh, -c, "while ! test -f go; do sleep 0.02; done"]
      - say: two
      - exit: 0
"#;
    let run = stage.start(turns, &[], "go");
    let id = run["execution"].as_str().unwrap().to_owned();
    let folder = home.home().journals_dir().join("agent-journals");
    let journal = folder.join(format!("{id}.interaction.jsonl"));
    wait_for("the journal to have begun", || {
        fs::read_to_string(&journal).is_ok_and(|text| text.lines().count() > 6)
    });
    // As somebody would copy it who wants to put it back later.
    let older = tempfile::tempdir().unwrap();
    let kill = || home.kill();
    kill();
    copy(&folder, older.path());
    home.start();
    stage.touch("go");
    stage.wait(&run, "the run to end", |shown| !shown["ended_at"].is_null());
    home.json(&["daemon", "stop"]);
    intact(home);
    let sound = home.mission(&["journal", "verify", "--all"]);
    assert!(sound.status.success(), "{}", text(&sound.stdout));

    let newer = tempfile::tempdir().unwrap();
    copy(&folder, newer.path());
    fs::remove_dir_all(&folder).unwrap();
    copy(older.path(), &folder);
    let in_itself = home.mission(&["journal", "verify", "--all"]);
    assert!(in_itself.status.success(), "it is consistent in itself");
    assert_eq!(verified(home).1, ["journal_cut"]);

    fs::remove_dir_all(&folder).unwrap();
    copy(newer.path(), &folder);
    intact(home);
    for end in ["interaction.jsonl", "head"] {
        fs::remove_file(folder.join(format!("{id}.{end}"))).unwrap();
    }
    assert_eq!(verified(home).1, ["journal_gone"]);
    let all = home.mission(&["journal", "verify", "--all"]);
    assert!(!all.status.success());
    assert!(text(&all.stdout).contains(&id), "{}", text(&all.stdout));
}

#[test]
fn a_daemon_that_finds_its_audit_cut_says_so_for_good() {
    let stage = with_history();
    let home = &stage.home;
    let file = home.home().audit_dir().join("audit.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let half: Vec<&str> = text.lines().take(6).collect();
    fs::write(&file, format!("{}\n", half.join("\n"))).unwrap();
    home.start();
    let incidents = home.json(&["incident", "list"]);
    let incident = &incidents["incidents"][0];
    assert_eq!(incident["kind"], "audit_not_as_left", "{incidents}");
    tool_rule(home, "Four");
    home.json(&["daemon", "restart"]);
    let (_, found) = verified(home);
    for expected in ["found_on_opening", "another_history"] {
        assert!(found.iter().any(|one| one == expected), "{found:?}");
    }
}

/// How many kills.
fn rounds() -> u32 {
    harness::rounds("MISSION_AUDIT_ROUNDS", 30, 1000)
}

#[test]
fn what_was_acknowledged_is_on_record_after_every_kill() {
    let home = TestHome::new();
    let next = AtomicU64::new(0);
    let acknowledged: Mutex<BTreeSet<String>> = Mutex::default();
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    for round in 0..rounds() {
        home.start();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let life = Duration::from_micros(random % 40_000);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let Ok(mut client) = Client::connect(&home.home()) else {
                        return;
                    };
                    while !over.load(Ordering::Relaxed) {
                        let tool = format!("Tool{}x", next.fetch_add(1, Ordering::Relaxed));
                        if client.call::<PermissionAdd>(&rule(&tool)).is_err() {
                            return;
                        }
                        acknowledged.lock().unwrap().insert(tool);
                    }
                });
            }
            let known = || acknowledged.lock().unwrap().len();
            let before = known();
            wait_for("one to be acknowledged", || known() > before);
            // A moment that nothing marks is what this is about.
            std::thread::sleep(life);
            home.kill();
            over.store(true, Ordering::Relaxed);
        });
        if round % 10 == 9 {
            let (sound, found) = verified(&home);
            // What nobody was told is on record may be cut off in the middle.
            let unfinished = |one: &String| one == "unsigned" || one == "form";
            assert!(sound || found.iter().all(unfinished), "{found:?}");
        }
    }
    home.start();
    intact(&home);
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(
        acknowledged.len() as u32 > rounds(),
        "the load was real: {}",
        acknowledged.len()
    );
    let log = fs::read_to_string(home.home().audit_dir().join("audit.jsonl")).unwrap();
    let lost: Vec<_> = acknowledged
        .iter()
        .filter(|tool| !log.contains(&format!("\\\"{tool}\\\"")))
        .collect();
    assert_eq!(lost, Vec::<&String>::new());
}

fn rule(tool: &str) -> PermissionAddParams {
    serde_json::from_value(json!({"effect": "deny", "subject": {"tool": tool}})).unwrap()
}

#[test]
fn a_token_does_what_its_scopes_say() {
    use crate::http::Http;
    let home = TestHome::started();
    let http = Http::of(&home);
    let token = |name: &str, scopes: &[&str]| {
        let made = home.json(&[&["token", "create", name], scopes].concat());
        (
            made["token"].as_str().unwrap().to_owned(),
            made["access"]["scopes"].clone(),
        )
    };
    let (looks, scopes) = token("looks", &[]);
    assert_eq!(scopes, json!(["read"]), "the least that is of use");
    let (works, _) = token("works", &["--scope", "work"]);
    let note = json!({"text": "a note"});
    assert_eq!(http.call(&looks, "board_list", &json!({})).status, 200);
    let refused = http.call(&looks, "timeline_note", &note);
    assert_eq!(refused.status, 403);
    assert!(text(&refused.body).contains("has not the scope `work`"));
    assert_eq!(http.call(&works, "timeline_note", &note).status, 200);
    let refused = http.call(&works, "board_list", &json!({}));
    assert!(text(&refused.body).contains("has not the scope `read`"));
    let listed = home.json(&["token", "list"]);
    let scopes: Vec<_> = listed["access"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["scopes"])
        .collect();
    assert_eq!(scopes, [&json!(["read"]), &json!(["work"])]);
    home.json(&["daemon", "restart"]);
    let http = Http::of(&home);
    assert_eq!(http.call(&looks, "timeline_note", &note).status, 403);
    let refused: Vec<_> = records(&home)
        .into_iter()
        .filter(|one| one["kind"] == "refusal" && one["who"]["kind"] == "program")
        .collect();
    assert_eq!(refused.len(), 3, "{refused:#?}");
}
