use std::sync::Arc;

use missiond_core::machines::Machine;
use missiond_core::{ExecutionAttention, ExecutionId, ExecutionLifecycle, ObservationId, PtyState};

use super::*;
use crate::catalogue::{
    CompletedClaim, Control, Fact, FailedClaim, NeedsInput, Process, Reading, ReadyForVerification,
    Signal, SignalType, limits,
};
use crate::file::FileStore;
use crate::journal::Journal;
use crate::observation::{Confidence, Observation, ObservationKey, Observed, ObservedType, Source};
use crate::owner::OwnerEntity;
use crate::record::{Record, RecordBody};
use crate::state::ExecutionState;
use crate::store::{ReadLimit, window};
use crate::suite::{at, create, header, observation};
use missiond_core::List;

const CONFIDENCES: [Confidence; 5] = [
    Confidence::Diagnostic,
    Confidence::Low,
    Confidence::Medium,
    Confidence::High,
    Confidence::Authoritative,
];

fn state() -> ExecutionState {
    let header = header(ExecutionId::generate());
    ExecutionState::begin(crate::Sequence(1), at(0), header).unwrap()
}

fn running() -> ExecutionState {
    let mut state = state();
    state.lifecycle = ExecutionLifecycle::Running;
    state.attention = ExecutionAttention::Autonomous;
    state
}

fn owned_by(owner: OwnerEntity, offered: Option<Vec<SignalType>>) -> ExecutionState {
    let mut header = header(ExecutionId::generate());
    header.owner.entity = owner;
    header.signals = offered;
    let mut state = ExecutionState::begin(crate::Sequence(1), at(0), header).unwrap();
    state.lifecycle = ExecutionLifecycle::Running;
    state
}

fn observation_of(
    state: &ExecutionState,
    source: Source,
    confidence: Confidence,
    observed: Observed,
) -> Observation {
    Observation {
        id: ObservationId::generate(),
        execution: state.execution,
        key: ObservationKey::new("key").unwrap(),
        source,
        confidence,
        observed_at: at(1),
        observed,
    }
}

fn claims() -> Vec<Signal> {
    vec![
        CompletedClaim {
            summary: "done".try_into().unwrap(),
            artifacts: List::default(),
        }
        .into(),
        ReadyForVerification {
            summary: "look".try_into().unwrap(),
            artifacts: List::default(),
        }
        .into(),
        FailedClaim {
            reason: "no".try_into().unwrap(),
        }
        .into(),
    ]
}

#[test]
fn a_claim_changes_no_state_whoever_makes_it_however_surely() {
    let policy = Policy::standard();
    for &lifecycle in ExecutionLifecycle::ALL {
        let state = ExecutionState {
            lifecycle,
            ..running()
        };
        for (claim, source) in claims()
            .into_iter()
            .flat_map(|claim| Source::ALL.map(|source| (claim.clone(), source)))
        {
            for confidence in CONFIDENCES {
                let observation =
                    observation_of(&state, source, confidence, Observed::Signal(claim.clone()));
                let decision = decide(&policy, &state, &observation);
                for effect in &decision.effects {
                    assert!(matches!(effect, RecordBody::OwnerEffect(_)), "{effect:?}");
                }
                let speaks = matches!(source, Source::Marker | Source::McpTool);
                let expected = match (lifecycle.is_final(), speaks) {
                    (_, false) => (Verdict::Refused, Reason::SourceMayNotReport),
                    (true, true) => (Verdict::Refused, Reason::Stopped),
                    (false, true) if confidence < Confidence::Medium => {
                        (Verdict::RecordedOnly, Reason::LowConfidence)
                    }
                    (false, true) => (Verdict::Promoted, Reason::ClaimForOwner),
                };
                assert_eq!((decision.verdict, decision.reason), expected);
            }
        }
    }
}

/// A table somebody wrote badly does not turn a claim into an outcome either.
#[test]
fn no_table_makes_a_claim_end_the_run() {
    let rules = ObservedType::all().flat_map(|observed| {
        Source::ALL.map(|source| Rule {
            observed,
            source,
            at_least: Confidence::Diagnostic,
            verdict: Verdict::ChangedState,
            reason: Reason::Allowed,
        })
    });
    let policy = Policy::new(rules.collect());
    let state = running();
    for claim in claims() {
        let observation = observation_of(
            &state,
            Source::Daemon,
            Confidence::Authoritative,
            Observed::Signal(claim),
        );
        for effect in decide(&policy, &state, &observation).effects {
            assert!(matches!(effect, RecordBody::OwnerEffect(_)), "{effect:?}");
        }
    }
}

