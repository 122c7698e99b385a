//! A running agent is given another mode and other settings: by whom, what is refused, and
//! that they hold for the next program of the conversation.

use serde_json::{Value, json};

use crate::handoff::DETACH;
use crate::harness::{TestHome, text, wait_for};
use crate::person::Person;

const SCRIPT: &str = r#"
rehearsal: 1
turns:
  - uses: always
    steps:
      - say: "{{prompt}}: by {{mode}} and {{detail}}."
"#;

fn begin(home: &TestHome, control: &str) {
    let folder = home.path().join("project");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("script.yaml"), SCRIPT).unwrap();
    let mut run = home.command(&[
        "run",
        "first",
        "--engine",
        "rehearsal",
        "--control",
        control,
        "--name",
        "work",
        "--wait",
        "--json",
        "--",
        "script.yaml",
        "--speed",
        "50",
    ]);
    let run = run.current_dir(&folder).output().unwrap();
    assert!(run.status.success(), "{}", text(&run.stderr));
}

fn told(home: &TestHome, name: &str) -> Value {
    let shown = home.json(&["execution", "show", "work"]);
    let settings = shown["agent"]["settings"].as_array().unwrap().clone();
    let mut settings = settings.into_iter();
    let setting = settings.find(|setting| setting["name"] == name);
    setting.unwrap()["current"].clone()
}

/// What the agent answers shows what it was told.
fn answers(home: &TestHome, message: &str, answer: &str) {
    home.json(&["execution", "message", "work", message]);
    let answer = format!("{message}: {answer}");
    wait_for(&answer, || {
        let shown = home.json(&["execution", "show", "work"]);
        shown["last_words"].as_str() == Some(answer.as_str())
    });
}

fn is_driven_by(home: &TestHome, controller: &str) {
    wait_for(&format!("the {controller}"), || {
        let listed = home.json(&["slot", "list"]);
        listed["slots"][0]["program"]["controller"] == controller
    });
    wait_for("its prompt", || {
        home.json(&["slot", "read", "work"])["reading"]["state"] == "idle"
    });
}

#[test]
fn what_is_set_holds_for_the_daemon_and_the_program_that_come_next() {
    let home = TestHome::with_config("[engines]\nreturn_secs = 0\n");
    home.start();
    begin(&home, "structured");
    assert_eq!(told(&home, "mode"), "ask");
    let set = home.json(&[
        "execution",
        "set",
        "work",
        "--mode",
        "plan",
        "--set",
        "detail=long",
    ]);
    let expected = json!([
        {"setting": "mode", "value": "plan"},
        {"setting": "detail", "value": "long"},
    ]);
    assert_eq!(set["set"], expected);
    assert_eq!(told(&home, "mode"), "plan");
    answers(&home, "second", "by plan and long.");

    home.kill();
    home.start();
    assert_eq!(told(&home, "Detail"), "long");
    answers(&home, "third", "by plan and long.");

    // Its own terminal knows nothing of them, and gives the conversation back.
    let mut person = Person::attach(&home, (100, 30), &["work"]);
    is_driven_by(&home, "terminal");
    let (_, refused) = home.failure(&["execution", "set", "work", "--mode", "ask"]);
    assert!(refused.contains("driven by its terminal"), "{refused}");
    person.types(DETACH);
    person.left_as_it_was(0);
    is_driven_by(&home, "structured");
    assert_eq!(told(&home, "mode"), "plan");
    answers(&home, "fourth", "by plan and long.");
}

#[test]
fn what_the_agent_does_not_offer_is_refused_with_what_it_does() {
    let home = TestHome::started();
    begin(&home, "structured");
    let refused = |change: &[&str]| {
        let words: Vec<_> = ["execution", "set", "work"]
            .iter()
            .chain(change)
            .copied()
            .collect();
        home.failure(&words).1
    };
    let said = refused(&["--mode", "plan", "--set", "detail=longest"]);
    assert!(said.contains("`detail` cannot be `longest`"), "{said}");
    assert!(said.contains("`short`, `long`"), "{said}");
    let said = refused(&["--set", "colour=red"]);
    assert!(said.contains("no setting `colour`"), "{said}");
    assert!(said.contains("`detail`, `mode`"), "{said}");
    let said = refused(&["--model", "large"]);
    assert!(said.contains("does not offer a choice of models"), "{said}");
    let said = refused(&[]);
    assert!(said.contains("say what is to be changed"), "{said}");
    assert_eq!(told(&home, "mode"), "ask", "nothing of it was asked for");
}

/// What an agent is asked about hangs on its mode.
#[test]
fn an_agent_in_a_slot_chooses_no_mode_for_itself() {
    let home = TestHome::started();
    let folder = home.path().join("project");
    std::fs::create_dir(&folder).unwrap();
    let script = r#"
rehearsal: 1
turns:
  - uses: always
    steps:
      - run: {argv: [sh, -c, "mission execution set work --mode plan 2> refused; touch done"], exit: 0}
"#;
    let program = crate::harness::binary();
    let script = script.replace(
        "mission execution",
        &format!("{} execution", program.display()),
    );
    std::fs::write(folder.join("script.yaml"), script).unwrap();
    let mut run = home.command(&[
        "run",
        "first",
        "--engine",
        "rehearsal",
        "--control",
        "structured",
        "--name",
        "work",
        "--json",
        "--",
        "script.yaml",
        "--speed",
        "50",
    ]);
    let run = run.current_dir(&folder).output().unwrap();
    assert!(run.status.success(), "{}", text(&run.stderr));
    wait_for("it to have tried", || folder.join("done").exists());
    let refused = std::fs::read_to_string(folder.join("refused")).unwrap();
    assert!(
        refused.contains("can change the model and nothing else"),
        "{refused}"
    );
    assert_eq!(told(&home, "mode"), "ask");
}
