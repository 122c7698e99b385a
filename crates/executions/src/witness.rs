//! The agent's own record and its hook as the witnesses of its protocol.
//!
//! While a protocol drives, no screen is there that could disagree with it. But each CLI
//! writes down what it does, for itself: which tools it ran with which arguments, and where
//! a turn ended; and some ask a hook before each tool, with the input they will run. Nothing
//! of that is taken into the journal a second time; it is held against what the protocol
//! said. A tool that ran or was to run with another input than was announced or allowed, and
//! a turn of which the two say different things for longer than a moment, are incidents that
//! show both sides.

use std::time::{Duration, Instant};

use missiond_adapters::{ToolSubject, TranscriptFact, TranscriptMemory, TranscriptTail, adapter};
use missiond_control::{ControlEvent, Origin, ToolInput};
use missiond_core::{Anomaly, CliEngine, Event, Severity};
use missiond_runtime::blocking;
use missiond_store::incidents;
use missiond_timeline::incidents::WITNESS_DISAGREES;

use super::run::Run;
use crate::context::Context;
use crate::error::ExecutionError;

/// Calls that are remembered; the oldest are forgotten.
const MOST_CALLS: usize = 256;

/// For so long a record may lag behind.
const MOMENT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Witness {
    record: Option<Record>,
    calls: Vec<Call>,
    turn: Turn,
    /// What is told of a disagreement about the turn.
    open: bool,
}

/// How far the record was read.
#[derive(Debug)]
struct Record {
    tail: TranscriptTail,
    memory: TranscriptMemory,
    /// What stood in it when it was found is older than what is heard.
    caught_up: bool,
}

/// What each side says of a call, by the id that all know it by.
#[derive(Debug)]
struct Call {
    id: String,
    /// By the protocol: what was announced, or what was asked about.
    told: Option<ToolSubject>,
    was_asked: bool,
    hooked: Option<ToolSubject>,
    done: Option<ToolSubject>,
    is_compared: bool,
}

/// What both sides say of the turn.
#[derive(Debug)]
struct Turn {
    under_way: bool,
    /// When the protocol said so, and when it said anything last.
    since: Instant,
    heard: Instant,
    /// When the record said that the turn was over, and nothing after it.
    ended: Option<Instant>,
    /// The last tool of the record.
    worked: Option<(Instant, String)>,
}

impl Call {
    fn mismatch(&self) -> Option<String> {
        let before = if self.was_asked {
            "allowed"
        } else {
            "announced"
        };
        let told = self.told.as_ref().map(|subject| (before, subject));
        let hooked = self.hooked.as_ref().map(|subject| ("hooked", subject));
        let asked = self.hooked.as_ref();
        let asked = asked.map(|subject| ("its hook asked about", subject));
        let done = self.done.as_ref();
        let done = done.map(|subject| ("its own record says", subject));
        [(told, asked), (told, done), (hooked, done)]
            .into_iter()
            .find_map(|(one, other)| {
                let ((before, one), (says, other)) = (one?, other?);
                let (one_text, other_text) = (one.text(), other.text());
                other
                    .contradicts(one)
                    .then(|| format!("{before} was {one_text:?}, {says} {other_text:?}"))
            })
    }
}