#[test]
fn a_question_opens_a_request_and_tells_the_owner() {
    let state = running();
    let asked = NeedsInput {
        question: "Which?".try_into().unwrap(),
        choices: List::default(),
    };
    let observation = observation_of(
        &state,
        Source::McpTool,
        Confidence::High,
        Observed::Signal(asked.into()),
    );
    let decision = decide(&Policy::standard(), &state, &observation);
    assert_eq!(decision.verdict, Verdict::ChangedState);
    let [
        RecordBody::StateChanged(change),
        RecordBody::OwnerEffect(effect),
    ] = &decision.effects[..]
    else {
        panic!("{:?}", decision.effects);
    };
    assert_eq!(change.lifecycle, None);
    assert_eq!(change.attention, Some(ExecutionAttention::AwaitingOperator));
    assert_eq!(change.requests.len(), 1);
    assert_eq!(effect.key.observation, observation.id);
    assert_eq!(effect.owner, state.owner);
}

#[test]
fn a_screen_is_never_certain() {
    let state = running();
    let reading = |confidence| {
        let reading = Reading {
            state: PtyState::Confirming,
            evidence: None,
        };
        let observed = Observed::Fact(Fact::Reading(reading));
        let observation = observation_of(&state, Source::Terminal, confidence, observed);
        decide(&Policy::standard(), &state, &observation).verdict
    };
    assert_eq!(reading(Confidence::Low), Verdict::RecordedOnly);
    assert_eq!(reading(Confidence::Medium), Verdict::ChangedState);
    // A table that asks for more than a screen can give is not satisfied by a
    // reading that claims it.
    let mut rules = Policy::standard().rules().to_vec();
    for rule in &mut rules {
        rule.at_least = Confidence::High;
    }
    let observed = Observed::Fact(Fact::Reading(Reading {
        state: PtyState::Idle,
        evidence: None,
    }));
    let observation = observation_of(
        &state,
        Source::Terminal,
        Confidence::Authoritative,
        observed,
    );
    assert_eq!(
        decide(&Policy::new(rules), &state, &observation).reason,
        Reason::LowConfidence
    );
}

#[test]
fn what_cannot_follow_is_refused_with_its_reason() {
    let policy = Policy::standard();
    let state = running();
    let control = |control: Control| {
        let observed = Observed::Fact(Fact::Control(control));
        let observation =
            observation_of(&state, Source::Daemon, Confidence::Authoritative, observed);
        decide(&policy, &state, &observation)
    };
    let request = ObservationId::generate();
    assert_eq!(
        control(Control::Withdrew { request }).reason,
        Reason::NoSuchRequest
    );
    assert_eq!(control(Control::Resumed).reason, Reason::NothingChanged);
    let starting = self::state();
    let observed = Observed::Fact(Fact::Control(Control::Paused));
    let paused = observation_of(
        &starting,
        Source::Daemon,
        Confidence::Authoritative,
        observed,
    );
    let decision = decide(&policy, &starting, &paused);
    assert_eq!(
        (decision.verdict, decision.reason),
        (Verdict::Refused, Reason::IllegalMove)
    );
}

#[test]
fn an_exit_ends_the_run_withdraws_its_questions_and_tells_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    let journal = create(Arc::new(FileStore::open(folder.path()).unwrap()));
    let execution = journal.execution();
    let observe = |key: &str, source, observed| {
        journal
            .observe(at(1), observation(execution, key, source, observed))
            .unwrap()
    };
    observe(
        "1",
        Source::Process,
        Observed::Fact(Process::Started { pid: 1 }.into()),
    );
    let asked = NeedsInput {
        question: "Which?".try_into().unwrap(),
        choices: List::default(),
    };
    observe("2", Source::McpTool, Observed::Signal(asked.clone().into()));
    let exited = Process::Exited {
        code: None,
        signal: Some(9),
    };
    observe("3", Source::Process, Observed::Fact(exited.into()));
    let state = journal.state().unwrap();
    assert_eq!(state.lifecycle, ExecutionLifecycle::Terminated);
    assert_eq!(state.attention, ExecutionAttention::None);
    assert_eq!(state.current_request(), None);
    assert_eq!(state.due.len(), 2);
    let late = observe("4", Source::McpTool, Observed::Signal(asked.into()));
    assert!(matches!(
        late.outcome,
        Outcome::Rejected { sequence: Some(_) }
    ));
    assert_eq!(late.reason, Reason::Stopped);
    assert_eq!(journal.state().unwrap().due.len(), 2);
}

