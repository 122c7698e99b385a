//! What happens has a cause that is on the timeline, from what began it to its last effect;
//! and what is only told, and never stored, is told where it happens.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::executions::{Stage, WAITS};
use crate::harness::{RawConnection, TestHome, wait_for};
use crate::ollama::Ollama;

pub(crate) fn kind(event: &Value) -> &str {
    event["event"]["type"].as_str().unwrap()
}

/// The events of one causal chain, as the timeline has them.
pub(crate) struct Chain {
    pub(crate) events: Vec<Value>,
}

impl Chain {
    pub(crate) fn read(home: &TestHome, trace: &Value) -> Self {
        let events = home.events().into_iter();
        let events = events.filter(|event| event["trace_id"] == *trace);
        Self {
            events: events.collect(),
        }
    }

    pub(crate) fn has(&self, wanted: &str) -> bool {
        self.events.iter().any(|event| kind(event) == wanted)
    }

    fn count(&self, wanted: &str) -> usize {
        let kinds = self.events.iter().map(kind);
        kinds.filter(|kind| *kind == wanted).count()
    }

    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.events.iter().map(kind).collect()
    }

    /// The kind of what caused the first event of this kind.
    pub(crate) fn cause_of(&self, wanted: &str) -> Option<&str> {
        let event = self.events.iter().find(|event| kind(event) == wanted);
        let event = event.unwrap_or_else(|| panic!("no {wanted} among {:?}", self.kinds()));
        let mut events = self.events.iter();
        let cause = events.find(|one| one["span_id"] == event["parent_span_id"]);
        cause.map(kind)
    }

    /// It begins once, and all of it is reached from there.
    pub(crate) fn assert_is_one_tree(&self, root: &str) {
        let roots = self.events.iter();
        let roots: Vec<_> = roots
            .filter(|event| event["parent_span_id"].is_null())
            .collect();
        assert_eq!(
            roots.iter().map(|event| kind(event)).collect::<Vec<_>>(),
            [root],
            "what has no cause"
        );
        // With one root and no cause outside the chain, all of it hangs on that root.
        let spans = self.events.iter().filter_map(|one| one["span_id"].as_str());
        let spans: BTreeSet<&str> = spans.collect();
        for event in &self.events {
            let cause = &event["parent_span_id"];
            assert!(
                cause.is_null() || spans.contains(cause.as_str().unwrap_or_default()),
                "the cause of {event} is not in its chain: {:?}",
                self.kinds()
            );
        }
    }

    /// No event that speaks of the run, its slot or its conversation is in another chain.
    pub(crate) fn assert_has_all_of_its_runs(&self, home: &TestHome) {
        let of_chain = |field: &str| -> BTreeSet<String> {
            let named = self.events.iter().map(|event| &event["event"][field]);
            named
                .filter_map(|id| id.as_str().map(str::to_owned))
                .collect()
        };
        let subjects = ["execution", "slot", "conversation"].map(|field| (field, of_chain(field)));
        let trace = &self.events[0]["trace_id"];
        for event in home.events() {
            for (field, ids) in &subjects {
                let is_of = event["event"][field].as_str();
                if is_of.is_some_and(|id| ids.contains(id)) {
                    assert_eq!(event["trace_id"], *trace, "{event}");
                }
            }
        }
    }
}

/// The chain of a run, once it has all of these.
fn chain_with(stage: &Stage, run: &Value, wanted: &[&str]) -> Chain {
    let mut chain = None;
    wait_for(&format!("{wanted:?} in the chain of the run"), || {
        let started = stage.home.events().into_iter();
        let mut started = started.filter(|event| kind(event) == "execution_started");
        let started = started.find(|event| event["event"]["execution"] == run["execution"]);
        let read = Chain::read(&stage.home, &started.unwrap()["trace_id"]);
        let has_all = wanted.iter().all(|kind| read.has(kind));
        chain = Some(read);
        has_all
    });
    chain.unwrap()
}

const OF_A_TURN: [&str; 5] = [
    "slot_became_idle",
    "conversation_message_logged",
    "turn_extracted",
    "cli_request_started",
    "cli_request_completed",
];

