//! Sixty secrets, each by every way in.

use serde_json::json;

use super::{Canary, SENTENCE, assert_none_is_held, assert_silent, canaries};
use crate::autopilot::{Field, writes};
use crate::harness::wait_for;
use crate::questions::Receiver;
use crate::slots::spawn;

const SECRETS: usize = 60;
/// So many are in one question and in its answer.
const ASKED_TOGETHER: usize = 10;

fn lines(canaries: &[Canary]) -> String {
    let texts = canaries.iter().map(|canary| format!("{}\n", canary.text));
    texts.collect()
}

#[test]
fn sixty_secrets_by_every_way_in_are_in_no_file_notification_or_export() {
    let canaries = canaries(2_033, SECRETS);
    let receiver = Receiver::answering(&[]);
    let field = Field::with_config(&format!(
        "[autopilot]\nsettle_ms = 200\n[notifications]\nwebhook_url = \"http://{}/hook\"\n\
         dwell_secs = 0\ncooldown_secs = 0\n",
        receiver.address
    ));
    let home = &field.home;
    let all = lines(&canaries);
    let shown = field.file("shown.txt");
    std::fs::write(&shown, &all).unwrap();
    let shown = shown.display().to_string();

    // Out of a program, and of a check.
    spawn(
        home,
        "loud",
        &format!("cat '{shown}'; echo all shown; sleep 600"),
    );
    crate::slots::wait_for_text(home, "loud", "all shown");
    let prints = format!("cat '{shown}'; cat '{shown}' >&2");
    let check = json!([{"name": "shows", "run": ["sh", "-c", prints]}]);
    let work = writes("new.txt", "new");
    let task = field.task("checked", &work, json!({"checks": check}));
    field.wait_status(&task, "done");
    home.json(&["autopilot", "pause"]);

    // A prompt, questions with their answers, and what a webhook is told of them.
    let run = talk(&field, &canaries);
    for _ in canaries.chunks(ASKED_TOGETHER) {
        let (_, posted) = receiver.next();
        assert_eq!(posted["event"], "question_waits", "{posted}");
        assert_silent("the webhook", posted.to_string().as_bytes(), &canaries);
    }

    // A note, an entry and a log line each, and what a tool is told and says.
    for (number, canary) in canaries.iter().enumerate() {
        let mut connection = home.raw();
        connection.send(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "hello",
            "params": {"protocol": 1, "client": canary.text},
        }));
        assert_eq!(connection.receive()["result"]["protocol"], 1);
        let note = connection.ask(1, "timeline_note", &json!({"text": canary.text}));
        assert!(note.get("error").is_none(), "{note}");
        let entry = json!({
            "summary": format!("{SENTENCE}number {number}"), "detail": canary.text,
            "category": "note",
        });
        let entry = connection.ask(2, "kb_remember", &entry);
        assert!(entry.get("error").is_none(), "{entry}");
    }
    crate::toolhub_hostile::list_tricks(home, &[("plain", "")]);
    crate::toolhub_hostile::call(home, "plain__echo", &json!({"text": all}));
    import(&field, &canaries);

    for export in [
        &["kb", "export"][..],
        &["kb", "export", "--format", "markdown"],
        &["task", "export"],
        &["audit", "export"],
        &["journal", "export", &run],
    ] {
        let exported = home.mission(export);
        assert!(exported.status.success(), "{export:?}: {exported:?}");
        assert_silent(&export.join(" "), &exported.stdout, &canaries);
    }
    home.json(&["daemon", "stop", "--force"]);
    assert_none_is_held(home.path(), &canaries);
}

/// An agent is prompted with all of them, asks about some again and again, and is answered
/// with the same; its run.
fn talk(field: &Field, canaries: &[Canary]) -> String {
    let home = &field.home;
    let mut turns = String::new();
    for (number, some) in canaries.chunks(ASKED_TOGETHER).enumerate() {
        let question = format!("Question {number}: is it one of these?\n{}", lines(some));
        let payload = json!({"question": question});
        turns +=
            &format!("  - steps:\n      - signal: {{type: needs_input, payload: {payload}}}\n");
    }
    turns += "  - steps:\n      - signal: {type: progress, payload: {summary: Told.}}\n";
    let folder = field.file("asks");
    std::fs::create_dir(&folder).unwrap();
    let script = format!("rehearsal: 1\nturns:\n{turns}");
    std::fs::write(folder.join("script.yaml"), script).unwrap();
    let prompt = format!("Here they are:\n{}", lines(canaries));
    let cwd = folder.to_str().unwrap();
    let mut begins = vec![
        "run",
        prompt.as_str(),
        "--engine",
        "rehearsal",
        "--cwd",
        cwd,
    ];
    begins.extend(["--name", "asks", "--", "script.yaml", "--speed", "50"]);
    let started = home.json(&begins);
    let show = || home.json(&["execution", "show", "asks"]);
    for (number, some) in canaries.chunks(ASKED_TOGETHER).enumerate() {
        wait_for("the question", || {
            let question = format!("Question {number}: ");
            show()["questions"].to_string().contains(&question)
        });
        let answer = format!("Number {number}:\n{}", lines(some));
        home.json(&["execution", "answer", "asks", &answer]);
    }
    wait_for("the last answer to be told on", || {
        show()["progress"].is_string()
    });
    started["execution"].as_str().unwrap().to_owned()
}

/// Tasks, entries and a page of somebody else's.
fn import(field: &Field, canaries: &[Canary]) {
    let home = &field.home;
    let tasks: Vec<_> = canaries
        .iter()
        .map(|canary| {
            let task = json!({"title": "A berth", "description": canary.text, "isolation": "none"});
            format!("{task}\n")
        })
        .collect();
    let entries: Vec<_> = canaries
        .iter()
        .enumerate()
        .map(|(number, canary)| {
            let summary = format!("{SENTENCE}{number}");
            json!({"summary": summary, "detail": canary.text, "category": "note"}).to_string()
        })
        .collect();
    let sections = canaries.iter().enumerate();
    let sections: Vec<_> = sections
        .map(|(number, canary)| format!("# Berth {number}\n\n{}\n", canary.text))
        .collect();
    for (name, command, text) in [
        ("tasks.jsonl", "task", tasks.concat()),
        ("entries.jsonl", "kb", entries.join("\n")),
        ("page.md", "kb", sections.concat()),
    ] {
        let file = field.file(name);
        std::fs::write(&file, text).unwrap();
        home.json(&[command, "import", file.to_str().unwrap()]);
    }
}