#[test]
fn a_signal_of_another_execution_is_seen_refused_and_uses_no_key_up() {
    let folder = tempfile::tempdir().unwrap();
    let journal = create(Arc::new(FileStore::open(folder.path()).unwrap()));
    let claim = || Observed::Signal(claims().remove(0));
    let foreign = observation(
        ExecutionId::generate(),
        "signal:1",
        Source::McpTool,
        claim(),
    );
    let refused = journal.observe(at(1), foreign).unwrap();
    assert_eq!(refused.reason, Reason::WrongExecution);
    assert_eq!(journal.state().unwrap().refusals, 1);
    let own = observation(journal.execution(), "signal:1", Source::McpTool, claim());
    let accepted = journal.observe(at(2), own).unwrap();
    assert!(
        matches!(accepted.outcome, Outcome::Promoted { .. }),
        "{accepted:?}"
    );
}

#[test]
fn a_flood_of_refusals_is_answered_but_not_recorded_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(FileStore::open(folder.path()).unwrap());
    let journal = create(store);
    let refuse = |number: u32| {
        let key = format!("screen:{number}");
        let claim = Observed::Signal(claims().remove(0));
        let refused = observation(journal.execution(), &key, Source::Terminal, claim);
        journal.observe(at(1), refused).unwrap().outcome
    };
    for number in 0..limits::RECORDED_REFUSALS {
        assert!(matches!(
            refuse(number),
            Outcome::Rejected { sequence: Some(_) }
        ));
    }
    let head = journal.state().unwrap().head;
    for number in 0..50 {
        let outcome = refuse(limits::RECORDED_REFUSALS + number);
        assert_eq!(outcome, Outcome::Rejected { sequence: None });
    }
    assert_eq!(journal.state().unwrap().head, head);
}

/// Everything a journal says of the signals, without the ids and the way they
/// came.
fn without_provenance(journal: &Journal, store: &FileStore) -> Vec<serde_json::Value> {
    let read = window(
        store,
        journal.execution(),
        crate::Sequence::START,
        ReadLimit::default(),
    )
    .unwrap();
    let strip = |record: Record| {
        let mut value = serde_json::to_value(record).unwrap();
        if let Some(data) = value["data"].as_object_mut() {
            for field in [
                "id",
                "execution",
                "source",
                "confidence",
                "key",
                "observation",
            ] {
                data.remove(field);
            }
            if let Some(requests) = data
                .get_mut("requests")
                .and_then(|requests| requests.as_array_mut())
            {
                for request in requests {
                    request["opened"]["id"] = serde_json::Value::Null;
                }
            }
        }
        value
    };
    read.records.into_iter().map(strip).collect()
}

