//! `mission status --watch` on a real terminal.

use missiond_semantic::Style;
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{TestHome, wait_for};
use crate::person::Person;
use crate::status::{ASKS, Studio};

fn watches(home: &TestHome, size: (u16, u16), variables: &[(&str, &str)]) -> Person {
    Person::runs(home, size, &["status", "--watch"], variables)
}

/// An agent asks, and a person opens its terminal from the view.
fn opens_a_terminal(studio: &Studio) -> Person {
    studio.agent("Add square roots", ASKS);
    let mut person = watches(&studio.home, (100, 30), &[]);
    person.waits_for("Needs you (1)");
    person.types("\r");
    person.waits_for("Do you want to let it run this command?");
    person
}

#[test]
fn a_question_is_answered_by_a_key_and_quitting_marks_what_is_finished() {
    let studio = Studio::new();
    let run = studio.agent("Add square roots", ASKS);
    let mut person = watches(&studio.home, (110, 24), &[]);
    person.waits_for("Needs you (1)");
    person.waits_for("› Add square roots");
    person.waits_for("1 Allow");
    person.types("9");
    person.waits_for("Q-1 has the answers 1 to");
    person.types("1");
    wait_for("the agent to go on", || studio.file("allowed").exists());
    // It is heard of, not asked for.
    person.waits_for("Waits to be told something");
    assert!(!person.sees().contains("Needs you"), "{}", person.sees());
    person.types("d");
    person.waits_for("repository");
    person.types("?");
    person.waits_for("answer the question that is selected");
    person.types("?");
    studio.home.json(&["execution", "cancel", &run]);
    person.waits_for("Finished since you looked (1)");
    person.types("q");
    person.left_as_it_was(0);
    assert_eq!(studio.overview()["finished"].as_array().unwrap().len(), 0);
}

#[test]
fn names_of_every_width_fit_every_size_and_a_signal_gives_the_terminal_back() {
    let studio = Studio::new();
    let run = studio.agent("平方根を計算する関数 🎉 を追加して", ASKS);
    let mut person = watches(&studio.home, (40, 12), &[]);
    person.waits_for("› 平方根を計算する関数");
    person.waits_for("1 Allow");
    person.resizes(120, 30);
    person.waits_for("平方根を計算する関数 🎉 を追加して (studio-");
    person.resizes(30, 8);
    wait_for("a narrow picture", || {
        let sees = person.sees();
        sees.contains("› 平方根") && !sees.contains("(studio-")
    });
    let pid = Pid::from_raw(person.child.id().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    person.left_as_it_was(143);
    // Leaving marks nothing.
    let mut other = watches(&studio.home, (80, 24), &[]);
    other.waits_for("Needs you");
    studio.home.json(&["execution", "cancel", &run]);
    other.waits_for("Finished since you looked");
    other.types("\x03");
    other.left_as_it_was(0);
    assert_eq!(studio.overview()["finished"].as_array().unwrap().len(), 1);
}

#[test]
fn colours_are_left_out_when_nobody_wants_them() {
    let studio = Studio::new();
    studio.agent("Add square roots", ASKS);
    let coloured = |variables: &[(&str, &str)]| {
        let mut person = watches(&studio.home, (100, 24), variables);
        person.waits_for("Needs you (1)");
        let coloured = {
            let mut terminal = person.terminal.lock().unwrap();
            let rows = terminal.screen().rows.iter();
            let mut runs = rows.flat_map(|row| &row.emphasis);
            runs.any(|run| run.style.contains(Style::COLOURED))
        };
        person.types("q");
        person.left_as_it_was(0);
        coloured
    };
    assert!(coloured(&[]));
    assert!(!coloured(&[("NO_COLOR", "1")]));
}

#[test]
fn enter_opens_the_agents_terminal_and_comes_back() {
    let studio = Studio::new();
    let mut person = opens_a_terminal(&studio);
    person.waits_for("↑/↓ to choose");
    person.types("\x1d");
    person.waits_for("Needs you (1)");
    // Keys are the view's again.
    person.types("1");
    wait_for("the agent to go on", || studio.file("allowed").exists());
    person.types("q");
    person.left_as_it_was(0);
}

#[test]
fn a_signal_ends_the_view_while_an_agents_terminal_is_open() {
    let studio = Studio::new();
    let mut person = opens_a_terminal(&studio);
    let pid = Pid::from_raw(person.child.id().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    person.left_as_it_was(143);
}

#[test]
fn the_view_waits_for_a_daemon_that_is_gone() {
    let studio = Studio::new();
    let mut person = watches(&studio.home, (100, 24), &[]);
    person.waits_for("No agent works");
    studio.home.json(&["down"]);
    person.waits_for("The daemon is not running; waiting for it.");
    studio.home.start();
    person.waits_for("Autopilot paused");
    person.types("q");
    person.left_as_it_was(0);
    let (code, said) = studio.home.failure(&["status", "--watch"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("fills a terminal"), "{said}");
}
