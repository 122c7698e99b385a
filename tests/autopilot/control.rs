//! A task says by what its agent is driven, and its attempts are driven so.

use serde_json::{Value, json};

use super::{Field, waits_for, writes};
use crate::harness::{TestHome, text, wait_for};

/// A turn that waits until the test has looked, and is then done.
fn looked_at(field: &Field, file: &str) -> String {
    let written = writes(file, "made");
    let first = "    steps:\n";
    let steps = format!("{first}{}", waits_for(&field.file("looked")));
    written.replacen(first, &steps, 1)
}

#[test]
fn a_task_says_what_drives_its_agent() {
    let field = Field::new();
    let task = |control: &str| {
        let turns = looked_at(&field, &format!("{control}.txt"));
        field.task(control, &turns, json!({ "control": control }))
    };
    let driven = ["structured", "terminal"].map(|control| (control, task(control)));
    let controller = |task: &str| -> Value {
        let listed = field.home.json(&["slot", "list"]);
        let slots = listed["slots"].as_array().unwrap().iter();
        let mut of_task = slots.filter(|slot| slot["name"] == task);
        of_task
            .next()
            .map_or(Value::Null, |slot| slot["program"]["controller"].clone())
    };
    for (control, number) in &driven {
        wait_for(&format!("{number} to run"), || {
            controller(number) != Value::Null
        });
        assert_eq!(controller(number), *control);
        let shown = text(&field.home.mission(&["task", "show", number]).stdout);
        let way = ["its protocol", "its terminal"][usize::from(*control == "terminal")];
        assert!(shown.contains(&format!("driven by   {way}")), "{shown}");
    }
    field.touch("looked");
    for (control, number) in &driven {
        let details = field.wait_status(number, "done");
        assert_eq!(details["task"]["control"], *control);
        assert_eq!(field.on_main(&format!("{control}.txt")), "made");
    }
}

#[test]
fn what_an_engine_does_not_offer_is_refused() {
    let config =
        "[[engines.added]]\nname = \"mine\"\ncommand = \"true\"\n[autopilot]\nengine = \"aider\"\n";
    let field = Field::quiet(TestHome::with_config(config));
    field.home.start();
    let repository = field.repository().display().to_string();
    let add = ["task", "add", "Try it", "--repository", &repository];
    let refused = |more: &[&str]| field.home.failure(&[&add[..], more].concat());
    let added = |more: &[&str]| field.home.json(&[&add[..], more].concat());

    let (code, said) = refused(&["--engine", "aider", "--control", "structured"]);
    assert_eq!(code, 2, "{said}");
    let why = "aider is driven by its terminal: it has no protocol";
    assert!(said.contains(why), "{said}");
    let (_, said) = refused(&["--engine", "mine", "--control", "terminal"]);
    assert!(said.contains("mine is driven by its protocol"), "{said}");
    let (_, said) = refused(&["--control", "pigeon"]);
    assert!(said.contains("use structured or terminal"), "{said}");

    // Whether the usual engine can be driven so may change until the task begins.
    let usual = added(&["--control", "structured"]);
    assert!(usual["warnings"].to_string().contains(why), "{usual}");
    let edit = ["task", "edit", "T-1", "--engine", "aider"];
    let (_, said) = field.home.failure(&edit);
    assert!(said.contains(why), "{said}");
    let freed = [&edit[..], &["--clear", "control"]].concat();
    assert_eq!(field.home.json(&freed)["control"], Value::Null);

    // An agent that was added needs no program after its name.
    let mine = added(&["--engine", "mine", "--control", "structured"]);
    assert_eq!(mine["task"]["control"], "structured");

    // One that is tried beside another may be driven otherwise.
    let number = mine["task"]["number"].as_str().unwrap();
    let beside = ["task", "alternative", number, "--engine"];
    let refuse = ["aider", "--control", "structured"];
    let (code, said) = field.home.failure(&[&beside[..], &refuse].concat());
    assert_eq!(code, 2, "{said}");
    assert!(said.contains(why), "{said}");
    let control = |more: &[&str]| {
        let added = field.home.json(&[&beside[..], more].concat());
        added["task"]["control"].clone()
    };
    assert_eq!(control(&["codex", "--control", "terminal"]), "terminal");
    assert_eq!(control(&["mine"]), "structured");
    assert_eq!(control(&["claude"]), Value::Null);
}
