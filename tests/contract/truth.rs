//! The state a slot is read as, against what is so: the scripted model knows when it was
//! asked, when it began to speak and when it had said all, and the recording when the CLI
//! asked somebody, was answered, and said that its turn was over. The share of the time in
//! which both agree is printed, and not judged: how busy the machine is has a share in it.
//!
//! What a CLI does between the model's last word and its own end of the turn is its affair:
//! some take half a second for it, and take no prompt meanwhile. So it is counted in two
//! ways: as idle from the last word on, and as nothing that anybody knows.

use std::time::{Duration, UNIX_EPOCH};

use missiond_control::{ControlEvent, Direction, RecordedLine, Replayer};
use missiond_core::{Clock, PtyState, SystemClock, Timestamp};
use missiond_model_server::{Gate, Reply};
use missiond_pty::host::{HostFiles, LineDirection, LineTail};

use super::{Agent, Cli, Room, wait_for};
use crate::harness::rounds;

/// What is so from each of these moments on.
type States<S> = Vec<(Timestamp, S)>;

/// What the timeline says of the slot, and what the model knows.
struct Compared {
    right: f64,
    exact: f64,
    seconds: f64,
}

impl Cli {
    pub(super) fn is_read_as_it_is(&self, room: &Room) {
        let hold = Duration::from_secs(rounds("MISSION_TRUTH_SECS", 1, 20));
        let model = &room.model;
        // Nothing is known of a prompt that is on its way.
        let mut truth: States<Option<PtyState>> = Vec::new();
        let mut agent = None;
        for prompt in ["name the first", "name the second"] {
            let (begin, finish) = (Gate::closed(), Gate::closed());
            let reply = Reply::new().hold(&begin).text("Here it comes.\n\n");
            model.reply(reply.hold(&finish).text("That was all of it."));
            let asked = model.turns().len();
            truth.push((SystemClock.now(), None));
            match &agent {
                None => agent = Some(Agent::start(self, room, prompt, &[])),
                Some(agent) => agent.send_message(prompt),
            }
            truth.push((arrival(room, asked), Some(PtyState::Thinking)));
            std::thread::sleep(hold);
            truth.push((opened(&begin), Some(PtyState::Responding)));
            std::thread::sleep(hold);
            truth.push((opened(&finish), Some(PtyState::Idle)));
            std::thread::sleep(hold);
        }
        let agent = agent.expect("it was started");
        agent.rests();
        self.is_read_while_it_asks(&agent, hold, &mut truth);
        let until = SystemClock.now();
        let read = readings(room);
        let told = Told::of(room);
        assert_eq!(told.ended.len(), 3, "three turns");
        let said: Vec<_> = truth
            .iter()
            .filter(|(_, state)| *state == Some(PtyState::Idle))
            .map(|(at, _)| *at)
            .collect();
        truth.extend(
            told.asked
                .iter()
                .map(|at| (*at, Some(PtyState::Confirming))),
        );
        truth.extend(
            told.answered
                .iter()
                .map(|at| (*at, Some(PtyState::ToolRunning))),
        );
        truth.sort_by_key(|(at, _)| *at);
        let mut until_its_end = truth.clone();
        for (at, state) in &mut until_its_end {
            if said.contains(at) {
                *state = None;
            }
        }
        until_its_end.extend(told.ended.iter().map(|at| (*at, Some(PtyState::Idle))));
        until_its_end.sort_by_key(|(at, _)| *at);
        let after = |moments: &[Timestamp]| -> Vec<String> {
            let idle = |moment: &Timestamp| {
                let found = read
                    .iter()
                    .find(|(at, state)| at >= moment && *state == PtyState::Idle);
                let (at, _) = found.expect("it is read as idle after its turn");
                format!(
                    "{:.1}",
                    (at.as_micros() - moment.as_micros()) as f64 / 1000.0
                )
            };
            moments.iter().map(idle).collect()
        };
        for (counted, truth) in [
            ("from the model's last word on", &truth),
            ("from its own end of the turn on", &until_its_end),
        ] {
            let Compared {
                right,
                exact,
                seconds,
            } = compare(truth, until, &read);
            eprintln!(
                "{}, idle {counted}: right {right:.4}, exact {exact:.4} of {seconds:.1} s",
                self.engine
            );
        }
        eprintln!(
            "{}: idle {} ms after the CLI ended its turn, {} ms after the model's last word",
            self.engine,
            after(&told.ended).join(", "),
            after(&said).join(", "),
        );
        // In their order, whatever time each took.
        let states: Vec<_> = read.iter().map(|(_, state)| *state).collect();
        let answers = [PtyState::Thinking, PtyState::Responding, PtyState::Idle];
        let asks = [PtyState::Confirming, PtyState::Responding, PtyState::Idle];
        let mut left = states.iter();
        for state in answers.iter().chain(&answers).chain(&asks) {
            assert!(left.any(|read| read == state), "{state:?} in {states:?}");
        }
    }

