//! Texts and answers for programs in slots: what may be typed is taken, what may
//! not is refused, and no dialog gets an answer that was not meant.

use std::path::Path;

use serde_json::Value;

use crate::harness::{TestHome, text, wait_for};

/// An engine whose prompt is the lowest row that begins with `>`.
const ACME: &str = r"
manifest: 1
engine: acme
regions:
  prompt: {from_last: '^>( |$)', first: 1}
input:
  prompt: {in: prompt, mark: '^> ?', placeholder: '^ask me'}
rules:
  - id: asks
    state: confirming
    priority: 900
    confidence: 0.9
    reason: it asks
    when: {in: screen, last: '\[y/n\]$'}
  - id: works
    state: thinking
    priority: 600
    confidence: 0.9
    reason: it says so
    when: {in: screen, has: '^busy$'}
  - id: idle
    state: idle
    priority: 500
    confidence: 0.9
    reason: the prompt is there
    when: {in: prompt, exists: true}
";

/// Reads keys one by one. A key is in `$c`; Enter is `$CR`.
const KEYS: &str = "stty raw -echo; CR=$(printf '\\r'); \
                    key() { c=$(dd bs=1 count=1 2>/dev/null); }; ";

/// A dialog that arrows move and Enter takes; every option taken is written down.
const DIALOG: &str = r#"
sel=1
draw() {
  printf '\033[H\033[2J'
  printf 'Shell command: %s\r\n\r\nDo you want to proceed?\r\n' "$what"
  i=1
  for option in Yes 'Yes, always' No; do
    if [ $i = $sel ]; then printf '❯ '; else printf '  '; fi
    printf '%s. %s\r\n' $i "$option"
    i=$((i+1))
  done
}
took() { echo "$what: $sel" >> taken; printf '\033[H\033[2Jtook %s\r\n' $sel; }
what=make; draw
"#;

fn acme() -> TestHome {
    let home = TestHome::new();
    let folder = home.home().manifests_dir();
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("acme.yaml"), ACME).unwrap();
    home.start();
    home
}

fn spawn(home: &TestHome, engine: &str, script: &str) {
    let folder = home.path().display().to_string();
    home.json(&[
        "slot", "spawn", "--engine", engine, "--name", "agent", "--cwd", &folder, "--", "/bin/sh",
        "-c", script,
    ]);
}

fn screen(home: &TestHome) -> String {
    let screen = home.json(&["slot", "read", "agent"]);
    let lines = screen["lines"].as_array().unwrap();
    let lines: Vec<_> = lines.iter().map(|line| line.as_str().unwrap()).collect();
    lines.join("\n").trim_end().to_owned()
}

fn wait_for_text(home: &TestHome, wanted: &str) {
    wait_for(&format!("`{wanted}`"), || screen(home).contains(wanted));
}

fn wait_for_state(home: &TestHome, wanted: &str) {
    wait_for(wanted, || {
        home.json(&["slot", "read", "agent"])["reading"]["state"] == wanted
    });
}