#[test]
fn a_signal_by_marker_and_by_tool_gives_the_same_records_but_for_provenance() {
    use crate::catalogue::parse_tool_call;
    use crate::marker::{Broken, Expected, MarkerKey, StreamDecoder, encode};

    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(folder.path()).unwrap();
    let calls = [
        (
            "progress",
            r#"{"summary":"half","percent":50,"event_id":"e1"}"#,
        ),
        (
            "needs_input",
            r#"{"question":"Which?","choices":[{"label":"A"}],"event_id":"e2"}"#,
        ),
        ("blocked", r#"{"reason":"no network","event_id":"e3"}"#),
        (
            "ready_for_verification",
            r#"{"summary":"look","event_id":"e4"}"#,
        ),
        ("completed_claim", r#"{"summary":"done","event_id":"e5"}"#),
        ("failed_claim", r#"{"reason":"broken","event_id":"e6"}"#),
        ("message", r#"{"text":"hello","event_id":"e7"}"#),
    ];
    let by_tool = create(Arc::new(store.clone()));
    let by_marker = create(Arc::new(store.clone()));
    let execution = by_marker.execution();
    let key = MarkerKey::generate().unwrap();
    let mut decoder = StreamDecoder::new(
        Expected {
            execution,
            key: key.hash(execution),
        },
        Broken::Refused,
    );
    for (name, arguments) in calls {
        let (event, signal) = parse_tool_call(name, arguments).unwrap();
        let event = event.unwrap();
        let tool_key = ObservationKey::of_signal(&event);
        let observed = Observed::Signal(signal.clone());
        by_tool
            .observe(
                at(1),
                observation(
                    by_tool.execution(),
                    tool_key.as_str(),
                    Source::McpTool,
                    observed,
                ),
            )
            .unwrap();
        let printed = encode(execution, &key, &event, &signal);
        for found in decoder.push(format!("{printed}\n").as_bytes()) {
            let (marker_key, observed) = found.into_observed();
            assert_eq!(marker_key, tool_key);
            by_marker
                .observe(
                    at(1),
                    observation(execution, marker_key.as_str(), Source::Marker, observed),
                )
                .unwrap();
        }
    }
    let told = without_provenance(&by_tool, &store);
    assert!(told.len() > 20, "{}", told.len());
    assert_eq!(without_provenance(&by_marker, &store), told);
}

#[test]
fn a_policy_survives_being_written_down() {
    let policy = Policy::standard();
    let written = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<Policy>(&written).unwrap(), policy);
}

#[test]
fn thinking_has_no_place_for_words() {
    let schema = schemars::schema_for!(crate::catalogue::Thinking).to_value();
    let fields: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["edge"]);
    let smuggled = r#"{"edge":"began","text":"secret plan"}"#;
    assert!(Fact::parse(crate::catalogue::FactType::Thinking, smuggled).is_err());
}

#[test]
fn a_tool_that_a_transcript_tells_of_late_wakes_nobody_who_rests() {
    use crate::catalogue::{Edge, ToolUse};
    use missiond_core::ExecutionActivity;
    let began = || {
        Observed::Fact(Fact::ToolUse(ToolUse {
            edge: Edge::Began,
            tool: "Bash".try_into().unwrap(),
            target: None,
            input_digest: None,
            outcome: None,
        }))
    };
    let mut state = running();
    let decided = |state: &ExecutionState, source| {
        let observation = observation_of(state, source, Confidence::High, began());
        decide(&Policy::standard(), state, &observation)
    };
    state.activity = ExecutionActivity::Idle;
    let late = decided(&state, Source::Transcript);
    assert_eq!(late.reason, Reason::NothingChanged);
    assert_eq!(decided(&state, Source::Hook).verdict, Verdict::ChangedState);
    state.activity = ExecutionActivity::Unknown;
    assert_eq!(
        decided(&state, Source::Transcript).verdict,
        Verdict::ChangedState
    );
    state.last_known.screen = Some(PtyState::Error);
    let late = decided(&state, Source::Transcript);
    assert_eq!(late.reason, Reason::NothingChanged);
}

#[test]
fn what_the_owner_has_no_use_for_is_refused() {
    let claim = Signal::from(ReadyForVerification {
        summary: "look".try_into().unwrap(),
        artifacts: Default::default(),
    });
    let decided = |state: &ExecutionState| {
        let observed = Observed::Signal(claim.clone());
        let seen = observation_of(state, Source::McpTool, Confidence::High, observed);
        let decision = decide(&Policy::standard(), state, &seen);
        (decision.verdict, decision.reason, decision.effects.len())
    };
    for owner in [
        OwnerEntity::Task,
        OwnerEntity::Mission,
        OwnerEntity::Artifact,
    ] {
        let state = owned_by(owner, None);
        assert_eq!(
            decided(&state),
            (Verdict::Promoted, Reason::ClaimForOwner, 1)
        );
        assert_eq!(owner.signals(), SignalType::ALL);
    }
    for owner in [OwnerEntity::System, OwnerEntity::Repository] {
        // What its header offers cannot widen that.
        for offered in [None, Some(SignalType::ALL.to_vec())] {
            let state = owned_by(owner, offered);
            assert_eq!(decided(&state), (Verdict::Refused, Reason::NotOffered, 0));
        }
        assert!(!owner.signals().contains(&SignalType::ReadyForVerification));
    }
    // What its CLI was not offered is refused whoever owns it.
    let some = vec![SignalType::Progress, SignalType::NeedsInput];
    let state = owned_by(OwnerEntity::Task, Some(some));
    assert_eq!(decided(&state), (Verdict::Refused, Reason::NotOffered, 0));
}
