//! The way from a CLI's protocol into its own terminal and back, with one conversation.

use missiond_model_server::Reply;

use super::{Agent, Cli, Room, wait_for};
use crate::handoff::DETACH;
use crate::person::Person;

impl Cli {
    /// A person types into a structured conversation: the CLI's own terminal has all that
    /// was said, and so has its protocol when they have left.
    pub(super) fn goes_over_into_its_terminal_and_back(&self, room: &Room) {
        let model = &room.model;
        model.reply(Reply::new().text("The first is red."));
        let agent = Agent::start(self, room, "name the first", &[]);
        agent.wait_for_rest("The first is red.");
        let conversation = agent.show()["conversation"].clone();
        assert!(conversation.is_string());

        let mut person = Person::attach(&room.home, (110, 34), &["agent"]);
        self.is_driven_by(room, "terminal");
        wait_for("the prompt of its terminal", || {
            agent.screen()["reading"]["state"] == "idle"
        });
        model.reply(Reply::new().text("The second is green."));
        person.types("name the second");
        person.waits_for("name the second");
        person.types("\r");
        agent.wait_for_text("The second is green.");
        person.waits_for("The second is green.");
        let asked = model.turns().last().unwrap().body.to_string();
        assert!(asked.contains("The first is red."), "it has forgotten");
        agent.rests();

        person.types(DETACH);
        person.left_as_it_was(0);
        self.is_driven_by(room, "structured");
        self.is_quit(room, &agent);
        model.reply(Reply::new().text("The third is blue."));
        agent.send_message("name the third");
        agent.wait_for_rest("The third is blue.");
        let asked = model.turns().last().unwrap().body.to_string();
        assert!(asked.contains("The second is green."), "it has forgotten");
        assert_eq!(agent.show()["conversation"], conversation);
        wait_for("what it said to be on record, each once", || {
            let file = agent.show()["journal"].as_str().unwrap().to_owned();
            let journal = std::fs::read_to_string(file).unwrap();
            let said = |words: &str| {
                let speech = |line: &&str| line.contains("\"agent\"") && line.contains(words);
                journal.lines().filter(speech).count()
            };
            let said = [
                said("The first is red."),
                said("The second is green."),
                said("The third is blue."),
            ];
            assert!(said.iter().all(|times| *times <= 1), "{said:?}: {journal}");
            said == [1; 3]
        });
    }

    /// Who quits its terminal gives the conversation back.
    fn is_quit(&self, room: &Room, agent: &Agent<'_>) {
        let mut person = Person::attach(&room.home, (110, 34), &["agent"]);
        self.is_driven_by(room, "terminal");
        wait_for("the prompt of its terminal", || {
            agent.screen()["reading"]["state"] == "idle"
        });
        person.types(self.farewell);
        person.waits_for(self.farewell);
        person.types("\r");
        person.waits_for("its terminal has ended");
        self.is_driven_by(room, "structured");
    }

    pub(super) fn is_driven_by(&self, room: &Room, controller: &str) {
        wait_for(&format!("{} by its {controller}", self.engine), || {
            let listed = room.home.json(&["slot", "list"]);
            listed["slots"][0]["program"]["controller"] == controller
        });
    }
}