impl Witness {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            record: None,
            calls: Vec::new(),
            turn: Turn {
                under_way: false,
                since: now,
                heard: now,
                ended: None,
                worked: None,
            },
            open: false,
        }
    }

    /// What the protocol says.
    pub(super) fn hear(&mut self, event: &ControlEvent, now: Instant) {
        self.turn.heard = now;
        match event {
            ControlEvent::TurnBegan { .. } => {
                self.turn.under_way = true;
                self.turn.since = now;
                (self.turn.ended, self.turn.worked) = (None, None);
            }
            ControlEvent::TurnEnded { .. } => {
                self.turn.under_way = false;
                self.turn.since = now;
            }
            ControlEvent::ToolCallAnnounced { call, origin } if *origin == Origin::Live => {
                self.tell(&call.id.0, &call.input, false);
            }
            ControlEvent::ToolCallUpdated { update, origin } if *origin == Origin::Live => {
                if let Some(input) = &update.input {
                    self.tell(&update.id.0, input, false);
                }
            }
            ControlEvent::PermissionRequested(request) => {
                if let Some(call) = &request.tool_call {
                    self.tell(&call.0, &request.input, true);
                }
            }
            _ => {}
        }
    }

    fn tell(&mut self, id: &str, input: &ToolInput, asked: bool) {
        let ToolInput::Said { json, .. } = input else {
            return;
        };
        let value = json.is_whole().then(|| serde_json::from_str(&json.text));
        let Some(subject) = value
            .and_then(Result::ok)
            .and_then(|value| ToolSubject::of(&value))
        else {
            return;
        };
        let call = self.call(id);
        // What was asked about is what was allowed.
        if asked || !call.was_asked {
            call.told = Some(subject);
            call.was_asked = asked;
        }
    }

    fn call(&mut self, id: &str) -> &mut Call {
        let place = self.calls.iter().position(|call| call.id == id);
        let place = place.unwrap_or_else(|| {
            if self.calls.len() == MOST_CALLS {
                // Whoever invents calls pushes out none that the protocol knows of.
                let unknown = self.calls.iter().position(|call| call.told.is_none());
                self.calls.remove(unknown.unwrap_or(0));
            }
            self.calls.push(Call {
                id: id.to_owned(),
                told: None,
                was_asked: false,
                hooked: None,
                done: None,
                is_compared: false,
            });
            self.calls.len() - 1
        });
        &mut self.calls[place]
    }

    /// What the record says.
    fn read(&mut self, fact: &TranscriptFact, is_new: bool, now: Instant) {
        match fact {
            TranscriptFact::ToolStarted {
                call,
                tool,
                subject,
                ..
            } => {
                if let Some(subject) = subject {
                    self.call(call).done = Some(subject.clone());
                }
                if is_new {
                    self.turn.worked = Some((now, tool.clone()));
                }
                self.turn.ended = None;
            }
            TranscriptFact::TurnEnded | TranscriptFact::Interrupted => {
                self.turn.ended = is_new.then_some(now);
            }
            TranscriptFact::Prompted { .. } | TranscriptFact::Said { .. } => {
                self.turn.ended = None;
            }
            TranscriptFact::ToolEnded { .. } | TranscriptFact::Used { .. } => {}
        }
    }

    /// Calls of which two sides say something else, each once.
    fn mismatches(&mut self) -> Vec<String> {
        let calls = self.calls.iter_mut().filter(|call| !call.is_compared);
        let found = calls.filter_map(|call| {
            let both = call.mismatch()?;
            call.is_compared = true;
            Some(both)
        });
        found.collect()
    }

    /// What the two say of the turn, where that has differed for longer than `patience`, or
    /// work went on behind its end.
    fn disagreement(&self, patience: Duration, now: Instant) -> Option<String> {
        let turn = &self.turn;
        let seconds = |from: Instant| now.duration_since(from).as_secs();
        if turn.under_way {
            let ended = turn.ended.filter(|ended| {
                *ended > turn.since && now >= (*ended).max(turn.heard) + patience
            })?;
            return Some(format!(
                "its protocol says that a turn is under way, and its own record that it ended \
                 {} s ago",
                seconds(ended)
            ));
        }
        let (at, tool) = turn.worked.as_ref()?;
        (*at > turn.since + MOMENT).then(|| {
            format!(
                "its protocol says that the turn ended {} s ago, and its own record that `{tool}` \
                 began {} s ago",
                seconds(turn.since),
                seconds(*at)
            )
        })
    }

    /// Reads on in the record, hears the hook, and tells what they contradict.
    pub(super) async fn testify(
        &mut self,
        context: &Context,
        run: &Run,
        tail: Option<&TranscriptTail>,
    ) -> Result<(), ExecutionError> {
        if self.record.is_none() {
            self.record = tail.map(|tail| Record {
                tail: tail.clone(),
                memory: TranscriptMemory::default(),
                caught_up: false,
            });
        }
        for (call, subject) in run.hooked_calls.take() {
            self.call(&call).hooked = Some(subject);
        }
        self.read_on(&run.engine).await;
        let name = || {
            let open = context.slots.find(&run.slot.to_string());
            open.map_or_else(|| run.slot.to_string(), |open| open.slot.name)
        };
        for both in self.mismatches() {
            let found = Event::SlotAnomalyFound {
                slot: run.slot,
                subject: run.slot.to_string(),
                anomaly: Anomaly::InputMismatch,
                detail: format!("{}: {both}", name()),
            };
            context.timeline.record(found, run.trace()).await?;
        }
        let patience = Duration::from_secs(context.config.borrow().anomalies.silent_secs);
        let differs = self.disagreement(patience, Instant::now());
        if differs.is_some() == self.open {
            return Ok(());
        }
        self.open = differs.is_some();
        let (at, slot) = (context.clock.now(), run.slot.to_string());
        let report = differs.map(|both| incidents::Report {
            kind: WITNESS_DISAGREES.to_owned(),
            subject: slot.clone(),
            severity: Severity::Warning,
            summary: format!(
                "{}: {both}. Look at it with `mission slot read {slot}`.",
                name()
            ),
        });
        context
            .db
            .write(move |tx| {
                let (report, slot) = (report.clone(), slot.clone());
                Box::pin(async move {
                    match &report {
                        Some(report) => incidents::report(tx, report, at).await.map(drop),
                        None => incidents::resolve_open(tx, WITNESS_DISAGREES, &slot, at)
                            .await
                            .map(drop),
                    }
                })
            })
            .await?;
        Ok(())
    }

    async fn read_on(&mut self, engine: &CliEngine) {
        let Some(mut record) = self.record.take() else {
            return;
        };
        loop {
            let mut tail = record.tail;
            let (tail, read) = blocking(move || {
                let read = tail.advance();
                (tail, read)
            })
            .await;
            record.tail = tail;
            let batch = match read {
                Ok(batch) => batch,
                Err(error) => {
                    tracing::debug!(%error, "transcript unavailable");
                    break;
                }
            };
            // What is written anew was said before.
            let is_new = record.caught_up && !batch.restarted;
            let now = Instant::now();
            for line in &batch.lines {
                let said = adapter(engine).transcript_facts(&line.text, &mut record.memory);
                for fact in &said {
                    self.read(fact, is_new, now);
                }
            }
            if !batch.more {
                break;
            }
        }
        record.caught_up = true;
        self.record = Some(record);
    }
}

