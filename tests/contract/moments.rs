//! A conversation of a real CLI that goes over from its protocol into its terminal and back
//! at random moments, while messages are sent and the daemon is killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use missiond_model_server::Reply;
use serde_json::Value;

use super::{Agent, Cli, Room, wait_for};
use crate::fault_fs::Random;
use crate::handoff::{DETACH, programs_of_hosts};
use crate::harness::rounds;
use crate::person::Person;

/// What the daemon is to be told for it: who leaves has left.
pub(super) const CONFIG: &str = "[engines]\nreturn_secs = 0\n";

impl Cli {
    /// One program at every moment, and each message in the conversation once.
    pub(super) fn keeps_its_conversation_at_any_moment(&self, room: &Room) {
        let moments = rounds("MISSION_HANDOFF_MOMENTS", 8, 200);
        let mut random = Random::new(rounds("MISSION_HANDOFF_SEED", 7, 7));
        room.model.always(Some(Reply::new().text("It is noted.")));
        let agent = Agent::start(self, room, "note number 0 of many", &[]);
        agent.wait_for_rest("It is noted.");
        let conversation = agent.show()["conversation"].clone();
        let (watching, most) = (
            Arc::new(AtomicBool::new(true)),
            Arc::new(AtomicUsize::new(0)),
        );
        let watcher = std::thread::spawn({
            let (watching, most) = (Arc::clone(&watching), Arc::clone(&most));
            let folder = room.path("work");
            move || {
                while watching.load(Ordering::Relaxed) {
                    most.fetch_max(programs_of_hosts(&folder, |_| true), Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(3));
                }
            }
        });
        let mut person: Option<Person> = None;
        let mut sent = vec!["note number 0 of many".to_owned()];
        for moment in 1..=moments {
            std::thread::sleep(Duration::from_millis(random.below(3000)));
            match random.below(10) {
                0..=3 => match person.take() {
                    Some(mut leaving) => leaving.types(DETACH),
                    None => person = Some(Person::attach(&room.home, (100, 30), &["agent"])),
                },
                4..=7 => {
                    let message = format!("note number {moment} of many");
                    room.home.json(&["execution", "message", "agent", &message]);
                    sent.push(message);
                }
                _ => {
                    room.home.kill();
                    room.home.start();
                }
            }
        }
        drop(person);
        let messages = || agent.show()["messages"].as_array().unwrap().clone();
        wait_for("every message to come to its end", || {
            let open = ["queued", "held", "delivering"];
            let waits = |one: &Value| open.iter().any(|status| one["status"] == *status);
            !messages().iter().any(waits)
        });
        self.is_driven_by(room, "structured");
        watching.store(false, Ordering::Relaxed);
        watcher.join().unwrap();
        assert_eq!(most.load(Ordering::Relaxed), 1, "programs at one moment");
        assert_eq!(agent.show()["conversation"], conversation);

        // The model is told the whole conversation with its last prompt.
        let turns = room.model.turns().len();
        agent.send_message("and that is all");
        wait_for("the last turn", || room.model.turns().len() > turns);
        agent.rests();
        let asked = room.model.turns().last().unwrap().body.to_string();
        let statuses = messages();
        let mut failed = 0;
        for (message, status) in sent.iter().zip(&statuses) {
            let times = asked.matches(&format!("{message}\"")).count();
            match status["status"].as_str().unwrap() {
                "delivered" => assert_eq!(times, 1, "{message}: {asked}"),
                // Whoever sent it is told, and it was not said again.
                "failed" => {
                    failed += 1;
                    assert!(times <= 1, "{message}: {asked}");
                }
                other => panic!("{message} is {other}"),
            }
        }
        let listed = room.home.json(&["slot", "list"]);
        eprintln!(
            "{}: {moments} moments, {} messages, {failed} told as failed, {} programs",
            self.engine,
            sent.len(),
            listed["slots"][0]["program"]["generation"]
        );
    }
}
