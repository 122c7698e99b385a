//! Twenty agents at work while the program, its daemon and the schema of its database are
//! changed, and changed back: none of them notices, and nothing they write is lost.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use missiond_pty::host::HostFiles;
use serde_json::{Value, json};

use super::{ARCHIVE, Site};
use crate::harness::{binary, text, wait_for};
use crate::slots::recorded;

const AGENTS: usize = 20;

const CONFIG: &str = "[autopilot]\nsettle_ms = 200\nmax_agents = 20\n";

/// Each number goes to the terminal as a control string, which no screen shows and every
/// recording holds.
const NUMBERS: &str = r"i=0; until [ -e 'GO' ]; do i=$((i+1)); \
printf '\033]777;number=%d;\007' $i > /dev/tty; sleep 0.1; done; \
printf '\033]777;last=%d;\007' $i > /dev/tty";

/// A program of this version. `how` says what is done to the database before its daemon finds
/// it: `older` and `older broken` give it the schema of one migration before, with which the
/// second fails; `broken` leaves the schema of a release as it is, and its second migration fails.
fn with_database(site: &Site, how: &str) -> Vec<u8> {
    let older = binary().parent().unwrap().join("examples/older_database");
    assert!(older.exists(), "built with the tests");
    let version = json!({ "version": env!("CARGO_PKG_VERSION") });
    let (real, database) = (binary(), site.home.home().database());
    format!(
        "#!/bin/sh\ncase \"$*\" in\n'--json version') echo '{version}';;\n\
         'daemon run --detached') '{}' '{}' {how} || exit 1; exec '{}' \"$@\";;\n\
         *) exec '{}' \"$@\";;\nesac\n",
        older.display(),
        database.display(),
        real.display(),
        real.display(),
    )
    .into_bytes()
}

/// Where each agent's output is recorded.
fn recordings(site: &Site) -> BTreeMap<String, PathBuf> {
    let records = HostFiles::records(&site.home.home().slots_dir()).unwrap();
    let named = records
        .into_iter()
        .map(|record| (record.name, record.recording));
    named.collect()
}

/// The numbers in a recording, and the last one if the agent has said it.
fn numbers(recording: &Path) -> (Vec<u64>, Option<u64>) {
    let output = String::from_utf8_lossy(&recorded(recording)).into_owned();
    let told = |key: &str| -> Vec<u64> {
        let start = format!("\x1b]777;{key}=");
        let after = output.split(start.as_str()).skip(1);
        after
            .filter_map(|rest| rest.split_once(';')?.0.parse().ok())
            .collect()
    };
    (told("number"), told("last").first().copied())
}

/// Every agent has written at least so many more than it had.
fn all_go_on(recordings: &BTreeMap<String, PathBuf>) {
    for (name, recording) in recordings {
        let before = numbers(recording).0.len();
        wait_for(&format!("{name} to go on"), || {
            numbers(recording).0.len() >= before + 2
        });
    }
}

/// By the program that is installed, whose daemon knows no other's operations.
fn call(site: &Site, operation: &str, params: &Value) -> Value {
    site.done(&["call", operation, &params.to_string()])
}

/// What a person sees of the board, without what changes by itself.
fn board(site: &Site) -> Vec<Value> {
    let listed = call(site, "board_list", &json!({"limit": 100}));
    let tasks = listed["tasks"].as_array().unwrap().iter();
    tasks
        .map(|task| json!([task["number"], task["title"], task["description"]]))
        .collect()
}

/// The newest migration and when it was applied.
fn schema(site: &Site) -> Schema {
    let database = rusqlite::Connection::open(site.home.home().database()).unwrap();
    let sql = "SELECT version, applied_at FROM schema_migrations ORDER BY version DESC LIMIT 1";
    database
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
}

/// The version of a schema, and when it was reached.
type Schema = (i64, i64);