#[cfg(test)]
mod tests {
    use missiond_control::TurnEnd;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn began() -> ControlEvent {
        ControlEvent::TurnBegan {
            request: None,
            turn: None,
        }
    }

    fn ended() -> ControlEvent {
        ControlEvent::TurnEnded {
            request: None,
            turn: None,
            end: TurnEnd::Done,
            meta: None,
        }
    }

    fn ran(command: &str) -> TranscriptFact {
        TranscriptFact::ToolStarted {
            call: "c1".to_owned(),
            tool: "Bash".to_owned(),
            arguments: 0,
            subject: Some(ToolSubject::Command(command.to_owned())),
        }
    }

    #[test]
    fn a_call_is_told_of_once_by_the_first_two_that_differ() {
        let command = |text: &str| Some(ToolSubject::Command(text.to_owned()));
        let mut witness = Witness::new();
        witness.read(&ran("make"), true, Instant::now());
        let call = witness.call("c1");
        call.hooked = command("make");
        assert!(witness.mismatches().is_empty(), "nothing was announced");
        witness.call("c1").hooked = command("ls");
        let both = r#"hooked was "ls", its own record says "make""#;
        assert_eq!(witness.mismatches(), [both]);
        witness.call("c1").told = command("cat");
        assert!(witness.mismatches().is_empty(), "it was told before");
        let call = witness.call("c2");
        (call.told, call.hooked) = (command("ls"), command("make"));
        call.was_asked = true;
        let both = r#"allowed was "ls", its hook asked about "make""#;
        assert_eq!(witness.mismatches(), [both]);
    }

    #[test]
    fn a_record_that_lags_is_no_disagreement_and_one_that_goes_on_is() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut witness = Witness::new();
        witness.hear(&began(), at(1));
        witness.read(&ran("ls"), true, at(2));
        witness.hear(&ended(), at(3));
        // The record of what was done within the turn.
        witness.read(&ran("make"), true, at(5));
        assert_eq!(witness.disagreement(PATIENCE, at(60)), None);
        witness.read(&ran("make install"), true, at(40));
        let both = witness.disagreement(PATIENCE, at(60)).unwrap();
        assert_eq!(
            both,
            "its protocol says that the turn ended 57 s ago, and its own record that `Bash` began \
             20 s ago"
        );
        // A turn of which the protocol tells too.
        witness.hear(&began(), at(61));
        assert_eq!(witness.disagreement(PATIENCE, at(70)), None);
    }

    #[test]
    fn a_turn_that_only_the_protocol_knows_of_is_told_after_a_while_of_silence() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut witness = Witness::new();
        witness.hear(&began(), at(1));
        witness.read(&TranscriptFact::TurnEnded, true, at(10));
        assert_eq!(witness.disagreement(PATIENCE, at(39)), None);
        let both = witness.disagreement(PATIENCE, at(40)).unwrap();
        assert!(
            both.contains("under way") && both.contains("ended 30 s ago"),
            "{both}"
        );
        witness.hear(&ended(), at(41));
        assert_eq!(witness.disagreement(PATIENCE, at(99)), None);
        // What stood in the record before is about another turn.
        witness.hear(&began(), at(100));
        witness.read(&TranscriptFact::TurnEnded, false, at(101));
        assert_eq!(witness.disagreement(PATIENCE, at(999)), None);
    }
}