#[test]
fn a_plain_run_begins_once_and_all_that_happens_in_it_follows() {
    let stage = Stage::new();
    let turns = "  - uses: always\n    steps:\n      - say: Done it.\n      \
                 - usage: {input: 40, output: 2}\n";
    let run = stage.start(turns, &["--wait", "--signals", "none"], "do it");
    // That the first turn is over is known when the next begins.
    stage
        .home
        .json(&["execution", "message", "agent", "do more"]);
    chain_with(&stage, &run, &OF_A_TURN);
    wait_for("both prompts to be done with", || {
        let chain = chain_with(&stage, &run, &OF_A_TURN);
        chain.count("cli_request_completed") == 2
    });
    stage.home.json(&["execution", "cancel", "agent"]);
    let chain = chain_with(&stage, &run, &["execution_ended", "slot_closed"]);
    chain.assert_is_one_tree("execution_started");
    chain.assert_has_all_of_its_runs(&stage.home);
    for (event, cause) in [
        ("slot_created", "execution_started"),
        ("slot_became_idle", "slot_created"),
        ("cli_request_started", "execution_started"),
        ("cli_request_completed", "execution_started"),
        ("conversation_message_logged", "execution_started"),
        ("turn_extracted", "execution_started"),
        ("slot_closed", "slot_created"),
    ] {
        assert_eq!(chain.cause_of(event), Some(cause), "the cause of {event}");
    }
    assert_eq!(chain.count("cli_request_started"), 2, "{:?}", chain.kinds());
    assert_eq!(
        chain.count("cli_request_completed"),
        2,
        "{:?}",
        chain.kinds()
    );
    let completed = chain.events.iter().map(|event| &event["event"]);
    let completed = completed.filter(|event| event["type"] == "cli_request_completed");
    let used: u64 = completed
        .filter_map(|event| event["input_tokens"].as_u64())
        .sum();
    assert_eq!(used, 80, "{:#?}", chain.events);
}

#[test]
fn a_daemon_that_takes_over_continues_the_chain_of_a_run() {
    let stage = Stage::new();
    let run = stage.start(WAITS, &["--signals", "none"], "wait");
    chain_with(&stage, &run, &["slot_created", "cli_request_started"]);
    stage.home.kill();
    stage.home.start();
    // It is found at work: what it did before it was found is told by nobody.
    chain_with(&stage, &run, &["slot_state_changed"]);
    stage.touch("go");
    let chain = chain_with(&stage, &run, &["slot_state_changed", "slot_became_idle"]);
    chain.assert_is_one_tree("execution_started");
    chain.assert_has_all_of_its_runs(&stage.home);
    assert_eq!(chain.cause_of("slot_state_changed"), Some("slot_created"));
}

/// A connection that hears of one kind.
fn listening(home: &TestHome, kind: &str) -> RawConnection {
    let mut connection = home.greeted();
    connection.ask(1, "subscribe", &json!({"kinds": [kind]}));
    connection
}

fn next_event(connection: &mut RawConnection) -> Value {
    loop {
        let message = connection.receive();
        if message["params"]["event"].is_object() {
            return message["params"]["event"].clone();
        }
    }
}

#[test]
fn whoever_listens_hears_of_pictures_and_of_tools_in_use() {
    let stage = Stage::new();
    let mut tools = listening(&stage.home, "cli_tool_activity");
    let turns = "  - steps:\n      - run: {argv: [\"true\"], exit: 0}\n      - say: Done.\n";
    let run = stage.start(turns, &["--wait", "--signals", "none"], "do it");
    let used = next_event(&mut tools);
    assert_eq!(used["event"]["execution"], run["execution"]);
    assert_eq!(used["seq"], Value::Null);
    let chain = chain_with(&stage, &run, &["execution_started"]);
    assert_eq!(used["trace_id"], chain.events[0]["trace_id"]);

    let mut pictures = listening(&stage.home, "pty_screenshot");
    stage.home.mission(&["slot", "screenshot", "agent"]);
    let taken = next_event(&mut pictures);
    let created = chain.events.iter().find(|one| kind(one) == "slot_created");
    assert_eq!(taken["event"]["slot"], created.unwrap()["event"]["slot"]);
    assert!(taken["event"]["columns"].as_u64() > Some(0), "{taken}");
}

#[test]
fn whoever_listens_hears_how_far_embedding_has_come() {
    let ollama = Ollama::serve(64, usize::MAX, Duration::ZERO);
    let home = TestHome::with_config(&ollama.config());
    home.start();
    let mut progress = listening(&home, "embedding_progress");
    home.json(&["kb", "remember", "the car is red", "--key", "vehicle"]);
    let told = next_event(&mut progress);
    assert_eq!(told["event"]["done"], 1, "{told}");
    assert_eq!(told["event"]["total"], 1, "{told}");
}