/// Twenty agents work while the program is upgraded to one whose migration fails and then to
/// one whose migration does not, with these arguments more. Returns the schema before and after.
fn outlive(site: &Site, broken: &[u8], whole: &[u8], more: &[&str]) -> (Schema, Schema) {
    site.home.write_config(CONFIG);
    let go = site.path("go");
    let script = site.path("numbers.yaml");
    let command = NUMBERS.replace("GO", go.to_str().unwrap());
    let turns = format!(
        "rehearsal: 1\nstartup: 0.1\nturns:\n  - uses: always\n    steps:\n      \
         - run: {{argv: [sh, -c, {}], exit: 0}}\n      \
         - signal: {{type: completed_claim, payload: {{summary: Counted.}}}}\n",
        json!(command)
    );
    std::fs::write(&script, turns).unwrap();
    site.done(&["daemon", "start"]);
    site.done(&["autopilot", "resume"]);
    for number in 1..=AGENTS {
        let task = json!({
            "title": format!("count {number}"), "engine": "rehearsal",
            "args": [script, "--speed", "50"], "isolation": "none",
        });
        call(site, "board_add", &json!({ "task": task }));
    }
    call(
        site,
        "board_add",
        &json!({"task": {
        "title": "for later", "description": "not an agent's", "engine": "rehearsal",
        "args": [script, "--speed", "50"], "isolation": "none",
    }, "depends_on": ["T-1"]}),
    );
    wait_for("every agent to work", || {
        let recordings = recordings(site);
        recordings.len() == AGENTS
            && recordings
                .values()
                .all(|recording| !numbers(recording).0.is_empty())
    });
    let (before, recordings) = (site.processes(), recordings(site));
    let (tasks, newest) = (board(site), schema(site));
    assert_eq!((before.len(), tasks.len()), (AGENTS, AGENTS + 1));
    let old = site.inode();
    let (archive, key) = (site.archive(), site.key());
    assert!(archive.ends_with(ARCHIVE));
    let upgrade = [&["upgrade", &archive, "--key", &key], more].concat();

    site.release(broken);
    let (code, why) = site.refused(&upgrade);
    assert_eq!(code, Some(1), "{why}");
    assert!(why.contains("the migration fails"), "{why}");
    assert!(
        why.contains("the database is as it was before the upgrade"),
        "{why}"
    );
    assert_eq!((site.inode(), schema(site)), (old, newest), "as they were");
    assert_eq!(site.processes(), before, "the same hosts and programs");
    assert_eq!(board(site), tasks);
    all_go_on(&recordings);

    site.release(whole);
    let done = site.done(&upgrade);
    assert_eq!(done["agents"], AGENTS);
    let migrated = schema(site);
    assert!(migrated.1 > newest.1, "by a migration of just now");
    assert_eq!(site.processes(), before, "the same hosts and programs");
    assert_eq!(board(site), tasks);
    all_go_on(&recordings);

    std::fs::write(&go, "").unwrap();
    for (name, recording) in &recordings {
        wait_for(&format!("{name} to say its last number"), || {
            numbers(recording).1.is_some()
        });
        let (numbers, last) = numbers(recording);
        let expected: Vec<_> = (1..=last.unwrap()).collect();
        assert_eq!(numbers, expected, "nothing of {name} is missing or doubled");
    }
    for number in 1..=AGENTS {
        let task = json!({ "task": format!("T-{number}") });
        wait_for(&format!("T-{number} to be done"), || {
            let details = call(site, "board_show", &task);
            let status = details["task"]["status"].as_str().unwrap();
            assert!(!["failed", "blocked"].contains(&status), "{details:#}");
            status == "done"
        });
    }
    (newest, migrated)
}

#[test]
fn twenty_agents_outlive_a_failed_and_a_successful_upgrade_with_a_migration() {
    let site = Site::new();
    let (broken, whole) = ("older broken", "older");
    let (broken, whole) = (with_database(&site, broken), with_database(&site, whole));
    let (before, after) = outlive(&site, &broken, &whole, &["--yes"]);
    assert_eq!(before.0, after.0, "the newest again");
}

#[test]
#[ignore = "with the program of the release before, which `cargo xtask dist upgrade` builds"]
fn twenty_agents_of_the_release_before_outlive_its_upgrade() {
    let before = std::env::var_os("MISSION_RELEASE_BEFORE").expect("which program?");
    let site = Site::of(Path::new(&before), "prefix/bin/mission");
    let broken = with_database(&site, "broken");
    let whole = std::fs::read(binary()).unwrap();
    let (before, after) = outlive(&site, &broken, &whole, &[]);
    assert!(before.0 < after.0, "from {} to {}", before.0, after.0);
}

#[test]
fn an_upgrade_says_that_it_does_not_back_up_postgresql() {
    let Some(database) = crate::shared_database::SharedDatabase::new() else {
        return;
    };
    let site = Site::new();
    site.home.write_config(&database.config());
    let daemon = site.done(&["daemon", "start"])["pid"].clone();
    site.home.json(&["task", "add", "go on with it"]);
    site.release(&super::newer("exit 1"));
    let (archive, key) = (site.archive(), site.key());
    let upgrade = ["upgrade", &archive, "--key", &key];
    let (code, why) = site.refused(&upgrade);
    assert_eq!(code, Some(5), "{why}");
    assert!(
        why.contains("PostgreSQL server, which an upgrade does not back up"),
        "{why}"
    );
    assert!(why.contains("pg_dump"), "{why}");
    assert_eq!(
        site.done(&["daemon", "start"])["pid"],
        daemon,
        "it was not stopped"
    );

    let (code, why) = site.refused(&[&upgrade[..], &["--yes"]].concat());
    assert_eq!(code, Some(1), "{why}");
    assert!(why.contains("your backup must be restored"), "{why}");
    let tasks = text(&site.run(&["task", "list"]).stdout);
    assert!(tasks.contains("go on with it"), "{tasks}");
}