    /// A tool that somebody is asked about, and what the model says of it.
    fn is_read_while_it_asks(
        &self,
        agent: &Agent<'_>,
        hold: Duration,
        truth: &mut States<Option<PtyState>>,
    ) {
        let (room, model) = (agent.room, &agent.room.model);
        let (begin, finish) = (Gate::closed(), Gate::closed());
        model.reply((self.write)(Reply::new(), room, "made.txt"));
        let reply = Reply::new().hold(&begin).text("It is there.\n\n");
        model.reply(reply.hold(&finish).text("That was all of it."));
        let asked = model.turns().len();
        truth.push((SystemClock.now(), None));
        agent.send_message("write the file");
        wait_for("the question", || {
            agent.screen()["reading"]["state"] == "confirming"
        });
        std::thread::sleep(hold);
        let answer = ["slot", "answer", "agent", self.allow, "--wait", "30"];
        room.home.json(&answer);
        truth.push((arrival(room, asked + 1), Some(PtyState::Thinking)));
        std::thread::sleep(hold);
        truth.push((opened(&begin), Some(PtyState::Responding)));
        std::thread::sleep(hold);
        truth.push((opened(&finish), Some(PtyState::Idle)));
        std::thread::sleep(hold);
        agent.rests();
    }
}

/// When the model was asked for the step after so many.
fn arrival(room: &Room, before: usize) -> Timestamp {
    let mut at = None;
    wait_for("the model to be asked", || {
        at = room.model.turns().get(before).map(|turn| turn.at);
        at.is_some()
    });
    let since = at.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let micros = since.expect("it is after 1970").as_micros();
    Timestamp::from_micros(i64::try_from(micros).unwrap())
}

fn opened(gate: &Gate) -> Timestamp {
    gate.open();
    SystemClock.now()
}

/// What the timeline says of the only slot.
fn readings(room: &Room) -> States<PtyState> {
    let events = room.home.events().into_iter();
    let changes = events.filter(|event| event["event"]["type"] == "pty_state_changed");
    changes
        .map(|change| {
            let at = serde_json::from_value(change["at"].clone()).unwrap();
            (
                at,
                serde_json::from_value(change["event"]["to"].clone()).unwrap(),
            )
        })
        .collect()
}

/// When the CLI said that a turn was over, that it asks, and when it was answered, by its
/// recording.
#[derive(Debug, Default)]
struct Told {
    ended: Vec<Timestamp>,
    asked: Vec<Timestamp>,
    answered: Vec<Timestamp>,
}

impl Told {
    fn of(room: &Room) -> Self {
        let records = HostFiles::records(&room.home.home().slots_dir()).unwrap();
        let record = &records[0];
        let setup: missiond_adapters::ControlSetup =
            serde_json::from_value(record.handover.clone().unwrap()).unwrap();
        let options = setup.options();
        let mut lines = LineTail::new(&record.recording, options.limits.line);
        let mut replayer = Replayer::new(options);
        let mut told = Self::default();
        for line in lines.read().unwrap() {
            let micros = i64::try_from(line.at.as_micros()).unwrap();
            let at = Timestamp::from_micros(record.started_at_us + micros);
            let direction = match line.direction {
                LineDirection::FromProgram => Direction::FromAgent,
                LineDirection::ToProgram => Direction::ToAgent,
            };
            let recorded = RecordedLine {
                direction,
                at,
                line: line.text,
            };
            for event in replayer.line(&recorded) {
                match event {
                    ControlEvent::TurnEnded { .. } => told.ended.push(at),
                    ControlEvent::PermissionRequested(_) => told.asked.push(at),
                    ControlEvent::PermissionResolved { .. } => told.answered.push(at),
                    _ => {}
                }
            }
        }
        told
    }
}

/// The state at a moment.
fn at<S: Copy>(states: &[(Timestamp, S)], moment: Timestamp) -> Option<S> {
    let before = states.iter().take_while(|(at, _)| *at <= moment);
    before.last().map(|(_, state)| *state)
}

fn compare(
    truth: &[(Timestamp, Option<PtyState>)],
    until: Timestamp,
    read: &[(Timestamp, PtyState)],
) -> Compared {
    let Some((from, _)) = truth.first() else {
        panic!("nothing is known");
    };
    let known = truth.iter().map(|(at, _)| *at);
    let mut moments: Vec<_> = known.chain(read.iter().map(|(at, _)| *at)).collect();
    moments.retain(|moment| moment >= from && *moment < until);
    moments.push(until);
    moments.sort();
    let (mut all, mut right, mut exact) = (0, 0, 0);
    for pair in moments.windows(2) {
        let Some(so) = at(truth, pair[0]).flatten() else {
            continue;
        };
        let lasted = pair[1].as_micros() - pair[0].as_micros();
        let told = at(read, pair[0]);
        let both_work = so.is_working() && told.is_some_and(PtyState::is_working);
        all += lasted;
        right += if both_work || told == Some(so) {
            lasted
        } else {
            0
        };
        exact += if told == Some(so) { lasted } else { 0 };
    }
    Compared {
        right: right as f64 / all as f64,
        exact: exact as f64 / all as f64,
        seconds: all as f64 / 1e6,
    }
}
