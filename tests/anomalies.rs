//! What goes wrong in a slot becomes an incident, and is resolved when it is
//! over.

use serde_json::{Value, json};

use crate::harness::{TestHome, text, wait_for};

fn home(limits: &str) -> TestHome {
    let home = TestHome::with_config(&format!("[anomalies]\n{limits}"));
    home.start();
    home
}

fn spawn(home: &TestHome, name: &str, script: &str) -> String {
    let folder = home.path().display().to_string();
    let slot = home.json(&[
        "slot", "spawn", "--name", name, "--cwd", &folder, "--", "/bin/sh", "-c", script,
    ]);
    slot["slot"].as_str().unwrap().to_owned()
}

fn incidents(home: &TestHome, kind: &str) -> Vec<Value> {
    let listed = home.json(&["incident", "list", "--all"]);
    let incidents = listed["incidents"].as_array().unwrap();
    let of_kind = |incident: &&Value| incident["kind"] == kind;
    incidents.iter().filter(of_kind).cloned().collect()
}

fn wait_for_incident(home: &TestHome, kind: &str, state: &str) -> Value {
    let mut found = Value::Null;
    wait_for(&format!("{kind} to be {state}"), || {
        found = incidents(home, kind).first().cloned().unwrap_or_default();
        found["state"] == state
    });
    found
}

#[test]
fn an_agent_that_works_and_says_nothing_is_stuck_until_it_does() {
    let home = home("silent_secs = 1\n");
    let script = "printf '\\033]0;⠋ working\\007'; until [ -e go ]; do sleep 0.05; done; \
                  echo 'I have it'; exec sleep 1000";
    let slot = spawn(&home, "quiet", script);
    let incident = wait_for_incident(&home, "slot_stuck", "open");
    assert_eq!(incident["subject"], slot);
    let summary = incident["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("quiet: it is read as thinking"),
        "{summary}"
    );
    // Now, `mission status` and its JSON say so, too.
    let status = home.json(&["status"]);
    assert_eq!(status["incidents"][0]["summary"], summary);
    let shown = text(&home.mission(&["status"]).stdout);
    let needs_you = shown.find("Needs you").expect("it needs somebody");
    let said = &shown[needs_you..];
    assert!(
        said.contains("slot_stuck: quiet: it is read as thinking"),
        "{shown}"
    );
    std::fs::write(home.path().join("go"), "").unwrap();
    wait_for_incident(&home, "slot_stuck", "resolved");
    assert_eq!(home.json(&["status"])["incidents"], json!([]));
}

#[test]
fn a_turning_sign_alone_is_stuck_too() {
    let home = home("still_secs = 1\n");
    let script =
        "i=0; while :; do i=$((i+1)); printf '\\033]0;⠋ %s\\007\\r%s s' $i $i; sleep 0.05; done";
    spawn(&home, "turning", script);
    wait_for_incident(&home, "slot_stuck", "open");
    home.json(&["slot", "kill", "turning"]);
    wait_for_incident(&home, "slot_stuck", "resolved");
}

#[test]
fn a_flood_of_output_is_an_incident_while_it_lasts() {
    let home = home("flood_bytes_per_second = 20000\nflood_secs = 1\n");
    let script = "until [ -e stop ]; do yes | head -c 20000; done; echo over; exec sleep 1000";
    spawn(&home, "loud", script);
    wait_for_incident(&home, "slot_output_flood", "open");
    std::fs::write(home.path().join("stop"), "").unwrap();
    wait_for_incident(&home, "slot_output_flood", "resolved");
    assert_eq!(incidents(&home, "slot_output_flood").len(), 1);
}

#[test]
fn a_screen_full_of_what_is_no_text_is_an_incident_until_it_is_cleared() {
    let home = home("garbage_secs = 1\n");
    let script = "i=0; while [ $i -lt 60 ]; do printf '\\377'; i=$((i+1)); done; \
                  until [ -e clear ]; do sleep 0.05; done; \
                  printf '\\033[H\\033[2Jbetter\\n'; exec sleep 1000";
    spawn(&home, "garbled", script);
    wait_for_incident(&home, "slot_screen_garbage", "open");
    // The next daemon sees the end of what this one found.
    home.kill();
    home.start();
    std::fs::write(home.path().join("clear"), "").unwrap();
    wait_for_incident(&home, "slot_screen_garbage", "resolved");
}

#[test]
fn a_program_that_fails_again_and_again_is_a_crash_loop() {
    let home = home("crash_count = 3\n");
    // One that ended at once could end before its start is answered.
    let run = |round: usize, status: u8| {
        let go = format!("go-{round}");
        let script = format!("until [ -e {go} ]; do sleep 0.02; done; exit {status}");
        spawn(&home, "build", &script);
        std::fs::write(home.path().join(go), "").unwrap();
        wait_for("the program to end", || {
            let kinds = home.kinds();
            kinds.iter().filter(|kind| *kind == "slot_closed").count() == round
        });
    };
    spawn(&home, "build", "exec sleep 1000");
    home.json(&["slot", "kill", "build"]);
    run(2, 3);
    run(3, 4);
    assert_eq!(incidents(&home, "slot_crash_loop"), Vec::<Value>::new());
    run(4, 5);
    let incident = wait_for_incident(&home, "slot_crash_loop", "open");
    assert_eq!(incident["subject"], "build");
    run(5, 0);
    wait_for_incident(&home, "slot_crash_loop", "resolved");
}