fn written(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

fn incidents(home: &TestHome) -> Vec<Value> {
    let listed = home.json(&["incident", "list"]);
    listed["incidents"].as_array().unwrap().clone()
}

#[test]
fn a_text_is_typed_when_the_prompt_is_free_and_seen_to_be_taken() {
    let home = acme();
    let script = "echo busy; until [ -e go ]; do sleep 0.02; done; printf '\\033[H\\033[2J'; \
                  while :; do printf '> '; read -r line; echo \"got <$line>\"; done";
    spawn(&home, "acme", script);
    wait_for_state(&home, "thinking");
    let (code, refusal) = home.failure(&["slot", "send", "agent", "too early", "--wait", "0.1"]);
    assert_eq!(code, 5, "{refusal}");
    assert!(refusal.contains("no prompt to type into"), "{refusal}");

    // It waits for the prompt that comes.
    let waiting = home
        .command(&["slot", "send", "agent", "two words"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::fs::write(home.path().join("go"), "").unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(
        text(&output.stdout),
        "The agent took it: the text has left the prompt."
    );
    wait_for_text(&home, "got <two words>");

    let sent = home.json(&["slot", "send", "agent", "/clear now"]);
    assert_eq!(sent["landed"], "confirmed", "{sent}");
    assert_eq!(sent["bytes"], 11);
    wait_for_text(&home, "got </clear now>");
    let left = home.json(&["slot", "send", "agent", "--no-enter", "half a thought"]);
    assert_eq!(left["evidence"], "the text stands in the prompt");

    // Somebody's draft is not typed into, nor sent.
    let (_, refusal) = home.failure(&["slot", "send", "agent", "other"]);
    assert!(refusal.contains("“half a thought”"), "{refusal}");
    let (_, refusal) = home.failure(&["slot", "send", "agent", "a\nb", "--force", "--wait", "99"]);
    assert!(
        refusal.contains("must be from 0 to 45 seconds"),
        "{refusal}"
    );
    home.json(&["slot", "send", "agent", "--force", ", and more"]);
    wait_for_text(&home, "got <half a thought, and more>");

    let (_, refusal) = home.failure(&["slot", "send", "agent", "a\nb"]);
    assert!(refusal.contains("several lines"), "{refusal}");
    assert!(!home.kinds().contains(&"prompt_stalled".to_owned()));
}

#[test]
fn a_question_gets_no_text_unless_a_person_insists() {
    let home = acme();
    let script =
        "printf '> old\\nGo on? [y/n]'; read -r line; echo; echo \"got <$line>\"; exec sleep 1000";
    spawn(&home, "acme", script);
    wait_for_state(&home, "confirming");
    let (code, refusal) = home.failure(&["slot", "send", "agent", "fix it"]);
    assert_eq!(code, 5);
    assert!(
        refusal.contains("a dialog waits for an answer"),
        "{refusal}"
    );
    assert!(refusal.contains("mission slot answer agent"), "{refusal}");
    let (_, refusal) = home.failure(&["slot", "answer", "agent", "y", "--wait", "0"]);
    assert!(refusal.contains("half-typed text"), "{refusal}");
    assert_eq!(screen(&home), "> old\nGo on? [y/n]");
    home.json(&["slot", "send", "agent", "--force", "y"]);
    wait_for_text(&home, "got <y>");
}

#[test]
fn a_text_that_is_not_taken_gets_one_more_enter_and_an_incident() {
    let home = acme();
    let script = format!(
        "{KEYS} printf '> '; while :; do key; case \"$c\" in \"$CR\") echo x >> enters; \
         [ -e listen ] && printf '\\r\\n> ';; *) printf '%s' \"$c\";; esac; done"
    );
    spawn(&home, "acme", &script);
    wait_for_state(&home, "idle");
    let output = home.mission(&["slot", "send", "agent", "hello"]);
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(
        text(&output.stdout),
        "It was not taken: Enter was pressed twice and the text still stands in the prompt."
    );
    assert_eq!(written(&home.path().join("enters")), "x\nx\n");
    assert_eq!(screen(&home), "> hello", "the text is not typed twice");
    assert!(home.kinds().contains(&"prompt_stalled".to_owned()));
    wait_for("the incident", || {
        incidents(&home)
            .iter()
            .any(|incident| incident["kind"] == "slot_prompt_lost")
    });

    std::fs::write(home.path().join("listen"), "").unwrap();
    let sent = home.json(&["slot", "send", "agent", "--force", "x"]);
    assert_eq!(sent["landed"], "confirmed", "{sent}");
    wait_for("the incident to be resolved", || {
        incidents(&home).is_empty()
    });
}

#[test]
fn an_answer_takes_the_option_that_was_asked_for() {
    let home = TestHome::started();
    let script = format!(
        "{KEYS}{DIALOG} while :; do key; case \"$c\" in A) [ $sel -gt 1 ] && sel=$((sel-1)); draw;; \
         B) [ $sel -lt 3 ] && sel=$((sel+1)); draw;; \"$CR\") took; exec sleep 1000;; esac; done"
    );
    spawn(&home, "generic", &script);
    wait_for_state(&home, "confirming");
    let (_, refusal) = home.failure(&["slot", "send", "agent", "hello"]);
    assert!(
        refusal.contains("1. Yes / 2. Yes, always / 3. No"),
        "{refusal}"
    );
    let (_, refusal) = home.failure(&["slot", "answer", "agent", "ye"]);
    assert!(refusal.contains("fits several options"), "{refusal}");
    let (_, refusal) = home.failure(&["slot", "answer", "agent", "maybe"]);
    assert!(refusal.contains("no option is “maybe”"), "{refusal}");
    let other = [
        "slot",
        "answer",
        "agent",
        "no",
        "--expect",
        "delete everything",
    ];
    let (_, refusal) = home.failure(&other);
    assert!(refusal.contains("Do you want to proceed?"), "{refusal}");
    assert_eq!(written(&home.path().join("taken")), "");

    let args = [
        "slot",
        "answer",
        "agent",
        "no",
        "--expect",
        "want to proceed",
    ];
    let answered = home.json(&args);
    assert_eq!(answered["option"], "No");
    assert_eq!(answered["outcome"], "taken", "{answered}");
    assert_eq!(written(&home.path().join("taken")), "make: 3\n");
    let (_, refusal) = home.failure(&["slot", "answer", "agent", "1", "--wait", "0"]);
    assert!(refusal.contains("no dialog is open"), "{refusal}");
    assert!(home.kinds().contains(&"dialog_answered".to_owned()));
}

#[test]
fn a_dialog_that_becomes_another_one_is_not_answered() {
    let home = TestHome::started();
    let script = format!(
        "{KEYS}{DIALOG} while :; do key; case \"$c\" in B) what='rm -rf /'; sel=3; draw;; \
         \"$CR\") took; exec sleep 1000;; esac; done"
    );
    spawn(&home, "generic", &script);
    wait_for_state(&home, "confirming");
    let (code, refusal) = home.failure(&["slot", "answer", "agent", "3"]);
    assert_eq!(code, 5);
    assert!(refusal.contains("no option was taken"), "{refusal}");
    assert!(screen(&home).contains("rm -rf /"));
    assert_eq!(written(&home.path().join("taken")), "");
}

#[test]
fn an_answer_is_given_up_when_somebody_types_meanwhile() {
    let home = TestHome::started();
    let script = format!(
        "{KEYS}{DIALOG} while :; do key; case \"$c\" in B) echo x >> arrows;; x) sel=3; draw;; \
         \"$CR\") took; exec sleep 1000;; esac; done"
    );
    spawn(&home, "generic", &script);
    wait_for_state(&home, "confirming");
    let answer = home
        .command(&["slot", "answer", "agent", "3"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the arrow", || {
        !written(&home.path().join("arrows")).is_empty()
    });
    // Their key moves the mark to the very option.
    home.json(&["call", "slot_keys", r#"{"slot": "agent", "bytes": [120]}"#]);
    let refused = answer.wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(5));
    assert!(text(&refused.stderr).contains("somebody else typed"));
    wait_for_text(&home, "❯ 3. No");
    assert_eq!(written(&home.path().join("taken")), "");
}

#[test]
fn an_echo_of_the_terminal_is_no_sign_that_anybody_reads() {
    let home = TestHome::started();
    let spawn = |name: &str, script: &str| {
        let folder = home.path().to_str().unwrap();
        home.json(&[
            "slot", "spawn", "--name", name, "--cwd", folder, "--", "sh", "-c", script,
        ]);
    };
    spawn("deaf", "echo ready; sleep 600");
    spawn(
        "reads",
        "echo ready; while read line; do echo \"got <$line>\"; done",
    );
    for slot in ["deaf", "reads"] {
        wait_for("it to be ready", || {
            home.json(&["slot", "read", slot])["lines"][0] == "ready"
        });
    }
    let deaf = home.json(&["slot", "send", "deaf", "hello"]);
    assert_eq!(deaf["landed"], "unconfirmed", "{deaf}");
    let reads = home.json(&["slot", "send", "reads", "hello"]);
    assert_eq!(reads["landed"], "confirmed", "{reads}");
    let said = crate::harness::text(&home.mission(&["slot", "send", "deaf", "again"]).stdout);
    assert!(
        said.starts_with("Typed; whether it was read cannot be told"),
        "{said}"
    );
}
