//! A conversation that goes over from the agent's protocol into its own terminal, and
//! back: the rehearsal agent, a person at a terminal, and a daemon that is killed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::fault_fs::Random;
use crate::harness::{TestHome, rounds, text, wait_for};
use crate::person::Person;

/// `Ctrl-]`, which detaches.
pub(crate) const DETACH: &str = "\x1d";

/// A structured run of the rehearsal agent in the slot `work`.
fn begin(home: &TestHome) -> String {
    let folder = home.path().join("project");
    std::fs::create_dir(&folder).unwrap();
    let run = home
        .command(&[
            "run",
            "first",
            "--engine",
            "rehearsal",
            "--control",
            "structured",
            "--name",
            "work",
            "--wait",
            "--json",
            "--",
            "hello",
            "--speed",
            "20",
        ])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", text(&run.stderr));
    let listed = home.json(&["execution", "list"]);
    listed["executions"][0]["execution"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Who drives the slot, and how many did.
fn program(home: &TestHome) -> Value {
    let listed = home.json(&["slot", "list"]);
    listed["slots"][0]["program"].clone()
}

fn wait_for_controller(home: &TestHome, controller: &str) {
    wait_for(&format!("the {controller} to have it"), || {
        program(home)["controller"] == controller
    });
}

fn messages(home: &TestHome, execution: &str) -> Vec<Value> {
    let shown = home.json(&["execution", "show", execution]);
    shown["messages"].as_array().unwrap().clone()
}

/// Every prompt the agent was given, by its own record.
fn prompts(home: &TestHome) -> Vec<String> {
    let folder = home.path().join("data/rehearsals");
    let files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "jsonl"))
        .collect();
    assert_eq!(files.len(), 1, "one conversation: {files:?}");
    let record = std::fs::read_to_string(&files[0]).unwrap();
    let lines = record
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines
        .filter(|line: &Value| line["type"] == "user")
        .filter_map(|line| line["message"]["content"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn a_person_who_types_is_given_the_agents_own_terminal_and_then_its_protocol_goes_on() {
    let home = TestHome::started();
    let execution = begin(&home);
    assert_eq!(program(&home)["controller"], "structured");
    let reader = Person::attach(&home, (100, 30), &["work", "--read-only"]);
    reader.waits_for("You said: first");
    assert_eq!(program(&home)["generation"], 1, "who looks changes nothing");

    let mut person = Person::attach(&home, (100, 30), &["work"]);
    wait_for_controller(&home, "terminal");
    let terminal = program(&home);
    assert_eq!(terminal["generation"], 2);
    let control = || home.json(&["execution", "show", &execution])["control"].clone();
    assert_eq!(control()["by"], "terminal");
    let why = control()["why"].to_string();
    assert!(why.contains("a person has taken it over"), "{why}");
    wait_for("its prompt", || {
        home.json(&["slot", "read", "work"])["reading"]["state"] == "idle"
    });
    person.types("second\r");
    person.waits_for("You said: second");
    person.waits_for("This is prompt 2");
    reader.waits_for("This is prompt 2");
    // What is sent meanwhile is typed there.
    home.json(&["execution", "message", &execution, "third"]);
    person.waits_for("This is prompt 3");

    person.types(DETACH);
    person.left_as_it_was(0);
    wait_for_controller(&home, "structured");
    assert_eq!(program(&home)["generation"], 3);
    let chosen = json!({"by": "structured", "why": "chosen when it was started"});
    assert_eq!(control(), chosen);
    home.json(&["execution", "message", &execution, "fourth"]);
    reader.waits_for("This is prompt 4");
    assert_eq!(prompts(&home), ["first", "second", "third", "fourth"]);
    wait_for("what was said to be on record, each once", || {
        let params = json!({"execution": execution, "limit": 500});
        let records = home.call("execution_journal", &params).to_string();
        let said = |number| {
            let words = format!("This is prompt {number} of");
            records.matches(&words).count()
        };
        let said = [said(1), said(2), said(3), said(4)];
        assert!(said.iter().all(|times| *times <= 1), "{said:?}: {records}");
        said == [1; 4]
    });
    let kinds = home.kinds();
    let changed = kinds.iter().filter(|kind| *kind == "controller_changed");
    assert_eq!(changed.count(), 2);
    let closed = kinds.iter().any(|kind| kind == "slot_closed");
    assert!(!closed, "it is the same slot");
}

/// Quitting a screen is leaving it, and not the end of what an agent works on.
#[test]
fn a_person_who_quits_the_agents_terminal_gives_the_conversation_back() {
    let home = TestHome::with_config("[engines]\nreturn_secs = 3600\n");
    home.start();
    let execution = begin(&home);
    let reader = Person::attach(&home, (100, 30), &["work", "--read-only"]);
    let rests = || home.json(&["slot", "read", "work"])["reading"]["state"] == "idle";
    for (generation, quits) in [(2, "/exit\r"), (4, "\x04")] {
        let mut person = Person::attach(&home, (100, 30), &["work"]);
        wait_for_controller(&home, "terminal");
        assert_eq!(program(&home)["generation"], generation);
        wait_for("its prompt", rests);
        person.types(quits);
        person.waits_for("its terminal has ended");
        person.left_as_it_was(0);
        wait_for_controller(&home, "structured");
        let message = format!("after {generation}");
        home.json(&["execution", "message", &execution, &message]);
        reader.waits_for(&format!("You said: {message}"));
    }
    assert_eq!(prompts(&home), ["first", "after 2", "after 4"]);
    let shown = home.json(&["execution", "show", &execution]);
    assert_eq!(shown["ended_at"], Value::Null, "{shown}");

    // A slot that is ended is ended, whoever has its terminal.
    let person = Person::attach(&home, (100, 30), &["work"]);
    wait_for_controller(&home, "terminal");
    home.json(&["slot", "kill", "work"]);
    person.waits_for("ended");
    wait_for("the end of the run", || {
        home.json(&["execution", "show", &execution])["ended_at"] != Value::Null
    });
}

/// How many programs that hosts have started in a folder run at one moment. A look at all
/// processes takes a while: of those that were seen, as many as are still there ran
/// together.
pub(crate) fn programs_of_hosts(folder: &Path, is_wanted: fn(&[u8]) -> bool) -> usize {
    let command = |process: &Path| {
        let arguments = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let command = arguments.split(|byte| *byte == 0).nth(1);
        command.unwrap_or_default().to_vec()
    };
    let counts = |process: &PathBuf| {
        let cwd = std::fs::read_link(process.join("cwd"));
        let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        let parent = Path::new("/proc").join(parent.unwrap_or_default().trim());
        let own = command(process);
        // What a host starts looks like itself until it has become another program, and
        // like nothing when it has ended.
        cwd.is_ok_and(|cwd| cwd == folder)
            && own != b"pty-host"
            && !status.contains("State:\tZ")
            && is_wanted(&own)
            && command(&parent) == b"pty-host"
    };
    let processes = std::fs::read_dir("/proc").unwrap();
    let seen: Vec<PathBuf> = processes
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(counts)
        .collect();
    seen.iter().filter(|process| counts(process)).count()
}

/// A person comes and goes, messages are sent and the daemon is killed, at any moments:
/// never do two programs have the conversation, and no message is lost or said twice.
#[test]
fn at_any_moment_one_controller_has_the_conversation_and_each_message_is_said_once() {
    let moments = rounds("MISSION_HANDOFF_MOMENTS", 24, 200);
    let seed = rounds("MISSION_HANDOFF_SEED", 7, 7);
    let mut random = Random::new(seed);
    let home = TestHome::with_config("[engines]\nreturn_secs = 0\n");
    home.start();
    let execution = begin(&home);
    let folder = home.path().join("project").canonicalize().unwrap();
    let (watching, most) = (
        Arc::new(AtomicBool::new(true)),
        Arc::new(AtomicUsize::new(0)),
    );
    let watcher = std::thread::spawn({
        let (watching, most) = (Arc::clone(&watching), Arc::clone(&most));
        move || {
            while watching.load(Ordering::Relaxed) {
                let running = programs_of_hosts(&folder, |command| command == b"rehearse");
                most.fetch_max(running, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(3));
            }
        }
    });
    let mut person: Option<Person> = None;
    let mut sent = Vec::new();
    for moment in 0..moments {
        std::thread::sleep(Duration::from_millis(random.below(900)));
        match random.below(10) {
            0..=3 => match person.take() {
                Some(mut leaving) => leaving.types(DETACH),
                None => person = Some(Person::attach(&home, (90, 30), &["work"])),
            },
            4..=7 => {
                let message = format!("message {moment}");
                home.json(&["execution", "message", &execution, &message]);
                sent.push(message);
            }
            _ => {
                home.kill();
                home.start();
            }
        }
    }
    drop(person);
    wait_for("every message to come to its end", || {
        let open = ["queued", "held", "delivering"];
        let waits = |one: &Value| open.iter().any(|status| one["status"] == *status);
        !messages(&home, &execution).iter().any(waits)
    });
    wait_for_controller(&home, "structured");
    watching.store(false, Ordering::Relaxed);
    watcher.join().unwrap();
    assert_eq!(most.load(Ordering::Relaxed), 1, "programs at one moment");

    let mut said: BTreeMap<String, usize> = BTreeMap::new();
    for prompt in prompts(&home) {
        *said.entry(prompt).or_default() += 1;
    }
    let statuses = messages(&home, &execution);
    for (message, status) in sent.iter().zip(statuses.iter().skip(1)) {
        let times = said.get(message).copied().unwrap_or(0);
        match status["status"].as_str().unwrap() {
            "delivered" => assert_eq!(times, 1, "{message}: {said:?}"),
            // Whoever sent it is told, and it was not said again.
            "failed" => assert!(times <= 1, "{message}: {said:?}"),
            other => panic!("{message} is {other}"),
        }
    }
    let failed = statuses.iter().filter(|one| one["status"] == "failed");
    eprintln!(
        "{moments} moments, {} messages, {} told as failed, {} programs",
        sent.len(),
        failed.count(),
        program(&home)["generation"]
    );
}
