//! `journal.store = "database"`: the same executions and the same `mission
//! journal …`, with the journals in SQLite or PostgreSQL instead of files.

use serde_json::{Value, json};

use crate::executions::{Stage, TALK, WAITS, delivered, of_kind};
use crate::harness::{TestHome, text};
use crate::shared_database::SharedDatabase;

const IN_DATABASE: &str = "[journal]\nstore = \"database\"\n";

fn stage(config: &str) -> Stage {
    started(TestHome::with_config(config))
}

fn started(home: TestHome) -> Stage {
    home.start();
    Stage::with_home(home)
}

fn id(execution: &Value) -> &str {
    execution["execution"].as_str().unwrap()
}

fn records(home: &TestHome, execution: &Value) -> Vec<Value> {
    let args = [
        "--json",
        "journal",
        "show",
        id(execution),
        "--limit",
        "10000",
    ];
    let shown = home.mission(&args);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let lines = text(&shown.stdout);
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn journal_files(home: &TestHome) -> Vec<String> {
    let folder = home.home().journals_dir().join("agent-journals");
    let files = std::fs::read_dir(folder).unwrap().flatten();
    files
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".jsonl"))
        .collect()
}

/// Every `mission journal …` on the journal of one run, with and without a daemon.
fn check_every_command(home: &TestHome, run: &Value) {
    let found = records(home, run);
    assert_eq!(found[0]["type"], "journal.header");
    let accepted = of_kind(&found, "message.accepted");
    assert_eq!(accepted[0]["content"]["payload"]["text"], "do it");

    let report = home.json(&["journal", "verify", id(run)]);
    assert_eq!(report["intact"], true, "{report}");
    assert_eq!(report["records"], found.len());
    assert_eq!(report["file"], Value::Null);
    let all = text(&home.mission(&["journal", "verify", "--all"]).stdout);
    assert!(all.ends_with("the journal is intact"), "{all}");

    let state = home.json(&["journal", "replay", id(run)]);
    assert_eq!(state["head"], found.len());
    let first = home.json(&["journal", "replay", id(run), "--at", "1"]);
    assert_eq!(first["lifecycle"], "starting");

    // What is exported is a journal of its own, the same to the last byte.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join(format!("{}.interaction.jsonl", id(run)));
    let copy = copy.to_str().unwrap();
    let export = [
        "journal",
        "export",
        id(run),
        "--format",
        "lines",
        "-o",
        copy,
    ];
    assert!(home.mission(&export).status.success());
    let same = home.mission(&["journal", "diff", id(run), copy]);
    assert!(same.status.success(), "{}", text(&same.stderr));
    assert_eq!(text(&same.stdout), "every record is the same");
    let moments = home.mission(&["--json", "journal", "diff", id(run), "--from", "1"]);
    assert_eq!(moments.status.code(), Some(1));
}

#[test]
fn a_run_is_kept_in_the_database_and_looked_at_like_any_other() {
    let stage = stage(IN_DATABASE);
    let run = stage.start(TALK, &["--wait", "--signals", "none"], "do it");
    assert_eq!(run["outcome"], "turn_ended", "{run}");
    let details = stage.show(&run);
    assert!(details["journal"].as_str().unwrap().starts_with("sqlite:"));
    assert_eq!(journal_files(&stage.home), [""; 0]);
    stage.home.json(&["execution", "cancel", id(&run)]);
    stage.wait(&run, "the end", |details| !details["ended_at"].is_null());
    check_every_command(&stage.home, &run);
    let with_daemon = records(&stage.home, &run);
    assert_eq!(stage.show(&run)["records"], with_daemon.len());
    stage.home.json(&["daemon", "stop"]);
    check_every_command(&stage.home, &run);
    assert_eq!(records(&stage.home, &run), with_daemon);
}

#[test]
fn a_killed_daemon_s_journal_is_gone_on_with_at_once() {
    let stage = stage(IN_DATABASE);
    let run = stage.start(WAITS, &["--signals", "none"], "first");
    stage.wait(&run, "the first prompt", |details| delivered(details) == 1);
    stage
        .home
        .json(&["execution", "message", "agent", "second"]);
    stage.home.kill();
    let before = records(&stage.home, &run);
    stage.home.start();
    assert_eq!(stage.show(&run)["lifecycle"], "running");
    stage.touch("go");
    stage.wait(&run, "the second prompt", |details| delivered(details) == 2);
    assert_eq!(stage.prompts(&run), ["first", "second"]);
    let after = records(&stage.home, &run);
    assert_eq!(after[..before.len()], before, "nothing was lost or changed");
    let report = stage.home.json(&["journal", "verify", id(&run)]);
    assert_eq!(report["intact"], true, "{report}");
}

