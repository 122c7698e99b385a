//! The state a slot is read as, against what is so: the scripted model knows when it was
//! asked, when it began to speak and when it had said all, and the recording when the CLI
//! asked somebody, was answered, and said that its turn was over. The share of the time in
//! which both agree is printed. It is judged where each state is held for long enough that
//! the moments between them, in which a busy machine has its share, are not what is measured.
//!
//! What a CLI does between the model's last word and its own end of the turn is its affair:
//! some take half a second for it, and take no prompt meanwhile. So it is counted in two
//! ways: as idle from the last word on, and as nothing that anybody knows. The second is
//! judged. Idle before the CLI's own end of the turn is false in any case.

use std::time::{Duration, UNIX_EPOCH};

use missiond_control::{ControlEvent, Direction, RecordedLine, Replayer};
use missiond_core::{Clock, PtyState, SystemClock, Timestamp};
use missiond_model_server::{Gate, Reply};
use missiond_pty::host::{HostFiles, LineDirection, LineTail};

use super::{Agent, Cli, Room, wait_for};
use crate::harness::rounds;

/// What is so from each of these moments on.
type States<S> = Vec<(Timestamp, S)>;

/// How long each state is held where what was read is judged.
const JUDGED_FROM: Duration = Duration::from_secs(10);
/// The least share of the time.
const RIGHT: f64 = 0.995;
const EXACT: f64 = 0.995;
/// The most between the CLI's end of a turn and the reading of it.
const IDLE_WITHIN_MS: f64 = 50.0;

/// What the timeline says of the slot, and what the model knows.
struct Compared {
    right: f64,
    exact: f64,
    seconds: f64,
    /// Read as idle while it is not.
    false_idle_secs: f64,
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
        // From the model's last word to the CLI's end of the turn: at work in one, and in the
        // other nothing that anybody knows.
        let until_its_end = |between: Option<PtyState>| {
            let mut states = truth.clone();
            for (at, state) in &mut states {
                if said.contains(at) {
                    *state = between;
                }
            }
            states.extend(told.ended.iter().map(|at| (*at, Some(PtyState::Idle))));
            states.sort_by_key(|(at, _)| *at);
            states
        };
        let by_model = compare(&truth, until, &read);
        let by_cli = compare(&until_its_end(None), until, &read);
        let busy = compare(&until_its_end(Some(PtyState::Responding)), until, &read);
        let false_idle = busy.false_idle_secs;
        let after_its_end = idle_after(&told.ended, &read);
        let engine = self.engine;
        for (counted, compared) in [
            ("from the model's last word on", &by_model),
            ("from its own end of the turn on", &by_cli),
        ] {
            let Compared {
                right,
                exact,
                seconds,
                ..
            } = compared;
            eprintln!(
                "{engine}, idle {counted}: right {right:.4}, exact {exact:.4} of {seconds:.1} s"
            );
        }
        eprintln!(
            "{engine}: idle {after_its_end:.1?} ms after the CLI ended its turn, {:.1?} ms after \
             the model's last word, {false_idle:.3} s too early",
            idle_after(&said, &read),
        );
        if hold >= JUDGED_FROM {
            assert!(by_cli.right >= RIGHT, "{engine}: right {}", by_cli.right);
            assert!(by_cli.exact >= EXACT, "{engine}: exact {}", by_cli.exact);
            assert!(false_idle == 0.0, "{engine}: idle {false_idle} s too early");
            let soon = after_its_end.iter().all(|after| *after <= IDLE_WITHIN_MS);
            assert!(soon, "{engine}: idle after {after_its_end:?} ms");
        }
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

/// How many milliseconds after each of these moments it is read as idle.
fn idle_after(moments: &[Timestamp], read: &States<PtyState>) -> Vec<f64> {
    let after = |moment: &Timestamp| {
        let found = read
            .iter()
            .find(|(at, state)| at >= moment && *state == PtyState::Idle);
        let (at, _) = found.expect("it is read as idle after its turn");
        (at.as_micros() - moment.as_micros()) as f64 / 1000.0
    };
    moments.iter().map(after).collect()
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
    let (mut all, mut right, mut exact, mut false_idle) = (0, 0, 0, 0);
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
        let too_early = told == Some(PtyState::Idle) && so != PtyState::Idle;
        false_idle += if too_early { lasted } else { 0 };
    }
    Compared {
        right: right as f64 / all as f64,
        exact: exact as f64 / all as f64,
        seconds: all as f64 / 1e6,
        false_idle_secs: false_idle as f64 / 1e6,
    }
}