#[test]
fn a_changed_setting_leaves_journals_where_they_are() {
    let stage = stage("");
    let run = stage.start(WAITS, &["--signals", "none"], "first");
    stage.wait(&run, "the first prompt", |details| delivered(details) == 1);
    assert_eq!(journal_files(&stage.home).len(), 1);
    stage.home.write_config(IN_DATABASE);
    stage.home.json(&["daemon", "restart"]);
    stage
        .home
        .json(&["execution", "message", "agent", "second"]);
    stage.touch("go");
    let details = stage.wait(&run, "the second prompt", |details| delivered(details) == 2);
    assert!(details["journal"].as_str().unwrap().ends_with(".jsonl"));
    stage.home.json(&["execution", "cancel", id(&run)]);
    stage.wait(&run, "the end", |details| !details["ended_at"].is_null());
    let next = stage.start(TALK, &["--wait", "--signals", "none"], "do it");
    assert_eq!(
        journal_files(&stage.home).len(),
        1,
        "the new one is no file"
    );
    assert_eq!(
        stage.show(&next)["journal"].as_str().unwrap()[..7],
        *"sqlite:"
    );
    let all = text(&stage.home.mission(&["journal", "verify", "--all"]).stdout);
    assert!(all.ends_with("all 2 journals are intact"), "{all}");
}

#[test]
fn tampering_with_the_rows_is_found() {
    let stage = stage(IN_DATABASE);
    let run = stage.start(TALK, &["--wait", "--signals", "none"], "do it");
    stage.home.json(&["execution", "cancel", id(&run)]);
    stage.wait(&run, "the end", |details| !details["ended_at"].is_null());
    let last = records(&stage.home, &run).len();
    stage.home.json(&["daemon", "stop"]);
    let database = rusqlite::Connection::open(stage.home.home().database()).unwrap();
    let found = |sql: &str, finding: &str| {
        database.execute_batch("BEGIN").unwrap();
        assert!(database.execute(sql, []).unwrap() > 0, "{sql}");
        database.execute_batch("COMMIT").unwrap();
        let args = ["--json", "journal", "verify", id(&run)];
        let verified = stage.home.mission(&args);
        assert_eq!(verified.status.code(), Some(1), "{sql}");
        let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        assert!(
            findings.iter().any(|one| one["finding"] == finding),
            "{sql}: {report:#}"
        );
    };
    let keep = "CREATE TABLE kept AS SELECT * FROM journal_lines";
    database.execute_batch(keep).unwrap();
    let put_back = || {
        let sql = "DELETE FROM journal_lines; INSERT INTO journal_lines SELECT * FROM kept";
        database.execute_batch(sql).unwrap();
    };
    let middle = last / 2;
    found(
        &format!("UPDATE journal_lines SET line = replace(line, '20', '21') WHERE seq = {middle}"),
        "bad_line",
    );
    put_back();
    found(
        &format!("DELETE FROM journal_lines WHERE seq = {middle}"),
        "missing",
    );
    put_back();
    found("DELETE FROM journal_lines WHERE seq <= 2", "no_beginning");
    put_back();
    found(
        &format!("DELETE FROM journal_lines WHERE seq = {last}"),
        "end_missing",
    );
    put_back();
    let swap = format!(
        "UPDATE journal_lines SET line = (SELECT line FROM kept WHERE kept.seq = \
         {middle} + {middle} + 1 - journal_lines.seq) WHERE seq IN ({middle}, {middle} + 1)"
    );
    found(&swap, "missing");
    put_back();
    let report = stage.home.json(&["journal", "verify", id(&run)]);
    assert_eq!(report["intact"], true, "{report}");
}

#[test]
fn on_a_shared_database_a_daemon_leaves_the_journals_of_others_alone() {
    let Some(database) = SharedDatabase::new() else {
        return;
    };
    let ours = started(database.home(IN_DATABASE));
    let run = ours.start(WAITS, &["--signals", "none"], "do it");
    ours.wait(&run, "the first prompt", |details| delivered(details) == 1);
    // As if nothing had happened for a while: nobody holds the journal now.
    let expired = "UPDATE leases SET expires_at = 1 WHERE resource LIKE 'journal/%'";
    assert_eq!(database.execute(expired), 1);
    let theirs = database.home(IN_DATABASE);
    theirs.start();
    assert_eq!(
        theirs.json(&["journal", "verify", id(&run)])["intact"],
        true
    );

    ours.touch("go");
    ours.home.json(&["execution", "message", "agent", "second"]);
    ours.wait(&run, "the second prompt", |details| delivered(details) == 2);
    // One of ours that died is taken up by ours, not by theirs.
    ours.home.kill();
    theirs.json(&["daemon", "restart"]);
    ours.home.start();
    assert_eq!(ours.show(&run)["lifecycle"], "running");
    ours.home.json(&["execution", "cancel", id(&run)]);
    ours.wait(&run, "the end", |details| !details["ended_at"].is_null());
    check_every_command(&ours.home, &run);
    assert_eq!(
        records(&theirs, &run),
        records(&ours.home, &run),
        "whoever shares the database can look"
    );
    let ends = ours.home.events().into_iter();
    let ends = ends.filter(|event| event["event"]["type"] == "execution_ended");
    assert_eq!(ends.count(), 1, "{}", json!(ours.home.kinds()));
}
